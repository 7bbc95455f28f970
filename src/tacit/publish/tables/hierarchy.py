"""Hierarchies of values: from files, and those that need none.

A hierarchy: each value of a column and its coarser forms, from the value itself at level 0 to one that all of them share.

A file has one line for each value: the value, then a coarser form for each level, separated by semicolons, without a header. This
is the format of ARX. Levels nest: two values that share a form share all coarser ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.data.files.kinds import level_rows
from tacit.errors import InvalidInput
from tacit.publish.tables.table import MISSING, Codes, Column

TOP = "*"
LONGEST_SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The forms of each level, and for each value the place of its form in every level.

    >>> age = Hierarchy.of("age", [("31", "30-39", "*"), ("34", "30-39", "*"), ("42", "40-49", "*")])
    >>> age.height, age.forms[1], age.levels[1].tolist()
    (2, ('30-39', '40-49'), [0, 0, 1])
    >>> print(age)
    *
    ├── 30-39
    │   ├── 31
    │   └── 34
    └── 40-49
        └── 42
    """

    name: str
    forms: tuple[tuple[str, ...], ...]
    levels: tuple[Codes, ...]

    @classmethod
    def of(cls, name: str, rows: Sequence[Sequence[str]]) -> Hierarchy:
        """A hierarchy from one row for each value; rows of different lengths, repeated values and levels that cross are refused."""
        _check_rows(name, rows)
        forms, levels = [], []
        for level in range(len(rows[0])):
            words = [row[level] for row in rows]
            places = {word: place for place, word in enumerate(dict.fromkeys(words))}
            forms.append(tuple(places))
            levels.append(np.array([places[word] for word in words], dtype=np.int32))
        made = cls(name, tuple(forms), tuple(levels))
        made.check_nesting()
        return made

    @classmethod
    def read(cls, path: str | Path, name: str | None = None) -> Hierarchy:
        """A hierarchy from a file of lines such as `31;30-39;*`."""
        return cls.of(name or Path(path).stem, level_rows(path))

    @classmethod
    def flat(cls, name: str, values: Sequence[str]) -> Hierarchy:
        """The values, and one form that stands for all of them."""
        return cls.of(name, [(value, TOP) for value in values])

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values, as they are."""
        return self.forms[0]

    @property
    def height(self) -> int:
        """The coarsest level; level 0 is the value itself."""
        return len(self.forms) - 1

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each value stands."""
        return {value: place for place, value in enumerate(self.leaves)}

    @cached_property
    def leaf_counts(self) -> tuple[NDArray[np.int64], ...]:
        """For each level, how many values each form stands for."""
        return tuple(np.bincount(codes, minlength=len(forms)) for codes, forms in zip(self.levels, self.forms, strict=True))

    def up(self, level: int, higher: int) -> Codes:
        """For each form of a level, the place of its form in a higher level."""
        places = np.zeros(len(self.forms[level]), dtype=np.int32)
        places[self.levels[level]] = self.levels[higher]
        return places

    def covers(self, column: Column) -> None:
        """Refuse a column that has a value which the hierarchy lacks."""
        if lacking := [value for value in column.values if value not in self.places]:
            more = f" (and {len(lacking) - 1:,} more)" if len(lacking) > 1 else ""
            what = f"hierarchy of {column.name} has no value {lacking[0][:LONGEST_SHOWN]!r}{more}"
            raise InvalidInput(f"{what}: it must have every value of the column; add a line for it, or drop its rows as missing")

    def of_column(self, column: Column) -> tuple[Codes, ...]:
        """For each level, the place of the form of each distinct value of the column."""
        self.covers(column)
        leaves = np.array([self.places[value] for value in column.values], dtype=np.int64)
        return tuple(codes[leaves] for codes in self.levels)

    def check_nesting(self) -> None:
        """Refuse levels that cross: values with one form at a level must share their form at the next."""
        for level in range(self.height):
            above = self.up(level, level + 1)[self.levels[level]]
            crossing = np.flatnonzero(above != self.levels[level + 1])
            if len(crossing):
                leaf = int(crossing[0])
                form = self.forms[level][self.levels[level][leaf]]
                one, other = self.forms[level + 1][self.levels[level + 1][leaf]], self.forms[level + 1][above[leaf]]
                raise InvalidInput(
                    f"levels of the hierarchy of {self.name} do not nest: {_quote(form)} of level {level} is in both "
                    f"{_quote(one)} and {_quote(other)} of level {level + 1}; give it one coarser form"
                )

    def tree(self, most: int = 12) -> Iterator[str]:
        """The lines of a drawing, coarsest form first; of more than `most` forms under one, the rest is counted."""
        for root in range(len(self.forms[-1])):
            yield self.forms[-1][root]
            yield from self._below(self.height, root, "", most)

    def _below(self, level: int, form: int, margin: str, most: int) -> Iterator[str]:
        if level == 0:
            return
        children = np.flatnonzero(self.up(level - 1, level) == form)
        shown = children if len(children) <= most else children[: most - 1]
        for child in shown:
            last = child == children[-1]
            yield f"{margin}{'└── ' if last else '├── '}{self.forms[level - 1][child]}"
            yield from self._below(level - 1, int(child), margin + ("    " if last else "│   "), most)
        if len(shown) < len(children):
            yield f"{margin}└── ... {len(children) - len(shown):,} more"

    def __str__(self) -> str:
        return "\n".join(self.tree())


def read_hierarchies(folder: str | Path, names: Sequence[str]) -> dict[str, Hierarchy]:
    """The hierarchies of columns, each from the file of its name in a folder: `age.csv` for the column age."""
    hierarchies = {}
    for name in names:
        file = Path(folder) / f"{name}.csv"
        if not file.is_file():
            raise InvalidInput(f"missing hierarchy of {name}: expected {file}; write one, or declare intervals in a configuration")
        hierarchies[name] = Hierarchy.read(file, name)
    return hierarchies


def _check_rows(name: str, rows: Sequence[Sequence[str]]) -> None:
    if not rows:
        raise InvalidInput(f"hierarchy of {name} is empty; write one line for each value, for example: 31;30-39;*")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            what = f"hierarchy of {name} has {len(row)} levels on line {number} and {len(rows[0])} on line 1"
            raise InvalidInput(f"{what}; give every line the same number of levels")
    if len(rows[0]) < 2:
        raise InvalidInput(f"hierarchy of {name} has one level; separate levels with semicolons, for example: 31;30-39;*")
    seen: set[str] = set()
    for number, row in enumerate(rows, 1):
        if row[0] in seen:
            raise InvalidInput(f"hierarchy of {name} repeats {_quote(row[0])} on line {number}; remove the line")
        seen.add(row[0])


def _quote(text: str) -> str:
    return repr(text[:LONGEST_SHOWN])


# --- hierarchies that need no file -------------------------------------------------------------------------------------------


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
    return _build(name, values, [partial(_interval, name, width, Decimal(start), whole) for width in exact])


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
    known_spans = list(SPANS)
    if not spans or any(span not in known_spans for span in spans):
        raise InvalidInput(f"unknown span of the dates of {name}; expected some of: {', '.join(known_spans)}")
    if [known_spans.index(span) for span in spans] != sorted({known_spans.index(span) for span in spans}):
        raise InvalidInput(f"dates of {name} must go from short to long spans; expected the order: {', '.join(known_spans)}")
    return _build(name, values, [partial(_span, name, span) for span in spans])


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
    return _build(name, values, [partial(_prefix, length, sign) for length in kept])


def _build(name: str, values: Sequence[str], steps: Sequence[Callable[[str], str]]) -> Hierarchy:
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
