"""Recursive (c,l)-diversity: the most frequent value is not too frequent beside the rare ones (Machanavajjhala et al. 2007)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, as_text
from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.exactly import compare, largest_ratio
from tacit.publish.tables.models.k_anonymity import whole
from tacit.publish.tables.models.verdict import Figure, SensitiveModel, at_most, parameter


@dataclass(frozen=True)
class RecursiveDiversity(SensitiveModel):
    """In every group c_1 < c (c_l + c_(l+1) + ... + c_r), strictly, where c_1 >= c_2 >= ... are the counts of its r values.

    With the tail R = c_l + ... + c_r it is the same as c_1 / (c_1 + R) < c / (c+1). For l = 2 the left side is the share of
    the most frequent value. A group of fewer than l values has no tail, and fails.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(RecursiveDiversity(3, 2).on(counts_of([[8, 2, 2]])))
    recursive (c,l)-diversity, c = 3, l = 2 (largest share below c/(c+1) = 3/4): passes (c above 2, l = 2)
    >>> RecursiveDiversity(2, 2).on(counts_of([[8, 2, 2]])).passes
    False
    """

    c: Number
    l: int  # noqa: E741
    name: ClassVar[str] = "recursive (c,l)-diversity"

    def __post_init__(self) -> None:
        whole(self.l, "l")
        if not parameter(self.c, "c", 0):
            raise InvalidInput("c must be above 0; give for example c=3")

    @property
    def requires(self) -> str:
        """The two parameters, and the form with c/(c+1)."""
        c = parameter(self.c, "c", 0)
        of = "largest share" if self.l == 2 else "largest count over itself and the tail"
        return f"c = {as_text(c)}, l = {self.l} ({of} below c/(c+1) = {self.share_limit})"

    @property
    def share_limit(self) -> Fraction:
        """c / (c+1)."""
        c = parameter(self.c, "c", 0)
        return c / (c + 1)

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups without a tail, or with one that is too small."""
        tail = self._tail(counts)
        failing: NDArray[np.bool_] = tail == 0
        there = ~failing
        failing[there] = compare(counts.largest[there], tail[there], parameter(self.c, "c", 0)) >= 0
        return failing

    def figure(self, counts: Counts) -> Figure:
        """The largest c_1 over its tail: c must be above it."""
        worst = largest_ratio(counts.largest, self._tail(counts))
        if worst == math.inf:
            return Figure(worst, f"no c for l = {self.l}: a group has fewer than {self.l} values")
        return Figure(worst, f"c above {at_most(worst)}, l = {self.l}")

    def _tail(self, counts: Counts) -> NDArray[np.int64]:
        """Rows of each group that have none of its l - 1 most frequent values."""
        order = np.lexsort((-counts.count, counts.group))
        place = np.arange(len(order)) - np.repeat(counts.starts, counts.distinct)
        tail: NDArray[np.int64] = counts.summed(np.where(place >= self.l - 1, counts.count[order], 0))
        return tail
