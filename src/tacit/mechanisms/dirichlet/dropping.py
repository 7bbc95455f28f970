"""The cost of leaving empty blocks out at random: the factor by which the ratio grows. Proof in dirichlet.md, section 5.

A worker who moves into an empty block makes it certain that the block is kept, and one who moves out makes it a matter of chance.
With keep-chance p, draws m and an urn of mass A the two together cost at most (1/p) (p + (1 - p) G), where G = A(A+1)...(A+m-1)
over the same product from A - noise: what the other blocks gain when one is left out, about (1 + m/A)^noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.errors import InvalidBudget
from tacit.mechanisms.dirichlet.calibration import PublicFacts, allowed_ratio, probable_noise
from tacit.privacy.loss import probability
from tacit.privacy.rounding import Number, as_text, exp_up, float_up, log_down, log_up

ZERO = Fraction(0)
FEW_DRAWS = 64  # the product is multiplied out
SUMMED = 1 << 20  # logarithms that are summed one by one; an integral bounds those that follow
TERMS = 13  # of the series of a logarithm
BEYOND_FLOATS, TOO_SMALL = 2**1000, Fraction(1, 2**900)  # a mass, and a share of it, that floats do not hold to all digits
SUM_ERROR = Fraction(1, 2**40)  # relative, of that sum in floats: dirichlet.md, section 5
STEPS = 1000  # ratios inside a total are rounded down to thousandths


@dataclass(frozen=True, slots=True)
class Dropping:
    """The price of dropping, in epsilon: for a worker who leaves a block empty, for one who enters an empty block, and for both."""

    leaving: Fraction
    entering: Fraction
    both: Fraction

    @property
    def epsilon(self) -> Fraction:
        """The extra loss: what a neighbour can gain at most."""
        return max(self.leaving, self.entering, self.both)


@lru_cache(maxsize=4096)
def dropping(facts: PublicFacts, noise: Fraction) -> Dropping:
    """The extra epsilon, rounded up, at the facts' own draws and least mass.

    >>> from tacit.mechanisms.noise.urn import BlockClass

    The tutorial's keep-chance of 0.0378, with a million workers, as many draws, and noise 36/49:

    >>> price = dropping(PublicFacts(10**6, 10**6, (BlockClass(120_690, "0.0378"),)), Fraction(36, 49))
    >>> round(float(price.leaving), 4), round(float(price.entering), 4), round(float(price.epsilon), 4)
    (3.2754, 0.4941, 3.7695)
    """
    least = min(each.keep for each in facts.classes if each.blocks)
    if least == 1 or not facts.workers:
        return Dropping(ZERO, ZERO, ZERO)
    workers, draws, certain = facts.workers, facts.draws, facts.certain
    leaving = log_up(1 / least)
    one_empty = _entering_up(workers + max(certain + 1, 2) * noise, noise, draws, least)
    two_empty = _entering_up(workers + max(certain + 2, min(workers, 2) + 1) * noise, noise, draws, least)
    return Dropping(leaving, one_empty, leaving + two_empty)


def _entering_up(mass: Fraction, noise: Fraction, draws: int, keep: Fraction) -> Fraction:
    """At or above ln(p + (1 - p) G); where G is too large to write out, ln G bounds it."""
    if draws <= FEW_DRAWS:
        return log_up(keep + (1 - keep) * math.prod(((mass + i) / (mass + i - noise) for i in range(draws)), start=Fraction(1)))
    log = _log_gain_up(mass, noise, draws)
    return log_up(keep + (1 - keep) * exp_up(log)) if log < 1000 else log


def _log_gain_up(mass: Fraction, noise: Fraction, draws: int) -> Fraction:
    """At or above ln G, the sum of -ln(1 - noise / (mass + i)) over the draws i."""
    most = draws * log_up(Fraction(2))  # noise is at most half of the mass
    if mass > BEYOND_FLOATS:
        return most
    if noise < mass * TOO_SMALL:
        return 2 * draws * noise / mass  # -ln(1 - x) <= 2 x up to one half
    summed = min(draws, SUMMED)
    return min(most, _sum_up(mass, noise, summed) + _integral_up(mass + summed, noise, draws - summed))


def _sum_up(mass: Fraction, noise: Fraction, draws: int) -> Fraction:
    """The sum in floats, of 2 artanh(t) = 2 (t + t^3 / 3 + ...) at t = noise / (2 (mass + i) - noise), which is at most 1/3."""
    share = float_up(noise)
    at = share / (2 * (float(mass) + np.arange(draws, dtype=np.float64)) - share)
    squares, series = at * at, np.zeros(draws)
    for term in reversed(range(TERMS)):
        series *= squares
        series += 1 / (2 * term + 1)
    return Fraction(float((2 * at * series).sum())) * (1 + SUM_ERROR)


def _integral_up(mass: Fraction, noise: Fraction, draws: int) -> Fraction:
    """The same for many draws, in closed form: a term is at most the integral over the unit around it, since it is convex."""
    if not draws:
        return ZERO
    low, high = mass - Fraction(1, 2), mass + draws - Fraction(1, 2)
    upper = high * log_up(high) - (high - noise) * log_down(high - noise)
    return upper - (low * log_down(low) - (low - noise) * log_up(low - noise))


@dataclass(frozen=True, slots=True)
class Split:
    """A total ratio split into the ratio that the noise is calibrated to, and what dropping costs."""

    noise: Fraction
    ratio: Fraction
    extra: Fraction


def split_ratio(facts: PublicFacts, total: Number, delta: Number = 0) -> Split:
    """The largest ratio (in thousandths) that with the price of dropping stays within the total ratio, and its noise.

    Less ratio is more noise is a higher price, so the ratio falls from the total until all fits; a total too small is refused.
    """
    whole, weight = allowed_ratio(total, "total ratio"), probability(delta)
    epsilon, ratio = log_up(whole), whole
    while True:
        noise = probable_noise(facts, ratio, weight)
        extra = dropping(facts, noise).epsilon
        if log_up(ratio) + extra <= epsilon or not extra:
            return Split(noise, ratio, extra)
        left = Fraction(math.floor(STEPS * whole * exp_up(-extra)), STEPS)
        ratio = min(left, ratio - Fraction(1, STEPS))
        if ratio <= 1:
            raise InvalidBudget(
                f"a total ratio of {as_text(whole)} leaves nothing for the noise after what dropping costs; "
                "give a larger ratio, or keep-chances nearer to 1"
            )
