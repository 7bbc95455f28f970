"""The data owner's page on an anonymized table: groups, losses, the frontier of privacy and utility, and what is not protected.

Losses at other requirements, and the tags of a lattice, are computed from the private rows: the page is for the data owner alone.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.errors import InvalidInput
from tacit.publish.tables.anonymized import BANNER, NOT_PROTECTED, Anonymized, anonymize
from tacit.publish.tables.pictures import frontier, group_sizes, lattice_picture
from tacit.publish.tables.requirements import Requirements
from tacit.publish.tables.table import Table
from tacit.release.curators import curators_page
from tacit.release.report import figure, heading, listed, paragraph, table

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
    found = [
        ("method", made.asked.method),
        ("quasi-identifiers", ", ".join(made.asked.quasi)),
        ("sensitive columns", ", ".join(made.asked.sensitive) or "none"),
        ("rows", f"{made.rows:,}"),
        ("rows suppressed", f"{made.suppressed:,} ({share:.2%}, at most {float(made.asked.suppress):.2%})"),
        ("groups", f"{len(sizes):,}"),
    ]
    if len(sizes):
        found.append(("rows of a group: least, mean, most", f"{sizes.min():,}, {sizes.mean():,.1f}, {sizes.max():,}"))
    if "levels" in made.recoded.work:
        found.append(("levels", ", ".join(f"{name} {level}" for name, level in made.recoded.work["levels"].items())))
    if "passes" in made.recoded.work:
        found.append(("passes: rows published in each", ", ".join(f"{each['rows']:,}" for each in made.recoded.work["passes"])))
    return found


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
    found = []
    for k in sorted({*FRONTIER, asked.k}):
        if k > source.rows:
            break
        try:
            made = anonymize(source, replace(asked, k=k, utility="ncp", method=method))
        except InvalidInput:
            break
        found.append((k, made.losses["ncp"]))
    return found


def _lattice(made: Anonymized) -> list[str]:
    if made.found is None:
        return []
    found = made.found
    words = f"{found.satisfying:,} of {found.nodes:,} generalizations meet the requirements; {found.counted:,} had to be counted."
    return [heading("The lattice of generalizations"), paragraph(words), figure(lattice_picture(found))]
