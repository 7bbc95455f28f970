"""The data owner's page on an anonymized graph: who can still be found, what changed, and what is not protected."""

from __future__ import annotations

from tacit.publish.graphs.candidates import BINS, WORDS, Candidates
from tacit.publish.graphs.pictures import candidate_chart, degree_chart
from tacit.publish.graphs.published import BANNER, NOT_PROTECTED, Published
from tacit.release.curators import curators_page, figure, heading, listed, paragraph, table


def report_page(made: Published) -> str:
    """The page: one file of HTML that loads nothing."""
    use, before = made.utility, made.source.graph
    levels = {each.knowledge: each for each in made.candidates}
    parts = [
        paragraph(f"This graph is {BANNER}. Method: {made.method}. Checked: {made.claim}."),
        table(("", "before", "published"), [("people", f"{before.nodes:,}", f"{made.graph.nodes:,}"), _edges(made)]),
        *([listed(made.source.reading.lines())] if made.source.reading.lines() else []),
        heading("Who can still be found"),
        paragraph(
            "An attacker who knows something of the structure around a person is left with a set of candidates. "
            f"By degree alone the smallest set has {levels['H1'].smallest:,} people. The neighbours' degrees still single out "
            f"{levels['H2'].alone:,} people, and all structure {levels['H*'].alone:,}."
        ),
        table(("the attacker knows", "singled out", *(f"{name} candidates" for name, _, _ in BINS[1:])), _rows(made.candidates)),
        figure(candidate_chart(made.before, made.candidates)),
        heading("What changed"),
        paragraph(f"{use.changes()}. Earth mover's distance of the degrees: {use.degree_distance:.4g}."),
        table(("measure", "before", "published"), [(text, f"{one:.4g}", f"{two:.4g}") for text, one, two in use.rows()]),
        figure(degree_chart(before, made.graph)),
        heading("What this graph does not protect"),
        listed(NOT_PROTECTED),
    ]
    return curators_page("A social network made anonymous", "\n".join(parts))


def _edges(made: Published) -> tuple[str, str, str]:
    return "edges", f"{made.source.graph.edges:,}", f"{made.graph.edges:,}"


def _rows(levels: list[Candidates]) -> list[tuple[str, ...]]:
    return [(WORDS[each.knowledge], *(f"{number:,}" for number in each.histogram().values())) for each in levels]
