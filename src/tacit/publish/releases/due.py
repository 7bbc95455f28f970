"""Which periods are due: those whose data are complete by the owner's word, from the first of a release on. No clock decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from tacit.errors import InvalidInput
from tacit.privacy.periods import EPOCH, Calendar, Period
from tacit.publish.releases.declaration import ONCE, Release, Releases

A_YEAR = {"day": 365, "week": 52, "month": 12, "quarter": 4, "year": 1, "": 0}
MOST_PERIODS = 5_000  # of one release


@dataclass(frozen=True, slots=True)
class Due:
    """One period of a release: its name and days; a release without periods has the one that is named "once"."""

    name: str
    first: date | None = None
    last: date | None = None

    @property
    def parameters(self) -> dict[str, date]:
        """The days, by the names that a question has for them."""
        return {} if self.first is None or self.last is None else {"first": self.first, "last": self.last}


@dataclass(frozen=True, slots=True)
class Complete:
    """The first and the last day of the data that are complete; None where the owner has not said."""

    first: date | None
    last: date | None

    @classmethod
    def of(cls, declared: Releases, periods: Iterable[Period] | None, bounds: Iterable[date]) -> Complete:
        """By the closed periods of the budget (None: it has no periods), else by `through` and the declared bounds of dates."""
        if periods is None:
            return cls(min(bounds, default=None), _last_of(declared))
        if declared.through:
            raise InvalidInput(
                "the budget of the catalog has periods, which say what is complete; remove through from releases.toml, "
                "and close periods in the catalog"
            )
        begun = list(periods)
        done = [each for each in begun if each.closed]
        return cls(min((each.first for each in begun), default=None), done[-1].last if done else None)


def _last_of(declared: Releases) -> date | None:
    """The last day of `through`, whichever kind of period it names."""
    for kind in ("day", "week", "month", "quarter", "year"):
        try:
            calendar = Calendar(kind)
            return calendar.last_day(calendar.numbered(declared.through))
        except InvalidInput:
            continue
    if declared.through:
        raise InvalidInput(f"through = {declared.through!r} is not a period; write for example 2026-09")
    return None


def due_periods(release: Release, complete: Complete) -> list[Due]:
    """All periods of a release whose data are complete, the oldest first, released or not."""
    if not release.period:
        return [Due(ONCE)]
    calendar = Calendar(release.period)  # type: ignore[arg-type]  # one of the kinds of the schema
    if complete.last is None or (complete.first is None and not release.start):
        return []
    start = _start(release, calendar, complete)
    last = calendar.number(complete.last)
    last -= calendar.last_day(last) > complete.last
    if last - start >= MOST_PERIODS:
        raise InvalidInput(
            f"release {release.name} has more than {MOST_PERIODS:,} periods; declare a later from, or a longer period"
        )
    return [_due(calendar, at) for at in range(start, last + 1)]


def _start(release: Release, calendar: Calendar, complete: Complete) -> int:
    """The first whole period of the data, or the declared one."""
    if release.start:
        return calendar.numbered(release.start)
    first = complete.first or EPOCH
    number = calendar.number(first)
    return number + (calendar.first_day(number) < first)


def next_periods(release: Release, complete: Complete, many: int) -> list[Due]:
    """The periods after those that are due, as many as asked for."""
    if not release.period:
        return []
    calendar = Calendar(release.period)  # type: ignore[arg-type]
    done = due_periods(release, complete)
    if done and done[-1].first is not None:
        start = calendar.number(done[-1].first) + 1
    elif release.start or complete.first:
        start = _start(release, calendar, complete)
    else:
        return []
    return [_due(calendar, at) for at in range(start, start + many)]


def _due(calendar: Calendar, number: int) -> Due:
    return Due(calendar.name(number), calendar.first_day(number), calendar.last_day(number))
