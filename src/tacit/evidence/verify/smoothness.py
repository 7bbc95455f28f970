"""Is a bound on the local sensitivity smooth: checked on every pair of neighbours of a small world."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache

from tacit.evidence.verify.contract import Check
from tacit.privacy.loss import Neighbours
from tacit.privacy.rounding import as_text, exp_up
from tacit.privacy.universe import Database

Statistic = Callable[[Database], Fraction]
ROUNDING = 1 + Fraction(1, 10**50)  # of the exponentials on both sides


def smooth_everywhere(
    statistic: Statistic, bound: Statistic, beta: Fraction, databases: Iterable[Database], relation: Neighbours
) -> Check:
    """Whether neighbours' answers differ by at most the bound of either, and their bounds by at most a factor e^beta.

    Nissim, Raskhodnikova and Smith 2007, Definition 2.1; noise scaled to a bound without both gives neighbours away.

    >>> from tacit.privacy.loss import ADD_REMOVE
    >>> from tacit.privacy.universe import Universe
    >>> world = list(Universe((0, 1)).databases_up_to(3))
    >>> def ones(rows): return Fraction(rows.counts[1])
    >>> smooth_everywhere(ones, lambda rows: Fraction(1), Fraction(1, 2), world, ADD_REMOVE).holds
    True
    >>> smooth_everywhere(ones, lambda rows: Fraction(1, 2), Fraction(1, 2), world, ADD_REMOVE).found
    'the answers of two neighbours differ by 1, but the bound is 0.5'
    """
    answer, bounded, pairs = cache(statistic), cache(bound), 0
    growth: Fraction | float = Fraction(1)
    for one in databases:
        for other in one.neighbours(relation):
            pairs += 1
            change, limit, next_limit = abs(answer(one) - answer(other)), bounded(one), bounded(other)
            if change > limit:
                found = f"the answers of two neighbours differ by {as_text(change)}, but the bound is {as_text(limit)}"
                return Check("smoothness", False, found, math.inf, math.inf)
            if limit > 0:
                growth = max(growth, limit / next_limit if next_limit else math.inf)
    measured = math.log(growth)
    found = f"bounds of {pairs} pairs of neighbours differ by up to e^{measured:.4f} where e^{as_text(beta)} is claimed"
    return Check("smoothness", growth <= exp_up(beta) * ROUNDING, found, measured, measured / float(beta))
