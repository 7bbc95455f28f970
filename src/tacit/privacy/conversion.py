"""Zero-concentrated privacy: the rho of a pure event, and the largest rho that a cap (epsilon, delta) admits.

accounting/filter.md proves the second, accounting/composition.md the first. Both are rounded against us; no float is believed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from tacit.privacy.rounding import exp_up, log_down, log_up, sqrt_up

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


@lru_cache(maxsize=1024)
def largest_rho_down(epsilon: Fraction, delta: Fraction) -> Fraction:
    """At or below the largest rho that is (epsilon, delta) by the tight conversion, by at most 10^-12 of it; delta > 0.

    Each order a > 1 admits a rho (`admitted_rho_down`), and the best order is found in floats: any order is sound, so what is
    returned rests on one evaluation, rounded down. The order of the closed form (Bun and Steinke 2016, Proposition 1.3) is tried
    too, for budgets beyond floats.

    >>> round(float(largest_rho_down(Fraction(1), Fraction(1, 10**6))), 6)          # the closed form has 0.017469
    0.024356
    """
    log = log_up(1 / delta)
    root = epsilon / (sqrt_up(log + epsilon) + sqrt_up(log))  # sqrt(L + epsilon) - sqrt L
    beyond = [(epsilon - root**2) / (2 * root**2)]
    if epsilon < LARGE and 1 / LARGE < log < LARGE:
        beyond.append(_best_order(lambda above: _rho(float(epsilon), float(log), above)))
    return max(admitted_rho_down(epsilon, delta, above) for above in beyond)


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
