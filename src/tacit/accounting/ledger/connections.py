"""What a ledger needs of its database: statements in one set of words, and errors by their codes.

Statements name their values (`:number`), and mean the same in SQLite and in PostgreSQL. A SQLite file is used through Python's own
driver, PostgreSQL through SQLAlchemy, which takes as long to load as the rest of a question and so is loaded for it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.errors import StoreUnusable

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
        """Close it for good: nobody gets it again."""


class Pool(Protocol):
    """The connections of one process to one database."""

    def connect(self) -> AbstractContextManager[Connection]:
        """A connection for one thread, until the end of the block; a transaction that is open then is rolled back."""

    def dispose(self) -> None:
        """Close the connections that nobody uses."""


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
    taken: Callable[[], int]
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
    def held(self) -> bool:
        """Whether another program has the lock that was waited for."""
        return self.code.startswith(HELD)

    @property
    def transient(self) -> bool:
        """Whether the same may well succeed when it is tried again."""
        return self.code.startswith(TRANSIENT)


@contextmanager
def told() -> Iterator[None]:
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
def confirmed() -> Iterator[None]:
    """From COMMIT on, an error leaves open what was written; then it counts."""
    try:
        yield
    except (DriverError, OSError):
        raise StoreUnusable(
            "the ledger did not confirm the last entry: if it was written, it counts as spent",
            remedy="check `tacit history` before asking again",
        ) from None
