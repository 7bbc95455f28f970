"""What all caps together say of one event: its price, the sums after it, or the refusal of the first cap that does not admit it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add

from tacit.accounting.composition import Cost, costs_under
from tacit.accounting.events import Event
from tacit.accounting.filter import Left, State
from tacit.accounting.ledger.caps import Cap, filter_for, require_for_one, smaller
from tacit.accounting.ledger.entries import HALF
from tacit.accounting.policy import Policy
from tacit.errors import BudgetExceeded, InvalidInput
from tacit.privacy.catalog import Analyst, analyst_name


@dataclass(frozen=True, slots=True)
class Sums:
    """What was spent: by everybody, and by one analyst."""

    whole: State
    own: State


@dataclass(frozen=True, slots=True)
class Admitted:
    """The place of an offer, its price, and the sums after it."""

    offer: int
    price: Cost
    sums: Sums


@dataclass(frozen=True, slots=True)
class Admission:
    """The caps of a policy, with the share of delta that the ledger has kept for events since its first entry."""

    policy: Policy
    for_events: Fraction = HALF

    @property
    def whole(self) -> Cap:
        """The guarantee, over everybody together."""
        known = filter_for(self.policy.budget, self.policy.neighbours, self.for_events)
        return Cap(known, "the budget of the data set", "[budget]")

    def analyst(self, name: str) -> Analyst:
        """The policy for an analyst, under the normal form of the name."""
        if not analyst_name(name):
            raise InvalidInput("the name of an analyst must not be empty")
        found = self.policy.analyst(name)
        if found is None:
            declared = ", ".join(sorted(self.policy.analysts))
            raise InvalidInput(f"{name!r} is not an analyst of this catalog; the declared analysts are: {declared}")
        normal = analyst_name(found.name)
        return found if found.name == normal else replace(found, name=normal)

    def own(self, analyst: Analyst) -> Cap | None:
        """The cap of one analyst, if any."""
        if analyst.budget is None:
            return None
        known = filter_for(analyst.budget, self.policy.neighbours, self.for_events)
        return Cap(known, f"{analyst.name}'s own budget", f"[analysts.{analyst.name}]")

    def parts(self, event: Event) -> tuple[Cost, ...]:
        """What the event consists of, each part with its price; they add up to the price of the event."""
        return costs_under(event, self.policy.neighbours)

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
        after = self.whole.filter.after if own is None else own.require
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
        """What one further event may cost under the data set's cap, and under the analyst's where one is named."""
        whole = self.whole.filter.left(sums.whole)
        own = None if analyst is None else self.own(analyst)
        return whole if own is None else smaller(whole, own.filter.left(sums.own))


@dataclass(frozen=True, slots=True)
class Standing:
    """What one further event of an analyst may cost, and which ones are admitted: all as the ledger stood at one moment."""

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
        """What one further event may cost under all caps."""
        return self.caps.left(self.sums, self.analyst)

    @property
    def shared(self) -> Left:
        """The same under the cap of the data set alone."""
        return self.caps.left(self.sums)
