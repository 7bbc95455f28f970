"""Pictures of an anonymized table: the sizes of its groups, utility against privacy, and the lattice with the chosen node."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.publish.tables.grouping import Integers
from tacit.publish.tables.search import COMPLIES, Found

FINE, POOR, CHOSEN = "#5b8c5a", "#c9c9c9", "#e07a3f"
BLUE = "#1f4e9c"
MOST_DOTS = 1_500  # nodes that are drawn one by one; of more, each height is a bar
WIDTH = 640


def group_sizes(sizes: Integers, k: int) -> Any:
    """How many groups, and how many rows, have a size in each of at most twelve bins; the line is k."""
    import altair as alt

    edges = _edges(int(sizes.min()), int(sizes.max()))
    place = np.searchsorted(edges, sizes, side="right") - 1
    labels = [f"{low:,}" if low + 1 == high else f"{low:,}-{high - 1:,}" for low, high in pairwise(edges)]
    values = [
        {"size": label, "number": int(amount), "of": of}
        for of, weights in (("groups", np.ones(len(sizes))), ("rows", sizes))
        for label, amount in zip(labels, np.bincount(place, weights=weights, minlength=len(labels)), strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=values)).mark_bar(color=BLUE)
    panels = [
        base.transform_filter(alt.datum.of == of)
        .encode(
            x=alt.X("size:N", sort=labels, title="rows of the group", axis=alt.Axis(labelAngle=-40)),
            y=alt.Y("number:Q", title=of, axis=alt.Axis(format=",d", tickMinStep=1)),
        )
        .properties(width=WIDTH // 2 - 20, height=200, title=f"{of.capitalize()} by group size (k = {k:,})")
        for of in ("groups", "rows")
    ]
    return alt.hconcat(*panels).configure_view(stroke=None)


def _edges(low: int, high: int) -> list[int]:
    """The bounds of bins that grow by the same factor, at least one wide."""
    if high - low < 12:
        return list(range(low, high + 2))
    bounds = np.unique(np.round(np.geomspace(low, high + 1, 13)).astype(np.int64)).tolist()
    return [low, *(each for each in bounds if low < each <= high), high + 1]


def frontier(points: Sequence[tuple[int, float]], chosen: tuple[int, float]) -> Any:
    """The least loss at each k, and the table that was made."""
    import altair as alt

    line = alt.Chart(alt.InlineData(values=[{"k": k, "loss": loss} for k, loss in points]))
    dot = alt.Chart(alt.InlineData(values=[{"k": chosen[0], "loss": chosen[1], "what": "this table"}]))
    x = alt.X(
        "k:Q",
        title="k (larger protects more)",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=[k for k, _ in points], grid=False),
    )
    y = alt.Y("loss:Q", title="loss (ncp)", scale=alt.Scale(domain=[0, 1]))
    layers = [
        line.mark_line(color=BLUE, point=alt.OverlayMarkDef(color=BLUE)).encode(x=x, y=y),
        dot.mark_point(color=CHOSEN, size=160, filled=True, opacity=1).encode(x=x, y=y),
        dot.mark_text(color=CHOSEN, align="left", dx=12, dy=-10, fontWeight="bold").encode(x=x, y=y, text="what:N"),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=240).configure_view(stroke=None)


def lattice_picture(found: Found) -> Any:
    """Every node by its height, coloured by whether it complies, with the chosen one; a large lattice as bars."""
    return _dots(found) if found.nodes <= MOST_DOTS else _bars(found)


def _dots(found: Found) -> Any:
    import altair as alt

    height = np.indices(found.tags.shape).sum(axis=0)
    values = []
    for level in range(int(height.max()) + 1):
        nodes = [tuple(int(each) for each in node) for node in np.argwhere(height == level)]
        nodes.sort(key=lambda node: (found.tags[node] == COMPLIES, node))
        for place, node in enumerate(nodes):
            values.append({"x": place - (len(nodes) - 1) / 2, "height": level, "what": _what(found, node)})
    chart = alt.Chart(alt.InlineData(values=values)).mark_circle(opacity=1)
    return (
        chart.encode(
            x=alt.X("x:Q", axis=None),
            y=alt.Y("height:O", title="height (sum of levels)", sort="descending"),
            color=_colours(alt),
            size=alt.condition(alt.datum.what == "chosen", alt.value(170), alt.value(34)),
        )
        .properties(width=WIDTH, height=22 * (int(height.max()) + 1))
        .configure_view(stroke=None)
    )


def _bars(found: Found) -> Any:
    import altair as alt

    height = np.indices(found.tags.shape).sum(axis=0)
    fine = found.tags == COMPLIES
    values = [
        {"height": level, "nodes": int(((height == level) & mask).sum()), "what": what}
        for level in range(int(height.max()) + 1)
        for what, mask in (("complies", fine), ("does not comply", ~fine))
    ]
    here = int(sum(found.node))
    at = alt.Chart(alt.InlineData(values=[{"height": here, "what": "chosen", "nodes": int((height == here).sum())}]))
    x, y = alt.X("nodes:Q", title="generalizations"), alt.Y("height:O", title="height (sum of levels)", sort="descending")
    bars = alt.Chart(alt.InlineData(values=values)).mark_bar()
    layers = [
        bars.encode(x=x, y=y, color=_colours(alt), order=alt.Order("what:N")),
        at.mark_text(color=CHOSEN, fontWeight="bold", align="left", dx=6).encode(x=x, y=y, text="what:N"),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=20 * (int(height.max()) + 1)).configure_view(stroke=None)


def _colours(alt: Any) -> Any:
    scale = alt.Scale(domain=["complies", "does not comply", "chosen"], range=[FINE, POOR, CHOSEN])
    return alt.Color("what:N", title=None, scale=scale, legend=alt.Legend(orient="top", columnPadding=24))


def _what(found: Found, node: tuple[int, ...]) -> str:
    if node == found.node:
        return "chosen"
    return "complies" if found.tags[node] == COMPLIES else "does not comply"
