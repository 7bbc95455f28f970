"""The ledger on disk: four tables, one transaction for what must happen together, and nothing that takes a row away.

    tacit_ledger     one row: which ledger it is, its last entry, and the sums of all spends
    tacit_spent      the sums of each analyst
    tacit_entries    every entry: its canonical text and the hash of it
    tacit_answers    answers that were released, by question

The sums are a cache: `Ledger.verify` computes them again from the entries.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, TypeVar

import sqlalchemy as sql
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tacit.accounting.databases import Database, confirmed, connect, roll_back, told, transient
from tacit.accounting.entries import Entry, hash_of, state_from, state_text
from tacit.accounting.filter import NOTHING_SPENT, State
from tacit.errors import InvalidInput, StoreUnusable

PAUSES = (0.05, 0.2, 1.0)  # seconds before each further attempt at something that failed before COMMIT
COMMIT = "COMMIT"
Result = TypeVar("Result")
Whole = sql.Integer().with_variant(sql.BigInteger(), "postgresql")

TABLES = sql.MetaData()
LEDGER = sql.Table(
    "tacit_ledger",
    TABLES,
    sql.Column("place", sql.Integer, sql.CheckConstraint("place = 1"), primary_key=True),
    sql.Column("identity", sql.Text, nullable=False),
    sql.Column("number", Whole, nullable=False),
    sql.Column("hash", sql.Text, nullable=False),
    sql.Column("spent", sql.Text, nullable=False),
)
SPENT = sql.Table(
    "tacit_spent",
    TABLES,
    sql.Column("analyst", sql.Text, primary_key=True),
    sql.Column("spent", sql.Text, nullable=False),
)
ENTRIES = sql.Table(
    "tacit_entries",
    TABLES,
    sql.Column("number", Whole, primary_key=True, autoincrement=False),
    sql.Column("hash", sql.Text, nullable=False),
    sql.Column("text", sql.Text, nullable=False),
)
ANSWERS = sql.Table(
    "tacit_answers",
    TABLES,
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("entry", Whole, sql.ForeignKey(ENTRIES.c.number), nullable=False),
    sql.Column("text", sql.Text, nullable=False),
)

ROW = (LEDGER.c.identity, LEDGER.c.number, LEDGER.c.hash, LEDGER.c.spent, SPENT.c.spent.label("own"))
BOOKS = sql.select(*ROW).select_from(LEDGER.outerjoin(SPENT, SPENT.c.analyst == sql.bindparam("name")))
EVERYBODY = sql.select(*ROW, SPENT.c.analyst).select_from(LEDGER.outerjoin(SPENT, sql.true()))
LINES = sql.select(ENTRIES.c.number, ENTRIES.c.hash, ENTRIES.c.text).order_by(ENTRIES.c.number)
APPEND = sql.insert(ENTRIES)
MOVE = sql.update(LEDGER).values(number=sql.bindparam("last"), hash=sql.bindparam("last_hash"), spent=sql.bindparam("sums"))


@cache
def _upserts(dialect: str) -> tuple[sql.Insert, sql.Insert]:
    """Put an analyst's sums in the place of the old ones; keep an answer where there is none. Each database has its own words."""
    insert = import_module(f"sqlalchemy.dialects.{dialect}").insert  # of the two, the one in use: they take a while to load
    charge, keep = insert(SPENT), insert(ANSWERS)
    replaced = charge.on_conflict_do_update(index_elements=["analyst"], set_={"spent": charge.excluded.spent})
    return replaced, keep.on_conflict_do_nothing()


@dataclass(frozen=True, slots=True)
class Books:
    """The ledger's row, and the sums of one analyst."""

    identity: str
    number: int
    hash: str
    spent: State
    analyst_spent: State


@dataclass(frozen=True, slots=True)
class Line:
    """One entry as it is stored."""

    number: int
    hash: str
    text: str


class Store:
    """A ledger's database. Only `begin`, `write` and `remember` change it, and none of them takes anything away."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._left_behind: list[Database] = []
        self._process, self._connected = self._connect()

    def begin(self, first: Entry) -> None:
        """Make a ledger with its first entry, unless one is there."""
        if not self._again(self._is_there):
            lock = self._database.creation_lock
            self._again(lambda: self._transaction(lambda connection: _create(connection, first), lock))

    def write(self, analyst: str, decide: Callable[[Books], Entry]) -> Entry:
        """Append the entry that `decide` makes of the books, in one transaction; when it is returned, it is on the disk.

        If `decide` raises, nothing is written. Before COMMIT was sent, an error that may pass is tried again; after it nobody
        knows whether the entry is there, and the error says that it counts.
        """

        def work(connection: sql.Connection) -> Entry:
            entry = decide(_books(connection, analyst))
            _append(connection, entry)
            return entry

        return self._again(lambda: self._transaction(work, self._database.lock))

    def books(self, analyst: str = "") -> Books:
        """What the ledger's row and the analyst's row say, at one moment."""
        return self._read(lambda connection: _books(connection, analyst))

    def everybody(self) -> tuple[Books, dict[str, State]]:
        """The ledger's row and the sums of every analyst, at one moment."""
        rows = self._read(lambda connection: connection.execute(EVERYBODY).all())
        return _books_of(rows[0] if rows else None), {row.analyst: state_from(row.own) for row in rows if row.own}

    def lines(self, after: int, count: int) -> list[Line]:
        """The next `count` lines after a number."""
        wanted = LINES.where(ENTRIES.c.number > after).limit(count)
        return [Line(*row) for row in self._read(lambda connection: connection.execute(wanted).all())]

    def recall(self, key: str) -> str | None:
        """The text of the answer under a key."""
        wanted = sql.select(ANSWERS.c.text).where(ANSWERS.c.key == key)
        return self._read(lambda connection: connection.scalar(wanted))

    def remember(self, key: str, entry: int, text: str) -> None:
        """Keep the text of an answer; the first one under a key stays."""
        row = {"key": key, "entry": entry, "text": text}
        self._again(lambda: self._transaction(lambda connection: _keep(connection, row)))

    @property
    def _database(self) -> Database:
        """The database of this process. After a fork it is connected anew; the parent's connections are kept, never closed."""
        if self._process != os.getpid():
            self._left_behind.append(self._connected)
            self._process, self._connected = self._connect()
        return self._connected

    def _connect(self) -> tuple[int, Database]:
        """A database of this process, whose connections are closed when the store is gone, by this process alone."""
        process, database = os.getpid(), connect(self._address)
        weakref.finalize(self, lambda: database.engine.dispose() if os.getpid() == process else None)
        return process, database

    def _is_there(self) -> bool:
        with self._database.engine.connect() as connection:
            return sql.inspect(connection).has_table(LEDGER.name) and connection.scalar(sql.select(LEDGER.c.place)) is not None

    def _read(self, work: Callable[[sql.Connection], Result]) -> Result:
        def reading() -> Result:
            with self._database.engine.connect() as connection:
                return work(connection)

        return self._again(reading)

    def _transaction(self, work: Callable[[sql.Connection], Result], lock: str | None = None) -> Result:
        database = self._database
        with database.turn(), database.engine.connect() as connection:
            connection.exec_driver_sql(database.begin)
            try:
                if lock:
                    connection.exec_driver_sql(lock)
                result = work(connection)
            except BaseException:
                roll_back(connection)
                raise
            with confirmed():
                connection.exec_driver_sql(COMMIT)
                number = database.taken()
        with confirmed():
            database.settle(number)
        return result

    def _again(self, work: Callable[[], Result]) -> Result:
        with told():
            for pause in PAUSES:
                try:
                    return work()
                except SQLAlchemyError as error:
                    if not transient(error):
                        raise
                time.sleep(pause)
            return work()


def _create(connection: sql.Connection, first: Entry) -> None:
    TABLES.create_all(connection)
    if connection.scalar(sql.select(LEDGER.c.place)) is None:
        row = {"place": 1, "identity": first.ledger, "number": 0, "hash": first.hash, "spent": state_text(first.spent)}
        connection.execute(sql.insert(LEDGER), row)
        connection.execute(sql.insert(ENTRIES), {"number": 0, "hash": first.hash, "text": first.text})


def _books(connection: sql.Connection, analyst: str) -> Books:
    return _books_of(_run(connection, BOOKS, name=analyst).first())


def _books_of(row: Any) -> Books:
    if row is None:
        raise StoreUnusable("the ledger has lost its row", remedy="put the ledger back from where it is kept safe")
    own = NOTHING_SPENT if row.own is None else state_from(row.own)
    return Books(row.identity, row.number, row.hash, state_from(row.spent), own)


def _append(connection: sql.Connection, entry: Entry) -> None:
    text = entry.text
    digest = hash_of(text)
    _run(connection, APPEND, number=entry.number, hash=digest, text=text)
    _run(connection, MOVE, last=entry.number, last_hash=digest, sums=state_text(entry.spent))
    if entry.analyst_spent is not None:
        charge = _upserts(connection.dialect.name)[0]
        _run(connection, charge, analyst=entry.analyst, spent=state_text(entry.analyst_spent))


def _run(connection: sql.Connection, statement: sql.Executable, **values: Any) -> sql.CursorResult[Any]:
    """Run a statement that is compiled once: all others wait while one has its turn."""
    text, names = _compiled(statement, connection.dialect)
    return connection.exec_driver_sql(text, tuple(values[name] for name in names) if names else values)


@lru_cache(maxsize=64)
def _compiled(statement: sql.Executable, dialect: sql.Dialect) -> tuple[str, tuple[str, ...]]:
    """The words of a statement, and the order of its values where the database counts them instead of naming them."""
    ready = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    return str(ready), tuple(ready.positiontup or ())


def _keep(connection: sql.Connection, row: dict[str, Any]) -> None:
    try:
        connection.execute(_upserts(connection.dialect.name)[1], row)
    except IntegrityError:
        raise InvalidInput(f"an answer belongs to an entry of the ledger, and there is no entry {row['entry']}") from None
