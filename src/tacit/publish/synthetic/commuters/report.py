"""The data owner's page about a map: its guarantee, how far it is from the real data, and pictures of both. Never published.

Every number in it is computed from the private flows without noise; curators.py defines how such a page begins and where it may be
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tacit.privacy.rounding import as_text
from tacit.publish.synthetic.commuters import maps
from tacit.publish.synthetic.commuters.geography import Zones
from tacit.publish.synthetic.commuters.release import Release
from tacit.publish.synthetic.commuters.utility import FEW_JOBS, Cells, Group, Utility, compared, measured, suppression_loss
from tacit.release.curators import curators_page, curators_place, for_the_owner, write_for_curator
from tacit.release.report import figure, heading, table
from tacit.untrusted import for_html

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
    return measured(compared(release.offer.domains(), truth_of(release), release.made.cells))


def write_report(release: Release, report: Path, out: Path) -> Path:
    """Write the data owner's page; if it was requested next to the public output, it goes where only its owner can read it.

    `check_report` checks that it can be written before the release is paid for.
    """
    return write_for_curator(report_page(release), curators_place(report, out))


def report_page(release: Release) -> str:
    """The page: one HTML file that loads nothing."""
    found = utility_of(release)
    parts = [
        _claim(release),
        heading("Distance from the real data"),
        table(("", "value"), _figures(release, found)),
        figure(maps.average_commutes(found)),
        heading("Short and long commutes, dense and sparse origins"),
        table(GROUPED, _groups(found.groups)),
        heading("Short and long commutes to dense and sparse destinations"),
        "<p>A destination is dense if it has more jobs than the median one. Above zero, the synthetic average is too long.</p>",
        table(GROUPED, _groups(found.crossed)),
        heading("By distance"),
        table(("band", "share, real", "share, synthetic", "part of the total variation"), _bands(found)),
        figure(maps.bands(found)),
        heading("Suppressing outliers instead"),
        "<p>Suppressing rare origins is not a guarantee, and it loses this share of the jobs:</p>",
        table(("suppressed cells", "jobs lost"), _suppressed(release)),
        *_pictures(release),
    ]
    return curators_page("The synthetic map compared with the real one", "\n".join(parts))


def _claim(release: Release) -> str:
    sentences = [*release.offer.claim(), f"Recorded as entry {release.paid.entry} of the ledger ({release.paid.ledger})."]
    return "".join(f"<p>{for_html(each)}</p>" for each in sentences)


def _figures(release: Release, found: Utility) -> Rows:
    offer = release.offer
    noises = sorted(offer.noises)
    large = int((found.jobs >= FEW_JOBS).sum())
    middle = len(noises) // 2
    return (
        ("destinations", f"{len(found.jobs):,}"),
        (f"destinations with at least {FEW_JOBS} jobs", f"{large:,}"),
        ("jobs, real", f"{int(found.jobs.sum()):,}"),
        ("jobs, synthetic", f"{sum(offer.draws):,}"),
        (
            "jobs in the flows at these destinations, before the adjustment to the totals",
            f"{int(for_the_owner(release.homes.jobs)[2].sum()):,}",
        ),
        (
            "rows of the flows with an unreadable number of jobs; they count as no job",
            f"{for_the_owner(release.homes.unreadable):,}",
        ),
        ("median relative error of a destination's average commute", _share(found.error)),
        ("total variation within a destination, averaged over jobs", _share(found.variation)),
        ("fake workers on a cell: least, median, most", ", ".join(as_text(noises[at]) for at in (0, middle, -1))),
        ("expected share of fake synthetic jobs: fake workers among all, real and fake", _share(offer.fake)),
        ("synthetic jobs from cells where no real worker lives", _share(found.from_nowhere)),
        ("synthetic jobs farther than the longest real commute", _share(found.too_far)),
    )


def _groups(groups: Sequence[Group]) -> Rows:
    return [
        (each.name, _share(each.truth), _share(each.synthetic), _share(each.error), _share(each.signed, sign="+"))
        for each in groups
    ]


def _bands(found: Utility) -> Rows:
    return [(each.name, _share(each.truth), _share(each.synthetic), _share(each.variation)) for each in found.bands]


def _suppressed(release: Release) -> Rows:
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
        maps.side_by_side(
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
