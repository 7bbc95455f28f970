"""`tacit budget --server` and `tacit history --server`: what a server shows an analyst."""

from __future__ import annotations

from fractions import Fraction

from tacit.doors.cli.login import connected
from tacit.doors.cli.output import console, print_json

LONGEST_QUESTION = 48


def budget_of(server: str, as_json: bool) -> None:
    """The budget of the analyst whose token is used, and of the data set."""
    from rich.table import Table

    from tacit.accounting.ledger.caps import at_most

    with connected(server) as remote:
        known = remote.budget()
    if as_json:
        print_json(known)
        return
    own, shared = known["analyst"], known["data_set"]
    table = Table("", "epsilon", "delta", "spent\nepsilon", "remaining\nepsilon", "remaining\ndelta", header_style="bold")
    used = "by rho alone" if own["spent"]["epsilon"] is None else _short(own["spent"]["epsilon"])
    for name, spent, part in ((own["name"], used, own), ("data set", "", shared)):
        cap = part["cap"] or {"epsilon": None, "delta": None}
        left = [at_most(Fraction(part["left"][each])) for each in ("epsilon", "delta")]
        table.add_row(name, _short(cap["epsilon"]), _short(cap["delta"]), spent, *left)
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
        paid = [_short(price[each]) for each in ("epsilon", "rho", "delta")]
        table.add_row(str(entry["entry"]), entry["at"][:19], entry["kind"], *paid, question)
    console().print(table)


def _short(amount: str | None) -> str:
    """An exact amount as people write it; a dash for none."""
    from tacit.privacy.rounding import as_text

    return "-" if amount is None else as_text(Fraction(amount))
