"""The server's records beside the ledger, in one SQLite file of mode 600: accounts, tokens, caps, requests, suspects and settings.

No budget is in it: the ledger has the sums, under the analyst's name. Losing this file locks every account out, and gives nothing
back. One clerk and the command line write it, each in short transactions that are on the disk when they end.

Accounts, roles and tokens decide who may connect. A token is 256 random bits, shown once and stored as its SHA-256. A name has one
normal form, and belongs to one account for ever: an account can lose its tokens, and never its name or role. So a new account or
token resets no budget.

A narrow token is made from another token, or by the curator from an account, and is never wider: in its operations, its end and the
sum of epsilons that may be asked for with it, which the ledger counts. It is live while all that it was made from are.
"""

from __future__ import annotations

import base64
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import InvalidInput, InvalidToken, StoreUnusable
from tacit.files import owned
from tacit.mechanisms.noise import bits
from tacit.privacy.arguments import text_of
from tacit.privacy.catalog import analyst_name
from tacit.untrusted import for_terminal

FILE = "server.sqlite"
PATIENCE = 10.0  # seconds that a transaction waits for another one

TABLES = sql.MetaData()
ACCOUNTS = sql.Table(
    "accounts",
    TABLES,
    sql.Column("name", sql.Text, primary_key=True),
    sql.Column("role", sql.Text, nullable=False),
    sql.Column("created", sql.Float, nullable=False),
)
TOKENS = sql.Table(
    "tokens",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("digest", sql.Text, nullable=False, unique=True),
    sql.Column("account", sql.Text, sql.ForeignKey(ACCOUNTS.c.name), nullable=False, index=True),
    sql.Column("created", sql.Float, nullable=False),
    sql.Column("expires", sql.Float, nullable=False),
    sql.Column("revoked", sql.Float),
    sqlite_autoincrement=True,
)
NARROW = sql.Table(  # apart from the others: a version that does not know limits does not accept these tokens at all
    "narrow_tokens",
    TABLES,
    sql.Column("account", sql.Text, sql.ForeignKey(ACCOUNTS.c.name), primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),  # within the account: it tells nothing about others
    sql.Column("digest", sql.Text, nullable=False, unique=True),
    sql.Column("token", sql.Integer),  # the token of `tokens` that it was made from, directly or not; none: the account
    sql.Column("parent", sql.Integer),  # the narrow token of the account that it was made from
    sql.Column("created", sql.Float, nullable=False),
    sql.Column("expires", sql.Float, nullable=False),
    sql.Column("revoked", sql.Float),
    sql.Column("most", sql.Text),
    sql.Column("operations", sql.Text, nullable=False),
)
CAPS = sql.Table(
    "caps",
    TABLES,
    sql.Column("analyst", sql.Text, primary_key=True),
    sql.Column("epsilon", sql.Text),
    sql.Column("delta", sql.Text),
    sql.Column("epsilon_per_query", sql.Text),
)
REQUESTS = sql.Table(
    "requests",
    TABLES,
    sql.Column("analyst", sql.Text, primary_key=True),
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("asked", sql.Text, nullable=False),
    sql.Column("head", sql.Integer, nullable=False),
    sql.Column("begun", sql.Float, nullable=False),
    sql.Column("entry", sql.Integer),
    sql.Column("status", sql.Integer),
    sql.Column("reply", sql.LargeBinary),
)
SUSPECTS = sql.Table(
    "suspects",
    TABLES,
    sql.Column("fingerprint", sql.Text, primary_key=True),
    sql.Column("ends", sql.Integer, nullable=False),
    sql.Column("last", sql.Float, nullable=False),
)
CODES = sql.Table(  # of demonstrations, for two minutes
    "codes",
    TABLES,
    sql.Column("digest", sql.Text, primary_key=True),
    sql.Column("account", sql.Text, sql.ForeignKey(ACCOUNTS.c.name), nullable=False),
    sql.Column("expires", sql.Float, nullable=False),
    sql.Column("tries", sql.Integer, nullable=False),
)
OFFERS = sql.Table(  # answers that analysts offer for publication
    "offers",
    TABLES,
    sql.Column("analyst", sql.Text, sql.ForeignKey(ACCOUNTS.c.name), primary_key=True),
    sql.Column("entry", sql.Integer, primary_key=True),
    sql.Column("title", sql.Text, nullable=False),
    sql.Column("at", sql.Float, nullable=False),
)
WAITING = sql.Table(  # questions that wait for a curator, unpaid; the ledger has the decisions
    "waiting",
    TABLES,
    sql.Column("analyst", sql.Text, sql.ForeignKey(ACCOUNTS.c.name), primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),  # within the account, never used again
    sql.Column("subject", sql.Text, nullable=False),
    sql.Column("epsilon", sql.Text, nullable=False),
    sql.Column("delta", sql.Text, nullable=False),
    sql.Column("asked", sql.Text, nullable=False),
    sql.Column("at", sql.Float, nullable=False),
    sql.Column("head", sql.Integer, nullable=False),  # of the ledger, when it began to wait
    sql.Column("withdrawn", sql.Float),
)
SETTINGS = sql.Table(
    "settings", TABLES, sql.Column("name", sql.Text, primary_key=True), sql.Column("value", sql.Text, nullable=False)
)


class Records:
    """The open file. Threads and processes may hold it at once."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._engine = sql.create_engine(
            "sqlite://", creator=self._open, poolclass=sql.QueuePool, isolation_level="AUTOCOMMIT", hide_parameters=True
        )
        with _store_errors():
            owned(file)
            with self.transaction() as connection:
                TABLES.create_all(connection)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a revocation or a begun request that returned survives a power failure
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @contextmanager
    def reader(self) -> Iterator[sql.Connection]:
        """A connection that only reads; it sees what any process has written."""
        with _store_errors(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[sql.Connection]:
        """One transaction, alone; an exception undoes it."""
        with _store_errors(), self._engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                if connection.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]
                    connection.exec_driver_sql("ROLLBACK")
                raise

    def setting(self, name: str) -> str | None:
        """A setting by its name."""
        with self.reader() as connection:
            value = connection.scalar(sql.select(SETTINGS.c.value).where(SETTINGS.c.name == name))
        return None if value is None else str(value)

    def set(self, name: str, value: str) -> None:
        """Write a setting."""
        with self.transaction() as connection:
            connection.execute(sql.delete(SETTINGS).where(SETTINGS.c.name == name))
            connection.execute(sql.insert(SETTINGS), {"name": name, "value": value})

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


@contextmanager
def _store_errors() -> Iterator[None]:
    """A failure of the file as an error that quotes nothing of it."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        original = getattr(error, "orig", None) or error
        why = getattr(original, "sqlite_errorname", None) or type(original).__name__
        raise StoreUnusable(
            f"the server's records cannot be read or written ({why})", remedy="check the disk and its rights"
        ) from None


def run(connection: sql.Connection, statement: sql.Executable, **values: Any) -> sql.CursorResult[Any]:
    """Run a statement that is compiled once, for what every request does."""
    text, names = _compile(statement, connection.dialect)
    return connection.exec_driver_sql(text, tuple(values[name] for name in names))


@lru_cache(maxsize=64)
def _compile(statement: sql.Executable, dialect: sql.Dialect) -> tuple[str, tuple[str, ...]]:
    """The words of a statement, and the order of its values."""
    ready = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    return str(ready), tuple(ready.positiontup or ())


# --- accounts, roles and tokens ----------------------------------------------------------------------------------------------


ANALYST, CURATOR, AUDITOR = ROLES = ("analyst", "curator", "auditor")
PREFIX = "tacit_"
TOKEN = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
NOBODY = PREFIX + "-" * 43  # looked up in the place of what is not a token, so that the work is the same
LONGEST_NAME = 64
DAYS, MOST_DAYS = 90, 366
DAY = 86_400.0
DRIFT = 3_600.0  # seconds by which the remembered time may lag behind the clock
CLOCK = "clock"
WHO = (
    sql.select(TOKENS.c.number, TOKENS.c.digest, TOKENS.c.expires, TOKENS.c.revoked, ACCOUNTS.c.name, ACCOUNTS.c.role)
    .join(ACCOUNTS, TOKENS.c.account == ACCOUNTS.c.name)
    .where(TOKENS.c.digest == sql.bindparam("presented"))
)


DIGEST = sql.select(NARROW.c.digest).where(NARROW.c.account == sql.bindparam("name"), NARROW.c.number == sql.bindparam("number"))
REVOKE_BELOW = sql.text("""
    UPDATE narrow_tokens SET revoked = :now
    WHERE revoked IS NULL AND (
        token IN (SELECT number FROM tokens WHERE revoked IS NOT NULL)
        OR parent IN (SELECT number FROM narrow_tokens AS above WHERE account = narrow_tokens.account AND revoked IS NOT NULL))
""")
PATH = sql.text("""
    WITH RECURSIVE path AS (
        SELECT *, 0 AS height FROM narrow_tokens WHERE digest = :presented
        UNION ALL
        SELECT above.*, height + 1 FROM narrow_tokens AS above JOIN path
        ON above.account = path.account AND above.number = path.parent AND above.number < path.number
    )
    SELECT path.*, accounts.role, tokens.expires AS root_expires, tokens.revoked AS root_revoked
    FROM path JOIN accounts ON accounts.name = path.account LEFT JOIN tokens ON tokens.number = path.token ORDER BY height
""")


class NameTaken(InvalidInput):
    """A name that was used before."""


class Ended(InvalidToken):
    """A token that was live when it was presented, and was revoked before its request was done."""


@dataclass(frozen=True, slots=True)
class Narrow:
    """A narrow token that was presented, or one above it."""

    number: int
    most: Fraction | None
    operations: frozenset[str]


@dataclass(frozen=True, slots=True)
class Account:
    """Whose token was presented: its number, or 0; and of a narrow one, its path: itself first, then the narrow ones above it."""

    name: str
    role: str
    token: int = 0
    expires: float = field(default=0.0, compare=False)
    path: tuple[Narrow, ...] = ()

    def may(self, grant: str) -> bool:
        """Whether the presented token permits an operation of the role; what has no name is not for narrow tokens."""
        return not self.path or (bool(grant) and all(grant in one.operations for one in self.path))


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token: the only time that it is shown."""

    name: str
    token: str
    expires: str


class Accounts:
    """The accounts of one server, in its records. `clock` is the time in seconds; it is never believed to go back."""

    def __init__(self, records: Records, clock: Callable[[], float] = time.time) -> None:
        self.records, self._clock = records, clock
        self._latest = float(records.setting(CLOCK) or 0.0)

    # --- who -----------------------------------------------------------------------------------------------------------------

    def who(self, credential: str) -> Account | None:
        """The account of a live token; None for any other text. The work is the same for every text."""
        return self._holder(digest_of_token(credential if TOKEN.fullmatch(credential) else NOBODY))

    def _holder(self, digest: str) -> Account | None:
        """The account behind a digest. Both tables are looked at in any case."""
        now = self.now()
        with self.records.reader() as connection:
            row, rows = run(connection, WHO, presented=digest).first(), list(run(connection, PATH, presented=digest))
        number, stored, expires, revoked, name, role = tuple(row) if row is not None else (0, "0" * 64, 0.0, 0.0, "", "")
        live = compare_digest(stored, digest) & (expires > now) & (revoked is None)
        return Account(name, role, number, expires) if live else _narrow_holder(rows, digest, now)

    def require(self, account: Account) -> None:
        """Raises `Ended` if the token that was presented has ended since; the ledger calls it inside the transaction of a spend."""
        with self.records.reader() as connection:
            if account.path:
                digest = run(connection, DIGEST, name=account.name, number=account.path[0].number).scalar()
            else:
                digest = connection.scalar(sql.select(TOKENS.c.digest).where(TOKENS.c.number == account.token))
        if digest is None or self._holder(str(digest)) is None:
            raise Ended("the token was revoked or has expired; nothing was spent")

    def now(self) -> float:
        """The time, which does not go back when the clock does: an expired token stays expired."""
        now = self._clock()
        if now > self._latest + DRIFT:
            with suppress(StoreUnusable):  # a full disk must not lock everybody out; this process remembers it
                self.records.set(CLOCK, repr(now))
        self._latest = max(now, self._latest)
        return self._latest

    # --- accounts and tokens -------------------------------------------------------------------------------------------------

    def add(self, name: str, role: str, days: int = DAYS, declared: Iterable[str] = ()) -> Issued:
        """A new account with its first token. `declared` are the analysts of the catalog, if it declares any."""
        own_name = account_name(name)
        if role not in ROLES:
            raise InvalidInput(f"unknown role {role[:20]!r}: expected {', '.join(ROLES)}")
        if role == ANALYST and (names := set(declared)) and own_name not in names:
            raise InvalidInput(
                f"the catalog declares analysts, and {own_name!r} is not one of them; add [analysts.{own_name}] to tacit.toml"
            )
        with self.records.transaction() as connection:
            if connection.scalar(sql.select(ACCOUNTS.c.name).where(ACCOUNTS.c.name == own_name)) is not None:
                raise NameTaken(f"the name {own_name!r} was used before; choose another name, or issue a new token for it")
            connection.execute(sql.insert(ACCOUNTS), {"name": own_name, "role": role, "created": self._clock()})
            return self._issue(connection, own_name, days)

    def issue(self, name: str, days: int = DAYS) -> Issued:
        """Another token for an account."""
        own_name = account_name(name)
        with self.records.transaction() as connection:
            _require(connection, own_name)
            return self._issue(connection, own_name, days)

    def rotate(self, name: str, days: int = DAYS) -> Issued:
        """A new token in the place of all tokens of an account, which are revoked at once."""
        own_name = account_name(name)
        with self.records.transaction() as connection:
            _require(connection, own_name)
            self._revoke(connection, TOKENS.c.account == own_name)
            self._revoke(connection, NARROW.c.account == own_name, NARROW)
            return self._issue(connection, own_name, days)

    def renew(self, account: Account, days: int = DAYS) -> Issued:
        """A new token in the place of the one that was presented; raises `Ended` if that one was revoked in the meantime.

        The narrow tokens that were made from the old one end with it: whoever else had it may have made some.
        """
        if account.path:
            raise InvalidInput("a narrow token cannot be renewed; make another one from the token that it was made from")
        with self.records.transaction() as connection:
            if not self._revoke(connection, TOKENS.c.number == account.token):
                raise Ended("the token was revoked")
            return self._issue(connection, account.name, days)

    def revoke(self, name: str, number: int | None = None, narrow: int | None = None) -> int:
        """How many live tokens of an account were revoked: all, or one by its number, or a narrow one by its own.

        It holds from the next request and the next spend on. The narrow tokens that were made from a revoked one end with it.
        """
        own_name = account_name(name)
        with self.records.transaction() as connection:
            _require(connection, own_name)
            whole, small = TOKENS.c.account == own_name, NARROW.c.account == own_name
            revoked = 0
            if narrow is None:
                revoked = self._revoke(connection, whole if number is None else whole & (TOKENS.c.number == number))
            if number is None:
                revoked += self._revoke(connection, small if narrow is None else small & (NARROW.c.number == narrow), NARROW)
            return revoked

    def summary(self) -> list[dict[str, object]]:
        """Every account with its role and its tokens, by their numbers, narrow ones apart; never a token."""
        from tacit.doors.server.narrow import listed

        now = self.now()
        with self.records.reader() as connection:
            accounts = list(connection.execute(sql.select(ACCOUNTS).order_by(ACCOUNTS.c.name)))
            tokens = list(connection.execute(sql.select(TOKENS).order_by(TOKENS.c.number)))
        return [
            {
                "name": account.name,
                "role": account.role,
                "created": moment(account.created),
                "tokens": [
                    {"number": at.number, "expires": moment(at.expires), "live": at.revoked is None and at.expires > now}
                    for at in tokens
                    if at.account == account.name
                ],
                "narrow": listed(self, account.name),
            }
            for account in accounts
        ]

    def names(self, role: str) -> list[str]:
        """The names of all accounts of a role."""
        with self.records.reader() as connection:
            return [str(name) for name in connection.scalars(sql.select(ACCOUNTS.c.name).where(ACCOUNTS.c.role == role))]

    def _issue(self, connection: sql.Connection, name: str, days: int) -> Issued:
        if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MOST_DAYS:
            raise InvalidInput(f"days must be a whole number from 1 to {MOST_DAYS}", argument="days")
        token, now = PREFIX + random_text(), max(self._clock(), self._latest)
        row = {"digest": digest_of_token(token), "account": name, "created": now, "expires": now + days * DAY}
        connection.execute(sql.insert(TOKENS), row)
        return Issued(name, token, moment(now + days * DAY))

    def _revoke(self, connection: sql.Connection, which: sql.ColumnElement[bool], table: sql.Table = TOKENS) -> int:
        revoking = sql.update(table).where(which, table.c.revoked.is_(None)).values(revoked=self._clock())
        revoked, more = connection.execute(revoking).rowcount, 1
        while more:  # once for each generation
            more = connection.execute(REVOKE_BELOW, {"now": self._clock()}).rowcount
        return revoked


def _narrow_holder(rows: Sequence[Any], digest: str, now: float) -> Account | None:
    """The account of a narrow token, from its row and those above it; each token that it was made from must be live, too."""
    if not rows or not compare_digest(rows[0].digest, digest) or rows[-1].parent is not None:
        return None
    first = rows[0]
    root_is_live = first.token is None or ((first.root_expires or 0) > now and first.root_revoked is None)
    if not root_is_live or any(row.expires <= now or row.revoked is not None for row in rows):
        return None
    limits = (None if row.most is None else Fraction(row.most) for row in rows)
    path = tuple(Narrow(row.number, most, frozenset(row.operations.split())) for row, most in zip(rows, limits, strict=True))
    return Account(first.account, first.role, first.token or 0, min(row.expires for row in rows), path)


def account_name(name: str) -> str:
    """The one normal form of a name; refused if it is empty, long, or has invisible characters.

    >>> account_name(" Ana  LU ")
    'ana lu'
    """
    normal = analyst_name(text_of(name, "name"))
    if not 0 < len(normal) <= LONGEST_NAME or for_terminal(normal) != normal:
        raise InvalidInput(f"name must have 1 to {LONGEST_NAME} visible characters", argument="name")
    return normal


def moment(seconds: float) -> str:
    """A time as people write it, in UTC.

    >>> moment(0)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def digest_of_token(token: str) -> str:
    """The form in which a token is stored and looked up."""
    return sha256(token.encode()).hexdigest()


def _require(connection: sql.Connection, name: str) -> None:
    if connection.scalar(sql.select(ACCOUNTS.c.name).where(ACCOUNTS.c.name == name)) is None:
        raise InvalidInput(f"unknown account {name!r}; list the accounts with: tacit token list")


def random_text() -> str:
    """256 secure random bits, in the letters of a URL."""
    return base64.urlsafe_b64encode(bits.random_bytes(32)).rstrip(b"=").decode()
