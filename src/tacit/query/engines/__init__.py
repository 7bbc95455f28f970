"""The engines that run plans, and the one place that makes them, from what a catalog declares in `[store]`.

A new engine is a module with the methods of `engine.Engine`, an entry in `ENGINES`, and its dialect for preparation in
`data/dialect.py`. Each is imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tacit.data.store import store_file
from tacit.errors import TooMuchWork
from tacit.privacy.catalog import Catalog, Table
from tacit.query.engines.engine import Engine, Limits, Opening

EMBEDDED = "duckdb"
MOST_TALLIES = 5 * 10**7  # combinations that a cluster returns to the driver: two to four gigabytes


@dataclass(frozen=True, slots=True)
class Kind:
    """How to make an engine for a store, and how to load its imports before a store is named."""

    make: Callable[[Opening], Engine]
    load: Callable[[], None]


def opening(catalog: Catalog, version: str | None = None, limits: Limits | None = None) -> Opening:
    """The facts about the prepared data of a catalog that an engine needs, in this process or in another."""
    tables = tuple(name.lower() for name in catalog.tables)
    store = (store_file(catalog), catalog.store_engine, version, limits or Limits(), catalog.store_master)
    return Opening(*store, tables=tables, seconds_to_reach=catalog.reach_seconds)


def engine_at(wanted: Opening) -> Engine:
    """The engine for a store; it opens the store on first use."""
    return ENGINES[wanted.engine].make(wanted)


def engine_for(catalog: Catalog, version: str | None = None) -> Engine:
    """The engine on the prepared data of a catalog; only of the given version, if any."""
    return engine_at(opening(catalog, version))


def tallies_at_most(table: Table, columns: Sequence[str]) -> int:
    """How many combinations of values `Engine.tallies` can return: a public number, by declarations alone.

    A store has at most the declared rows, which `tacit prepare` enforces; of private text that is the only limit.
    """
    declared = [table.columns[name] for name in columns]
    if any(column.kind not in ("number", "category", "date") for column in declared):
        return table.most_rows
    return min(table.most_rows, prod(column.points + column.nullable for column in declared))


def check_tallies(catalog: Catalog, table: Table, columns: Sequence[str]) -> None:
    """Refuse, before anything is paid for, to count more combinations on a cluster than its driver can hold."""
    if catalog.store_engine != EMBEDDED and tallies_at_most(table, columns) > MOST_TALLIES:
        raise TooMuchWork(
            f"{', '.join(columns)} of {table.name} may have more than {MOST_TALLIES:,} combinations of values",
            remedy=f"declare rows_at_most for {table.name}, or values for its columns",
        )


def load(engine: str = EMBEDDED) -> None:
    """Import everything that answering with an engine needs, before a query arrives."""
    ENGINES[engine].load()


def _duckdb(wanted: Opening) -> Engine:
    from tacit.query.engines.duckdb import DuckDBEngine

    return DuckDBEngine(wanted.place, wanted.limits, wanted.version)


def _load_duckdb() -> None:
    from tacit.query.engines.duckdb import duckdb_backend

    duckdb_backend()
    import tacit.query.engines.compile  # noqa: F401


def _spark(wanted: Opening) -> Engine:
    from tacit.query.engines.spark.engine import SparkEngine

    return SparkEngine(wanted)


def _load_spark() -> None:
    import ibis

    import tacit.query.engines.compile
    import tacit.query.engines.spark.engine  # noqa: F401

    _ = ibis.pyspark


ENGINES: Mapping[str, Kind] = {EMBEDDED: Kind(_duckdb, _load_duckdb), "spark": Kind(_spark, _load_spark)}
