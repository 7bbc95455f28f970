"""`tacit attack` on published graphs: `plant`, `collude`, `coalition`, `degree` and `grouping`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, show
from tacit.doors.cli.output import progress, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.evidence.attacks.graphs.planted import Change
    from tacit.evidence.attacks.graphs.planting import Plan
    from tacit.publish.graphs.graph import Graph
    from tacit.publish.graphs.network import Network

EdgesArgument = Annotated[Path | None, typer.Argument(help="Edge list: two names on each line, also compressed (.gz).")]
GenerateOption = Annotated[
    str | None, typer.Option("--generate", metavar="power-law:NODES:EDGES", help="Random graph to attack instead of a file.")
]


def network(edges: Path | None, generate: str | None, seed: int) -> Network:
    """The graph with its names; those of a random graph are numbers."""
    from tacit.publish.graphs.network import network_of

    if (edges is None) == (generate is None):
        raise InvalidInput("expected one graph: the file of an edge list, or --generate power-law:NODES:EDGES")
    if edges is not None:
        return network_of(edges)
    from tacit.evidence.attacks.graphs.power_law import power_law

    kind, *sizes = str(generate).split(":")
    if kind != "power-law" or len(sizes) != 2 or not all(size.isascii() and size.isdigit() for size in sizes):
        raise InvalidInput("invalid --generate: expected power-law:NODES:EDGES, for example power-law:100000:1750000")
    return network_of(power_law(int(sizes[0]), int(sizes[1]), seed))


def two_numbers(text: str, option: str, example: str) -> tuple[int, int]:
    """An option of the form A:B."""
    parts = text.split(":")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise InvalidInput(f"invalid {option}: expected two numbers, for example {example}")
    return int(parts[0]), int(parts[1])


def names_of(read: Network) -> list[str]:
    """The names of all nodes as texts, in the order of the nodes."""
    return [str(name) for name in read.names.tolist()]


def nodes_named(names: list[str], wanted: list[str]) -> list[int]:
    """The nodes of some names."""
    places = {name: place for place, name in enumerate(names)}
    unknown = [name for name in wanted if name not in places]
    if unknown or len(set(wanted)) < len(wanted):
        raise InvalidInput("unknown or repeated name: every person must be in the graph, and be named once; check --colluder")
    return [places[name] for name in wanted]


# --- `tacit attack plant` ----------------------------------------------------------------------------------------------------


GraphSeed = Annotated[int, typer.Option(help="Seed for a random graph, the attacker's choices and the published labels.", min=0)]


class Form(StrEnum):
    """How the accounts are linked to their targets."""

    walk = "walk"
    simple = "simple"


def plant(
    edges: EdgesArgument = None,
    generate: GenerateOption = None,
    accounts: Annotated[int, typer.Option(help="Number of accounts that the attacker registers.", min=4, max=200)] = 10,
    targets: Annotated[int, typer.Option(help="Number of people whose edges the attacker wants to know.", min=1)] = 50,
    form: Annotated[Form, typer.Option(help="Accounts shared by targets, or one account per target.")] = Form.walk,
    degrees: Annotated[str, typer.Option(metavar="LOW:HIGH", help="Links of one account to people.")] = "20:60",
    publish: Annotated[
        str, typer.Option(metavar="naive|k-degree:K|k-neighbourhood:K|grouping:K", help="How the graph is anonymized.")
    ] = "naive",
    noise: Annotated[
        float, typer.Option(help="Percent of edges that the publisher removes and adds at random.", min=0, max=100)
    ] = 0,
    tolerate: Annotated[
        str, typer.Option(metavar="DEGREE:LINKS", help="Differences to tolerate: in each degree, in links.")
    ] = "0:0",
    curve: Annotated[int, typer.Option(help="Trials for each point of a success curve over accounts.", min=0, max=1000)] = 0,
    seed: GraphSeed = 1,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find planted accounts in a published graph, and read the edges between targets. Defense: do not publish the structure.

    Example: tacit attack plant --generate power-law:2000:16000 --accounts 10 --targets 20
    """
    from tacit.evidence.attacks.graphs.planted import SuccessCurve, attack, points, points_of
    from tacit.evidence.attacks.graphs.recovery import Tolerance

    tolerance = Tolerance(*two_numbers(tolerate, "--tolerate", "2:2"))
    change = _change(publish, noise / 100, seed)
    ends, started = two_numbers(degrees, "--degrees", "20:60"), perf_counter()
    graph = network(edges, generate, seed).graph
    if not as_json:
        say(f"Graph ready in {perf_counter() - started:.1f} s.")
    report = attack(graph, _plan(graph, form, (accounts, targets), ends, seed), seed, tolerance, change)
    if not curve:
        show(report, chart, as_json)
        return
    drawn = tuple(progress(points_of(graph, curve, seed, tolerance, change), points(), "attacking"))
    show(SuccessCurve(report, drawn), chart, as_json)


def _change(publish: str, noise: float, seed: int) -> Change | None:
    """The publisher's change to the graph before its nodes are relabelled, if any."""
    from tacit.evidence.attacks.graphs.planting import disturb, k_degree, k_neighbourhood, sized_groups

    methods = {"k-degree": k_degree, "k-neighbourhood": k_neighbourhood, "grouping": sized_groups}
    method, _, k = publish.partition(":")
    if publish != "naive" and (method not in methods or not (k.isascii() and k.isdigit() and 1 <= len(k) < 7)):
        raise InvalidInput(f"invalid --publish: expected naive, {':K, '.join(methods)}:K, for example k-degree:10")
    if publish == "naive":
        return (lambda planted: disturb(planted, noise, seed)) if noise else None
    return lambda planted: methods[method](disturb(planted, noise, seed) if noise else planted, int(k), seed)


def _plan(graph: Graph, form: Form, sizes: tuple[int, int], degrees: tuple[int, int], seed: int) -> Plan:
    from tacit.evidence.attacks.graphs.planted import aims
    from tacit.evidence.attacks.graphs.planting import simple_plan, walk_plan

    accounts, targets = sizes
    if form is Form.simple:
        return simple_plan(graph.nodes, aims(graph, accounts, seed), seed)
    return walk_plan(graph.nodes, accounts, aims(graph, targets, seed), seed, degrees)


# --- `tacit attack collude` --------------------------------------------------------------------------------------------------


class CollusionExample(StrEnum):
    """A graph that comes with tacit."""

    email = "email"


def collude(
    edges: EdgesArgument = None,
    example: Annotated[CollusionExample | None, typer.Option(help="E-mail between seven people; Alice and Cathy collude.")] = None,
    colluder: Annotated[list[str] | None, typer.Option(help="Name of a colluder in the file; repeat it for each.")] = None,
    spread: Annotated[bool, typer.Option("--spread", help="Learn the contacts of each person who is found, and go on.")] = False,
    seed: GraphSeed = 1,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Name people in a published graph with what a few of them know of their own contacts. Defense: do not publish the structure.

    Example: tacit attack collude --example email
    """
    from tacit.evidence.attacks.graphs.collusion import collude as run
    from tacit.evidence.attacks.graphs.collusion import email_graph
    from tacit.evidence.attacks.graphs.planting import relabel

    if (edges is None) == (example is None):
        raise InvalidInput("expected one graph: the file of an edge list with --colluder NAME, or --example email")
    if edges is None:
        graph, names = email_graph()
        chosen = colluder or ["Alice", "Cathy"]
    else:
        read = network(edges, None, seed)
        graph, names, chosen = read.graph, names_of(read), colluder or []
    if not chosen:
        raise InvalidInput("no colluders: name at least one person of the file, for example --colluder 17 --colluder 23")
    nodes = nodes_named(names, chosen)

    def contacts(node: int) -> list[str]:
        return [names[other] for other in graph.neighbours(node).tolist()]

    def learn(name: str) -> list[str]:
        return contacts(names.index(name))

    knowledge = {name: contacts(node) for name, node in zip(chosen, nodes, strict=True)}
    show(run(relabel(graph, seed).graph, knowledge, learn if spread else None), chart, as_json)


# --- `tacit attack coalition` ------------------------------------------------------------------------------------------------


def coalition(
    edges: EdgesArgument = None,
    generate: GenerateOption = None,
    sizes: Annotated[str, typer.Option(metavar="LOW:HIGH", help="Members of a coalition.")] = "3:8",
    trials: Annotated[int, typer.Option(help="Coalitions of each size.", min=1, max=10_000)] = 50,
    targets: Annotated[
        int, typer.Option(help="People whom the members link themselves to before publication.", min=0, max=1000)
    ] = 0,
    seed: GraphSeed = 1,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a few friends find themselves and their contacts in a published graph. Defense: do not publish the structure.

    Example: tacit attack coalition --generate power-law:2000:16000 --trials 5
    """
    from tacit.evidence.attacks.graphs.coalition import Coalitions, by_size

    low, high = two_numbers(sizes, "--sizes", "3:8")
    graph = network(edges, generate, seed).graph
    coalitions = tuple(progress(by_size(graph, (low, high), trials, seed, targets), max(high - low + 1, 1), "looking"))
    show(Coalitions(graph.nodes, graph.edges, targets, coalitions), chart, as_json)


# --- `tacit attack degree` ---------------------------------------------------------------------------------------------------


def degree(
    edges: EdgesArgument = None,
    generate: GenerateOption = None,
    knowledge: Annotated[
        list[str] | None,
        typer.Option(
            help="Knowledge of the attacker: degree, neighbours, refine[:ROUNDS], neighbourhood, hubs[:HUBS] or subgraph[:EDGES]; "
            "repeat it to compare. Default: degree, neighbours, refine."
        ),
    ] = None,
    seed: GraphSeed = 1,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the people whom their degree or surroundings single out in a published graph. Defense: noise on degrees, no edges.

    Example: tacit attack degree --generate power-law:2000:16000 --knowledge degree --knowledge neighbours
    """
    from tacit.evidence.attacks.graphs.reidentify import re_identify

    graph = network(edges, generate, seed).graph
    show(re_identify(graph, knowledge or ["degree", "neighbours", "refine"], seed), chart, as_json)


# --- `tacit attack grouping` -------------------------------------------------------------------------------------------------


class GroupingExample(StrEnum):
    """The same purchases under two groupings."""

    unsafe = "unsafe"
    safe = "safe"


def grouping(
    file: Annotated[
        Path | None, typer.Argument(help="Published grouping (JSON, from --method bipartite); without it, the example.")
    ] = None,
    example: Annotated[
        GroupingExample, typer.Option(help="Grouping of four customers and four products.")
    ] = GroupingExample.unsafe,
    known: Annotated[list[str] | None, typer.Option(metavar="CUSTOMER:PRODUCT", help="A purchase that the attacker knows.")] = None,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read who bought what from groups of customers and products. Defense: no two members of a group with a common neighbour.

    Exits with 1 if an association in FILE is certain.

    Example: tacit attack grouping --example unsafe
    """
    from tacit.evidence.attacks.graphs.grouping import SAFE, UNSAFE, attack_grouping, read_grouping

    pairs = [tuple(each.split(":")) for each in known or []]
    if any(len(pair) != 2 for pair in pairs):
        raise InvalidInput("invalid --known: expected a customer and a product, for example A:1")
    chosen = read_grouping(file) if file is not None else UNSAFE if example is GroupingExample.unsafe else SAFE
    report = attack_grouping(chosen, frozenset((pair[0], pair[1]) for pair in pairs))
    show(report, chart, as_json)
    if file is not None and report.certain:
        raise typer.Exit(1)
