"""Distinct l-diversity: every group has at least l different sensitive values (Machanavajjhala et al. 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.k_anonymity import whole
from tacit.publish.tables.models.verdict import Figure, SensitiveModel


@dataclass(frozen=True)
class DistinctDiversity(SensitiveModel):
    """Every group has at least l values; how unevenly they occur is not looked at.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(DistinctDiversity(2).on(counts_of([[8, 2, 2], [99, 1, 0]])))
    distinct l-diversity, l = 2: passes (l = 2)
    """

    l: int  # noqa: E741
    name: ClassVar[str] = "distinct l-diversity"

    def __post_init__(self) -> None:
        whole(self.l, "l")

    @property
    def requires(self) -> str:
        """The number of values."""
        return f"l = {self.l}"

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups with fewer values."""
        failing: NDArray[np.bool_] = counts.distinct < self.l
        return failing

    def figure(self, counts: Counts) -> Figure:
        """The least number of values in a group."""
        least = int(counts.distinct.min())
        return Figure(Fraction(least), f"l = {least}")
