"""`tacit attack minimality`: infer values from how little a publisher generalized."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.attack.show import CONFIGURATION, ChartOption, JsonOption, show
from tacit.doors.cli.output import console, progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.evidence.attacks.tables.minimality import Considered, Minimality


PUBLISHER = (
    "Publisher: fewest rows lifted, lowest levels, quasi-identifiers alone, or tacit anonymize. "
    "Without it, tacit for a file with a receipt, and else local."
)
RULE = "Rule of the publisher: share:FRACTION or different:NUMBER; share:1/2 without it."


class MinimalityExample(StrEnum):
    """The examples of the command."""

    tutorial = "tutorial"


class Way(StrEnum):
    """How a file is thought to have been published."""

    local = "local"
    columns = "columns"
    blind = "blind"
    tacit = "tacit"


def minimality(
    file: Annotated[Path | None, typer.Argument(help="Published table (CSV or Parquet); without it, the example.")] = None,
    example: Annotated[MinimalityExample, typer.Option(help="Example to attack.")] = MinimalityExample.tutorial,
    quasi: Annotated[str, typer.Option(help="Quasi-identifiers of the file, separated by commas.")] = "",
    sensitive: Annotated[str, typer.Option(help="Sensitive column of the file.")] = "",
    family: Annotated[list[str] | None, typer.Option(help="PARENT=CHILD,CHILD or COLUMN:PARENT=CHILD,CHILD.")] = None,
    hierarchies: Annotated[Path | None, typer.Option(help="Folder with a hierarchy COLUMN.csv for each quasi-identifier.")] = None,
    config: Annotated[Path | None, typer.Option(help=CONFIGURATION)] = None,
    publisher: Annotated[Way | None, typer.Option(help=PUBLISHER)] = None,
    rule: Annotated[str | None, typer.Option(help=RULE)] = None,
    smallest: Annotated[int, typer.Option(help="Smallest group that the publisher allows.", min=1)] = 1,
    protect: Annotated[list[str] | None, typer.Option(help="Protected value; all values without it.")] = None,
    limit: Annotated[str, typer.Option(help="Belief above which a protected value is breached.")] = "1/2",
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Infer values from a publisher that generalizes as little as it can. Defense: decide by the quasi-identifiers alone.

    Exits with 1 if a value in FILE is breached.

    Example: tacit attack minimality --example tutorial
    """
    from tacit.evidence.attacks.tables.labels import Columns
    from tacit.evidence.attacks.tables.of_file import Suspected, attack_file
    from tacit.evidence.attacks.tables.tutorial import tutorial
    from tacit.privacy.rounding import exact

    if file is None:
        known = tutorial()
        if not as_json:
            _print_classes(known.classes())
        show(known, chart, as_json)
        return
    named = [each.strip() for each in quasi.split(",") if each.strip()]
    how = Suspected(
        None if publisher is None else publisher.value,
        rule,
        smallest,
        frozenset(protect) if protect else None,
        exact(limit, "limit"),
    )
    columns = Columns(named, sensitive, family or [], hierarchies, config)
    found = attack_file(file, columns, how, lambda tables, many: progress(tables, many, "running the publisher"))
    if not as_json:
        _print_beliefs(found)
    show(found, chart, as_json)
    if found.breaches:
        raise typer.Exit(1)


def _print_classes(classes: Sequence[Considered]) -> None:
    """The tables that fit, one line each."""
    from rich.table import Table

    from tacit.evidence.attacks.tables.bags import groups_of

    table = Table("q1 (yes, no)", "q2 (yes, no)", "assignments", "least lifted", "verdict", box=None, header_style="bold")
    for each in classes:
        groups = groups_of(each.table)
        cells = [f"{groups.get(quasi, {}).get('yes', 0)}, {groups.get(quasi, {}).get('no', 0)}" for quasi in ("q1", "q2")]
        table.add_row(*cells, str(each.weight), str(each.cost), each.verdict)
    console().print(table)


def _print_beliefs(found: Minimality) -> None:
    """A line for each belief."""
    from rich.table import Table

    from tacit.evidence.attacks.tables.minimality import shown

    table = Table("quasi-identifiers", "value", "output alone", "with the algorithm", box=None, header_style="bold")
    for each in found.beliefs:
        table.add_row(shown(each.quasi), shown(each.value), _told(each.without), _told(each.posterior))
    console().print(table)


def _told(belief: Any) -> str:
    return "-" if belief is None else f"{belief} = {float(belief):.3f}" if belief.denominator > 1 else str(belief)
