"""The engine that prepares data: in memory, spilling to a folder of its own, with progress, isolated from extensions and variables.

Engine messages quote cells, so they are never passed on: the caller of a statement reports what went wrong in its own words.

Two optimizers are off. `statistics_propagation` trusts the minimum and maximum that a Parquet file declares and removes tests that
these make redundant. NaN, which such statistics do not count, would then pass `isnan`, and a file with wrong statistics would pass
the bounds. `top_n_window_elimination` keeps a heap per unit for `rank < k`, which is two to three times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import duckdb

from tacit.data.dialect import DUCKDB, Dialect, name, text
from tacit.errors import InvalidInput
from tacit.privacy.arguments import text_of

BESIDE = 300 * 10**6  # bytes for Python, Arrow and the engine itself (170 MB), and for the blocks of a CSV file (110 MB)
SHARE = 0.75  # of the rest, for what the engine counts; its allocator may hold a third more until it gives it back
LEAST = 380 * 2**20  # bytes, 400MB as the engine rounds it: below, preparation would not keep the limit, or not finish
UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
LOOK = 0.1  # seconds between two checks of a statement's progress
SETTINGS = (
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "python_enable_replacements = false",
    "preserve_insertion_order = false",
    "TimeZone = 'UTC'",
    "disabled_optimizers = 'statistics_propagation,top_n_window_elimination'",
)

PROGRESS = ("enable_progress_bar = true", "enable_progress_bar_print = false")

EngineError = duckdb.Error  # what a statement can raise, by the names that preparation knows
OutOfMemory = duckdb.OutOfMemoryException
Unreachable = duckdb.IOException  # a file that cannot be read or written
UnknownTable = duckdb.CatalogException
UnreadableRow = (duckdb.InvalidInputException, duckdb.ConversionException)

Progress = Callable[[str, float], None]
Parameters = Mapping[str, Any] | None
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ByHolder:
    """A query in which rows with different `tacit_holder` do not meet: `rows` is SQL of the maker, with that column.

    `finished` turns a relation of such rows into SQL of the embedded engine, which an engine may run on some holders at a time.
    """

    rows: str
    finished: Callable[[str], str]


class Maker(Protocol):
    """An engine that makes a store from cleaned rows: SQL over whole tables, in its own dialect.

    `bench` is the embedded engine, which reads and cleans.
    """

    words: Dialect

    @property
    def bench(self) -> Workshop: ...

    def rows(self, query: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """All rows of a small result."""
        ...

    def keep(self, table: str, query: str, parameters: Parameters = None, step: str = "") -> None:
        """Keep the rows of a query as a table, until the store is complete; `step` is the words of a step of the plan."""
        ...

    def keep_by_holder(self, table: str, query: ByHolder, parameters: Parameters, step: str) -> int | None:
        """Keep the result of such a query as a table.

        Returns how many holders there are, if each of the rows has got the number of its holder, from 0 on, as `tacit_number`.
        """
        ...

    def write(self, table: str, query: str, step: str) -> None:
        """Write the rows of a query as a table of the store."""
        ...

    def stored(self, table: str) -> str:
        """SQL for a table of the store."""
        ...

    def numbered(self, query: str, column: str, first: int = 0) -> str:
        """SQL for the rows of a query, each with a number of its own from `first` on, without gaps; the order means nothing."""
        ...

    def keep_numbered(self, table: str, query: str, column: str, step: str = "") -> int:
        """Keep such rows, with numbers from 0 on, as a table; returns how many they are."""
        ...


@dataclass(slots=True)
class Workshop:
    """One engine connection, and its progress through a planned number of steps."""

    spill: Path
    memory: str
    tell: Progress | None = None
    steps: int = 1
    done: int = 0
    told: float = 0.0
    share: float = 0.0
    words: Dialect = DUCKDB
    listings: dict[str, str] = field(default_factory=dict)
    engine: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)
    limit: int = field(default=0, init=False)  # bytes of memory for the process

    def __post_init__(self) -> None:
        for setting in (*SETTINGS, f"temp_directory = {text(str(self.spill))}"):
            self.engine.execute(f"SET {setting}")
        with suppress(duckdb.InvalidInputException):  # in a notebook without ipywidgets, which the engine would need to draw it
            for setting in PROGRESS:
                self.engine.execute(f"SET {setting}")
        self.limit = limit = self._bytes_of_memory(self.memory)
        if limit < LEAST:
            raise InvalidInput(f"memory {self.memory} is too small: it must be at least 400MB; raise it, for example 4GB")
        self.engine.execute(f"SET memory_limit = '{engine_bytes(limit)}B'")

    def _bytes_of_memory(self, memory: str) -> int:
        """The bytes of a size, or of a share of the machine's memory, as the engine reads it; rounded down by at most a tenth."""
        try:
            self.engine.execute(f"SET memory_limit = {text(text_of(memory, 'memory'))}")
        except duckdb.Error:
            raise InvalidInput(f"memory must be a size or a share, such as 4GB or 60%, not {memory!r}", argument="memory") from None
        number, unit = self.engine.sql("SELECT current_setting('memory_limit')").fetchall()[0][0].split()
        return int(float(number) * UNITS[unit])

    @contextmanager
    def store(self, place: Path) -> Iterator[None]:
        """A new store at a place, under the name `store`; complete and on disk once the work within is done."""
        self.run(f"ATTACH {text(str(place))} AS store")
        yield
        self.run("CHECKPOINT store")
        self.run("DETACH store")

    @property
    def bench(self) -> Self:
        """Itself: the engine that cleans also makes the store."""
        return self

    def keep(self, table: str, query: str, parameters: Parameters = None, step: str = "") -> None:
        """Keep the rows of a query as a table of the engine."""
        statement = f"CREATE OR REPLACE TEMP TABLE {table} AS {query}"
        if step:
            self.step(step, statement, parameters)
        else:
            self.run(statement)

    def keep_by_holder(self, table: str, query: ByHolder, parameters: Parameters, step: str) -> int | None:
        """Keep the result of a query in which rows with different holders do not meet; their holders get no numbers."""
        self.keep(table, query.finished(f"({query.rows})"), parameters, step)
        return None

    def write(self, table: str, query: str, step: str) -> None:
        """Write the rows of a query as a table of the store."""
        self.step(step, f"CREATE TABLE {self.stored(table)} AS {query}")

    def stored(self, table: str) -> str:
        """SQL for a table of the store."""
        return f"store.{name(table)}"

    def numbered(self, query: str, column: str, first: int = 0) -> str:
        """SQL for the rows of a query, each with a number of its own from `first` on, without gaps."""
        return f"SELECT *, {first} + row_number() OVER () - 1 AS {column} FROM ({query})"

    def keep_numbered(self, table: str, query: str, column: str, step: str = "") -> int:
        """Keep the rows of a query with numbers from 0 on as a table of the engine; returns how many they are."""
        self.keep(table, self.numbered(query, column), step=step)
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])

    def step(self, words: str, statement: str, parameters: Parameters = None) -> None:
        """Run one statement of the plan and report progress; an exception in the report, or Ctrl-C, stops it."""
        self._watch(lambda: self.engine.execute(statement, parameters), words)
        self.done, self.share = self.done + 1, 0.0

    def run(self, statement: str, words: str = "") -> None:
        """Run one statement within a step; progress is reported only if there are words for it."""
        self._watch(lambda: self.engine.execute(statement), words)

    def rows(self, query: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """All rows of a small result."""
        return self._watch(lambda: self.engine.execute(query, parameters).fetchall())

    def list_values(self, listed: str, values: Sequence[str]) -> None:
        """Make a type of listed values, and remember how; a source may be read twice, so one of the same name is replaced."""
        self.listings[listed] = f"CREATE TYPE {listed} AS ENUM ({', '.join(map(text, values))})"
        self.run(f"DROP TYPE IF EXISTS {listed}")
        self.run(self.listings[listed])

    def tell_share(self, share: float) -> None:
        """Report how much of a source has been read, where the engine cannot measure it."""
        self.share = share

    def tell_progress(self, words: str) -> None:
        """Report the progress of all steps. The engine may still report an earlier statement, so progress never goes back."""
        within = min(max(self.share, self.engine.query_progress() / 100), 0.99)
        self.told = max(self.told, (self.done + within) / self.steps)
        if self.tell is not None and words:
            self.tell(words, self.told)

    def _watch(self, work: Callable[[], Result], words: str = "") -> Result:
        return watched(work, lambda: self.tell_progress(words), self.engine.interrupt)


def engine_bytes(limit: int) -> int:
    """The memory that the engine may count, so that the process stays within `limit` bytes.

    >>> engine_bytes(2000 * 10**6)
    1275000000
    """
    return int(SHARE * (limit - BESIDE))


def watched(work: Callable[[], Result], look: Callable[[], None], stop: Callable[[], object]) -> Result:
    """The result of the work, done in another thread so that this one receives Ctrl-C; an engine would make an error of it."""
    with ThreadPoolExecutor(1) as worker:
        running = worker.submit(work)
        try:
            look()
            while wait([running], LOOK).not_done:
                look()
        finally:
            while not running.done():  # only after an exception: an interrupt that arrives before the statement begins is lost
                stop()
                wait([running], LOOK)
        return running.result()
