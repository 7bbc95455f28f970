"""`tacit budget`, `tacit history` and `tacit ledger adopt`: what was spent, what is left, and whether the record is whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AnalystOption, AsJson, ServerOption
from tacit.doors.cli.certificate import head
from tacit.doors.cli.login import connected
from tacit.doors.cli.output import console, print_json
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.privacy.rounding import counted

if TYPE_CHECKING:
    from tacit.accounting.ledger.accounts import Account
    from tacit.accounting.ledger.entries import Entry
    from tacit.privacy.catalog import Catalog

LONGEST_QUESTION = 48


def budget_of(server: str, as_json: bool) -> None:
    """The budget of the analyst whose token is used, and of the data set."""
    from rich.table import Table

    from tacit.accounting.ledger.caps import at_most

    with connected(server) as remote:
        account = remote.budget()
    if as_json:
        print_json(account)
        return
    own, shared = account["analyst"], account["data_set"]
    table = Table("", "epsilon", "delta", "spent\nepsilon", "remaining\nepsilon", "remaining\ndelta", header_style="bold")
    used = "by rho alone" if own["spent"]["epsilon"] is None else _short_amount(own["spent"]["epsilon"])
    for name, spent, part in ((own["name"], used, own), ("data set", "", shared)):
        cap = part["cap"] or {"epsilon": None, "delta": None}
        left = [at_most(Fraction(part["left"][each])) for each in ("epsilon", "delta")]
        table.add_row(name, _short_amount(cap["epsilon"]), _short_amount(cap["delta"]), spent, *left)
    if (token := account.get("token")) is not None:
        asked, rest = _short_amount(token["asked"]), "-" if token["left"] is None else at_most(Fraction(token["left"]))
        table.add_row(f"token {int(token['number'])}", _short_amount(token["most"]), "-", asked, rest, "-")
    console().print(table)
    if shared["shown"] == "tenths":
        console().print("The remaining budget of the data set is rounded down to tenths of its cap.", style="dim")


def history_of(server: str, last: int, as_json: bool) -> None:
    """The entries of the analyst whose token is used."""
    from rich.table import Table

    with connected(server) as remote:
        entries = remote.history(last)
    if as_json:
        print_json({"entries": entries})
        return
    table = Table("entry", "when", "kind", "epsilon", "rho", "delta", "question", header_style="bold")
    for entry in entries:
        price, line = entry["price"], " ".join(entry["question"].split())
        question = line if len(line) <= LONGEST_QUESTION else f"{line[: LONGEST_QUESTION - 1]}…"
        paid = [_short_amount(price[each]) for each in ("epsilon", "rho", "delta")]
        table.add_row(str(entry["entry"]), entry["at"][:19], entry["kind"], *paid, question)
    console().print(table)


def _short_amount(amount: str | None) -> str:
    """An exact amount as people write it; a dash for none."""
    from tacit.privacy.rounding import as_text

    return "-" if amount is None else as_text(Fraction(amount))


# --- `tacit budget`, `tacit history` and `tacit ledger adopt` ----------------------------------------------------------------


def budget(
    analyst: AnalystOption = None,
    what_if: Annotated[
        str | None, typer.Option("--what-if", metavar="EPSILON", help="Count the further questions of this epsilon that still fit.")
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Delta of each of those questions.")] = None,
    as_json: AsJson = False,
    server: ServerOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Show the spent and remaining budget of the data set and of each analyst.

    With --what-if, also show how many further questions of that epsilon fit, if no one else asks. Each one may depend on the
    answers before it.

    Example: tacit budget --what-if 0.01
    """
    from tacit.errors import InvalidInput
    from tacit.session import open as open_data

    if what_if is None and delta is not None:
        raise InvalidInput("--delta requires --what-if; give for example --what-if 0.01 --delta 1e-9")
    if server is not None:
        if what_if is not None:
            raise InvalidInput("--what-if is not supported with --server; ask with `tacit explain` what a question costs")
        budget_of(server, as_json)
        return
    data = open_data(find_catalog(catalog))
    accounts = data.accounts(analyst)
    if what_if is not None and data.catalog.per is not None:
        raise InvalidInput("--what-if is not supported where the budget is one of each period; see what remains in each")
    names = [None, *(account.name for account in accounts[1:])]  # the first is the data set
    fits = [None if what_if is None else data.questions_left(what_if, delta or 0, name) for name in names]
    if as_json:
        asked = {} if what_if is None else {"what_if": {"epsilon": what_if, "delta": delta or "0"}}
        print_json(asked | {"accounts": [_account(*pair) for pair in zip(accounts, fits, strict=True)]})
    else:
        _print_accounts(accounts, fits, what_if)


def _print_accounts(accounts: list[Account], fits: list[int | None], what_if: str | None) -> None:
    from rich.table import Table

    from tacit.accounting.ledger.caps import at_most
    from tacit.privacy.rounding import as_text

    heads = ["", "epsilon", "delta", "spent\nepsilon", "spent\nrho", "remaining\nepsilon", "remaining\ndelta"]
    table = Table(*heads, *([] if what_if is None else [f"questions of\nepsilon {what_if}"]), header_style="bold")
    for account, fit in zip(accounts, fits, strict=True):
        spent = "by rho alone" if account.spent.epsilon is None else as_text(account.spent.epsilon)
        cells = (account.cap.epsilon, account.cap.delta), (account.left.epsilon, account.left.delta)
        row = (account.name, *map(as_text, cells[0]), spent, as_text(account.spent.rho), *map(at_most, cells[1]))
        table.add_row(*row, *([] if fit is None else [f"{fit:,}"]))
    console().print(table)
    console().print("remaining: what one further question may cost; the rules are in the ledger's filter", style="dim")


def _account(account: Account, fit: int | None = None) -> dict[str, Any]:
    from tacit.privacy.rounding import decimal_text

    spent, left = account.spent, account.left
    return {
        "name": account.name,
        "cap": {"epsilon": decimal_text(account.cap.epsilon), "delta": decimal_text(account.cap.delta)},
        "spent": {
            "epsilon": None if spent.epsilon is None else decimal_text(spent.epsilon),
            "rho": decimal_text(spent.rho),
            "delta": decimal_text(spent.delta),
        },
        "left": {"epsilon": decimal_text(left.epsilon), "delta": decimal_text(left.delta)},
        **({} if fit is None else {"questions_left": fit}),
    }


def history(
    last: Annotated[int, typer.Option("--last", min=1, help="Number of latest entries to show.")] = 20,
    as_json: AsJson = False,
    server: ServerOption = None,
    catalog: CatalogOption = None,
) -> None:
    """List ledger entries and verify the hash chain. Exits with 1 if the chain is broken.

    With --server, list your own entries; the server's auditors verify the chain.

    Example: tacit history --last 5
    """
    if server is not None:
        history_of(server, last, as_json)
        return
    from rich.table import Table

    from tacit.session import open as open_data

    ledger = open_data(find_catalog(catalog)).ledger
    report = ledger.verify()
    entries = list(ledger.entries(last=last)) if report.whole else []
    if as_json:
        print_json({"whole": report.whole, "entries": [entry.to_dict() for entry in entries], "problem": report.problem})
    else:
        table = Table("entry", "when", "kind", "analyst", "epsilon", "rho", "delta", "question", header_style="bold")
        for entry in entries:
            table.add_row(*_entry(entry))
        console().print(table)
        verdict = (
            f"the chain of {counted(report.entries, 'entry')} is whole"
            if report.whole
            else f"the chain is broken: {report.problem}"
        )
        console().print(verdict, style=None if report.whole else "red")
    if not report.whole:
        raise typer.Exit(1)


def _entry(entry: Entry) -> list[str]:
    from tacit.privacy.rounding import as_text

    price = entry.price if entry.in_periods is None else entry.in_periods.price
    epsilon = "-" if price.epsilon is None else as_text(price.epsilon)
    paid = [epsilon, as_text(price.rho), as_text(price.delta)]
    periods = "" if entry.in_periods is None else f"in each of {entry.in_periods.named or 'no period'}: "
    return [str(entry.number), entry.at[:19], entry.kind, entry.analyst, *paid, f"{periods}{_short(entry.question)}"]


def _short(question: str) -> str:
    line = " ".join(question.split())
    return line if len(line) <= LONGEST_QUESTION else f"{line[: LONGEST_QUESTION - 1]}…"


ledger = typer.Typer(no_args_is_help=True, help="Manage the ledger that records all privacy loss (for the data owner).")


def begin(
    reason: Annotated[
        str, typer.Option("--reason", help="Reason for a new ledger if another one covers the same sources; recorded.")
    ] = "",
    relation: Annotated[str, typer.Option("--relation", help="Ledger of a graph: what one budget protects, edge or node.")] = "",
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Ledger of a graph: its budget.")] = None,
    delta: Annotated[str, typer.Option("--delta", help="Ledger of a graph: its budget for delta.")] = "0",
    ledger: Annotated[Path | None, typer.Option("--ledger", help="Ledger of a graph: its file, which must not exist.")] = None,
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """Begin the ledger of this data set, once, before the first question. It records everything that is ever released.

    With --relation, begin the ledger of a graph, which has no catalog.

    Example: tacit ledger begin
    """
    from tacit.session import open as open_data

    if relation or ledger is not None or epsilon is not None:
        _begin_for_graph(relation, epsilon, delta, ledger, as_json)
        return
    begun = open_data(find_catalog(catalog)).begin_ledger(reason)
    if as_json:
        print_json({"ledger": begun.identity, "data_set": begun.belongs["data_set"]})
    else:
        name = begun.belongs["data_set"]
        console().print(f"ledger {begun.identity[:8]} of the data set '{name}' begun")


def _begin_for_graph(relation: str, epsilon: str | None, delta: str, ledger: Path | None, as_json: bool) -> None:
    from tacit.errors import InvalidInput
    from tacit.publish.graphs.private.spending import begin_graph_ledger

    if not relation or epsilon is None or ledger is None:
        raise InvalidInput(
            "the ledger of a graph requires --relation, --epsilon and --ledger; "
            "give for example --relation edge --epsilon 1 --ledger graph.sqlite"
        )
    begun = begin_graph_ledger(ledger, relation, epsilon, delta)
    if as_json:
        print_json({"ledger": begun.identity, "relation": str(begun.policy.neighbours), "epsilon": epsilon, "delta": delta})
    else:
        console().print(f"ledger {begun.identity[:8]} begun; it counts for: {begun.policy.neighbours}")


def units(
    steps: Annotated[
        int,
        typer.Option("--steps", min=1, help="Largest number of old units that one new unit can touch; 1 if they are the same."),
    ],
    reason: Annotated[str, typer.Option("--reason", help="Reason; recorded in the ledger.")],
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """Accept changed units: restate everything that was spent, so that it counts for the units that are declared now.

    For example, after `unit = "row"` became `unit = { column = "person" }`, give the most rows that one person ever had, in all
    private tables together.

    Example: tacit ledger units --steps 1 --reason "the same people"
    """
    from tacit.accounting.ledger.caps import at_least
    from tacit.session import open as open_data

    data = open_data(find_catalog(catalog))
    entry = data.accept_units(steps, reason)
    account = data.accounts()[0]
    if as_json:
        print_json({"entry": entry, "data_set": _account(account)})
        return
    console().print(f"recorded as entry {entry}; everything before it counts for the units that are declared now")
    spent = "by rho alone" if account.spent.epsilon is None else f"epsilon {at_least(account.spent.epsilon)}"
    console().print(f"spent so far: {spent}, rho {at_least(account.spent.rho)}, delta {at_least(account.spent.delta)}")
    if not account.left.epsilon:
        console().print("that is at or above the budget: nothing more is admitted", style="red")


def budget_raised(
    reason: Annotated[str, typer.Option("--reason", help="Reason; recorded in the ledger.")],
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """Accept a raised budget, where it is one of each period: `epsilon`, `delta` or `lifetime` in [budget].

    A lowered budget counts at once. A raised one counts from the entry that this writes, so that no one-line edit raises it unseen.

    Example: tacit ledger budget --reason "the board agreed to epsilon 2 a month"
    """
    from tacit.session import open as open_data

    entry = open_data(find_catalog(catalog)).ledger.accept_budget("curator", reason)
    if as_json:
        print_json({"entry": entry.number, "accepted": entry.question})
        return
    console().print(f"recorded as entry {entry.number}: {entry.question}")


def resume(
    reason: Annotated[str, typer.Option("--reason", help="Finding; recorded in the ledger.")],
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """Resume answering after too many questions failed, once you have found out why.

    Example: tacit ledger resume --reason "more memory"
    """
    from tacit.session import open as open_data

    data = open_data(find_catalog(catalog))
    entry = data.resume(reason)
    _forget_suspects(data.catalog)
    if as_json:
        print_json({"entry": entry})
    else:
        console().print(f"questions go on; recorded as entry {entry}")


def late(catalog: CatalogOption = None, as_json: AsJson = False) -> None:
    """List the late replies of a server that hides its clock, since the ledger was last resumed.

    Example: tacit ledger late
    """
    from tacit.accounting.ledger.statement import late_replies
    from tacit.accounting.ledger.units import LATE_OF_ANALYST, LATE_OF_DATA_SET
    from tacit.session import open as open_data

    counts = late_replies(open_data(find_catalog(catalog)).ledger)
    if as_json:
        print_json({"late": counts, "most_of_an_analyst": LATE_OF_ANALYST, "most": LATE_OF_DATA_SET})
        return
    for name, number in sorted(counts.items()):
        console().print(f"{name}: {number} of {LATE_OF_ANALYST}")
    console().print(f"late replies since the last resume: {sum(counts.values())} of {LATE_OF_DATA_SET}")
    if counts:
        console().print("if the machine is too slow, raise pace in [server] of tacit.toml, and then run: tacit ledger resume")


def _forget_suspects(catalog: Catalog) -> None:
    """Let requests that ended a process of the server be asked again, if there is a server."""
    from tacit.doors.server.records import FILE, Records
    from tacit.doors.server.requests import forget

    if (catalog.kept / FILE).exists():
        records = Records(catalog.kept / FILE)
        forget(records)
        records.close()


def adopt(
    reason: Annotated[str, typer.Option("--reason", help="Reason why this ledger is the right one; recorded.")],
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """Accept the ledger that was found as this data set's own, after a move or a restore. The ledger records it.

    Example: tacit ledger adopt --reason "restored from a backup"
    """
    from tacit.session import open as open_data
    from tacit.untrusted import for_terminal, without_passwords

    entry = open_data(find_catalog(catalog)).adopt(for_terminal(without_passwords(reason)))
    if as_json:
        print_json({"entry": entry})
    elif entry is None:
        console().print("nothing to adopt: this is the ledger that the store knows")
    else:
        console().print(f"adopted; recorded as entry {entry}")


COMMANDS: Mapping[str, Callable[..., None]] = {
    "begin": begin,
    "units": units,
    "budget": budget_raised,
    "resume": resume,
    "late": late,
    "adopt": adopt,
    "head": head,
}
"""Those of `tacit ledger`."""
