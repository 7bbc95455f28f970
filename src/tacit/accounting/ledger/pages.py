"""The tables of a ledger, and the statements that read and write them: the same words for SQLite and for PostgreSQL.

tacit_books      one row: which ledger it is, its format, and its last entry
tacit_entries    every entry: its canonical text and the hash of it
tacit_accounts   the sums and failures of each analyst; every entry holds a digest of them all
tacit_units      declarations of units, by their fingerprints
tacit_kept       questions that are being answered, and answers that were released, by question
tacit_periods    the sums of every period, by account, in pages of 128 periods (by_period.py)
tacit_askers     who has paid for which of them; and, under the name of a narrow token, the last entry that counts it

`:name` is a value that is given by its name. Nothing is ever put into the words of a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.accounting.composition import Cost
from tacit.accounting.ledger.by_period import EMPTY, Key, Pages, Rows, digests_of, page_name, rows_from, rows_text
from tacit.accounting.ledger.caps import Admission
from tacit.accounting.ledger.chain import Reader, nothing, read_chain
from tacit.accounting.ledger.connections import Connection
from tacit.accounting.ledger.entries import (
    APPROVED,
    FORMAT,
    IN_FORCE,
    LATE,
    NO_ORDERS,
    ORDERS,
    TOKEN,
    Account,
    AtOrders,
    Entry,
    InPeriods,
    Orders,
    account_text,
    digest_of_texts,
    entry_from,
    hash_of,
    state_from,
    state_text,
    token_key,
)
from tacit.accounting.ledger.entries import PERIODS as CHARGED
from tacit.errors import StoreUnusable
from tacit.privacy.catalog import Budget

BOOKS = "tacit_books"
FORMATS = (2, FORMAT)  # of the last entry; the next one is of today's
WHOLE = {"sqlite": "INTEGER", "postgresql": "BIGINT"}  # the type of 64-bit integers
OPEN_INDEX = """CREATE INDEX IF NOT EXISTS tacit_open ON tacit_kept (until) WHERE answer IS NULL AND until > 0"""
TABLES = (
    """CREATE TABLE IF NOT EXISTS tacit_books (
        place INTEGER NOT NULL CHECK (place = 1), identity TEXT NOT NULL, format INTEGER NOT NULL, number {whole} NOT NULL,
        hash TEXT NOT NULL, PRIMARY KEY (place))""",
    """CREATE TABLE IF NOT EXISTS tacit_accounts (
        analyst TEXT NOT NULL, spent TEXT NOT NULL, failures INTEGER NOT NULL, PRIMARY KEY (analyst))""",
    """CREATE TABLE IF NOT EXISTS tacit_entries (
        number {whole} NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (number))""",
    """CREATE TABLE IF NOT EXISTS tacit_units (fingerprint TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (fingerprint))""",
    """CREATE TABLE IF NOT EXISTS tacit_kept (
        "key" TEXT NOT NULL, entry {whole} NOT NULL, until FLOAT NOT NULL, answer {whole}, text TEXT, PRIMARY KEY ("key"),
        FOREIGN KEY (entry) REFERENCES tacit_entries (number), FOREIGN KEY (answer) REFERENCES tacit_entries (number))""",
    """CREATE TABLE IF NOT EXISTS tacit_askers (
        "key" TEXT NOT NULL, analyst TEXT NOT NULL, entry {whole} NOT NULL, PRIMARY KEY ("key", analyst),
        FOREIGN KEY (entry) REFERENCES tacit_entries (number))""",
    """CREATE INDEX IF NOT EXISTS tacit_own ON tacit_askers (analyst, entry)""",
    """CREATE TABLE IF NOT EXISTS tacit_periods (
        account TEXT NOT NULL, page {whole} NOT NULL, text TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (account, page))""",
    OPEN_INDEX,
)
PERIODS, OF_PERIODS = "tacit_periods", TABLES[-2]
HAS_OPEN_INDEX = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = 'tacit_open'",
    "postgresql": "SELECT 1 WHERE to_regclass('tacit_open') IS NOT NULL",
}

HAS_BOOKS = "SELECT place FROM tacit_books"
READ_BOOKS = """SELECT tacit_books.identity, format, tacit_books.number, tacit_books.hash, tacit_entries.hash, text
    FROM tacit_books LEFT OUTER JOIN tacit_entries ON tacit_entries.number = tacit_books.number"""
READ_ACCOUNTS = "SELECT analyst, spent, failures FROM tacit_accounts"
READ_DIGESTS = "SELECT account, page, digest FROM tacit_periods"
READ_PERIODS = "SELECT account, page, text FROM tacit_periods WHERE account = :account AND page >= :low AND page <= :high"
READ_KEPT = """SELECT "key", entry, until, answer, text FROM tacit_kept WHERE "key" = :wanted"""
READ_LOST = """SELECT "key", entry, until, answer, text FROM tacit_kept
    WHERE answer IS NULL AND until > 0 AND until <= :now ORDER BY until LIMIT :most"""
READ_ASKER = """SELECT entry FROM tacit_askers WHERE "key" = :wanted AND analyst = :who"""
READ_TOKENS = """SELECT "key" FROM tacit_askers WHERE "key" LIKE :like AND analyst = :who"""
READ_OWN = """SELECT entry FROM tacit_askers WHERE analyst = :who AND "key" NOT LIKE :like ORDER BY entry DESC LIMIT :most"""
READ_UNITS = "SELECT text FROM tacit_units WHERE fingerprint = :wanted"
LINES = "SELECT number, hash, text FROM tacit_entries WHERE number > :after ORDER BY number LIMIT :most"
ANSWERS = """SELECT "key", entry, until, answer, text FROM tacit_kept
    WHERE "key" > :after AND answer IS NOT NULL ORDER BY "key" LIMIT :most"""
ASKERS = """SELECT "key", analyst, entry FROM tacit_askers
    WHERE ("key", analyst) > (:after, :who) ORDER BY "key", analyst LIMIT :most"""

BEGIN_BOOKS = "INSERT INTO tacit_books (place, identity, format, number, hash) VALUES (1, :identity, :format, :number, :hash)"
APPEND = "INSERT INTO tacit_entries (number, hash, text) VALUES (:number, :hash, :text)"
MOVE = "UPDATE tacit_books SET number = :last, hash = :last_hash, format = :format"
PUT_ACCOUNT = """INSERT INTO tacit_accounts (analyst, spent, failures) VALUES (:analyst, :spent, :failures)
    ON CONFLICT (analyst) DO UPDATE SET spent = excluded.spent, failures = excluded.failures"""
PUT_PERIODS = """INSERT INTO tacit_periods (account, page, text, digest) VALUES (:account, :page, :text, :digest)
    ON CONFLICT (account, page) DO UPDATE SET text = excluded.text, digest = excluded.digest"""
PUT_KEPT = """INSERT INTO tacit_kept ("key", entry, until, answer, text) VALUES (:key, :entry, :until, :answer, :text)
    ON CONFLICT ("key") DO UPDATE
    SET entry = excluded.entry, until = excluded.until, answer = excluded.answer, text = excluded.text"""
PUT_ASKER = """INSERT INTO tacit_askers ("key", analyst, entry) VALUES (:key, :analyst, :entry)
    ON CONFLICT ("key", analyst) DO UPDATE SET entry = excluded.entry"""
PUT_UNITS = """INSERT INTO tacit_units (fingerprint, text) VALUES (:fingerprint, :text)
    ON CONFLICT (fingerprint) DO UPDATE SET text = excluded.text"""


# --- what a transaction sees of a ledger -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Books:
    """The last entry, its hash, and the account of every analyst, which agrees with it."""

    last: Entry
    hash: str
    accounts: Mapping[str, Account]
    texts: Mapping[str, str]  # of the accounts, of which every entry holds a digest; and the digests of pages of periods

    def after_entry(self, last: Entry, digest: str, changed: Mapping[str, Account], pages: Pages) -> Books:
        """The books after an entry that changes these accounts and these pages of periods."""
        return Books(last, digest, {**self.accounts, **changed}, self.texts_with(changed, pages))

    def texts_with(self, changed: Mapping[str, Account], pages: Pages) -> dict[str, str]:
        """The texts of all accounts and the digests of all pages, with these changed."""
        return {**self.texts, **{name: account_text(one) for name, one in changed.items()}, **(digests_of(pages) if pages else {})}


@dataclass(frozen=True, slots=True)
class Marks:
    """The unchecked state of a ledger: its name, its last entry and its accounts."""

    ledger: str
    number: int
    hash: str
    accounts: Mapping[str, Account]
    pages: Mapping[Key, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Line:
    """One entry as it is stored."""

    number: int
    hash: str
    text: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A question that is being answered (until a moment by the clock), or was: `answer` is the entry with its text's hash."""

    key: str
    entry: int
    until: float
    answer: int | None
    text: str | None


@dataclass(frozen=True, slots=True)
class Asker:
    """Who has paid for what is kept under a key, and by which entry."""

    key: str
    analyst: str
    entry: int


def at_orders(orders: Orders, price: Cost, charged: InPeriods | None) -> AtOrders:
    """The field of an entry with the orders that it counts at."""
    each = Fraction(0) if charged is None else charged.price.at_order
    return AtOrders(orders, None if orders.sums is None else price.at_order, None if orders.periods is None else each)


def entry_after(books: Books, cap: Budget, kind: str, changed: Mapping[str, Account], **what: Any) -> Entry:
    """The entry that follows what is in the books; `changed` are the accounts that it changes, and the rest is as it was.

    So are the `pages` of periods, if they are given.
    """
    pages = what.pop("pages", {})
    last = books.last
    same = {"price": nothing(last.price.neighbours), "spent": last.spent, "units": last.units, "for_events": last.for_events}
    counts = {"questions": last.questions, "failures": last.failures}
    digest = digest_of_texts(books.texts_with(changed, pages))
    orders = what.pop("orders", last.orders)
    late = what.pop("late", {} if kind == "resume" else last.late)
    told: dict[str, Any] = {**same, **counts, "accounts": digest, "cap": cap, **what}
    if IN_FORCE in last.more:
        told["more"] = {IN_FORCE: last.more[IN_FORCE], **told.get("more", {})}
    if late:
        told["more"] = {**told.get("more", {}), LATE: late}
    if orders != NO_ORDERS:
        more = told.get("more", {})
        told["more"] = {**more, ORDERS: at_orders(orders, told["price"], more.get(CHARGED))}
    return Entry(last.ledger, last.number + 1, books.hash, now(), kind, **told)


def late_entry(page: Page, cap: Budget, number: int) -> Entry:
    """The entry that says that the reply about a paid one leaves late, and counts it."""
    line, before = page.line(number), page.books.last.late
    if line is None:
        raise StoreUnusable(f"entry {number} is missing in the ledger", remedy=DAMAGED)
    paid = entry_from(line.text)
    late = {**before, paid.analyst: before.get(paid.analyst, 0) + 1}
    return entry_after(page.books, cap, "late", {}, late=late, analyst=paid.analyst, key=paid.key, about=number)


def now() -> str:
    """The moment, as entries write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# --- a page ------------------------------------------------------------------------------------------------------------------


PAGE = 1000
DAMAGED = "restore the ledger from a backup; `tacit history` lists what is wrong"


class Page:
    """The ledger inside one transaction: what is read through it and what is appended happens together, or not at all."""

    def __init__(self, connection: Connection, has_periods: bool = False) -> None:
        self._connection = connection
        self.books = read_books(connection, has_periods)
        self.began = self.books.last.number  # the last entry before this transaction

    def append(self, entry: Entry, accounts: Mapping[str, Account] | None = None, pages: Pages | None = None) -> Entry:
        """Write the entry, and the accounts and pages that it changes; it must hold the digest of all of them after it."""
        text = entry.text
        digest = hash_of(text)
        self._connection.run(APPEND, number=entry.number, hash=digest, text=text)
        self._connection.run(MOVE, last=entry.number, last_hash=digest, format=entry.format)
        for analyst, account in (accounts or {}).items():
            row = {"analyst": analyst, "spent": state_text(account.spent), "failures": account.failures}
            self._connection.run(PUT_ACCOUNT, **row)
        for (whose, number), rows in (pages or {}).items():
            written = rows_text(rows)
            self._connection.run(PUT_PERIODS, account=whose, page=number, text=written, digest=hash_of(written))
        self.books = self.books.after_entry(entry, digest, accounts or {}, pages or {})
        return entry

    def pages_of(self, account: str, low: int, high: int) -> dict[int, Rows]:
        """The sums of an account in the pages between two numbers; those that were never charged hold zeros."""
        pages = dict.fromkeys(range(low, high + 1), EMPTY)
        expected = {number for number in pages if page_name((account, number)) in self.books.texts}
        for _, number, text in self._connection.run(READ_PERIODS, account=account, low=low, high=high) if expected else ():
            if self.books.texts.get(page_name((account, number))) != f'"{hash_of(text)}"':
                raise StoreUnusable("the sums of periods do not match the ledger's last entry", remedy=DAMAGED)
            pages[number] = rows_from(text)
            expected.discard(number)
        if expected:
            raise StoreUnusable("the ledger has lost sums of periods", remedy=DAMAGED)
        return pages

    def all_pages_of(self, account: str) -> dict[int, Rows]:
        """The sums of an account in all pages that were ever charged."""
        named = (name.split(" ", 2) for name in self.books.texts if name.startswith(" "))
        numbers = [int(number) for _, number, whose in named if whose == account]
        return self.pages_of(account, min(numbers), max(numbers)) if numbers else {}

    def kept(self, key: str) -> Kept | None:
        """The question or answer under a key."""
        return next((Kept(*row) for row in self._connection.run(READ_KEPT, wanted=key)), None)

    def keep(self, kept: Kept) -> None:
        """Writes a kept answer, in the place of an earlier one under its key."""
        self._connection.run(PUT_KEPT, **_row(kept))

    def lost_questions(self, now: float) -> list[Kept]:
        """Open questions whose lease has ended: neither answered nor let go; at most a page of them."""
        return [Kept(*row) for row in self._connection.run(READ_LOST, now=now, most=PAGE)]

    def paying_entry(self, key: str, analyst: str) -> int | None:
        """The entry by which an analyst has paid for what is under a key."""
        return next((int(entry) for (entry,) in self._connection.run(READ_ASKER, wanted=key, who=analyst)), None)

    def has_paid(self, key: str, analyst: str) -> bool:
        """Whether there is an answer under a key that this analyst has paid for."""
        kept = self.kept(key) if key else None
        return kept is not None and kept.answer is not None and self.paying_entry(key, analyst) is not None

    def note_asker(self, key: str, analyst: str, entry: int) -> None:
        """Notes at which entry an analyst asked for a kept answer."""
        self._connection.run(PUT_ASKER, key=key, analyst=analyst, entry=entry)

    def paying_entries(self, analyst: str, most: int) -> list[int]:
        """The latest entries by which an analyst has paid for kept answers, the newest first."""
        return [int(entry) for (entry,) in self._connection.run(READ_OWN, who=analyst, like="% %", most=most)]

    def token_sum(self, analyst: str, number: int) -> Fraction:
        """The sum of the epsilons that were asked for with a narrow token, as the last entry that counts it says."""
        at = self.paying_entry(token_key(number), analyst)
        if at is None:
            return Fraction(0)
        line = self.line(at)
        entry = None if line is None or hash_of(line.text) != line.hash else entry_from(line.text)
        charged = None if entry is None or entry.analyst != analyst else entry.charged
        if charged is None or number not in {one.number for one in charged.path}:
            raise StoreUnusable(f"the record of what token {number} of {analyst} has asked for was changed", remedy=DAMAGED)
        return charged.sum_of(number)

    def note_tokens(self, entry: Entry) -> None:
        """Notes an entry as the last one of each token that it is charged to, and of the decision that it needed."""
        for one in () if entry.charged is None else entry.charged.path:
            self.note_asker(token_key(one.number), entry.analyst, entry.number)
        if APPROVED in entry.more:
            from tacit.accounting.ledger.approvals import note_use

            note_use(self, entry)

    def last_token(self, analyst: str) -> int:
        """The largest number of a token of the analyst that an entry counts; else 0."""
        keys = (str(key) for (key,) in self._connection.run(READ_TOKENS, like=f"{TOKEN}%", who=analyst))
        return max((int(key.removeprefix(TOKEN)) for key in keys), default=0)

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


# --- the orders of a ledger --------------------------------------------------------------------------------------------------


def take_orders(page: Page, caps: Admission) -> bool:
    """Whether the ledger took a Renyi order here: one of an earlier version, in which something was paid for, does so once.

    Everything before is restated event by event (filter.md). A ledger in which nothing was paid for takes its orders with the
    first spend.
    """
    last = page.books.last
    now = replace(caps, for_events=last.for_events)
    if not last.is_spent or now.new_orders(last.orders) == last.orders:
        return False
    reader = whole_chain(page)
    orders = now.new_orders(last.orders, reader.capped)
    spent = reader.at_orders(orders, last)
    page.append(entry_after(page.books, caps.policy.budget, "order", {}, spent=spent, orders=orders))
    return True


def orders_carried_over(last: Entry, order: Fraction | None) -> Orders:
    """The orders of a ledger that takes the place of one which counted at `order`; refused if it counts at another itself."""
    if order in (None, last.orders.sums):
        return last.orders
    if last.is_spent:
        raise StoreUnusable(
            "the known spending was counted at another Renyi order than this ledger keeps, and cannot be carried over",
            remedy="declare another place in [ledger] url and run `tacit ledger begin`, which takes over the order",
        )
    return replace(last.orders, sums=order)


def whole_chain(page: Page) -> Reader:
    """Everything before, read and computed again; raises if it is damaged."""
    reader, problems = read_chain(page.all_lines())
    if problems:
        raise StoreUnusable(f"the chain is broken: {problems[0]}", remedy="run: tacit history")
    return reader


# --- tables and rows ---------------------------------------------------------------------------------------------------------


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


def make_periods(connection: Connection) -> None:
    """Make the table of periods in a ledger that was begun without it."""
    connection.run(OF_PERIODS.format(whole=WHOLE[connection.kind]))


def index_open(connection: Connection) -> None:
    """Make the index of open questions in a ledger that was begun without it; its rows stay as they are."""
    if not connection.run(HAS_OPEN_INDEX[connection.kind]):
        connection.run(OPEN_INDEX)


def read_marks(connection: Connection) -> Marks:
    """The unchecked state of the ledger, for reading the whole chain."""
    pages = connection.run("SELECT account, page, text FROM tacit_periods") if connection.has(PERIODS) else ()
    for identity, _, number, digest, _, _ in connection.run(READ_BOOKS):
        return Marks(identity, number, digest, _read_accounts(connection), {(name, page): text for name, page, text in pages})
    raise StoreUnusable("the ledger has lost its row", remedy=DAMAGED)


def _read_accounts(connection: Connection) -> dict[str, Account]:
    return {name: Account(state_from(spent), failures) for name, spent, failures in connection.run(READ_ACCOUNTS)}


def read_books(connection: Connection, has_periods: bool = False) -> Books:
    """The last entry with all accounts, refused where they do not agree with each other."""
    identity, written, _, digest, own, text = next(iter(connection.run(READ_BOOKS)), (None,) * 6)
    if text is None:
        raise StoreUnusable("the ledger has lost its last entry", remedy=DAMAGED)
    if written not in FORMATS:
        raise StoreUnusable(f"unsupported ledger format {written}: expected {FORMAT}", remedy="update tacit")
    digests = tuple(connection.run(READ_DIGESTS)) if has_periods else ()
    return _books(identity, (digest, own, text), tuple(connection.run(READ_ACCOUNTS)), digests)


@lru_cache(maxsize=8)  # by everything that was read, so that what has not changed is not parsed again
def _books(
    identity: str, line: tuple[str, str, str], rows: tuple[tuple[str, str, int], ...], digests: tuple[tuple[str, int, str], ...]
) -> Books:
    digest, own, text = line
    if not digest == own == hash_of(text):
        raise StoreUnusable("the last entry of the ledger was changed", remedy=DAMAGED)
    last = entry_from(text)
    accounts = {analyst: _account(spent, failures) for analyst, spent, failures in rows}
    texts = {analyst: f"[{spent},{failures}]" for analyst, spent, failures in rows}
    texts |= {page_name((account, page)): f'"{digest}"' for account, page, digest in digests}
    if last.ledger != identity or last.accounts != digest_of_texts(texts):
        raise _other_accounts()
    return Books(last, digest, accounts, texts)


@lru_cache(maxsize=4096)
def _account(spent: str, failures: int) -> Account:
    """An account as stored; only its one canonical text is taken, so that the texts of all have one meaning."""
    try:
        account = Account(state_from(spent), failures)
    except (ValueError, TypeError, LookupError, ArithmeticError):
        raise _other_accounts() from None
    if account_text(account) != f"[{spent},{failures}]":
        raise _other_accounts()
    return account


def _other_accounts() -> StoreUnusable:
    return StoreUnusable("the accounts of the ledger do not match its last entry", remedy=DAMAGED)


def every_line(pages: Callable[[int, int], list[Line]], first: int = 0) -> Iterator[Line]:
    """Every line from a number on, a page at a time."""
    after = first - 1
    while lines := pages(after, PAGE):
        yield from lines
        after = lines[-1].number


def read_lines(connection: Connection, after: int, count: int) -> list[Line]:
    """At most `count` lines after the entry `after`, in order."""
    return [Line(*row) for row in connection.run(LINES, after=after, most=count)]


def _row(kept: Kept) -> dict[str, Any]:
    return {"key": kept.key, "entry": kept.entry, "until": kept.until, "answer": kept.answer, "text": kept.text}
