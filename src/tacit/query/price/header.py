"""The header of an answer before it is released: the kind, type and declared range of every column, from the plan alone.

A kind and a type do not depend on rows: they follow from the question and the catalog. `type` names the Python values of a column
in an answer: "integer" (int), "number" (int, float or Decimal), "text" and "date" (str), "boolean" (bool).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import reduce
from math import isfinite
from typing import Any

import numpy as np

from tacit.mechanisms.noise.grid import DOUBLE_LIMIT
from tacit.query.intervals.aggregates import CHOICES, finish_call, row_of
from tacit.query.intervals.bands import Band
from tacit.query.intervals.columns import NEVER_NULL
from tacit.query.intervals.forms import is_date, is_whole, written
from tacit.query.intervals.misses import DECLARED, declared, is_exact
from tacit.query.plan import BooleanType, CategoryType, DateType, Key, NumberType, Term, TextColumn
from tacit.query.question import (
    Call,
    Chosen,
    Coalesced,
    Day,
    End,
    Fixed,
    KeyValue,
    NullIf,
    Number,
    Out,
    Output,
    Question,
    Result,
    Test,
    Window,
    alternatives,
    key_value,
    values_of,
)

PUBLIC = "public"  # the kind of a column that is exact: of public tables, of the catalog, or of keys and constants alone
WORDS = frozenset({"text", "boolean"})
NEVER_UNKNOWN = ("is_null", "is_true", "is_false")
COUNTING = ("count", "rank", "dense_rank", "row_number")


@dataclass(frozen=True, slots=True)
class Heading:
    """A column of an answer in advance; `low` and `high` are the range that the catalog declares, and None without one."""

    name: str
    kind: str
    type: str | None
    nullable: bool
    low: int | float | Decimal | str | None = None
    high: int | float | Decimal | str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values; a number that a double would change is its exact text."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value) if isinstance(value, int) and abs(value) > DOUBLE_LIMIT else value


def header_of(question: Question) -> tuple[Heading, ...]:
    """The columns of any answer to a question, without the ends of intervals."""
    parts = [[_heading(output, part) for output in part.outputs] for part in question.shown]
    return tuple(reduce(_stacked, each) for start, end in question.spans for each in zip(*parts[start:end], strict=True))


def _heading(output: Output, question: Question) -> Heading:
    low, high = _range(output.value, question)
    kind, named = kind_of(output.value, question), type_of(output.value, question)
    return Heading(output.name, kind, named, is_nullable(output.value, question), low, high)


def heading_of_term(name: str, term: Term) -> Heading:
    """A column of rows by what is declared of it."""
    low, high = _range_of_key(Key(name, term))
    return Heading(name, "key", type_of_term(term), term.nullable, low, high)


def _stacked(one: Heading, other: Heading) -> Heading:
    """One column of two that stand below each other."""
    named = common_type((one.type, other.type))
    kind, nullable = stacked_kind((one.kind, other.kind)), one.nullable or other.nullable
    if None in (one.low, one.high, other.low, other.high) or one.type != other.type:
        return Heading(one.name, kind, named, nullable)
    ends: tuple[Any, Any] = min(one.low, other.low), max(one.high, other.high)  # type: ignore[type-var]  # of one type
    return Heading(one.name, kind, named, nullable, *ends)


# --- kinds -------------------------------------------------------------------------------------------------------------------


def kind_of(out: Out, question: Question) -> str:
    """The kind of a column: a key, the aggregate that it shows, "public", "text", "end" or "expression"."""
    if isinstance(out, KeyValue):
        return "key"
    if isinstance(out, End):
        return "end"
    call = question.calls[out.index] if isinstance(out, Result) else None
    if call is not None and call.name in CHOICES:
        return call.name
    if is_exact(out, question):
        return PUBLIC
    if type_of(out, question) in WORDS:
        return "text"
    return call.name if call else "expression"


def stacked_kind(kinds: Iterable[str]) -> str:
    """The kind of columns that stand below each other (UNION ALL, ROLLUP)."""
    each = set(kinds)
    return each.pop() if len(each) == 1 else next((kind for kind in ("text", "key", PUBLIC) if kind in each), "expression")


# --- types -------------------------------------------------------------------------------------------------------------------


def type_of(out: Out, question: Question) -> str | None:
    """The type of the values of an output; None if they are all NULL."""
    match out:
        case KeyValue():
            return type_of_term(question.group.keys[out.index].term)
        case End():
            return type_of(question.outputs[out.place].value, question)
        case Result() if (call := question.calls[out.index]).name in CHOICES and call.over is not None:
            return type_of_term(call.over)
        case Test():
            return "boolean"
        case Fixed():
            return None if out.value is None else "boolean" if isinstance(out.value, bool) else "text"
        case Chosen() | Coalesced() | NullIf():
            parts = {type_of(part, question) for part in alternatives(out)} - {None}
            if parts & WORDS:
                return common_type(parts)
            if not parts:
                return None
    return "date" if is_date(out, question) else "integer" if is_whole(out, question) else "number"


def type_of_term(term: Term) -> str:
    """The type of the values of a key."""
    match term.type:
        case NumberType(step):
            return "integer" if step.denominator == 1 else "number"
        case CategoryType(values):
            return common_type(map(type_of_value, values)) or "text"
        case DateType():
            return "date"
        case BooleanType():
            return "boolean"
        case _:
            return "text"


def type_of_value(value: object) -> str | None:
    """The type of one value of an answer.

    >>> [type_of_value(each) for each in (True, 3, 0.5, "a", "2024-01-31", None)]
    ['boolean', 'integer', 'number', 'text', 'text', None]
    """
    if value is None or isinstance(value, bool | str):
        return None if value is None else "boolean" if isinstance(value, bool) else "text"
    return "integer" if isinstance(value, int) else "number"


def common_type(types: Iterable[str | None]) -> str | None:
    """The one type of several; values of types that differ are texts, except whole and other numbers."""
    each = set(types) - {None}
    if len(each) > 1:
        return "number" if each == {"integer", "number"} else "text"
    return next(iter(each), None)


# --- NULL, and ranges --------------------------------------------------------------------------------------------------------


def is_nullable(out: Out, question: Question) -> bool:
    """Whether a row of an answer can have NULL in a column."""
    match out:
        case KeyValue():
            key = question.group.keys[out.index]
            return None in key.kept if key.kept is not None else key.term.nullable
        case Result():
            name = question.calls[out.index].name
            return name not in NEVER_NULL and name not in CHOICES
        case Number() | Day():
            return False
        case Fixed():
            return out.value is None
        case Test():
            return out.operator not in NEVER_UNKNOWN and any(is_nullable(part, question) for part in out.parts)
        case Coalesced():
            return all(is_nullable(part, question) for part in out.parts)
        case Chosen():
            return any(is_nullable(part, question) for part in alternatives(out))
        case Window():
            return out.function not in COUNTING
    return True


def _range(out: Out, question: Question) -> tuple[Any, Any]:
    """The least and the largest value whatever the data, by the declared bounds; of a number with open noise none."""
    match out:
        case KeyValue():
            return _range_of_key(question.group.keys[out.index])
        case Result():
            return _range_of_call(question.calls[out.index], out, question)
    return None, None


def _range_of_key(key: Key) -> tuple[Any, Any]:
    if not isinstance(key.term.type, NumberType | DateType) or isinstance(key.term.node, TextColumn):
        return None, None
    listed = key.kept if key.kept is not None else key.term.points or (key.term.node.low, key.term.node.high)
    ends = [point for point in listed if point is not None]
    return (key_value(key.term, min(ends)), key_value(key.term, max(ends))) if ends else (None, None)


def _range_of_call(call: Call, out: Out, question: Question) -> tuple[Any, Any]:
    if call.name in DECLARED or call.name in ("corr", "linreg_r2"):
        low, high = declared(call)
        return (low, high) if isfinite(low) and isfinite(high) else (None, None)
    if call.name in CHOICES and call.over is not None and isinstance(call.over.type, NumberType | DateType):
        listed = values_of(call.over)
        return (key_value(call.over, min(listed)), key_value(call.over, max(listed))) if listed else (None, None)
    if call.name == "quantile":
        ends = np.array([row_of(call.over).low, row_of(call.over).high], dtype=np.float64)
        low_end, high_end = written(finish_call(call, question.calls, (Band(ends, ends, ends),)).value, out, question)
        return low_end, high_end
    return None, None


# --- of answers that are free: by their values, which are public -------------------------------------------------------------


def free_header(columns: Iterable[tuple[str, Sequence[Any]]]) -> tuple[Heading, ...]:
    """The columns of an answer from public tables or the catalog; a type is None where no row tells it."""
    return tuple(Heading(name, PUBLIC, _type_of_all(values), not values or None in values) for name, values in columns)


def _type_of_all(values: Sequence[Any]) -> str | None:
    named = common_type(map(type_of_value, values))
    return "date" if named == "text" and all(value is None or _is_day(value) for value in values) else named


def _is_day(value: object) -> bool:
    try:
        return isinstance(value, str) and len(value) == len("2024-12-31") and bool(date.fromisoformat(value))
    except ValueError:
        return False
