"""Where the server can be reached, the connections that each client may hold, and the settings that each process is started with.

It loads little, so that whoever starts the processes does not load the code that they run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any

from tacit.data.spark.connect import CONNECT, place_of
from tacit.doors.server.sandbox.limits import User
from tacit.errors import InvalidInput
from tacit.privacy.catalog import Catalog, expanded

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
PER_ADDRESS = 100  # connections; a browser opens 6
PER_ACCOUNT = 16  # connections with replies of an account; 16 of the largest replies are half of the front's memory
NETWORK = 64  # leading bits of an IPv6 address: whoever has one address has all of its network


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the front listens, the names that it answers to, and its certificate; `behind_proxy` if a proxy has the TLS.

    A name is as in a URL: `stats.example.org`, or `[::1]`. `forwarded_by` are the addresses of proxies whose X-Forwarded-For names
    the client; it is believed from no other address.
    """

    host: str = "127.0.0.1"
    port: int = 8443
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    forwarded_by: tuple[str, ...] = ()
    per_address: int = PER_ADDRESS
    hides_clock: bool = False  # replies leave at public times, in public sizes

    @property
    def connections_each(self) -> int | None:
        """How many connections one address may hold; None where all clients share one: on loopback, and behind a proxy."""
        shared = self.behind_proxy and not self.forwarded_by
        return None if shared or not self.reached else self.per_address

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        return is_loopback(self.host)

    @property
    def reached(self) -> bool:
        """Whether other machines reach the server: by its address, or through a proxy on this machine."""
        return self.behind_proxy or not self.loopback

    @property
    def scheme(self) -> str:
        """The scheme that clients use."""
        return "https" if self.certificate is not None or self.behind_proxy else "http"

    @property
    def hosts(self) -> frozenset[str]:
        """Every name that a request may ask for, in lower case and without a port."""
        own = () if self.reached else LOOPBACK_NAMES
        return frozenset(name.lower() for name in (*self.names, *own))


def is_loopback(host: str) -> bool:
    """Whether an address is one of this machine alone.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "0.0.0.0", "192.0.2.1", "example.org")]
    [True, True, True, False, False, False]
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_exposure(settings: Settings, catalog: Catalog) -> None:
    """Refuse to serve other machines without TLS, without names, or with a table whose size is not declared."""
    if (settings.certificate is None) != (settings.key is None):
        raise InvalidInput("--cert and --key belong together; give both")
    if settings.forwarded_by and not settings.behind_proxy:
        raise InvalidInput("--forwarded-by names a proxy; give --behind-proxy too, or leave it out")
    if any(not origin_of(address) for address in settings.forwarded_by):
        raise InvalidInput("--forwarded-by takes the IP address of the proxy; give for example --forwarded-by 127.0.0.1")
    if not settings.reached:
        return
    if settings.scheme == "http":
        raise InvalidInput("beyond loopback, TLS is required; give --cert and --key, or --behind-proxy")
    if not settings.names:
        raise InvalidInput("beyond loopback, the names of the server must be listed; give for example --name stats.example.org")
    if missing := undeclared_sizes(catalog):
        lines = ", ".join(f"rows_at_most = 1000000 in [tables.{name}]" for name in missing)
        raise InvalidInput(f"a private table without rows_at_most is served on loopback only; declare the largest size: {lines}")


def check_engine(catalog: Catalog) -> None:
    """Refuse a Spark engine with a driver in the process: it is a JVM, which no engine of the server may start."""
    if catalog.store_engine != "spark":
        return
    if not (catalog.store_master or "").startswith(CONNECT):
        raise InvalidInput(
            "behind tacit serve, a Spark engine must use Spark Connect; "
            'declare master = "sc://HOST:15002" in [store], or ask from Python or the command line'
        )
    place_of(expanded(catalog.store_master or "", os.environ))


def undeclared_sizes(catalog: Catalog) -> list[str]:
    """The private tables whose size is assumed: the worst work of their questions is that of an undeclared table."""
    return sorted(name for name, table in catalog.tables.items() if not table.public and table.rows_at_most is None)


# --- connections of an address, and of an account ----------------------------------------------------------------------------


@dataclass(slots=True)
class Crowd:
    """Counts for one thread. Nothing of those who hold nothing is remembered."""

    most: int
    _held: Counter[str] = field(default_factory=Counter)

    def enter(self, who: str) -> bool:
        """Count one more; False, and nothing is counted, if that would be too many."""
        if self._held[who] >= self.most:
            return False
        self._held[who] += 1
        return True

    def leave(self, who: str) -> None:
        """Count one less."""
        self._held[who] -= 1
        if self._held[who] <= 0:
            del self._held[who]


def origin_of(address: str) -> str:
    """Who an address stands for: itself, or the network of an IPv6 address; empty for what is not an address.

    >>> origin_of("192.0.2.1"), origin_of("::ffff:192.0.2.1"), origin_of("2001:db8::1:2:3:4"), origin_of("nowhere")
    ('192.0.2.1', '192.0.2.1', '2001:db8::/64', '')
    """
    try:
        parsed = ip_address(address.strip().strip("[]").partition("%")[0])
    except ValueError:
        return ""
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or ip_network((parsed, NETWORK), strict=False))
    return str(parsed)


def forwarded(headers: Collection[tuple[bytes, bytes]]) -> str:
    """Whom a proxy names as its client: the last address of X-Forwarded-For. Those before it came from the client itself.

    >>> forwarded([(b"x-forwarded-for", b"203.0.113.9, 192.0.2.1")])
    '192.0.2.1'
    """
    named = [value.decode("latin-1") for name, value in headers if name.lower() == b"x-forwarded-for"]
    return origin_of(named[-1].rpartition(",")[2]) if named else ""


# --- whose cores are whose ---------------------------------------------------------------------------------------------------


def cores_of(is_engine: bool, cores: Collection[int] | None = None) -> tuple[int, ...]:
    """The cores of the engines, or of all else: how long others wait must not follow how long an engine works.

    One core is for the front, the clerk and the supervisor, all others are for engines; a single one is for all.

    >>> cores_of(True, [0, 1, 2]), cores_of(False, [0, 1, 2]), cores_of(True, [3]), cores_of(False, [3])
    ((1, 2), (0,), (3,), (3,))
    """
    known = sorted(os.sched_getaffinity(0) if cores is None else cores)
    return tuple(known) if len(known) < 2 else tuple(known[1:] if is_engine else known[:1])


# --- what each process is started with ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OfProcess:
    """Settings of every process: the user that it becomes, and restrictions that tests leave out."""

    user: int | None = None
    group: int | None = None
    left_out: tuple[str, ...] = ()
    cores: tuple[int, ...] = ()  # that it may run on; all if there are none

    @property
    def owner(self) -> User | None:
        """The user that it becomes, if one is named."""
        return None if self.user is None or self.group is None else User(self.user, self.group)


@dataclass(frozen=True, slots=True)
class OfFront(OfProcess):
    """Settings of the front; `settings` are those of the application."""

    control: int
    listening: int
    settings: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class OfClerk(OfProcess):
    """Settings of the clerk; `died` if a signal ended the one before it."""

    catalog: str
    control: int
    died: bool = False
    places: int = 0  # engines, where the clock is hidden; 0 where it is shown
    figures: int = -1  # where it sends its figures; nowhere if that is below 0


@dataclass(frozen=True, slots=True)
class OfEngine(OfProcess):
    """Settings of an engine."""

    catalog: str
    line: int
    memory: str = "60%"
    threads: int = 0
    session: str = ""  # the name of its first session on a cluster
    before: str = ""  # that of the engine in whose place it is
