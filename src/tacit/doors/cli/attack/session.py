"""`tacit attack session`: every applicable attack, run against a copy of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, SeedOption
from tacit.doors.cli.output import console, print_json, progress
from tacit.doors.cli.which_catalog import load_catalog

if TYPE_CHECKING:
    from tacit.evidence.attacks.session_report import SessionReport
    from tacit.privacy.catalog import Catalog

VERDICT_COLOURS = {"failed": "green", "succeeded": "red", "too few to tell": "yellow"}


def session(
    catalog: Annotated[
        Path | None, typer.Option("--catalog", help="Catalog of the data set; a generated hospital if omitted.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Table whose people are attacked.")] = None,
    by: Annotated[str | None, typer.Option("--by", help="Column by which the attacker identifies people.")] = None,
    secret: Annotated[str | None, typer.Option(help="Secret to find out, as an SQL condition.")] = None,
    epsilon: Annotated[str, typer.Option(help="Budget of each attack, on a ledger of its own.")] = "1",
    seed: SeedOption = 0,
    seeds: Annotated[int, typer.Option(help="Number of runs, each with new queries and new noise.", min=1)] = 3,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run every applicable attack against a copy of a data set. For the data owner only. Exits with 1 if an attack succeeds.

    Example: tacit attack session --seeds 1
    """
    from tacit.evidence.attacks.against_session import attack_session
    from tacit.evidence.attacks.questioner import chosen_target
    from tacit.privacy.loss import positive_budget

    budget = positive_budget(epsilon)
    with _attacked(catalog) as declared:
        target = chosen_target(declared, table, by, secret)
        found = attack_session(declared, target, budget, seed=seed, seeds=seeds, progress=progress)
    if chart is not None:
        found.chart(str(chart))
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
    if not found.holds:
        raise typer.Exit(1)


@contextmanager
def _attacked(given: Path | None) -> Iterator[Catalog]:
    """The named catalog, whose store is copied and left unchanged; or a temporary hospital."""
    from tacit.data.catalog import read_catalog

    if given is not None:
        yield load_catalog(given)
        return
    from tacit.data.prepare import prepare
    from tacit.doors.cli.demo import hospital

    with TemporaryDirectory(prefix="tacit-attack-") as name:
        catalog = read_catalog(hospital.build(Path(name)))
        prepare(catalog)
        yield catalog


def _print(found: SessionReport) -> None:
    from rich.table import Table

    from tacit.doors.cli.screen import styled

    table = Table("attack", "measure", box=None, header_style="bold")
    for heading in ("figure", "chance limit", "expected"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for one in found.findings:
        expected = "" if one.predicted is None else f"{one.predicted:.3g}"
        verdict = styled((one.verdict, VERDICT_COLOURS[one.verdict]))
        table.add_row(one.attack, one.measure, f"{one.figure:.3g}", f"{one.limit:.3g}", expected, verdict)
    screen = console()
    screen.print(styled(("For the data owner only; not for publication.", "bold"), " The figures are computed from the true data."))
    screen.print(table)
    screen.print(f"{found.setting} {found.verdict}")
