"""`tacit anonymize check`, `sample-risk` and `adversary`: the protection that a table has, or a sample of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.anonymize.tables import DropMissing, names
from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import bar, console, print_json, say
from tacit.errors import InvalidInput
from tacit.privacy.rounding import counted

if TYPE_CHECKING:
    from tacit.publish.tables.adversary.report import GroupReport
    from tacit.publish.tables.models.named import Model
    from tacit.publish.tables.models.rows import Rows
    from tacit.publish.tables.models.tree import Tree
    from tacit.publish.tables.models.verdict import Verdict
    from tacit.publish.tables.risk import Risk, SampleRisk

NOTE = "Not differentially private: these models say nothing about what an adversary knows beyond the quasi-identifiers."
File = Annotated[Path, typer.Argument(help="Table to check, a CSV or Parquet file.")]
Quasi = Annotated[str, typer.Option("--quasi", help="Quasi-identifiers, comma-separated.")]
Sensitive = Annotated[str, typer.Option("--sensitive", help="Sensitive columns, comma-separated.")]
Suppressed = Annotated[
    str, typer.Option("--suppressed", help="Mark of suppressed values; a row with the mark everywhere has no group.")
]
Diversities = Annotated[
    list[str] | None, typer.Option("--l", help="Required l-diversity: distinct:3, frequency:2, entropy:2, recursive:3:2.")
]
Closenesses = Annotated[list[str] | None, typer.Option("--t", help="Required t-closeness: 0.2, ordered:0.2 or hierarchical:0.2.")]
Protected = Annotated[str, typer.Option("--protected", help="frequency, --alpha: protected values, comma-separated; default: all.")]
Order = Annotated[str, typer.Option("--order", help="ordered: values in their order, comma-separated; default: by number.")]
Tree_ = Annotated[Path | None, typer.Option("--hierarchy", help="Hierarchy of the sensitive column, for hierarchical and --guard.")]
Guard = Annotated[str | None, typer.Option("--guard", help="Column of guarding nodes, for personalized privacy.")]
Breach = Annotated[str, typer.Option("--breach", help="Largest probability of a value below a guarding node.")]
Separate = Annotated[
    bool, typer.Option("--separate", help="Check each sensitive column alone; the others are not known to anyone.")
]
Weight = Annotated[str | None, typer.Option("--weight", help="Column of sampling weights, to estimate the journalist risk.")]
Population = Annotated[Path | None, typer.Option("--population", help="Table of the whole population, for the journalist risk.")]


def check_table(
    file: File,
    quasi: Quasi,
    sensitive: Sensitive = "",
    k: Annotated[int | None, typer.Option("--k", help="Required least number of rows in a group.")] = None,
    alpha: Annotated[str | None, typer.Option(help="Required largest share of a value in a group; with --k.")] = None,
    l: Diversities = None,  # noqa: E741
    t: Closenesses = None,
    delta: Annotated[str | None, typer.Option("--delta-disclosure", help="Required delta-disclosure privacy.")] = None,
    protected: Protected = "",
    order: Order = "",
    hierarchy: Tree_ = None,
    guard: Guard = None,
    breach: Breach = "0.5",
    drop_missing: DropMissing = None,
    suppressed: Suppressed = "*",
    separate: Separate = False,
    population: Population = None,
    weight: Weight = None,
    as_json: AsJson = False,
) -> None:
    """Check a table against anonymity models, and print the strictest parameters that hold. Exits with 1 if a model fails.

    Example: tacit anonymize check people.csv --quasi sex --sensitive disease --k 5 --l entropy:2 --t 0.2 --delta-disclosure 1
    """
    from tacit.publish.tables.models.named import strictest

    tree = _tree(hierarchy)
    models = [*_of_groups(k, alpha, names(protected)), *_of_values(l, t, delta, (names(protected), names(order), tree))]
    if guard is not None:
        models.append(_personal(breach, tree, guard))
    marks, more = (drop_missing, suppressed), [each for each in (guard, weight) if each]
    with bar("reading") as told:
        rows = read_rows(file, names(quasi), names(sensitive), marks, more)
        if told is not None:
            told("checking", 0.5)
        required = [verdict for model in models for verdict in model.check(rows, strict=not separate)]
        others = strictest(rows, strict=not separate)
        risks = _risks(rows, population, weight, marks)
    if as_json:
        print_json(_as_values(rows, required, others, risks))
    else:
        _show_verdicts(rows, required, others, risks)
    if not all(verdict.passes for verdict in required):
        raise typer.Exit(1)


def read_rows(
    file: Path, quasi: Sequence[str], sensitive: Sequence[str], marks: tuple[str | None, str | None], others: Sequence[str]
) -> Rows:
    """The named columns of a file as trimmed texts, where no value and a blank are the same."""
    from pyarrow.compute import utf8_trim_whitespace

    from tacit.data.files.columns import read_columns
    from tacit.publish.tables.models.rows import rows_of

    wanted = list(dict.fromkeys([*quasi, *sensitive, *others]))
    if not quasi:
        raise InvalidInput("no quasi-identifier is named; give for example --quasi age,sex")
    texts = (utf8_trim_whitespace(each.fill_null("")) for each in read_columns(file, wanted))
    missing = None if marks[0] is None else names(marks[0])
    return rows_of(dict(zip(wanted, texts, strict=True)), quasi, sensitive, mark=marks[1], drop=missing)


def _tree(path: Path | None) -> Tree | None:
    from tacit.data.files.kinds import level_rows
    from tacit.publish.tables.models.tree import Tree

    return None if path is None else Tree(tuple(tuple(row) for row in level_rows(path)))


def _of_groups(k: int | None, alpha: str | None, protected: Sequence[str]) -> Iterable[Model]:
    from tacit.publish.tables.models.k_anonymity import AlphaK, KAnonymity

    if alpha is not None and k is None:
        raise InvalidInput("--alpha is checked together with k; add for example --k 5")
    if k is not None:
        yield KAnonymity(k) if alpha is None else AlphaK(alpha, k, protected or None)


def _of_values(
    diversities: list[str] | None, closenesses: list[str] | None, delta: str | None, how: tuple[Any, ...]
) -> Iterable[Model]:
    from tacit.publish.tables.models.closeness import DeltaDisclosure
    from tacit.publish.tables.models.named import closeness, diversity

    protected, order, tree = how
    yield from (diversity(text, protected or None) for text in diversities or ())
    yield from (closeness(text, tree, order or None) for text in closenesses or ())
    if delta is not None:
        yield DeltaDisclosure(delta)


def _personal(breach: str, tree: Tree | None, guard: str) -> Model:
    from tacit.publish.tables.models.personalized import PersonalizedPrivacy

    if tree is None:
        raise InvalidInput("--guard needs the hierarchy of the sensitive column; give its file with --hierarchy")
    return PersonalizedPrivacy(breach, tree, guard)


def _risks(rows: Rows, population: Path | None, weight: str | None, marks: tuple[str | None, str]) -> dict[str, Risk]:
    from tacit.publish.tables.risk import estimate_risk, journalist, prosecutor, with_suppressed

    risks = {"prosecutor": prosecutor(rows)}
    if rows.suppressed.any():
        risks["prosecutor, suppressed rows as one group"] = with_suppressed(rows)
    if population is not None:
        risks["journalist"] = journalist(rows, read_rows(population, list(rows.quasi), [], marks, []))
    if weight is not None:
        risks["journalist, estimate_risk by weights"] = estimate_risk(rows, weight)
    return risks


def _as_values(rows: Rows, required: list[Verdict], others: tuple[Verdict, ...], risks: dict[str, Risk]) -> dict[str, Any]:
    return {
        "rows": len(rows),
        "suppressed": int(rows.suppressed.sum()),
        "groups": len(rows.groups.sizes),
        "passes": all(verdict.passes for verdict in required),
        "verdicts": [verdict.as_dict() for verdict in required],
        "holds": [{key: each.as_dict()[key] for key in ("model", "column", "holds", "worst")} for each in others],
        "risk": {name: risk.as_dict() for name, risk in risks.items()},
        "differentially_private": False,
    }


def _show_verdicts(rows: Rows, required: list[Verdict], others: tuple[Verdict, ...], risks: dict[str, Risk]) -> None:
    from rich.table import Table

    from tacit.doors.cli.screen import styled
    from tacit.privacy.rounding import as_text
    from tacit.publish.tables.risk import NOT_TO_BE_PUBLISHED

    screen = console()
    lost = int(rows.suppressed.sum())
    groups = len(rows.groups.sizes)
    say(f"{counted(len(rows), 'row')}, {lost:,} of them suppressed; {counted(groups, 'group')}.")
    for verdict in required:
        screen.print(styled((str(verdict), "green" if verdict.passes else "bold red")), soft_wrap=True)
    say("\nStrictest parameters that hold:")
    held = Table("model", "column", "holds", box=None, header_style="bold")
    for each in others:
        held.add_row(each.model, each.column, each.figure.holds)
    screen.print(held)
    say(f"\nRe-identification risk ({NOT_TO_BE_PUBLISHED}):")
    shown = Table("attacker", "largest", "mean", "rows above 1/5", "uniques", box=None, header_style="bold")
    for name, risk in risks.items():
        shown.add_row(name, as_text(risk.largest), as_text(risk.mean), f"{float(risk.high):.1%}", f"{risk.uniques:,}")
    screen.print(shown)
    say(f"\n{NOTE}")


# --- `tacit anonymize sample-risk` -------------------------------------------------------------------------------------------


SHOWN = 12  # lines of rare values
LIKELY = 0.95


class Design(StrEnum):
    """How rows are drawn."""

    bernoulli = "bernoulli"
    fixed = "fixed"


def sample_risk(
    file: Annotated[Path, typer.Argument(help="Table to sample from, a CSV or Parquet file.")],
    columns: Annotated[str, typer.Option(help="Columns that the sample would show, comma-separated.")],
    rate: Annotated[str, typer.Option(help="Share of the rows to draw, for example 0.01.")],
    epsilon: Annotated[str, typer.Option(help="Largest privacy loss that counts as private.")] = "1",
    design: Annotated[
        Design, typer.Option(help="bernoulli: each row by itself; fixed: a fixed number of rows.")
    ] = Design.bernoulli,
    least: Annotated[float | None, typer.Option(help="Least probability to require; exits with 1 below it.", min=0, max=1)] = None,
    drop_missing: DropMissing = None,
    as_json: AsJson = False,
) -> None:
    """Compute the probability that a random sample of a table identifies no one. For the data owner: not to be published.

    Example: tacit anonymize sample-risk people.csv --columns sex,disease --rate 0.01
    """
    from tacit.publish.tables.risk import sample_risk as risk_of

    shown = names(columns)
    if not shown:
        raise InvalidInput("no column is named; give for example --columns age,sex")
    rows = read_rows(file, shown, [], (drop_missing, None), [])
    result = risk_of(rows, rate, epsilon, design.value)
    if as_json:
        print_json(result.as_dict())
    else:
        _show_risk(result)
    if least is not None and result.low < least:
        raise typer.Exit(1)


def _show_risk(risk: SampleRisk) -> None:
    from rich.table import Table

    from tacit.privacy.rounding import as_text
    from tacit.publish.tables.risk import NOT_TO_BE_PUBLISHED

    between = f"{risk.low:.4g}" if risk.low == risk.high else f"{risk.low:.4g} to {risk.high:.4g}"
    say(f"{risk.rows:,} rows, rate {as_text(risk.rate)}, {risk.design}; private means a loss of at most {as_text(risk.epsilon)}.")
    say(f"Probability that the sample is private for everyone: {between} ({NOT_TO_BE_PUBLISHED})")
    say(f"The same for a table of this size whose rows are all unique: {risk.all_unique:.4g}")
    say(f"Unique values: {risk.uniques:,}, of which {risk.exposed:,.4g} are drawn on average.")
    say(f"For a probability of {LIKELY}, at most {risk.uniques_at_most(LIKELY):,} values may be unique.\n")
    table = Table(
        "people per value", "values", "most that may be drawn", "chance to draw more of one", box=None, header_style="bold"
    )
    for each in risk.by_holders[:SHOWN]:
        table.add_row(f"{each.holders:,}", f"{each.values:,}", f"{each.most:,}", f"{each.chance:.3g}")
    console().print(table)
    if len(risk.by_holders) > SHOWN:
        say(f"... and {len(risk.by_holders) - SHOWN:,} more group sizes")
    say("\nNot differentially private: whoever has a unique value and is drawn is given away, whatever the rate.")


# --- `tacit anonymize adversary` ---------------------------------------------------------------------------------------------


class AdversaryClass(StrEnum):
    """Who is guarded against."""

    one = "I"
    two = "II"
    three = "III"
    four = "IV"


def adversary(
    file: Annotated[Path | None, typer.Argument(help="Published table to judge (CSV or Parquet), instead of --counts.")] = None,
    counts: Annotated[str, typer.Option(help="Rows of one group with each sensitive value, separated by commas.")] = "8,2,2",
    prior: Annotated[str, typer.Option(help="Prior of the first values, separated by commas; the others share the rest.")] = "0.1",
    stubbornness: Annotated[str, typer.Option(help="Stubbornness of each adversary, separated by commas; inf is allowed.")] = "10",
    ratio: Annotated[str, typer.Option(help="Largest ratio of beliefs that counts as private.")] = "2",
    known: Annotated[int, typer.Option(help="Rows of the group that the adversary knows.", min=0)] = 0,
    quasi: Annotated[str, typer.Option(help="Quasi-identifiers of the file, separated by commas.")] = "",
    sensitive: Annotated[str, typer.Option(help="Sensitive column of the file.")] = "",
    against: Annotated[
        AdversaryClass, typer.Option(help="Class of adversaries that the file is judged against.")
    ] = AdversaryClass.two,
    chart: Annotated[Path | None, typer.Option(help="File for a chart of both limits: .svg, .png or .html.")] = None,
    as_json: AsJson = False,
) -> None:
    """Judge epsilon-privacy against Dirichlet adversaries: beliefs with and without a row. Not differentially private.

    Exits with 1 if a group of FILE is not private.

    Example: tacit anonymize adversary --counts 8,2,2 --prior 0.1 --stubbornness 10,100,1000,inf
    """
    from tacit.publish.tables.adversary.report import group_report

    if file is not None:
        _judge_file(file, [each for each in quasi.split(",") if each], sensitive, (against, stubbornness, ratio), as_json)
        return
    result = group_report(_whole(counts), prior.split(","), stubbornness.split(","), ratio, known)
    if chart is not None:
        result.chart(str(chart))
    if as_json:
        print_json(result.to_dict())
    else:
        _print(result)


def _whole(text: str) -> list[int]:
    try:
        return [int(each) for each in text.split(",")]
    except ValueError as error:
        raise InvalidInput("--counts must be whole numbers separated by commas, for example 8,2,2") from error


def _print(report: GroupReport) -> None:
    from rich.table import Table

    from tacit.publish.tables.adversary.report import number_text

    rows = Table("stubbornness", "with the row", "without it", "ratio", "ratio of other values", box=None, header_style="bold")
    for line in report.lines:
        held = line.belief
        ratios = [number_text(each) if each == float("inf") else f"{float(each):.3f}" for each in (held.ratio, held.other_ratio)]
        share = str(held.with_row) if report.known else f"{report.counts[0]}/{sum(report.counts)}"
        beliefs = [f"{share} = {float(held.with_row):.3f}", f"{held.without} = {float(held.without):.3f}"]
        rows.add_row(number_text(line.stubbornness), *beliefs, *ratios)
    screen = console()
    rows_known = f", {counted(report.known, 'row')} known" if report.known else ""
    screen.print(f"Belief in the first value of a group with counts {', '.join(map(str, report.counts))}{rows_known}")
    screen.print(rows)
    for line, before in zip(report.lines, report.before(), strict=True) if report.known else ():
        ratio = number_text(before.ratio) if before.ratio == float("inf") else f"{float(before.ratio):.3f}"
        screen.print(
            f"As in the tutorial, where known rows tell nothing of the target: {before.without} = {float(before.without):.3f} "
            f"without the release, ratio {ratio} (stubbornness {number_text(line.stubbornness)})",
            soft_wrap=True,
        )
    for name, verdict in report.verdicts().items():
        screen.print(
            f"{name}, ratio {number_text(report.ratio)}: {'passes' if verdict.passes else 'fails'} ({verdict.needs})",
            soft_wrap=True,
        )
    screen.print(report.summary(), soft_wrap=True)


def _judge_file(path: Path, quasi: list[str], sensitive: str, how: tuple[AdversaryClass, str, str], as_json: bool) -> None:
    """Every group of a file, against one class."""
    from tacit.privacy.rounding import exact
    from tacit.publish.tables.adversary.beliefs import Adversary, ClassI, ClassII, ClassIII, ClassIV, Extended, Prior, judge_table
    from tacit.publish.tables.table import Table

    kind, written, limit = how
    sigma: Extended = float("inf") if written == "inf" else exact(written, "stubbornness")

    def made(shares: tuple[Fraction, ...]) -> Adversary:
        if kind is AdversaryClass.one:
            return ClassI(Prior(shares, sigma))
        if kind is AdversaryClass.two:
            return ClassII(sigma)
        return ClassIII(shares) if kind is AdversaryClass.three else ClassIV()

    result = judge_table(Table.read(path, [*quasi, sensitive]), quasi, sensitive, made, exact(limit, "ratio"))
    private = result.groups - result.failing
    words = f"{private:,} of {result.groups:,} groups are private against Class {kind.value} for the ratio {limit}"
    if as_json:
        example = None if result.example is None else list(result.example)
        counted = {"passes": result.passes, "groups": result.groups, "failing": result.failing, "failing_rows": result.failing_rows}
        print_json(counted | {"class": kind.value, "example": example, "needs": result.needs, "publish": False})
    else:
        say(f"{words}. Not differentially private. These figures are facts about private data; do not publish them.")
        if result.example is not None:
            say(f"A group that is not private has counts {', '.join(map(str, result.example))}; it needs: {result.needs}.")
    if not result.passes:
        raise typer.Exit(1)
