"""The method `k-neighbourhood` of `tacit anonymize graph`, and its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.doors.cli.anonymize.graph import Asked
    from tacit.publish.graphs.published import Result

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
    """The lines of a file, which have so many cells."""
    from tacit.data.files.level_rows import level_rows

    rows = level_rows(file)
    if any(len(row) != cells for row in rows):
        form = "one name" if cells == 1 else "a name and a label separated by ;"
        raise InvalidInput(f"{file.name} has a line of another form; expected {form} on each line")
    return rows
