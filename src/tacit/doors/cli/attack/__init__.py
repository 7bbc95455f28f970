"""`tacit attack ...`: known attacks, run against a release method or against a tacit session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from tacit.doors.cli.attack.answers import averaging, denial, differencing, exponential, reconstruct, regimes, trace, tracker
from tacit.doors.cli.attack.graphs import coalition, collude, degree, grouping, plant
from tacit.doors.cli.attack.promises import auxiliary, definitions, floating_point, local_sensitivity, periods, posterior
from tacit.doors.cli.attack.sessions import session, timing
from tacit.doors.cli.attack.tables import cells, downcoding, homogeneity, linkage, longest_commute, minimality, rebuild
from tacit.doors.cli.output import console, print_json

attack = typer.Typer(no_args_is_help=True, help="Run a known attack against a release method or against a tacit session.")


def list_attacks(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the attacks, with what each one shows and the defense against it.

    Example: tacit attack list
    """
    from rich.table import Table

    attacks = {name: (command.__doc__ or "").splitlines()[0] for name, command in COMMANDS.items() if name != "list"}
    if as_json:
        print_json({"attacks": [{"name": name, "shows": shows} for name, shows in attacks.items()]})
        return
    table = Table("tacit attack", "shows", box=None, header_style="bold")
    for name, shows in attacks.items():
        table.add_row(name, shows)
    console().print(table)


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_attacks,
    "reconstruct": reconstruct,
    "exponential": exponential,
    "trace": trace,
    "regimes": regimes,
    "differencing": differencing,
    "averaging": averaging,
    "tracker": tracker,
    "floating-point": floating_point,
    "local-sensitivity": local_sensitivity,
    "definitions": definitions,
    "auxiliary": auxiliary,
    "posterior": posterior,
    "periods": periods,
    "denial": denial,
    "longest-commute": longest_commute,
    "minimality": minimality,
    "linkage": linkage,
    "homogeneity": homogeneity,
    "downcoding": downcoding,
    "cells": cells,
    "rebuild": rebuild,
    "degree": degree,
    "plant": plant,
    "collude": collude,
    "coalition": coalition,
    "grouping": grouping,
    "timing": timing,
    "session": session,
}
