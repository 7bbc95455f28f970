"""The engine in which data is prepared: in memory, spilling to a folder of its own, with progress, and deaf to everything else.

Engine messages quote cells, so none of them is passed on: whoever runs a statement says in words of its own what went wrong.

Two optimizers are off. `statistics_propagation` believes the least and the largest value that a Parquet file declares, and leaves
out tests that these make needless: NaN, which such statistics do not count, would pass `isnan`, and a file with wrong statistics
would pass the bounds. `top_n_window_elimination` makes a heap per unit of `rank < k`, two to three times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from tacit.data.dialect import DUCKDB, Dialect
from tacit.data.quoting import text
from tacit.errors import InvalidInput
from tacit.privacy.arguments import text_of

LOOK = 0.1  # seconds between two looks at how far a statement is
SETTINGS = (
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "python_enable_replacements = false",
    "preserve_insertion_order = false",
    "TimeZone = 'UTC'",
    "enable_progress_bar = true",
    "enable_progress_bar_print = false",
    "disabled_optimizers = 'statistics_propagation,top_n_window_elimination'",
)

Progress = Callable[[str, float], None]
Parameters = Mapping[str, Any] | None
Result = TypeVar("Result")


@dataclass(slots=True)
class Workshop:
    """One engine connection, and how far along a planned number of steps it is."""

    spill: Path
    memory: str
    tell: Progress | None = None
    steps: int = 1
    done: int = 0
    told: float = 0.0
    share: float = 0.0
    words: Dialect = DUCKDB
    engine: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)

    def __post_init__(self) -> None:
        for setting in (*SETTINGS, f"temp_directory = {text(str(self.spill))}"):
            self.engine.execute(f"SET {setting}")
        try:
            self.engine.execute(f"SET memory_limit = {text(text_of(self.memory, 'memory'))}")
        except duckdb.Error:
            raise InvalidInput(f"memory must be a size or a share, such as 4GB or 60%, not {self.memory!r}") from None

    def step(self, words: str, statement: str, parameters: Parameters = None) -> None:
        """Run one statement of the plan, telling how far it is; an exception in the telling, or Ctrl-C, stops it."""
        self._watched(lambda: self.engine.execute(statement, parameters), words)
        self.done, self.share = self.done + 1, 0.0

    def run(self, statement: str) -> None:
        """Run one statement that is not worth a word."""
        self._watched(lambda: self.engine.execute(statement))

    def rows(self, query: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """All rows of a small answer."""
        return self._watched(lambda: self.engine.execute(query, parameters).fetchall())

    def tell_share(self, share: float) -> None:
        """How far a source is read that the engine cannot measure."""
        self.share = share

    def _watched(self, work: Callable[[], Result], words: str = "") -> Result:
        """What the work gives. Another thread does it, so that this one hears Ctrl-C, which the engine would make an error of."""
        with ThreadPoolExecutor(1) as worker:
            running = worker.submit(work)
            try:
                self._told(words)
                while wait([running], LOOK).not_done:
                    self._told(words)
            finally:
                while not running.done():  # only after an exception: an interrupt that comes before the statement began is lost
                    self.engine.interrupt()
                    wait([running], LOOK)
            return running.result()

    def _told(self, words: str) -> None:
        """Tell how far all steps are. The engine may still speak of an earlier statement, so nothing told is taken back."""
        within = min(max(self.share, self.engine.query_progress() / 100), 0.99)
        self.told = max(self.told, (self.done + within) / self.steps)
        if self.tell is not None and words:
            self.tell(words, self.told)
