"""Whose rows a ledger's prices count for: the units of every table, as the catalog declared them. units.md has the rules.

An epsilon means nothing without its unit: what was paid for "one row" says little about a person with ten rows. So every entry
names the units that its price counts for by a fingerprint, and a catalog that declares others is refused until the curator says
how many of the old units one new unit can touch (`restate.py`).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from hashlib import sha256

from tacit.accounting.ledger.event_text import canonical_json
from tacit.accounting.ledger.places import server_places
from tacit.privacy.catalog import Catalog, Source, Table

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
        known: dict[str, object] = {"private": dict(self.private), "public": sorted(self.public), "closed": sorted(self.closed)}
        return canonical_json(known | ({"opened": sorted(self.opened)} if self.opened else {}))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the text, in hexadecimal."""
        return sha256(self.text.encode()).hexdigest()

    def differences(self, declared: Units) -> list[str]:
        """How `declared` differs from these units in private tables; empty if all prices remain valid.

        A table that is no longer declared stays remembered, and one that became public tells nothing new of old prices.
        """
        known, told = dict(self.private), self._told(declared) - set(self.closed)
        changed = [table for table, unit in declared.private if table in told or known.get(table) != unit]
        return [self._difference(table, known.get(table), table in told) for table in changed]

    def _told(self, declared: Units) -> set[str]:
        """The private tables of which exact values were released: under this name, or of the same source under another."""
        named = {table for table, _ in declared.private} & set(self.public)
        return named | {table for table, mark in declared.sources if mark in self.opened}

    def _difference(self, table: str, known: str | None, told: bool) -> str:
        if told:
            return f"{table} was public and is now private" + ("" if table in self.public else " under another name")
        return f"{table} is a new private table" if known is None else f"the unit of {table} has changed"

    def accepting(self, declared: Units) -> Units:
        """These units and the declared ones, which take the place of older ones; a table that was public stays closed."""
        private = {**dict(self.private), **dict(declared.private)}
        return replace(
            self,
            private=tuple(sorted(private.items())),
            public=tuple(sorted({*self.public, *declared.public})),
            closed=tuple(sorted({*self.closed, *declared.closed, *self._told(declared)})),
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
    known = json.loads(text)
    return Units(
        tuple(sorted(known["private"].items())), tuple(known["public"]), tuple(known["closed"]), tuple(known.get("opened", ()))
    )


def declared_units(catalog: Catalog) -> Units:
    """The units that a catalog declares. A private table with the source of a public one is closed."""
    private = {name: _unit(table) for name, table in catalog.tables.items() if not table.public}
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


def _unit(table: Table) -> str:
    """The declaration of a table's units as a text: its own rows (or their key), or a column and what it refers to."""
    if table.unit is None:
        return canonical_json(["row", table.key])
    return canonical_json([table.unit.column, table.unit.references, table.no_unit])
