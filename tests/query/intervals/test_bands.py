"""Error bars through arithmetic: if every input lies between its ends, so does the output; where that is unknown, it is said."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tacit.query.intervals.bands import Band
from tacit.query.intervals.bands import repeated as certain

NUMBERS = st.floats(-1e6, 1e6).map(lambda number: round(number, 3))
WIDTHS = st.floats(0, 1e4).map(lambda number: round(number, 3))
OPEN = st.sampled_from([np.inf, np.inf, 1e5, 3.0, 0.0])


def band(released: float, below: float, above: float) -> Band:
    return Band(*(np.array([number]) for number in (released, released - below, released + above)))


@st.composite
def banded(draw: st.DrawFn) -> tuple[float, Band]:
    """An exact number, and a band in which it lies; some have no end."""
    released, below, above = draw(NUMBERS), draw(WIDTHS | OPEN), draw(WIDTHS | OPEN)
    share = draw(st.floats(0, 1))
    low, high = max(released - below, -2e6), min(released + above, 2e6)
    return min(max(low + share * (high - low), low), high), band(released, below, above)


ARITHMETIC: dict[str, tuple[Callable[[float, float], float], Callable[[Band, Band], Band]]] = {
    "+": (lambda x, y: x + y, Band.__add__),
    "-": (lambda x, y: x - y, Band.__sub__),
    "*": (lambda x, y: x * y, Band.__mul__),
    "/": (lambda x, y: x / y, Band.__truediv__),
}


@pytest.mark.parametrize("operator", ARITHMETIC)
@settings(max_examples=300, deadline=None)
@given(banded(), banded(), banded())
def test_the_exact_result_lies_between_the_ends(
    operator: str, one: tuple[float, Band], two: tuple[float, Band], three: tuple[float, Band]
) -> None:
    exact, wide = ARITHMETIC[operator]
    assume(operator != "/" or (two[0] != 0 and three[0] != 0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = wide(wide(one[1], two[1]), three[1])
    truth = exact(exact(one[0], two[0]), three[0])
    slack = 1e-9 * max(1.0, abs(truth))
    assert found.low[0] - slack <= truth <= found.high[0] + slack
    assert not np.isnan(found.low[0])
    assert not np.isnan(found.high[0])


@given(banded(), st.floats(-50, 50), st.floats(-1e3, 0), st.floats(0, 1e3))
def test_scaled_shifted_squared_and_clamped(one: tuple[float, Band], factor: float, low: float, high: float) -> None:
    exact, wide = one
    assume(abs(factor) > 1e-6)
    for truth, found in (
        (exact * factor, wide.scaled_by(factor)),
        (exact + factor, wide.shifted_by(factor)),
        (exact**2, wide.square()),
        (min(max(exact, low), high), wide.clamped_to(low, high)),
    ):
        slack = 1e-9 * max(1.0, abs(truth))
        assert found.low[0] - slack <= truth <= found.high[0] + slack


def test_a_quotient_by_what_may_be_zero_has_no_ends_and_by_zero_no_value() -> None:
    found = band(6, 1, 1) / Band(np.array([2.0, 0.0]), np.array([-1.0, -1.0]), np.array([5.0, 1.0]))
    assert found.low.tolist() == [-np.inf, -np.inf]
    assert found.high.tolist() == [np.inf, np.inf]
    assert found.value[0] == 3
    assert np.isnan(found.value[1])


def test_a_constant_is_certain() -> None:
    found = certain(2.5, band(1.0, 3.0, 4.0))
    assert (found.value[0], found.low[0], found.high[0]) == (2.5, 2.5, 2.5)
