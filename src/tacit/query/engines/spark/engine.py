"""The distributed engine: Apache Spark on a prepared store of Parquet files; runs a plan and returns sealed, exact integers.

Only aggregates come back to this process, sealed; noise, ledger and release never run on the cluster. Spark's own messages, which
quote SQL and plans, are silenced, and none of them reaches the caller. Its settings are those of a session of its own, in which no
row can make an expression fail.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any

from tacit.data.spark.connect import numbered, unreachable
from tacit.data.spark.session import Reach, for_questions, in_this_process, interrupted, quiet, runs_here, started
from tacit.data.store import ParquetStore, limits_of, parquet_store, still_here
from tacit.errors import StoreUnusable, TimedOut
from tacit.privacy.catalog import COPIED_ROWS
from tacit.privacy.sealed import Sealed
from tacit.query.engines.engine import Opening, out_of_limits
from tacit.query.engines.exact import Exact, Integers, answers_of, assemble, numbers, statements_of
from tacit.query.engines.spark.like import spark_backend
from tacit.query.engines.spark.reasons import MISSING, reason_of
from tacit.query.engines.spark.shared_parts import share_parts
from tacit.query.plan import Bound, Group
from tacit.query.trees import canonical_text

MOST_COMPILED = 64
ANY = "tacit_unit BIGINT"  # a schema, so that files are listed and none is opened
PREPARE = "run: tacit prepare"
_names = count()


class SparkEngine:
    """A prepared store on a Spark cluster; only of the given version, if any.

    `session` is a session of the caller, whose cluster is then used; otherwise the master that the catalog declares is asked.
    """

    def __init__(self, wanted: Opening, session: Any = None) -> None:
        self.wanted, self.limits = wanted, wanted.limits
        self._given = session
        self._session: Any = None
        self._backend: Any = None
        self._empty: Any = None
        self._store: ParquetStore | None = None
        self._pinned: ParquetStore | None = None
        self._tables: dict[str, Any] = {}
        self._compiled: dict[str, str] = {}
        self._planned: dict[str, Any] = {}
        self._files: dict[str, frozenset[str]] = {}
        self._facts: dict[tuple[str, str], int] = {}
        self._views = f"tacit_{next(_names)}"
        self._sessions = count()
        self._lock = threading.RLock()

    def open(self) -> None:
        """Reaches the cluster, which runs an empty task, and finds the store in the expected version; reads no row of it.

        A session whose cluster has gone is replaced by a new one, once. It checks public facts alone: the version, and names of
        files.
        """
        with self._lock:
            if self.wanted.at is not None and not self.wanted.at.answers():
                self._forget()
                raise unreachable()
            if self._store is not None:
                self._require_version(self._description(), self._store.version)
            if self._backend is None or not self._answers():
                self._forget()
                self._open()
                if not self._answers():
                    self._forget()
                    raise unreachable()
            self._require_files()

    def _answers(self) -> bool:
        try:
            if runs_here(self._session):
                return True
            with interrupted(self._session, self.wanted.seconds_to_reach):
                if self._empty is None:
                    self._empty = self._session.range(0, 1, 1, 1)  # one task; planned once, and run before every question
                return len(self._empty.collect()) == 1
        except Exception:
            return False

    def _require_version(self, store: ParquetStore, version: str | None) -> None:
        if version not in (None, store.version):
            self.close()
            raise StoreUnusable("the data was prepared again after it was opened", remedy="open it again")

    def _require_files(self) -> None:
        """Every table is where the description says, in the files that it had when it was first found; no file is read."""
        assert self._store is not None  # noqa: S101  # it is opened
        try:
            places = [self._store.table(name) for name in self.wanted.tables]
            if in_this_process(self._session) and all(still_here(place, self._files.get(place, ())) for place in places):
                return
            with interrupted(self._session, self.wanted.seconds_to_reach):
                listed = {place: frozenset(self._session.read.schema(ANY).parquet(place).inputFiles()) for place in places}
        except Exception as error:
            self.close()
            missing = "PATH_NOT_FOUND" in str(error)
            raise StoreUnusable(MISSING, remedy=PREPARE) if missing else unreachable() from None
        if not all(listed.values()) or (self._files or listed) != listed:
            self.close()
            raise StoreUnusable("the files of the prepared store were changed after it was opened", remedy=PREPARE)
        self._files = listed

    def run(self, group: Group) -> Exact:
        """The exact moments of every group, sealed; a time-out or a failure of the cluster reveals nothing about the data."""
        with self._lock:
            try:
                self._plan(group)
                with self._deadline(self.limits.seconds):
                    return assemble(group, answers_of(group, self._fetch, singly=False))  # rows stay on the cluster
            finally:
                self._planned = {}

    def tallies(self, bound: Bound, columns: Sequence[str]) -> Sealed[Any]:
        """The combinations of stored values, and how many rows have each, as a sealed Arrow table; rows stay on the cluster."""
        import tacit.query.engines.compile as compiled

        with self._lock, self._deadline(None):
            return Sealed(self._arrow(partial(compiled.tally_of, bound, columns), canonical_text((bound, *columns))))

    def fan_out(self, table: str, column: str) -> int:
        key = f"`{column.lower()}`"
        counted = f"SELECT count(*) AS rows FROM {{table}} WHERE {key} IS NOT NULL GROUP BY {key}"  # noqa: S608
        return self._fact(f"SELECT coalesce(max(rows), 0) AS found FROM ({counted})", table)  # noqa: S608  # names of the catalog

    def size(self, table: str) -> int:
        return self._fact("SELECT count(*) AS found FROM {table}", table)

    def public_rows(self, table: str) -> Any:
        """The stored codes of a public table; refused for one whose rows have a unit, whatever the caller believes."""
        with self._lock, self._free():
            frame = self._session.sql(f"SELECT * FROM {self._view(table.lower())}")  # noqa: S608  # a name of the catalog
            public = not _is_private(frame)
            rows = frame.toArrow() if public else None
        if not public:
            raise TypeError("rows of private tables leave the engine sealed, or not at all")
        return rows

    def interrupt(self) -> None:
        """Stops what runs on the cluster, from another thread; nothing where the cluster does not hear it."""
        with suppress(Exception):
            self._session.interruptAll()

    def close(self) -> None:
        """Forgets the session; one that was made here is stopped with this process."""
        with self._lock:
            if self._session is not None:
                for view in self._tables:
                    with suppress(Exception):
                        self._session.catalog.dropTempView(f"{self._views}_{view}")
            self._forget()

    def _forget(self) -> None:
        """Without a word to the cluster, which may be gone: Spark Connect would try for seconds to reach it."""
        self._session = self._backend = self._empty = self._store = None
        self._tables, self._compiled, self._planned, self._files, self._facts = {}, {}, {}, {}, {}

    def _fact(self, query: str, table: str) -> int:
        """One number about a public table; the cluster is asked once for as long as its session has this version open."""
        with self._lock:
            key = (query, table.lower())
            if key not in self._facts:
                with self._free():
                    asked = query.replace("{table}", self._view(table.lower()))
                    number = int(self._session.sql(asked).toArrow().column("found")[0].as_py())
                self._facts[key] = number
            return self._facts[key]

    def _fetch(self, build: Any, key: str) -> Mapping[str, Integers]:
        table = self._arrow(build, key)
        return {name: numbers(table.column(name)) for name in table.column_names}

    def _plan(self, group: Group) -> None:
        """Makes all statements of a plan and lets the cluster read and bind them, within a limit of its own.

        In that time it also looks at the files of tables that it has not seen, so the limit is twice that of planning.
        """
        with self._deadline(2 * self.limits.planning) as late:
            for _, build, key in statements_of(group, singly=False):
                self._planned[key] = self._session.sql(self._sql(build, key))
                _ = self._planned[key].schema  # which Spark Connect asks the cluster for
                if late.is_set():
                    raise out_of_limits()

    def _arrow(self, build: Any, key: str) -> Any:
        """The cluster's result for what is built."""
        planned = self._planned.get(key)
        return (self._session.sql(self._sql(build, key)) if planned is None else planned).toArrow()

    def _sql(self, build: Any, key: str) -> str:
        """The SQL of what is built, cached by `key`, the plan."""
        import tacit.query.engines.compile as compiled

        backend = self._open()
        if key not in self._compiled:
            if len(self._compiled) >= MOST_COMPILED:
                self._compiled.pop(next(iter(self._compiled)))
            assert self._store is not None  # noqa: S101  # it is opened
            built = build(compiled.Tables(self._table, limits_of(self._store.details)))
            self._compiled[key] = share_parts(backend.compiler.to_sqlglot(built)).sql(dialect=backend.dialect)
        return self._compiled[key]

    def _table(self, name: str) -> Any:
        self._view(name)
        return self._tables[name]

    def _view(self, name: str) -> str:
        """A stored table as a view of the session."""
        backend, view = self._open(), f"{self._views}_{name}"
        if name not in self._tables:
            assert self._store is not None  # noqa: S101  # it is opened
            stored = self._session.read.parquet(self._store.table(name))
            if not _is_private(stored) and stored.count() <= COPIED_ROWS:
                stored = stored.hint("broadcast")
            stored.createOrReplaceTempView(view)
            self._tables[name] = backend.table(view)
        return f"`{view}`"

    def _open(self) -> Any:
        if self._backend is None:
            store = self._description()
            self._require_version(store, self.wanted.version)
            self._store = store
            self._session = for_questions(_own(self._given) if self._given is not None else self._new_session())
            self._backend = spark_backend(self._session)
        return self._backend

    def _new_session(self) -> Any:
        first, number = self.wanted.session, next(self._sessions)
        reach = Reach(self.wanted.seconds_to_reach, self.wanted.at, numbered(first, number) if first else "")
        return started(self.wanted.master, reach=reach)

    def _description(self) -> ParquetStore:
        """The description of the store; a process that was given an address reads it once, and may lose the right to do so."""
        if self._pinned is not None:
            return self._pinned
        store = parquet_store(self.wanted.place)
        self._pinned = store if self.wanted.at is not None else None
        return store

    @contextmanager
    def _deadline(self, seconds: float | None) -> Iterator[threading.Event]:
        """Interrupts the cluster's work when its time is up; whatever is raised, tacit's message is the same for every reason."""
        self._open()
        try:
            with interrupted(self._session, seconds) as late:
                yield late
        except (StoreUnusable, TimedOut):
            raise
        except Exception as error:
            raise out_of_limits(reason_of(error)) from None

    @contextmanager
    def _free(self) -> Iterator[None]:
        """The same for what is asked of public tables, for which nothing is spent: a failure says that the cluster is gone."""
        self._open()
        try:
            with interrupted(self._session, self.limits.seconds):
                yield
        except Exception:
            self._forget()
            raise unreachable() from None


def _is_private(stored: Any) -> bool:
    """Whether the rows of a stored table have a unit."""
    return any(name.startswith("tacit_") for name in stored.columns)


def _own(session: Any) -> Any:
    try:
        return quiet(session)
    except Exception:
        raise unreachable() from None
