"""Risk figures against their definitions, row by row."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.tables.models.rows import rows_of
from tacit.publish.tables.risk import estimate_risk, journalist, prosecutor, with_suppressed

PEOPLE = st.lists(st.tuples(st.sampled_from("abc*"), st.sampled_from("xyz*")), min_size=1, max_size=25)


def table(people):
    return rows_of(dict(zip("qp", zip(*people, strict=True), strict=True)), ["q", "p"])


@settings(max_examples=40)
@given(PEOPLE, PEOPLE)
def test_risks_are_means_over_rows(people, others):
    kept = [row for row in people if row != ("*", "*")] or people
    risks = [Fraction(1, kept.count(row)) for row in kept]
    found = prosecutor(table(people))
    assert (found.largest, found.mean) == (max(risks), sum(risks) / len(risks))
    assert (found.uniques, found.high) == (risks.count(1), Fraction(sum(risk > Fraction(1, 5) for risk in risks), len(risks)))
    risks = [Fraction(1, people.count(row)) for row in people]
    found = with_suppressed(table(people))
    assert (found.largest, found.mean) == (max(risks), sum(risks) / len(risks))
    if all(row != ("*", "*") for row in people + others):
        everyone = people + others
        risks = [Fraction(1, everyone.count(row)) for row in people]
        found = journalist(table(people), table(everyone))
        assert (found.largest, found.mean, found.uniques) == (max(risks), sum(risks) / len(risks), risks.count(1))


def test_a_population_that_lacks_someone_is_refused():
    with pytest.raises(InvalidInput, match="must contain everyone"):
        journalist(table([("a", "x")]), table([("a", "y")]))
    with pytest.raises(InvalidInput, match="same quasi-identifiers"):
        journalist(table([("a", "x")]), rows_of({"q": ["a"]}, ["q"]))


def test_every_figure_carries_the_mark():
    assert prosecutor(table([("a", "x")])).as_dict()["not_to_be_published"] is True


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["0.25", "1", "2.5", "40", "1/3"])), min_size=1, max_size=15))
def test_weights_estimate_the_population(people):
    quasi, weights = zip(*people, strict=True)
    risks = [Fraction(1) / max(1, sum(Fraction(w) for q, w in people if q == row)) for row in quasi]
    found = estimate_risk(rows_of({"q": quasi, "w": weights}, ["q"]), "w")
    assert (found.largest, found.mean, found.uniques) == (max(risks), sum(risks) / len(risks), risks.count(1))
    assert found.high == Fraction(sum(risk > Fraction(1, 5) for risk in risks), len(risks))


@pytest.mark.parametrize(
    ("weights", "words"), [(["0", "1"], "above 0"), (["x", "1"], "finite number"), (["0.00000000001", "1"], "decimals")]
)
def test_weights_that_say_nothing(weights, words):
    with pytest.raises(InvalidInput, match=words):
        estimate_risk(rows_of({"q": ["a", "b"], "w": weights}, ["q"]), "w")
    with pytest.raises(InvalidInput, match="unknown column of weights"):
        estimate_risk(rows_of({"q": ["a", "b"]}, ["q"]), "w")
