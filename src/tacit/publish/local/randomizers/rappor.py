"""RAPPOR, over few categories and over many (Erlingsson, Pihur and Korolova 2014). Proof in rappor.md.

A permanent answer, and a fresh report of it every time: RAPPOR (Erlingsson, Pihur and Korolova 2014). Proof in rappor.md.

The permanent answer is a bit for each category (or for each bit of a filter), randomized once for a true value and kept, or
derived from a secret each time. A report randomizes it again, so that reports of one person are not all alike. However many
reports are made, they tell no more than the permanent answer: that is `epsilon`. One report alone tells `epsilon_once`.

RAPPOR over many categories: the permanent answer is a small Bloom filter, hashed by cohort. Proof in rappor.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise import choice
from tacit.mechanisms.noise.choice import uniform_integers
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number, exact, log_up
from tacit.publish.local.randomizers.hashing import digits_of, field_of, linear_hash, tally
from tacit.publish.local.randomizers.randomizer import (
    MOST_COUNTED,
    Channel,
    Codes,
    Coins,
    LocalMechanism,
    ratio_within,
    read_code,
    read_codes,
    read_reports,
    read_size,
    report_array,
)
from tacit.publish.local.randomizers.unary import Packed, Unary, noise_bits, pack, put_bits, read_packed, rows_of, unpack, width

ONE, ZERO = Fraction(3, 4), Fraction(1, 4)


@dataclass(frozen=True, init=False)
class Rappor(LocalMechanism):
    """Basic RAPPOR: `Unary.symmetric` once for a value; then a bit is reported as one with probability `one` if set, else `zero`.

    >>> answer = Rappor(size=5, epsilon=2)
    >>> kept = answer.permanent.randomize(3)
    >>> answer.report(kept).shape, round(float(answer.epsilon_once), 4), answer.channel.within(2)
    ((1,), 0.9412, True)
    """

    size: int
    epsilon: Fraction
    one: Fraction
    zero: Fraction
    permanent: Unary = field(repr=False)

    def __init__(self, size: int, epsilon: Number, one: Number = ONE, zero: Number = ZERO) -> None:
        object.__setattr__(self, "size", read_size(size))
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "permanent", Unary.symmetric(size, epsilon))
        set_report(self, one, zero)

    @property
    def once(self) -> Unary:
        """The randomizer that one report alone is of."""
        chances = (reported_chance(chance, self.one, self.zero) for chance in (self.permanent.hit, self.permanent.false_hit))
        return Unary.with_chances(self.size, *chances)

    @property
    def epsilon_once(self) -> Fraction:
        """The epsilon of one report, rounded up."""
        return self.once.epsilon

    @property
    def hit(self) -> Fraction:
        """The probability that a report supports the true category."""
        return self.once.hit

    @property
    def false_hit(self) -> Fraction:
        """The probability that a report supports another given category."""
        return self.once.false_hit

    def report(self, permanent: Any) -> Packed:
        """A fresh report of a permanent answer, or of several (rows)."""
        kept = read_packed(permanent, self.size)
        reports = reported_bits(kept, self.size, self.one, self.zero)
        return reports[0] if np.ndim(permanent) == 1 else reports

    def randomize(self, values: Any) -> Any:
        """Packed reports of new permanent answers; a respondent who reports again keeps `permanent.randomize`."""
        return self.report(self.permanent.randomize(values))

    def derive(self, value: int, coins: Coins) -> Packed:
        """The permanent answer by its own `derive`, then one coin for each bit in their order."""
        kept = unpack(self.permanent.derive(value, coins), self.size)
        return pack([coins.coin(self.one if bit else self.zero) for bit in kept])

    @cached_property
    def channel(self) -> Channel:
        """Of one report."""
        return self.once.channel

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """How many reports have the bit of each category."""
        return self.once.supports(reports)


def reported_bits(kept: Packed, size: int, one: Fraction, zero: Fraction) -> Packed:
    """Every bit drawn anew: one with probability `one` where the kept bit is set, with `zero` where it is not."""
    if_set, if_not = noise_bits(one, len(kept), size), noise_bits(zero, len(kept), size)
    return (kept & if_set) | (~kept & if_not)


def reported_chance(chance: Fraction, one: Fraction, zero: Fraction) -> Fraction:
    """The probability of a one in the report for a permanent bit that is set with `chance`."""
    return chance * one + (1 - chance) * zero


def set_report(randomizer: LocalMechanism, one: Number, zero: Number) -> None:
    """Sets the two probabilities of a fresh report; refuses those that tell nothing, or the other way round."""
    high, low = exact(one, "one"), exact(zero, "zero")
    if not 0 < low < high < 1:
        raise InvalidInput(
            f"one and zero must be probabilities with 0 < zero < one < 1, not {one} and {zero}; give for example 3/4 and 1/4"
        )
    object.__setattr__(randomizer, "one", high)
    object.__setattr__(randomizer, "zero", low)


# --- rAPPOR over many categories ---------------------------------------------------------------------------------------------


COHORT_BYTES = 4


@dataclass(frozen=True, init=False)
class BloomRappor(LocalMechanism):
    """RAPPOR on a Bloom filter: `hashes` blocks of `bits` bits; the cohort of a person, drawn once, tells the hash of each block.

    The hashes are linear over the field of `bits` elements, so that two categories meet in a block with probability exactly 1/bits
    over the cohorts (hashing.md). A report supports a category whose bits it has all. Its first four bytes are the cohort, most
    significant first; then the bits of all blocks, packed.

    >>> answer = BloomRappor(size=1000, epsilon=2, bits=16)
    >>> answer.cohorts, answer.randomize([5, 999]).shape
    (4096, (2, 6))
    """

    size: int
    epsilon: Fraction
    bits: int
    hashes: int
    one: Fraction
    zero: Fraction
    truth: Fraction = field(repr=False)

    def __init__(self, size: int, epsilon: Number, bits: int = 32, hashes: int = 1, one: Number = ONE, zero: Number = ZERO) -> None:
        if isinstance(hashes, bool) or not isinstance(hashes, int) or not 1 <= hashes <= 8:
            raise InvalidInput(f"hashes, the number of bits per category in the filter, must be from 1 to 8, not {hashes!r}")
        budget = positive_budget(epsilon)
        ratio_within(budget)
        ratio = ratio_within(budget / (2 * hashes))
        values = {"size": read_size(size), "epsilon": budget, "bits": field_of(bits).order, "hashes": hashes}
        for name, value in {**values, "truth": ratio / (ratio + 1)}.items():
            object.__setattr__(self, name, value)
        set_report(self, one, zero)
        if self.cohorts > 2 ** (8 * COHORT_BYTES):
            raise InvalidInput(
                f"{size} categories with {hashes} hashes to {bits} bits require more than 2^32 cohorts; use fewer hashes"
            )

    @property
    def digits(self) -> int:
        """The length of the vectors that are hashed."""
        return digits_of(self.size, self.bits)

    @property
    def functions(self) -> int:
        """The number of hash functions that a block may have."""
        return int(self.bits**self.digits)

    @property
    def cohorts(self) -> int:
        """The number of cohorts: one for each choice of a hash function for each block."""
        return int(self.functions**self.hashes)

    @property
    def length(self) -> int:
        """The bits of a filter."""
        return self.bits * self.hashes

    @property
    def set_if_true(self) -> Fraction:
        """The probability that a bit which the category sets is set in a report."""
        return reported_chance(self.truth, self.one, self.zero)

    @property
    def set_if_false(self) -> Fraction:
        """The probability that a bit is reported as one where the value does not set it."""
        return reported_chance(1 - self.truth, self.one, self.zero)

    @property
    def epsilon_once(self) -> Fraction:
        """The epsilon of one report, rounded up."""
        high, low = self.set_if_true, self.set_if_false
        return log_up(max((high * (1 - low) / (low * (1 - high))) ** self.hashes, Fraction(1)))

    @property
    def hit(self) -> Fraction:
        """The probability that a report supports the true category."""
        return self.set_if_true**self.hashes

    @property
    def false_hit(self) -> Fraction:
        """The probability that a report supports another category."""
        return (self.set_if_false + (self.set_if_true - self.set_if_false) / self.bits) ** self.hashes

    def permanent(self, values: Any, cohort: int | None = None) -> Packed:
        """Cohort and permanent filter of each value, in the form of a report.

        A person whose value changes keeps the `cohort` of the first; a fresh one would show the change.
        """
        truth, alone = read_codes(values, self.size)
        cohorts = (
            uniform_integers(self.cohorts, truth.size)
            if cohort is None
            else np.full(truth.size, read_reports(cohort, self.cohorts))
        )
        filters = noise_bits(1 - self.truth, truth.size, self.length)
        for block, cells in enumerate(self._cells(cohorts, truth)):
            put_bits(filters, block * self.bits + cells, choice.bernoulli(self.truth, truth.size))
        kept = np.hstack([_bytes_of(cohorts), filters])
        return kept[0] if alone else kept

    def report(self, permanent: Any) -> Packed:
        """A fresh report of a permanent answer, or of several (rows)."""
        rows = self._read(permanent)
        noisy = reported_bits(rows[:, COHORT_BYTES:], self.length, self.one, self.zero)
        reports = np.hstack([rows[:, :COHORT_BYTES], noisy])
        return reports[0] if np.ndim(permanent) == 1 else reports

    def randomize(self, values: Any) -> Any:
        """Reports of new permanent answers; a respondent who reports again keeps `permanent(value)`."""
        return self.report(self.permanent(values))

    def derive_permanent(self, value: int, coins: Coins) -> Packed:
        """A number below `cohorts` is the cohort; then one coin for each bit of the filter in their order."""
        truth = read_code(value, self.size)
        cohort = np.array([coins.below(self.cohorts)])
        true_bits = {block * self.bits + int(cells[0]) for block, cells in enumerate(self._cells(cohort, truth))}
        bits = [coins.coin(self.truth if place in true_bits else 1 - self.truth) for place in range(self.length)]
        return np.hstack([_bytes_of(cohort)[0], pack(bits)])

    def derive(self, value: int, coins: Coins) -> Packed:
        """The permanent answer by `derive_permanent`, then one coin for each bit of the filter in their order."""
        kept = self.derive_permanent(value, coins)
        bits = unpack(kept[COHORT_BYTES:], self.length)
        return np.hstack([kept[:COHORT_BYTES], pack([coins.coin(self.one if bit else self.zero) for bit in bits])])

    @cached_property
    def channel(self) -> Channel:
        """Of one report, as the tuple of its bytes."""
        return self._channel(self.set_if_true, self.set_if_false)

    @cached_property
    def permanent_channel(self) -> Channel:
        """Of the permanent answer, as the tuple of its bytes: the most that all reports together can disclose.

        >>> answer = BloomRappor(size=3, epsilon=1, bits=2, hashes=2)
        >>> answer.permanent_channel.within(1), round(float(answer.permanent_channel.epsilon), 4)
        (True, 1.0)
        """
        return self._channel(self.truth, 1 - self.truth)

    def _channel(self, if_true: Fraction, if_false: Fraction) -> Channel:
        """Of a cohort and a filter: the bits of the value are set with probability `if_true`, the others with `if_false`."""
        filters = Unary.with_chances(self.length, if_true, if_false).patterns()
        cohorts = {cohort: tuple(_bytes_of(np.array([cohort]))[0].tolist()) for cohort in range(self.cohorts)}
        outputs = {(*name, *packed): (cohort, bits) for cohort, name in cohorts.items() for packed, bits in filters.items()}

        true_bits = [self._true_bits(value) for value in range(self.size)]

        @cache
        def weight(true: tuple[int, ...], bits: tuple[int, ...]) -> Fraction:
            """The chance of a cohort and of these bits, which is the same in all cohorts whose true bits are the same."""
            chances = (if_true if place in true else if_false for place in range(self.length))
            return prod((p if bit else 1 - p for p, bit in zip(chances, bits, strict=True)), start=Fraction(1, self.cohorts))

        def probability(value: Any, report: Any) -> Fraction:
            cohort, bits = outputs[report]
            return weight(true_bits[value][cohort], bits)

        return Channel.of(range(self.size), outputs, probability)

    def _true_bits(self, value: int) -> list[tuple[int, ...]]:
        """For each cohort the bits of its filter that a value sets."""
        blocks = enumerate(self._cells(np.arange(self.cohorts), value))
        return list(zip(*((block * self.bits + cells).tolist() for block, cells in blocks), strict=True))

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """For each category the number of reports that have all its bits: by a fast transform if it has one, else one by one."""
        rows = self._read(rows_of(reports))
        if self.functions * self.bits > MOST_COUNTED:
            raise InvalidInput(
                f"{self.size} categories are too many to tally; use fewer bits, or find the frequent ones with a prefix tree"
            )
        cohorts = _numbers_of(rows[:, :COHORT_BYTES])
        bits = unpack(rows[:, COHORT_BYTES:], self.length)
        if self.hashes == 1:
            columns = np.ascontiguousarray(bits.T) != 0
            counts = np.stack([np.bincount(cohorts[column], minlength=self.functions) for column in columns], axis=1)
            return tally(counts, self.digits, self.size)
        return np.array([self._supports_of_one(cohorts, bits, category) for category in range(self.size)], dtype=np.int64)

    def _supports_of_one(self, cohorts: Codes, bits: NDArray[np.uint8], category: int) -> int:
        held = np.ones(cohorts.size, dtype=np.bool_)
        for block, cells in enumerate(self._cells(cohorts, category)):
            held &= bits[np.arange(cohorts.size), block * self.bits + cells] != 0
        return int(np.count_nonzero(held))

    def _cells(self, cohorts: Codes, categories: Any) -> list[NDArray[np.int64]]:
        """For each block the bit that the category sets there; the cohort's digits, the least first, are the functions."""
        bits_of_blocks = []
        for _ in range(self.hashes):
            cohorts, function = np.divmod(cohorts, self.functions)
            bits_of_blocks.append(linear_hash(function, categories, self.bits, self.digits))
        return bits_of_blocks

    def _read(self, reports: Any) -> Packed:
        rows = np.atleast_2d(report_array(reports))
        if rows.size == 0:
            return np.zeros((0, COHORT_BYTES + width(self.length)), dtype=np.uint8)
        if rows.shape[1] != COHORT_BYTES + width(self.length):
            raise InvalidValue(f"a report must be {COHORT_BYTES} bytes of a cohort and {width(self.length)} bytes of a filter")
        read_packed(rows[:, COHORT_BYTES:], self.length)
        if (rows < 0).any() or (rows > 255).any() or (_numbers_of(rows.astype(np.uint8)[:, :COHORT_BYTES]) >= self.cohorts).any():
            raise InvalidValue(
                f"a report must begin with the number of a cohort, from 0 to {self.cohorts - 1}, in {COHORT_BYTES} bytes"
            )
        return rows.astype(np.uint8, copy=False)


def _bytes_of(cohorts: Codes) -> Packed:
    return cohorts.astype(">u4").view(np.uint8).reshape(cohorts.size, COHORT_BYTES)


def _numbers_of(rows: Packed) -> Codes:
    return np.ascontiguousarray(rows).view(">u4").reshape(-1).astype(np.int64)
