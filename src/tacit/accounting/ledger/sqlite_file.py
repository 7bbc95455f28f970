"""A ledger in a SQLite file: how it is made, opened and shared by the threads of a process. ledger.md says why a commit lasts."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import quote

from tacit.accounting.ledger import group_commit as durable
from tacit.accounting.ledger.connections import Database, DriverError
from tacit.accounting.ledger.group_commit import GroupCommit, turn_of
from tacit.errors import NoLedger, StoreUnusable
from tacit.files import create_private, sync_folder

BEGIN = "ask the data owner to run this once: tacit ledger begin"
HAS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name"
MOST, KEPT = 15, 5  # connections of one process at once, and those that stay open while nobody uses them


def database_in(name: str, create: bool) -> Database:
    """The database in a file; `create` makes it if it is missing."""
    if not name or name.startswith((":", "file:")):
        raise StoreUnusable("a ledger in memory is not supported: it would be lost with the process", remedy="write sqlite:///FILE")
    file = Path(name).absolute()
    try:
        if not create and not file.exists():
            raise NoLedger("this data set has no ledger", remedy=BEGIN)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with turn_of(_beside(file, ".lock")):
            _create(file)
            born = os.stat(file)
    except (OSError, sqlite3.Error) as error:
        words = getattr(error, "strerror", None) or getattr(error, "sqlite_errorname", "")
        raise StoreUnusable(
            f"the ledger {file} cannot be opened ({words})", remedy="check the folder and its permissions"
        ) from None
    group = GroupCommit(_beside(file, "-wal"), _beside(file, ".lock"), _beside(file, ".flush"))
    return Database(FilePool(file), lambda: _turn_at(file, born), "BEGIN IMMEDIATE", "BEGIN", group.taken, group.settle)


class FilePool:
    """Connections to a file, each used by one thread at a time. More than MOST wait, as long as for any turn."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._idle: list[FileConnection] = []
        self._places = BoundedSemaphore(MOST)

    @contextmanager
    def connect(self) -> Iterator[FileConnection]:
        if not self._places.acquire(timeout=durable.PATIENCE):
            raise DriverError("", TimeoutError.__name__)
        try:
            connection = self._taken()
            try:
                yield connection
            finally:
                self._put_back(connection)
        finally:
            self._places.release()

    def dispose(self) -> None:
        while self._idle:
            with suppress(IndexError):  # another thread has just taken the last one
                self._idle.pop().invalidate()

    def _taken(self) -> FileConnection:
        try:
            return self._idle.pop()
        except IndexError:
            with _by_code():
                return FileConnection(_opened(self._file))

    def _put_back(self, connection: FileConnection) -> None:
        if connection.is_usable() and len(self._idle) < KEPT:
            self._idle.append(connection)
        else:
            connection.invalidate()


class FileConnection:
    """One connection to a SQLite file."""

    kind = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection, self._lost = connection, False

    def run(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        with _by_code():
            return self._connection.execute(statement, values).fetchall()

    def has(self, table: str) -> bool:
        return bool(self.run(HAS, name=table))

    def invalidate(self) -> None:
        self._lost = True
        with suppress(sqlite3.Error):
            self._connection.close()

    def is_usable(self) -> bool:
        """Whether it can be used again; a transaction that was left open is rolled back."""
        if self._lost:
            return False
        try:
            self._connection.rollback()
        except sqlite3.Error:
            return False
        return True


@contextmanager
def _by_code() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise DriverError(getattr(error, "sqlite_errorname", None) or "", type(error).__name__) from None


def _create(file: Path) -> None:
    """An empty database for its owner alone, with a write-ahead log, in its folder for good; one that is there stays as it is.

    Once it is there, only SQLite opens it: a process that closes any descriptor of a file loses the locks that it has on it.
    """
    if not create_private(file) and file.stat().st_size:
        return
    _opened(file).close()
    sync_folder(file.parent)


def _opened(file: Path) -> sqlite3.Connection:
    """A connection with a write-ahead log, which `GroupCommit` brings to the disk after each commit; it makes no file."""
    connection = sqlite3.connect(
        f"file:{quote(str(file))}?mode=rw", uri=True, timeout=durable.WORD, isolation_level=None, check_same_thread=False
    )
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreUnusable("the ledger's file system does not support a write-ahead log", remedy="keep the ledger on a local disk")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)


@contextmanager
def _turn_at(file: Path, born: os.stat_result) -> Iterator[None]:
    """A turn at the file that was opened: one that was put in its place since then needs a new process, and a new check."""
    with turn_of(_beside(file, ".lock")):
        if not _is_same(file, born):
            raise StoreUnusable("the ledger's file was moved or replaced while it was open", remedy="restart tacit")
        yield


def _is_same(file: Path, born: os.stat_result) -> bool:
    try:
        return os.path.samestat(born, os.stat(file))
    except FileNotFoundError:
        return False
