"""How far a sum of independent draws of noise goes, plain or weighted: one law for what several released numbers make together.

Proofs in added.md (plain sums) and weighted.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.calibrate import discrete_laplace_error
from tacit.privacy.rounding import log_up, sqrt_up

LISTED = 8_000  # the deviation, in units of the grid, up to which the law of a sum is computed whole
SLACK_OF_SUMS = 1e-8  # of what is computed so; a chance of a miss below 100 of it is bounded otherwise
REACH = 8  # deviations from the middle to the end of the list, and 50 scales more: beyond lies less than e^-23
UP = Context(prec=40, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)


@lru_cache(maxsize=1024)
def added_error(noise: str, scale: Fraction, count: int, missed: Fraction) -> int:
    """A whole k with P[|X_1 + ... + X_count| > k] <= missed, of independent discrete Laplace or Gaussian noise.

    >>> added_error("Laplace", Fraction(8), 1, Fraction(1, 20)), added_error("Laplace", Fraction(8), 3, Fraction(1, 20))
    (24, 40)
    """
    if scale == 0 or missed >= 1:
        return 0
    if noise == "Laplace" and count == 1:
        return discrete_laplace_error(scale, missed)
    deviation = float(scale) * math.sqrt((2 if noise == "Laplace" else 1) * count)
    if deviation <= LISTED and missed >= 100 * SLACK_OF_SUMS:
        return _listed_error(noise, float(scale), count, float(missed))
    return _laplace(scale, count, missed) if noise == "Laplace" else _gaussian(scale, count, missed)


def moments_error(noise: str, scale: Fraction, count: int, missed: Fraction) -> int:
    """The same by the moments of the noise alone: wider, and quick for any number of draws."""
    needed, width = math.log(2) - math.log(missed.numerator) + math.log(missed.denominator), float(scale)
    if noise == "Gaussian":
        return math.ceil(width * math.sqrt(2 * count * needed) * (1 + 1e-12))
    slopes = np.linspace(0.002, 0.998, 500) / width
    grown = 2 * math.log(-math.expm1(-1 / width)) - np.log(-np.expm1(slopes - 1 / width)) - np.log(-np.expm1(-slopes - 1 / width))
    return math.ceil(float(np.min((count * grown + needed) / slopes)) * (1 + 1e-9))


def _listed_error(noise: str, scale: float, count: int, missed: float) -> int:
    """From the law of the sum, listed."""
    return int(np.argmax(1 - listed_law(noise, scale, count) + SLACK_OF_SUMS <= missed))


@lru_cache(maxsize=16)
def listed_law(noise: str, scale: float, count: int) -> NDArray[np.float64]:
    """P[|X_1 + ... + X_count| <= k] for k = 0, 1, ..., to within `SLACK`, for a deviation of at most `LISTED`.

    The law is wrapped around a circle that is so long that what is wrapped does not count.
    """
    deviation = scale * math.sqrt((2 if noise == "Laplace" else 1) * count)
    size = 2 ** math.ceil(math.log2(2 * (REACH * deviation + 50 * scale + 50)))
    if noise == "Laplace":
        ratio = math.exp(-1 / scale)
        angles = 2 * np.pi * np.arange(size // 2 + 1) / size
        one = (1 - ratio) ** 2 / ((1 - ratio) ** 2 + 4 * ratio * np.sin(angles / 2) ** 2)
    else:
        places = np.minimum(np.arange(size), size - np.arange(size)).astype(np.float64)
        weights = np.exp(-(places**2) / (2 * scale**2))
        one = np.fft.rfft(weights / weights.sum()).real
    law = np.fft.irfft(one**count, size)
    inside: NDArray[np.float64] = law[0] + 2 * np.cumsum(np.concatenate([[0.0], law[1 : size // 2]]))
    inside.setflags(write=False)
    return inside


def _laplace(scale: Fraction, count: int, missed: Fraction) -> int:
    """By the sum of continuous noise, which is at most `count` away: a mixture of Gamma laws."""
    low, high = 0, math.ceil(scale)
    while _gamma_tail_up(count, high, scale) * 2 > missed:
        low, high = high, 2 * high
    while low + 1 < high and (high - low) * 2000 > high:
        middle = (low + high) // 2
        low, high = (low, middle) if _gamma_tail_up(count, middle, scale) * 2 <= missed else (middle, high)
    return high + count


def _gamma_tail_up(count: int, beyond: int, scale: Fraction) -> Fraction:
    """At or above P[Y_1 + ... + Y_count > beyond] of Laplace noise: sum over k of C(count-1+k, k) 2^-(count+k) Q(count-k, x)."""
    place = UP.divide(Decimal(beyond * scale.denominator), Decimal(scale.numerator))
    below = Context(prec=40, Emin=-(10**9), Emax=10**9).multiply(place, Decimal(1) - Decimal(10) ** -38)
    tails, term, total = [], UP.exp(-below), Decimal(0)
    for at in range(count):
        total = UP.add(total, term)
        tails.append(total)
        term = UP.divide(UP.multiply(term, place), Decimal(at + 1))
    weight, tail = UP.power(Decimal(2), Decimal(-count)), Decimal(0)
    for at in range(count):
        tail = UP.add(tail, UP.multiply(weight, tails[count - 1 - at]))
        weight = UP.divide(UP.multiply(weight, Decimal(count + at)), Decimal(2 * (at + 1)))
    return Fraction(UP.multiply(tail, Decimal("1.000001")))


def _gaussian(scale: Fraction, count: int, missed: Fraction) -> int:
    """By rounded continuous noise, which is at most half a step away for each; in the far tail by the moments of the noise."""
    safe = math.ceil(sqrt_up(2 * count * scale**2 * log_up(2 / missed)))
    deviation = float(scale) * math.sqrt(count)
    factor = math.exp(count / (24 * float(scale) ** 2)) * (1 + 1e-9) if scale >= 1 else math.inf
    wanted = float(missed)
    if wanted < 1e-250 or factor > 2:
        return safe
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if factor * math.erfc(middle / math.sqrt(2)) <= wanted else (middle, high)
    return min(safe, math.ceil(high * deviation * (1 + 1e-9) + count / 2))


# --- how far a weighted sum of independent draws of noise goes ---------------------------------------------------------------


Floats = NDArray[np.float64]

POINTS = 160  # at which the coarsest noise is summed
HALVINGS = 16  # of the interval in which a width is looked for
SLACK = 1e-10  # above what doubles lose
LEAST_MISS = 1e-7  # a smaller chance is bounded one by one
ERFC = (
    -0.6513268598908547, 0.6419697923564902, 0.019476473204185836, -0.009561514786808632, -0.0009465953444820369,
    0.00036683949785276145, 4.252332480690777e-05, -2.0278578112534242e-05, -1.6242900046470256e-06, 1.3036558355805232e-06,
    1.5626441722066142e-08, -8.523809591492654e-08, 6.5290544390988515e-09, 5.059343495551469e-09, -9.91364156493033e-10,
    -2.273651222931836e-10, 9.646791102015527e-11, 2.3940380830391146e-12, -6.886027526497553e-12, 8.944879273090722e-13,
    3.130921399342962e-13, -1.1270822361367115e-13, 3.810905255097813e-16, 7.106097613630246e-15, -1.5230282014484016e-15,
    -9.457494594664812e-17, 1.2102371970404282e-16, -2.816663146506955e-17,
)  # fmt: skip  # of ln(e^(x^2) erfc(x) / t) in 2 t - 1, t = 2 / (2 + x)
MOST_ADDED = 32  # draws of Laplace noise in one fine noise
MOST_FINE = 5  # Laplace noises whose sum has a closed form that doubles can bear
APART = {1: 1.0, 2: 1.02, 3: 1.05, 4: 1.08, 5: 1.1}  # the least ratio of their scales for that, by how many there are


@dataclass(frozen=True, slots=True)
class Draws:
    """The sum of `count` independent draws of discrete Laplace or Gaussian noise on the integers; of scale 0 it is 0."""

    noise: str
    scale: Fraction
    count: int = 1

    @property
    def drift(self) -> float:
        """How far the discrete noise is at most from the continuous one of the same scale that stands for it."""
        if self.noise == "Gaussian":
            return self.count / 2
        scale = float(self.scale)
        return self.count * max(0.5, 1 - scale * math.log(2 / (1 + math.exp(-1 / scale))) + 1e-9)

    @property
    def factor(self) -> float:
        """How much likelier an event can be under the discrete noise than under the rounded continuous one."""
        return math.exp(self.count / (24 * float(self.scale) ** 2)) if self.noise == "Gaussian" else 1.0

    def error(self, missed: Fraction) -> float:
        """A whole k that it exceeds with a chance of at most `missed`."""
        return float(added_error(self.noise, self.scale, self.count, missed))


def weighted_error(draws: Sequence[Draws], weights: Floats, missed: Fraction, least: Sequence[float] | None = None) -> Floats:
    """For every row of weights w a k with P[|v_1 X_1 + ... + v_n X_n| > k] <= missed, for all weights v with least <= |v| <= |w|.

    Without `least`, for the weights of the row and no other; of the last of the draws, for all smaller weights either way. That
    one is summed place by place: it should be the coarsest.

    >>> laplace = Draws("Laplace", Fraction(220)), Draws("Laplace", Fraction(2))
    >>> [int(width) for width in weighted_error(laplace, np.array([[1.0, 0.0], [1.0, 110.0]]), Fraction(1, 20))]
    [659, 901]
    """
    sizes = np.abs(np.asarray(weights, dtype=np.float64))
    live = [at for at, each in enumerate(draws) if each.scale > 0 and sizes[:, at].any()]
    if not live:
        return np.zeros(len(sizes))
    noises, sizes = [draws[at] for at in live], sizes[:, live]
    smallest = sizes if least is None else np.minimum(sizes, np.asarray(least)[live])
    alone = sum((sizes[:, at] * each.error(missed / len(live)) for at, each in enumerate(noises)), start=np.zeros(len(sizes)))
    if len(live) == 1 or missed < LEAST_MISS or not _is_listed(noises[-1], missed) or not _is_summed(noises[:-1]):
        return np.asarray(alone)
    places, chances = _listed_chances(noises[-1], missed)
    law = _Law(noises[:-1], sizes[:, :-1])
    gaps = np.where(_is_even(noises, sizes, smallest), 0.0, sizes[:, -1])
    return np.minimum(alone, _least(law, gaps, np.outer(sizes[:, -1], places), chances, alone, float(missed)))


def _is_summed(fine: Sequence[Draws]) -> bool:
    """Whether the law of the sum of these noises has a closed form."""
    alone = len(fine) == 1 and fine[0].noise == "Laplace" and fine[0].count <= MOST_ADDED
    return alone or (all(map(_is_smooth, fine)) and sum(noise.noise == "Laplace" for noise in fine) <= MOST_FINE)


def _is_even(noises: Sequence[Draws], weights: Floats, least: Floats) -> NDArray[np.bool_]:
    """For each row, whether the chance of a miss only grows with the fine weights; a step of the last noise may stand out else."""
    fine = [at for at, noise in enumerate(noises[:-1]) if noise.noise == "Laplace"]
    if len(fine) <= 1 and np.array_equal(weights[:, :-1], least[:, :-1]):
        return np.ones(len(weights), dtype=np.bool_)  # they are what they are
    if not fine or noises[-1].noise != "Laplace" or noises[-1].count > 1:
        return np.zeros(len(weights), dtype=np.bool_)
    widest = np.max([least[:, at] * float(noises[at].scale) for at in fine], axis=0)
    return np.asarray(widest >= weights[:, -1] * float(noises[-1].scale))


def _is_smooth(noise: Draws) -> bool:
    """Whether continuous noise can stand for it."""
    return noise.count == 1 if noise.noise == "Laplace" else noise.scale >= 1 and noise.factor < 2


def _is_listed(noise: Draws, missed: Fraction) -> bool:
    """Whether the chances of single places, or of stretches of them, are known."""
    if noise.noise == "Laplace" and noise.count == 1:
        return True
    deviation = float(noise.scale) * math.sqrt((2 if noise.noise == "Laplace" else 1) * noise.count)
    return _is_smooth(noise) or (deviation <= LISTED and missed >= 100 * LEAST_MISS)


def _least(law: _Law, gaps: Floats, shifts: Floats, chances: Floats, enough: Floats, missed: float) -> Floats:
    """By halving, the least width for which the chances of a miss at every shift add up to at most `missed`."""
    low, high = np.zeros_like(enough), enough.copy()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        room = (middle - law.drift - gaps)[:, None]
        miss = (law.tail(room - shifts) + law.tail(room + shifts)) @ chances[:-1] + chances[-1]
        holds = (room[:, 0] > 0) & (law.factor * miss * (1 + 1e-9) + SLACK <= missed)
        low, high = np.where(holds, low, middle), np.where(holds, middle, high)
    return high * (1 + 1e-9)


class _Law:
    """The continuous sum of fine noises, row by row of their weights: its tail, and how far the discrete one is from it."""

    def __init__(self, noises: Sequence[Draws], weights: Floats) -> None:
        self.drift = weights @ np.array([each.drift for each in noises])
        self.factor = math.prod(each.factor for each in noises)
        self.count = noises[0].count if noises[0].noise == "Laplace" else 1  # above 1 for a noise that is alone
        laplace = [at for at, each in enumerate(noises) if each.noise == "Laplace"]
        normal = [at for at, each in enumerate(noises) if each.noise == "Gaussian"]
        self.scales = _apart(weights[:, laplace] * np.array([float(noises[at].scale) for at in laplace])) if laplace else None
        deviations = np.array([float(noises[at].scale) * math.sqrt(noises[at].count) for at in normal])
        self.deviation = np.sqrt(weights[:, normal] ** 2 @ deviations**2)[:, None] if normal else None

    def tail(self, beyond: Floats) -> Floats:
        """P[sum > beyond], for each row of weights."""
        far = np.abs(beyond)
        upper = self._upper(far)
        return np.where(beyond >= 0, upper, 1 - upper)

    def _upper(self, far: Floats) -> Floats:
        if self.count > 1 and self.scales is not None:
            return added_tail(far / self.scales, self.count)
        if self.scales is None:
            return normal_tail(far, self.deviation)  # type: ignore[arg-type]  # without Laplace noise there is Gaussian
        one = laplace_tail if self.deviation is None else _mixed_tail(self.deviation)
        chance = np.zeros_like(far)
        for at in range(self.scales.shape[1]):
            scale = self.scales[:, at, None]
            share = np.ones_like(scale)
            for other in range(self.scales.shape[1]):
                if other != at:
                    share = share * scale**2 / (scale**2 - self.scales[:, other, None] ** 2)
            chance += share * one(far, scale)
        return chance


def _apart(scales: Floats) -> Floats:
    """The scales in order, each made larger where it is too near to the one below for the closed form."""
    kept = np.sort(scales, axis=1)
    kept = np.maximum(kept, 1e-6 * kept[:, -1:] + 1e-140)
    apart = APART[kept.shape[1]]
    for at in range(1, kept.shape[1]):
        kept[:, at] = np.maximum(kept[:, at], apart * kept[:, at - 1])
    return kept


def laplace_tail(far: Floats, scale: Floats) -> Floats:
    """P[L > far] for continuous Laplace noise, far >= 0."""
    return np.asarray(np.exp(-far / scale) / 2)


def added_tail(far: Floats, count: int) -> Floats:
    """P[L_1 + ... + L_count > far] for continuous Laplace noise of scale 1, far >= 0: a mixture of Gamma laws (added.md)."""
    shares = np.cumsum([math.comb(count - 1 + at, at) * 2.0 ** -(count + at) for at in range(count)])
    term = np.exp(-far)
    total = shares[-1] * term
    for at in range(1, count):
        term = term * far / at
        total += shares[count - 1 - at] * term
    return np.asarray(total)


def normal_tail(far: Floats, deviation: Floats) -> Floats:
    """P[Z > far] for normal noise, far >= 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.where(deviation > 0, far / (deviation * math.sqrt(2)), np.inf)
    return np.asarray(np.exp(-(place**2)) * scaled_erfc(place) / 2)


def _mixed_tail(deviation: Floats) -> Callable[[Floats, Floats], Floats]:
    """P[L + Z > far] for Laplace and normal noise, far >= 0; with d the deviation, s the scale and u = far / d:

    P[Z > far] + e^(-u^2/2) (g((d/s - u) / sqrt 2) - g((d/s + u) / sqrt 2)) / 4, where g(x) = e^(x^2) erfc(x).
    """

    def tail(far: Floats, scale: Floats) -> Floats:
        spread = np.maximum(deviation, 1e-9 * scale)
        ratio, place = spread / scale, far / spread
        near, apart = np.exp(-(place**2) / 2), (ratio - place) / math.sqrt(2)
        mirrored = near * scaled_erfc(np.abs(apart))
        with np.errstate(over="ignore"):
            first = np.where(apart >= 0, mirrored, 2 * np.exp(np.minimum(ratio**2 / 2 - far / scale, 0.0)) - mirrored)
        return np.asarray(normal_tail(far, spread) + (first - near * scaled_erfc((ratio + place) / math.sqrt(2))) / 4)

    return tail


def scaled_erfc(place: Floats) -> Floats:
    """e^(x^2) erfc(x) for x >= 0, with a relative error below 1e-14: t e^P(t) with t = 2 / (2 + x), P a Chebyshev series.

    The method of Press et al. 2007 (Numerical Recipes, section 6.2), with coefficients computed to 40 digits.
    """
    part = 2 / (2 + place)
    return np.asarray(part * np.exp(np.polynomial.chebyshev.chebval(2 * part - 1, ERFC)))


@lru_cache(maxsize=256)
def _listed_chances(noise: Draws, missed: Fraction) -> tuple[Floats, Floats]:
    """Places of |Y| with their chances, each chance put at the far end of its stretch; the last chance is beyond all places."""
    reach = noise.error(missed / 1000) + 1
    edges = np.unique(np.ceil(np.linspace(0, reach + 1, POINTS)))
    beyond = np.array([1.0, *(_beyond(noise, edge) for edge in edges[1:])])
    beyond = np.minimum.accumulate(np.minimum(beyond, 1.0))
    return edges[1:] - 1, np.concatenate([beyond[:-1] - beyond[1:], beyond[-1:]])


def _beyond(noise: Draws, place: float) -> float:
    """At or above P[|Y| >= place], place >= 1 and whole."""
    scale = float(noise.scale)
    if noise.noise == "Laplace" and noise.count == 1:
        return 2 * math.exp(-place / scale) / (1 + math.exp(-1 / scale)) * (1 + 1e-12)
    if noise.noise == "Gaussian" and _is_smooth(noise) and scale > 100:  # else half a step would be wide
        return noise.factor * math.erfc((place - noise.count / 2) / (scale * math.sqrt(2 * noise.count))) * (1 + 1e-9)
    inside = listed_law(noise.noise, scale, noise.count)
    return float(1 - inside[min(int(place) - 1, len(inside) - 1)]) + 1e-8
