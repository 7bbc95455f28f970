"""The engine protocol: the seam between plans and the prepared data. Nothing outside this folder opens a store.

Results from private tables are sealed. Its own error messages go no further: the analyst gets one of a closed list of
errors. `__init__.py` makes engines by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tacit.errors import TimedOut
from tacit.privacy.catalog import REACH_SECONDS, Column
from tacit.privacy.sealed import Sealed
from tacit.query.engines.exact import Exact
from tacit.query.engines.public import Columns, PublicTable, asked_of_public
from tacit.query.plan import Bound, Group

if TYPE_CHECKING:
    from tacit.data.spark.connect import Address

TALLY = "tacit_tally"  # the column of counts; no column of a catalog begins with tacit_


@dataclass(frozen=True, slots=True)
class Limits:
    """The machine resources that one query may use.

    `planning` are seconds of their own, in which SQL is made and planned: `seconds` are for its rows, so that a question cannot use
    up with its form the time that they have (work.md).
    """

    seconds: float = 60.0
    memory: str = "60%"
    threads: int = 0
    planning: float = 30.0

    @property
    def together(self) -> float:
        """Seconds from the beginning to the end: an engine plans a question once before it runs, and again as it runs."""
        return 2 * self.planning + self.seconds


@dataclass(frozen=True, slots=True)
class Opening:
    """Which store to open with which engine, in which version (None: any) and within which limits; `master` is a cluster's URL.

    `at` is where a Spark Connect server was found, and `session` is what the first session there is called. `tables` are those that
    must be there before a question is paid for, where each lies in files of its own. It can be sent to another process, which makes
    its engine from it. A cluster has `seconds_to_reach` to answer.
    """

    place: Path
    engine: str = "duckdb"
    version: str | None = None
    limits: Limits = Limits()  # frozen
    master: str | None = None
    at: Address | None = None
    session: str = ""
    tables: tuple[str, ...] = ()
    seconds_to_reach: float = REACH_SECONDS


class Engine(Protocol):
    """Runs plans on one version of prepared data."""

    def open(self) -> None:
        """Open the store if it still has the expected version; reads no row."""

    def run(self, group: Group) -> Exact:
        """The exact moments of every group, sealed; raises `TimedOut`, whatever the reason."""

    def tallies(self, bound: Bound, columns: Sequence[str]) -> Sealed[Any]:
        """Each combination of stored codes and texts of some columns, and under `TALLY` how many rows have it; sealed.

        As many rows of each unit count as `bound` keeps; they are counted where they are. There is no time limit: this is for what
        the data owner publishes or compares, not for queries.
        """

    def fan_out(self, table: str, column: str) -> int:
        """The largest number of rows of a public table that share one value of a column."""

    def size(self, table: str) -> int:
        """How many rows a public table has."""

    def public_rows(self, table: str) -> Any:
        """The stored codes of a public table, an Arrow table; a table whose rows have a unit is never returned."""

    def close(self) -> None:
        """Close the store."""


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """The public facts of the prepared store: the columns of its public tables, and their fan-outs, read when first needed."""

    tables: Mapping[str, Mapping[str, Column]]
    engine: Engine

    def columns(self, table: str) -> Mapping[str, Column]:
        return {name.lower(): columns for name, columns in self.tables.items()}[table.lower()]

    def fan_out(self, table: str, column: str) -> int:
        return self.engine.fan_out(table, column)

    def size(self, table: str) -> int:
        return self.engine.size(table)

    def rows(self, table: str) -> PublicTable:
        """All rows of a public table."""
        columns = self.columns(table)  # which knows public tables alone
        return PublicTable(self.engine.public_rows(table), columns)

    def answered(self, text: str, tables: Sequence[str]) -> Columns:
        return asked_of_public(text, {name: self.rows(name) for name in tables})


def out_of_limits(why: str = "") -> TimedOut:
    """The only error of a paid query without an answer, whatever the reason; `why` is for the data owner's log alone."""
    error = TimedOut(
        "the query exceeded its limits of time or memory; its budget stays spent",
        remedy="ask a smaller question, or ask the data owner for higher limits",
    )
    error.why = why
    return error
