"""`tacit audit`: exact answers or refusals over one audited column, with one durable history for all who ask."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.output import console, error_report, print_json, progress, say
from tacit.errors import InvalidInput, Refused

if TYPE_CHECKING:
    from tacit.publish.audited.desk import Desk, Summary
    from tacit.publish.audited.examples import Turn, Utility
    from tacit.publish.audited.question import Reply

ROWS, RUNS = 100, 10
FAREWELL = (
    "None of these answers is differentially private. The refusals of simulatable auditors reveal nothing, but the answers "
    "are exact: anyone who knows enough other rows can derive a value. `tacit demo` shows answers that withstand this."
)


def play(chart: Path | None, as_json: bool) -> None:
    """Plays the demonstration."""
    from tacit.publish.audited.examples import COMPARED, Utility, max_example, sum_triangle, utility

    examples = {"max": max_example(), "sum": sum_triangle()}
    if not as_json:
        _show_examples(examples["max"], examples["sum"])
    costs = Utility(ROWS, dict(progress(utility(ROWS, RUNS), len(COMPARED), "asking until the first refusal")))
    if chart is not None:
        costs.chart(chart)
    if as_json:
        told = {name: [_turn_told(turn) for turn in turns] for name, turns in examples.items()}
        print_json(
            told | {"utility": {name: list(counts) for name, counts in costs.answered.items()}, "differentially_private": False}
        )
    else:
        _show_costs(costs, chart)


def _turn_told(turn: Turn) -> dict[str, Any]:
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


# --- the command -------------------------------------------------------------------------------------------------------------


NOTE = "Exact answers under auditing are not differentially private: anyone who knows enough other rows can derive a value."
HELP = "Example query: MAX({value}) WHERE {column} = ...; `summary` lists what is still answerable, `quit` exits."


class AuditorName(StrEnum):
    """The auditors."""

    max = "max"
    min = "min"
    max_min = "max-min"
    max_min_duplicates = "max-min-duplicates"
    sum = "sum"
    boolean_sum = "boolean-sum"
    probabilistic_max = "probabilistic-max"


def audit(
    data: Annotated[Path | None, typer.Argument(help="Table to audit, a CSV or Parquet file.")] = None,
    auditor: Annotated[AuditorName, typer.Option(help="Auditor that decides which queries are answered.")] = AuditorName.max,
    value: Annotated[str | None, typer.Option(help="Audited column; required if several columns are numeric.")] = None,
    public: Annotated[str, typer.Option(help="Public columns that conditions may use, comma-separated.")] = "",
    bounds: Annotated[str, typer.Option(help="Publicly known bounds of the values: LOW,HIGH; either may be empty.")] = "",
    drift: Annotated[float, typer.Option(help="probabilistic-max: the odds may move by a factor of 1 - drift.")] = 0.5,
    intervals: Annotated[int, typer.Option(help="probabilistic-max: number of intervals whose odds are compared.")] = 4,
    risk: Annotated[float, typer.Option(help="probabilistic-max: probability that the odds move further than drift allows.")] = 0.1,
    rounds: Annotated[int, typer.Option(help="probabilistic-max: total number of answers.")] = 20,
    questions: Annotated[str | None, typer.Option(help="File with one query per line; - for standard input.")] = None,
    history: Annotated[
        Path | None, typer.Option(help="File for the history; by default in .tacit/audit/ next to the data.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Run the textbook examples.")] = False,
    chart: Annotated[
        Path | None, typer.Option(help="With --demo: file for a chart of what auditing costs, .svg, .png or .html.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Answer MAX, MIN, SUM, AVG and COUNT exactly, or refuse without revealing anything. Not differentially private.

    Example: tacit audit salaries.csv --value salary --public ward --questions questions.txt
    """
    if demo:
        play(chart, as_json)
        return
    if data is None:
        raise InvalidInput("the table to audit is missing; give a CSV or Parquet file, or --demo")
    odds = {"drift": drift, "intervals": intervals, "risk": risk, "rounds": rounds}
    desk = _desk(data, auditor.value, value, _names(public), _bounds(bounds), odds, history)
    if questions is None and sys.stdin.isatty() and not as_json:
        _converse(desk)
    else:
        _batch(desk, list(_lines(questions)), as_json)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _bounds(text: str) -> tuple[float | None, float | None]:
    from tacit.privacy.rounding import exact

    if not text:
        return None, None
    low, comma, high = text.partition(",")
    try:
        if not comma:
            raise ValueError
        return (float(exact(low.strip())) if low.strip() else None), (float(exact(high.strip())) if high.strip() else None)
    except ValueError:
        raise InvalidInput(f"invalid bounds {text[:40]!r}: expected LOW,HIGH, for example --bounds 0,100") from None


def _desk(
    data: Path, name: str, value: str | None, public: list[str], bounds: tuple[Any, Any], odds: dict[str, Any], history: Path | None
) -> Desk:
    from tacit.publish.audited.data import read
    from tacit.publish.audited.desk import Desk, about
    from tacit.publish.audited.history import History
    from tacit.publish.audited.named import auditor_named, check_facts

    table = read(data, value, public)
    chosen = auditor_named(name, *bounds, **(odds if name == "probabilistic-max" else {}))
    check_facts(name, *bounds, table.values)
    place = history or data.parent / ".tacit" / "audit" / f"{data.stem}.{table.value}.sqlite"
    desk = Desk(table, chosen, History(place, about(table, chosen)))
    if past := desk.history.answers():
        for _ in progress(desk.catch_up(), past, "reading the history"):
            pass
    return desk


def _lines(questions: str | None) -> Iterator[str]:
    """Yields the queries, one per line, without blank lines and comments."""
    if questions in (None, "-"):
        lines = sys.stdin.readlines()
    elif not Path(questions or "").is_file():
        raise InvalidInput(f"file not found: {questions}; give a file with one query per line, or - for standard input")
    else:
        lines = Path(questions or "").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.strip() and not line.lstrip().startswith("--"):
            yield line.strip()


def _batch(desk: Desk, asked: list[str], as_json: bool) -> None:
    """Asks all queries in turn. A query that is not valid does not stop the others, but makes the exit code 3."""
    told: list[dict[str, Any]] = []
    misunderstood = False
    for text in progress(iter(asked), len(asked), "asking"):
        try:
            reply = desk.ask(text)
        except Refused as refusal:
            misunderstood = True
            told.append({"question": text, "error": {"code": refusal.code, "message": refusal.message, "remedy": refusal.remedy}})
            if not as_json:
                say(f"{text}\n  {error_report(refusal, as_json=False)}")
        else:
            told.append(_as_values(reply))
            if not as_json:
                say(f"{text}\n  {reply}")
    if as_json:
        print_json({"replies": told, "summary": _summary_told(desk.summary()), "differentially_private": False})
    else:
        _show(desk.summary())
    if misunderstood:
        raise typer.Exit(3)


def _converse(desk: Desk) -> None:
    """Asks queries one by one until the end of input."""
    column = next(iter(desk.data.public), "a public column")
    say(f"{desk.data}\n{NOTE}\n{HELP.format(value=desk.data.value, column=column)}")
    while True:
        try:
            text = input("audit> ").strip()
        except (EOFError, KeyboardInterrupt):
            say("")
            return
        if text in ("quit", "exit"):
            return
        if text == "summary":
            _show(desk.summary())
        elif text in ("help", "?"):
            say(HELP.format(value=desk.data.value, column=column))
        elif text:
            try:
                say(f"  {desk.ask(text)}")
            except Refused as refusal:
                say(f"  {error_report(refusal, as_json=False)}")


def _as_values(reply: Reply) -> dict[str, Any]:
    values = {"question": reply.question, "answered": hasattr(reply, "answer"), "answer": getattr(reply, "answer", None)}
    return values | {"reason": reply.reason, "entry": reply.entry, "differentially_private": reply.differentially_private}


def _summary_told(summary: Summary) -> dict[str, Any]:
    outlook = [{"question": line.question, "rows": line.rows, "outcome": line.outcome} for line in summary.outlook]
    return {
        "auditor": summary.auditor,
        "facts": summary.facts,
        "answers": summary.answers,
        "refusals": summary.refusals,
        "said": summary.said,
        "outlook": outlook,
    }


def _show(summary: Summary) -> None:
    from rich.table import Table

    from tacit.doors.cli.screen import styled

    screen = console()
    screen.print(styled("\n", (summary.auditor, "bold"), f", {summary.facts}: {summary.said}"))
    screen.print(f"Refused so far: {summary.refusals:,}. {NOTE}\n")
    table = Table("query", "rows", "next reply", box=None, header_style="bold")
    for line in summary.outlook:
        colour = {"answered": "green", "refused": "yellow"}.get(line.outcome, "dim")
        table.add_row(line.question, f"{line.rows:,}", styled((line.outcome, colour)))
    screen.print(table)
