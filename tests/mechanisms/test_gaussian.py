"""The discrete Gaussian mechanism: its concentrated loss and its own (epsilon, delta) by its law, its intervals, bad input."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting.calibrate import drifted_delta_up, gaussian_error, gaussian_scale_for
from tacit.accounting.events import CalibratedGaussian, GaussianNoise
from tacit.accounting.gaussian_curve import Moves, calibrated_rho
from tacit.accounting.gaussian_sums import gaussian_tail_up
from tacit.errors import InvalidBudget, InvalidInput, InvalidSensitivity, InvalidValue
from tacit.mechanisms import gaussian, sensitivity
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.mechanism import Listed, WithError
from tacit.mechanisms.noise import discrete
from tacit.privacy.conversion import largest_rho_down
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, hockey_stick
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Approximate, Concentrated
from tacit.privacy.sealed import Sealed
from tacit.privacy.universe import Universe

TINY = Decimal("1e-20")
BOTH = pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE], ids=str)
BITS = Universe((0, 1))


class TenPercentTooSmall(Gaussian):
    """The planted bug."""

    __slots__ = ()

    @property
    def scale(self):
        return Gaussian.scale.fget(self) * 9 / 10


class RoundingNotCounted(Gaussian):
    """The planted bug: the sensitivity of a vector of reals as if rounding moved one coordinate only."""

    __slots__ = ()

    @property
    def units(self):
        return Fraction(math.ceil(self.sensitivity / self.step))


def divergence_over_order(one, other, order):
    """The Renyi divergence of an integer order, divided by it: what rho bounds."""
    with localcontext(ARITHMETIC):
        both = [(p, other.probabilities[o]) for o, p in one.probabilities.items() if o in other.probabilities]
        return sum(p * (p / q) ** (order - 1) for p, q in both).ln() / (order - 1) / order


def worst_over_neighbours(mechanism, query, rows, missing="1e-40"):
    laws = {database: mechanism.law(query(database), missing=missing) for database in BITS.databases_up_to(rows)}
    return max(
        divergence_over_order(laws[one], laws[other], order)
        for one in laws
        for other in one.neighbours(mechanism.neighbours)
        if other in laws
        for order in (2, 3)
    )


def as_decimal(fraction):
    return ARITHMETIC.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))


def test_what_the_readme_shows():
    mechanism = Gaussian(sensitivity=1, rho=0.5)
    assert str(mechanism.loss) == "concentrated rho 0.5 (add or remove one row)"
    assert str(mechanism.interval(0.95)) == "± 1.961"
    assert isinstance(mechanism, Listed)
    assert isinstance(mechanism, WithError)


@BOTH
@pytest.mark.parametrize("rho", ["0.1", "0.5", "2"])
def test_the_loss_of_a_count_over_all_neighbours(rho, relation):
    """Equal to rho at whole orders: the shifted sum is a sum over all integers again."""
    arguments = {"sensitivity": 1, "rho": rho, "step": 1, "on_grid": True, "neighbours": relation}
    mechanism = Gaussian(**arguments)
    worst = worst_over_neighbours(mechanism, lambda database: database.counts[1], 3)
    assert abs(worst - as_decimal(mechanism.loss.rho)) < TINY
    assert 0 <= Fraction(rho) - mechanism.loss.rho < Fraction(1, 10**12)
    planted = worst_over_neighbours(TenPercentTooSmall(**arguments), lambda database: database.counts[1], 3)
    assert planted > Decimal(rho) * Decimal("1.2")


@BOTH
def test_the_loss_of_a_histogram_over_all_neighbours(relation):
    arguments = {"rho": 1, "step": 1, "dimension": 2, "on_grid": True, "neighbours": relation}
    mechanism = Gaussian(sensitivity.histogram_l2(relation), **arguments)
    worst = worst_over_neighbours(mechanism, lambda database: np.array(database.counts), 2, missing="1e-30")
    assert abs(worst - as_decimal(mechanism.loss.rho)) < Decimal("1e-12")
    planted = TenPercentTooSmall(sensitivity.histogram_l2(relation), **arguments)
    assert worst_over_neighbours(planted, lambda database: np.array(database.counts), 2, missing="1e-30") > Decimal("1.2")


def test_rounding_costs_a_vector_of_reals_the_root_of_its_dimension():
    """An l2 distance of 0.2 over four coordinates moves all four by a unit: a distance of 2."""
    one, other = np.full(4, 0.45), np.full(4, 0.55)

    def loss_of(mechanism):  # independent noise: divergences add up
        single = Gaussian(1, 1 / (2 * mechanism.scale**2), step=1)
        assert single.scale == mechanism.scale
        pairs = zip(one, other, strict=True)
        return sum(divergence_over_order(single.law(a, "1e-30"), single.law(b, "1e-30"), 2) for a, b in pairs)

    counted, planted = (kind("0.2", 1, step=1, dimension=4) for kind in (Gaussian, RoundingNotCounted))
    assert counted.units == Fraction("2.2")
    assert loss_of(counted) <= 1
    assert loss_of(planted) > Decimal("3.99")


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("2", "0.001"), ("0.5", "0.01"), ("3", "1e-5")])
def test_one_number_for_a_budget_by_its_own_sums(epsilon, delta):
    """Exactly, by the law: within delta, and hardly less noise would not be."""
    mechanism = Gaussian.for_budget(1, epsilon, delta, step=1, on_grid=True)
    assert mechanism.loss == Approximate(epsilon, delta)
    noise = GaussianNoise(Fraction(1), mechanism.scale)
    assert mechanism.event == CalibratedGaussian((noise,), Fraction(epsilon), Fraction(delta))
    assert mechanism.scale == gaussian_scale_for(1, epsilon, delta)
    assert excess(mechanism, 1, epsilon) <= Decimal(delta)
    assert excess(TenPercentTooSmall(1, mechanism.rho, step=1, on_grid=True), 1, epsilon) > Decimal(delta)
    assert mechanism.rho > largest_rho_down(Fraction(epsilon), Fraction(delta)), "less noise than by concentrated loss"


def excess(mechanism, distance, epsilon):
    laws = mechanism.law(0, "1e-20"), mechanism.law(distance, "1e-20")
    return max(hockey_stick(*laws, Decimal(epsilon)), hockey_stick(*reversed(laws), Decimal(epsilon)))


def test_the_formula_for_continuous_noise_is_caught():
    """The planted bug: the analytic formula gives scale 1.4452 for (2, 0.001), and the integers exceed delta by a fifth."""
    planted = Gaussian(1, 1 / (2 * Fraction("1.4452") ** 2), step=1, on_grid=True)
    assert excess(planted, 1, "2") > Decimal("0.0012")
    assert Gaussian.for_budget(1, 2, 0.001, step=1, on_grid=True).scale > Fraction("1.4452")


def test_one_number_off_the_grid_for_a_budget():
    mechanism = Gaussian.for_budget("1.3", 1, "1e-4", step=1)
    assert mechanism.units == 2
    assert excess(mechanism, 1.3, "1") <= Decimal("1e-4")
    default = Gaussian.for_budget(1, 8, 1e-6)
    assert default.scale >= 1000
    assert default.loss == Approximate(8, 1e-6)


def test_several_numbers_for_a_budget_by_the_curve():
    """Within a thousandth of one number's noise, in units of the sensitivity; the loss is stated with its delta."""
    mechanism = Gaussian.for_budget(2, 1, 1e-6, dimension=5, neighbours=CHANGE_ONE)
    assert mechanism.loss == Approximate(1, 1e-6, CHANGE_ONE)
    assert mechanism.event == CalibratedGaussian((mechanism.noise,), Fraction(1), Fraction(1, 10**6))
    one = Gaussian.for_budget(2000, 1, 1e-6, step=1, on_grid=True)
    assert 1 <= (mechanism.scale / mechanism.units) / (one.scale / one.units) < Fraction("1.001")
    assert mechanism.resized(3).event == GaussianNoise(mechanism.resized(3).units, mechanism.resized(3).scale, 0, CHANGE_ONE)


def test_a_budget_belongs_to_the_noise_it_was_made_for():
    """Changing a field by `replace` falls back to the concentrated loss, which is recomputed."""
    mechanism = Gaussian.for_budget(1, 1, 1e-6, step=1, on_grid=True)
    assert replace(mechanism, sensitivity=2).loss == Gaussian(2, mechanism.rho, step=1, on_grid=True).loss
    with pytest.raises((TypeError, ValueError)):
        replace(mechanism, stated=Approximate("0.1", "1e-9"))


@given(st.fractions(Fraction(1, 1000), 10).filter(bool), st.fractions(0, 1000), st.integers(1, 50))
def test_the_claim_is_within_what_was_asked_and_rounding_adds_a_thousandth_at_most(rho, distance, dimension):
    mechanism = Gaussian(distance, rho, dimension=dimension)
    assert mechanism.loss.rho <= rho
    assert mechanism.loss.rho >= (rho * (1 - Fraction(1, 10**12)) if distance else 0)
    assert mechanism.event == GaussianNoise(mechanism.units, mechanism.scale, Fraction(0))
    assert mechanism.step * mechanism.units <= distance * Fraction(1001, 1000)
    assert (mechanism.scale * mechanism.step) ** 2 * 2 * rho >= distance**2
    if distance:
        assert mechanism.scale >= 1000


def covered(mechanism, interval, value):
    law = mechanism.law(value, "1e-7")
    near = (
        weight
        for outcome, weight in law.probabilities.items()
        if all(abs(o - v) <= interval.above for o, v in zip(np.atleast_1d(outcome), np.atleast_1d(value), strict=True))
    )
    return sum(near, start=law.missing)


@settings(deadline=None)
@given(st.sampled_from(["0.05", "0.5", "8"]), st.sampled_from(["0.4", "0.9", "0.99"]), st.integers(-8, 8))
def test_intervals_cover_as_often_as_they_say_wherever_the_value_lies(rho, confidence, eighths):
    mechanism = Gaussian(1, rho, step=1)
    assert covered(mechanism, mechanism.interval(confidence), Fraction(eighths, 8)) >= Decimal(confidence)


@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
@pytest.mark.parametrize("on_grid", [True, False])
def test_a_step_less_would_not_cover(confidence, on_grid):
    """The planted bug: an interval one step shorter, at the worst place of the value."""
    mechanism = Gaussian(1, "0.05", step=1, on_grid=on_grid)
    interval = mechanism.interval(confidence)
    shorter = Interval(interval.below - 1, interval.above - 1)
    places = [0] if on_grid else [Fraction(k, 8) for k in range(-4, 5)]
    assert min(covered(mechanism, interval, value) for value in places) >= Decimal(confidence)
    assert min(covered(mechanism, shorter, value) for value in places) < Decimal(confidence)


def test_simultaneous_intervals_cover_all_numbers_at_once():
    mechanism = Gaussian(1, "0.02", step=1, dimension=2, on_grid=True)
    assert covered(mechanism, mechanism.simultaneous_interval("0.9"), [3, -4]) >= Decimal("0.9")
    assert covered(mechanism, mechanism.interval("0.9"), [3, -4]) < Decimal("0.9")  # the planted bug


@pytest.mark.parametrize("shape", [{}, {"step": "1/8"}, {"step": "1/8", "on_grid": True}, {"dimension": 10}], ids=str)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_for_error_is_the_least_rho_up_to_a_step(shape, confidence):
    for make, measure in (
        (Gaussian.for_error, Gaussian.interval),
        (Gaussian.for_simultaneous_error, Gaussian.simultaneous_interval),
    ):
        found = make(error=10, confidence=confidence, sensitivity=1, neighbours=CHANGE_ONE, **shape)
        assert measure(found, confidence).above <= 10
        assert found.neighbours == CHANGE_ONE
        less = Gaussian(1, found.rho * Fraction(999, 1000), step=found.step, dimension=found.dimension, on_grid=found.on_grid)
        assert measure(less, confidence).above > 10 - (0 if found.on_grid else 2 * float(found.step))


def test_for_error_in_numbers():
    """Error 10 at 95 % by continuous noise: sigma = 10 / 1.959964, rho = 1 / (2 sigma^2) = 0.0192073."""
    assert float(Gaussian.for_error(10, 0.95, 1).rho) == pytest.approx(0.0192073, rel=2e-3)


def test_a_release_is_the_value_and_the_noise(monkeypatch):
    asked = []

    def drawn(scale, size):
        asked.append((scale, size))
        return np.array([3, -2, 7])[:size]

    monkeypatch.setattr(discrete, "draw_gaussian", drawn)
    assert Gaussian(1, 1, step=1, on_grid=True).release(Sealed(40)) == 43
    assert Gaussian(1, 1, step="1/4").release(40.1) == 40.75
    vector = Gaussian(1, 1, step=1, dimension=3, on_grid=True)
    assert vector.release([1, 2, 2**80]).tolist() == [4, 0, 2**80 + 7]
    assert vector.release_units(np.array([1, 2, 3])).tolist() == [4, 0, 10]
    assert asked[-1] == (vector.event.scale, 3)


def test_the_same_noise_for_however_many_numbers(monkeypatch):
    """The scale that is drawn is the event's, also where one number or none is there; so is the mechanism's divergence."""
    drawn = []
    monkeypatch.setattr(discrete, "draw_gaussian", lambda scale, size: drawn.append(scale) or np.arange(size))
    made = Gaussian(Fraction("1.7320508"), 0.1, step=1, dimension=3, on_grid=True)
    assert [made.release_each(Sealed(np.full(size, 7))).tolist() for size in (0, 1, 4)] == [[], [7], [7, 8, 9, 10]]
    assert set(drawn) == {made.event.scale}
    with pytest.raises(InvalidValue, match="one flat array"):
        made.release_each([[1, 2]])


def divergence_of_each(mechanism, order=2):
    """Of one unit with a row in three groups: three entries of a longer vector differ by one, the others are the same."""
    one = Gaussian(1, 1 / (2 * mechanism.event.scale**2), step=1, on_grid=True)  # the noise of one entry, at the scale that runs
    assert abs(one.scale - mechanism.event.scale) < Fraction(1, 10**12)
    laws = one.law(0, missing="1e-40"), one.law(1, missing="1e-40")
    return 3 * divergence_over_order(*laws, order)


def test_noise_made_for_one_number_is_caught_on_the_entries_of_several():
    root_of_three = Fraction("1.7320508075688772936")
    assert divergence_of_each(Gaussian(root_of_three, "0.1", 1, dimension=3, on_grid=True)) <= Decimal("0.1")
    assert divergence_of_each(Gaussian(root_of_three, "0.1", 1, dimension=1, on_grid=True)) > Decimal("0.29")  # planted


def test_types_follow_from_the_mechanism_not_from_the_value():
    whole, quarter = Gaussian(1, 1, step=1, on_grid=True), Gaussian(1, 1, step="1/4", on_grid=True)
    for value in (5, 5.0, np.int8(5), Fraction(5), Sealed(5), 2**200):
        assert type(whole.release(value)) is int
        assert type(quarter.release(value)) is float
    assert Gaussian(1, 1, dimension=2).release([1, 2]).dtype == np.float64


def test_a_constant_needs_no_noise_and_costs_nothing():
    assert Gaussian(0, 1).loss == Concentrated(0)
    assert Gaussian(0, 1).release(0.25) == 0.25
    assert Gaussian(0, 1).law(0.25).probabilities == {0.25: Decimal(1)}
    assert Gaussian(0, 1, step=1, dimension=3).simultaneous_interval(0.95).above == 0.5
    for attempt in (lambda: Gaussian.for_error(1, 0.95, 0), lambda: Gaussian.for_budget(0, 1, 1e-6)):
        with pytest.raises(InvalidSensitivity, match="requires no noise"):
            attempt()


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf, "x", None, True])
def test_a_sensitivity_is_finite_and_at_least_zero(bad):
    with pytest.raises(InvalidSensitivity):
        Gaussian(bad, 1)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", None])
def test_budgets_are_finite_and_above_zero(bad):
    for attempt in (lambda: Gaussian(1, bad), lambda: Gaussian.for_budget(1, bad, 1e-6), lambda: Gaussian.for_budget(1, 1, bad)):
        with pytest.raises(InvalidBudget):
            attempt()
    with pytest.raises(InvalidBudget):
        Gaussian.for_budget(1, 1, 1)


def test_grids_values_and_errors_are_checked():
    for bad in ({"step": 0}, {"dimension": 0}, {"on_grid": True}, {"step": 8, "on_grid": True}):
        with pytest.raises(InvalidInput):
            Gaussian(1, 1, **bad)
    for value in (math.nan, [1, 2], [], None, "5", 1j):
        with pytest.raises(InvalidValue):
            Gaussian(1, 1).release(value)
    with pytest.raises(InvalidInput, match="give a smaller step"):
        Gaussian.for_error(0.5, 0.95, 1, step=1)


@pytest.mark.parametrize(
    "made", [Gaussian(1, 0.5), Gaussian.for_budget(1, 0.5, 1e-6, step=1, on_grid=True)], ids=["rho", "epsilon"]
)
def test_the_chart_shows_three_budgets_and_the_interval(made, request):
    name = request.node.callspec.id
    drawn = [row for rows in made.chart().to_dict()["datasets"].values() for row in rows]
    assert {row["curve"] for row in drawn if "curve" in row} == {f"{name} 0.25", f"{name} 0.5", f"{name} 1"}
    assert [row["high"] for row in drawn if "high" in row] == [made.interval(0.95).above]


@pytest.mark.parametrize(("dimension", "on_grid", "units"), [(1, True, 2), (1, False, 3), (4, True, "5/2"), (4, False, "9/2")])
def test_a_sensitivity_in_units_of_the_grid(dimension, on_grid, units):
    """Two and a half steps: whole steps between values on the grid, and what rounding adds off it."""
    found = Gaussian("5/2", "1/2", step=1, dimension=dimension, on_grid=on_grid).units
    assert 0 <= found - Fraction(units) < Fraction(1, 10**9)


@pytest.mark.parametrize("dimension", [1, 4])
@pytest.mark.parametrize("on_grid", [True, False])
def test_a_finer_grid_has_as_many_more_units(dimension, on_grid):
    """The same noise in the data's own unit, whatever the step: with too few units it would be too small."""
    rough, fine = (Gaussian("7/2", "1/2", step, dimension, on_grid) for step in ("1/2", "1/16"))
    added = 0 if on_grid or dimension == 1 else 2
    assert [rough.units - added, fine.units - added] == pytest.approx([7, 56])
    assert float(fine.scale) == pytest.approx(float(fine.units))


@pytest.mark.parametrize("epsilon", ["1/4", "1", "8"])
def test_a_budget_on_any_grid_is_calibrated_on_the_grid_that_is_used(epsilon, monkeypatch):
    """One number: at least 1000 steps to a scale, on the largest such grid; several stay on that of the concentrated loss."""
    budget = Fraction(epsilon), Fraction(1, 10**6)
    made = Gaussian.for_budget(1, *budget)
    assert 1000 <= made.scale < 4000
    assert made.rho == calibrated_rho((Moves(made.units, entries=1),), (Fraction(1),), *budget)
    assert made.units == 1 / made.step
    coarser = Gaussian.for_budget(1, *budget, step=2 * made.step)
    assert coarser.scale < 1000
    monkeypatch.setattr(gaussian, "STEPS_PER_SCALE", made.scale)
    assert Gaussian.for_budget(1, *budget) == made, "just as many steps are enough"
    monkeypatch.undo()
    rough = Gaussian(1, largest_rho_down(*budget), dimension=3)
    several = Gaussian.for_budget(1, *budget, dimension=3)
    assert several.step == rough.step
    assert several.rho == calibrated_rho((Moves(several.units, entries=3),), (Fraction(1),), *budget)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [("1.3", 1), ("0.3", 3), ("2.9", 8)])  # the last two on a finer grid
def test_a_sensitivity_between_grid_points_is_calibrated_by_whole_steps(sensitivity, epsilon):
    budget = Fraction(epsilon), Fraction(1, 10**6)
    made = Gaussian.for_budget(sensitivity, *budget)
    assert made.units == math.ceil(Fraction(sensitivity) / made.step) > Fraction(sensitivity) / made.step
    assert made.rho == calibrated_rho((Moves(made.units, entries=1),), (Fraction(1),), *budget)


def test_its_loss_is_concentrated_so_a_budget_needs_a_delta():
    """A price asks the class before any mechanism exists."""
    assert Gaussian.concentrated
    assert str(Gaussian(1, 1).loss).startswith("concentrated")


def test_every_number_may_lose_what_its_noise_leaves_out(monkeypatch):
    lost = Fraction(1, 10**9)
    monkeypatch.setattr(discrete, "gaussian_truncation", lambda scale: lost)
    assert Gaussian(1, 1, 1, 5, True).noise.delta == 5 * lost
    budget = Fraction(1), Fraction(1, 10**6)
    stated = Gaussian.for_budget(1, *budget, step=1, dimension=5, on_grid=True).stated
    assert stated.delta == drifted_delta_up(budget[1], budget[0], 5 * lost) > budget[1]


@pytest.mark.parametrize("rho", ["1/200", "1/20", "1/2"])
def test_an_interval_off_the_grid_is_the_least_whose_two_tails_hold(rho):
    """Of k steps: the mean of the tails at k - 1 and at k is at most the chance of a miss."""
    mechanism = Gaussian(1, rho, step=1)
    tails = [gaussian_tail_up(mechanism.scale, steps) for steps in range(60)]
    for percent in range(2, 60):
        missed = Fraction(percent, 100)
        least = next(steps for steps in range(1, 60) if tails[steps - 1] + tails[steps] <= 2 * missed)
        assert mechanism.interval(1 - missed).above == least
    for steps in range(1, 9):
        just = (tails[steps - 1] + tails[steps]) / 2
        assert mechanism.interval(1 - just).above == steps, "a chance that is just met"


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_an_error_off_the_grid_is_used_up(confidence):
    found = Gaussian.for_error(error=10, confidence=confidence, sensitivity=1, step=1)
    assert found.interval(confidence).above == 10


@pytest.mark.parametrize("scale", ["1/3", "5/4", "7"])
def test_a_law_has_the_outcomes_that_it_must_have(scale):
    """As few as leave out the chance that is missing, each to 40 digits the weight over the sum of all."""
    mechanism = Gaussian(1, 1 / (2 * Fraction(scale) ** 2), step=1, on_grid=True)
    reach = gaussian_error(mechanism.scale, Fraction(1, 1000))
    law = mechanism.law(0, "1/1000")
    assert sorted(law.probabilities) == list(range(-reach, reach + 1))
    with localcontext(prec=60):
        exponent = -1 / (2 * (Decimal(mechanism.scale.numerator) / mechanism.scale.denominator) ** 2)
        weights = {move: (exponent * move**2).exp() for move in range(-200, 201)}
        whole = sum(weights.values())
        for move, found in law.probabilities.items():
            assert abs(found * whole / weights[move] - 1) < Decimal("1e-40")


@pytest.mark.parametrize(("error", "step"), [("10.60", "1/512"), ("10.62", "1/256")])
def test_an_error_chooses_the_step_by_the_scale_that_it_allows(error, step):
    """The largest power of two up to a thousandth of error / sqrt(2 log(2 / miss)) = 3.903 and 3.910; 1000 / 256 is 3.906."""
    assert Gaussian.for_error(error, 0.95, 1000).step == Fraction(step)


def test_a_chart_of_a_few_steps_is_the_law():
    drawn = [row for rows in Gaussian(1, "1/2", step=1, on_grid=True).chart().to_dict()["datasets"].values() for row in rows]
    laws = {f"rho {rho}": Gaussian(1, rho, step=1, on_grid=True).law(0).probabilities for rho in ("0.25", "0.5", "1")}
    for row in drawn:
        if "curve" in row:
            assert row["density"] == pytest.approx(float(laws[row["curve"]][int(row["error"])]), rel=1e-9)
