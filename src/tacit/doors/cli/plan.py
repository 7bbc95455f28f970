"""`tacit plan`: the errors of questions that one means to ask, before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.ask import AsJson, Delta
from tacit.doors.cli.output import console, print_json
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.errors import InvalidInput
from tacit.privacy.rounding import as_text, decimal_text

if TYPE_CHECKING:
    from tacit.query.price.explanation import Expected
    from tacit.query.price.planned import Row, Share

LONGEST = 60  # characters of a question in a table
MOST_LIMITS = 10
READS_NOTHING = "From public parameters alone: no row was read, and nothing was spent."


def plan(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.sql", help="File with questions that semicolons end.")],
    epsilons: Annotated[
        str, typer.Option("--epsilons", metavar="LIST", help="Epsilons of one question to compare, at most 20.")
    ] = "0.1,0.5,1",
    max_rows: Annotated[
        str | None, typer.Option("--max-rows", metavar="LIST", help="Limits of rows per unit to compare, for example 1,4,8.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", metavar="EPSILON", help="Budget to split; the catalog's own by default.")
    ] = None,
    group_rows: Annotated[
        int | None, typer.Option("--group-rows", min=1, help="Assumed size of a group, for errors relative to it.")
    ] = None,
    delta: Delta = None,
    as_json: AsJson = False,
    catalog: CatalogOption = None,
) -> None:
    """Plan a budget: the error of each question at several epsilons and limits of rows, and a split that levels relative errors.

    Spends nothing, and reads no private data.

    Example: tacit plan questions.sql --group-rows 1000
    """
    from tacit.doors.shell import statements
    from tacit.query.language.sql import read
    from tacit.query.price.planned import Asking, errors_of, levelled
    from tacit.session import open as open_data

    texts = statements(questions.read_text("utf-8"))
    limits, steps = _limits(max_rows), [each.strip() for each in epsilons.split(",")]
    with closing(open_data(find_catalog(catalog))) as data:
        total = _total(split, data.catalog.budget.epsilon)
        budget = {name: value for name, value in {"delta": delta, "group_rows": group_rows}.items() if value is not None}
        asking = Asking(data.as_prepared, lambda: data.public_if_prepared, budget)
        asked = [read(text).statement for text in texts]
        rows, (shares, left_out) = errors_of(asked, asking, steps, limits), levelled(asked, asking, total)
    if as_json:
        parts = {"epsilon": decimal_text(total), "shares": [each.to_dict() for each in shares]}
        others = [{"question": place, "reason": reason} for place, reason in left_out.items()]
        errors = [row.to_dict() for row in rows]
        print_json({"questions": texts, "errors": errors, "split": {**parts, "left_out": others, "group_rows": group_rows}})
        return
    _print_errors(texts, rows, steps)
    _print_split(shares, left_out, total)


def _limits(given: str | None) -> list[int | None]:
    """The limits to compare; None is what the catalog declares."""
    said = [] if given is None else [each.strip() for each in given.split(",")]
    if len(said) > MOST_LIMITS or not all(each.isdecimal() and each.isascii() and 1 <= int(each) <= 10**6 for each in said):
        raise InvalidInput(f"--max-rows needs at most {MOST_LIMITS} whole numbers from 1 on; give for example --max-rows 1,4,8")
    return [None, *map(int, said)]


def _total(given: str | None, declared: Fraction) -> Fraction:
    from tacit.query.price.quote import request

    return declared if given is None else request(epsilon=given).epsilon or declared


def _print_errors(texts: Sequence[str], rows: Sequence[Row], epsilons: Sequence[str]) -> None:
    from rich.table import Table

    grid = Table("question", "", "max_rows", box=None, header_style="bold", padding=(0, 2))
    for epsilon in epsilons:
        grid.add_column(f"epsilon {epsilon}")
    for row in rows:
        first = row.max_rows is None
        text = " ".join(texts[row.question - 1].split())
        named = (str(row.question), text[:LONGEST] + ("…" if len(text) > LONGEST else "")) if first else ("", "")
        cells = [_errors(each.errors) for each in row.budgets] or [row.refused or "free"]
        grid.add_row(*named, "declared" if first else str(row.max_rows), *cells)
    console().print(grid)


def _errors(errors: Sequence[Expected]) -> str:
    return "\n".join(f"{each.column} {_width(each)}" for each in errors)


def _width(error: Expected) -> str:
    if error.half_width is not None:
        return f"± {float(error.half_width):.6g}"
    return "needs --group-rows" if error.error.startswith("needs") else "not known in advance"


def _print_split(shares: Sequence[Share], left_out: dict[int, str], total: Fraction) -> None:
    from rich.table import Table

    screen = console()
    if shares:
        screen.print(f"\nA split of epsilon {as_text(total)} with nearly equal relative errors:")
        grid = Table("question", "epsilon", "relative error", "errors", box=None, header_style="bold", padding=(0, 2))
        for each in shares:
            grid.add_row(str(each.question), as_text(each.epsilon), f"{float(each.relative):.2%}", _errors(each.errors))
        screen.print(grid)
    for place, reason in left_out.items():
        screen.print(f"Question {place} has no part in the split: {reason}.")
    screen.print(READS_NOTHING, style="dim")
