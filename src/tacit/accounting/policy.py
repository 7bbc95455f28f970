"""What a ledger needs to know of a data set: its budget, its analysts' caps, its units, and how many questions it admits.

A policy is read from a catalog, or made by whoever keeps a ledger without one. It may change while a ledger lives: caps in force
are written into every entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.accounting.ledger.entries import HALF
from tacit.accounting.ledger.units import NO_UNITS, Units, declared_units
from tacit.privacy.catalog import QUESTIONS_AT_MOST, Analyst, Budget, Catalog, analyst_name
from tacit.privacy.loss import Neighbours

UNIT = Neighbours("add-remove", "unit")
FAILURES_OF_ANALYST = 3
FAILURES_OF_DATA_SET = 10


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one ledger. `data_set` and `catalog` (a file's name) say whose it is; analysts are keyed by normal forms.

    `split` is the share of delta for the conversion of rho. A ledger takes it when it begins, and keeps it (ledger.md).
    """

    budget: Budget
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    neighbours: Neighbours = UNIT
    units: Units = NO_UNITS
    questions_at_most: int = QUESTIONS_AT_MOST
    split: Fraction = HALF
    data_set: str = ""
    catalog: str = ""

    def analyst(self, name: str) -> Analyst | None:
        """The policy for an analyst by the normal form of the name; None where analysts are declared and this is not one."""
        known = analyst_name(name)
        return self.analysts.get(known) if self.analysts else Analyst(known)


def policy_of(catalog: Catalog) -> Policy:
    """The policy that a catalog declares."""
    return Policy(
        budget=catalog.budget,
        analysts={analyst_name(name): analyst for name, analyst in catalog.analysts.items()},
        neighbours=catalog.neighbours,
        units=declared_units(catalog),
        questions_at_most=catalog.questions_at_most,
        split=catalog.split,
        data_set=catalog.name,
        catalog=catalog.file,
    )
