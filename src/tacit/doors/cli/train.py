"""`tacit train`: a classifier of a table in the catalog, paid from its budget, and its accuracy as a release of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AnalystOption, AsJson, PeriodsOption
from tacit.doors.cli.output import bar, console, print_json
from tacit.doors.cli.synthesize.map import SeedOption, refuse_seed
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.errors import InvalidInput, NoBudget

if TYPE_CHECKING:
    from tacit.publish.trained.release import Classifier

train = typer.Typer(no_args_is_help=True, help="Train a classifier on a private table, with differential privacy.")


def classifier(
    name: Annotated[str, typer.Argument(metavar="TABLE", help="Private table of the catalog.")],
    label: Annotated[str, typer.Option("--label", help="Column to predict: of two declared values, or column=value.")],
    features: Annotated[
        str | None, typer.Option("--features", help="Columns to learn from, comma-separated; all supported columns if omitted.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="File for the model, for example model.json.")] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Epsilon to spend, for example 1.")] = None,
    delta: Annotated[
        str | None, typer.Option("--delta", help="Delta to spend; allows Gaussian noise, which is far smaller.")
    ] = None,
    periods: PeriodsOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the price and the noise, and spend nothing.")] = False,
    rows: Annotated[
        int | None, typer.Option("--rows", help="Number of rows to assume for the noise of the coefficients, with --explain.")
    ] = None,
    seed: SeedOption = None,
    analyst: AnalystOption = None,
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """Train logistic regression by noisy gradient steps. The budget is spent before any data is read.

    Example: tacit train classifier patients --label sex --epsilon 0.1 --out trained.json
    """
    refuse_seed(seed)
    from tacit.files import check
    from tacit.publish.trained.release import explain_classifier, train_classifier
    from tacit.release.outputs import check_apart
    from tacit.session import open as open_data

    if rows is not None and not explain:
        raise InvalidInput("--rows is for --explain: a training does not need the number of rows; remove it, or add --explain")
    named = None if features is None else [part.strip() for part in features.split(",") if part.strip()]
    with open_data(find_catalog(catalog)) as data:
        if explain:
            planned = explain_classifier(data, name, label, named, epsilon=epsilon, delta=delta or 0, rows=rows)
            _show(planned.to_dict() if as_json else str(planned))
            return
        if out is not None:
            check_apart(data.catalog, check(out))
        with bar("training") as told:
            more: dict[str, Any] = {"delta": delta or 0, "periods": periods, "analyst": analyst, "told": told}
            model = train_classifier(data, name, label, named, epsilon=epsilon, **more)
        if out is not None:
            model.save(out)
        _show(model.to_dict() if as_json else _report(model, out))


def _report(model: Classifier, out: Path | None) -> str:
    """The model, its cost, and what to do next."""
    from tacit.accounting.ledger.caps import at_most
    from tacit.privacy.rounding import as_text

    receipt = model.receipt
    delta = f", delta {as_text(receipt.delta)}" if receipt.delta else ""
    where = f" in each of {receipt.periods}" if receipt.periods else ""
    spent = f"Spent: epsilon {at_most(receipt.epsilon)}{delta}{where}."
    spent = "Trained before: nothing was spent." if receipt.again else spent
    left = "" if receipt.left_epsilon is None else f" Remaining: epsilon {at_most(receipt.left_epsilon)}."
    lines = [str(model), f"{spent}{left} Entry {receipt.entry} of the ledger."]
    if out is not None:
        lines.append(f"Written: {out} and its certificate." if model.certified else f"Written: {out}.")
        lines.append(f"Its accuracy is a release of its own: tacit train accuracy {out} --epsilon 0.1")
    return "\n".join(lines)


def accuracy(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File that `tacit train classifier` wrote.")],
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Epsilon to spend, for example 0.1.")] = None,
    sql: Annotated[bool, typer.Option("--sql", help="Print the question instead of asking it.")] = False,
    analyst: AnalystOption = None,
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure how often a model is right on the private table: a question like any other, with its own price and interval.

    Example: tacit train accuracy model.json --epsilon 0.1
    """
    from tacit.publish.trained.release import read_classifier
    from tacit.session import open as open_data

    read = read_classifier(model)
    if sql:
        _show(read.accuracy_sql())
        return
    if epsilon is None:
        raise NoBudget("missing budget", remedy="give --epsilon 0.1")
    with open_data(find_catalog(catalog)) as data:
        answer = read.accuracy(data.session(analyst), epsilon=epsilon)
        _show(answer.to_dict() if as_json else str(answer))


def _show(shown: str | dict[str, Any]) -> None:
    """A text, or plain values as JSON."""
    if isinstance(shown, str):
        console().print(shown, soft_wrap=True, markup=False, highlight=False)
    else:
        print_json(shown)


COMMANDS: dict[str, Callable[..., None]] = {"classifier": classifier, "accuracy": accuracy}
