"""Laws: what sums to one is accepted to the last digit, and the loss between two laws is the textbook one."""

from decimal import Decimal
from functools import reduce

import pytest

from tacit.errors import InvalidInput
from tacit.privacy.law import ARITHMETIC, Law, hockey_stick, worst_log_ratio

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


def test_the_hockey_stick_at_zero_is_the_total_variation() -> None:
    assert hockey_stick(Law(HALVES), Law({0: Decimal("0.9"), 1: Decimal("0.1")}), Decimal(0)) == Decimal("0.4")
