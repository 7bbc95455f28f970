"""Draws a mechanism's noise: a curve for each epsilon, and the interval as a band. Writes any chart to a file.

A chart may show a value of the data, and so may its title: `save` and `svg` pass every specification through `untrusted.for_chart`.
A page's policy lets nothing run but the two scripts that are written here.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.files import check, write
from tacit.untrusted import for_chart, for_html, for_script

Curve = tuple[Sequence[float], Sequence[float]]

MISSING = "this chart needs packages that are not installed; run: pip install 'tacit[charts]'"
PACKAGES = ("altair", "vl_convert")  # of the extra `charts`
FORMATS = (".svg", ".png", ".html")
FEW_POINTS = 80  # fewer outcomes than this are drawn one by one: the distribution is discrete, and it shows
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
    write(path, png(chart) if suffix == ".png" else page(chart) if suffix == ".html" else svg(chart))
    return chart


def svg(chart: Any) -> str:
    """The chart as a self-contained SVG, for a file or inside a page."""
    vl_convert = converting()
    return str(vl_convert.vegalite_to_svg(_specification(chart), vl_version=_version()))


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
