"""Frequency l-diversity: no protected value has a share above 1/l in a group (the "simple" form of Wong et al. 2007)."""

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
from tacit.publish.tables.models.verdict import Figure, SensitiveModel, at_least, parameter


@dataclass(frozen=True)
class FrequencyDiversity(SensitiveModel):
    """Every protected value has a share of at most 1/l in every group; by default, all values are protected.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(FrequencyDiversity(2).on(counts_of([[2, 2], [3, 1]])))
    frequency l-diversity, l = 2: fails (l = 1.33333; failing: 1 of 2 groups, 4 of 8 rows)
    >>> FrequencyDiversity(2, protected={1}).on(counts_of([[2, 2], [3, 1]])).passes
    True
    """

    l: Number  # noqa: E741
    protected: Collection[Any] | None = None
    name: ClassVar[str] = "frequency l-diversity"

    def __post_init__(self) -> None:
        parameter(self.l, "l", 1)

    @property
    def requires(self) -> str:
        """The number l, and whether all values are protected."""
        some = "" if self.protected is None else f", {len(set(self.protected))} protected values"
        return f"l = {as_text(parameter(self.l, 'l', 1))}{some}"

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups in which a protected value is too frequent."""
        found: NDArray[np.bool_] = compare(counts.largest_of(self.protected), counts.sizes, 1 / parameter(self.l, "l", 1)) > 0
        return found

    def figure(self, counts: Counts) -> Figure:
        """The largest share of a protected value in a group."""
        worst = largest_ratio(counts.largest_of(self.protected), counts.sizes)
        return Figure(worst, f"l = {at_least(1 / Fraction(worst))}" if worst else "no protected value occurs")
