"""Text to a question: an aggregate of the audited column over the rows that a condition on public columns selects.

    MAX(salary) WHERE ward = 'north' AND age BETWEEN 30 AND 40
    SELECT AVG(salary) FROM data WHERE ward IN ('north', 'east')

The condition is parsed like any SQL in tacit, and evaluated over public columns with SQL's three truth values. The audited
column may appear in the aggregate only: a condition on it would make the selected rows a secret, and a refusal a leak.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidSQL, NotAllowed, Refused, UnknownName, WrongType
from tacit.publish.audited.question import Rows
from tacit.query.language.sql import parse
from tacit.query.language.syntax import Apply, Constant, Expression, Name, Select, Star

Wanted = Literal["max", "min", "sum", "avg", "count"]
Columns = Mapping[str, NDArray[Any]]
Truth = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # where it holds, and where it is not known
WRITTEN = re.compile(r"\s*SELECT\b", re.IGNORECASE)
SHORT = re.compile(r"\s*(?P<call>\w+\s*\([^()]*\))\s*(?P<rest>WHERE\b.*)?;?\s*\Z", re.IGNORECASE | re.DOTALL)
FORM = "write for example MAX(salary) WHERE ward = 'north'"
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """An aggregate, and the rows that it is about."""

    wanted: Wanted
    rows: Rows
    text: str


def select_rows(text: str, value: str, columns: Columns, people: int) -> Selected:
    """The aggregate that the text asks for, and the rows that it is about.

    >>> ward = np.array(["north", "south", "north"], dtype=object)
    >>> select_rows("MAX(salary) WHERE ward = 'north'", "salary", {"ward": ward}, 3).rows
    array([0, 2])
    """
    try:
        select = parse(_whole(text))
        _plain(select)
        wanted = _aggregate_of(select.items[0].expression, value)
        all_rows = np.ones(people, dtype=np.bool_)
        holds = all_rows if select.where is None else _Condition(value, columns, people).truth(select.where)[0]
    except Refused as refusal:
        at = refusal.at if WRITTEN.match(text) else None  # the places of a short form are not those of the SELECT made of it
        raise type(refusal)(refusal.message, remedy=refusal.remedy, at=at) from None
    if not holds.any():
        raise NotAllowed("no row meets the condition", remedy="use a condition that at least one row meets")
    return Selected(wanted, np.flatnonzero(holds), text.strip())


def _whole(text: str) -> str:
    """The short form as a SELECT."""
    if WRITTEN.match(text):
        return text
    short = SHORT.match(text)
    if short is None:
        raise InvalidSQL("invalid query: expected one aggregate with an optional condition", remedy=FORM)
    return " ".join(["SELECT", short["call"], "FROM data", short["rest"] or ""])


def _plain(select: Select) -> None:
    if len(select.items) != 1 or select != Select(select.items, select.table, where=select.where):
        raise NotAllowed("an audited query must be one aggregate with at most one condition", remedy=FORM)


def _aggregate_of(expression: Expression, value: str) -> Wanted:
    if not isinstance(expression, Apply) or expression.function not in ("max", "min", "sum", "avg", "count"):
        raise NotAllowed("audited queries support only MAX, MIN, SUM, AVG and COUNT", remedy=FORM, at=expression.at)
    (over,) = expression.arguments
    if isinstance(over, Star) or (isinstance(over, Name) and over.parts[-1].lower() == value.lower()):
        return expression.function  # type: ignore[return-value]
    raise NotAllowed(f"the audited column is {value}", remedy=f"ask for {expression.function.upper()}({value})", at=over.at)


class _Condition:
    """Evaluates a condition over public columns."""

    def __init__(self, value: str, columns: Columns, people: int) -> None:
        self.value, self.people = value, people
        self.columns = {name.lower(): column for name, column in columns.items()}

    def truth(self, expression: Expression) -> Truth:
        """Where the condition holds, and where it is unknown."""
        if isinstance(expression, Constant) and isinstance(expression.value, bool):
            return np.full(self.people, expression.value), np.zeros(self.people, dtype=np.bool_)
        if isinstance(expression, Name):
            return self.compare("=", self.column(expression), True, expression)
        if not isinstance(expression, Apply):
            raise NotAllowed("invalid condition", remedy=FORM, at=expression.at)
        function, arguments = expression.function, expression.arguments
        if function in ("and", "or", "not"):
            return _connect(function, [self.truth(part) for part in arguments])
        if function in COMPARISONS:
            return self.comparison(expression)
        if function == "in":
            return _connect("or", [self.comparison(Apply("=", (arguments[0], each), expression.at)) for each in arguments[1:]])
        if function == "between":
            ends = zip((">=", "<="), arguments[1:], strict=True)
            return _connect("and", [self.comparison(Apply(sign, (arguments[0], end), expression.at)) for sign, end in ends])
        if function == "is_null" and isinstance(arguments[0], Name):
            return _unknown(self.column(arguments[0])), np.zeros(self.people, dtype=np.bool_)
        raise NotAllowed(
            f"{function.upper()} is not supported in an audited condition",
            remedy="compare public columns with constants, using =, <>, <, <=, >, >=, IN, BETWEEN, IS NULL, AND, OR, NOT",
            at=expression.at,
        )

    def comparison(self, expression: Apply) -> Truth:
        left, right = expression.arguments
        sign = expression.function
        if isinstance(left, Constant):
            left, right, sign = right, left, TURNED.get(sign, sign)
        if not isinstance(left, Name) or not isinstance(right, Constant):
            raise NotAllowed("a condition must compare a public column with a constant", remedy=FORM, at=expression.at)
        return self.compare(sign, self.column(left), right.value, left)

    def compare(self, sign: str, column: NDArray[Any], value: Any, name: Name) -> Truth:
        """The comparison, row by row; unknown where the value is NULL."""
        unknown = _unknown(column) if value is not None else np.ones(self.people, dtype=np.bool_)
        present, holds = ~unknown, np.zeros(self.people, dtype=np.bool_)
        first = column[present][:1]
        if first.size and _kind(first[0]) != _kind(value) and not (_kind(first[0]) == "date" and isinstance(value, str)):
            wrong = f"{name.parts[-1]} holds {_kind(first[0])}s and cannot be compared with a {_kind(value)}"
            raise WrongType(wrong, remedy="compare it with a constant of the same type", at=name.at)
        holds[present] = COMPARISONS[sign](column[present], _constant(value, first))
        return holds, unknown

    def column(self, name: Name) -> NDArray[Any]:
        key = name.parts[-1].lower()
        if key == self.value.lower():
            remedy = "conditions must use public columns only"
            raise NotAllowed(f"{self.value} is audited and cannot be used in a condition", remedy=remedy, at=name.at)
        if key not in self.columns:
            listed = ", ".join(self.columns) or "none"
            raise UnknownName(f"{name.parts[-1]} is not a public column", remedy=f"declared public: {listed}", at=name.at)
        return self.columns[key]


def _connect(function: str, parts: list[Truth]) -> Truth:
    """AND, OR and NOT of three truth values."""
    holds, unknown = parts[0]
    if function == "not":
        return ~holds & ~unknown, unknown
    for more, maybe in parts[1:]:
        false = (~holds & ~unknown) | (~more & ~maybe) if function == "and" else (~holds & ~unknown) & (~more & ~maybe)
        holds = holds & more if function == "and" else holds | more
        unknown = ~holds & ~false
    return holds, unknown


def _unknown(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype == object:
        return np.array([value is None or value != value for value in column])
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=np.bool_)


def _kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "truth value"
    if isinstance(value, str):
        return "text"
    return "date" if isinstance(value, date) else "number"


def _constant(value: Any, first: NDArray[Any]) -> Any:
    """The constant in the type of the column; a whole number stays one."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    if isinstance(value, str) and first.size and _kind(first[0]) == "date":
        try:
            day = date.fromisoformat(value)
        except ValueError:
            raise WrongType("a date must be written as '2020-12-31'") from None
        return type(first[0])(day.year, day.month, day.day)
    return value
