"""`prepare`: from the declared sources to a store in which every value is clean, every row knows its unit and has its rank.

What a store is, and why a neighbour of the data is a neighbour of the store, is in store.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from tacit.errors import CatalogUnusable, StoreUnusable
from tacit.privacy.catalog import Catalog, Column, Table
from tacit.privacy.catalog_file.text import key_text
from tacit.query.prepare.ownership import carried, key_name, own_key, owned, staged_name
from tacit.query.prepare.packing import packing
from tacit.query.prepare.public_columns import found_column
from tacit.query.prepare.ranking import ranked, ranking_key
from tacit.query.prepare.reading import Raw
from tacit.query.prepare.sources import Rows
from tacit.query.prepare.staging import ColumnReport, check_columns, cleaned, kept, read, stage, stored_columns, tally
from tacit.query.prepare.workshop import Progress, Workshop
from tacit.query.quoting import name, text
from tacit.query.store import new_info, replacing, store_info, write_info

MEMORY = "60%"


@dataclass(frozen=True, slots=True)
class TableReport:
    """What became of the rows of one table. For the curator alone.

    `dropped` counts rows by reason: "value" (a column says drop), "no unit", "limit" (beyond max_rows, or repeating a key).
    `left_out` names columns of a public table that are not declared and cannot be read from the data, and why. `unnamed` rows
    carry no key: they are dropped or units of their own, as declared.
    """

    name: str
    public: bool
    read: int
    kept: int
    dropped: Mapping[str, int]
    columns: tuple[ColumnReport, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    unnamed: int = 0


@dataclass(frozen=True, slots=True)
class Prepared:
    """What preparation did. Its counts are exact and private: they are for the curator alone."""

    store: Path
    version: str
    tables: tuple[TableReport, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LedgerMark:
    """Which ledger a store belongs to, and the last entry that it had then."""

    ledger: str | None = None
    head: str | None = None


def prepare(
    catalog: Catalog, progress: Progress | None = None, *, memory: str = MEMORY, mark: LedgerMark | None = None
) -> Prepared:
    """Write the store of a catalog anew from its sources, and put it in the place of the old one when it is whole.

    No row of a source makes it fail. `progress` is told words and a fraction; `memory` bounds the engine, which spills beyond it;
    `mark` names the ledger of the catalog (without one, that of the old store stays).
    """
    with replacing(catalog) as folder, _in_our_words(memory):
        workshop = Workshop(folder / "spill", memory, progress, _steps(catalog))
        with closing(workshop.engine) as engine:
            workshop.run(f"ATTACH {text(str(folder / 'store.duckdb'))} AS store")
            private = _prepare_private(workshop, catalog, ranking_key(catalog.kept))
            public = {table.name: _prepare_public(workshop, catalog, table) for table in catalog.tables.values() if table.public}
            mark = mark or _old_mark(catalog)
            info = new_info(catalog, mark.ledger, mark.head, {table: columns for table, (columns, _) in public.items()})
            write_info(engine, "store", info)
            workshop.run("CHECKPOINT store")
            workshop.run("DETACH store")
    if progress is not None:
        progress("prepared", 1.0)
    reports = {**private, **{table: report for table, (_, report) in public.items()}}
    return Prepared(catalog.store_file, info.version, tuple(reports[key] for key in catalog.tables))


@contextmanager
def _in_our_words(memory: str) -> Iterator[None]:
    """What the engine says of a failure may quote cells, so it is not passed on."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise StoreUnusable(f"preparation does not get by with {memory} of memory", remedy="give it more: --memory 4GB") from None
    except duckdb.IOException:
        raise StoreUnusable("the store could not be written", remedy="look for room on the disk beside it") from None
    except duckdb.Error as error:
        raise StoreUnusable(f"the engine failed ({type(error).__name__})", remedy="check the sources and try again") from None


def _steps(catalog: Catalog) -> int:
    keyed = [table for table in catalog.tables.values() if not table.public and own_key(table)]
    return 2 * len(catalog.tables) + len(keyed) + bool(keyed)


def _old_mark(catalog: Catalog) -> LedgerMark:
    with suppress(StoreUnusable):  # a damaged store is what preparation replaces
        if old := store_info(catalog.store_file):
            return LedgerMark(old.ledger, old.head)
    return LedgerMark()


def _prepare_private(workshop: Workshop, catalog: Catalog, key: str) -> dict[str, TableReport]:
    """Stage all private tables, rank those whose units have names, number the units, and write: units are one for all tables."""
    tables = [table for table in catalog.tables.values() if not table.public]
    keys = carried(catalog)
    types = {kind for table in tables for kind in stage(workshop, catalog, table, keys[table.name])}
    key_type = next((kind for kind in ("VARCHAR", "HUGEINT") if kind in types), "BIGINT")
    keyed = [table for table in tables if own_key(table)]
    for table in keyed:
        workshop.step(f"ranking {table.name}", _ranked_table(catalog, table, key_type), {"key": key})
    units = _number_units(workshop, keyed) if keyed else 0
    reports = {}
    for table in tables:
        first = units if own_key(table) else 0
        workshop.step(f"writing {table.name}", _stored_table(catalog, table, key_type, first))
        reports[table.name] = report = _report(workshop, catalog, table, key_type)
        _check_size(table, report.kept)
        units += report.unnamed if own_key(table) and _keeps_unnamed(table) else 0
    return reports


def _ranked_table(catalog: Catalog, table: Table, key_type: str) -> str:
    columns = stored_columns(table)
    rows = f"SELECT * FROM ({owned(catalog, table, key_type)}) WHERE {kept(columns)}"
    repeated = key_name(table.key) if table.key and table.key != own_key(table) else None
    return f"CREATE TEMP TABLE {_ranked_name(table)} AS {ranked(rows, packing(columns), key_type, repeated, table.max_rows)}"


def _number_units(workshop: Workshop, keyed: list[Table]) -> int:
    """Give every unit of any table a code, and say how many there are. The codes are dense, and their order means nothing."""
    units = " UNION ".join(f"SELECT tacit_unit FROM {_ranked_name(table)} WHERE tacit_rank = 0" for table in keyed)
    workshop.step(
        "numbering units",
        f"CREATE TEMP TABLE tacit_units AS SELECT tacit_unit, row_number() OVER () - 1 AS tacit_code FROM ({units})",
    )
    return int(workshop.rows("SELECT count(*) FROM tacit_units")[0][0])


def _stored_table(catalog: Catalog, table: Table, key_type: str, first: int) -> str:
    """The rows of named units by their codes; rows that are units of their own get the codes from `first` on."""
    columns = stored_columns(table)
    values = "".join(f", {sql} AS {name(column)}" for column, sql in packing(columns).unpack().items())
    named = (
        f"SELECT tacit_code AS tacit_unit, tacit_rank{values} FROM {_ranked_name(table)} AS rows "
        "JOIN tacit_units AS units ON rows.tacit_unit = units.tacit_unit"
    )
    own = (
        f"SELECT {first} + row_number() OVER () - 1 AS tacit_unit, 0::BIGINT AS tacit_rank{values} "
        f"FROM ({owned(catalog, table, key_type)}) WHERE {kept(columns)} AND tacit_unit IS NULL"
    )
    parts = [named] * (own_key(table) is not None) + [own] * _keeps_unnamed(table)
    return f"CREATE TABLE store.{name(table.name)} AS {' UNION ALL '.join(parts)}"


def _keeps_unnamed(table: Table) -> bool:
    return own_key(table) is None or table.no_unit == "own"


def _report(workshop: Workshop, catalog: Catalog, table: Table, key_type: str) -> TableReport:
    columns = stored_columns(table)
    found = tally(workshop, staged_name(table), columns)
    ((unnamed,),) = workshop.rows(
        f"SELECT count(*) FROM ({owned(catalog, table, key_type)}) WHERE {kept(columns)} AND tacit_unit IS NULL"
    )
    ((stored,),) = workshop.rows(f"SELECT count(*) FROM store.{name(table.name)}")
    without_unit = 0 if _keeps_unnamed(table) else unnamed
    dropped = {"value": found.dropped, "no unit": without_unit, "limit": found.read - found.dropped - without_unit - stored}
    return TableReport(table.name, False, found.read, stored, dropped, found.columns, unnamed=unnamed)


def _check_size(table: Table, stored: int) -> None:
    """The worst work of questions rests on the declared size, so a larger table is not put in the place of the old store."""
    if stored > table.most_rows:
        said = "is assumed where rows_at_most is missing" if table.rows_at_most is None else "is declared as rows_at_most"
        raise StoreUnusable(
            f"{table.name} has more rows than {table.most_rows:,}, which {said}; the old store stays",
            remedy=f"raise rows_at_most in [{key_text(('tables', table.name))}], or lower max_rows",
        )


def _prepare_public(workshop: Workshop, catalog: Catalog, table: Table) -> tuple[dict[str, Column], TableReport]:
    """Copy a public table, with the columns that are declared and those that the data show."""
    columns, left_out, rows = _public_columns(workshop, catalog, table)
    workshop.run(f"CREATE TEMP TABLE {_ranked_name(table)} AS {cleaned(workshop, columns, rows, {})}")
    values = ", ".join(f"{sql} AS {name(column)}" for column, sql in packing(columns).unpack().items())
    workshop.step(
        f"writing {table.name}",
        f"CREATE TABLE store.{name(table.name)} AS SELECT {values} FROM {_ranked_name(table)} WHERE {kept(columns)}",
    )
    found = tally(workshop, _ranked_name(table), columns)
    dropped = {"value": found.dropped, "no unit": 0, "limit": 0}
    return columns, TableReport(table.name, True, found.read, found.read - found.dropped, dropped, found.columns, left_out)


def _public_columns(workshop: Workshop, catalog: Catalog, table: Table) -> tuple[dict[str, Column], dict[str, str], Rows]:
    """The columns of a public table as they will be stored, those that are left out, and the rows as they were read."""
    seen: list[Rows] = []

    def select(rows: Rows) -> str:
        seen.append(rows)
        check_columns(table, rows, table.columns)
        return f"SELECT {', '.join(f'{raw.sql} AS {name(key)}' for key, raw in rows.columns.items())} FROM {rows.relation}"

    read(workshop, catalog, table, None, select)
    raws = {key: Raw(name(key), raw.type) for key, raw in seen[-1].columns.items()}
    found = {
        key: table.columns.get(key) or found_column(workshop, staged_name(table), key, raw, seen[-1].typed)
        for key, raw in raws.items()
    }
    columns = {key: column for key, column in found.items() if isinstance(column, Column)}
    if not columns:
        raise CatalogUnusable(f"the public table {table.name} has no column that can be read; declare one")
    left_out = {key: reason for key, reason in found.items() if isinstance(reason, str)}
    return columns, left_out, Rows(staged_name(table), raws, seen[-1].typed)


def _ranked_name(table: Table) -> str:
    return name(f"tacit_ranked {table.name}")
