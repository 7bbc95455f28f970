"""One price for all questions that differ in WHERE alone: equal to that of the question itself, and found once per analyst."""

from dataclasses import replace

import pytest

import tacit
from tacit.errors import TooMuchWork
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.plan import Where
from tacit.query.price import shape
from tacit.query.price.explain import explained
from tacit.query.price.price import check, price, request
from tacit.query.price.shape import events_of, shape_of

CATALOG = """
[budget]
epsilon = 10
delta = 1e-6

[tables.visits]
source = "visits.csv"
unit = { column = "person" }
max_rows = 4
rows_at_most = 1000000

[tables.visits.columns]
person = { key = true }
ward = { values = ["A", "B", "C"], unknown = "drop" }
cost = { bounds = [0, 5000], nulls = "drop" }
age = { bounds = [0, 110], nulls = "drop" }
diagnosis = { keys = "private" }
"""
ASKED = (
    "SELECT COUNT(*) AS n FROM visits {}",
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS mean FROM visits {} GROUP BY ward",
    "SELECT ward, SUM(cost) AS total, MEDIAN(age) AS middle FROM visits {} GROUP BY ward HAVING COUNT(*) > 10",
    "SELECT diagnosis, COUNT(DISTINCT person) AS n FROM visits {} GROUP BY diagnosis ORDER BY n DESC LIMIT 3",
    "SELECT ward, VAR_POP(cost) AS spread, MODE(age) AS usual FROM visits {} GROUP BY ROLLUP (ward)",
    "SELECT ward, COUNT(*) AS n FROM (SELECT ward, person, COUNT(*) AS k FROM visits {} GROUP BY ward, person) AS t GROUP BY ward",
)
CONDITIONS = ("WHERE age > 50", "WHERE cost < 100 AND diagnosis LIKE 'a_%' OR age IN (1, 2, 3)", "WHERE ward = 'A'")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shape")
    (folder / "visits.csv").write_text("person,ward,cost,age,diagnosis\n1,A,2,30,flu\n2,B,3,40,cold\n")
    (folder / "tacit.toml").write_text(CATALOG)
    with tacit.open(folder / "tacit.toml", own_process=False) as found:
        found.prepare(new_ledger=True)
        yield found


def plan_of(data, text):
    return rewrite(parse(text), data.catalog, data.public)


def agrees(data, text, asked, change):
    """Whether a question and its shape have the same quotes, but for the rows that they read."""
    plan = plan_of(data, text)
    own, other = price(plan, asked, change), price(shape_of(plan), asked, change)
    assert events_of(own) == events_of(other)
    assert [explained(quote) for quote in own] == [explained(quote) for quote in other]


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
@pytest.mark.parametrize("text", ASKED)
def test_noise_price_and_explanation_do_not_follow_from_a_condition(data, text, change):
    for condition in CONDITIONS:
        agrees(data, text.format(condition), request(1, "1e-7"), change)


def test_a_shape_that_forgets_more_than_the_condition_is_caught(data, monkeypatch):
    forgotten = lambda question: replace(question, group=replace(question.group, keys=()))  # noqa: E731
    monkeypatch.setitem(globals(), "shape_of", forgotten)
    with pytest.raises(AssertionError):
        agrees(data, ASKED[1].format(CONDITIONS[0]), request(1, "1e-7"), "add-remove")


def test_two_conditions_have_one_shape_and_all_else_tells_shapes_apart(data):
    one, other = (plan_of(data, ASKED[1].format(each)) for each in CONDITIONS[:2])
    assert isinstance(one.group.child, Where)
    assert one != other
    assert shape_of(one) == shape_of(other)
    assert hash(shape_of(one)) == hash(shape_of(other))
    renamed = plan_of(data, ASKED[1].format(CONDITIONS[0]).replace("AS mean", "AS average"))
    assert len({shape_of(one), shape_of(renamed), *(shape_of(plan_of(data, text.format(CONDITIONS[0]))) for text in ASKED)}) == 7


@pytest.fixture
def made(monkeypatch):
    """The explanations that were made, and not remembered."""
    found, genuine = [], shape.explained
    monkeypatch.setattr(shape, "explained", lambda quote, **more: found.append(quote) or genuine(quote, **more))
    return found


def test_an_analyst_who_changes_a_constant_is_told_the_same_and_what_remains_now(data, made):
    session = data.session("ana")
    first = session.explain(ASKED[1].format("WHERE age > 1"), epsilon=1)
    session.sql(ASKED[0].format(""), epsilon=1)
    second = session.explain(ASKED[1].format("WHERE age > 2"), epsilon=1)
    assert len(made) == 1
    assert first.left != second.left
    assert replace(first, left="") == replace(second, left="")


def test_another_analyst_or_budget_or_name_is_explained_anew(data, made):
    text = ASKED[1].format("WHERE age > 3")
    told = [data.session("bob").explain(text, epsilon=1), data.session("eve").explain(text, epsilon=1)]
    told += [data.session("bob").explain(text, epsilon=2), data.session("bob").explain(text.replace("AS n", "AS m"), epsilon=1)]
    assert len(made) == 4
    assert [each.errors[0].column for each in told] == ["n", "n", "n", "m"]
    assert told[2].epsilon == 2


def test_the_work_of_a_condition_is_looked_at_each_time(data):
    session = data.session("ana")
    session.explain(ASKED[0].format("WHERE diagnosis LIKE 'a%'"), epsilon=1)
    long = " OR ".join(f"diagnosis LIKE '%{number}{'x_' * 8}%'" for number in range(40))
    with pytest.raises(TooMuchWork):
        check(plan_of(data, ASKED[0].format(f"WHERE {long}")), request(1))
    with pytest.raises(TooMuchWork):
        session.explain(ASKED[0].format(f"WHERE {long}"), epsilon=1)
