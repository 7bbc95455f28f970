"""Pictures of an answer with its error bars: bars for categories, a line with a band for dates and ordered numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import InvalidInput
from tacit.mechanisms.picture import save

if TYPE_CHECKING:
    from tacit.release.answer import Answer, Column

MOST_BARS = 60


def chart(answer: Answer, path: str | Path | None = None, column: str | None = None) -> Any:
    """One number of the answer over its first key, in colours by its second, saved as .svg, .png or .html where a path is given."""
    import altair

    alt: Any = altair
    number = _number(answer, column)
    keys = [key for key in answer.columns if key.is_key]
    rows = _rows(answer, number, keys)
    base = alt.Chart(alt.Data(values=rows), width=520, height=300, title=_title(answer, number))
    drawn = _line(alt, base, keys[0], number) if keys and _ordered(keys[0]) else _bars(alt, base, keys, number)
    return save(drawn, path)


def _number(answer: Answer, name: str | None) -> Column:
    numbers = [column for column in answer.columns if not column.is_key]
    if name is not None:
        numbers = [column for column in numbers if column.name == name]
    if not numbers:
        raise InvalidInput(f"the answer has no number {name or ''} to draw; its columns are {[c.name for c in answer.columns]}")
    return numbers[0]


def _rows(answer: Answer, number: Column, keys: list[Column]) -> list[dict[str, Any]]:
    rows = []
    for at in range(len(answer)):
        row = {f"key{place}": _label(key.values[at]) for place, key in enumerate(keys)}
        low, high = (ends[at] if ends else None for ends in (number.low, number.high))
        rows.append({**row, "value": number.values[at], "low": low, "high": high})
    return rows


def _label(value: Any) -> Any:
    return "NULL" if value is None else (str(value) if isinstance(value, bool) else value)


def _title(answer: Answer, number: Column) -> Any:
    import altair as alt

    return alt.TitleParams(number.name, subtitle=answer.footer(), anchor="start", subtitleColor="#555")


def _ordered(key: Column) -> bool:
    """Whether a line makes sense: dates, or numbers too many for bars."""
    values = [value for value in key.values if value is not None]
    dates = bool(values) and all(isinstance(value, str) and _is_date(value) for value in values)
    return dates or (len(set(values)) > MOST_BARS and all(isinstance(value, int | float) for value in values))


def _is_date(text: str) -> bool:
    from datetime import date

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _line(alt: Any, base: Any, key: Column, number: Column) -> Any:
    kind = "T" if isinstance(key.values[0], str) else "Q"
    along = alt.X(f"key0:{kind}", title=key.name)
    band = base.mark_area(opacity=0.25, color="#4c78a8").encode(x=along, y=alt.Y("low:Q", title=number.name), y2="high:Q")
    line = base.mark_line(color="#4c78a8").encode(x=along, y=alt.Y("value:Q", title=number.name))
    return band + line


def _bars(alt: Any, base: Any, keys: list[Column], number: Column) -> Any:
    along = alt.X("key0:N", title=keys[0].name, sort=None, axis=alt.Axis(labelAngle=-30)) if keys else alt.X("all:N", title=None)
    colour = {"color": alt.Color("key1:N", title=keys[1].name), "xOffset": "key1:N"} if len(keys) > 1 else {}
    bars = base.mark_bar(opacity=0.85, color="#4c78a8").encode(x=along, y=alt.Y("value:Q", title=number.name), **colour)
    offset = {"xOffset": "key1:N"} if len(keys) > 1 else {}
    whiskers = base.mark_errorbar(ticks=True, color="#222").encode(
        x=along, y=alt.Y("low:Q", title=number.name), y2="high:Q", **offset
    )
    return bars + whiskers
