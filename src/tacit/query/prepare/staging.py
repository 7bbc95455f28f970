"""The rows of one source, cleaned and with their keys, in a table of the workshop; and the tally of what was cleaned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

import duckdb

from tacit.errors import CatalogUnusable
from tacit.privacy.catalog import Catalog, Column, Kind, Notation, Table
from tacit.query.headers import columns_told
from tacit.query.prepare.cleaning import FATES, cleaning, dropping, possible, prepared_value
from tacit.query.prepare.ownership import key_name, staged_name
from tacit.query.prepare.packing import packing
from tacit.query.prepare.reading import Raw, named, without_missing
from tacit.query.prepare.sources import MENDED, MENDING, READERS, Rows, Wanted
from tacit.query.prepare.workshop import Workshop
from tacit.query.quoting import name

KEY_TYPES = {"integer": "BIGINT", "wide": "HUGEINT"}
TROUBLES: tuple[tuple[type[duckdb.Error], str], ...] = (
    (duckdb.CatalogException, "names a table that is not there; correct `table`"),
    (duckdb.IOException, "cannot be read from disk, or there is no room left beside the store; check both"),
)


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """In how many rows a column was missing, unreadable, below or above its bounds, or unknown. For the curator alone."""

    name: str
    fates: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows were read, how many of them have a value that drops them, and the fates by column."""

    read: int
    dropped: int
    columns: tuple[ColumnReport, ...]


def stage(workshop: Workshop, catalog: Catalog, table: Table, keys: tuple[str, ...]) -> set[str]:
    """Read the source of a private table into the workshop, declared columns and keys alone; the types of the keys come back."""
    wanted: dict[str, Kind] = {**{key: column.kind for key, column in table.columns.items()}, **dict.fromkeys(keys, "key")}
    types: set[str] = set()

    def select(rows: Rows) -> str:
        check_columns(table, rows, wanted)
        types.update(_key_type(rows.columns[key]) for key in keys)
        carried = {key_name(key): _key(without_missing(rows.columns[key], notation_of(table, key))) for key in keys}
        return cleaned(workshop, stored_columns(table), rows, carried)

    read(workshop, catalog, table, wanted, select)
    return types


def read(workshop: Workshop, catalog: Catalog, table: Table, wanted: Wanted, select: Callable[[Rows], str]) -> None:
    """Put what `select` makes of a source into the staged table; a file that the engine's own reader does not take is mended."""
    readers = [each[table.source.kind] for each in (READERS, MENDING) if table.source.kind in each]
    for reader in readers:
        try:
            with reader(workshop, catalog, table.source, wanted) as rows:
                workshop.step(f"reading {table.name}", f"CREATE OR REPLACE TEMP TABLE {staged_name(table)} AS {select(rows)}")
            return
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            if reader is readers[-1] or not isinstance(error, MENDED):
                raise _unusable(table, error) from None


def notation_of(table: Table, key: str) -> Notation:
    """How a column of a table is written, declared or not."""
    return table.columns[key].notation if key in table.columns else table.notation


def stored_columns(table: Table) -> dict[str, Column]:
    """The declared columns that the store holds: all but keys, which the units' codes stand for."""
    return {key: column for key, column in table.columns.items() if column.kind != "key"}


def cleaned(workshop: Workshop, columns: Mapping[str, Column], rows: Rows, carried: Mapping[str, str]) -> str:
    """SQL for packed rows of the columns and their fates, with what is `carried` along as it is."""
    plans = {key: cleaning(column, replace(rows.columns[key], alias=f"tacit {key}"), workshop) for key, column in columns.items()}
    first = {**carried, **_merged(plan.layers[:1] for plan in plans.values())}
    query = f"SELECT {_named(first) or '0 AS tacit_row'} FROM {rows.relation}"
    for layer in list(zip_longest(*(plan.layers for plan in plans.values()), fillvalue={}))[1:]:
        query = f"SELECT *, {_named(_merged([layer]))} FROM ({query})"
    fates = {fate_name(key): f"CAST({plan.fate} AS UTINYINT)" for key, plan in plans.items()}
    query = f"SELECT *, {_named(fates)} FROM ({query})" if fates else query
    values = packing(columns).pack({key: prepared_value(columns[key], fate_name(key), plan.code) for key, plan in plans.items()})
    return f"SELECT {', '.join([*carried, *fates, _named(values)] if plans else [*carried] or ['*'])} FROM ({query})"


def kept(columns: Mapping[str, Column]) -> str:
    """SQL that is true for staged rows that no value drops."""
    dropped = {key: dropping(column) for key, column in columns.items()}
    tests = [f"{fate_name(key)} NOT IN {(*fates, 255)}" for key, fates in dropped.items() if fates]
    return " AND ".join(tests) or "TRUE"


def tally(workshop: Workshop, relation: str, columns: Mapping[str, Column]) -> Tally:
    """What happened to the staged rows of a table."""
    asked = [(key, fate) for key, column in columns.items() for fate in possible(column)]
    counts = [f"count(*) FILTER ({fate_name(key)} = {fate})" for key, fate in asked]
    ((rows, dropped, *found),) = workshop.rows(
        f"SELECT {', '.join(['count(*)', f'count(*) FILTER (NOT ({kept(columns)}))', *counts])} FROM {relation}"
    )
    by_column: dict[str, dict[str, int]] = {key: {} for key in columns}
    for (key, fate), count in zip(asked, found, strict=True):
        by_column[key][FATES[fate]] = count
    return Tally(rows, dropped, tuple(ColumnReport(key, fates) for key, fates in by_column.items()))


def fate_name(column: str) -> str:
    """The column of a staged table that holds the fates of another."""
    return name(f"tacit_fate {column}")


def _key(raw: Raw) -> str:
    kind = _key_type(raw)
    return f"nullif({named(raw)}, '')" if kind == "VARCHAR" else f"CAST({raw.sql} AS {kind})"


def _key_type(raw: Raw) -> str:
    if raw.nature == "nested":
        raise CatalogUnusable(f"a column of the type {raw.type} cannot be a key; convert it in the source")
    return KEY_TYPES.get(raw.nature, "VARCHAR")


def _merged(layers: Iterable[Iterable[Mapping[str, str]]]) -> dict[str, str]:
    return {key: sql for layer in layers for parts in layer for key, sql in parts.items()}


def _named(parts: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {alias}" for alias, sql in parts.items())


def check_columns(table: Table, rows: Rows, wanted: Collection[str]) -> None:
    """Every wanted column is in the source."""
    absent = [key for key in wanted if key not in rows.columns]
    if absent:
        told = columns_told(rows.columns, as_text=not rows.typed)
        raise CatalogUnusable(f"the source of {table.name} has no column {', '.join(absent)}; {told}; correct tacit.toml")


def _unusable(table: Table, error: duckdb.Error) -> CatalogUnusable:
    """In our words: the engine's own quote cells."""
    words = next((words for kind, words in TROUBLES if isinstance(error, kind)), f"cannot be read as {table.source.kind}")
    return CatalogUnusable(f"the source of {table.name} {words}")
