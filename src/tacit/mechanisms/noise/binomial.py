"""How many of many coins of one rational bias fall heads, exactly. Proof in urn.md, section 2."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits
from tacit.privacy.rounding import as_text

WORD = 64


def binomial(coins: int, bias: Fraction) -> int:
    """The number of heads among `coins` coins, each heads with exactly `bias`; about two random bits for each coin.

    Each coin compares a uniform number with the binary digits of the bias; all coins that are tied so far go on together.

    >>> binomial(10, Fraction(1)), binomial(10, Fraction(0)), binomial(0, Fraction(1, 3))
    (10, 0, 0)
    """
    if not 0 <= bias <= 1:
        raise InvalidInput(f"bias must be from 0 to 1, not {as_text(bias)}")
    if coins < 0:
        raise InvalidInput(f"coins must be at least 0, not {coins}")
    if bias == 1:
        return coins
    heads, tied, rest = 0, coins, bias
    while tied and rest:
        rest *= 2
        ones = fair_heads(tied)
        if rest >= 1:
            rest -= 1
            heads, tied = heads + tied - ones, ones  # a 0 where the bias has a 1 is below it
        else:
            tied -= ones  # a 1 where the bias has a 0 is above it
    return heads


def fair_heads(coins: int) -> int:
    """The number of ones among so many random bits."""
    words = bits.random_words(-(-coins // WORD))
    if spare := -coins % WORD:
        words[-1] >>= np.uint64(spare)
    return int(np.bitwise_count(words).sum(dtype=np.int64))
