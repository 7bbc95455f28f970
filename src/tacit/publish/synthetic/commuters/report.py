"""The data owner's page about a map, with its pictures.

The data owner's page about a map: its guarantee, how far it is from the real data, and pictures of both. Never published.

Every number in it is computed from the private flows without noise; curators.py defines how such a page begins and where it may be
written.

Pictures of a map of commuters, drawn from coordinates alone, without tiles or network. They show real data: owner only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.chart import charting, save
from tacit.privacy.rounding import as_text
from tacit.publish.synthetic.commuters.geography import Blocks, Numbers, Zones, kilometres
from tacit.publish.synthetic.commuters.release import Release
from tacit.publish.synthetic.commuters.utility import (
    FEW_JOBS,
    Cells,
    Group,
    Utility,
    compare_maps,
    measure_utility,
    suppression_loss,
)
from tacit.release.curators import curators_page, curators_place, figure, for_the_owner, heading, table, write_for_curator
from tacit.untrusted import for_html

REAL, MADE, FAKE = "#1f4e9c", "#5b8c5a", "#e07a3f"
MOST_DOTS = 1200  # blocks drawn behind a map: enough to see the land
WIDTH = 380


def side_by_side(
    blocks: Blocks, zones: Zones, work: tuple[Zones, int], maps: Sequence[tuple[str, Cells]], path: str | Path | None = None
) -> Any:
    """The commuters to one destination, `work`: a panel for each named map, the real one first, all on the same scale.

    A circle is a zone, and its area is the share of the map's jobs from it, so that maps with different totals can be compared. A
    zone without jobs in the first map has another color.
    """
    alt = charting()
    destinations, place = work
    here = float(destinations.latitudes[place]), float(destinations.longitudes[place])
    land = _land(blocks, here)
    real = set(maps[0][1][0].tolist())
    most = max((float(counts.max() / counts.sum()) for _, (_, counts) in maps if len(counts)), default=1.0)
    frame = _frame(land)
    panels = [
        _panel(alt, f"{name}, {int(cells[1].sum()):,} jobs", _circles(zones, here, cells, real), land, frame, most).properties(
            width=WIDTH, height=frame[2]
        )
        for name, cells in maps
    ]
    title = f"Where the workers of {destinations.names[place]} live"
    level = zones.level.replace("blockgroup", "block group")
    said = f"Each circle is a {level} with jobs; its area is their share. The cross is the workplace, gray dots are the land."
    chart = alt.hconcat(*panels).properties(title=alt.TitleParams(title, subtitle=said, anchor="start", offset=12))
    return save(chart.configure_view(stroke=None), path)


def average_commutes(utility: Utility, path: str | Path | None = None) -> Any:
    """The average commute of every destination: real on the x axis, synthetic on the y axis; on the line they agree."""
    alt = charting()
    shown = (
        ~np.isnan(utility.mean_truth) & ~np.isnan(utility.mean_synthetic) & (utility.mean_truth > 0) & (utility.mean_synthetic > 0)
    )
    rows = [
        {"real": float(real), "synthetic": float(made), "jobs": float(jobs), "size": _size(float(jobs))}
        for real, made, jobs in zip(utility.mean_truth[shown], utility.mean_synthetic[shown], utility.jobs[shown], strict=True)
    ]
    both = [*utility.mean_truth[shown].tolist(), *utility.mean_synthetic[shown].tolist()] or [1.0, 10.0]
    ends = [0.9 * min(both), 1.1 * max(both)]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    dots = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=28, opacity=0.75)
        .encode(
            x=alt.X("real:Q", title="average commute, real, km", scale=scale, axis=alt.Axis(grid=False, tickCount=6)),
            y=alt.Y(
                "synthetic:Q", title="average commute, synthetic, km", scale=scale, axis=alt.Axis(gridOpacity=0.4, tickCount=6)
            ),
            color=alt.Color("size:N", title=None, scale=alt.Scale(domain=[_size(FEW_JOBS), _size(0)], range=[REAL, "#b7c9e2"])),
        )
    )
    line = alt.Chart(alt.InlineData(values=[{"real": end, "synthetic": end} for end in ends]))
    agree = line.mark_line(color="#7a7a7a", strokeDash=[4, 3]).encode(x="real:Q", y="synthetic:Q")
    said = ["A dot is a destination; on the line both maps agree,", "above it the synthetic commutes are too long."]
    title = alt.TitleParams("Average commute of every destination", subtitle=said, anchor="start")
    return save((agree + dots).properties(width=WIDTH, height=WIDTH, title=title).configure_view(stroke=None), path)


def bands(utility: Utility, path: str | Path | None = None) -> Any:
    """The share of the jobs in every band of distance, real next to synthetic."""
    alt = charting()
    rows = [
        {"band": band.name, "share": share, "map": name}
        for band in utility.bands
        for name, share in (("real", band.truth), ("synthetic", band.synthetic))
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("band:N", sort=None, title=None, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("map:N", sort=["real", "synthetic"]),
            y=alt.Y("share:Q", title="share of jobs", axis=alt.Axis(format="%", gridOpacity=0.4)),
            color=alt.Color("map:N", title=None, scale=alt.Scale(domain=["real", "synthetic"], range=[REAL, FAKE])),
        )
    )
    title = alt.TitleParams("How far people commute", anchor="start")
    return save(chart.properties(width=520, height=240, title=title).configure_view(stroke=None), path)


def _size(jobs: float) -> str:
    return f"{FEW_JOBS} jobs or more" if jobs >= FEW_JOBS else f"under {FEW_JOBS} jobs"


def _plane(here: tuple[float, float], latitudes: Numbers, longitudes: Numbers) -> tuple[Numbers, Numbers]:
    """Signed kilometers east and north of a place."""
    east = kilometres(here[0], here[1], here[0], longitudes) * np.sign(longitudes - here[1])
    north = kilometres(here[0], here[1], latitudes, here[1]) * np.sign(latitudes - here[0])
    return east, north


def _land(blocks: Blocks, here: tuple[float, float]) -> list[dict[str, float]]:
    thin = slice(None, None, max(1, len(blocks) // MOST_DOTS))
    east, north = _plane(here, blocks.latitudes[thin], blocks.longitudes[thin])
    return [{"east": float(e), "north": float(n)} for e, n in zip(east, north, strict=True)]


def _circles(zones: Zones, here: tuple[float, float], cells: Cells, real: set[int]) -> list[dict[str, Any]]:
    """One circle for each zone with jobs, large ones first so that small ones are on top; elsewhere is not on a map."""
    placed = [(int(cell), int(jobs)) for cell, jobs in zip(*cells, strict=True) if cell < len(zones)]
    placed.sort(key=lambda each: -each[1])
    whole = max(int(cells[1].sum()), 1)
    numbers = np.array([cell for cell, _ in placed], dtype=np.int64)
    east, north = _plane(here, zones.latitudes[numbers], zones.longitudes[numbers])
    return [
        {"east": float(e), "north": float(n), "share": jobs / whole, "kind": KINDS[cell in real]}
        for (cell, jobs), e, n in zip(placed, east, north, strict=True)
    ]


KINDS = {True: "home of real workers", False: "no real worker lives there"}


def _frame(land: list[dict[str, float]]) -> tuple[list[float], list[float], float]:
    """The two ranges of a panel, and the height that makes a kilometer equally long in both directions."""
    across, up = ([row[axis] for row in land] for axis in ("east", "north"))
    wide, high = (max(ends) - min(ends) or 1.0 for ends in (across, up))
    return [min(across), max(across)], [min(up), max(up)], min(WIDTH * high / wide, 2 * WIDTH)


def _panel(
    alt: Any, name: str, circles: list[dict[str, Any]], land: list[dict[str, float]], frame: tuple[Any, Any, float], most: float
) -> Any:
    x = alt.X("east:Q", title="km east", scale=alt.Scale(domain=frame[0], nice=False), axis=alt.Axis(grid=False, tickCount=6))
    y = alt.Y("north:Q", title="km north", scale=alt.Scale(domain=frame[1], nice=False), axis=alt.Axis(grid=False, tickCount=8))
    legend = alt.Legend(format=".2~%", tickCount=4)
    size = alt.Size("share:Q", title="share of the jobs", scale=alt.Scale(domain=[0, most], range=[0, 900]), legend=legend)
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(KINDS.values()), range=[REAL, FAKE]))
    ground = alt.Chart(alt.InlineData(values=land)).mark_point(filled=True, size=6, color="#dcdcdc", opacity=1).encode(x=x, y=y)
    people = alt.Chart(alt.InlineData(values=circles)).mark_point(filled=True, opacity=0.6, stroke="white", strokeWidth=0.5)
    work = alt.Chart(alt.InlineData(values=[{"east": 0.0, "north": 0.0}])).mark_point(shape="cross", size=130, filled=True)
    marked = work.encode(x=x, y=y, color=alt.value("#b00020"))
    return (ground + people.encode(x=x, y=y, size=size, color=colour) + marked).properties(title=name)


# --- the data owner's page about a map ---------------------------------------------------------------------------------------


SHOWN = 3  # destinations that are drawn: the largest, the median and a small one
MOST_CIRCLES = 4000  # of one map: a page with more is slow and unreadable
FEWEST = (2, 3, 5, 10)
GROUPED = ("group", "share, real", "share, synthetic", "median error of the average", "median signed error")
Rows = Sequence[Sequence[str]]


def truth_of(release: Release) -> list[Cells]:
    """The real map in the cells of the synthetic one."""
    return [for_the_owner(counted) for counted in release.homes.counts(release.offer.domains())]


def utility_of(release: Release) -> Utility:
    """How accurate the published map is."""
    return measure_utility(compare_maps(release.offer.domains(), truth_of(release), release.made.cells))


def write_report(release: Release, report: Path, out: Path) -> Path:
    """Write the data owner's page; if it was requested next to the public output, it goes where only its owner can read it.

    `check_report` checks that it can be written before the release is paid for.
    """
    return write_for_curator(report_page(release), curators_place(report, out))


def report_page(release: Release) -> str:
    """The page: one HTML file that loads nothing."""
    utility = utility_of(release)
    parts = [
        _claim(release),
        heading("Distance from the real data"),
        table(("", "value"), _figures(release, utility)),
        figure(average_commutes(utility)),
        heading("Short and long commutes, dense and sparse origins"),
        table(GROUPED, _groups(utility.groups)),
        heading("Short and long commutes to dense and sparse destinations"),
        "<p>A destination is dense if it has more jobs than the median one. Above zero, the synthetic average is too long.</p>",
        table(GROUPED, _groups(utility.crossed)),
        heading("By distance"),
        table(("band", "share, real", "share, synthetic", "part of the total variation"), _bands(utility)),
        figure(bands(utility)),
        heading("Suppressing outliers instead"),
        "<p>Suppressing rare origins is not a guarantee, and it loses this share of the jobs:</p>",
        table(("suppressed cells", "jobs lost"), _suppression_rows(release)),
        *_pictures(release),
    ]
    return curators_page("The synthetic map compared with the real one", "\n".join(parts))


def _claim(release: Release) -> str:
    sentences = [*release.offer.claim(), f"Recorded as entry {release.paid.entry} of the ledger ({release.paid.ledger})."]
    return "".join(f"<p>{for_html(each)}</p>" for each in sentences)


def _figures(release: Release, utility: Utility) -> Rows:
    offer = release.offer
    noises = sorted(offer.noises)
    large = int((utility.jobs >= FEW_JOBS).sum())
    middle = len(noises) // 2
    return (
        ("destinations", f"{len(utility.jobs):,}"),
        (f"destinations with at least {FEW_JOBS} jobs", f"{large:,}"),
        ("jobs, real", f"{int(utility.jobs.sum()):,}"),
        ("jobs, synthetic", f"{sum(offer.draws):,}"),
        (
            "jobs in the flows at these destinations, before the adjustment to the totals",
            f"{int(for_the_owner(release.homes.jobs)[2].sum()):,}",
        ),
        (
            "rows of the flows with an unreadable number of jobs; they count as no job",
            f"{for_the_owner(release.homes.unreadable):,}",
        ),
        ("median relative error of a destination's average commute", _share(utility.error)),
        ("total variation within a destination, averaged over jobs", _share(utility.variation)),
        ("fake workers on a cell: least, median, most", ", ".join(as_text(noises[at]) for at in (0, middle, -1))),
        ("expected share of fake synthetic jobs: fake workers among all, real and fake", _share(offer.fake)),
        ("synthetic jobs from cells where no real worker lives", _share(utility.from_nowhere)),
        ("synthetic jobs farther than the longest real commute", _share(utility.too_far)),
    )


def _groups(groups: Sequence[Group]) -> Rows:
    return [
        (each.name, _share(each.truth), _share(each.synthetic), _share(each.error), _share(each.signed, sign="+"))
        for each in groups
    ]


def _bands(utility: Utility) -> Rows:
    return [(each.name, _share(each.truth), _share(each.synthetic), _share(each.variation)) for each in utility.bands]


def _suppression_rows(release: Release) -> Rows:
    truth = truth_of(release)
    return [(f"fewer than {fewest} jobs", _share(suppression_loss(truth, fewest))) for fewest in FEWEST]


def _pictures(release: Release) -> list[str]:
    """Real next to synthetic for a few destinations with few enough origins; rings cannot be drawn on a map."""
    origins, totals = release.offer.origins, release.offer.totals
    if not isinstance(origins, Zones):
        return []
    truth = truth_of(release)
    many = np.array([max(len(real[0]), len(made[0])) for real, made in zip(truth, release.made.cells, strict=True)])
    order = np.argsort(totals.jobs, kind="stable")
    order = order[many[order] <= MOST_CIRCLES]
    if not len(order):
        return []
    chosen = dict.fromkeys(int(order[at]) for at in (-1, len(order) // 2, len(order) // 10))
    drawings = [
        side_by_side(
            release.blocks,
            origins,
            (totals.destinations, int(totals.zones[place])),
            [("real", truth[place]), ("synthetic", release.made.cells[place])],
        )
        for place in list(chosen)[:SHOWN]
    ]
    return [heading("Maps"), *map(figure, drawings)]


def _share(share: float, sign: str = "") -> str:
    return "none" if np.isnan(share) else f"{share:{sign}.2%}"
