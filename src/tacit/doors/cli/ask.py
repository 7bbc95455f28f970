"""`tacit sql` and `tacit explain`: a question with its budget, and what it would cost."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from tacit.chart import check_format
from tacit.doors.cli.output import clock, console, print_csv, print_json
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.errors import InvalidInput
from tacit.files import check
from tacit.privacy.rounding import brief, is_decimal

if TYPE_CHECKING:
    from tacit.doors.client import Remote
    from tacit.release.answer import Answer
    from tacit.session import Session

WORDS = {"true": True, "false": False, "null": None}
Parameter = str | Decimal | bool | date | None


def text_of(question: str | None, file: Path | None) -> str:
    """The question itself, what `file` holds, or what comes from standard input where the question is "-"."""
    if (question is None) == (file is None):
        raise InvalidInput("give the question as an argument, as - for standard input, or with --file, and only one of them")
    if file is not None:
        if str(file) != "-":
            with file.open("rb") as opened:
                return utf8_text(_first(opened))
    elif question != "-":
        return question or ""
    return utf8_text(_first(sys.stdin.buffer))


def _first(opened: BinaryIO) -> bytes:
    """No more of a file than a question may have, and some."""
    from tacit.query.language.sql import LONGEST_TEXT

    return opened.read(4 * LONGEST_TEXT + 1)


def utf8_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("the question is not UTF-8 text; save it as UTF-8") from None


def parameters(given: Sequence[str]) -> dict[str, Parameter] | None:
    """The values of `--param name=value`; those of ? and $1 have numbers as names.

    >>> parameters(["age=65", "ward=north", "day=2024-01-31", "code='7'", "1=true"])
    {'age': Decimal('65'), 'ward': 'north', 'day': '2024-01-31', 'code': '7', '1': True}
    """
    parameters: dict[str, Parameter] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign or not name.strip():
            raise InvalidInput(f"{each[:60]!r} is not a parameter; write --param age=65")
        if name.strip().lower() in parameters:
            raise InvalidInput(f"the parameter {name.strip()[:60]!r} is given twice; give it once")
        parameters[name.strip().lower()] = _value(value)
    return parameters or None


def _value(text: str) -> Parameter:
    """A number, TRUE, FALSE or NULL as in SQL; anything else is a text, and so is what stands in single quotes."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    return Decimal(text) if is_decimal(text) else text


# --- `tacit sql` and `tacit explain` -----------------------------------------------------------------------------------------


Question = Annotated[
    str | None,
    typer.Argument(metavar="[SQL]", help="One SELECT over declared tables; - reads it from standard input.", show_default=False),
]
QuestionFile = Annotated[
    Path | None, typer.Option("--file", help="File with a question, or with several at one price; - is standard input.")
]
Loss = Annotated[
    str | None,
    typer.Option("--loss", help="Error of several questions or grouping sets to make small: squares (of all numbers) or largest."),
]
Params = Annotated[
    list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Value of :NAME, or of $1 and ? by number; repeatable.")
]
AnalystOption = Annotated[
    str | None,
    typer.Option("--analyst", envvar="TACIT_ANALYST", help="Analyst who asks; required if the catalog declares several."),
]
Epsilon = Annotated[str | None, typer.Option("--epsilon", help="Epsilon to spend, for example 0.5.")]
Delta = Annotated[str | None, typer.Option("--delta", help="Delta to spend, for example 1e-9; enables Gaussian noise.")]
Error = Annotated[
    str | None, typer.Option("--error", help="Target error instead of a budget; spends the least epsilon that reaches it.")
]
Confidence = Annotated[str, typer.Option("--confidence", help="Confidence level of the intervals, per value.")]
Tidy = Annotated[bool, typer.Option("--tidy", help="Whole counts of at least 0, and totals that agree with their parts.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Pay for new numbers, also where your earlier answers are as exact.")]
Simultaneous = Annotated[bool, typer.Option("--simultaneous", help="Make the intervals hold for all values together.")]
Weights = Annotated[
    list[str] | None,
    typer.Option("--weight", metavar="COLUMN=NUMBER", help="How much more the error of a column counts; repeatable."),
]
ServerOption = Annotated[
    str | None, typer.Option("--server", envvar="TACIT_SERVER", metavar="URL", help="Server to ask instead of the catalog's data.")
]
NoInterval = Annotated[
    bool, typer.Option("--no-interval", help="Release quantiles without intervals; all of their epsilon goes to the values.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PeriodsOption = Annotated[
    str | None,
    typer.Option(
        "--periods",
        metavar="PERIODS",
        help="Periods to read and to pay from, for example 2026-09 or 2026-01..2026-09; all that have begun if omitted.",
    ),
]


def sql(
    question: Question = None,
    file: QuestionFile = None,
    param: Params = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    error: Error = None,
    confidence: Confidence = "0.95",
    simultaneous: Simultaneous = False,
    tidy: Tidy = False,
    fresh: Fresh = False,
    no_interval: NoInterval = False,
    weight: Weights = None,
    loss: Loss = None,
    groups: Annotated[
        int | None, typer.Option("--groups", min=1, help="Largest number of groups to answer; required above 10,000.")
    ] = None,
    chart: Annotated[Path | None, typer.Option("--chart", help="Chart of the answer: a .svg, .png or .html file.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the chart, instead of one from the question.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: AsJson = False,
    analyst: AnalystOption = None,
    server: ServerOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Answer a question with differential privacy, or several at one price. The budget is spent before any data is read.

    Example: tacit sql "SELECT COUNT(*) FROM visits" --epsilon 0.1
    """
    if chart is not None:
        check_format(chart)
        check(chart)
    elif title is not None:
        raise InvalidInput("--title names a chart; add for example --chart answer.svg")
    budget = read_budget(epsilon, delta, error, confidence, simultaneous, no_interval) | _weights(weight or ()) | _loss(loss)
    text, params = text_of(question, file), parameters(param or ())
    if is_list(text):
        _refuse_forms(as_csv, chart)
        with respondent(catalog, analyst, server) as session:
            answers = session.ask(text, params=params, **budget, groups=groups, tidy=tidy)
        print_json(answers.to_dict()) if as_json else console().print(str(answers), soft_wrap=True, markup=False, highlight=False)
        return
    with respondent(catalog, analyst, server) as session:
        answer = session.sql(text, params=params, **budget, groups=groups, tidy=tidy, fresh=fresh)
    print_answer(answer, as_csv, as_json)
    if chart is not None:  # after the answer: it is paid for, and a chart that cannot be drawn must not cost it
        answer.chart(chart, title=title)
        if not (as_json or as_csv):
            console().print(f"chart: {chart}", soft_wrap=True)


def is_list(text: str) -> bool:
    """Whether a text has several questions; the reader of SQL is loaded only for one that may."""
    if ";" not in text:
        return False
    from tacit.query.language.sql import is_list

    return is_list(text)


def _refuse_forms(as_csv: bool, chart: Path | None) -> None:
    """Refuse what is made of one answer, before several are paid for."""
    if as_csv or chart is not None:
        named = "--csv" if as_csv else "--chart"
        raise InvalidInput(f"{named} is for one question, and the file has several; use --json, or ask one by itself")


def _loss(loss: str | None) -> dict[str, Any]:
    return {} if loss is None else {"loss": loss}


def print_answer(answer: Answer, as_csv: bool, as_json: bool) -> None:
    if as_json:
        print_json(answer.to_dict())
    elif as_csv:
        print_csv(answer.to_csv())
    else:
        console().print(answer)


def explain(
    question: Question = None,
    file: QuestionFile = None,
    param: Params = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    error: Error = None,
    confidence: Confidence = "0.95",
    simultaneous: Simultaneous = False,
    no_interval: NoInterval = False,
    weight: Weights = None,
    loss: Loss = None,
    epsilons: Annotated[
        str | None, typer.Option("--epsilons", metavar="LIST", help="Epsilons to compare, at most 20, for example 0.1,0.5,1.")
    ] = None,
    group_rows: Annotated[
        int | None, typer.Option("--group-rows", min=1, help="Assumed size of a group, for the errors of averages and variances.")
    ] = None,
    as_json: AsJson = False,
    analyst: AnalystOption = None,
    server: ServerOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Explain the plan, noise, error and price of a question. Spends nothing and reads no private data.

    Example: tacit explain "SELECT AVG(cost) FROM visits" --epsilon 0.1
    """
    budget = read_budget(epsilon, delta, error, confidence, simultaneous, no_interval) | _weights(weight or ()) | _loss(loss)
    budget |= {} if epsilons is None else {"epsilons": [each.strip() for each in epsilons.split(",")]}
    budget |= {} if group_rows is None else {"group_rows": group_rows}
    priced = {"epsilon", "error", "epsilons"} & set(budget)
    text, params = text_of(question, file), parameters(param or ())
    with respondent(catalog, analyst, server) as session:
        explanation = session.explain(text, params=params, **budget)
    if as_json:
        print_json(explanation.to_dict())
        return
    console().print(str(explanation), soft_wrap=True)
    if not priced and explanation.epsilon:
        console().print("priced at epsilon 1, as no budget was given (unless one is written in the question)", style="dim")


def opened(catalog: Path | None, analyst: str | None) -> Session:
    """The session of an analyst on the catalog that the command works on."""
    from tacit.session import open as open_data

    return open_data(find_catalog(catalog)).session(analyst)


def remote_of(server: str, analyst: str | None) -> Remote:
    """A server, asked as the account of the token."""
    from tacit.doors.cli.login import connected

    if analyst not in (None, os.environ.get("TACIT_ANALYST")):
        raise InvalidInput("with --server, the token says who asks; leave out --analyst")
    return connected(server)


@contextmanager
def respondent(catalog: Path | None, analyst: str | None, server: str | None) -> Iterator[Session | Remote]:
    """Who is asked: a server, or the data of a catalog on this machine."""
    if server is not None:
        with remote_of(server, analyst) as remote, clock("waiting for the server"):
            yield remote
        return
    from tacit.query.engines import EMBEDDED

    session = opened(catalog, analyst)
    far = session.data.catalog.store_engine != EMBEDDED  # an embedded engine is forked, and must be before there is a thread
    with session.data, clock("waiting for the cluster") if far else nullcontext():
        yield session


def read_budget(
    epsilon: str | None, delta: str | None, error: str | None, confidence: str, simultaneous: bool, no_interval: bool
) -> dict[str, Any]:
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "error": error, "simultaneous": simultaneous or None}
    given["interval"] = False if no_interval else None
    budget = {name: value for name, value in given.items() if value is not None}
    return {**budget, "confidence": confidence} if confidence != "0.95" else budget


def _weights(given: Sequence[str]) -> dict[str, Any]:
    """The values of --weight, as the argument of a session; raises for one that is not COLUMN=NUMBER, or given twice."""
    weights: dict[str, str] = {}
    for each in given:
        name, sign, number = each.rpartition("=")
        if not sign or not name:
            raise InvalidInput(f"--weight must be COLUMN=NUMBER, not {brief(each)}; give for example --weight cost=3")
        if name in weights:
            raise InvalidInput(f"--weight is given twice for {brief(name)}; leave one of them out")
        weights[name] = number
    return {"weights": weights} if weights else {}
