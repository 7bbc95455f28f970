"""The discrete Gaussian's own sums, between rational bounds: its tails, and its delta at an epsilon.

The law on the integers is P(k) = exp(-k^2 / (2 scale^2)) / N. calibrate.md, section 4, proves the bounds. No formula for
continuous noise stands for the discrete one: where an integral is used, its distance to the sum is bounded and added.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple

from tacit.errors import InvalidSensitivity
from tacit.privacy.loss import not_negative
from tacit.privacy.rounding import Number, as_text, exact, exp_down, exp_up

PI_DOWN = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211")
PI_UP = PI_DOWN + Fraction(1, 10**90)
BITS = 128  # of the recurrence
SUMMED_UP_TO = 512  # scales up to this are summed term by term, larger ones by integral and correction
FAR = 100  # scales: a tail that begins further out is below e^-4000, and is not looked at more closely
UP = Context(prec=110, rounding=ROUND_CEILING)
DOWN = Context(prec=110, rounding=ROUND_FLOOR)


class Bounds(NamedTuple):
    """A number from below and from above."""

    down: Fraction
    up: Fraction


def gaussian_tail_up(scale: Fraction, beyond: int) -> Fraction:
    """At or above P[|X| > beyond] for discrete Gaussian X.

    >>> round(float(gaussian_tail_up(Fraction(1), 1)), 12)            # 2 (e^-2 + e^-4.5 + ...) / N
    0.117116275284
    """
    if beyond < 0 or scale == 0:
        return Fraction(int(beyond < 0))
    return min(Fraction(1), 2 * tail_sum(scale, beyond + 1).up / whole_sum(scale).down)


def gaussian_delta_up(sensitivity: Number, scale: Number, epsilon: Number) -> Fraction:
    """At or above the least delta at `epsilon` of discrete Gaussian noise on one integer of integer `sensitivity`.

    It is P[X >= a] - e^epsilon P[X >= a + sensitivity] with a the least integer where the ratio does not exceed e^epsilon in
    the other direction; smaller shifts give less.

    >>> round(float(gaussian_delta_up(1000, 2000, 1)), 6)             # continuous noise, sensitivity 1, scale 2: .00682959
    0.00683
    """
    shift, width, limit = whole_units(sensitivity), not_negative(scale, "scale"), not_negative(epsilon, "epsilon")
    if shift == 0 or width == 0:
        return Fraction(int(shift > 0))
    start = math.ceil(limit * width**2 / shift - Fraction(shift, 2))
    excess = tail_sum(width, start).up - exp_down(min(limit, Fraction(10**4))) * tail_sum(width, start + shift).down
    return min(Fraction(1), max(Fraction(0), excess / whole_sum(width).down))


@lru_cache(maxsize=256)
def whole_sum(scale: Fraction) -> Bounds:
    """N, the sum of exp(-k^2 / (2 s^2)) over the integers.

    By Poisson's formula it is s sqrt(2 pi) (1 + 2 q + 2 q^4 + 2 q^9 + ...) with q = exp(-2 (pi s)^2).
    """
    if scale < 1:
        tail = tail_sum(scale, 1)
        return Bounds(1 + 2 * tail.down, 1 + 2 * tail.up)
    square = min(scale, Fraction(4)) ** 2  # beyond 4 the correction is below 10^-130, and only its sign is used
    down, up = exp_down(-2 * PI_UP**2 * square) * (scale <= 4), exp_up(-2 * PI_DOWN**2 * square)
    return Bounds(
        _root_two_pi().down * scale * (1 + 2 * down),
        _root_two_pi().up * scale * (1 + 2 * up + 3 * up**4),
    )


def tail_sum(scale: Fraction, start: int) -> Bounds:
    """The sum over k >= start of exp(-k^2 / (2 scale^2)), for scale > 0."""
    if start <= 0:
        other, whole = tail_sum(scale, 1 - start), whole_sum(scale)
        return Bounds(whole.down - other.up, whole.up - other.down)
    if start > FAR * scale:  # one term and an integral, each below the first density
        return Bounds(Fraction(0), (1 + scale) * exp_up(Fraction(-(FAR**2), 2)))
    return _sum_of_terms(scale, start) if scale <= SUMMED_UP_TO else _sum_by_integral(scale, start)


def _sum_of_terms(scale: Fraction, start: int) -> Bounds:
    """Term by term in fixed point: each term is the last one times a ratio, each ratio the last one times e^(-1/s^2)."""
    square = scale**2
    first = -Fraction(start**2) / (2 * square)
    down = _recurrence(exp_down(-Fraction(2 * start + 1) / (2 * square)), exp_down(-1 / square), 0)
    up = _recurrence(exp_up(-Fraction(2 * start + 1) / (2 * square)), exp_up(-1 / square), 1)
    return Bounds(exp_down(first) * down, exp_up(first) * up)


def _recurrence(ratio: Fraction, shrink: Fraction, carry: int) -> Fraction:
    """1 + r + r (r q) + r (r q)(r q^2) + ..., every product rounded down (carry 0) or up (carry 1)."""
    one = 1 << BITS
    factor, step = int(ratio * one) + carry, int(shrink * one) + carry
    total = term = one
    while term > 1 << (BITS // 5):
        term = (term * factor >> BITS) + carry
        factor = (factor * step >> BITS) + carry
        total += term
    if carry:  # the rest is below a geometric series
        total += term * factor // (one - factor) + 1
    return Fraction(total, one)


def _sum_by_integral(scale: Fraction, start: int) -> Bounds:
    """Euler and Maclaurin: integral + f/2 - f'/12, and a remainder of at most the variation of f''' over 360."""
    position = start / scale
    at = Bounds(*(exp(-(position**2) / 2) for exp in (exp_down, exp_up)))
    correction = Fraction(1, 2) + position / (12 * scale)
    variation = position**3 * at.up if position >= Fraction(5, 2) else Fraction(4)
    remainder = variation / (360 * scale**3)
    integral = _gaussian_integral(position, at)
    return Bounds(
        max(Fraction(0), integral.down * scale + correction * at.down - remainder),
        integral.up * scale + correction * at.up + remainder,
    )


def normal_tail(position: Fraction) -> Bounds:
    """The weight of the standard normal law from `position` on.

    >>> round(float(normal_tail(Fraction(2)).up), 8), round(float(normal_tail(Fraction(-2)).down), 8)
    (0.02275013, 0.97724987)
    """
    if position <= 0:
        other = normal_tail(-position) if position else Bounds(Fraction(1, 2), Fraction(1, 2))
        return Bounds(1 - other.up, 1 - other.down)
    integral = _gaussian_integral(position, Bounds(*(exp(-(position**2) / 2) for exp in (exp_down, exp_up))))
    return Bounds(integral.down / _root_two_pi().up, integral.up / _root_two_pi().down)


def _gaussian_integral(position: Fraction, at: Bounds) -> Bounds:
    """The integral of exp(-x^2 / 2) from `position` > 0 on: sqrt(pi / 2) - exp(-p^2 / 2) (p + p^3/3 + p^5/15 + ...)."""
    if position > 20:  # Mills: between p / (1 + p^2) and 1 / p times the density
        return Bounds(at.down * position / (1 + position**2), at.up / position)
    density = Bounds(*(_exp(position, context) for context in (DOWN, UP)))
    half = Bounds(_root_two_pi().down / 2, _root_two_pi().up / 2)
    return Bounds(
        max(at.down * position / (1 + position**2), half.down - density.up * _odd_series(position, UP)),
        min(at.up / position, half.up - density.down * _odd_series(position, DOWN)),
    )


def _odd_series(position: Fraction, context: Context) -> Fraction:
    """p + p^3/3 + p^5/(3 5) + ..., every operation rounded by `context`; the rest is below the last term."""
    term = context.divide(Decimal(position.numerator), Decimal(position.denominator))
    square = context.multiply(term, term)
    total, odd = term, 1
    while odd < 2 * square or context.multiply(term, Decimal(10) ** 100) > total:
        odd += 2
        term = context.divide(context.multiply(term, square), Decimal(odd))
        total = context.add(total, term)
    return Fraction(total if context.rounding == ROUND_FLOOR else context.add(total, term))


def _exp(position: Fraction, context: Context) -> Fraction:
    """exp(-p^2 / 2) to the digits of `context`, on its side."""
    exponent = -(position**2) / 2
    at = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    value = context.exp(at)
    return Fraction(context.next_plus(value) if context.rounding == ROUND_CEILING else context.next_minus(value))


@cache
def _root_two_pi() -> Bounds:
    """The root of 2 pi to 110 digits."""

    def root(context: Context, pi: Fraction) -> Decimal:
        return context.sqrt(context.divide(Decimal(2 * pi.numerator), Decimal(pi.denominator)))

    return Bounds(Fraction(DOWN.next_minus(root(DOWN, PI_DOWN))), Fraction(UP.next_plus(root(UP, PI_UP))))


def whole_units(sensitivity: Number) -> int:
    """A sensitivity counted in grid units."""
    number = exact(sensitivity, "sensitivity", InvalidSensitivity)
    if number < 0 or number.denominator != 1:
        raise InvalidSensitivity(
            f"sensitivity must be a whole number of grid units, at least 0, not {as_text(number)}; round it up",
            argument="sensitivity",
        )
    return number.numerator
