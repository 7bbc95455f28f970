"""(alpha,k)-anonymity: k-anonymity, and no value has a share above alpha in a group (Wong et al. 2006)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.rounding import Number, as_text
from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.exactly import compare, largest_ratio
from tacit.publish.tables.models.k_anonymity import whole
from tacit.publish.tables.models.verdict import Figure, SensitiveModel, at_most, parameter


@dataclass(frozen=True)
class AlphaK(SensitiveModel):
    """Every group of the quasi-identifiers has at least k rows, and each protected value at most the share alpha.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(AlphaK("2/3", 12).on(counts_of([[8, 2, 2]])))
    (alpha,k)-anonymity, alpha = 0.666667, k = 12: passes (alpha = 0.666667, k = 12)
    """

    alpha: Number
    k: int
    protected: Collection[Any] | None = None
    name: ClassVar[str] = "(alpha,k)-anonymity"

    def __post_init__(self) -> None:
        whole(self.k, "k")
        parameter(self.alpha, "alpha", 0, 1)

    @property
    def requires(self) -> str:
        """Alpha and k."""
        return f"alpha = {as_text(self._alpha)}, k = {self.k}"

    @property
    def _alpha(self) -> Fraction:
        return parameter(self.alpha, "alpha", 0, 1)

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups that are too small, or in which a value is too frequent."""
        failing: NDArray[np.bool_] = (counts.outer < self.k) | (
            compare(counts.largest_of(self.protected), counts.sizes, self._alpha) > 0
        )
        return failing

    def figure(self, counts: Counts) -> Figure:
        """The largest share of a protected value in a group."""
        worst = largest_ratio(counts.largest_of(self.protected), counts.sizes)
        return Figure(worst, f"alpha = {at_most(worst)}, k = {int(counts.outer.min())}")
