"""Draws a mechanism's noise: a curve for each epsilon, and the interval as a band. Writes any chart to a file.

A chart may show a value of the data, and so may its title: `save` and `svg` pass every specification through `untrusted.for_chart`.
A page's policy lets nothing run but the two scripts that are written here.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unicodedata import category, east_asian_width
from xml.etree import ElementTree

from tacit.errors import InvalidInput
from tacit.files import check, write
from tacit.untrusted import for_chart, for_html, for_script

Curve = tuple[Sequence[float], Sequence[float]]

MISSING = "this chart needs packages that are not installed; run: pip install 'tacit[charts]'"
PACKAGES = ("altair", "vl_convert")  # of the extra `charts`
FORMATS = (".svg", ".png", ".html")
FEW_POINTS = 80  # fewer outcomes than this are drawn one by one: the distribution is discrete, and it shows
WIDTHS = {  # hundredths of the font size: the largest of DejaVu Sans, Noto Sans and Roboto
    28: "'ijl", 32: " ,.", 34: ":;I", 36: "f", 37: "-", 40: "()[]t", 41: "!", 42: "/\\r", 46: '"', 50: "_`", 53: "sz", 54: "?",
    55: "c", 56: "*JL|", 58: "Fk", 60: "vxy", 62: "TYaeo", 64: "$0123456789EPSbdghnpqu{}", 66: "K", 69: "ABVXZ", 70: "CR", 74: "U",
    76: "HN", 78: "&DG", 79: "OQ", 82: "w", 84: "#+<=>^~", 91: "M", 96: "%", 98: "m", 99: "W", 100: "@",
}  # fmt: skip
LETTERS = {letter: width / 100 for width, letters in WIDTHS.items() for letter in letters}
OTHER, WIDE, BOLD = 0.9, 1.3, 1.16  # a letter beyond ASCII, one as wide as high, and how much wider bold letters are
COLOURS = ("#b7c9e2", "#1f4e9c", "#e07a3f", "#5b8c5a", "#8e6bb0", "#7a7a7a")


def noise_picture(
    curves: Mapping[str, Curve], band: tuple[float, float] | None, title: str, axes: tuple[str, str] = ("error", "density")
) -> Any:
    """An Altair chart of named curves over the error, with `band` (the ends of the interval) shaded behind them.

    `axes` names the axes if something else is drawn, such as the probability of each candidate.
    """
    alt = charting()

    names = list(curves)
    points = [
        {"error": float(x), "density": float(y), "curve": name}
        for name, (xs, ys) in curves.items()
        for x, y in zip(xs, ys, strict=True)
    ]
    few = max((len(xs) for xs, _ in curves.values()), default=0) <= FEW_POINTS
    lines = (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(strokeWidth=2, clip=True, point=alt.OverlayMarkDef(size=18) if few else False)
        .encode(
            x=alt.X("error:Q", title=axes[0], axis=alt.Axis(grid=False)),
            y=alt.Y("density:Q", title=axes[1], axis=alt.Axis(gridOpacity=0.4, tickCount=5)),
            color=alt.Color("curve:N", title=None, sort=names, scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)]))),
        )
    )
    chart = lines if band is None else alt.layer(_shade(*band, axes[0]), lines)
    return chart.properties(title=alt.TitleParams(title, anchor="start"), width=480, height=240).configure_view(stroke=None)


def charting() -> Any:
    """Altair, which draws everything except answers; an error names the line to install if it is missing."""
    require_charts("altair")
    import altair

    return altair


def converting() -> Any:
    """vl-convert, which makes pictures and pages of a chart; an error names the line to install if it is missing."""
    require_charts("vl_convert")
    import vl_convert

    return vl_convert


def require_charts(*packages: str) -> None:
    """Raises `InvalidInput` if a package of the extra `charts` is missing, without loading any; call it before paying."""
    if any(find_spec(package) is None for package in packages or PACKAGES):
        raise InvalidInput(MISSING)


def check_format(path: str | Path) -> str:
    """The extension of a chart's file; check it before paying for what is drawn."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InvalidInput(f"unsupported chart format; expected {', '.join(FORMATS)}, not {suffix or 'a file without a suffix'}")
    if suffix != ".svg":
        require_charts()
    return suffix


def save(chart: Any, path: str | Path | None) -> Any:
    """The chart, also written to `path` if given: SVG, PNG, or HTML that needs no network. Missing folders are created."""
    if path is None:
        return chart
    suffix = check_format(path)
    check(path)
    write(path, png(chart) if suffix == ".png" else page(chart) if suffix == ".html" else for_dark_pages(svg(chart)))
    return chart


def svg(chart: Any) -> str:
    """The chart as a self-contained SVG, for a file or inside a page, with room for every text in any font."""
    vl_convert = converting()
    return with_room(str(vl_convert.vegalite_to_svg(_specification(chart), vl_version=_version())))


def png(chart: Any) -> bytes:
    """The chart as a PNG, at twice its resolution."""
    vl_convert = converting()
    return bytes(vl_convert.vegalite_to_png(_specification(chart), vl_version=_version(), scale=2, ppi=72))


def picture_of(drawing: str) -> bytes:
    """An SVG as a PNG, at twice its resolution."""
    return bytes(converting().svg_to_png(drawing, scale=2, ppi=72))


def _specification(chart: Any) -> dict[str, Any]:
    """The Vega-Lite specification: each text of it harmless, and none cut by Vega.

    Vega cuts long labels in the middle of a surrogate pair, such as an emoji, and vl-convert then fails.
    """
    specification: dict[str, Any] = for_chart(chart.to_dict())
    config = specification.setdefault("config", {})
    for part in ("axis", "legend", "header"):
        config[part] = {**config.get(part, {}), "labelLimit": 0, "titleLimit": 0}
    return specification


# --- texts -------------------------------------------------------------------------------------------------------------------


def width_of(text: str, size: float, bold: bool = False) -> float:
    """How wide the text is at most, in the units of `size`.

    >>> width_of("Ward", 10) < width_of("WARD", 10) < width_of("WARD", 10, bold=True)
    True
    """
    return sum(LETTERS.get(letter) or _width(letter) for letter in text) * size * (BOLD if bold else 1)


def _width(letter: str) -> float:
    return 0.0 if category(letter) in ("Mn", "Me") else WIDE if east_asian_width(letter) in "WF" else OTHER


Matrix = tuple[float, float, float, float, float, float]  # of a transform: x' = a x + c y + e, y' = b x + d y + f
SVG = "{http://www.w3.org/2000/svg}"
SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
BOX = re.compile(r'viewBox="[-\d. ]+"')


def with_room(picture: str) -> str:
    """The SVG of a chart, enlarged until each text has its room.

    vl-convert measures texts with a font of its own. A browser has wider ones, in which a label would end beyond the picture.
    """
    root = ElementTree.fromstring(picture)  # noqa: S314  # of our own making
    width, height = (float(root.get(name, 0)) for name in ("width", "height"))
    ends = [(0.0, 0.0), (width, height), *_corners(root, (1.0, 0.0, 0.0, 1.0, 0.0, 0.0), 11.0)]
    left, top = (math.floor(min(end[axis] for end in ends)) for axis in (0, 1))
    right, bottom = (math.ceil(max(end[axis] for end in ends)) for axis in (0, 1))
    size = f'width="{right - left}" height="{bottom - top}"'
    head, frame, rest = picture.partition("<rect ")
    head = BOX.sub(f'viewBox="{left} {top} {right - left} {bottom - top}"', SIZE.sub(size, head, count=1), count=1)
    return head + frame + SIZE.sub(f'x="{left}" y="{top}" {size}', rest, count=1)


def _corners(element: ElementTree.Element, matrix: Matrix, size: float) -> Iterator[tuple[float, float]]:
    """The corners of each text, in the widest font that it may have."""
    matrix = _moved(matrix, element.get("transform", ""))
    size = float(element.get("font-size", f"{size}px").removesuffix("px"))
    if element.tag == f"{SVG}text":
        for words, x, y in _lines_of(element):
            wide = width_of(words, size, element.get("font-weight") in ("bold", "600", "700"))
            start = x - wide * {"middle": 0.5, "end": 1.0}.get(element.get("text-anchor", ""), 0.0)
            ends = [(across, up) for across in (start, start + wide) for up in (y - 0.95 * size, y + 0.3 * size)]
            yield from ((matrix[0] * a + matrix[2] * b + matrix[4], matrix[1] * a + matrix[3] * b + matrix[5]) for a, b in ends)
        return
    for part in element:
        yield from _corners(part, matrix, size)


def _lines_of(text: ElementTree.Element) -> Iterator[tuple[str, float, float]]:
    """The lines of a text with their places; Vega writes each but the first as a span below."""
    x, y = (float(text.get(name, 0)) for name in ("x", "y"))
    yield text.text or "", x, y
    for span in text:
        x, y = float(span.get("x", x)), y + float(span.get("dy", 0))
        yield span.text or "", x, y


def _moved(matrix: Matrix, transform: str) -> Matrix:
    """The matrix after a transform of SVG: moves, rotations and scales."""
    for kind, given in re.findall(r"(translate|rotate|scale)\(([^)]*)\)", transform):
        numbers = [float(each) for each in re.split(r"[ ,]+", given.strip())]
        turn = math.radians(numbers[0])
        own: Matrix = (
            (1.0, 0.0, 0.0, 1.0, numbers[0], numbers[1] if len(numbers) > 1 else 0.0)
            if kind == "translate"
            else (math.cos(turn), math.sin(turn), -math.sin(turn), math.cos(turn), 0.0, 0.0)
            if kind == "rotate"
            else (numbers[0], 0.0, 0.0, numbers[-1], 0.0, 0.0)
        )
        a, b, c, d, e, f = matrix
        matrix = (
            a * own[0] + c * own[1], b * own[0] + d * own[1], a * own[2] + c * own[3], b * own[2] + d * own[3],
            a * own[4] + c * own[5] + e, b * own[4] + d * own[5] + f,
        )  # fmt: skip
    return matrix


DARK = {  # what charts of Altair are drawn with, and what that is on a dark page
    "fill": {"white": "#1a2220", "black": "#e8efed", "#000": "#e8efed", "#222": "#e8efed", "#333": "#e8efed", "#555": "#a9b8b5",
             "#888": "#a9b8b5", "#14201d": "#e8efed", "#4a4a4a": "#bdbdbd", "#1f4e9c": "#7fa6ee", "#7a7a7a": "#a9a9a9"},
    "stroke": {"black": "#e8efed", "#000": "#e8efed", "#222": "#e8efed", "#333": "#e8efed", "#888": "#8a9996", "#ddd": "#33403d",
               "#1f4e9c": "#7fa6ee", "#7a7a7a": "#a9a9a9"},
}  # fmt: skip


def for_dark_pages(picture: str) -> str:
    """The SVG of a chart with colours for a page that is dark: its ground, its texts, its axes and its darkest marks."""
    rules = "".join(f'[{part}="{light}"] {{ {part}: {dark} }} ' for part, pairs in DARK.items() for light, dark in pairs.items())
    head, end, rest = picture.partition(">")
    return f"{head}{end}<style>@media (prefers-color-scheme: dark) {{ {rules}}}</style>{rest}"


# --- pages -------------------------------------------------------------------------------------------------------------------

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>#chart.vega-embed {{ width: 100%; display: flex; }} #chart.vega-embed details {{ position: relative; }}</style>
</head>
<body>
<div id="chart"></div>
<script type="application/json" id="specification">{specification}</script>
<script>{library}</script>
<script>{drawing}</script>
</body>
</html>
"""
# Expressions are interpreted, so nothing is evaluated as a program. The menu offers only pictures, since its other
# entries write the data into a new page, or send it to one.
DRAWING = """
const specification = JSON.parse(document.getElementById("specification").textContent);
const actions = {export: true, source: false, compiled: false, editor: false};
vegaEmbed("#chart", specification, {mode: "vega-lite", ast: true, actions});
"""


def page(chart: Any) -> str:
    """The chart as a self-contained HTML page: it makes no request, and its policy forbids any other script."""
    specification, library = _specification(chart), _library()
    return PAGE.format(
        policy=for_html(policy(library, DRAWING)),
        title=for_html(_title(specification)),
        specification=for_script(specification),
        library=library,
        drawing=DRAWING,
    )


def policy(*scripts: str) -> str:
    """A Content-Security-Policy: the given scripts, and pictures from the page itself; nothing else.

    >>> policy("").split("; ")[:2]
    ["default-src 'none'", "script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"]
    """
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts)
    parts = (f"script-src {hashes}", "style-src 'unsafe-inline'", "img-src data: blob:", "base-uri 'none'", "form-action 'none'")
    return "; ".join(("default-src 'none'", *parts))


def _title(specification: Mapping[str, Any]) -> str:
    title = specification.get("title", "")
    title = title.get("text", "") if isinstance(title, Mapping) else title
    return title if isinstance(title, str) and title else "tacit"


@cache
def _library() -> str:
    vl_convert = converting()
    whole = vl_convert.javascript_bundle(vl_version=_version())  # all of it, as no snippet is named
    return str(whole)


def _version() -> str:
    """The version of Vega-Lite that Altair writes, as vl-convert names it."""
    altair = charting()
    return ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _shade(low: float, high: float, title: str) -> Any:
    alt = charting()

    ends = alt.InlineData(values=[{"low": float(low), "high": float(high)}])
    return alt.Chart(ends).mark_rect(color="#1f4e9c", opacity=0.08).encode(x=alt.X("low:Q", title=title), x2="high:Q")
