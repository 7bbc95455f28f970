"""`tacit synthesize table`: synthetic rows of a table in the catalog, paid from its budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AnalystOption, AsJson, PeriodsOption
from tacit.doors.cli.output import bar, console, print_json
from tacit.doors.cli.synthesize.map import SeedOption, refuse_seed
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.publish.synthetic.rows.contingency import SyntheticContingency
    from tacit.publish.synthetic.rows.release import SyntheticTable
    from tacit.session import DataSet


class Method(StrEnum):
    """The ways to make rows."""

    marginals = "marginals"
    tree = "tree"
    dirichlet = "dirichlet"


MethodOption = Annotated[
    Method,
    typer.Option(help="Noisy marginals in rounds, along one tree only, or Dirichlet resampling of the full table (few cells)."),
]
TargetOption = Annotated[str | None, typer.Option("--target", help="Column that matters most; its marginals have more weight.")]
WorkloadOption = Annotated[
    str | None,
    typer.Option("--workload", help="Marginals to measure, and no others: columns joined by +, for example sex+age,sex+age+town."),
]
StepsOption = Annotated[int | None, typer.Option("--steps", help="Number of rounds, at most; 6 for each column if omitted.")]
CopiesOption = Annotated[
    int | None,
    typer.Option("--copies", help="Also write this many copies from varied counts, to combine estimates over; they cost nothing."),
]
PublicReportOption = Annotated[
    Path | None,
    typer.Option("--public-report", help="HTML page of the measured margins with their intervals, and a JSON file beside it."),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(help="HTML report for the data owner, computed from the true data; never written next to --out."),
]
ColumnsOption = Annotated[str | None, typer.Option("--columns", help="Columns, comma-separated; all supported columns if omitted.")]
BinsOption = Annotated[
    int | None, typer.Option("--bins", help="Number of even bins for columns of many values that have none in the catalog.")
]


def table(
    name: Annotated[str, typer.Argument(metavar="TABLE", help="Private table of the catalog.")],
    out: Annotated[
        Path, typer.Option("--out", help="File for the rows: .parquet, .csv or .csv.gz; a receipt is written next to it.")
    ],
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Epsilon to spend, for example 1.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Delta to spend; allows Gaussian noise.")] = None,
    rows: Annotated[int | None, typer.Option("--rows", help="Number of rows; the noisy total if omitted.")] = None,
    columns: ColumnsOption = None,
    bins: BinsOption = None,
    periods: PeriodsOption = None,
    method: MethodOption = Method.marginals,
    target: TargetOption = None,
    workload: WorkloadOption = None,
    steps: StepsOption = None,
    copies: CopiesOption = None,
    public_report: PublicReportOption = None,
    report: ReportOption = None,
    seed: SeedOption = None,
    analyst: AnalystOption = None,
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """Publish synthetic rows of a table, with differential privacy for every unit. The budget is spent before any data is read.

    Example: tacit synthesize table patients --columns sex,diagnosis --epsilon 0.5 --analyst ana --out patients-synthetic.csv
    """
    refuse_seed(seed)
    from tacit.release.curators import check_report, curators_place
    from tacit.release.outputs import check_apart, check_output
    from tacit.session import open as open_data

    if rows is not None and rows < 1:
        raise InvalidInput(f"--rows must be at least 1, not {rows}; give for example --rows 1000, or remove it")
    make = _maker(method, target, workload, steps)
    check_output(out)
    _check_more(method, out, copies, public_report)
    if report is not None:
        check_report(curators_place(report, out))
    named = None if columns is None else [part.strip() for part in columns.split(",") if part.strip()]
    asked = {"epsilon": epsilon, "delta": delta or 0, "rows": rows, "columns": named, "bins": bins, "analyst": analyst}
    asked |= {} if periods is None else {"periods": periods}
    with open_data(find_catalog(catalog)) as data:
        check_apart(data.catalog, out)
        if method is Method.dirichlet:
            _resample(data, name, out, asked, report, as_json)
        else:
            _from_marginals(
                data, name, partial(make, **asked), Written(out, report, as_json, copies or 0, public_report, rows, periods)
            )


def _check_more(method: Method, out: Path, copies: int | None, public_report: Path | None) -> None:
    """Refuse copies and a public report that cannot be made, before anything is spent."""
    from tacit.publish.synthetic.rows.copies import read_copies
    from tacit.publish.synthetic.rows.report import check_public_report
    from tacit.release.outputs import check_output

    if method is Method.dirichlet and (copies, public_report) != (None, None):
        raise InvalidInput("--method dirichlet does not support --copies or --public-report; remove them")
    if copies is not None:
        for at in range(1, read_copies(copies) + 1):
            check_output(_copy_place(out, at))
    if public_report is not None:
        check_public_report(public_report)


def _copy_place(out: Path, at: int) -> Path:
    """Where a copy is written: rows-1.csv.gz beside rows.csv.gz."""
    stem, dot, ending = out.name.partition(".")
    return out.with_name(f"{stem}-{at}{dot}{ending}")


def _maker(method: Method, target: str | None, workload: str | None, steps: int | None) -> Callable[..., SyntheticTable]:
    """The function that makes rows from marginals, with what they are for."""
    from tacit.publish.synthetic.rows.release import synthesize_table, synthesize_tree
    from tacit.publish.synthetic.rows.rounds import Aim

    if method is not Method.marginals and (target, workload, steps) != (None, None, None):
        raise InvalidInput("--target, --workload and --steps belong to --method marginals; remove them, or --method")
    if method is Method.tree:
        return synthesize_tree
    return partial(synthesize_table, aim=Aim(target, _marginals(workload), steps))


def _marginals(workload: str | None) -> tuple[tuple[str, ...], ...]:
    """The marginals of a workload, written as sex+age,sex+age+town."""
    parts = [] if workload is None else [part.strip() for part in workload.split(",")]
    if workload is not None and not all(parts):
        raise InvalidInput("a marginal of --workload is empty; give for example --workload sex+age,sex+town")
    return tuple(tuple(name.strip() for name in part.split("+")) for part in parts)


@dataclass(frozen=True)
class Written:
    """Where the rows, their copies and the reports go, and whether the receipt is printed as JSON."""

    out: Path
    report: Path | None
    as_json: bool
    copies: int = 0
    public: Path | None = None
    rows: int | None = None
    periods: str | None = None


def _from_marginals(data: DataSet, name: str, make: Callable[..., SyntheticTable], written_to: Written) -> None:
    out, report, as_json, public = written_to.out, written_to.report, written_to.as_json, written_to.public
    with bar("synthesizing") as told:
        made = make(data, name, told=told)
        if told is not None:
            told("writing", 0.99)
        made, copies = _with_copies(made, written_to)
        receipt = made.save(out)
        written = None if report is None else _write_report(data, made, written_to)
    if as_json:
        beside = {"copies": copies, "report": written and str(written), "public_report": public and str(public)}
        print_json({"out": str(out), "receipt": str(receipt), **beside, **made.to_dict()})
        return
    _say(f"{made}.")
    noise = made.noise
    pairs = f", {noise['pair']:.3g} for a pair" if noise["pair"] else ""
    last = f" in the first round and {noise['last']:.3g} in the last" if noise.get("last") else ""
    _say(f"Standard deviation of the noise per cell: {noise['column']:.3g} rows for a column{pairs}{last}.")
    for note in made.notes:
        _say(f"Note: {note}.")
    _say_paid(data, made, out)
    if copies:
        _say(f"Copies: {copies[0]} to {Path(copies[-1]).name}; estimate on each, and combine with tacit.synthesize.combine.")
    if public is not None:
        _say(f"Public report: {public}, and {public.with_suffix('.json').name}.")
    if written is not None:
        moved = "" if written == report else f" (instead of {report}, which is in the folder of the public output)"
        _say(f"For the data owner only: {written}{moved}.")


def _with_copies(made: SyntheticTable, written_to: Written) -> tuple[SyntheticTable, list[str]]:
    """The rows that are written, and the files of their copies; with copies, the rows are copy 0, made in the same way."""
    from tacit.publish.synthetic.rows.report import write_public_report

    places = [_copy_place(written_to.out, at) for at in range(1, written_to.copies + 1)]
    if places:
        made, *others = made.copies(len(places), written_to.rows)
        for place, other in zip(places, others, strict=True):
            other.save(place)
    if written_to.public is not None:
        write_public_report(made, written_to.public)
    return made, [str(place) for place in places]


def _resample(data: DataSet, name: str, out: Path, asked: dict[str, Any], report: Path | None, as_json: bool) -> None:
    from tacit.publish.synthetic.rows.contingency import synthesize_contingency

    if asked.pop("delta") or report is not None:
        raise InvalidInput("--method dirichlet does not support --delta or --report; remove them")
    missing = [option for option in ("epsilon", "rows", "columns") if asked[option] is None]
    if missing:
        raise InvalidInput(f"--method dirichlet requires --{missing[0]}; for example --epsilon 1 --rows 1000 --columns sex,income")
    made = synthesize_contingency(data, name, **asked)
    receipt = made.save(out)
    if as_json:
        print_json({"out": str(out), "receipt": str(receipt), **made.to_dict()})
        return
    for sentence in made.claim:
        _say(f"{sentence[0].upper()}{sentence[1:]}.")
    _say_paid(data, made, out)


def _write_report(data: DataSet, made: SyntheticTable, written_to: Written) -> Path:
    from tacit.publish.synthetic.rows.utility import workload, write_report
    from tacit.release.curators import curators_place

    compared = workload(data.as_prepared, made, written_to.periods)
    return write_report(compared, made, curators_place(written_to.report or written_to.out, written_to.out))


def _say_paid(data: DataSet, made: SyntheticTable | SyntheticContingency, out: Path) -> None:
    from tacit.accounting.ledger.caps import at_most

    receipt = made.receipt
    left = f". Remaining: epsilon {at_most(receipt.left_epsilon)}" if receipt.left_epsilon is not None else ""
    _say(f"Entry {receipt.entry} of the ledger, for '{data.catalog.neighbours}'{left}.")
    _say(f"Written: {out} and its receipt.")


# --- `tacit synthesize check-analysis` -----------------------------------------------------------------------------------------


def check_analysis(
    rows: Annotated[Path, typer.Argument(metavar="ROWS", help="File of synthetic rows, with its receipt beside it.")],
    columns: Annotated[str, typer.Option("--columns", help="Columns that the analysis uses together, comma-separated.")],
    linear: Annotated[
        bool, typer.Option("--linear", help="The analysis is a mean, a correlation or a linear regression without interactions.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check whether measured margins carry an analysis of synthetic rows. Exits with 1 if it rests on the model alone.

    Example: tacit synthesize check-analysis patients-synthetic.csv --columns sex,diagnosis
    """
    from tacit.publish.synthetic.rows.margins import support_in

    support = support_in(rows, [part for part in columns.split(",") if part.strip()])
    if as_json:
        print_json({**support.to_dict(), "carried": support.carries(linear)})
    else:
        for sentence in support.sentences:
            _say(f"{sentence[0].upper()}{sentence[1:]}.")
    if not support.carries(linear):
        raise typer.Exit(1)


def _say(text: str) -> None:
    console().print(text, soft_wrap=True)
