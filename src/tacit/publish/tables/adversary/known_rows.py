"""Adversaries who know some of the rows of a group, up to all but one: the adversary of differential privacy.

The known rows are the worst ones for the value in question: rows without it. See beliefs.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tacit.errors import InvalidInput
from tacit.publish.tables.adversary.beliefs import Belief, Prior, beliefs, checked


def belief_with_known(counts: Sequence[int], prior: Prior, value: int, known: int) -> Belief:
    """The belief in a value of an adversary who knows that many rows of the group, with the row and without it.

    >>> prior = Prior((Fraction(1, 10), Fraction(9, 10)), Fraction(10))
    >>> [str(belief_with_known([8, 4], prior, 0, known).with_row) for known in (0, 2, 4, 11)]
    ['2/3', '4/5', '1', '1']
    """
    size = checked(counts)
    if not 0 <= known < size:
        raise InvalidInput(f"known rows must be at least 0 and at most {size - 1}, all rows of the group but one")
    unknown = size - known
    seen = beliefs(counts, prior)[value]
    return Belief(min(Fraction(counts[value], unknown), Fraction(1)), seen.without)
