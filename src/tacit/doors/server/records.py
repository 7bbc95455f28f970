"""What the server keeps beside the ledger: accounts, tokens, caps, requests, suspects and settings, in one SQLite file of mode 600.

No budget is in it: what was spent is in the ledger, under the analyst's name. Losing this file locks everybody out, and gives
nothing back. One clerk and the command line write it, each in short transactions that are on the disk when they end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import StoreUnusable
from tacit.files import owned

FILE = "server.sqlite"
PATIENCE = 10.0  # seconds that a transaction waits for another one

TABLES = sql.MetaData()
ACCOUNTS = sql.Table(
    "accounts",
    TABLES,
    sql.Column("name", sql.Text, primary_key=True),
    sql.Column("role", sql.Text, nullable=False),
    sql.Column("created", sql.Float, nullable=False),
)
TOKENS = sql.Table(
    "tokens",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("digest", sql.Text, nullable=False, unique=True),
    sql.Column("account", sql.Text, sql.ForeignKey(ACCOUNTS.c.name), nullable=False, index=True),
    sql.Column("created", sql.Float, nullable=False),
    sql.Column("expires", sql.Float, nullable=False),
    sql.Column("revoked", sql.Float),
    sqlite_autoincrement=True,
)
CAPS = sql.Table(
    "caps",
    TABLES,
    sql.Column("analyst", sql.Text, primary_key=True),
    sql.Column("epsilon", sql.Text),
    sql.Column("delta", sql.Text),
    sql.Column("epsilon_per_query", sql.Text),
)
REQUESTS = sql.Table(
    "requests",
    TABLES,
    sql.Column("analyst", sql.Text, primary_key=True),
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("asked", sql.Text, nullable=False),
    sql.Column("head", sql.Integer, nullable=False),
    sql.Column("begun", sql.Float, nullable=False),
    sql.Column("entry", sql.Integer),
    sql.Column("status", sql.Integer),
    sql.Column("reply", sql.LargeBinary),
)
SUSPECTS = sql.Table(
    "suspects",
    TABLES,
    sql.Column("fingerprint", sql.Text, primary_key=True),
    sql.Column("ends", sql.Integer, nullable=False),
    sql.Column("last", sql.Float, nullable=False),
)
SETTINGS = sql.Table(
    "settings", TABLES, sql.Column("name", sql.Text, primary_key=True), sql.Column("value", sql.Text, nullable=False)
)


class Records:
    """The open file. Threads and processes may hold it at once."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._engine = sql.create_engine(
            "sqlite://", creator=self._opened, poolclass=sql.QueuePool, isolation_level="AUTOCOMMIT", hide_parameters=True
        )
        with _said():
            owned(file)
            with self.writing() as connection:
                TABLES.create_all(connection)

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a revocation or a begun request that returned survives a power failure
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @contextmanager
    def reading(self) -> Iterator[sql.Connection]:
        """A connection that only reads; it sees what any process has written."""
        with _said(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sql.Connection]:
        """One transaction, alone; an exception undoes it."""
        with _said(), self._engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                if connection.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]
                    connection.exec_driver_sql("ROLLBACK")
                raise

    def setting(self, name: str) -> str | None:
        """A setting by its name."""
        with self.reading() as connection:
            found = connection.scalar(sql.select(SETTINGS.c.value).where(SETTINGS.c.name == name))
        return None if found is None else str(found)

    def set(self, name: str, value: str) -> None:
        """Write a setting."""
        with self.writing() as connection:
            connection.execute(sql.delete(SETTINGS).where(SETTINGS.c.name == name))
            connection.execute(sql.insert(SETTINGS), {"name": name, "value": value})

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


@contextmanager
def _said() -> Iterator[None]:
    """A failure of the file as an error that quotes nothing of it."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        original = getattr(error, "orig", None) or error
        why = getattr(original, "sqlite_errorname", None) or type(original).__name__
        raise StoreUnusable(
            f"the server's records cannot be read or written ({why})", remedy="check the disk and its rights"
        ) from None


def run(connection: sql.Connection, statement: sql.Executable, **values: Any) -> sql.CursorResult[Any]:
    """Run a statement that is compiled once, for what every request does."""
    text, names = _compiled(statement, connection.dialect)
    return connection.exec_driver_sql(text, tuple(values[name] for name in names))


@lru_cache(maxsize=64)
def _compiled(statement: sql.Executable, dialect: sql.Dialect) -> tuple[str, tuple[str, ...]]:
    """The words of a statement, and the order of its values."""
    ready = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    return str(ready), tuple(ready.positiontup or ())
