"""`tacit anonymize check`: which anonymity models a table satisfies, and how strictly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.anonymize.options import DropMissing, names
from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import bar, console, print_json, say
from tacit.errors import InvalidInput
from tacit.privacy.rounding import counted

if TYPE_CHECKING:
    from tacit.publish.tables.models.named import Model
    from tacit.publish.tables.models.rows import Rows
    from tacit.publish.tables.models.tree import Tree
    from tacit.publish.tables.models.verdict import Verdict
    from tacit.publish.tables.risk import Risk

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
        print_json(_told(rows, required, others, risks))
    else:
        _show(rows, required, others, risks)
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
    from tacit.data.files.level_rows import level_rows
    from tacit.publish.tables.models.tree import Tree

    return None if path is None else Tree(tuple(tuple(row) for row in level_rows(path)))


def _of_groups(k: int | None, alpha: str | None, protected: Sequence[str]) -> Iterable[Model]:
    from tacit.publish.tables.models.alpha_k import AlphaK
    from tacit.publish.tables.models.k_anonymity import KAnonymity

    if alpha is not None and k is None:
        raise InvalidInput("--alpha is checked together with k; add for example --k 5")
    if k is not None:
        yield KAnonymity(k) if alpha is None else AlphaK(alpha, k, protected or None)


def _of_values(
    diversities: list[str] | None, closenesses: list[str] | None, delta: str | None, how: tuple[Any, ...]
) -> Iterable[Model]:
    from tacit.publish.tables.models.delta_disclosure import DeltaDisclosure
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
    from tacit.publish.tables.risk import estimated, journalist, prosecutor, with_suppressed

    found = {"prosecutor": prosecutor(rows)}
    if rows.suppressed.any():
        found["prosecutor, suppressed rows as one group"] = with_suppressed(rows)
    if population is not None:
        found["journalist"] = journalist(rows, read_rows(population, list(rows.quasi), [], marks, []))
    if weight is not None:
        found["journalist, estimated by weights"] = estimated(rows, weight)
    return found


def _told(rows: Rows, required: list[Verdict], others: tuple[Verdict, ...], risks: dict[str, Risk]) -> dict[str, Any]:
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


def _show(rows: Rows, required: list[Verdict], others: tuple[Verdict, ...], risks: dict[str, Risk]) -> None:
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
