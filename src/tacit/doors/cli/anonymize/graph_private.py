"""Methods of `tacit anonymize graph` that are differentially private, and pay from the ledger of a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.accounting.ledger.ledger import Ledger
    from tacit.doors.cli.anonymize.graph import Asked
    from tacit.publish.graphs.published import Result

Epsilon = Annotated[str | None, typer.Option("--epsilon", help="dp-...: privacy loss of the release.")]
Nodes = Annotated[int | None, typer.Option("--nodes", help="dp-... with a ledger of edges: number of people, which is public.")]
Theta = Annotated[
    str | None,
    typer.Option("--theta", help="dp-degrees with a ledger of nodes: most edges of a person that count; auto buys it."),
]
Repair = Annotated[
    bool, typer.Option("--repair", help="dp-degrees with a ledger of edges: release the nearest degrees that some graph has.")
]
LedgerFile = Annotated[Path | None, typer.Option("--ledger", help="dp-...: ledger, from tacit ledger begin --relation edge|node.")]


@dataclass(frozen=True, slots=True)
class PrivateTerms:
    """Options of these methods alone."""

    epsilon: str | None = None
    nodes: int | None = None
    theta: str | None = None
    ledger: Path | None = None
    repair: bool = False

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

    return _counted(asked, release_edges)


def private_triangles(asked: Asked) -> Result:
    """The number of triangles."""
    from tacit.publish.graphs.private.result import release_triangles

    return _counted(asked, release_triangles)


def _counted(asked: Asked, release: Callable[..., Result]) -> Result:
    ledger, epsilon = asked.private.opened()
    return release(_source(asked), ledger, epsilon, asked.private.nodes)


def _source(asked: Asked) -> Path:
    """The edge list, if the file is there: found out before anything is paid, without reading it."""
    from tacit.data.files.kinds import existing

    if asked.seed is not None:
        raise InvalidInput("private noise takes no seed; leave out --seed")
    return existing(asked.source())
