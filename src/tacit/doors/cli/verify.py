"""`tacit verify`: the measured loss of every mechanism beside its claim."""

from __future__ import annotations

from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.output import console, print_json, progress

if TYPE_CHECKING:
    from tacit.doors.cli.screen import Screen
    from tacit.evidence.verify.case import Row


class Plant(StrEnum):
    """The bugs that can be planted; the checks must find each of them."""

    noise = "noise"
    sensitivity = "sensitivity"
    sign = "sign"
    value = "value"
    swap = "swap"
    smooth = "smooth"
    bounds = "bounds"
    grid = "grid"
    filter = "filter"
    order = "order"
    keep = "keep"
    bits = "bits"
    hash = "hash"
    window = "window"
    blank = "blank"
    hashes = "hashes"
    fakes = "fakes"
    occupied = "occupied"
    counted = "counted"
    tails = "tails"
    prior = "prior"
    tree = "tree"
    share = "share"
    mode = "mode"
    changed = "changed"
    rounds = "rounds"
    score = "score"
    one_level = "one-level"
    level_twice = "level-twice"
    child = "child"
    unlimited = "unlimited"
    rows = "rows"
    step = "step"
    column = "column"
    row = "row"
    cells = "cells"
    replaced = "replaced"
    together = "together"
    digits = "digits"
    ordered = "ordered"
    width = "width"
    levels = "levels"
    unit = "unit"
    anew = "anew"
    margins = "margins"
    two = "two"
    positives = "positives"
    threshold = "threshold"
    spread = "spread"
    halves = "halves"
    halved = "halved"
    moved = "moved"
    person = "person"
    local = "local"
    star = "star"
    theta = "theta"
    integers = "integers"
    exponent = "exponent"
    scale = "scale"
    power = "power"
    added = "added"
    best = "best"
    factor = "factor"
    inner = "inner"
    beyond = "beyond"
    alpha = "alpha"
    told = "told"
    copies = "copies"
    places = "places"
    rare = "rare"


def verify(
    quick: Annotated[bool, typer.Option("--quick", help="Use fewer draws; takes less than a minute.")] = False,
    plant: Annotated[Plant | None, typer.Option(help="Bug to plant, to show that the checks find it; exits with 1.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure the privacy loss of every mechanism and compare it with its claim. Exits with 1 if a privacy law is violated.

    Example: tacit verify --quick
    """
    from tacit.evidence.verify.plants import FULL, QUICK, cases

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
            "share": row.share if isfinite(row.share) else None,
            "unreached": row.unreached,
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
    table.add_column("at least", justify="right")
    table.add_column("share", justify="right")
    table.add_column("samples", justify="right")
    table.add_column("verdict")
    for row in rows:
        samples = f"{row.samples:,}" if row.samples else "exact"
        verdict = styled((f"broken: {', '.join(row.laws)}", "red") if row.broken else ("within", "green"))
        share = styled((f"{row.share:.2f}", "yellow" if row.unreached else ""))
        table.add_row(row.name, row.claimed, row.measured, share, samples, verdict)
    screen = console()
    screen.print(table)
    screen.print(
        "share: the part of the claim that the tested neighbours reach; for an interval, the part of the allowed misses.\n"
        f"A sampled check rejects a sound mechanism with probability {false_alarm:g}. Passing is not a proof.",
        style="dim",
    )
    _print_unreached(screen, rows)
    for row in rows:
        for breach in row.broken:
            screen.print(styled(("broken", "red"), f" {breach}"))


def _print_unreached(screen: Screen, rows: list[Row]) -> None:
    """Prints why some rows reach only a small share of their claim."""
    from tacit.doors.cli.screen import styled
    from tacit.evidence.verify.case import ENOUGH

    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.unreached:
            by_reason.setdefault(row.unreached, []).append(f"{row.name} ({row.share:.2f})")
    if by_reason:
        screen.print(f"\nRows that reach less than {ENOUGH:g} of their claim, with the reason:")
    for reason, names in by_reason.items():
        screen.print(styled(f"  {'; '.join(names)}: ", (reason, "dim")))
