"""`tacit audit --demo`: both auditors on the MAX example, the triangle of sums, and what auditing costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.doors.cli.output import console, print_json, progress

if TYPE_CHECKING:
    from tacit.publish.audited.examples import Turn
    from tacit.publish.audited.utility import Utility

ROWS, RUNS = 100, 10
FAREWELL = (
    "None of these answers is differentially private. The refusals of simulatable auditors reveal nothing, but the answers "
    "are exact: anyone who knows enough other rows can derive a value. `tacit demo` shows answers that withstand this."
)


def play(chart: Path | None, as_json: bool) -> None:
    """Plays the demonstration."""
    from tacit.publish.audited.examples import max_example, sum_triangle
    from tacit.publish.audited.utility import COMPARED, Utility, utility

    examples = {"max": max_example(), "sum": sum_triangle()}
    if not as_json:
        _show_examples(examples["max"], examples["sum"])
    costs = Utility(ROWS, dict(progress(utility(ROWS, RUNS), len(COMPARED), "asking until the first refusal")))
    if chart is not None:
        costs.chart(chart)
    if as_json:
        told = {name: [_told(turn) for turn in turns] for name, turns in examples.items()}
        print_json(
            told | {"utility": {name: list(counts) for name, counts in costs.answered.items()}, "differentially_private": False}
        )
    else:
        _show_costs(costs, chart)


def _told(turn: Turn) -> dict[str, Any]:
    answer = getattr(turn.reply, "answer", None)
    return {
        "auditor": turn.auditor,
        "question": turn.question,
        "answer": answer,
        "reason": turn.reply.reason,
        "gives_away": turn.concludes or None,
    }


def _show_examples(maxima: Sequence[Turn], sums: Sequence[Turn]) -> None:
    from tacit.doors.cli.screen import styled

    screen = console()
    half = len(maxima) // 2
    for title, turns in (
        ("MAX over five values: 3, 7, 2, 8, 10", maxima[:half]),
        ("The same queries with x4 = 10: only the value-based auditor decides differently", maxima[half:]),
        ("SUM over three values: the triangle", sums),
    ):
        screen.print(styled("\n", (title, "bold")))
        screen.print(_table(turns))


def _table(turns: Sequence[Turn]) -> Any:
    from rich.table import Table

    from tacit.doors.cli.screen import styled

    table = Table("auditor", "question", "reply", "the refusal discloses", box=None, header_style="dim", padding=(0, 2))
    for turn in turns:
        reply = getattr(turn.reply, "answer", None)
        shown = styled((f"{reply:g}", "green")) if reply is not None else styled(("refused", "yellow"), f": {turn.reply.reason}")
        away = styled((turn.concludes, "red") if turn.concludes else "" if reply is not None else ("nothing", "green"))
        table.add_row(turn.auditor, turn.question, shown, away)
    return table


def _show_costs(costs: Utility, chart: Path | None) -> None:
    from rich.table import Table

    from tacit.doors.cli.screen import styled

    screen = console()
    halves = f" · queries answered before the first refusal, each over a random half of {costs.people} rows"
    screen.print(styled("\n", ("What it costs", "bold"), halves))
    table = Table("auditor", "fewest", "median", "most", box=None, header_style="dim", padding=(0, 2))
    for name, least, middle, most in costs.rows():
        table.add_row(name, f"{least}", f"{middle:g}", f"{most}")
    screen.print(table)
    if chart is not None:
        screen.print(f"Chart: {chart}")
    screen.print(f"\n{FAREWELL}")
