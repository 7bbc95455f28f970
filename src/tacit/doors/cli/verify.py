"""`tacit verify`: the measured loss of every mechanism beside its claim."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.output import console, print_json, progress

if TYPE_CHECKING:
    from tacit.evidence.verify.case import Row


class Plant(StrEnum):
    """The bugs that can be planted: the checks must find each."""

    noise = "noise"
    sensitivity = "sensitivity"
    sign = "sign"
    value = "value"
    swap = "swap"
    smooth = "smooth"
    grid = "grid"
    filter = "filter"
    keep = "keep"
    bits = "bits"
    hash = "hash"
    window = "window"
    blank = "blank"
    fakes = "fakes"
    occupied = "occupied"
    counted = "counted"
    tails = "tails"
    tree = "tree"
    share = "share"


def verify(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer draws: under a minute.")] = False,
    plant: Annotated[Plant | None, typer.Option(help="Plant a bug, to see that it is found; exits with 1.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure every mechanism against its claim. Exits with 1 if a law of privacy is broken."""
    from tacit.evidence.verify.suite import FULL, QUICK, cases

    chosen, effort = cases(plant), QUICK if quick else FULL
    rows = list(progress((case.run(effort) for case in chosen), len(chosen), "measuring"))
    if as_json:
        print_json(_as_json(rows))
    else:
        _print_table(rows, effort.false_alarm)
    if any(row.broken for row in rows):
        raise typer.Exit(1)


def _as_json(rows: list[Row]) -> dict[str, object]:
    listed = [
        {
            "mechanism": row.name,
            "claimed": row.claimed,
            "measured": row.measured,
            "samples": row.samples,
            "exact": row.samples == 0,
            "broken": [{"law": breach.law, "message": str(breach)} for breach in row.broken],
        }
        for row in rows
    ]
    return {"holds": not any(row.broken for row in rows), "rows": listed}


def _print_table(rows: list[Row], false_alarm: float) -> None:
    from rich.table import Table

    from tacit.doors.cli.screen import styled

    table = Table("mechanism", "claimed", box=None, header_style="bold")
    table.add_column("measured, at least", justify="right")
    table.add_column("samples", justify="right")
    table.add_column("verdict")
    for row in rows:
        samples = f"{row.samples:,}" if row.samples else "exact"
        verdict = styled((f"broken: {', '.join(row.laws)}", "red") if row.broken else ("within", "green"))
        table.add_row(row.name, row.claimed, row.measured, samples, verdict)
    screen = console()
    screen.print(table)
    luck = f"What is drawn accuses a sound mechanism with probability {false_alarm:g} a check; to pass is no proof."
    screen.print(luck, style="dim")
    for row in rows:
        for breach in row.broken:
            screen.print(styled(("broken", "red"), f" {breach}"))
