"""`tacit margins`: counts and sums by every set of a few columns, as one question at one price."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tacit.doors.cli.ask import (
    AnalystOption,
    AsJson,
    Confidence,
    Delta,
    Epsilon,
    Fresh,
    Simultaneous,
    Tidy,
    opened,
    print_answer,
    read_budget,
)
from tacit.doors.cli.output import console, print_json
from tacit.doors.cli.which_catalog import CatalogOption


def margins(
    table: Annotated[str, typer.Argument(help="Table whose rows are counted.")],
    columns: Annotated[
        str,
        typer.Option("--columns", metavar="LIST", help="Columns with public values, or in intervals: ward,age:5/10."),
    ],
    ways: Annotated[int, typer.Option("--ways", min=1, max=6, help="Most columns of one margin.")] = 2,
    sums: Annotated[str, typer.Option("--sums", metavar="LIST", help="Columns to add up beside the counts.")] = "",
    prefixes: Annotated[
        str,
        typer.Option("--prefixes", metavar="LIST", help="Columns in intervals whose counts are cumulative."),
    ] = "",
    where: Annotated[str, typer.Option("--where", help="Condition on the rows, as in SQL.")] = "",
    loss: Annotated[
        str | None, typer.Option("--loss", help="Error to make small: squares (of all cells together) or largest (of any cell).")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    confidence: Confidence = "0.95",
    simultaneous: Simultaneous = False,
    tidy: Tidy = False,
    fresh: Fresh = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print the error of every margin; spends nothing.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: AsJson = False,
    analyst: AnalystOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Release all margins of a table up to a number of columns, with noise shaped to all of them. Totals agree with their parts.

    Example: tacit margins patients --columns sex,diagnosis --ways 2 --epsilon 0.1
    """
    asked: dict[str, Any] = {"ways": ways, "sums": _listed(sums), "where": where, "prefixes": _listed(prefixes)}
    asked |= read_budget(epsilon, delta, None, confidence, simultaneous, no_interval=False)
    asked |= {} if loss is None else {"loss": loss}
    session = opened(catalog, analyst)
    with session.data:
        if explain:
            explanation = session.explain_margins(table, _listed(columns), **asked)
            if as_json:
                print_json(explanation.to_dict())
            else:
                console().print(str(explanation), soft_wrap=True)
            return
        answer = session.margins(table, _listed(columns), **asked, tidy=tidy, fresh=fresh)
    print_answer(answer, as_csv, as_json)


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
