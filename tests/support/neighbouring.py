"""Two tables that differ in one person, whose rows have hostile cells and long texts."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

CATALOG = """
[budget]
epsilon = 20
delta = 1e-6

[tables.patients]
source = "patients.csv"
unit = "row"
rows_at_most = 1000
[tables.patients.columns]
id = { key = true }
sex = { values = ["F", "M"] }

[tables.visits]
source = "visits.csv"
unit = { column = "person", references = "patients.id" }
max_rows = 3
rows_at_most = 1000
[tables.visits.columns]
ward = { values = ["a", "b", "c"] }
cost = { bounds = [0, 50], step = 0.01 }
note = { keys = "private", longest = 64 }
"""
OTHERS = [(number, "abc"[number % 3], number % 50, f"text {number % 5}") for number in range(60)]
VICTIM = [
    (999, "victim", "nan", "victim" * 5000),
    (999, "a", "1e308", '=cmd|"x"'),
    (999, "b", "-inf", "\x1b[2J"),
    (999, "c", "", ""),
]


def write_world(folder: Path, rows: list[Any], catalog: str = CATALOG) -> None:
    """A catalog and a table of these rows."""
    (folder / "tacit.toml").write_text(catalog, "utf-8")
    for name, head, lines in (
        ("patients", ("id", "sex"), [(person, "FM"[person % 2]) for person in dict.fromkeys(row[0] for row in rows)]),
        ("visits", ("person", "ward", "cost", "note"), rows),
    ):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, *lines])
