"""Pictures of an answer with its intervals: bars for categories and bins, a line with a band for dates and ordered numbers.

One panel for each number. The title comes from the question, the footer states the intervals, the price and the limits, and never
a balance. Intervals are cut at what is possible in the picture alone: the answer keeps its numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.chart import charting, check_format, picture_of
from tacit.errors import InvalidInput
from tacit.files import check, write
from tacit.release.axes import is_date, number
from tacit.release.plots import Drawing, Mark, Panel, svg
from tacit.untrusted import distinct, for_chart, for_html, for_title, in_columns

if TYPE_CHECKING:
    from tacit.release.answer import Answer, Column

MOST_BARS, MOST_MARKS = 60, 200  # numbers beyond the first are a line; marks beyond the second are left out, which a note says
MOST_PANELS = 6
MOST_BINS = 120  # places of bins, those that no group has among them
WIDEST_KEY, WIDEST_NAME = 32, 60  # columns of a label and of a title: the picture grows with them
BLUE, DARK = "#4c78a8", "#222"
NULL = "NULL"
WORDS = {"count": "count", "sum": "sum", "avg": "average", "n": "count"}  # for names that say little
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>body {{ margin: 1rem; display: flex; justify-content: center }} svg {{ max-width: 100%; height: auto }}</style>
</head>
<body>
{svg}</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """The numbers of an answer over its first key, colored by the other keys; a notebook shows it as it is."""

    answer: Answer
    numbers: tuple[Column, ...]
    title: str | None = None
    words: str | None = None  # below the title, in place of the conditions of the question

    def svg(self) -> str:
        """The picture as a self-contained SVG."""
        return svg(_drawing(self))

    def save(self, path: str | Path) -> Path:
        """Write the picture as .svg, as .html, or as .png, which needs the extra `charts`. Missing folders are created."""
        return save_drawing(_drawing(self), path)

    def altair(self) -> Any:
        """The first number as an Altair chart, to change it further; needs the extra `charts`."""
        return _altair(self.answer, self.numbers[0])

    def _repr_svg_(self) -> str:
        return self.svg()


def chart(answer: Answer, path: str | Path | None = None, column: str | None = None, title: str | None = None) -> Picture:
    """The picture of all numbers of the answer, or of one; saved as .svg, .png or .html if a path is given."""
    picture = picture_under(answer, title, column=column)
    if path is not None:
        picture.save(path)
    return picture


def picture_under(answer: Answer, title: str | None, words: str | None = None, column: str | None = None) -> Picture:
    """The picture under a title, and with words below it in place of the conditions of the question."""
    return Picture(answer, _numbers(answer, column), title, words)


def save_drawing(drawing: Drawing, path: str | Path) -> Path:
    """Write a drawing as .svg, as .html that makes no request, or as .png, which needs the extra `charts`."""
    suffix = check_format(path)
    check(path)
    drawn = svg(drawing)
    if suffix == ".html":
        return write(path, PAGE.format(policy=for_html(POLICY), title=for_html(drawing.title), svg=drawn))
    return write(path, picture_of(drawn) if suffix == ".png" else drawn)


# --- what is drawn -----------------------------------------------------------------------------------------------------------


def _drawing(picture: Picture) -> Drawing:
    answer = picture.answer
    keys = [key for key in answer.columns if key.is_key]
    along = bool(keys) and _in_order(keys[0])
    dates_along = along and any(isinstance(value, str) for value in keys[0].values)
    shown = _places(answer, keys, along)
    panels = tuple(_panel(answer, each, keys, shown, (along, dates_along)) for each in picture.numbers[:MOST_PANELS])
    numeric = bool(keys) and _numeric(keys[0])
    labels, bins = _bins(keys[0], [mark.at for panel in panels for mark in panel.marks]) if numeric and not along else ((), False)
    return Drawing(
        "line" if along else "columns" if numeric else "bars",
        _title_of(picture),
        panels,
        _name(keys[0]) if keys else "",
        _notes(picture, shown, panels, along),
        _footer(answer, panels, picture.numbers),
        _name(*keys[1:]) if keys[1:] else "",
        labels or _null_last(panels),
        bins,
        dates_along,
    )


def _places(answer: Answer, keys: list[Column], along: bool) -> list[int]:
    """The rows that are drawn, NULL last; a line has no place for NULL."""
    if not keys:
        return list(range(len(answer)))
    rows = sorted(range(len(answer)), key=lambda at: keys[0].values[at] is None)
    return [at for at in rows if keys[0].values[at] is not None] if along else rows[:MOST_MARKS]


def _panel(answer: Answer, column: Column, keys: list[Column], shown: list[int], order: tuple[bool, bool]) -> Panel:
    along, dates_along = order
    dates = any(isinstance(value, str) for value in column.values)
    rows = _rows(answer, column, keys, shown, along)
    least, most = _possible(column)
    marks = (_mark(row, dates, dates_along) for row in rows)
    return Panel(_name(column), tuple(_cut(mark, least, most) for mark in marks if mark is not None), dates)


def _possible(column: Column) -> tuple[float, float]:
    """The range of an aggregate, whatever the data: a count is not negative, and others may have declared bounds."""
    least, most = column.bounds or (None, None)
    numbers = [_place(end, is_date=False) if not isinstance(end, str) else None for end in (least, most)]
    low = 0.0 if column.kind.startswith("count") and numbers[0] is None else numbers[0]
    return -float("inf") if low is None else low, float("inf") if numbers[1] is None else numbers[1]


def _cut(mark: Mark, least: float, most: float) -> Mark:
    """The mark with its number and its ends within what is possible."""
    if mark.ends is not None and least <= min(mark.value, *mark.ends) and max(mark.value, *mark.ends) <= most:
        return mark
    value, low, high = (None if each is None else min(max(each, least), most) for each in (mark.value, mark.low, mark.high))
    return Mark(mark.at, mark.value if value is None else value, low, high, mark.series, mark.unknown)


def _null_last(panels: tuple[Panel, ...]) -> tuple[str, ...]:
    labels = dict.fromkeys(mark.at for panel in panels for mark in panel.marks if isinstance(mark.at, str))
    return (*(label for label in labels if label != NULL), *([NULL] if NULL in labels else []))


def _bins(key: Column, places: list[str | float]) -> tuple[tuple[str, ...], bool]:
    """The labels of numbers in their order, with those that no group has if all are at equal steps; and whether they are."""
    values = sorted({number(value) for value in key.values if value is not None})
    written = {number(value): _label(value) for value in key.values if value is not None}
    null = [NULL] if NULL in places else []
    steps = [after - before for before, after in pairwise(values)]
    step = min(steps)
    slots = (values[-1] - values[0]) / step
    equal = slots < MOST_BINS and all(abs(each / step - round(each / step)) < 1e-9 for each in steps)
    if not equal:
        return (*(written[value] for value in values), *null), False
    whole = [values[0] + step * at for at in range(round(slots) + 1)]
    found = {round((value - values[0]) / step): written[value] for value in values}
    return (*(found.get(at, f"{each:g}") for at, each in enumerate(whole)), *null), len(values) > 2


def _mark(row: dict[str, Any], dates: bool, dates_along: bool) -> Mark | None:
    """The mark of a row; None if it has no number."""
    value, low, high = (_place(row[name], dates) for name in ("value", "low", "high"))
    at = row["first"] if isinstance(row["first"], str) and not dates_along else _place(row["first"], dates_along)
    return None if value is None or at is None else Mark(at, value, low, high, row["others"], row["unknown"])


def _place(value: Any, is_date: bool) -> float | None:
    """A number or a date on its axis; None if it is missing or not finite."""
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return None
    return float(date.fromisoformat(value).toordinal()) if is_date else number(value)


def _numeric(key: Column) -> bool:
    values = {value for value in key.values if value is not None}
    return len(values) > 1 and not any(isinstance(value, str | bool) for value in values)


# --- what is said ------------------------------------------------------------------------------------------------------------


def _title_of(picture: Picture) -> str:
    """The given title; else the numbers and the keys of the question, in words."""
    if picture.title is not None:
        return picture.title
    names = [_words(column) for column in picture.numbers[:MOST_PANELS]]
    keys = [_spaced(key.name) for key in picture.answer.columns if key.is_key]
    numbers = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    title = f"{numbers} by {' and '.join(keys)}" if keys else numbers
    return in_columns(for_title(title[:1].upper() + title[1:]), 4 * WIDEST_NAME)


def _words(column: Column) -> str:
    return WORDS.get(column.name.lower(), _spaced(column.name))


def _spaced(name: str) -> str:
    """A name in words, if it is one of SQL."""
    return name.replace("_", " ") if name.isidentifier() else name


def _notes(picture: Picture, shown: list[int], panels: tuple[Panel, ...], along: bool) -> tuple[str, ...]:
    from tacit.query.language.sql import about

    answer = picture.answer
    said = picture.words if picture.words is not None else about(answer.asked) if answer.asked else ""
    notes = [in_columns(for_title(said), 6 * WIDEST_NAME)] if said else []
    missing = any(len(panel.marks) < len(shown) for panel in panels)
    left_out = len(answer) - len(shown)
    notes += ["groups of NULL are left out"] if along and left_out else []
    notes += [f"the first {MOST_MARKS} of {len(answer):,} groups"] if left_out and not along else []
    notes += ["groups without a number are left out"] if missing else []
    more = len(picture.numbers) - MOST_PANELS
    return (*notes, *([f"the first {MOST_PANELS} of {len(picture.numbers)} numbers"] if more > 0 else []))


def _footer(answer: Answer, panels: tuple[Panel, ...], numbers: tuple[Column, ...]) -> tuple[str, ...]:
    """Intervals, price, and the limits that shaped the numbers; and whether intervals are cut."""
    rows = [limit for limit in answer.limits if limit.startswith("at most")]
    others = [limit for limit in answer.limits if limit not in rows]
    first = ", ".join([answer.caption(), *rows])
    cut = ["intervals are cut at what is possible"] if any(map(_is_cut, panels, numbers)) else []
    pale = ["a pale bar may be anything that is possible"] if any(mark.unknown for panel in panels for mark in panel.marks) else []
    rest = "; ".join([*cut, *pale, *others])
    return (first, *([rest[:1].upper() + rest[1:]] if rest else []))


def _is_cut(panel: Panel, column: Column) -> bool:
    least, most = _possible(column)
    if panel.dates:
        return False
    below, above = ([_place(end, is_date=False) for end in ends or ()] for ends in (column.low, column.high))
    return any(end is not None and end < least for end in below) or any(end is not None and end > most for end in above)


# --- by Altair ---------------------------------------------------------------------------------------------------------------


def _altair(answer: Answer, number: Column) -> Any:
    alt = charting()
    keys = [key for key in answer.columns if key.is_key]
    along = bool(keys) and _in_order(keys[0])
    rows = for_chart(_rows(answer, number, keys, list(range(len(answer))), along))
    base = alt.Chart(alt.Data(values=rows), width=520, height=300, title=_title(alt, answer, number, len(answer) - len(rows)))
    return _line(alt, base, keys, number) if along else _bars(alt, base, keys, number)


def _numbers(answer: Answer, name: str | None) -> tuple[Column, ...]:
    numbers = tuple(column for column in answer.columns if column.is_number and name in (None, column.name))
    if not numbers:
        raise InvalidInput(f"the answer has no number {name or ''} to draw; its columns are {[c.name for c in answer.columns]}")
    return numbers


def _rows(answer: Answer, number: Column, keys: list[Column], shown: list[int], along: bool) -> list[dict[str, Any]]:
    """One record for each row of the answer; a line chart leaves out NULL."""
    groups = {at: tuple(key.values[at] for key in keys) for at in shown}
    firsts, others = _labels(group[:1] for group in groups.values()), _labels(group[1:] for group in groups.values())
    rows = []
    for at, group in groups.items():
        low, high = (ends[at] if ends else None for ends in (number.low, number.high))
        first = _marks(group[0]) if along else firsts[group[:1]]
        if first is not None:
            ends = {"value": _marks(number.values[at]), "low": _marks(low), "high": _marks(high)}
            rows.append({"first": first, "others": others[group[1:]], "unknown": number.is_unknown(at), **ends})
    return rows


def _marks(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _labels(groups: Iterable[tuple[Any, ...]]) -> dict[Any, str]:
    """Values as labels of their bars: short, and all different, since bars with equal labels would overlap."""
    return distinct({group: " · ".join(map(_label, group)) for group in groups})


def _label(value: Any) -> str:
    return NULL if value is None else in_columns(for_chart(str(value)), WIDEST_KEY)


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
    pale = {"opacity": alt.condition("isValid(datum.low) && !datum.unknown", alt.value(0.85), alt.value(0.3))}
    dates = any(isinstance(value, str) for value in number.values)
    marks = base.mark_point(filled=True, size=70, color=BLUE) if dates else base.mark_bar(color=BLUE)
    drawn = marks.encode(x=along, y=_axis(alt, "value", number), **beside, **pale, **_colours(alt, keys))
    whiskers = base.mark_rule(color=DARK).encode(x=along, y=_axis(alt, "low", number), y2="high", **beside)
    ends = [base.mark_tick(color=DARK, size=14).encode(x=along, y=_axis(alt, end, number), **beside) for end in ("low", "high")]
    return alt.layer(drawn, whiskers, *ends)
