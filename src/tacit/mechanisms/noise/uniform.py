"""Uniform integers, each below a bound of its own, and uniform choices without repetition. Proof in urn.md, section 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.choice import uniform_integer, uniform_integers

LOW = np.uint64(2**32 - 1)
HALF_WORD = np.uint64(32)


def uniform_below(bounds: Any) -> NDArray[Any]:
    """One integer for each bound, each of 0, ..., bound - 1 equally likely; uint64, or Python integers where bounds are such.

    The upper half of word times bound, drawn again where the lower half falls into what is left over (Lemire 2019).

    >>> uniform_below(np.array([1, 1, 1], dtype=np.uint64))
    array([0, 0, 0], dtype=uint64)
    """
    limits = np.asarray(bounds)
    if limits.dtype == object:
        return np.array([uniform_integer(int(bound)) for bound in limits], dtype=object)
    if limits.dtype != np.uint64 or (limits.size and not limits.min()):
        raise InvalidInput("bounds must be 64-bit words of at least 1, or Python integers", argument="bounds")
    drawn = np.empty(limits.shape, dtype=np.uint64)
    open_places = np.arange(limits.size)
    while open_places.size:
        limit = limits[open_places]
        upper, lower = _product(bits.random_words(open_places.size), limit)
        drawn[open_places] = upper
        open_places = open_places[lower < (~limit + np.uint64(1)) % limit]  # 2^64 mod limit
    return drawn


def distinct_integers(below: int, size: int) -> NDArray[np.int64]:
    """`size` different integers of 0, ..., below - 1, every ordered choice equally likely.

    >>> sorted(distinct_integers(3, size=3).tolist())
    [0, 1, 2]
    """
    if not 0 <= size <= below:
        raise InvalidInput(f"{size} distinct integers do not exist below {below}")
    return _shuffle(below)[:size] if 2 * size > below else _first_seen(below, size)


def _first_seen(below: int, size: int) -> NDArray[np.int64]:
    """The first `size` different values of a stream of uniform ones; at most half of all, so that few repeat."""
    seen = np.empty(0, dtype=np.int64)
    while seen.size < size:
        stream = np.concatenate([seen, uniform_integers(below, 2 * (size - seen.size))])
        seen = stream[np.sort(np.unique(stream, return_index=True)[1])]
    return seen[:size]


def _shuffle(count: int) -> NDArray[np.int64]:
    """0, ..., count - 1 in the order of random words; all are drawn again where two words agree."""
    while True:
        words = bits.random_words(count)
        order = np.argsort(words)
        if np.all(np.diff(words[order]) != 0):
            return order


def _product(words: NDArray[np.uint64], limits: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The upper and the lower 64 bits of words * limits, by halves of words."""
    one_up, one_low = words >> HALF_WORD, words & LOW
    two_up, two_low = limits >> HALF_WORD, limits & LOW
    across, other = one_up * two_low, one_low * two_up
    carried = (one_low * two_low >> HALF_WORD) + (across & LOW) + (other & LOW)
    return one_up * two_up + (across >> HALF_WORD) + (other >> HALF_WORD) + (carried >> HALF_WORD), words * limits
