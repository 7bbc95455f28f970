"""Preparation on a real cluster of two workers: one of them is killed, or all of it goes away, in the middle of the work."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from both_engines import holdings, in_duckdb, in_parquet
from services import Missing
from standalone import PATIENCE, Cluster, standalone
from tacit.data.catalog import read_catalog
from tacit.data.prepare import prepare
from tacit.data.store import parquet_store, store_file
from tacit.privacy.catalog import Catalog

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
ROWS = 8000
CATALOG = """
[budget]
epsilon = 8

[tables.visits]
source = "visits.parquet"
unit = { column = "person" }
max_rows = 3

[tables.visits.columns]
ward = { values = ["a", "b", "c", "d"] }
cost = { bounds = [0, 5000], step = 0.01 }

[store]
engine = "ENGINE"
"""
PREPARE = """
import runpy, sys
from tacit.data.spark import cluster, executors, making

def slowly(work, read):
    "Every task takes some seconds, whatever the machine does."
    import time
    time.sleep(PAUSE)
    yield from honest(work, read)

PAUSE, honest = float(sys.argv[2]), executors._clean_rows
executors._clean_rows = slowly
making.PART_BYTES = 1  # eight tasks, one for each group of rows
cluster.SETTINGS["spark.sql.adaptive.coalescePartitions.enabled"] = "false"
cluster.LONGEST_ALONE = 8.0
sys.argv = ["tacit", "prepare", "--yes", "--catalog", sys.argv[1]]
runpy.run_module("tacit", run_name="__main__")
"""
READING, RANKING = 0, 1  # the steps whose files lie in folders of these names


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A catalog whose store the embedded engine has made."""
    folder = tmp_path / "files"
    folder.mkdir()
    held = {
        "person": [at * 7919 % 900 for at in range(ROWS)],
        "ward": ["abcd"[at % 4] for at in range(ROWS)],
        "cost": [at % 4999 / 4 for at in range(ROWS)],
    }
    pq.write_table(pa.table(held), folder / "visits.parquet", row_group_size=ROWS // 8)
    (folder / "tacit.toml").write_text(CATALOG.replace("ENGINE", "duckdb"))
    prepare(read_catalog(folder / "tacit.toml"))
    return folder / "tacit.toml"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    try:
        with standalone(tmp_path) as started:
            yield started
    except Missing as missing:
        pytest.skip(str(missing))


@contextmanager
def preparing(cluster: Cluster, file: Path, pause: float) -> Iterator[subprocess.Popen[str]]:
    """`tacit prepare` on the cluster, in a process of its own; every task of the executors begins with a pause."""
    file.write_text(CATALOG.replace("ENGINE", "spark") + f'master = "{cluster.master}"\n')
    run = [sys.executable, "-c", PREPARE, str(file), str(pause)]
    environment = dict(cluster.environment)
    with subprocess.Popen(run, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process: subprocess.Popen[str], file: Path, step: int) -> None:
    """Returns when a task of a step has written its file, and others have not."""
    end = time.monotonic() + PATIENCE
    while not list(file.parent.glob(f".tacit/store/*/spark/{step}/*/*.parquet")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def equal(file: Path) -> bool:
    """Whether both engines have made the same store."""
    made: Catalog = read_catalog(file)
    return holdings(made, in_parquet(made)) == holdings(made, in_duckdb(load_embedded(file)))


def load_embedded(file: Path) -> Catalog:
    other = file.with_name("embedded.toml")
    other.write_text(CATALOG.replace("ENGINE", "duckdb"))
    return read_catalog(other)


@pytest.mark.parametrize("step", [READING, RANKING])
def test_a_worker_is_killed_in_the_middle(step: int, cluster: Cluster, file: Path) -> None:
    """Its tasks run again on the other one; every row is stored once."""
    with preparing(cluster, file, pause=2) as process:
        wait_for(process, file, step)
        cluster.signal("worker1", signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")
    assert equal(file)
    assert sorted(each.name.partition("-")[0] for each in read_catalog(file).store_folder.glob("*-*")) == ["tables"]


def test_the_cluster_goes_away(cluster: Cluster, file: Path) -> None:
    """The store that was there stays as it was, and nothing else is left."""
    with preparing(cluster, file, pause=0) as process:
        _, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")
    made = read_catalog(file)
    before, listed = parquet_store(store_file(made)), sorted(made.store_folder.rglob("*"))
    with preparing(cluster, file, pause=3) as process:
        wait_for(process, file, READING)
        for name in cluster.processes:
            cluster.signal(name, signal.SIGKILL)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 4, output
    assert "the old store stays" in errors
    assert "run" in errors
    assert parquet_store(store_file(made)) == before
    assert sorted(made.store_folder.rglob("*")) == listed
    assert equal(file)
