"""Ten overlapping counts as one list, beside one by one: `python -m benchmarks lists`. Widths follow from public parameters."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.tables import machine, markdown, write_table
from tacit.session import Session
from tacit.session import open as open_data

CATALOG = """
[budget]
epsilon = 8
delta = 1e-5

[tables.people]
source = "people.csv"
unit = "row"
rows_at_most = 100000

[tables.people.columns]
age = { bounds = [0, 110], nulls = "drop" }
income = { bounds = [0, 200000], nulls = "drop" }
sex = { values = ["F", "M"], nulls = "drop", unknown = "drop" }
"""
CONDITIONS = (
    "age < 18", "age < 65", "age >= 65", "age BETWEEN 18 AND 64", "income > 50000", "income > 100000", "sex = 'F'",
    "sex = 'F' AND age >= 65", "age < 65 AND income > 50000", "age >= 65 OR income > 100000",
)  # fmt: skip
QUESTIONS = [f"SELECT COUNT(*) AS n FROM people WHERE {condition}" for condition in CONDITIONS]  # noqa: S608  # our own
EPSILON, DELTA = 1.0, 1e-6


def half_widths(session: Session, questions: list[str], epsilon: float, delta: float) -> list[float]:
    """The half widths of the counts at 95 %, for a price."""
    errors = session.explain(questions, epsilon=epsilon, delta=delta, loss="squares").errors
    return [float(error.half_width or 0) for error in errors]


def run() -> None:
    """Print the table, and write it between its marks in the README."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tacit.toml"
        place.write_text(CATALOG, "utf-8")
        with open_data(place, own_process=False) as data:
            session, rows = data.session(), []
            for name, delta in (("epsilon 1", 0.0), ("epsilon 1, delta 1e-6", DELTA)):
                part = [half_widths(session, [each], EPSILON / len(QUESTIONS), delta / len(QUESTIONS))[0] for each in QUESTIONS]
                start = time.process_time()
                listed = half_widths(session, QUESTIONS, EPSILON, delta)
                seconds = time.process_time() - start
                rms = [(sum(each**2 for each in widths) / len(widths)) ** 0.5 for widths in (part, listed)]
                rows.append(
                    (name, f"{rms[0]:.1f}", f"{rms[1]:.1f}", f"{rms[1] / rms[0]:.2f}", f"{max(listed):.1f}", f"{seconds:.2f} s")
                )
    head = ("ten overlapping counts at", "one by one", "as one list", "ratio", "largest of the list", "processor time to explain")
    table = markdown(head, rows)
    write_table("lists", f"{machine()}\n\n{table}")


if __name__ == "__main__":
    run()
