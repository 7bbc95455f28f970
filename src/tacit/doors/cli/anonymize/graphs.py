"""`tacit anonymize graph`: a social network published by one of several methods, with a report for its owner.

Each method is one line of METHODS: a function from what was asked to a result, which knows how to be saved, told and drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import bar, print_json, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.accounting.ledger.ledger import Ledger
    from tacit.publish.graphs.published import Result

if TYPE_CHECKING:
    pass

PRIVATE = ("dp-degrees", "dp-edges", "dp-triangles", "dp-stars")
TAKEN_BY: Mapping[str, tuple[str, ...]] = {
    "k": ("k-degree", "k-neighbourhood", "grouping", "bipartite"),
    "l": ("bipartite",),
    "greedy": ("k-degree",),
    "delete": ("k-degree",),
    "effort": ("grouping",),
    "example": ("grouping",),
    "only": ("k-neighbourhood",),
    "labels": ("k-neighbourhood",),
    "hierarchy": ("k-neighbourhood",),
    "max_neighbourhood": ("k-neighbourhood",),
    "epsilon": PRIVATE,
    "nodes": PRIVATE,
    "ledger": PRIVATE,
    "theta": ("dp-degrees", "dp-edges", "dp-stars"),
    "points": ("dp-stars",),
    "repair": ("dp-degrees",),
}
"""Names of options, and the methods that look at them. --seed has a refusal of its own where noise is private."""


def refuse_foreign(method: str, asked: Asked) -> None:
    """Refuse options that this method ignores, by the methods that take them."""
    foreign = [name for name in _options_set(asked) if method not in TAKEN_BY.get(name, (method,))]
    if foreign:
        named = ", ".join(f"--{name.replace('_', '-')} (for {', '.join(TAKEN_BY[name])})" for name in foreign)
        raise InvalidInput(f"--method {method} does not use {named}; remove what it does not use, or choose another --method")


def _options_set(asked: Asked) -> list[str]:
    """The options that differ from their defaults."""
    every = (asked, asked.groups, asked.neighbourhoods, asked.private)
    return [
        field.name
        for terms in every
        for field in fields(terms)
        if getattr(terms, field.name) not in (None, False, "", field.default)
    ]


# --- methods of `tacit anonymize graph` that publish groups instead of a graph -----------------------------------------------


Effort = Annotated[int, typer.Option("--effort", min=0, help="grouping: proposals for every person.")]
Example = Annotated[str, typer.Option("--example", help="grouping: path4, a small graph with its groupings.")]


@dataclass(frozen=True, slots=True)
class GroupTerms:
    """Options of these methods alone."""

    effort: int = 400
    example: str = ""


def by_safe_groups(asked: Asked) -> Result:
    """The (k,l)-grouping of a bipartite graph; l is k where it is not given."""
    from tacit.publish.graphs.bipartite.result import bipartite

    k = asked.size()
    return bipartite(asked.source(), (k, k if asked.l is None else asked.l), asked.seed or 0, asked.told)


def by_sized_groups(asked: Asked) -> Result:
    """The k-sized grouping of a graph, or an example."""
    from tacit.publish.graphs.supernodes.result import PathExample, sized_groups

    if asked.groups.example:
        if asked.groups.example != "path4":
            raise InvalidInput("unknown example; expected path4")
        return PathExample()
    return sized_groups(asked.source(), asked.size(), asked.seed or 0, asked.groups.effort, asked.told)


# --- the method `k-neighbourhood` of `tacit anonymize graph`, and its options ------------------------------------------------


Only = Annotated[
    Path | None, typer.Option("--only", help="k-neighbourhood: file with the people to protect, one name on each line.")
]
LabelFile = Annotated[
    Path | None, typer.Option("--labels", help="k-neighbourhood: file with a line `name;label` for each person; labels match too.")
]
LevelFile = Annotated[
    Path | None, typer.Option("--hierarchy", help="k-neighbourhood: file with coarser forms of labels: `label;coarser;...;*`.")
]
Limit = Annotated[
    int,
    typer.Option("--max-neighbourhood", min=1, help="k-neighbourhood: most contacts of a person who are connected in one part."),
]


@dataclass(frozen=True, slots=True)
class NeighbourhoodTerms:
    """Options of this method alone."""

    only: Path | None = None
    labels: Path | None = None
    hierarchy: Path | None = None
    max_neighbourhood: int = 200


def by_neighbourhoods(asked: Asked) -> Result:
    """The graph with edges added until neighbourhoods are shared by k people."""
    from tacit.publish.graphs.neighbourhoods.result import k_neighbourhood
    from tacit.publish.tables.hierarchy import Hierarchy

    terms = asked.neighbourhoods
    if terms.hierarchy is not None and terms.labels is None:
        raise InvalidInput("--hierarchy needs labels; give them with --labels FILE")
    return k_neighbourhood(
        asked.source(),
        asked.size(),
        only=None if terms.only is None else [name for name, *_ in _lines(terms.only, 1)],
        labels=None if terms.labels is None else {name: label for name, label in _lines(terms.labels, 2)},  # noqa: C416
        hierarchy=None if terms.hierarchy is None else Hierarchy.read(terms.hierarchy),
        max_neighbourhood=terms.max_neighbourhood,
        seed=asked.seed,
        told=asked.told,
    )


def _lines(file: Path, cells: int) -> list[tuple[str, ...]]:
    """The lines of a file, each with the given number of cells."""
    from tacit.data.files.kinds import level_rows

    rows = level_rows(file)
    if any(len(row) != cells for row in rows):
        form = "one name" if cells == 1 else "a name and a label separated by ;"
        raise InvalidInput(f"{file.name} has a line of another form; expected {form} on each line")
    return rows


# --- methods of `tacit anonymize graph` that are differentially private ------------------------------------------------------


Epsilon = Annotated[str | None, typer.Option("--epsilon", help="dp-...: privacy loss of the release.")]
Nodes = Annotated[int | None, typer.Option("--nodes", help="dp-... with a ledger of edges: number of people, which is public.")]
Theta = Annotated[
    str | None,
    typer.Option(
        "--theta", help="dp-degrees, dp-edges and dp-stars with a ledger of nodes: most edges of a person that count; auto buys it."
    ),
]
Points = Annotated[int, typer.Option("--points", min=2, max=5, help="dp-stars: edges of a star.")]
Repair = Annotated[bool, typer.Option("--repair", help="dp-degrees: release the nearest degrees that some graph has.")]
LedgerFile = Annotated[Path | None, typer.Option("--ledger", help="dp-...: ledger, from tacit ledger begin --relation edge|node.")]


@dataclass(frozen=True, slots=True)
class PrivateTerms:
    """Options of these methods alone."""

    epsilon: str | None = None
    nodes: int | None = None
    theta: str | None = None
    ledger: Path | None = None
    repair: bool = False
    points: int = 2

    def opened(self) -> tuple[Ledger, str]:
        """The ledger, and the epsilon; refused if one is missing."""
        from tacit.publish.graphs.private.spending import open_graph_ledger

        if self.ledger is None:
            raise InvalidInput("missing ledger: a private release is recorded; begin one with tacit ledger begin --relation edge")
        if self.epsilon is None:
            raise InvalidInput("missing epsilon; give for example --epsilon 0.5")
        return open_graph_ledger(self.ledger), self.epsilon


def private_degrees(asked: Asked) -> Result:
    """The degree sequence for one edge, or the projected degree histogram for one node, as the ledger says."""
    from tacit.publish.graphs.private.result import release_degrees

    ledger, epsilon = asked.private.opened()
    terms = asked.private
    return release_degrees(_source(asked), ledger, epsilon, terms.nodes, terms.theta, terms.repair)


def private_edges(asked: Asked) -> Result:
    """The number of edges."""
    from tacit.publish.graphs.private.result import release_edges

    ledger, epsilon = asked.private.opened()
    return release_edges(_source(asked), ledger, epsilon, asked.private.nodes, asked.private.theta)


def private_stars(asked: Asked) -> Result:
    """The number of stars in a graph that is cut to at most theta edges of each person."""
    from tacit.publish.graphs.private.result import release_stars

    ledger, epsilon = asked.private.opened()
    if asked.private.nodes is not None:
        raise InvalidInput("the number of people is private with a ledger of nodes; leave out --nodes")
    return release_stars(_source(asked), ledger, epsilon, asked.private.theta, asked.private.points)


def private_triangles(asked: Asked) -> Result:
    """The number of triangles."""
    from tacit.publish.graphs.private.result import release_triangles

    ledger, epsilon = asked.private.opened()
    return release_triangles(_source(asked), ledger, epsilon, asked.private.nodes)


def _source(asked: Asked) -> Path:
    """The edge list, if the file is there: found out before anything is paid, without reading it."""
    from tacit.data.files.kinds import existing

    if asked.seed is not None:
        raise InvalidInput("private noise takes no seed; leave out --seed")
    return existing(asked.source())


# --- `tacit anonymize graph` -------------------------------------------------------------------------------------------------


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
    "dp-stars": private_stars,
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
    points: Points = 2,
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
    terms = GroupTerms(effort, example), PrivateTerms(epsilon, nodes, theta, ledger, repair, points), around
    with bar("reading") as told:
        made = _make(method, Asked(edges, k, l, seed, greedy, delete, told, *terms))
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


def _make(method: str, asked: Asked) -> Result:
    refuse_foreign(method, asked)
    return METHODS[method](asked)


def _report_place(report: Path | None, out: Path | None) -> Path | None:
    from tacit.chart import require_charts
    from tacit.release.curators import check_report, curators_place

    if report is None:
        return None
    require_charts()
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
