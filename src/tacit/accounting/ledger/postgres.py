"""A ledger in a PostgreSQL database, through SQLAlchemy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

import sqlalchemy as sql
from sqlalchemy.event import listen
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from tacit.accounting.ledger import group_commit as durable
from tacit.accounting.ledger.connections import Database, DriverError, with_a_remedy
from tacit.errors import StoreUnusable

CREATION = 0x7AC17  # the number of the advisory lock under which PostgreSQL tables are made
DURABLE = ("fsync", "full_page_writes")  # without the second a power failure can tear a page of the ledger


def database_at(url: sql.URL) -> Database:
    """The database that a URL names."""
    try:
        engine = sql.create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            connect_args={"connect_timeout": round(durable.PATIENCE), "application_name": "tacit ledger"},
        )
    except (ImportError, NoSuchModuleError):
        raise StoreUnusable(
            "a ledger in PostgreSQL requires a driver, which is not installed", remedy="run: pip install 'tacit[postgres]'"
        ) from None
    except (ArgumentError, ValueError):
        raise unreadable() from None
    listen(engine, "connect", lambda connection, _: connection.execute(_session()))
    pool = ServerPool(engine)
    with with_a_remedy(), pool.connect() as connection:
        off = [setting for setting in DURABLE if connection.run(f"SHOW {setting}") != [("on",)]]
    if off:
        pool.dispose()
        raise StoreUnusable(
            f"PostgreSQL runs with {off[0]} = off, so a spend could be lost", remedy=f"set {off[0]} = on in PostgreSQL"
        )
    threads = Lock()  # so that the threads of this process use one connection for their turns and not one each
    return Database(
        pool,
        lambda: _turn_of(threads),
        begin="BEGIN ISOLATION LEVEL READ COMMITTED",
        begin_reading="BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        take_number=lambda: 0,
        settle=lambda _: None,
        lock="SELECT number FROM tacit_books FOR UPDATE",
        creation_lock=f"SELECT pg_advisory_xact_lock({CREATION})",
    )


def unreadable() -> StoreUnusable:
    """The error for a URL that cannot be read."""
    return StoreUnusable("invalid ledger URL", remedy="write sqlite:///FILE or postgresql://USER@HOST:PORT/DATABASE")


class ServerPool:
    """Connections to a server, as SQLAlchemy keeps them."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    @contextmanager
    def connect(self) -> Iterator[ServerConnection]:
        with _by_code(), self._engine.connect() as connection:
            yield ServerConnection(connection)

    def dispose(self) -> None:
        self._engine.dispose()


class ServerConnection:
    """One connection to PostgreSQL."""

    kind = "postgresql"

    def __init__(self, connection: sql.Connection) -> None:
        self._connection = connection

    def run(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        with _by_code():
            result = self._connection.exec_driver_sql(_in_driver_words(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []

    def has(self, table: str) -> bool:
        with _by_code():
            return sql.inspect(self._connection).has_table(table)

    def invalidate(self) -> None:
        self._connection.invalidate()


@lru_cache(maxsize=64)
def _in_driver_words(statement: str) -> str:
    """A statement as the driver wants its values named.

    >>> _in_driver_words("UPDATE tacit_books SET number = :last, hash = :last_hash")
    'UPDATE tacit_books SET number = %(last)s, hash = %(last_hash)s'
    """
    return re.sub(r":(\w+)", r"%(\1)s", statement)


@contextmanager
def _by_code() -> Iterator[None]:
    """A connection that is lost without a state counts as 08."""
    try:
        yield
    except SQLAlchemyError as error:
        original = getattr(error, "orig", None)
        state = getattr(original, "sqlstate", None)
        lost = isinstance(error, DBAPIError) and (error.connection_invalidated or type(original).__module__.startswith("psycopg"))
        raise DriverError(str(state) if state else ("08" if lost else ""), type(error).__name__) from None


def _session() -> str:
    """How long a statement waits for a lock before a word is said, and when a transaction of a stopped process is given up."""
    word, patience = (round(1000 * seconds) for seconds in (durable.WORD, durable.PATIENCE))
    limits = f"SET lock_timeout = {word}; SET idle_in_transaction_session_timeout = {patience}"
    return f"SET synchronous_commit = on; {limits}"


@contextmanager
def _turn_of(threads: Lock) -> Iterator[None]:
    if not threads.acquire(timeout=durable.PATIENCE):
        raise durable.waited_too_long("another thread of this process")
    try:
        yield
    finally:
        threads.release()
