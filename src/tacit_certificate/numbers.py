"""Real numbers between two rationals, and the laws of the two noises.

Each function of a real number returns two `Fraction`s with the true value between them. Integers alone are computed with: a real x
is a whole number of steps of 2^-BITS, rounded outwards. No float decides anything; floats look for a good order of a bound that
holds for every order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

BITS = 256
ONE = 1 << BITS
LARGEST_EXPONENT = 1 << 14  # of e: beyond it a loss promises nothing, and takes long to compute
DIRECT = 400  # scales of Gaussian noise whose tail is summed term by term
FAR = 16  # scales beyond which a Gaussian tail weighs less than e^-128

Ends = tuple[Fraction, Fraction]


class TooLarge(ValueError):
    """A number is beyond what a check may cost."""


# --- e^x, ln x, the square root ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def exp(x: Fraction) -> Ends:
    """Two rationals around e^x.

    >>> low, high = exp(Fraction(1))
    >>> float(low), low < high, high - low < Fraction(1, 2**240)
    (2.718281828459045, True, True)
    """
    if abs(x) > LARGEST_EXPONENT:
        raise TooLarge("an exponent exceeds 2^14")
    if x < 0:
        near, far = exp(-x)
        return 1 / far, 1 / near
    steps = math.floor(x * ONE)
    halvings = max(0, steps.bit_length() - BITS + 8)
    one = 1 << (BITS + halvings)  # in steps of which `steps` is x / 2^halvings, below 2^-8
    low, high = _taylor(steps, one)[0], _taylor(steps + 1, one)[1]
    for _ in range(halvings):
        low, high = low * low // one, high * high // one + 1
    return Fraction(low, one), Fraction(high, one)


def _taylor(steps: int, one: int) -> tuple[int, int]:
    """Around e^(steps / one) for an argument below 2^-7: every term is rounded down, by less than 4 steps with what it inherits."""
    total, term, count = one, one, 1
    while term:
        term = term * steps // (one * count)
        total += term
        count += 1
    return total, total + 4 * count


@lru_cache(maxsize=4096)
def log(x: Fraction) -> Ends:
    """Two rationals around ln x, for x > 0.

    >>> low, high = log(Fraction(2))
    >>> low < Fraction(693147180559945309417, 10**21) + Fraction(1, 10**20) and high > Fraction(693147180559945309417, 10**21)
    True
    """
    doublings = x.numerator.bit_length() - x.denominator.bit_length()
    if doublings.bit_length() > 20:
        raise TooLarge("a logarithm of a number of more than 2^20 bits")
    reduced = x / (Fraction(2) ** doublings)  # above 1/2 and below 2
    below, above = _twice_atanh((reduced - 1) / (reduced + 1))
    if not doublings:
        return below, above
    two = _log_of_two()
    ends = (doublings * two[0], doublings * two[1])
    return below + min(ends), above + max(ends)


@lru_cache(maxsize=1)
def _log_of_two() -> Ends:
    return _twice_atanh(Fraction(1, 3))


def _twice_atanh(z: Fraction) -> Ends:
    """Around ln((1 + z) / (1 - z)) for |z| <= 1/3, by z + z^3/3 + z^5/5 + ..."""
    steps = math.floor(abs(z) * ONE)
    square, power, total, count = steps * steps // ONE, steps, 0, 0
    while power:
        total += power // (2 * count + 1)
        power = power * square // ONE
        count += 1
    low, high = Fraction(2 * total, ONE), Fraction(2 * (total + 4 * count + 4), ONE)
    if not steps:
        low, high = Fraction(0), Fraction(4, ONE) if z else Fraction(0)
    return (low, high) if z >= 0 else (-high, -low)


def sqrt(x: Fraction) -> Ends:
    """Two rationals around the square root of x >= 0; equal where it is rational.

    >>> sqrt(Fraction(9, 4))
    (Fraction(3, 2), Fraction(3, 2))
    """
    root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    if root * root == x:
        return root, root
    extra = max(0, (x.denominator.bit_length() - x.numerator.bit_length()) // 2)
    scale = ONE << extra
    steps = math.isqrt(math.floor(x * scale * scale))
    return Fraction(steps, scale), Fraction(steps + 1, scale)


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
        return _summed_tail(scale, min(width, math.ceil(2 * FAR * scale)))[1]  # a nearer tail is larger
    start = (width + Fraction(1, 2)) / scale
    if start < 1:  # the midpoint rule needs a convex density
        return Fraction(1)
    return 2 * normal_tail(start)[1]  # the sum of all weights is above scale sqrt(2 pi)


@lru_cache(maxsize=64)
def _summed_tail(scale: Fraction, width: int) -> Ends:
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
        return Fraction(0), exp(-x * x / 2 if x < 150 else Fraction(-LARGEST_EXPONENT))[1]
    root = sqrt(2 * pi()[0])[0], sqrt(2 * pi()[1])[1]
    steps, fall = math.floor(x * ONE), exp(-x * x / 2)
    low = Fraction(_odd_series(steps, 0), ONE) * fall[0] / root[1]
    high = Fraction(_odd_series(steps + 1, 1), ONE) * fall[1] / root[0]
    return max(Fraction(0), Fraction(1, 2) - high), Fraction(1, 2) - low


def _odd_series(steps: int, up: int) -> int:
    """x + x^3/3 + x^5/15 + ..., rounded down or, with 1 for `up`, up; once terms halve, the rest is below two more."""
    square, total, term, odd = steps * steps // ONE + up, steps, steps, 3
    while term > 2 * up or square > odd * ONE // 2:
        term = term * square // (ONE * odd) + up
        total, odd = total + term, odd + 2
    return total + 8 * up


@lru_cache(maxsize=1)
def pi() -> Ends:
    """Two rationals around pi, by Machin: 16 arctan(1/5) - 4 arctan(1/239).

    >>> float(pi()[0])
    3.141592653589793
    """

    def arctan(one_over: int) -> tuple[int, int]:
        power, total, count = ONE // one_over, 0, 0
        while power:
            total += power // (2 * count + 1) * (-1) ** count
            power //= one_over * one_over
            count += 1
        return total - 4 * count, total + 4 * count

    five, other = arctan(5), arctan(239)
    return Fraction(16 * five[0] - 4 * other[1], ONE), Fraction(16 * five[1] - 4 * other[0], ONE)


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
def pure_rho_at(epsilon: Fraction, order: Fraction) -> Fraction:
    """At or above the Renyi divergence of randomized response at one order, divided by the order.

    >>> round(float(22 * pure_rho_at(Fraction(1, 20), Fraction(22))), 5)
    0.02342
    """
    total = (exp(order * epsilon)[1] + exp((1 - order) * epsilon)[1]) / (1 + exp(epsilon)[0])
    return log(total)[1] / (order * (order - 1))


@lru_cache(maxsize=256)
def laplace_rho_at(moved: Fraction, scale: Fraction, order: Fraction) -> Fraction:
    """The same of discrete Laplace noise on whole numbers that move by `moved` in l1: composition.md, section 7.

    >>> near = laplace_rho_at(Fraction(1), Fraction(2), Fraction(4)) - pure_rho_at(Fraction(1, 2), Fraction(4))
    >>> abs(near) < Fraction(1, 10**50)
    True
    """
    (low, high), (slow, fast) = exp(-1 / scale), exp((1 - 2 * order) / scale)
    if fast >= 1:
        return moved / scale / order
    grows, falls = (1 + (1 - low) * fast / (1 - fast)) / (1 + low), (high - slow) / (1 - fast) / (1 + low)
    total = grows * exp((order - 1) * moved / scale)[1] + falls * exp(-order * moved / scale)[1]
    return log(total)[1] / (order * (order - 1))


@lru_cache(maxsize=256)
def largest_rho_down(epsilon: Fraction, delta: Fraction, order: Fraction | None = None) -> Fraction:
    """At or below the largest rho that is (epsilon, delta): Canonne, Kamath and Steinke 2020, Proposition 12.

    For an order a > 1 a rho of (epsilon + ln(a/(a-1)) + (ln a - ln(1/delta))/(a-1)) / a is one; the best order is looked for
    where none is given.

    >>> round(float(largest_rho_down(Fraction(1), Fraction(1, 10**6))), 6)
    0.024356
    """
    if delta <= 0:
        return Fraction(0)
    far = log(1 / delta)[1]

    def admitted(above: float) -> float:
        return (float(epsilon) + math.log1p(1 / above) + (math.log1p(above) - float(far)) / above) / (1 + above)

    above = Fraction(_top(admitted)) if order is None else order - 1
    order = 1 + above
    return max(Fraction(0), (epsilon + log(order / above)[0] + (log(order)[0] - far) / above) / order)


def _top(merit: Callable[[float], float]) -> float:
    """Where a function with one top is largest, over the positive numbers; any answer is sound for who asks."""
    low, high = -40.0, 40.0
    for _ in range(200):
        one, two = low + (high - low) * 0.382, low + (high - low) * 0.618
        if merit(math.exp(one)) < merit(math.exp(two)):
            low = one
        else:
            high = two
    return math.exp((low + high) / 2)


def moved_up(delta: Fraction, rho: Fraction) -> Fraction:
    """At or above what a set of weight `delta` weighs under a law at concentrated distance `rho`: composition.md, section 4.

    >>> float(moved_up(Fraction(1, 10**20), Fraction(1, 2))) < 1e-16
    True
    """
    if delta == 0:
        return Fraction(0)
    gap = sqrt(max(Fraction(0), log(1 / delta)[0]))[0] - sqrt(rho)[1]
    if gap <= 0:
        return Fraction(1)
    return exp(-min(gap * gap, Fraction(LARGEST_EXPONENT)))[1]


# --- the curve of Gaussian noise ---------------------------------------------------------------------------------------------


def normal_delta_up(distance: Fraction, epsilon: Fraction) -> Fraction:
    """At or above the delta at epsilon of normal vectors `distance` deviations apart (Balle and Wang 2018, Theorem 8).

    >>> round(float(normal_delta_up(Fraction(1, 2), Fraction(1))), 8)
    0.00682959
    """
    if distance <= 0:
        return Fraction(0)
    start = epsilon / distance - distance / 2
    start, further = _floor(start), _floor(start + distance) + Fraction(1, 2**120)
    return max(Fraction(0), normal_tail(start)[1] - exp(epsilon)[0] * normal_tail(further)[0])


def _floor(x: Fraction) -> Fraction:
    return Fraction(math.floor(x * 2**120), 2**120)


def rounded_delta_up(squares: list[Fraction], scales: list[Fraction], entries: int, epsilon: Fraction) -> Fraction:
    """At or above the delta of discrete Gaussian vectors: a normal law of a little less variance, rounded at random.

    Of each vector the squared l2 sensitivity and scale; `entries` is how many numbers move at most. gaussian_curve.md, section 3.
    """
    best = Fraction(1)
    for eighths in (4, 5, 6, 7, 8, 10, 12, 16):
        spread = Fraction(eighths, 8)
        if min(scales) ** 2 <= 2 * spread**2:
            continue
        q = exp(-2 * pi()[0] ** 2 * spread**2)[1]
        theta = 2 * q + 3 * q**4
        slack = entries * (2 * log(1 + theta)[1] - log(1 - theta)[0])
        distance = sqrt(sum((u / (s * s - spread**2) for u, s in zip(squares, scales, strict=True)), start=Fraction(0)))[1]
        bound = exp(entries * log(1 + theta)[1])[1] * normal_delta_up(_floor(distance) + Fraction(1, 2**120), epsilon - slack)
        best = min(best, bound)
    return best


def whole_shift_delta_up(shift: int, scale: Fraction, epsilon: Fraction) -> Fraction:
    """At or above the delta of one number of Gaussian noise that moves by whole steps, at most `shift`: the largest is the worst.

    P[X >= a] - e^epsilon P[X >= a + shift], a the least integer from epsilon scale^2 / shift - shift / 2 on.
    """
    if shift == 0:
        return Fraction(0)
    start = math.ceil(epsilon * scale * scale / shift - Fraction(shift, 2))
    if scale > DIRECT:
        return rounded_delta_up([Fraction(shift * shift)], [scale], 1, epsilon)
    nearer = min(start, math.ceil(2 * FAR * scale))
    second = _one_tail(scale, start + shift)[0] if nearer == start and shift <= FAR * scale else Fraction(0)
    return max(Fraction(0), _one_tail(scale, nearer)[1] - exp(min(epsilon, Fraction(1000)))[0] * second)


def _one_tail(scale: Fraction, start: int) -> Ends:
    """Around P[X >= start]."""
    if start <= 0:
        low, high = _one_tail(scale, 1 - start)
        return 1 - high, 1 - low
    low, high = _summed_tail(scale, start - 1)
    return low / 2, high / 2
