"""How the server may be reached, what must hold before another machine reaches it, and what each process is started with.

It loads little, so that whoever starts the processes does not load what they run.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tacit.data.spark.connect import CONNECT, place_of
from tacit.doors.server.crowding.crowd import PER_ADDRESS, origin_of
from tacit.doors.server.sandbox.limits import User
from tacit.errors import InvalidInput
from tacit.privacy.catalog import Catalog, expanded

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the front listens, the names that it answers to, and its certificate; `behind_proxy` if a proxy has the TLS.

    A name is as in a URL: `stats.example.org`, or `[::1]`. `forwarded_by` are the addresses of proxies whose X-Forwarded-For names
    the client; it is believed from nobody else.
    """

    host: str = "127.0.0.1"
    port: int = 8443
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    forwarded_by: tuple[str, ...] = ()
    per_address: int = PER_ADDRESS

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
    """The private tables whose size is assumed: the worst work of their questions is that of a table that nobody declared."""
    return sorted(name for name, table in catalog.tables.items() if not table.public and table.rows_at_most is None)


# --- what each process is started with ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OfProcess:
    """What every process is started with: the user that it becomes, and restrictions that tests leave out."""

    user: int | None = None
    group: int | None = None
    left_out: tuple[str, ...] = ()

    @property
    def owner(self) -> User | None:
        """The user that it becomes, if one is named."""
        return None if self.user is None or self.group is None else User(self.user, self.group)


@dataclass(frozen=True, slots=True)
class OfFront(OfProcess):
    """What the front is started with; `settings` are those of the application."""

    control: int
    listening: int
    settings: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class OfClerk(OfProcess):
    """What the clerk is started with; `died` if a signal ended the one before it."""

    catalog: str
    control: int
    died: bool = False


@dataclass(frozen=True, slots=True)
class OfEngine(OfProcess):
    """What an engine is started with."""

    catalog: str
    line: int
    memory: str = "60%"
    threads: int = 0
    session: str = ""  # the name of its first session on a cluster
    before: str = ""  # that of the engine in whose place it is
