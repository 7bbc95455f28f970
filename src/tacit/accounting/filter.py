"""The ledger's filter: which spend may still be admitted, when the analyst chooses each one after seeing all answers before.

Three sums are kept over the admitted events: of epsilons (until an event has none), of rhos, of deltas. With the cap's delta
split once into a part for the events and a part for the conversion, a spend is admitted if, after it,

    D <= delta_events   and   (E <= epsilon   or   R <= R*),

R* the largest rho that is (epsilon, delta_conversion) by the tight conversion: a number of the cap alone, computed once. With an
`order`, which a ledger keeps for ever, R is the sum of the events' Renyi divergences at that one order, divided by the order, and
R* what the conversion admits at it.

filter.md proves that whatever was admitted is (epsilon, delta) in total. Everything here is a value or a function of its
arguments; the durable ledger calls it inside a transaction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from tacit.accounting.composition import Cost
from tacit.errors import InvalidBudget, WrongRelation
from tacit.privacy.conversion import (
    PLACES,
    admitted_rho_down,
    largest_rho_down,
    pure_epsilon_at_near,
    pure_epsilon_near,
    pure_rho_at_up,
    pure_rho_up,
)
from tacit.privacy.loss import ADD_REMOVE, Neighbours, positive_budget, probability
from tacit.privacy.rounding import Number, brief, exact

GRID = 10**24 * math.lcm(*range(1, 33))
"""Sums live on multiples of 1/GRID, so that their denominators never grow. Decimals of 24 places, and thirds, sevenths and so on
down to thirty-seconds, are exact; anything else is rounded up as it enters, by less than 10^-38."""


@dataclass(frozen=True, slots=True)
class State:
    """The sums of all spends: of epsilons (None once an event had none), of rhos and of deltas, on the grid.

    Under a filter with an order, `rho` is the sum of what counts at that order.
    """

    epsilon: Fraction | None = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)


NOTHING_SPENT = State()


@dataclass(frozen=True, slots=True)
class Left:
    """The largest cost of one further event: a pure epsilon, or a concentrated rho; and the delta that remains for events."""

    epsilon: Fraction
    rho: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Filter:
    """A cap on everything together; `for_events` is the share of delta that the deltas of events may use.

    The rest of delta is for the conversion. A catalog declares that rest, as `split`. `order` is above 1, or None: rhos are summed.

    >>> cap = Filter(epsilon=1, delta=1e-6)
    >>> half = Cost(Fraction(1, 2), pure_rho_up(Fraction(1, 2)), Fraction(0))
    >>> spent = cap.after(cap.after(NOTHING_SPENT, half), half)
    >>> cap.admits(NOTHING_SPENT, half), cap.admits(spent, half), cap.left(spent).epsilon
    (True, False, Fraction(0, 1))
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    for_events: Fraction = Fraction(1, 2)
    neighbours: Neighbours = ADD_REMOVE
    order: Fraction | None = None
    delta_events: Fraction = field(init=False, repr=False, compare=False)
    largest_rho: Fraction = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        epsilon: Number,
        delta: Number = 0,
        for_events: Number = Fraction(1, 2),
        neighbours: Neighbours = ADD_REMOVE,
        order: Fraction | None = None,
    ) -> None:
        cap, total, share = positive_budget(epsilon), probability(delta), exact(for_events, "for_events", InvalidBudget)
        if not 0 <= share <= 1:
            raise InvalidBudget(
                f"for_events, a share of delta, must be from 0 to 1, not {brief(for_events)}; give for example for_events=0.5"
            )
        if order is not None and order <= 1:
            raise InvalidBudget(f"the order of Renyi divergences must be above 1, not {brief(order)}; omit it to sum rhos")
        rest = total - share * total
        values = {
            "epsilon": cap,
            "delta": total,
            "for_events": share,
            "neighbours": neighbours,
            "delta_events": share * total,
            "order": order,
            "largest_rho": on_grid_down(_admitted(cap, rest, order)) if rest else Fraction(0),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def admits(self, state: State, cost: Cost) -> bool:
        """Whether the cap still holds after the spend."""
        return self.holds(self.after(state, cost))

    def holds(self, state: State) -> bool:
        """The rule itself: three comparisons. `largest_rho` was computed once, rounded down."""
        return state.delta <= self.delta_events and (
            (state.epsilon is not None and state.epsilon <= self.epsilon) or state.rho <= self.largest_rho
        )

    def affords(self, cost: Cost) -> bool:
        """Whether the whole cap pays for a cost alone, with all of delta for its deltas and all of it for the conversion.

        So it is above every split and every sum, and whoever does not know those can ask for it: the engines of a server do.

        >>> cap = Filter(epsilon=1, delta=1e-6)
        >>> cap.affords(Cost(None, Fraction(1, 50), Fraction(0))), cap.affords(Cost(None, Fraction(1, 30), Fraction(0)))
        (True, False)
        """
        if cost.delta > self.delta:
            return False
        pure = cost.epsilon is not None and cost.epsilon <= self.epsilon
        return pure or (self.delta > 0 and cost.rho <= largest_rho_down(self.epsilon, self.delta))

    def after(self, state: State, cost: Cost) -> State:
        """The sums with the cost, which is rounded up to the grid: no order of the same spends gives other sums."""
        if cost.neighbours != self.neighbours:
            raise WrongRelation(
                f"the cap is for '{self.neighbours}', the spend is priced for '{cost.neighbours}'; call restated(...) first"
            )
        epsilon = None if state.epsilon is None or cost.epsilon is None else state.epsilon + on_grid_up(cost.epsilon)
        counted = cost.rho if self.order is None else cost.at_order
        return State(epsilon, state.rho + on_grid_up(counted), state.delta + on_grid_up(cost.delta))

    def room(self, state: State, cost: Cost) -> int | None:
        """How many further events of that cost are admitted, one after the other; None if any number is.

        Sums only grow, so the last one decides: as many as the deltas allow, and one of the other two sums.

        >>> Filter(epsilon=1).room(NOTHING_SPENT, Cost(Fraction(1, 10), Fraction(1, 200), Fraction(0)))
        10
        """
        if not self.holds(state):
            return 0
        one = self.after(NOTHING_SPENT, cost)
        ratios = None if state.epsilon is None or one.epsilon is None else (self.epsilon - state.epsilon, one.epsilon)
        either = [_times(*pair) for pair in (ratios, (self.largest_rho - state.rho, one.rho)) if pair is not None]
        most = None if None in either else max(times for times in either if times is not None)
        by_delta = _times(self.delta_events - state.delta, one.delta)
        return min((count for count in (most, by_delta) if count is not None), default=None)

    def left(self, state: State) -> Left:
        """The largest further pure epsilon, the largest further rho, and the delta left; zeros where nothing more is admitted.

        >>> Filter(epsilon=1).left(State(epsilon=Fraction(1, 3), rho=Fraction(1, 18)))
        Left(epsilon=Fraction(2, 3), rho=Fraction(0, 1), delta=Fraction(0, 1))
        """
        if not self.holds(state):
            return Left(Fraction(0), Fraction(0), Fraction(0))
        rho = max(Fraction(0), self.largest_rho - state.rho)
        by_sum = on_grid_down(self.epsilon - state.epsilon) if state.epsilon is not None else Fraction(0)
        pure = largest_pure_down(rho) if self.order is None else largest_pure_at_down(rho, self.order)
        return Left(max(pure, by_sum), rho, on_grid_down(self.delta_events - state.delta))


def _admitted(epsilon: Fraction, delta: Fraction, order: Fraction | None) -> Fraction:
    """The largest rho of a cap, at the best order or at the given one."""
    return largest_rho_down(epsilon, delta) if order is None else admitted_rho_down(epsilon, delta, order - 1)


def _times(rest: Fraction, each: Fraction) -> int | None:
    """How often `each` fits into `rest`: no end where it is 0, unless nothing is left at all."""
    if rest < 0:
        return 0
    return None if each == 0 else rest // each


@lru_cache(maxsize=256)
def largest_pure_down(rho: Fraction) -> Fraction:
    """The largest epsilon on the grid whose pure event counts at most `rho`.

    >>> round(float(largest_pure_down(Fraction(1, 8))), 6)          # the root of 2 rho is 0.5
    0.505268
    """
    counted = Fraction(math.floor(rho * PLACES), PLACES)  # the largest that `pure_rho_up` rounds to; below it, epsilon^2 / 2
    near = pure_epsilon_near(counted) if counted else Fraction(0)
    step = max(math.floor(near * GRID), math.isqrt(int(2 * rho * GRID**2)))
    while pure_rho_up(Fraction(step, GRID)) > rho:
        step -= 1
    while pure_rho_up(Fraction(step + 1, GRID)) <= rho:
        step += 1
    return Fraction(step, GRID)


@lru_cache(maxsize=256)
def largest_pure_at_down(rho: Fraction, order: Fraction) -> Fraction:
    """The largest epsilon on the grid whose pure event counts at most `rho` at the order.

    >>> round(float(largest_pure_at_down(Fraction(1, 8), Fraction(4))), 6)          # 0.505268 where rhos are summed
    0.63762
    """

    def counts(step: int) -> bool:
        return pure_rho_at_up(Fraction(step, GRID), order) <= rho

    low, width = math.floor(pure_epsilon_at_near(rho, order) * GRID), 1
    while low > 0 and not counts(low):
        low, width = max(0, low - width), 4 * width
    while counts(low + width):
        low, width = low + width, 4 * width
    while width > 1:  # `low` counts, and `low + width` does not
        width = (width + 1) // 2
        low += width if counts(low + width) else 0
    return Fraction(low, GRID)


def on_grid_up(number: Fraction) -> Fraction:
    """The least multiple of 1/GRID at or above the number.

    >>> on_grid_up(Fraction(1, 3)), on_grid_up(Fraction(1, 37)) > Fraction(1, 37)
    (Fraction(1, 3), True)
    """
    return number if GRID % number.denominator == 0 else Fraction(-(-number.numerator * GRID // number.denominator), GRID)


def on_grid_down(number: Fraction) -> Fraction:
    """The largest multiple of 1/GRID at or below the number."""
    return number if GRID % number.denominator == 0 else Fraction(number.numerator * GRID // number.denominator, GRID)
