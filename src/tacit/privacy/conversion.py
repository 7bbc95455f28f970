"""Zero-concentrated privacy: the rho of a pure event, and the largest rho that a cap (epsilon, delta) admits.

accounting/filter.md proves the second, accounting/composition.md the first. Both are rounded against us; no float is believed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from tacit.privacy.rounding import exp_down, exp_up, log_down, log_up, sqrt_up

PLACES = 10**24  # a rho that is not rational is rounded up to 24 places, which the ledger's grid holds exactly
FLAT = 200  # from here on tanh(epsilon / 2) is taken as 1, which it is up to 10^-86
GOLDEN = (math.sqrt(5) - 1) / 2
LARGE = Fraction(10**100)  # budgets beyond it are not searched in floats
LARGEST_EXPONENT = 600.0  # of e, in the search: e^600 and e^-600 times LARGE are floats


@lru_cache(maxsize=1024)
def pure_rho_up(epsilon: Fraction) -> Fraction:
    """The rho of a pure event: epsilon tanh(epsilon / 2), rounded up (composition.md, section 2).

    Randomized response has it, and so has discrete Laplace noise on a count: no pure event as such counts less.

    >>> float(pure_rho_up(Fraction(1, 100))), float(pure_rho_up(Fraction(2)))
    (4.999958333749996e-05, 1.5231883119115297)
    """
    rho = epsilon * (1 - 2 / (exp_up(epsilon) + 1)) if epsilon < FLAT else epsilon
    return min(epsilon**2 / 2, Fraction(math.ceil(rho * PLACES), PLACES))


@lru_cache(maxsize=1024)
def pure_rho_at_up(epsilon: Fraction, order: Fraction) -> Fraction:
    """The Renyi divergence of pure events at one order, divided by the order, rounded up: at most `pure_rho_up`.

    Randomized response has ln((e^(a epsilon) + e^((1-a) epsilon)) / (1 + e^epsilon)) / (a - 1), and no pure event has more
    (composition.md, section 7).

    >>> round(float(22 * pure_rho_at_up(Fraction(1, 20), Fraction(22))), 5)          # 22 times `pure_rho_up` is 0.02749
    0.02342
    """
    if order * epsilon >= 10 * FLAT:  # no divergence is above epsilon
        return min(pure_rho_up(epsilon), epsilon / order)
    total = (exp_up(order * epsilon) + exp_up((1 - order) * epsilon)) / (1 + exp_down(epsilon))
    return min(pure_rho_up(epsilon), _per_order_up(total, order))


@lru_cache(maxsize=1024)
def laplace_rho_at_up(sensitivity: Fraction, scale: Fraction, order: Fraction) -> Fraction:
    """The same of discrete Laplace noise of a scale above 0 on whole numbers that move by `sensitivity` in l1.

    With r = e^(-1/scale), s = r^(2a-1): A e^((a-1) t) + B e^(-a t), t = sensitivity / scale, A = (1 + (1-r) s/(1-s)) / (1+r) and
    B = 1 - A, in the place of the sum in `pure_rho_at_up`: the largest over all whole shifts (composition.md, section 7).

    >>> one, order = pure_rho_at_up(Fraction(1, 2), Fraction(4)), Fraction(4)
    >>> abs(laplace_rho_at_up(Fraction(1), Fraction(2), order) - one) < Fraction(1, 10**20)          # a count: the same law
    True
    >>> round(float(laplace_rho_at_up(Fraction(100), Fraction(200), order) / one), 3)
    0.912
    """
    moved, pure = sensitivity / scale, pure_rho_at_up(sensitivity / scale, order)
    if order * max(moved, 1 / scale) >= 10 * FLAT:  # before any power is taken: a huge epsilon would have a huge fraction
        return pure
    more, less = (1 - exp_down(-1 / scale), 1 - exp_up(-1 / scale)), 1 - exp_up((1 - 2 * order) / scale)
    if less <= 0:
        return pure
    faster = exp_up((1 - 2 * order) / scale), exp_down((1 - 2 * order) / scale)
    grows = (1 + more[0] * faster[0] / less) / (2 - more[0])
    falls = (1 - more[1] - faster[1]) / less / (2 - more[0])
    return min(pure, _per_order_up(grows * exp_up((order - 1) * moved) + max(Fraction(0), falls) * exp_up(-order * moved), order))


def _per_order_up(moment: Fraction, order: Fraction) -> Fraction:
    """ln(moment) / (a (a - 1)), rounded up to 24 places."""
    return Fraction(math.ceil(max(Fraction(0), log_up(moment)) / (order * (order - 1)) * PLACES), PLACES)


def pure_epsilon_near(rho: Fraction) -> Fraction:
    """About the epsilon whose pure rho is `rho` > 0, to 30 digits or more: who relies on it checks it with `pure_rho_up`.

    >>> round(float(pure_epsilon_near(pure_rho_up(Fraction(1, 100)))), 12)
    0.01
    """
    if rho >= FLAT:
        return rho
    low, high = 0.0, 1.5 * math.sqrt(rho) + 1.1 * float(rho)
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.tanh(middle / 2) < rho else (low, middle)
    half = math.tanh(high / 2)
    slope, epsilon = Fraction(half + high / 2 * (1 - half**2)), Fraction(high)
    for _ in range(2):  # each step of Newton's brings about 15 digits, for the slope is a float
        epsilon += (rho - epsilon * (1 - 2 / (exp_up(epsilon) + 1))) / slope
    return epsilon


def pure_epsilon_at_near(rho: Fraction, order: Fraction) -> Fraction:
    """About the epsilon that counts `rho` at the order: who relies on it checks it with `pure_rho_at_up`.

    >>> near = pure_epsilon_at_near(pure_rho_at_up(Fraction(1, 100), Fraction(22)), Fraction(22))
    >>> abs(near - Fraction(1, 100)) < Fraction(1, 10**20)
    True
    """
    rho = Fraction(math.floor(rho * PLACES), PLACES)  # the largest that `pure_rho_at_up` rounds to
    epsilon = pure_epsilon_near(rho) if rho else Fraction(0)
    for _ in range(12):  # Newton's steps, from below, where a convex function has its root above
        if not epsilon or order * epsilon >= 10 * FLAT:
            return max(epsilon, order * rho if epsilon else epsilon)
        up, down = exp_up(order * epsilon), exp_up((1 - order) * epsilon)
        value = log_up((up + down) / (1 + exp_down(epsilon))) / (order * (order - 1))
        share = float(up / (up + down))
        odds = 1 / (1 + math.exp(-min(float(epsilon), LARGEST_EXPONENT)))
        slope = (float(order) * share + (1 - float(order)) * (1 - share) - odds) / float(order * (order - 1))
        step = (rho - value) / Fraction(slope) if slope > 0 else Fraction(0)
        epsilon = max(Fraction(0), epsilon + step)
        if abs(step) * 10**40 < epsilon:
            break
    return epsilon


@lru_cache(maxsize=1024)
def largest_rho_down(epsilon: Fraction, delta: Fraction) -> Fraction:
    """At or below the largest rho that is (epsilon, delta) by the tight conversion, by at most 10^-12 of it; delta > 0.

    Each order a > 1 admits a rho (`admitted_rho_down`), and the best order is found in floats: any order is sound, so what is
    returned rests on one evaluation, rounded down. The order of the closed form (Bun and Steinke 2016, Proposition 1.3) is tried
    too, for budgets beyond floats.

    >>> round(float(largest_rho_down(Fraction(1), Fraction(1, 10**6))), 6)          # the closed form has 0.017469
    0.024356
    """
    return admitted_rho_down(epsilon, delta, largest_order(epsilon, delta) - 1)


@lru_cache(maxsize=1024)
def largest_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The order at which the largest rho is admitted, near enough: `largest_rho_down` is what this order admits; delta > 0.

    >>> round(float(largest_order(Fraction(1), Fraction(99, 10**8))), 1)
    22.0
    """
    log = log_up(1 / delta)
    root = epsilon / (sqrt_up(log + epsilon) + sqrt_up(log))  # sqrt(L + epsilon) - sqrt L
    beyond = [(epsilon - root**2) / (2 * root**2)]
    if epsilon < LARGE and 1 / LARGE < log < LARGE:
        beyond.append(_best_order(lambda above: _rho(float(epsilon), float(log), above)))
    return 1 + max(beyond, key=lambda above: admitted_rho_down(epsilon, delta, above))


def admitted_rho_down(epsilon: Fraction, delta: Fraction, above: Fraction) -> Fraction:
    """At or below the rho that is (epsilon, delta) by the bound of order a = 1 + `above` alone.

    e^((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1) <= delta, solved for rho (Canonne, Kamath and Steinke 2020, Proposition 12):

        rho <= (epsilon + ln(a / (a-1)) + (ln a - ln(1/delta)) / (a-1)) / a .
    """
    order = 1 + above
    rest = (log_down(order) - log_up(1 / delta)) / above
    return max(Fraction(0), (epsilon + log_down(order / above) + rest) / order)


@lru_cache(maxsize=1024)
def least_epsilon_up(rho: Fraction, delta: Fraction) -> Fraction:
    """At or above the least epsilon at which rho is (epsilon, delta) by the tight conversion; delta > 0.

    The same bound, solved for epsilon: a rho - ln(a / (a-1)) + (ln(1/delta) - ln a) / (a-1) at the best order a.

    >>> round(float(least_epsilon_up(Fraction(1, 2), Fraction(1, 10**6))), 5)          # the closed form has 5.75652
    5.22153
    """
    if rho == 0:
        return Fraction(0)
    log = log_up(1 / delta)
    beyond = [sqrt_up(log / rho)]
    if rho < LARGE and 1 / LARGE < log < LARGE:
        beyond.append(_best_order(lambda above: -_epsilon(float(rho), float(log), above)))
    each = ((1 + t) * rho - log_down((1 + t) / t) + (log - log_down(1 + t)) / t for t in beyond if t)
    return max(Fraction(0), min(each, default=rho + 2 * sqrt_up(rho * log)))


def _rho(epsilon: float, log: float, above: float) -> float:
    """`admitted_rho_down` in floats."""
    return (epsilon + math.log1p(1 / above) + (math.log1p(above) - log) / above) / (1 + above)


def _epsilon(rho: float, log: float, above: float) -> float:
    return (1 + above) * rho - math.log1p(1 / above) + (log - math.log1p(above)) / above


def _best_order(merit: Callable[[float], float]) -> Fraction:
    """The order, less 1, at which `merit` is largest, near enough: it has one top over the orders (accounting/filter.md)."""

    def at(exponent: float) -> float:
        return merit(math.exp(exponent))

    low, high = -LARGEST_EXPONENT, LARGEST_EXPONENT
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = at(left), at(right)
    while high - low > 1e-9:
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = at(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = at(left)
    return Fraction(repr(math.exp((low + high) / 2)))
