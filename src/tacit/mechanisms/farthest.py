"""Which of several histograms is farthest from what was guessed of it: the exponential mechanism over l1 distances.

Proof in farthest.md. The distances are private, so they are computed here, where a sealed answer may be opened, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.composition import loss
from tacit.accounting.events import BoundedRangeChoice
from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import Law
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours, positive_budget
from tacit.privacy.rounding import Number

Guess = NDArray[np.int64]
LARGEST = 2.0**60  # the most that a histogram or a guess may hold in all: int64 then holds their distance


@dataclass(frozen=True, slots=True, eq=False)
class Farthest:
    """Chooses histogram i with probability proportional to exp(epsilon * distance[i] / (2 * max_rows)), exactly.

    distance[i] is the l1 distance of histogram i from guess i: whole numbers both, and the guesses are public. One unit has at
    most `max_rows` rows, each in one cell of every histogram, so that it moves every distance by at most `max_rows`. Pure epsilon:
    McSherry and Talwar 2007. The release is the index of the chosen histogram.

    >>> choice = Farthest(guesses=([5, 5], [5, 5]), max_rows=1, epsilon=2)
    >>> {index: round(p, 4) for index, p in choice.law([[5, 5], [6, 4]]).probabilities.items()}
    {0: Decimal('0.1192'), 1: Decimal('0.8808')}
    """

    guesses: tuple[Guess, ...]
    max_rows: int
    epsilon: Fraction
    neighbours: Neighbours = ADD_REMOVE

    def __init__(self, guesses: Sequence[ArrayLike], max_rows: int, epsilon: Number, neighbours: Neighbours = ADD_REMOVE) -> None:
        object.__setattr__(self, "guesses", tuple(_counts(guess, "a guess") for guess in guesses))
        object.__setattr__(self, "max_rows", _rows(max_rows))
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "neighbours", neighbours)
        if not self.guesses:
            raise InvalidInput("guesses must not be empty; give at least one guess")

    @property
    def event(self) -> BoundedRangeChoice:
        """The event that the ledger records for one release."""
        return self._choice.event

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def release(self, histograms: Sequence[Any]) -> int:
        """The index of the chosen histogram; each may come sealed, flat, with one cell for each of its guess."""
        return int(self._choice.release(self._distances(histograms)))

    def law(self, histograms: Sequence[Any]) -> Law:
        """The law of `release(histograms)`."""
        return self._choice.law(self._distances(histograms))

    @property
    def _choice(self) -> Exponential:
        return Exponential(self.max_rows, self.epsilon, neighbours=self.neighbours)

    def _distances(self, histograms: Sequence[Any]) -> NDArray[np.int64]:
        if len(histograms) != len(self.guesses):
            raise InvalidValue(f"expected {len(self.guesses)} histograms, one for each guess")
        pairs = zip(histograms, self.guesses, strict=True)
        return np.array([_distance(opened(histogram), guess) for histogram, guess in pairs], dtype=np.int64)


def _distance(histogram: Any, guess: Guess) -> int:
    counts = _counts(histogram, "a histogram")
    if counts.shape != guess.shape:
        raise InvalidValue("a histogram must have as many cells as its guess")
    return int(np.abs(counts - guess).sum())


def _counts(numbers: ArrayLike, what: str) -> Guess:
    """Whole numbers in a flat array; a message quotes none of them, since they may be private."""
    array = np.asarray(numbers)
    if array.ndim != 1 or array.dtype.kind not in "iu" or np.abs(array.astype(np.float64)).sum() > LARGEST:
        raise InvalidValue(f"{what} must be a flat array of whole numbers with a total of at most 2^60", argument=what)
    return array.astype(np.int64)


def _rows(max_rows: int) -> int:
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
        raise InvalidInput(f"max_rows must be a whole number of at least 1, not {max_rows!r}", argument="max_rows")
    return max_rows
