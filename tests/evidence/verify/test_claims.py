"""The exact measures: each equals its definition on laws small enough to try every event, and errs on the safe side."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.evidence.verify.claims import align, law_of_function, least_parameter, measured_both_ways, only_one_can, within
from tacit.evidence.verify.composing import compose, gather, surviving_loss, together
from tacit.privacy.law import ARITHMETIC, Law, hockey_stick
from tacit.privacy.loss import Approximate, Concentrated, Probabilistic, Pure

weights = st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any)


def law(parts: list[int]) -> Law:
    total = Decimal(sum(parts))
    return Law({k: ARITHMETIC.divide(Decimal(part), total) for k, part in enumerate(parts)})


def by_definition(one: Law, other: Law, delta: float) -> float:
    """The largest ln((P(E) - delta)/Q(E)) over every event."""
    outcomes = list(one.probabilities)
    worst = -math.inf
    for event in chain.from_iterable(combinations(outcomes, size) for size in range(1, len(outcomes) + 1)):
        p, q = (float(sum(each.probabilities[k] for k in event)) for each in (one, other))
        if p - delta > 1e-12:
            worst = max(worst, math.log((p - delta) / q) if q else math.inf)
    return worst


@given(weights, weights, st.sampled_from([0.0, 0.01, 0.2]))
@settings(max_examples=60, deadline=None)
def test_the_measure_is_the_worst_event(one, other, delta):
    found = float(least_parameter(Approximate(0, delta), law(one), law(other)))
    assert found == pytest.approx(by_definition(law(one), law(other), delta), abs=1e-9)
    if delta == 0:
        assert found == float(least_parameter(Pure(0), law(one), law(other)))


@given(weights, weights, st.sampled_from([0.01, 0.2]))
@settings(max_examples=60, deadline=None)
def test_the_measured_epsilon_has_that_hockey_stick(one, other, delta):
    epsilon = max(Decimal(0), least_parameter(Approximate(0, delta), law(one), law(other)))
    if epsilon.is_finite():
        assert hockey_stick(law(one), law(other), epsilon) <= Decimal(delta) + Decimal("1e-15")


def test_a_probabilistic_claim_does_not_survive_a_function_and_its_approximate_form_does():
    one = Law({"bad": Decimal("0.1"), "left": Decimal("0.45"), "right": Decimal("0.45")})
    other = Law({"good": Decimal("0.1"), "left": Decimal("0.45"), "right": Decimal("0.45")})
    claim = Probabilistic(0, 0.1)
    merged = [each.map(lambda outcome: "left" if outcome == "bad" else outcome) for each in (one, other)]
    assert within(claim, least_parameter(claim, one, other))
    assert not within(claim, least_parameter(claim, *merged))
    assert within(surviving_loss(claim), least_parameter(surviving_loss(claim), *merged))


def gaussian(middle: int, scale: int = 4) -> Law:
    with localcontext(ARITHMETIC):
        listed = {k: (-Decimal((k - middle) ** 2) / (2 * scale**2)).exp() for k in range(middle - 200, middle + 201)}
        total = sum(listed.values())
        return Law({k: weight / total for k, weight in listed.items()}, missing=Decimal("1e-500"))


def test_a_concentrated_claim_is_measured_by_renyi_divergence():
    one, other = gaussian(0), gaussian(1)
    found = measured_both_ways(Concentrated("1/32"), one, other)
    assert found == pytest.approx(Decimal(1) / 32, abs=Decimal("1e-12"))
    assert not within(Concentrated("0.03"), found)


def test_an_outcome_from_one_side_alone_is_infinite_unless_it_may_be_among_the_missing():
    whole, half = Law({0: Decimal("0.5"), 1: Decimal("0.5")}), Law({0: Decimal(1)})
    window = Law({0: Decimal("0.9")}, missing=Decimal("0.1"))
    for claim in (Pure(1), Concentrated(1), Approximate(1, 0.1)):
        assert least_parameter(claim, whole, half).is_infinite()
        assert least_parameter(claim, whole, window).is_finite()
    assert (only_one_can(whole, half), only_one_can(whole, window)) == (Decimal("0.5"), 0)
    assert least_parameter(Pure(1), whole, window) == ARITHMETIC.ln(Decimal(5))  # 0.5 against at most 0.1


def geometric(middle: int) -> Law:
    """2^-|k - middle| / 3, listed up to 5 from the middle: just over 1/48 is missing."""
    window = range(middle - 5, middle + 6)
    return Law({k: ARITHMETIC.divide(Decimal(2) ** -abs(k - middle), Decimal(3)) for k in window}, missing=Decimal("0.021"))


def test_windows_that_end_at_different_places_lend_no_ratio_to_a_function():
    """The true epsilon is ln 2. Of the outcomes up to -4 one window lists two and the other, moved by one, only one."""
    one, other = geometric(0), geometric(1)
    mapped = [each.map(lambda k: k <= -4) for each in (one, other)]
    safe = [law_of_function(each, lambda k: k <= -4) for each in align(one, other)]
    assert within(Pure("0.6932"), measured_both_ways(Pure(1), *safe))
    assert within(Pure("0.6932"), measured_both_ways(Pure(1), *mapped))
    naive = [Law(each.probabilities, each.missing) for each in mapped]  # planted: as if nothing that is missing belonged to them
    assert not within(Pure("0.6932"), measured_both_ways(Pure(1), *naive))


def test_composition_of_tight_laws_is_the_sum_and_gathering_keeps_it():
    coin, flipped = law([3, 1, 0, 0]), law([1, 3, 0, 0])
    joint = compose((coin, flipped), (coin, flipped))
    assert abs(measured_both_ways(Pure(1), *joint) - ARITHMETIC.ln(Decimal(9))) < Decimal("1e-25")
    assert within(together(Pure("1.0987"), Pure("1.0987")), measured_both_ways(Pure(1), *joint))
    many, moved = gather(gaussian(0), gaussian(1))
    assert len(many.probabilities) < 100 < len(gaussian(0).probabilities)
    assert least_parameter(Concentrated(1), many, moved) <= least_parameter(Concentrated(1), gaussian(0), gaussian(1))
