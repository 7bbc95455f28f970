"""Bugs that published code has had, planted one line at a time. Nothing releases a value with them.

Lyu, Su and Li 2017 list six variants of the sparse vector technique, of which four are wrong; the forgotten factors are here. The
others are the slips of the same kind elsewhere: the spread of an extreme at its own rank used for one that aims inside the data, a
budget divided by too little, half of a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.accounting.events import Event
from tacit.evidence.verify import hard_pairs
from tacit.evidence.verify.case import Case, Contracted
from tacit.evidence.verify.subjects import CHANGED, ENCLOSED, HALF, HEAVY, MAXIMUM, SPARSE, SPARSE_TWO
from tacit.mechanisms.mechanism import Listed
from tacit.mechanisms.quantile import Quantile
from tacit.mechanisms.quantile_interval import QuantileWithInterval
from tacit.mechanisms.smooth import SmoothQuantile
from tacit.mechanisms.sorted_rows import SortedRows
from tacit.mechanisms.sparse_vector import SparseVector
from tacit.privacy.law import Law
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Loss


@dataclass(frozen=True)
class Underclaimed:
    """Runs `actual`, lists its law, and claims the loss of `claim`."""

    claim: Listed
    actual: Listed

    @property
    def event(self) -> Event:
        """What the ledger records for one release."""
        return self.claim.event

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return self.claim.loss

    def release(self, value: Any) -> Any:
        """An output of the mechanism that runs."""
        return self.actual.release(value)

    def law(self, value: Any) -> Law:
        """The law of the mechanism that runs."""
        return self.actual.law(value)


class WithoutTheTwo(SparseVector):
    """Noise on the answers as if a number could not rise while the threshold falls."""

    @property
    def answer_scale(self) -> Fraction:
        """The scale without its factor of 2."""
        return self.positives * self.units / self.epsilon_answers


class WithoutThePositives(SparseVector):
    """Noise on the answers for one positive, however many are given."""

    @property
    def answer_scale(self) -> Fraction:
        """The scale for one positive."""
        return 2 * self.units / self.epsilon_answers


class QuarterOfTheThreshold(SparseVector):
    """A quarter of the noise on the threshold."""

    @property
    def threshold_scale(self) -> Fraction:
        """A quarter of the scale that is needed."""
        return self.units / (4 * self.epsilon_threshold)


class OwnRankSpread(Quantile):
    """The spread of an extreme at its own rank, half of what an aim inside the data needs."""

    @property
    def spread(self) -> Fraction:
        """The spread of an extreme at its own rank."""
        return Fraction(self.max_rows)


class HalvedBound(SmoothQuantile):
    """Noise scaled to half of the smooth bound."""

    def statistic(self, rows: SortedRows) -> tuple[Fraction, Fraction]:
        """The answer, and half of its smooth bound."""
        answer, bound = SmoothQuantile.statistic(self, rows)
        return answer, bound / 2


def planted() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    one, two = (SPARSE, hard_pairs.rising(10, 1)), (SPARSE_TWO, hard_pairs.rising(9, 2))
    highest = OwnRankSpread(1, lower=0, upper=40, step=1, epsilon=1)
    claim, actual = (QuantileWithInterval(HALF, lower=0, upper=20, step=1, epsilon=epsilon) for epsilon in (1, 2))
    changed, comes_or_goes = (Quantile(HALF, 0, 40, 1, 1, neighbours=relation) for relation in (CHANGE_ONE, ADD_REMOVE))
    sound, far = hard_pairs.far_end_median(1)
    halved = HalvedBound(sound.q, sound.lower, sound.upper, sound.step, sound.epsilon, gamma=sound.gamma)
    wrong: dict[str, tuple[str, str, Listed, Any]] = {
        "two": (one[0], "the noise without its 2", WithoutTheTwo(1, HALF, HALF, 1, threshold=2, step=1), one[1]),
        "positives": (two[0], "noise for one", WithoutThePositives(1, HALF, HALF, 2, threshold=2, step=1), two[1]),
        "threshold": (one[0], "a quarter of the threshold's noise", QuarterOfTheThreshold(1, HALF, HALF, 1, 2, step=1), one[1]),
        "spread": (MAXIMUM, "half the spread", highest, hard_pairs.above_the_aim(highest)),
        "halves": (
            ENCLOSED,
            "all of epsilon for each draw",
            Underclaimed(claim, actual),
            hard_pairs.under_both_ends(actual.of_many.low, actual.of_many.high),
        ),
        "halved": (HEAVY, "half of the bound", halved, far),
        "moved": (CHANGED, "noise for a row that comes or goes", Underclaimed(changed, comes_or_goes), ([39, 0], [39, 40])),
    }
    for plant, (spoiled, what, mechanism, pair) in wrong.items():
        yield plant, (spoiled, Contracted(f"{spoiled}, {what} (planted)", mechanism, (pair,)))
