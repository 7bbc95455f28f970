"""The declarations of `releases.toml` as values: the site, and the releases with their question, budget, period and formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.publish.local.survey.declaration import fingerprint

FORMATS = ("csv", "json", "parquet")
ONCE = "once"
"""The name of the only period of a release that has none."""


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Synthetic rows of a table of the catalog."""

    table: str
    columns: tuple[str, ...] | None = None
    rows: int | None = None
    bins: int | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """One release: a question in SQL or a synthetic table, its price, and its words for readers.

    `budget` has the arguments of a question by their names, as exact texts. A release with a `period` is asked for in every one of
    them: its question takes the first and the last day of each as `:first` and `:last`. One with a `horizon` is a stream: each of
    its periods is read once, with all before it, and `:last` is its last day.
    """

    name: str
    title: str
    sql: str = ""
    synthetic: Synthetic | None = None
    horizon: int | None = None
    budget: tuple[tuple[str, str], ...] = ()
    period: str = ""
    start: str = ""
    formats: tuple[str, ...] = FORMATS
    notes: str = ""
    replaces: str = ""

    @property
    def amounts(self) -> Mapping[str, Any]:
        """The budget as arguments of a question."""
        return dict(self.budget)

    @property
    def definition(self) -> Mapping[str, Any]:
        """The parts that must never change in silence: with another question, budget, period or start it is another release."""
        made = self.synthetic
        rows = (
            None
            if made is None
            else {"table": made.table, "columns": made.columns and list(made.columns), "rows": made.rows, "bins": made.bins}
        )
        question: dict[str, Any] = {"sql": " ".join(self.sql.split()), "synthetic": rows}
        question |= {} if self.horizon is None else {"horizon": self.horizon}
        return {**question, "budget": dict(self.budget), "period": self.period, "from": self.start}

    @property
    def fingerprint(self) -> str:
        """A hash of the definition, which names it in the ledger."""
        return fingerprint(self.definition)


@dataclass(frozen=True, slots=True)
class Releases:
    """The releases in the order of their declaration, and the site that they are published on.

    `through` is the owner's word on the last period whose data are complete, for catalogs whose budget has no periods.
    """

    releases: tuple[Release, ...]
    title: str
    about: str = ""
    url: str = ""
    publisher: str = ""
    license: str = ""
    language: str = "en"
    analyst: str | None = None
    through: str = ""

    def release(self, name: str) -> Release | None:
        """The release of that name, if it is declared."""
        return next((each for each in self.releases if each.name == name), None)
