"""Connections that carry the replies of one account, and requests of clients that share the connections of a proxy."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest

from loops import in_own_loop
from served import Served, listening, served
from tacit.doors.server import front, gate
from tacit.doors.server.calls import Call, Reply
from tacit.doors.server.front import app
from tacit.doors.server.gate import Timely
from tacit.doors.server.settings import Crowd, Settings

MOST = 2


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """On a busy machine requests take their time."""
    monkeypatch.setattr(Timely, "limits", (600.0, 600.0, 600.0))


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        yield found


def statuses(hospital: Served, *whose: str) -> list[int]:
    """The replies to one request each, on connections that all stay open."""
    with listening(hospital.desk) as url, ExitStack() as lines:
        found = []
        for who in whose:
            line = http.client.HTTPConnection("localhost", urlsplit(url).port or 0, timeout=60)
            lines.callback(line.close)
            line.request("GET", "/v1/catalog", headers={"Authorization": f"Bearer {hospital.tokens[who]}"})
            reply = line.getresponse()
            body = reply.read()
            assert (b"too_many_connections" in body) == (reply.status == 429)
            found.append(reply.status)
        return found


def test_an_account_does_not_take_the_connections_of_another(hospital, monkeypatch):
    monkeypatch.setattr(front, "PER_ACCOUNT", MOST)
    assert statuses(hospital, "ana", "ana", "ana", "bob", "ana") == [200, 200, 429, 200, 429]


def test_connections_that_are_not_counted_for_an_account_are_caught(hospital, monkeypatch):
    """Planted: every connection may carry every reply."""
    monkeypatch.setattr(front, "PER_ACCOUNT", MOST)
    monkeypatch.setattr(Timely, "owe", lambda *_: True)
    assert statuses(hospital, "ana", "ana", "ana") == [200] * 3


def one_line(crowd: Crowd, shared: bool) -> Timely:
    """A connection that has sent its reply, as far as counting goes."""
    line = Timely.__new__(Timely)
    line._account, line._shared, line._stalled, line.cycle = None, shared, None, None  # type: ignore[assignment]
    assert line.owe(crowd, "ana", shared)
    return line


def test_a_connection_of_a_proxy_counts_until_its_reply_is_read():
    own, shared = Crowd(1), Crowd(1)
    one_line(own, shared=False)._read()
    assert not own.enter("ana"), "it counts as long as it is open"
    one_line(shared, shared=True)._read()
    assert shared.enter("ana")
    waiting = one_line(crowd := Crowd(1), shared=True)
    waiting._stalled = object()  # type: ignore[assignment]
    waiting._read()
    assert not crowd.enter("ana"), "the reply is not read yet"
    waiting._let_go()
    assert crowd.enter("ana")


def test_a_connection_goes_from_one_account_to_another():
    crowd = Crowd(1)
    line = one_line(crowd, shared=True)
    assert line.owe(crowd, "bob", shared=True)
    assert crowd.enter("ana")
    assert not crowd.enter("bob")


def time_is_up(line: Timely) -> None:
    """What happens after so many seconds without a byte read, at once."""
    assert line._stalled is not None
    assert 0 < line._stalled.when() - line.loop.time() <= Timely.limits[2]
    line.loop.call_soon_threadsafe(line._stalled._run)


def test_what_is_never_read_is_cut_off_and_counts_no_longer(hospital, monkeypatch):
    """A client that fetches a large reply and reads nothing holds its place only until the connection stalls for too long."""
    monkeypatch.setattr(front, "PER_ACCOUNT", 1)
    stalled: list[Timely] = []
    pause = Timely.pause_writing
    monkeypatch.setattr(Timely, "pause_writing", lambda line: (pause(line), stalled.append(line))[0])
    whole = type(hospital.desk).handle
    large = lambda self, call: Reply(200, b" " * 2**25, account="ana") if call.operation == "budget" else whole(self, call)  # noqa: E731
    monkeypatch.setattr(type(hospital.desk), "handle", large)
    with listening(hospital.desk) as url, socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=60) as line:
        line.sendall(b"GET /v1/budget HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert line.recv(1000).startswith(b"HTTP/1.1 200")
        other = http.client.HTTPConnection("localhost", urlsplit(url).port or 0, timeout=60)
        told = []
        for _ in range(600):
            other.request("GET", "/v1/catalog", headers={"Authorization": f"Bearer {hospital.tokens['ana']}"})
            reply = other.getresponse()
            reply.read()
            told.append(reply.status)
            if told[-1] == 200:
                break
            if len(told) == 1:
                time_is_up(*stalled)
            in_own_loop(asyncio.sleep(0.1))
        other.close()
        assert (told[0], told[-1]) == (429, 200)


# --- a proxy that names its clients ------------------------------------------------------------------------------------------


class Slow:
    """A clerk that answers nobody until it may."""

    def __init__(self) -> None:
        self.may, self.asked = asyncio.Event(), 0

    async def ask(self, call: Call) -> Reply:
        self.asked += 1
        await self.may.wait()
        return Reply(200, b'{"status": "ready"}')


def through_a_proxy(clients: list[str], peer: str, believed: tuple[str, ...]) -> list[int]:
    """The statuses of requests that are all under way at once, each with what a proxy says of its client."""

    async def asked() -> list[int]:
        clerk = Slow()
        place = app(clerk, Settings(names=("a.example",), behind_proxy=True, forwarded_by=believed, per_address=MOST))
        waiting = [asyncio.create_task(_sent(place, client, peer)) for client in clients]
        while clerk.asked + sum(task.done() for task in waiting) < len(waiting):
            await asyncio.sleep(0.001)
        clerk.may.set()
        return list(await asyncio.gather(*waiting))

    return in_own_loop(asked())


async def _sent(place: Any, client: str, peer: str) -> int:
    status = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    headers = [(b"host", b"a.example"), (b"x-forwarded-for", client.encode())]
    known = {"type": "http", "method": "GET", "path": "/v1/health", "raw_path": b"/v1/health", "root_path": "", "scheme": "http"}
    more = {"headers": headers, "query_string": b"", "client": (peer, 1), "server": ("a.example", 80), "http_version": "1.1"}
    await place({**known, **more, "asgi": {"version": "3.0"}}, receive, send)
    return status


def test_a_client_behind_a_known_proxy_leaves_room_for_the_others():
    clients = ["198.51.100.1"] * 4 + ["10.9.9.9, 198.51.100.1", "198.51.100.2"]
    assert sorted(through_a_proxy(clients[:5], "127.0.0.1", ("127.0.0.1",))) == [200] * MOST + [429] * 3
    assert through_a_proxy(clients, "127.0.0.1", ("127.0.0.1",))[-1] == 200
    rotating = [f"10.0.0.{number}, 198.51.100.1" for number in range(5)]
    assert through_a_proxy(rotating, "127.0.0.1", ("127.0.0.1",)).count(200) == MOST, "what the client writes counts for nothing"


def test_what_nobody_known_forwards_is_not_believed():
    """Otherwise anybody could use up the places of any address."""
    assert through_a_proxy(["198.51.100.1"] * 5, "203.0.113.5", ("127.0.0.1",)) == [200] * 5
    assert through_a_proxy(["198.51.100.1"] * 5, "127.0.0.1", ()) == [200] * 5


def test_the_front_listens_with_the_limits_of_its_settings(monkeypatch):
    """The real start: what listens is told the limit, and the proxies that stand for many."""
    from tacit.doors.server import front_process, parts

    made = {}
    monkeypatch.setattr(front_process, "main", lambda *given: made.update(line=given[3]))
    own = {"host": "0.0.0.0", "port": 1, "names": ["a.example"], "certificate": None, "key": None, "behind_proxy": True}  # noqa: S104
    own |= {"forwarded_by": ["127.0.0.1"], "per_address": 3}
    parts._front({"control": 0, "listening": 0, "left_out": [], "settings": json.loads(json.dumps(own))})
    with socket.create_server(("127.0.0.1", 0)) as line, made["line"](line.detach()) as found:
        assert (found._each.most, found._exempt) == (3, {"127.0.0.1"})
    assert not hasattr(gate, "MOST_CONNECTIONS"), "counted when a connection is accepted, and not after its handshake"
