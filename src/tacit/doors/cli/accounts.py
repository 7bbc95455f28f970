"""`tacit budget`, `tacit history` and `tacit ledger adopt`: what was spent, what is left, and whether the record is whole."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.doors.cli.ask import AnalystOption, AsJson
from tacit.doors.cli.finding import CatalogOption, find_catalog
from tacit.doors.cli.output import console, print_json


def budget(analyst: AnalystOption = None, as_json: AsJson = False, catalog: CatalogOption = None) -> None:
    """What was spent and what is left, of the data set and of each analyst."""
    from rich.table import Table

    from tacit.privacy.rounding import as_text, decimal_text
    from tacit.session import open as open_data

    accounts = open_data(find_catalog(catalog)).accounts(analyst)
    if as_json:
        rows = [
            {"name": account.name}
            | {word: {"epsilon": decimal_text(part.epsilon), "delta": decimal_text(part.delta)} for word, part in account.parts()}
            for account in accounts
        ]
        print_json({"accounts": rows})
        return
    table = Table("", "epsilon", "delta", "left epsilon", "left delta", header_style="bold")
    for account in accounts:
        cells = (account.cap.epsilon, account.cap.delta, account.left.epsilon, account.left.delta)
        table.add_row(account.name, *map(as_text, cells))
    console().print(table)


def history(
    last: Annotated[int, typer.Option("--last", min=1, help="How many of the newest entries to show.")] = 20,
    as_json: AsJson = False,
    catalog: CatalogOption = None,
) -> None:
    """The entries of the ledger, and whether their chain of hashes is whole. Exit code 1 where it is not."""
    from rich.table import Table

    from tacit.session import open as open_data

    ledger = open_data(find_catalog(catalog)).ledger
    report, entries = ledger.verify(), ledger.entries(last=last)
    if as_json:
        print_json({"whole": report.whole, "entries": [entry.to_dict() for entry in entries], "problem": report.problem})
    else:
        table = Table("entry", "when", "analyst", "what", "epsilon", "delta", header_style="bold")
        for entry in entries:
            table.add_row(*entry.shown())
        console().print(table)
        verdict = f"the chain of {report.entries} entries is whole" if report.whole else f"the chain is broken: {report.problem}"
        console().print(verdict, style=None if report.whole else "red", highlight=False)
    if not report.whole:
        raise typer.Exit(1)


ledger = typer.Typer(no_args_is_help=True, help="The ledger of everything that was ever spent.")


def adopt(
    reason: Annotated[str, typer.Option("--reason", help="Why the ledger at hand is the right one; it is recorded.")],
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """For the curator: take the ledger at hand as this data set's own, after it was moved or restored. It is recorded in the ledger."""
    from tacit.session import open as open_data

    entry = open_data(find_catalog(catalog)).adopt(reason)
    if as_json:
        print_json({"entry": entry})
    else:
        console().print(f"adopted; recorded as entry {entry}", highlight=False)
