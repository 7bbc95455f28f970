"""Preparation of more rows than memory holds: `--memory` bounds the process, of which the engine is a part; the rest spills."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.data.catalog import read_catalog
from tacit.data.engine import Workshop
from tacit.data.files.tolerant import large_columns, require_memory
from tacit.data.store import open_store, store_file
from tacit.errors import InvalidInput, StoreUnusable
from tacit.session import open as open_data

CATALOG = """
[budget]
epsilon = 1
delta = 1e-6

[tables.visits]
source = "visits.parquet"
unit = { column = "user_id" }
max_rows = 10
rows_at_most = 100000000

[tables.visits.columns]
user_id = { key = true }
group_key = { bounds = [0, 99], nulls = "drop" }
day = { bounds = [0, 364], nulls = "drop" }
amount = { bounds = [0, 1000], step = 0.01, nulls = "drop" }
"""
NOTES = """
[budget]
epsilon = 1

[tables.notes]
source = "notes.parquet"
unit = "row"

[tables.notes.columns]
id = { bounds = [0, 99] }
note = { type = "text" }
"""
SCRIPT = """
import pathlib, runpy
try:
    runpy.run_module("tacit", run_name="__main__")
finally:
    (peak,) = (line.split()[1] for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(peak)
"""
LARGE = [pytest.mark.slow, pytest.mark.timeout(7200)]
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
    return int(done.stdout.splitlines()[-1]) * 1024 / 10**6


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is looked up in /proc")
@pytest.mark.parametrize(
    ("rows", "memory"),
    [(100_000, 400), pytest.param(10**7, 600, marks=LARGE), pytest.param(10**8, 2000, marks=LARGE)],
)
def test_the_memory_of_preparation_is_bounded(rows: int, memory: int, tmp_path: Path) -> None:
    if shutil.disk_usage(tmp_path).free < DISK * rows:
        pytest.skip(f"needs {DISK * rows / 10**9:.1f} GB of free disk space")
    write_rows(tmp_path, rows)
    peak = peak_of(tmp_path, f"{memory}MB")
    with open_store(store_file(read_catalog(tmp_path / "tacit.toml"))) as store:
        found = store.execute("SELECT count(*), count(DISTINCT tacit_unit), max(tacit_rank) FROM visits").fetchone()
    assert found == (rows, rows // 10, 9)
    assert peak < memory


def test_the_engine_gets_a_share_of_the_limit(tmp_path: Path) -> None:
    """Given the whole limit, preparation of 10^7 rows within 600 MB held 774 MB."""
    workshop = Workshop(tmp_path / "spill", "600MB")
    with closing(workshop.engine) as engine:
        assert engine.sql("SELECT current_setting('memory_limit')").fetchall() == [("214.5 MiB",)]


def write_dictionary(folder: Path, size: int, mark: bytes = b"") -> None:
    """A file of some kilobytes: ten texts of that many bytes together, in a dictionary of one group of rows."""
    rows = 100
    words = pa.array([mark + str(each).encode() + b"x" * (size // 10) for each in range(10)], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(words), words.buffers())
    notes = pa.DictionaryArray.from_arrays(pa.array([each % 10 for each in range(rows)], pa.int32()), texts)
    table = pa.table({"id": pa.array(range(rows)), "note": notes})
    options = {"compression": "zstd", "use_dictionary": ["note"], "dictionary_pagesize_limit": 2**31 - 1, "store_schema": False}
    pq.write_table(table, folder / "notes.parquet", **options)
    (folder / "tacit.toml").write_text(NOTES)


@pytest.mark.parametrize(("size", "mark", "fits"), [(300, b"", False), (3, b"", True), (30, b"\xff", False), (3, b"\xff", True)])
def test_a_large_dictionary_is_refused_before_it_is_unpacked(size: int, mark: bytes, fits: bool, tmp_path: Path) -> None:
    """Texts that are not UTF-8 take another way: 82 kilobytes were unpacked to 8 GB under a limit of 1 GB."""
    write_dictionary(tmp_path, size * 2**20, mark)
    assert (tmp_path / "notes.parquet").stat().st_size < 100_000
    with open_data(tmp_path / "tacit.toml", own_process=False) as data:
        if fits:
            assert data.prepare(memory="600MB", yes=True).tables[0].read == 100
            return
        with pytest.raises(StoreUnusable, match="needs more memory than the limit") as told:
            data.prepare(memory="600MB", yes=True)
    assert "--memory" in told.value.remedy


def test_a_planted_header_is_what_is_read(tmp_path: Path) -> None:
    """Were the size taken from elsewhere than the page, a file could say another one: the sizes of the footer are not looked at."""
    write_dictionary(tmp_path, 20 * 2**20)
    assert large_columns(tmp_path / "notes.parquet") == {"note"}
    require_memory([tmp_path / "notes.parquet"], ["id"], 400 * 10**6, threads=64)
    with pytest.raises(StoreUnusable, match="note unpacks to 20 MB"):
        require_memory([tmp_path / "notes.parquet"], ["id", "note"], 400 * 10**6, threads=64)
    content = (tmp_path / "notes.parquet").read_bytes()
    (tmp_path / "notes.parquet").write_bytes(content[:4].ljust(len(content) - 2000, b"\0") + content[-2000:])
    assert large_columns(tmp_path / "notes.parquet") == set()


@pytest.mark.parametrize("memory", ["390MB", "1MB"])
def test_a_limit_that_cannot_be_kept_is_refused(memory: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least 400MB"):
        Workshop(tmp_path / "spill", memory)
