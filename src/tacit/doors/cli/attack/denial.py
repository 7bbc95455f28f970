"""`tacit attack denial`: infers values from the refusals of an auditor that looks at the answer."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.doors.cli.output import console, print_json
from tacit.errors import LawViolated


class DenialExample(StrEnum):
    """The textbook example, or a table of random values."""

    max = "max"
    random = "random"


def denial(
    example: Annotated[
        DenialExample, typer.Option(help="Data to attack: the five values of the textbook example, or random values.")
    ] = DenialExample.max,
    people: Annotated[int, typer.Option(help="Number of rows of the random example.", min=3, max=3000)] = 60,
    chart: Annotated[Path | None, typer.Option(help="File for a chart of the disclosed values: .svg, .png or .html.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Infer values from the refusals of an auditor that looks at the answer. Exits with 1 if a simulatable auditor leaks too.

    Example: tacit attack denial
    """
    from tacit.evidence.attacks.denial import denial as run
    from tacit.evidence.attacks.denial import example_values
    from tacit.publish.audited.examples import MAX_VALUES

    found = run(MAX_VALUES, group=5) if example is DenialExample.max else run(example_values(people))
    if chart is not None:
        found.chart(str(chart))
    if as_json:
        print_json(_told(found))
    else:
        _show(found)
    if found.simulatable.named or found.value_based.wrong:
        raise LawViolated(
            "simulatable", "refusals of the simulatable auditor disclosed a value, or the attack inferred a wrong one"
        )


def _told(found: Any) -> dict[str, Any]:
    return {"rows": found.people, "value_based": _outcome(found.value_based), "simulatable": _outcome(found.simulatable)}


def _outcome(outcome: Any) -> dict[str, Any]:
    named = {f"x{row + 1}": value for row, value in sorted(outcome.named.items())}
    return {"asked": outcome.asked, "refused": outcome.refused, "named": named, "wrong": outcome.wrong}


def _show(found: Any) -> None:
    from tacit.doors.cli.screen import styled

    screen = console()
    screen.print(styled(("Values from refusals", "bold"), " · query the maximum of a group, then of the group without one row"))
    for name, outcome in (("value-based", found.value_based), ("simulatable", found.simulatable)):
        named = [f"x{row + 1} = {value:g}" for row, value in sorted(outcome.named.items())]
        more = f" and {len(named) - 8} more" if len(named) > 8 else ""
        sure = (f"{', '.join(named[:8])}{more}", "red") if named else ("nothing", "green")
        screen.print(styled(f"  {name}: {outcome.refused} of {outcome.asked} refused; the refusals disclose ", sure))
    screen.print(found.summary())
