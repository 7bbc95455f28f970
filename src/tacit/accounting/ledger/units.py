"""The declarations that a ledger counts by: the units of every table (units.md has the rules), and the policy of budgets and caps.

An epsilon means nothing without its unit: a price paid for "one row" says little about a person with ten rows. So every entry
names the units that its price counts for by a fingerprint, and a catalog that declares others is refused until the data owner says
how many of the old units one new unit can touch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from hashlib import sha256
from operator import add
from typing import Any

from tacit.accounting.composition import Cost, cost_under, moved_weight_up
from tacit.accounting.events import Batch, Event, GaussianNoise
from tacit.accounting.ledger.changes import InForce
from tacit.accounting.ledger.entries import HALF, canonical_json
from tacit.accounting.ledger.register import server_places
from tacit.errors import InvalidInput, UnitsChanged
from tacit.privacy.catalog import QUESTIONS_AT_MOST, WAIT_DAYS, Analyst, Budget, Catalog, Source, Table, analyst_name
from tacit.privacy.loss import Neighbours
from tacit.privacy.periods import Per
from tacit.privacy.rounding import exp_down, exp_up

UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Units:
    """The units of private tables (table, declaration), the tables that are or were public, and those that stay closed.

    `opened` are marks of the sources that are or were read as public tables. `sources` are those of private tables (table, mark) as
    they are declared now; a ledger does not record them.

    >>> rows = Units((("visits", '["row"]'),))
    >>> rows.accepting(Units((), public=("visits",))).differences(rows)
    ['visits was public and is now private']
    """

    private: tuple[tuple[str, str], ...] = ()
    public: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        """Canonical JSON: one declaration, one text. Without marks of sources it is that of older ledgers."""
        document: dict[str, object] = {"private": dict(self.private), "public": sorted(self.public), "closed": sorted(self.closed)}
        return canonical_json(document | ({"opened": sorted(self.opened)} if self.opened else {}))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the text, in hexadecimal."""
        return sha256(self.text.encode()).hexdigest()

    def differences(self, declared: Units) -> list[str]:
        """How `declared` differs from these units in private tables; empty if all prices remain valid.

        A table that is no longer declared stays remembered, and one that became public tells nothing new of old prices.
        """
        units, told = dict(self.private), self._released_tables(declared) - set(self.closed)
        changed = [table for table, unit in declared.private if table in told or units.get(table) != unit]
        return [self._difference(table, units.get(table), table in told) for table in changed]

    def _released_tables(self, declared: Units) -> set[str]:
        """The private tables with released exact values: under this name, or under another name of the same source."""
        named = {table for table, _ in declared.private} & set(self.public)
        return named | {table for table, mark in declared.sources if mark in self.opened}

    def _difference(self, table: str, unit: str | None, told: bool) -> str:
        if told:
            return f"{table} was public and is now private" + ("" if table in self.public else " under another name")
        return f"{table} is a new private table" if unit is None else f"the unit of {table} has changed"

    def accepting(self, declared: Units) -> Units:
        """These units and the declared ones, which take the place of older ones; a table that was public stays closed."""
        private = {**dict(self.private), **dict(declared.private)}
        return replace(
            self,
            private=tuple(sorted(private.items())),
            public=tuple(sorted({*self.public, *declared.public})),
            closed=tuple(sorted({*self.closed, *declared.closed, *self._released_tables(declared)})),
            opened=tuple(sorted({*self.opened, *declared.opened})),
        )

    def notes(self, declared: Units) -> bool:
        """Whether these units know of everything that is declared public."""
        return (
            {*declared.public} <= {*self.public} and {*declared.opened} <= {*self.opened} and {*declared.closed} <= {*self.closed}
        )


NO_UNITS = Units()


def units_from(text: str) -> Units:
    """The units of a text.

    >>> units_from(NO_UNITS.text) == NO_UNITS
    True
    """
    document = json.loads(text)
    return Units(
        tuple(sorted(document["private"].items())),
        tuple(document["public"]),
        tuple(document["closed"]),
        tuple(document.get("opened", ())),
    )


def declared_units(catalog: Catalog) -> Units:
    """The units that a catalog declares. A private table with the source of a public one is closed."""
    private = {name: _unit(table, catalog.per) for name, table in catalog.tables.items() if not table.public}
    public = tuple(sorted(name for name, table in catalog.tables.items() if table.public))
    marks = {name: _marks(catalog, table.source) for name, table in catalog.tables.items()}
    opened = tuple(sorted({mark for name in public for mark in marks[name]}))
    sources = tuple((name, mark) for name in sorted(private) for mark in marks[name])
    closed = tuple(sorted({name for name, mark in sources if mark in opened}))
    return Units(tuple(sorted(private.items())), public, closed, opened, sources)


def _marks(catalog: Catalog, source: Source) -> tuple[str, ...]:
    """Marks of a source's place, from the declaration: as it is written from the catalog's folder, and after symbolic links.

    Neither its content nor a password has a part in them. Rows that are given in Python have no place.
    """
    if source.kind == "memory":
        return ()
    table = (source.table or "").lower()
    if source.kind == "postgres":
        table = table if "." in table else f"public.{table}"
        places = list(server_places(source.location, {}))
    elif source.remote:
        places = [source.location]
    else:
        table = table.removeprefix("main.")
        places = [os.path.normpath(source.location), os.path.realpath(catalog.folder / source.location)]
    return tuple(sorted({sha256(canonical_json([place, table]).encode()).hexdigest() for place in places}))


def _unit(table: Table, per: Per | None) -> str:
    """The declaration of a table's units as a text: its own rows (or their key), or a column and what it refers to; and periods."""
    unit = ["row", table.key] if table.unit is None else [table.unit.column, table.unit.references, table.no_unit]
    period = table.period if table.period_of is None else ["of", table.period_of.name]
    return canonical_json(unit if per is None else [unit, period, per.calendar.text, per.zone])


def dated_unit(text: str) -> tuple[Any, Any, str | None, str | None]:
    """The unit of a table as `_unit` wrote it, apart: the unit, what says its period, the calendar and the zone; or the unit alone.

    >>> dated_unit('["row","id"]'), dated_unit('[["row","id"],"day","month",null]')
    ((['row', 'id'], None, None, None), (['row', 'id'], 'day', 'month', None))
    """
    parts = json.loads(text)
    return (parts[0], parts[1], parts[2], parts[3]) if isinstance(parts[0], list) else (parts, None, None, None)


# --- old prices under new units ----------------------------------------------------------------------------------------------


LARGEST_EXPONENT = 1000  # e^1000 promises nothing, and takes long to compute


def restated_price(event: Event | None, price: Cost, steps: int) -> Cost:
    """The cost of an entry for units that touch up to `steps` of its own units; `price` is under the relation of its ledger.

    >>> one = Cost(Fraction(1, 2), Fraction(1, 8), Fraction(0))
    >>> restated_price(None, one, 10).epsilon, restated_price(None, one, 10).rho
    (Fraction(5, 1), Fraction(25, 2))
    """
    if steps == 1:
        return price
    if isinstance(event, Batch):
        parts = [restated_price(part, cost_under(part, price.neighbours), steps) for part in event.events]
        return replace(reduce(add, parts), rho=steps**2 * price.rho)  # as recorded: what a part counts today may be less
    if isinstance(event, GaussianNoise):
        return _gaussian(event, price.neighbours, steps)
    epsilon = None if price.epsilon is None else steps * price.epsilon
    return Cost(epsilon, steps**2 * price.rho, _delta_over_steps(price, steps), price.neighbours)


def under(price: Cost, relation: Neighbours) -> Cost:
    """The same numbers under another relation; the curator's number of steps accounts for the difference."""
    return replace(price, neighbours=relation)


def _gaussian(event: GaussianNoise, relation: Neighbours, steps: int) -> Cost:
    """The noise is what it was, and the shift `steps` times as long (twice that where each step changes a unit)."""
    moved = steps * (2 if relation.change == "change-one" and event.neighbours.change == "add-remove" else 1)
    rho = (moved * event.sensitivity / event.scale) ** 2 / 2 if event.scale else Fraction(0)
    return Cost(None, rho, event.delta + moved_weight_up(event.delta, rho), relation)


def _delta_over_steps(price: Cost, steps: int) -> Fraction:
    """The sum of e^(i epsilon) delta over i below `steps`, rounded up, and 1 where it promises nothing.

    Without an epsilon, the sum of what a set of weight delta can weigh at i steps: composition.md, section 4.
    """
    if not price.delta:
        return price.delta
    if price.epsilon is None:
        total = Fraction(0)
        for step in range(steps):
            total += price.delta if step == 0 else moved_weight_up(price.delta, step**2 * price.rho)
            if total >= 1:
                return Fraction(1)
        return total
    if steps * price.epsilon > LARGEST_EXPONENT:
        return Fraction(1)
    grown, one = exp_up(steps * price.epsilon), exp_down(price.epsilon)
    total = (grown - 1) / (one - 1) if one > 1 else steps * grown
    return min(Fraction(1), total * price.delta)


# --- the policy of a ledger --------------------------------------------------------------------------------------------------


UNIT = Neighbours("add-remove", "unit")
FAILURES_OF_ANALYST = 3
FAILURES_OF_DATA_SET = 10
LATE_OF_ANALYST = 3
LATE_OF_DATA_SET = 30


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one ledger. `data_set` and `catalog` (a file's name) say whose it is; analysts are keyed by normal forms.

    `per` says what a period is, where the budget is one of each period: then caps count for every period alone.
    A policy is read from a catalog, or made by whoever keeps a ledger without one. It may change while a ledger lives: caps in
    force are written into every entry.
    `split` is the share of delta for the conversion of rho. A ledger takes it when it begins, and keeps it (ledger.md).
    """

    budget: Budget
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    neighbours: Neighbours = UNIT
    units: Units = NO_UNITS
    questions_at_most: int = QUESTIONS_AT_MOST
    split: Fraction = HALF
    order: Fraction | None = None  # of a lost ledger, which a new one in its place takes over
    data_set: str = ""
    catalog: str = ""
    per: Per | None = None
    approve_above: Fraction | None = None
    wait_days: int = WAIT_DAYS

    @property
    def declared(self) -> InForce:
        """The budgets that the catalog declares."""
        return InForce(self.budget, self.lifetime)

    def within(self, accepted: InForce) -> Policy:
        """The same policy with the budgets that count: a raised one does after the data owner has accepted it (changes.py)."""
        now = accepted.under(self.declared)
        lifetime = None if now.lifetime is None else (now.lifetime.epsilon, now.lifetime.delta)
        return replace(self, budget=now.budget, per=None if self.per is None else replace(self.per, lifetime=lifetime))

    @property
    def lifetime(self) -> Budget | None:
        """The cap of a whole person over all periods, if one is declared."""
        return None if self.per is None or self.per.lifetime is None else Budget(*self.per.lifetime)

    def analyst(self, name: str) -> Analyst | None:
        """The policy for an analyst by the normal form of the name; None where analysts are declared and this is not one."""
        normal = analyst_name(name)
        return self.analysts.get(normal) if self.analysts else Analyst(normal)

    def limit_of(self, analyst: Analyst) -> Fraction | None:
        """The epsilon above which a curator decides on a question of the analyst; None if none does."""
        return self.approve_above if analyst.approve_above is None else analyst.approve_above


def policy_of(catalog: Catalog) -> Policy:
    """The policy that a catalog declares."""
    return Policy(
        budget=catalog.budget,
        analysts={analyst_name(name): analyst for name, analyst in catalog.analysts.items()},
        neighbours=catalog.neighbours,
        units=declared_units(catalog),
        questions_at_most=catalog.questions_at_most,
        split=catalog.split,
        data_set=catalog.name,
        catalog=catalog.file,
        per=catalog.per,
        approve_above=catalog.approve_above,
        wait_days=catalog.wait_days,
    )


def require_steps(steps: int, old: Neighbours, new: Neighbours) -> None:
    """Refuse a number of steps that cannot be, and a change that has no number."""
    if steps < 1:
        raise InvalidInput(
            f"steps must be at least 1, not {steps}; give for example steps=10 for a person with up to 10 rows", argument="steps"
        )
    if (old.change, new.change) == ("change-one", "add-remove"):
        raise UnitsChanged(
            "the number of units was released as public, so no entry has a price for 'add or remove one unit'",
            remedy='declare neighbours = "change-one" again',
        )
    if old.change != new.change and steps < 2:
        raise InvalidInput("steps must be at least 2 here: changing one unit is removing one and adding one", argument="steps")
