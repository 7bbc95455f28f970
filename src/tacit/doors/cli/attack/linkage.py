"""`tacit attack linkage`, `homogeneity` and `downcoding`: what a published table says of people one knows something about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.cli.attack.show import CONFIGURATION, ChartOption, JsonOption, SeedOption, show
from tacit.doors.cli.output import console
from tacit.errors import InvalidInput

Quasi = Annotated[str, typer.Option(help="Quasi-identifiers, separated by commas.")]
Sensitive = Annotated[str, typer.Option(help="Sensitive column of the published table.")]
FamilyOption = Annotated[list[str] | None, typer.Option("--family", help="PARENT=CHILD,CHILD or COLUMN:PARENT=CHILD,CHILD.")]
HierarchiesOption = Annotated[Path | None, typer.Option(help="Folder with a hierarchy COLUMN.csv for each quasi-identifier.")]
ConfigOption = Annotated[Path | None, typer.Option(help=CONFIGURATION)]


def linkage(
    published: Annotated[
        Path | None, typer.Argument(help="Published table (CSV or Parquet); without it, generated people.")
    ] = None,
    register: Annotated[Path | None, typer.Argument(help="Outside table with the same quasi-identifiers.")] = None,
    quasi: Quasi = "",
    sensitive: Sensitive = "",
    name: Annotated[str, typer.Option(help="Column of the register that names the person.")] = "name",
    family: FamilyOption = None,
    hierarchies: HierarchiesOption = None,
    config: ConfigOption = None,
    people: Annotated[int, typer.Option(help="Number of generated people.", min=50, max=5000)] = 300,
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Match a published table with an outside register. Defense: none in the table; differential privacy does not publish rows.

    Exits with 1 if PUBLISHED identifies somebody in REGISTER, or makes a value certain.

    Example: tacit attack linkage --people 100
    """
    from tacit.evidence.attacks.tables.labels import Columns
    from tacit.evidence.attacks.tables.linkage import Comparison, demonstration
    from tacit.evidence.attacks.tables.of_file import link_file

    if published is None:
        found, _ = demonstration(people, seed=seed)
    else:
        if register is None:
            raise InvalidInput("name the register to link with as the second file")
        columns = Columns(_names(quasi), sensitive, family or [], hierarchies, config)
        found = Comparison((link_file(published, register, columns, name),))
    show(found, chart, as_json)
    if published is not None and any(way.identified or way.disclosed for way in found.ways):
        raise typer.Exit(1)


def homogeneity(
    published: Annotated[Path | None, typer.Argument(help="Published table (CSV or Parquet); without it, an example.")] = None,
    quasi: Quasi = "",
    sensitive: Sensitive = "",
    not_value: Annotated[list[str] | None, typer.Option("--not", help="Value that the attacker can rule out.")] = None,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Infer values from groups with few of them, and from what can be ruled out. Defense: l-diversity, as far as it goes.

    Exits with 1 if a value in PUBLISHED is certain.

    Example: tacit attack homogeneity --not heart
    """
    from tacit.evidence.attacks.tables.homogeneity import example, starred
    from tacit.evidence.attacks.tables.homogeneity import homogeneity as run
    from tacit.evidence.attacks.tables.labels import Columns, receipt_of
    from tacit.evidence.attacks.tables.published import read_bag
    from tacit.publish.tables.consistent import Release, consistent

    table, receipt = example(), None
    if published is not None:
        receipt = receipt_of(published)
        columns = Columns(_names(quasi), sensitive).completed(receipt)
        table = read_bag(published, columns.quasi, columns.sensitive, () if receipt is None else receipt.changed)
    found, stars = run(table, not_value or ()), starred(table)
    if not as_json and (receipt is None or receipt.method == "lattice"):  # labels of other methods overlap
        leaves = {} if stars is None else {stars: list({label for (label, _), _ in table} - {stars})}
        certain = [each for each in consistent(Release(dict(table), leaves)) if each.kind == "everybody"]
        for predicate in certain[:20]:
            console().print(f"true in every database that fits: {predicate}", soft_wrap=True)
    show(found, chart, as_json)
    if published is not None and found.certain():
        raise typer.Exit(1)


def downcoding(
    rows: Annotated[int, typer.Option(help="Number of generated rows.", min=20, max=120)] = 60,
    smallest: Annotated[int, typer.Option("--k", help="Smallest group of the publisher.", min=2, max=6)] = 3,
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Recover exact values from a k-anonymous table that generalizes as little as it can. Defense: do not stop at the minimum.

    Example: tacit attack downcoding --rows 30
    """
    from tacit.evidence.attacks.tables.downcoding import downcode, made_output

    output, leaves, _ = made_output(rows, smallest, seed)
    show(downcode(output, leaves, smallest), chart, as_json)


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
