"""How the server may be reached: names, addresses and certificates, and what must hold before another machine reaches it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from tacit.errors import InvalidInput
from tacit.privacy.catalog import Catalog

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the front listens, the names that it answers to, and its certificate; `behind_proxy` if a proxy has the TLS.

    A name is as in a URL: `stats.example.org`, or `[::1]`.
    """

    host: str = "127.0.0.1"
    port: int = 8443
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False

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
    """Refuse an engine that a server's sandbox does not allow: a driver of Spark starts programs and listens on ports."""
    if catalog.store_engine == "spark" and not (catalog.store_master or "").startswith("sc://"):
        raise InvalidInput(
            'a server reaches Spark through Spark Connect only, as its sandbox allows; declare [store] master = "sc://HOST:15002"'
        )


def undeclared_sizes(catalog: Catalog) -> list[str]:
    """The private tables whose size is assumed: the worst work of their questions is that of a table that nobody declared."""
    return sorted(name for name, table in catalog.tables.items() if not table.public and table.rows_at_most is None)
