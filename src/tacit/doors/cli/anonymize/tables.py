"""`tacit anonymize table`, `lattice`, `hierarchy` and `suppress`: a table made anonymous, and the searches and files behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import bar, console, figure, print_json, say
from tacit.errors import InvalidInput
from tacit.privacy.rounding import counted

if TYPE_CHECKING:
    from tacit.publish.tables.anonymized import Anonymized
    from tacit.publish.tables.cells.released import Contingency
    from tacit.publish.tables.cells.suppression import Suppressed
    from tacit.publish.tables.requirements import Requirements
    from tacit.publish.tables.search import Found
    from tacit.publish.tables.table import Table

BANNER = "Not differentially private: these models protect against some attackers only."

Hierarchies = Annotated[
    Path | None, typer.Option("--hierarchies", help="Folder with one hierarchy per quasi-identifier, named COLUMN.csv.")
]
Config = Annotated[
    Path | None, typer.Option("--config", help="TOML with columns, models, suppression and utility; options replace its keys.")
]
Quasi = Annotated[str | None, typer.Option("--quasi", help="Quasi-identifiers, comma-separated.")]
Sensitive = Annotated[str | None, typer.Option("--sensitive", help="Sensitive columns, comma-separated.")]
DropMissing = Annotated[
    str | None,
    typer.Option("--drop-missing", help="Drop rows with a blank or with one of these values, comma-separated, for example '?'."),
]
K = Annotated[int | None, typer.Option("--k", help="k-anonymity: rows that each group has at least.")]
L = Annotated[
    str | None,
    typer.Option("--l", help="l-diversity: distinct:2, entropy:2, frequency:2 or recursive:3:2 (c, then l)."),
]
T = Annotated[str | None, typer.Option("--t", help="t-closeness: 0.2 (equal distance), ordered:0.2 or hierarchical:0.2.")]
Alpha = Annotated[str | None, typer.Option("--alpha", help="(alpha, k)-anonymity: largest share of a sensitive value in a group.")]
Delta = Annotated[
    str | None, typer.Option("--delta-disclosure", help="delta-disclosure: largest |ln| of a share in a group over the table's.")
]
Suppress = Annotated[str | None, typer.Option("--suppress", help="Share of the rows that may be suppressed, for example 0.02.")]
Utility = Annotated[
    str | None,
    typer.Option("--utility", help="Loss to minimize: discernibility, average, precision, ncp, entropy, kl or queries."),
]


Separate = Annotated[
    bool | None,
    typer.Option("--separate", help="Protect each sensitive column alone; else the others count as known.", show_default=False),
]


def names(text: str | None) -> tuple[str, ...]:
    """The names of a comma-separated list.

    >>> names("age, sex,"), names(None)
    (('age', 'sex'), ())
    """
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def given(**options: Any) -> dict[str, Any]:
    """The arguments of `Requirements` that were given as options; texts become lists and shares."""
    from tacit.publish.tables.requirements import share

    arguments = {name: value for name, value in options.items() if value is not None}
    for name in ("quasi", "sensitive", "keep", "drop_missing"):
        if name in arguments:
            arguments[name] = names(arguments[name])
    if "suppress" in arguments:
        arguments["suppress"] = share(arguments["suppress"])
    if arguments.pop("separate", False):
        arguments["strict"] = False
    return arguments


def required(config: Path | None, options: dict[str, Any]) -> Requirements:
    """The requirements of a configuration, with the options in place of its keys."""
    from tacit.publish.tables.configuration import read_configuration
    from tacit.publish.tables.requirements import Requirements

    declared = {"quasi": ()} if config is None else read_configuration(config)
    return Requirements(**{**declared, **options})


# --- `tacit anonymize table` -------------------------------------------------------------------------------------------------


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


# --- `tacit anonymize lattice` -----------------------------------------------------------------------------------------------


def lattice(
    file: Annotated[Path, typer.Argument(help="Table: a CSV or Parquet file.")],
    config: Config = None,
    hierarchies: Hierarchies = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    drop_missing: DropMissing = None,
    k: K = None,
    l: L = None,  # noqa: E741  # the field's own name for it
    t: T = None,
    alpha: Alpha = None,
    delta: Delta = None,
    separate: Separate = None,
    suppress: Suppress = None,
    utility: Utility = None,
    as_json: AsJson = False,
) -> None:
    """Search all full-domain generalizations for the one with the least loss. For the data owner; nothing is published.

    Example: tacit anonymize lattice people.csv --hierarchies hierarchies --quasi age,sex --sensitive disease --k 5 --l 2
    """
    options = given(quasi=quasi, sensitive=sensitive, drop_missing=drop_missing, k=k, l=l, t=t, alpha=alpha, delta=delta)
    rest = given(suppress=suppress, utility=utility, hierarchies=hierarchies, separate=separate)
    asked = required(config, options | rest)
    best, rows = _search_file(asked, file)
    levels = dict(zip(asked.quasi, best.node, strict=True))
    if as_json:
        print_json(_as_values(asked, best, rows, levels))
        return
    say(f"{best.satisfying:,} of {best.nodes:,} generalizations satisfy the models; {best.counted:,} were counted.")
    say(f"Least loss ({best.measure}): {figure(best.loss)}, at levels {', '.join(f'{name} {at}' for name, at in levels.items())}.")
    say(f"Suppressed rows: {best.suppressed:,} of {rows:,}.")
    say(BANNER)


def _search_file(asked: Requirements, file: Path) -> tuple[Found, int]:
    from tacit.publish.tables.measures import Losses
    from tacit.publish.tables.search import search

    with bar("reading") as told:
        table = asked.read(file)
        asked = asked.spelled(table)
        hierarchies = asked.hierarchies_of(table)
        conditions = asked.models(hierarchies).conditions(table, list(asked.sensitive))
        whole = asked.lattice(table, hierarchies)
        losses = Losses(whole, asked.k, asked.weights)
        return search(whole, conditions, losses, asked.utility, asked.limit(table), told), table.rows


def _as_values(asked: Requirements, best: Found, rows: int, levels: dict[str, int]) -> dict[str, Any]:
    return {
        "satisfying": best.satisfying,
        "nodes": best.nodes,
        "counted": best.counted,
        "minimal": [",".join(map(str, node)) for node in best.minimal()],
        "best": levels,
        "utility": best.measure,
        "loss": best.loss,
        "rows": rows,
        "suppressed": best.suppressed,
        "quasi": list(asked.quasi),
        "differentially_private": False,
    }


# --- `tacit anonymize hierarchy` ---------------------------------------------------------------------------------------------


def hierarchy(
    file: Annotated[Path, typer.Argument(help="File with one value per line and its coarser forms, separated by semicolons.")],
    most: Annotated[int, typer.Option(help="Most forms to draw under one form.", min=2)] = 12,
    as_json: AsJson = False,
) -> None:
    """Check that the levels of a hierarchy nest, and draw it as a tree.

    Example: tacit anonymize hierarchy hierarchies/age.csv
    """
    from tacit.publish.tables.hierarchy import Hierarchy

    read = Hierarchy.read(file)
    forms = [len(each) for each in read.forms]
    if as_json:
        print_json({"name": read.name, "levels": len(forms), "forms": forms, "tree": list(read.tree(most))})
        return
    say(f"{read.name}: {counted(len(forms), 'level')} with {', '.join(f'{each:,}' for each in forms)} values.")
    say("\n".join(read.tree(most)))


# --- `tacit anonymize suppress` ----------------------------------------------------------------------------------------------


SHOWN = 60  # cells that are printed; --json has all of them
WARNING = "Not differentially private: which cells are hidden depends on the counts, and whoever knows the threshold knows more."


def suppress_cells(
    file: Annotated[Path, typer.Argument(help="Rows to count (CSV or Parquet).")],
    columns: Annotated[str, typer.Option(help="Columns of the table of counts, separated by commas.")] = "",
    below: Annotated[int, typer.Option(help="Hide every count from 1 to below this number.", min=2)] = 5,
    width: Annotated[int, typer.Option(help="Least width of the interval of a hidden small count.", min=1)] = 5,
    marginal: Annotated[
        list[str] | None, typer.Option(help="Published marginal: its columns, separated by commas. One per column by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Hide the small counts of a table, and further ones until no small count can be narrowed down. Not differentially private.

    Example: tacit anonymize suppress patients.parquet --columns sex,diagnosis
    """
    from tacit.publish.tables.cells.released import contingency
    from tacit.publish.tables.cells.suppression import suppress
    from tacit.publish.tables.table import Table

    names = [each.strip() for each in columns.split(",") if each.strip()]
    if not names:
        raise InvalidInput("no column is named; name the columns with --columns, separated by commas")
    table = contingency(Table.read(file, names), names)
    sets = [table.axes([part.strip() for part in each.split(",")]) for each in marginal or names]
    result = suppress(table.counts, below, width, sets)
    if as_json:
        print_json({"differentially_private": False, **_cells_told(table, result)})
    else:
        _print(table, result)


def _cells_told(table: Contingency, result: Suppressed) -> dict[str, Any]:
    cells = [
        {"cell": list(table.labels(cell)), "count": None if result.hidden[cell] else int(table.counts[cell])}
        for cell in table.cells()
    ]
    return {"columns": list(table.columns), "cells": cells, "hidden": int(result.hidden.sum()), "small": int(result.small.sum())}


def _print(table: Contingency, result: Suppressed) -> None:
    from rich.table import Table

    shown = Table(*table.columns, "count", box=None, header_style="bold")
    every = table.cells()
    for cell in every[:SHOWN]:
        shown.add_row(*table.labels(cell), "hidden" if result.hidden[cell] else f"{table.counts[cell]:,}")
    console().print(shown)
    if len(every) > SHOWN:
        say(f"... and {len(every) - SHOWN:,} more cells; --json prints all of them")
    narrow = (
        ""
        if result.narrowest is None
        else f" Every small count can be anything in an interval of width {result.narrowest} or more."
    )
    say(f"{int(result.hidden.sum()):,} of {len(every):,} counts are hidden.{narrow}")
    say(WARNING)
