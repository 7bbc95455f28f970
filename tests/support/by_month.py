"""A clinic whose budget is one of each month: visits and labs with days, patients without; small enough to take apart."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from joined import Asked
from stored import write_csv
from tacit.data.catalog import parse_catalog
from tacit.data.catalog.periods import begun_through
from tacit.data.prepare import prepare
from tacit.privacy.catalog import Catalog

KEY = "0123456789abcdef" * 2
CATALOG = """[budget]
epsilon = 1
delta = 1e-6
per = "month"
lifetime = {{ epsilon = 12, delta = 1e-5 }}
{line}
{budget}
[tables.patients]
source = "patients.csv"
unit = "row"
[tables.patients.columns]
id = {{ key = true }}
age = {{ bounds = [0, 9] }}
[tables.visits]
source = "visits.csv"
unit = {{ column = "patient", references = "patients.id" }}
period = "day"
max_rows = 2
{visits}
[tables.visits.columns]
day = {{ type = "date", bounds = ["2025-01-01", "2025-04-30"], outside = "drop", nulls = "drop" }}
cost = {{ bounds = [0, 9] }}
[tables.labs]
source = "labs.csv"
unit = {{ column = "patient", references = "patients.id" }}
period = "taken"
max_rows = 3
[tables.labs.columns]
taken = {{ type = "date", bounds = ["2025-01-01", "2025-04-30"], outside = "drop", nulls = "drop" }}
value = {{ bounds = [-3, 3] }}
"""
HEADERS = {"patients": ("id", "age"), "visits": ("patient", "day", "cost"), "labs": ("patient", "taken", "value")}
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Clinic:
    """The raw rows of each table."""

    patients: tuple[Row, ...] = ()
    visits: tuple[Row, ...] = ()
    labs: tuple[Row, ...] = ()

    def without(self, person: int, month: int) -> Clinic:
        """The clinic without the rows of a person in a month."""

        def kept(rows: Sequence[Row]) -> tuple[Row, ...]:
            return tuple(row for row in rows if (row[0], date.fromisoformat(row[1]).month) != (person, month))

        return Clinic(self.patients, kept(self.visits), kept(self.labs))


def declared(folder: Path, clinic: Clinic, budget: str = "", visits: str = "", through: str = "2025-04", line: str = "") -> Catalog:
    """The catalog of a clinic whose rows are in files; `line` is one of [budget]."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, header in HEADERS.items():
        write_csv(folder / f"{name}.csv", header, getattr(clinic, name))
    text = CATALOG.format(budget=budget, visits=visits, line=line)
    (folder / "tacit.toml").write_text(text)
    return begun_through(parse_catalog(text, folder / "tacit.toml"), through, None)


def prepared(folder: Path, clinic: Clinic, **more: str) -> Catalog:
    """The same, prepared with one ranking key."""
    shutil.rmtree(folder, ignore_errors=True)
    made = declared(folder, clinic, **more)
    made.kept.mkdir(exist_ok=True)
    (made.kept / "rank.key").write_text(KEY)
    prepare(made)
    return made


@contextmanager
def without(asked: Asked, person: int, period: int, tables: Sequence[str] = ("visits", "labs")) -> Iterator[None]:
    """The rows of a unit's code in a period are taken away for a while."""
    run = asked.engine._connection.execute
    run("BEGIN")
    try:
        for name in tables:
            run(f"DELETE FROM {name} WHERE tacit_unit = {person} AND tacit_period = {period}")
        yield
    finally:
        run("ROLLBACK")
