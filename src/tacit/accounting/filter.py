"""The ledger's filter: which spend may still be admitted, when the analyst chooses each one after seeing all answers before.

Three sums are kept over the admitted events: of epsilons (until an event has none), of rhos, of deltas. With the cap's delta
split once into a part for the events and a part for the conversion, a spend is admitted if, after it,

    D <= delta_events   and   (E <= epsilon   or   R + 2 sqrt(R ln(1 / delta_conversion)) <= epsilon).

filter.md proves that whatever was admitted is (epsilon, delta) in total. Everything here is a value or a function of its
arguments; the durable ledger calls it inside a transaction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.accounting.composition import Cost
from tacit.errors import InvalidBudget, WrongRelation
from tacit.privacy.loss import largest_concentrated_down, positive_budget, probability
from tacit.privacy.neighbours import ADD_REMOVE, Neighbours
from tacit.privacy.rounding import Number, exact

GRID = 10**24 * math.lcm(*range(1, 33))
"""Sums live on multiples of 1/GRID, so that their denominators never grow. Decimals of 24 places, and thirds, sevenths and so on
down to thirty-seconds, are exact; anything else is rounded up as it enters, by less than 10^-38."""


@dataclass(frozen=True, slots=True)
class State:
    """What has been spent: the sums of epsilons (None once an event had none), of rhos and of deltas, on the grid."""

    epsilon: Fraction | None = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)


NOTHING_SPENT = State()


@dataclass(frozen=True, slots=True)
class Left:
    """What one further event may cost: a pure epsilon, or a concentrated rho; and the delta left for events."""

    epsilon: Fraction
    rho: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Filter:
    """A cap on everything together; `split` is the share of delta that is kept for the deltas of events.

    >>> cap = Filter(epsilon=1, delta=1e-6)
    >>> half = Cost(Fraction(1, 2), Fraction(1, 8), Fraction(0))
    >>> spent = cap.after(cap.after(NOTHING_SPENT, half), half)
    >>> cap.admits(NOTHING_SPENT, half), cap.admits(spent, half), cap.left(spent).epsilon
    (True, False, Fraction(0, 1))
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    split: Fraction = Fraction(1, 2)
    neighbours: Neighbours = ADD_REMOVE
    delta_events: Fraction = field(init=False, repr=False, compare=False)
    largest_rho: Fraction = field(init=False, repr=False, compare=False)

    def __init__(
        self, epsilon: Number, delta: Number = 0, split: Number = Fraction(1, 2), neighbours: Neighbours = ADD_REMOVE
    ) -> None:
        cap, total, share = positive_budget(epsilon), probability(delta), exact(split, "split", InvalidBudget)
        if not 0 <= share <= 1:
            raise InvalidBudget(
                f"split, the share of delta for events, must be from 0 to 1, not {split}; give for example split=0.5"
            )
        rest = total - share * total
        values = {
            "epsilon": cap,
            "delta": total,
            "split": share,
            "neighbours": neighbours,
            "delta_events": share * total,
            "largest_rho": on_grid_down(largest_concentrated_down(cap, rest)) if rest else Fraction(0),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def admits(self, state: State, cost: Cost) -> bool:
        """Whether the cap still holds after the spend."""
        return self.holds(self.after(state, cost))

    def holds(self, state: State) -> bool:
        """The rule itself. R + 2 sqrt(R L) <= epsilon is R <= (sqrt(L + epsilon) - sqrt L)^2, computed once, rounded down."""
        return state.delta <= self.delta_events and (
            (state.epsilon is not None and state.epsilon <= self.epsilon) or state.rho <= self.largest_rho
        )

    def after(self, state: State, cost: Cost) -> State:
        """The sums with the cost, which is rounded up to the grid: no order of the same spends gives other sums."""
        if cost.neighbours != self.neighbours:
            raise WrongRelation(
                f"the cap is for '{self.neighbours}', the spend is priced for '{cost.neighbours}'; call restated(...) first"
            )
        epsilon = None if state.epsilon is None or cost.epsilon is None else state.epsilon + on_grid_up(cost.epsilon)
        return State(epsilon, state.rho + on_grid_up(cost.rho), state.delta + on_grid_up(cost.delta))

    def left(self, state: State) -> Left:
        """The largest further pure epsilon, the largest further rho, and the delta left; zeros where nothing more is admitted.

        >>> Filter(epsilon=1).left(State(epsilon=Fraction(1, 3), rho=Fraction(1, 18)))
        Left(epsilon=Fraction(2, 3), rho=Fraction(0, 1), delta=Fraction(0, 1))
        """
        if not self.holds(state):
            return Left(Fraction(0), Fraction(0), Fraction(0))
        rho = max(Fraction(0), self.largest_rho - state.rho)
        by_rho = Fraction(math.isqrt(int(2 * rho * GRID**2)), GRID)  # the floor of sqrt(2 rho) on the grid, exactly
        by_sum = on_grid_down(self.epsilon - state.epsilon) if state.epsilon is not None else Fraction(0)
        return Left(max(by_rho, by_sum), rho, on_grid_down(self.delta_events - state.delta))


def on_grid_up(number: Fraction) -> Fraction:
    """The least multiple of 1/GRID at or above the number.

    >>> on_grid_up(Fraction(1, 3)), on_grid_up(Fraction(1, 37)) > Fraction(1, 37)
    (Fraction(1, 3), True)
    """
    return number if GRID % number.denominator == 0 else Fraction(-(-number.numerator * GRID // number.denominator), GRID)


def on_grid_down(number: Fraction) -> Fraction:
    """The largest multiple of 1/GRID at or below the number."""
    return number if GRID % number.denominator == 0 else Fraction(number.numerator * GRID // number.denominator, GRID)
