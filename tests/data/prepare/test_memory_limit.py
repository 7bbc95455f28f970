"""Preparation of more rows than memory holds: `--memory` bounds the engine, and so the process; the rest goes to the disk."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tacit.data.catalog import read_catalog
from tacit.data.store import open_store, store_file

CATALOG = """
[budget]
epsilon = 1
delta = 1e-6

[tables.visits]
source = "visits.parquet"
unit = { column = "user_id" }
max_rows = 10

[tables.visits.columns]
user_id = { key = true }
group_key = { bounds = [0, 99], nulls = "drop" }
day = { bounds = [0, 364], nulls = "drop" }
amount = { bounds = [0, 1000], step = 0.01, nulls = "drop" }
"""
SCRIPT = """
import pathlib, runpy
try:
    runpy.run_module("tacit", run_name="__main__")
finally:
    (peak,) = (line.split()[1] for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(peak)
"""
BESIDE = 300  # megabytes: Python, and the engine itself
SHARE = 0.2  # of the limit, that the engine may hold beyond it in what its allocator has not given back
DISK = 150  # bytes for each row: the source, what is spilled, and the store


def write_rows(folder: Path, rows: int) -> None:
    """Ten rows of every user, in no order."""
    drawn = "hash(i) % 100 AS group_key, hash(i, 1) % 365 AS day, hash(i, 2) % 10000000 / 10000 AS amount"
    columns = f"i * 7919 % (? // 10) AS user_id, {drawn}"
    with duckdb.connect() as engine:
        engine.execute("SET preserve_insertion_order = false; SET memory_limit = '1GB'")
        engine.execute(
            f"COPY (SELECT {columns} FROM range(?) r(i)) TO '{folder / 'visits.parquet'}' (FORMAT parquet)", [rows, rows]
        )
    (folder / "tacit.toml").write_text(CATALOG)


def peak_of(folder: Path, memory: str) -> float:
    """The most memory that `tacit prepare` had at any time, in megabytes; a parent's usage would count what it had at the fork."""
    given = [sys.executable, "-c", SCRIPT, "prepare", "--yes", "--memory", memory]
    done = subprocess.run(given, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1]) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is looked up in /proc")
@pytest.mark.parametrize(
    ("rows", "memory"), [(300_000, 64), pytest.param(10**8, 2000, marks=[pytest.mark.slow, pytest.mark.timeout(7200)])]
)
def test_the_memory_of_preparation_is_bounded(rows: int, memory: int, tmp_path: Path) -> None:
    if shutil.disk_usage(tmp_path).free < DISK * rows:
        pytest.skip("too little space on the disk")
    write_rows(tmp_path, rows)
    peak = peak_of(tmp_path, f"{memory}MB")
    with open_store(store_file(read_catalog(tmp_path / "tacit.toml"))) as store:
        found = store.execute("SELECT count(*), count(DISTINCT tacit_unit), max(tacit_rank) FROM visits").fetchone()
    assert found == (rows, rows // 10, 9)
    assert peak < (1 + SHARE) * memory + BESIDE
