"""Private queries compared with the peers in one run: `python -m benchmarks queries`; `FULL=1` runs the peers on 10^7 rows too.

visits(user_id, group_key with 100 values, day, amount); the unit is the user with at most 10 rows. There are four queries: count by
group; sum and mean by group; a median; count by group and day (36,500 cells). Every system reads the same Parquet file. tacit and
plain DuckDB prepare or load once, which is timed separately. The peers are timed on their work for each query, with the data loaded
in advance if they allow it. Each peer runs in its own environment under benchmarks/out/peers; one that cannot be installed is
skipped with a note.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import OUT, best_seconds, machine, markdown, peer_python, write_table

FULL = os.environ.get("FULL") == "1"
PEERS = Path(__file__).parent / "peers"
SIZES = [10**5, 10**6, 10**7]
LARGEST_FOR_PEERS = 10**7 if FULL else 10**6
SECONDS_FOR_A_PEER = 3600 if FULL else 120
PATIENCE = 3600 if FULL else 60  # a peer that took longer on fewer rows is skipped
QUESTIONS = ["count", "sum and mean", "median", "count by day"]

SQL = {
    "count": "SELECT group_key, COUNT(*) AS n FROM visits GROUP BY group_key",
    "sum and mean": "SELECT group_key, SUM(amount) AS s, AVG(amount) AS m FROM visits GROUP BY group_key",
    "median": "SELECT MEDIAN(amount) AS m FROM visits",
    "count by day": "SELECT group_key, day, COUNT(*) AS n FROM visits GROUP BY group_key, day",
}
CATALOG = """
[budget]
epsilon = 1000000
delta = 1e-6

[tables.visits]
source = "{source}"
unit = {{ column = "user_id" }}
max_rows = 10
rows_at_most = 20000000

[tables.visits.columns]
user_id = {{ key = true }}
group_key = {{ bounds = [0, 99], nulls = "drop" }}
day = {{ bounds = [0, 364], nulls = "drop" }}
amount = {{ bounds = [0, 1000], step = 0.01, nulls = "drop" }}
"""
PEER_PACKAGES = {
    "OpenDP": ("opendp_polars.py", ["opendp[polars]"]),
    "Qrlew": ("qrlew.py", ["pyqrlew", "duckdb", "sqlalchemy"]),
    "SmartNoise SQL": ("smartnoise.py", ["smartnoise-sql", "pyarrow"]),
    "PipelineDP": ("pipelinedp.py", ["pipeline-dp", "pyarrow"]),
    "Tumult": ("tumult.py", ["tmlt.analytics", "pyarrow", "setuptools<81"]),
}


def visits(rows: int) -> Path:
    """A Parquet file with the given number of visits, generated once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = OUT / f"visits-{rows}.parquet"
    if not path.exists():
        OUT.mkdir(exist_ok=True)
        generator = np.random.default_rng(rows)  # data, not noise: the same for every system in the run
        columns = {
            "user_id": generator.integers(0, rows // 10, rows),
            "group_key": generator.integers(0, 100, rows),
            "day": generator.integers(0, 365, rows),
            "amount": np.round(generator.gamma(2.0, 100.0, rows), 2),
        }
        pq.write_table(pa.table(columns), path)
    return path


def tacit_seconds(path: Path) -> dict[str, float]:
    """tacit: preparation, then each query with its ledger entry, on an open session."""
    import tacit
    from tacit.data.prepare import prepare

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tacit.toml").write_text(CATALOG.format(source=path))
        data = tacit.open(Path(folder, "tacit.toml"))
        start = time.perf_counter()
        prepare(data.catalog)
        data.begin_scratch("a benchmark")
        seconds = {"prepare": time.perf_counter() - start}
        session = data.session()
        for name, question in SQL.items():
            seconds[name] = _shortest(lambda epsilon, asked=question: session.sql(asked, epsilon=epsilon, groups=36_500))
    return seconds


def _shortest(ask: Callable[[str], object]) -> float:
    """The shortest of several answers; each uses another epsilon, since a repeated query would return the stored answer."""
    times = []
    for turn in range(7):
        start = time.perf_counter()
        ask(f"1.{turn:06d}1")
        times.append(time.perf_counter() - start)
    return min(times)


def plain_seconds(path: Path) -> dict[str, float]:
    """DuckDB, not private: load into a table in its own file, then each query."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        engine = duckdb.connect(str(Path(folder, "plain.duckdb")))
        start = time.perf_counter()
        engine.execute("CREATE TABLE visits AS SELECT * FROM read_parquet(?)", [str(path)])
        engine.execute("CHECKPOINT")
        seconds = {"prepare": time.perf_counter() - start}
        for name, question in SQL.items():
            seconds[name] = best_seconds(lambda asked=question: engine.execute(asked).fetchnumpy())
        engine.close()
    return seconds


def peer_seconds(name: str, path: Path) -> dict[str, float] | str:
    """Seconds for each query that a peer can answer, or the reason why it is skipped."""
    script, packages = PEER_PACKAGES[name]
    python = peer_python(name, packages)
    if python is None:
        return "cannot be installed here"
    try:
        done = subprocess.run(
            [str(python), str(PEERS / script), str(path)],
            capture_output=True, text=True, timeout=SECONDS_FOR_A_PEER, check=False, cwd=OUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"more than {SECONDS_FOR_A_PEER} s"
    found = re.findall(r"\{.*\}", done.stdout)
    return dict(json.loads(found[-1])) if found else f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:80]}"


def _cell(seconds: dict[str, float] | str, question: str) -> str:
    if isinstance(seconds, str):
        return seconds
    found = seconds.get(question)
    return "-" if found is None else f"{found:.3f}" if found < 10 else f"{found:.0f}"


def run() -> None:
    """Measures, prints and writes the table."""
    rows: list[list[Any]] = []
    slow: set[str] = set()
    for size in SIZES:
        path = visits(size)
        plain, ours = plain_seconds(path), tacit_seconds(path)
        listed: list[tuple[str, dict[str, float] | str]] = [("DuckDB, not private", plain), ("**tacit**", ours)]
        if size <= LARGEST_FOR_PEERS:
            listed += [(name, "left out" if name in slow else peer_seconds(name, path)) for name in PEER_PACKAGES]
            slow |= {name for name, seconds in listed if isinstance(seconds, str) or sum(seconds.values()) > PATIENCE}
        for name, seconds in listed:
            rows.append([f"{size:,}", name, *(_cell(seconds, question) for question in ["prepare", *QUESTIONS])])
            print("  ".join(map(str, rows[-1])), file=sys.stderr, flush=True)
    headers = ["rows", "system", "load or prepare, s", *(f"{question}, s" for question in QUESTIONS)]
    note = "Seconds for one answer, best of several; a dash is a query that the system does not support."
    write_table("queries", f"{machine()} {note}\n\n{markdown(headers, rows)}")


if __name__ == "__main__":
    run()
