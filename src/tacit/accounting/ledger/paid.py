"""The prices of a ledger, entry by entry, as they count today: under other units, at the one order, and in other periods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add

from tacit.accounting.composition import Cost, costs_under, counted_at
from tacit.accounting.events import Event
from tacit.accounting.ledger.by_period import EMPTY, EVERYBODY, Key, PeriodSums, Rows, on_grid, pages_of, rows_after, spans
from tacit.accounting.ledger.changes import Regrouped
from tacit.accounting.ledger.entries import ORDERS, Entry
from tacit.accounting.ledger.units import restated_price, under
from tacit.privacy.catalog import analyst_name
from tacit.privacy.loss import Neighbours
from tacit.privacy.periods import Runs


@dataclass(frozen=True, slots=True)
class Paid:
    """A price as it was recorded, and how many of its units one unit of today touches; `shared` counts for the whole data set."""

    analyst: str
    event: Event | None
    price: Cost
    shared: bool
    steps: int = 1
    of_a_person: bool = False  # over several periods, so that it is not the price of the event
    runs: Runs = ()  # the periods that it counts in
    in_period: Cost | None = None  # its price in each, as it was recorded
    period_steps: int = 1  # how many old periods one of today's touches
    questions: int = 1

    def today(self, relation: Neighbours, order: Fraction | None = None) -> Cost:
        """The cost of the entry under the units declared now, and what counts of it at the order of the ledger."""
        price = under(restated_price(self.event, self.price, self.steps), relation)
        if order is None or (self.steps == 1 and self.price.counted is not None):
            return price
        if self.event is None or self.steps > 1 or self.of_a_person:
            return counted_at(price, order)
        return replace(price, counted=min(price.rho, reduce(add, costs_under(self.event, self.price.neighbours, order)).at_order))

    def regroup(self, change: Regrouped, steps: int) -> Paid:
        """The same under other periods; where there were none before, one unit of today touches `steps` persons of before."""
        if change.old is None:
            return replace(self, runs=change.runs, in_period=self.price, period_steps=change.steps * self.steps * steps)
        return replace(self, runs=change.of(self.runs), period_steps=self.period_steps * change.steps)

    def in_each(self, order: Fraction | None) -> PeriodSums:
        """The price in each of its periods, under those declared now, on the grid; at their order, if they have one."""
        price = restated_price(self.event, self.in_period or self.price, self.period_steps)
        price = counted_at(price, order) if order is not None and (self.period_steps > 1 or price.counted is None) else price
        return (*on_grid(price, order is not None)[:3], self.questions)


def add_up_pages(paid: Iterable[Paid], order: Fraction | None) -> dict[Key, Rows]:
    """The pages of periods from everything that was paid: of each analyst, and of the data set, which alone counts at an order."""
    pages: dict[Key, Rows] = {}
    for one in (one for one in paid if one.runs):
        for account in {one.analyst, *([EVERYBODY] if one.shared else [])}:
            price = one.in_each(order if account == EVERYBODY else None)
            for page in pages_of(one.runs):
                pages[account, page] = rows_after(spans(pages.get((account, page), EMPTY), page, one.runs), price)
    return pages


def paid_by(entry: Entry, questions: int) -> Paid:
    """The price of an entry as it was recorded, in its periods if it has some."""
    payer, shared, charged = (
        "" if entry.analyst_spent is None else analyst_name(entry.analyst),
        entry.kind != "recall",
        entry.in_periods,
    )
    if charged is None:
        return Paid(payer, entry.event, entry.price, shared, questions=questions)
    at = entry.more.get(ORDERS)
    in_period = replace(charged.price, neighbours=entry.price.neighbours, counted=None if at is None else at.in_period)
    return Paid(payer, entry.event, entry.price, shared, 1, True, charged.runs, in_period)
