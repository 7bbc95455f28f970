"""`tacit synthesize map` and `tacit synthesize state`: a synthetic map of commuters, and a made-up state to try it on."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AnalystOption, AsJson
from tacit.doors.cli.output import console, print_json, progress
from tacit.doors.cli.which_catalog import find_catalog
from tacit.errors import CatalogUnusable, InvalidInput, NotAllowed

if TYPE_CHECKING:
    from tacit.publish.synthetic.commuters.model import Terms
    from tacit.publish.synthetic.commuters.release import Release
    from tacit.publish.synthetic.commuters.sources import Source

NO_SEED = (
    "whoever knows the seed can draw the same noise again and subtract it; every run draws anew from the system's secure source"
)
SeedOption = Annotated[str | None, typer.Option("--seed", help="Refused: noise that can be drawn again protects nobody.")]


def commuter_map(
    flows: Annotated[
        str, typer.Argument(metavar="FLOWS", help="A CSV or Parquet file of flows; with --catalog the name of a table.")
    ],
    blocks: Annotated[Path, typer.Option("--blocks", help="The public map: block, lat, lon and blockgroup, tract, county.")],
    out: Annotated[Path, typer.Option("--out", help="Where the synthetic map goes: .parquet, .csv or .csv.gz.")],
    origins: Annotated[
        str, typer.Option(help="Cells of the homes: block, blockgroup, tract, county, rings, rings:2,5,10.")
    ] = "tract",
    destinations: Annotated[str, typer.Option(help="Zones of the workplaces: block, blockgroup, tract, county.")] = "tract",
    ratio: Annotated[str, typer.Option(help="The ratio of the resampling, e^epsilon; what dropping adds is printed.")] = "20",
    delta: Annotated[str | None, typer.Option(help="The probability of outputs beyond the ratio; else 1e-5.")] = None,
    pure: Annotated[bool, typer.Option("--pure", help="Pure differential privacy: no delta.")] = False,
    keep: Annotated[str, typer.Option(help="Chance of an empty cell: all, uniform:0.1, distance:0.1, file:CHANCES.csv.")] = "all",
    synthetic_workers: Annotated[
        str, typer.Option(metavar="RULE", help="Of each destination: same (as it has jobs), each:500, share:0.1.")
    ] = "same",
    columns: Annotated[
        str | None,
        typer.Option(help="DESTINATION,ORIGIN,JOBS in the flows, or without JOBS: a row is a job; else w_geocode,h_geocode,S000."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="A page for the curator, who may see the truth; never beside --out.")] = None,
    catalog: Annotated[Path | None, typer.Option("--catalog", metavar="PATH", help="Spend from this catalog's budget.")] = None,
    totals: Annotated[str | None, typer.Option(help="With --catalog: a public table with the columns destination, jobs.")] = None,
    seed: SeedOption = None,
    analyst: AnalystOption = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say more of the noise, the totals, delta and the ledger.")] = False,
    as_json: AsJson = False,
) -> None:
    """A synthetic map of commuters with (probabilistic) differential privacy for every job's home."""
    refuse_seed(seed)
    from tacit.publish.synthetic.commuters.geography import read_blocks
    from tacit.publish.synthetic.commuters.release import publish_map
    from tacit.release.curators import check_report, curators_place
    from tacit.release.outputs import check_output

    check_output(out, [blocks])
    if report is not None:
        check_report(curators_place(report, out))
    terms = _terms(ratio, delta, pure, keep, synthetic_workers)
    if catalog is None:
        _require_catalog_of(totals, analyst)
    source = _declared(flows, columns, catalog, totals, analyst) if catalog else _file(flows, columns, out)
    release = publish_map(
        source, read_blocks(blocks), (origins, destinations), terms, out, lambda draws, many: progress(draws, many, "drawing")
    )
    written = _reported(release, report, out)
    if as_json:
        print_json({"out": str(out), "report": None if written is None else str(written), "receipt": release.receipt})
    else:
        _show(release, out, report, written, verbose)


def _terms(ratio: str, delta: str | None, pure: bool, keep: str, workers: str) -> Terms:
    from tacit.publish.synthetic.commuters.model import Terms

    if pure and delta is not None:
        raise InvalidInput("--pure is without a delta; leave out --pure or --delta")
    return Terms(ratio, 0 if pure else "1e-5" if delta is None else delta, keep, workers)


def state(
    folder: Annotated[Path, typer.Argument(help="Where flows.csv and blocks.csv are written.")],
    blocks: Annotated[int, typer.Option(help="Blocks of the state.", min=2, max=10**6)] = 3000,
    workplaces: Annotated[int, typer.Option(help="Blocks with jobs.", min=1)] = 60,
    jobs: Annotated[int, typer.Option(help="Jobs in all.", min=1, max=10**7)] = 20_000,
    radius: Annotated[float, typer.Option(help="How far the state reaches from its capital, in kilometres.")] = 50.0,
    as_json: AsJson = False,
) -> None:
    """Make up a state with commuters, to try a map on; it is nobody's data."""
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
    """No seed for a release, with the reason."""
    if seed is not None:
        raise NotAllowed(f"a release takes no seed: {NO_SEED}", remedy="leave --seed out")


def _require_catalog_of(totals: str | None, analyst: str | None) -> None:
    """What is of a catalog is refused without one; an analyst that the environment names stands for other commands, and is not."""
    if totals is not None:
        raise InvalidInput("--totals names a table of a catalog; give --catalog too, or leave it out: the totals are the file's")
    if analyst is not None and analyst != os.environ.get("TACIT_ANALYST"):
        raise InvalidInput(
            "--analyst is one of a catalog, whose budget pays; give --catalog too, or leave it out: a file has a ledger of its own"
        )


def _file(flows: str, columns: str | None, out: Path) -> Source:
    from tacit.publish.synthetic.commuters.flows import Columns
    from tacit.publish.synthetic.commuters.sources import FlowsFile, require_undeclared

    at_hand = []
    with suppress(CatalogUnusable):  # there is none
        at_hand = [find_catalog()]
    require_undeclared(Path(flows), *at_hand)
    return FlowsFile(Path(flows), out, Columns.read(columns) if columns else Columns())


def _declared(flows: str, columns: str | None, catalog: Path | None, totals: str | None, analyst: str | None) -> Source:
    from tacit.publish.synthetic.commuters.flows import Columns
    from tacit.publish.synthetic.commuters.sources import DeclaredFlows
    from tacit.session import open as open_data

    read = Columns.read(columns) if columns else Columns(jobs=None)
    if read.jobs is not None:
        raise InvalidInput("in a declared table every row is one job; give --columns DESTINATION,ORIGIN")
    if totals is None:
        raise NotAllowed(
            "with a catalog the number of jobs at each destination is private, unless it is declared",
            remedy="declare a public table with the columns destination and jobs, and name it with --totals",
        )
    data = open_data(find_catalog(catalog))
    return DeclaredFlows(data, flows, read, totals, data.session(analyst).analyst)


def _reported(release: Release, report: Path | None, out: Path) -> Path | None:
    if report is None:
        return None
    from tacit.publish.synthetic.commuters.report import write_report

    return write_report(release, report, out)


def _show(release: Release, out: Path, asked: Path | None, written: Path | None, verbose: bool) -> None:
    """The promise, the fake share, the price and the files; with `verbose` the rest, all of which is public too."""
    screen: Any = console()
    sentences = [*release.offer.promise(), *_drawn(release), *_spent(release), *_files(out, asked, written)]
    for sentence in [*sentences, *(_more(release) if verbose else [])]:
        screen.print(sentence, soft_wrap=True)


def _drawn(release: Release) -> list[str]:
    offer = release.offer
    jobs, made = int(offer.totals.jobs.sum()), sum(offer.draws)
    real = "" if made == jobs else f" for {jobs:,} real ones"
    said = [f"{len(offer.totals):,} destinations, {made:,} synthetic jobs{real}, {offer.fake:.1%} of them expected to be fake."]
    if offer.totals.left_out:
        said.append(f"Left out: {offer.totals.left_out:,} jobs at destinations that the map does not know.")
    return said


def _spent(release: Release) -> list[str]:
    from tacit.accounting.ledger.caps import at_least
    from tacit.publish.synthetic.commuters.model import ratio_text
    from tacit.publish.synthetic.commuters.spending import claimed

    paid = release.paid
    entry = f"Entry {paid.entry} of {paid.ledger}"
    if not paid.releases:
        return [f"Spent, for all jobs that one person may have: {claimed(paid.loss)}. {entry}."]
    price = f"{ratio_text(release.offer.ratio)}, delta {at_least(paid.loss.delta)}"
    said = [f"Spent: {price}. {entry}, which knows of no other release of these flows."]
    return [*said, f"Together with what it has recorded before: {paid.together}."] if paid.releases > 1 else said


def _files(out: Path, asked: Path | None, written: Path | None) -> list[str]:
    from tacit.release.outputs import receipt_beside

    said = [f"Written: {out} and its receipt, {receipt_beside(out).name}."]
    if written is not None:
        moved = "" if written == asked else f" (and not {asked}, which lies beside the public output)"
        said.append(f"For the curator alone: {written}{moved}.")
    return said


def _more(release: Release) -> list[str]:
    from tacit.publish.synthetic.commuters.model import undropped

    offer, receipt = release.offer, release.receipt
    noises, cells = receipt["fake workers on a cell"], receipt["cells"]
    said = [
        *offer.everywhere(),
        f"Fake workers on a cell: {noises['least']:.4g} to {noises['most']:.4g}, in the middle {noises['median']:.4g}; "
        f"cells of a destination: {cells['least']:,} to {cells['most']:,}.",
        f"Totals: {receipt['totals']}.",
    ]
    if offer.ratio != offer.terms.ratio:
        said.append(
            f"Without dropping, the same ratio in all would have {undropped(offer).fake:.1%} fake jobs. Fewer need not be nearer."
        )
    return [*said, f"Ledger: {release.paid.note}."] if release.paid.note else said
