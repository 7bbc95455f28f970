"""A drawing of a small graph: circles with names, and lines between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import cos, pi, sin
from typing import Any

Place = tuple[float, float]


def on_circle(names: Sequence[str], radius: float = 1.0) -> dict[str, Place]:
    """Places on a circle, the first at the top, clockwise."""
    turns = [2 * pi * number / max(len(names), 1) for number in range(len(names))]
    return {name: (radius * sin(turn), radius * cos(turn)) for name, turn in zip(names, turns, strict=True)}


def drawing(places: Mapping[str, Place], kinds: Mapping[str, str], edges: Sequence[tuple[str, str, str]], title: str) -> Any:
    """An Altair chart of the graph: `kinds` says of what kind a node is, and an edge is (name, name, kind).

    Kinds have colours in the order in which they first appear.
    """
    from tacit.chart import COLOURS, charting

    alt = charting()
    lines = [
        {"x": places[one][0], "y": places[one][1], "x2": places[two][0], "y2": places[two][1], "edge": kind}
        for one, two, kind in edges
    ]
    dots = [{"name": name, "x": x, "y": y, "node": kinds[name]} for name, (x, y) in places.items()]
    x, y = (
        alt.X("x:Q", axis=None).scale(padding=20, nice=False, zero=False),
        alt.Y("y:Q", axis=None).scale(padding=20, nice=False, zero=False),
    )
    links = list(dict.fromkeys(kind for _, _, kind in edges))
    nodes = list(dict.fromkeys(kinds[name] for name in places))
    drawn = alt.Chart(alt.InlineData(values=lines)).mark_rule().encode(
        x=x, y=y, x2="x2:Q", y2="y2:Q",
        color=alt.Color("edge:N", title="edge").scale(domain=links, range=["#b0b0b0", COLOURS[2], COLOURS[1]][: len(links)]),
        strokeWidth=alt.StrokeWidth("edge:N", legend=None).scale(domain=links, range=[0.8, 3, 1.5][: len(links)]),
    )  # fmt: skip
    circles = alt.Chart(alt.InlineData(values=dots))
    points = circles.mark_circle(size=420 if len(places) < 20 else 120, opacity=1).encode(
        x=x,
        y=y,
        fill=alt.Fill("node:N", title="node").scale(domain=nodes, range=[COLOURS[place] for place in (0, 2, 3, 5)][: len(nodes)]),
    )
    labels = circles.mark_text(fontSize=11 if len(places) < 20 else 8, dy=-18 if len(places) < 20 else -10).encode(
        x=x, y=y, text="name:N"
    )
    layers = alt.layer(drawn, points, labels).resolve_scale(color="independent")
    return layers.properties(title=alt.TitleParams(title, anchor="start"), width=480, height=480).configure_view(stroke=None)
