"""`tacit attack collude`: people who find themselves in a published graph, and whom they name in it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tacit.doors.cli.attack.graph_source import EdgesArgument, names_of, network, nodes_named
from tacit.doors.cli.attack.plant import GraphSeed
from tacit.doors.cli.attack.show import ChartOption, JsonOption, show
from tacit.errors import InvalidInput


class CollusionExample(StrEnum):
    """A graph that comes with tacit."""

    email = "email"


def collude(
    edges: EdgesArgument = None,
    example: Annotated[CollusionExample | None, typer.Option(help="E-mail between seven people; Alice and Cathy collude.")] = None,
    colluder: Annotated[list[str] | None, typer.Option(help="Name of a colluder in the file; repeat it for each.")] = None,
    spread: Annotated[bool, typer.Option("--spread", help="Learn the contacts of everybody who is found, and go on.")] = False,
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
