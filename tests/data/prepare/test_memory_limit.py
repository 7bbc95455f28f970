"""Preparation of more rows than memory holds: `--memory` bounds the whole process, and what does not fit goes to the disk."""

from __future__ import annotations

import os
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
BESIDE = 300  # megabytes: Python, the engine itself, and what it holds outside of its limit
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
    """The most memory that `tacit prepare` had at any time, in megabytes."""
    command = [sys.executable, "-m", "tacit", "prepare", "--yes", "--memory", memory]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        assert running.returncode == 0, running.stderr.read() if running.stderr else ""
    return used.ru_maxrss / 1024


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
    assert peak < memory + BESIDE
