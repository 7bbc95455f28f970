"""Questions on a real cluster of two workers, and what its faults cost: one spend, and one answer or one closed error."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from services import Missing
from standalone import Cluster, Driver, standalone
from tacit.data.moving import to_parquet
from tacit.data.store import store_file
from tacit.release.unforeseen import FILE
from tacit.session import open as open_data

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
ROWS = 1_500_000
PATIENCE = 900  # seconds: what is tested is what it costs, not how long it takes
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
LONG = (
    "SELECT ward, COUNT(DISTINCT person) AS people, AVG(SQRT(cost)) AS root, AVG(LN(cost + {0})) AS log, MEDIAN(cost) AS middle "
    "FROM visits GROUP BY ward"
)
SHORT = "SELECT COUNT(*) AS n FROM visits WHERE cost < {0}"
GREEDY = "SELECT size(collect_list(repeat(cast(id AS STRING), 400000))) AS m0_rows FROM range(5000)"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog, generated rows, and their prepared store in Parquet."""
    folder, draw = tmp_path_factory.mktemp("cluster"), np.random.default_rng(3)
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
    """A driver whose executors have answered a short question."""
    files.write_text(CATALOG.replace("ENGINE", "spark") + f'master = "{cluster.master}"\n')
    made = Driver(cluster, files, opening=60)
    made.ask(SHORT.format(time.time_ns() % 5000), seconds=PATIENCE)
    assert made.answer()["rows"] == 1
    yield made
    made.process.kill()
    made.process.communicate()


def in_the_middle(cluster: Cluster, driver: Driver, **more: Any) -> None:
    """Sends a long question, and returns when the executors have worked on it for more than a second."""
    before, end = cluster.worked(), time.monotonic() + PATIENCE
    driver.ask(LONG.format(1 + time.time_ns() % 1000), **{"seconds": PATIENCE, **more})
    while cluster.worked() < before + 1.5:
        assert time.monotonic() < end, "no executor works on the question"
        time.sleep(0.05)


def before_it(driver: Driver) -> tuple[int, int]:
    """How many spends and failures the ledger has so far."""
    driver.ask(SHORT.format(time.time_ns() % 5000), seconds=PATIENCE)
    found = driver.answer()
    return found["spends"], found["failures"]


def test_a_worker_is_killed_in_the_middle_of_a_question(cluster: Cluster, driver: Driver) -> None:
    spends, failures = before_it(driver)
    in_the_middle(cluster, driver)
    cluster.signal("worker1", signal.SIGKILL)
    found = driver.answer()
    assert (found.get("rows"), found["spends"], found["failures"]) == (5, spends + 1, failures)
    assert driver.close() == ""


def test_a_slow_node_costs_time_alone(cluster: Cluster, driver: Driver) -> None:
    spends, failures = before_it(driver)
    in_the_middle(cluster, driver)
    cluster.signal("worker1", signal.SIGSTOP)
    time.sleep(5)
    cluster.signal("worker1", signal.SIGCONT)
    found = driver.answer()
    assert (found.get("rows"), found["spends"], found["failures"]) == (5, spends + 1, failures)


def test_the_cluster_goes_away(cluster: Cluster, driver: Driver, files: Path) -> None:
    """The spend stays and the analyst gets the closed error; the next question finds no cluster, and costs nothing."""
    spends, failures = before_it(driver)
    in_the_middle(cluster, driver, seconds=20)
    for name in cluster.processes:
        cluster.signal(name, signal.SIGKILL)
    found = driver.answer()
    assert (found.get("code"), found["spends"], found["failures"]) == ("timed_out", spends + 1, failures + 1)
    assert "spark" not in found["message"].lower()
    log = (files.parent / ".tacit" / FILE).read_text()
    assert log.splitlines()[-1].rpartition(": ")[2] in {
        "it was stopped when its time was up", "executors were lost", "the cluster went away",
    }  # fmt: skip
    driver.ask(SHORT.format(1))
    found = driver.answer()
    assert (found.get("code"), found["spends"], found["failures"]) == ("store", spends + 1, failures + 1)
    assert driver.close() == ""


def test_executors_run_out_of_memory(cluster: Cluster, driver: Driver, files: Path) -> None:
    spends, failures = before_it(driver)
    driver.ask("SELECT COUNT(*) AS n FROM visits WHERE cost < 1", instead=GREEDY, seconds=PATIENCE)
    found = driver.answer()
    assert (found.get("code"), found["spends"], found["failures"]) == ("timed_out", spends + 1, failures + 1)
    assert "memory" in (files.parent / ".tacit" / FILE).read_text().splitlines()[-1]
    driver.ask("SELECT COUNT(*) AS n FROM visits WHERE cost < 2", seconds=PATIENCE)
    assert driver.answer().get("rows") == 1
