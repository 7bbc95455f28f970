"""Methods of `tacit anonymize graph` that publish groups instead of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.doors.cli.anonymize.graph import Asked
    from tacit.publish.graphs.published import Result

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
