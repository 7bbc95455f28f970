"""The embedded engine: DuckDB on the prepared store; runs a plan and returns sealed, exact integers.

The store is opened read-only and isolated: no external access, no extensions, no change of configuration, and limits on memory and
time.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.data.deadline import stopped_after
from tacit.data.dialect import name as quoted
from tacit.data.dialect import text
from tacit.data.store import added_in, attach_parts, limits_of
from tacit.errors import StoreUnusable
from tacit.privacy.sealed import Sealed
from tacit.query.engines.engine import Limits, out_of_limits
from tacit.query.engines.exact import Build, Exact, Integers, answers_of, assemble, numbers, statements_of
from tacit.query.plan import Bound, Group
from tacit.query.planning import STEPS_PER_SECOND, size_of_group
from tacit.query.trees import canonical_text

MOST_COMPILED = 64  # plans whose SQL is cached, the oldest dropped first; one takes at most two megabytes, and most a few kilobytes
LONG_LIST = 4000  # characters of a list that is worth a sub-query
AS_WRITTEN = "join_order,build_side_probe_side,partial_aggregate_pushdown,window_self_join,top_n_window_elimination"
"""Optimizers that are off: by what the rows hold they choose another plan, which the worst work (work.md) does not know."""


class DuckDBEngine:
    """The prepared store in DuckDB, in this process; only of the given version, if any.

    Prices follow from the public tables of one version, so they hold for the rows of that version alone.
    """

    def __init__(self, path: Path, limits: Limits | None = None, version: str | None = None) -> None:
        self.path, self.limits, self.version = path, limits or Limits(), version
        self._connection: Any = None
        self._backend: Any = None
        self._public: Any = None
        self._tables: dict[str, Any] = {}
        self._limits: Mapping[str, int] = {}
        self._compiled: dict[str, str] = {}
        self._planned: set[str] = set()
        self._lock = threading.Lock()

    def open(self) -> None:
        """Opens the store if it still has the expected version; reads no row."""
        with self._lock:
            self._open()

    def run(self, group: Group) -> Exact:
        """The exact moments of every group, sealed; a time-out or an engine failure reveals nothing about the data."""
        with self._lock:
            self._plan(group)
            again = min(self.limits.planning, size_of_group(group).steps / STEPS_PER_SECOND)  # as it runs, it is planned again
            with self._deadline(self.limits.seconds + again):  # declared numbers, since what is measured may follow the data
                return assemble(group, answers_of(group, self._fetch))

    def tallies(self, bound: Bound, columns: Sequence[str]) -> Sealed[Any]:
        """The combinations of stored values, and how many rows have each, as a sealed Arrow table; a failure reveals nothing."""
        import tacit.query.engines.compile as compiled

        with self._lock, self._deadline(None):
            return Sealed(self._arrow(partial(compiled.tally_of, bound, columns), canonical_text((bound, *columns))))

    def fan_out(self, table: str, column: str) -> int:
        key = quoted(column.lower())
        counted = f"SELECT count(*) AS rows FROM {quoted(table.lower())} WHERE {key} IS NOT NULL GROUP BY {key}"  # noqa: S608
        return self._fact(f"SELECT coalesce(max(rows), 0) FROM ({counted})")  # noqa: S608  # names of the catalog, quoted

    def size(self, table: str) -> int:
        return self._fact(f"SELECT count(*) FROM {quoted(table.lower())}")  # noqa: S608  # a name of the catalog, quoted

    def public_rows(self, table: str) -> Any:
        """The stored codes of a public table; refused for one whose rows have a unit, whatever the caller believes."""
        with self._public_connection() as connection:
            relation = connection.sql(f"SELECT * FROM {quoted(table.lower())}")  # noqa: S608  # a name of the catalog, quoted
            if any(name.startswith("tacit_") for name in relation.columns):
                raise TypeError("rows of private tables leave the engine sealed, or not at all")
            return relation.to_arrow_table()

    def close(self) -> None:
        """Lets go of the store."""
        for connection in (self._connection, self._public):
            if connection is not None:
                connection.close()
        self._connection = self._backend = self._public = None
        self._tables, self._compiled, self._planned = {}, {}, set()

    def _fact(self, query: str) -> int:
        """One number about a public table."""
        with self._public_connection() as connection:
            ((number,),) = connection.execute(query).fetchall()
        return int(number)

    @contextmanager
    def _public_connection(self) -> Iterator[Any]:
        """A connection for public tables, within the limits; without the backend, which takes long to load."""
        with self._lock:
            if self._connection is None and self._public is None:
                self._public = _lock_down(_attach(self.path, self.limits, self.version))
            connection = self._connection or self._public
            with self._deadline(self.limits.seconds, connection):
                yield connection

    def _fetch(self, build: Build, key: str) -> Mapping[str, Integers]:
        table = self._arrow(build, key)
        return {name: numbers(table.column(name)) for name in table.column_names}

    def _plan(self, group: Group) -> None:
        """Plans all statements of a plan before any of them runs, within a limit of its own; skips those planned before."""
        new = [(build, key) for _, build, key in statements_of(group) if key not in self._planned or key not in self._compiled]
        if not new:
            return
        with self._deadline(self.limits.planning) as late:
            for build, key in new:
                self._connection.execute(f"PREPARE tacit_plan AS {self._sql(build, key)}")
                self._connection.execute("DEALLOCATE tacit_plan")
                self._planned.add(key)
                if late.is_set():  # not all of planning can be interrupted
                    raise out_of_limits()

    def _arrow(self, build: Build, key: str) -> Any:
        """The engine's result for what is built."""
        text = self._sql(build, key)  # which opens the store
        return self._connection.sql(text).to_arrow_table()

    def _sql(self, build: Build, key: str) -> str:
        """The SQL of what is built, cached by `key`, the plan, since Ibis takes as long as the engine."""
        import tacit.query.engines.compile as compiled

        backend = self._open()
        if key not in self._compiled:
            if len(self._compiled) >= MOST_COMPILED:
                oldest = next(iter(self._compiled))
                self._compiled.pop(oldest)
                self._planned.discard(oldest)
            built = backend.compiler.to_sqlglot(build(compiled.Tables(self._table, self._limits)))
            self._compiled[key] = with_lists_once(built).sql(dialect=backend.dialect)
        return self._compiled[key]

    def _table(self, name: str) -> Any:
        """A stored table; its columns are read once, since an open store never changes."""
        if name not in self._tables:
            self._tables[name] = self._open().table(name)
        return self._tables[name]

    def _open(self) -> Any:
        if self._backend is None:
            self._connection, self._backend = _connect(self.path, self.limits, self.version)
            self._limits = _limits(self._connection)
        return self._backend

    @contextmanager
    def _deadline(self, seconds: float | None, connection: Any = None) -> Iterator[threading.Event]:
        """Stops the engine when its time is up; whatever it raises, tacit's message is the same for every reason."""
        import duckdb
        import pyarrow

        connection = connection or self._open().con
        try:
            with stopped_after(seconds, connection.interrupt) as late:  # one query is several statements
                yield late
        except (duckdb.Error, pyarrow.ArrowException, MemoryError, RecursionError):
            raise out_of_limits() from None


def with_lists_once(tree: Any) -> Any:
    """A query that makes each long list of a lookup once: the engine makes a constant list anew for every 2,048 rows."""
    from sqlglot import exp

    for made in list(tree.find_all(exp.Cast)):
        if isinstance(made.this, exp.Split) and isinstance(made.this.this, exp.Literal) and len(made.this.this.this) > LONG_LIST:
            made.replace(exp.Subquery(this=exp.Select(expressions=[made.copy()])))
    return tree


def _connect(path: Path, limits: Limits, version: str | None) -> tuple[Any, Any]:
    from tacit.query.engines.duckdb import duckdb_backend

    connection = _attach(path, limits, version)
    backend = duckdb_backend().from_connection(connection)  # it changes settings, so they are locked afterwards
    return _lock_down(connection), backend


def _attach(path: Path, limits: Limits, version: str | None) -> Any:
    """A connection to the store alone, of one version if named."""
    import duckdb

    if not path.exists():
        raise StoreUnusable("the data has not been prepared", remedy="run: tacit prepare")
    settings: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "memory_limit": limits.memory,
        "temp_directory": "",
        **({"threads": limits.threads} if limits.threads else {}),
    }
    connection = duckdb.connect(config=settings)
    try:
        connection.execute(f"ATTACH {text(str(path))} AS store (READ_ONLY)")
        connection.execute("USE store")
        ((current, details),) = connection.execute("SELECT version, details FROM tacit_store").fetchall()
        if version not in (None, current):
            raise StoreUnusable("the data was prepared again after it was opened", remedy="open it again")
        if added_in(details):
            attach_parts(connection, path.parent)
    except (duckdb.Error, ValueError):
        raise StoreUnusable("the prepared store cannot be opened", remedy="run: tacit prepare") from None
    return connection


def _limits(connection: Any) -> Mapping[str, int]:
    """The row limits that the store declares; empty if it declares none, and then its ranks are read."""
    import duckdb

    try:
        ((details,),) = connection.execute("SELECT details FROM store.tacit_store").fetchall()
        return limits_of(json.loads(details))
    except (duckdb.Error, ValueError, TypeError, AttributeError):
        return {}


def _lock_down(connection: Any) -> Any:
    """The connection, isolated from everything outside the store, with its configuration locked."""
    connection.execute(f"SET disabled_optimizers = '{AS_WRITTEN}'")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


# --- Ibis with the dialect of one engine: its package of dialects imports all twenty, a tenth of a cold start ----------------


PACKAGE = "ibis.backends.sql.compilers"


def duckdb_backend() -> Any:
    """Ibis for DuckDB, without importing the dialects of other engines."""
    dialects_on_demand()
    import ibis

    return ibis.duckdb


def dialects_on_demand() -> None:
    """Let Ibis import each dialect when it is used; without effect if its package of dialects is imported already."""
    if PACKAGE in sys.modules:
        return
    spec = find_spec(PACKAGE)
    if spec is None:  # a version of Ibis that keeps them elsewhere
        return
    package = module_from_spec(spec)
    package.__getattr__ = lambda name: _part(package, name)  # type: ignore[method-assign]
    parent, _, own_name = PACKAGE.rpartition(".")
    sys.modules[PACKAGE] = package
    setattr(sys.modules[parent], own_name, package)


def _part(package: ModuleType, name: str) -> Any:
    """A dialect, by its name. Anything else is defined by the package itself, which is then run whole."""
    if not name.startswith("_"):
        if find_spec(f"{PACKAGE}.{name}") is not None:
            return import_module(f"{PACKAGE}.{name}")
        loader = package.__spec__.loader if package.__spec__ else None
        if loader is not None and "__all__" not in vars(package):
            loader.exec_module(package)
        if name in vars(package):
            return vars(package)[name]
    raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}")
