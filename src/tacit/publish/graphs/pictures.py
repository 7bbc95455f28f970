"""Pictures of an anonymized graph: candidate sets and degrees, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.chart import charting
from tacit.publish.graphs.candidates import BINS, WORDS, Candidates
from tacit.publish.graphs.graph import Graph

BEFORE, AFTER = "#c9c9c9", "#1f4e9c"
WIDTH = 640
POINTS = 400  # of a curve: more cannot be seen


def candidate_chart(before: list[Candidates], after: list[Candidates]) -> Any:
    """People by the size of their candidate set, for each kind of knowledge, before and as published."""
    alt = charting()
    values = [
        {"candidates": name, "people": number, "graph": graph, "knowledge": WORDS[each.knowledge]}
        for graph, levels in (("before", before), ("published", after))
        for each in levels
        for name, number in each.histogram().items()
    ]
    chart = alt.Chart(alt.InlineData(values=values)).mark_bar()
    names = [name for name, _, _ in BINS]
    return (
        chart.encode(
            x=alt.X("candidates:N", sort=names, title="candidates", axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("graph:N", sort=["before", "published"]),
            y=alt.Y("people:Q", axis=alt.Axis(format=",d")),
            color=_colours(alt),
            column=alt.Column("knowledge:N", title=None, sort=[WORDS[each.knowledge] for each in after]),
        )
        .properties(width=WIDTH // max(len(after), 1), height=180)
        .configure_view(stroke=None)
    )


def degree_chart(before: Graph, after: Graph) -> Any:
    """The degrees in descending order, on two logarithmic axes: a step is a group of people who share a degree."""
    alt = charting()
    values = [
        {"rank": int(rank) + 1, "degree": int(degrees[rank]), "graph": name}
        for name, graph in (("before", before), ("published", after))
        for degrees in [np.sort(graph.degrees)[::-1]]
        for rank in _ranks(degrees)
    ]
    log = alt.Scale(type="log", nice=False)
    chart = alt.Chart(alt.InlineData(values=values)).mark_line(interpolate="step-after")
    return (
        chart.encode(
            x=alt.X("rank:Q", scale=log, title="people, by degree", axis=alt.Axis(format=",d")),
            y=alt.Y("degree:Q", scale=log, axis=alt.Axis(format=",d")),
            color=_colours(alt),
        )
        .properties(width=WIDTH, height=220)
        .configure_view(stroke=None)
    )


def _ranks(degrees: Any) -> Any:
    """Ranks that are drawn: evenly on a logarithmic axis, of people who have neighbours."""
    some = int((degrees > 0).sum())
    return np.unique(np.geomspace(1, some, POINTS).astype(np.int64)) - 1 if some else np.array([], dtype=np.int64)


def _colours(alt: Any) -> Any:
    scale = alt.Scale(domain=["before", "published"], range=[BEFORE, AFTER])
    return alt.Color("graph:N", title=None, scale=scale, legend=alt.Legend(orient="top"))
