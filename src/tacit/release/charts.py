"""Pictures of an answer with its intervals: bars for categories, a line with a band for dates and ordered numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.chart import charting, check_format, page, picture_of
from tacit.errors import InvalidInput
from tacit.files import check, write
from tacit.release.axes import is_date, number
from tacit.release.drawing import Drawing, Mark, svg
from tacit.untrusted import distinct, for_chart, for_title, in_columns

if TYPE_CHECKING:
    from tacit.release.answer import Answer, Column

MOST_BARS, MOST_MARKS = 60, 200  # numbers beyond the first are a line; marks beyond the second are left out, which a note says
WIDEST_KEY, WIDEST_NAME = 32, 60  # columns of a label and of a title: the picture grows with them
BLUE, DARK = "#4c78a8", "#222"


@dataclass(frozen=True, slots=True)
class Picture:
    """One number of an answer over its first key, colored by the other keys; a notebook shows it as it is."""

    answer: Answer
    number: Column

    def svg(self) -> str:
        """The picture as a self-contained SVG."""
        return svg(_drawing(self.answer, self.number))

    def save(self, path: str | Path) -> Path:
        """Write the picture as .svg, or as .png or .html, which need the extra `charts`. Missing folders are created."""
        suffix = check_format(path)
        check(path)
        if suffix == ".svg":
            return write(path, self.svg())
        return write(path, picture_of(self.svg()) if suffix == ".png" else page(self.altair()))

    def altair(self) -> Any:
        """The same as an Altair chart, to change it further."""
        return _altair(self.answer, self.number)

    def _repr_svg_(self) -> str:
        return self.svg()


def chart(answer: Answer, path: str | Path | None = None, column: str | None = None) -> Picture:
    """The picture of one number of the answer; saved as .svg, .png or .html if a path is given."""
    picture = Picture(answer, _number(answer, column))
    if path is not None:
        picture.save(path)
    return picture


def _drawing(answer: Answer, number: Column) -> Drawing:
    keys = [key for key in answer.columns if key.is_key]
    along = bool(keys) and _in_order(keys[0])
    dates, dates_along = (
        any(isinstance(value, str) for value in column.values) for column in (number, keys[0] if along else number)
    )
    marks = [mark for row in _rows(answer, number, keys, along) if (mark := _mark(row, dates, along and dates_along)) is not None]
    shape = "line" if along else "columns" if keys and _numeric(keys[0]) else "bars"
    kept = tuple(marks if along else marks[:MOST_MARKS])
    notes = [answer.caption()]
    notes += [f"the first {MOST_MARKS} of {len(marks):,} groups"] if len(kept) < len(marks) else []
    left_out = "groups of NULL" if along else "groups without a number"
    notes += [f"{left_out} are left out"] if len(marks) < len(answer) else []
    names = (_name(keys[0]) if keys else "", _name(number), kept, _name(*keys[1:]) if keys[1:] else "")
    return Drawing(shape, _name(number), tuple(notes), *names, dates=dates, dates_along=along and dates_along)


def _mark(row: dict[str, Any], dates: bool, dates_along: bool) -> Mark | None:
    """The mark of a row; None if it has no number."""
    value, low, high = (_place(row[name], dates) for name in ("value", "low", "high"))
    at = row["first"] if isinstance(row["first"], str) and not dates_along else _place(row["first"], dates_along)
    return None if value is None or at is None else Mark(at, value, low, high, row["others"])


def _place(value: Any, is_date: bool) -> float | None:
    """A number or a date on its axis; None if it is missing or not finite."""
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return None
    return float(date.fromisoformat(value).toordinal()) if is_date else number(value)


def _numeric(key: Column) -> bool:
    values = [value for value in key.values if value is not None]
    return len(values) > 1 and not any(isinstance(value, str | bool) for value in values)


# --- by Altair ---------------------------------------------------------------------------------------------------------------


def _altair(answer: Answer, number: Column) -> Any:
    alt = charting()
    keys = [key for key in answer.columns if key.is_key]
    along = bool(keys) and _in_order(keys[0])
    rows = for_chart(_rows(answer, number, keys, along))
    base = alt.Chart(alt.Data(values=rows), width=520, height=300, title=_title(alt, answer, number, len(answer) - len(rows)))
    return _line(alt, base, keys, number) if along else _bars(alt, base, keys, number)


def _number(answer: Answer, name: str | None) -> Column:
    numbers = [column for column in answer.columns if column.is_number]
    if name is not None:
        numbers = [column for column in numbers if column.name == name]
    if not numbers:
        raise InvalidInput(f"the answer has no number {name or ''} to draw; its columns are {[c.name for c in answer.columns]}")
    return numbers[0]


def _rows(answer: Answer, number: Column, keys: list[Column], along: bool) -> list[dict[str, Any]]:
    """One record for each row of the answer; a line chart leaves out NULL."""
    groups = [tuple(key.values[at] for key in keys) for at in range(len(answer))]
    firsts, others = _labels(group[:1] for group in groups), _labels(group[1:] for group in groups)
    rows = []
    for at, group in enumerate(groups):
        low, high = (ends[at] if ends else None for ends in (number.low, number.high))
        first = _marks(group[0]) if along else firsts[group[:1]]
        if first is not None:
            ends = {"value": _marks(number.values[at]), "low": _marks(low), "high": _marks(high)}
            rows.append({"first": first, "others": others[group[1:]], **ends})
    return rows


def _marks(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _labels(groups: Iterable[tuple[Any, ...]]) -> dict[Any, str]:
    """Values as labels of their bars: short, and all different, since bars with equal labels would overlap."""
    return distinct({group: " · ".join(map(_label, group)) for group in groups})


def _label(value: Any) -> str:
    return "NULL" if value is None else in_columns(for_chart(str(value)), WIDEST_KEY)


def _name(*columns: Column) -> str:
    return in_columns(for_title(", ".join(column.name for column in columns)), WIDEST_NAME)


def _title(alt: Any, answer: Answer, number: Column, missing: int) -> Any:
    lines = [answer.caption(), *(["the groups of NULL are left out"] if missing else [])]
    return alt.TitleParams(_name(number), subtitle=lines, anchor="start", subtitleColor="#555")


def _in_order(key: Column) -> bool:
    """Whether a line is suitable: dates, or too many numbers for bars."""
    values = [value for value in key.values if value is not None]
    if not values:
        return False
    return all(map(is_date, values)) or (
        len(set(values)) > MOST_BARS and not any(isinstance(value, str | bool) for value in values)
    )


def _axis(alt: Any, field: str, number: Column) -> Any:
    """The axis of the number; dates have no zero, and are the same in every time zone."""
    if any(isinstance(value, str) for value in number.values):
        return alt.Y(f"{field}:T", title=_name(number), scale=alt.Scale(type="utc"))
    return alt.Y(f"{field}:Q", title=_name(number))


def _colours(alt: Any, keys: list[Column]) -> dict[str, Any]:
    return {"color": alt.Color("others:N", title=_name(*keys[1:]), sort=None)} if keys[1:] else {}


def _line(alt: Any, base: Any, keys: list[Column], number: Column) -> Any:
    dates = any(isinstance(value, str) for value in keys[0].values)
    shape = {"shorthand": "first:T", "scale": alt.Scale(type="utc")} if dates else {"shorthand": "first:Q"}
    along, colours = alt.X(title=_name(keys[0]), **shape), _colours(alt, keys)
    band = base.mark_area(opacity=0.25, color=BLUE).encode(x=along, y=_axis(alt, "low", number), y2="high", **colours)
    return band + base.mark_line(color=BLUE).encode(x=along, y=_axis(alt, "value", number), **colours)


def _bars(alt: Any, base: Any, keys: list[Column], number: Column) -> Any:
    """Bars from zero, or points for dates; pale if the error is unknown."""
    name = _name(keys[0]) if keys else None
    along = alt.X("first:N", title=name, sort=None, axis=alt.Axis(labelAngle=-30, labels=bool(keys), ticks=bool(keys)))
    beside = {"xOffset": alt.XOffset("others:N", sort=None)} if keys[1:] else {}
    pale = {"opacity": alt.condition("isValid(datum.low)", alt.value(0.85), alt.value(0.3))}
    dates = any(isinstance(value, str) for value in number.values)
    marks = base.mark_point(filled=True, size=70, color=BLUE) if dates else base.mark_bar(color=BLUE)
    drawn = marks.encode(x=along, y=_axis(alt, "value", number), **beside, **pale, **_colours(alt, keys))
    whiskers = base.mark_rule(color=DARK).encode(x=along, y=_axis(alt, "low", number), y2="high", **beside)
    ends = [base.mark_tick(color=DARK, size=14).encode(x=along, y=_axis(alt, end, number), **beside) for end in ("low", "high")]
    return alt.layer(drawn, whiskers, *ends)
