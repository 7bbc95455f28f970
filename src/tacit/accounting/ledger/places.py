"""Where a ledger or a database lies, in words that hold neither user nor password, and that are the same however it is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote

URL = re.compile(r"\w+(?:\+\w+)?://(?:(?P<user>[^@/]*)@)?(?P<hosts>[^/?]*)(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?", re.DOTALL)
WORDS = re.compile(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S*)")
HOST = re.compile(r"(?:\[(?P<inside>[^\]]*)\]|(?P<plain>[^:]*))(?::(?P<port>.*))?", re.DOTALL)
FROM_ENVIRONMENT = {"host": "PGHOST", "port": "PGPORT", "dbname": "PGDATABASE", "user": "PGUSER"}
LOCAL = {"", "localhost", "127.0.0.1", "::1"}
PORT = "5432"


def ledger_place(address: str, environment: Mapping[str, str]) -> str:
    """The place of a ledger: the resolved path of its file, or its first server with port and database.

    >>> ledger_place("postgresql://tacit:secret@DB/ledger", {})
    'postgresql://db:5432/ledger'
    """
    if address.startswith("sqlite:///") or "://" not in address:
        return str(Path(address.removeprefix("sqlite:///")).resolve())
    return server_places(address, environment)[0]


def server_places(address: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The PostgreSQL servers that a URL (or `host=... dbname=...`) names, each with its port and the database.

    The rules are those of PostgreSQL's own clients: what is left out comes from PGHOST, PGPORT, PGDATABASE and PGUSER, else it is
    the local server, port 5432 and the database named like the user. All names of the local machine count as one.

    >>> server_places("postgres://reader:secret@127.0.0.1,Two.example:6000/hospital?sslmode=require", {})
    ('postgresql://localhost:5432/hospital', 'postgresql://two.example:6000/hospital')
    """
    outside = {name: environment[variable] for name, variable in FROM_ENVIRONMENT.items() if variable in environment}
    given = {name: value for name, value in _given(address).items() if value.strip(",")}
    known = {**outside, **given}
    hosts = (known.get("host") or known.get("hostaddr") or "").split(",")
    ports = known.get("port", "").split(",")
    database = known.get("dbname") or known.get("user", "")
    paired = zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False)
    return tuple(f"postgresql://{_host(host)}:{port or PORT}/{database}" for host, port in paired)


def _given(address: str) -> dict[str, str]:
    """What the address itself says, under libpq's names; lists are parted by commas."""
    url = URL.fullmatch(address)
    if url is None:
        return {name: value.strip("'") for name, value in WORDS.findall(address)}
    hosts = [found for each in url["hosts"].split(",") if (found := HOST.fullmatch(each))]
    said = {
        "host": ",".join(found["inside"] or unquote(found["plain"] or "") for found in hosts),
        "port": ",".join(found["port"] or "" for found in hosts),
        "dbname": unquote(url["database"] or ""),
        "user": unquote((url["user"] or "").partition(":")[0]),
    }
    return {**said, **dict(parse_qsl(url["query"] or ""))}


def _host(host: str) -> str:
    plain = host.strip().lower().removesuffix(".")
    return "localhost" if plain in LOCAL or plain.startswith(("/", "@")) else plain
