"""k-anonymity and (alpha,k)-anonymity.

k-anonymity: every group has at least k rows (Samarati and Sweeney 1998).

(alpha,k)-anonymity: k-anonymity, and no value has a share above alpha in a group (Wong et al. 2006).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, as_text
from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.exactly import compare, largest_ratio
from tacit.publish.tables.models.rows import Rows
from tacit.publish.tables.models.verdict import Figure, SensitiveModel, Verdict, at_most, parameter


@dataclass(frozen=True, slots=True)
class KAnonymity:
    """Every group has at least k rows; sensitive columns are not looked at.

    >>> from tacit.publish.tables.models.rows import rows_of
    >>> print(*KAnonymity(2).check(rows_of({"age": ["20-29", "20-29", "30-39"]}, ["age"])))
    k-anonymity, k = 2: fails (k = 1; failing: 1 of 2 groups, 1 of 3 rows)
    """

    k: int

    def __post_init__(self) -> None:
        whole(self.k, "k")

    def check(self, rows: Rows, strict: bool = True) -> tuple[Verdict, ...]:
        """One verdict; `strict` is for models of sensitive columns."""
        sizes = rows.groups.sizes
        failing = sizes < self.k
        least = int(sizes.min())
        number = len(sizes), int(failing.sum()), int(sizes.sum()), int(sizes[failing].sum())
        return (Verdict("k-anonymity", f"k = {self.k}", not failing.any(), Figure(Fraction(least), f"k = {least}"), *number),)


def whole(number: int, name: str) -> None:
    """Raises unless the value is a whole number of at least 1."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InvalidInput(f"{name} must be a whole number of at least 1; give for example {name}=5", argument=name)


# --- (alpha,k)-anonymity -----------------------------------------------------------------------------------------------------


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
