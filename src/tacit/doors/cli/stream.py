"""`tacit stream`: running totals over all periods so far, in which each period pays once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.chart import check_format
from tacit.doors.cli.ask import (
    AnalystOption,
    AsJson,
    Confidence,
    Delta,
    Epsilon,
    ServerOption,
    print_answer,
    read_budget,
    respondent,
    text_of,
)
from tacit.doors.cli.output import console, print_json
from tacit.doors.cli.which_catalog import CatalogOption
from tacit.files import check


def stream(
    question: Annotated[
        str | None, typer.Argument(metavar="[SQL]", help="One SELECT with :last, the last day that it reads.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="File with the question; - is standard input.")] = None,
    *,
    through: Annotated[str, typer.Option("--through", metavar="PERIOD", help="Last period to read, for example 2026-09.")],
    horizon: Annotated[int, typer.Option("--horizon", min=2, help="Number of periods that the stream will ever have.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    confidence: Confidence = "0.95",
    explain: Annotated[bool, typer.Option("--explain", help="Print prices and errors over the horizon; spends nothing.")] = False,
    chart: Annotated[Path | None, typer.Option("--chart", help="Chart of the totals: a .svg, .png or .html file.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: AsJson = False,
    analyst: AnalystOption = None,
    server: ServerOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Read a stream up to a period: each period pays once, when it is first read, and what was read before is free.

    Repeat the question, the horizon and the budget every period. They name the stream: with others, another one begins.

    Example: tacit stream --file totals.sql --through 2026-04 --horizon 120 --epsilon 0.3 --delta 1e-8
    """
    if chart is not None:
        check_format(chart)
        check(chart)
    text = text_of(question, file)
    asked = {"through": through, "horizon": horizon, **read_budget(epsilon, delta, None, confidence, False, no_interval=False)}
    with respondent(catalog, analyst, server) as session:
        if explain:
            told = session.explain_stream(text, **asked)
            print_json(told.to_dict()) if as_json else console().print(str(told), soft_wrap=True)
            return
        answer = session.stream(text, **asked)
    print_answer(answer, as_csv, as_json)
    if chart is not None:
        answer.chart(chart)
