"""`tacit synthesize tables`: synthetic rows of two tables that belong together, paid from the budget of the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.doors.cli.ask import AnalystOption, AsJson
from tacit.doors.cli.output import bar, console, print_json
from tacit.doors.cli.synthesize.map import SeedOption, refuse_seed
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.errors import InvalidInput


def tables(
    parent: Annotated[str, typer.Argument(metavar="PARENT", help="Private table with one row for each unit.")],
    child: Annotated[str, typer.Argument(metavar="CHILD", help="Private table whose unit refers to the parent.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for both files; receipts are written next to them.")],
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Epsilon to spend, for example 1.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Delta to spend; allows Gaussian noise.")] = None,
    rows: Annotated[int | None, typer.Option("--rows", help="Number of parents; the noisy total if omitted.")] = None,
    bins: Annotated[
        int | None, typer.Option("--bins", help="Number of even bins for columns of many values that have none in the catalog.")
    ] = None,
    ending: Annotated[str, typer.Option("--format", help="Format of the files: parquet, csv or csv.gz.")] = "parquet",
    seed: SeedOption = None,
    analyst: AnalystOption = None,
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """Publish synthetic rows of two tables, children for each parent, with differential privacy for every unit in both.

    Example: tacit synthesize tables patients visits --bins 20 --epsilon 0.5 --out synthetic
    """
    refuse_seed(seed)
    from tacit.publish.synthetic.rows.family import family_of, synthesize_family
    from tacit.release.outputs import FORMATS, check_apart, check_output
    from tacit.session import open as open_data

    if f".{ending}" not in FORMATS:
        raise InvalidInput(f"invalid format {ending[:20]!r}; expected parquet, csv or csv.gz")
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta or 0, "rows": rows, "bins": bins, "analyst": analyst}
    with open_data(find_catalog(catalog)) as data:
        family = family_of(data.as_prepared, parent, child, bins)
        for table in (family.parent.table, family.child.table):
            check_apart(data.catalog, check_output(out / f"{table.name}.{ending}"))
        with bar("synthesizing") as told:
            made = synthesize_family(data, parent, child, told=told, **asked)
            places = made.save(out, f".{ending}")
        relation = data.catalog.neighbours
    if as_json:
        print_json({"out": [str(place) for place in places], **made.to_dict()})
        return
    for name, number in made.rows.items():
        console().print(f"{number:,} synthetic rows of {name}.", soft_wrap=True)
    for note in made.notes:
        console().print(f"Note: {note}.", soft_wrap=True)
    console().print(f"Entry {made.receipt.entry} of the ledger, for '{relation}'.", soft_wrap=True)
    console().print(f"Written: {places[0]} and {places[1]}, with their receipts.", soft_wrap=True)
