"""Which sessions have their driver and their tasks in this process."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.data.catalog import parse_catalog
from tacit.data.spark import session
from tacit.data.spark.connect import unreachable
from tacit.data.spark.session import in_this_process, quiet, runs_here
from tacit.errors import InvalidCatalog


def driven(master: str, stopped: bool = False) -> Any:
    """A session of a driver in this process, as far as these questions go."""
    java = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: stopped))
    return SimpleNamespace(newSession=None, sparkContext=SimpleNamespace(master=master, _jsc=java))


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[2, 3]"])
def test_a_driver_alone_runs_its_tasks_until_it_stops(master: str) -> None:
    assert runs_here(driven(master))
    assert not runs_here(driven(master, stopped=True))


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://host:7077", "yarn", "k8s://https://host"])
def test_executors_of_a_cluster_are_elsewhere(master: str) -> None:
    assert not runs_here(driven(master))
    assert in_this_process(driven(master))


def test_behind_spark_connect_nothing_is_here() -> None:
    assert not in_this_process(SimpleNamespace())
    assert not runs_here(SimpleNamespace())


STORE = '[budget]\nepsilon = 1\n[store]\nengine = "{}"\n{}\n[tables.t]\nsource = "t.csv"\nunit = "row"\n'


def test_the_data_owner_says_how_long_a_cluster_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_catalog(STORE.format("spark", "")).reach_seconds == 120
    assert parse_catalog(STORE.format("spark", "reach_seconds = 300")).reach_seconds == 300
    for engine, written in (("duckdb", "reach_seconds = 300"), ("spark", "reach_seconds = 0")):
        with pytest.raises(InvalidCatalog, match="reach_seconds"):
            parse_catalog(STORE.format(engine, written))
    assert "[store] reach_seconds" in str(unreachable())
    given: list[float | None] = []
    monkeypatch.setattr(session, "interrupted", lambda _, seconds: given.append(seconds) or nullcontext())
    monkeypatch.setattr(session, "cores", lambda _: 1)
    own = SimpleNamespace(conf=SimpleNamespace(set=lambda *_: None))
    quiet(SimpleNamespace(newSession=lambda: own), 300)
    assert given == [300]
