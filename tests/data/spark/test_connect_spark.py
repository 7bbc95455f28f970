"""Where a Spark Connect server is: looked up once, connected to by its address, and never quoted."""

from __future__ import annotations

import socket

import pytest

from services import on_loopback
from tacit.data.spark.connect import PORT, Address, channels_to, located, place_of
from tacit.errors import InvalidInput, StoreUnusable

SECRET = "hunter2"  # noqa: S105  # of nobody
NEEDS_IPV6 = pytest.mark.skipif(not on_loopback("::1"), reason="this machine has no IPv6 on its loopback")


@pytest.mark.parametrize(
    "master",
    [
        f"sc://host:15002;token={SECRET}",  # without its slash, all of it would be the port
        f"sc://host:99999/;token={SECRET}",
        f"sc://host:0/;token={SECRET}",
        f"sc://{SECRET}@host",
        f"sc://[::1/;token={SECRET}",
        f"sc://::1:15002/;token={SECRET}",
        f"sc://[fe80::1%{SECRET}]:15002",
        f"sc://[{SECRET}]:15002",
        f"sc://host/{SECRET}",
        "sc://",
        "spark://host:7077",
    ],
)
def test_an_invalid_url_is_refused_and_not_quoted(master):
    with pytest.raises(InvalidInput, match="expected a host name") as raised:
        place_of(master)
    assert SECRET not in str(raised.value)


def test_a_name_is_looked_up_once_and_gives_the_address_that_answers():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert located(f"sc://localhost:{port}/;token={SECRET}") == Address("localhost", port, "127.0.0.1")
        assert Address("localhost", port, "127.0.0.1").answers()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # it is kept, so that nobody else listens there; neither does this one
        port = silent.getsockname()[1]
        assert not Address("localhost", port, "127.0.0.1").answers()
        with pytest.raises(StoreUnusable, match="cannot be reached") as raised:
            located(f"sc://localhost:{port}/;token={SECRET}")
    assert SECRET not in str(raised.value)


@NEEDS_IPV6
def test_an_address_of_ipv6_is_found_in_brackets_and_behind_a_name(monkeypatch):
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listening:
        port = listening.getsockname()[1]
        found = located(f"sc://[::1]:{port}/;token={SECRET}")
        assert (found, found.target, found.authority) == (Address("::1", port, "::1"), f"ipv6:[::1]:{port}", f"[::1]:{port}")
        only = [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **_: only)
        assert located(f"sc://spark.example.org:{port}") == Address("spark.example.org", port, "::1")


def test_a_name_that_nobody_knows_is_a_cluster_that_cannot_be_reached(monkeypatch):
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(StoreUnusable, match="cannot be reached"):
        located("sc://nowhere.invalid")


def test_channels_lead_to_the_address_past_no_proxy_and_under_the_name():
    pytest.importorskip("grpc", reason="install grpcio (pip install 'tacit[test]') to run this test")
    made = channels_to(f"sc://spark.example.org/;use_ssl=true;token={SECRET}", Address("spark.example.org", PORT, "192.0.2.1"))
    options = dict(made._channel_options)
    assert made.endpoint == "ipv4:192.0.2.1:15002"
    assert (options["grpc.enable_http_proxy"], options["grpc.default_authority"]) == (0, "spark.example.org:15002")
    assert (made.use_ssl, made.token) == (True, SECRET)


def test_channels_to_an_ipv6_address_keep_the_options_of_the_url():
    """PySpark itself refuses brackets. A token under an address is never sent without TLS."""
    pytest.importorskip("grpc", reason="install grpcio (pip install 'tacit[test]') to run this test")
    made = channels_to(f"sc://[2001:db8::1]:443/;token={SECRET}", Address("2001:db8::1", 443, "2001:db8::1"))
    assert (made.endpoint, dict(made._channel_options)["grpc.default_authority"]) == ("ipv6:[2001:db8::1]:443", "[2001:db8::1]:443")
    assert (made.secure, made.token, made.host) == (True, SECRET, "address.invalid")
