"""The day of a moment in a time zone, in SQL: by the zone's own offsets from UTC, so that every source and reader gets the same.

A moment names an instant if it has an offset: a timestamp with a time zone, or a text such as 2026-03-29T00:30:00+01:00. Its day is
that of the zone. A moment without an offset is one of the zone, and has the day that is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tacit.data.dialect import Dialect

ZONED = "TIMESTAMP WITH TIME ZONE"  # in the engine
DAY = 86_400
STEP = DAY // 2  # between the instants that are looked at: no zone changes its offset twice within
BEYOND = 2  # days around the bounds, where a moment is outside of them whatever the offset
FAR = 10**8  # days, by which numbers are shifted so that division rounds down
FAR_AWAY = 8 * 10**12  # seconds: no bound is there
OFFSET = "([Zz]|[+-][0-9]{2}(:?[0-9]{2}(:?[0-9]{2})?)?)$"
WITH_OFFSET = f"^[0-9]{{4,}}[^ T]*[ T]+[0-9]{{1,2}}:[0-9]{{2}}[^+Zz-]*{OFFSET}"
APART = " +([+-][0-9:]+)$"  # an offset after a blank

Offsets = Sequence[tuple[int, int]]  # from an instant on, in seconds since 1970: so many seconds are added to UTC


def offsets(zone: str, low: int, high: int) -> Offsets:
    """The offsets of a zone from UTC on the days from `low` to `high`, day numbers since 1970-01-01.

    >>> offsets("Europe/Zurich", 20_100, 20_200)
    [(1736467200, 3600), (1743296400, 7200)]
    """
    there, first, last = ZoneInfo(zone), (low - BEYOND) * DAY, (high + BEYOND) * DAY
    changes = [(first, _offset(there, first))]
    for at in range(first + STEP, last + STEP, STEP):
        if (now := _offset(there, at)) != changes[-1][1]:
            before, after = at - STEP, at
            while after - before > 1:
                middle = (before + after) // 2
                before, after = (middle, after) if _offset(there, middle) == changes[-1][1] else (before, middle)
            changes.append((after, now))
    return changes


def _offset(zone: ZoneInfo, instant: int) -> int:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=instant)
    return int((moment.astimezone(zone).utcoffset() or timedelta(0)).total_seconds())


def day_in_zone(instant: str, zone: str, low: int, high: int) -> str:
    """SQL for the day in a zone of an instant, SQL for whole seconds since 1970; right on the days from `low` to `high`.

    Instants of other days get days outside of these.
    """
    local = f"({instant} + {_searched(instant, offsets(zone, low, high))})"
    return f"(DATE '1970-01-01' + CAST(({local} + {FAR * DAY}) // {DAY} - {FAR} AS INTEGER))"


def _searched(instant: str, changes: Offsets) -> str:
    """SQL for the offset of an instant, by halves."""
    if len(changes) == 1:
        return str(changes[0][1])
    middle = len(changes) // 2
    before, after = _searched(instant, changes[:middle]), _searched(instant, changes[middle:])
    return f"CASE WHEN {instant} < {changes[middle][0]} THEN {before} ELSE {after} END"


def seconds_of(moment: str) -> str:
    """SQL for the whole seconds since 1970 of a timestamp with a time zone, rounded down; far away, some beyond all bounds."""
    return f"CAST(least(greatest(floor(epoch({moment})), -{FAR_AWAY}), {FAR_AWAY}) AS BIGINT)"


def plain(written: str, words: Dialect) -> str:
    """SQL for a text with its offset, if it has one, in digits and without a blank before it."""
    return words.replaced(f"regexp_replace({written}, ' *(UTC|GMT)$', 'Z')", APART, 1)


def has_offset(written: str, words: Dialect) -> str:
    """SQL that is true for a plain text of a moment with an offset."""
    return words.matches(written, WITH_OFFSET)
