"""Many exact coins of one rational bias, eight to a byte. Proof in coins.md.

A coin compares a uniform number U with the probability p, digit by digit from the first: where they differ the coin is settled.
Here 64 coins share a word, and one operation on words takes a digit for all of them; after seven or eight digits on average the
last coin of a word is settled, so that a coin costs little more than a byte of randomness, and the time says nothing of how
it fell.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits
from tacit.privacy.rounding import as_text

WORD = 8  # bytes
BLOCK = 1 << 15  # words at a time: what is in hand stays in the cache
TOGETHER = 10  # digits taken for all words before those that are settled are put aside
ALL = np.uint64(2**64 - 1)

Words = NDArray[np.uint64]


def packed_coins(probability: Fraction, size: int) -> NDArray[np.uint8]:
    """`size` bytes of eight independent coins each; every bit is one with exactly `probability`.

    >>> packed_coins(Fraction(1), size=2), packed_coins(Fraction(0), size=2)
    (array([255, 255], dtype=uint8), array([0, 0], dtype=uint8))
    """
    if not 0 <= probability <= 1:
        raise InvalidInput(f"probability must be from 0 to 1, not {as_text(probability)}")
    words = np.zeros(-(-size // WORD), dtype=np.uint64)
    if probability == 1:
        words[:] = ALL
    elif probability > 0:
        for start in range(0, words.size, BLOCK):
            words[start : start + BLOCK] = _toss(min(BLOCK, words.size - start), probability)
    return words.view(np.uint8)[:size]


def _toss(count: int, probability: Fraction) -> Words:
    """`count` words of 64 coins each: ten digits for all, then coins of what is left of the probability where all ten tied."""
    ones, tied = np.zeros(count, dtype=np.uint64), np.full(count, ALL)
    digits, rest = _digits(probability)
    for digit, below in zip(digits, bits.random_words(len(digits) * count).reshape(-1, count), strict=True):
        if digit:  # a one of `below` says that the digit drawn is smaller, and settles the coin
            below &= tied
            ones |= below
            tied ^= below
        else:  # a zero of `below` says that it is larger
            tied &= below
    left = np.flatnonzero(tied)
    if rest and left.size:
        ones[left] |= tied[left] & _toss(left.size, rest)
    return ones


@lru_cache(maxsize=1024)
def _digits(probability: Fraction) -> tuple[tuple[bool, ...], Fraction]:
    """The first binary digits of a probability, up to its last one if it ends there, and what is left of it, moved to the front."""
    places = TOGETHER
    while places > 1 and (probability * 2 ** (places - 1)).denominator == 1:
        places -= 1
    whole, rest = divmod(probability * 2**places, 1)
    return tuple(bool(whole >> place & 1) for place in reversed(range(places))), rest
