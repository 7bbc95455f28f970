"""`tacit attack degree`: how many people the structure around them singles out in a graph without names."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.doors.cli.attack.graph_source import EdgesArgument, GenerateOption, network
from tacit.doors.cli.attack.plant import GraphSeed
from tacit.doors.cli.attack.show import ChartOption, JsonOption, show


def degree(
    edges: EdgesArgument = None,
    generate: GenerateOption = None,
    knowledge: Annotated[
        list[str] | None,
        typer.Option(
            help="What the attacker knows: degree, neighbours, refine[:ROUNDS], neighbourhood, hubs[:HUBS] or subgraph[:EDGES]; "
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
