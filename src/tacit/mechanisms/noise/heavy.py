"""Heavy-tailed noise: density proportional to 1 / (1 + |z|^gamma), drawn exactly and listed to 50 digits.

Its logarithm moves slowly both when the noise is shifted and when it is stretched, which is what a scale that depends on the
data needs (Nissim, Raskhodnikova and Smith 2007). The sampler rejects from the envelope min(1, |z|^-gamma), in integers
throughout; how many proposals it takes says nothing of the scale, which it never sees. Proofs in heavy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.noise.enclosure import Enclosure
from tacit.mechanisms.noise.lazy import WORD, Draw, Known, Shape, Words, as_array, draw_of, extended, sign_of, uniform_from, words
from tacit.mechanisms.noise.pool import drawn_ahead
from tacit.privacy.rounding import Number, as_text, exact

LEAST_GAMMA = Fraction(3, 2)  # below it draws are so large that the time of their arithmetic tells their size: see heavy.md, "Time"
LARGEST_TERM = 64  # of gamma in lowest terms: the sampler raises integers to such powers
GUARD = 15  # digits that the sums below may lose


@dataclass(frozen=True, slots=True)
class HeavyTails:
    """Noise of density proportional to 1 / (1 + |z|^gamma), for a rational gamma of at least 3/2.

    >>> f"{2 * HeavyTails(2).within(Fraction(1), 20):.5f} {2 * HeavyTails(4).within(Fraction(1), 20):.5f}"
    '0.50000 0.78055'
    """

    gamma: Fraction

    def __init__(self, gamma: Number) -> None:
        object.__setattr__(self, "gamma", _read_gamma(gamma))

    def draw(self) -> Draw:
        """One draw, from a block drawn ahead."""
        taken: Draw = drawn_ahead(heavy_draws, self.gamma, 1)[0]
        return taken

    def within(self, size: Fraction, digits: int) -> Decimal:
        """P[0 < Z <= size], to that many digits."""
        if size > 1:
            return Context(prec=digits + GUARD).subtract(Decimal("0.5"), self.beyond(size, digits))
        return Context(prec=digits + GUARD).divide(_body(self.gamma, size, digits), _total(self.gamma, digits))

    def beyond(self, size: Fraction, digits: int) -> Decimal:
        """P[Z > size], to that many digits."""
        if size < 1:
            return Context(prec=digits + GUARD).subtract(Decimal("0.5"), self.within(size, digits))
        return Context(prec=digits + GUARD).divide(_tail(self.gamma, size, digits), _total(self.gamma, digits))

    def density(self, size: float) -> float:
        """The density of Z at a size."""
        angle = math.pi / float(self.gamma)
        return math.sin(angle) / (2 * angle) / (1 + math.pow(abs(size), float(self.gamma)))


def heavy_draws(gamma: Fraction, size: int) -> NDArray[np.object_]:
    """`size` exact draws.

    >>> len(heavy_draws(Fraction(4), size=3))
    3
    """
    source, top, bottom = words(), gamma.numerator, gamma.denominator
    shapes = (_size_within, partial(_size_beyond, bottom, top - bottom))
    return as_array([_draw(top, bottom, shapes, source) for _ in range(size)])


def _draw(top: int, bottom: int, shapes: tuple[Shape, Shape], source: Words) -> Draw:
    """Rejection for gamma = top / bottom: a uniform size up to 1, or a power of a uniform number beyond, kept or drawn anew."""
    while True:
        beyond = uniform_from(top, source) < bottom  # the envelope has 1/gamma of its weight beyond 1
        known = _keep(top, top - bottom if beyond else bottom, source)
        if known is not None:
            return draw_of(sign_of(next(source)), shapes[beyond], known, source)


def _keep(top: int, power: int, source: Words) -> Known | None:
    """A uniform U, kept where a second one W has U^top W^power < (1 - W)^power: with probability 1 / (1 + U^(top/power))."""
    one, other = (next(source), WORD), (next(source), WORD)
    while True:
        (u, length), (w, _) = one, other
        unit = 1 << length
        if (u + 1) ** top * (w + 1) ** power <= (unit - w - 1) ** power << length * top:
            return one
        if u**top * w**power >= (unit - w) ** power << length * top:
            return None
        one, other = extended(one, source), extended(other, source)


def _size_within(known: Known) -> Enclosure:
    return known[0], known[0] + 1


def _size_beyond(bottom: int, degree: int, known: Known) -> Enclosure:
    """V^(-bottom/degree) for V in [prefix, prefix + 1] / 2^length, which is at least 1."""
    prefix, length = known
    unit = 1 << length * (degree + bottom)
    return integer_root(unit // (prefix + 1) ** bottom, degree), integer_root(-(-unit // prefix**bottom), degree) + 1


def integer_root(number: int, degree: int) -> int:
    """The floor of the root of a whole number, by Newton's method from above.

    >>> integer_root(26, 3), integer_root(27, 3)
    (2, 3)
    """
    if degree == 1 or number == 0:
        return number
    guess = 1 << -(-number.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + number // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better


@lru_cache(maxsize=64)
def _total(gamma: Fraction, digits: int) -> Decimal:
    """The integral of 1 / (1 + |z|^gamma) over all z, which is 2 (pi/gamma) / sin(pi/gamma)."""
    context = Context(prec=digits + GUARD)
    return context.multiply(2, context.add(_body(gamma, Fraction(1), digits), _tail(gamma, Fraction(1), digits)))


@lru_cache(maxsize=4096)
def _body(gamma: Fraction, size: Fraction, digits: int) -> Decimal:
    """The integral from 0 to size <= 1: size * F(1/gamma, size^gamma)."""
    context = Context(prec=digits + GUARD)
    return context.multiply(_decimal(size, context), _hypergeometric(1 / gamma, _power(size, gamma, context), context))


@lru_cache(maxsize=4096)
def _tail(gamma: Fraction, size: Fraction, digits: int) -> Decimal:
    """The integral from size >= 1 on: size^(1 - gamma) / (gamma - 1) * F(1 - 1/gamma, size^-gamma)."""
    context = Context(prec=digits + GUARD)
    inverse = _power(1 / size, gamma, context)
    factor = context.multiply(context.multiply(_decimal(size, context), inverse), _decimal(1 / (gamma - 1), context))
    return context.multiply(factor, _hypergeometric(1 - 1 / gamma, inverse, context))


def _hypergeometric(order: Fraction, y: Decimal, context: Context) -> Decimal:
    """2F1(1, order; 1 + order; -y) for 0 <= y <= 1.

    By Pfaff's transformation, the sum of n! / (1 + order)_n * t^n over 1 + y, with t = y / (1 + y) <= 1/2: no term is negative.
    """
    ratio = context.divide(y, context.add(1, y))
    term = total = Decimal(1)
    n = 0
    while term.adjusted() > -context.prec:
        n += 1
        step = context.divide(Decimal(n * order.denominator), Decimal(n * order.denominator + order.numerator))
        term = context.multiply(context.multiply(term, step), ratio)
        if not term:
            break
        total = context.add(total, term)
    return context.divide(total, context.add(1, y))


def _power(size: Fraction, exponent: Fraction, context: Context) -> Decimal:
    base = _decimal(size, context)
    if not base or exponent.denominator == 1:
        return context.power(base, exponent.numerator) if base else Decimal(0)
    return context.exp(context.multiply(context.ln(base), _decimal(exponent, context)))


def _decimal(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _read_gamma(gamma: Number) -> Fraction:
    number = exact(gamma, "gamma")
    if number < LEAST_GAMMA:
        raise InvalidInput(
            f"gamma must be at least 3/2, not {as_text(number)}: "
            "with heavier tails, the time of a release reveals the size of its noise; give for example gamma=4"
        )
    if max(number.numerator, number.denominator) > LARGEST_TERM:
        raise InvalidInput(
            f"gamma must be a fraction with terms of at most {LARGEST_TERM}, not {as_text(number)}; give for example gamma=4"
        )
    return number
