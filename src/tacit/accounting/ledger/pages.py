"""A page: the ledger inside one transaction.

A page begins by reading the last entry and comparing the accounts with it: sums that are not those of the chain are never used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from tacit.accounting.ledger.books import Books, Kept, Line, Marks
from tacit.accounting.ledger.connections import Connection
from tacit.accounting.ledger.entries import (
    FORMAT,
    Account,
    Entry,
    account_text,
    digest_of_texts,
    entry_from,
    hash_of,
    state_from,
    state_text,
)
from tacit.accounting.ledger.statements import (
    APPEND,
    BEGIN_BOOKS,
    HAS_BOOKS,
    HAS_OPEN_INDEX,
    LINES,
    MOVE,
    OPEN_INDEX,
    PUT_ACCOUNT,
    PUT_ASKER,
    PUT_KEPT,
    PUT_UNITS,
    READ_ACCOUNTS,
    READ_ASKER,
    READ_BOOKS,
    READ_KEPT,
    READ_LOST,
    READ_UNITS,
    TABLES,
    WHOLE,
)
from tacit.errors import StoreUnusable

PAGE = 1000
DAMAGED = "restore the ledger from a backup; `tacit history` lists what is wrong"


class Page:
    """The ledger inside one transaction: what is read through it and what is appended happens together, or not at all."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.books = read_books(connection)

    def append(self, entry: Entry, accounts: Mapping[str, Account] | None = None) -> Entry:
        """Write the entry, and the accounts that it changes; it must hold the digest of all accounts after it."""
        text = entry.text
        digest = hash_of(text)
        self._connection.run(APPEND, number=entry.number, hash=digest, text=text)
        self._connection.run(MOVE, last=entry.number, last_hash=digest)
        for name, account in (accounts or {}).items():
            row = {"analyst": name, "spent": state_text(account.spent), "failures": account.failures}
            self._connection.run(PUT_ACCOUNT, **row)
        self.books = self.books.following(entry, digest, accounts or {})
        return entry

    def kept(self, key: str) -> Kept | None:
        """The question or answer under a key."""
        return next((Kept(*row) for row in self._connection.run(READ_KEPT, wanted=key)), None)

    def keep(self, kept: Kept) -> None:
        """Writes a kept answer, in the place of an earlier one under its key."""
        self._connection.run(PUT_KEPT, **_row(kept))

    def lost(self, now: float) -> list[Kept]:
        """Questions that nobody has answered or let go, and whose lease has ended; at most a page of them."""
        return [Kept(*row) for row in self._connection.run(READ_LOST, now=now, most=PAGE)]

    def asked(self, key: str, analyst: str) -> int | None:
        """The entry by which an analyst has paid for what is under a key."""
        return next((int(entry) for (entry,) in self._connection.run(READ_ASKER, wanted=key, who=analyst)), None)

    def note_asker(self, key: str, analyst: str, entry: int) -> None:
        """Notes at which entry an analyst asked for a kept answer."""
        self._connection.run(PUT_ASKER, key=key, analyst=analyst, entry=entry)

    def units(self, fingerprint: str) -> str | None:
        """The declaration of units with a fingerprint."""
        text = next((str(text) for (text,) in self._connection.run(READ_UNITS, wanted=fingerprint)), None)
        if text is not None and hash_of(text) != fingerprint:
            raise StoreUnusable("the ledger's declaration of units was changed", remedy=DAMAGED)
        return text

    def note_units(self, fingerprint: str, text: str) -> None:
        """Notes the text behind a fingerprint of units."""
        self._connection.run(PUT_UNITS, fingerprint=fingerprint, text=text)

    def line(self, number: int) -> Line | None:
        """The line of an entry, or None."""
        return next(iter(self.lines(number - 1, 1)), None)

    def lines(self, after: int, count: int) -> list[Line]:
        """At most `count` entries that follow the number `after`, in order."""
        return read_lines(self._connection, after, count)

    def all_lines(self) -> Iterator[Line]:
        """Every entry, in order."""
        return every_line(self.lines)


def create_tables(connection: Connection, last: Entry, digest: str, units: str) -> bool:
    """Make the tables with one entry in them, unless another process was first; whether it was this one."""
    for table in TABLES:
        connection.run(table.format(whole=WHOLE[connection.kind]))
    if connection.run(HAS_BOOKS):
        return False
    connection.run(BEGIN_BOOKS, identity=last.ledger, format=FORMAT, number=last.number, hash=digest)
    connection.run(APPEND, number=last.number, hash=digest, text=last.text)
    if last.units:
        connection.run(PUT_UNITS, fingerprint=last.units, text=units)
    return True


def index_open(connection: Connection) -> None:
    """Make the index of open questions in a ledger that was begun without it; its rows stay as they are."""
    if not connection.run(HAS_OPEN_INDEX[connection.kind]):
        connection.run(OPEN_INDEX)


def read_marks(connection: Connection) -> Marks:
    """The unchecked state of the ledger, for reading the whole chain."""
    for identity, _, number, digest, _, _ in connection.run(READ_BOOKS):
        return Marks(identity, number, digest, _read_accounts(connection))
    raise StoreUnusable("the ledger has lost its row", remedy=DAMAGED)


def _read_accounts(connection: Connection) -> dict[str, Account]:
    return {name: Account(state_from(spent), failures) for name, spent, failures in connection.run(READ_ACCOUNTS)}


def read_books(connection: Connection) -> Books:
    """The last entry with all accounts, refused where they do not agree with each other."""
    identity, written, _, digest, own, text = next(iter(connection.run(READ_BOOKS)), (None,) * 6)
    if text is None:
        raise StoreUnusable("the ledger has lost its last entry", remedy=DAMAGED)
    if written != FORMAT:
        raise StoreUnusable(f"unsupported ledger format {written}: expected {FORMAT}", remedy="update tacit")
    return _books(identity, (digest, own, text), tuple(connection.run(READ_ACCOUNTS)))


@lru_cache(maxsize=8)  # by everything that was read, so that what has not changed is not parsed again
def _books(identity: str, line: tuple[str, str, str], rows: tuple[tuple[str, str, int], ...]) -> Books:
    digest, own, text = line
    if not digest == own == hash_of(text):
        raise StoreUnusable("the last entry of the ledger was changed", remedy=DAMAGED)
    last = entry_from(text)
    accounts = {analyst: _account(spent, failures) for analyst, spent, failures in rows}
    texts = {analyst: f"[{spent},{failures}]" for analyst, spent, failures in rows}
    if last.ledger != identity or last.accounts != digest_of_texts(texts):
        raise _other_accounts()
    return Books(last, digest, accounts, texts)


@lru_cache(maxsize=4096)
def _account(spent: str, failures: int) -> Account:
    """An account as stored; only its one canonical text is taken, so that the texts of all have one meaning."""
    try:
        found = Account(state_from(spent), failures)
    except (ValueError, TypeError, LookupError, ArithmeticError):
        raise _other_accounts() from None
    if account_text(found) != f"[{spent},{failures}]":
        raise _other_accounts()
    return found


def _other_accounts() -> StoreUnusable:
    return StoreUnusable("the accounts of the ledger do not match its last entry", remedy=DAMAGED)


def every_line(pages: Callable[[int, int], list[Line]], first: int = 0) -> Iterator[Line]:
    """Every line from a number on, a page at a time."""
    after = first - 1
    while found := pages(after, PAGE):
        yield from found
        after = found[-1].number


def read_lines(connection: Connection, after: int, count: int) -> list[Line]:
    """At most `count` lines after the entry `after`, in order."""
    return [Line(*row) for row in connection.run(LINES, after=after, most=count)]


def _row(kept: Kept) -> dict[str, Any]:
    return {"key": kept.key, "entry": kept.entry, "until": kept.until, "answer": kept.answer, "text": kept.text}
