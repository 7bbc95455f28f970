"""Which two databases must look alike: the relation that every promise is about.

Add/remove: one row (unit, edge, node with all its edges) is in one database and not in the other; the size is private.
Change-one: one row (unit, edge) has another value; the size is public.

The relation is part of a loss: epsilon under one is not epsilon under the other. A change is a removal and an addition, so
epsilon under add/remove is at most 2 epsilon under change-one (group privacy of two).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tacit.errors import InvalidInput

Change = Literal["add-remove", "change-one"]
Protected = Literal["row", "unit", "edge", "node"]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A neighbour relation: what may change, of what.

    >>> print(Neighbours("change-one", "unit"))
    change one unit
    """

    change: Change
    of: Protected = "row"

    def __post_init__(self) -> None:
        if self.change not in ("add-remove", "change-one"):
            raise InvalidInput(f"change must be 'add-remove' or 'change-one', not {self.change!r}")
        if self.of not in ("row", "unit", "edge", "node"):
            raise InvalidInput(f"of must be 'row', 'unit', 'edge' or 'node', not {self.of!r}")

    @property
    def size_is_public(self) -> bool:
        """Whether neighbours have equally many rows."""
        return self.change == "change-one"

    @property
    def histogram_distance(self) -> int:
        """How far the histograms of two neighbours are apart in l1."""
        return 2 if self.change == "change-one" else 1

    def __str__(self) -> str:
        verb = "add or remove" if self.change == "add-remove" else "change"
        return f"{verb} one {self.of}"


ADD_REMOVE = Neighbours("add-remove", "row")
CHANGE_ONE = Neighbours("change-one", "row")
