"""What is remembered of questions: by all that it follows from, for the analyst who asked, and not for ever."""

import os
from dataclasses import dataclass, field, fields, is_dataclass, replace

import pytest

import tacit
from tacit.errors import TacitError, TooManyGroups
from tacit.query import offers
from tacit.query.offers import LONGEST, Remembered
from tacit.query.price.quote import Request
from tacit.query.question import Question

CATALOG = """
[budget]
epsilon = 10

[tables.visits]
source = "visits.csv"
unit = "row"

[tables.visits.columns]
id = { key = true }
cost = { bounds = [0, 20000], nulls = "drop" }
"""
MANY = "SELECT cost, COUNT(*) AS n FROM visits GROUP BY cost"
COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def data(tmp_path):
    (tmp_path / "visits.csv").write_text("id,cost\n1,2\n2,3\n")
    (tmp_path / "tacit.toml").write_text(CATALOG)
    with tacit.open(tmp_path / "tacit.toml", own_process=False) as found:
        found.prepare(new_ledger=True)
        yield found


@pytest.fixture
def priced(monkeypatch):
    """How many questions were priced anew."""
    made, genuine = [], offers.price
    monkeypatch.setattr(offers, "price", lambda *given: made.append(given) or genuine(*given))
    return made


def test_the_oldest_makes_room_and_long_texts_are_not_remembered():
    known = Remembered(most=2)
    for text in ("a", "b", "a", "c"):
        known.of(text, (), lambda text=text: text)
    made = [known.of(text, (), lambda: "anew") for text in ("a", "c", "b")]
    assert made == ["a", "c", "anew"]
    assert [known.of("x" * (LONGEST + 1), (), lambda at=at: at) for at in (1, 2)] == [1, 2]


def test_errors_are_not_remembered():
    known = Remembered()
    with pytest.raises(ZeroDivisionError):
        known.of("a", (), lambda: 1 // 0)
    assert known.of("a", (), lambda: "made") == "made"


def test_the_same_question_of_an_analyst_is_priced_once_and_of_another_one_anew(data, priced):
    first, again = (data.session("ana").sql(COUNT, epsilon=1) for _ in range(2))
    assert (len(priced), first.to_dict()["rows"]) == (1, again.to_dict()["rows"])
    data.session("bob").sql(COUNT, epsilon=1)
    assert len(priced) == 2
    for _ in range(2):
        data.session("ana").sql(COUNT, epsilon=2)
    assert [given[1].epsilon for given in priced] == [1, 1, 2, 1], "the last one is ana's own entry, read for what it implies"


def test_the_number_of_groups_is_asked_for_each_time(data):
    session = data.session("ana")
    session.sql(MANY, epsilon=1, groups=30_000)
    with pytest.raises(TooManyGroups):
        session.sql(MANY, epsilon=1)


def test_a_memory_whose_key_leaves_out_a_field_of_the_request_is_caught(data, monkeypatch):
    genuine = Remembered.of

    def without_groups(part):
        return replace(part, groups=None) if isinstance(part, Request) else part

    monkeypatch.setattr(Remembered, "of", lambda self, text, key, made: genuine(self, text, tuple(map(without_groups, key)), made))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_the_number_of_groups_is_asked_for_each_time(data)


def outside(value: object) -> set[str]:
    """The fields that do not make two keys differ, anywhere in a key."""
    if is_dataclass(value) and not isinstance(value, type):
        own = {f"{type(value).__name__}.{each.name}" for each in fields(value) if not each.compare}
        return own.union(*(outside(getattr(value, each.name)) for each in fields(value)))
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, tuple | list | frozenset) else ()
    return set().union(*map(outside, parts))


def test_a_key_of_the_memory_is_the_whole_request(data, monkeypatch):
    """Whatever a request, a plan or a catalog says makes another key, except the words that an answer is shown with."""
    keys, genuine = [], Remembered.of
    monkeypatch.setattr(Remembered, "of", lambda self, text, key, made: keys.append(key) or genuine(self, text, key, made))
    session = data.session("ana")
    session.sql(COUNT, epsilon=1)
    session.explain(f"{MANY} HAVING COUNT(*) > 5 ORDER BY n LIMIT 3", epsilon=1, groups=30_000)
    assert {key[0] for key in keys} == {"read", "offer", "shape", "plan", "paid"}
    assert {kind for key in keys for kind in map(type, key)} >= {Request, Question}
    assert outside(tuple(keys)) == {"Column.labels"}


def test_a_field_outside_of_a_comparison_is_seen():
    @dataclass(frozen=True)
    class Planted:
        epsilon: int
        groups: int = field(default=0, compare=False)

    assert outside((("offer", Planted(1)),)) == {"Planted.groups"}


def test_a_changed_catalog_is_remembered_nothing_of(data, priced):
    session = data.session("ana")
    session.sql(COUNT, epsilon=1)
    path = data.catalog.path
    path.write_text(CATALOG.replace("epsilon = 10", "epsilon = 9"))
    os.utime(path, ns=(1, 1))
    session.sql(COUNT, epsilon=1)
    assert len(priced) == 2


# --- several epsilons, and an assumed size of groups -------------------------------------------------------------------------

MEAN = "SELECT AVG(cost) AS mean, COUNT(*) AS n FROM visits"


def test_several_epsilons_are_as_many_explanations(data, priced):
    session = data.session()
    whole = session.explain(MEAN, epsilons=[0.1, "0.5", 1], group_rows=500)
    assert len(priced) == 3
    alone = [session.explain(MEAN, epsilon=epsilon, group_rows=500) for epsilon in ("0.1", "0.5", "1")]
    assert [(each.epsilon, each.delta, each.errors) for each in whole.budgets] == [
        (each.epsilon, each.delta, each.errors) for each in alone
    ]
    assert replace(whole, budgets=()) == alone[0]
    widths = [[float(each.half_width) for each in at.errors] for at in whole.budgets]
    assert widths == sorted(widths, reverse=True)
    assert whole.to_dict()["budgets"][0]["price"] == {"epsilon": "0.1", "delta": "0"}
    assert "epsilon 0.5: mean ± " in str(whole)


@pytest.mark.parametrize(
    "budget",
    [
        {"epsilons": [1], "epsilon": 1},
        {"epsilons": [1], "error": 1},
        {"epsilons": []},
        {"epsilons": [1] * 21},
        {"epsilons": "0.5"},
        {"epsilons": 1},
        {"epsilons": [0]},
        {"epsilons": ["x"]},
        {"epsilons": [True]},
        {"group_rows": 0},
        {"group_rows": True},
        {"group_rows": 1.5},
    ],
)
def test_arguments_of_an_explanation_are_checked(data, budget):
    with pytest.raises(TacitError):
        data.session().explain(MEAN, **budget)


def test_an_answer_takes_no_assumption(data):
    for more in ({"group_rows": 5}, {"epsilons": [1]}):
        with pytest.raises(TacitError, match="unknown argument"):
            data.session().sql(MEAN, epsilon=1, **more)


def test_an_assumed_size_is_not_remembered_for_another(data):
    session = data.session()
    told = [session.explain(MEAN, epsilon=1, group_rows=rows).errors[0].half_width for rows in (None, 10, 1000, 10)]
    assert told[0] is None
    assert told[1] == told[3] != told[2]
