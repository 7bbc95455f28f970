"""The exponential mechanism: its law, its loss over every pair of small neighbours, and the bugs that the check would see."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import follows_law
from tacit.accounting.composition import cost
from tacit.accounting.events import BoundedRangeChoice
from tacit.errors import InvalidBudget, InvalidInput, InvalidSensitivity, InvalidValue
from tacit.evidence.verify.claims import measured_both_ways
from tacit.mechanisms import exponential
from tacit.mechanisms.exponential import Exponential, costs_of, rationals
from tacit.mechanisms.mechanism import Listed
from tacit.privacy.law import Law, worst_log_ratio
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Concentrated, Pure
from tacit.privacy.sealed import Sealed
from tacit.privacy.universe import Universe

TINY = Decimal("1e-30")


def votes(database):
    return list(database.counts)


def for_and_against(database):
    """Utilities that move in opposite directions: the range of the change is twice its size."""
    return [database.counts[0], -database.counts[0], database.counts[1]]


def pairs_of_laws(law, utilities, relation, rows):
    universe = Universe(("a", "b", "c"))
    laws = {database: law(utilities(database)) for database in universe.databases_up_to(rows + 1)}
    return [(laws[one], laws[other]) for one in universe.databases_up_to(rows) for other in one.neighbours(relation)]


def worst_loss(law, utilities, relation, rows=4):
    return max(worst_log_ratio(one, other) for one, other in pairs_of_laws(law, utilities, relation, rows))


def least_rho(one, other):
    """The largest Renyi divergence of order a, divided by a, over a few orders and both directions."""
    return measured_both_ways(Concentrated(1), one, other)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8), st.fractions(min_value="1/10", max_value=4))
@settings(max_examples=40)
def test_the_law_is_the_definition(utilities, epsilon):
    law = Exponential(sensitivity=2, epsilon=epsilon).law(utilities)
    weights = [math.exp(float(epsilon) * (utility - max(utilities)) / 4) for utility in utilities]
    for index, weight in enumerate(weights):
        assert float(law.probabilities[index]) == pytest.approx(weight / sum(weights), rel=1e-12)


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE], ids=str)
@pytest.mark.parametrize("utilities", [votes, for_and_against])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 3])
def test_loss_over_all_neighbours(relation, utilities, epsilon):
    mechanism = Exponential(sensitivity=1, epsilon=epsilon, neighbours=relation)
    assert mechanism.loss == Pure(epsilon, relation)
    assert worst_loss(mechanism.law, utilities, relation) <= Decimal(float(mechanism.epsilon)) + TINY


@pytest.mark.parametrize("utilities", [votes, for_and_against])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 8])
def test_the_price_in_rho_over_all_neighbours(utilities, epsilon):
    mechanism = Exponential(sensitivity=1, epsilon=epsilon)
    worst = max(least_rho(*pair) for pair in pairs_of_laws(mechanism.law, utilities, ADD_REMOVE, rows=3))
    assert worst <= Decimal(float(cost(mechanism.event).rho)) + TINY


@given(
    st.lists(st.tuples(st.integers(-40, 40), st.fractions(-1, 1)), min_size=1, max_size=6),
    st.fractions(min_value="1/10", max_value=6),
)
@settings(max_examples=60)
def test_no_change_of_utilities_within_the_sensitivity_costs_more_rho(changes, epsilon):
    mechanism = Exponential(sensitivity=1, epsilon=epsilon)
    one, other = mechanism.law([u for u, _ in changes]), mechanism.law([u + change for u, change in changes])
    assert least_rho(one, other) <= Decimal(float(epsilon)) ** 2 / 8 * (1 + Decimal("1e-12"))


def test_a_smaller_rho_would_be_seen():
    """An eighth is attained by two candidates alike, one of which rises and one falls; other pure choices have a half."""
    mechanism = Exponential(sensitivity=1, epsilon="1/10")
    assert least_rho(mechanism.law([0, 0]), mechanism.law([1, -1])) > Decimal("0.99") * Decimal("0.01") / 8
    likely = 1 / (1 + Decimal("-0.1").exp())
    response = Law({0: likely, 1: 1 - likely}), Law({0: 1 - likely, 1: likely})  # randomized response of epsilon 1/10
    assert least_rho(*response) > Decimal("0.99") * Decimal("0.01") / 2


def test_planted_bugs_are_seen():
    sensitivity_too_small = Exponential(sensitivity="1/2", epsilon=1)
    assert worst_loss(sensitivity_too_small.law, for_and_against, ADD_REMOVE) > Decimal("1.5")
    two_forgotten = Exponential(sensitivity=1, epsilon=2)  # claims epsilon 1 with factor epsilon / sensitivity
    assert worst_loss(two_forgotten.law, for_and_against, ADD_REMOVE) > Decimal("1.5")
    ten_percent = Exponential(sensitivity="9/10", epsilon=1)
    assert worst_loss(ten_percent.law, for_and_against, ADD_REMOVE, rows=8) > 1


def test_one_sign_costs_half():
    """(R) of the proof: votes only rise when a person comes, so half of epsilon is not used."""
    assert worst_loss(Exponential(sensitivity=1, epsilon=1).law, votes, ADD_REMOVE) <= Decimal("0.5") + TINY


@pytest.mark.parametrize(
    "utilities",
    [
        [3, -(2**63), 2**63 - 1],
        [2**63, -1, 0],
        [2**70, 1],
        [0.1, 1e300, -1e300, 5e-324],
        [2**60 + 1, 0.5],
        [Fraction(1, 3), 2, 0.25],
        [True, False],
        np.array([1, 2], dtype=np.uint8),
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([0.5, 0.1], dtype=np.float32),
        np.array([0.1, 7], dtype=np.longdouble),
        np.array([2**64 + 1, 7], dtype=object),
        np.array([0.5, Fraction(1, 3)], dtype=object),
        np.array([2, 1], dtype=object),
        (Decimal("0.1"), 2),
    ],
    ids=str,
)
def test_utilities_are_read_exactly(utilities):
    costs = rationals(costs_of(utilities, None))
    exactly = [Fraction(*map(int, (u.item() if isinstance(u, np.integer) else u).as_integer_ratio())) for u in utilities]
    assert [cost - costs[0] for cost in costs] == [exactly[0] - utility for utility in exactly]


@pytest.mark.parametrize(
    ("utilities", "kind"),
    [
        ([1, 2], np.int64),
        ([0.5, 2.5], np.float64),
        (np.array([0.5, 2.5], dtype=np.float64), np.float64),
        (np.array([0.5, 2.5], dtype=np.float32), np.float64),
        (np.array([0.5, 2.5], dtype=np.longdouble), object),
        ([0.5, 2], object),
    ],
    ids=str,
)
def test_plain_numbers_are_never_fractions(utilities, kind):
    """The time of a choice may depend on `Fraction`s; on integers and doubles it does not."""
    assert costs_of(utilities, None).dtype == kind


def test_choose_is_asked_for_the_law(monkeypatch):
    asked = []
    monkeypatch.setattr(exponential, "choose", lambda *arguments: asked.append(arguments) or np.array([1]))
    assert Exponential(sensitivity=3, epsilon=1).release([4, 9]) == 1
    [(lengths, costs, factor)] = asked
    assert lengths.tolist() == [1, 1]
    assert costs[0] - costs[1] == 5
    assert factor == Fraction(1, 6)


def test_the_release_follows_the_law():
    mechanism, utilities, size = Exponential(sensitivity=1, epsilon=2, candidates="abc"), [0, 1, 2], 4000
    drawn = [mechanism.release(Sealed(utilities)) for _ in range(size)]
    assert follows_law(drawn, mechanism.law(utilities).probabilities)


def test_the_utility_bound_holds():
    mechanism = Exponential(sensitivity=1, epsilon=1, candidates=range(30))
    error = mechanism.utility_error(0.9)
    for utilities in ([0] * 29 + [error], [0] * 15 + [error] * 15, list(range(30))):
        law = mechanism.law(utilities)
        missed = sum(p for c, p in law.probabilities.items() if utilities[c] <= max(utilities) - error)
        assert missed <= Decimal("0.1")
    nearly = mechanism.law([0] * 29 + [0.95 * error]).probabilities
    assert 1 - nearly[29] > Decimal("0.1")  # planted: a bound 5 % smaller does not hold


def test_the_least_epsilon_for_an_error():
    mechanism = Exponential.for_error(5, 0.95, range(10), sensitivity=2)
    assert mechanism.utility_error(0.95) == pytest.approx(5)
    assert float(mechanism.epsilon) == pytest.approx(4 / 5 * math.log(10 / 0.05))
    assert Exponential.for_error("1/2", 0.95, range(10), sensitivity=1).utility_error(0.95) == pytest.approx(0.5)


def test_it_is_a_mechanism():
    mechanism = Exponential(sensitivity=1, epsilon=0.5)
    assert isinstance(mechanism, Listed)
    assert mechanism.event == BoundedRangeChoice(Fraction(1, 2))
    assert mechanism == Exponential(1, "1/2")
    assert hash(mechanism) == hash(Exponential(1, "1/2"))


def test_a_candidate_that_is_hopeless_has_no_listed_chance():
    """No weight is above 1, however far the utilities are apart: a larger one would overflow."""
    assert Exponential(sensitivity=1, epsilon=1).law([0, 2**70]).probabilities == {0: 0, 1: 1}


def test_ten_thousand_to_one_is_still_possible():
    law = Exponential(sensitivity=1, epsilon=1).law([0, 20_000])
    assert 0 < law.probabilities[0] < Decimal("1e-4000")
    assert Exponential(sensitivity=1, epsilon=1).release([0, 20_000]) == 1


@pytest.mark.parametrize(
    "utilities",
    [
        [],
        [[1, 2]],
        [math.nan, 1],
        [math.inf, 1],
        [math.inf, 1.0],
        np.array([math.nan, 1.0]),
        ["x", "y"],
        [None, 1],
        [1j],
        np.ma.masked_array([1, 2], [0, 1]),
    ],
    ids=str,
)
def test_bad_input_is_refused(utilities):
    mechanism = Exponential(sensitivity=1, epsilon=1)
    for call in (mechanism.release, mechanism.law):
        with pytest.raises(InvalidValue):
            call(utilities)


def test_a_message_quotes_no_utility():
    with pytest.raises(InvalidValue) as caught:
        Exponential(sensitivity=1, epsilon=1, candidates="ab").release([123456, 7, 8])
    assert "123456" not in str(caught.value)
    assert "exactly 2" in str(caught.value)


def test_bad_parameters_are_refused():
    for epsilon in (0, -1, math.nan, math.inf, "x"):
        with pytest.raises(InvalidBudget):
            Exponential(sensitivity=1, epsilon=epsilon)
    for sensitivity in (0, -1, math.nan, math.inf):
        with pytest.raises(InvalidSensitivity):
            Exponential(sensitivity=sensitivity, epsilon=1)
    for candidates in ((), ("a", "a")):
        with pytest.raises(InvalidInput):
            Exponential(1, 1, candidates=candidates)
    with pytest.raises(InvalidInput, match="confidence"):
        Exponential(1, 1, candidates="ab").utility_error(1)
    with pytest.raises(InvalidInput, match="candidates="):
        Exponential(1, 1).utility_error(0.5)
    with pytest.raises(InvalidInput, match="error"):
        Exponential.for_error(0, 0.95, "ab", sensitivity=1)


def test_the_chart_shows_three_epsilons(tmp_path):
    chart = Exponential(sensitivity=1, epsilon=1).chart(path=tmp_path / "choice.html")
    assert {point["curve"] for point in chart.data.values} == {"epsilon 0.5", "epsilon 1", "epsilon 2"}
    assert (tmp_path / "choice.html").stat().st_size > 1000
