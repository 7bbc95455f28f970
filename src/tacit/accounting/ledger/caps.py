"""The caps that a spend must pass, all in one decision: of the question, of its analyst, of the data set.

The data set's cap is the guarantee, over everybody together; the others are the curator's policy inside it. A refusal names the
cap, what is left and what to do. It is a function of the catalog, the ledger and the price, so it tells nothing of the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from operator import add

from tacit.accounting.composition import Cost
from tacit.accounting.filter import Filter, Left, State
from tacit.accounting.ledger.entries import HALF, Account, Entry
from tacit.accounting.policy import FAILURES_OF_ANALYST, FAILURES_OF_DATA_SET
from tacit.errors import BudgetExceeded, TooManyFailures
from tacit.privacy.catalog import Analyst, Budget
from tacit.privacy.conversion import largest_rho_down
from tacit.privacy.neighbours import Neighbours
from tacit.privacy.rounding import as_text

LEAST_WRITTEN = Fraction(1, 10**300)  # what floats can hold


@lru_cache(maxsize=256)
def filter_for(budget: Budget, neighbours: Neighbours, for_events: Fraction = HALF) -> Filter:
    """The filter of a cap; it is computed once."""
    return Filter(budget.epsilon, budget.delta, for_events, neighbours=neighbours)


@dataclass(frozen=True, slots=True)
class Cap:
    """A cap with its filter, whose it is, and where it is declared."""

    filter: Filter
    whose: str
    declared: str

    def require(self, state: State, price: Cost) -> State:
        """The sums with the price, or a refusal; whatever passes is also affordable, which is all that an engine can ask."""
        after = self.filter.after(state, price)
        if not self.filter.holds(after) or not self.filter.affords(price):
            raise self._refusal(self.filter.left(state), price, delta_fails=after.delta > self.filter.delta_events)
        return after

    def _refusal(self, left: Left, price: Cost, delta_fails: bool) -> BudgetExceeded:
        name = "delta" if delta_fails else ("rho" if price.epsilon is None else "epsilon")
        rest = getattr(left, name)
        less = f"ask for a smaller {'delta' if delta_fails else 'epsilon'}"
        if name == "epsilon" and rest:
            less = f"ask with epsilon={at_most(rest)} or less"
        elif name == "rho":
            less = "ask for a smaller epsilon, or omit delta"
        raised = f"ask the data owner to raise {self.declared} in tacit.toml"
        return BudgetExceeded(
            f"{self.whose} does not admit this question: it costs {words(price)}, and {name} {at_most(rest)} remains",
            remedy=f"{less}, or {raised}" if rest or name != "epsilon" else raised,
        )


def require_to_go_on(last: Entry, account: Account, questions_at_most: int) -> None:
    """Refuse one more question where too many were asked, or too many did not finish: each may tell what no epsilon counts."""
    require_few_failures(last, account)
    if last.questions >= questions_at_most:
        raise BudgetExceeded(
            f"the data set admits at most {questions_at_most:,} questions, and has paid for that many",
            remedy="ask the data owner to raise questions_at_most of [budget] in tacit.toml",
        )


def require_few_failures(last: Entry, account: Account) -> None:
    """Refuse where too many questions of the analyst, or of everybody, did not finish."""
    if account.failures >= FAILURES_OF_ANALYST or last.failures >= FAILURES_OF_DATA_SET:
        raise TooManyFailures(
            "too many questions did not finish: each of them may reveal something about the data",
            remedy="ask the data owner to investigate and run: tacit ledger resume",
        )


def require_for_one(analyst: Analyst, parts: Sequence[Cost], whole: Budget) -> None:
    """Refuse parts that cost more than one question of the analyst may; delta is the data set's where none is declared."""
    epsilon, delta, price = analyst.epsilon_per_query, analyst.delta_per_query, reduce(add, parts)
    if delta is not None and price.delta > delta:
        raise _too_much(analyst, price, f"delta {at_most(delta)}", "ask for a smaller delta")
    if epsilon is not None and not _within(parts, epsilon, whole.delta if delta is None else delta):
        raise _too_much(analyst, price, f"epsilon {at_most(epsilon)}", f"ask with epsilon={at_most(epsilon)} or less")


def _within(parts: Sequence[Cost], epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the parts are together (epsilon, delta): all by their rho, or those with a ratio by that (ledger.md, Policy).

    One question is not an adaptive sequence, and requires no split of delta.
    """
    ratios = sum((part.epsilon for part in parts if part.epsilon is not None), start=Fraction(0))
    concentrated = [part.rho for part in parts if part.epsilon is None]
    if not concentrated and ratios <= epsilon:
        return True
    rest = delta - sum(part.delta for part in parts)
    if rest <= 0:
        return False
    alone = ratios < epsilon and sum(concentrated) <= largest_rho_down(epsilon - ratios, rest)
    return alone or sum(part.rho for part in parts) <= largest_rho_down(epsilon, rest)


def _too_much(analyst: Analyst, price: Cost, limit: str, remedy: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"one question of {analyst.name} may cost at most {limit}, but this one costs {words(price)}", remedy=remedy
    )


def smaller(one: Left, other: Left) -> Left:
    """What is left under both: a spend within it passes either cap."""
    return Left(min(one.epsilon, other.epsilon), min(one.rho, other.rho), min(one.delta, other.delta))


def words(price: Cost) -> str:
    """A price in words, rounded up like every claim.

    >>> words(Cost(None, Fraction(1, 8), Fraction(1, 10**9)))
    'rho 0.125, delta 1e-09'
    """
    main = f"rho {at_least(price.rho)}" if price.epsilon is None else f"epsilon {at_least(price.epsilon)}"
    return main + (f", delta {at_least(price.delta)}" if price.delta else "")


def at_most(number: Fraction) -> str:
    """A number that is not negative, as people write it, rounded down to six digits: what is said to be left is left.

    >>> at_most(Fraction(2, 3)), at_most(Fraction(1, 2)), at_most(Fraction(0))
    ('0.666666', '0.5', '0')
    """
    nearest = as_text(number)
    if Fraction(nearest) <= number:
        return nearest
    unit = Fraction(10) ** (math.floor(math.log10(number)) - 5)
    return as_text(number // unit * unit)


def at_least(number: Fraction) -> str:
    """A number as people write it, rounded up to six digits: what is claimed is never less than what holds.

    >>> at_least(Fraction(1, 3)), at_least(Fraction(20)), at_least(Fraction(2_000_001, 7)), at_least(Fraction(1, 10**400))
    ('0.333334', '20', '285715', '1e-300')
    """
    if 0 < number < LEAST_WRITTEN:
        return as_text(LEAST_WRITTEN)
    nearest = as_text(number)
    if Fraction(nearest) >= number:
        return nearest
    unit = Fraction(10) ** (math.floor(math.log10(number)) - 5)
    return as_text(math.ceil(number / unit) * unit)
