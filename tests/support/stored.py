"""Small catalogs, their sources and what is stored of them, for the tests of preparation."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.data.store import open_store, store_file
from tacit.privacy.catalog import Budget, Catalog, Column, Owner, Source, Table, day_number

Rows = Sequence[Sequence[Any]]


def number(name: str, low: Any, high: Any, step: Any = 1, **declared: Any) -> Column:
    return Column(name, "number", (Fraction(low), Fraction(high)), Fraction(step), **declared)


def category(name: str, *values: Any, **declared: Any) -> Column:
    return Column(name, "category", values=values, **declared)


def days(name: str, low: str, high: str, **declared: Any) -> Column:
    bounds = tuple(Fraction(day_number(date.fromisoformat(day))) for day in (low, high))
    return Column(name, "date", bounds, Fraction(1), **declared)


def table(name: str, source: Source | Path, *columns: Column, unit: Owner | None = None, **declared: Any) -> Table:
    if isinstance(source, Path):
        source = Source("parquet" if source.suffix == ".parquet" else "csv", str(source))
    return Table(name, source, {column.name: column for column in columns}, unit=unit, **declared)


def catalog(folder: Path, *tables: Table, **declared: Any) -> Catalog:
    return Catalog(Budget(Fraction(8)), {each.name: each for each in tables}, path=folder / "tacit.toml", **declared)


def write_csv(path: Path, header: Sequence[str], rows: Rows) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def write_parquet(path: Path, columns: Mapping[str, pa.Array | Sequence[Any]]) -> Path:
    pq.write_table(pa.table(dict(columns)), path)
    return path


def write_duckdb(path: Path, table: str, columns: Mapping[str, pa.Array | Sequence[Any]]) -> Source:
    with duckdb.connect(str(path)) as engine:
        engine.register("given", pa.table(dict(columns)))
        engine.execute(f'CREATE TABLE "{table}" AS SELECT * FROM given')
    return Source("duckdb", str(path), table)


def stored(prepared: Catalog, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a prepared table, sorted; all columns, or those named."""
    return stored_tables(prepared, [name], *columns)[name]


def stored_tables(prepared: Catalog, names: Iterable[str], *columns: str) -> dict[str, list[tuple[Any, ...]]]:
    """The same of several tables; the store is opened once."""
    chosen = ", ".join(f'"{column}"' for column in columns) or "*"
    with open_store(store_file(prepared)) as engine:
        return {name: sorted(engine.execute(f'SELECT {chosen} FROM "{name}"').fetchall(), key=repr) for name in names}


def by_unit(prepared: Catalog, name: str, *columns: str) -> list[tuple[tuple[Any, ...], ...]]:
    """What is stored of each unit: its rows in the order of their ranks, without the unit's code, which means nothing."""
    units: dict[int, list[tuple[Any, ...]]] = {}
    for unit, rank, *values in stored(prepared, name, "tacit_unit", "tacit_rank", *columns):
        units.setdefault(unit, []).append((rank, *values))
    assert sorted(rank for rows in units.values() for rank, *_ in rows) == sorted(
        rank for rows in units.values() for rank in range(len(rows))
    ), "ranks are 0, 1, 2, ... within each unit"
    return sorted((tuple(tuple(values) for _, *values in sorted(rows)) for rows in units.values()), key=repr)
