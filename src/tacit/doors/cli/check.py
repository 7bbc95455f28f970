"""`tacit check`: is the catalog sound, what does it let an analyst ask, and does the store still fit it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

import typer

from tacit.accounting.ledger.caps import at_least
from tacit.doors.cli.output import console, print_json
from tacit.doors.cli.which_catalog import CatalogOption, load_catalog
from tacit.errors import InvalidCatalog, Problem
from tacit.privacy.rounding import counted

UNUSABLE = 4
OPEN = "is not filled in yet"  # the example shows how
STORE = {
    "ready": "The store fits the catalog (prepared {prepared_at}).",
    "stale": "The store is stale: the catalog has changed since it was prepared ({prepared_at}). Run `tacit prepare`.",
    "missing": "There is no store yet. Run `tacit prepare`.",
}

NEWER = "The store is stale: the source of {} has changed since it was prepared ({}). Run `tacit prepare`."


def check(
    catalog: CatalogOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check the catalog: what it declares, what can be asked, and whether the store matches it. Reads no data.

    Exits with 4 if the catalog is invalid or the file of a source is missing.

    Example: tacit check
    """
    from tacit.doors.cli.check_report import described

    try:
        report = described(load_catalog(catalog))
    except InvalidCatalog as unusable:
        if as_json or not any(problem.what == OPEN for problem in unusable.problems):
            raise
        _print_problems(unusable)
        raise typer.Exit(UNUSABLE) from None
    if as_json:
        print_json(report)
    else:
        _print(report)
    if report["problems"]:
        raise typer.Exit(UNUSABLE)


def _print_problems(unusable: InvalidCatalog) -> None:
    """All problems of an unfinished catalog in one table on standard error; columns that share a problem share a line."""
    from rich.table import Table

    from tacit.doors.cli.screen import Screen, styled

    screen = Screen(stderr=True, width=console().width)
    screen.print(styled((unusable.message, "bold red")), soft_wrap=True)
    grid = Table(box=None, header_style="dim", padding=(0, 2))
    for heading in ("line", "where", "problem", "for example"):
        grid.add_column(heading, overflow="fold")
    for lines, where, what, remedy in grouped_problems(unusable.problems):
        grid.add_row(lines, where, what, remedy.rpartition("; for example ")[2] if what == OPEN else remedy)
    screen.print(grid)


def grouped_problems(problems: Sequence[Problem]) -> list[tuple[str, str, str, str]]:
    """Lines, keys, problem and remedy; keys of one table with the same problem and the same remedy are one row.

    >>> same = [Problem(f"tables.t.columns.{name}", "is missing", f"add {name} = 1", line) for line, name in enumerate("abc", 7)]
    >>> grouped_problems(same)
    [('7-9', 'tables.t.columns: a, b, c', 'is missing', 'add NAME = 1')]
    """
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        table, _, name = _parted(problem.key)
        remedy = problem.remedy if not table else problem.remedy.replace(f" {name} = ", " NAME = ")
        groups.setdefault((table or problem.key, problem.what, remedy), []).append(problem)
    return [_row(where, what, remedy, each) for (where, what, remedy), each in groups.items()]


COLUMN = re.compile(r'(tables\..+\.columns)\.((?:"(?:[^"\\]|\\.)*"|[^."]+))(?:\.([a-z_]+))?')


def _parted(key: str) -> tuple[str, str, str]:
    """The table of a column with the key in its declaration, the column, and the last name of the whole; empty for other keys."""
    match = COLUMN.fullmatch(key)
    if match is None:
        return "", "", key
    table, column, member = match.groups()
    return (f"{table}, {member}", column, member) if member else (table, column, column)


def _row(where: str, what: str, remedy: str, problems: Sequence[Problem]) -> tuple[str, str, str, str]:
    lines = [problem.line for problem in problems if problem.line is not None]
    if len(problems) == 1:
        return "".join(map(str, lines)), problems[0].key, what, problems[0].remedy
    first, last = min(lines, default=0), max(lines, default=0)
    names = ", ".join(_parted(problem.key)[1] for problem in problems)
    return f"{first}-{last}" if lines else "", f"{where}: {names}", what, remedy


def _print(report: dict[str, Any]) -> None:
    from tacit.doors.cli.screen import styled

    screen = console()
    screen.print(styled((report["catalog"], "bold"), _verdict(report)), soft_wrap=True)
    for line in _promise(report):
        screen.print(line)
    for table in report["tables"]:
        screen.print(styled("\n", (table["name"], "bold"), f", {_rows(table)}"))
        _print_columns(table)
    screen.print()
    for problem in report["problems"]:
        screen.print(styled(("problem", "bold red"), f": {problem}"))
    for note in report["notes"]:
        screen.print(styled(("note", "yellow"), f": {note}"))
    screen.print(_store(report["store"]))
    screen.print(_ledger(report), soft_wrap=True)


def _verdict(report: dict[str, Any]) -> str:
    if not report["sound"]:
        return " has problems."
    store = report["store"]
    late = store["state"] == "stale" or "newer_sources" in store
    return " is sound, but its store is stale: run `tacit prepare`." if late else " is sound."


def _store(store: dict[str, Any]) -> str:
    if "problem" in store:
        return f"The store is stale: {store['problem']}."
    if store["state"] == "ready" and "newer_sources" in store:
        return NEWER.format(", ".join(store["newer_sources"]), store["prepared_at"])
    return STORE[store["state"]].format_map(store)


def _ledger(report: dict[str, Any]) -> str:
    """The amount spent, for the declared units; or the step to take first."""
    ledger = report["ledger"]
    if ledger["state"] == "missing":
        return "There is no ledger yet. Run `tacit ledger begin`, once."
    if ledger["state"] == "unusable":
        return f"The ledger cannot be used: {ledger['problem']}."
    spent, cap = ledger["spent"], report["budget"]["epsilon"]
    if ledger["state"] == "other units":
        return (
            f"The ledger counts for other units: {'; '.join(ledger['changed'])}. What was spent says nothing of the units that are "
            "declared now, and nothing is answered until you say how many old ones a new one can touch: tacit ledger units."
        )
    epsilon = "by rho alone" if spent["epsilon"] is None else f"epsilon {spent['epsilon']}"
    if "per" in report:
        rest = f"`tacit budget` shows each {report['per']}."
        rho = at_least(Fraction(spent["rho"]))
        return f"Spent so far, for a person in every {report['per']}: {epsilon}, rho {rho}, delta {spent['delta']}. {rest}"
    above = spent["epsilon"] is not None and Fraction(spent["epsilon"]) >= Fraction(cap)
    rest = " The sum of epsilons has reached the budget." if above else ""
    rho = at_least(Fraction(spent["rho"]))
    return f"Spent so far, for one unit as declared: {epsilon}, rho {rho}, delta {spent['delta']}.{rest}"


def _promise(report: dict[str, Any]) -> list[str]:
    budget = report["budget"]
    lines = [
        f"The promise: {report['promise']}, and everything ever released changes by at most "
        f"epsilon {budget['epsilon']}, delta {budget['delta']}."
    ]
    if report["changes"] == "public":
        lines.append('[store] changes = "public": analysts also learn whether anything changed between two preparations.')
    for name, caps in report["analysts"].items():
        listed = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in caps.items())
        lines.append(f"Analyst {name}: {listed or 'no cap but that of the data set'}.")
    return lines


def _rows(table: dict[str, Any]) -> str:
    if table["public"]:
        return f"public, from {table['source']}"
    most = table["max_rows"]
    limit = "" if table["unit"] == "row" else f", at most {counted(most, 'row')} of each"
    whose = "each row is one unit" if table["unit"] == "row" else table["owner"] or f"the unit is {table['unit']}"
    return f"from {table['source']}: {whose}{limit}, at most {counted(table['rows_at_most'], 'row')}"


def _print_columns(table: dict[str, Any]) -> None:
    from rich.table import Table

    if not table["columns"]:
        asked = "every column may be asked about, as it is found in the data" if table["public"] else "only COUNT(*) may be asked"
        console().print(f"  {asked}")
        return
    grid = Table("column", "kind", "declared", "NULL", "what may be asked", box=None, header_style="dim", padding=(0, 2))
    for column in table["columns"]:
        null = "possible" if column["nullable"] else "no"
        grid.add_row(column["name"], column["kind"], column["declared"], null, column["may_ask"])
    console().print(grid)
