"""The ledger on disk: one transaction for what must happen together, and nothing that takes a row away.

`Ledger.verify` reads the whole chain. A ledger of format 1 has tables of its own, and is converted when it is opened
(`upgrade.py`); its entries and answers stay as they are.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

from tacit.accounting.ledger import group_commit as durable
from tacit.accounting.ledger.books import Asker, Kept, Line, Marks
from tacit.accounting.ledger.connections import Connection, Database, DriverError, confirmed, roll_back, told
from tacit.accounting.ledger.databases import connect
from tacit.accounting.ledger.entries import Entry
from tacit.accounting.ledger.pages import Page, create_tables, read_lines, read_marks
from tacit.accounting.ledger.statements import ANSWERS, ASKERS, BOOKS, HAS_OPEN_INDEX

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
