"""Questions of somebody who wants one person's data: each once told too much, cost too little, or kept the system busy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.accounting.composition import cost_under
from tacit.data.prepare import prepare
from tacit.errors import BudgetExceeded, InvalidInput, RangeTooLarge, Refused, StoreUnusable
from tacit.privacy.conversion import least_epsilon_up, pure_rho_up
from tacit.privacy.sealed import Sealed
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.price.price import Quote, price, request
from tacit.query.price.stability import l1_sensitivity, l2_sensitivity, reach
from tacit.query.question import Question
from tacit.session import DataSet

CATALOG = """
{first}
[budget]
epsilon = 100
delta = 1e-4

[tables.visits]
source = "visits.csv"
unit = {{ column = "person" }}
max_rows = 3
rows_at_most = 1000

[tables.visits.columns]
person = {{ key = true }}
age = {{ bounds = [0, 110], nulls = "drop" }}
cost = {{ bounds = [-20, 50], step = 0.01 }}
ward = {{ values = ["a", "b"] }}
note = {{ keys = "private" }}
wealth = {{ bounds = [0, 10000000000000], nulls = "drop" }}
"""
HEADER = "person,age,cost,ward,note,wealth"
PEOPLE = {
    0: ["110,50,a,flu,10000000000000"] * 3,
    1: ["0,-20,b,flu,0", "55,0.01,,cold,1"],
    2: ["3,,a,,2", "109,49.99,b,flu,9999999999999", "1,1,a,a long text about a rare illness of one person,5"],
}


def data_of(folder: Path, people: dict[int, list[str]] = PEOPLE, first: str = "") -> DataSet:
    folder.mkdir(exist_ok=True)
    rows = [f"{person},{row}" for person, rows in people.items() for row in rows]
    (folder / "visits.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    (folder / "tacit.toml").write_text(CATALOG.format(first=first))
    data = tacit.open(folder / "tacit.toml")
    data.prepare(new_ledger=not data.has_ledger, reason="a test")
    return data


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> list[DataSet]:
    """A data set, then the same without each person in turn."""
    folder = tmp_path_factory.mktemp("hostile")
    fewer = [{kept: rows for kept, rows in PEOPLE.items() if kept != gone} for gone in PEOPLE]
    return [data_of(folder / str(at), people) for at, people in enumerate([PEOPLE, *fewer])]


def plan_of(data: DataSet, question: str) -> Question:
    return rewrite(parse(question), data.catalog, data.public)


def quotes_of(data: DataSet, question: str, **budget: Any) -> tuple[Quote, ...]:
    return price(plan_of(data, question), request(**budget), data.catalog.change)


def exact(data: DataSet, question: Question) -> list[np.ndarray[Any, Any]]:
    return [moment.unseal().astype(object) for moment in data.engine.run(question.group).moments if isinstance(moment, Sealed)]


@pytest.mark.parametrize(
    "value",
    [
        "age % 1000.001",  # the range of a rest was once counted in the steps of `age`: a thousandth of the noise
        "age % 2.5",
        "(cost + 20) % 0.07",
        "(age / 7) % 3",
        "CASE WHEN age > 50 THEN 1 WHEN age > 3 THEN NULL ELSE -2.5 END",
        "ABS(cost - 49.995)",
        "POWER(cost, 2) - 7",
        "WIDTH_BUCKET(cost, -1, 1, 7)",
        "GREATEST(cost, age, NULL)",
        "ROUND(cost / 3, 1)",
        "cost / (age - 55)",
        "wealth / 3",
    ],
)
@pytest.mark.parametrize("group", ["", " GROUP BY ward"])
def test_nobody_moves_a_sum_by_more_than_it_is_priced_for(neighbours: list[DataSet], value: str, group: str) -> None:
    question = plan_of(neighbours[0], f"SELECT SUM({value}), AVG({value}), VAR_POP({value}) FROM visits{group}")
    touched = reach(question)
    whole = exact(neighbours[0], question)
    for fewer in neighbours[1:]:
        for moment, with_one, without in zip(question.group.moments, whole, exact(fewer, question), strict=True):
            moved = [abs(int(step)) for step in with_one - without]
            assert sum(moved) <= l1_sensitivity(moment, touched), moment
            assert sum(step**2 for step in moved) <= l2_sensitivity(moment, touched) ** 2, moment


def test_a_case_with_a_null_between_numbers_keeps_the_numbers(neighbours: list[DataSet]) -> None:
    question = "SELECT SUM(CASE WHEN age > 50 THEN 1 WHEN age > 40 THEN NULL ELSE 2.5 END) FROM visits"
    question_of_text = "SELECT COUNT(*) FROM visits GROUP BY CASE WHEN age > 50 THEN 'x' WHEN age > 40 THEN NULL ELSE 'y' END"
    (total,), *_ = exact(neighbours[0], plan_of(neighbours[0], question))
    assert total * Fraction(1, 2) == 5 * 1 + 3 * Fraction(5, 2)
    assert [int(rows) for rows in exact(neighbours[0], plan_of(neighbours[0], question_of_text))[0]] == [5, 3, 0]


# --- prices ----------------------------------------------------------------------------------------------------------------------

PRICED = [
    "SELECT ward, MEDIAN(wealth) FROM visits GROUP BY ward",
    "SELECT MEDIAN(wealth), COUNT(*) FROM visits",
    "SELECT ward, MEDIAN(age), MAX(age), COUNT(*), AVG(cost) FROM visits GROUP BY ward",
    "SELECT note, MEDIAN(age), COUNT(*), AVG(cost), COUNT(DISTINCT person) FROM visits GROUP BY note",
    "SELECT note, COUNT(DISTINCT person) FROM visits GROUP BY note",  # once divided by the number of sums, which is none
]


@pytest.fixture(scope="module")
def by_relation(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DataSet]:
    folder = tmp_path_factory.mktemp("relations")
    return {change: data_of(folder / change, first=f'neighbours = "{change}"') for change in ("add-remove", "change-one")}


def proved(quote: Quote, data: DataSet) -> tuple[Fraction, Fraction]:
    """What basic composition proves of a quote's events: epsilons and deltas added, the Gaussian ones converted together."""
    parts = [cost_under(part, data.catalog.neighbours) for part in quote.event.events]  # type: ignore[union-attr]
    delta = sum(part.delta for part in parts)
    rho = sum(part.rho for part in parts if part.epsilon is None)
    epsilon = sum(part.epsilon for part in parts if part.epsilon is not None)
    return epsilon + (least_epsilon_up(rho, quote.delta - delta) if rho else 0), delta


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
@pytest.mark.parametrize("question", PRICED)
@pytest.mark.parametrize("epsilon", ["0.1", "3", "30"])
def test_a_quote_costs_what_it_says(by_relation: dict[str, DataSet], change: str, question: str, epsilon: str) -> None:
    quotes = quotes_of(by_relation[change], question, epsilon=epsilon, delta="1e-6")
    for quote in quotes:
        assert quote.epsilon == Fraction(epsilon)
        assert quote.delta <= Fraction(1, 10**6)
        same = next((other for other in quotes if other.stated and replace(other, stated=None) == quote), quote)
        spent, delta = proved(same, by_relation[change])  # the same noise may also be recorded as rho alone
        assert spent <= quote.epsilon
        assert delta <= quote.delta


def test_rows_of_one_person_in_one_group_are_one_loss_and_not_several(by_relation: dict[str, DataSet]) -> None:
    """Three rows moved one after the other by a mechanism of epsilon/3 each: together epsilon, with the rho of epsilon.

    Counted as three independent events of epsilon/3 they were a third of that, and a hundredth for a person of 100 rows.
    """
    quote, *_ = quotes_of(by_relation["add-remove"], PRICED[0], epsilon=1)
    charged = cost_under(quote.event, by_relation["add-remove"].catalog.neighbours)
    assert (charged.epsilon, charged.rho) == (1, pure_rho_up(Fraction(1)))


# --- numbers that take for ever, and versions that do not belong together ---------------------------------------------------------


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
@pytest.mark.parametrize(
    "budget",
    [
        {"epsilon": "1e999999999"},
        {"epsilon": "1e-999999999"},
        {"epsilon": "0e999999999"},
        {"epsilon": 1, "delta": "1e-999999999"},
        {"epsilon": 1, "delta": "1e-9", "confidence": "0." + "9" * 3000},
        {"error": "1e-999999999"},
        {"epsilon": "1e-300", "delta": "1e-9"},
    ],
)
def test_a_number_too_long_to_write_out_is_refused_at_once(by_relation: dict[str, DataSet], change: str, budget: Any) -> None:
    for question in ("SELECT COUNT(*), SUM(wealth) FROM visits", "SELECT note, COUNT(*) FROM visits GROUP BY note"):
        with pytest.raises((InvalidInput, Refused)):
            by_relation[change].session().sql(question, **budget)


@pytest.mark.parametrize("epsilon", ["1e4", "1e9"])
def test_a_budget_that_promises_nothing_ends(by_relation: dict[str, DataSet], epsilon: str) -> None:
    """e^epsilon, which private keys need where one person changes, once took for ever."""
    with pytest.raises((BudgetExceeded, InvalidInput)):
        by_relation["change-one"].session().sql("SELECT note, COUNT(*) FROM visits GROUP BY note", epsilon=epsilon, delta="1e-9")


def test_patterns_that_keep_the_engine_busy_with_one_long_text_are_refused(neighbours: list[DataSet]) -> None:
    with pytest.raises(RangeTooLarge):
        plan_of(neighbours[0], f"SELECT COUNT(*) FROM visits WHERE note LIKE '%{'_a' * 600}%'")
    plan_of(neighbours[0], f"SELECT COUNT(*) FROM visits WHERE note LIKE '%{'_a' * 40}%' OR note LIKE '%{'a' * 5000}'")


def test_prices_and_rows_are_of_one_version(tmp_path: Path) -> None:
    """What is public of one version does not bound the rows of the next: opened half-way, 9 was once the price of 900000."""
    data = data_of(tmp_path / "data")
    catalog = (tmp_path / "data" / "tacit.toml").read_text() + '\n[tables.wards]\nsource = "wards.csv"\npublic = true\n'
    (tmp_path / "data" / "tacit.toml").write_text(catalog)
    (tmp_path / "data" / "wards.csv").write_text("ward,beds\na,4\nb,9\n")
    prepare(tacit.open(tmp_path / "data" / "tacit.toml").catalog)
    data = tacit.open(tmp_path / "data" / "tacit.toml")
    assert data.version
    (tmp_path / "data" / "wards.csv").write_text("ward,beds\na,4\nb,900000\n")
    prepare(data.catalog)
    for question in ("SELECT SUM(beds) FROM visits JOIN wards ON visits.ward = wards.ward", "SELECT COUNT(*) FROM visits"):
        with pytest.raises(StoreUnusable, match="prepared again"):
            data.session().sql(question, epsilon=1)
    assert data.ledger.head.number == 0


def test_one_bad_line_changes_the_reading_of_no_aligned_field(tmp_path: Path) -> None:
    """A line with too many fields once brought in another reader, which read fields after several blanks otherwise: one person
    changed the notes of all others."""
    aligned = {person: [f'1,1,a,{" " * blanks}"flu",1'] for person, blanks in enumerate([0, 1, 2, 3, 2, 3, 2, 3])}
    with_one = data_of(tmp_path / "with", {**aligned, 9: ["1,1,a,flu,1,too,many,fields"]})
    without = data_of(tmp_path / "without", aligned)
    counts = [
        [int(exact(data, plan_of(data, f"SELECT COUNT(*) FROM visits WHERE note = '{note}'"))[0][0]) for note in ("flu", '"flu"')]
        for data in (with_one, without)
    ]
    assert counts == [[9, 0], [8, 0]]


@pytest.mark.parametrize("listed", ["note IN ('flu', {})", "age IN (NULL, {})", "ward NOT IN ('a', {})"])
def test_a_long_list_does_not_spend_for_nothing(neighbours: list[DataSet], listed: str) -> None:
    """Nested once for each of its values, it made the engine fail after the spend."""
    values = ", ".join(f"'{at}'" if "age" not in listed else str(at) for at in range(1500))
    (found,), *_ = exact(neighbours[0], plan_of(neighbours[0], f"SELECT COUNT(*) FROM visits WHERE {listed.format(values)}"))
    assert found == {"note": 5, "age": 8, "ward": 2}[listed.split()[0]]
