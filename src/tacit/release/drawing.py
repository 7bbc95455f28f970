"""The parts of a picture as an SVG, without a charting library: texts, lines, filled shapes, and the card that holds them.

    Part       some of a picture, placed from (0, 0), and how far it reaches
    picture    parts below a title and above a footer, as text: self-contained, no script, no request, colours for light and dark

Every text is made harmless by `untrusted`, and measured (`axes.py`), so that no label reaches beyond the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tacit.release.axes import lines_of
from tacit.untrusted import for_html

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
COLOURS = (  # of one series each: in light and in dark, told apart by people who see fewer colours
    ("#00695c", "#5cc8b6"), ("#b8540c", "#f0a060"), ("#3b5ba9", "#93aef0"), ("#8a3f86", "#d99ad5"),
    ("#7a6a00", "#d9c95c"), ("#4a4a4a", "#bdbdbd"), ("#a8201a", "#ffb4a9"), ("#2f6f9f", "#8cc8f0"),
)  # fmt: skip
CARD, INK, SOFT, LINE, WHISKER, SHADE = (
    ("#ffffff", "#1a2220"),
    ("#14201d", "#e8efed"),
    ("#50605d", "#a9b8b5"),
    ("#e3eae8", "#2e3a37"),
    ("#14201d", "#ffffff"),
    ("#f1f5f4", "#24302d"),
)
TITLE, TEXT, SMALL = 17, 12.5, 12  # font sizes
EDGE, LEAST_WIDTH = 22.0, 460.0  # the margin, and the width within it


def coordinate(value: float) -> str:
    """A coordinate with at most two digits after the point."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def text(words: str, x: float, y: float, size: float = TEXT, kind: str = "ink", anchor: str = "start") -> str:
    bold = ' font-weight="650"' if kind in ("title", "strong") else ""
    fill = INK[0] if kind in ("ink", "title", "strong") else SOFT[0]
    place = f'x="{coordinate(x)}" y="{coordinate(y)}" font-size="{coordinate(size)}" fill="{fill}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}{bold}>{for_html(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> str:
    stroke, width = STROKES[kind][0][0], STROKES[kind][1]
    route = f"M{coordinate(x1)} {coordinate(y1)}L{coordinate(x2)} {coordinate(y2)}"
    dashes = ' stroke-dasharray="5 4"' if kind == "rule" else ""
    return f'<path class="{kind}" d="{route}" stroke="{stroke}" stroke-width="{width}"{dashes} fill="none"/>'


STROKES = {"grid": (LINE, 1.0), "axis": (SOFT, 1.0), "whisker": (WHISKER, 1.3), "rule": (INK, 1.2)}


def colour(series: int) -> int:
    return series % len(COLOURS)


def filled(shape: str, series: int, opacity: float, words: str) -> str:
    at = colour(series)
    title = f"<title>{for_html(words)}</title>" if words else ""
    return f'<path class="s{at}" d="{shape}" fill="{COLOURS[at][0]}" fill-opacity="{coordinate(opacity)}">{title}</path>'


def rectangle(x1: float, y1: float, x2: float, y2: float) -> str:
    left, top = min(x1, x2), min(y1, y2)
    return (
        f"M{coordinate(left)} {coordinate(top)}h{coordinate(abs(x2 - x1))}v{coordinate(abs(y2 - y1))}h-{coordinate(abs(x2 - x1))}z"
    )


def dot(x: float, y: float, radius: float) -> str:
    r, wide = coordinate(radius), coordinate(2 * radius)
    return f"M{coordinate(x - radius)} {coordinate(y)}a{r} {r} 0 1 0 {wide} 0a{r} {r} 0 1 0 -{wide} 0z"


def shade(x1: float, y1: float, x2: float, y2: float) -> str:
    """A part of the plot that is set off from the rest."""
    return f'<path class="shade" d="{rectangle(x1, y1, x2, y2)}" fill="{SHADE[0]}"/>'


# --- the card ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the picture: its elements, placed from (0, 0), and how far they reach."""

    elements: tuple[str, ...]
    width: float
    height: float


def beside(parts: Sequence[Part], room: float) -> Part:
    """The parts from left to right, with this room between them."""
    lefts = list(accumulate((part.width + room for part in parts), initial=0.0))
    elements = [_placed(part, left, 0.0) for part, left in zip(parts, lefts, strict=False)]
    return Part(tuple(elements), max(lefts[-1] - room, 0.0), max((part.height for part in parts), default=0.0))


def lines(texts: Sequence[str], room: float, size: float, kind: str) -> Part:
    """Texts below each other, each in as many lines as it takes."""
    shown = [words for each in texts for words in lines_of(each, size, room, bold=kind == "title")]
    tall = size * 1.45
    elements = (text(words, 0, tall * at + size, size, kind) for at, words in enumerate(shown))
    return Part(tuple(elements), room, tall * len(shown))


def picture(title: str, notes: Sequence[str], parts: Sequence[Part], footer: Sequence[str]) -> str:
    """The parts below each other on a card, with the title and the notes above them, and the footer below them."""
    room = max(LEAST_WIDTH, *(part.width for part in parts)) if parts else LEAST_WIDTH
    gap = Part((), 0, 12)
    column = [lines([title], room, TITLE, "title"), lines(notes, room, SMALL, "soft"), gap, *parts]
    column += [Part((), 0, 6), lines(footer, room, SMALL, "soft")] if footer else []
    tops = list(accumulate((part.height for part in column), initial=EDGE))
    inside = "".join(_placed(part, EDGE, top) for part, top in zip(column, tops, strict=False) if part.elements)
    width, height = room + 2 * EDGE, tops[-1] + EDGE * 0.7
    size = f'width="{coordinate(width)}" height="{coordinate(height)}" viewBox="0 0 {coordinate(width)} {coordinate(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{for_html(FONT)}">'
    name = f"<title>{for_html(title)}</title>"
    card = f'<rect class="card" width="100%" height="100%" fill="{CARD[0]}"/>'
    return f"{head}{name}<style>{STYLE}</style>{card}{inside}</svg>\n"


def _placed(part: Part, left: float, top: float) -> str:
    return f'<g transform="translate({coordinate(left)} {coordinate(top)})">{"".join(part.elements)}</g>'


def _style() -> str:
    """The colours for a dark page; those of a light one are attributes, for programs that read no style."""
    dark = {".ink, .title, .strong": INK, ".soft": SOFT, ".card": CARD, ".shade": SHADE}
    dark |= {f".s{at}": pair for at, pair in enumerate(COLOURS)}
    fills = "".join(f"{name} {{ fill: {pair[1]} }} " for name, pair in dark.items())
    strokes = "".join(f".{kind} {{ stroke: {pair[1]} }} " for kind, (pair, _) in STROKES.items())
    curves = "".join(f".c{at} {{ stroke: {pair[1]} }} " for at, pair in enumerate(COLOURS))
    return f"@media (prefers-color-scheme: dark) {{ {fills}{strokes}{curves}}}"


STYLE = _style()
