"""Which graph an attack is run on: a file with edges, or one that is drawn at random."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidInput

if TYPE_CHECKING:
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
