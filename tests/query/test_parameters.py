"""Parameters of a text: their names, the types of their comparisons, and explanations before they have values."""

from __future__ import annotations

import pytest

import tacit
from tacit.errors import NotAllowed
from tacit.query.parameters import parameters_of

CATALOG = """
[budget]
epsilon = 10

[tables.visits]
source = "visits.csv"
unit = "row"

[tables.visits.columns]
id = { key = true }
cost = { bounds = [0, 20000], nulls = "drop" }
price = { bounds = [0, 5], step = 0.01 }
ward = { values = ["a", "b"] }
day = { type = "date", bounds = ["2024-01-01", "2024-12-31"] }
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parameters")
    (folder / "visits.csv").write_text("id,cost,price,ward,day\n1,2,3,a,2024-01-01\n2,3,4,b,2024-03-01\n")
    (folder / "tacit.toml").write_text(CATALOG)
    with tacit.open(folder / "tacit.toml", own_process=False) as opened:
        opened.prepare(new_ledger=True)
        yield opened


@pytest.mark.parametrize(
    ("where", "types"),
    [
        ("cost > :a", {"a": "integer"}),
        ("price > ? AND ? > cost", {"1": "number", "2": "integer"}),
        ("day BETWEEN $1 AND $2", {"1": "date", "2": "date"}),
        ("visits.ward IN (:x, 'b')", {"x": "text"}),
        ("cost > :a AND price > :a", {"a": "number"}),
        ("cost > :a AND ward = :a", {"a": None}),
        ("MONTH(day) = :m", {"m": "integer"}),
        ("ward LIKE :p", {"p": "text"}),
        ("ward = ':none' AND cost > 3", {}),
        ("ABS(cost) > :x", {"x": None}),
    ],
)
def test_a_comparison_implies_the_type(data, where, types):
    found = parameters_of(f"SELECT COUNT(*) FROM visits WHERE {where}", data.catalog, None)
    assert {each.name: each.type for each in found} == types


@pytest.mark.parametrize(
    "where", ["day >= :a AND day < :b", "cost > :a AND cost < :b", "day BETWEEN :a AND :b", "ward = :a AND :b > cost"]
)
def test_a_question_is_explained_before_its_parameters_have_values(data, where):
    """The price is that of the question with values, and the explanation names each value that stands in."""
    text = f"SELECT ward, COUNT(*) AS n FROM visits WHERE {where} GROUP BY ward"
    open_question = data.session().explain(text)
    assert [line.split(" has ")[0] for line in open_question.tree[:2]] == ["parameter a", "parameter b"]
    assert [name for name, _ in open_question.parameters] == ["a", "b"]
    one = {"cost": (5, 700), "day": ("2024-02-01", "2024-06-01"), "ward": ("a", 800)}[where.split(" ")[0]]
    filled = data.session().explain(text, params=dict(zip("ab", one, strict=True)))
    assert not any(line.startswith("parameter") for line in filled.tree)
    assert (filled.parameters, filled.epsilon, filled.columns) == (open_question.parameters, 1, open_question.columns)


def test_an_answer_needs_every_value(data):
    with pytest.raises(NotAllowed, match="no value"):
        data.session().sql("SELECT COUNT(*) FROM visits WHERE cost > :a", epsilon=1)
    with pytest.raises(NotAllowed, match="no value"):
        data.session().explain("SELECT COUNT(*) FROM visits WHERE MONTH(day) = :m")


def test_a_text_that_needs_values_lists_those_that_are_given(data):
    found = data.session().explain("SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT :n", params={"n": 3})
    assert found.parameters == (("n", None),)
