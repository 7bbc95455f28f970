"""Both limits of epsilon-privacy side by side: infinite stubbornness on one side, all other rows known on the other."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from tacit.publish.tables.adversary.beliefs import Prior, beliefs
from tacit.publish.tables.adversary.known_rows import belief_with_known

POINTS = 120
ROOM = 1.25  # above the largest finite ratio, where those that are infinite are marked


def picture(counts: Sequence[int], shape: tuple[Fraction, ...], stubbornness: Fraction, path: str | Path | None = None) -> Any:
    """The ratios of the first value against the stubbornness, and against the number of known rows for one stubbornness."""
    import altair

    from tacit.chart import save

    alt: Any = altair
    grown, known = _over_stubbornness(counts, shape), _over_known(counts, shape, stubbornness)
    limit = float(beliefs(counts, Prior(shape, inf))[0].ratio)
    top = ROOM * max(row["y"] for row in [*grown, *known, {"y": limit}] if row["y"] < inf)
    left = _panel(alt, grown, alt.X("x:Q", title="stubbornness (rows seen before)").scale(type="log", nice=False), top)
    right = _panel(alt, known, alt.X("x:Q", title="known rows of the group").scale(nice=False), top)
    left = alt.layer(left, *_limit(alt, limit))
    right = alt.layer(right, *_end(alt, sum(counts) - 1))
    titled = [
        panel.properties(width=330, height=250, title=alt.TitleParams(title, anchor="start", fontSize=12))
        for panel, title in (
            (left, ["Stubbornness to infinity: independent entries", "(l-diversity, t-closeness)"]),
            (right, ["All other rows known: differential privacy", f"(stubbornness {float(stubbornness):g})"]),
        )
    ]
    words = f"epsilon-privacy of counts {', '.join(map(str, counts))}, first value with prior {float(shape[0]):g}"
    title = alt.TitleParams(words, anchor="start")
    return save(alt.hconcat(*titled).properties(title=title).configure_view(stroke=None), path)


def _over_stubbornness(counts: Sequence[int], shape: tuple[Fraction, ...]) -> list[dict[str, Any]]:
    rows = []
    for step in range(POINTS + 1):
        sigma = Fraction(10 ** (5 * step / POINTS - 1)).limit_denominator(10**6)
        found = beliefs(counts, Prior(shape, sigma))[0]
        rows += _rows(float(sigma), found.ratio, found.other_ratio)
    return rows


def _over_known(counts: Sequence[int], shape: tuple[Fraction, ...], stubbornness: Fraction) -> list[dict[str, Any]]:
    prior = Prior(shape, stubbornness)
    rows = []
    for known in range(sum(counts)):
        found = belief_with_known(counts, prior, 0, known)
        rows += _rows(known, found.ratio, found.other_ratio)
    return rows


SERIES = ("belief in the value, with the row / without", "belief in another, without / with")


def _rows(x: float, ratio: Any, other: Any) -> list[dict[str, Any]]:
    return [{"x": x, "y": float(y), "series": name} for name, y in zip(SERIES, (ratio, other), strict=True)]


def _panel(alt: Any, rows: list[dict[str, Any]], across: Any, top: float) -> Any:
    """Both ratios as lines; one that is infinite is a triangle at the top."""
    from tacit.chart import COLOURS

    colour = alt.Color("series:N", title=None, scale=alt.Scale(domain=list(SERIES), range=[COLOURS[2], COLOURS[1]]))
    up = alt.Y("y:Q", title="ratio").scale(domain=[0, top], nice=False)
    encoding = {"x": across.axis(grid=False), "y": up, "color": colour.legend(orient="bottom", direction="vertical")}
    finite = alt.Chart(alt.InlineData(values=[row for row in rows if row["y"] < inf])).mark_line(strokeWidth=2)
    beyond = [{**row, "y": top * 0.97} for row in rows if row["y"] == inf]
    marks = alt.Chart(alt.InlineData(values=beyond)).mark_point(shape="triangle-up", filled=True, size=50)
    return alt.layer(finite.encode(**encoding), marks.encode(**encoding))


def _limit(alt: Any, at: float) -> list[Any]:
    data = alt.InlineData(values=[{"at": at, "words": f"limit: {at:.3f}", "x": 0.1}])
    rule = alt.Chart(data).mark_rule(strokeDash=[4, 3]).encode(y="at:Q")
    text = alt.Chart(data).mark_text(align="left", dy=-7, dx=4).encode(y="at:Q", x="x:Q", text="words:N")
    return [rule, text]


def _end(alt: Any, last: int) -> list[Any]:
    data = alt.InlineData(values=[{"x": last, "words": "▲ infinite: the value is certain"}])
    rule = alt.Chart(data).mark_rule(strokeDash=[4, 3]).encode(x="x:Q")
    text = alt.Chart(data).mark_text(align="right", baseline="top", dx=-4).encode(x="x:Q", y=alt.value(16), text="words:N")
    return [rule, text]
