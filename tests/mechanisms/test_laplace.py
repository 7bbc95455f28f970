"""The Laplace mechanism: its loss exactly on small worlds, its intervals by its law, its grid, its types, bad input."""

import math
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import laplace_limit
from tacit.accounting.calibrate import miss, miss_union
from tacit.accounting.events import LaplaceNoise
from tacit.errors import InvalidBudget, InvalidInput, InvalidSensitivity, InvalidValue
from tacit.mechanisms import sensitivity
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Listed, WithError
from tacit.mechanisms.noise import discrete
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law, worst_log_ratio
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Pure
from tacit.privacy.sealed import Sealed
from tacit.privacy.universe import Universe

TINY = Decimal("1e-30")
BOTH = pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE], ids=str)
BITS, VALUES = Universe((0, 1)), Universe((-2, 1, 6))
EPSILONS = st.fractions(Fraction(1, 100), 10).filter(bool)


class TenPercentTooSmall(Laplace):
    """The planted bug."""

    __slots__ = ()

    @property
    def scale(self):
        return Laplace.scale.fget(self) * 9 / 10


class RoundingNotCounted(Laplace):
    """The planted bug: the sensitivity of a vector of reals as if rounding moved one coordinate only."""

    __slots__ = ()

    @property
    def units(self):
        return Fraction(math.ceil(self.sensitivity / self.step))


def beyond(measured: Decimal, claim: str) -> Decimal:
    return ARITHMETIC.subtract(measured, Decimal(claim))


def worst_over_neighbours(mechanism, query, universe, rows):
    """The largest log-ratio over every pair of neighbours with up to `rows` rows, by the listed laws."""
    laws = {database: mechanism.law(query(database), missing="1e-6") for database in universe.databases_up_to(rows)}
    return max(
        worst_log_ratio(laws[one], laws[other]) for one in laws for other in one.neighbours(mechanism.neighbours) if other in laws
    )


def counts_of(database):
    return np.array(database.counts)


def test_what_the_readme_shows():
    mechanism = Laplace(sensitivity=2, epsilon=0.5)
    assert str(mechanism.interval(0.95)) == "± 11.98"
    assert str(mechanism.loss) == "pure epsilon 0.5 (add or remove one row)"
    assert isinstance(mechanism, Listed)
    assert isinstance(mechanism, WithError)


@BOTH
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_loss_of_a_count_over_all_neighbours(epsilon, relation):
    arguments = {
        "sensitivity": sensitivity.count(relation),
        "epsilon": epsilon,
        "step": 1,
        "on_grid": True,
        "neighbours": relation,
    }
    worst = worst_over_neighbours(Laplace(**arguments), lambda database: database.counts[1], BITS, 4)
    assert abs(beyond(worst, epsilon)) < TINY
    planted = worst_over_neighbours(TenPercentTooSmall(**arguments), lambda database: database.counts[1], BITS, 4)
    assert planted > Decimal(epsilon) * Decimal("1.1")


@BOTH
@pytest.mark.parametrize("step", ["1", "1/4", "2"])
def test_the_loss_of_a_sum_over_all_neighbours(step, relation):
    """Off the grid of step 2 the values 1 and 6 are rounded, and the loss stays within."""
    largest = sensitivity.total((-2, 6), relation)
    mechanism = Laplace(largest, "0.7", step=step, on_grid=step != "2", neighbours=relation)
    worst = worst_over_neighbours(mechanism, lambda database: sum(database.rows), VALUES, 3)
    assert abs(beyond(worst, "0.7")) < TINY


@BOTH
def test_the_loss_of_a_histogram_over_all_neighbours(relation):
    largest = sensitivity.histogram_l1(relation)
    arguments = {"sensitivity": largest, "epsilon": 1, "step": 1, "dimension": 2, "on_grid": True, "neighbours": relation}
    assert abs(beyond(worst_over_neighbours(Laplace(**arguments), counts_of, BITS, 3), "1")) < TINY
    planted = TenPercentTooSmall(**arguments)
    assert worst_over_neighbours(planted, counts_of, BITS, 3) > Decimal("1.1")


def test_the_sensitivity_of_the_other_relation_is_caught():
    """The planted bug: a histogram priced as under add/remove, where one row may change."""
    planted = Laplace(sensitivity.histogram_l1(ADD_REMOVE), 1, step=1, dimension=2, on_grid=True, neighbours=CHANGE_ONE)
    assert abs(beyond(worst_over_neighbours(planted, counts_of, BITS, 3), "2")) < TINY


def test_the_loss_of_real_numbers_off_the_grid():
    """Every pair of sixths within the sensitivity of a third of a step, then of four thirds: attained, not passed."""
    for distance in (Fraction(1, 3), Fraction(4, 3)):
        mechanism = Laplace(distance, 1, step=1)
        values = [Fraction(k, 6) for k in range(-9, 10)]
        laws = {value: mechanism.law(value, missing="1e-4") for value in values}
        worst = max(worst_log_ratio(laws[a], laws[b]) for a, b in product(values, repeat=2) if abs(a - b) <= distance)
        assert abs(beyond(worst, "1")) < TINY


def test_rounding_costs_a_vector_of_reals_one_unit_for_each_coordinate():
    """An l1 distance of 1.0 spread over ten coordinates moves ten units. Independent noise: the log-ratios add up."""
    one, other = np.full(10, 0.45), np.full(10, 0.55)
    assert np.abs(one - other).sum() == pytest.approx(1.0)

    def worst(mechanism):
        single = Laplace(mechanism.scale, 1, step=1)  # one number, the same scale
        pairs = zip(one, other, strict=True)
        return reduce(ARITHMETIC.add, [worst_log_ratio(single.law(a), single.law(b)) for a, b in pairs])

    assert Laplace(1, 1, step=1, dimension=10).units == 10
    assert abs(beyond(worst(Laplace(1, 1, step=1, dimension=10)), "1")) < TINY
    assert abs(beyond(worst(RoundingNotCounted(1, 1, step=1, dimension=10)), "10")) < TINY


def test_the_loss_of_two_reals_by_their_joint_law():
    one, other = np.array([0.45, 0.45]), np.array([0.55, 0.55])
    for kind, expected in ((Laplace, "1"), (RoundingNotCounted, "2")):
        mechanism = kind("0.2", 1, step=1, dimension=2)
        laws = [mechanism.law(value, missing="1e-6") for value in (one, other)]
        assert abs(beyond(worst_log_ratio(*laws), expected)) < TINY


@given(EPSILONS, st.fractions(0, 1000), st.integers(1, 50))
def test_the_claim_is_what_was_asked_and_rounding_adds_a_thousandth_at_most(epsilon, distance, dimension):
    mechanism = Laplace(distance, epsilon, dimension=dimension)
    assert mechanism.loss == Pure(epsilon if distance else 0)
    assert mechanism.event == LaplaceNoise(mechanism.units, mechanism.scale)
    assert mechanism.step * mechanism.units <= distance * Fraction(1001, 1000)
    assert mechanism.scale * mechanism.step >= distance / epsilon
    if distance:
        assert mechanism.step <= distance / epsilon / 1000


def test_a_step_above_the_sensitivity_is_not_chosen():
    """A thousandth of the scale is 10 here; one unit of 8 would be eight times the noise."""
    mechanism = Laplace(sensitivity=1, epsilon="0.0001")
    assert (mechanism.step, mechanism.scale) == (1, 10_000)


@settings(deadline=None)
@given(st.sampled_from(["0.3", "1", "4"]), st.sampled_from(["0.5", "0.9", "0.99"]), st.integers(-8, 8))
def test_intervals_cover_as_often_as_they_say_wherever_the_value_lies(epsilon, confidence, eighths):
    mechanism = Laplace(1, epsilon, step=1)
    value = Fraction(eighths, 8)
    assert _covered(mechanism, mechanism.interval(confidence), value) >= Decimal(confidence) - TINY


@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
@pytest.mark.parametrize("on_grid", [True, False])
def test_a_step_less_would_not_cover(confidence, on_grid):
    """The planted bug: an interval one step shorter, at the worst place of the value."""
    mechanism = Laplace(1, "0.5", step=1, on_grid=on_grid)
    interval = mechanism.interval(confidence)
    shorter = Interval(interval.below - 1, interval.above - 1)
    places = [0] if on_grid else [Fraction(k, 8) for k in range(-4, 5)]
    assert min(_covered(mechanism, interval, value) for value in places) >= Decimal(confidence)
    assert min(_covered(mechanism, shorter, value) for value in places) < Decimal(confidence)


def _covered(mechanism, interval, value):
    law = mechanism.law(value, missing="1e-5")
    return sum(
        (
            weight
            for outcome, weight in law.probabilities.items()
            if all(abs(o - v) <= interval.above for o, v in zip(np.atleast_1d(outcome), np.atleast_1d(value), strict=True))
        ),
        start=law.missing,
    )


@pytest.mark.parametrize("confidence", ["0.5", "0.95"])
def test_simultaneous_intervals_cover_all_numbers_at_once(confidence):
    mechanism = Laplace(2, "0.4", step=1, dimension=2, on_grid=True)
    together, each = mechanism.simultaneous_interval(confidence), mechanism.interval(confidence)
    assert _covered(mechanism, together, [3, -4]) >= Decimal(confidence)
    assert _covered(mechanism, each, [3, -4]) < Decimal(confidence)  # the planted bug: one number's interval for two


def test_the_accuracy_theorems_in_numbers():
    """Sensitivity 2, epsilon 1/2, ten numbers, 95 %: 11.98293 for one, 21.10138 for all (21.19327 by the union bound)."""
    fine = Laplace(2, "0.5", step=Fraction(1, 2**16), dimension=10, on_grid=True)
    assert fine.interval(0.95).above == pytest.approx(11.98293, abs=2**-15)
    assert fine.simultaneous_interval(0.95).above == pytest.approx(21.10138, abs=2**-15)
    union = fine._interval(miss_union(0.95, 10)).above
    assert union == pytest.approx(21.19327, abs=2**-15)
    assert fine._interval(miss(0.95, 10)) == fine.simultaneous_interval(0.95)


@pytest.mark.parametrize("shape", [{}, {"step": "1/8"}, {"step": "1/8", "on_grid": True}, {"dimension": 10}], ids=str)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_for_error_is_the_least_epsilon(shape, confidence):
    for make, measure in ((Laplace.for_error, Laplace.interval), (Laplace.for_simultaneous_error, Laplace.simultaneous_interval)):
        found = make(error=10, confidence=confidence, sensitivity=1, neighbours=CHANGE_ONE, **shape)
        assert measure(found, confidence).above <= 10
        assert found.neighbours == CHANGE_ONE
        less = Laplace(1, found.epsilon * Fraction(9999, 10000), step=found.step, dimension=found.dimension, on_grid=found.on_grid)
        assert measure(less, confidence).above > 10 - (0 if found.on_grid else float(found.step))


def test_for_error_in_numbers():
    """Error 10 at 95 %, sensitivity 1: 0.299573 for one number, 0.527534 for ten at once; rounding adds a thousandth at most."""
    assert 0.299573 <= Laplace.for_error(10, 0.95, 1).epsilon <= 0.299573 * 1.002
    assert 0.527534 <= Laplace.for_simultaneous_error(10, 0.95, 1, dimension=10).epsilon <= 0.527534 * 1.002


def test_a_release_is_the_value_and_the_noise(monkeypatch):
    noise = np.array([3, -2, 7])
    monkeypatch.setattr(discrete, "draw_laplace", lambda scale, size: noise[:size])
    assert Laplace(1, 1, step=1, on_grid=True).release(40) == 43
    assert Laplace(1, 1, step="1/4").release(40) == 40.75
    assert Laplace(1, 1, step="1/4").release(40.1) == 40.75  # rounded to 40 first
    assert Laplace(1, 1, step=1, dimension=3, on_grid=True).release([1, 2, 3]).tolist() == [4, 0, 10]
    assert Laplace(1, 1, step="1/2", dimension=3).release_units([1, 2, 2**80]).tolist() == [4, 0, 2**80 + 7]
    assert Laplace(1, 1, step="1/2").release_each([1, 2, 2**80]).tolist() == [4, 0, 2**80 + 7]


def test_draws_have_the_scale_that_the_event_states(monkeypatch):
    asked = []
    monkeypatch.setattr(discrete, "draw_laplace", lambda scale, size: asked.append((scale, size)) or np.zeros(size, dtype=np.int64))
    mechanism = Laplace(3, "0.5", step=1, dimension=4, on_grid=True)
    mechanism.release([1, 2, 3, 4])
    assert asked == [(mechanism.event.scale, 4)] == [(6, 4)]


def test_values_on_the_grid_move_by_whole_steps_only():
    """Two and a half steps are two; rounded up, the noise would be half as much again."""
    assert Laplace("5/2", 1, step=1, on_grid=True).units == 2
    assert Laplace("5/2", 1, step="1/2", on_grid=True).units == 5


@pytest.mark.parametrize(("error", "confidence", "step"), [(10, 0.95, "1/512"), (16, 0.5, "1/64"), (1000, 0.999, "1/8")])
def test_an_error_chooses_the_step_by_the_scale_that_it_allows(error, confidence, step):
    """The largest power of two up to a thousandth of error / log(1 / miss): 3.3, 23 and 145."""
    assert Laplace.for_error(error, confidence, 1000).step == Fraction(step)


@pytest.mark.parametrize("epsilon", ["1/20", "1/50"])
def test_the_deviation_is_that_of_the_law(epsilon):
    """Within a tenth of a percent: the grid adds a twelfth of a step squared to the variance."""
    mechanism = Laplace(1, epsilon, step=1, on_grid=True)
    variance = sum(float(chance) * float(move) ** 2 for move, chance in mechanism.law(0, missing="1e-12").probabilities.items())
    assert mechanism.deviation == pytest.approx(variance**0.5, rel=1e-3)


def test_types_follow_from_the_mechanism_not_from_the_value():
    whole, quarter = Laplace(1, 1, step=1, on_grid=True), Laplace(1, 1, step="1/4", on_grid=True)
    for value in (5, 5.0, np.int8(5), np.float32(5), Fraction(5), True, Decimal(5), np.array(5), Sealed(5), 2**200):
        assert type(whole.release(value)) is int
        assert type(quarter.release(value)) is float
        assert type(whole.release_units(value if not isinstance(value, float | Fraction | Decimal | np.floating) else 5)) is int
    vector = Laplace(1, 1, step=1, dimension=2, on_grid=True)
    for value in ([1, 2], (1.0, 2.0), np.array([1, 2], dtype=object), np.array([True, False]), Sealed(np.array([1, 2]))):
        assert vector.release(value).dtype == np.int64
    assert Laplace(1, 1).release(np.array([5])).shape == (1,)


def test_the_array_type_does_not_tell_two_neighbours_apart(monkeypatch):
    """Just below and just above what an int64 holds: noise of -1 and -2 lands both on one value, of one type."""
    mechanism = Laplace(1, 1, step=1, dimension=1, on_grid=True)
    releases = []
    for exact, noise in ((2**63 - 1, -1), (2**63, -2)):
        monkeypatch.setattr(discrete, "draw_laplace", lambda scale, size, noise=noise: np.array([noise]))
        releases.append(mechanism.release_units(np.array([exact], dtype=object)))
    assert releases[0].dtype == releases[1].dtype == np.int64
    assert releases[0] == releases[1]


def test_sums_beyond_a_machine_word():
    mechanism = Laplace(10**25, 1, step=1, dimension=2, on_grid=True)
    released = mechanism.release(np.array([10**30, -(10**30)], dtype=object))
    assert all(abs(int(r) - e) < laplace_limit(10**25, among=2) for r, e in zip(released, (10**30, -(10**30)), strict=True))
    assert isinstance(Laplace(1, 1, step=1, on_grid=True).release(10**40), int)


def test_a_constant_needs_no_noise_and_costs_nothing():
    for mechanism in (Laplace(0, 1), Laplace(0, 1, step="1/8", on_grid=True), Laplace(0, 1, step=1, dimension=3)):
        assert mechanism.loss == Pure(0)
        assert mechanism.scale == 0
    assert Laplace(0, 1).release(0.25) == 0.25
    assert Laplace(0, 1).law(0.25) == Law({0.25: Decimal(1)})
    assert Laplace(0, 1, step=1).interval(0.95).above == 0.5  # rounding alone
    assert Laplace(0, 1, step=1, on_grid=True).interval(0.95).above == 0
    with pytest.raises(InvalidSensitivity, match="requires no noise"):
        Laplace.for_error(1, 0.95, 0)


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf, -math.inf, "x", None, True, 1j])
def test_a_sensitivity_is_finite_and_at_least_zero(bad):
    with pytest.raises(InvalidSensitivity):
        Laplace(bad, 1)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", None])
def test_an_epsilon_is_finite_and_above_zero(bad):
    with pytest.raises(InvalidBudget):
        Laplace(1, bad)


@pytest.mark.parametrize(
    "bad", [{"step": 0}, {"step": -1}, {"step": math.nan}, {"dimension": 0}, {"dimension": 1.5}, {"on_grid": True}], ids=str
)
def test_a_grid_and_a_dimension_are_checked(bad):
    with pytest.raises(InvalidInput):
        Laplace(1, 1, **bad)


def test_on_grid_with_a_step_above_the_sensitivity_would_be_no_noise_at_all():
    with pytest.raises(InvalidSensitivity, match="give the step that the"):
        Laplace(1, 1, step=8, on_grid=True)
    with pytest.raises(InvalidValue, match="declared to be on the grid"):
        Laplace(8, 1, step=8, on_grid=True).release(3)


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, "5", None, 1j, [], [1, 2], [[1]], np.zeros(0), np.array([[1.0]]), [math.nan], ["a"]], ids=repr
)
def test_a_scalar_mechanism_releases_one_finite_number(bad):
    for attempt in (Laplace(1, 1).release, Laplace(1, 1).law, Laplace(1, 1, step=1).release_units):
        with pytest.raises(InvalidValue):
            attempt(bad)


@pytest.mark.parametrize(
    "bad", [5, [], [1, 2], [1, 2, 3, 4], [[1, 2, 3]], [1, math.nan, 3], np.array(["a", "b", "c"]), [1, 2, None]], ids=repr
)
def test_a_vector_mechanism_releases_exactly_its_dimension(bad):
    with pytest.raises(InvalidValue):
        Laplace(1, 1, dimension=3).release(bad)


@pytest.mark.parametrize("bad", [0, 1, -1, math.nan, "x", 2])
def test_a_confidence_is_between_zero_and_one(bad):
    for attempt in (Laplace(1, 1).interval, Laplace(1, 1).simultaneous_interval, lambda c: Laplace.for_error(1, c, 1)):
        with pytest.raises(InvalidInput):
            attempt(bad)


def test_an_error_below_the_step_cannot_be_met():
    with pytest.raises(InvalidInput, match="give a smaller step"):
        Laplace.for_error(0.5, 0.95, 1, step=1)
    assert Laplace.for_error(0.5, 0.95, 1, step=1, on_grid=True).interval(0.95).above == 0


def test_a_law_too_long_to_list_says_what_to_do():
    with pytest.raises(InvalidInput, match="larger step"):
        Laplace(1, 1, dimension=3).law([0, 0, 0])


def test_its_loss_is_pure_so_a_budget_needs_no_delta():
    """A price asks the class before any mechanism exists."""
    assert not Laplace.concentrated
    assert isinstance(Laplace(1, 0.5).loss, Pure)


def test_a_mechanism_is_a_frozen_value():
    mechanism = Laplace(1, 0.5)
    assert mechanism == Laplace(sensitivity=1, epsilon="1/2")
    assert hash(mechanism) == hash(Laplace(1, 0.5))
    assert replace(mechanism, epsilon=1) == Laplace(1, 1, step=mechanism.step)
    with pytest.raises(FrozenInstanceError):
        mechanism.epsilon = 2


@pytest.mark.parametrize("name", ["noise.svg", "noise.png", "noise.html"])
def test_the_chart_shows_three_epsilons_and_the_interval(tmp_path, name):
    chart = Laplace(2, 0.5).chart(str(tmp_path / name))
    drawn = [row for rows in chart.to_dict()["datasets"].values() for row in rows]
    assert {row["curve"] for row in drawn if "curve" in row} == {"epsilon 0.25", "epsilon 0.5", "epsilon 1"}
    assert [row["high"] for row in drawn if "high" in row] == [Laplace(2, 0.5).interval(0.95).above]
    saved = (tmp_path / name).read_bytes()
    assert len(saved) > 1000
    assert b"<script src=" not in saved  # self-contained
    with pytest.raises(InvalidInput, match="unsupported chart format"):
        Laplace(2, 0.5).chart(str(tmp_path / "noise.doc"))


def test_a_chart_of_a_few_steps_is_the_law():
    mechanism = Laplace(1, 1, step=1, on_grid=True)
    drawn = [row for rows in mechanism.chart().to_dict()["datasets"].values() for row in rows if "curve" in row]
    laws = {f"epsilon {epsilon}": Laplace(1, epsilon, step=1, on_grid=True).law(0).probabilities for epsilon in ("0.5", "1", "2")}
    assert {row["curve"] for row in drawn} == set(laws)
    for row in drawn:
        assert row["density"] == pytest.approx(float(laws[row["curve"]][int(row["error"])]), rel=1e-12)
