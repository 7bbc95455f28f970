"""Real numbers between two rationals, and the laws of the two noises.

Each function of a real number returns two `Fraction`s with the true value between them: Python's `decimal` rounds e^x, ln and the
square root correctly, so that the next numbers of so many digits lie on both sides. No float decides anything; floats look for a
good order of a bound that holds for every order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from tacit_certificate.document import Wrong, refuse

DOWN, UP = (Context(prec=80, rounding=rounding, Emin=-10_000, Emax=10_000) for rounding in (ROUND_FLOOR, ROUND_CEILING))
LARGEST_EXPONENT = 1 << 14  # of e: beyond it a loss promises nothing, and takes long to compute
DIRECT = 400  # scales of Gaussian noise whose tail is summed term by term
FAR = 16  # scales beyond which a Gaussian tail weighs less than e^-128
PI_DOWN = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
PI_UP = PI_DOWN + Fraction(1, 10**80)
SMALL = Decimal("1e-70")  # of a series what is left out

Ends = tuple[Fraction, Fraction]


# --- e^x, ln x, the square root ----------------------------------------------------------------------------------------------


def _rounded(x: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def _ends(rising: Callable[[Decimal, Context], Decimal], x: Fraction) -> Ends:
    """Around a rising function of x."""
    try:
        low, high = (rising(_rounded(x, context), context) for context in (DOWN, UP))
        return Fraction(low.next_minus(DOWN)), Fraction(high.next_plus(UP))
    except ArithmeticError:
        raise Wrong("a number exceeds 10^10,000, which is more than this program computes with") from None


@lru_cache(maxsize=4096)
def exp(x: Fraction) -> Ends:
    """Two rationals around e^x.

    >>> low, high = exp(Fraction(1))
    >>> float(low), low < high, high - low < Fraction(1, 2**240)
    (2.718281828459045, True, True)
    """
    refuse(abs(x) > LARGEST_EXPONENT, "an exponent exceeds 2^14, which is more than this program computes with")
    return _ends(Decimal.exp, x)


@lru_cache(maxsize=4096)
def log(x: Fraction) -> Ends:
    """Two rationals around ln x, for x > 0.

    >>> low, high = log(Fraction(2))
    >>> low < Fraction(693147180559945309417, 10**21) + Fraction(1, 10**20) and high > Fraction(693147180559945309417, 10**21)
    True
    """
    return _ends(Decimal.ln, x)


def sqrt(x: Fraction) -> Ends:
    """Two rationals around the square root of x >= 0; equal where it is rational.

    >>> sqrt(Fraction(9, 4))
    (Fraction(3, 2), Fraction(3, 2))
    """
    root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    return (root, root) if root * root == x else _ends(Decimal.sqrt, x)


# --- discrete Laplace noise --------------------------------------------------------------------------------------------------


def laplace_tail_up(scale: Fraction, width: int) -> Fraction:
    """At or above P[|X| > width] = 2 p^(width + 1) / (1 + p), p = e^(-1/scale); 0 for scale 0.

    >>> float(laplace_tail_up(Fraction(1), 3)) < 0.0268
    True
    """
    if width < 0:
        return Fraction(1)
    if scale == 0 or (width + 1) / scale > LARGEST_EXPONENT:
        return Fraction(0) if scale == 0 else exp(-Fraction(LARGEST_EXPONENT))[1] * 2
    return 2 * exp(-(width + 1) / scale)[1] / (1 + exp(-1 / scale)[0])


# --- discrete Gaussian noise -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def gaussian_tail_up(scale: Fraction, width: int) -> Fraction:
    """At or above P[|X| > width] of weights e^(-k^2 / (2 scale^2)), over it by less than 10^-5 of itself.

    >>> round(float(gaussian_tail_up(Fraction(1), 2)), 9)
    0.009134343
    """
    if width < 0:
        return Fraction(1)
    if scale == 0:
        return Fraction(0)
    if scale <= DIRECT:
        return summed_tail(scale, min(width, math.ceil(2 * FAR * scale)))[1]  # a nearer tail is larger
    start = (width + Fraction(1, 2)) / scale
    if start < 1:  # the midpoint rule needs a convex density
        return Fraction(1)
    return 2 * normal_tail(start)[1]  # the sum of all weights is above scale sqrt(2 pi)


@lru_cache(maxsize=64)
def summed_tail(scale: Fraction, width: int) -> Ends:
    """The weights one by one, each the one before times e^(-(2k + 1) / (2 scale^2)), which itself falls geometrically."""
    bits = 192
    half = exp(-1 / (2 * scale * scale))
    sums = []
    for up in (0, 1):
        step = math.floor(half[up] * (1 << bits)) + up
        fall = (step * step >> bits) + up
        weight, inside, tail = 1 << bits, 1 << bits, 0
        for k in range(1, max(width + 1, math.ceil(FAR * scale)) + 2):
            weight, step = (weight * step >> bits) + up, (step * fall >> bits) + up
            inside += 2 * weight
            tail += 2 * weight if k > width else 0
        beyond = 2 * up * weight * (math.ceil(scale) + 1)  # of weights that fall by more than a factor 1 - 1 / scale each
        sums.append((tail + beyond, inside + beyond))
    return Fraction(sums[0][0], sums[1][1]), Fraction(sums[1][0], sums[0][1])


@lru_cache(maxsize=256)
def normal_tail(x: Fraction) -> Ends:
    """Around P[Z >= x] of a normal variable.

    >>> round(float(normal_tail(Fraction(196, 100))[0]), 6)
    0.024998
    """
    if x < 0:
        low, high = normal_tail(-x)
        return 1 - high, 1 - low
    if x > 40:
        return Fraction(0), exp(-min(x * x / 2, Fraction(LARGEST_EXPONENT)))[1]
    fall = exp(-x * x / 2)
    low = Fraction(_odd_series(x, DOWN)) * fall[0] / sqrt(2 * PI_UP)[1]
    high = Fraction(_odd_series(x, UP)) * fall[1] / sqrt(2 * PI_DOWN)[0]
    return max(Fraction(0), Fraction(1, 2) - high), Fraction(1, 2) - low


def _odd_series(x: Fraction, context: Context) -> Decimal:
    """x + x^3/3 + x^5/15 + ..., rounded down or up; where terms halve, the last one is above the rest."""
    term = total = _rounded(x, context)
    square, odd = context.multiply(term, term), 3
    while 2 * square > odd or term > SMALL:
        term, odd = context.divide(context.multiply(term, square), Decimal(odd)), odd + 2
        total = context.add(total, term)
    return context.add(total, term) if context is UP else total


# --- concentrated privacy ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def pure_rho(epsilon: Fraction) -> Ends:
    """Around epsilon tanh(epsilon / 2), the rho of a pure event; epsilon itself is taken from 200 on.

    >>> round(float(pure_rho(Fraction(2))[0]), 9)
    1.523188312
    """
    if epsilon >= 200:
        return epsilon, epsilon
    low, high = exp(epsilon)
    ends = (epsilon * (1 - 2 / (low + 1)), epsilon * (1 - 2 / (high + 1)))
    return min(ends[0], epsilon**2 / 2), min(ends[1], epsilon**2 / 2)


@lru_cache(maxsize=256)
def largest_rho_down(epsilon: Fraction, delta: Fraction) -> Fraction:
    """At or below the largest rho that is (epsilon, delta): Canonne, Kamath and Steinke 2020, Proposition 12.

    For an order a > 1 a rho of (epsilon + ln(a/(a-1)) + (ln a - ln(1/delta))/(a-1)) / a is one; the best order is looked for.

    >>> round(float(largest_rho_down(Fraction(1), Fraction(1, 10**6))), 6)
    0.024356
    """
    if delta <= 0:
        return Fraction(0)
    far = log(1 / delta)[1]

    def admitted(logarithm: float) -> float:
        above = math.exp(logarithm)
        return (float(epsilon) + math.log1p(1 / above) + (math.log1p(above) - float(far)) / above) / (1 + above)

    low, high = -40.0, 40.0  # any order between is sound: the one with the largest rho is looked for by thirds
    for _ in range(200):
        one, two = low + (high - low) * 0.382, low + (high - low) * 0.618
        low, high = (one, high) if admitted(one) < admitted(two) else (low, two)
    above = Fraction(math.exp(low))
    order = 1 + above
    return max(Fraction(0), (epsilon + log(order / above)[0] + (log(order)[0] - far) / above) / order)


def moved_up(delta: Fraction, rho: Fraction) -> Fraction:
    """At or above what a set of weight `delta` weighs under a law at concentrated distance `rho`: composition.md, section 4.

    >>> float(moved_up(Fraction(1, 10**20), Fraction(1, 2))) < 1e-16
    True
    """
    if delta == 0:
        return Fraction(0)
    gap = sqrt(max(Fraction(0), log(1 / delta)[0]))[0] - sqrt(rho)[1]
    return Fraction(1) if gap <= 0 else exp(-min(gap * gap, Fraction(LARGEST_EXPONENT)))[1]
