"""t-closeness: the values of every group are spread as in the whole table, within a distance t (Li, Li, Venkatasubramanian 2007).

The distance is the least work of moving one distribution into the other, under a ground distance between values: 1 for any two
(`equal`), the difference of places (`ordered`), or the height of the lowest node above both (`hierarchical`). See closeness.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, as_text
from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.distances import Ratios, equal_distance, hierarchical_distance, ordered_distance
from tacit.publish.tables.models.exactly import compare, largest_ratio
from tacit.publish.tables.models.tree import Tree
from tacit.publish.tables.models.verdict import Figure, SensitiveModel, at_most, parameter

DISTANCES = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class Closeness(SensitiveModel):
    """Every group is within the distance t of the whole table.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(Closeness("1/6").on(counts_of([[4, 2], [2, 4]])))
    t-closeness (equal), t = 0.166667: passes (t = 0.166667)
    """

    t: Number
    distance: str = "equal"
    order: Sequence[Any] | None = None
    tree: Tree | None = None
    name: ClassVar[str] = "t-closeness"

    def __post_init__(self) -> None:
        parameter(self.t, "t", 0, 1)
        if self.distance not in DISTANCES:
            raise InvalidInput(f"unknown distance {self.distance[:40]!r}; expected equal, ordered or hierarchical")
        if (self.distance == "hierarchical") != (self.tree is not None):
            raise InvalidInput("the hierarchical distance, and no other, needs a tree of values; give one as tree")

    @property
    def title(self) -> str:
        """The name of the model with its distance."""
        return f"{self.name} ({self.distance})"

    @property
    def requires(self) -> str:
        """The distance allowed."""
        return f"t = {as_text(parameter(self.t, 't', 0, 1))}"

    def ratios(self, counts: Counts) -> Ratios:
        """The distance of each group, as a numerator and a denominator."""
        if self.tree is not None:
            return hierarchical_distance(counts, self.tree)
        return equal_distance(counts) if self.distance == "equal" else ordered_distance(counts, self.order)

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups that are farther than t from the whole table."""
        failing: NDArray[np.bool_] = compare(*self.ratios(counts), parameter(self.t, "t", 0, 1)) > 0
        return failing

    def figure(self, counts: Counts) -> Figure:
        """The largest distance of a group."""
        worst: Fraction | float = largest_ratio(*self.ratios(counts))
        return Figure(worst, f"t = {at_most(worst)}")
