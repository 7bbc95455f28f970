"""The data owner's page on an anonymized table: groups, losses, the frontier of privacy and utility, and the limits of protection.

Losses at other requirements, and the tags of a lattice, are computed from the private rows: the page is for the data owner alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.chart import charting
from tacit.errors import InvalidInput
from tacit.publish.tables.anonymized import BANNER, NOT_PROTECTED, Anonymized, anonymize
from tacit.publish.tables.grouping import Integers
from tacit.publish.tables.requirements import Requirements
from tacit.publish.tables.search import COMPLIES, Found
from tacit.publish.tables.table import Table
from tacit.release.curators import curators_page, figure, heading, listed, paragraph, table

FINE, POOR, CHOSEN = "#5b8c5a", "#c9c9c9", "#e07a3f"
BLUE = "#1f4e9c"
MOST_DOTS = 1_500  # nodes that are drawn one by one; of more, each height is a bar
WIDTH = 640


def group_sizes(sizes: Integers, k: int) -> Any:
    """How many groups, and how many rows, have a size in each of at most twelve bins; the line is k."""
    alt = charting()
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
    alt = charting()
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


def lattice_picture(best_node: Found) -> Any:
    """Every node by its height, coloured by whether it complies, with the chosen one; a large lattice as bars."""
    return _dots(best_node) if best_node.nodes <= MOST_DOTS else _bars(best_node)


def _dots(best_node: Found) -> Any:
    alt = charting()
    height = np.indices(best_node.tags.shape).sum(axis=0)
    values = []
    for level in range(int(height.max()) + 1):
        nodes = [tuple(int(each) for each in node) for node in np.argwhere(height == level)]
        nodes.sort(key=lambda node: (best_node.tags[node] == COMPLIES, node))
        for place, node in enumerate(nodes):
            values.append({"x": place - (len(nodes) - 1) / 2, "height": level, "what": _what(best_node, node)})
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


def _bars(best_node: Found) -> Any:
    alt = charting()
    height = np.indices(best_node.tags.shape).sum(axis=0)
    fine = best_node.tags == COMPLIES
    values = [
        {"height": level, "nodes": int(((height == level) & mask).sum()), "what": what}
        for level in range(int(height.max()) + 1)
        for what, mask in (("complies", fine), ("does not comply", ~fine))
    ]
    here = int(sum(best_node.node))
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


def _what(best_node: Found, node: tuple[int, ...]) -> str:
    if node == best_node.node:
        return "chosen"
    return "complies" if best_node.tags[node] == COMPLIES else "does not comply"


# --- the data owner's page on an anonymized table ----------------------------------------------------------------------------


FRONTIER = (2, 3, 5, 10, 20, 50, 100)
MOST_FOR_MDAV = 5_000  # rows: beyond, microaggregating again for each k takes too long for a page
WORDS = {
    "discernibility": "discernibility: rows that a row cannot be told from, as a share",
    "average": "average group size, over k",
    "precision": "precision lost: mean of level / highest level",
    "ncp": "normalized certainty penalty",
    "entropy": "non-uniform entropy lost",
    "kl": "Kullback-Leibler divergence, in bits",
    "queries": "median relative error of range counts",
}


def report_page(made: Anonymized, source: Table) -> str:
    """The page: one file of HTML that loads nothing; `source` is the table that was made anonymous."""
    sizes = made.sizes()
    parts = [
        paragraph(f"This table is {BANNER}. It meets: {'; '.join(map(str, made.conditions))}."),
        table(("", "value"), _figures(made)),
        heading("Group sizes"),
        paragraph("A group is the rows that look alike on the quasi-identifiers. Suppressed rows belong to none."),
        *([figure(group_sizes(sizes, made.asked.k))] if len(sizes) else []),
        heading("Losses"),
        paragraph("Each is better when smaller; a suppressed row loses all there is to lose."),
        table(("measure", "loss"), [(WORDS[measure], f"{loss:.4g}") for measure, loss in made.losses.items()]),
        *_frontier(made, source),
        *_lattice(made),
        heading("What this table does not protect"),
        listed(NOT_PROTECTED),
    ]
    return curators_page("A table made anonymous", "\n".join(parts))


def _figures(made: Anonymized) -> list[tuple[str, str]]:
    sizes = made.sizes()
    share = made.suppressed / made.rows if made.rows else 0.0
    figures = [
        ("method", made.asked.method),
        ("quasi-identifiers", ", ".join(made.asked.quasi)),
        ("sensitive columns", ", ".join(made.asked.sensitive) or "none"),
        ("rows", f"{made.rows:,}"),
        ("rows suppressed", f"{made.suppressed:,} ({share:.2%}, at most {float(made.asked.suppress):.2%})"),
        ("groups", f"{len(sizes):,}"),
    ]
    if len(sizes):
        figures.append(("rows of a group: least, mean, most", f"{sizes.min():,}, {sizes.mean():,.1f}, {sizes.max():,}"))
    if "levels" in made.recoded.work:
        figures.append(("levels", ", ".join(f"{name} {level}" for name, level in made.recoded.work["levels"].items())))
    if "passes" in made.recoded.work:
        figures.append(("passes: rows published in each", ", ".join(f"{each['rows']:,}" for each in made.recoded.work["passes"])))
    return figures


def _frontier(made: Anonymized, source: Table) -> list[str]:
    if made.asked.method == "mdav" and made.rows > MOST_FOR_MDAV:
        return []
    points = frontier_of(source, made.asked)
    words = "full-domain generalization" if made.asked.method in ("lattice", "local") else made.asked.method
    return [
        heading("Utility against privacy"),
        paragraph(f"The least loss (ncp) by {words} at other values of k, with all other requirements as they are."),
        figure(frontier(points, (made.asked.k, made.losses["ncp"]))),
    ]


def frontier_of(source: Table, asked: Requirements) -> list[tuple[int, float]]:
    """For each k the loss of the best table that meets it together with the other requirements, as far as one exists."""
    method = "lattice" if asked.method == "local" else asked.method
    points = []
    for k in sorted({*FRONTIER, asked.k}):
        if k > source.rows:
            break
        try:
            made = anonymize(source, replace(asked, k=k, utility="ncp", method=method))
        except InvalidInput:
            break
        points.append((k, made.losses["ncp"]))
    return points


def _lattice(made: Anonymized) -> list[str]:
    if made.found is None:
        return []
    best = made.found
    words = f"{best.satisfying:,} of {best.nodes:,} generalizations meet the requirements; {best.counted:,} had to be counted."
    return [heading("The lattice of generalizations"), paragraph(words), figure(lattice_picture(best))]
