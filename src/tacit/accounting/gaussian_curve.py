"""Every way in which a vector of whole numbers can move within limits, and the delta of discrete Gaussian noise at each.

gaussian_curve.md, section 2, has the proofs. By symmetry a move is the list of its absolute values, largest first; a list that
another one covers, entry by entry, has no more delta than that one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.calibrate import gaussian_scale_for, gaussian_scale_up, short_up
from tacit.accounting.gaussian_sums import PI_DOWN, gaussian_delta_up, normal_tail
from tacit.errors import InvalidInput
from tacit.privacy.conversion import largest_rho_down
from tacit.privacy.rounding import exp_down, exp_up, log_up, sqrt_up

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


# --- the curve delta(epsilon) of discrete Gaussian noise on vectors of whole numbers -----------------------------------------


ROUNDINGS = tuple(map(Fraction, ("0.6", "0.7", "0.8", "1", "1.25", "1.5", "2")))
"""The scales of the random rounding that are tried: a wider one costs variance, a narrower one a factor on every probability."""

LARGEST_EPSILON = 500  # beyond it e^epsilon is beyond floats, and beyond privacy: the conversion serves
LEAST_DELTA = Fraction(1, 10**250)  # the same
DIGITS = 30  # of the length of a move, rounded up
LISTED_SCALE = 16  # noise from here on is as good by rounding as by lists
LISTED_SQUARE = 32  # the largest squared length whose moves are listed


@dataclass(frozen=True, slots=True)
class Moves:
    """How far neighbours can move one vector of whole numbers: in l2, in l1, in one entry, and in how many entries.

    Only `length` must be known; the other limits are what follows from it where nothing better is given.
    """

    length: Fraction
    entries: int
    total: int | None = None
    largest: int | None = None

    @property
    def square(self) -> int:
        """The largest squared length, a whole number."""
        return math.floor(self.length**2)

    @property
    def single(self) -> bool:
        """Whether no more than one entry can move."""
        return self.entries == 1 or self.square < 2

    @property
    def farthest(self) -> int:
        """The most that one entry moves."""
        return min(limit for limit in (math.isqrt(self.square), self.total, self.largest) if limit is not None)


@lru_cache(maxsize=512)
def calibrated_rho(moves: tuple[Moves, ...], weights: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho near the largest at which vectors with these shares of it are (epsilon, delta) together; delta > 0.

    Vector j then has noise of scale `gaussian_scale_up(length_j, weight_j rho)`. A bound that is rounded up checks the result, so
    that floats decide only how near it is to the largest.

    >>> one = calibrated_rho((Moves(Fraction(1), entries=1),), (Fraction(1),), Fraction(1), Fraction(1, 10**6))
    >>> two = calibrated_rho((Moves(Fraction(1000), entries=9),), (Fraction(1),), Fraction(1), Fraction(1, 10**6))
    >>> round(float(largest_rho_down(Fraction(1), Fraction(1, 10**6))), 4), round(float(one), 4), round(float(two), 4)
    (0.0244, 0.0279, 0.028)
    """
    if len(moves) != len(weights) or sum(weights) != 1 or min(weights) <= 0:
        raise InvalidInput("the shares of rho must be above 0 and add up to 1, one for each vector")
    safe = _down(largest_rho_down(epsilon, delta))
    if epsilon > LARGEST_EPSILON or delta < LEAST_DELTA:
        return safe
    rhos = [safe, _by_rounding(moves, weights, epsilon, delta, safe)]
    if len(moves) == 1 and moves[0].single:
        rhos.append(_by_sums(moves[0], epsilon, delta))
    elif len(moves) == 1 and moves[0].square <= LISTED_SQUARE:
        rhos.append(_by_list(moves[0], epsilon, delta, max(rhos)))
    return max(rhos)


def delta_up(moves: Sequence[Moves], scales: Sequence[Fraction], epsilon: Fraction) -> Fraction:
    """At or above delta(epsilon) of independent discrete Gaussian noise of these scales on these vectors, by the best bound but
    the conversion.

    >>> counts = [Moves(Fraction(3), entries=2)]
    >>> round(float(delta_up(counts, [Fraction(12)], Fraction(1)) * 10**6), 3)
    2.94
    """
    bounds = [rounded_delta_up(moves, scales, epsilon, each) for each in ROUNDINGS if each**2 * 2 < min(scales) ** 2]
    if len(moves) == 1 and moves[0].single:
        bounds.append(gaussian_delta_up(moves[0].farthest, scales[0], epsilon))
    elif len(moves) == 1 and moves[0].square <= LISTED_SQUARE and scales[0] < LISTED_SCALE:
        bounds.append(_listed_up(moves[0], scales[0], epsilon))
    return min([Fraction(1), *bounds])


def rounded_delta_up(moves: Sequence[Moves], scales: Sequence[Fraction], epsilon: Fraction, rounding: Fraction) -> Fraction:
    """The bound by a Gaussian density that is rounded at random, `rounding` the scale of that: gaussian_curve.md, section 3."""
    slack = _slack(rounding)
    entries = sum(each.entries for each in moves)
    length = short_up(sqrt_up(_squared_length(moves, scales, rounding)), DIGITS)
    limit = epsilon - entries * (2 * log_up(1 + slack) + log_up(1 / (1 - slack)))
    if limit <= 0:
        return Fraction(1)
    return min(Fraction(1), exp_up(entries * log_up(1 + slack)) * normal_delta_up(length, limit))


def normal_delta_up(length: Fraction, epsilon: Fraction) -> Fraction:
    """At or above delta(epsilon) of a Gaussian density of variance 1 that moves by `length` (Balle and Wang 2018, Theorem 8).

    >>> round(float(normal_delta_up(Fraction(1, 2), Fraction(1))), 8)
    0.00682959
    """
    if length == 0:
        return Fraction(0)
    start = epsilon / length - length / 2
    return max(Fraction(0), normal_tail(start).up - exp_down(epsilon) * normal_tail(start + length).down)


def _slack(rounding: Fraction) -> Fraction:
    """At or above 2 q + 2 q^4 + 2 q^9 + ..., q = exp(-2 (pi r)^2): how far the weights of a shifted grid are from constant."""
    ratio = exp_up(-2 * PI_DOWN**2 * rounding**2)
    return 2 * ratio + 3 * ratio**4


def _squared_length(moves: Sequence[Moves], scales: Sequence[Fraction], rounding: Fraction) -> Fraction:
    pairs = zip(moves, scales, strict=True)
    return sum((each.length**2 / (scale**2 - rounding**2) for each, scale in pairs), start=Fraction(0))


def _scales(moves: Sequence[Moves], weights: Sequence[Fraction], rho: Fraction) -> list[Fraction]:
    return [gaussian_scale_up(each.length, weight * rho) for each, weight in zip(moves, weights, strict=True)]


# --- the search --------------------------------------------------------------------------------------------------------------


def _by_sums(moves: Moves, epsilon: Fraction, delta: Fraction) -> Fraction:
    scale = gaussian_scale_for(moves.farthest, epsilon, delta)
    return moves.length**2 / (2 * scale**2)


def _by_rounding(
    moves: Sequence[Moves], weights: Sequence[Fraction], epsilon: Fraction, delta: Fraction, safe: Fraction
) -> Fraction:
    """The best rounding and its rho are found in floats; then the rho is lowered until the bound holds."""
    near = {each: _near(moves, weights, epsilon, delta, each) for each in ROUNDINGS}
    best = max(near, key=lambda each: near[each])

    def holds(rho: Fraction) -> bool:
        scales = _scales(moves, weights, rho)
        return 2 * best**2 < min(scales) ** 2 and rounded_delta_up(moves, scales, epsilon, best) <= delta

    return next((rho for rho in _candidates_below(near[best], safe) if holds(rho)), safe)


def _near(moves: Sequence[Moves], weights: Sequence[Fraction], epsilon: Fraction, delta: Fraction, rounding: Fraction) -> float:
    """About the largest rho by one rounding; 0.0 where it does not serve."""
    slack, entries = float(_slack(rounding)), sum(each.entries for each in moves)
    limit = float(epsilon) - entries * (2 * math.log1p(slack) - math.log1p(-slack))
    if limit <= 0:
        return 0.0
    wanted = float(delta) / math.exp(min(700.0, entries * math.log1p(slack)))
    thin = [float(rounding / each.length) ** 2 for each in moves]

    def length(rho: float) -> float:
        return math.sqrt(sum(1 / (1 / (2 * float(weight) * rho) - cut) for weight, cut in zip(weights, thin, strict=True)))

    low, high = 0.0, min(1 / (4 * float(weight) * cut) for weight, cut in zip(weights, thin, strict=True))  # variance halved
    for _ in range(100):
        middle = (low + high) / 2 if low else high / 2**20
        good = _normal_delta(length(middle), limit) <= wanted
        low, high = (middle, high) if good else (low, middle)
        if high - low < 1e-14 * high:
            break
    return low


def _normal_delta(length: float, epsilon: float) -> float:
    start = epsilon / length - length / 2
    below = math.erfc((start + length) / math.sqrt(2))
    return (math.erfc(start / math.sqrt(2)) - math.exp(epsilon) * below) / 2


def _by_list(moves: Moves, epsilon: Fraction, delta: Fraction, safe: Fraction) -> Fraction:
    """Bisection on the bound itself, between what another bound allows and twice that."""
    if gaussian_scale_up(moves.length, safe) >= LISTED_SCALE:
        return safe
    low, high = safe, 2 * safe
    for _ in range(18):
        middle = _down((low + high) / 2)
        good = _listed_up(moves, gaussian_scale_up(moves.length, middle), epsilon) <= delta
        low, high = (middle, high) if good else (low, middle)
    return low


def _listed_up(moves: Moves, scale: Fraction, epsilon: Fraction) -> Fraction:
    lists = maximal_moves(moves.square, moves.entries, moves.total, moves.farthest)
    return max(listed_delta_up(each, scale, epsilon) for each in lists)


def _candidates_below(near: float, safe: Fraction) -> Iterator[Fraction]:
    """Numbers from a float on, ever further below it, as long as they are above what is safe."""
    start = Fraction(near)
    for step in range(24):
        rho = _down(start * (1 - Fraction(4**step - 1, 10**14)))
        if rho <= safe:
            return
        yield rho


def _down(number: Fraction) -> Fraction:
    """To 24 decimals, so that a ledger stores it exactly."""
    return Fraction(int(number * 10**24), 10**24)
