"""`tacit anonymize adversary`: epsilon-privacy of a group, or of every group of a file, against Dirichlet adversaries."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import console, print_json, say
from tacit.errors import InvalidInput
from tacit.privacy.rounding import counted

if TYPE_CHECKING:
    from tacit.publish.tables.adversary.report import GroupReport


class AdversaryClass(StrEnum):
    """Who is guarded against."""

    one = "I"
    two = "II"
    three = "III"
    four = "IV"


def adversary(
    file: Annotated[Path | None, typer.Argument(help="Published table to judge (CSV or Parquet), instead of --counts.")] = None,
    counts: Annotated[str, typer.Option(help="Rows of one group with each sensitive value, separated by commas.")] = "8,2,2",
    prior: Annotated[str, typer.Option(help="Prior of the first values, separated by commas; the others share the rest.")] = "0.1",
    stubbornness: Annotated[str, typer.Option(help="Stubbornness of each adversary, separated by commas; inf is allowed.")] = "10",
    ratio: Annotated[str, typer.Option(help="Largest ratio of beliefs that counts as private.")] = "2",
    known: Annotated[int, typer.Option(help="Rows of the group that the adversary knows.", min=0)] = 0,
    quasi: Annotated[str, typer.Option(help="Quasi-identifiers of the file, separated by commas.")] = "",
    sensitive: Annotated[str, typer.Option(help="Sensitive column of the file.")] = "",
    against: Annotated[
        AdversaryClass, typer.Option(help="Class of adversaries that the file is judged against.")
    ] = AdversaryClass.two,
    chart: Annotated[Path | None, typer.Option(help="File for a chart of both limits: .svg, .png or .html.")] = None,
    as_json: AsJson = False,
) -> None:
    """Judge epsilon-privacy against Dirichlet adversaries: beliefs with and without a row. Not differentially private.

    Exits with 1 if a group of FILE is not private.

    Example: tacit anonymize adversary --counts 8,2,2 --prior 0.1 --stubbornness 10,100,1000,inf
    """
    from tacit.publish.tables.adversary.report import group_report

    if file is not None:
        _judge_file(file, [each for each in quasi.split(",") if each], sensitive, (against, stubbornness, ratio), as_json)
        return
    found = group_report(_whole(counts), prior.split(","), stubbornness.split(","), ratio, known)
    if chart is not None:
        found.chart(str(chart))
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)


def _whole(text: str) -> list[int]:
    try:
        return [int(each) for each in text.split(",")]
    except ValueError as error:
        raise InvalidInput("--counts must be whole numbers separated by commas, for example 8,2,2") from error


def _print(found: GroupReport) -> None:
    from rich.table import Table

    from tacit.publish.tables.adversary.report import told

    rows = Table("stubbornness", "with the row", "without it", "ratio", "ratio of other values", box=None, header_style="bold")
    for line in found.lines:
        held = line.belief
        ratios = [told(each) if each == float("inf") else f"{float(each):.3f}" for each in (held.ratio, held.other_ratio)]
        share = str(held.with_row) if found.known else f"{found.counts[0]}/{sum(found.counts)}"
        beliefs = [f"{share} = {float(held.with_row):.3f}", f"{held.without} = {float(held.without):.3f}"]
        rows.add_row(told(line.stubbornness), *beliefs, *ratios)
    screen = console()
    known = f", {counted(found.known, 'row')} known" if found.known else ""
    screen.print(f"Belief in the first value of a group with counts {', '.join(map(str, found.counts))}{known}")
    screen.print(rows)
    for name, verdict in found.verdicts().items():
        screen.print(
            f"{name}, ratio {told(found.ratio)}: {'passes' if verdict.passes else 'fails'} ({verdict.needs})", soft_wrap=True
        )
    screen.print(found.summary(), soft_wrap=True)


def _judge_file(path: Path, quasi: list[str], sensitive: str, how: tuple[AdversaryClass, str, str], as_json: bool) -> None:
    """Every group of a file, against one class."""
    from tacit.privacy.rounding import exact
    from tacit.publish.tables.adversary.beliefs import Extended, Prior
    from tacit.publish.tables.adversary.classes import Adversary, ClassI, ClassII, ClassIII, ClassIV
    from tacit.publish.tables.adversary.groups import judge_table
    from tacit.publish.tables.table import Table

    kind, written, limit = how
    sigma: Extended = float("inf") if written == "inf" else exact(written, "stubbornness")

    def made(shares: tuple[Fraction, ...]) -> Adversary:
        if kind is AdversaryClass.one:
            return ClassI(Prior(shares, sigma))
        if kind is AdversaryClass.two:
            return ClassII(sigma)
        return ClassIII(shares) if kind is AdversaryClass.three else ClassIV()

    found = judge_table(Table.read(path, [*quasi, sensitive]), quasi, sensitive, made, exact(limit, "ratio"))
    words = (
        f"{found.groups - found.failing:,} of {found.groups:,} groups are private against Class {kind.value} for the ratio {limit}"
    )
    if as_json:
        example = None if found.example is None else list(found.example)
        counted = {"passes": found.passes, "groups": found.groups, "failing": found.failing, "failing_rows": found.failing_rows}
        print_json(counted | {"class": kind.value, "example": example, "needs": found.needs, "publish": False})
    else:
        say(f"{words}. Not differentially private. These figures are facts about private data; do not publish them.")
        if found.example is not None:
            say(f"A group that is not private has counts {', '.join(map(str, found.example))}; it needs: {found.needs}.")
    if not found.passes:
        raise typer.Exit(1)
