"""`tacit attack` on published tables and maps: marginals, linkage, minimality and the longest commute."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.attack.show import CONFIGURATION, ChartOption, JsonOption, SeedOption, show
from tacit.doors.cli.output import console, progress, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.evidence.attacks.tables.marginals import CellAttack
    from tacit.evidence.attacks.tables.minimality import Considered, Minimality

SHOWN = 40  # cells that are printed; --json has all of them


class CellExample(StrEnum):
    """The examples of the command."""

    tutorial = "tutorial"


def cells(
    file: Annotated[
        Path | None, typer.Argument(help="Rows of people, or counts (CSV or Parquet); without it, the example.")
    ] = None,
    example: Annotated[CellExample, typer.Option(help="Example to attack: hair and eyes.")] = CellExample.tutorial,
    columns: Annotated[str, typer.Option(help="Columns of the table of counts, separated by commas.")] = "",
    marginal: Annotated[
        list[str] | None, typer.Option(help="Released marginal: its columns, separated by commas. One per column by default.")
    ] = None,
    counts: Annotated[str | None, typer.Option(help="Column of counts: the file is a table of counts, not of people.")] = None,
    margins: Annotated[
        bool, typer.Option("--margins", help="The file has marginals alone: a blank in the columns that a line sums over.")
    ] = False,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bound the cells of a table from its exact marginals. Defense: noise on the marginals, within a budget.

    Exits with 1 if the marginals of FILE leave one possible count for a cell with people in it.

    Example: tacit attack cells --example tutorial
    """
    from tacit.evidence.attacks.tables.marginals import hair_and_eyes

    if margins and (counts is None or marginal):
        raise InvalidInput("--margins needs the column of counts, and its lines name the marginals; give --counts, not --marginal")
    report = (
        hair_and_eyes()
        if file is None
        else _attack_file(file, _columns_named(columns), counts, None if margins else marginal or [])
    )
    if not as_json:
        _print_cells(report)
    show(report, chart, as_json)
    if file is not None and report.determined:
        raise typer.Exit(1)


def _attack_file(file: Path, names: list[str], counts: str | None, marginals: list[str] | None) -> CellAttack:
    """The attack on rows of people, on a table of counts, or on marginals alone (None)."""
    from tacit.evidence.attacks.tables.marginals import attack_cells, attack_margins
    from tacit.publish.tables.cells.released import contingency, margins_alone
    from tacit.publish.tables.table import Table

    read = Table.read(file, [*names, *([] if counts is None else [counts])])
    track = partial(progress, what="solving integer programs")
    if marginals is None and counts is not None:
        return attack_margins(*margins_alone(read, names, counts), track)
    if counts is None:
        say(
            f"Each of {read.rows:,} lines counts as one person; for a table of counts, name its column with --counts.",
            to_stderr=True,
        )
    table = contingency(read, names, counts)
    sets = [table.axes(_columns_named(each)) for each in marginals] if marginals else [(axis,) for axis in range(len(names))]
    return attack_cells(table, sets, track)


def rebuild(
    file: Annotated[Path | None, typer.Argument(help="Rows of people (CSV or Parquet); without it, generated blocks.")] = None,
    block: Annotated[str, typer.Option(help="Column of the file that names the block.")] = "block",
    columns: Annotated[str, typer.Option(help="Counted columns of the file, separated by commas.")] = "",
    marginal: Annotated[
        list[str] | None, typer.Option(help="Released marginal: its columns, separated by commas. All pairs by default.")
    ] = None,
    blocks: Annotated[int, typer.Option(help="Number of generated blocks.", min=1, max=5000)] = 40,
    epsilon: Annotated[str, typer.Option(help="Epsilon of the noisy counts that the attack is compared with.")] = "1",
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rebuild the rows of small blocks from exact counts, as was done to a census. Defense: noise on the counts.

    Example: tacit attack rebuild --blocks 10
    """
    from itertools import combinations

    from tacit.evidence.attacks.tables.marginals import CENSUS, Census, attack_blocks, blocks_of, made_blocks

    census, people = CENSUS, made_blocks(blocks, seed) if file is None else []
    if file is not None:
        from tacit.publish.tables.table import Table

        names = _columns_named(columns)
        chosen = (
            [_columns_named(each) for each in marginal] if marginal else [list(pair) for pair in combinations(names, 2)] or [names]
        )
        if missing := [name for each in chosen for name in each if name not in names]:
            raise InvalidInput(f"a marginal names {missing[0]!r}, which is not among the columns {', '.join(names)}")
        census = Census(tuple(names), tuple(tuple(sorted(map(names.index, each))) for each in chosen))
        people = blocks_of(Table.read(file, [block, *names]), block, names)
    show(attack_blocks(people, census, epsilon, lambda each, many: progress(each, many, "rebuilding blocks")), chart, as_json)


def _columns_named(text: str) -> list[str]:
    if not (names := [each.strip() for each in text.split(",") if each.strip()]):
        raise InvalidInput("no column is named; name the columns with --columns, separated by commas")
    return names


def _print_cells(report: CellAttack) -> None:
    """A line for each cell, those with the narrowest intervals first where there are too many."""
    from rich.table import Table

    table = Table(*report.table.columns, "bounds", box=None, header_style="bold")
    every = report.cells()
    if len(every) > SHOWN:
        every = sorted(
            every, key=lambda cell: (report.bounds.upper[cell] == 0, report.bounds.upper[cell] - report.bounds.lower[cell])
        )
    for cell in every[:SHOWN]:
        table.add_row(*report.table.labels(cell), report.interval(cell))
    screen = console()
    screen.print(table)
    if len(every) > SHOWN:
        screen.print(f"... and {len(every) - SHOWN:,} more cells; --json prints all of them")


# --- `tacit attack linkage`, `homogeneity` and `downcoding` ------------------------------------------------------------------


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

    Exits with 1 if PUBLISHED identifies a person in REGISTER, or makes a value certain.

    Example: tacit attack linkage --people 100
    """
    from tacit.evidence.attacks.tables.labels import Columns
    from tacit.evidence.attacks.tables.linkage import Comparison, demonstration
    from tacit.evidence.attacks.tables.of_file import link_file

    if published is None:
        report, _ = demonstration(people, seed=seed)
    else:
        if register is None:
            raise InvalidInput("name the register to link with as the second file")
        columns = Columns(_names(quasi), sensitive, family or [], hierarchies, config)
        report = Comparison((link_file(published, register, columns, name),))
    show(report, chart, as_json)
    if published is not None and any(way.identified or way.disclosed for way in report.ways):
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
    from tacit.evidence.attacks.tables.labels import Columns, read_bag, receipt_of
    from tacit.evidence.attacks.tables.linkage import example, suppressed_label
    from tacit.evidence.attacks.tables.linkage import homogeneity as run
    from tacit.publish.tables.consistent import Release, consistent

    table, receipt = example(), None
    if published is not None:
        receipt = receipt_of(published)
        columns = Columns(_names(quasi), sensitive).complete(receipt)
        table = read_bag(published, columns.quasi, columns.sensitive, () if receipt is None else receipt.changed)
    report, stars = run(table, not_value or ()), suppressed_label(table)
    if not as_json and (receipt is None or receipt.method == "lattice"):  # labels of other methods overlap
        leaves = {} if stars is None else {stars: list({label for (label, _), _ in table} - {stars})}
        certain = [each for each in consistent(Release(dict(table), leaves)) if each.kind == "everybody"]
        for predicate in certain[:20]:
            console().print(f"true in every database that fits: {predicate}", soft_wrap=True)
    show(report, chart, as_json)
    if published is not None and report.certain():
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


# --- `tacit attack minimality` -----------------------------------------------------------------------------------------------


PUBLISHER = (
    "Publisher: fewest rows lifted, lowest levels, quasi-identifiers alone, or tacit anonymize. "
    "Without it, tacit for a file with a receipt, and else local."
)
RULE = "Rule of the publisher: share:FRACTION or different:NUMBER; share:1/2 without it."


class MinimalityExample(StrEnum):
    """The examples of the command."""

    tutorial = "tutorial"


class Way(StrEnum):
    """How a file is thought to have been published."""

    local = "local"
    columns = "columns"
    blind = "blind"
    tacit = "tacit"


def minimality(
    file: Annotated[Path | None, typer.Argument(help="Published table (CSV or Parquet); without it, the example.")] = None,
    example: Annotated[MinimalityExample, typer.Option(help="Example to attack.")] = MinimalityExample.tutorial,
    quasi: Annotated[str, typer.Option(help="Quasi-identifiers of the file, separated by commas.")] = "",
    sensitive: Annotated[str, typer.Option(help="Sensitive column of the file.")] = "",
    family: Annotated[list[str] | None, typer.Option(help="PARENT=CHILD,CHILD or COLUMN:PARENT=CHILD,CHILD.")] = None,
    hierarchies: Annotated[Path | None, typer.Option(help="Folder with a hierarchy COLUMN.csv for each quasi-identifier.")] = None,
    config: Annotated[Path | None, typer.Option(help=CONFIGURATION)] = None,
    publisher: Annotated[Way | None, typer.Option(help=PUBLISHER)] = None,
    rule: Annotated[str | None, typer.Option(help=RULE)] = None,
    smallest: Annotated[int, typer.Option(help="Smallest group that the publisher allows.", min=1)] = 1,
    protect: Annotated[list[str] | None, typer.Option(help="Protected value; all values without it.")] = None,
    limit: Annotated[str, typer.Option(help="Belief above which a protected value is breached.")] = "1/2",
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Infer values from a publisher that generalizes as little as it can. Defense: decide by the quasi-identifiers alone.

    Exits with 1 if a value in FILE is breached.

    Example: tacit attack minimality --example tutorial
    """
    from tacit.evidence.attacks.tables.labels import Columns
    from tacit.evidence.attacks.tables.minimality import tutorial
    from tacit.evidence.attacks.tables.of_file import Suspected, attack_file
    from tacit.privacy.rounding import exact

    if file is None:
        lesson = tutorial()
        if not as_json:
            _print_classes(lesson.classes())
        show(lesson, chart, as_json)
        return
    named = [each.strip() for each in quasi.split(",") if each.strip()]
    how = Suspected(
        None if publisher is None else publisher.value,
        rule,
        smallest,
        frozenset(protect) if protect else None,
        exact(limit, "limit"),
    )
    columns = Columns(named, sensitive, family or [], hierarchies, config)
    report = attack_file(file, columns, how, lambda tables, many: progress(tables, many, "running the publisher"))
    if not as_json:
        _print_beliefs(report)
    show(report, chart, as_json)
    if report.breaches:
        raise typer.Exit(1)


def _print_classes(classes: Sequence[Considered]) -> None:
    """The tables that fit, one line each."""
    from rich.table import Table

    from tacit.evidence.attacks.tables.bags import groups_of

    table = Table("q1 (yes, no)", "q2 (yes, no)", "assignments", "least lifted", "verdict", box=None, header_style="bold")
    for each in classes:
        groups = groups_of(each.table)
        cells = [f"{groups.get(quasi, {}).get('yes', 0)}, {groups.get(quasi, {}).get('no', 0)}" for quasi in ("q1", "q2")]
        table.add_row(*cells, str(each.weight), str(each.cost), each.verdict)
    console().print(table)


def _print_beliefs(report: Minimality) -> None:
    """A line for each belief."""
    from rich.table import Table

    from tacit.evidence.attacks.tables.minimality import label_text

    table = Table("quasi-identifiers", "value", "output alone", "with the algorithm", box=None, header_style="bold")
    for each in report.beliefs:
        table.add_row(label_text(each.quasi), label_text(each.value), _belief_text(each.without), _belief_text(each.posterior))
    console().print(table)


def _belief_text(belief: Any) -> str:
    return "-" if belief is None else f"{belief} = {float(belief):.3f}" if belief.denominator > 1 else str(belief)


# --- `tacit attack longest-commute` ------------------------------------------------------------------------------------------


def longest_commute(
    ratio: Annotated[str, typer.Option(help="Privacy ratio of the private map, e^epsilon.")] = "20",
    delta: Annotated[str, typer.Option(help="Probability that the ratio bound is exceeded.")] = "1e-9",
    maps: Annotated[int, typer.Option(help="Number of maps of each kind.", min=1, max=1000)] = 20,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the person with the longest commute on a simulated map. Defense: fake workers at every origin of a public map.

    Example: tacit attack longest-commute --maps 2
    """
    from tacit.evidence.attacks.longest_commute import longest_commute as run
    from tacit.publish.synthetic.commuters.example_state import made_state
    from tacit.publish.synthetic.commuters.model import Terms, offered

    state = made_state()
    totals = state.totals(state.blocks.zones("tract"))
    report = run(offered(totals, state.blocks.zones("blockgroup"), Terms(ratio, delta)), state.homes(totals), maps)
    show(report, chart, as_json)
    if not report.holds:
        raise typer.Exit(1)
