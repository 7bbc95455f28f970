"""The choice by table against thresholds computed another way: from the definition, by 120-digit decimals."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from tacit.mechanisms.noise.sampler import gaussian, laplace, sampler
from tacit.mechanisms.noise.table import CELLS, Table

FINE = Context(prec=120)
SCALES = [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(10), Fraction(355, 113)]


def weight(exponent: Fraction) -> Fraction:
    return Fraction(FINE.exp(FINE.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))))


def laplace_thresholds(scale: Fraction) -> list[Fraction]:
    """P[X in {0}], P[X in {0, -1}], P[X in {0, -1, 1}], ...: blocks of one integer, side by side."""
    one = weight(1 / scale)
    blocks = sampler(laplace(scale)).blocks
    weights = [weight(magnitude / scale) for block in range(blocks) for magnitude in (block, block + 1)]
    weights.append(weight(blocks / scale) / (1 - one))  # of the two tails, the first ends at a threshold
    return [total * (1 - one) / (1 + one) for total in accumulate(weights)]


def wrong_refinements(table: Table, thresholds: list[Fraction], words: Callable) -> int:
    """How often a draw that ties with a threshold in its first 64 bits comes out on the wrong side of the real number."""
    wrong = 0
    for place, threshold in enumerate(thresholds):
        first = int(threshold * 2**64)
        following = int(threshold * 2**128) % 2**64
        for further, outcome in ((following - 1, place), (following + 1, place + 1)):
            if 0 <= further < 2**64:
                words([first >> 48, first << 16 & (2**64 - 1), further])
                wrong += int(table.draw(1)[0] != outcome)
    return wrong


@pytest.mark.parametrize("scale", SCALES)
def test_stored_thresholds_enclose_the_definition(scale: Fraction) -> None:
    table = sampler(laplace(scale)).table
    thresholds = laplace_thresholds(scale)
    assert len(thresholds) == len(table.low)
    for low, high, threshold in zip(table.low.tolist(), table.high.tolist(), thresholds, strict=True):
        assert low <= int(threshold * 2**64) <= high <= low + 1


@pytest.mark.parametrize("scale", SCALES[1:])
def test_a_tie_is_refined_to_the_right_side(scale: Fraction, words) -> None:
    thresholds = [t for t in laplace_thresholds(scale) if 0 < int(t * 2**64) < 2**64 - 1]
    assert wrong_refinements(sampler(laplace(scale)).table, thresholds, words) == 0


def test_a_table_that_stops_at_64_bits_is_caught(monkeypatch: pytest.MonkeyPatch, words) -> None:
    table = sampler(laplace(Fraction(1))).table
    monkeypatch.setattr(table, "refined", lambda drawn: int(np.searchsorted(table.low, np.uint64(drawn), side="right")))
    assert wrong_refinements(table, laplace_thresholds(Fraction(1)), words) > 0


def test_a_long_tie_goes_on(words) -> None:
    """The first 256 bits of the draw are those of a threshold."""
    table = sampler(laplace(Fraction(1))).table
    threshold = laplace_thresholds(Fraction(1))[3]
    digits = [int(threshold * 2**precision) % 2**64 for precision in (64, 128, 192, 256)]
    for further, outcome in ((-1, 3), (1, 4)):
        waiting = words([*digits[1:3], digits[3] + further])
        assert table.refined(digits[0]) == outcome
        assert waiting == []


def test_many_thresholds_with_the_same_64_bits(words) -> None:
    """At scale 1/100 what is not 0 has probability 2^-143: all thresholds tie, and 144 bits tell them apart."""
    table = sampler(laplace(Fraction(1, 100))).table
    assert set(table.high.tolist()) == {2**64 - 1}
    ones = 2**64 - 1
    thresholds = laplace_thresholds(Fraction(1, 100))
    for place, threshold in enumerate(thresholds[:2]):
        digits = [int(threshold * 2**precision) % 2**64 for precision in (128, 192, 256)]
        for further, outcome in ((-1, place), (1, place + 1)):
            words([CELLS - 1, ones, *digits[:2], digits[2] + further])
            assert table.draw(1)[0] == outcome


def wrong_cells(table: Table) -> int:
    """Over all 2^16 cells: decided ones that are not between the thresholds of their outcome; others without a threshold."""
    lows, highs = table.thresholds(160)
    after, before = [*lows, 2**160], [0, *highs]
    wrong = 0
    for cell, outcome in enumerate(table.cells.tolist()):
        first, last = cell << 144, (cell + 1 << 144) - 1
        if outcome >= 0:
            wrong += not before[outcome] <= first <= last <= after[outcome]
        else:
            wrong += bisect_left(highs, first) == bisect_right(lows, last)
    return wrong


@pytest.mark.parametrize("scale", [Fraction(10), Fraction(500)], ids=str)
@pytest.mark.parametrize("law", [laplace, gaussian])
def test_every_cell_is_where_its_outcome_is(law, scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    table = sampler(law(scale)).table
    assert wrong_cells(table) == 0
    monkeypatch.setattr(table, "cells", np.roll(table.cells, 1))
    assert wrong_cells(table) > 0


def test_a_rational_law_is_met_to_the_last_cell(words) -> None:
    """Weights 1, 2, 4, 1 over 8: no cell holds a threshold inside, and counting all cells gives the law."""
    table = Table(lambda precision: [(w << precision, w << precision) for w in (1, 2, 4, 1)])
    every = np.arange(CELLS, dtype=np.uint16).view(np.uint64).tolist()
    words([*every, 0, 2**64 - 1, 2**20, 1])  # the first cell of an outcome begins at its threshold: more bits, twice for 0
    assert np.bincount(table.draw(CELLS)).tolist() == [CELLS // 8, CELLS // 4, CELLS // 2, CELLS // 8]


def test_a_threshold_on_the_edge_of_a_cell_decides_neither_side(monkeypatch: pytest.MonkeyPatch, words) -> None:
    """Known to a unit only, it may lie in either of the two cells; so both take more bits, and both numbers tie."""
    edge = 5 << 48
    monkeypatch.setattr(Table, "thresholds", lambda self, precision: ([edge - 1], [edge]))
    table = Table(lambda precision: [])
    assert table.cells[3:7].tolist() == [0, -1, -1, 1]
    refined: list[int] = []
    monkeypatch.setattr(table, "refined", lambda drawn: refined.append(drawn) or 0)
    for drawn, outcome in ((edge - 2, 0), (edge + 1, 1)):
        words([drawn << 16 & (2**64 - 1)])
        assert table._search(np.array([drawn >> 48], dtype=np.uint16)).tolist() == [outcome]
    for drawn in (edge - 1, edge):
        words([drawn << 16 & (2**64 - 1)])
        table._search(np.array([drawn >> 48], dtype=np.uint16))
    assert refined == [edge - 1, edge]
