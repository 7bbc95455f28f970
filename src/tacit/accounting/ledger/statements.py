"""The tables of a ledger, and the statements that read and write them, each compiled once.

tacit_books      one row: which ledger it is, its format, and its last entry
tacit_entries    every entry: its canonical text and the hash of it
tacit_accounts   the sums and failures of each analyst; every entry holds a digest of them all
tacit_units      declarations of units, by their fingerprints
tacit_kept       questions that are being answered, and answers that were released, by question
tacit_askers     who has paid for which of them
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import sqlalchemy as sql

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
LINES = (
    sql.select(ENTRIES.c.number, ENTRIES.c.hash, ENTRIES.c.text)
    .where(ENTRIES.c.number > sql.bindparam("after"))
    .order_by(ENTRIES.c.number)
    .limit(sql.bindparam("most"))
)
APPEND = sql.insert(ENTRIES)
MOVE = sql.update(BOOKS).values(number=sql.bindparam("last"), hash=sql.bindparam("last_hash"))


@cache
def _insert(dialect: str) -> Any:
    """`INSERT` with ON CONFLICT, for which each database has its own words; of the two, the one in use: they take long to load."""
    return import_module(f"sqlalchemy.dialects.{dialect}").insert


@cache
def put(dialect: str, table: sql.Table) -> sql.Insert:
    """Put a row in the place of the one with the same key."""
    adding = _insert(dialect)(table)
    keys = [column.name for column in table.primary_key]
    others = {column.name: adding.excluded[column.name] for column in table.columns if column.name not in keys}
    return adding.on_conflict_do_update(index_elements=keys, set_=others)  # type: ignore[no-any-return]


def run(connection: sql.Connection, statement: sql.Executable, **values: Any) -> sql.CursorResult[Any]:
    """Run a statement that is compiled once: all others wait while one has its turn."""
    text, names, constants = _compiled(statement, connection.dialect)
    given = {**constants, **values}
    return connection.exec_driver_sql(text, tuple(given[name] for name in names) if names else given)


@lru_cache(maxsize=64)
def _compiled(statement: sql.Executable, dialect: sql.Dialect) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """The words of a statement, the order of its values where the database counts them instead of naming them, and constants."""
    ready = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    return str(ready), tuple(ready.positiontup or ()), {name: value for name, value in ready.params.items() if value is not None}
