"""Periods of a budget: which period a day has, their names, and which have begun. `accounting/periods.md` has the proof.

A calendar maps days to consecutive whole numbers, so that sets of periods are runs of numbers. The owner's word alone decides which
periods have begun and which are closed: neither a clock nor a row has a part in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Literal

from tacit.errors import InvalidInput

Kind = Literal["day", "week", "month", "quarter", "year", "days"]
KINDS: tuple[Kind, ...] = ("day", "week", "month", "quarter", "year")
EPOCH = date(1970, 1, 1)
MONDAY = 3  # days from a Monday to 1970-01-01
MOST_PERIODS = 10_000  # that a catalog's bounds may span: a budget for each is kept
LONGEST_LIST = 3  # runs of periods that a sentence names

Run = tuple[int, int]  # the first and the last of consecutive periods
Runs = tuple[Run, ...]  # disjoint, in order, with a gap between two of them
Versions = tuple[tuple[int, int, str], ...]  # runs of periods in order, each with the version of its rows


@dataclass(frozen=True, slots=True)
class Calendar:
    """The division of days into periods. For the kind "days", `days` make one, from `start`, a day number since 1970-01-01.

    >>> Calendar("month").name(Calendar("month").number(date(2026, 9, 17)))
    '2026-09'
    """

    kind: Kind
    days: int = 0
    start: int = 0

    def number(self, day: date) -> int:
        """The period of a day: consecutive whole numbers.

        >>> [Calendar("week").number(date(2026, 1, day)) - Calendar("week").number(date(2026, 1, 1)) for day in (4, 5, 11, 12)]
        [0, 1, 1, 2]
        """
        passed = (day - EPOCH).days
        match self.kind:
            case "day":
                return passed
            case "week":
                return (passed + MONDAY) // 7
            case "month":
                return 12 * day.year + day.month - 1
            case "quarter":
                return 4 * day.year + (day.month - 1) // 3
            case "year":
                return day.year
            case _:
                return (passed - self.start) // self.days

    def first_day(self, number: int) -> date:
        """The first day of a period.

        >>> Calendar("quarter").first_day(Calendar("quarter").number(date(2026, 8, 2)))
        datetime.date(2026, 7, 1)
        """
        match self.kind:
            case "day":
                return EPOCH + timedelta(number)
            case "week":
                return EPOCH + timedelta(7 * number - MONDAY)
            case "month":
                return date(number // 12, number % 12 + 1, 1)
            case "quarter":
                return date(number // 4, 3 * (number % 4) + 1, 1)
            case "year":
                return date(number, 1, 1)
            case _:
                return EPOCH + timedelta(self.start + self.days * number)

    def last_day(self, number: int) -> date:
        """The last day of a period.

        >>> Calendar("month").last_day(Calendar("month").numbered("2024-02"))
        datetime.date(2024, 2, 29)
        """
        return self.first_day(number + 1) - timedelta(1)

    def name(self, number: int) -> str:
        """The name of a period, by which the owner begins and closes it.

        >>> [Calendar(kind).name(Calendar(kind).number(date(2026, 9, 17))) for kind in ("day", "week", "quarter", "year")]
        ['2026-09-17', '2026-W38', '2026-Q3', '2026']
        """
        first = self.first_day(number)
        match self.kind:
            case "week":
                year, week, _ = first.isocalendar()
                return f"{year:04}-W{week:02}"
            case "month":
                return f"{first.year:04}-{first.month:02}"
            case "quarter":
                return f"{first.year:04}-Q{(first.month + 2) // 3}"
            case "year":
                return f"{first.year:04}"
            case _:
                return first.isoformat()

    def numbered(self, name: str) -> int:
        """The period with a name; raises if none has it.

        >>> Calendar("days", 30, (date(2024, 1, 1) - EPOCH).days).numbered("2024-01-31")
        1
        """
        try:
            number = self.number(_day_of(name))
            if self.name(number) == name:
                return number
        except (ValueError, OverflowError):
            pass
        raise InvalidInput(f"{name[:40]!r} is not the name of a {self.word}; write for example {self.name(self.number(LATER))}")

    @property
    def word(self) -> str:
        """A period in words."""
        return f"period of {self.days} days" if self.kind == "days" else self.kind

    @property
    def text(self) -> str:
        """The calendar as a text, which the units of a ledger include."""
        return f"{self.days} days from {self.first_day(0)}" if self.kind == "days" else self.kind

    def starts(self, low: date, high: date) -> list[int]:
        """The day numbers at which the periods of a range of days begin, in order; the first at or before `low`."""
        return [(self.first_day(each) - EPOCH).days for each in range(self.number(low), self.number(high) + 1)]


def calendar_from(text: str) -> Calendar:
    """The calendar of a text.

    >>> calendar_from("30 days from 2024-01-01").text
    '30 days from 2024-01-01'
    """
    kind = next((kind for kind in KINDS if kind == text), None)
    if kind is not None:
        return Calendar(kind)
    days, _, start = text.partition(" days from ")
    return Calendar("days", int(days), (date.fromisoformat(start) - EPOCH).days)


LATER = date(2026, 9, 17)  # of examples in messages
SHAPES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], date]], ...] = (
    (re.compile(r"(\d{4}-\d\d-\d\d)"), lambda found: date.fromisoformat(found[1])),
    (re.compile(r"(\d{4})-W(\d\d)"), lambda found: date.fromisocalendar(int(found[1]), int(found[2]), 1)),
    (re.compile(r"(\d{4})-Q([1-4])"), lambda found: date(int(found[1]), 3 * int(found[2]) - 2, 1)),
    (re.compile(r"(\d{4})-(\d\d)"), lambda found: date(int(found[1]), int(found[2]), 1)),
    (re.compile(r"(\d{4})"), lambda found: date(int(found[1]), 1, 1)),
)


def _day_of(name: str) -> date:
    for pattern, made in SHAPES:
        if (found := pattern.fullmatch(name)) is not None:
            return made(found)
    raise ValueError


# --- sets of periods ---------------------------------------------------------------------------------------------------------


def runs_of(numbers: Iterable[int]) -> Runs:
    """Whole numbers as runs.

    >>> runs_of([4, 1, 2, 3, 9])
    ((1, 4), (9, 9))
    """
    found: list[Run] = []
    for number in sorted({*numbers}):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


def both(one: Runs, other: Runs) -> Runs:
    """The periods of both.

    >>> both(((1, 5), (8, 9)), ((4, 8),))
    ((4, 5), (8, 8))
    """
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return merged((low, high) for low, high in pairs if low <= high)


def contains(runs: Runs, number: int) -> bool:
    """Whether a period is one of them."""
    return any(low <= number <= high for low, high in runs)


def minus(one: Runs, other: Runs) -> Runs:
    """The periods of the one that are not of the other.

    >>> minus(((1, 5), (8, 9)), ((2, 3), (9, 12)))
    ((1, 1), (4, 5), (8, 8))
    """
    left = one
    for low, high in other:
        cut = ((a, min(b, low - 1)) for a, b in left), ((max(a, high + 1), b) for a, b in left)
        left = merged((a, b) for each in cut for a, b in each if a <= b)
    return left


def merged(runs: Iterable[Run]) -> Runs:
    """The periods of any of the runs, in the one form.

    >>> merged([(4, 6), (1, 2), (3, 3), (9, 9)])
    ((1, 6), (9, 9))
    """
    found: list[Run] = []
    for low, high in sorted(runs):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def count(runs: Runs) -> int:
    """How many periods there are."""
    return sum(high - low + 1 for low, high in runs)


def each(runs: Runs) -> Iterator[int]:
    """The periods one by one."""
    return (number for low, high in runs for number in range(low, high + 1))


def named(runs: Runs, calendar: Calendar) -> str:
    """Periods in words.

    >>> named(((24308, 24311), (24313, 24313)), Calendar("month"))
    '2025-09 to 2025-12, 2026-02'
    """
    words = [calendar.name(low) + (f" to {calendar.name(high)}" if high > low else "") for low, high in runs]
    rest = len(words) - LONGEST_LIST
    return ", ".join(words[:LONGEST_LIST]) + (f" and {rest} other runs" if rest > 0 else "")


# --- what a catalog declares -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Per:
    """The declaration of a budget for each period.

    `begun` are the periods that have begun by the owner's word (None: nothing is prepared), `closed` the last one that is closed,
    and `versions` those of the prepared rows, where periods can have different ones. `lifetime` is the budget (epsilon, delta) of a
    whole person over all periods, if one is declared; `zone` is that in which moments become days.
    """

    calendar: Calendar
    lifetime: tuple[Fraction, Fraction] | None = None
    closed: int | None = None
    begun: Run | None = None
    zone: str | None = None
    versions: Versions = ()

    @property
    def through(self) -> str | None:
        """The name of the last period that has begun."""
        return None if self.begun is None else self.calendar.name(self.begun[1])


@dataclass(frozen=True, slots=True)
class Period:
    """One period that has begun: its name, its days, whether it is closed, and the version of its rows."""

    name: str
    first: date
    last: date
    closed: bool
    version: str


def periods_of(per: Per | None, version: str) -> list[Period]:
    """The periods that have begun, the oldest first, each with its version or the common one; empty without periods."""
    if per is None or per.begun is None:
        return []
    calendar, last = per.calendar, per.closed
    known = {at: told for low, high, told in per.versions for at in range(low, high + 1)}
    return [
        Period(
            calendar.name(at),
            calendar.first_day(at),
            calendar.last_day(at),
            last is not None and at <= last,
            known.get(at, version),
        )
        for at in range(per.begun[0], per.begun[1] + 1)
    ]


def renewed(before: Versions, closed: int | None, begun: Run, version: str) -> Versions:
    """The versions after an addition: a new one for every period that is not closed, whatever came, and for no closed one.

    >>> renewed(((1, 6, "old"),), 4, (1, 7), "new")
    ((1, 4, 'old'), (5, 7, 'new'))
    """
    kept = [] if closed is None else [(low, min(high, closed), told) for low, high, told in before if low <= closed]
    first = begun[0] if closed is None else max(begun[0], closed + 1)
    return (*kept, *(((first, begun[1], version),) if first <= begun[1] else ()))


def version_read(versions: Versions, runs: Runs, version: str, beside: bool) -> str:
    """The version of what a question reads: of the rows of its periods, and `version` of tables without, if it reads one `beside`.

    Periods of one version have that one; of several, a hash of them. All of it is public: no row has a part in a version.

    >>> version_read(((1, 4, "old"), (5, 7, "new")), ((2, 3),), "new", beside=False)
    'old'
    """
    read = [(low, high, told) for low, high, told in versions if both(runs, ((low, high),))]
    told = {version} if beside or not read else set()
    told |= {each for _, _, each in read}
    if len(told) == 1:
        return told.pop()
    where = [f"{first} {last} {each}" for low, high, each in read for first, last in both(runs, ((low, high),))]
    return hashlib.sha256("\n".join([*where, version if beside else ""]).encode()).hexdigest()[:32]
