"""The engines on which plans run, and the one place that makes them, from what a catalog declares in `[store]`.

Another engine is a module that has the methods of `engine.Engine`, an entry in `ENGINES`, and its words for preparation in
`data/dialect.py`. Each is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tacit.data.store import store_file
from tacit.privacy.catalog import Catalog
from tacit.query.engines.engine import Engine, Limits, Opening

EMBEDDED = "duckdb"


@dataclass(frozen=True, slots=True)
class Kind:
    """How an engine is made for a store, and how to load all that it needs before a store is named."""

    make: Callable[[Opening], Engine]
    load: Callable[[], None]


def opening(catalog: Catalog, version: str | None = None, limits: Limits | None = None) -> Opening:
    """What an engine, in this process or in another, needs to know of the prepared data of a catalog."""
    return Opening(store_file(catalog), catalog.store_engine, version, limits or Limits())


def engine_at(wanted: Opening) -> Engine:
    """The engine for a store; it opens when it is first asked."""
    return ENGINES[wanted.engine].make(wanted)


def engine_for(catalog: Catalog, version: str | None = None) -> Engine:
    """The engine on the prepared data of a catalog; of the given version, where one is given, and of no other."""
    return engine_at(opening(catalog, version))


def load(engine: str = EMBEDDED) -> None:
    """Import all that answering with an engine needs, so that it is there when a question comes."""
    ENGINES[engine].load()


def _duckdb(wanted: Opening) -> Engine:
    from tacit.query.engines.duckdb import DuckDBEngine

    return DuckDBEngine(wanted.place, wanted.limits, wanted.version)


def _load_duckdb() -> None:
    import ibis

    import tacit.query.engines.compile
    import tacit.query.engines.duckdb  # noqa: F401

    _ = ibis.duckdb


ENGINES: Mapping[str, Kind] = {EMBEDDED: Kind(_duckdb, _load_duckdb)}
