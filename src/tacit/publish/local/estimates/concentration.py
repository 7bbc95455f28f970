"""How far an unbiased sum of independent bounded terms strays from its mean, by several bounds. Proofs in concentration.md.

Means, differences of groups and points of a distribution function are such sums. All that the bounds need is public: the largest
variance, and the ranges of the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from tacit.errors import InvalidInput
from tacit.privacy.rounding import float_up, log_up, sqrt_up
from tacit.publish.local.estimates.intervals import Setting, normal_square


@dataclass(frozen=True, slots=True)
class Scatter:
    """The largest `variance` of the sum, the sum of the `squares` of its terms' ranges, and the `farthest` of a term from its mean.

    >>> group = Scatter(variance=Fraction(1, 100), squares=Fraction(1, 20), farthest=Fraction(1, 50))
    >>> (group + group).variance, (group + group).farthest                           # the difference of two groups
    (Fraction(1, 50), Fraction(1, 50))
    """

    variance: Fraction
    squares: Fraction
    farthest: Fraction

    @classmethod
    def of_mean(cls, people: int, variance: Fraction, spread: Fraction, farthest: Fraction | None = None) -> Scatter:
        """The mean of `people` terms, each of at most this variance and range; none is farther from its mean than its range."""
        if isinstance(people, bool) or not isinstance(people, int) or people < 1:
            raise InvalidInput("people must be a whole number of at least 1: an estimate requires reports", argument="people")
        return cls(variance / people, spread**2 / people, (spread if farthest is None else farthest) / people)

    @classmethod
    def of_share(cls, setting: Setting) -> Scatter:
        """An estimated share: the mean of terms 1/(p - q) wide."""
        return cls.of_mean(
            setting.people, setting.worst_variance / setting.slope**2, 1 / setting.slope, setting.deviation / setting.slope
        )

    def __add__(self, other: Scatter) -> Scatter:
        """The sum or the difference of two independent ones."""
        return Scatter(self.variance + other.variance, self.squares + other.squares, max(self.farthest, other.farthest))

    def half_width(self, bound: str, miss: Fraction) -> float:
        """How far the sum strays from its mean on either side, except with probability `miss`.

        >>> mean = Scatter.of_mean(people=10_000, variance=Fraction(4), spread=Fraction(5))
        >>> [f"{mean.half_width(bound, Fraction(1, 20)):.4f}" for bound in SUM_BOUNDS]
        ['0.0894', '0.0679', '0.0549', '0.0392']
        """
        return float_up(self.half_width_up(bound, miss))

    def half_width_up(self, bound: str, miss: Fraction) -> Fraction:
        """The same before it is rounded to a float: exact where it is rational, and else above it by far less."""
        if bound not in SUM_BOUNDS:
            raise InvalidInput(f"bound must be one of {', '.join(SUM_BOUNDS)}, not {bound!r}", argument="bound")
        return SUM_BOUNDS[bound](self, miss)

    def tightest(self, miss: Fraction) -> str:
        """The guaranteed bound of the smallest half-width: a choice by public facts alone, so that it costs no confidence."""
        return min(GUARANTEED, key=lambda bound: self.half_width(bound, miss))


def _chebyshev(scatter: Scatter, miss: Fraction) -> Fraction:
    """Chebyshev with the exact variance of the worst case."""
    return sqrt_up(scatter.variance / miss)


def _hoeffding(scatter: Scatter, miss: Fraction) -> Fraction:
    """Hoeffding 1963, Theorem 2: independent terms of bounded ranges."""
    return sqrt_up(scatter.squares * log_up(2 / miss) / 2)


def _bernstein(scatter: Scatter, miss: Fraction) -> Fraction:
    """Bernstein: ranges and the variance together; better than Hoeffding where ranges are wide and variances small."""
    log = log_up(2 / miss)
    linear = scatter.farthest * log / 3
    return linear + sqrt_up(linear**2 + 2 * scatter.variance * log)


def _normal(scatter: Scatter, miss: Fraction) -> Fraction:
    """The central limit theorem with the variance of the worst case: an approximation for many people, not a guarantee."""
    return sqrt_up(normal_square(miss) * scatter.variance)


SUM_BOUNDS: Mapping[str, Callable[[Scatter, Fraction], Fraction]] = MappingProxyType(
    {"chebyshev": _chebyshev, "hoeffding": _hoeffding, "bernstein": _bernstein, "normal": _normal}
)
GUARANTEED = tuple(bound for bound in SUM_BOUNDS if bound != "normal")
