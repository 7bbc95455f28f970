"""Where a ledger is kept: a SQLite file, or a PostgreSQL database, by its address.

Both do the same: statements are committed one by one, except those between `begin` and COMMIT, and a COMMIT that returns is on the
disk. ledger.md says why that holds. The words of an error are from a closed list, since a driver's own may repeat a password.
"""

from __future__ import annotations

from urllib.parse import unquote

from tacit.accounting.ledger.connections import Database
from tacit.accounting.ledger.sqlite_file import database_in
from tacit.errors import StoreUnusable

FILE = "sqlite:///"


def connect(address: str, create: bool = False) -> Database:
    """The database at an address: sqlite:///FILE or postgresql://..., or the path of a SQLite file, which `create` makes."""
    if (file := file_of(address)) is not None:
        return database_in(file, create)
    from sqlalchemy import make_url  # takes as long to load as the rest of a question
    from sqlalchemy.exc import ArgumentError

    from tacit.accounting.ledger.postgres import database_at, unreadable

    try:
        url = make_url(address)
    except (ArgumentError, ValueError):  # a port that is not a number is a ValueError, which quotes it
        raise unreadable() from None
    kind = url.get_backend_name().replace("postgresql", "postgres")
    if kind == "sqlite" and (url.host or url.username or url.password):
        raise unreadable()  # a file has no host; without it, another file would be opened
    if kind == "sqlite":
        return database_in(url.database or "", create)
    if kind == "postgres":
        return database_at(url)
    raise StoreUnusable(f"unsupported ledger database: {kind}", remedy="write sqlite:///FILE or postgresql://...")


def file_of(address: str) -> str | None:
    """The path in sqlite:///FILE, read as SQLAlchemy reads it, or of an address that is a path; None for other addresses.

    >>> file_of("ledger.sqlite"), file_of("sqlite:////srv/a%20ledger.sqlite?timeout=5"), file_of("postgresql://db/x")
    ('ledger.sqlite', '/srv/a ledger.sqlite', None)
    """
    whole = address if "://" in address else FILE + address
    return unquote(whole.removeprefix(FILE).partition("?")[0]) if whole.startswith(FILE) else None
