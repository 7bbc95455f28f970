"""A clinic whose budget is one of each month, with questions that have certificates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CATALOG = """
[budget]
epsilon = 20
delta = 1e-4
per = "month"
lifetime = { epsilon = 100, delta = 1e-3 }

[analysts.ana]
[analysts.bob]

[tables.patients]
source = "patients.csv"
unit = "row"
rows_at_most = 1000
[tables.patients.columns]
id = { key = true }
age = { bounds = [0, 9] }

[tables.visits]
source = "visits.csv"
unit = { column = "patient", references = "patients.id" }
period = "day"
max_rows = 2
rows_at_most = 1000
[tables.visits.columns]
day = { type = "date", bounds = ["2025-01-01", "2025-04-30"], outside = "drop", nulls = "drop" }
cost = { bounds = [0, 9] }

[tables.labs]
source = "labs.csv"
unit = { column = "patient", references = "patients.id" }
period = "taken"
max_rows = 3
rows_at_most = 1000
[tables.labs.columns]
taken = { type = "date", bounds = ["2025-01-01", "2025-04-30"], outside = "drop", nulls = "drop" }
value = { bounds = [-3, 3] }
"""
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "by month": ("SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m", {"epsilon": 1}),
    "over all": ("SELECT COUNT(*) AS n, SUM(cost) AS c FROM visits", {"epsilon": 1, "delta": 1e-6}),
    "people": ("SELECT COUNT(DISTINCT patient) AS n FROM visits", {"epsilon": 1}),
    "one month": ("SELECT MEDIAN(cost) AS m FROM visits WHERE day < '2025-02-01'", {"epsilon": 1}),
    "running": (
        "SELECT DATE_TRUNC('month', day) AS m, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', day)) AS t FROM visits GROUP BY m",
        {"epsilon": 1, "delta": 1e-6},
    ),
    "per person": (
        "SELECT SUM(n) AS s FROM (SELECT patient, DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY patient, m) x",
        {"epsilon": 1},
    ),
    "joined": ("SELECT COUNT(*) AS n FROM visits v JOIN labs l ON l.patient = v.patient AND l.taken = v.day", {"epsilon": 1}),
    "looked up": (
        "SELECT COUNT(*) AS n FROM patients p WHERE NOT EXISTS (SELECT 1 FROM labs l WHERE l.patient = p.id)",
        {"epsilon": 1},
    ),
    "plain": ("SELECT COUNT(*) AS n FROM patients", {"epsilon": 1}),
}


def written(folder: Path, people: list[int]) -> Path:
    """The catalog and its rows: everyone has two visits and two labs in each of four months."""
    folder.mkdir(exist_ok=True)
    days = [f"2025-{month:02}-{day:02}" for month in range(1, 5) for day in (3, 17)]
    visits = [f"{p},{day},{(p + at) % 10}" for p in people for at, day in enumerate(days)]
    labs = [f"{p},{day},{(p + at) % 7 - 3}" for p in people for at, day in enumerate(days)]
    for name, head, rows in (("visits", "patient,day,cost", visits), ("labs", "patient,taken,value", labs)):
        (folder / f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")
    (folder / "patients.csv").write_text("\n".join(["id,age", *(f"{p},{p % 10}" for p in people)]) + "\n")
    (folder / "tacit.toml").write_text(CATALOG)
    return folder / "tacit.toml"
