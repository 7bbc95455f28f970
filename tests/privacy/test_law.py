"""Laws: what sums to one is accepted to the last digit, and the loss between two laws is the textbook one."""

from decimal import Decimal
from functools import reduce

import pytest

from tacit.errors import InvalidInput
from tacit.evidence.verify.claims import least_parameter
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.law import ARITHMETIC, Law, hockey_stick, worst_log_ratio
from tacit.privacy.loss import Pure

HALVES = {0: Decimal("0.5"), 1: Decimal("0.5")}


def long_law(outcomes: int) -> Law:
    weights = [ARITHMETIC.exp(Decimal(-k) / 7) for k in range(outcomes)]
    total = reduce(ARITHMETIC.add, weights)
    return Law({k: ARITHMETIC.divide(weight, total) for k, weight in enumerate(weights)})


@pytest.mark.parametrize("outcomes", [3, 7, 100, 999])
def test_a_long_law_is_not_refused_for_the_rounding_of_its_sum(outcomes: int) -> None:
    law = long_law(outcomes)
    assert law.map(lambda k: k % 3).missing == 0
    assert long_law(outcomes) == law


@pytest.mark.parametrize(("listed", "missing"), [("0.9", "0.05"), ("1.1", "0.5"), ("0.999999999999999999999999999999", "0")])
def test_a_law_that_does_not_sum_to_one_is_refused(listed: str, missing: str) -> None:
    with pytest.raises(InvalidInput, match="sum to 1"):
        Law({0: Decimal(listed)}, Decimal(missing))


def test_what_is_missing_is_carried_through_composition() -> None:
    law = Law({0: Decimal("0.9")}, Decimal("0.1"))
    assert law.and_then(lambda _: law).missing == Decimal("0.19")


def test_the_ratio_is_infinite_only_where_nothing_is_missing() -> None:
    assert worst_log_ratio(Law(HALVES), Law({0: Decimal(1)})) == Decimal("Infinity")
    assert worst_log_ratio(Law(HALVES), Law({0: Decimal("0.9")}, Decimal("0.1"))) < 0


FUNCTIONS = [lambda k, t=t: k > t for t in range(-40, 41)] + [lambda k, t=t: abs(k) > t for t in range(41)] + [lambda k: k % 7]


@pytest.mark.parametrize("missing", ["1e-2", "1e-6", "1e-12"])
@pytest.mark.parametrize("mechanism", [Laplace(1, 1, step=1, on_grid=True), Laplace(1, "1/3", step=1, on_grid=True)], ids=str)
def test_no_function_of_a_cut_off_law_shows_a_larger_ratio_than_is_proved(mechanism: Laplace, missing: str) -> None:
    one, other = mechanism.law(0, missing), mechanism.law(1, missing)
    proved = float(mechanism.epsilon) * (1 + 1e-12)
    for function in FUNCTIONS:
        for p, q in ((one, other), (other, one)):
            assert worst_log_ratio(p.map(function), q.map(function)) <= proved
            assert least_parameter(Pure(mechanism.epsilon), p.map(function), q.map(function)) <= proved
    seen = max(worst_log_ratio(one.map(function), other.map(function)) for function in FUNCTIONS)
    assert seen > 0.8 * float(mechanism.epsilon)  # the ratio is still seen where it is


def test_ratios_of_sums_that_are_cut_off_are_caught() -> None:
    """The planted bug: a sum over the window taken for the probability of the event."""
    mechanism = Laplace(1, 1, step=1, on_grid=True)
    one, other = (mechanism.law(value, "1e-2").map(lambda k: k > 2) for value in (1, 0))
    planted = [Law(law.probabilities, law.missing) for law in (one, other)]
    assert worst_log_ratio(*planted) > Decimal("1.01")
    assert worst_log_ratio(one, other) <= 1


def test_what_is_unplaced_is_carried_through_composition() -> None:
    whole, cut = Law(HALVES), Law({0: Decimal("0.9")}, Decimal("0.1"))
    assert whole.map(lambda bit: bit).unplaced == 0
    assert cut.and_then(lambda _: cut).unplaced == 0
    mapped = cut.map(lambda _: 0)
    assert mapped.and_then(lambda _: whole).unplaced == whole.and_then(lambda _: mapped).unplaced == Decimal("0.1")


def test_the_hockey_stick_at_zero_is_the_total_variation() -> None:
    assert hockey_stick(Law(HALVES), Law({0: Decimal("0.9"), 1: Decimal("0.1")}), Decimal(0)) == Decimal("0.4")
