"""Where a ledger in PostgreSQL is, for a process that may reach nothing else: its ports, and its address instead of its name.

A name would be looked up again for every connection, by datagrams, which reach anybody. So it is looked up once, before the
sandbox closes, and the address is left in PGHOSTADDR, where libpq looks for it; certificates are still checked against the name.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from ipaddress import ip_address

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

POSTGRES = 5432
ADDRESS = "PGHOSTADDR"
PATIENCE = 10.0  # seconds


def places_of(address: str, environment: Mapping[str, str]) -> list[tuple[str, int]]:
    """The hosts and ports of a PostgreSQL URL; what it leaves out is libpq's.

    >>> places_of("postgresql://db.example/x", {}), places_of("postgresql://u@/x?host=a:1&host=b:2", {})
    ([('db.example', 5432)], [('a', 1), ('b', 2)])
    """
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):  # the ledger says what is wrong with it
        return []
    given = {name: value if isinstance(value, str) else ",".join(value) for name, value in url.query.items()}
    hosts = [url.host] if url.host else (given.get("host") or environment.get("PGHOST", "")).split(",")
    ports = str(url.port or given.get("port") or environment.get("PGPORT") or POSTGRES).split(",")
    each = ports * len(hosts) if len(ports) == 1 else ports
    return [_place(host, port) for host, port in zip(hosts, each, strict=False)]


def _place(host: str, port: str) -> tuple[str, int]:
    name, _, own = host.rpartition(":") if host.count(":") == 1 else (host, "", "")
    chosen = own or port
    return name, int(chosen) if chosen.isdecimal() else POSTGRES


def settled(address: str, environment: MutableMapping[str, str]) -> bool:
    """Whether later connections look up no name: the URL has addresses alone, or the address is now in the environment."""
    places = places_of(address, environment)
    named = [place for place in places if not _is_address(place[0])]
    if not named or environment.get(ADDRESS):
        return True
    if len(places) > 1:  # one address for several names would be refused
        return False
    with suppress(OSError), socket.create_connection(named[0], PATIENCE) as line:
        environment[ADDRESS] = str(line.getpeername()[0])
    return ADDRESS in environment


def _is_address(host: str) -> bool:
    """Whether a host needs no look-up: an address, the folder of a Unix socket, or libpq's own."""
    if not host or host.startswith(("/", "@")):
        return True
    with suppress(ValueError):
        return bool(ip_address(host.strip("[]")))
    return False
