"""The caps that a spend must pass, all in one decision: of the question, of its analyst, of the data set.

The data set's cap is the guarantee, over all analysts together; the others are the data owner's policy inside it. A refusal names
the cap, the remaining budget and a remedy. It is a function of the catalog, the ledger and the price, so it reveals nothing about
the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, reduce
from operator import add
from typing import Any

from tacit.accounting.composition import Cost, costs_under, counted_at
from tacit.accounting.events import Event
from tacit.accounting.filter import Filter, Left, State
from tacit.accounting.ledger.changes import InForce
from tacit.accounting.ledger.entries import HALF, IN_FORCE, NO_ORDERS, Account, Entry, Orders
from tacit.accounting.ledger.units import (
    FAILURES_OF_ANALYST,
    FAILURES_OF_DATA_SET,
    LATE_OF_ANALYST,
    LATE_OF_DATA_SET,
    Policy,
)
from tacit.errors import BudgetExceeded, InvalidInput, TooManyFailures
from tacit.privacy.catalog import Analyst, Budget, analyst_name
from tacit.privacy.conversion import largest_order, largest_rho_down
from tacit.privacy.loss import Neighbours
from tacit.privacy.rounding import as_text

Capped = tuple[Iterable[Budget], Iterable[Budget]]  # caps on the sums of a ledger, and on those of each period
LEAST_WRITTEN = Fraction(1, 10**300)  # what floats can hold


@lru_cache(maxsize=256)
def filter_for(budget: Budget, neighbours: Neighbours, for_events: Fraction = HALF, order: Fraction | None = None) -> Filter:
    """The filter of a cap; it is computed once."""
    return Filter(budget.epsilon, budget.delta, for_events, neighbours, order)


def order_of(budgets: Iterable[Budget], for_events: Fraction) -> Fraction | None:
    """The order at which the largest rho of the largest of some caps is admitted; None where none of them converts a rho."""
    rests = [(cap.epsilon, cap.delta * (1 - for_events)) for cap in budgets]
    converting = [(epsilon, rest) for epsilon, rest in rests if rest > 0]
    return largest_order(*max(converting, key=lambda pair: largest_rho_down(*pair))) if converting else None


@dataclass(frozen=True, slots=True)
class Cap:
    """A cap with its filter, whose it is, and where it is declared; `in_all` if a question counts in it for all of its periods."""

    filter: Filter
    whose: str
    declared: str
    in_all: bool = False

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
        if self.in_all:  # how much less depends on its periods
            less = "ask for a smaller epsilon, or about fewer periods"
        elif name == "epsilon" and rest:
            less = f"ask with epsilon={at_most(rest)} or less"
        elif name == "rho":
            less = "ask for a smaller epsilon, or omit delta"
        raised = f"ask the data owner to raise {self.declared} in tacit.toml"
        return BudgetExceeded(
            f"{self.whose} does not admit this question: it costs {words(price)}, and {name} {at_most(rest)} remains",
            remedy=f"{less}, or {raised}" if rest or name != "epsilon" else raised,
            argument="epsilon",
        )


def require_to_go_on(last: Entry, account: Account, questions_at_most: int, analyst: str = "") -> None:
    """Raise if too many questions were asked, or did not finish: each may reveal something that no epsilon counts."""
    require_few_failures(last, account, analyst)
    if last.questions >= questions_at_most:
        raise BudgetExceeded(
            f"the data set admits at most {questions_at_most:,} questions, and has paid for that many",
            remedy="ask the data owner to raise questions_at_most of [budget] in tacit.toml",
        )


def require_few_failures(last: Entry, account: Account, analyst: str = "") -> None:
    """Raise if too many questions of the analyst, or of all analysts, did not finish, or too many replies were late."""
    if last.late.get(analyst, 0) >= LATE_OF_ANALYST or sum(last.late.values()) >= LATE_OF_DATA_SET:
        raise TooManyFailures(
            "too many replies were late: each of them may reveal something about the data",
            remedy="ask the data owner to raise pace in [server] of tacit.toml, and to run: tacit ledger resume",
        )
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
        f"one question of {analyst.name} may cost at most {limit}, but this one costs {words(price)}",
        remedy=remedy,
        argument="epsilon",
    )


def smaller(one: Left, other: Left) -> Left:
    """The smaller remainder in each number: a spend within it passes either cap."""
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


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement as a curator judges it: a digest of its questions whatever their budget, and the largest price."""

    subject: str
    epsilon: Fraction
    delta: Fraction


# --- what all caps together say of one event ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of all analysts together, and of one analyst."""

    whole: State
    own: State


@dataclass(frozen=True, slots=True)
class Admitted:
    """The place of an offer, its price, and the sums after it; where the budget is one of each period, the `pages` of these."""

    offer: int
    price: Cost
    sums: Sums
    pages: Mapping[tuple[str, int], tuple[tuple[int, Any], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Admission:
    """The caps of a policy, with the share of delta that the ledger has kept for events since its first entry, and its orders.

    Only the guarantee counts at an order. The caps of analysts are policies inside it, and sum rhos.
    """

    policy: Policy
    for_events: Fraction = HALF
    orders: Orders = NO_ORDERS

    def at(self, last: Entry) -> Admission:
        """The same as the ledger stands after an entry; before anything is spent, with the orders that the first spend takes."""
        orders = last.orders if last.orders != NO_ORDERS or last.is_spent else self.new_orders()
        accepted: InForce | None = last.more.get(IN_FORCE)
        policy = self.policy if accepted is None or self.policy.per is None else self.policy.within(accepted)
        return replace(self, policy=policy, for_events=last.for_events, orders=orders)

    def new_orders(self, before: Orders = NO_ORDERS, largest: Capped = ((), ())) -> Orders:
        """The orders of before; those still missing are of the largest of the caps so far, today's among them."""
        policy, (sums, periods) = self.policy, largest
        own = () if policy.lifetime is None else (policy.lifetime,)
        now = ((policy.budget,), ()) if policy.per is None else (own, (policy.budget,))
        return Orders(
            before.sums or (order_of((*sums, *now[0]), self.for_events) if now[0] else None),
            before.periods or (order_of((*periods, *now[1]), self.for_events) if now[1] else None),
        )

    @property
    def counting(self) -> Filter:
        """A filter that sums rhos, for those who are counted and have no cap."""
        return filter_for(self.policy.budget, self.policy.neighbours, self.for_events)

    @property
    def persons(self) -> Filter:
        """A filter that sums as the ledger's own sums do: those of whole persons, where the budget is one of each period."""
        return filter_for(self.policy.budget, self.policy.neighbours, self.for_events, self.orders.sums)

    def of_a_person(self, price: Cost) -> Cost:
        """The price of a whole person over all periods, at the order of the lifetime."""
        return price if self.orders.sums is None else counted_at(price, self.orders.sums)

    @property
    def order(self) -> Fraction | None:
        """The order of the data set's cap, which is one of each period where the policy says so."""
        return self.orders.sums if self.policy.per is None else self.orders.periods

    @property
    def whole(self) -> Cap:
        """The guarantee, over all analysts together."""
        within = filter_for(self.policy.budget, self.policy.neighbours, self.for_events, self.order)
        return Cap(within, "the budget of the data set", "[budget]")

    @property
    def lifetime(self) -> Cap | None:
        """The cap of a whole person over all periods, if one is declared."""
        budget = self.policy.lifetime
        if budget is None:
            return None
        within = filter_for(budget, self.policy.neighbours, self.for_events, self.orders.sums)
        return Cap(within, "the budget of a person's lifetime", "lifetime of [budget]", in_all=True)

    def analyst(self, name: str) -> Analyst:
        """The policy for an analyst, under the normal form of the name."""
        if not analyst_name(name):
            raise InvalidInput("the name of an analyst must not be empty")
        own = self.policy.analyst(name)
        if own is None:
            declared = ", ".join(sorted(self.policy.analysts))
            raise InvalidInput(f"{name!r} is not an analyst of this catalog; the declared analysts are: {declared}")
        normal = analyst_name(own.name)
        return own if own.name == normal else replace(own, name=normal)

    def is_limited(self, name: str) -> bool:
        """Whether a curator decides on dear questions of an analyst."""
        return self.policy.limit_of(self.analyst(name)) is not None

    def own(self, analyst: Analyst) -> Cap | None:
        """The cap of one analyst, if any."""
        if analyst.budget is None:
            return None
        within = filter_for(analyst.budget, self.policy.neighbours, self.for_events)
        return Cap(within, f"{analyst.name}'s own budget", f"[analysts.{analyst.name}]")

    def parts(self, event: Event) -> tuple[Cost, ...]:
        """The prices of the parts of an event; they add up to its price."""
        return costs_under(event, self.policy.neighbours, self.order)

    def affords(self, event: Event) -> bool:
        """Whether the whole budget pays for the event alone: decided by the policy, without a look at the sums.

        `after` asks the same of whatever it admits, so that an engine refuses nothing that was paid for.
        """
        return self.whole.filter.affords(reduce(add, self.parts(event)))

    def after(self, sums: Sums, analyst: Analyst, parts: Sequence[Cost]) -> Sums:
        """The sums with the price of the parts, or the refusal of the first cap that does not admit them: the analyst's own first.

        So a refusal by that cap says nothing of what others have spent.
        """
        own = self.after_own(sums, analyst, parts)
        return replace(own, whole=self.whole.require(sums.whole, reduce(add, parts)))

    def after_own(self, sums: Sums, analyst: Analyst, parts: Sequence[Cost]) -> Sums:
        """The same for what is charged to the analyst alone."""
        require_for_one(analyst, parts, self.policy.budget)
        return Sums(sums.whole, self._own_after(sums, analyst, reduce(add, parts)))

    def _own_after(self, sums: Sums, analyst: Analyst, price: Cost) -> State:
        own = self.own(analyst)
        after = self.counting.after if own is None else own.require
        return after(sums.own, price)

    def first(self, offers: Sequence[Event], sums: Sums, analyst: Analyst, shared: bool = True) -> Admitted:
        """The first offer that the caps admit (all of them, or the analyst's own), or the refusal of the first offer of all."""
        refusals = []
        for place, event in enumerate(offers):
            parts = self.parts(event)
            try:
                after = self.after(sums, analyst, parts) if shared else self.after_own(sums, analyst, parts)
                return Admitted(place, reduce(add, parts), after)
            except BudgetExceeded as refused:
                refusals.append(refused)
        raise refusals[0]

    def room(self, sums: Sums, price: Cost, analyst: Analyst | None = None) -> int | None:
        """How many further events of that price the caps admit, one after the other; None where they have no end."""
        price = price if self.order is None or price.counted is not None else counted_at(price, self.order)
        rooms = [self.whole.filter.room(sums.whole, price)]
        if analyst is not None:
            try:
                require_for_one(analyst, (price,), self.policy.budget)
            except BudgetExceeded:
                return 0
            own = self.own(analyst)
            rooms += [] if own is None else [own.filter.room(sums.own, price)]
        return min((room for room in rooms if room is not None), default=None)

    def left(self, sums: Sums, analyst: Analyst | None = None) -> Left:
        """The largest cost of one further event under the data set's cap, and under the analyst's if one is named."""
        whole = self.whole.filter.left(sums.whole)
        own = None if analyst is None else self.own(analyst)
        return whole if own is None else smaller(whole, own.filter.left(sums.own))


@dataclass(frozen=True, slots=True)
class Standing:
    """The largest further cost of an analyst, and which events are admitted: all as the ledger stood at one moment."""

    caps: Admission
    sums: Sums
    analyst: Analyst

    def admitted(self, offers: Sequence[Event]) -> int | None:
        """The place of the first offer that all caps would admit, None if they refuse all. Spends nothing."""
        try:
            return self.caps.first(offers, self.sums, self.analyst).offer
        except BudgetExceeded:
            return None

    @property
    def left(self) -> Left:
        """The largest cost of one further event under all caps."""
        return self.caps.left(self.sums, self.analyst)

    @property
    def shared(self) -> Left:
        """The same under the cap of the data set alone."""
        return self.caps.left(self.sums)
