"""Plots of numbers with their intervals: bars, columns or lines, one panel for each number.

    Drawing    what is drawn: a title, notes, a footer, and panels of one shape along the same labels
    Panel      one number: a `Mark` for each of its values, levels to compare them with, and a part that is set off
    svg        the picture as text

Bars lie, in panels side by side, so that labels of any length stay straight. Columns stand and lines run over numbers or dates, in
panels below each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from tacit.chart import width_of
from tacit.release.axes import Format, Scale, lines_of, scale_of
from tacit.release.drawing import (
    COLOURS,
    SMALL,
    TEXT,
    Part,
    beside,
    colour,
    coordinate,
    dot,
    filled,
    line,
    picture,
    rectangle,
    shade,
    text,
)
from tacit.untrusted import for_chart

Shape = str  # "bars" lie and have a text each, "columns" stand side by side, a "line" runs over numbers or dates

PLOT = (460.0, 300.0, 220.0)  # how wide a panel of bars is, if there are one, two or three in a row
WIDE, HIGH, LOWER = 540.0, 270.0, 170.0  # of a panel of columns or lines, and how high it is if it is not alone
BAR, BETWEEN, ASIDE = 20.0, 8.0, 34.0  # the height of a lying bar, the room between groups of them, and between panels
HEAD, FOOT = 22.0, 24.0  # above a panel, for its name, and below it, for its ticks
PALE = 0.4  # the opacity of a bar whose error is open, or of which nothing is known
DOTS = 40  # marks of a line up to which each has a dot


@dataclass(frozen=True, slots=True)
class Mark:
    """One number: `at` is its label, or its place on the axis if that is a number (days since year 1 for a date).

    An `unknown` one has an interval of all that is possible; its bar is pale, since its length says nothing.
    """

    at: str | float
    value: float
    low: float | None = None
    high: float | None = None
    series: str = ""
    unknown: bool = False

    @property
    def ends(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True, slots=True)
class Panel:
    """One number. `rules` are levels with their names; `shaded` are parts of the axis along, by places or by numbers of labels."""

    name: str
    marks: tuple[Mark, ...]
    dates: bool = False  # the numbers are dates, and bars are points without a beginning
    rules: tuple[tuple[float, str], ...] = ()
    shaded: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of numbers: `along` names the axis of labels, whose order is that of `labels` and then of the marks."""

    shape: Shape
    title: str
    panels: tuple[Panel, ...]
    along: str = ""
    notes: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()
    series: str = ""
    labels: tuple[str, ...] = ()
    bins: bool = False  # columns are bins beside each other
    dates_along: bool = False


def svg(drawing: Drawing) -> str:
    """The picture as an SVG document."""
    clean = _clean(drawing)
    plots = PLOTS[clean.shape](clean)
    room = max((part.width for part in plots), default=0.0)
    return picture(clean.title, clean.notes, [_legend(clean, max(room, 460.0)), *plots], clean.footer)


def _clean(drawing: Drawing) -> Drawing:
    title, along, series = (for_chart(each) for each in (drawing.title, drawing.along, drawing.series))
    notes, footer, labels = (tuple(map(for_chart, each)) for each in (drawing.notes, drawing.footer, drawing.labels))
    panels = tuple(map(_clean_panel, drawing.panels))
    return replace(drawing, title=title, along=along, series=series, notes=notes, footer=footer, labels=labels, panels=panels)


def _clean_panel(panel: Panel) -> Panel:
    series = {name: for_chart(name) for name in {mark.series for mark in panel.marks}}
    places = [for_chart(mark.at) if isinstance(mark.at, str) else mark.at for mark in panel.marks]
    marks = tuple(
        Mark(at, mark.value, mark.low, mark.high, series[mark.series], mark.unknown)
        for at, mark in zip(places, panel.marks, strict=True)
    )
    rules = tuple((at, for_chart(words)) for at, words in panel.rules)
    return replace(panel, name=for_chart(panel.name), marks=marks, rules=rules)


# --- what plots share --------------------------------------------------------------------------------------------------------


def _names(drawing: Drawing) -> list[str]:
    return list(dict.fromkeys(mark.series for panel in drawing.panels for mark in panel.marks))


def _labels(drawing: Drawing) -> list[str]:
    return list(dict.fromkeys([*drawing.labels, *(str(mark.at) for panel in drawing.panels for mark in panel.marks)]))


def _legend(drawing: Drawing, room: float) -> Part:
    names = _names(drawing)
    if len(names) < 2 and not drawing.series:
        return Part((), 0, 0)
    panels = {panel.name: {mark.series for mark in panel.marks} for panel in drawing.panels}
    told = [{""} == series for series in panels.values()]  # a panel of one nameless series says what it is
    elements, x, y = [], 0.0, 0.0
    for words in lines_of(drawing.series, SMALL, room):
        elements.append(text(words, 0, y + SMALL, SMALL, "soft"))
        y += 18
    for at, name in enumerate(names):
        if not name and any(told):
            continue
        for piece, words in enumerate(lines_of(name, SMALL, room - 18) or [""]):
            wide = 18 + width_of(words, SMALL) + 14
            if (x and x + wide - 14 > room) or piece:
                x, y = 0.0, y + 18
            if not piece:
                elements.append(filled(rectangle(x, y + 2, x + 11, y + 13), at, 0.9, ""))
            elements.append(text(words, x + 16, y + 12, SMALL))
            x += wide
    return Part(tuple(elements), room, y + 30)


def _said(drawing: Drawing, panel: Panel, mark: Mark) -> str:
    """The words that a reader sees who rests on a mark."""
    show: Format = _iso if panel.dates else lambda value: f"{value:,.6g}"
    place = mark.at if isinstance(mark.at, str) else _iso(mark.at) if drawing.dates_along else f"{mark.at:,.6g}"
    where = ", ".join(part for part in (place, mark.series) if part)
    ends = f" ({show(mark.low)} to {show(mark.high)})" if mark.low is not None and mark.high is not None else ""
    value = "unknown" if mark.unknown else show(mark.value)
    return f"{where}: {value}{ends}" if where else f"{value}{ends}"


def _iso(day: float) -> str:
    return date.fromordinal(int(min(max(day, 1), date.max.toordinal()))).isoformat()


def _scale(panel: Panel) -> Scale:
    ends = [end for mark in panel.marks for end in (mark.low, mark.high) if end is not None]
    values = [mark.value for mark in panel.marks] + ends + [level for level, _ in panel.rules]
    return scale_of(values, zero=True, dates=panel.dates)


def _below(ticks: Sequence[tuple[float, str]], y: float) -> Iterator[str]:
    """Texts below an axis, at their places: all, or each second, third and so on, so that none lies over another."""
    apart = next(step for step in range(1, len(ticks) + 2) if _have_room(ticks[::step]))
    for x, words in ticks[::apart]:
        yield text(words, x, y + 17, SMALL, "soft", "middle")


def _have_room(ticks: Sequence[tuple[float, str]]) -> bool:
    ends = [(x - width_of(words, SMALL) / 2, x + width_of(words, SMALL) / 2) for x, words in ticks]
    return all(before[1] + 8 < after[0] for before, after in pairwise(ends))


# --- bars --------------------------------------------------------------------------------------------------------------------


def _bars(drawing: Drawing) -> list[Part]:
    """Rows of up to three panels, each row with the labels at its left."""
    labels, names = _labels(drawing), _names(drawing)
    tall = BETWEEN + (BAR * max(len(names), 1) + BETWEEN) * len(labels)
    return [
        beside(
            [
                *_texts_of_bars(drawing.along, labels, tall),
                *(_bar_panel(drawing, panel, (labels, names), tall, wide) for panel in row),
            ],
            12,
        )
        for first in range(0, len(drawing.panels), 3)
        for row in [drawing.panels[first : first + 3]]
        for wide in [PLOT[min(len(drawing.panels), 3) - 1]]
    ]


def _texts_of_bars(along: str, labels: list[str], tall: float) -> list[Part]:
    """The labels of the bars, which end at one line, with the name of their axis above them."""
    wide = max((width_of(label, TEXT) for label in labels), default=0.0)
    if not wide and not along:
        return []
    wide, each = max(wide, width_of(along, SMALL)), (tall - BETWEEN) / max(len(labels), 1)
    elements = [text(along, wide, 10, SMALL, "soft", "end")] if along else []
    elements += [
        text(label, wide, HEAD + BETWEEN / 2 + each * (at + 0.5) + 4.5, TEXT, anchor="end") for at, label in enumerate(labels)
    ]
    return [Part(tuple(elements), wide, HEAD + tall)]


def _bar_panel(drawing: Drawing, panel: Panel, order: tuple[list[str], list[str]], tall: float, wide: float) -> Part:
    """Lying bars from zero, with the panel's name above and ticks below; points if the numbers are dates."""
    scale, top, bottom = _scale(panel), HEAD, HEAD + tall
    left = max((width_of(words, SMALL) / 2 - scale.of(at, 0, wide) for at, words in scale.ticks), default=0.0)
    left, right = max(left, 0.0), max(left, 0.0) + wide
    places = [(scale.of(at, left, right), words) for at, words in scale.ticks]
    elements = [*_lines_of_text(panel.name, left), *(line(x, top, x, bottom) for x, _ in places), *_below(places, bottom)]
    rows, series = ({name: at for at, name in enumerate(each)} for each in order)
    each = (tall - BETWEEN) / max(len(rows), 1)
    for mark in panel.marks:
        middle = top + BETWEEN + each * rows[str(mark.at)] + BAR * (series[mark.series] + 0.5)
        x, zero = (scale.of(value, left, right) for value in (mark.value, 0.0))
        shape = dot(x, middle, 5) if panel.dates else rectangle(zero, middle - BAR / 2 + 1, x, middle + BAR / 2 - 1)
        elements.append(
            filled(shape, series[mark.series], 0.9 if mark.ends and not mark.unknown else PALE, _said(drawing, panel, mark))
        )
        elements += _whisker([(scale.of(end, left, right), middle) for end in mark.ends or ()], 4)
    if scale.low <= 0 <= scale.high:
        elements.append(line(scale.of(0.0, left, right), top, scale.of(0.0, left, right), bottom, "axis"))
    reach = max((x + width_of(words, SMALL) / 2 for x, words in places), default=right)
    return Part(tuple(elements), max(right, reach, left + width_of(panel.name, SMALL) * 1.16) + ASIDE - 12, bottom + FOOT)


def _lines_of_text(name: str, x: float) -> list[str]:
    return [text(name, x, 10, SMALL, "strong")] if name else []


def _whisker(ends: list[tuple[float, float]], cap: float) -> list[str]:
    """An interval between two points, with a short line across each end."""
    if not ends:
        return []
    (x1, y1), (x2, y2) = ends
    across = (0.0, cap) if y1 == y2 and x1 != x2 else (cap, 0.0)
    caps = [line(x - across[0], y - across[1], x + across[0], y + across[1], "whisker") for x, y in ends]
    return [line(x1, y1, x2, y2, "whisker"), *caps]


# --- columns and lines -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frame:
    """The room of a panel whose numbers go upwards, with its grid; `right` is the end of the plot, `reach` that of all texts."""

    elements: tuple[str, ...]
    scale: Scale
    left: float
    right: float
    top: float
    bottom: float
    reach: float

    def y(self, value: float) -> float:
        return self.scale.of(value, self.bottom, self.top)


def _frames(drawing: Drawing, first: str) -> list[Frame]:
    """The grids of all panels, which begin at one line; the label `first`, whose middle is there, stays within the picture."""
    scales = [_scale(panel) for panel in drawing.panels]
    wide = max((width_of(words, SMALL) for scale in scales for _, words in scale.ticks), default=0.0)
    left = max(wide + 10, width_of(first, SMALL) / 2)
    return [_frame(panel, scale, left, len(scales) > 1) for panel, scale in zip(drawing.panels, scales, strict=True)]


def _frame(panel: Panel, scale: Scale, left: float, several: bool) -> Frame:
    right, top = left + WIDE, HEAD + 6
    bottom = top + (LOWER if several else HIGH)
    elements = [*_lines_of_text(panel.name, 0)]
    for at, words in scale.ticks:
        y = scale.of(at, bottom, top)
        elements += [line(left, y, right, y), text(words, left - 10, y + 4, SMALL, "soft", "end")]
    reach = max([right, width_of(panel.name, SMALL) * 1.16, *(right + 6 + width_of(words, SMALL) for _, words in panel.rules)])
    return Frame(tuple(elements), scale, left, right, top, bottom, reach)


def _over(panel: Panel, frame: Frame) -> list[str]:
    """The lines over the marks: the one at zero, and the levels to compare with, named at the right."""
    zero = [line(frame.left, frame.y(0), frame.right, frame.y(0), "axis")] if frame.scale.low <= 0 <= frame.scale.high else []
    rules, free = [], math.inf
    for level, words in sorted(panel.rules, reverse=False):
        y = frame.y(level)
        rules.append(line(frame.left, y, frame.right, y, "rule"))
        if y + 12 < free or free == math.inf:
            rules.append(text(words, frame.right + 6, y + 4, SMALL, "ink"))
            free = y
    return [*zero, *rules]


def _panel(drawing: Drawing, frame: Frame, elements: list[str], reach: float, last: bool) -> Part:
    """A panel with what is drawn in it; the last one names the axis that all share."""
    named = [text(drawing.along, frame.left, frame.bottom + 38, SMALL, "soft")] if last and drawing.along else []
    wide = max(frame.reach, reach, frame.left + (width_of(drawing.along, SMALL) if named else 0))
    return Part((*elements, *named), wide, frame.bottom + (46 if named else FOOT) + (0 if last else 18))


def _columns(drawing: Drawing) -> list[Part]:
    """Standing bars side by side, for numbers in their order; bins touch."""
    labels, names = _labels(drawing), _names(drawing)
    frames = _frames(drawing, next(iter(labels), ""))
    return [_columns_of(drawing, panel, frame, (labels, names)) for panel, frame in zip(drawing.panels, frames, strict=True)]


def _columns_of(drawing: Drawing, panel: Panel, frame: Frame, order: tuple[list[str], list[str]]) -> Part:
    labels, _ = order
    band, share = (frame.right - frame.left) / max(len(labels), 1), 0.94 if drawing.bins else 0.8
    every = _every(labels, band)
    places = [(frame.left + band * (at + 0.5), label) for at, label in enumerate(labels) if at % every == 0 or label == "NULL"]
    edges = [tuple(frame.left + band * (end + 0.5) for end in ends) for ends in _within(panel.shaded, len(labels))]
    elements = [shade(low, frame.top, high, frame.bottom) for low, high in edges]
    elements += [*frame.elements, *_below(places, frame.bottom)]
    columns, series = ({name: at for at, name in enumerate(each)} for each in order)
    slots = {name: at for at, name in enumerate(dict.fromkeys(mark.series for mark in panel.marks))}
    wide = band * share / max(len(slots), 1)
    for mark in panel.marks:
        start = frame.left + band * (columns[str(mark.at)] + (1 - share) / 2) + wide * slots[mark.series]
        y, middle = frame.y(mark.value), start + wide / 2
        shape = dot(middle, y, 4) if panel.dates else rectangle(start, frame.y(0), start + wide, y)
        pale = mark.unknown or (not mark.ends and any(each.ends for each in panel.marks))
        elements.append(filled(shape, series[mark.series], PALE if pale else 0.9, _said(drawing, panel, mark)))
        elements += _whisker([(middle, frame.y(end)) for end in mark.ends or ()], min(4.0, wide / 3))
    reach = max((x + width_of(words, SMALL) / 2 for x, words in places), default=frame.right)
    return _panel(drawing, frame, [*elements, *_over(panel, frame)], reach, panel is drawing.panels[-1])


def _every(labels: list[str], band: float) -> int:
    """Which labels are written: each one, each second, ..., so that they do not touch."""
    widest = max((width_of(label, SMALL) for label in labels), default=0.0) + 8
    return max(1, math.ceil(widest / band))


def _within(parts: tuple[tuple[float, float], ...], labels: int) -> list[tuple[float, float]]:
    return [(max(low, -0.5), min(high, labels - 0.5)) for low, high in parts if low < labels - 0.5 and high > -0.5]


def _line(drawing: Drawing) -> list[Part]:
    """A line for each series over numbers or dates, with its intervals as a band."""
    places = [float(mark.at) for panel in drawing.panels for mark in panel.marks]
    along = scale_of(places, zero=False, dates=drawing.dates_along).within(min(places, default=0.0), max(places, default=0.0))
    frames = _frames(drawing, next((words for _, words in along.ticks), ""))
    return [_lines_in(drawing, panel, frame, along) for panel, frame in zip(drawing.panels, frames, strict=True)]


def _lines_in(drawing: Drawing, panel: Panel, frame: Frame, along: Scale) -> Part:
    places = [(along.of(at, frame.left, frame.right), words) for at, words in along.ticks]
    elements = [
        shade(along.of(low, frame.left, frame.right), frame.top, along.of(high, frame.left, frame.right), frame.bottom)
        for low, high in panel.shaded
    ]
    elements += [*frame.elements, *_below(places, frame.bottom)]
    for series, name in enumerate(_names(drawing)):
        marks = sorted((mark for mark in panel.marks if mark.series == name), key=lambda mark: float(mark.at))
        elements += _curve(drawing, panel, series, marks, (along, frame)) if marks else ()
    reach = max((x + width_of(words, SMALL) / 2 for x, words in places), default=frame.right)
    return _panel(drawing, frame, [*elements, *_over(panel, frame)], reach, panel is drawing.panels[-1])


def _curve(drawing: Drawing, panel: Panel, series: int, marks: list[Mark], axes: tuple[Scale, Frame]) -> Iterator[str]:
    """The bands of neighbouring marks with intervals, the line, and a point for each mark if they are few."""
    along, frame = axes
    across = {mark.at: coordinate(along.of(float(mark.at), frame.left, frame.right)) for mark in marks}

    def place(mark: Mark, value: float) -> str:
        return f"{across[mark.at]} {coordinate(frame.y(value))}"

    for run in _runs(marks):
        outline = [place(mark, mark.ends[1]) for mark in run if mark.ends] + [
            place(mark, mark.ends[0]) for mark in reversed(run) if mark.ends
        ]
        yield filled(f"M{'L'.join(outline)}z", series, 0.22, "")
    at = colour(series)
    route = "L".join(place(mark, mark.value) for mark in marks)
    yield f'<path class="c{at}" d="M{route}" stroke="{COLOURS[at][0]}" stroke-width="2" stroke-linejoin="round" fill="none"/>'
    for mark in marks if len(marks) <= DOTS else ():
        x, y = along.of(float(mark.at), frame.left, frame.right), frame.y(mark.value)
        yield filled(dot(x, y, 3), series, 1, _said(drawing, panel, mark))


def _runs(marks: list[Mark]) -> Iterator[list[Mark]]:
    run: list[Mark] = []
    for mark in marks:
        if mark.ends:
            run.append(mark)
        elif run:
            yield run
            run = []
    if run:
        yield run


PLOTS: dict[Shape, Callable[[Drawing], list[Part]]] = {"bars": _bars, "columns": _columns, "line": _line}
