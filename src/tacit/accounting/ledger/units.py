"""Whose rows a ledger's prices count for: the units of every table, as the catalog declared them. units.md has the rules.

An epsilon means nothing without its unit: what was paid for "one row" says little about a person with ten rows. So every entry
names the units that its price counts for by a fingerprint, and a catalog that declares others is refused until the curator says
how many of the old units one new unit can touch (`restate.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from tacit.accounting.ledger.event_text import canonical_json
from tacit.privacy.catalog import Catalog, Table

UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Units:
    """The units of private tables (table, declaration), the tables that are or were public, and those that stay closed.

    >>> rows = Units((("visits", '["row"]'),))
    >>> rows.accepting(Units((), public=("visits",))).differences(rows)
    ['visits was public and is now private']
    """

    private: tuple[tuple[str, str], ...] = ()
    public: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Canonical JSON: one declaration, one text."""
        known = {"private": dict(self.private), "public": sorted(self.public), "closed": sorted(self.closed)}
        return canonical_json(known)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the text, in hexadecimal."""
        return sha256(self.text.encode()).hexdigest()

    def differences(self, declared: Units) -> list[str]:
        """How `declared` differs from these units in private tables; empty if all prices remain valid.

        A table that is no longer declared stays remembered, and one that became public tells nothing new of old prices.
        """
        known = dict(self.private)
        return [self._difference(table, known.get(table)) for table, unit in declared.private if self._news(table, unit, known)]

    def _news(self, table: str, unit: str, known: Mapping[str, str]) -> bool:
        opened = table in self.public and table not in self.closed
        return opened or known.get(table) != unit

    def _difference(self, table: str, known: str | None) -> str:
        if table in self.public and table not in self.closed:
            return f"{table} was public and is now private"
        return f"{table} is a new private table" if known is None else f"the unit of {table} has changed"

    def accepting(self, declared: Units) -> Units:
        """These units and the declared ones, which take the place of older ones; a table that was public stays closed."""
        private = {**dict(self.private), **dict(declared.private)}
        told = {table for table, _ in declared.private} & set(self.public)
        return replace(
            self,
            private=tuple(sorted(private.items())),
            public=tuple(sorted({*self.public, *declared.public})),
            closed=tuple(sorted({*self.closed, *told})),
        )


NO_UNITS = Units()


def units_from(text: str) -> Units:
    """The units of a text.

    >>> units_from(NO_UNITS.text) == NO_UNITS
    True
    """
    known = json.loads(text)
    return Units(tuple(sorted(known["private"].items())), tuple(known["public"]), tuple(known["closed"]))


def declared_units(catalog: Catalog) -> Units:
    """The units that a catalog declares."""
    private = {name: _unit(table) for name, table in catalog.tables.items() if not table.public}
    public = tuple(sorted(name for name, table in catalog.tables.items() if table.public))
    return Units(tuple(sorted(private.items())), public)


def _unit(table: Table) -> str:
    """The declaration of a table's units as a text: its own rows (or their key), or a column and what it refers to."""
    if table.unit is None:
        return canonical_json(["row", table.key])
    return canonical_json([table.unit.column, table.unit.references, table.no_unit])
