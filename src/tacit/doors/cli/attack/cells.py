"""`tacit attack cells` and `tacit attack rebuild`: what exact marginals say of the counts and the rows behind them."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, SeedOption, show
from tacit.doors.cli.output import console, progress, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.evidence.attacks.tables.cells import CellAttack

SHOWN = 40  # cells that are printed; --json has all of them


class CellExample(StrEnum):
    """The examples of the command."""

    tutorial = "tutorial"


def cells(
    file: Annotated[
        Path | None, typer.Argument(help="Rows of people, or counts (CSV or Parquet); without it, the example.")
    ] = None,
    example: Annotated[CellExample, typer.Option(help="Example to attack: hair and eyes.")] = CellExample.tutorial,
    columns: Annotated[str, typer.Option(help="Columns of the table of counts, separated by commas.")] = "",
    marginal: Annotated[
        list[str] | None, typer.Option(help="Released marginal: its columns, separated by commas. One per column by default.")
    ] = None,
    counts: Annotated[str | None, typer.Option(help="Column of counts: the file is a table of counts, not of people.")] = None,
    margins: Annotated[
        bool, typer.Option("--margins", help="The file has marginals alone: a blank in the columns that a line sums over.")
    ] = False,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bound the cells of a table from its exact marginals. Defense: noise on the marginals, within a budget.

    Exits with 1 if the marginals of FILE leave one possible count for a cell with people in it.

    Example: tacit attack cells --example tutorial
    """
    from tacit.evidence.attacks.tables.cells import hair_and_eyes

    if margins and (counts is None or marginal):
        raise InvalidInput("--margins needs the column of counts, and its lines name the marginals; give --counts, not --marginal")
    found = hair_and_eyes() if file is None else _attacked(file, _names(columns), counts, None if margins else marginal or [])
    if not as_json:
        _print_cells(found)
    show(found, chart, as_json)
    if file is not None and found.determined:
        raise typer.Exit(1)


def _attacked(file: Path, names: list[str], counts: str | None, marginals: list[str] | None) -> CellAttack:
    """The attack on rows of people, on a table of counts, or on marginals alone (None)."""
    from tacit.evidence.attacks.tables.cells import attack_cells, attack_margins
    from tacit.publish.tables.cells.contingency import contingency, margins_alone
    from tacit.publish.tables.table import Table

    read = Table.read(file, [*names, *([] if counts is None else [counts])])
    track = partial(progress, what="solving integer programs")
    if marginals is None and counts is not None:
        return attack_margins(*margins_alone(read, names, counts), track)
    if counts is None:
        say(
            f"Each of {read.rows:,} lines counts as one person; for a table of counts, name its column with --counts.",
            to_stderr=True,
        )
    table = contingency(read, names, counts)
    sets = [table.axes(_names(each)) for each in marginals] if marginals else [(axis,) for axis in range(len(names))]
    return attack_cells(table, sets, track)


def rebuild(
    file: Annotated[Path | None, typer.Argument(help="Rows of people (CSV or Parquet); without it, generated blocks.")] = None,
    block: Annotated[str, typer.Option(help="Column of the file that names the block.")] = "block",
    columns: Annotated[str, typer.Option(help="Counted columns of the file, separated by commas.")] = "",
    marginal: Annotated[
        list[str] | None, typer.Option(help="Released marginal: its columns, separated by commas. All pairs by default.")
    ] = None,
    blocks: Annotated[int, typer.Option(help="Number of generated blocks.", min=1, max=5000)] = 40,
    epsilon: Annotated[str, typer.Option(help="Epsilon of the noisy counts that the attack is compared with.")] = "1",
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rebuild the rows of small blocks from exact counts, as was done to a census. Defense: noise on the counts.

    Example: tacit attack rebuild --blocks 10
    """
    from itertools import combinations

    from tacit.evidence.attacks.tables.rebuild import CENSUS, Census, blocks_of, made_blocks, rebuilding

    census, people = CENSUS, made_blocks(blocks, seed) if file is None else []
    if file is not None:
        from tacit.publish.tables.table import Table

        names = _names(columns)
        chosen = [_names(each) for each in marginal] if marginal else [list(pair) for pair in combinations(names, 2)] or [names]
        if missing := [name for each in chosen for name in each if name not in names]:
            raise InvalidInput(f"a marginal names {missing[0]!r}, which is not among the columns {', '.join(names)}")
        census = Census(tuple(names), tuple(tuple(sorted(map(names.index, each))) for each in chosen))
        people = blocks_of(Table.read(file, [block, *names]), block, names)
    show(rebuilding(people, census, epsilon, lambda each, many: progress(each, many, "rebuilding blocks")), chart, as_json)


def _names(text: str) -> list[str]:
    if not (names := [each.strip() for each in text.split(",") if each.strip()]):
        raise InvalidInput("no column is named; name the columns with --columns, separated by commas")
    return names


def _print_cells(found: CellAttack) -> None:
    """A line for each cell, those with the narrowest intervals first where there are too many."""
    from rich.table import Table

    table = Table(*found.table.columns, "bounds", box=None, header_style="bold")
    every = found.cells()
    if len(every) > SHOWN:
        every = sorted(every, key=lambda cell: (found.bounds.upper[cell] == 0, found.bounds.upper[cell] - found.bounds.lower[cell]))
    for cell in every[:SHOWN]:
        table.add_row(*found.table.labels(cell), found.interval(cell))
    screen = console()
    screen.print(table)
    if len(every) > SHOWN:
        screen.print(f"... and {len(every) - SHOWN:,} more cells; --json prints all of them")
