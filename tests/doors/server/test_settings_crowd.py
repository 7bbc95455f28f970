"""Who an address stands for, and how many connections each may hold: nobody starves the rest."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from tacit.doors.server import front_process
from tacit.doors.server.front_process import Listening
from tacit.doors.server.settings import Crowd, Settings, forwarded, origin_of


def test_a_crowd_counts_each_and_remembers_nobody_who_left():
    crowd = Crowd(2)
    assert [crowd.enter("a"), crowd.enter("a"), crowd.enter("a"), crowd.enter("b")] == [True, True, False, True]
    crowd.leave("a")
    assert crowd.enter("a")
    for who in ("a", "a", "b"):
        crowd.leave(who)
    assert not crowd._held


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("[2001:db8:0:1:ffff::2]", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::FFFF:192.0.2.7", "192.0.2.7"),
        (" 192.0.2.7 ", "192.0.2.7"),
        ("192.0.2.7:80", ""),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_an_address_stands_for_itself_or_its_network(given, origin):
    assert origin_of(given) == origin


def test_of_what_a_proxy_forwards_only_the_last_is_believed():
    """A client writes what it likes into the header; the proxy appends whom it really is."""
    lied = [(b"X-Forwarded-For", b"10.0.0.1"), (b"x-forwarded-for", b"10.0.0.2, 198.51.100.7")]
    assert forwarded(lied) == "198.51.100.7"
    assert forwarded([]) == forwarded([(b"x-forwarded-for", b"somebody")]) == ""


@contextmanager
def limited(most: int | None, exempt: tuple[str, ...] = ()) -> Iterator[Listening]:
    with socket.create_server(("127.0.0.1", 0)) as made, Listening(made.detach(), most, exempt) as found:
        found.settimeout(60)
        yield found


def called(line: socket.socket, address: str) -> socket.socket:
    return socket.create_connection(line.getsockname(), timeout=60, source_address=(address, 0))


def answered(line: Listening, *addresses: str) -> int:
    """How many of connections from these addresses, made one after the other and kept, are accepted."""
    with ExitStack() as open_ones:
        for address in addresses:
            open_ones.enter_context(called(line, address))
        line.setblocking(False)
        accepted = 0
        while select.select([line], [], [], 0.1)[0]:  # a busy machine may queue the last of them a moment later
            with suppress(BlockingIOError):
                open_ones.enter_context(line.accept()[0])
                accepted += 1
        return accepted


MANY = ("127.0.0.2",) * 6 + ("127.0.0.3",)


def test_one_address_does_not_take_the_connections_of_another():
    with limited(3) as line:
        assert answered(line, *MANY) == 3 + 1
        assert answered(line, *MANY) == 3 + 1, "those that are closed count no longer"


def test_a_listener_without_a_limit_is_caught(monkeypatch):
    """Planted: everybody is admitted. One address then takes the last connection that there is."""
    monkeypatch.setattr(front_process, "MOST_CONNECTIONS", 6)
    with limited(None) as line:
        assert answered(line, *MANY) == 6
    with limited(3) as line:
        assert answered(line, *MANY) == 3 + 1


def test_a_proxy_stands_for_many():
    with limited(3, ("127.0.0.2",)) as line:
        assert answered(line, *MANY) == 6 + 1


def test_what_is_refused_is_closed_at_once():
    with limited(1) as line, called(line, "127.0.0.2") as first, called(line, "127.0.0.2") as second:
        taken, _ = line.accept()
        line.setblocking(False)
        assert select.select([line], [], [], 60)[0]
        with suppress(BlockingIOError):
            line.accept()
        second.settimeout(60)
        with taken, suppress(ConnectionResetError):
            assert second.recv(1) == b""
        first.close()


def test_where_clients_share_an_address_it_is_not_limited():
    here, everywhere = {}, {"host": "0.0.0.0", "names": ("a.example",)}  # noqa: S104  # nothing listens
    assert Settings(**here).connections_each is None
    assert Settings(**everywhere).connections_each == 100
    assert Settings(**everywhere, behind_proxy=True).connections_each is None
    assert Settings(**everywhere, behind_proxy=True, forwarded_by=("192.0.2.1",), per_address=7).connections_each == 7
