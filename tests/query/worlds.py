"""Small prepared data sets, written as the store has them, with the engine on them: what preparation makes, without its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from tacit.privacy.catalog import Catalog, Table
from tacit.query.engines import DuckDBEngine, Limits, StoredFacts
from tacit.query.passes import rewrite
from tacit.query.plan import Question
from tacit.query.quoting import name
from tacit.query.sql import parse

Stored = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, repr=False)
class World:
    """A catalog, the rows as stored, and the engine that reads them."""

    catalog: Catalog
    tables: Mapping[str, Stored]
    engine: DuckDBEngine
    facts: StoredFacts

    def plan(self, question: str) -> Question:
        return rewrite(parse(question), self.catalog, self.facts)


@contextmanager
def world(folder: Path, catalog: Catalog, rows: Mapping[str, Stored], limits: Limits | None = None) -> Iterator[World]:
    """A store of these rows: private ones hold tacit_unit, tacit_rank and offsets; of public tables all columns are declared."""
    file = folder / "store.duckdb"
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as connection:
        for table in catalog.tables.values():
            fill(connection, table, rows[table.name])
    engine = DuckDBEngine(file, limits)
    public = {table.name: table.columns for table in catalog.tables.values() if table.public}
    try:
        yield World(catalog, rows, engine, StoredFacts(public, engine))
    finally:
        engine.close()


def fill(connection: duckdb.DuckDBPyConnection, table: Table, rows: Stored) -> None:
    own = [] if table.public else ["tacit_unit", "tacit_rank"]
    types = {
        column.name: "VARCHAR" if column.kind == "text" else "BIGINT" for column in table.columns.values() if column.kind != "key"
    }
    columns = dict.fromkeys(own, "BIGINT") | types
    connection.execute(f"CREATE TABLE {name(table.name)} ({', '.join(f'{name(key)} {kind}' for key, kind in columns.items())})")
    if rows:
        values = [[row[key] for key in columns] for row in rows]
        connection.executemany(f"INSERT INTO {name(table.name)} VALUES ({', '.join('?' for _ in columns)})", values)


def ranked(units: Sequence[Sequence[Mapping[str, Any]]], codes: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """The rows of several units, as stored: each unit's own in the order given."""
    numbers = codes if codes is not None else range(len(units))
    return [
        {"tacit_unit": unit, "tacit_rank": rank, **row}
        for unit, rows in zip(numbers, units, strict=True)
        for rank, row in enumerate(rows)
    ]
