"""Who owns each row. A unit is a key value: all rows in all tables that have it, or that lead to it through other tables.

A key that is looked up in another table may lead to several units there. The row then belongs to each of them, and each has its own
copy: removing one unit leaves the others' copies unchanged (store.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.data.dialect import name
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Catalog, Owner, Table

if TYPE_CHECKING:
    from tacit.data.dialect import Dialect

Reference = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Link:
    """One look-up on the way to the units: a value of `column` in `table` leads to values of that table's own key."""

    table: Table
    column: str

    def pairs(self, key_type: str, period: str = "") -> str:
        """SQL for the distinct pairs (`tacit_link`, `tacit_holder`), from the raw rows: independent of limits and other values.

        Where the table says which period a row has, by SQL that is NULL where it has none, each pair has that period too.
        """
        link, holder = key_sql(self.column, key_type), key_sql(own_key(self.table), key_type)
        dated = f", {period} AS tacit_period" if period else ""
        distinct = f"SELECT DISTINCT {link} AS tacit_link, {holder} AS tacit_holder{dated} FROM {staged_name(self.table)}"
        known = " AND tacit_period IS NOT NULL" if period else ""
        return f"SELECT * FROM ({distinct}) WHERE tacit_link IS NOT NULL AND tacit_holder IS NOT NULL{known}"


def own_key(table: Table) -> str | None:
    """The column whose value is the unit of a row, or leads to it; None if every row is an unnamed unit."""
    return table.key if table.unit is None else table.unit.column


def led_through(catalog: Catalog, table: Table) -> Reference | None:
    """The (table, column) in which the unit is looked up; None if the value itself is the unit, with or without a row there."""
    unit, seen = table.unit or Owner(""), {table.name}
    while unit.references is not None:
        parent = catalog.tables[unit.references[0]]
        if parent.name in seen:
            raise _circle(table)
        if parent.unit is None and parent.key != unit.references[1]:
            raise InvalidCatalog(f"{'.'.join(unit.references)} is not a key; declare it with key = true")
        if parent.unit is None or parent.unit.column != unit.references[1]:
            return None if parent.unit is None else unit.references
        seen.add(parent.name)
        unit = parent.unit
    return None


def links(catalog: Catalog, table: Table) -> tuple[Link, ...]:
    """The look-ups from the key of a table to its units, in order; empty if that key is the unit."""
    way: list[Link] = []
    here = table
    while (reference := led_through(catalog, here)) is not None:
        here = catalog.tables[reference[0]]
        if here.name == table.name or here.name in (link.table.name for link in way):
            raise _circle(table)
        way.append(Link(here, reference[1]))
    if way and table.no_unit == "own":
        raise InvalidCatalog(
            f'{table.name} has no_unit = "own", and its unit is looked up in {way[0].table.name}, where one row more could '
            'claim many such rows; write no_unit = "drop"'
        )
    return tuple(way)


def carried_keys(catalog: Catalog) -> Mapping[str, tuple[str, ...]]:
    """The key columns that each private table is staged with: its own, and those in which others look up their unit."""
    private = {key: table for key, table in catalog.tables.items() if not table.public}
    columns_of: dict[str, set[str]] = {key: {own_key(table) or "", table.key or ""} - {""} for key, table in private.items()}
    for table in private.values():
        for link in links(catalog, table):
            columns_of[link.table.name].add(link.column)
    return {key: tuple(sorted(columns)) for key, columns in columns_of.items()}


def coded_keys(catalog: Catalog) -> Mapping[str, Mapping[str, Reference]]:
    """The keys of each private table that are stored as codes, so that queries can join on them.

    They are the key that leads to the table's unit through another table, and the keys that other tables refer to. A code
    represents a value of the looked-up (table, column).
    """
    private = {name: table for name, table in catalog.tables.items() if not table.public}
    spaces: dict[str, dict[str, Reference]] = {name: {} for name in private}
    for table in private.values():
        reference, own = led_through(catalog, table), own_key(table)
        if reference is not None and own is not None:
            spaces[table.name][own] = reference
            spaces[reference[0]][reference[1]] = reference
    return spaces


def owners(words: Dialect, pairs: str, *rest: str) -> str:
    """SQL for what each `tacit_link` of a look-up leads to through the `rest`: its least and its largest unit, and how many ways.

    Each look-up is given by its table of pairs. A row has several owners if the two units differ, and at most as many as ways.
    """
    ends = (
        ("tacit_least", "tacit_largest", "tacit_ways")
        if rest
        else ("tacit_holder", "tacit_holder", words.constant("1.0", words.types.double))
    )
    further = f" JOIN ({owners(words, *rest)}) AS further ON pairs.tacit_holder = further.tacit_link" if rest else ""
    return (
        f"SELECT pairs.tacit_link, min({ends[0]}) AS tacit_least, max({ends[1]}) AS tacit_largest, sum({ends[2]}) AS tacit_ways "
        f"FROM {pairs} AS pairs{further} GROUP BY pairs.tacit_link"
    )


def staged_name(table: Table) -> str:
    """The engine's table of a source's cleaned rows with their keys."""
    return name(f"tacit_staged {table.name}")


def key_name(column: str) -> str:
    """The column of a staged table for a key."""
    return name(f"tacit_key {column}")


def code_name(column: str) -> str:
    """The column of a stored table for the codes of a key."""
    return f"tacit_code {column}"


def key_sql(column: str | None, key_type: str) -> str:
    """SQL for a key of a staged row, in the common type of all keys; NULL if the table has none."""
    return f"CAST({'NULL' if column is None else key_name(column)} AS {key_type})"


def _circle(table: Table) -> InvalidCatalog:
    return InvalidCatalog(f"the unit of {table.name} leads back to itself; let one table say whose its rows are")
