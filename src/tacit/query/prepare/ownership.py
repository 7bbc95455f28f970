"""Whose every row is. A unit is a key value: all rows in all tables that carry it, or that lead to it through other tables.

Where a key leads to several units (its table repeats it), the least of them owns what refers to it: taking any other unit away
leaves that as it is (store.md).
"""

from __future__ import annotations

from collections.abc import Mapping

from tacit.errors import CatalogUnusable
from tacit.privacy.catalog import Catalog, Owner, Table
from tacit.query.quoting import name

Reference = tuple[str, str]


def own_key(table: Table) -> str | None:
    """The column whose value is the unit of a row, or leads to it; None where every row is a unit without a name."""
    return table.key if table.unit is None else table.unit.column


def led_through(catalog: Catalog, table: Table) -> Reference | None:
    """The (table, column) in which the unit is looked up; None where the value itself is the unit, with or without a row there."""
    unit, seen = table.unit or Owner(""), {table.name}
    while unit.references is not None:
        parent = catalog.tables[unit.references[0]]
        if parent.name in seen:
            raise CatalogUnusable(f"the unit of {table.name} leads back to itself; let one table say whose its rows are")
        if parent.unit is None and parent.key != unit.references[1]:
            raise CatalogUnusable(f"{'.'.join(unit.references)} is not a key; declare it with key = true")
        if parent.unit is None or parent.unit.column != unit.references[1]:
            return None if parent.unit is None else unit.references
        seen.add(parent.name)
        unit = parent.unit
    return None


def carried(catalog: Catalog) -> Mapping[str, tuple[str, ...]]:
    """The columns of keys that each private table is staged with: its own, and those in which others look their unit up."""
    private = {key: table for key, table in catalog.tables.items() if not table.public}
    found: dict[str, set[str]] = {key: {own_key(table) or "", table.key or ""} - {""} for key, table in private.items()}
    for table in private.values():
        if reference := led_through(catalog, table):
            found[reference[0]].add(reference[1])
    return {key: tuple(sorted(columns)) for key, columns in found.items()}


def owned(catalog: Catalog, table: Table, key_type: str, on_the_way: tuple[str, ...] = ()) -> str:
    """SQL for the staged rows of a table with their `tacit_unit` (a key of `key_type`), which is NULL where there is none."""
    if table.name in on_the_way:
        raise CatalogUnusable(f"the unit of {table.name} leads back to itself; let one table say whose its rows are")
    own, reference = own_key(table), led_through(catalog, table)
    key = "NULL" if own is None else f"CAST({key_name(own)} AS {key_type})"
    if reference is None:
        return f"SELECT *, {key} AS tacit_unit FROM {staged_name(table)}"
    parent = owned(catalog, catalog.tables[reference[0]], key_type, (*on_the_way, table.name))
    link = f"CAST({key_name(reference[1])} AS {key_type})"
    links = f"SELECT {link} AS tacit_link, min(tacit_unit) AS tacit_unit FROM ({parent}) GROUP BY {link}"
    return f"SELECT * EXCLUDE (tacit_link) FROM {staged_name(table)} LEFT JOIN ({links}) ON {key} = tacit_link"


def staged_name(table: Table) -> str:
    """The engine's table of a source's rows, cleaned, with their keys."""
    return name(f"tacit_staged {table.name}")


def key_name(column: str) -> str:
    """The column of a staged table that holds a key."""
    return name(f"tacit_key {column}")
