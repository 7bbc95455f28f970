"""`tacit token`: the accounts of the server and their tokens, for the data owner on the server's own machine.

With --server, the narrow tokens that were made from the token of `tacit login`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.login import connected
from tacit.doors.cli.output import console, print_json, say
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog, load_catalog
from tacit.errors import InvalidInput, NoLedger
from tacit.untrusted import for_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tacit.doors.server.records import Accounts, Issued
    from tacit.privacy.catalog import Catalog

token = typer.Typer(
    no_args_is_help=True, help="Manage accounts and tokens of a server (the data owner), or your own narrow tokens (--server)."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the account; an analyst's is that of the catalog.")]
Server = Annotated[  # never from a variable: without it, the accounts on this machine are meant
    str | None, typer.Option("--server", metavar="URL", help="Your narrow tokens on this server, after `tacit login`.")
]
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


def narrow(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Account, on the server's own machine.")] = None,
    most: Annotated[str | None, typer.Option("--most", help="Limit on the sum of the epsilons asked for with it.")] = None,
    hours: Annotated[int | None, typer.Option("--hours", min=1, max=8784, help="Hours that the token is valid.")] = None,
    operations: Annotated[
        str | None, typer.Option("--operations", help="Operations that it may use, for example ask,explain,catalog.")
    ] = None,
    as_json: AsJson = False,
    server: Server = None,
    catalog: CatalogOption = None,
) -> None:
    """Make a token that can do less: for a program, an agent or a colleague. It is printed once.

    With --server, it is made from your token, and ends with it. On the server's own machine, name the account. No limit can be
    above that of the token it is made from; one that is left out is the same. A narrow token makes no further ones, unless
    --operations names `tokens`.

    Example: tacit token narrow ana --most 1 --hours 8
    """
    names = None if operations is None else [each.strip() for each in operations.split(",") if each.strip()]
    if server is not None:
        if name is not None:
            raise InvalidInput("--server makes the token from your own; leave NAME out")
        with connected(server) as remote:
            _show_narrow(remote.narrow_token(most=most, hours=hours, operations=names), as_json)
        return
    if name is None:
        raise InvalidInput("the account is missing; name it, or give --server URL to narrow your own token")
    from tacit.doors.server.narrow import Wanted, account_of, make
    from tacit.doors.server.records import account_name
    from tacit.privacy.rounding import exact

    accounts = _open_accounts(catalog)[1]
    account = account_of(accounts, account_name(name))
    wanted = Wanted(hours, None if most is None else exact(most, "most"), names)
    _show_narrow(make(accounts, account, wanted, _last_counted(catalog, account.name)), as_json)


def _last_counted(catalog: Path | None, analyst: str) -> int:
    """The largest number of a narrow token of an analyst in the ledger; 0 before there is one."""
    from tacit.session import open as open_data

    with suppress(NoLedger):
        return open_data(find_catalog(catalog)).ledger.last_token(analyst)
    return 0


def show(as_json: AsJson = False, server: Server = None, catalog: CatalogOption = None) -> None:
    """List the accounts with their roles and the numbers of their tokens; with --server, the narrow tokens made from yours.

    Example: tacit token list
    """
    from rich.table import Table

    if server is not None:
        with connected(server) as remote:
            _list_own(remote.tokens(), as_json)
        return
    accounts: list[dict[str, Any]] = _open_accounts(catalog)[1].summary()
    if as_json:
        print_json({"accounts": accounts})
        return
    table = Table("account", "role", "token", "expires", "state", header_style="bold")
    for account in accounts:
        for at in account["tokens"]:
            state = "live" if at["live"] else "ended"
            table.add_row(account["name"], account["role"], str(at["number"]), at["expires"], state)
        for at in account["narrow"]:
            state = "live" if at["live"] else "ended"
            table.add_row(account["name"], account["role"], f"narrow {at['number']}", at["expires"], state)
    console().print(table)


def _list_own(tokens: list[dict[str, Any]], as_json: bool) -> None:
    from rich.table import Table

    if as_json:
        print_json({"tokens": tokens})
        return
    table = Table("token", "made from", "most", "asked", "operations", "expires", "state", header_style="bold")
    for at in tokens:
        parent = "yours" if at["parent"] is None else str(at["parent"])
        limits = [str(at["number"]), parent, at["most"] or "-", at["asked"] or "-", " ".join(at["operations"])]
        table.add_row(*(for_terminal(str(each)) for each in (*limits, at["expires"], "live" if at["live"] else "ended")))
    console().print(table)


def rotate(name: Name, days: Days = 90, as_json: AsJson = False, catalog: CatalogOption = None) -> None:
    """Revoke all tokens of an account and print a new one.

    Example: tacit token rotate ana
    """
    _show(_open_accounts(catalog)[1].rotate(name, days), as_json)


def revoke(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Account, on the server's own machine.")] = None,
    number: Annotated[int | None, typer.Option("--number", min=1, help="Number of one token; else all are revoked.")] = None,
    narrow: Annotated[int | None, typer.Option("--narrow", min=1, help="Number of one narrow token of the account.")] = None,
    as_json: AsJson = False,
    server: Server = None,
    catalog: CatalogOption = None,
) -> None:
    """Revoke the tokens of an account at once. Its name, role and spent budget stay.

    The narrow tokens that were made from a revoked one end with it. With --server, revoke narrow tokens made from yours: all of
    them, or one by --narrow.

    Example: tacit token revoke ana
    """
    if number is not None and (narrow is not None or server is not None):
        raise InvalidInput("--number names a token of an account on the server's own machine; use --narrow N for a narrow one")
    if (name is None) == (server is None):
        raise InvalidInput("name the account on the server's own machine, or give --server URL for your own narrow tokens")
    if server is not None:
        with connected(server) as remote:
            ended = remote.revoke(narrow)
    else:
        ended = _open_accounts(catalog)[1].revoke(name or "", number, narrow)
    if as_json:
        print_json({"revoked": ended})
    else:
        say(f"revoked: {ended} tokens" if ended != 1 else "revoked: 1 token")


COMMANDS: dict[str, Callable[..., None]] = {"add": add, "narrow": narrow, "list": show, "rotate": rotate, "revoke": revoke}


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


def _show_narrow(issued: Any, as_json: bool) -> None:
    """Of the server's own machine, or of a server: both have the same fields."""
    fields = ("number", "token", "expires", "most", "operations")
    if as_json:
        print_json({name: getattr(issued, name) for name in fields})
        return
    limit = "" if issued.most is None else f" for at most epsilon {for_terminal(issued.most)}"
    say(f"narrow token {issued.number}{limit}, valid until {for_terminal(issued.expires)}; it is shown only now:")
    say(issued.token)
