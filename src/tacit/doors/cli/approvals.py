"""`tacit approvals`: questions above the limit of their analyst, which wait for the data owner's decision.

On the server's own machine they are listed and decided; with --server, an analyst lists and withdraws their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.login import connected
from tacit.doors.cli.output import console, print_json, say
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.errors import InvalidInput
from tacit.untrusted import for_terminal

if TYPE_CHECKING:
    from tacit.doors.server.office import Office

approvals = typer.Typer(
    no_args_is_help=True, help="Decide on questions above approve_above (the data owner), or list your own (--server)."
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Account that asked.")]
Number = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Number of the question among those of the account.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason, which the analyst sees and the ledger records.")]
Server = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="Your own questions on this server, after `tacit login`.")
]


def show(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Account that asked; else all.")] = None,
    number: Annotated[int | None, typer.Argument(metavar="[NUMBER]", min=1, help="One question, with its derivation.")] = None,
    as_json: AsJson = False,
    server: Server = None,
    catalog: CatalogOption = None,
) -> None:
    """List questions that wait for a decision, and what was decided lately; of one of them, how its price follows.

    Example: tacit approvals list ana 3
    """
    if server is not None:
        if name is not None:
            raise InvalidInput("--server lists your own questions; leave NAME out")
        with connected(server) as remote:
            questions = remote.waiting_questions()
    else:
        questions = _questions(_office(catalog), name, number)
    if as_json:
        print_json({"questions": questions})
        return
    if number is not None and questions:
        _show_one(questions[0])
        return
    from rich.table import Table

    table = Table("account", "number", "state", "price", "question", "until", header_style="bold")
    for each in questions:
        table.add_row(
            *map(
                for_terminal, (each["name"], str(each["number"]), each["state"], _price(each["price"]), _text(each), each["until"])
            )
        )
    console().print(table)


def approve(name: Name, number: Number, reason: Reason = "", as_json: AsJson = False, catalog: CatalogOption = None) -> None:
    """Approve a question: its analyst may ask it once, and pays for it then. Refused where a cap does not admit it now.

    Example: tacit approvals approve ana 3
    """
    _decide(catalog, as_json, name=name, number=number, decision="approved", reason=reason)


def reduce(
    name: Name,
    number: Number,
    epsilon: Annotated[str, typer.Option("--epsilon", help="The most that the question may cost.")],
    delta: Annotated[str | None, typer.Option("--delta", help="The same for delta; by default that which was asked for.")] = None,
    reason: Reason = "",
    as_json: AsJson = False,
    catalog: CatalogOption = None,
) -> None:
    """Admit a question at a smaller price: its analyst asks it anew, once, with at most this epsilon.

    Example: tacit approvals reduce ana 3 --epsilon 0.7
    """
    _decide(catalog, as_json, name=name, number=number, decision="reduced", epsilon=epsilon, delta=delta, reason=reason)


def refuse(name: Name, number: Number, reason: Reason = "", as_json: AsJson = False, catalog: CatalogOption = None) -> None:
    """Refuse a question at this price or a larger one, for as long as decisions hold (wait_days).

    Example: tacit approvals refuse ana 3 --reason "use the yearly figures"
    """
    _decide(catalog, as_json, name=name, number=number, decision="refused", reason=reason)


def withdraw(
    number: Number,
    server: Annotated[str, typer.Option("--server", metavar="URL", help="The server, after `tacit login`.")],
    as_json: AsJson = False,
) -> None:
    """Withdraw a question of your own that waits.

    Example: tacit approvals withdraw 3 --server https://stats.example.org
    """
    with connected(server) as remote:
        remote.withdraw(number)
    if as_json:
        print_json({"withdrawn": number})
    else:
        say(f"question {number} no longer waits")


COMMANDS: dict[str, Callable[..., None]] = {
    "list": show,
    "approve": approve,
    "reduce": reduce,
    "refuse": refuse,
    "withdraw": withdraw,
}


def _office(catalog: Path | None) -> Office:
    from tacit.doors.server.office import Office
    from tacit.session import open as open_data

    return Office(open_data(find_catalog(catalog)))


def _questions(office: Office, name: str | None, number: int | None) -> list[dict[str, Any]]:
    from tacit.doors.server.approvals import list_questions

    return list_questions(office, name, number)


def _decide(catalog: Path | None, as_json: bool, **said: Any) -> None:
    from pydantic import ValidationError

    from tacit.data_set import CURATOR
    from tacit.doors.server.approvals import record_decision
    from tacit.doors.server.decisions import Verdict

    try:
        wanted = Verdict.model_validate(said, strict=True)
    except ValidationError as error:
        place = str(error.errors()[0]["loc"][0])
        raise InvalidInput(
            f"{place} is not valid; give a decimal number, or a text of at most 500 characters", argument=place
        ) from None
    entry = record_decision(_office(catalog), CURATOR, wanted).number
    if as_json:
        print_json({"entry": entry})
    else:
        say(f"{wanted.decision}: question {wanted.number} of {for_terminal(wanted.name)}; entry {entry} of the ledger")


def _show_one(question: dict[str, Any]) -> None:
    say(f"question {question['number']} of {for_terminal(question['name'])}: {question['state']}, {_price(question['price'])}")
    say(for_terminal(_text(question)))
    if question["params"]:
        say(f"parameters: {for_terminal(json.dumps(question['params']))}")
    derivation = question["derivation"]
    if derivation is None:
        say("the catalog no longer admits this question")
        return
    for line in (*derivation["tree"], f"groups: {derivation['groups']}"):
        say(for_terminal(line))
    for noise in derivation["noise"]:
        say(for_terminal(", ".join(f"{name} {value}" for name, value in noise.items() if value not in (None, ""))))
    for expected in derivation["errors"]:
        say(for_terminal(f"{expected['column']}: {expected['error']}"))


def _text(question: dict[str, Any]) -> str:
    return question["sql"] if isinstance(question["sql"], str) else "; ".join(question["sql"])


def _price(price: dict[str, str]) -> str:
    return f"epsilon {price['epsilon']}" + (f", delta {price['delta']}" if price["delta"] != "0" else "")
