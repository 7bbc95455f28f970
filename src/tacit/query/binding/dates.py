"""The calendar in integers: parts of a date and truncations, from day numbers, by comparisons and exact division alone.

The years of a column's declared bounds are few, so "which year" is a balanced tree of comparisons with constants. Counting years
from March puts the leap day last, and the month follows from the day of such a year by one division, (5 d + 2) / 153: March to
July and August to December repeat 31, 30, 31, 30, 31 days, 153 in total. The same on every engine, and total.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache

from tacit.errors import RangeTooLarge, WrongType
from tacit.privacy.catalog import day_number, day_of
from tacit.query.binding.terms import choose, floor_by, plus, times, where_known
from tacit.query.plan import Compare, DateType, Literal, NumberType, Row, Term, TextColumn

MOST_YEARS = 200
FIRST, LAST = day_number(date(1, 3, 1)), day_number(date(9998, 12, 31))


def _minus(left: Row, right: Row) -> Row:
    return plus(left, times(right, Literal(-1)))


def _times(row: Row, factor: int) -> Row:
    return times(row, Literal(factor))


def steps(row: Row, starts: Sequence[int], values: Sequence[int]) -> Row:
    """values[i] for the last i with starts[i] <= row: a balanced tree of comparisons. NULL stays NULL."""
    if len(starts) == 1:
        return Literal(values[0])
    half = len(starts) // 2
    lower, upper = steps(row, starts[:half], values[:half]), steps(row, starts[half:], values[half:])
    return choose(
        [(Compare("<", row, Literal(starts[half])), lower), (Compare("<=", Literal(starts[half]), row), upper)], Literal(None)
    )


def _years(row: Row, month: int) -> range:
    """The years in whose twelve months from `month` on a day of the range can lie."""
    first, last = day_of(row.low), day_of(row.high)
    return range(first.year - (first.month < month), last.year - (last.month < month) + 1)


def _year(days: Row) -> Row:
    years = _years(days, 1)
    return steps(days, [day_number(date(year, 1, 1)) for year in years], years)


def _new_year(days: Row) -> Row:
    starts = [day_number(date(year, 1, 1)) for year in _years(days, 1)]
    return steps(days, starts, starts)


def _of_quarter(days: Row) -> Row:
    starts = [day_number(date(year, month, 1)) for year in _years(days, 1) for month in (1, 4, 7, 10)]
    return steps(days, starts, starts)


def _day_from_march(days: Row) -> Row:
    """The day of the year that begins in March, from 0 to 365."""
    starts = [day_number(date(year, 3, 1)) for year in _years(days, 3)]
    return _minus(days, steps(days, starts, starts))


def _month_from_march(days: Row) -> Row:
    return floor_by(plus(_times(_day_from_march(days), 5), Literal(2)), 153)


def _month(days: Row) -> Row:
    from_march = _month_from_march(days)
    return choose([(Compare("<", from_march, Literal(10)), plus(from_march, Literal(3)))], plus(from_march, Literal(-9)))


def _day(days: Row) -> Row:
    first = floor_by(plus(_times(_month_from_march(days), 153), Literal(2)), 5)
    return plus(_minus(_day_from_march(days), first), Literal(1))


def _weekday_from_monday(days: Row) -> Row:
    """0 for Monday to 6 for Sunday: 1970-01-01 was a Thursday, and the shift keeps all dates positive."""
    shifted = plus(days, Literal(3 + 7 * 110_000))
    return _minus(shifted, _times(floor_by(shifted, 7), 7))


def _weekday_from_sunday(days: Row) -> Row:
    shifted = plus(days, Literal(4 + 7 * 110_000))
    return _minus(shifted, _times(floor_by(shifted, 7), 7))


PARTS: dict[str, tuple[Callable[[Row], Row], Callable[[date], int]]] = {
    "year": (_year, lambda day: day.year),
    "quarter": (lambda days: floor_by(plus(_month(days), Literal(2)), 3), lambda day: (day.month + 2) // 3),
    "month": (_month, lambda day: day.month),
    "day": (_day, lambda day: day.day),
    "dayofyear": (lambda days: plus(_minus(days, _new_year(days)), Literal(1)), lambda day: day.timetuple().tm_yday),
    "dayofweek": (_weekday_from_sunday, lambda day: day.isoweekday() % 7),
    "isodow": (lambda days: plus(_weekday_from_monday(days), Literal(1)), lambda day: day.isoweekday()),
}
TRUNCATIONS: dict[str, tuple[Callable[[Row], Row], Callable[[date], int]]] = {
    "year": (_new_year, lambda day: day_number(day.replace(month=1, day=1))),
    "quarter": (_of_quarter, lambda day: day_number(day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1))),
    "month": (lambda days: _minus(days, plus(_day(days), Literal(-1))), lambda day: day_number(day.replace(day=1))),
    "week": (lambda days: _minus(days, _weekday_from_monday(days)), lambda day: day_number(day - timedelta(day.weekday()))),
    "day": (lambda days: days, day_number),
}


def part(name: str, term: Term) -> Term:
    """A part of a date (one of PARTS) as a number; its possible values are listed from the calendar."""
    compute, on_day = PARTS[name]
    return _by_calendar(term, compute, on_day, NumberType(Fraction(1)))


def truncate_to(name: str, term: Term) -> Term:
    """The first day of the year, quarter, month or week (one of TRUNCATIONS) of a date."""
    compute, on_day = TRUNCATIONS[name]
    return _by_calendar(term, compute, on_day, DateType())


def date_node(term: Term) -> Row:
    """The day number of a date."""
    if not isinstance(term.type, DateType) or isinstance(term.node, TextColumn):
        raise WrongType("expected a date", remedy='use a column declared with type = "date"')
    return term.node


def known_days(term: Term) -> tuple[int, int]:
    """The first and the last day that a date can be, refused where they are too far apart to be listed."""
    node = date_node(term)
    if not FIRST <= node.low <= node.high <= LAST or node.high - node.low > 366 * MOST_YEARS:
        raise RangeTooLarge(f"the dates span more than {MOST_YEARS} years", remedy="declare tighter bounds for the column")
    return node.low, node.high


def check_calendar(term: Term) -> Term:
    """The date itself, refused where it can leave the calendar."""
    node = date_node(term)
    if not FIRST <= node.low <= node.high <= LAST:
        raise RangeTooLarge("the date can fall outside the years 1 to 9998", remedy="move it by fewer days")
    return term


def _by_calendar(term: Term, compute: Callable[[Row], Row], on_day: Callable[[date], int], meaning: NumberType | DateType) -> Term:
    node = date_node(term)
    points = _points(on_day, node.low, node.high)
    result = compute(node)
    if isinstance(result, Literal):
        return Term(where_known((node,), points[0]), meaning, points)
    return Term(replace(result, low=points[0], high=points[-1], nullable=node.nullable), meaning, points)


@lru_cache(maxsize=256)
def _points(on_day: Callable[[date], int], low: int, high: int) -> tuple[int, ...]:
    """The values of a function of dates on the days of a range, sorted, each once."""
    if not FIRST <= low <= high <= LAST or high - low > 366 * MOST_YEARS:
        raise RangeTooLarge(f"the dates span more than {MOST_YEARS} years", remedy="declare tighter bounds for the column")
    return tuple(sorted({on_day(day_of(number)) for number in range(low, high + 1)}))
