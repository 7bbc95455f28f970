"""`tacit token`: the accounts of the server and their tokens, for the data owner on the server's own machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import console, print_json, say
from tacit.doors.cli.which_catalog import CatalogOption, load_catalog

if TYPE_CHECKING:
    from pathlib import Path

    from tacit.doors.server.records import Accounts, Issued
    from tacit.privacy.catalog import Catalog

token = typer.Typer(no_args_is_help=True, help="Manage the accounts of the server and their tokens (for the data owner).")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the account; an analyst's is that of the catalog.")]
Days = Annotated[int, typer.Option("--days", min=1, max=366, help="Days that the token is valid.")]


def add(
    name: Name,
    role: Annotated[str, typer.Option("--role", help="Role: analyst, curator or auditor.")] = "analyst",
    days: Days = 90,
    as_json: AsJson = False,
    catalog: CatalogOption = None,
) -> None:
    """Add an account with its first token, which is printed once. A name belongs to one account for ever.

    Example: tacit token add otto --role auditor
    """
    declared, accounts = _open_accounts(catalog)
    _show(accounts.add(name, role, days, declared.analysts), as_json)


def show(as_json: AsJson = False, catalog: CatalogOption = None) -> None:
    """List the accounts with their roles and the numbers of their tokens.

    Example: tacit token list
    """
    from rich.table import Table

    accounts: list[dict[str, Any]] = _open_accounts(catalog)[1].summary()
    if as_json:
        print_json({"accounts": accounts})
        return
    table = Table("account", "role", "token", "expires", "state", header_style="bold")
    for account in accounts:
        for at in account["tokens"]:
            state = "live" if at["live"] else "ended"
            table.add_row(account["name"], account["role"], str(at["number"]), at["expires"], state)
    console().print(table)


def rotate(name: Name, days: Days = 90, as_json: AsJson = False, catalog: CatalogOption = None) -> None:
    """Revoke all tokens of an account and print a new one.

    Example: tacit token rotate ana
    """
    _show(_open_accounts(catalog)[1].rotate(name, days), as_json)


def revoke(
    name: Name,
    number: Annotated[int | None, typer.Option("--number", min=1, help="Number of one token; else all are revoked.")] = None,
    as_json: AsJson = False,
    catalog: CatalogOption = None,
) -> None:
    """Revoke the tokens of an account at once. Its name, role and spent budget stay.

    Example: tacit token revoke ana
    """
    ended = _open_accounts(catalog)[1].revoke(name, number)
    if as_json:
        print_json({"revoked": ended})
    else:
        say(f"revoked: {ended} tokens" if ended != 1 else "revoked: 1 token")


COMMANDS: dict[str, Callable[..., None]] = {"add": add, "list": show, "rotate": rotate, "revoke": revoke}


def _open_accounts(catalog: Path | None) -> tuple[Catalog, Accounts]:
    from tacit.doors.server.records import FILE, Accounts, Records

    declared = load_catalog(catalog)
    return declared, Accounts(Records(declared.kept / FILE))


def _show(issued: Issued, as_json: bool) -> None:
    if as_json:
        print_json(asdict(issued))
        return
    say(f"token of {issued.name}, valid until {issued.expires}; it is shown only now:")
    say(issued.token)
