"""The filter's sum at one Renyi order: laws against brute force, vectors, and rules that would break the promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting.composition import Cost, cost, costs_under, counted_at
from tacit.accounting.events import (
    Batch,
    BoundedRangeChoice,
    CalibratedGaussian,
    ExponentialChoice,
    GaussianNoise,
    LaplaceNoise,
    ThresholdedKeys,
)
from tacit.accounting.filter import GRID, NOTHING_SPENT, Filter, State, largest_pure_at_down
from tacit.errors import InvalidBudget
from tacit.evidence.verify.composing import Move, check_filter, failing_move, pure_move, worst_delta
from tacit.privacy.conversion import laplace_rho_at_up, largest_order, pure_rho_at_up, pure_rho_up
from tacit.privacy.loss import ADD_REMOVE, Neighbours
from tacit.privacy.rounding import exp_up
from tacit_certificate import orders

ORDERS = st.fractions(min_value=Fraction(11, 10), max_value=60, max_denominator=1000)
EPSILONS = st.fractions(min_value=Fraction(1, 1000), max_value=4, max_denominator=1000)
REST = Fraction(99, 10**8)  # of 10^-6, at a split of 0.99
BEST = largest_order(Fraction(1), REST)
CAP = Filter(1, "1e-6", "0.01", order=BEST)
OLD = Filter(1, "1e-6", "0.01")


def divergence(shift: int, scale: float, order: float) -> float:
    """The Renyi divergence of discrete Laplace noise and the same noise moved, term by term."""
    width = int(40 * scale * order) + 40 + 2 * shift
    normal = (1 - math.exp(-1 / scale)) / (1 + math.exp(-1 / scale))
    logs = [(-order * abs(k) + (order - 1) * abs(k - shift)) / scale for k in range(-width, width + 1)]
    top = max(logs)
    return (top + math.log(normal * math.fsum(math.exp(each - top) for each in logs))) / (order - 1)


@given(st.integers(1, 6), st.floats(0.3, 8), st.floats(1.1, 12))
@settings(max_examples=25, deadline=None)
def test_the_law_of_laplace_noise_term_by_term(shift: int, scale: float, order: float) -> None:
    stated = laplace_rho_at_up(Fraction(shift), Fraction(scale), Fraction(order))
    exact = divergence(shift, scale, order) / order
    assert stated == pytest.approx(min(exact, float(pure_rho_up(Fraction(shift) / Fraction(scale)))), rel=1e-9)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.fractions(Fraction(1, 4), 40, max_denominator=50), ORDERS)
@settings(max_examples=25, deadline=None)
def test_no_split_of_a_move_over_numbers_has_more_than_one_move(parts: list[int], scale: Fraction, order: Fraction) -> None:
    apart = sum(laplace_rho_at_up(Fraction(part), scale, order) for part in parts)
    whole = laplace_rho_at_up(Fraction(sum(parts)), scale, order)
    assert apart <= whole + Fraction(len(parts), 10**22)


@pytest.mark.parametrize("scale", [Fraction(1, 10**20), Fraction(1, 10**300), Fraction(9, 1000)])
@pytest.mark.parametrize("shift", [0, 1, 7])
@pytest.mark.timeout(20)
def test_a_scale_without_noise_counts_as_a_pure_pair_at_once(shift: int, scale: Fraction) -> None:
    """The powers of e of its law would have up to 10^18 digits."""
    assert laplace_rho_at_up(Fraction(shift), scale, Fraction(22)) == pure_rho_at_up(shift / scale, Fraction(22))


@given(EPSILONS, ORDERS, st.integers(1, 500))
@settings(max_examples=40, deadline=None)
def test_nothing_counts_more_than_its_rho_or_less_than_the_checker_derives(epsilon: Fraction, order: Fraction, shift: int) -> None:
    pure, laplace = pure_rho_at_up(epsilon, order), laplace_rho_at_up(Fraction(shift), shift / epsilon, order)
    assert orders.laplace_rho_at(Fraction(shift), shift / epsilon, order) * (1 - Fraction(1, 10**30)) <= laplace <= pure
    assert min(orders.pure_rho_at(epsilon, order), pure_rho_up(epsilon)) <= pure <= pure_rho_up(epsilon)
    assert pure <= epsilon / order + Fraction(1, 10**23)


def test_the_vectors() -> None:
    assert round(float(BEST), 1) == 22.0
    assert round(float(CAP.largest_rho), 5) == 0.02433
    assert CAP.largest_rho == OLD.largest_rho
    for epsilon, counts, old, new in (("1/100", 0.001092, 486, 490), ("1/20", 0.02342, 20, 22)):
        price = cost(ExponentialChoice(Fraction(epsilon)))
        (at,) = costs_under(ExponentialChoice(Fraction(epsilon)), ADD_REMOVE, BEST)
        assert float(BEST * at.at_order) == pytest.approx(counts, rel=5e-4)
        assert (OLD.room(NOTHING_SPENT, price), CAP.room(NOTHING_SPENT, at)) == (old, new)


def test_the_parts_of_a_batch_count_one_by_one_and_pairs_of_unequal_weight_by_less_than_their_ratio() -> None:
    relation, order = ADD_REMOVE, Fraction(22)
    choice, noise = ExponentialChoice(Fraction(1, 20)), GaussianNoise(Fraction(1), Fraction(20))
    both = sum(part.at_order for part in costs_under(Batch((choice, noise)), relation, order))
    assert both == pure_rho_at_up(choice.epsilon, order) + cost(noise).rho
    keys = ThresholdedKeys(Fraction(1), Fraction(1, 10**6), 1, 15)
    assert costs_under(keys, relation, order)[0].at_order == pure_rho_at_up(Fraction(1), order)
    assert costs_under(BoundedRangeChoice(Fraction(1)), relation, order)[0].at_order <= Fraction(1, 8)
    moved = counted_at(cost(keys), order)  # whose parts are not known to be a pure pair
    assert moved.at_order == min(pure_rho_up(Fraction(1)), Fraction(1) / order) > pure_rho_at_up(Fraction(1), order)
    calibrated = CalibratedGaussian((GaussianNoise(Fraction(1), Fraction(1)),), Fraction(1), Fraction(1, 4))
    assert costs_under(calibrated, relation, Fraction(3))[0].at_order == Fraction(1, 3)


def test_a_unit_that_changes_moves_noise_by_twice_as_much() -> None:
    change = Neighbours("change-one")
    (at,) = costs_under(LaplaceNoise(Fraction(3), Fraction(40)), change, Fraction(9))
    assert at.at_order == laplace_rho_at_up(Fraction(6), Fraction(40), Fraction(9))


@given(st.lists(st.tuples(EPSILONS, st.booleans()), max_size=12), st.sampled_from([(1, "1e-6"), (8, "1e-7"), ("1/10", "1/100")]))
@settings(max_examples=40, deadline=None)
def test_every_path_of_the_old_rule_is_admitted(events: list[tuple[Fraction, bool]], cap: tuple[object, str]) -> None:
    old = Filter(cap[0], cap[1], "0.01")  # type: ignore[arg-type]
    new = replace_order(old, largest_order(old.epsilon, old.delta * Fraction(99, 100)))
    was, now = NOTHING_SPENT, NOTHING_SPENT
    for epsilon, gaussian in events:
        price = Cost(None, epsilon**2 / 2, Fraction(0)) if gaussian else Cost(epsilon, pure_rho_up(epsilon), Fraction(0))
        if not old.admits(was, price):
            break
        at = counted_at(price, new.order or Fraction(2))
        assert new.admits(now, at)
        was, now = old.after(was, price), new.after(now, at)


def replace_order(rule: Filter, order: Fraction) -> Filter:
    return Filter(rule.epsilon, rule.delta, rule.for_events, rule.neighbours, order)


@given(st.fractions(0, Fraction(1, 40), max_denominator=10**9), ORDERS)
@settings(max_examples=30, deadline=None)
def test_what_is_left_counts_no_more_than_the_rest_and_a_step_more_does(rho: Fraction, order: Fraction) -> None:
    left = largest_pure_at_down(rho, order)
    assert pure_rho_at_up(left, order) <= rho or left == 0
    assert pure_rho_at_up(left + Fraction(1, GRID), order) > rho


def test_no_power_of_a_huge_epsilon_is_taken() -> None:
    """e to the power of -10^30 is a fraction of more digits than any machine holds; no divergence is above epsilon."""
    order, scale = Fraction(22), Fraction(1, 10**30)
    assert laplace_rho_at_up(Fraction(1), scale, order) == pure_rho_at_up(1 / scale, order) == 10**30 / order


def test_an_order_is_above_one() -> None:
    with pytest.raises(InvalidBudget, match="above 1"):
        Filter(1, "1e-6", order=Fraction(1))


# --- an adversary who tries every strategy -----------------------------------------------------------------------------------


SMALL = Filter(1, "1/50", "1/10")
SMALL_ORDER = largest_order(Fraction(1), Fraction(9, 500))


def moved_at(order: Fraction, ratio: str = "6/5", without_epsilon: bool = True) -> Move:
    """Randomized response, counted at an order, without the sum of its epsilons, which would admit it first."""
    move = pure_move(Fraction(ratio))
    price = counted_at(move.cost, order)
    return replace(move, cost=replace(price, epsilon=None) if without_epsilon else price)


def test_no_strategy_beats_the_cap_at_one_order() -> None:
    rule = replace_order(SMALL, SMALL_ORDER)
    failing = failing_move(Fraction(6, 5), Fraction(1, 1000))
    moves = [
        moved_at(SMALL_ORDER),
        moved_at(SMALL_ORDER, "3/2", False),
        replace(failing, cost=counted_at(failing.cost, SMALL_ORDER)),
    ]
    assert 0 < check_filter(rule, moves, 9, SMALL.epsilon, SMALL.delta) <= SMALL.delta


LOW, HIGH = Fraction(16), Fraction(40)  # two orders; that of the cap (1, 10^-6) is 22
DELTA = Fraction(1, 10**6)
RATIO = Fraction(51, 50)


def renyi(outcomes: tuple[tuple[Fraction, Fraction], ...], order: Fraction) -> Fraction:
    """The Renyi divergence of an event at an order, divided by it, rounded up."""
    a = float(order)
    moment = math.fsum(float(p) ** a * float(q) ** (1 - a) for p, q in outcomes)
    return Fraction(max(0.0, math.log(moment) / (a - 1) / a) + 1e-12)


def spike(order: Fraction, won: Fraction) -> Move:
    """The event that wins most at an order, after a ratio `won`, of all that the rule of that order admits after one answer."""
    step = pure_move(RATIO).outcomes
    a = float(order)
    budget = a * float(Filter(1, DELTA, 0, order=order).largest_rho - renyi(step, order)) - 1e-9
    high = math.e / float(won) * a / (a - 1)
    weight = Fraction((math.exp((a - 1) * budget) - 1) * high ** (1 - a) * 0.999)
    return both(((weight, weight / Fraction(high)), (1 - weight, 1 - weight / Fraction(high))))


def both(outcomes: tuple[tuple[Fraction, Fraction], ...]) -> Move:
    """A move that says in the place of rho what counts at the low order, and in the place of delta what counts at the high one."""
    return Move(Cost(None, renyi(outcomes, LOW), renyi(outcomes, HIGH)), outcomes)


MENU = [both(pure_move(RATIO).outcomes), spike(HIGH, RATIO), spike(LOW, 1 / RATIO), both(((Fraction(1), Fraction(1)),))]


@dataclass(frozen=True)
class SeveralOrders:
    """Sums at two orders, of which `decides` says which one counts after how many events."""

    decides: Callable[[int], tuple[bool, bool]]

    def admits(self, state: State, cost: Cost) -> bool:
        spent = self.after(state, cost)
        low, high = (Filter(1, DELTA, 0, order=order).largest_rho for order in (LOW, HIGH))
        by_low, by_high = self.decides(int(spent.epsilon or 0))
        return (by_low and spent.rho <= low) or (by_high and spent.delta <= high)

    def after(self, state: State, cost: Cost) -> State:
        return State((state.epsilon or Fraction(0)) + 1, state.rho + cost.rho, state.delta + cost.delta)


def reached(decides: Callable[[int], tuple[bool, bool]], depth: int) -> Fraction:
    return worst_delta(SeveralOrders(decides), MENU, depth, exp_up(Fraction(1)))


def test_one_order_for_ever_keeps_within_delta() -> None:
    for order in ((True, False), (False, True)):
        assert DELTA / 2 < reached(lambda _, order=order: order, 3) <= DELTA  # type: ignore[misc]


def test_the_better_of_two_orders_is_caught() -> None:
    assert reached(lambda _: (True, True), 2) > DELTA * Fraction(11, 10)


def test_another_order_chosen_later_is_caught() -> None:
    assert reached(lambda events: (events <= 2, events > 2), 3) > DELTA * Fraction(11, 10)


def test_the_continuous_curve_is_caught() -> None:
    """Laplace noise on real numbers has less at an order than the discrete noise that runs, for which it is a wrong price."""
    epsilon, order = Fraction(1), Fraction(3)
    a, e = float(order), float(epsilon)
    continuous = math.log(a / (2 * a - 1) * math.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * math.exp(-a * e)) / (a - 1) / a
    assert continuous < 0.9 * divergence(1, 1.0, 3.0) / 3
    assert divergence(1, 1.0, 3.0) / 3 <= float(laplace_rho_at_up(Fraction(1), 1 / epsilon, order)) + 1e-12
