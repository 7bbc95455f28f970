"""`tacit attack grouping`: who bought what, read from a published grouping of customers and products."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, show
from tacit.errors import InvalidInput


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
    found = attack_grouping(chosen, frozenset((pair[0], pair[1]) for pair in pairs))
    show(found, chart, as_json)
    if file is not None and found.certain:
        raise typer.Exit(1)
