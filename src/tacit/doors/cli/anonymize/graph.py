"""`tacit anonymize graph`: a social network published by one of several methods, with a report for its owner.

Each method is one line of METHODS: a function from what was asked to a result, which knows how to be saved, told and drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.anonymize.graph_groups import Effort, Example, GroupTerms, by_safe_groups, by_sized_groups
from tacit.doors.cli.anonymize.graph_neighbourhoods import (
    LabelFile,
    LevelFile,
    Limit,
    NeighbourhoodTerms,
    Only,
    by_neighbourhoods,
)
from tacit.doors.cli.anonymize.graph_options import PRIVATE, refuse_foreign
from tacit.doors.cli.anonymize.graph_private import (
    Epsilon,
    LedgerFile,
    Nodes,
    PrivateTerms,
    Repair,
    Theta,
    private_degrees,
    private_edges,
    private_triangles,
)
from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import bar, print_json, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.publish.graphs.published import Result

BANNER = "Not differentially private: the method protects against attackers who know little of the structure."


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command, as every method gets them."""

    edges: Path | None
    k: int | None
    l: int | None  # noqa: E741  # the field's own name for it
    seed: int | None
    greedy: bool
    delete: bool
    told: Callable[[str, float], None] | None
    groups: GroupTerms
    private: PrivateTerms
    neighbourhoods: NeighbourhoodTerms

    def source(self) -> Path:
        """The edge list; refused if none is named."""
        if self.edges is None:
            raise InvalidInput("missing edge list; name a file with two columns, for example edges.tsv.gz")
        return self.edges

    def size(self) -> int:
        """The k that was given; refused if it is missing."""
        if self.k is None:
            raise InvalidInput("missing k: every person looks like at least k - 1 others; give for example --k 10")
        return self.k


def _naive(asked: Asked) -> Result:
    from tacit.publish.graphs.naive import naive

    return naive(asked.source(), asked.seed)


def _k_degree(asked: Asked) -> Result:
    from tacit.publish.graphs.k_degree import k_degree

    how = {"greedy": asked.greedy, "delete": asked.delete}
    return k_degree(asked.source(), asked.size(), **how, seed=asked.seed, told=asked.told)


METHODS: Mapping[str, Callable[[Asked], Result]] = {
    "naive": _naive,
    "k-degree": _k_degree,
    "k-neighbourhood": by_neighbourhoods,
    "grouping": by_sized_groups,
    "bipartite": by_safe_groups,
    "dp-degrees": private_degrees,
    "dp-edges": private_edges,
    "dp-triangles": private_triangles,
}


def graph(
    edges: Annotated[Path | None, typer.Argument(help="Edge list: two names on each line, plain or .gz.")] = None,
    method: Annotated[str, typer.Option("--method", help=f"One of: {', '.join(METHODS)}.")] = "k-degree",
    k: Annotated[int | None, typer.Option("--k", help="Least number of people who look the same.")] = None,
    l: Annotated[int | None, typer.Option("--l", help="bipartite: least size of a group on the right side.")] = None,  # noqa: E741
    greedy: Annotated[bool, typer.Option("--greedy", help="k-degree: choose degrees greedily, not optimally.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="k-degree: delete edges as well as add them.")] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed; keep it secret, as it can undo the renaming.")] = None,
    effort: Effort = 400,
    example: Example = "",
    only: Only = None,
    labels: LabelFile = None,
    hierarchy: LevelFile = None,
    max_neighbourhood: Limit = 200,
    epsilon: Epsilon = None,
    nodes: Nodes = None,
    theta: Theta = None,
    repair: Repair = False,
    ledger: LedgerFile = None,
    out: Annotated[Path | None, typer.Option("--out", help="File for what is published; compressed if it ends in .gz.")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="HTML report for the data owner; never written next to --out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Publish a social network. Differentially private with the methods dp-..., and not with the others.

    Example: tacit anonymize graph edges.tsv.gz --method k-degree --k 5 --out public.tsv.gz
    """
    from tacit.publish.graphs.published import check_out
    from tacit.release.curators import write_for_curator

    if method not in METHODS:
        raise InvalidInput(f"unknown method: {method}; expected one of {', '.join(METHODS)}")
    place = _report_place(report, out)
    if out is not None:
        check_out(out, edges, paid=method in PRIVATE)
    around = NeighbourhoodTerms(only, labels, hierarchy, max_neighbourhood)
    terms = GroupTerms(effort, example), PrivateTerms(epsilon, nodes, theta, ledger, repair), around
    with bar("reading") as told:
        made = _made(method, Asked(edges, k, l, seed, greedy, delete, told, *terms))
        if told is not None:
            told("writing", 0.9)
        page = None if place is None else made.page()
        receipt = None if out is None else made.save(out)
        if place is not None and page is not None:
            write_for_curator(page, place, after="the graph is written; its report is not")
    if as_json:
        print_json({"out": out and str(out), "receipt": receipt and str(receipt), "report": place and str(place), **made.to_dict()})
    else:
        _show(made, out, report, place)


def _made(method: str, asked: Asked) -> Result:
    refuse_foreign(method, asked)
    return METHODS[method](asked)


def _report_place(report: Path | None, out: Path | None) -> Path | None:
    from tacit.release.curators import check_report, curators_place

    if report is None:
        return None
    return check_report(report if out is None else curators_place(report, out))


def _show(made: Result, out: Path | None, report: Path | None, place: Path | None) -> None:
    say("\n".join(made.lines()))
    if out is not None:
        say(f"Written: {out} and its receipt.")
    if not made.differentially_private:
        say(BANNER)
    if place is not None:
        moved = "" if place == report else f" (instead of {report}, which is in the folder of the public output)"
        say(f"For the data owner only: {place}{moved}.")
