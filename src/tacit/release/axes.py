"""Texts and axes of a picture: how wide a text is at most, lines that fit a room, and scales with round ticks.

Texts are measured by `chart.width_of`, so that no label reaches beyond the picture or over another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice

from tacit.chart import width_of

Format = Callable[[float], str]

TICKS = 5
LARGEST = 1e300  # beyond it sums of floats overflow


def number(value: float) -> float:
    """The number within what can be drawn."""
    if -LARGEST <= value <= LARGEST:
        return float(value)
    return min(max(float(min(max(value, -(10**300)), 10**300)), -LARGEST), LARGEST)


def is_date(value: object) -> bool:
    """Whether a released value is a date: a text as ISO 8601 writes a day.

    >>> is_date("2020-02-29"), is_date("20200229"), is_date(20200229)
    (True, False, False)
    """
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


# --- texts -------------------------------------------------------------------------------------------------------------------


def lines_of(text: str, size: float, room: float, bold: bool = False) -> list[str]:
    """The text in lines that fit the room; a word that is too long for a line is divided."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width_of(longer, size, bold) <= room:
            lines[-1] = longer
            continue
        lines += ["", *_pieces(word, size, room, bold)] if lines[-1] else _pieces(word, size, room, bold)
    return [line for line in lines if line]


def _pieces(word: str, size: float, room: float, bold: bool) -> list[str]:
    pieces = [""]
    for letter in word:
        if pieces[-1] and width_of(pieces[-1] + letter, size, bold) > room:
            pieces.append("")
        pieces[-1] += letter
    return pieces


# --- axes --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from `low` to `high`, with ticks; `of` gives the place of one between `start` and `end`."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def of(self, value: float, start: float, end: float) -> float:
        share = (min(max(value, self.low), self.high) / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return start + share * (end - start)

    def within(self, low: float, high: float) -> Scale:
        """The same ticks on a scale that ends at these numbers, if two ticks or more are between them."""
        ticks = tuple(tick for tick in self.ticks if low <= tick[0] <= high)
        return Scale(low, high, ticks) if len(ticks) > 1 else self


def scale_of(values: Sequence[float], zero: bool, dates: bool) -> Scale:
    """A scale with round ticks over all values; from or to zero if `zero`."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if dates:
        return _scale_of_dates(low, high, all(_day(value).day == 1 for value in values))
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        low, high = (low - 0.5, high + 0.5) if low and abs(low) < 1e12 else (min(low, 0.0), max(high, 1.0))
    step = _round_step((high / TICKS) - (low / TICKS))
    first, last = math.floor(low / step), math.ceil(high / step)
    shown = _format(step)
    ends = min(first * step, low), max(last * step, high)  # a product may be rounded past the value that it stands for
    return Scale(*ends, tuple((at * step, shown(at * step)) for at in range(first, last + 1)))


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * times for times in (1, 2, 5, 10) if power * times >= rough * 0.999)


def _format(step: float) -> Format:
    if step >= 1e12 or step < 1e-6:
        return lambda value: f"{value:.4g}"
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return lambda value: f"{value:,.{digits}f}".replace("-0", "0") if value == 0 else f"{value:,.{digits}f}"


DAYS_APART = (1, 2, 7, 14)


def _day(value: float) -> date:
    return date.fromordinal(int(min(max(value, 1), date.max.toordinal())))


def _scale_of_dates(low: float, high: float, months: bool) -> Scale:
    """Ticks at beginnings of years or months, or at days unless all values are `months`; it ends at its first and last value."""
    first, last = _day(low), _day(high)
    calendars = islice(_calendars(first, last), len(DAYS_APART) if months and first < last else 0, None)
    ticks = next(found for ticks in calendars if len(found := list(ticks)) <= TICKS + 2)
    room = 0.5 if first == last else 0.0
    return Scale(first.toordinal() - room, last.toordinal() + room, tuple((float(day.toordinal()), words) for day, words in ticks))


def _calendars(first: date, last: date) -> Iterator[Iterator[tuple[date, str]]]:
    for days in DAYS_APART:
        yield (
            (first + timedelta(at), (first + timedelta(at)).isoformat())
            for at in range(0, min((last - first).days + 1, 15 * days), days)
        )
    months = first.year * 12 + first.month - (1 if first.day == 1 else 0), last.year * 12 + last.month - 1
    for step in (1, 3, 6):
        yield (_month(at) for at in range(-(-months[0] // step) * step, months[1] + 1, step))
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000):
        start = first.year if (first.month, first.day) == (1, 1) else first.year + 1
        yield (_month(year * 12, year=True) for year in range(-(-start // step) * step, last.year + 1, step) if year)


def _month(at: int, year: bool = False) -> tuple[date, str]:
    day = date(at // 12, at % 12 + 1, 1)
    return day, f"{day.year}" if year else f"{day:%Y-%m}"
