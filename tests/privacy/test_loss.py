import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidBudget, InvalidInput, WrongRelation
from tacit.privacy.law import Law, hockey_stick
from tacit.privacy.loss import (
    ADD_REMOVE,
    CHANGE_ONE,
    Approximate,
    Concentrated,
    Probabilistic,
    Pure,
    concentrated_epsilon_up,
    for_change_one,
    implies,
    largest_concentrated_down,
    positive_budget,
    weakened,
)

EPSILONS = st.fractions(min_value=Fraction(1, 1000), max_value=5)
DELTAS = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 10))
LOSSES = st.one_of(
    EPSILONS.map(Pure),
    st.builds(Approximate, EPSILONS, DELTAS),
    st.builds(Probabilistic, EPSILONS, DELTAS),
    st.builds(Concentrated, EPSILONS, DELTAS),
)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "much", None, True, Decimal("-Infinity")])
def test_what_is_no_budget_is_refused_with_a_remedy(bad):
    with pytest.raises(InvalidBudget, match=r"give for example epsilon=0\.5|write it like 20, 0\.5"):
        positive_budget(bad)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2, math.nan])
def test_delta_is_a_probability_below_one(delta):
    with pytest.raises(InvalidBudget, match="delta"):
        Approximate(1, delta)


@given(LOSSES)
def test_implication_is_reflexive(loss):
    assert implies(loss, loss)


@given(LOSSES, LOSSES, LOSSES)
def test_implication_is_transitive(one, two, three):
    if implies(one, two) and implies(two, three):
        assert implies(one, three)


@given(EPSILONS, DELTAS)
def test_conversions_point_from_strong_to_weak(epsilon, delta):
    pure = Pure(epsilon)
    for weaker in (pure.approximate(), pure.probabilistic(), pure.concentrated(), Approximate(epsilon, delta)):
        assert implies(pure, weaker)
    assert implies(Probabilistic(epsilon, delta), Approximate(epsilon, delta))
    assert not implies(Approximate(epsilon, delta), Probabilistic(epsilon, delta))
    assert implies(Concentrated(epsilon), Concentrated(epsilon).approximate(delta))


# --- what follows from a branch that is left out --------------------------------------------------------------------------------

WEIGHTS = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any).map(lambda w: [Fraction(each, sum(w)) for each in w])


def holds(loss, one, other):
    """Whether a claim is true of two laws over the same outcomes, by its definition, in both directions."""
    for p, q in ((one, other), (other, one)):
        ratio = Fraction(math.exp(loss.epsilon)) * (1 - Fraction(1, 10**12))
        if isinstance(loss, Approximate):
            excess = sum(max(a - ratio * b, 0) for a, b in zip(p, q, strict=True))
        else:
            excess = sum(a for a, b in zip(p, q, strict=True) if a > ratio * b + Fraction(1, 10**12))
        if excess > loss.delta + Fraction(1, 10**12):
            return False
    return True


@given(WEIGHTS, WEIGHTS, WEIGHTS, DELTAS, st.fractions(0, 3), st.sampled_from([Pure, Approximate, Probabilistic]))
def test_what_is_said_to_follow_from_equal_laws_beside_a_branch_does(common, one, other, delta, epsilon, kind):
    """(1 - delta) of one law and delta of anything, against the same with another anything: that is Concentrated(0, delta)."""
    first, second = ([(1 - delta) * c + delta * b for c, b in zip(common, branch, strict=True)] for branch in (one, other))
    weak = Pure(epsilon) if kind is Pure else kind(epsilon, delta)
    if implies(Concentrated(0, delta), weak):
        assert holds(weak, first, second)


def test_a_branch_raises_the_ratio_of_outputs_that_weigh_more_than_it():
    """The counterexample: an output of probability 0.05, to which the branch of 0.1 adds all of itself."""
    first, second = (Fraction("0.855"), Fraction("0.145")), (Fraction("0.955"), Fraction("0.045"))
    claim = Probabilistic(1, Fraction(1, 10))
    assert not holds(claim, first, second)
    assert not implies(Concentrated(0, Fraction(1, 10)), claim)  # it was said to
    assert implies(Concentrated(0, Fraction(1, 10)), Approximate(0, Fraction(1, 10)))
    assert implies(Concentrated(0), Pure(0))


@given(EPSILONS, DELTAS)
def test_the_largest_rho_for_a_budget_converts_back_within_it(epsilon, delta):
    rho = largest_concentrated_down(epsilon, delta)
    assert concentrated_epsilon_up(rho, delta) <= epsilon
    assert concentrated_epsilon_up(rho * Fraction(1001, 1000), delta) > epsilon


def test_losses_of_different_relations_do_not_add():
    with pytest.raises(WrongRelation, match=r"add or remove one row.*change"):
        Pure(1, ADD_REMOVE) + Pure(1, CHANGE_ONE)
    assert not implies(Pure(1, ADD_REMOVE), Pure(2, CHANGE_ONE))


def test_losses_of_different_kinds_do_not_add():
    with pytest.raises(WrongRelation, match="convert both"):
        Pure(1) + Approximate(1, 1e-6)


@pytest.mark.parametrize("loss", [Pure(1), Approximate(1, 1e-6), Probabilistic(1, 1e-6), Concentrated(1, 1e-6)])
def test_addition_is_commutative_and_keeps_its_kind(loss):
    assert loss + loss == loss + loss
    assert type(loss + loss) is type(loss)


def test_one_change_is_two_additions_or_removals():
    assert for_change_one(Pure(1)) == Pure(2, CHANGE_ONE)
    assert for_change_one(Concentrated(1)) == Concentrated(4, 0, CHANGE_ONE)
    with pytest.raises(WrongRelation, match="already"):
        for_change_one(Pure(1, CHANGE_ONE))


def test_group_privacy_of_an_approximate_loss_holds_along_a_chain_and_is_attained():
    """Three laws in a row, each step (ln 2, 1/100)-close in the worst way: the ends are as far apart as the formula says."""
    delta = Fraction(1, 100)
    grouped = Approximate(Fraction(693147, 10**6), delta).group(2)
    ratio = Decimal(2)
    last = Law({"common": 1 - Decimal("0.1"), "rare": Decimal("0.1")})
    middle = Law({"common": Decimal("0.79"), "rare": ratio * Decimal("0.1") + Decimal("0.01")})
    first = Law({"common": Decimal("0.57"), "rare": ratio * Decimal("0.21") + Decimal("0.01")})
    assert hockey_stick(middle, last, ratio.ln()) == pytest.approx(Decimal("0.01"))
    assert float(hockey_stick(first, last, 2 * ratio.ln())) == pytest.approx(float(grouped.delta), rel=1e-5)


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_a_group_is_a_whole_number_of_people(size):
    with pytest.raises(InvalidInput, match="whole number"):
        Pure(1).group(size)


def test_group_privacy_that_promises_nothing_is_refused():
    with pytest.raises(InvalidBudget, match="guarantees nothing"):
        Approximate(5, 1e-3).group(10)
    with pytest.raises(InvalidInput, match="delta 0"):
        Concentrated(1, 1e-9).group(2)


def test_conversion_needs_a_delta_beyond_the_own_one():
    with pytest.raises(InvalidBudget, match="exceed"):
        Concentrated(1, 1e-6).approximate(1e-6)
    assert weakened(Concentrated(1, 1e-7), 1e-6).delta == Fraction(1, 10**6)
    assert weakened(Pure(1)) == Approximate(1, 0)


def test_the_specification_vector_of_a_hundred_small_releases():
    hundred = Concentrated(100 * Fraction(1, 200))
    assert float(hundred.approximate(1e-6).epsilon) == pytest.approx(5.22153, abs=5e-6)
