"""The choice of the farthest histogram: its law, its loss on every neighbour of small worlds, and bugs that are seen."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from chance import follows_law
from tacit.accounting.events import BoundedRangeChoice
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.mechanisms.farthest import Farthest, Scoring
from tacit.privacy.loss import Neighbours
from tacit.privacy.sealed import Sealed

ROWS = tuple(product(range(2), range(2), range(2)))  # three columns of two values
PAIRS = ((0, 1), (0, 2), (1, 2))
GUESSES = ([2, 0, 0, 2], [1, 1, 1, 1], [0, 3, 0, 0])


def counted(units: tuple[tuple[tuple[int, ...], ...], ...]) -> list[list[int]]:
    """The histograms of all pairs of columns."""
    found = []
    for one, other in PAIRS:
        cells = Counter(2 * row[one] + row[other] for unit in units for row in unit)
        found.append([cells[cell] for cell in range(4)])
    return found


def worst_loss(max_rows: int, people: int, mechanism: Farthest) -> float:
    """The largest log ratio over all databases of at most `people` units, with and without one unit more."""
    units = [rows for size in range(1, max_rows + 1) for rows in combinations_with_replacement(ROWS[::7] + ROWS[3:4], size)]
    worst = 0.0
    for size in range(people + 1):
        for others in combinations_with_replacement(units, size):
            law = mechanism.law(counted(others)).probabilities
            for unit in units:
                with_one = mechanism.law(counted((*others, unit))).probabilities
                worst = max(worst, *(abs(float((with_one[at] / law[at]).ln())) for at in law))
    return worst


def test_the_law_is_the_definition() -> None:
    histograms = [[3, 1, 0, 0], [1, 1, 1, 1], [0, 3, 1, 0]]
    mechanism = Farthest(GUESSES, max_rows=2, epsilon=1)
    distances = [1 + 1 + 0 + 2, 0, 1]
    weights = [math.exp(distance / 4) for distance in distances]
    found = mechanism.law(histograms).probabilities
    assert [float(found[at]) for at in range(3)] == pytest.approx([weight / sum(weights) for weight in weights])
    assert mechanism.event == BoundedRangeChoice(mechanism.epsilon)
    sealed = [Sealed(np.array(histogram)) for histogram in histograms]
    assert mechanism.law(sealed).probabilities == found


@pytest.mark.parametrize(("max_rows", "people"), [(1, 3), (3, 1)])
def test_loss_over_all_neighbours(max_rows: int, people: int) -> None:
    assert worst_loss(max_rows, people, Farthest(GUESSES, max_rows, epsilon=1)) <= 1 + 1e-12


@pytest.mark.parametrize(
    ("max_rows", "planted"),
    [
        (1, Farthest(GUESSES, max_rows=1, epsilon=2)),  # the score's sensitivity halved: twice the exponent
        (3, Farthest(GUESSES, max_rows=1, epsilon=1)),  # noise for one row where a unit has three
    ],
)
def test_planted_bugs_are_seen(max_rows: int, planted: Farthest) -> None:
    assert worst_loss(max_rows, 2 if max_rows == 1 else 1, planted) > 1.1, "claimed is epsilon 1"


def test_scores_and_their_loss() -> None:
    """The weight times the distance beyond the expected one; planted: the sensitivity of the lightest candidate."""
    scoring = Scoring((3, 1, 2), (2, 0, 1))
    histograms = [[3, 1, 0, 0], [1, 1, 1, 1], [0, 3, 1, 0]]
    mechanism = Farthest(GUESSES, max_rows=2, epsilon=1, scoring=scoring)
    weights = [math.exp(score / (2 * 3 * 2)) for score in (3 * (4 - 2), 0, 2 * (1 - 1))]
    found = mechanism.law(histograms).probabilities
    assert [float(found[at]) for at in range(3)] == pytest.approx([weight / sum(weights) for weight in weights])
    assert worst_loss(1, 2, Farthest(GUESSES, 1, epsilon=1, scoring=scoring)) <= 1 + 1e-12
    assert worst_loss(1, 2, Farthest(GUESSES, 1, epsilon=3, scoring=scoring)) > 1.1, "as if divided by the smallest weight"
    for wrong in (Scoring((1, 1), (0, 0)), Scoring((0, 1, 1), (0, 0, 0)), Scoring((1, 1, 1), (0, 0.5, 0))):  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=r"weight"):
            Farthest(GUESSES, 1, 1, scoring=wrong)


def test_the_release_follows_the_law() -> None:
    mechanism, histograms = Farthest(GUESSES, max_rows=1, epsilon=0.5), [[3, 1, 0, 0], [1, 1, 1, 1], [0, 3, 1, 0]]
    drawn = Counter(mechanism.release([Sealed(np.array(one)) for one in histograms]) for _ in range(2000))
    assert follows_law(drawn, mechanism.law(histograms).probabilities)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one guess"):
        Farthest((), 1, 1)
    with pytest.raises(InvalidInput, match="max_rows must be a whole number"):
        Farthest(([1],), 0, 1)
    with pytest.raises(InvalidBudget):
        Farthest(([1],), 1, 0)
    mechanism = Farthest(([1, 2], [3, 4]), 1, 1, Neighbours("add-remove", "unit"))
    for wrong in ([[777, 1]], [[777, 1], [2]], [[777.5, 1], [1, 2]], [[777, 2**61], [1, 2]]):
        with pytest.raises(InvalidValue) as refusal:
            mechanism.release([Sealed(np.array(one)) for one in wrong])
        assert "777" not in str(refusal.value)
    assert str(mechanism.loss) == "pure epsilon 1 (add or remove one unit)"
    assert mechanism.law([[1, 2], [3, 4]]).probabilities == {0: Decimal("0.5"), 1: Decimal("0.5")}


def test_a_histogram_holds_at_most_two_to_the_60() -> None:
    """So that the distance to a guess that holds as much is exact in 64 bits."""
    mechanism = Farthest(([-(2**60), 0], [0, 0]), max_rows=2**60, epsilon=1)
    law = mechanism.law([[2**60, 0], [0, 2**60]]).probabilities  # distances 2^61 and 2^60: one e^(1/2) times the other
    assert float(law[0] / law[1]) == pytest.approx(math.exp(0.5))
    with pytest.raises(InvalidValue, match=r"at most 2\^60"):
        mechanism.law([[2**60, 300], [0, 0]])
