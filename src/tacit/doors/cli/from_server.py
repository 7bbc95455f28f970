"""`tacit budget --server` and `tacit history --server`: what a server shows an analyst."""

from __future__ import annotations

from tacit.doors.cli.login import connected
from tacit.doors.cli.output import console, print_json

LONGEST_QUESTION = 48


def budget_of(server: str, as_json: bool) -> None:
    """The budget of the analyst whose token is used, and of the data set."""
    from rich.table import Table

    with connected(server) as remote:
        known = remote.budget()
    if as_json:
        print_json(known)
        return
    own, shared = known["analyst"], known["data_set"]
    table = Table("", "epsilon", "delta", "spent\nepsilon", "remaining\nepsilon", "remaining\ndelta", header_style="bold")
    cap, spent = own["cap"] or {"epsilon": "-", "delta": "-"}, own["spent"]["epsilon"]
    used = "by rho alone" if spent is None else spent
    table.add_row(own["name"], cap["epsilon"], cap["delta"], used, own["left"]["epsilon"], own["left"]["delta"])
    left = shared["left"]
    table.add_row("data set", shared["cap"]["epsilon"], shared["cap"]["delta"], "", left["epsilon"], left["delta"])
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
        paid = (price["epsilon"] or "-", price["rho"], price["delta"])
        table.add_row(str(entry["entry"]), entry["at"][:19], entry["kind"], *paid, question)
    console().print(table)
