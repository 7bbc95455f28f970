"""The ledger on disk: a SQLite file or a PostgreSQL database by its address, its transactions, and the conversion of format 1.

Both databases do the same: statements are committed one by one, except those between `begin` and COMMIT, and a COMMIT that returns
is on the disk. ledger.md says why that holds. The words of an error are from a closed list, since a driver's own may repeat a
password.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from tacit.accounting.ledger import group_commit as durable
from tacit.accounting.ledger.chain import Reader, merge_accounts, nothing, read_chain
from tacit.accounting.ledger.connections import (
    Connection,
    Database,
    DriverError,
    commit_in_doubt,
    database_in,
    roll_back,
    with_a_remedy,
)
from tacit.accounting.ledger.entries import Account, Entry, accounts_digest, entry_from, state_from, state_text
from tacit.accounting.ledger.pages import (
    ANSWERS,
    ASKERS,
    BOOKS,
    HAS_OPEN_INDEX,
    PERIODS,
    PUT_ACCOUNT,
    Asker,
    Kept,
    Line,
    Marks,
    Page,
    create_tables,
    every_line,
    index_open,
    make_periods,
    read_lines,
    read_marks,
)
from tacit.accounting.ledger.units import UNKNOWN, Policy
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

    @property
    def file(self) -> Path | None:
        """The file of a ledger in SQLite; None for one on a server."""
        file = self._address.removeprefix("sqlite:///")
        return None if file == self._address or file.startswith(":") else Path(file)

    def begin(self, first: Entry, units: str) -> bool:
        """Creates a ledger with its first entry; writes nothing and returns False if one exists."""
        if self.has(BOOKS):
            return False
        return self.convert(lambda connection: create_tables(connection, first, first.hash, units))

    def has(self, table: str) -> bool:
        """Whether a table with that name is there."""
        return self._read(lambda connection: connection.has(table))

    @cached_property
    def has_periods(self) -> bool:
        """Whether there is the table of periods, which is made when a ledger is begun or opened."""
        return self.has(PERIODS)

    def has_open_index(self) -> bool:
        """Whether open questions have an index."""
        return self._read(lambda connection: bool(connection.run(HAS_OPEN_INDEX[connection.kind])))

    def convert(self, work: Callable[[Connection], Result]) -> Result:
        """The result of `work` in one transaction, alone, before there is a row to lock."""
        return self._again(lambda: self._transaction(work, self._database.creation_lock))

    def write(self, work: Callable[[Page], Result], flush: bool = True) -> Result:
        """The result of `work` on the ledger's page, in one transaction; when it is returned, its entries are on the disk.

        If `work` raises, nothing is written. Before COMMIT was sent, an error that may pass is tried again; after it the outcome
        is unknown, and the error says that the entry counts if it was written. Without `flush` the next flush brings the entry to
        the disk: for entries that may be lost with the machine.
        """
        paged = self.has_periods
        return self._again(lambda: self._transaction(lambda connection: work(Page(connection, paged)), self._database.lock, flush))

    def look(self, work: Callable[[Page], Result]) -> Result:
        """The result of `work`, which reads the ledger's page as of one moment."""
        paged = self.has_periods
        return self._again(
            lambda: self._transaction(lambda connection: work(Page(connection, paged)), None, flush=False, turn=False)
        )

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
        def read_once() -> Result:
            with self._database.pool.connect() as connection:
                return work(connection)

        return self._again(read_once)

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
            with commit_in_doubt():
                connection.run(COMMIT)
                number = database.take_number() if flush else None
        if number is not None:
            with commit_in_doubt():
                database.settle(number)
        return result

    def _again(self, work: Callable[[], Result]) -> Result:
        """The result of `work`, tried again if an error may pass; waits up to PATIENCE seconds for the lock of another program."""
        end, pauses, said = time.monotonic() + durable.PATIENCE, iter(PAUSES), False
        with with_a_remedy():
            while True:
                try:
                    return work()
                except DriverError as error:
                    waiting = error.is_held and (not said or time.monotonic() < end)
                    pause = LOOK if waiting else next(pauses, None) if error.transient else None
                    if pause is None:
                        raise
                if waiting and not said:
                    durable.say_waiting()
                    said = True
                time.sleep(pause)


# --- a ledger of format 1 becomes one of today's -----------------------------------------------------------------------------


OLD, OLD_SPENT, SET_ASIDE = "tacit_ledger", "tacit_spent", "tacit_ledger_of_format_1"
BROKEN = "restore the ledger from a backup; it was changed before it was converted"


def convert_format_1(store: Store, policy: Policy, now: str) -> bool:
    """Whether there is a ledger at all; one of format 1 is converted, once, in one transaction.

    Its entries stay as they are, and the chain goes on over both formats. The whole chain is read first, and a broken one is
    refused. The first entry of the new format carries over the accounts (the sums of two spellings of one name are added up) and
    the number of questions. The old entries do not say which units they counted for: until the store that they were paid for says
    it, or the data owner, nothing more is admitted (units.md). The old row of the ledger is renamed, so that a program of the old
    format finds no ledger, and cannot begin one over these entries.
    """
    if store.has(BOOKS):
        _index(store)
        return True
    if not store.has(OLD):
        return False
    store.convert(lambda connection: _convert(connection, policy, now))
    return True


def _index(store: Store) -> None:
    """Index the open questions of a ledger that was begun without it; where that is not permitted, they are searched for.

    The same for the table of periods, without which no budget of a period is kept.
    """
    with suppress(StoreUnusable):
        if not store.has_open_index():
            store.convert(index_open)
    with suppress(StoreUnusable):
        if not store.has(PERIODS):
            store.convert(make_periods)


def _convert(connection: Connection, policy: Policy, now: str) -> None:
    if not connection.has(OLD):
        return  # another process was first
    if connection.kind == "postgresql":
        connection.run(f"LOCK TABLE {OLD} IN ACCESS EXCLUSIVE MODE")  # no older program writes meanwhile
    reader, last = _read(connection)
    entry = _next(reader, last, policy, now)
    accounts = merge_accounts(reader.accounts)
    create_tables(connection, entry, entry.hash, policy.units.text)
    for name, one in accounts.items():
        connection.run(PUT_ACCOUNT, analyst=name, spent=state_text(one.spent), failures=one.failures)
    connection.run(f"ALTER TABLE {OLD} RENAME TO {SET_ASIDE}")


def _read(connection: Connection) -> tuple[Reader, Entry]:
    """The old chain, whole, with the sums that were kept beside it."""
    lines = list(every_line(partial(read_lines, connection)))
    reader, problems = read_chain(lines)
    rows = connection.run(f"SELECT identity, number, hash, spent FROM {OLD}")  # noqa: S608  # a constant
    kept = connection.run(f"SELECT analyst, spent FROM {OLD_SPENT}")  # noqa: S608
    same = [row[:3] for row in rows] == [(reader.ledger, reader.number, reader.hash)]
    sums = {name: Account(state_from(spent)) for name, spent in kept}
    if problems or not same or state_from(rows[0][3]) != reader.spent or sums != reader.accounts:
        first = problems[0] if problems else "its sums do not match its entries"
        raise StoreUnusable(f"the ledger is damaged: {first}", remedy=BROKEN)
    return reader, entry_from(lines[-1].text)


def _next(reader: Reader, last: Entry, policy: Policy, now: str) -> Entry:
    """The first entry of the new format. Where nothing was ever paid for, there are no old units to ask about."""
    return Entry(
        reader.ledger,
        reader.number + 1,
        reader.hash,
        now,
        kind="format",
        price=nothing(last.price.neighbours),
        cap=last.cap,
        spent=reader.spent,
        units=UNKNOWN if reader.paid else policy.units.fingerprint,
        questions=reader.questions,
        accounts=accounts_digest(merge_accounts(reader.accounts)),
        details={"data_set": policy.data_set, "catalog": policy.catalog},
    )
