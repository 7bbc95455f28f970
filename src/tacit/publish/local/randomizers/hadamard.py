"""A column of a Hadamard matrix in which the category's row has a plus, or not: Hadamard response. Proof in hadamard.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import choice
from tacit.mechanisms.noise.choice import uniform_integers
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number
from tacit.publish.local.randomizers.randomizer import (
    MOST_COUNTED,
    Channel,
    Codes,
    Coins,
    LocalMechanism,
    one_or_all,
    ratio_within,
    read_code,
    read_codes,
    read_reports,
    read_size,
)

HALF = Fraction(1, 2)


@dataclass(frozen=True, init=False)
class HadamardResponse(LocalMechanism):
    """Reports a column z of the K x K Hadamard matrix, K the least power of two above `size`: category v supports z where row v + 1
    has a plus there, which is half of all columns; each of them is e^epsilon times as likely as each of the others.

    Two different rows agree in half of the columns, so that `false_hit` is 1/2 (Acharya, Sun and Zhang 2019, their form for high
    privacy). Local hashing is the same with more than two cells, and better from about epsilon 0.4 on.

    >>> response = HadamardResponse(size=5, epsilon=1)
    >>> response.columns, round(float(response.hit), 4), response.channel.within(1)
    (8, 0.7311, True)
    >>> response.supports([0, 3, 7])                      # row v + 1 = 1, ..., 5
    array([1, 1, 3, 2, 2])
    """

    size: int
    epsilon: Fraction
    hit: Fraction = field(repr=False)

    def __init__(self, size: int, epsilon: Number) -> None:
        ratio = ratio_within(positive_budget(epsilon))
        object.__setattr__(self, "size", read_size(size))
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "hit", ratio / (ratio + 1))

    @property
    def columns(self) -> int:
        """The number of reports that there are."""
        return 1 << self.size.bit_length()

    @property
    def false_hit(self) -> Fraction:
        """The probability that a report supports another given category."""
        return HALF

    def randomize(self, values: Any) -> Any:
        """The columns: an int64 array, or an integer for one value."""
        truth, alone = read_codes(values, self.size)
        drawn = uniform_integers(self.columns, truth.size)
        return one_or_all(_with_sign(drawn, truth + 1, choice.bernoulli(self.hit, truth.size)), alone)

    def derive(self, value: int, coins: Coins) -> int:
        """A number below `columns`, then a coin of probability `hit`: where it and the sign of the category's row in that column
        (plus for true) differ, the lowest one of the row's number is flipped in the column's number.
        """
        row = np.array([read_code(value, self.size) + 1])
        drawn = np.array([coins.below(self.columns)])
        return int(_with_sign(drawn, row, np.array([coins.coin(self.hit)]))[0])

    @cached_property
    def channel(self) -> Channel:
        """The exact probability of every report, for every answer."""
        return Channel.of(range(self.size), range(self.columns), self._probability)

    def _probability(self, value: Any, column: Any) -> Fraction:
        plus = ((value + 1) & column).bit_count() % 2 == 0
        return (self.hit if plus else 1 - self.hit) * 2 / self.columns

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """For each category the number of columns reported in which its row has a plus, by one fast transform."""
        if self.columns > MOST_COUNTED:
            raise InvalidInput(f"{self.size} categories are too many to tally at once; find the frequent ones with a prefix tree")
        counts = np.bincount(read_reports(reports, self.columns), minlength=self.columns)
        agreeing: NDArray[np.int64] = (transform(counts) + counts.sum()) >> 1
        return agreeing[1 : self.size + 1]


def transform(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sylvester's Hadamard matrix, -1 where the binary digits of row and column share an odd number of ones, times `counts`.

    >>> transform(np.array([1, 0, 2, 0]))
    array([ 3,  3, -1, -1])
    """
    table, half = counts.astype(np.int64), 1
    while half < table.size:
        pairs = table.reshape(-1, 2, half)
        table = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return table


def _with_sign(drawn: Codes, rows: Codes, plus: NDArray[np.bool_]) -> Codes:
    """The columns, the lowest one of the row flipped in them where their sign in the row is not the wanted one."""
    odd = (np.bitwise_count(drawn & rows) & 1).astype(np.bool_)
    return drawn ^ np.where(odd == plus, rows & -rows, 0)
