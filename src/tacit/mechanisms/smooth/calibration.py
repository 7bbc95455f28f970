"""How much noise a smooth bound needs: the calibration (alpha, beta) of each law of noise.

Noise of scale S(x) / alpha on an answer with a beta-smooth bound S costs what a shift by alpha and a stretch by e^beta cost.
Both theorems are proved in smooth.md, "The noise". Everything here is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.errors import InvalidBudget
from tacit.mechanisms.noise.heavy import HeavyTails
from tacit.mechanisms.noise.laplace_tails import LaplaceTails
from tacit.mechanisms.noise.tails import Tails
from tacit.privacy.rounding import as_text, exp_down, exp_up, log_up

BITS = 48  # of a number that is not rational by itself; what is cut off makes the noise larger by less than 2^-47


@dataclass(frozen=True, slots=True)
class Calibration:
    """Noise of scale S(x) / alpha for a beta-smooth bound S."""

    noise: Tails
    alpha: Fraction
    beta: Fraction


@lru_cache(maxsize=256)
def heavy_calibration(epsilon: Fraction, gamma: Fraction) -> Calibration:
    """Pure epsilon with heavy tails: alpha = epsilon / (2 G), rounded down, and beta = epsilon / (2 max(1, gamma - 1)).

    G = (gamma - 1)^((gamma - 1)/gamma) is the steepest slope of ln(1 + |z|^gamma); max(1, gamma - 1) is how fast the density can
    change when it is stretched.

    >>> calibration = heavy_calibration(Fraction(1), Fraction(4))
    >>> round(float(calibration.alpha), 6), calibration.beta
    (0.219346, Fraction(1, 6))
    """
    power = gamma - 1
    alpha = epsilon / 2 if power == 1 else _kept_down(epsilon / 2 / exp_up(power / gamma * log_up(power)))
    return Calibration(HeavyTails(gamma), alpha, epsilon / (2 * max(Fraction(1), power)))


@lru_cache(maxsize=256)
def laplace_calibration(epsilon: Fraction, delta: Fraction) -> Calibration:
    """(epsilon, delta) with Laplace tails: alpha = epsilon / 2, and the largest beta whose exact delta is within `delta`.

    For epsilon up to 10 it is above the usual epsilon / (2 ln(2 / delta)), which promises too much for large epsilon.

    >>> calibration = laplace_calibration(Fraction(1), Fraction(1, 10**6))
    >>> calibration.alpha, round(float(calibration.beta), 4)
    (Fraction(1, 2), 0.053)
    """
    if delta <= 0:
        raise InvalidBudget(
            "Laplace tails require a delta above 0; give for example delta=1e-6, or gamma=4 for pure epsilon", argument="delta"
        )
    beta = _kept_down(Fraction(_largest_beta(float(epsilon), float(delta))))
    while stretch_delta_up(epsilon, beta) > delta:  # what doubles got wrong in the last places
        beta = _kept_down(beta * (1 - Fraction(1, 2**30)))
    return Calibration(LaplaceTails(), epsilon / 2, beta)


def stretch_delta_up(epsilon: Fraction, beta: Fraction) -> Fraction:
    """The exact delta at `epsilon` of Laplace noise whose scale changes by e^beta and whose centre moves by epsilon/2 scales.

    (1 - e^-beta) / 2 * (exp(-(epsilon/2 + beta) / r) + exp(-(3 epsilon/2 + beta) / r)) with r = e^beta - 1, rounded up.

    >>> float(stretch_delta_up(Fraction(1), Fraction(1, 29)))
    4.1...e-09
    """
    rise = exp_up(beta) - 1
    ends = exp_up(-(epsilon / 2 + beta) / rise) + exp_up(-(3 * epsilon / 2 + beta) / rise)
    return (1 - exp_down(-beta)) / 2 * ends


def calibrated(epsilon: Fraction, delta: Fraction, gamma: Fraction | None) -> Calibration:
    """The calibration for a budget: heavy tails for a gamma, Laplace tails for None."""
    if gamma is None:
        return laplace_calibration(epsilon, delta)
    if delta:
        raise InvalidBudget(
            f"noise with gamma={as_text(gamma)} is pure and does not use delta={as_text(delta)}; "
            "give delta=0, or gamma=None for Laplace tails",
            argument="delta",
        )
    return heavy_calibration(epsilon, gamma)


def _largest_beta(epsilon: float, delta: float) -> float:
    """By bisection in doubles: the delta rises with beta."""
    low, high = 0.0, epsilon / 2
    for _ in range(100):
        beta = (low + high) / 2
        rise = math.expm1(beta) if beta < 700 else math.inf
        spent = -math.expm1(-beta) / 2 * (math.exp(-(epsilon / 2 + beta) / rise) + math.exp(-(1.5 * epsilon + beta) / rise))
        low, high = (beta, high) if spent <= delta else (low, beta)
    return low


def _kept_down(number: Fraction) -> Fraction:
    """The number with its first BITS binary digits."""
    places = BITS - number.numerator.bit_length() + number.denominator.bit_length()
    return Fraction(math.floor(number * Fraction(2) ** places)) / Fraction(2) ** places
