import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import batches, events
from tacit.accounting.batches import advanced, advanced_tighter, batch_loss, concentrated, exact_pure, exact_pure_delta_up
from tacit.accounting.composition import loss, sequential
from tacit.errors import InvalidBudget, InvalidInput, WrongRelation
from tacit.privacy.law import ARITHMETIC, SLACK, Law, hockey_stick
from tacit.privacy.loss import CHANGE_ONE, Concentrated
from tacit.privacy.rounding import exp_up

F = Fraction


def decimal(number: Fraction) -> Decimal:
    return ARITHMETIC.divide(Decimal(number.numerator), Decimal(number.denominator))


def responses(epsilons: list[Fraction]) -> tuple[Law, Law]:
    """The laws of randomized responses of those epsilons under the two neighbours, listed answer by answer."""
    one, other = Law({(): Decimal(1)}), Law({(): Decimal(1)})
    for epsilon in epsilons:
        likely = decimal(1 / (1 + exp_up(-epsilon)))
        unlikely = ARITHMETIC.subtract(Decimal(1), likely)
        one = one.and_then(lambda _, p=likely, q=unlikely: Law({0: p, 1: q}))
        other = other.and_then(lambda _, p=likely, q=unlikely: Law({0: q, 1: p}))
    return one, other


def test_vectors_of_a_hundred_tenths() -> None:
    forms = advanced, advanced_tighter, concentrated, exact_pure
    totals = [round(float(form(0.1, 100, 1e-6).epsilon), 5) for form in forms]
    assert totals == [6.30823, 5.75611, 5.21908, 4.77457]
    assert sequential([loss(events.NoisyMax(F(1, 10)))] * 100).epsilon == 10


@pytest.mark.parametrize(("epsilon", "count"), [(F(1), 1), (F(1, 2), 4), (F(1, 10), 9), (F(2), 5)])
def test_exact_pure_is_the_hockey_stick_of_randomized_responses(epsilon: Fraction, count: int) -> None:
    one, other = responses([epsilon] * count)
    for total in (F(0), epsilon / 3, epsilon, count * epsilon / 2, count * epsilon * F(99, 100), count * epsilon):
        listed = hockey_stick(one, other, decimal(total))
        assert abs(exact_pure_delta_up(epsilon, count, total) - F(listed)) < F(SLACK)


@settings(max_examples=60)
@given(st.fractions(F(1, 100), 2), st.integers(1, 60), st.fractions(F(1, 10**9), F(9, 10)))
def test_exact_pure_both_ways(epsilon: Fraction, count: int, delta: Fraction) -> None:
    total = exact_pure(epsilon, count, delta).epsilon
    assert 0 <= total <= count * epsilon
    assert exact_pure_delta_up(epsilon, count, total) <= delta * (1 + F(1, 10**40))
    if total > F(1, 10**9):
        assert exact_pure_delta_up(epsilon, count, total * (1 - F(1, 10**6))) > delta


@settings(max_examples=60)
@given(st.fractions(F(1, 100), 1), st.integers(1, 200), st.fractions(F(1, 10**9), F(1, 10)))
def test_no_theorem_beats_the_exact_total(epsilon: Fraction, count: int, delta: Fraction) -> None:
    least = exact_pure(epsilon, count, delta).epsilon
    wider = advanced(epsilon, count, delta).epsilon
    assert least <= advanced_tighter(epsilon, count, delta).epsilon <= wider
    assert least <= concentrated(epsilon, count, delta).epsilon


def test_exact_pure_at_its_ends() -> None:
    assert exact_pure(0.1, 100, 0).epsilon == 10
    assert exact_pure(0.1, 3, 0.9).epsilon == 0
    assert exact_pure(1000, 1000, 1e-6).epsilon == 10**6
    assert exact_pure_delta_up(0.1, 3, 0.3) == 0
    assert exact_pure(0.1, 2, 1e-6, CHANGE_ONE).neighbours == CHANGE_ONE
    with pytest.raises(InvalidInput, match="whole number of at least 1"):
        exact_pure(0.1, 0, 1e-6)
    with pytest.raises(InvalidBudget, match="delta"):
        advanced(0.1, 10, 0)


def test_distributions_come_close_to_the_exact_total_and_stay_above() -> None:
    exact = exact_pure(0.1, 100, 1e-6).epsilon
    found = batch_loss([events.ExponentialChoice(F(1, 10))] * 100, 1e-6)
    assert exact <= found.epsilon <= exact + F(1, 10**4)
    assert found.delta == F(1, 10**6)


def test_choices_of_bounded_range_cost_less_together() -> None:
    """A hundred of them, by 100 / 800 concentrated; randomized responses of the same epsilon need 4.77."""
    found = batch_loss([events.BoundedRangeChoice(F(1, 10))] * 100, 1e-6)
    assert found.epsilon == Concentrated(F(1, 8)).approximate(1e-6).epsilon < F(28, 10)


@pytest.mark.parametrize("epsilons", [[F(1, 2), F(1, 3), F(1, 7), F(1, 11)] * 2, [F(1, 2)] * 3 + [F(2, 3)] * 4, [F(1)]])
@pytest.mark.parametrize("delta", [F(1, 100), F(1, 10**5)])
def test_distributions_of_different_events_hold_on_the_listed_law(epsilons: list[Fraction], delta: Fraction) -> None:
    found = batch_loss([events.NoisyMax(epsilon) for epsilon in epsilons], delta).epsilon
    one, other = responses(epsilons)
    assert hockey_stick(one, other, decimal(found)) <= decimal(delta)
    assert hockey_stick(one, other, decimal(found * F(99, 100))) > decimal(delta)  # and would notice one per cent less


def test_failing_events_hold_on_the_listed_law() -> None:
    """Two events that reveal the neighbour with probability 1/1000 each, beside six pure ones."""
    own, epsilon, count = F(1, 1000), F(1, 2), 8
    keys = [events.ThresholdedKeys(epsilon, own, 1, 9)] * 2
    found = batch_loss([*keys, *[events.NoisyMax(epsilon)] * (count - 2)], 0.01).epsilon
    one, other = responses([epsilon] * count)
    kept = (1 - own) ** 2
    assert 1 - kept + kept * F(hockey_stick(one, other, decimal(found))) <= F(1, 100)
    assert found < count * epsilon


def test_gaussian_noise_enters_through_its_rho() -> None:
    gaussian = [events.GaussianNoise(F(1), F(5))] * 3
    alone = batch_loss(gaussian, 1e-6)
    assert alone == loss(events.Batch(tuple(gaussian))).approximate(1e-6)  # type: ignore[union-attr]
    both = batch_loss([*gaussian, *[events.NoisyMax(F(1, 10))] * 50], 1e-6)
    assert alone.epsilon < both.epsilon < alone.epsilon + 5


def test_a_batch_inside_a_batch_is_the_same_batch() -> None:
    flat = [events.NoisyMax(F(1, 10))] * 6
    nested = [events.Batch((events.Batch(tuple(flat[:2])), *flat[2:5])), flat[5]]
    assert batch_loss(nested, 1e-3) == batch_loss(flat, 1e-3)


def test_the_sum_where_nothing_else_helps_and_a_refusal_where_nothing_holds() -> None:
    assert batch_loss([events.NoisyMax(F(1))], 0).epsilon == 1
    assert batch_loss([events.NoisyMax(F(1))], 1e-15).epsilon == 1  # floats cannot resolve it
    with pytest.raises(InvalidBudget, match="larger delta"):
        batch_loss([events.ThresholdedKeys(F(1), F(1, 10**6), 1, 9)], 1e-7)
    with pytest.raises(WrongRelation):
        batch_loss([events.NoisyMax(F(1)), events.RandomizedAnswer(F(1))], 1e-6)


def test_the_listing_is_the_plain_binomial() -> None:
    """The oracle above against the formula written out, so that both are not wrong together."""
    ratio, one = exp_up(F(1, 2)), responses([F(1, 2)] * 3)[0]
    for answers in product((0, 1), repeat=3):
        nested = (((), answers[0]), answers[1]), answers[2]
        weight = ratio ** answers.count(0) / (1 + ratio) ** 3
        assert abs(F(one.probabilities[nested]) - weight) < F(SLACK)


def test_a_missing_package_is_an_error_with_the_line_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.privacy_loss_distribution", None)
    with pytest.raises(InvalidInput, match=r"pip install 'tacit\[accounting\]'"):
        batches._composed_distribution(Counter({(F(1, 10), F(0)): 3}), F(1, 100))
