"""PEP 249: connections and cursors on a catalog or a server, for pandas, Polars and everything else that expects a database.

    connection = tacit.dbapi.connect("tacit:///tacit.toml?epsilon=0.1")
    cursor = connection.cursor()
    cursor.execute("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    cursor.fetchall()          # ward, n, n_low, n_high

Each number is followed by the ends of its interval, unless the connection has `intervals=none`. Every execution is one question,
which is paid for when it is asked: `commit` and `rollback` change nothing and refund nothing. `cursor.messages` has the receipt.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from typing import Any, Protocol

from tacit import errors
from tacit.doors.driver.address import Address, read_address, with_options
from tacit.doors.limited import Shared, limited
from tacit.errors import InvalidInput, TacitError
from tacit.release.axes import is_date

apilevel = "2.0"
threadsafety = 1  # threads may share the module, not a connection
paramstyle = "named"  # :name; `?` and `$1` with a sequence are read too

Date, Time, Timestamp, Binary = date, time_of_day, datetime, bytes


def DateFromTicks(ticks: float) -> date:  # noqa: N802  # a name of PEP 249
    """The date of a time in seconds since the epoch, here."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> time_of_day:  # noqa: N802
    """The time of day of a time in seconds since the epoch, here."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime:  # noqa: N802
    """The date and time of a time in seconds since the epoch, here."""
    return Timestamp(*time.localtime(ticks)[:6])


class _Kinds:
    """A type object of PEP 249: equal to every type code of its kind."""

    def __init__(self, *codes: str) -> None:
        self.codes = frozenset(codes)

    def __eq__(self, other: object) -> bool:
        return other in self.codes if isinstance(other, str) else self is other

    def __hash__(self) -> int:
        return hash(self.codes)


STRING, BINARY, NUMBER = _Kinds("text"), _Kinds("binary"), _Kinds("integer", "double", "decimal", "boolean")
DATETIME, ROWID = _Kinds("date"), _Kinds("rowid")


# --- exceptions --------------------------------------------------------------------------------------------------------------


class Warning(Exception):  # noqa: A001  # a name of PEP 249
    """Never raised."""


class Error(TacitError):
    """The root of this module's exceptions; `code` and `remedy` are those of tacit's own error, which is its cause."""

    def __init__(self, *parts: object, code: str = "invalid", remedy: str = "") -> None:
        super().__init__(*parts)
        self.code, self.remedy = code, remedy


class InterfaceError(Error):
    """A wrong use of this module: a closed connection, an invalid address."""


class DatabaseError(Error):
    """A refusal or a failure of the data set or the server."""


class DataError(DatabaseError):
    """A parameter or a value of a type that is not allowed there."""


class OperationalError(DatabaseError):
    """An unreachable server, an expired token, a spent budget, a question that did not end in time."""


class IntegrityError(DatabaseError):
    """Never raised: nothing is written."""


class InternalError(DatabaseError):
    """An unforeseen failure; the data owner's log has a line about it."""


class ProgrammingError(DatabaseError):
    """SQL that is not valid, unknown names, or a missing budget."""


class NotSupportedError(DatabaseError):
    """SQL that is not on the list of what may be asked."""


KINDS: tuple[tuple[type[TacitError], type[Error]], ...] = (
    (errors.NotAllowed, NotSupportedError),
    (errors.WrongType, DataError),
    (errors.RangeTooLarge, DataError),
    (errors.BudgetExceeded, OperationalError),
    (errors.TooManyFailures, OperationalError),
    (errors.TimedOut, OperationalError),
    (errors.TooMuchWork, OperationalError),
    (errors.StoreUnusable, OperationalError),
    (errors.StoppedAfterSpending, OperationalError),
    (errors.InvalidCatalog, OperationalError),
    (errors.Unforeseen, InternalError),
    (errors.InvalidToken, OperationalError),
    (errors.Refused, ProgrammingError),
    (errors.InvalidInput, ProgrammingError),
)


@contextmanager
def pep_errors() -> Iterator[None]:
    """Inside, every error of tacit becomes one of PEP 249, with its code and its remedy."""
    try:
        yield
    except Error:
        raise
    except TacitError as error:
        kind = next((mine for theirs, mine in KINDS if isinstance(error, theirs)), DatabaseError)
        kind = DataError if "params" in error.arguments else kind
        code, remedy = getattr(error, "code", "invalid"), getattr(error, "remedy", "")
        raise kind(str(error), code=code, remedy=remedy) from error


# --- connections -------------------------------------------------------------------------------------------------------------


class Asked(Protocol):
    """A session on this machine or on a server."""

    def sql(self, question: str, **how: Any) -> Any:
        """The answer to SQL."""

    def explain(self, question: str, **how: Any) -> Any:
        """The cost of the answer."""


def connect(address: str = "", *, session: Asked | None = None, shared: Shared | None = None, **options: Any) -> Connection:
    """A connection to the catalog or the server of an address; or to a session that is already open.

    On a server, `most` is the limit of a narrow token, which ends with the connection. Connections may have one limit, `shared`.
    """
    with pep_errors():
        if session is not None:
            if address:
                raise InvalidInput("give an address or a session, not both")
            return Connection(session, with_options({}, options), shared)
        where = read_address(address or "tacit:///tacit.toml", options)
        opened = open_session(where)
        try:
            return Connection(opened, where, shared)
        except TacitError:
            _close(opened)
            raise


def open_session(address: Address) -> Any:
    """The session that an address names, on a catalog or on a server."""
    if address.server:
        from tacit.doors.cli.login import connected
        from tacit.doors.client import Remote

        return Remote(address.server, address.token, address.ca) if address.token else connected(address.server)
    from tacit.session import open as open_catalog

    return open_catalog(address.catalog).session(address.analyst)


def _close(session: Any) -> None:
    closing = getattr(session, "close", None) or getattr(getattr(session, "data", None), "close", None)
    if closing is not None:
        closing()


class Connection:
    """Questions of one analyst. A question is paid for at once; nothing is begun, committed or undone."""

    Warning, Error, InterfaceError, DatabaseError = Warning, Error, InterfaceError, DatabaseError
    DataError, OperationalError, IntegrityError = DataError, OperationalError, IntegrityError
    InternalError, ProgrammingError, NotSupportedError = InternalError, ProgrammingError, NotSupportedError

    def __init__(self, session: Any, address: Address, shared: Shared | None = None) -> None:
        self._limited = limited(session, address.most, shared)
        self.session, self.address = self._limited.session, address
        self.closed = False

    def __repr__(self) -> str:
        return f"Connection({self.address.place!r})"

    def cursor(self) -> Cursor:
        self.check_open()
        return Cursor(self)

    def commit(self) -> None:
        """Nothing to commit: an answer is paid for when it is released."""
        self.check_open()

    def rollback(self) -> None:
        """Nothing to undo: what was spent stays spent."""
        self.check_open()

    def close(self) -> None:
        """Close the connection to a server, or the prepared data."""
        if not self.closed:
            self.closed = True
            _close(self.session)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check_open(self) -> None:
        if self.closed:
            raise InterfaceError("the connection is closed; open another one", code="closed")

    def ask(self, sql: str, parameters: Any) -> Any:
        """The answer to a question; refused before it is sent if it would exceed `most`."""
        self.check_open()
        return self._limited.sql(sql, **self.address.budget, **({} if parameters is None else {"params": parameters}))

    def explain(self, sql: str, parameters: Any) -> Any:
        """The cost and the columns of an answer; free."""
        self.check_open()
        return self._limited.explain(sql, **self.address.budget, **({} if parameters is None else {"params": parameters}))


# --- cursors -----------------------------------------------------------------------------------------------------------------


class Cursor:
    """One question after another, and the rows of the last one. `answer` is the whole answer."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.arraysize, self.closed = connection, 1, False
        self.lastrowid: None = None
        self._clear()

    def _clear(self) -> None:
        self.answer: Any = None
        self.description: list[tuple[Any, ...]] | None = None
        self.messages: list[tuple[type, str]] = []
        self._rows: list[tuple[Any, ...]] = []
        self._next = 0

    @property
    def rowcount(self) -> int:
        """The rows of the last answer, -1 before the first."""
        return -1 if self.answer is None else len(self._rows)

    @property
    def rownumber(self) -> int:
        return self._next

    def execute(self, operation: str, parameters: Mapping[str, Any] | Sequence[Any] | None = None) -> Cursor:
        """Ask one question; its budget is in its SQL, or in the address of the connection."""
        self._check_open()
        self._clear()
        with pep_errors():
            self.answer = answer = self.connection.ask(operation, parameters or None)
        names, columns = _columns(answer, self.connection.address.intervals == "columns")
        declared = self._declared_types(operation, parameters or None, names) if not all(map(_is_told, columns)) else {}
        typed = [_with_type(column, declared.get(name) or "text") for name, column in zip(names, columns, strict=True)]
        self.description = [(name, code, None, None, None, None, True) for name, (code, _) in zip(names, typed, strict=True)]
        self._rows = list(zip(*(values for _, values in typed), strict=True))
        self.messages = [(Warning, line) for line in answer.below()]
        return self

    def _declared_types(self, operation: str, parameters: Any, names: Sequence[str]) -> dict[str, str | None]:
        """The types of columns by the plan, which is free, for those in which no value tells it; none if it cannot be had."""
        try:
            headings = self.connection.explain(operation, parameters).columns
        except TacitError:  # the answer is there, and was paid for
            return {}
        types, found, at = ["double" if each.type == "number" else each.type for each in headings], {}, 0
        for name in names:  # the ends of an interval, and labels, follow their column
            at += at < len(headings) and name == headings[at].name
            found[name] = "text" if at == 0 or "_label" in name.removeprefix(headings[at - 1].name) else types[at - 1]
        return found

    def executemany(self, operation: str, parameters: Sequence[Any]) -> None:
        """Refused: each execution would be paid for, and only the last one could be fetched."""
        raise NotSupportedError("executemany is not supported; execute each question and fetch its rows", code="not_allowed")

    def fetchone(self) -> tuple[Any, ...] | None:
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        self._check_answered()
        rows = self._rows[self._next : self._next + (self.arraysize if size is None else size)]
        self._next += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(len(self._rows))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchone, None)

    def nextset(self) -> None:
        """There is never another set of rows."""
        self._check_open()

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing."""

    def close(self) -> None:
        self._clear()
        self.closed = True

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self.closed:
            raise InterfaceError("the cursor is closed; make another one", code="closed")
        self.connection.check_open()

    def _check_answered(self) -> None:
        self._check_open()
        if self.answer is None:
            raise ProgrammingError("there are no rows to fetch; execute a question first", code="not_asked")


def _columns(answer: Any, intervals: bool) -> tuple[list[str], list[list[Any]]]:
    """The names and values of the columns of an answer."""
    flat = answer.flat() if intervals else {column.name: list(column.values) for column in answer.columns}
    return list(flat), list(flat.values())


def _is_told(values: Sequence[Any]) -> bool:
    """Whether some value of a column tells its type."""
    return any(value is not None for value in values)


def _with_type(values: Sequence[Any], otherwise: str = "text") -> tuple[str, list[Any]]:
    """A type code and the values as Python has them: a column of texts that are all dates has dates."""
    present = [value for value in values if value is not None]
    if not present:
        return otherwise, list(values)
    if all(map(is_date, present)):
        return "date", [None if value is None else date.fromisoformat(value) for value in values]
    kinds = ((bool, "boolean"), (int, "integer"), (Decimal, "decimal"), (int | float | Decimal, "double"))
    for kind, code in kinds:
        if all(isinstance(value, kind) for value in present):
            return code, list(values)
    return "text", list(values)
