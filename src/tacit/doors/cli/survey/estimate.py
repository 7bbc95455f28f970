"""`tacit survey estimate`: estimates of the true answers from the reports, with intervals."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.output import console, figure, keep_what_is_read, print_json, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.publish.local.survey.declaration import Question, Survey
    from tacit.publish.local.survey.reports import Store
    from tacit.publish.local.survey.results import Compared, Result


class BoundName(StrEnum):
    """The bounds to choose from; those in `OF_SHARES` only if every question is about shares."""

    best = "best"
    chebyshev = "chebyshev"
    chebyshev_as_printed = "chebyshev-as-printed"
    hoeffding = "hoeffding"
    chernoff = "chernoff"
    bernstein = "bernstein"
    normal = "normal"


OF_SHARES = (BoundName.chernoff, BoundName.chebyshev_as_printed)  # they count reports, each of which supports a category or not


def estimate(
    declaration: Annotated[Path, typer.Argument(metavar="SURVEY", help="Survey declaration, such as survey.toml.")],
    store: Annotated[Path, typer.Option(help="SQLite file written by `tacit survey collect`.")] = Path("answers.sqlite"),
    bound: Annotated[
        BoundName,
        typer.Option(
            help="Bound of the intervals: `best` is the tightest guaranteed bound; `normal` is an approximation; "
            "`chernoff` and `chebyshev-as-printed` apply only to shares."
        ),
    ] = BoundName.best,
    confidence: Annotated[float, typer.Option(help="Confidence level of each interval.")] = 0.95,
    simultaneous: Annotated[bool, typer.Option("--simultaneous", help="Intervals that hold for all shares at once.")] = False,
    population: Annotated[
        bool, typer.Option("--population", help="Intervals for the population that the respondents are a random sample of.")
    ] = False,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Consistent shares: at least 0, with sum 1. No longer unbiased.")
    ] = False,
    by_group: Annotated[bool, typer.Option("--by-group", help="Estimates for each declared group.")] = False,
    compare: Annotated[str, typer.Option(metavar="ONE,OTHER", help="Two groups to compare: the first minus the second.")] = "",
    csv: Annotated[Path | None, typer.Option(help="CSV file for the estimates.")] = None,
    chart: Annotated[Path | None, typer.Option(help="File for a chart of the estimates: .svg, .png or .html.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Estimate the true answers from the collected reports, with intervals.

    Example: tacit survey estimate survey.toml --store answers.sqlite --csv estimates.csv
    """
    from tacit.publish.local.estimates.estimate import Request
    from tacit.publish.local.survey import results
    from tacit.publish.local.survey.chart import chart as draw
    from tacit.publish.local.survey.reading import read_survey

    for written in (csv, chart):
        keep_what_is_read(written, declaration, store)
    if csv is not None and chart is not None and csv.resolve() == chart.resolve():
        raise InvalidInput(f"--csv and --chart name the same file, {csv}; give each its own file")
    survey = read_survey(declaration)
    request = Request(confidence, _bound_name(bound, survey, bool(compare)), simultaneous, population or survey.share == "sample")
    with _open(store, survey) as held:
        estimates = results.results(held, request, by_group)
        differences = results.comparisons(held, *_pair(compare), request) if compare else []
        counts = held.counts()
    if csv is not None:
        results.to_csv(estimates, differences, csv)
    if chart is not None:
        draw(estimates, differences, survey, chart)
    if as_json:
        print_json(_as_json(survey, counts, estimates, differences))
    else:
        _show(survey, counts, estimates, differences, consistent)
        _show_what_else(len(survey.questions) - len(differences) if compare else 0, [each for each in (csv, chart) if each])


def _show_what_else(not_compared: int, written: Sequence[Path]) -> None:
    if not_compared:
        say(f"\n{not_compared} questions are not compared, because one of the groups has no reports on them")
    if written:
        say(f"\nWritten: {' and '.join(map(str, written))}")


def _open(path: Path, survey: Survey) -> Store:
    from tacit.publish.local.survey.reports import Store

    if not path.is_file():
        raise InvalidInput(f"store not found: {path}; create it with `tacit survey collect`, or name another with --store")
    held = Store(path, survey)
    if not held.people():
        held.close()
        raise InvalidInput(f"{path} contains no counted reports; add some with `tacit survey collect`")
    return held


def _bound_name(asked: BoundName, survey: Survey, compared: bool) -> str | None:
    """The name of the bound in the library, None for the best; raises if it does not apply to every estimate."""
    if asked in OF_SHARES:
        numbers = [each.id for each in survey.questions if each.kind == "number"]
        other = f"{numbers[0]} is a number" if numbers else "--compare estimates a difference"
        if numbers or compared:
            alike = ", ".join(each for each in BoundName if each not in OF_SHARES)
            raise InvalidInput(f"--bound {asked} supports only shares, but {other}; use one of {alike}")
    return None if asked == BoundName.best else asked.replace("-", " ")


def _pair(text: str) -> tuple[str, str]:
    one, comma, other = (part.strip() for part in text.partition(","))
    if not (one and comma and other):
        raise InvalidInput(f"--compare must be two groups separated by a comma, such as ONE,OTHER, not {text!r}")
    return one, other


def _as_json(survey: Survey, counts: dict[str, int], estimates: list[Result], differences: list[Compared]) -> dict[str, Any]:
    from tacit.privacy.rounding import decimal_text

    return {
        "survey": survey.id,
        "epsilon": decimal_text(survey.epsilon),
        "reports": counts,
        "results": [_told_result(each) for each in estimates],
        "differences": [
            {
                "question": each.asked.question.id,
                "groups": list(each.groups),
                "terms": str(each.difference.terms),
                "rows": each.difference.to_rows(),
            }
            for each in differences
        ],
    }


def _told_result(each: Result) -> dict[str, Any]:
    from tacit.privacy.rounding import decimal_text

    head = {"question": each.asked.question.id, "ask": each.asked.question.ask, "group": each.group or None}
    head |= {"epsilon": decimal_text(each.asked.epsilon)}
    if each.estimate is None:
        return head | {"people": 0, "rows": []}
    terms = {"people": each.estimate.people, "margin": each.estimate.margin, "terms": str(each.estimate.terms)}
    names = ("category", "estimate", "low", "high", "consistent")
    return head | terms | {"rows": [{name: row[name] for name in names} for row in each.to_rows()]}


def _show(survey: Survey, counts: dict[str, int], estimates: list[Result], differences: list[Compared], consistent: bool) -> None:
    from tacit.doors.cli.screen import styled
    from tacit.doors.cli.survey.collect import counted

    screen = console()
    screen.print(survey.title, style="bold")
    screen.print(counted(counts))
    for each in estimates:
        group = f", {each.group}" if each.group else ""
        screen.print(f"\n{each.asked.question.ask}{group}", style="bold")
        screen.print(_table(each, consistent) if each.estimate else "  no reports")
        if each.estimate:
            screen.print(f"  {each.estimate.people:,} reports; {each.estimate.terms}", style="dim")
    for compared in differences:
        one, other = compared.groups
        screen.print(styled("\n", (compared.asked.question.ask, "bold"), f" {one} minus {other}"))
        screen.print(_differences(compared))
        first, second = compared.difference.people
        screen.print(f"  {first:,} and {second:,} reports; {compared.difference.terms}", style="dim")


def _table(each: Result, consistent: bool) -> Any:
    number = each.asked.question.kind == "number"
    table = _empty_table()
    for row in each.to_rows():
        value = row["consistent"] if consistent and not number else row["estimate"]
        shown = [figure(each) if number else f"{100 * each:.1f} %" for each in (value, row["low"], row["high"])]
        bar = "" if number else _bar(value, row["low"], row["high"])
        table.add_row(_name(each.asked.question, row), shown[0], f"{shown[1]} to {shown[2]}", bar)
    return table


def _differences(compared: Compared) -> Any:
    """A table of differences; those of shares are in percentage points."""
    number = compared.asked.question.kind == "number"
    table = _empty_table()
    for row in compared.difference.to_rows():
        value, low, high = (figure(row[key], "+") if number else f"{100 * row[key]:+.1f}" for key in ("difference", "low", "high"))
        points = "" if number else " points"
        table.add_row(_name(compared.asked.question, row), value + points, f"{low} to {high}", "differs" if row["differs"] else "")
    return table


def _empty_table() -> Any:
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=True)
    table.add_column(min_width=24, overflow="fold")
    for _ in range(2):
        table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    return table


def _name(question: Question, row: dict[str, Any]) -> str:
    """The label of a row: a category, or the mean with its unit."""
    unit = getattr(question, "unit", "")
    return (f"mean, {unit}" if unit else "mean") if question.kind == "number" else str(row["category"])


WIDTH = 30


def _bar(value: float, low: float, high: float) -> str:
    """The interval as a line from 0 to 1, with the estimate on it.

    >>> _bar(0.5, 0.25, 0.75)
    '       ────────●───────       '
    """
    cells = [" "] * WIDTH
    first, last = (min(int(end * WIDTH), WIDTH - 1) for end in (low, high))
    for at in range(first, last + 1):
        cells[at] = "─"
    cells[min(max(int(value * WIDTH), 0), WIDTH - 1)] = "●"
    return "".join(cells)
