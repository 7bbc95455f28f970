"""Numbers of one unit: their ranges and steps are public, and finding them ends."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import RangeTooLarge
from tacit.query.binding.binder import Binder
from tacit.query.binding.curves import FINEST
from tacit.query.binding.scope import Scope
from tacit.query.binding.subqueries import Totals
from tacit.query.plan import Column, NumberType, Term


def totals(rows: int) -> Totals:
    return Totals(Binder(Scope(())), rows, 1, {})


def number(low: int, high: int, step: Fraction) -> Term:
    return Term(Column(0, "x", low, high, False), NumberType(step))


def test_a_mean_whose_step_has_too_many_digits_is_refused_at_once() -> None:
    """No power of ten makes the integers of such a step small; looking for one without end would hang the planner."""
    with pytest.raises(RangeTooLarge, match="fewer digits"):
        totals(8).mean(number(0, 1000, Fraction(1234567890123, 10**12)), None)


STEPS = st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**6)


@given(st.integers(-(10**6), 10**6), st.integers(0, 10**9), STEPS, st.integers(1, 1000))
def test_a_mean_is_a_floor_on_a_public_step_within_exact_integers(low: int, spread: int, step: Fraction, rows: int) -> None:
    try:
        made = totals(rows).mean(number(low, low + spread, step), None)
    except RangeTooLarge:
        return
    total = made.total
    assert max(spread * rows * total.times, rows * total.divisor) < 2**53
    public = step * total.divisor / total.times
    assert made.type == NumberType(public)
    assert spread * step / public <= FINEST
    assert (made.column.high + 1) * public > spread * step >= made.column.high * public
    assert made.low == low * step
