"""A choice whose farthest candidates are not listed: all of them together are proposed once in 2^64 draws. Proof in choice.md."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise.choice import choose
from tacit.mechanisms.noise.costs import MixedCosts
from tacit.privacy.rounding import log_up

RARE = 2**64  # what is not listed weighs at most a part in so many
FARTHEST = 2**61  # costs beyond it are not told apart from it in 64 bits; the law is exact wherever the list ends

Integers = NDArray[np.int64]


@lru_cache(maxsize=256)
def reach(candidates: int, factor: Fraction) -> int:
    """A whole cost from which on so many candidates, of length 1, weigh less than 2^-64 of one that costs 0. A public number.

    >>> reach(1000, Fraction(1, 10))
    513
    """
    return min(math.ceil(log_up(Fraction(candidates * RARE)) / factor), FARTHEST) if factor else FARTHEST


def choose_listed(lengths: Any, costs: MixedCosts, factor: Fraction, others: int, farthest: int) -> int:
    """An index i of a cost of at most `farthest`, with a weight of lengths[i] * e^(-factor * costs[i]), or the number of them all.

    The last has the weight of `others` candidates of length 1 that cost `farthest`. Whoever gets it draws one of them uniformly and
    keeps it, if it costs more, with probability e^(-factor * (cost - farthest)); if not, the choice begins anew.

    >>> choose_listed(np.array([1, 1]), MixedCosts(np.array([0, 9]), np.array([0, 0]), (0,), 1), Fraction(1), others=0, farthest=5)
    0
    """
    steps = np.array([-(-top // costs.denominator) for top in costs.parts])
    within = costs.wholes + steps[costs.kinds] <= farthest
    wholes, parts = np.append(costs.wholes, farthest), (*costs.parts, 0)
    kinds = np.append(costs.kinds, np.int8(len(costs.parts)))
    return int(choose(np.append(lengths * within, others), MixedCosts(wholes, kinds, parts, costs.denominator), factor)[0])
