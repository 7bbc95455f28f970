"""Tails of the beta-binomial law, from above: how often one block of a synthetic map gets far more workers than it should.

A block of mass a in an urn of mass a + b gets X of m draws. Floating point is pushed up by a margin that dirichlet.md, section 4,
derives from one assumption on `math.lgamma`; everything else is rounded against us.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacit.errors import InvalidInput
from tacit.privacy.rounding import as_text

LGAMMA_ERROR = 2.0**-45  # of |lgamma(x)| + x + 1: 256 units of the last place, for the function and for the rounding of x
UNIT = 2.0**-53
FIRST_TERMS = 128
ALL_TERMS = 4096  # a tail of no more terms is summed to its end
MOST_TERMS = 1 << 20  # what is left of a longer one is bounded, however much that is: memory does not grow with the draws
NEGLIGIBLE = 2.0**-30  # the rest of a sum is bounded once it is this small beside it
SMALLEST = 1e-290
LEAST_MASS, LARGEST_MASS = Fraction(1, 2**400), Fraction(2**200)  # what is assumed of `math.lgamma` is assumed between them


def tail_up(draws: int, own: Fraction, others: Fraction, least: int) -> float:
    """At or above P[X >= least] for X beta-binomial: `draws` draws, a block of mass `own` among `others`.

    >>> round(tail_up(6, Fraction(1), Fraction(9), 6) * 5005, 6)          # 6! 9! / 15! = 1/5005
    1.0
    >>> tail_up(6, Fraction(1), Fraction(0), 6), tail_up(6, Fraction(1), Fraction(9), 7)
    (1.0, 0.0)

    Where `least` is below the most probable outcome, or a mass is beyond what floats are trusted with, 1 is the bound.
    """
    if own <= 0 or others < 0:
        raise InvalidInput(f"masses must be above 0 and at least 0, not {as_text(own)} and {as_text(others)}")
    if least > draws:
        return 0.0
    if least <= 0 or others == 0 or _out_of_range(own, others) or _still_rising(draws, own, others, least):
        return 1.0
    first = _log_term_up(draws, float(own), float(others), least)
    series = _series_up(draws, float(own), float(others), least)
    return min(1.0, max(SMALLEST, math.exp(min(first, 1.0)) * series))


def far_tail_up(draws: int, below: Fraction, mass: Fraction, ratio: Fraction) -> float:
    """At or above every P[X > (ratio - 1) y], X beta-binomial with own mass y + 1 of the total `mass`, for y from `below` up.

    Markov's inequality for the martingale (own + X)(own + X + 1)...(own + X + s - 1) of the urn; its bound falls as y grows, for
    every s (dirichlet.md, section 3). Any whole s is right; the one taken is close to the best.
    """
    gap = draws - (ratio - 1) * below
    if gap < 0:
        return 0.0
    drift = (ratio * below + 1) * mass - (below + 1) * (mass + draws)
    if drift <= 0 or gap == 0 or _out_of_range(mass):
        return 1.0 if gap else 0.0
    steps = max(1, min(round(drift / gap), 2**40))
    grown = [(1, below + 1), (-1, ratio * below + 1), (1, mass + draws), (-1, mass)]
    terms = [part for sign, at in grown for part in ((sign, float(at + steps)), (-sign, float(at)))]
    return min(1.0, max(SMALLEST, math.exp(min(_log_sum_up(terms), 1.0))))


def _out_of_range(*masses: Fraction) -> bool:
    return not all(LEAST_MASS <= mass <= LARGEST_MASS for mass in masses)


def _still_rising(draws: int, own: Fraction, others: Fraction, least: int) -> bool:
    """Whether the probabilities grow from `least` on: the tail holds the most probable outcome, and 1 bounds it well enough."""
    return least < draws and (draws - least) * (own + least) > (least + 1) * (others + draws - least - 1)


def _log_term_up(draws: int, own: float, others: float, least: int) -> float:
    """At or above ln P[X = least]."""
    plus = (draws + 1.0, own + least, others + (draws - least), own + others)
    minus = (least + 1.0, draws - least + 1.0, own + others + draws, own, others)
    return _log_sum_up([*((1, x) for x in plus), *((-1, x) for x in minus)])


def _log_sum_up(terms: Sequence[tuple[int, float]]) -> float:
    """At or above the signed sum of ln Gamma."""
    values = [(sign, math.lgamma(x), x) for sign, x in terms]
    return math.fsum(sign * value for sign, value, _ in values) + LGAMMA_ERROR * sum(abs(value) + x + 1 for _, value, x in values)


def _series_up(draws: int, own: float, others: float, least: int) -> float:
    """At or above P[X >= least] / P[X = least]: products of the ratios of neighbouring terms, and a bound on what is left out."""
    size = draws - least if draws - least <= ALL_TERMS or others < 1 else FIRST_TERMS
    while True:
        at = np.arange(least, min(draws, least + size), dtype=np.float64)
        terms = np.cumprod((draws - at) / (at + 1) * ((own + at) / (others + (draws - at - 1))))
        total = 1.0 + float(terms.sum())
        rest = 0.0 if least + size >= draws else _rest_up(draws, own, others, least + size) * float(terms[-1])
        if rest <= NEGLIGIBLE * total or size >= MOST_TERMS:
            return (total + rest) * (1 + 16 * (size + 16) * UNIT)
        size = min(4 * size, draws - least)


def _rest_up(draws: int, own: float, others: float, last: int) -> float:
    """At or above the sum of all terms after `last`, over the term at `last`, for others >= 1.

    From there on ratios are at most this one's bound, and no term is larger than the one before it.
    """
    ratio = max(1.0, (own + last) / (last + 1)) * (draws - last) / (others + (draws - last - 1)) * (1 + 16 * UNIT)
    most = float(draws - last)
    return min(most, ratio / (1 - ratio) * (1 + 1e-9)) if ratio < 1 - 1e-6 else most
