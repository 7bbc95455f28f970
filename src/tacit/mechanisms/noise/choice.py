"""Exact choices: a coin of rational bias, a uniform integer, and one of many candidates by weight length * e^(-exponent).

Nothing is rounded in the law that comes out. Floating point serves only as an envelope above the true weights; what it is too
large by is taken away by a rejection whose probability is compared with as many bits as it takes. Proofs are in choice.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.costs import MixedCosts, NumberCosts
from tacit.mechanisms.noise.envelope import Envelope
from tacit.privacy.rounding import as_text, log_up

WORD = 64
SMALL = 1 << 20  # integers below this are drawn by 32 bits, a second time with a probability of at most 2^-12
LARGEST_LENGTH = 2**1000
RARE = 2**64  # what is not listed weighs at most one part in this
FARTHEST = 2**61  # costs beyond it are not told apart from it in 64 bits; the law is exact wherever the list ends
Integers = NDArray[np.int64]


def bernoulli(probability: Fraction, size: int) -> NDArray[np.bool_]:
    """`size` coins, each true with exactly `probability`.

    A uniform word is compared with the first 64 binary digits of the probability; a tie goes on with the digits that follow.

    >>> bernoulli(Fraction(1), size=2), bernoulli(Fraction(0), size=2)
    (array([ True,  True]), array([False, False]))
    """
    if not 0 <= probability <= 1:
        raise InvalidInput(f"probability must be from 0 to 1, not {as_text(probability)}")
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


def uniform_integer(below: int, most: int | None = None) -> int:
    """One integer, each of 0, 1, ..., below - 1 equally likely, drawn again with a probability below 2^-64 only.

    Multiplication with 64 spare bits (Lemire 2019), in integers of one length for all `below` up to a public `most`: the time
    says nothing of a `below` that is private.

    >>> uniform_integer(1), uniform_integer(1, most=2**40)
    (0, 0)
    """
    size = (max(_at_least_one(below), most or 1).bit_length() + WORD + 7) // 8
    while True:
        drawn = _fold(int.from_bytes(bits.random_bytes(size), "big"), below, 2 ** (8 * size))
        if drawn is not None:
            return drawn


def choose(lengths: Any, costs: Any, factor: Fraction = Fraction(1), size: int = 1) -> NDArray[np.int64]:
    """`size` indices, each i with probability proportional to lengths[i] * e^(-factor * costs[i]), exactly.

    Lengths are integers of at least 0 (below 2^1000); costs are `MixedCosts`, integers, floats (read as the binary fractions
    that they are) or `Fraction`s. Ten million candidates take well under a second; a candidate of positive length keeps its exact
    probability however small it is. The time does not tell which index was drawn, nor, except for `Fraction`s and integers
    beyond 64 bits, what the costs are.

    >>> choose([0, 3, 0], costs=[0, 10**6, 1], factor=Fraction(1, 3), size=2)
    array([1, 1])
    """
    sizes = _read_lengths(lengths)
    read = costs if isinstance(costs, MixedCosts) else NumberCosts.read(costs, sizes > 0)
    envelope = Envelope.above(sizes, read, factor)
    return np.array([_draw(envelope) for _ in range(size)], dtype=np.int64)


def _draw(envelope: Envelope) -> int:
    """One index: proposed in proportion to the envelope, kept with probability true weight / envelope."""
    while True:
        index, depth = envelope.proposed(uniform_integer(envelope.total, envelope.most))
        if envelope.keeps(index, depth):
            return index


def _fold(drawn: int, below: int, span: int) -> int | None:
    """A uniform `drawn` < span as a uniform integer < below, or None to draw again.

    `below` is carried on top of `span`, so that the integers have one length whatever it is.
    """
    carried, rest = divmod(drawn * (span + below), span)
    return carried - drawn if rest >= below or rest >= span % below else None


def _read_lengths(lengths: Any) -> NDArray[Any]:
    array = np.asarray(lengths)
    whole = array.dtype.kind in "iu" or (array.dtype == object and all(isinstance(length, int) for length in array.flat))
    if not whole or array.ndim != 1 or not array.size or array.min() < 0 or not 0 < int(array.max()) < LARGEST_LENGTH:
        raise InvalidInput("lengths must be a flat array of whole numbers from 0 to 2^1000, at least one of them above 0")
    return array


def _at_least_one(below: int) -> int:
    if below < 1:
        raise InvalidInput(f"below must be at least 1, not {below}", argument="below")
    return below


# --- a choice whose farthest candidates are not listed -----------------------------------------------------------------------


@lru_cache(maxsize=256)
def reach(candidates: int, factor: Fraction) -> int:
    """A whole cost from which on that many candidates, of length 1, weigh less than 2^-64 of one that costs 0. A public number.

    >>> reach(1000, Fraction(1, 10))
    513
    """
    return min(math.ceil(log_up(Fraction(candidates * RARE)) / factor), FARTHEST) if factor else FARTHEST


def choose_listed(lengths: Any, costs: MixedCosts, factor: Fraction, others: int, farthest: int) -> int:
    """An index i of a cost of at most `farthest`, with a weight of lengths[i] * e^(-factor * costs[i]), or the number of them all.

    The last has the weight of `others` candidates of length 1 that cost `farthest`. Whoever gets it draws one of them uniformly and
    keeps it, if it costs more, with probability e^(-factor * (cost - farthest)); if not, the choice begins anew.

    >>> choose_listed(np.array([1, 1]), MixedCosts(np.array([0, 9]), np.array([0, 0]), (0,), 1), Fraction(1), others=0, farthest=5)
    0
    """
    steps = np.array([-(-top // costs.denominator) for top in costs.parts])
    within = costs.wholes + steps[costs.kinds] <= farthest
    wholes, parts = np.append(costs.wholes, farthest), (*costs.parts, 0)
    kinds = np.append(costs.kinds, np.int8(len(costs.parts)))
    return int(choose(np.append(lengths * within, others), MixedCosts(wholes, kinds, parts, costs.denominator), factor)[0])
