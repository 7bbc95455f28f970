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
HEAVIEST = 1000
LARGEST = 2.0**60  # the most that a histogram or a guess may hold in all: int64 then holds their distance


@dataclass(frozen=True, slots=True)
class Scoring:
    """The worth of each distance: weights[i] * (distance[i] - expected[i]); public whole numbers, weights from 1 to 1000.

    `expected` is what is not worth measuring, for example the distance that its own noise would give a histogram.
    """

    weights: tuple[int, ...]
    expected: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Farthest:
    """Chooses histogram i with probability proportional to exp(epsilon * distance[i] / (2 * max_rows)), exactly.

    distance[i] is the l1 distance of histogram i from guess i: whole numbers both, and the guesses are public. One unit has at
    most `max_rows` rows, each in one cell of every histogram, so that it moves every distance by at most `max_rows`. Pure epsilon:
    McSherry and Talwar 2007. The release is the index of the chosen histogram. With a `scoring`,
    scores take the place of distances, and `max_rows` times the largest weight that of `max_rows`.

    >>> choice = Farthest(guesses=([5, 5], [5, 5]), max_rows=1, epsilon=2)
    >>> {index: round(p, 4) for index, p in choice.law([[5, 5], [6, 4]]).probabilities.items()}
    {0: Decimal('0.1192'), 1: Decimal('0.8808')}
    """

    guesses: tuple[Guess, ...]
    max_rows: int
    epsilon: Fraction
    neighbours: Neighbours = ADD_REMOVE
    scoring: Scoring | None = None

    def __init__(
        self,
        guesses: Sequence[ArrayLike],
        max_rows: int,
        epsilon: Number,
        neighbours: Neighbours = ADD_REMOVE,
        scoring: Scoring | None = None,
    ) -> None:
        object.__setattr__(self, "guesses", tuple(_counts(guess, "a guess") for guess in guesses))
        object.__setattr__(self, "max_rows", _rows(max_rows))
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "neighbours", neighbours)
        object.__setattr__(self, "scoring", scoring)
        if not self.guesses:
            raise InvalidInput("guesses must not be empty; give at least one guess")
        if scoring is not None:
            _check_scoring(scoring, len(self.guesses))

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
        return Exponential(self.sensitivity, self.epsilon, neighbours=self.neighbours)

    @property
    def sensitivity(self) -> int:
        """How far one unit moves a score, at most."""
        return self.max_rows if self.scoring is None else self.max_rows * max(self.scoring.weights)

    def _distances(self, histograms: Sequence[Any]) -> NDArray[np.int64]:
        if len(histograms) != len(self.guesses):
            raise InvalidValue(f"expected {len(self.guesses)} histograms, one for each guess")
        pairs = zip(histograms, self.guesses, strict=True)
        distances = [_distance(opened(histogram), guess) for histogram, guess in pairs]
        if self.scoring is not None:
            rules = zip(distances, self.scoring.weights, self.scoring.expected, strict=True)
            distances = [weight * (distance - expected) for distance, weight, expected in rules]
            if max(map(abs, distances)) > LARGEST:
                raise InvalidValue("a histogram is too large to be weighed: weight times distance may be at most 2^60")
        return np.array(distances, dtype=np.int64)


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


def _check_scoring(scoring: Scoring, guesses: int) -> None:
    numbers = (*scoring.weights, *scoring.expected)
    if any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
        raise InvalidInput("weights and expected distances must be whole numbers", argument="scoring")
    if not all(1 <= weight <= HEAVIEST for weight in scoring.weights) or not all(0 <= each <= LARGEST for each in scoring.expected):
        raise InvalidInput(f"weights must be from 1 to {HEAVIEST}, and expected distances at least 0", argument="scoring")
    if not len(scoring.weights) == len(scoring.expected) == guesses:
        raise InvalidInput("a scoring needs one weight and one expected distance for each guess", argument="scoring")


def _rows(max_rows: int) -> int:
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
        raise InvalidInput(f"max_rows must be a whole number of at least 1, not {max_rows!r}", argument="max_rows")
    return max_rows
