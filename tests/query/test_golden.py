"""The golden files of tests/queries: a question, its catalog in one line, and what is expected of plan, stability and price.

A file is written for statisticians: its first line says who a unit is, what is declared and what is paid, then comes the SQL, then
what tacit makes of it. `REWRITE=1` in the environment writes all but the SQL anew, to be reviewed like any other change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from stored import catalog, category, days, number, table
from tacit.accounting.composition import loss
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.privacy.catalog import Column, Owner, Source, Table
from tacit.privacy.loss import Concentrated
from tacit.privacy.rounding import as_text
from tacit.query.intervals.aggregates import moments_of
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.plan import Bound, Join, Moment, PerUnit, PublicScan, Relation, Scan, Semi, Union, UnitJoin
from tacit.query.price.explain import _unit, _Uses
from tacit.query.price.price import Quote, price, request
from tacit.query.price.stability import l1_sensitivity, l2_sensitivity
from tacit.query.question import Question, private, size
from worlds import PUBLIC, WARDS, world_in_memory

FOLDER = Path(__file__).parent.parent / "queries"
FILES = sorted(FOLDER.glob("*.sql"))
HEADER = re.compile(
    r"-- unit: ((person|row), (\d+) rows? each(?:, (\d+) in a group)?, (add/remove|change-one)) ·(?:.*·)? budget: (.*)"
)
FORMS = [
    "inner join on unit(",
    "left join on unit(",
    "join on unit and key(",
    "semi-join(",
    "anti-join(",
    "per unit(",
    "union all(",
]
NAMES = {"rows": "count", "units": "units", "sum": "sum", "centred": "sum", "squares": "squares", "list": "ranks"}


def declared(unit: str, rows: int, per_group: int | None) -> Any:
    """The clinic that every file is asked of; the header says how many rows a person has."""
    columns = (
        category("ward", "a", "b", "c"),
        category("sex", "F", "M", nulls="drop"),
        number("cost", 0, 5000, "0.01", nulls="drop"),
        number("income", 0, 200000, nulls="drop"),
        number("wealth", 0, 2**45, nulls="drop"),
        days("day", "2020-01-01", "2020-12-31", nulls="drop"),
        Column("diagnosis", "text"),
    )
    owner = {"unit": Owner("person"), "max_rows": rows, "max_rows_per_group": per_group} if unit == "person" else {}
    people = table("people", Path("people.csv"), Column("person", "key"), *columns, rows_at_most=10**6, **owner)
    wards = Table("wards", Source("csv", "wards.csv"), {column.name: column for column in WARDS}, public=True)
    return catalog(Path(), people, wards, *lent())


def lent() -> tuple[Table, Table]:
    """What belongs to people: loans, at most 8 of a person, and reminders, at most 16, which are led through loans."""
    branch = category("branch", *"ABCDEFGHIJ", unknown="drop")
    loans = table(
        "loans", Path("loans.csv"), Column("loan", "key"), branch, number("fee", 0, 50, nulls="drop"),
        unit=Owner("borrower", ("people", "person")), max_rows=8, rows_at_most=10**6,
    )  # fmt: skip
    reminders = table(
        "reminders", Path("reminders.csv"), category("kind", "letter", "call", unknown="drop"),
        unit=Owner("loan_id", ("loans", "loan")), max_rows=16, rows_at_most=10**6,
    )  # fmt: skip
    return loans, reminders


@pytest.fixture(scope="module")
def facts() -> Iterator[Any]:
    with world_in_memory(declared("row", 1, None), {"people": [], "loans": [], "reminders": [], "wards": PUBLIC}) as made:
        yield made.facts


def told(text: str, facts: Any) -> list[str]:
    """A golden file, line by line."""
    found = HEADER.match(text)
    assert found, "the first line says the unit, its rows, the relation and the budget"
    whose, unit, rows, per_group, relation, budget = found.groups()
    given = dict(part.split("=") for part in budget.split(", "))
    asked = request(**{name: Fraction(value) for name, value in given.items()})
    known = declared(unit, int(rows), int(per_group) if per_group else None)
    question = rewrite(parse(text), known, facts)
    quote = price(question, asked, "change-one" if relation == "change-one" else "add-remove")[0]
    first = " · ".join(
        [
            f"-- unit: {whose}",
            *bounds([each for each in known.tables.values() if not each.public], text),
            *keys(question),
            f"budget: {budget}",
        ]
    )
    rest = [f"-- plan:      {plan(question)}", f"-- stability: {stability(quote)}", f"-- price:     {priced(quote)}"]
    return [first, *text[text.index("\n") + 1 :].splitlines(), *rest, ""]


def bounds(tables: list[Table], text: str) -> list[str]:
    """The bounds of the numbers that a question names."""
    columns = [column for table in tables for column in table.columns.values()]
    numbers = [column for column in columns if column.kind == "number" and re.search(rf"\b{column.name}\b", text)]
    ends = [(column, *(as_text(bound) for bound in column.bounds or ())) for column in numbers]
    steps = {column.name: "" if column.step == 1 else f" step {as_text(column.step or Fraction(1))}" for column in numbers}
    shown = [f"{column.name} [{low}, {high}]{steps[column.name]}" for column, low, high in ends]
    return [f"bounds: {', '.join(shown)}"] if shown else []


def keys(question: Question) -> list[str]:
    named = ", ".join(key.name for key in question.group.keys)
    return [f"keys: {named}, {'private' if private(question) else 'public'}"] if named else []


def plan(question: Question) -> str:
    keys = ", ".join(f"{key.name} {'private' if private(question) else size(key)}" for key in question.group.keys)
    moments = ", ".join(f"{moment.kind}({over(moment, question)})" for moment in question.group.moments)
    calls = ", ".join(call.name + (f" {as_text(call.share)}" if call.share is not None else "") for call in question.calls)
    return " → ".join([*steps(question.group.child), *([f"group({keys})"] if keys else []), moments, calls])


def steps(relation: Relation) -> list[str]:
    """The steps from a stored table on; what another table goes through stands in brackets."""
    match relation:
        case Scan() | PublicScan():
            return [relation.table.name]
        case Bound():
            return [*steps(relation.child), f"bound {relation.max_rows}"]
        case Join():
            return [*steps(relation.child), f"{relation.kind} join({relation.table.name} ×{relation.fan_out})"]
        case UnitJoin():
            on = "unit and key" if relation.pairs else "unit"
            once = " ×1" if relation.once else ""
            return [*steps(relation.child), f"{relation.kind} join on {on}({inner(relation.other)}{once})"]
        case Semi():
            return [*steps(relation.child), f"{'anti' if relation.negated else 'semi'}-join({inner(relation.other)})"]
        case PerUnit():
            keys, totals = [name_of(node) for _, node in relation.keys], [total.kind for total in relation.totals]
            return [*steps(relation.child), f"per unit({', '.join([*keys, *totals])})"]
        case Union():
            return [f"union all({' | '.join(inner(part) for part, _ in relation.parts)})"]
        case _:
            return [*steps(relation.child), "where"]  # type: ignore[union-attr]


def inner(relation: Relation) -> str:
    return " → ".join(steps(relation))


def name_of(node: Any) -> str:
    return str(getattr(node, "name", "expression")).removeprefix("tacit_code ")


def over(moment: Moment, question: Question) -> str:
    """The column of a moment, or what stands for an expression."""
    if moment.value is None:
        return ""
    return str(getattr(moment.value, "name", "expression"))


def stability(quote: Quote) -> str:
    parts = []
    for part in quote.sums:
        laplace = isinstance(part.mechanism, Laplace)
        norm = l1_sensitivity(part.moment, quote.reach) if laplace else l2_sensitivity(part.moment, quote.reach)
        assert norm == part.mechanism.sensitivity
        parts.append(
            f"{NAMES[part.moment.kind]} {as_text(norm * _unit(part.moment, _Uses.of(quote.question)))}{_centred(part.moment)}"
        )
    parts += [f"ranks {rank.mechanism.max_rows} rows" for rank in quote.ranks]
    parts += [f"values {as_text(2 * mode.mechanism.sensitivity)} rows" for mode in quote.modes]
    return " · ".join([*parts, f"groups touched {quote.reach.groups}", f"rows in one {quote.reach.per_group}"])


def _centred(moment: Moment) -> str:
    return " (centred)" if moment.kind in ("centred", "squares") else ""


def priced(quote: Quote) -> str:
    parts = [f"{_amount(loss(quote.keys.event))} threshold {quote.keys.threshold} on the keys"] if quote.keys else []
    for part in quote.sums:
        name, unit = type(part.mechanism).__name__, _unit(part.moment, _Uses.of(quote.question))
        parts.append(
            f"{_amount(part.mechanism.loss)} {name}(scale {as_text(part.mechanism.scale * unit)}) on the {NAMES[part.moment.kind]}"
        )
    for rank in quote.ranks:
        how = "smooth sensitivity" if isinstance(rank.mechanism, SmoothQuantile) else "exponential mechanism"
        parts.append(f"{_amount(loss(rank.event))} {how} on the quantile")
    parts += [f"{_amount(mode.loss)} exponential mechanism on the mode" for mode in quote.modes]
    whole = f"epsilon {as_text(quote.epsilon)}" + (f", delta {as_text(quote.delta)}" if quote.delta else "")
    return f"{whole} = " + " + ".join(parts)


def _amount(known: Any) -> str:
    if isinstance(known, Concentrated):
        return f"rho {as_text(known.rho)}"
    epsilon = str(known.epsilon) if known.epsilon.denominator < 100 else as_text(known.epsilon)
    return f"{epsilon}" + (f" and {as_text(known.delta)}" if known.delta else "")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_question_is_planned_and_priced_as_the_file_says(file: Path, facts: Any) -> None:
    text = file.read_text()
    question = text[: text.index(";") + 1]
    written = "\n".join(told(question, facts))
    if os.environ.get("REWRITE"):
        file.write_text(written)
        text = written
    assert text == written


def test_there_are_files_for_every_aggregate_and_unit() -> None:
    texts = [file.read_text() for file in FILES]
    assert len(texts) >= 15
    wanted = [
        "COUNT(*)",
        "COUNT(DISTINCT",
        "SUM(",
        "AVG(",
        "STDDEV(",
        "MEDIAN(",
        "MAX(",
        "JOIN",
        "LEFT JOIN",
        "EXISTS (",
        "NOT IN (",
        "UNION ALL",
        "WITH ",
        "HAVING",
        "diagnosis",
        "change-one",
        "error=",
    ]
    assert all(any(word in text for text in texts) for word in wanted)


@pytest.mark.parametrize("form", FORMS)
def test_of_every_form_there_is_one_with_a_unit_in_one_group_and_one_in_eight(form: str) -> None:
    texts = [text for text in (file.read_text() for file in FILES) if form in text]
    touched = [int(number) for text in texts for number in re.findall(r"groups touched (\d+)", text)]
    assert min(touched) == 1
    assert max(touched) >= 8


def test_moments_are_those_of_the_calls() -> None:
    """What the files call the moments is what the table of aggregates needs."""
    assert [moment.kind for moment in moments_of(_avg(), (_avg(),))] == ["rows", "centred"]


def _avg() -> Any:
    from tacit.query.plan import Column as Stored
    from tacit.query.plan import NumberType, Term
    from tacit.query.question import Call

    return Call("avg", Term(Stored(0, "x", 0, 9, False), NumberType(Fraction(1))))
