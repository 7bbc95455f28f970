"""The figures of all parts as tables, as a picture, and carried to 10^11 rows on the page that explains what that would take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.queries import QUESTIONS
from benchmarks.scaling.figures import Costs, Figures
from benchmarks.tables import machine, markdown, write_table

DOCS = Path(__file__).parents[2] / "docs"
PICTURE, PAGE = DOCS / "pictures" / "scale.svg", DOCS / "guides" / "ten-to-the-eleven.md"
PLACES = {
    "local": "Spark, `local[2]`",
    "moved": "Spark, `local[2]`",
    "one-worker": "Spark, 1 worker of one core",
    "two-workers": "Spark, 2 workers of one core",
    "duckdb": "DuckDB, 2 threads",
}
SHOWN = "![Seconds against rows on one machine, and against workers, on logarithmic axes.](../pictures/scale.svg)"
CORES = 2  # of the machine that the slope is measured on
FAR, FAR_CORES = 10**11, (100, 1600)  # 100 workers of one core, and of 16
WORKS = ["prepare", *QUESTIONS]


def show(found: Sequence[Figures]) -> None:
    """Writes the tables of the README, those of the page, and the picture."""
    load = max((each.load for each in found), default=0)
    how = "Medians of several rounds, after one or two that do not count (Tumult: one answer)."
    note = f"{how} Driver memory 8 GB. Load average up to {load:.1f}."
    parts = [f"{machine('pyspark')} {note}", *beside(found), "Seconds against rows and workers:", costs(found)]
    write_table("scale", "\n\n".join(parts))
    picture(points(found))
    write_table("scale", "\n\n".join([f"{machine('pyspark')} {note}", costs(found), SHOWN, *carried(found)]), PAGE)


def beside(found: Sequence[Figures]) -> list[str]:
    """tacit beside plain Spark SQL and beside Tumult, on the most rows on which all of them ran."""
    ours = [each for each in found if each.part == "local"]
    peers = {each.rows: each for each in found if each.part == "tumult"}
    if not ours:
        return []
    one = max(ours, key=lambda each: (each.rows in peers, each.rows))
    lines: list[list[str]] = []
    for kind, own, plain in (("wall", one.wall, one.plain), ("processor", one.processor, one.plain_processor)):
        lines.append(["**tacit on Spark, local[2]**", f"{kind} s", *_cells(own)])
        lines.append(["plain Spark SQL on tacit's store", f"{kind} s", *_cells(plain)])
        lines.append(["tacit over plain Spark SQL, goal 1.3", kind, *_cells(_ratios(own, plain))])
    if one.rows in peers:
        peer = peers[one.rows]
        lines.append(["Tumult on its Spark 3.5, local[2]", "wall s", *_cells(peer.wall, peer.why)])
        lines.append(["Tumult over tacit", "wall", *_cells(_ratios(peer.wall, one.wall))])
    about = f"{one.rows:,} rows; tacit prepared them once in {one.wall['prepare']:.3g} s on Spark; {one.turns} rounds:"
    return [about, markdown(["system", "measure", *QUESTIONS], lines)]


def costs(found: Sequence[Figures]) -> str:
    """A line for every place and number of rows."""
    lines = []
    for each in sorted(
        (each for each in found if each.part in PLACES), key=lambda each: (list(PLACES).index(each.part), each.rows)
    ):
        held = f", {each.megabytes:,.0f} MB held" if each.megabytes else ""
        lines.append([PLACES[each.part], f"{each.by}{held}", f"{each.rows:,}", *_cells(each.wall, {}, WORKS)])
    return markdown(["questions on", "prepared by", "rows", *(f"{work}, s" for work in WORKS)], lines)


def slope(found: Sequence[Figures], work: str) -> tuple[float, float, int, int] | None:
    """Seconds that do not grow, core-seconds for 10^9 rows, and the rows between which they were measured: the two largest."""
    seen = {each.rows: each.wall[work] for each in found if each.part in ("local", "moved") and work in each.wall}
    if len(seen) < 2:
        return None
    *_, (few, short), (many, long) = sorted(seen.items())
    each = max(0.0, long - short) / (many - few)
    return max(0.0, short - each * few), CORES * each * 10**9, few, many


def carried(found: Sequence[Figures]) -> list[str]:
    """The measured slope carried to 10^11 rows, on paper."""
    lines = []
    for work in WORKS:
        if (known := slope(found, work)) is not None:
            fixed, each, few, many = known
            far = [f"{fixed + each * FAR / 10**9 / cores:,.0f}" for cores in FAR_CORES]
            lines.append([work, f"{few:,} to {many:,}", f"{fixed:.2f}", f"{each:,.1f}", *far])
    if not lines:
        return []
    stored = max((each for each in found if each.stored), key=lambda each: each.rows, default=None)
    size = f" The prepared table takes {stored.stored / stored.rows:.1f} bytes a row in Parquet." if stored else ""
    headers = [
        "work",
        "slope between rows",
        "fixed, s",
        "core-seconds per 10^9 rows",
        "100 workers of 1 core, s",
        "100 of 16 cores, s",
    ]
    return [f"Carried to 10^11 rows along the slope, on paper.{size}", markdown(headers, lines)]


def points(found: Sequence[Figures]) -> list[dict[str, Any]]:
    """What the picture shows: seconds by rows on one machine, and by workers on as many rows as both clusters have seen."""
    shown = [
        {"panel": "rows", "at": each.rows, "work": work, "seconds": each.wall[work]}
        for each in found
        if each.part in ("local", "moved")
        for work in WORKS
        if work in each.wall
    ]
    clusters = {(each.part, each.rows): each for each in found if each.part in ("one-worker", "two-workers")}
    both = [rows for part, rows in clusters if part == "one-worker" and ("two-workers", rows) in clusters]
    for number, part in enumerate(("one-worker", "two-workers") if both else (), start=1):
        wall = clusters[part, max(both)].wall
        shown += [{"panel": "workers", "at": number, "work": work, "seconds": wall[work], "rows": max(both)} for work in wall]
    return shown


def picture(shown: Sequence[dict[str, Any]], file: Path = PICTURE) -> None:
    """Seconds against rows and against workers, on logarithmic axes."""
    import altair as alt

    from tacit.chart import save

    present = [work for work in WORKS if any(point["work"] == work for point in shown)]
    rows = next((point["rows"] for point in shown if "rows" in point), 0)

    def panel(kind: str, title: str, axis: Any) -> Any:
        drawn = alt.Chart(alt.InlineData(values=[point for point in shown if point["panel"] == kind])).mark_line(point=True)
        return drawn.encode(
            x=axis,
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds", axis=alt.Axis(format="~g", gridOpacity=0.4)),
            color=alt.Color("work:N", title=None, sort=present, scale=alt.Scale(domain=present, scheme="category10")),
        ).properties(title=alt.TitleParams(title, anchor="start", fontSize=12), width=360 if kind == "rows" else 200, height=280)

    scale = alt.Scale(type="log")
    powers = sorted({point["at"] for point in shown if point["panel"] == "rows"})
    by_rows = alt.X("at:Q", scale=scale, title="rows", axis=alt.Axis(values=powers, format=",", grid=False))
    by_workers = alt.X("at:O", title="workers of one core", axis=alt.Axis(labelAngle=0))
    panels = [panel("rows", "one machine, local[2]", by_rows)]
    if rows:
        panels.append(panel("workers", f"a cluster, {rows:,} rows", by_workers))
    save(
        alt.hconcat(*panels)
        .resolve_scale(y="shared")
        .configure_view(stroke=None)
        .properties(padding={"left": 5, "top": 5, "bottom": 5, "right": 20}),
        file,
    )


def _ratios(one: Costs, other: Costs) -> Costs:
    return {name: seconds / other[name] for name, seconds in one.items() if other.get(name)}


def _cells(costs: Costs, why: dict[str, str] | None = None, names: Sequence[str] = QUESTIONS) -> list[str]:
    return [f"{costs[name]:.3g}" if name in costs else (why or {}).get(name, "-") for name in names]
