"""k-anonymity: every group has at least k rows (Samarati and Sweeney 1998)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidInput
from tacit.publish.tables.models.rows import Rows
from tacit.publish.tables.models.verdict import Figure, Verdict


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
    """Refuses what is not a whole number of at least 1."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InvalidInput(f"{name} must be a whole number of at least 1; give for example {name}=5")
