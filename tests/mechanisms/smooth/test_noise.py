"""What smooth mechanisms share: grids whose step is not 1, what is refused at every limit, and the width of an interval."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise.tails import rounded_law, size_up
from tacit.mechanisms.smooth import noise as module
from tacit.mechanisms.smooth.calibration import Calibration
from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.mechanisms.smooth.noise import Grid, read_grid
from tacit.privacy.sealed import Sealed

F = Fraction
HALVES = SmoothQuantile(0.5, lower=-3, upper=5, step=F(1, 2), epsilon=1)


@pytest.mark.parametrize(
    ("lower", "upper", "step", "units"),
    [
        (-1, 2, F(1, 2), (-2, 4)),
        (-3, 6, 3, (-1, 2)),
        (F(1, 3), 1, F(1, 3), (1, 3)),
        (5, 7, 1, (5, 7)),
        (0, F(5, 2), F(1, 2), (0, 5)),
        (-(2**63), 2**63, 8, None),
    ],
)
def test_bounds_are_units_of_the_step(lower, upper, step, units):
    low, high = units or (-(2**60), 2**60)
    assert read_grid(lower, upper, step) == Grid(low, high, F(step))


@pytest.mark.parametrize(
    ("lower", "upper", "step", "match"),
    [
        (0, 1, 0, "step must be"),
        (0, 1, -1, "step must be"),
        (1, 1, 1, "below upper"),
        (2, 1, 1, "below upper"),
        (F(1, 2), 2, 1, "multiples"),
        (0, F(5, 2), 1, "multiples"),
        (0, 3, 2, "multiples"),
        (-3, 0, 2, "multiples"),
        (0, 1, F(1, 2**62), "within 2\\^62 steps"),
        (-1, 0, F(1, 2**62), "within 2\\^62 steps"),
    ],
)
def test_what_is_no_grid_is_refused(lower, upper, step, match):
    with pytest.raises(InvalidInput, match=match):
        read_grid(lower, upper, step)


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, 1, 9],
        (3, 1, 1, 9),
        np.array([3, 1, 1, 9]),
        ([3, 1, 9], [1, 2, 1]),
        ([3, 1, 1, 9], None),
        Sealed(([3, 1, 9], [1, 2, 1])),
        [3, 1, 1, 10**30],
    ],
)
def test_values_alone_and_with_counts_are_the_same_rows(values):
    rows = read_grid(0, 5, F(1, 2)).rows(values)
    assert [rows.at(place) for place in range(6)] == [0, 2, 2, 6, 10, 10]


def test_two_values_are_not_a_pair_of_values_and_counts():
    rows = read_grid(0, 5, 1).rows((4, 2))
    assert (rows.size, rows.at(1), rows.at(2)) == (2, 2, 4)
    assert read_grid(0, 5, 1).rows([3, -(10**30)]).at(1) == 0


@pytest.mark.parametrize("values", [3, [[1, 2], [3, 4]], ([1, 2], 5), ([[1, 2]], None)])
def test_values_are_flat(values):
    with pytest.raises(InvalidValue):
        read_grid(0, 5, 1).rows(values)


def test_terms_are_read_as_they_are_given():
    fresh = SmoothQuantile(0.5, lower=-3, upper=5, step=F(1, 2), epsilon=1)
    assert (fresh.lower, fresh.upper, fresh.step, fresh.max_rows) == (-3, 5, F(1, 2), 1)
    assert fresh.grid == Grid(-6, 10, F(1, 2))
    assert SmoothQuantile(0.5, 0, 1, 1, epsilon=1, delta=1e-3, gamma=None).gamma is None
    for wrong in (True, 0, -1, 1.5):
        with pytest.raises(InvalidInput, match="max_rows"):
            SmoothQuantile(0.5, 0, 1, 1, epsilon=1, max_rows=wrong)


def test_no_smooth_bound_is_above_the_largest():
    """That of no rows is the range, which is the largest up to 2^-40."""
    _, bound = HALVES.statistic(HALVES.grid.rows([]))
    assert HALVES.largest_bound == 8 * (1 + F(1, 2**40)) >= bound * HALVES.step


@pytest.mark.parametrize("bound", [F(1, 4), F(1), F(7, 3)])
def test_a_half_width_is_that_of_the_noise_and_half_a_step(bound):
    """At or above the exact number, and within the last place of a float."""
    exact = bound / HALVES.alpha * size_up(HALVES.calibration.noise, F(9, 10)) + F(1, 4)
    assert 0 <= F(HALVES.half_width(bound, F(9, 10))) / exact - 1 < F(1, 2**51)


@pytest.mark.parametrize(("bound", "confidence"), [(0, 0.9), (-1, 0.9), (1, 0), (1, 1), (1, 1.5), (0, 1)])
def test_what_is_no_bound_or_confidence_is_refused(bound, confidence):
    with pytest.raises(InvalidInput, match="confidence between"):
        HALVES.half_width(bound, confidence)


def test_a_law_is_listed_up_to_the_limit(monkeypatch):
    """Sixteen steps have seventeen outcomes, from one bound to the other."""
    monkeypatch.setattr(module, "MOST_OUTCOMES", 16)
    assert [float(value) for value in HALVES.law([0, 1]).probabilities] == [units / 2 for units in range(-6, 11)]
    monkeypatch.setattr(module, "MOST_OUTCOMES", 15)
    with pytest.raises(InvalidInput, match="too long to list"):
        HALVES.law([0, 1])


def test_releases_are_clamped_to_both_bounds():
    """A bound of 10^12 steps: a release within is far less likely than one in a million."""
    drawn = {HALVES.noisy(HALVES.grid, F(2), F(10**12)) for _ in range(60)}
    assert drawn == {-6, 10}


def test_the_scale_of_the_noise_is_the_smooth_bound_over_alpha(monkeypatch):
    answer, bound = HALVES.statistic(HALVES.grid.rows([0, 1]))
    assert list(HALVES.law([0, 1]).probabilities.values()) == list(
        rounded_law(HALVES.calibration.noise, answer, bound / HALVES.alpha, -6, 10).values()
    )
    seen = []
    noise = SimpleNamespace(draw=lambda: SimpleNamespace(rounded=lambda answer, scale: seen.append((answer, scale)) or 3))
    monkeypatch.setattr(module, "calibrated", lambda *_: Calibration(noise, F(1, 5), F(1, 6)))
    assert HALVES.noisy(HALVES.grid, F(2), F(7)) == 3
    assert seen == [(2, 35)]
