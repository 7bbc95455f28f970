"""`tacit anonymize suppress`: a table of counts with its small cells hidden, and what else it takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import console, print_json, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.publish.tables.cells.contingency import Contingency
    from tacit.publish.tables.cells.suppression import Suppressed

SHOWN = 60  # cells that are printed; --json has all of them
WARNING = "Not differentially private: which cells are hidden depends on the counts, and whoever knows the threshold knows more."


def suppress_cells(
    file: Annotated[Path, typer.Argument(help="Rows to count (CSV or Parquet).")],
    columns: Annotated[str, typer.Option(help="Columns of the table of counts, separated by commas.")] = "",
    below: Annotated[int, typer.Option(help="Hide every count from 1 to below this number.", min=2)] = 5,
    width: Annotated[int, typer.Option(help="Least width of the interval of a hidden small count.", min=1)] = 5,
    marginal: Annotated[
        list[str] | None, typer.Option(help="Published marginal: its columns, separated by commas. One per column by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Hide the small counts of a table, and further ones until no small count can be narrowed down. Not differentially private.

    Example: tacit anonymize suppress patients.parquet --columns sex,diagnosis
    """
    from tacit.publish.tables.cells.contingency import contingency
    from tacit.publish.tables.cells.suppression import suppress
    from tacit.publish.tables.table import Table

    names = [each.strip() for each in columns.split(",") if each.strip()]
    if not names:
        raise InvalidInput("no column is named; name the columns with --columns, separated by commas")
    table = contingency(Table.read(file, names), names)
    sets = [table.axes([part.strip() for part in each.split(",")]) for each in marginal or names]
    found = suppress(table.counts, below, width, sets)
    if as_json:
        print_json({"differentially_private": False, **_told(table, found)})
    else:
        _print(table, found)


def _told(table: Contingency, found: Suppressed) -> dict[str, Any]:
    cells = [
        {"cell": list(table.labels(cell)), "count": None if found.hidden[cell] else int(table.counts[cell])}
        for cell in table.cells()
    ]
    return {"columns": list(table.columns), "cells": cells, "hidden": int(found.hidden.sum()), "small": int(found.small.sum())}


def _print(table: Contingency, found: Suppressed) -> None:
    from rich.table import Table

    shown = Table(*table.columns, "count", box=None, header_style="bold")
    every = table.cells()
    for cell in every[:SHOWN]:
        shown.add_row(*table.labels(cell), "hidden" if found.hidden[cell] else f"{table.counts[cell]:,}")
    console().print(shown)
    if len(every) > SHOWN:
        say(f"... and {len(every) - SHOWN:,} more cells; --json prints all of them")
    narrow = (
        "" if found.narrowest is None else f" Every small count can be anything in an interval of width {found.narrowest} or more."
    )
    say(f"{int(found.hidden.sum()):,} of {len(every):,} counts are hidden.{narrow}")
    say(WARNING)
