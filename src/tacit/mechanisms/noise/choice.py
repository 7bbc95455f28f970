"""Exact choices: a coin of rational bias, a uniform integer, and one of many candidates by weight length * e^(-exponent).

Nothing is rounded in the law that comes out. Floating point serves only as an envelope above the true weights; what it is too
large by is taken away by a rejection whose probability is compared with as many bits as it takes. Proofs are in choice.md.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import Broken, InvalidInput
from tacit.mechanisms.noise import bits
from tacit.privacy.rounding import DIGITS, as_text, exp_down, exp_up

WORD = 64
SMALL = 1 << 20  # integers below this are drawn by 32 bits, a second time with a probability of at most 2^-12
ENVELOPE_BITS = 52  # the largest weight of an envelope is about 2^52
ENVELOPE_SLACK = 1 + 2.0**-30  # how far above the true weight floats are pushed: see "The envelope" in choice.md
GROUP = 1024  # weights are summed in int64 by groups: 1024 * 2^52 and a little is below 2^63
ZERO = Fraction(0)
FAR = Fraction(4096)  # e^-4096 times any length allowed is below 2^-52, so the envelope of such a candidate is 1
LARGEST_LENGTH = 2**1000
PLAIN_FACTORS = Fraction(2) ** -900, Fraction(2) ** 900  # normal floats, also after multiplying


def bernoulli(probability: Fraction, size: int) -> NDArray[np.bool_]:
    """`size` coins, each true with exactly `probability`.

    A uniform word is compared with the first 64 binary digits of the probability; a tie goes on with the digits that follow.

    >>> bernoulli(Fraction(1), size=2), bernoulli(Fraction(0), size=2)
    (array([ True,  True]), array([False, False]))
    """
    if not 0 <= probability <= 1:
        raise InvalidInput(f"a probability is from 0 to 1, not {as_text(probability)}")
    if probability == 1:
        return np.ones(size, dtype=np.bool_)
    digits, rest = divmod(probability * 2**WORD, 1)
    words = bits.random_words(size)
    coins = words < np.uint64(digits)
    ties = words == np.uint64(digits)
    if rest and ties.any():
        coins[ties] = bernoulli(rest, int(ties.sum()))
    return coins


def uniform_integers(below: int, size: int) -> NDArray[Any]:
    """`size` integers, each of 0, 1, ..., below - 1 equally likely; Python integers where int64 is too small.

    >>> uniform_integers(1, size=3)
    array([0, 0, 0])
    """
    if _at_least_one(below) > 2**63:
        return np.array([uniform_integer(below) for _ in range(size)], dtype=object)
    if below <= SMALL:
        return _small_integers(below, size)
    kept = np.zeros(0, dtype=np.uint64)
    shift = np.uint64(WORD - (below - 1).bit_length())
    while kept.size < size:
        words = bits.random_words(2 * (size - kept.size) + 8) >> shift
        kept = np.concatenate([kept, words[words < np.uint64(below)]])
    return kept[:size].astype(np.int64)


def _small_integers(below: int, size: int) -> NDArray[np.int64]:
    """A 32-bit number times `below` has the integer in its upper half; the few lower halves that would favour some integers are
    drawn again (Lemire 2019).
    """
    products = bits.random_words(-(-size // 2)).view(np.uint32)[:size] * np.uint64(below)
    integers = (products >> np.uint64(32)).astype(np.int64)
    unfair = np.flatnonzero(products.astype(np.uint32) < 2**32 % below) if below & (below - 1) else ()
    if len(unfair):
        integers[unfair] = _small_integers(below, len(unfair))
    return integers


def uniform_integer(below: int) -> int:
    """One integer, each of 0, 1, ..., below - 1 equally likely, drawn again with a probability below 2^-64 only.

    Multiplication with 64 spare bits (Lemire 2019), so that the time says nothing of `below`, which may be private.

    >>> uniform_integer(1)
    0
    """
    size = (_at_least_one(below).bit_length() + WORD + 7) // 8
    while True:
        drawn = _folded(int.from_bytes(bits.random_bytes(size), "big"), below, 2 ** (8 * size))
        if drawn is not None:
            return drawn


def choose(lengths: Any, costs: Any, factor: Fraction = Fraction(1), size: int = 1) -> NDArray[np.int64]:
    """`size` indices, each i with probability proportional to lengths[i] * e^(-factor * costs[i]), exactly.

    Lengths are integers of at least 0 (below 2^1000); costs are integers, floats (read as the binary fractions that they are) or
    `Fraction`s. Ten million candidates take well under a second; a candidate of positive length keeps its exact probability
    however small it is.

    >>> choose([0, 3, 0], costs=[0, 10**6, 1], factor=Fraction(1, 3), size=2)
    array([1, 1])
    """
    envelope = Envelope.above(_read_lengths(lengths), _read_costs(costs), factor)
    return np.array([envelope.draw() for _ in range(size)], dtype=np.int64)


@dataclass(frozen=True, slots=True, repr=False)  # a repr would quote the data
class Envelope:
    """Integer weights W[i] with 2^shift * lengths[i] * e^(-factor * (costs[i] - least)) <= W[i], and their sums by groups."""

    lengths: NDArray[Any]
    costs: NDArray[Any]
    factor: Fraction
    least: Any
    weights: NDArray[np.int64]
    shift: int
    ends: list[int]

    @classmethod
    def above(cls, lengths: NDArray[Any], costs: NDArray[Any], factor: Fraction) -> Envelope:
        """The envelope of the weights; the least cost of a candidate of positive length has exponent 0."""
        possible = lengths > 0
        if lengths.shape != costs.shape or lengths.ndim != 1 or not possible.any() or factor < 0:
            raise InvalidInput("a choice needs a length and a cost per candidate, some length above 0, and a factor of at least 0")
        least = costs.min() if possible.all() else costs[possible].min()
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            logs = np.log(lengths.astype(np.float64))
            logs -= _exponents(costs, least, factor)
            shift = ENVELOPE_BITS - math.ceil(logs.max() / math.log(2))
            logs += shift * math.log(2)
            floats = np.exp(logs, out=logs)
        floats *= ENVELOPE_SLACK
        weights = floats.astype(np.int64)
        weights += possible
        sums = np.add.reduceat(weights, np.arange(0, weights.size, GROUP))
        return cls(lengths, costs, factor, least, weights, shift, list(accumulate(sums.tolist())))

    def draw(self) -> int:
        """One index: proposed in proportion to W, kept with probability true weight / W."""
        while True:
            index = self._proposed(uniform_integer(self.ends[-1]))
            if self._keeps(index):
                return index

    def exponent(self, index: int) -> Fraction:
        return self.factor * (_rational(self.costs[index]) - _rational(self.least))

    def _proposed(self, target: int) -> int:
        group = bisect_right(self.ends, target)
        inside = target - (self.ends[group - 1] if group else 0)
        sums = np.cumsum(self.weights[group * GROUP : (group + 1) * GROUP])
        return group * GROUP + int(np.searchsorted(sums, inside, side="right"))

    def _keeps(self, index: int) -> bool:
        ratio = int(self.lengths[index]) * Fraction(2) ** self.shift / int(self.weights[index])
        exponent = self.exponent(index)
        near = min(exponent, FAR)
        return _happens(ratio, near) and all(_happens(Fraction(1), part) for part in _parts(exponent - near))


def _happens(ratio: Fraction, exponent: Fraction) -> bool:
    """Whether an event of probability ratio * e^(-exponent) happens: a uniform number and it are refined until they differ."""
    drawn, known, digits = 0, 0, DIGITS
    while True:
        drawn, known = drawn << WORD | int(bits.random_words(1)[0]), known + WORD
        low, high = ratio * exp_down(-exponent, digits), ratio * exp_up(-exponent, digits)
        if low > 1:
            raise Broken("envelope", "a weight computed in floating point is below the true one; nothing was released")
        if drawn + 1 <= low * 2**known:
            return True
        if drawn >= high * 2**known:
            return False
        digits *= 2


def _parts(exponent: Fraction) -> Iterator[Fraction]:
    """Pieces of at most 4096 that sum to `exponent`: an event of probability e^-4096 is almost never followed by a second one."""
    while exponent > 0:
        yield min(exponent, FAR)
        exponent -= FAR


def _exponents(costs: NDArray[Any], least: Any, factor: Fraction) -> NDArray[np.float64]:
    """factor * (cost - least) in floats, at most 4096, with a relative error below 2^-51."""
    if costs.dtype == object or not PLAIN_FACTORS[0] <= factor <= PLAIN_FACTORS[1]:
        lowest = _rational(least)
        return np.array([float(min(max(factor * (_rational(cost) - lowest), ZERO), FAR)) for cost in costs], dtype=np.float64)
    differences = costs - least
    if costs.dtype == np.int64:
        differences = differences.view(np.uint64)  # the difference of two int64 fits, also where it wrapped around
    exponents: NDArray[np.float64] = differences.astype(np.float64)
    exponents *= float(factor)
    # A candidate of length 0 may cost less than the least; its exponent is not used.
    np.clip(exponents, 0.0, float(FAR), out=exponents)
    return exponents


def _folded(drawn: int, below: int, span: int) -> int | None:
    """A uniform `drawn` < span as a uniform integer < below, or None to draw again."""
    whole, rest = divmod(drawn * below, span)
    return whole if rest >= span % below else None


def _read_lengths(lengths: Any) -> NDArray[Any]:
    array = np.asarray(lengths)
    whole = array.dtype.kind in "iu" or (array.dtype == object and all(isinstance(length, int) for length in array.flat))
    if not whole or (array.size and not (array.min() >= 0 and int(array.max()) < LARGEST_LENGTH)):
        raise InvalidInput("the lengths of a choice are whole numbers from 0 to 2^1000")
    return array


def _read_costs(costs: Any) -> NDArray[Any]:
    array = np.asarray(costs)
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise InvalidInput("the costs of a choice are finite numbers")
    if array.dtype == object:
        return array
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidInput(f"the costs of a choice are integers, floats or Fractions, not {array.dtype}")
    return array.astype({"f": np.float64, "u": np.uint64}.get(array.dtype.kind, np.int64))


def _rational(number: Any) -> Fraction:
    top, bottom = number.item().as_integer_ratio() if isinstance(number, np.generic) else number.as_integer_ratio()
    return Fraction(top, bottom)


def _at_least_one(below: int) -> int:
    if below < 1:
        raise InvalidInput(f"a uniform integer needs at least one value to choose from, not {below}")
    return below
