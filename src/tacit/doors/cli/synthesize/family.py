"""`tacit synthesize tables`: synthetic rows of two tables that belong together, paid from the budget of the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AnalystOption, AsJson
from tacit.doors.cli.output import bar, console, print_json
from tacit.doors.cli.synthesize.map import SeedOption, refuse_seed
from tacit.doors.cli.synthesize.table import CopiesOption
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.publish.synthetic.rows.family import SyntheticFamily


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
    copies: CopiesOption = None,
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
    from tacit.publish.synthetic.rows.copies import read_copies
    from tacit.publish.synthetic.rows.family import family_of, synthesize_family
    from tacit.release.outputs import FORMATS, check_apart, check_output
    from tacit.session import open as open_data

    if f".{ending}" not in FORMATS:
        raise InvalidInput(f"invalid format {ending[:20]!r}; expected parquet, csv or csv.gz")
    folders = [out, *(out.with_name(f"{out.name}-{at}") for at in range(1, 1 + (0 if copies is None else read_copies(copies))))]
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta or 0, "rows": rows, "bins": bins, "analyst": analyst}
    with open_data(find_catalog(catalog)) as data:
        family = family_of(data.as_prepared, parent, child, bins)
        for table in (family.parent.table, family.child.table):
            for folder in folders:
                check_apart(data.catalog, check_output(folder / f"{table.name}.{ending}"))
        with bar("synthesizing") as told:
            made = synthesize_family(data, parent, child, told=told, **asked)
            each = (made,) if copies is None else made.copies(copies, rows)
            made, written = each[0], [one.save(folder, f".{ending}") for one, folder in zip(each, folders, strict=True)]
        relation = str(data.catalog.neighbours)
    if as_json:
        beside = {} if copies is None else {"copies": [[str(place) for place in places] for places in written[1:]]}
        print_json({"out": [str(place) for place in written[0]], **beside, **made.to_dict()})
        return
    _print(made, written, relation)


def _print(made: SyntheticFamily, written: list[list[Path]], relation: str) -> None:
    lines = [f"{number:,} synthetic rows of {name}." for name, number in made.rows.items()]
    lines += [f"Note: {note}." for note in made.notes]
    lines.append(f"Entry {made.receipt.entry} of the ledger, for '{relation}'.")
    lines.append(f"Written: {written[0][0]} and {written[0][1]}, with their receipts.")
    folders = [places[0].parent for places in written]
    if folders[1:]:
        lines.append(f"Copies: in {folders[1]} to {folders[-1].name}; estimate on each, and combine with tacit.synthesize.combine.")
    for line in lines:
        console().print(line, soft_wrap=True)
