"""`tacit anonymize sample-risk`: how likely a random sample of a table gives somebody away."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.anonymize.check import read_rows
from tacit.doors.cli.anonymize.options import DropMissing, names
from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import console, print_json, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.publish.tables.sampling import SampleRisk

SHOWN = 12  # lines of rare values
LIKELY = 0.95


class Design(StrEnum):
    """How rows are drawn."""

    bernoulli = "bernoulli"
    fixed = "fixed"


def sample_risk(
    file: Annotated[Path, typer.Argument(help="Table to sample from, a CSV or Parquet file.")],
    columns: Annotated[str, typer.Option(help="Columns that the sample would show, comma-separated.")],
    rate: Annotated[str, typer.Option(help="Share of the rows to draw, for example 0.01.")],
    epsilon: Annotated[str, typer.Option(help="Largest privacy loss that counts as private.")] = "1",
    design: Annotated[
        Design, typer.Option(help="bernoulli: each row by itself; fixed: a fixed number of rows.")
    ] = Design.bernoulli,
    least: Annotated[float | None, typer.Option(help="Least probability to require; exits with 1 below it.", min=0, max=1)] = None,
    drop_missing: DropMissing = None,
    as_json: AsJson = False,
) -> None:
    """Compute the probability that a random sample of a table gives nobody away. For the data owner: not to be published.

    Example: tacit anonymize sample-risk people.csv --columns sex,disease --rate 0.01
    """
    from tacit.publish.tables.sampling import sample_risk as risk_of

    shown = names(columns)
    if not shown:
        raise InvalidInput("no column is named; give for example --columns age,sex")
    rows = read_rows(file, shown, [], (drop_missing, None), [])
    found = risk_of(rows, rate, epsilon, design.value)
    if as_json:
        print_json(found.as_dict())
    else:
        _show(found)
    if least is not None and found.low < least:
        raise typer.Exit(1)


def _show(risk: SampleRisk) -> None:
    from rich.table import Table

    from tacit.privacy.rounding import as_text
    from tacit.publish.tables.risk import NOT_TO_BE_PUBLISHED

    between = f"{risk.low:.4g}" if risk.low == risk.high else f"{risk.low:.4g} to {risk.high:.4g}"
    say(f"{risk.rows:,} rows, rate {as_text(risk.rate)}, {risk.design}; private means a loss of at most {as_text(risk.epsilon)}.")
    say(f"Probability that the sample is private for everyone: {between} ({NOT_TO_BE_PUBLISHED})")
    say(f"The same for a table of this size whose rows are all unique: {risk.all_unique:.4g}")
    say(f"Unique values: {risk.uniques:,}, of which {risk.exposed:,.4g} are drawn on average.")
    say(f"For a probability of {LIKELY}, at most {risk.uniques_at_most(LIKELY):,} values may be unique.\n")
    table = Table(
        "people per value", "values", "most that may be drawn", "chance to draw more of one", box=None, header_style="bold"
    )
    for each in risk.by_holders[:SHOWN]:
        table.add_row(f"{each.holders:,}", f"{each.values:,}", f"{each.most:,}", f"{each.chance:.3g}")
    console().print(table)
    if len(risk.by_holders) > SHOWN:
        say(f"... and {len(risk.by_holders) - SHOWN:,} more group sizes")
    say("\nNot differentially private: whoever has a unique value and is drawn is given away, whatever the rate.")
