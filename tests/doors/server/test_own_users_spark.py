"""Data on Spark, and a user of its own for each process: an engine connects as one user and asks as another."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from behind_connect import LONG, Place, answered, ask, hospital_served, new
from clusters import SPARK, connect_server
from own_users import USERS, assert_each_is_its_user, given_away, missing, python_for_all, with_the_units_capabilities
from services import Missing
from serving import serving
from valve import Valve

pytestmark = [*SPARK, pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    pytest.importorskip("grpc", reason="install grpcio (pip install 'tacit[test]') to run these tests")
    try:
        with tempfile.TemporaryDirectory(prefix="tacit-users-") as name, connect_server() as (address, _):
            folder, port = Path(name), int(address.rpartition(":")[2])
            with Valve(port) as valve:
                tokens, said = hospital_served(folder, f"sc://localhost:{valve.port}"), folder / "said"
                given_away(folder)
                python = (*with_the_units_capabilities(), python_for_all() or "")
                with serving(folder, tokens, python=python, users=USERS, seconds=LONG, said=said) as server:
                    yield Place(server, valve, port, 0, said)
    except Missing as reason:
        pytest.skip(str(reason))


def test_each_process_is_a_user_of_its_own(place):
    assert ask(place, new(300))[0] == 200
    assert_each_is_its_user(place.server)


def test_a_session_that_is_lost_is_replaced_by_a_user_who_may_read_nothing(place):
    """The engine has long become that user when it connects again; or another engine starts as root, and becomes it."""
    place.valve.cut()
    assert ask(place, new(301))[1]["error"]["code"] == "unavailable"
    place.valve.restore()
    assert answered(place, 302) == 200
    assert_each_is_its_user(place.server)


def test_an_engine_that_is_killed_is_replaced(place):
    os.kill(place.server.parts()["engine"][0], signal.SIGKILL)
    assert answered(place, 303) == 200
    assert_each_is_its_user(place.server)
