"""Draws numbers with their intervals as an SVG: bars, columns, or lines, without a charting library.

    Drawing    what is drawn: a title, notes, and one `Mark` for each number
    svg        the picture as text: self-contained, no script, no request, colours for light and dark

Every text is made harmless by `untrusted`, and measured (`axes.py`), so that no label reaches beyond the picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import accumulate

from tacit.release.axes import Format, Scale, lines_of, scale_of, width_of
from tacit.untrusted import for_chart, for_html

Shape = str  # "bars" lie and have a text each, "columns" stand side by side, a "line" runs over numbers or dates

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
COLOURS = (  # of one series each: in light and in dark, told apart by people who see fewer colours
    ("#00695c", "#5cc8b6"), ("#b8540c", "#f0a060"), ("#3b5ba9", "#93aef0"), ("#8a3f86", "#d99ad5"),
    ("#7a6a00", "#d9c95c"), ("#4a4a4a", "#bdbdbd"), ("#a8201a", "#ffb4a9"), ("#2f6f9f", "#8cc8f0"),
)  # fmt: skip
CARD, INK, SOFT, LINE, WHISKER = (
    ("#ffffff", "#1a2220"),
    ("#14201d", "#e8efed"),
    ("#50605d", "#a9b8b5"),
    ("#dde5e3", "#33403d"),
    ("#14201d", "#ffffff"),
)
TITLE, TEXT, SMALL = 16, 12.5, 12  # font sizes
EDGE, PLOT, HIGH = 20.0, 460.0, 260.0  # the margin; the width of what is plotted, and its height if bars do not decide it
BAR, BETWEEN = 18.0, 9.0  # the height of a lying bar, and the room between groups of them


@dataclass(frozen=True, slots=True)
class Mark:
    """One number: `at` is its label, or its place on the axis if that is a number (days since year 1 for a date)."""

    at: str | float
    value: float
    low: float | None = None
    high: float | None = None
    series: str = ""

    @property
    def ends(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of numbers: `along` names the axis of labels and `name` that of the numbers; dates are days since year 1."""

    shape: Shape
    title: str
    notes: tuple[str, ...]
    along: str
    name: str
    marks: tuple[Mark, ...]
    series: str = ""
    dates: bool = False  # the numbers are dates, and bars are points without a beginning
    dates_along: bool = False


# --- parts of the picture ----------------------------------------------------------------------------------------------------


def _n(value: float) -> str:
    """A coordinate with at most two digits after the point."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def text(words: str, x: float, y: float, size: float = TEXT, kind: str = "ink", anchor: str = "start") -> str:
    bold = ' font-weight="650"' if kind == "title" else ""
    fill = INK[0] if kind in ("ink", "title") else SOFT[0]
    place = f'x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" fill="{fill}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}{bold}>{for_html(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> str:
    stroke, width = STROKES[kind][0][0], STROKES[kind][1]
    return f'<path class="{kind}" d="M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}" stroke="{stroke}" stroke-width="{width}" fill="none"/>'


STROKES = {"grid": (LINE, 1.0), "axis": (SOFT, 1.0), "whisker": (WHISKER, 1.4)}


def _colour(series: int) -> int:
    return series % len(COLOURS)


def _filled(shape: str, series: int, opacity: float, words: str) -> str:
    at = _colour(series)
    title = f"<title>{for_html(words)}</title>" if words else ""
    return f'<path class="s{at}" d="{shape}" fill="{COLOURS[at][0]}" fill-opacity="{_n(opacity)}">{title}</path>'


def _rectangle(x1: float, y1: float, x2: float, y2: float) -> str:
    left, top = min(x1, x2), min(y1, y2)
    return f"M{_n(left)} {_n(top)}h{_n(abs(x2 - x1))}v{_n(abs(y2 - y1))}h-{_n(abs(x2 - x1))}z"


def _dot(x: float, y: float, radius: float) -> str:
    r = _n(radius)
    return f"M{_n(x - radius)} {_n(y)}a{r} {r} 0 1 0 {_n(2 * radius)} 0a{r} {r} 0 1 0 -{_n(2 * radius)} 0z"


# --- pictures ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the picture: its elements, placed from (0, 0), and how far they reach."""

    elements: tuple[str, ...]
    width: float
    height: float


def svg(drawing: Drawing) -> str:
    """The picture as an SVG document."""
    clean = _clean(drawing)
    plot = PLOTS[clean.shape](clean)
    width = max(plot.width, 440.0) + 2 * EDGE
    parts = [_heading(clean, width - 2 * EDGE), _legend(clean, width - 2 * EDGE), plot]
    tops = list(accumulate((part.height for part in parts), initial=EDGE))
    inside = "".join(
        f'<g transform="translate({_n(EDGE)} {_n(top)})">{"".join(part.elements)}</g>'
        for part, top in zip(parts, tops, strict=False)
    )
    height = tops[-1] + EDGE * 0.6
    size = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{for_html(FONT)}">'
    title = f"<title>{for_html(clean.title)}</title>"
    card = f'<rect class="card" width="100%" height="100%" fill="{CARD[0]}"/>'
    return f"{head}{title}<style>{STYLE}</style>{card}{inside}</svg>\n"


def _style() -> str:
    """The colours for a dark page; those of a light one are attributes, for programs that read no style."""
    dark = {".ink, .title": INK, ".soft": SOFT, ".card": CARD} | {f".s{at}": colour for at, colour in enumerate(COLOURS)}
    fills = "".join(f"{name} {{ fill: {colour[1]} }} " for name, colour in dark.items())
    strokes = "".join(
        f"{name} {{ stroke: {colour[1]} }} "
        for name, colour in {f".{kind}": colour for kind, (colour, _) in STROKES.items()}.items()
    )
    curves = "".join(f".c{at} {{ stroke: {colour[1]} }} " for at, colour in enumerate(COLOURS))
    return f"@media (prefers-color-scheme: dark) {{ {fills}{strokes}{curves}}}"


STYLE = _style()


def _clean(drawing: Drawing) -> Drawing:
    marks = tuple(
        Mark(for_chart(mark.at) if isinstance(mark.at, str) else mark.at, mark.value, mark.low, mark.high, for_chart(mark.series))
        for mark in drawing.marks
    )
    notes = tuple(map(for_chart, drawing.notes))
    texts = (for_chart(each) for each in (drawing.title, drawing.along, drawing.name, drawing.series))
    title, along, name, series = texts
    return Drawing(drawing.shape, title, notes, along, name, marks, series, drawing.dates, drawing.dates_along)


def _heading(drawing: Drawing, room: float) -> Part:
    lines = [(words, TITLE, "title") for words in lines_of(drawing.title, TITLE, room, bold=True)]
    lines += [(words, SMALL, "soft") for note in drawing.notes for words in lines_of(note, SMALL, room)]
    tops = list(accumulate((size * 1.4 for _, size, _ in lines), initial=0.0))
    elements = (text(words, 0, top + size, size, kind) for (words, size, kind), top in zip(lines, tops, strict=False))
    return Part(tuple(elements), room, tops[-1] + 10)


def _names(drawing: Drawing) -> list[str]:
    return list(dict.fromkeys(mark.series for mark in drawing.marks))


def _legend(drawing: Drawing, room: float) -> Part:
    names = _names(drawing)
    if len(names) < 2 and not drawing.series:
        return Part((), 0, 0)
    elements, x, y = [], 0.0, 0.0
    for words in lines_of(drawing.series, SMALL, room):
        elements.append(text(words, 0, y + SMALL, SMALL, "soft"))
        y += 18
    for at, name in enumerate(names):
        for piece, words in enumerate(lines_of(name, SMALL, room - 18) or [""]):
            wide = 18 + width_of(words, SMALL) + 14
            if (x and x + wide - 14 > room) or piece:
                x, y = 0.0, y + 18
            if not piece:
                elements.append(_filled(_rectangle(x, y + 2, x + 11, y + 13), at, 0.85, ""))
            elements.append(text(words, x + 16, y + 12, SMALL))
            x += wide
    return Part(tuple(elements), room, y + 28)


def _said(drawing: Drawing, mark: Mark) -> str:
    """The words that a reader sees who rests on a mark."""
    show: Format = _iso if drawing.dates else lambda value: f"{value:,.6g}"
    place = mark.at if isinstance(mark.at, str) else _iso(mark.at) if drawing.dates_along else f"{mark.at:,.6g}"
    where = ", ".join(part for part in (place, mark.series) if part)
    ends = f" ({show(mark.low)} to {show(mark.high)})" if mark.low is not None and mark.high is not None else ""
    return f"{where}: {show(mark.value)}{ends}" if where else f"{show(mark.value)}{ends}"


def _iso(day: float) -> str:
    return date.fromordinal(int(min(max(day, 1), date.max.toordinal()))).isoformat()


def _all(drawing: Drawing) -> list[float]:
    ends = [end for mark in drawing.marks for end in (mark.low, mark.high) if end is not None]
    return [mark.value for mark in drawing.marks] + ends


def _bars(drawing: Drawing) -> Part:
    """Lying bars, one for each label, so that a label of any length stays straight; points if the numbers are dates."""
    scale = scale_of(_all(drawing), zero=True, dates=drawing.dates)
    labels, names = list(dict.fromkeys(str(mark.at) for mark in drawing.marks)), _names(drawing)
    left = max((width_of(label, TEXT) for label in labels), default=0.0) + (12 if any(labels) else 0)
    left = max(left, _first_label(scale))
    top, row = (20.0 if drawing.along else 4.0), BAR * max(len(names), 1) + BETWEEN
    bottom, right = top + row * len(labels) + BETWEEN, left + PLOT
    elements = [text(drawing.along, 0, 10, SMALL, "soft")] if drawing.along else []
    elements += _values_below(scale, drawing.name, left, right, top, bottom)
    elements += [
        text(label, left - 12, top + row * (at + 0.5) + BETWEEN / 2 + 4.5, TEXT, anchor="end") for at, label in enumerate(labels)
    ]
    rows, places = {label: at for at, label in enumerate(labels)}, {name: at for at, name in enumerate(names)}
    for mark in drawing.marks:
        middle = top + row * rows[str(mark.at)] + BETWEEN + BAR * (places[mark.series] + 0.5)
        x, zero = (scale.of(each, left, right) for each in (mark.value, 0.0))
        shape = _dot(x, middle, 5) if drawing.dates else _rectangle(zero, middle - BAR / 2 + 1, x, middle + BAR / 2 - 1)
        elements.append(_filled(shape, places[mark.series], 0.85 if mark.ends else 0.35, _said(drawing, mark)))
        if mark.ends:
            low, high = (scale.of(end, left, right) for end in mark.ends)
            elements += [
                line(low, middle, high, middle, "whisker"),
                *(line(end, middle - 4, end, middle + 4, "whisker") for end in (low, high)),
            ]
    width = max(
        right, left + _last_label(scale, right - left), width_of(drawing.along, SMALL), left + width_of(drawing.name, SMALL)
    )
    return Part(tuple(elements), width, bottom + 44)


def _last_label(scale: Scale, room: float) -> float:
    """How far the labels of the ticks reach."""
    return max((scale.of(at, 0, room) + width_of(words, SMALL) / 2 for at, words in scale.ticks), default=room)


def _first_label(scale: Scale) -> float:
    """How far the label of the first tick reaches to the left of the plot, at most."""
    return max((width_of(words, SMALL) / 2 - scale.of(at, 0, PLOT) for at, words in scale.ticks), default=0.0)


def _values_below(scale: Scale, name: str, left: float, right: float, top: float, bottom: float) -> list[str]:
    elements, free = [], -math.inf
    for at, words in scale.ticks:
        x, half = scale.of(at, left, right), width_of(words, SMALL) / 2
        elements.append(line(x, top, x, bottom))
        if x - half > free:
            elements.append(text(words, x, bottom + 16, SMALL, "soft", "middle"))
            free = x + half + 8
    zero = [line(x, top, x, bottom, "axis") for x in [scale.of(0.0, left, right)] if scale.low <= 0 <= scale.high]
    return [*elements, *zero, text(name, left, bottom + 36, SMALL, "soft")]


def _columns(drawing: Drawing) -> Part:
    """Standing bars side by side, for numbers in their order."""
    labels, names = list(dict.fromkeys(str(mark.at) for mark in drawing.marks)), _names(drawing)
    scale = scale_of(_all(drawing), zero=True, dates=drawing.dates)
    frame = _frame(drawing, scale, next(iter(labels), ""))
    band = (frame.right - frame.left) / max(len(labels), 1)
    elements, free = list(frame.elements), -math.inf
    for at, label in enumerate(labels):
        x, half = frame.left + band * (at + 0.5), width_of(label, SMALL) / 2
        if x - half > free:
            elements.append(text(label, x, frame.bottom + 16, SMALL, "soft", "middle"))
            free = x + half + 8
    columns, places, wide = (
        {label: at for at, label in enumerate(labels)},
        {name: at for at, name in enumerate(names)},
        band * 0.82 / max(len(names), 1),
    )
    for mark in drawing.marks:
        start = frame.left + band * (columns[str(mark.at)] + 0.09) + wide * places[mark.series]
        y, zero = (scale.of(each, frame.bottom, frame.top) for each in (mark.value, 0.0))
        shape = _dot(start + wide / 2, y, 4) if drawing.dates else _rectangle(start, zero, start + wide, y)
        elements.append(_filled(shape, places[mark.series], 0.85 if mark.ends else 0.35, _said(drawing, mark)))
        if mark.ends:
            middle, cap = start + wide / 2, min(4.0, wide / 2)
            low, high = (scale.of(end, frame.bottom, frame.top) for end in mark.ends)
            elements += [
                line(middle, low, middle, high, "whisker"),
                *(line(middle - cap, end, middle + cap, end, "whisker") for end in (low, high)),
            ]
    reach = max(
        (frame.left + band * (at + 0.5) + width_of(label, SMALL) / 2 for at, label in enumerate(labels)), default=frame.right
    )
    return Part(
        tuple(elements),
        max(frame.right, reach, frame.left + width_of(drawing.along, SMALL), width_of(drawing.name, SMALL)),
        frame.bottom + 44,
    )


@dataclass(frozen=True, slots=True)
class Frame:
    """The room of a plot whose numbers go upwards, with its grid."""

    elements: tuple[str, ...]
    left: float
    right: float
    top: float
    bottom: float


def _frame(drawing: Drawing, scale: Scale, first: str) -> Frame:
    """The grid of a plot; the label `first`, whose middle is at the left end, stays within the picture."""
    left = max(max((width_of(words, SMALL) for _, words in scale.ticks), default=0.0) + 10, width_of(first, SMALL) / 2)
    right, top, bottom = left + PLOT + 60, 26.0, 26.0 + HIGH
    elements = [text(drawing.name, 0, 10, SMALL, "soft")]
    for at, words in scale.ticks:
        y = scale.of(at, bottom, top)
        elements += [line(left, y, right, y, "axis" if at == 0 else "grid"), text(words, left - 10, y + 4, SMALL, "soft", "end")]
    return Frame((*elements, text(drawing.along, left, bottom + 36, SMALL, "soft")), left, right, top, bottom)


def _line(drawing: Drawing) -> Part:
    """A line for each series over numbers or dates, with its intervals as a band."""
    scale = scale_of(_all(drawing), zero=True, dates=drawing.dates)
    along = scale_of([float(mark.at) for mark in drawing.marks], zero=False, dates=drawing.dates_along)
    frame = _frame(drawing, scale, next((words for _, words in along.ticks), ""))
    elements, free = list(frame.elements), -math.inf
    for at, words in along.ticks:
        x, half = along.of(at, frame.left, frame.right), width_of(words, SMALL) / 2
        if x - half > free:
            elements.append(text(words, x, frame.bottom + 16, SMALL, "soft", "middle"))
            free = x + half + 8
    for series, name in enumerate(_names(drawing)):
        marks = sorted((mark for mark in drawing.marks if mark.series == name), key=lambda mark: float(mark.at))
        elements += _curve(drawing, series, marks, (along, scale), frame)
    width = max(frame.right, frame.left + _last_label(along, frame.right - frame.left), width_of(drawing.name, SMALL))
    return Part(tuple(elements), max(width, frame.left + width_of(drawing.along, SMALL)), frame.bottom + 44)


def _curve(drawing: Drawing, series: int, marks: list[Mark], scales: tuple[Scale, Scale], frame: Frame) -> Iterator[str]:
    """The bands of neighbouring marks with intervals, the line, and a point for each mark."""

    def place(mark: Mark, value: float) -> str:
        x, y = scales[0].of(float(mark.at), frame.left, frame.right), scales[1].of(value, frame.bottom, frame.top)
        return f"{_n(x)} {_n(y)}"

    for run in _runs(marks):
        outline = [place(mark, mark.ends[1]) for mark in run if mark.ends] + [
            place(mark, mark.ends[0]) for mark in reversed(run) if mark.ends
        ]
        yield _filled(f"M{'L'.join(outline)}z", series, 0.22, "")
    at = _colour(series)
    route = "L".join(place(mark, mark.value) for mark in marks)
    yield f'<path class="c{at}" d="M{route}" stroke="{COLOURS[at][0]}" stroke-width="2" stroke-linejoin="round" fill="none"/>'
    radius = 3.0 if len(marks) <= 40 else 1.5
    for mark in marks:
        x, y = scales[0].of(float(mark.at), frame.left, frame.right), scales[1].of(mark.value, frame.bottom, frame.top)
        yield _filled(_dot(x, y, radius), series, 1, _said(drawing, mark))


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


PLOTS: dict[Shape, Callable[[Drawing], Part]] = {"bars": _bars, "columns": _columns, "line": _line}
