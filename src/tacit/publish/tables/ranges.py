"""Hierarchies that need no file: intervals of numbers, spans of dates, and prefixes of codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import pairwise

from tacit.errors import InvalidInput
from tacit.publish.tables.hierarchy import TOP, Hierarchy
from tacit.publish.tables.table import MISSING

SPANS: dict[str, Callable[[date], str]] = {
    "month": lambda day: f"{day:%Y-%m}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}-{day.year // 10 * 10 + 9:04d}",
    "century": lambda day: f"{day.year // 100 * 100:04d}-{day.year // 100 * 100 + 99:04d}",
}


def intervals(name: str, values: Sequence[str], widths: Sequence[Decimal | int], start: Decimal | int = 0) -> Hierarchy:
    """Numbers in intervals of growing width that begin at `start`; each width is a multiple of the one before.

    >>> print(intervals("age", ["31", "34", "42"], [5, 10]))
    *
    ├── 30-39
    │   └── 30-34
    │       ├── 31
    │       └── 34
    └── 40-49
        └── 40-44
            └── 42
    """
    exact = [Decimal(width) for width in widths]
    if not exact or any(not width.is_finite() or width <= 0 for width in exact):
        raise InvalidInput(f"intervals of {name} must be positive widths; give for example [5, 10, 20]")
    for narrow, wide in pairwise(exact):
        if wide <= narrow or wide % narrow:
            raise InvalidInput(
                f"intervals of {name} do not nest: {wide} must be a multiple of {narrow}; give for example [5, 10, 20]"
            )
    whole = all(number == int(number) for number in [*exact, Decimal(start), *(_number(name, value) for value in values if value)])
    return _made(name, values, [partial(_interval, name, width, Decimal(start), whole) for width in exact])


def dates(name: str, values: Sequence[str], spans: Sequence[str] = ("month", "year", "decade")) -> Hierarchy:
    """Dates (YYYY-MM-DD) in months, quarters, years, decades or centuries, in that order.

    >>> print(dates("born", ["1990-02-07", "1990-05-30"], ["quarter", "year"]))
    *
    └── 1990
        ├── 1990-Q1
        │   └── 1990-02-07
        └── 1990-Q2
            └── 1990-05-30
    """
    known = list(SPANS)
    if not spans or any(span not in known for span in spans):
        raise InvalidInput(f"unknown span of the dates of {name}; expected some of: {', '.join(known)}")
    if [known.index(span) for span in spans] != sorted({known.index(span) for span in spans}):
        raise InvalidInput(f"dates of {name} must go from short to long spans; expected the order: {', '.join(known)}")
    return _made(name, values, [partial(_span, name, span) for span in spans])


def prefixes(name: str, values: Sequence[str], lengths: Sequence[int] | None = None, sign: str = "*") -> Hierarchy:
    """Codes that keep their first characters, in falling numbers; by default one fewer at each level.

    >>> print(prefixes("zip", ["02139", "02144"], [4, 3]))
    *
    └── 021**
        ├── 0213*
        │   └── 02139
        └── 0214*
            └── 02144
    """
    longest = max((len(value) for value in values), default=1)
    kept = list(range(longest - 1, 0, -1)) if lengths is None else list(lengths)
    if any(length < 1 for length in kept) or kept != sorted(set(kept), reverse=True):
        raise InvalidInput(f"prefixes of {name} must be falling lengths of at least 1; give for example [4, 3, 2]")
    return _made(name, values, [partial(_prefix, length, sign) for length in kept])


def _made(name: str, values: Sequence[str], steps: Sequence[Callable[[str], str]]) -> Hierarchy:
    """One row for each value; a missing one has no interval, so it stays itself until the top."""
    rows = [(value, *((value if value == MISSING else step(value)) for step in steps), TOP) for value in values]
    return Hierarchy.of(name, rows)


def _prefix(length: int, sign: str, value: str) -> str:
    return value[:length] + sign * max(0, len(value) - length)


def _span(name: str, span: str, value: str) -> str:
    return SPANS[span](_day(name, value))


def _interval(name: str, width: Decimal, start: Decimal, whole: bool, value: str) -> str:
    number = _number(name, value)
    low = ((number - start) // width) * width + start
    if low > number:  # the quotient of decimals is cut towards zero
        low -= width
    return f"{low:f}-{low + width - 1:f}" if whole and low >= 0 else f"[{low:f}, {low + width:f})"


def _number(name: str, value: str) -> Decimal:
    try:
        number = Decimal(value)
        if number.is_finite():
            return number
    except InvalidOperation:
        pass
    raise InvalidInput(
        f"{name} has a value that is not a number, so it has no intervals; drop it as missing, or give a hierarchy file"
    )


def _day(name: str, value: str) -> date:
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        raise InvalidInput(
            f"{name} has a value that is not a date (YYYY-MM-DD); drop it as missing, or give a hierarchy file"
        ) from None
