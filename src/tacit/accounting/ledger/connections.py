"""The connections of a ledger to its database: statements in one set of words, errors by their codes, and SQLite files.

Statements name their values (`:number`), and mean the same in SQLite and in PostgreSQL. A SQLite file is used through Python's own
driver, PostgreSQL through SQLAlchemy (postgres.py), which takes as long to load as the rest of a question and so is loaded for it
alone. ledger.md says why a commit lasts.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, Protocol
from urllib.parse import quote

from tacit.accounting.ledger import group_commit as durable
from tacit.accounting.ledger.group_commit import GroupCommit, turn_of
from tacit.errors import NoLedger, StoreUnusable
from tacit.files import create_private, sync_folder

Turn = Callable[[], AbstractContextManager[object]]


class Connection(Protocol):
    """One connection. Statements are committed one by one, except those between BEGIN and COMMIT. `kind` is the database's name."""

    @property
    def kind(self) -> str: ...

    def run(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """All rows of a statement; raises DriverError."""

    def has(self, table: str) -> bool:
        """Whether a table with that name is there."""

    def invalidate(self) -> None:
        """Close it for good: it never goes back to its pool."""


class Pool(Protocol):
    """The connections of one process to one database."""

    def connect(self) -> AbstractContextManager[Connection]:
        """A connection for one thread, until the end of the block; a transaction that is open then is rolled back."""

    def dispose(self) -> None:
        """Close the connections that are not in use."""


@dataclass(frozen=True, slots=True)
class Database:
    """An open database: its pool of connections, how one writer at a time gets its turn, and how its transaction begins.

    After COMMIT, and still in its turn, a writer takes a number with `taken`; `settle` then returns when the commit is on the disk.
    `lock` is what a transaction says next where `begin` does not shut others out; `creation_lock`, before there is a row to lock.
    `begin_reading` begins one that writes nothing and sees one moment.
    """

    pool: Pool
    turn: Turn
    begin: str
    begin_reading: str
    take_number: Callable[[], int]
    settle: Callable[[int], None]
    lock: str | None = None
    creation_lock: str | None = None


# --- what an error means -----------------------------------------------------------------------------------------------------

REASONS = {
    "SQLITE_BUSY": ("another program holds the ledger", "close it, and try again"),
    "SQLITE_CANTOPEN": ("the ledger's file cannot be opened", "check that it exists, and its permissions"),
    "SQLITE_READONLY": ("the ledger's file is not writable", "check its permissions and its owner"),
    "SQLITE_FULL": ("the disk of the ledger is full", "free some space"),
    "SQLITE_NOTADB": ("the ledger's file is not a SQLite database", "restore the ledger from a backup"),
    "SQLITE_CORRUPT": ("the ledger's file is damaged", "restore the ledger from a backup"),
    "08": ("cannot connect to the ledger's PostgreSQL", "check the URL and the credentials, and that the server is running"),
    "28": ("the ledger's PostgreSQL rejected the credentials", "check the user name and the password in the URL"),
    "3D": ("the database of the ledger does not exist in PostgreSQL", "create it, or correct the URL"),
    "42501": ("the ledger's PostgreSQL user has no write permission", "grant the user permission to create and write tables"),
    "55P03": ("another program holds the ledger", "find the open transaction in PostgreSQL, and end it"),
    "57": ("the ledger's PostgreSQL was stopped", "start it again"),
}
# A number that is taken already means that another writer was there first: never seen behind the locks, and harmless.
TAKEN = ("SQLITE_CONSTRAINT_PRIMARYKEY", "23505")
HELD = ("SQLITE_BUSY", "55P03")
TRANSIENT = (*TAKEN, "40001", "40P01", "08", "57P01", "57P02", "57P03", "25P03")


class DriverError(Exception):
    """An error of a driver: SQLite's name of it or PostgreSQL's state, and its type; not its words, which may repeat a password."""

    def __init__(self, code: str, kind: str) -> None:
        super().__init__(code or kind)
        self.code, self.kind = code, kind

    @property
    def is_held(self) -> bool:
        """Whether another program has the lock that was waited for."""
        return self.code.startswith(HELD)

    @property
    def transient(self) -> bool:
        """Whether the same may well succeed when it is tried again."""
        return self.code.startswith(TRANSIENT)


@contextmanager
def with_a_remedy() -> Iterator[None]:
    """Turns a driver's error into one that says what to do."""
    try:
        yield
    except DriverError as error:
        otherwise = ("the ledger cannot be read or written", f"check its database ({error.code or error.kind})")
        message, remedy = next((words for start, words in REASONS.items() if error.code.startswith(start)), otherwise)
        raise StoreUnusable(message, remedy=remedy) from None


def roll_back(connection: Connection) -> None:
    """End a transaction that is not to be kept; a connection that is lost has ended it already."""
    try:
        connection.run("ROLLBACK")
    except DriverError:
        connection.invalidate()


@contextmanager
def commit_in_doubt() -> Iterator[None]:
    """From COMMIT on, an error leaves open what was written; then it counts."""
    try:
        yield
    except (DriverError, OSError):
        raise StoreUnusable(
            "the ledger did not confirm the last entry: if it was written, it counts as spent",
            remedy="check `tacit history` before asking again",
        ) from None


# --- connections to a SQLite file --------------------------------------------------------------------------------------------


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
    return Database(FilePool(file), lambda: _turn_at(file, born), "BEGIN IMMEDIATE", "BEGIN", group.take_number, group.settle)


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
            connection = self._take_connection()
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

    def _take_connection(self) -> FileConnection:
        try:
            return self._idle.pop()
        except IndexError:
            with _by_code():
                return FileConnection(_open_file(self._file))

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
    _open_file(file).close()
    sync_folder(file.parent)


def _open_file(file: Path) -> sqlite3.Connection:
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
