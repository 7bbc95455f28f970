"""Randomized response: each person flips their own bit with probability `flip` before it leaves them. Proof beside it.

With flip p the report of a bit b has mean p + (1 - 2p) b, so (mean of reports - p) / (1 - 2p) is unbiased for the mean of the
bits. (Lecture notes are found that print it with p and 1 - p swapped: that converges to one minus the mean.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import RandomizedAnswer
from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.additive import decimal
from tacit.mechanisms.noise import choice, grid
from tacit.mechanisms.unseal import opened
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import CHANGE_ONE, Neighbours, Pure, positive_budget
from tacit.privacy.rounding import Number, as_text, exact, exp_down, float_up, log_up, sqrt_up

HALF = Fraction(1, 2)
MOST_BITS_LISTED = 12


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """Flips each bit with probability `flip`, the least that keeps ln((1 - flip)/flip) within `epsilon` (Warner 1965).

    >>> print(RandomizedResponse(epsilon=1).loss, float(RandomizedResponse(epsilon=1).flip))
    pure epsilon 1 (change one row) 0.2689414213699951
    >>> fair = RandomizedResponse.two_coin(second="1/2")
    >>> fair.flip, float(fair.epsilon)
    (Fraction(1, 4), 1.0986122886681098)
    """

    epsilon: Fraction
    flip: Fraction = field(init=False)
    neighbours: Neighbours = CHANGE_ONE

    def __init__(self, epsilon: Number, neighbours: Neighbours = CHANGE_ONE) -> None:
        budget = positive_budget(epsilon)
        self._set(budget, 1 / (1 + exp_down(budget)), neighbours)

    def _set(self, epsilon: Fraction, flip: Fraction, neighbours: Neighbours) -> None:
        if neighbours.change != "change-one":
            raise InvalidInput(
                f"neighbours must be 'change-one', because randomized response hides answers, not who answers; it is '{neighbours}'"
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "flip", flip)
        object.__setattr__(self, "neighbours", neighbours)

    @classmethod
    def with_flip(cls, flip: Number, neighbours: Neighbours = CHANGE_ONE) -> RandomizedResponse:
        """Flips with exactly this probability, above 0 and at most 1/2; epsilon is ln((1 - flip)/flip), rounded up.

        >>> RandomizedResponse.with_flip("1/2").epsilon
        Fraction(0, 1)
        """
        chance = _flip(flip)
        if chance == 0:
            raise InvalidInput(
                "flip must be above 0: at 0 every report is the true answer and epsilon is infinite; give for example flip=1/4",
                argument="flip",
            )
        made = object.__new__(cls)
        made._set(log_up((1 - chance) / chance) if chance < HALF else Fraction(0), chance, neighbours)
        return made

    @classmethod
    def two_coin(cls, second: Number, neighbours: Neighbours = CHANGE_ONE) -> RandomizedResponse:
        """A first fair coin: heads, tell the truth; tails, lie with probability `second`. It flips with half of that."""
        lie = exact(second, "second")
        if not 0 < lie <= 1:
            raise InvalidInput(
                f"second, the probability that the second coin says lie, must be above 0 and at most 1, not {second}"
            )
        return cls.with_flip(lie / 2, neighbours)

    @property
    def event(self) -> RandomizedAnswer:
        """The event that the ledger records for one release."""
        return RandomizedAnswer(self.epsilon, self.neighbours)

    @property
    def loss(self) -> Pure:
        """The loss that is claimed for one release, under its relation."""
        return Pure(self.epsilon, self.neighbours)

    def release(self, bits: Any) -> Any:
        """The reports: each bit, flipped with probability `flip`; a 0 or 1 for one bit, an int8 array for an array."""
        truth = _bits(opened(bits))
        flipped = choice.bernoulli(self.flip, truth.size).reshape(truth.shape)
        reports = (truth ^ flipped).astype(np.int8)
        return reports if truth.ndim else int(reports)

    def law(self, bits: Any) -> Law:
        """The law of `release(bits)`, for one bit or a few."""
        truth = _bits(opened(bits))
        if truth.size > MOST_BITS_LISTED:
            raise InvalidInput(f"the law of {truth.size} bits has too many outcomes to list; give at most {MOST_BITS_LISTED} bits")
        chances = {True: decimal(self.flip), False: decimal(1 - self.flip)}
        listed: dict[Any, Decimal] = {}
        for reports in product((0, 1), repeat=truth.size):
            weight = Decimal(1)
            for report, bit in zip(reports, truth.flat, strict=True):
                weight = ARITHMETIC.multiply(weight, chances[report != bit])
            listed[reports if truth.ndim else reports[0]] = weight
        return Law(listed)

    def estimate(self, reports: Any) -> float:
        """The unbiased estimate of the share of ones among the true bits; it may fall outside [0, 1], and clamping is free.

        >>> RandomizedResponse.with_flip("1/4").estimate([1, 1, 0, 1])
        1.0
        """
        seen = _bits(reports)
        share = Fraction(int(np.count_nonzero(seen)), seen.size)
        return float((share - self.flip) / self._slope())

    def variance(self, people: int) -> Fraction:
        """The exact variance of the estimate, p (1 - p) / (n (1 - 2p)^2), whatever the true bits are."""
        return self.flip * (1 - self.flip) / (_people(people) * self._slope() ** 2)

    def error(self, people: int, confidence: Number = 0.95, bound: str = "hoeffding") -> Interval:
        """Where the true share lies around the estimate from `people` reports, by one of `BOUNDS`.

        >>> answers = RandomizedResponse.with_flip("1/4")
        >>> [f"{answers.error(20000, 0.95, bound).above:.6f}" for bound in BOUNDS]
        ['0.031623', '0.027386', '0.019206', '0.012002']
        """
        if bound not in BOUNDS:
            raise InvalidInput(f"bound must be one of {', '.join(BOUNDS)}, not {bound!r}", argument="bound")
        sure = exact(confidence, "confidence")
        if not 0 < sure < 1:
            raise InvalidInput(
                f"confidence must be above 0 and below 1, not {confidence}; give for example confidence=0.95", argument="confidence"
            )
        self._slope()
        half_width = BOUNDS[bound](self.flip, _people(people), 1 - sure)
        return Interval(half_width, half_width)

    def posterior(self, prior: Number, report: int) -> Fraction:
        """The probability that the bit is 1 after `report`, given the belief `prior` before."""
        return posterior(self.flip, prior, report)

    def chart(self, path: str | None = None, people: int = 1000) -> Any:
        """How far the estimate of `people` people falls from the truth: half, once and twice epsilon, with the interval."""
        from tacit.chart import noise_picture, save

        band = self.error(people)
        several = {as_text(factor * self.epsilon): RandomizedResponse(factor * self.epsilon) for factor in (HALF, 1, 2)}
        curves = {f"epsilon {name}": _error_curve(each.flip, people, 2 * band.above) for name, each in several.items()}
        title = f"Randomized response: error of a share among {people} people, {band} at 95 %"
        return save(noise_picture(curves, (-band.below, band.above), title), path)

    def _slope(self) -> Fraction:
        if self.flip == HALF:
            raise InvalidInput("flip must be below 1/2: at 1/2 the reports contain no information about the bits", argument="flip")
        return 1 - 2 * self.flip


Bound = Callable[[Fraction, int, Fraction], float]  # flip, people, chance of a miss: the half-width


def _chebyshev_as_printed(flip: Fraction, people: int, miss: Fraction) -> float:
    """Chebyshev with the variance of a report bounded by 1/4 (Ziani's lecture, Theorem 5): right, and loose."""
    return float_up(sqrt_up(1 / (4 * people * (1 - 2 * flip) ** 2 * miss)))


def _chebyshev(flip: Fraction, people: int, miss: Fraction) -> float:
    """Chebyshev with the exact variance."""
    return float_up(sqrt_up(flip * (1 - flip) / (people * (1 - 2 * flip) ** 2 * miss)))


def _hoeffding(flip: Fraction, people: int, miss: Fraction) -> float:
    """Hoeffding 1963: reports are independent, each 0 or 1, whatever the bits."""
    return float_up(sqrt_up(log_up(2 / miss) / (2 * people)) / (1 - 2 * flip))


def _normal(flip: Fraction, people: int, miss: Fraction) -> float:
    """The central limit theorem: an approximation for many people, not a guarantee."""
    from scipy.special import ndtri

    variance = flip * (1 - flip) / (people * (1 - 2 * flip) ** 2)
    return float(-ndtri(float(miss / 2))) * float(sqrt_up(variance))


BOUNDS: Mapping[str, Bound] = MappingProxyType(
    {"chebyshev as printed": _chebyshev_as_printed, "chebyshev": _chebyshev, "hoeffding": _hoeffding, "normal": _normal}
)


def posterior(flip: Number, prior: Number, report: int) -> Fraction:
    """Bayes' rule for a reported bit; `flip` may be any probability up to 1/2, and 0 means no randomization.

    Two cases of a lecture (Ziani): flip 1/2 leaves the prior as it was, flip 0 gives the bit away.

    >>> posterior("1/2", prior=0.3, report=1), posterior(0, prior=0.3, report=1), posterior(0.25, prior=0.5, report=1)
    (Fraction(3, 10), Fraction(1, 1), Fraction(3, 4))
    """
    lie, before = _flip(flip), exact(prior, "prior")
    if not 0 <= before <= 1:
        raise InvalidInput(f"prior must be a probability from 0 to 1, not {prior}", argument="prior")
    if report not in (0, 1):
        raise InvalidInput("report must be 0 or 1", argument="report")
    if_one, if_zero = (1 - lie, lie) if report else (lie, 1 - lie)
    seen = if_one * before + if_zero * (1 - before)
    if seen == 0:
        raise InvalidInput(f"with flip 0 and prior {prior} the report {report} cannot occur, so it has no posterior")
    return if_one * before / seen


def _flip(flip: Number) -> Fraction:
    chance = exact(flip, "flip")
    if not 0 <= chance <= HALF:
        raise InvalidInput(f"flip must be a probability of at most 1/2 (above it, invert the reports), not {flip}", argument="flip")
    return chance


def _people(people: int) -> int:
    if isinstance(people, bool) or not isinstance(people, int) or people < 1:
        raise InvalidInput(f"people must be a whole number of at least 1, not {people!r}", argument="people")
    return people


def _bits(value: Any) -> NDArray[np.bool]:
    array = grid.read_array(value if grid.is_array(value) else [value])
    if array.size == 0:
        raise InvalidValue("bits must not be empty; give at least one", argument="bits")
    if not _are_bits(array):
        raise InvalidValue("randomized response supports only bits: 0 or 1 (False or True)")
    return array.astype(np.bool) if grid.is_array(value) else array.astype(np.bool)[0]


def _are_bits(array: NDArray[Any]) -> bool:
    try:
        return bool(np.isin(array, (0, 1)).all())
    except (ArithmeticError, TypeError):  # what cannot even be compared with 0
        return False


def _error_curve(flip: Fraction, people: int, reach: float) -> tuple[list[float], list[float]]:
    """Where the estimate falls when every bit is 0, as a density: a binomial, moved and stretched."""
    lie, slope = float(flip), float(1 - 2 * flip)
    spread = range(max(0, math.ceil(people * (lie - reach * slope))), min(people, math.floor(people * (lie + reach * slope))) + 1)
    whole = math.lgamma(people + 1)
    logs = [
        whole - math.lgamma(k + 1) - math.lgamma(people - k + 1) + k * math.log(lie) + (people - k) * math.log1p(-lie)
        for k in spread
    ]
    return [(k / people - lie) / slope for k in spread], [math.exp(log) * people * slope for log in logs]
