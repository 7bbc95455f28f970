"""`tacit synthesize map`, `state`, `check` and `noise-table`: a synthetic commuter map, and a simulated state to try it on."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AnalystOption, AsJson, PeriodsOption
from tacit.doors.cli.output import console, print_json, progress
from tacit.doors.cli.which_catalog import find_catalog
from tacit.errors import InvalidCatalog, InvalidInput, NotAllowed

if TYPE_CHECKING:
    from tacit.mechanisms.dirichlet.calibration import PublicFacts
    from tacit.publish.synthetic.commuters.model import Terms
    from tacit.publish.synthetic.commuters.noise_table import NoiseRow
    from tacit.publish.synthetic.commuters.prior import Prior
    from tacit.publish.synthetic.commuters.release import Release
    from tacit.publish.synthetic.commuters.sources import Source

LEVELS = "block, blockgroup, tract, county"
USUAL = "if omitted, tract where the map has it, else blockgroup, county or block"
NO_SEED = "anyone who knows the seed can reproduce the noise and subtract it"
SeedOption = Annotated[str | None, typer.Option("--seed", help="Not supported: noise that can be reproduced protects no one.")]
WorkersOption = Annotated[
    str,
    typer.Option(metavar="RULE", help="Synthetic workers per destination: `same` (one per job), `each:N` or `share:FRACTION`."),
]
PriorOption = Annotated[
    str, typer.Option(help="Public prior of fake workers: even, distance, or file:PRIOR.csv, such as a map of an earlier year.")
]
PriorMostOption = Annotated[int, typer.Option(help="Weight of the likeliest cell of the prior, where the least likely has 1.")]
JoinOption = Annotated[
    int | None, typer.Option("--join", help="Join destinations with fewer jobs than this with their neighbors, by public totals.")
]

ColumnsOption = Annotated[
    str | None, typer.Option(help="Columns DESTINATION,ORIGIN[,JOBS] of the flows; w_geocode,h_geocode,S000 if omitted.")
]
ReportOption = Annotated[Path | None, typer.Option(help="HTML report for the data owner, from the true data; never next to --out.")]


def commuter_map(
    flows: Annotated[str, typer.Argument(metavar="FLOWS", help="CSV or Parquet file of flows; with --catalog, a table.")],
    blocks: Annotated[Path, typer.Option("--blocks", help="Public map: block, lat, lon and blockgroup, tract, county.")],
    out: Annotated[Path, typer.Option("--out", help="File for the synthetic map: .parquet, .csv or .csv.gz.")],
    origins: Annotated[str | None, typer.Option(help=f"Cells of the homes: {LEVELS} or rings:2,5,10; {USUAL}.")] = None,
    destinations: Annotated[str | None, typer.Option(help=f"Zones of the workplaces: {LEVELS}; {USUAL}.")] = None,
    ratio: Annotated[str, typer.Option(help="Privacy ratio of the resampling, e^epsilon; dropping cells adds to it.")] = "20",
    delta: Annotated[str | None, typer.Option(help="Probability that the ratio bound is exceeded; 1e-5 if omitted.")] = None,
    pure: Annotated[bool, typer.Option("--pure", help="Pure differential privacy, without delta.")] = False,
    keep: Annotated[str, typer.Option(help="Empty cells to keep: all, uniform:0.1, distance:0.1 or file:CHANCES.csv.")] = "all",
    prior: PriorOption = "even",
    prior_most: PriorMostOption = 10,
    join: JoinOption = None,
    synthetic_workers: WorkersOption = "same",
    columns: ColumnsOption = None,
    report: ReportOption = None,
    catalog: Annotated[Path | None, typer.Option("--catalog", metavar="PATH", help="Catalog whose budget pays.")] = None,
    totals: Annotated[str | None, typer.Option(help="With --catalog: public table with the columns destination and jobs.")] = None,
    periods: PeriodsOption = None,
    seed: SeedOption = None,
    analyst: AnalystOption = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print details of noise, totals, delta and ledger.")] = False,
    as_json: AsJson = False,
) -> None:
    """Publish a synthetic commuter map, with (probabilistic) differential privacy for the home of every job.

    Example: tacit synthesize map flows.csv --blocks blocks.csv --out map.csv
    """
    refuse_seed(seed)
    from tacit.publish.synthetic.commuters.geography import read_blocks
    from tacit.publish.synthetic.commuters.prior import read_prior
    from tacit.publish.synthetic.commuters.release import publish_map
    from tacit.release.curators import check_report, curators_place
    from tacit.release.outputs import check_output

    check_output(out, [blocks])
    if report is not None:
        check_report(curators_place(report, out))
    terms = _terms(ratio, delta, pure, keep, synthetic_workers, read_prior(prior, prior_most))
    if catalog is None:
        _require_catalog_of(totals, analyst, periods)
    source = _declared_source(flows, columns, catalog, totals, (analyst, periods)) if catalog else _file(flows, columns, out)
    chart = read_blocks(blocks)
    if report is not None and not chart.located:
        raise InvalidInput("--report needs coordinates; give the map the columns lat and lon, or remove --report")
    levels, drawing = (origins, destinations), partial(progress, what="drawing")
    release = publish_map(source, chart, levels, terms, out, drawing, join)
    written = _write_report(release, report, out)
    if as_json:
        print_json({"out": str(out), "report": None if written is None else str(written), "receipt": release.receipt})
    else:
        _show(release, out, report, written, verbose)


def _terms(ratio: str, delta: str | None, pure: bool, keep: str, workers: str, prior: Prior) -> Terms:
    from tacit.publish.synthetic.commuters.model import Terms

    if pure and delta is not None:
        raise InvalidInput("--pure and --delta exclude each other; remove one of them")
    return Terms(ratio, 0 if pure else "1e-5" if delta is None else delta, keep, workers, prior)


def state(
    folder: Annotated[Path, typer.Argument(help="Folder for flows.csv and blocks.csv.")],
    blocks: Annotated[int, typer.Option(help="Number of blocks.", min=2, max=10**6)] = 3000,
    workplaces: Annotated[int, typer.Option(help="Number of blocks with jobs.", min=1)] = 60,
    jobs: Annotated[int, typer.Option(help="Total number of jobs.", min=1, max=10**7)] = 20_000,
    radius: Annotated[float, typer.Option(help="Radius of the state around its capital, in kilometers.")] = 50.0,
    as_json: AsJson = False,
) -> None:
    """Generate a fictional state with commuters, to try `tacit synthesize map` on.

    Example: tacit synthesize state fictional --jobs 2000
    """
    from tacit.publish.synthetic.commuters.example_state import made_state

    for there in (folder / "flows.csv", folder / "blocks.csv"):
        if there.exists():
            raise InvalidInput(f"{there} already exists; choose another folder, or remove it")
    made = made_state(blocks, workplaces, jobs, radius)
    flows, chart = made.write(folder)
    if as_json:
        print_json({"flows": str(flows), "blocks": str(chart), "jobs": int(made.jobs.sum())})
    else:
        console().print(f"{flows} and {chart}: {int(made.jobs.sum()):,} jobs, {len(made.blocks):,} blocks")


def refuse_seed(seed: str | None) -> None:
    """Raises with the reason if a seed is given: a release has none."""
    if seed is not None:
        raise NotAllowed(f"--seed is not supported: {NO_SEED}", remedy="remove --seed")


def _require_catalog_of(totals: str | None, analyst: str | None, periods: str | None) -> None:
    """Refuses options that require a catalog, unless the environment sets the analyst for other commands."""
    if periods is not None:
        raise InvalidInput("--periods requires --catalog: a file has a ledger without periods; add --catalog, or remove --periods")
    if totals is not None:
        raise InvalidInput(
            "--totals requires --catalog: the totals of a file are taken from the file; add --catalog, or remove --totals"
        )
    if analyst is not None and analyst != os.environ.get("TACIT_ANALYST"):
        raise InvalidInput(
            "--analyst requires --catalog: a file has its own ledger, without analysts; add --catalog, or remove --analyst"
        )


def _file(flows: str, columns: str | None, out: Path) -> Source:
    from tacit.publish.synthetic.commuters.flows import Columns
    from tacit.publish.synthetic.commuters.sources import FlowsFile, require_undeclared

    catalogs = []
    with suppress(InvalidCatalog):  # there is none
        catalogs = [find_catalog()]
    require_undeclared(Path(flows), *catalogs)
    return FlowsFile(Path(flows), out, Columns.read(columns) if columns else Columns())


def _declared_source(
    flows: str, columns: str | None, catalog: Path | None, totals: str | None, asking: tuple[str | None, str | None]
) -> Source:
    """The declared table of jobs; `asking` are who pays and the periods that are read."""
    from tacit.publish.synthetic.commuters.flows import Columns
    from tacit.publish.synthetic.commuters.sources import DeclaredFlows
    from tacit.session import open as open_data

    read = Columns.read(columns) if columns else Columns(jobs=None)
    if read.jobs is not None:
        raise InvalidInput("--columns must be DESTINATION,ORIGIN with --catalog: in a declared table every row is one job")
    if totals is None:
        raise NotAllowed(
            "with --catalog, the number of jobs per destination is private unless a public table declares it",
            remedy="declare a public table with the columns destination and jobs, and give --totals TABLE",
        )
    data, (analyst, periods) = open_data(find_catalog(catalog)), asking
    return DeclaredFlows(data, flows, read, totals, data.session(analyst).analyst, periods=periods)


def _write_report(release: Release, report: Path | None, out: Path) -> Path | None:
    if report is None:
        return None
    from tacit.publish.synthetic.commuters.report import write_report

    return write_report(release, report, out)


def _show(release: Release, out: Path, asked: Path | None, written: Path | None, verbose: bool) -> None:
    """Prints the guarantee, the expected share of fakes, the price and the files; with `verbose` more, all of it public."""
    screen: Any = console()
    sentences = [*release.offer.promise(), *_draw_lines(release), *_price_lines(release), *_files(out, asked, written)]
    for sentence in [*sentences, *(_more(release) if verbose else [])]:
        screen.print(sentence, soft_wrap=True)


def _draw_lines(release: Release) -> list[str]:
    offer = release.offer
    jobs, made = int(offer.totals.jobs.sum()), sum(offer.draws)
    real = "" if made == jobs else f" for {jobs:,} real ones"
    said = [f"{len(offer.totals):,} destinations, {made:,} synthetic jobs{real}, {offer.fake:.1%} of them expected to be fake."]
    if offer.totals.left_out:
        said.append(f"Left out: {offer.totals.left_out:,} jobs at destinations that are not on the map.")
    return said


def _price_lines(release: Release) -> list[str]:
    from tacit.accounting.ledger.caps import at_least
    from tacit.publish.synthetic.commuters.model import ratio_text
    from tacit.publish.synthetic.commuters.sources import claim_text

    paid = release.paid
    entry = f"Entry {paid.entry} of {paid.ledger}"
    if not paid.releases:
        return [f"Spent, for all jobs of one person: {claim_text(paid.loss)}. {entry}."]
    price = f"{ratio_text(release.offer.ratio)}, delta {at_least(paid.loss.delta)}"
    said = [f"Spent: {price}. {entry}, which records no other release of these flows."]
    return [*said, f"Together with earlier releases: {paid.together}."] if paid.releases > 1 else said


def _files(out: Path, asked: Path | None, written: Path | None) -> list[str]:
    from tacit.release.outputs import receipt_beside

    said = [f"Written: {out} and its receipt, {receipt_beside(out).name}."]
    if written is not None:
        moved = "" if written == asked else f" (instead of {asked}, which is in the folder of the public output)"
        said.append(f"For the data owner only: {written}{moved}.")
    return said


def _more(release: Release) -> list[str]:
    from tacit.publish.synthetic.commuters.model import undropped

    offer, receipt = release.offer, release.receipt
    noises, cells = receipt["fake workers on a cell"], receipt["cells"]
    said = [
        *offer.everywhere(),
        f"Fake workers per cell: {noises['least']:.4g} to {noises['most']:.4g} (median {noises['median']:.4g}); "
        f"cells per destination: {cells['least']:,} to {cells['most']:,}.",
        f"Totals: {receipt['totals']}.",
    ]
    if offer.ratio != offer.terms.ratio:
        said.append(f"Without dropping, the same total ratio gives {undropped(offer).fake:.1%} fake jobs.")
        said.append("Fewer fake jobs do not always mean a smaller error.")
    return [*said, f"Ledger: {release.paid.note}."] if release.paid.note else said


# --- `tacit synthesize check` ------------------------------------------------------------------------------------------------


def check_flows(
    flows: Annotated[Path, typer.Argument(metavar="FLOWS", help="CSV or Parquet file of flows.")],
    blocks: Annotated[
        Path, typer.Option("--blocks", help="Public map with the columns block, lat, lon and blockgroup, tract, county.")
    ],
    destinations: Annotated[str | None, typer.Option(help=f"Zones of the workplaces: {LEVELS}; {USUAL}.")] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns DESTINATION,ORIGIN,JOBS of the flows; JOBS is optional. w_geocode,h_geocode,S000 if omitted."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count unreadable rows and jobs outside the map. For the data owner only; releases nothing and spends nothing.

    Example: tacit synthesize check flows.csv --blocks blocks.csv
    """
    from tacit.publish.synthetic.commuters import flows as checking
    from tacit.publish.synthetic.commuters.flows import Columns
    from tacit.publish.synthetic.commuters.geography import read_blocks

    report = checking.check_flows(flows, Columns.read(columns) if columns else Columns(), read_blocks(blocks), destinations)
    if as_json:
        print_json(report.to_dict())
        return
    for sentence in report.sentences():
        console().print(sentence, soft_wrap=True)


# --- `tacit synthesize noise-table` ------------------------------------------------------------------------------------------


def noise_table(
    n: Annotated[str, typer.Option("--n", help="Public number of real workers at the destination.")] = "1e6",
    m: Annotated[str, typer.Option("--m", help="Number of synthetic workers; the number of real ones if omitted.")] = "",
    blocks: Annotated[str, typer.Option(help="Number of blocks of the map.")] = "1e5",
    delta: Annotated[str, typer.Option(help="Probability that the ratio bound is exceeded.")] = "1e-5",
    ratios: Annotated[str, typer.Option(help="Ratios r = e^epsilon, comma-separated.")] = "5,10,20,50",
    keep: Annotated[str, typer.Option(help="Probability that an empty block keeps its noise.")] = "1",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compute the fake workers that each block needs, for pure and for probabilistic differential privacy.

    Example: tacit synthesize noise-table --n 1000 --blocks 100 --ratios 5,20
    """
    from tacit.mechanisms.dirichlet.calibration import PublicFacts
    from tacit.mechanisms.noise.urn import BlockClass
    from tacit.publish.synthetic.commuters import noise_table as table

    facts = PublicFacts(_whole("n", n), _whole("m", m or n), (BlockClass(_whole("blocks", blocks), keep),))
    rows = table.noise_table(facts, delta, [part.strip() for part in ratios.split(",")])
    if as_json:
        print_json(_as_json(facts, delta, rows))
    else:
        _show_rows(facts, delta, rows)


def _whole(name: str, written: str) -> int:
    from tacit.privacy.rounding import exact

    number = exact(written, name)
    if number.denominator != 1 or number < 1:
        raise InvalidInput(f"--{name} must be a whole number above 0, such as 1000000 or 1e6, not {written}")
    return int(number)


def _as_json(facts: PublicFacts, delta: str, rows: tuple[NoiseRow, ...]) -> dict[str, Any]:
    from tacit.accounting.ledger.caps import at_least
    from tacit.publish.synthetic.commuters.noise_table import RELATION
    from tacit.publish.synthetic.commuters.sources import ratio_of

    listed = [
        {
            "ratio": float(row.ratio),
            "epsilon": float(row.epsilon),
            "pure": str(row.pure),
            "probabilistic": str(row.probable),
            "probabilistic_noise_counted": str(row.counted),
            "pure_total": str(row.pure * row.blocks),
            "probabilistic_total": str(row.probable * row.blocks),
            "fake_share": float(row.fakes),
            "epsilon_of_dropping": float(row.extra),
            "ratio_in_all": ratio_of(row.whole) if row.extra else at_least(row.ratio),
            "epsilon_in_all": at_least(row.whole),
        }
        for row in rows
    ]
    public = {"workers": facts.workers, "draws": facts.draws, "blocks": facts.blocks, "keep": str(facts.classes[0].keep)}
    return {**public, "delta": delta, "relation": RELATION, "rows": listed}


def _show_rows(facts: PublicFacts, delta: str, rows: tuple[NoiseRow, ...]) -> None:
    from rich.table import Table

    from tacit.publish.synthetic.commuters.noise_table import RELATION, total_up, written_up
    from tacit.publish.synthetic.commuters.sources import ratio_of

    dropped = facts.classes[0].keep < 1
    names = ["ratio", "epsilon", "pure", "probabilistic", "noise counted", "pure, total", "probabilistic, total", "fake share"]
    table = Table(box=None, header_style="bold")
    for name in [*names, *(["dropping", "total ratio", "total epsilon"] if dropped else [])]:
        table.add_column(name, justify="right")
    for row in rows:
        cells = [f"{float(row.ratio):g}", f"{float(row.epsilon):.4f}", *map(written_up, (row.pure, row.probable, row.counted))]
        totals = [total_up(noise, row.blocks) for noise in (row.pure, row.probable)]
        more = [f"+ {float(row.extra):.4f}", ratio_of(row.whole), f"{float(row.whole):.4f}"] if dropped else []
        table.add_row(*cells, *totals, f"{float(row.fakes):.1%}", *more)
    screen = console()
    screen.print(
        f"Fake workers per block: {facts.workers:,} workers, {facts.draws:,} synthetic, {facts.blocks:,} blocks, delta {delta}"
    )
    screen.print(table)
    screen.print(f"{RELATION} A person with j jobs is protected at ratio^j (epsilon times j; delta grows with it).", style="dim")
    screen.print(
        "All figures are rounded up. A total is the noise of one block times the number of blocks. Only the column `noise counted` "
        "relies on the noise of other blocks, and only on blocks that are always kept.",
        style="dim",
    )
