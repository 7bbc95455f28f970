"""How a mechanism's noise is drawn: a curve for each epsilon, and the interval as a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput

Curve = tuple[Sequence[float], Sequence[float]]

FORMATS = (".svg", ".png", ".html")
FEW_POINTS = 80  # fewer outcomes than this are drawn one by one: the law is discrete, and it shows
COLOURS = ("#b7c9e2", "#1f4e9c", "#e07a3f", "#5b8c5a", "#8e6bb0", "#7a7a7a")


def noise_picture(
    curves: Mapping[str, Curve], band: tuple[float, float] | None, title: str, axes: tuple[str, str] = ("error", "density")
) -> Any:
    """An Altair chart of named curves over the error, with `band` (the interval's two ends) shaded behind them.

    `axes` names what is drawn where it is something else, such as the probability of each candidate.
    """
    import altair as alt

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


def check_format(path: str | Path) -> str:
    """The ending of a chart's file; whoever pays before drawing asks first whether it can be drawn."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InvalidInput(f"a chart is saved as {', '.join(FORMATS)}, not as {suffix or 'a file without a suffix'}")
    return suffix


def save(chart: Any, path: str | Path | None) -> Any:
    """The chart, written to `path` if there is one: SVG, PNG, or HTML that needs no network. Its folder is made if need be."""
    if path is None:
        return chart
    suffix = check_format(path)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    if suffix == ".html":
        chart.save(str(path), inline=True)
    else:
        chart.save(str(path), **({"scale_factor": 2} if suffix == ".png" else {}))
    return chart


def _shade(low: float, high: float, title: str) -> Any:
    import altair as alt

    ends = alt.InlineData(values=[{"low": float(low), "high": float(high)}])
    return alt.Chart(ends).mark_rect(color="#1f4e9c", opacity=0.08).encode(x=alt.X("low:Q", title=title), x2="high:Q")
