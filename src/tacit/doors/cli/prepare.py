"""`tacit prepare`: clean the data once, so that every question after it is quick and no row can make one fail."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.output import bar, console, print_json, say
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.errors import InvalidInput
from tacit.privacy.rounding import counted
from tacit.untrusted import for_terminal

if TYPE_CHECKING:
    from tacit.data.prepare.verdict import ColumnReport, Prepared, TableReport

Reason = Annotated[str, typer.Option("--reason", help="Reason for a second budget over the same people; recorded.")]
Through = Annotated[
    str | None,
    typer.Option("--through", metavar="PERIOD", help="Last period that has begun, if the budget is one of each period."),
]
NO_LEDGER = "There is no ledger yet, so nothing can be asked. Run `tacit ledger begin` once."
LONGEST_EXAMPLE = 40
LONGEST_QUESTION = 400
WORDS = {"rounded": "rounded to the step"}
FOR_THE_CURATOR = "These counts are exact and of private data: they are for the data owner only."
NOT_ACCEPTED = "The old store stays. Correct the catalog, or accept what was found: tacit prepare --yes"
REASONS = {
    "value": "value out of the declared",
    "no unit": "no unit",
    "limit": "beyond max_rows or a repeated key",
    "not begun": "of a period that has not begun",
    "closed": "of a period that is closed",
}


def prepare(
    catalog: CatalogOption = None,
    new_ledger: Annotated[
        bool, typer.Option("--new-ledger", help="Also begin the ledger of this data set; required once, before the first question.")
    ] = False,
    reason: Reason = "",
    memory: Annotated[str, typer.Option(help="Memory limit; larger work spills to disk next to the store.")] = "60%",
    yes: Annotated[bool, typer.Option("--yes", help="Accept data that does not match its declaration.")] = False,
    keep_version: Annotated[
        bool,
        typer.Option("--keep-version", help="Keep the data version: declares publicly that the data has not changed."),
    ] = False,
    sizes: Annotated[
        list[str] | None,
        typer.Option("--declare", metavar="TABLE=ROWS", help="Write rows_at_most of a table into the catalog, then prepare."),
    ] = None,
    through: Through = None,
    add: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="[TABLE=]FILE", help="File of new rows, prepared beside the others; can be repeated."),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(metavar="[FILE]...", help="Further files of --add.")] = None,
    afresh: Annotated[
        bool, typer.Option("--afresh", help="Prepare the declared sources alone, without rows that --add brought.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Copy the declared columns into the store: cleaned, on their grids, with units and ranks. Budgets do not change.

    On a terminal it asks for the most rows that a table can ever have, if `rows_at_most` is missing.

    Example: tacit prepare
    """
    from tacit.data.prepare.verdict import NotAccepted
    from tacit.session import open as open_data

    if more and not add:
        raise InvalidInput("files are given without --add; write: tacit prepare --add FILE", argument="add")
    place = find_catalog(catalog)
    _declare_sizes(place, sizes or [], ask=not as_json and sys.stdin.isatty() and sys.stderr.isatty())
    with bar("preparing") as told, open_data(place) as data:
        options: dict[str, Any] = {"new_ledger": new_ledger, "reason": reason, "memory": memory}
        options |= {"yes": yes, "keep_version": keep_version, "through": through, "afresh": afresh}
        options |= {"add": [*add, *(more or [])]} if add else {}
        try:
            prepared, accepted = data.prepare(told, **options), True
        except NotAccepted as refused:
            prepared, accepted = refused.prepared, False
        has_ledger = data.has_ledger
    _tell(prepared, accepted, has_ledger, as_json)


def _tell(prepared: Prepared, accepted: bool, has_ledger: bool, as_json: bool) -> None:
    """Show the counts to the owner; exits with 1 if the data was not accepted."""
    if as_json:
        print_json(_as_json(prepared, accepted))
    else:
        _print(prepared, accepted)
        if accepted and not has_ledger:
            console().print(NO_LEDGER)
    if not accepted:
        raise typer.Exit(1)


def _declare_sizes(place: Path, given: list[str], ask: bool) -> None:
    """Write the sizes that the data owner states, as options or on a terminal. No row was read: none is proposed."""
    if not given and not ask:
        return
    from tacit.data.catalog import read_catalog
    from tacit.data.catalog.sizes import declarations, declare, undeclared

    declared = read_catalog(place)
    rows = declarations(given, declared)
    if ask:
        asked = {name: rows_at_most(name) for name in undeclared(declared) if name not in rows}
        rows |= {name: most for name, most in asked.items() if most is not None}
    declare(place, rows)
    for name, most in rows.items():
        say(f"{place.name}: rows_at_most = {most} is declared for {name}", to_stderr=True)


def rows_at_most(table: str) -> int | None:
    """The most rows that a table can ever have, as the data owner answers on the terminal; None if they leave it open."""
    from tacit.data.catalog.sizes import QUESTION, rows_from

    while True:
        said = str(typer.prompt(for_terminal(QUESTION.format(table), LONGEST_QUESTION), default="", show_default=False, err=True))
        if not said.strip():
            return None
        try:
            return rows_from(said, table)
        except InvalidInput as error:
            say(str(error), to_stderr=True)


def _as_json(prepared: Prepared, accepted: bool) -> dict[str, Any]:
    private = {
        "tables": [asdict(table) for table in prepared.tables],
        "sharing": [asdict(each) for each in prepared.sharing],
        "alarms": prepared.alarms,
        "accepted": accepted,
        "unchanged": prepared.unchanged,
    }
    return {
        "store": str(prepared.store),
        "version": prepared.version if accepted else None,
        "for_the_curator_alone": private,
    }


def _print(prepared: Prepared, accepted: bool) -> None:
    from rich.table import Table

    from tacit.doors.cli.screen import styled

    screen = console()
    grid = Table("table", "", box=None, header_style="bold", padding=(0, 2))
    for heading in ("read", "kept"):
        grid.add_column(heading, justify="right")
    grid.add_column("what was found")
    for table in prepared.tables:
        kind = "public" if table.public else "private"
        grid.add_row(table.name, kind, f"{table.read:,}", f"{table.kept:,}", "\n".join(_findings(table)))
    screen.print(grid)
    for each in prepared.sharing:
        screen.print(styled(each.words))
    screen.print(FOR_THE_CURATOR, style="yellow")
    for note in prepared.notes:
        screen.print(styled(("note", "yellow"), f": {note}"))
    for alarm in prepared.alarms:
        screen.print(styled((alarm, "bold red")))
    screen.print(f"The store has the version {prepared.version}." if accepted else NOT_ACCEPTED)


def _findings(table: TableReport) -> list[str]:
    """Why rows were dropped, what was cleaned in which column, and what was left out."""
    dropped = [f"{counted(count, 'row')} dropped: {REASONS[reason]}" for reason, count in table.dropped.items() if count]
    larger = [", ".join(f"max_rows = {limit:,} would keep {count:,}" for limit, count in table.would_keep.items())]
    cleaned = [line for column in table.columns for line in _cleaning_lines(column)]
    alike = [_alike_line(column, counts) for column, counts in table.alike.items()]
    left_out = [f"{column} is left out: {reason}" for column, reason in table.left_out.items()]
    return [*dropped, *(larger if table.would_keep else []), *_owner_lines(table), *alike, *cleaned, *left_out] or ["all clean"]


def _alike_line(column: str, counts: Mapping[str, int]) -> str:
    """Keys that may be spellings of one, and the rules under which they are."""
    rules = {"blanks": "trim = true", "case": 'case = "lower"', "zeros before a number": "zeros = true"}
    told = ", ".join(f"{counted(count, 'key')} in {what} only" for what, count in counts.items())
    declared = ", ".join(rules[what] for what in counts)
    where = "in unit, or in key; on both sides of a reference"
    return f"{column}: differing from another: {told}; if these are the same people, declare ({where}): {declared}"


def _cleaning_lines(column: ColumnReport) -> list[str]:
    """Counts of cleaned values of a column, with an example and the likely cause of each kind that cannot be read."""
    counts = [f"{count:,} {WORDS.get(fate, fate)}" for fate, count in column.fates.items() if count]
    examples = [
        f"  {fate}, such as '{for_terminal(value, LONGEST_EXAMPLE)}'"
        + (f": {column.causes[fate]}" if fate in column.causes else "")
        for fate, value in column.examples.items()
    ]
    return [f"{column.name}: {', '.join(counts)}", *examples] if counts else []


def _owner_lines(table: TableReport) -> list[str]:
    """Rows of several owners: a row of m owners is protected at m times epsilon."""
    if not table.shared:
        return []
    return [
        f"{table.shared:,} rows are shared by several units, at most {table.most_owners:,} each: a row of m units is protected at "
        f"m times epsilon; {table.copies:,} copies are stored, and COUNT(*) counts copies"
    ]
