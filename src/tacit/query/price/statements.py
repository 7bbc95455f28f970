"""Which numbers of an answer hold by one statement about several released numbers, instead of one for each of them.

A mean is a sum over a count: that both lie between their ends is two statements, and their box is wider than the mean needs. That
the released sum less m times the released count is as small as its noise is one, and it is about the mean alone (ratios.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.query.groups import private
from tacit.query.plan import Call, Moment, Question
from tacit.query.price.aggregates import moments_of, weights_of
from tacit.query.price.pairs import row_of, spread, step_of
from tacit.query.results import Arithmetic, Number, Result

SPREADS = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp"})
COVARIANCES = frozenset({"covar_pop", "covar_samp"})
REGRESSIONS = frozenset({"corr", "regr_slope", "regr_intercept"})
DECLARED = frozenset({"avg"}) | SPREADS | COVARIANCES  # of which the bounds of a column declare the range
Weights = tuple[tuple[Moment, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Linear:
    """A constant, and released sums times constants."""

    weights: Weights
    constant: Fraction

    def plus(self, other: Linear, factor: Fraction) -> Linear:
        """The sum of it and of another one times a factor."""
        return _linear([*self.weights, *((moment, factor * weight) for moment, weight in other.weights)], self, other, factor)

    def times(self, factor: Fraction) -> Linear:
        """Every weight times a factor."""
        return NOTHING.plus(self, factor)


NOTHING = Linear((), Fraction(0))


def _linear(weights: Iterable[tuple[Moment, Fraction]], one: Linear, other: Linear, factor: Fraction) -> Linear:
    """Weights of the same moment added up; those that come to nothing are left out."""
    total: dict[Moment, Fraction] = {}
    for moment, weight in weights:
        total[moment] = total.get(moment, Fraction(0)) + weight
    kept = tuple((moment, weight) for moment, weight in total.items() if weight)
    return Linear(kept, one.constant + factor * other.constant)


@dataclass(frozen=True, slots=True)
class Ratio:
    """One of them divided by another."""

    above: Linear
    below: Linear


@dataclass(frozen=True, slots=True)
class Moments:
    """A mean, a variance, a covariance or a regression; a deviation is the root of a variance, and holds with it."""

    call: Call


Statement = Linear | Ratio | Moments


def statement_of(node: object, question: Question) -> Statement | None:
    """The one statement by which an output holds; None where its parts hold each by itself, or it has one part only."""
    if isinstance(node, Result):
        call = question.calls[node.index]
        if call.name in SPREADS:
            return Moments(_variance(call))
        if call.name == "avg" or call.name in COVARIANCES | REGRESSIONS:
            return Moments(call)
    if not isinstance(node, Result | Arithmetic):
        return None
    if (whole := linear(node, question)) is not None:
        return whole if len(whole.weights) > 1 else None
    if isinstance(node, Arithmetic) and node.operator == "/":
        above, below = linear(node.left, question), linear(node.right, question)
        if above is not None and below is not None and above.weights and below.weights:
            several = len({moment for part in (above, below) for moment, _ in part.weights}) > 1
            return Ratio(above, below) if several else None
    return None


def _variance(call: Call) -> Call:
    return replace(call, name=call.name.replace("stddev", "var"))


def linear(node: object, question: Question) -> Linear | None:
    """An output as a weighted sum of released sums, if it is one; numbers of units that came with private keys are not."""
    if isinstance(node, Number):
        return Linear((), node.value)
    if isinstance(node, Result):
        call = question.calls[node.index]
        weights = weights_of(call, question.calls)
        moments = moments_of(call, question.calls)
        if weights is None or (private(question) and any(moment.kind == "units" for moment in moments)):
            return None
        return NOTHING.plus(Linear(tuple(zip(moments, weights, strict=True)), Fraction(0)), Fraction(1))
    if not isinstance(node, Arithmetic):
        return None
    left, right = linear(node.left, question), linear(node.right, question)
    if left is None or right is None:
        return None
    return _combined(node.operator, left, right)


def _combined(operator: str, left: Linear, right: Linear) -> Linear | None:
    match operator:
        case "+":
            return left.plus(right, Fraction(1))
        case "-":
            return left.plus(right, Fraction(-1))
        case "*" if not left.weights:
            return right.times(left.constant)
        case "*" if not right.weights:
            return left.times(right.constant)
        case "/" if not right.weights and right.constant:
            return left.times(1 / right.constant)
        case _:
            return None


def declared(call: Call) -> tuple[float, float]:
    """The range of a mean, a variance, a deviation or a covariance, whatever the data: from the declared bounds."""
    node, step = row_of(call.over), step_of(call.over)
    if call.name in REGRESSIONS:
        return (-1.0, 1.0) if call.name == "corr" else (-float("inf"), float("inf"))
    if call.name == "avg":
        return float(node.low) * step, float(node.high) * step
    widest = spread(call.over) * step
    factor = 2 if call.name.endswith("samp") else 1
    if call.name in COVARIANCES:
        most = widest * spread(call.other) * step_of(call.other) * factor / 4
        return -most, most
    variance = widest**2 * factor / 4
    return 0.0, variance**0.5 if call.name.startswith("stddev") else variance
