"""How each raw value is cleaned: per kind of column, SQL that cannot fail and that reads one row alone.

Each row gets a *fate* in each column (clean, missing, unreadable, below, above, unknown, too long) and a code. The catalog declares
what each fate becomes: a code, NULL, or a dropped row. Because no value depends on another row, neighbouring databases stay
neighbours (store.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

from tacit.data.dialect import Dialect, Nature, name
from tacit.data.engine import Workshop
from tacit.data.files.raw import Raw, filled, named, without_missing
from tacit.data.prepare.grids import (
    ABOVE,
    BELOW,
    CLEAN,
    LONG,
    MISSING,
    ROUNDED,
    UNKNOWN,
    UNREADABLE,
    Cleaning,
    from_decimal,
    from_double,
    from_integer,
    from_plain,
    from_text,
    measures,
)
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Column, Value, day_of

FATES = ("clean", "missing", "unreadable", "below", "above", "unknown", "too long", "rounded")
DROP = -1
OUTSIDE = {"clamp": None, "drop": (DROP, DROP), "null": (None, None)}

Meaning = int | str | None  # a code, a text, NULL; or DROP

NUMBERS: Mapping[Nature, Callable[[Column, Raw], Cleaning]] = {
    **dict.fromkeys(("integer", "wide", "truth"), from_integer),
    **dict.fromkeys(("text", "bytes"), from_text),
    "decimal": from_decimal,
    "double": from_double,
}


def clean_column(column: Column, raw: Raw, workshop: Workshop) -> Cleaning:
    """SQL that cleans one declared column, from its type in the source."""
    raw = without_missing(raw, column.notation)
    if column.kind == "presence":
        return _presence(raw)
    if raw.nature == "nested" or (column.kind == "number" and raw.nature not in NUMBERS):
        raise _unreadable(column, raw)
    if column.kind == "number":
        return from_plain(column, raw) if raw.fate else NUMBERS[raw.nature](column, raw)
    if column.kind == "date":
        return _date(column, raw)
    return _text(column, raw) if column.kind == "text" else _category(column, raw, workshop)


def meanings(column: Column) -> Mapping[int, Meaning]:
    """The code, NULL or drop that each fate other than clean becomes."""
    top = column.points - 1
    missing: Meaning = None if column.nulls == "keep" else DROP if column.nulls == "drop" else _code_of(column, column.nulls)
    below, above = OUTSIDE[column.outside] or (0, top)
    unknown = {"other": top, "drop": DROP, "null": None}[column.unknown]
    return {MISSING: missing, UNREADABLE: missing, BELOW: below, ABOVE: above, UNKNOWN: unknown, LONG: missing}


def prepared_value(column: Column, fate: str, code: str, words: Dialect) -> str:
    """SQL for the prepared value of a row in a column, from its fate and its code; a NULL code is the one after the last point."""
    kind, null = (words.types.text, "NULL") if column.kind == "text" else (words.types.whole, str(column.points))
    instead = {mark: value for mark, value in meanings(column).items() if value is not None and value != DROP}
    cases = "".join(f" WHEN {mark} THEN {words.constant(str(value), kind)}" for mark, value in instead.items())
    rounded = f" WHEN {ROUNDED} THEN CAST({code} AS {kind})" if column.kind == "number" else ""
    return f"CASE {fate} WHEN {CLEAN} THEN CAST({code} AS {kind}){rounded}{cases} ELSE {null} END"


def fates_that_drop(column: Column) -> tuple[int, ...]:
    """The fates that drop a row."""
    return tuple(fate for fate, meaning in meanings(column).items() if meaning == DROP)


def possible(column: Column) -> tuple[int, ...]:
    """The fates other than clean that a value of the column can have."""
    return {
        "category": (MISSING, UNKNOWN),
        "text": (MISSING, LONG),
        "presence": (MISSING,),
        "date": (MISSING, UNREADABLE, BELOW, ABOVE),
    }.get(column.kind, (MISSING, UNREADABLE, BELOW, ABOVE, ROUNDED))


def _code_of(column: Column, value: Fraction | Value) -> int | str:
    """The prepared form of the declared value that replaces NULL."""
    if column.kind == "text":
        return str(value)
    if column.kind == "category":
        return next(code for code, one in enumerate(column.domain) if (type(one), one) == (type(value), value))
    low, _, step = measures(column)
    return int((Fraction(value) - low) / step)


def _date(column: Column, raw: Raw) -> Cleaning:
    """Days as they are; moments and texts by the day as written (moments with a time zone: in UTC, or in the column's zone)."""
    x, t, words = raw.part("x"), raw.part("t"), raw.words
    low, high, _ = measures(column)
    first, last = (words.day(day_of(int(bound)).isoformat()) for bound in (low, high))
    outside = f"WHEN {x} < {first} THEN {BELOW} WHEN {x} > {last} THEN {ABOVE} ELSE {CLEAN} END"
    code = f"least(greatest({x}, {first}), {last}) - {first}"
    if raw.type == ZONED and column.zone is not None:
        i = raw.part("i")
        return Cleaning(
            ({i: seconds_of(raw.sql)}, {x: _in_zone(i, column)}), f"CASE WHEN {x} IS NULL THEN {MISSING} {outside}", code
        )
    if raw.nature in ("day", "moment"):
        day = raw.sql if raw.nature == "day" else words.cast_or_null(raw.sql, words.types.day)
        return Cleaning(({x: day},), f"CASE WHEN {x} IS NULL THEN {MISSING} {outside}", code)
    if raw.nature not in ("text", "bytes") and (column.notation.format is None or raw.nature != "integer"):
        raise _unreadable(column, raw)
    unreadable = f"CASE WHEN {t} IS NULL THEN {MISSING} WHEN {x} IS NULL THEN {UNREADABLE} {outside}"
    written = written_day(t, column.notation.format, words)
    if column.zone is None or column.notation.format is not None:
        return Cleaning(({t: filled(raw)}, {x: written}), unreadable, code)
    i, instant = raw.part("i"), has_offset(t, words)
    seconds = f"CASE WHEN {instant} THEN {seconds_of(words.cast_or_null(t, ZONED))} END"
    day = f"CASE WHEN {instant} THEN {_in_zone(i, column)} ELSE {written} END"
    return Cleaning(({t: plain(filled(raw), words)}, {i: seconds}, {x: day}), unreadable, code)


def _in_zone(instant: str, column: Column) -> str:
    low, high = (int(bound) for bound in column.bounds or (0, 0))
    return day_in_zone(instant, column.zone or "UTC", low, high)


def written_day(t: str, written_as: str | None, words: Dialect) -> str:
    """SQL for the day that a text means. Years need four digits: 31/12/20 is not read as the year 31, nor 1.2.23 as the year 23."""
    if written_as is None:
        short = words.matches(t, "^[0-9]{1,3}[^0-9]")
        return f"CASE WHEN NOT {short} THEN {words.cast_or_null(t, words.types.day)} END"
    day = words.day_or_null(t, written_as)
    return f"CASE WHEN {day} >= {words.day('1000-01-01')} THEN {day} END"


def _text(column: Column, raw: Raw) -> Cleaning:
    """A text of more than `longest` bytes is missing; cutting it would count it under a text that no row has."""
    t = raw.part("t")
    fate = f"CASE WHEN {t} IS NULL THEN {MISSING} WHEN {raw.words.bytes_of(t)} > {column.longest} THEN {LONG} ELSE {CLEAN} END"
    return Cleaning(({t: filled(raw)},), fate, t)


def _presence(raw: Raw) -> Cleaning:
    t = raw.part("t")
    there = raw.sql if raw.nature in ("nested", "bytes") else filled(raw)
    return Cleaning(({t: f"{there} IS NULL"},), f"CASE WHEN {t} THEN {MISSING} ELSE {CLEAN} END", "0")


def _category(column: Column, raw: Raw, workshop: Workshop) -> Cleaning:
    x, code = raw.part("x"), raw.part("code")
    if raw.nature == "integer" and (first := _consecutive(column.values)) is not None:
        last = first + len(column.values) - 1
        layers = (
            {x: raw.sql},
            {code: f"CASE WHEN {x} BETWEEN {first} AND {last} THEN CAST({x} AS {raw.words.types.whole}) - {first} END"},
        )
    else:
        listed = _listed_type(column, raw.alias, workshop)
        layers = ({x: _text_to_look_up(column, raw)}, {code: raw.words.code_in(x, listed)})
    fate = f"CASE WHEN {x} IS NULL THEN {MISSING} WHEN {code} IS NULL THEN {UNKNOWN} ELSE {CLEAN} END"
    return Cleaning(layers, fate, code)


def _consecutive(values: tuple[Value, ...]) -> int | None:
    """The first of the values, if they are consecutive integers."""
    first = values[0] if values else None
    if isinstance(first, bool) or not isinstance(first, int):
        return None
    return first if values == tuple(range(first, first + len(values))) else None


def _text_to_look_up(column: Column, raw: Raw) -> str:
    """The text that is looked up among the values; for booleans also 0, 1 and any case, as programs write them."""
    sql = named(raw) if "" in column.values else f"nullif({named(raw)}, '')"
    if not _truths(column):
        return sql
    return f"CASE lower({sql}) WHEN '1' THEN 'true' WHEN '0' THEN 'false' ELSE lower({sql}) END"


def _truths(column: Column) -> bool:
    return bool(column.values) and all(isinstance(value, bool) for value in column.values)


def _listed_type(column: Column, alias: str, workshop: Workshop) -> str:
    """An engine type of the declared values, spelled as the engine spells the values in the data."""
    values = [str(value).lower() if isinstance(value, bool) else str(value) for value in column.values]
    sql = named(Raw("value", workshop.words.types.text, words=workshop.words))
    rows = workshop.rows(
        f"SELECT {sql} FROM (SELECT unnest($values) AS value, unnest($places) AS place) ORDER BY place",
        {"values": values, "places": list(range(len(values)))},
    )
    if len(set(rows)) < len(rows):
        raise InvalidCatalog(f"{column.name} has two values that are read alike, such as 1 and 1.0; keep one of them")
    listed = name(f"{alias} values")
    workshop.list_values(listed, [value for (value,) in rows])
    return listed


def _unreadable(column: Column, raw: Raw) -> InvalidCatalog:
    return InvalidCatalog(
        f"{column.name} is declared as a {column.kind}, and its source has the type {raw.type}, which cannot be read as one; "
        "declare it as what it is, or convert it in the source"
    )


# --- days of moments in a time zone -----------------------------------------------------------------------------------------
# A moment names an instant if it has an offset: its day is that of the zone. One without has the day that is written.


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
