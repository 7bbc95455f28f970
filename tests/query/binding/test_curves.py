"""LN, LOG10, SQRT and EXP are exact floors on a public step, at the borders too, where doubles cannot tell the side."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import ibis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from tacit.errors import RangeTooLarge, WrongType
from tacit.query.binding import curves, terms
from tacit.query.engines import rows as compiled_rows
from tacit.query.plan import Column, Logarithm, NumberType, Row, Term
from tacit.query.planning import Extent

STEPS = [Fraction(1), Fraction(1, 100), Fraction(7, 3), Fraction(10**6)]


def column(low: int, high: int, step: Fraction = Fraction(1)) -> Term:
    return Term(Column(0, "x", low, high, nullable=True), NumberType(step))


def by_engine(node: Row, values: list[int]) -> list[int | None]:
    """What an engine computes for some values of the column."""
    rows = ibis.memtable({"s0:x": [value - low_of(node) for value in values]}, schema={"s0:x": "int64"})
    shown = rows.mutate(found=compiled_rows.value(node, rows).cast("int64"))
    return [None if value is None else int(value) for value in engine().to_pyarrow(shown)["found"].to_pylist()]


@cache
def engine() -> Any:
    return ibis.duckdb.connect()


def low_of(node: Any) -> int:
    while not isinstance(node, Column):
        node = getattr(node, "child", None) or node.left
    return node.low


def near_borders(term: Term, made: Term) -> list[int]:
    """Whole arguments on both sides of borders: where a logarithm in doubles is most likely on the wrong side."""
    column, step = terms.number_node(term), terms.number_step(term)
    node = made.node
    assert isinstance(node, Logarithm)
    scale = float(node.unit) * (math.log(10) if node.base == "10" else 1)
    stride = max(1, (node.high - node.low) // 100)
    borders = [math.exp(min(place * scale - math.log(step), 40)) for place in range(node.low, node.high + 1, stride)]
    around = {math.floor(border) + more for border in borders for more in (0, 1)}
    ends = {column.low, column.high, *node.up[:50], *node.down[:50]}
    powers = {10**digits + more for digits in range(12) for more in (-1, 0, 1)}
    return sorted(value for value in around | ends | powers if column.low <= value <= column.high)


@settings(max_examples=6, deadline=None)
@given(st.sampled_from(["e", "10"]), st.sampled_from(STEPS), st.integers(1, 10**6), st.integers(1, 2**36))
def test_logarithms_are_exact_floors_also_near_their_borders(base: Any, step: Fraction, low: int, more: int) -> None:
    term = column(low, low + more, step)
    made = curves.logarithm(base)(term)
    values = near_borders(term, made)
    node, unit = made.node, terms.number_step(made)
    assert by_engine(node, values) == [reference.floor_log(value * step, base, unit) for value in values]
    assert (node.low, node.high) == tuple(reference.floor_log(end * step, base, unit) for end in (low, low + more))


def test_close_calls_left_to_doubles_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten, a hundred and a thousand are borders of LOG10: doubles see some of them below."""
    term = column(1, 2**36)
    values = [10**digits for digits in range(11)]
    honest = curves.logarithm("10")(term)
    wanted = [digits / terms.number_step(honest) for digits in range(11)]
    assert by_engine(honest.node, values) == wanted
    monkeypatch.setattr(curves, "close_calls", lambda *given: ((), ()))
    assert by_engine(curves.logarithm("10")(term).node, values) != wanted


ROUNDED_UP = 94906265**2 - 1  # below 2^53; its root in doubles is 94906265


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        (0, 500_000, "0.01"), (1, 2**40, "1"), (0, 10**6, "1/3"), (10**12, 10**12 + 5, "1"),
        (ROUNDED_UP - 10**10, ROUNDED_UP, "1"), (ROUNDED_UP - 10**10, ROUNDED_UP, "0.01"), (2**52 - 10**10, 2**52 - 1, "1"),
    ],
)  # fmt: skip
def test_roots_are_exact_floors(low: int, high: int, step: str) -> None:
    """A value above the range of the plan would be outside every group: the question would fail because of one row."""
    made = curves.root(column(low, high, Fraction(step)))
    unit = terms.number_step(made)
    squares = [value for root in range(0, 1000, 7) for value in (root**2 - 1, root**2, root**2 + 1)]
    values = sorted({low, high, *(value for value in (*squares, low + 1, high - 1) if low <= value <= high)})
    wanted = [math.isqrt((value * Fraction(step) / unit**2).__floor__()) for value in values]
    assert by_engine(made.node, values) == wanted
    assert [wanted[0], wanted[-1]] == [made.node.low, made.node.high]


@pytest.mark.parametrize(("low", "high", "step"), [(-50, 50, "0.1"), (0, 3, "1"), (-300, -290, "1"), (0, 8191, "0.001")])
def test_powers_of_e_are_exact_floors(low: int, high: int, step: str) -> None:
    made = curves.exponential(column(low, high, Fraction(step)))
    values = list(range(low, high + 1, max(1, (high - low) // 50)))
    found = by_engine(made.node, values)
    unit = float(terms.number_step(made))
    assert found == pytest.approx([math.exp(value * float(Fraction(step))) / unit for value in values], abs=1.000001)
    assert all(value is not None and made.node.low <= value <= made.node.high for value in found)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 10**6), st.integers(0, 10**9), st.sampled_from(STEPS))
def test_a_step_is_the_finest_power_of_ten_with_a_million_steps(low: int, more: int, step: Fraction) -> None:
    made = curves.logarithm("e")(column(low, low + more, step))
    unit = terms.number_step(made)
    span = math.log((low + more) / low)
    assert span / unit <= 2**20 + 1
    if isinstance(made.node, Logarithm) and unit > curves.FINEST_LOG and more < 10**6:
        assert span * 10 / unit > 2**20 - 1


def test_what_cannot_be_computed_is_refused_with_a_remedy() -> None:
    with pytest.raises(WrongType, match=r"above 0.*LN\(GREATEST"):
        curves.logarithm("e")(column(0, 10))
    with pytest.raises(WrongType, match="at least 0"):
        curves.root(column(-1, 10))
    with pytest.raises(RangeTooLarge, match=r"2\^37 steps.*ROUND"):
        curves.logarithm("e")(column(1, 2**40))
    with pytest.raises(RangeTooLarge, match="10,001 possible values"):
        curves.exponential(column(0, 10_000, Fraction(1, 100)))
    with pytest.raises(RangeTooLarge, match="from -300 to 300"):
        curves.exponential(column(0, 301))


@pytest.mark.parametrize("function", ["ln", "log10", "sqrt", "exp"])
def test_the_meaning_is_that_of_sql(function: str) -> None:
    make = {"ln": curves.logarithm("e"), "log10": curves.logarithm("10"), "sqrt": curves.root, "exp": curves.exponential}
    step = Fraction(1, 100)
    made, values = make[function](column(1, 800, step)), list(range(1, 801, 13))
    unit = terms.number_step(made)
    exact = [engine().raw_sql(f"SELECT {function}({value} / 100)").fetchall()[0][0] for value in values]
    found = [float(value * unit) for value in by_engine(made.node, values) if value is not None]
    assert found == pytest.approx(exact, abs=float(unit) * 1.000001)
    assert all(one <= two + 1e-12 for one, two in zip(found, exact, strict=True)), "it is rounded down"


def test_logarithms_count_for_what_is_written_out() -> None:
    """A series uses its argument again and again: short questions must not keep the planner busy."""
    nested = [column(1, 1000)]
    for _ in range(3):
        nested.append(curves.logarithm("e")(terms.add(nested[-1], terms.constant(Fraction(2)))))
    Extent().check(nested[2].node)
    with pytest.raises(RangeTooLarge, match="too large"):
        Extent().check(nested[3].node)


def test_quotients_count_for_what_is_written_out() -> None:
    """A quotient is clipped with its NULLs kept apart: four inside each other are written out thousands of times."""
    divisor, nested = terms.add(column(1, 10), terms.constant(Fraction(2))), [column(0, 1000)]
    for _ in range(4):
        nested.append(terms.divide(nested[-1], divisor))
    Extent().check(nested[3].node)
    with pytest.raises(RangeTooLarge, match="too large"):
        Extent().check(nested[4].node)
