"""The number of people that a survey needs: the least one whose half-width is within a wanted one. Proof in planning.md.

The half-widths are the very ones that `estimate` and `compare` give, and they hold whatever people answer, so that a plan is a
promise: with that number of reports the published half-width is no larger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, as_text, exact, float_up
from tacit.publish.local.estimates.concentration import SUM_BOUNDS, Scatter
from tacit.publish.local.estimates.estimate import Request, is_oracle, mean_scatter, numeric
from tacit.publish.local.estimates.intervals import BOUNDS, Setting, margin, read_miss
from tacit.publish.local.estimates.results import Terms, table
from tacit.publish.local.randomizers.randomizer import Randomizer

MOST_PEOPLE = 10**10
Reach = Callable[[str, int], float]  # a bound and a number of people: the half-width


@dataclass(frozen=True, slots=True)
class Plan:
    """The people needed: by the bound that is asked for (or the best guarantee), and by each other that needs at most 10^10."""

    people: int
    half_width: Fraction
    terms: Terms
    epsilon: Fraction
    by_bound: Mapping[str, int]
    groups: int = 1

    def __str__(self) -> str:
        each = " in each group" if self.groups > 1 else ""
        whole = f"{self.people} people{each} for ± {as_text(self.half_width)} at epsilon {as_text(self.epsilon)}; {self.terms}"
        rows = [(bound, str(people)) for bound, people in self.by_bound.items()]
        return f"{whole}\n{table(('bound', 'people'), rows)}"


def plan(randomizer: Randomizer, half_width: Number, request: Request = Request()) -> Plan:  # noqa: B008  # frozen
    """How many people for estimates within `half_width`: of a share, or of a mean in its own units.

    >>> from tacit.publish.local.randomizers.categories import Binary
    >>> print(plan(Binary(epsilon=1), half_width=0.02))
    17176 people for ± 0.02 at epsilon 1; 95 % each, bernstein, of those who answered
    bound                 people
    chebyshev as printed   58534
    chebyshev              46034
    hoeffding              21593
    chernoff               21592
    bernstein              17176
    normal                  8842
    """
    return _plan_people(randomizer, half_width, request, groups=1)


def plan_difference(randomizer: Randomizer, half_width: Number, request: Request = Request()) -> Plan:  # noqa: B008  # frozen
    """How many people in each of two groups for a difference within `half_width`.

    >>> from tacit.publish.local.randomizers.categories import Binary
    >>> plan_difference(Binary(epsilon=1), half_width=0.02).people
    34158
    """
    return _plan_people(randomizer, half_width, request, groups=2)


def reach(randomizer: Randomizer, request: Request, groups: int = 1) -> tuple[Reach, tuple[str, ...]]:
    """The half-width as a function of bound and people (in each group), and the names of the bounds."""
    shares = is_oracle(randomizer)
    miss = read_miss(request.confidence, randomizer.size if is_oracle(randomizer) and request.simultaneous else 1)
    if shares and groups == 1:
        return lambda bound, people: margin(_setting(randomizer, people, miss, request), bound), tuple(BOUNDS)

    def half_width(bound: str, people: int) -> float:
        one = (
            Scatter.of_share(_setting(randomizer, people, miss, request))
            if shares
            else mean_scatter(numeric(randomizer), people, request.sampled)
        )
        whole = one if groups == 1 else one + one
        return float_up(whole.half_width_up(bound, miss) + _rounding(randomizer, request, groups))

    return half_width, tuple(SUM_BOUNDS)


def _rounding(randomizer: Randomizer, request: Request, groups: int) -> Fraction:
    """The part of the half-width that no number of people makes smaller."""
    return Fraction(0) if is_oracle(randomizer) else request.rounding(numeric(randomizer), groups)


def _setting(oracle: Any, people: int, miss: Fraction, request: Request) -> Setting:
    return Setting(oracle.hit, oracle.false_hit, people, miss, request.sampled)


def _plan_people(randomizer: Randomizer, half_width: Number, request: Request, groups: int) -> Plan:
    wanted = exact(half_width, "half_width")
    if wanted <= 0:
        raise InvalidInput(
            f"half_width must be above 0, not {half_width}; give for example 0.02 for plus or minus 2 %", argument="half_width"
        )
    half_width_of, bounds = reach(randomizer, request, groups)
    if request.bound is not None and request.bound not in bounds:
        raise InvalidInput(f"bound must be one of {', '.join(bounds)}, not {request.bound!r}", argument="bound")
    if wanted <= (rounding := _rounding(randomizer, request, groups)):
        raise InvalidInput(
            f"half_width must be above {as_text(rounding)}, the rounding error of the grid; give a larger one, or a finer grid",
            argument="half_width",
        )
    needed = {bound: people for bound in bounds if (people := least_people(partial(half_width_of, bound), wanted)) is not None}
    fitting = [bound for bound in needed if (bound == request.bound if request.bound else bound != "normal")]
    if not fitting:
        raise InvalidInput(
            f"half_width is too small: it requires more than {MOST_PEOPLE:,} people; give a larger one, or a larger epsilon",
            argument="half_width",
        )
    chosen = min(fitting, key=lambda bound: needed[bound])
    return Plan(needed[chosen], wanted, request.terms(chosen, rounding), randomizer.epsilon, MappingProxyType(needed), groups)


def least_people(half_width_of: Callable[[int], float], wanted: Fraction) -> int | None:
    """The least number of people of a half-width, which falls with their number, that is at most the wanted one; None if that
    takes more people than supported. Half-widths are doubles, rounded up, so the wanted one is compared as such: 1/50 is 0.02.

    >>> least_people(lambda people: 3 / people, Fraction(1, 2))
    6
    """
    high, most = 1, float_up(wanted)
    while half_width_of(high) > most:
        high *= 2
        if high > 2 * MOST_PEOPLE:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if half_width_of(middle) <= most else (middle, high)
    return high if high <= MOST_PEOPLE else None
