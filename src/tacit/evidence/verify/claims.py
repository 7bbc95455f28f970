"""How far apart two listed laws are, in the measure of a claim: the exact side of every check.

A law that lists a window of outcomes gives a lower bound, since the unlisted outcomes can only add. So a measure above its
claim is a breach for certain; a measure within it is a proof only where nothing is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce, singledispatch
from typing import Any

from tacit.errors import InvalidInput
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Approximate, Concentrated, Loss, Probabilistic, Pure
from tacit.privacy.rounding import as_text

INFINITE = Decimal("Infinity")
TOLERANCE = Decimal("1e-25")  # laws carry 50 digits; sums over their windows and logarithms cost a few of them
HALF = Decimal("0.5")
ORDERS = (1 + HALF, Decimal(2), Decimal(4), Decimal(16))  # of the Renyi divergence that a concentrated claim bounds
Odds = tuple[Decimal, Decimal]  # the probabilities of one outcome under the two laws


def least_parameter(loss: Loss, one: Law, other: Law) -> Decimal:
    """The least parameter (epsilon; rho for a concentrated claim) with which the claim holds for these laws in this order.

    >>> coin, flipped = Law({0: Decimal("0.25"), 1: Decimal("0.75")}), Law({0: Decimal("0.75"), 1: Decimal("0.25")})
    >>> round(least_parameter(Pure(1), coin, flipped), 6), round(least_parameter(Approximate(1, 0.5), coin, flipped), 6)
    (Decimal('1.098612'), Decimal('0.000000'))
    """
    with localcontext(ARITHMETIC):
        return _least(loss, _most_telling(one, other))


def measured_both_ways(loss: Loss, one: Law, other: Law) -> Decimal:
    """The larger of the two orders, as a claim is about both."""
    return max(least_parameter(loss, one, other), least_parameter(loss, other, one))


def claimed_parameter(loss: Loss) -> Fraction:
    """The parameter of the claim that `least_parameter` is compared with."""
    return loss.rho if isinstance(loss, Concentrated) else loss.epsilon


def within(loss: Loss, measure: Decimal) -> bool:
    """Whether a measure is not above the claim."""
    return measure <= as_decimal(claimed_parameter(loss)) + TOLERANCE


def parameter(loss: Loss) -> str:
    """The claim in a few words, with its parameter. A truncation's delta is too small to print.

    >>> parameter(Pure(1)), parameter(Approximate(1, 1e-6)), parameter(Concentrated(0.5))
    ('epsilon 1', 'epsilon 1, delta 1e-06', 'rho 0.5')
    """
    name = "rho" if isinstance(loss, Concentrated) else "epsilon"
    delta = f", delta {as_text(loss.delta)}" if loss.delta > Fraction(1, 10**30) else ""
    return f"{name} {as_text(claimed_parameter(loss))}{delta}"


def as_decimal(number: Fraction) -> Decimal:
    """A rational with 50 digits."""
    return ARITHMETIC.divide(Decimal(number.numerator), Decimal(number.denominator))


def only_one_can(one: Law, other: Law) -> Decimal:
    """The weight of the outcomes that `one` produces and `other`, for certain, never does."""
    if other.missing > 0:
        return Decimal(0)
    return sum((p for outcome, p in one.probabilities.items() if not other.probabilities.get(outcome)), start=Decimal(0))


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """All outcomes that one of two laws lists and the other does not, as one outcome."""

    side: str


def align(one: Law, other: Law) -> tuple[Law, Law]:
    """Both laws, each with all outcomes that the other does not list as one outcome.

    Windows that end at different places could otherwise lend a function of the outcome a ratio that is not there.
    """
    return _gather_unlisted(one, other, Elsewhere("one")), _gather_unlisted(other, one, Elsewhere("other"))


def law_of_function(law: Law, function: Callable[[Any], Hashable]) -> Law:
    """The law of a function of the outcome; the unlisted outcome stays as it is."""
    return law.map(lambda outcome: outcome if isinstance(outcome, Elsewhere) else function(outcome))


def _gather_unlisted(law: Law, against: Law, elsewhere: Elsewhere) -> Law:
    if against.missing == 0:
        return law
    listed = {outcome: weight for outcome, weight in law.probabilities.items() if outcome in against.probabilities}
    rest = reduce(ARITHMETIC.add, (weight for outcome, weight in law.probabilities.items() if outcome not in listed), Decimal(0))
    return Law({**listed, **({elsewhere: rest} if rest else {})}, law.missing, law.unplaced)


def _most_telling(one: Law, other: Law) -> list[Odds]:
    """The odds of the outcomes, the largest ratio first. Those that `other` does not list make one event, with at most the
    probability that `other` misses; each listed one may have more by the unplaced probability.
    """
    odds = [
        (probability, other.probabilities[outcome] + other.unplaced)
        for outcome, probability in one.probabilities.items()
        if probability > 0 and outcome in other.probabilities
    ]
    unlisted = sum((p for outcome, p in one.probabilities.items() if outcome not in other.probabilities), start=Decimal(0))
    rest = [(unlisted, other.missing)] if unlisted > 0 else []
    return sorted(odds + rest, key=lambda pair: _ratio(*pair), reverse=True)


def _ratio(probability: Decimal, against: Decimal) -> Decimal:
    return probability / against if against > 0 else INFINITE


def _log(ratio: Decimal) -> Decimal:
    if ratio <= 0:
        return -INFINITE
    return ratio if ratio == INFINITE else ratio.ln()


@singledispatch
def _least(loss: Loss, odds: list[Odds]) -> Decimal:
    raise InvalidInput(f"there is no measure for a loss of type {type(loss).__name__}")


@_least.register
def _(loss: Pure, odds: list[Odds]) -> Decimal:
    return _log(_ratio(*odds[0])) if odds else -INFINITE


@_least.register
def _(loss: Approximate, odds: list[Odds]) -> Decimal:
    """The worst event holds the outcomes of largest ratio (Neyman and Pearson 1933): one pass in that order finds it."""
    delta = as_decimal(loss.delta)
    worst = weight = against = Decimal(0)
    for probability, other in odds:
        weight, against = weight + probability, against + other
        if weight > delta + TOLERANCE:
            worst = max(worst, _ratio(weight - delta, against))
    return _log(worst)


@_least.register
def _(loss: Probabilistic, odds: list[Odds]) -> Decimal:
    """The ratio at which the outcomes passed weigh more than delta. (The event of unlisted ones counts as one outcome.)"""
    delta, weight = as_decimal(loss.delta), Decimal(0)
    for probability, against in odds:
        weight += probability
        if weight > delta + TOLERANCE:
            return _log(_ratio(probability, against))
    return -INFINITE


@_least.register
def _(loss: Concentrated, odds: list[Odds]) -> Decimal:
    """The largest D_a / a over a few orders a. Outcomes as rare as the branch that the claim leaves out are passed over."""
    rare = as_decimal(loss.delta) * 10**10
    common = [pair for pair in odds if min(pair) > rare]
    if loss.delta == 0 and len(common) < len(odds):
        return INFINITE
    return max(_renyi(common, order) / order for order in ORDERS) - Decimal("1e-9") * bool(loss.delta)


def _renyi(odds: list[Odds], order: Decimal) -> Decimal:
    """1/(a-1) times the logarithm of the sum of P^a Q^(1-a)."""
    total = sum((p * _power(p / q, order - 1) for p, q in odds), start=Decimal(0))
    return _log(total) / (order - 1)


def _power(ratio: Decimal, exponent: Decimal) -> Decimal:
    """A whole power, or the root, which `decimal` finds much faster than a power of one half."""
    return ratio.sqrt() if exponent == HALF else ratio**exponent
