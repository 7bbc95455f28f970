"""`prepare --add` of a month on old rows, and preparing that month alone: `python -m benchmarks adding`; `FULL=1` has 10^8 rows.

visits(patient, day, cost, ward) of three closed years, and one month more, as Parquet. Each preparation runs in a process of
its own; all figures are processor time. The alternative to an addition is to prepare all rows again, which is the first column.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.tables import machine, markdown, write_table

FULL = os.environ.get("FULL") == "1"
SIZES = [10**8] if FULL else [10**6]
MONTH, PATIENTS, TURNS = 36, 2_000_000, 2  # a month has a 36th of the old rows
CATALOG = """[budget]
epsilon = 1
per = "month"
closed = "2024-12"
[tables.visits]
source = "{source}"
unit = {{ column = "patient" }}
period = "day"
max_rows = 8
rows_at_most = 1000000000
[tables.visits.columns]
day = {{ type = "date", bounds = ["2022-01-01", "2026-12-31"], outside = "drop", nulls = "drop" }}
cost = {{ bounds = [0, 5000] }}
ward = {{ values = ["a", "b", "c", "d"] }}
"""
PREPARED = """
import resource, sys, tacit
data = tacit.open(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF)
data.prepare(through=sys.argv[2], add=sys.argv[3:] or None)
after = resource.getrusage(resource.RUSAGE_SELF)
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""


def run() -> None:
    """Measure, print the table, and write it into README.md."""
    rows = [measured(size) for size in SIZES]
    table = markdown(["old rows", "all of them, s", "the month alone, s", "added, s", "added / alone"], rows)
    write_table("adding", f"{machine()}:\n\n{table}")


def measured(size: int) -> list[str]:
    """One row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, first, days, rows in (("old", "2022-01-01", 1096, size), ("month", "2025-01-01", 31, size // MONTH)):
            (root / name).mkdir()
            (root / name / "tacit.toml").write_text(CATALOG.format(source=f"../{name}.parquet"))
            drawn = {
                "patient": f"CAST(floor(random() * {PATIENTS}) AS BIGINT)",
                "day": f"DATE '{first}' + CAST(floor(random() * {days}) AS INTEGER)",
                "cost": "CAST(floor(random() * 5000) AS INTEGER)",
                "ward": "chr(97 + CAST(floor(random() * 4) AS INTEGER))",
            }
            made = f"SELECT {', '.join(f'{sql} AS {column}' for column, sql in drawn.items())}"
            duckdb.sql(f"COPY ({made} FROM range({rows})) TO '{root / name}.parquet' (FORMAT parquet)")
        whole = prepared(root / "old", "2024-12")
        alone, added = [], []
        for turn in range(TURNS):
            here = root / f"copy-{turn}"
            shutil.copytree(root / "old", here, copy_function=os.link)
            alone.append(prepared(root / "month", "2025-01"))
            added.append(prepared(here, "2025-01", str(root / "month.parquet")))
    ratio = f"{median(added) / median(alone):.2f}"
    return [f"{size:,}", f"{whole:.1f}", f"{median(alone):.2f}", f"{median(added):.2f}", ratio]


def prepared(folder: Path, through: str, *add: str) -> float:
    """The processor time of a preparation, in seconds."""
    command = [sys.executable, "-c", PREPARED, str(folder / "tacit.toml"), through, *add]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
