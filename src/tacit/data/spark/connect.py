"""Where a Spark Connect server is, for a process that may reach nothing else: one address, found before its sandbox closes.

gRPC would look the name up again for each connection, by datagrams, which reach anybody, and would connect through any proxy that
the environment names. So the name is looked up once, and channels lead to its address. Certificates are still checked against the
name. No message quotes the URL, which may contain a token.
"""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tacit.errors import InvalidInput, StoreUnusable

CONNECT = "sc://"
REMEDY = "check [store] master and that the cluster runs; if it is only slow, raise [store] reach_seconds"
PORT = 15002
MOST_SESSIONS = 64  # of one process that are ended after it: each but the first one replaced another that was lost
PATIENCE = 10.0  # seconds for a TCP connection
ROOTS = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"  # gRPC reads the certificates of authorities there, if it is set
FORM = re.compile(r"sc://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:/(?:;.*)?)?")
IN_BRACKETS = re.compile(r"(?<=^sc://)\[[^]]*\]")
UNNAMED = "address.invalid"  # in place of an IPv6 address, which PySpark does not read; a token under this name requires TLS
OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # a new session does not wait until an older one may try again
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
)


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, and the name and port under which the catalog declares it."""

    host: str
    port: int
    ip: str

    @property
    def authority(self) -> str:
        """The name and the port that the server is asked for, and that its certificate is checked against.

        >>> Address("spark.example.org", 15002, "192.0.2.1").authority, Address("::1", 15002, "::1").authority
        ('spark.example.org:15002', '[::1]:15002')
        """
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def target(self) -> str:
        """The address as gRPC takes it, so that it looks nothing up.

        >>> Address("spark.example.org", 15002, "192.0.2.1").target, Address("spark.example.org", 15002, "2001:db8::1").target
        ('ipv4:192.0.2.1:15002', 'ipv6:[2001:db8::1]:15002')
        """
        return f"ipv6:[{self.ip}]:{self.port}" if self.is_ipv6 else f"ipv4:{self.ip}:{self.port}"

    @property
    def is_ipv6(self) -> bool:
        """Whether the address is one of IPv6."""
        return ":" in self.ip

    def answers(self) -> bool:
        """Whether something accepts connections there, found at once where nothing does."""
        with suppress(OSError), socket.create_connection((self.ip, self.port), PATIENCE):
            return True
        return False


def place_of(master: str) -> tuple[str, int]:
    """The host and the port in the URL of a Spark Connect server.

    >>> place_of("sc://spark.example.org"), place_of("sc://10.0.0.1:15003/;use_ssl=true")
    (('spark.example.org', 15002), ('10.0.0.1', 15003))
    >>> place_of("sc://[2001:db8::1]:15003")
    ('2001:db8::1', 15003)
    """
    parts = FORM.fullmatch(master)
    port = int(parts[2] or PORT) if parts else 0
    if parts is None or not 0 < port < 2**16:
        raise InvalidInput(
            "invalid [store] master for Spark Connect: expected a host name or address, a port, then options after a slash; "
            'write for example "sc://spark.example.org:15002/;use_ssl=true"'
        )
    return parts[1].strip("[]"), port


def located(master: str) -> Address:
    """The first address of the server that accepts a connection, IPv4 before IPv6; raises where none does."""
    host, port = place_of(master)
    with suppress(OSError):
        for *_, where in sorted(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), key=lambda each: int(each[0])):
            address = Address(host, port, str(where[0]))
            if address.answers():
                return address
    raise unreachable()


def unreachable() -> StoreUnusable:
    """The one message for a cluster that does not answer."""
    return StoreUnusable("the Spark cluster cannot be reached", remedy=REMEDY)


def numbered(first: str, number: int) -> str:
    """The name of a session of a process, which Spark wants to be a UUID: from the 32 digits of its first one, counted up.

    >>> numbered("000000000000000000000000000000ff", 1)
    '00000000-0000-0000-0000-000000000100'
    """
    digits = f"{(int(first, 16) + number) % 2**128:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def end_sessions(master: str, at: Address, first: str) -> None:
    """End the sessions of a process that was killed, and what it left running; nothing where the cluster does not hear it."""
    from pyspark.sql.connect.client.core import SparkConnectClient

    for number in range(MOST_SESSIONS):
        with suppress(Exception):
            client = SparkConnectClient(channels_to(master, at, numbered(first, number)), retry_policy={"max_retries": 0})
            client.release_session()
            client.close()


def channels_to(master: str, at: Address, session: str = "") -> Any:
    """A builder of channels to that address alone, for a session of that name; TLS and token are those of the URL."""
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    class Channels(DefaultChannelBuilder):
        endpoint = property(lambda _: at.target)

    made = Channels(IN_BRACKETS.sub(UNNAMED, master), [*OPTIONS, ("grpc.default_authority", at.authority)])
    if session:
        made.set(made.PARAM_SESSION_ID, session)
    return made
