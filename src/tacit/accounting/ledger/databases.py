"""Where a ledger is kept: a SQLite file, or a PostgreSQL database. How to connect, whose turn it is, and what an error means.

Both do the same: statements are committed one by one, except those between `begin` and COMMIT, and a COMMIT that returns is on the
disk. ledger.md says why that holds. The words of an error are from a closed list, since a driver's own may repeat a password.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, make_url, text
from sqlalchemy.event import listen
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from tacit.accounting.ledger import group_commit as durable
from tacit.accounting.ledger.group_commit import GroupCommit, turn_of
from tacit.errors import NoLedger, StoreUnusable
from tacit.files import create_private, sync_folder

CREATION = 0x7AC17  # the number of the advisory lock under which PostgreSQL tables are made
DURABLE = ("fsync", "full_page_writes")  # without the second a power failure can tear a page of the ledger

BEGIN = "ask the data owner to run this once: tacit ledger begin"

Turn = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Database:
    """An open database: its pool of connections, how one writer at a time gets its turn, and how its transaction begins.

    After COMMIT, and still in its turn, a writer takes a number with `taken`; `settle` then returns when the commit is on the disk.
    `lock` is what a transaction says next where `begin` does not shut others out; `creation_lock`, before there is a row to lock.
    `begin_reading` begins one that writes nothing and sees one moment.
    """

    engine: Engine
    turn: Turn
    begin: str
    begin_reading: str
    taken: Callable[[], int]
    settle: Callable[[int], None]
    lock: str | None = None
    creation_lock: str | None = None


def connect(address: str, create: bool = False) -> Database:
    """The database at an address: sqlite:///FILE or postgresql://..., or the path of a SQLite file, which `create` makes."""
    try:
        url = make_url(address if "://" in address else f"sqlite:///{address}")
    except (ArgumentError, ValueError):  # a port that is not a number is a ValueError, which quotes it
        raise _unreadable() from None
    kind = url.get_backend_name().replace("postgresql", "postgres")
    if kind == "sqlite":
        return _sqlite(url, create)
    if kind == "postgres":
        return _postgres(url)
    raise StoreUnusable(f"unsupported ledger database: {kind}", remedy="write sqlite:///FILE or postgresql://...")


def _unreadable() -> StoreUnusable:
    return StoreUnusable("invalid ledger URL", remedy="write sqlite:///FILE or postgresql://USER@HOST:PORT/DATABASE")


def _sqlite(url: URL, create: bool) -> Database:
    if not url.database or url.database.startswith((":", "file:")):
        raise StoreUnusable("a ledger in memory is not supported: it would be lost with the process", remedy="write sqlite:///FILE")
    file = Path(url.database).absolute()
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
    engine = create_engine(
        "sqlite://", creator=lambda: _opened(file), poolclass=QueuePool, isolation_level="AUTOCOMMIT", hide_parameters=True
    )
    group = GroupCommit(_beside(file, "-wal"), _beside(file, ".lock"), _beside(file, ".flush"))
    return Database(engine, lambda: _turn_at(file, born), "BEGIN IMMEDIATE", "BEGIN", group.taken, group.settle)


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


def _postgres(url: URL) -> Database:
    try:
        engine = create_engine(
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
        raise _unreadable() from None
    listen(engine, "connect", lambda connection, _: connection.execute(_session()))
    with told(), engine.connect() as connection:
        off = [setting for setting in DURABLE if connection.scalar(text(f"SHOW {setting}")) != "on"]
    if off:
        engine.dispose()
        raise StoreUnusable(
            f"PostgreSQL runs with {off[0]} = off, so a spend could be lost", remedy=f"set {off[0]} = on in PostgreSQL"
        )
    threads = Lock()  # so that the threads of this process use one connection for their turns and not one each
    return Database(
        engine,
        lambda: _turn_of(threads),
        begin="BEGIN ISOLATION LEVEL READ COMMITTED",
        begin_reading="BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        taken=lambda: 0,
        settle=lambda _: None,
        lock="SELECT number FROM tacit_books FOR UPDATE",
        creation_lock=f"SELECT pg_advisory_xact_lock({CREATION})",
    )


def _session() -> str:
    """How long a statement waits for a lock before a word is said, and when a transaction of a stopped process is given up."""
    word, patience = (round(1000 * seconds) for seconds in (durable.WORD, durable.PATIENCE))
    limits = f"SET lock_timeout = {word}; SET idle_in_transaction_session_timeout = {patience}"
    return f"SET synchronous_commit = on; {limits}"


@contextmanager
def _turn_of(threads: Lock) -> Iterator[None]:
    if not threads.acquire(timeout=durable.PATIENCE):
        raise durable.held("another thread of this process")
    try:
        yield
    finally:
        threads.release()


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


def code_of(error: SQLAlchemyError) -> str:
    """SQLite's name of an error, or PostgreSQL's state; a connection that is lost without one counts as 08."""
    original = getattr(error, "orig", None)
    found = getattr(original, "sqlite_errorname", None) or getattr(original, "sqlstate", None)
    lost = isinstance(error, DBAPIError) and (error.connection_invalidated or type(original).__module__.startswith("psycopg"))
    return str(found) if found else ("08" if lost else "")


def is_held(error: SQLAlchemyError) -> bool:
    """Whether another program has the lock that was waited for."""
    return code_of(error).startswith(HELD)


def transient(error: SQLAlchemyError) -> bool:
    """Whether the same may well succeed when it is tried again."""
    return code_of(error).startswith(TRANSIENT)


@contextmanager
def told() -> Iterator[None]:
    """Turns a driver's error into one that says what to do."""
    try:
        yield
    except SQLAlchemyError as error:
        code = code_of(error)
        otherwise = ("the ledger cannot be read or written", f"check its database ({code or type(error).__name__})")
        message, remedy = next((words for start, words in REASONS.items() if code.startswith(start)), otherwise)
        raise StoreUnusable(message, remedy=remedy) from None


def roll_back(connection: Connection) -> None:
    """End a transaction that is not to be kept; a connection that is lost has ended it already."""
    try:
        connection.exec_driver_sql("ROLLBACK")
    except SQLAlchemyError:
        connection.invalidate()


@contextmanager
def confirmed() -> Iterator[None]:
    """From COMMIT on, an error leaves open what was written; then it counts."""
    try:
        yield
    except (SQLAlchemyError, OSError):
        raise StoreUnusable(
            "the ledger did not confirm the last entry: if it was written, it counts as spent",
            remedy="check `tacit history` before asking again",
        ) from None
