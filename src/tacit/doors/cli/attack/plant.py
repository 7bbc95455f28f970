"""`tacit attack plant`: register accounts before a graph is published, and find them and their targets in it afterwards."""

from __future__ import annotations

from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.attack.graph_source import EdgesArgument, GenerateOption, network, two_numbers
from tacit.doors.cli.attack.show import ChartOption, JsonOption, show
from tacit.doors.cli.output import progress, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.evidence.attacks.graphs.pattern import Plan
    from tacit.evidence.attacks.graphs.planted import Change
    from tacit.publish.graphs.graph import Graph

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
    from tacit.evidence.attacks.graphs.curves import SuccessCurve, points, points_of
    from tacit.evidence.attacks.graphs.planted import attack
    from tacit.evidence.attacks.graphs.recovery import Tolerance

    tolerance = Tolerance(*two_numbers(tolerate, "--tolerate", "2:2"))
    change = _change(publish, noise / 100, seed)
    ends, started = two_numbers(degrees, "--degrees", "20:60"), perf_counter()
    graph = network(edges, generate, seed).graph
    if not as_json:
        say(f"Graph ready in {perf_counter() - started:.1f} s.")
    found = attack(graph, _plan(graph, form, (accounts, targets), ends, seed), seed, tolerance, change)
    if not curve:
        show(found, chart, as_json)
        return
    drawn = tuple(progress(points_of(graph, curve, seed, tolerance, change), points(), "attacking"))
    show(SuccessCurve(found, drawn), chart, as_json)


def _change(publish: str, noise: float, seed: int) -> Change | None:
    """What the publisher does to the graph before its nodes are relabelled; None if nothing."""
    from tacit.evidence.attacks.graphs.planting import disturb, k_degree, k_neighbourhood, sized_groups

    methods = {"k-degree": k_degree, "k-neighbourhood": k_neighbourhood, "grouping": sized_groups}
    method, _, k = publish.partition(":")
    if publish != "naive" and (method not in methods or not (k.isascii() and k.isdigit() and 1 <= len(k) < 7)):
        raise InvalidInput(f"invalid --publish: expected naive, {':K, '.join(methods)}:K, for example k-degree:10")
    if publish == "naive":
        return (lambda planted: disturb(planted, noise, seed)) if noise else None
    return lambda planted: methods[method](disturb(planted, noise, seed) if noise else planted, int(k), seed)


def _plan(graph: Graph, form: Form, sizes: tuple[int, int], degrees: tuple[int, int], seed: int) -> Plan:
    from tacit.evidence.attacks.graphs.pattern import simple_plan, walk_plan
    from tacit.evidence.attacks.graphs.planted import aims

    accounts, targets = sizes
    if form is Form.simple:
        return simple_plan(graph.nodes, aims(graph, accounts, seed), seed)
    return walk_plan(graph.nodes, accounts, aims(graph, targets, seed), seed, degrees)
