"""Where a ledger is kept: a SQLite file, or a PostgreSQL database, by its address.

Both do the same: statements are committed one by one, except those between `begin` and COMMIT, and a COMMIT that returns is on the
disk. ledger.md says why that holds. The words of an error are from a closed list, since a driver's own may repeat a password.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar
from urllib.parse import unquote

from tacit.accounting.ledger import group_commit as durable
from tacit.accounting.ledger.connections import Connection, Database, DriverError, confirmed, roll_back, told
from tacit.accounting.ledger.entries import Entry
from tacit.accounting.ledger.pages import (
    ANSWERS,
    ASKERS,
    BOOKS,
    HAS_OPEN_INDEX,
    Asker,
    Kept,
    Line,
    Marks,
    Page,
    create_tables,
    read_lines,
    read_marks,
)
from tacit.accounting.ledger.sqlite_file import database_in
from tacit.errors import StoreUnusable

FILE = "sqlite:///"
INSTALL = "run: pip install 'tacit[postgres]'"


def connect(address: str, create: bool = False) -> Database:
    """The database at an address: sqlite:///FILE or postgresql://..., or the path of a SQLite file, which `create` makes."""
    if (file := file_of(address)) is not None:
        return database_in(file, create)
    try:
        from sqlalchemy import make_url  # takes as long to load as the rest of a question
        from sqlalchemy.exc import ArgumentError
    except ImportError:
        raise StoreUnusable("this ledger requires SQLAlchemy, which is not installed", remedy=INSTALL) from None

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


# --- the ledger on disk ------------------------------------------------------------------------------------------------------


PAUSES = (0.05, 0.2, 1.0)  # seconds before each further attempt at something that failed before COMMIT
LOOK = 0.05  # seconds before another look at a lock that another program has
COMMIT = "COMMIT"
Result = TypeVar("Result")


class Store:
    """A ledger's database. Only `begin` and `write` change it, and neither takes anything away."""

    def __init__(self, address: str, create: bool = False) -> None:
        self._address, self._create = address, create
        self._left_behind: list[Database] = []
        self._process, self._connected = self._connect()

    def begin(self, first: Entry, units: str) -> bool:
        """Creates a ledger with its first entry; writes nothing and returns False if one exists."""
        if self.has(BOOKS):
            return False
        return self.convert(lambda connection: create_tables(connection, first, first.hash, units))

    def has(self, table: str) -> bool:
        """Whether a table with that name is there."""
        return self._read(lambda connection: connection.has(table))

    def has_open_index(self) -> bool:
        """Whether open questions have an index."""
        return self._read(lambda connection: bool(connection.run(HAS_OPEN_INDEX[connection.kind])))

    def convert(self, work: Callable[[Connection], Result]) -> Result:
        """What `work` does in one transaction, alone, before there is a row to lock."""
        return self._again(lambda: self._transaction(work, self._database.creation_lock))

    def write(self, work: Callable[[Page], Result], flush: bool = True) -> Result:
        """What `work` makes of the ledger's page, in one transaction; when it is returned, what was written is on the disk.

        If `work` raises, nothing is written. Before COMMIT was sent, an error that may pass is tried again; after it nobody
        knows whether the entry is there, and the error says that it counts. Without `flush` the next flush brings it to the disk:
        for what may be lost with the machine.
        """
        return self._again(lambda: self._transaction(lambda connection: work(Page(connection)), self._database.lock, flush))

    def look(self, work: Callable[[Page], Result]) -> Result:
        """What `work` reads from the ledger's page, as of one moment."""
        return self._again(lambda: self._transaction(lambda connection: work(Page(connection)), None, flush=False, turn=False))

    def lines(self, after: int, count: int) -> list[Line]:
        """At most `count` entries that follow the number `after`, in order; without a look at the books."""
        return self._read(lambda connection: read_lines(connection, after, count))

    def marks(self) -> Marks:
        """The unchecked state of the ledger at one moment."""
        return self._again(lambda: self._transaction(read_marks, flush=False, turn=False))

    def answers(self, after: str, count: int) -> list[Kept]:
        """At most `count` kept answers whose keys follow `after`, in order."""
        return self._read(lambda connection: [Kept(*row) for row in connection.run(ANSWERS, after=after, most=count)])

    def askers(self, after: tuple[str, str], count: int) -> list[Asker]:
        """At most `count` of those who have paid for a kept answer, which follow the key and the analyst `after`, in order."""
        key, who = after
        return self._read(lambda connection: [Asker(*row) for row in connection.run(ASKERS, after=key, who=who, most=count)])

    @property
    def _database(self) -> Database:
        """The database of this process. After a fork it is connected anew; the parent's connections are kept, never closed."""
        if self._process != os.getpid():
            self._left_behind.append(self._connected)
            self._process, self._connected = self._connect()
        return self._connected

    def _connect(self) -> tuple[int, Database]:
        """A database of this process, whose connections are closed when the store is gone, by this process alone."""
        process, database = os.getpid(), connect(self._address, self._create)
        weakref.finalize(self, lambda: database.pool.dispose() if os.getpid() == process else None)
        return process, database

    def _read(self, work: Callable[[Connection], Result]) -> Result:
        def reading() -> Result:
            with self._database.pool.connect() as connection:
                return work(connection)

        return self._again(reading)

    def _transaction(
        self, work: Callable[[Connection], Result], lock: str | None = None, flush: bool = True, turn: bool = True
    ) -> Result:
        database = self._database
        with database.turn() if turn else nullcontext(), database.pool.connect() as connection:
            connection.run(database.begin if turn else database.begin_reading)
            try:
                if lock:
                    connection.run(lock)
                result = work(connection)
            except BaseException:
                roll_back(connection)
                raise
            with confirmed():
                connection.run(COMMIT)
                number = database.taken() if flush else None
        if number is not None:
            with confirmed():
                database.settle(number)
        return result

    def _again(self, work: Callable[[], Result]) -> Result:
        """What `work` returns, tried again where an error may pass; a lock that another program has is waited for so long."""
        end, pauses, said = time.monotonic() + durable.PATIENCE, iter(PAUSES), False
        with told():
            while True:
                try:
                    return work()
                except DriverError as error:
                    waiting = error.held and (not said or time.monotonic() < end)
                    pause = LOOK if waiting else next(pauses, None) if error.transient else None
                    if pause is None:
                        raise
                if waiting and not said:
                    durable.say_waiting()
                    said = True
                time.sleep(pause)
