"""One bit for each category, each bit randomized: optimized and symmetric unary encoding. Proof in unary.md.

Reports are packed, eight categories to a byte, the first category in the highest bit (the order of `numpy.packbits`); the bits
after the last category are zero. A million reports over a hundred categories are 13 MB.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise import choice
from tacit.mechanisms.noise.coins import packed_coins
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number, log_up, sqrt_down
from tacit.publish.local.randomizers.randomizer import (
    Channel,
    Coins,
    LocalMechanism,
    check_cells,
    ratio_within,
    read_code,
    read_codes,
    read_size,
    report_array,
)

HALF = Fraction(1, 2)
FEW = 192  # rows that are unpacked and added bit by bit
Packed = NDArray[np.uint8]


@dataclass(frozen=True, init=False)
class Unary(LocalMechanism):
    """Sets the bit of the true category with probability `hit`, each other bit with probability `false_hit`, independently.

    Two answers differ in two bits, so that hit (1 - false_hit) / (false_hit (1 - hit)) is the worst ratio.
    `Unary(size, epsilon)` is the optimized form, hit 1/2 and false_hit 1/(E + 1) with a rational E at or below e^epsilon
    (Wang et al. 2017); `Unary.symmetric` sets hit = 1 - false_hit (basic RAPPOR, Erlingsson et al. 2014).

    >>> response = Unary(size=5, epsilon=1)
    >>> response.hit, round(float(response.false_hit), 4), response.channel.within(1)
    (Fraction(1, 2), 0.2689, True)
    >>> response.randomize([0, 4, 4]).shape, response.supports([[0b10001000], [0b00001000]])
    ((3, 1), array([1, 0, 0, 0, 2]))
    """

    size: int
    epsilon: Fraction
    hit: Fraction = field(repr=False)
    false_hit: Fraction = field(repr=False)

    def __init__(self, size: int, epsilon: Number) -> None:
        self._set(read_size(size), positive_budget(epsilon), HALF, 1 / (ratio_within(positive_budget(epsilon)) + 1))

    @classmethod
    def symmetric(cls, size: int, epsilon: Number) -> Unary:
        """Every bit tells the truth with the same probability r/(r + 1), where r^2 is at most e^epsilon."""
        made, budget = object.__new__(cls), positive_budget(epsilon)
        ratio = sqrt_down(ratio_within(budget))
        made._set(read_size(size), budget, ratio / (ratio + 1), 1 / (ratio + 1))
        return made

    @classmethod
    def with_chances(cls, size: int, hit: Fraction, false_hit: Fraction) -> Unary:
        """Exactly these two probabilities; epsilon is the logarithm of their worst ratio, rounded up.

        >>> float(Unary.with_chances(3, Fraction(3, 4), Fraction(1, 4)).epsilon)
        2.1972245773362196
        """
        if not 0 < false_hit < hit < 1:
            raise InvalidInput("hit and false_hit must be probabilities with 0 < false_hit < hit < 1")
        made = object.__new__(cls)
        made._set(read_size(size), log_up(hit * (1 - false_hit) / (false_hit * (1 - hit))), hit, false_hit)
        return made

    def _set(self, size: int, epsilon: Fraction, hit: Fraction, false_hit: Fraction) -> None:
        for name, value in {"size": size, "epsilon": epsilon, "hit": hit, "false_hit": false_hit}.items():
            object.__setattr__(self, name, value)

    @property
    def ratio(self) -> Fraction:
        """The worst ratio of the whole report: one bit that is the truth of one answer, and one that is the truth of the other."""
        return self.hit * (1 - self.false_hit) / (self.false_hit * (1 - self.hit))

    def randomize(self, values: Any) -> Any:
        """The packed reports: a uint8 matrix with one row for each value, or one row for a single value."""
        truth, alone = read_codes(values, self.size)
        reports = noise_bits(self.false_hit, truth.size, self.size)
        put_bits(reports, truth, choice.bernoulli(self.hit, truth.size))
        return reports[0] if alone else reports

    def derive(self, value: int, coins: Coins) -> Packed:
        """One coin for each category in their order: of probability `hit` for the true one, of `false_hit` for the others."""
        truth = read_code(value, self.size)
        return pack([coins.coin(self.hit if category == truth else self.false_hit) for category in range(self.size)])

    @cached_property
    def channel(self) -> Channel:
        """The exact probability of every report, for every answer."""
        listed = self.patterns()
        return Channel.of(range(self.size), listed, lambda value, report: self._probability(value, listed[report]))  # type: ignore[index]

    def patterns(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """All reports: the bits of each by its packed form."""
        check_cells(self.size, 2 ** min(self.size, 64))
        return {tuple(pack(bits).tolist()): bits for bits in product((0, 1), repeat=self.size)}

    def _probability(self, value: object, bits: tuple[int, ...]) -> Fraction:
        weight = Fraction(1)
        for category, bit in enumerate(bits):
            chance = self.hit if category == value else self.false_hit
            weight *= chance if bit else 1 - chance
        return weight

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """How many reports have the bit of each category."""
        return column_sums(read_packed(rows_of(reports), self.size), self.size)


def width(size: int) -> int:
    """The bytes of a packed report."""
    return -(-size // 8)


def pack(bits: Any) -> Packed:
    """Bits, the first of them in the highest bit of the first byte; rows of bits become rows of bytes.

    >>> pack([1, 0, 0, 0, 0, 0, 0, 0, 1])
    array([128, 128], dtype=uint8)
    """
    return np.packbits(np.asarray(bits, dtype=np.bool_), axis=-1)


def unpack(reports: Packed, size: int) -> NDArray[np.uint8]:
    """The bits of packed reports, a zero or a one for each category.

    >>> unpack(pack([1, 0, 0, 0, 0, 0, 0, 0, 1]), size=9)
    array([1, 0, 0, 0, 0, 0, 0, 0, 1], dtype=uint8)
    """
    return np.unpackbits(reports, axis=-1, count=size)


def noise_bits(probability: Fraction, rows: int, size: int) -> Packed:
    """Packed reports whose every bit is one with `probability`; the bits after the last are zero."""
    reports = packed_coins(probability, rows * width(size)).reshape(rows, width(size))
    if size % 8:
        reports[:, -1] &= np.uint8(0xFF << (8 - size % 8) & 0xFF)
    return reports


def put_bits(reports: Packed, categories: NDArray[np.int64], values: NDArray[np.bool_]) -> None:
    """Puts one bit into each report, at the place of its category."""
    masks = (128 >> (categories & 7)).astype(np.uint8)
    places = np.arange(0, reports.size, reports.shape[1] or 1) + (categories >> 3)
    flat = reports.reshape(-1)
    flat[places] = (flat[places] & ~masks) | np.where(values, masks, np.uint8(0))


def rows_of(reports: Any) -> NDArray[Any]:
    """Reports of several people; raises for a single one, whose bytes would count as one person each."""
    array = report_array(reports)
    if array.ndim == 1 and array.size:
        raise InvalidValue("packed reports must be rows, one per person; put a single report into a list")
    return array


def read_packed(reports: Any, size: int) -> Packed:
    """Packed reports as a matrix; those that no randomizer of this size makes are refused."""
    array = np.atleast_2d(report_array(reports))
    if array.size == 0:
        return np.zeros((0, width(size)), dtype=np.uint8)
    if array.ndim != 2 or array.shape[1] != width(size) or array.dtype.kind not in "iu":
        raise InvalidValue(
            f"a report over {size} categories must be a row of {width(size)} bytes; convert unpacked bits with pack(...)"
        )
    if array.dtype != np.uint8 and not (array.min() >= 0 and array.max() <= 255):
        raise InvalidValue("packed reports must contain bytes from 0 to 255; convert unpacked bits with pack(...)")
    packed = array.astype(np.uint8, copy=False)
    if size % 8 and (packed[:, -1] & (0xFF >> size % 8)).any():
        raise InvalidValue(f"a report over {size} categories must have zeros after its last category")
    return packed


def column_sums(packed: Packed, size: int) -> NDArray[np.int64]:
    """How many rows have each bit.

    Three rows become one of sums and one of carries, which counts twice (carry-save addition), until few rows are left of each
    weight: eight categories at once in a byte, where unpacked bits would be added one by one.
    """
    if size > 2**28:
        raise InvalidInput(f"{size} categories are too many to count; use a prefix tree")
    totals, rows, weight = np.zeros(size, dtype=np.int64), packed, 0
    while len(rows):
        carries = [rows[:0]]
        while len(rows) >= FEW:
            one, two, three, rest = np.split(rows, [len(rows) // 3 * part for part in (1, 2, 3)])
            differ = one ^ two
            carries.append((one & two) | (differ & three))
            rows = np.concatenate([differ ^ three, rest])
        totals += unpack(rows, size).sum(axis=0, dtype=np.int64) << weight
        rows, weight = np.concatenate(carries), weight + 1
    return totals
