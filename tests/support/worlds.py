"""Small prepared data sets, written as the store has them, with the engine on them: what preparation makes, without its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa

from stored import catalog as catalog_of
from stored import category, days, number
from stored import table as table_of
from tacit.data.dialect import name
from tacit.privacy.catalog import Catalog, Column, Owner, Source, Table
from tacit.privacy.sealed import Sealed
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.engines.engine import Limits, StoredFacts
from tacit.query.engines.exact import Exact
from tacit.query.language.sql import parse, read
from tacit.query.language.syntax import Select
from tacit.query.passes import rewrite
from tacit.query.question import Question

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

    def plan_of_list(self, *questions: str) -> Question:
        """The plan of several questions at one price."""
        select = read(";\n".join(questions), several=True).statement
        assert isinstance(select, Select)
        return rewrite(select, self.catalog, self.facts)

    def exact(self, question: Question) -> list[Any]:
        """The moments as the engine has them, opened, which only tests may do; private keys come last."""
        return opened(self.engine.run(question.group))

    def with_rows(self, table: str, rows: Stored) -> World:
        """The same world with other rows in one table; only one of the two can be asked from then on."""
        declared = self.catalog.tables[table]
        self.engine._connection.execute(f"DELETE FROM {name(table)}")
        insert(self.engine._connection, declared, rows)
        return replace(self, tables={**self.tables, table: rows})

    def with_catalog(self, catalog: Catalog) -> World:
        return replace(self, catalog=catalog)


def opened(exact: Exact) -> list[Any]:
    found: list[Any] = []
    for moment in exact.moments:
        plain = moment.unseal() if isinstance(moment, Sealed) else [cell.unseal() for cell in moment]
        found.append(plain)
    return [*found, exact.keys.unseal()] if exact.keys is not None else found


@contextmanager
def world(folder: Path, catalog: Catalog, rows: Mapping[str, Stored], limits: Limits | None = None) -> Iterator[World]:
    """A store of these rows: private ones hold tacit_unit, tacit_rank and offsets; of public tables all columns are declared."""
    file = folder / "store.duckdb"
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE tacit_store AS SELECT 'a test' AS version, '{}' AS details")
        _fill(connection, catalog, rows)
    engine = DuckDBEngine(file, limits)
    try:
        yield _world(catalog, rows, engine)
    finally:
        engine.close()


@contextmanager
def world_in_memory(catalog: Catalog, rows: Mapping[str, Stored]) -> Iterator[World]:
    """The same without a file, so that `with_rows` can change it."""
    engine = DuckDBEngine(Path())
    engine._connection = duckdb.connect()
    engine._backend = ibis.duckdb.from_connection(engine._connection)
    _fill(engine._connection, catalog, rows)
    try:
        yield _world(catalog, rows, engine)
    finally:
        engine.close()


def _world(catalog: Catalog, rows: Mapping[str, Stored], engine: DuckDBEngine) -> World:
    public = {table.name: table.columns for table in catalog.tables.values() if table.public}
    return World(catalog, rows, engine, StoredFacts(public, engine))


def _types(table: Table) -> dict[str, str]:
    own = {} if table.public else {"tacit_unit": "BIGINT", "tacit_rank": "BIGINT"}
    kept = [column for column in table.columns.values() if column.kind != "key"]
    return own | {column.name: "VARCHAR" if column.kind == "text" else "BIGINT" for column in kept}


def _fill(connection: duckdb.DuckDBPyConnection, catalog: Catalog, rows: Mapping[str, Stored]) -> None:
    for table in catalog.tables.values():
        columns = ", ".join(f"{name(key)} {kind}" for key, kind in _types(table).items())
        connection.execute(f"CREATE TABLE {name(table.name)} ({columns})")
        insert(connection, table, rows[table.name])


def insert(connection: duckdb.DuckDBPyConnection, table: Table, rows: Stored) -> None:
    kinds = {"BIGINT": pa.int64(), "VARCHAR": pa.string()}
    given = pa.table({key: pa.array([row[key] for row in rows], kinds[kind]) for key, kind in _types(table).items()})
    connection.register("given", given)
    connection.execute(f"INSERT INTO {name(table.name)} SELECT * FROM given")
    connection.unregister("given")


def ranked(units: Sequence[Sequence[Mapping[str, Any]]], codes: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """The rows of several units, as stored: each unit's own in the order given."""
    numbers = codes if codes is not None else range(len(units))
    return [
        {"tacit_unit": unit, "tacit_rank": rank, **row}
        for unit, rows in zip(numbers, units, strict=True)
        for rank, row in enumerate(rows)
    ]


def without(rows: Stored, unit: int) -> list[Mapping[str, Any]]:
    """The neighbour without one unit."""
    return [row for row in rows if row["tacit_unit"] != unit]


# --- a clinic: units of several rows, and a public table that some rows join several times ---------------------------------------

WARDS = (category("ward", "a", "b", "d"), category("site", "N", "S"), number("beds", 0, 9))
PUBLIC = [
    {"ward": 0, "site": 0, "beds": 4},
    {"ward": 0, "site": 1, "beds": 9},
    {"ward": 0, "site": None, "beds": 4},
    {"ward": 1, "site": 0, "beds": None},
    {"ward": 2, "site": 1, "beds": 1},
    {"ward": None, "site": 1, "beds": 2},
]
VISITS = (
    Column("person", "key"),
    category("ward", "a", "b", "c"),
    number("cost", 0, 50, "0.01"),
    number("age", -3, 7, nulls="drop"),
    days("day", "2020-01-30", "2020-05-02", nulls="drop"),
    Column("diagnosis", "text"),
    Column("scan", "presence"),
)


def clinic(folder: Path, max_rows: int = 3, max_rows_per_group: int | None = None, **declared: Any) -> Catalog:
    limits = {"max_rows": max_rows, "max_rows_per_group": max_rows_per_group}
    visits = table_of(
        "visits", folder / "visits.csv", *VISITS, unit=Owner("person"), **limits, **{"rows_at_most": 10**5} | declared
    )
    wards = Table("wards", Source("csv", "wards.csv"), {column.name: column for column in WARDS}, public=True)
    return catalog_of(folder, visits, wards)
