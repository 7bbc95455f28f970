"""`tacit anonymize table`: a table made anonymous, written with a receipt that says what it does not protect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.anonymize.options import (
    BANNER,
    Alpha,
    Config,
    Delta,
    DropMissing,
    Hierarchies,
    K,
    L,
    Quasi,
    Sensitive,
    Separate,
    Suppress,
    T,
    Utility,
    given,
    required,
)
from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import bar, figure, print_json, say

if TYPE_CHECKING:
    from tacit.publish.tables.anonymized import Anonymized
    from tacit.publish.tables.table import Table


def table(
    file: Annotated[Path, typer.Argument(help="Table: a CSV or Parquet file.")],
    out: Annotated[Path, typer.Option("--out", help="File for the published table: .csv, .csv.gz or .parquet.")],
    config: Config = None,
    hierarchies: Hierarchies = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    keep: Annotated[str | None, typer.Option("--keep", help="Other columns to publish as they are, comma-separated.")] = None,
    drop_missing: DropMissing = None,
    k: K = None,
    l: L = None,  # noqa: E741  # the field's own name for it
    t: T = None,
    alpha: Alpha = None,
    delta: Delta = None,
    separate: Separate = None,
    suppress: Suppress = None,
    suppressed: Annotated[
        str | None, typer.Option("--suppressed", help="Suppressed rows: star (published with *) or drop (left out).")
    ] = None,
    utility: Utility = None,
    method: Annotated[
        str | None, typer.Option("--method", help="lattice, local, mondrian, mondrian-relaxed or mdav.", show_default=False)
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="HTML report for the data owner; never written next to --out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Publish a table under k-anonymity and further models. Columns without a role are left out. Not differentially private.

    Example: tacit anonymize table people.csv --hierarchies hierarchies --quasi age,sex --sensitive disease --k 5 --out public.csv
    """
    columns = given(quasi=quasi, sensitive=sensitive, keep=keep, drop_missing=drop_missing, hierarchies=hierarchies)
    models = given(k=k, l=l, t=t, alpha=alpha, delta=delta, separate=separate)
    rest = given(suppress=suppress, suppressed=suppressed, utility=utility, method=method)
    _publish(file, out, config, columns | models | rest, report, as_json)


def _publish(file: Path, out: Path, config: Path | None, options: dict[str, Any], report: Path | None, as_json: bool) -> None:
    from tacit.publish.tables.anonymized import anonymize
    from tacit.release.curators import check_report, curators_place, write_for_curator
    from tacit.release.outputs import check_output

    asked = required(config, options)
    check_output(out, [file, *([config] if config else [])])
    place = None if report is None else check_report(curators_place(report, out))
    with bar("reading") as told:
        rows = asked.read(file)
        made = anonymize(rows, asked, told)
        page = None if place is None else _page(made, rows, told)
        receipt = made.save(out)
        if place is not None and page is not None:
            write_for_curator(page, place, after="the table is written; its report is not")
    if as_json:
        print_json({"out": str(out), "receipt": str(receipt), "report": place and str(place), **made.to_dict()})
        return
    _show(made, out)
    if place is not None:
        moved = "" if place == report else f" (instead of {report}, which is in the folder of the public output)"
        say(f"For the data owner only: {place}{moved}.")


def _page(made: Anonymized, rows: Table, told: Any) -> str:
    from tacit.publish.tables.report import report_page

    if told is not None:
        told("writing the report", 0.9)
    return report_page(made, rows)


def _show(made: Anonymized, out: Path) -> None:
    say(f"{made}.")
    losses = ", ".join(f"{measure} {figure(loss)}" for measure, loss in made.losses.items())
    say(f"Losses (smaller is better): {losses}.")
    say(f"Written: {out} and its receipt. {BANNER}")
