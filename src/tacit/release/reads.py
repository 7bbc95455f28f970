"""The periods that a way to publish reads, where the budget is one of each: those that were named, or all that have begun.

Every period that is read pays the whole price, and the lifetime budget the price for a person who is in each of them. The engine
gets the same periods as a predicate on every scan, and refuses a scan of a table with periods that has none. Proof:
accounting/periods.md, sections 2, 5 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.accounting.composition import Cost, cost_under
from tacit.accounting.events import Event
from tacit.accounting.ledger.by_period import Charge
from tacit.accounting.ledger.units import restated_price
from tacit.errors import InvalidInput, NotAllowed, StoreUnusable
from tacit.privacy.arguments import text_of
from tacit.privacy.catalog import Catalog, Table
from tacit.privacy.loss import Neighbours
from tacit.privacy.periods import Calendar, Runs, both, count, named, version_read
from tacit.privacy.sealed import Sealed
from tacit.query.engines.engine import Engine
from tacit.query.engines.exact import Exact
from tacit.query.plan import Bound, Group

TO = ".."  # between the first and the last of chosen periods


@dataclass(frozen=True, slots=True)
class Reads:
    """The periods that are read of one table; `runs` is None where the budget is not one of each, empty for a table without any."""

    runs: Runs | None = None
    calendar: Calendar | None = None
    version: str = ""

    @property
    def words(self) -> str:
        """The names of the periods, for a receipt; empty without periods."""
        return named(self.runs, self.calendar) if self.runs and self.calendar else ""

    @property
    def key(self) -> str:
        """The version of the rows that are read, and their periods, for the key of a kept release."""
        return self.version if self.runs is None else f"{self.version} {self.runs}"

    def charge(self, events: Sequence[Event]) -> Charge | None:
        """The periods that pay, and the price of each offer for a person in all of them; None for a budget without periods."""
        return None if self.runs is None else Charge(self.runs, tuple(map(self._for_person, events)))

    def engine(self, engine: Engine) -> Engine:
        """The engine with these periods as a predicate on every scan of a table that has some."""
        return ByPeriod(engine, self.runs) if self.runs else engine  # type: ignore[return-value]  # it has what ways to publish ask

    def _for_person(self, event: Event) -> Cost:
        price = cost_under(event, Neighbours("add-remove", "unit"))
        try:
            return restated_price(event, price, max(1, count(self.runs or ())))
        except StoreUnusable:
            raise NotAllowed(
                "noise of this kind over several periods has no price for a person in all of them",
                remedy="choose one period, or leave out delta",
            ) from None


def reads_of(catalog: Catalog, table: Table, version: str, periods: str | None = None) -> Reads:
    """The periods of a table that are read: `periods` is one name, or two with .. between them; all that have begun if left out."""
    per, chosen = catalog.per, None if periods is None else text_of(periods, "periods")
    if per is None:
        if chosen is not None:
            raise InvalidInput("periods need a budget of each period; leave them out, or add per to [budget]", argument="periods")
        return Reads(version=version)
    if table.per is None:
        if chosen is not None:
            raise InvalidInput(f"{table.name} has no period; leave out periods", argument="periods")
        if per.lifetime is None:
            raise NotAllowed(
                f"{table.name} has no period, so no budget of a period covers its rows",
                remedy="ask the data owner to declare lifetime in [budget], or name a table with a period",
            )
        return Reads((), per.calendar, version_read(per.versions, (), version, beside=True) if per.versions else version)
    if per.begun is None:
        raise NotAllowed("no period has begun", remedy="run: tacit prepare --through PERIOD")
    runs = (per.begun,) if chosen is None else _chosen(chosen, per.calendar, per.begun)
    return Reads(runs, per.calendar, version_read(per.versions, runs, version, beside=False) if per.versions else version)


def _chosen(text: str, calendar: Calendar, begun: tuple[int, int]) -> Runs:
    first, sign, last = text.partition(TO)
    run = calendar.numbered(first.strip()), calendar.numbered((last if sign else first).strip())
    if run[0] > run[1]:
        raise InvalidInput(f"periods must go from the first to the last, not {text[:40]!r}", argument="periods")
    if both((run,), (begun,)) != (run,):
        where = named((begun,), calendar)
        raise NotAllowed(f"not all of {named((run,), calendar)} have begun", remedy=f"choose among {where}")
    return (run,)


@dataclass(frozen=True, slots=True)
class ByPeriod:
    """An engine that reads chosen periods of every table that has some."""

    inner: Engine
    runs: Runs

    def open(self) -> None:
        """Open the store; reads no row."""
        self.inner.open()

    def run(self, group: Group) -> Exact:
        """The exact moments of every group over these periods, sealed."""
        return self.inner.run(_within(group, self.runs))

    def tallies(self, bound: Bound, columns: Sequence[str]) -> Sealed[Any]:
        """How many rows of these periods have each combination of columns; sealed."""
        return self.inner.tallies(_within(bound, self.runs), columns)


def _within(node: Any, runs: Runs) -> Any:
    """A plan whose scans of tables with periods have these."""
    if isinstance(node, Bound):
        return node if node.child.table.per is None else replace(node, periods=runs)
    return replace(node, child=_within(node.child, runs))
