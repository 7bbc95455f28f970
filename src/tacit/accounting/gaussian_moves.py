"""Every way in which a vector of whole numbers can move within limits, and the delta of discrete Gaussian noise at each.

gaussian_curve.md, section 2, has the proofs. By symmetry a move is the list of its absolute values, largest first; a list that
another one covers, entry by entry, has no more delta than that one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.rounding import exp_down

FAR = 16  # scales from the centre to the end of a list: beyond lies less than e^-127 of a law
BEYOND = Fraction(1, 10**50)  # at or above that, for each entry
WEIGHTS = Context(prec=40)
Floats = NDArray[np.float64]


@lru_cache(maxsize=256)
def maximal_moves(square: int, entries: int, total: int | None, largest: int) -> tuple[tuple[int, ...], ...]:
    """The lists of positive whole numbers within the limits that no other such list covers.

    `square` limits the sum of squares, `total` the sum, `largest` each number and `entries` how many there are.

    >>> maximal_moves(5, entries=5, total=3, largest=2)
    ((2, 1), (1, 1, 1))
    """
    lists = sorted(set(_lists(square, entries, total if total is not None else square, largest)), reverse=True)
    return tuple(each for each in lists if not any(other != each and _covers(other, each) for other in lists))


def _lists(square: int, entries: int, total: int, largest: int) -> Iterator[tuple[int, ...]]:
    most = min(largest, total, math.isqrt(square)) if entries else 0
    yield ()
    for first in range(1, most + 1):
        for rest in _lists(square - first**2, entries - 1, total - first, first):
            yield (first, *rest)


def _covers(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(above >= below for above, below in zip_longest(one, other, fillvalue=0))


def listed_delta_up(moves: tuple[int, ...], scale: Fraction, epsilon: Fraction) -> Fraction:
    """At or above delta(epsilon) where the entries of a vector move by `moves`, each with discrete Gaussian noise of `scale`.

    With Z the sum of moves_i X_i it is P[Z >= a] - e^epsilon P[Z >= a + |moves|^2], a the least whole number from
    epsilon scale^2 - |moves|^2 / 2 on. The law of Z is added up in floats from positive terms alone, whose relative error is known.

    >>> round(float(listed_delta_up((1, 1), Fraction(3), Fraction(1)) * 1000), 6)
    4.489243
    """
    square = sum(move**2 for move in moves)
    start = math.ceil(epsilon * scale**2 - Fraction(square, 2))
    law, steps = _law_of_sum(moves, scale)
    middle = (len(law) - 1) // 2
    above, below = (_tail(law, middle + place) for place in (start, start + square))
    error = Fraction(steps + 20, 2**52)
    excess = above * (1 + error) + len(moves) * BEYOND - exp_down(epsilon) * below * (1 - error)
    return min(Fraction(1), max(Fraction(0), excess))


def _law_of_sum(moves: tuple[int, ...], scale: Fraction) -> tuple[Floats, int]:
    """The law of the sum of moves_i X_i around the middle of a list, and how many roundings each number of it has behind it.

    A sum of n positive floats has a relative error of less than n 2^-52, in whatever order it is added up.
    """
    one, law, steps = _weights(scale), np.ones(1), 0
    for move in moves:
        wide = np.zeros((len(one) - 1) * move + 1)
        wide[::move] = one
        law = np.convolve(law, wide)
        steps += len(one) + 4
    return law, steps + len(law)


@lru_cache(maxsize=64)
def _weights(scale: Fraction) -> Floats:
    """The law of X from -FAR scales to FAR scales: 35 digits and more, then the nearest floats."""
    ratio = WEIGHTS.exp(WEIGHTS.divide(Decimal(-(scale.denominator**2)), Decimal(2 * scale.numerator**2)))
    shrink = WEIGHTS.multiply(ratio, ratio)
    terms = [Decimal(1)]
    for _ in range(math.ceil(FAR * scale) + 1):
        terms.append(WEIGHTS.multiply(terms[-1], ratio))
        ratio = WEIGHTS.multiply(ratio, shrink)
    whole = 2 * sum(terms[1:], start=Decimal(0)) + 1
    half = [float(WEIGHTS.divide(term, whole)) for term in terms]
    return np.array([*reversed(half[1:]), *half])


def _tail(law: Floats, place: int) -> Fraction:
    return Fraction(float(np.sum(law[min(max(0, place), len(law)) :])))
