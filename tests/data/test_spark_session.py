"""Which sessions have their driver and their tasks in this process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tacit.data.spark_session import in_this_process, runs_here


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
