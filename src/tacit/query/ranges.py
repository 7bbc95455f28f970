"""Margins with columns in intervals: the SQL by digits of each column, and how its groups are intervals again.

A column with one width or several (`age:5/10/20`) becomes a few keys, its digits: the coarsest interval, then the places inside it.
All histograms are margins of these keys, and a cumulative count is a sum of their cells, so that one workload has them all
(mechanisms/ranges.md). Bounds and widths are public, so that every interval is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import floor, prod
from typing import Any

from tacit.errors import InvalidInput, UnknownName
from tacit.mechanisms.ranges import MOST_BINS, MOST_DIGITS, digits_of
from tacit.mechanisms.residual_shares import CUMULATIVE
from tacit.privacy.arguments import text_of, whole_of
from tacit.privacy.catalog import Catalog, Column, day_of
from tacit.privacy.rounding import brief, decimal_text, exact
from tacit.query.language.margins import MOST_SETS, quoted

MOST_RANGED = 8  # columns
KINDS = ("number", "date")


@dataclass(frozen=True, slots=True)
class Ranged:
    """A column in intervals: where the first begins, the least width, and the digits of an interval's place.

    `levels` are the widths that are asked for, finest first, each with the number of leading digits that say its interval.
    """

    name: str
    is_date: bool
    start: Fraction
    width: Fraction
    bins: int
    digits: tuple[int, ...]
    levels: tuple[tuple[Fraction, int], ...]
    cumulative: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its digits in the question."""
        return tuple(f"{self.name}:{place}" for place in range(1, len(self.digits) + 1))

    def sql(self) -> Iterator[str]:
        """The expression of every digit."""
        name = quoted(self.name)
        start = f"DATE '{day_of(int(self.start)).isoformat()}'" if self.is_date else decimal_text(self.start)
        offset = f"DATE_DIFF('day', {start}, {name})" if self.is_date else f"({name} - {start})" if self.start else name
        for place, base in enumerate(self.digits):
            unit = decimal_text(self.width * prod(self.digits[place + 1 :]))
            yield f"FLOOR({offset} / {unit})" if place == 0 else f"MOD(FLOOR({offset} / {unit}), {base})"

    def place(self, digits: Sequence[int | None]) -> int | None:
        """The place of an interval among those of its width; None if a value of the column cannot be there."""
        at = 0
        for digit, base in zip(digits, self.digits, strict=False):
            if digit is None:
                return None
            at = at * base + digit
        inside = prod(self.digits[len(digits) :])
        return at if at * inside < self.bins else None

    @property
    def key_names(self) -> tuple[str, ...]:
        """The columns of the answer: where an interval begins, of several widths also where the next one does; or the end alone."""
        if self.cumulative:
            return (f"{self.name}_below",)
        return (f"{self.name}_from", f"{self.name}_to") if len(self.levels) > 1 else (f"{self.name}_from",)

    def ends(self, place: int, many: int) -> tuple[Any, ...]:
        """The values of these columns, by the place of an interval among those of a level."""
        width = self.width * prod(self.digits[many:])
        begin, end = (self._value(self.start + at * width) for at in (place, place + 1))
        return (end,) if self.cumulative else (begin, end)[: len(self.key_names)]

    def _value(self, value: Fraction) -> Any:
        if self.is_date:
            return day_of(int(value)).isoformat()
        return int(value) if value.denominator == 1 else float(value)


@dataclass(frozen=True, slots=True)
class Layout:
    """The question, and for each of its grouping sets the columns that it has, each with how many of its digits."""

    sql: str
    columns: tuple[Ranged | str, ...]
    sets: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def loss(self) -> str:
        """The error that the shares of the budget make small."""
        return CUMULATIVE if any(isinstance(each, Ranged) and each.cumulative for each in self.columns) else "squares"


def layout_of(catalog: Catalog, table: str, columns: Sequence[str], prefixes: Sequence[str], more: Mapping[str, Any]) -> Layout:
    """The question for margins with columns in intervals; `more` has `ways`, `where` and `sums`."""
    if more.get("sums"):
        raise InvalidInput("sums are not supported beside columns in intervals; ask for counts", argument="sums")
    if isinstance(columns, str) or isinstance(prefixes, str):
        raise InvalidInput(
            "columns and prefixes must be lists of names; give for example columns=['age:10', 'ward']",
            argument=("columns", "prefixes"),
        )
    declared = {name.casefold(): each for name, each in catalog.tables.items()}.get(text_of(table, "table").casefold())
    if declared is None:
        raise UnknownName(f"unknown table {brief(table)}; `tacit tables` lists the tables", argument="table")
    by_name = {column.name.casefold(): column for column in declared.columns.values()}
    added = {each.strip().casefold() for each in prefixes}
    made = [_column(text_of(each, "columns").strip(), by_name, added) for each in columns]
    names = [(each if isinstance(each, str) else each.name).casefold() for each in made]
    if len(set(names)) < len(names):
        raise InvalidInput("a column is given twice in columns; give all of its widths at once: age:5/10", argument="columns")
    if missing := sorted(added - {each.name.casefold() for each in made if isinstance(each, Ranged)}):
        raise InvalidInput(f"{brief(missing[0])} must be among the columns, with its width: {missing[0]}:10", argument="prefixes")
    if sum(isinstance(each, Ranged) for each in made) > MOST_RANGED:
        raise InvalidInput(f"at most {MOST_RANGED} columns can be in intervals; ask for fewer", argument="columns")
    ways = min(whole_of(more.get("ways", 2), "ways", 1, 6), len(made))
    sets = tuple(_sets(made, ways))
    if len(sets) > MOST_SETS:
        raise InvalidInput(
            f"{len(sets)} margins are asked for, one for each set of columns and widths; the limit is {MOST_SETS}: lower ways, "
            "or give fewer widths",
            argument="columns",
        )
    nullable = [each.name for each in made if isinstance(each, Ranged) and by_name[each.name.casefold()].nullable]
    return Layout(_sql(declared.name, made, sets, (str(more.get("where") or ""), nullable)), tuple(made), sets)


def _column(text: str, declared: Mapping[str, Column], added: set[str]) -> Ranged | str:
    name, sign, widths = text.partition(":")
    if not sign and name.casefold() not in added:
        return name
    column = declared.get(name.casefold())
    if column is None:
        raise UnknownName(f"unknown column {brief(name)} in columns", argument="columns")
    if column.kind not in KINDS or column.bounds is None or column.step is None:
        raise InvalidInput(f"{name} has no bounds to divide; intervals are for numbers and dates with bounds", argument="columns")
    given = sorted(_width(each, column) for each in widths.split("/")) if sign else [column.step]
    if any((larger / smaller).denominator > 1 or larger == smaller for smaller, larger in pairwise(given)):
        raise InvalidInput(
            f"each width of {name} must be a multiple of the next smaller one, not {brief(widths)}; give for example 5/10/20",
            argument="columns",
        )
    return _with_digits(column, given, name.casefold() in added)


def _width(text: str, column: Column) -> Fraction:
    width, step = exact(text.strip() or "0", "columns"), column.step or Fraction(1)
    if width <= 0 or (width / step).denominator > 1:
        raise InvalidInput(
            f"a width of {column.name} must be a multiple of its step {decimal_text(step)}, not {brief(text)}; give for example "
            f"{column.name}:{decimal_text(10 * step)}",
            argument="columns",
        )
    return width


def _with_digits(column: Column, widths: Sequence[Fraction], cumulative: bool) -> Ranged:
    """The digits of a column: the coarsest interval, then places inside; finer ones where they make cumulative counts exact."""
    assert column.bounds is not None  # noqa: S101  # the caller has looked
    low, high = column.bounds
    largest = widths[-1]
    start = low if column.kind == "date" else Fraction(floor(low / largest)) * largest
    bins = floor((high - start) / widths[0]) + 1
    if bins > MOST_BINS:
        raise InvalidInput(
            f"{column.name} would have {bins:,} intervals; the limit is {MOST_BINS:,}: give a larger width", argument="columns"
        )
    whole = -(-bins // int(largest / widths[0]))
    ratios = [int(larger / smaller) for smaller, larger in pairwise(widths)][::-1]
    groups = [digits_of(each, MOST_DIGITS if not ratios else 4) if cumulative else (each,) for each in (whole, *ratios)]
    digits = tuple(digit for group in groups for digit in group)
    ends = [sum(map(len, groups[: number + 1])) for number in range(len(groups))][::-1]
    levels = tuple(zip(widths, ends, strict=True))
    return Ranged(column.name, column.kind == "date", start, widths[0], bins, digits, levels, cumulative)


def _sets(columns: Sequence[Ranged | str], ways: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every set of at most `ways` columns, with every width; a cumulative one with all of its digits."""
    for size in range(1, ways + 1):
        for chosen in combinations(range(len(columns)), size):
            options = [[(at, many) for many in _many(columns[at])] for at in chosen]
            yield from product(*options)


def _many(column: Ranged | str) -> list[int]:
    if isinstance(column, str):
        return [0]
    return [len(column.digits)] if column.cumulative else [many for _, many in column.levels]


def _sql(
    table: str, columns: Sequence[Ranged | str], sets: Sequence[Sequence[tuple[int, int]]], kept: tuple[str, Sequence[str]]
) -> str:
    where, nullable = kept
    shown = []
    for each in columns:
        if isinstance(each, str):
            shown.append(quoted(each))
        else:
            shown += [f"{text} AS {quoted(key)}" for text, key in zip(each.sql(), each.keys, strict=True)]
    conditions = [*([f"({where})"] if where else []), *(f"{quoted(name)} IS NOT NULL" for name in nullable)]
    filtered = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    listed = ", ".join(f"({', '.join(map(quoted, keys_of(columns, each)))})" for each in sets)
    return f"SELECT {', '.join(shown)}, COUNT(*) AS n FROM {quoted(table)}{filtered} GROUP BY GROUPING SETS ({listed})"  # noqa: S608  # quoted


def keys_of(columns: Sequence[Ranged | str], chosen: Sequence[tuple[int, int]]) -> list[str]:
    """The keys of a grouping set, by the names that the question gives them."""
    names: list[str] = []
    for at, many in chosen:
        column = columns[at]
        names += [column] if isinstance(column, str) else column.keys[:many]
    return names
