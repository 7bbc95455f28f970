"""Preparation compared with a plain load, and commands from a cold start: `python -m benchmarks prepare`; `FULL=1` adds 10^7 rows.

visits(user_id, group_key, day, amount), ten rows per user, as CSV and as Parquet. DuckDB loads the file into a database as it is.
tacit cleans every value, ranks the rows of each user and writes its store; both take turns in one process. A command is measured
with all its processes, on the hospital of `tacit demo`, with its bytecode written in advance, as an installation has it. All
figures are processor time, which says more than wall time if other work keeps the machine busy.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.queries import CATALOG
from benchmarks.tables import machine, markdown, write_table

FULL = os.environ.get("FULL") == "1"
SIZES = [10**6, 10**7] if FULL else [10**6]
TURNS = {10**5: 1, 10**6: 3, 10**7: 1}
STARTS = 7
COMMANDS = {
    "tacit sql": ["-m", "tacit", "sql", "SELECT COUNT(*) FROM visits WHERE cost < {number}", "--epsilon", "0.0001"],
    "tacit explain": ["-m", "tacit", "explain", "SELECT COUNT(*) FROM visits WHERE cost < {number}", "--epsilon", "0.0001"],
    "tacit budget": ["-m", "tacit", "budget"],
    "tacit --help": ["-m", "tacit", "--help"],
    "import tacit": ["-c", "import tacit"],
    "import duckdb, for comparison": ["-c", "import duckdb"],
}


def write_sources(folder: Path, rows: int) -> None:
    """The same rows as CSV and as Parquet."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    generator = np.random.default_rng(1)
    columns = {
        "user_id": generator.integers(0, rows // 10, rows),
        "group_key": generator.integers(0, 100, rows),
        "day": generator.integers(0, 365, rows),
        "amount": np.round(generator.gamma(2, 100, rows), 2),
    }
    parquet.write_table(pa.table(columns), folder / "visits.parquet")
    csv.write_csv(pa.table(columns), folder / "visits.csv")


def processor_seconds(work: Callable[[Path, str], object], folder: Path, kind: str) -> float:
    """The processor time of all threads of this process."""
    start = time.process_time()
    work(folder, kind)
    return time.process_time() - start


def load(folder: Path, kind: str) -> None:
    """DuckDB alone: the file becomes a table of a database."""
    import duckdb

    place = folder / "plain.duckdb"
    place.unlink(missing_ok=True)
    reading = {"csv": "read_csv", "parquet": "read_parquet"}[kind]
    with duckdb.connect(str(place)) as engine:
        engine.execute(f"CREATE TABLE visits AS SELECT * FROM {reading}('{folder}/visits.{kind}')")  # noqa: S608
        engine.execute("CHECKPOINT")


def prepare(folder: Path, kind: str) -> None:
    from tacit.data.catalog import read_catalog
    from tacit.data.prepare import prepare

    (folder / "tacit.toml").write_text(CATALOG.format(source=f"visits.{kind}"))
    prepare(read_catalog(folder / "tacit.toml"))


def preparation(rows: int) -> list[list[str]]:
    """A line of the table for each kind of file."""
    lines = []
    with tempfile.TemporaryDirectory() as name:
        write_sources(Path(name), rows)
        for kind in ("csv", "parquet"):
            turns = [[processor_seconds(step, Path(name), kind) for step in (load, prepare)] for _ in range(TURNS[rows])]
            plain, ours = (median(each) for each in zip(*turns, strict=True))
            lines.append([f"{rows:,} rows", kind, f"{plain:.2f}", f"{ours:.2f}", f"{ours / plain:.1f}"])
    return lines


def start_seconds(words: list[str], folder: Path) -> float:
    """The processor time of a command and of the processes that it starts."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings = {**known, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "TACIT_ANALYST": "ana"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], cwd=folder / "hospital", env=settings, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def starts() -> list[list[str]]:
    """A line of the table for each command."""
    import tacit
    from tacit.data.prepare import prepare
    from tacit.doors.cli.demo import hospital

    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hospital").mkdir()
        with tacit.open(hospital.build(folder / "hospital")) as data:
            prepare(data.catalog)
            data.begin_scratch("a benchmark")
        for command, words in COMMANDS.items():
            asked = ([word.format(number=100 + number) for word in words] for number in range(STARTS + 1))
            seconds = [start_seconds(each, folder) for each in asked][1:]  # the first writes bytecode
            lines.append([command, "cold start", "", f"{median(seconds):.2f}", ""])
    return lines


def run() -> None:
    preparation(10**5)  # loads what both need
    rows = [line for size in SIZES for line in preparation(size)]
    headers = ["what", "from", "DuckDB alone, processor s", "tacit, processor s", "times"]
    load_of_machine = f"The load of the machine was {os.getloadavg()[0]:.1f}."
    told = f"Medians of {TURNS[10**6]} turns (10^7 rows: one) and of {STARTS} starts. {load_of_machine}"
    write_table("prepare", f"{machine('pyarrow')} {told}\n\n{markdown(headers, [*rows, *starts()])}")
