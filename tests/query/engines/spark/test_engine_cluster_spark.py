"""Questions on a real cluster of two workers, and what its faults cost: one spend, and one answer or one closed error."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_copies import to_parquet
from services import Missing
from standalone import Cluster, Driver, standalone
from tacit.data.store import store_file
from tacit.release.once import LOG as FILE
from tacit.session import open as open_data

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
ROWS, PAUSE = 1600, 12  # rows, and milliseconds for each: ten seconds on two workers
CATALOG = """
[budget]
epsilon = 8
delta = 1e-6

[analysts.ana]
epsilon = 8

[tables.visits]
source = "visits.parquet"
unit = { column = "person" }
max_rows = 8
rows_at_most = 5_000_000

[tables.visits.columns]
ward = { values = ["a", "b", "c", "d"] }
cost = { bounds = [0, 5000], step = 0.01 }

[store]
engine = "ENGINE"
"""
LONG = "SELECT ward, COUNT(*) AS n, SUM(cost) AS c FROM visits GROUP BY ward"
SHORT = "SELECT COUNT(*) AS n FROM visits WHERE cost < {0}"
GREEDY = "SELECT max(length(repeat(cast(id AS STRING), 1000000000))) AS m0_rows FROM range(1)"  # twice an executor's memory


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A catalog, generated rows, their prepared store in Parquet, and a new ledger."""
    folder, draw = tmp_path / "files", np.random.default_rng(3)
    folder.mkdir()
    wards = pa.DictionaryArray.from_arrays(pa.array(draw.integers(0, 4, ROWS, dtype=np.int8)), pa.array(list("abcd")))
    held = {
        "person": draw.integers(0, ROWS // 4, ROWS),
        "ward": wards.cast(pa.string()),
        "cost": draw.integers(0, 500_000, ROWS) / 100,
    }
    pq.write_table(pa.table(held), folder / "visits.parquet")
    catalog = folder / "tacit.toml"
    catalog.write_text(CATALOG.replace("ENGINE", "duckdb"))
    with open_data(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
        place = store_file(data.catalog).parent
        (place / "parquet").mkdir()
        (place / "store.json").write_text(to_parquet(store_file(data.catalog), place / "parquet").written())
    return catalog


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    try:
        with standalone(tmp_path) as started:
            yield started
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def driver(cluster: Cluster, files: Path) -> Iterator[Driver]:
    """A driver whose executors have answered a short question, which is the one spend of the ledger."""
    with asking(cluster, files) as made:
        assert counted(made, SHORT.format(1)) == (1, 1, 0)
        yield made


@contextmanager
def asking(cluster: Cluster, files: Path) -> Iterator[Driver]:
    files.write_text(CATALOG.replace("ENGINE", "spark") + f'master = "{cluster.master}"\n')
    made = Driver(cluster, files)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


def counted(driver: Driver, question: str | None = None, **more: Any) -> tuple[Any, int, int]:
    """The rows of the answer or the code of the error, and how many spends and failures the ledger then has."""
    if question is not None:
        driver.ask(question, **more)
    found = driver.said()
    assert "spark" not in found.get("message", "").lower() or found["code"] == "store"
    return found.get("rows", found.get("code")), found["spends"], found["failures"]


def in_the_middle(driver: Driver, **more: Any) -> None:
    """Sends a long question, and returns when both workers are at it."""
    driver.ask(LONG, pause=PAUSE, **more)
    assert driver.said() == {"running": True}


def reason(files: Path) -> str:
    """What the data owner's log says last."""
    return (files.parent / ".tacit" / FILE).read_text().splitlines()[-1].rpartition(": ")[2]


def test_a_worker_is_killed_in_the_middle_of_a_question(cluster: Cluster, driver: Driver) -> None:
    in_the_middle(driver)
    cluster.signal("worker1", signal.SIGKILL)
    assert counted(driver) == (5, 2, 0)
    assert driver.close() == ""


def test_a_slow_node_costs_time_alone(cluster: Cluster, driver: Driver) -> None:
    in_the_middle(driver)
    cluster.signal("worker1", signal.SIGSTOP)
    assert driver.waits(15)  # in which the other worker has done all the rest
    cluster.signal("worker1", signal.SIGCONT)
    assert counted(driver) == (5, 2, 0)


def test_the_cluster_goes_away(cluster: Cluster, driver: Driver, files: Path) -> None:
    """The spend stays and the analyst gets the closed error; the next question finds no cluster, and costs nothing."""
    in_the_middle(driver, seconds=45)
    for name in cluster.processes:
        cluster.signal(name, signal.SIGKILL)
    assert counted(driver) == ("timed_out", 2, 1)
    assert reason(files) in {"it was stopped when its time was up", "executors were lost", "the cluster went away"}
    assert counted(driver, SHORT.format(2), opening=10) == ("store", 2, 1)
    assert driver.close() == ""


def test_executors_run_out_of_memory(driver: Driver, files: Path) -> None:
    assert counted(driver, SHORT.format(2), instead=GREEDY) == ("timed_out", 2, 1)
    assert reason(files) == "an executor ran out of memory"
    assert counted(driver, SHORT.format(3)) == (1, 3, 1)
    assert driver.close() == ""


def test_a_master_without_workers_costs_nothing(files: Path, tmp_path: Path) -> None:
    """The master accepts the empty task, and nobody runs it; the question is refused when the time for it is up."""
    with standalone(tmp_path, workers=0) as alone, asking(alone, files) as driver:
        assert counted(driver, SHORT.format(1), opening=10) == ("store", 0, 0)
        assert driver.close() == ""
