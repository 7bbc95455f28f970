"""Sensitivities of numbers called out: equal to a search through all data of a small universe."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from statistics import pvariance

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.evidence.lessons import sensitivities as module
from tacit.evidence.lessons.sensitivities import STATISTICS, quiz, sensitivity_of
from tacit.mechanisms.smooth.sensitivity import smooth_order_statistic
from tacit.mechanisms.sorted_rows import sorted_rows
from tacit.release.plots import svg

HIGH = 4
GRID = tuple(Fraction(number, 2) for number in range(2 * HIGH + 1))  # holds every mean of two whole numbers


def by_hand(statistic: str, rows: tuple[Fraction, ...]) -> Fraction:
    """The statistic from its definition, written a second time."""
    ordered, size = sorted(rows), len(rows)
    places = {"median": (size + 1) // 2, "max": size, "min": 1}
    if statistic in places:
        return ordered[places[statistic] - 1]
    if statistic == "iqr":
        return ordered[-(-3 * size // 4) - 1] - ordered[max(1, -(-size // 4)) - 1]
    if statistic == "variance":
        return pvariance(rows)
    kept = ordered[1:-1] if statistic == "trimmed-mean" else ordered
    return sum(kept, start=Fraction(0)) / len(kept)


def searched(statistic: str, rows: tuple[int, ...]) -> list[Fraction]:
    """A(0), A(1), ... by listing all data and all their neighbours; extreme data are enough but for the variance."""
    values = GRID if statistic == "variance" else tuple(map(Fraction, range(HIGH + 1)))
    worst = [Fraction(0)] * (len(rows) + 1)
    for data in product(values, repeat=len(rows)):
        distance = sum(one != other for one, other in zip(data, rows, strict=True))
        here = by_hand(statistic, data)
        for place, value in product(range(len(rows)), values):
            moved = abs(by_hand(statistic, (*data[:place], value, *data[place + 1 :])) - here)
            worst[distance] = max(worst[distance], moved)
    return [max(worst[: distance + 1]) for distance in range(len(worst))]


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("rows", [(0, 1, 4), (2, 2, 3), (1, 1, 1), (0, 4, 4)])
def test_every_distance_equals_a_search(statistic: str, rows: tuple[int, ...]) -> None:
    found = sensitivity_of(statistic, rows, (0, HIGH), beta=1)
    assert list(found.distances) == searched(statistic, rows)
    assert found.value == by_hand(statistic, tuple(map(Fraction, rows)))


@pytest.mark.parametrize("statistic", ["median", "iqr", "trimmed-mean", "max"])
def test_four_numbers_equal_a_search(statistic: str) -> None:
    assert list(sensitivity_of(statistic, (0, 1, 3, 4), (0, HIGH), beta=1).distances) == searched(statistic, (0, 1, 3, 4))


def test_a_wrong_formula_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = module._window_at
    monkeypatch.setattr(module, "_window_at", lambda numbers, window, distance: right(numbers, window, max(0, distance - 1)))
    assert list(sensitivity_of("median", (0, 1, 4), (0, HIGH), beta=1).distances) != searched("median", (0, 1, 4))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9), st.fractions(Fraction(1, 4), 3, max_denominator=8))
@settings(deadline=None)
def test_the_median_agrees_with_the_mechanism(rows: list[int], beta: Fraction) -> None:
    found = sensitivity_of("median", rows, (0, 50), beta)
    private = smooth_order_statistic(sorted_rows(rows, 0, 50), Fraction(1, 2), beta)
    assert float(found.smooth) == pytest.approx(float(private), rel=1e-9)


@given(st.sampled_from(sorted(STATISTICS)), st.lists(st.integers(0, 20), min_size=3, max_size=6), st.data())
@settings(deadline=None)
def test_the_smooth_sensitivity_is_smooth_and_bounds_the_local_one(statistic: str, rows: list[int], data: st.DataObject) -> None:
    place, value = data.draw(st.integers(0, len(rows) - 1)), data.draw(st.integers(0, 20))
    other = [*rows[:place], value, *rows[place + 1 :]]
    one, two = (sensitivity_of(statistic, each, (0, 20), beta="1/2") for each in (rows, other))
    assert abs(one.value - two.value) <= one.here
    assert float(one.here) <= float(one.smooth) * (1 + 1e-12)
    assert float(one.smooth) <= float(two.smooth) * 1.6487212707001282 * (1 + 1e-12)
    assert all(low <= high for low, high in zip(one.distances, one.distances[1:], strict=False))


def test_the_quiz_has_the_answers_of_the_lecture() -> None:
    solved = {each["query"]: each for each in quiz(rows=10)}
    both = {name: (each["change_one"], each["add_remove"]) for name, each in solved.items()}
    assert both == {
        "sum of bits": ("1", "1"),
        "sum of reals": ("infinite", "infinite"),
        "mean": ("1/10", "1/11"),
        "median": ("1", "1"),
        "variance": ("9/100", "10/121"),
    }
    assert [name for name, each in solved.items() if each["useful"]] == ["sum of bits", "mean", "variance"]
    assert solved["mean"]["errors"]["100"] == pytest.approx(0.0299573, rel=1e-4)


def test_the_picture_shows_both_sequences() -> None:
    found = sensitivity_of("median", [1, 2, 3, 1000], (0, 1000), 2)
    picture = svg(found.drawing())
    assert "1: 998" in picture
    assert "1: 135.065" in picture
    assert found.to_dict()["distances"][1] == {"s": 1, "a": 998.0, "decayed": pytest.approx(135.0646127)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mode", [1], (0, 1), 1), "unknown statistic"),
        (("median", [], (0, 1), 1), "1 to 200 values"),
        (("median", [5], (0, 1), 1), "every value between"),
        (("trimmed-mean", [1, 1], (0, 1), 1), "trim"),
        (("median", [1], (0, 1), 0), "beta"),
    ],
)
def test_wrong_numbers_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        sensitivity_of(*arguments)
