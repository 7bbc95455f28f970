"""`tacit attack coalition`: a few friends look for themselves and for their contacts in a published graph."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.doors.cli.attack.graph_source import EdgesArgument, GenerateOption, network, two_numbers
from tacit.doors.cli.attack.plant import GraphSeed
from tacit.doors.cli.attack.show import ChartOption, JsonOption, show
from tacit.doors.cli.output import progress


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
    found = tuple(progress(by_size(graph, (low, high), trials, seed, targets), max(high - low + 1, 1), "looking"))
    show(Coalitions(graph.nodes, graph.edges, targets, found), chart, as_json)
