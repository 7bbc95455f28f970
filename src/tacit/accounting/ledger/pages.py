"""The tables of a ledger, and a page: the ledger inside one transaction.

    tacit_books      one row: which ledger it is, its format, and its last entry
    tacit_entries    every entry: its canonical text and the hash of it
    tacit_accounts   the sums and failures of each analyst; every entry holds a digest of them all
    tacit_units      declarations of units, by their fingerprints
    tacit_kept       questions that are being answered, and answers that were released, by question
    tacit_askers     who has paid for which of them

A page begins by reading the last entry and comparing the accounts with it: sums that are not those of the chain are never used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import sqlalchemy as sql

from tacit.accounting.ledger.books import Books, Kept, Line, Marks
from tacit.accounting.ledger.entries import FORMAT, Account, Entry, accounts_digest, entry_from, hash_of, state_from, state_text
from tacit.errors import StoreUnusable

PAGE = 1000
DAMAGED = "restore the ledger from a backup; `tacit history` lists what is wrong"
Whole = sql.Integer().with_variant(sql.BigInteger(), "postgresql")

TABLES = sql.MetaData()
BOOKS = sql.Table(
    "tacit_books",
    TABLES,
    sql.Column("place", sql.Integer, sql.CheckConstraint("place = 1"), primary_key=True),
    sql.Column("identity", sql.Text, nullable=False),
    sql.Column("format", sql.Integer, nullable=False),
    sql.Column("number", Whole, nullable=False),
    sql.Column("hash", sql.Text, nullable=False),
)
ACCOUNTS = sql.Table(
    "tacit_accounts",
    TABLES,
    sql.Column("analyst", sql.Text, primary_key=True),
    sql.Column("spent", sql.Text, nullable=False),
    sql.Column("failures", sql.Integer, nullable=False),
)
ENTRIES = sql.Table(
    "tacit_entries",
    TABLES,
    sql.Column("number", Whole, primary_key=True, autoincrement=False),
    sql.Column("hash", sql.Text, nullable=False),
    sql.Column("text", sql.Text, nullable=False),
)
UNITS = sql.Table(
    "tacit_units",
    TABLES,
    sql.Column("fingerprint", sql.Text, primary_key=True),
    sql.Column("text", sql.Text, nullable=False),
)
KEPT = sql.Table(
    "tacit_kept",
    TABLES,
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("entry", Whole, sql.ForeignKey(ENTRIES.c.number), nullable=False),
    sql.Column("until", sql.Float, nullable=False),
    sql.Column("answer", Whole, sql.ForeignKey(ENTRIES.c.number)),
    sql.Column("text", sql.Text),
)
ASKERS = sql.Table(
    "tacit_askers",
    TABLES,
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("analyst", sql.Text, primary_key=True),
    sql.Column("entry", Whole, sql.ForeignKey(ENTRIES.c.number), nullable=False),
)
LAST = (BOOKS.c.identity, BOOKS.c.format, BOOKS.c.number, BOOKS.c.hash, ENTRIES.c.hash.label("own"), ENTRIES.c.text)
READ_BOOKS = sql.select(*LAST).select_from(BOOKS.outerjoin(ENTRIES, ENTRIES.c.number == BOOKS.c.number))
READ_ACCOUNTS = sql.select(ACCOUNTS.c.analyst, ACCOUNTS.c.spent, ACCOUNTS.c.failures)
READ_KEPT = sql.select(KEPT).where(KEPT.c.key == sql.bindparam("wanted"))
READ_ASKER = sql.select(ASKERS.c.entry).where(ASKERS.c.key == sql.bindparam("wanted"), ASKERS.c.analyst == sql.bindparam("who"))
READ_UNITS = sql.select(UNITS.c.text).where(UNITS.c.fingerprint == sql.bindparam("wanted"))
LINES = sql.select(ENTRIES.c.number, ENTRIES.c.hash, ENTRIES.c.text).order_by(ENTRIES.c.number)
APPEND = sql.insert(ENTRIES)
MOVE = sql.update(BOOKS).values(number=sql.bindparam("last"), hash=sql.bindparam("last_hash"))


@cache
def _insert(dialect: str) -> Any:
    """`INSERT` with ON CONFLICT, for which each database has its own words; of the two, the one in use: they take long to load."""
    return import_module(f"sqlalchemy.dialects.{dialect}").insert


@cache
def _put(dialect: str, table: sql.Table) -> sql.Insert:
    """Put a row in the place of the one with the same key."""
    adding = _insert(dialect)(table)
    keys = [column.name for column in table.primary_key]
    others = {column.name: adding.excluded[column.name] for column in table.columns if column.name not in keys}
    return adding.on_conflict_do_update(index_elements=keys, set_=others)  # type: ignore[no-any-return]


class Page:
    """The ledger inside one transaction: what is read through it and what is appended happens together, or not at all."""

    def __init__(self, connection: sql.Connection) -> None:
        self._connection = connection
        self.books = read_books(connection)

    def append(self, entry: Entry, accounts: Mapping[str, Account] | None = None) -> Entry:
        """Write the entry, and the accounts that it changes; it must hold the digest of all accounts after it."""
        text = entry.text
        digest = hash_of(text)
        _run(self._connection, APPEND, number=entry.number, hash=digest, text=text)
        _run(self._connection, MOVE, last=entry.number, last_hash=digest)
        for name, account in (accounts or {}).items():
            row = {"analyst": name, "spent": state_text(account.spent), "failures": account.failures}
            _run(self._connection, _put(self._connection.dialect.name, ACCOUNTS), **row)
        self.books = Books(entry, digest, {**self.books.accounts, **(accounts or {})})
        return entry

    def kept(self, key: str) -> Kept | None:
        """The question or answer under a key."""
        row = _run(self._connection, READ_KEPT, wanted=key).first()
        return None if row is None else Kept(*tuple(row))

    def keep(self, kept: Kept) -> None:
        """Writes a kept answer, in the place of an earlier one under its key."""
        _run(self._connection, _put(self._connection.dialect.name, KEPT), **_row(kept))

    def asked(self, key: str, analyst: str) -> int | None:
        """The entry by which an analyst has paid for what is under a key."""
        row = _run(self._connection, READ_ASKER, wanted=key, who=analyst).first()
        return None if row is None else int(row.entry)

    def note_asker(self, key: str, analyst: str, entry: int) -> None:
        """Notes at which entry an analyst asked for a kept answer."""
        _run(self._connection, _put(self._connection.dialect.name, ASKERS), key=key, analyst=analyst, entry=entry)

    def units(self, fingerprint: str) -> str | None:
        """The declaration of units with a fingerprint."""
        row = _run(self._connection, READ_UNITS, wanted=fingerprint).first()
        if row is not None and hash_of(row.text) != fingerprint:
            raise StoreUnusable("the ledger's declaration of units was changed", remedy=DAMAGED)
        return None if row is None else str(row.text)

    def note_units(self, fingerprint: str, text: str) -> None:
        """Notes the text behind a fingerprint of units."""
        _run(self._connection, _put(self._connection.dialect.name, UNITS), fingerprint=fingerprint, text=text)

    def line(self, number: int) -> Line | None:
        """The line of an entry, or None."""
        return next(iter(self.lines(number - 1, 1)), None)

    def lines(self, after: int, count: int) -> list[Line]:
        """At most `count` entries that follow the number `after`, in order."""
        return read_lines(self._connection, after, count)

    def all_lines(self) -> Iterator[Line]:
        """Every entry, in order."""
        return every_line(self.lines)


def create_tables(connection: sql.Connection, last: Entry, digest: str, units: str) -> bool:
    """Make the tables with one entry in them, unless another process was first; whether it was this one."""
    TABLES.create_all(connection)
    if connection.scalar(sql.select(BOOKS.c.place)) is not None:
        return False
    row = {"place": 1, "identity": last.ledger, "format": FORMAT, "number": last.number, "hash": digest}
    connection.execute(sql.insert(BOOKS), row)
    connection.execute(sql.insert(ENTRIES), {"number": last.number, "hash": digest, "text": last.text})
    if last.units:
        connection.execute(sql.insert(UNITS), {"fingerprint": last.units, "text": units})
    return True


def read_marks(connection: sql.Connection) -> Marks:
    """The unchecked state of the ledger, for reading the whole chain."""
    row = _run(connection, READ_BOOKS).first()
    if row is None:
        raise StoreUnusable("the ledger has lost its row", remedy=DAMAGED)
    return Marks(row.identity, row.number, row.hash, _read_accounts(connection))


def _read_accounts(connection: sql.Connection) -> dict[str, Account]:
    return {at.analyst: Account(state_from(at.spent), at.failures) for at in _run(connection, READ_ACCOUNTS)}


def read_books(connection: sql.Connection) -> Books:
    """The last entry with all accounts, refused where they do not agree with each other."""
    row = _run(connection, READ_BOOKS).first()
    if row is None or row.text is None:
        raise StoreUnusable("the ledger has lost its last entry", remedy=DAMAGED)
    if row.format != FORMAT:
        raise StoreUnusable(f"unsupported ledger format {row.format}: expected {FORMAT}", remedy="update tacit")
    if not row.hash == row.own == hash_of(row.text):
        raise StoreUnusable("the last entry of the ledger was changed", remedy=DAMAGED)
    last = entry_from(row.text)
    accounts = _read_accounts(connection)
    if last.ledger != row.identity or last.accounts != accounts_digest(accounts):
        raise StoreUnusable("the accounts of the ledger do not match its last entry", remedy=DAMAGED)
    return Books(last, row.hash, accounts)


def every_line(pages: Callable[[int, int], list[Line]], first: int = 0) -> Iterator[Line]:
    """Every line from a number on, a page at a time."""
    after = first - 1
    while found := pages(after, PAGE):
        yield from found
        after = found[-1].number


def read_lines(connection: sql.Connection, after: int, count: int) -> list[Line]:
    """At most `count` lines after the entry `after`, in order."""
    wanted = LINES.where(ENTRIES.c.number > after).limit(count)
    return [Line(*row) for row in connection.execute(wanted)]


def _row(kept: Kept) -> dict[str, Any]:
    return {"key": kept.key, "entry": kept.entry, "until": kept.until, "answer": kept.answer, "text": kept.text}


def _run(connection: sql.Connection, statement: sql.Executable, **values: Any) -> sql.CursorResult[Any]:
    """Run a statement that is compiled once: all others wait while one has its turn."""
    text, names = _compiled(statement, connection.dialect)
    return connection.exec_driver_sql(text, tuple(values[name] for name in names) if names else values)


@lru_cache(maxsize=64)
def _compiled(statement: sql.Executable, dialect: sql.Dialect) -> tuple[str, tuple[str, ...]]:
    """The words of a statement, and the order of its values where the database counts them instead of naming them."""
    ready = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    return str(ready), tuple(ready.positiontup or ())
