"""The auditors by name, and a check that the data agrees with the facts that an auditor assumes to be public."""

from __future__ import annotations

from typing import Any

from tacit.errors import InvalidInput
from tacit.publish.audited.auditor import Auditor
from tacit.publish.audited.bounded_sums import BooleanSumAuditor, BoundedSumAuditor
from tacit.publish.audited.data import Private
from tacit.publish.audited.max_min import MaxMinAuditor, MaxMinDuplicatesAuditor
from tacit.publish.audited.maximum import MaxAuditor, MinAuditor
from tacit.publish.audited.probabilistic_max import ProbabilisticMaxAuditor
from tacit.publish.audited.sums import SumAuditor

Bound = float | None
ORDERED: dict[str, type[MaxAuditor | MinAuditor | MaxMinAuditor | MaxMinDuplicatesAuditor]] = {
    "max": MaxAuditor, "min": MinAuditor, "max-min": MaxMinAuditor, "max-min-duplicates": MaxMinDuplicatesAuditor,
}  # fmt: skip
NAMES = (*ORDERED, "sum", "boolean-sum", "probabilistic-max")
DIFFERING = ("max-min", "probabilistic-max")


def auditor_named(name: str, lower: Bound = None, upper: Bound = None, **odds: Any) -> Auditor[Any]:
    """The auditor of that name; the bounds are public, and `odds` are the arguments of the probabilistic auditor.

    >>> auditor_named("max").facts, auditor_named("sum", lower=0).facts
    ('any real values', 'values of at least 0')
    """
    if name in ORDERED:
        return ORDERED[name](lower, upper)
    if name == "sum":
        return SumAuditor() if lower is None and upper is None else BoundedSumAuditor(lower, upper)
    if name == "boolean-sum":
        return BooleanSumAuditor()
    if name == "probabilistic-max":
        if lower is None or upper is None:
            raise InvalidInput("probabilistic-max requires both bounds, because it assumes values spread evenly between them")
        return ProbabilisticMaxAuditor(lower, upper, **odds)
    raise InvalidInput(f"unknown auditor {name}; expected one of {', '.join(NAMES)}")


def check_facts(name: str, lower: Bound, upper: Bound, values: Private) -> None:
    """Raises unless the values agree with the facts that the auditor assumes. For the curator, before any question."""
    if values.boolean and name != "boolean-sum":
        raise InvalidInput(
            f"the column holds truth values, which everybody knows to be 0 or 1; {name} supports only numbers; use boolean-sum"
        )
    if name == "boolean-sum" and not (values.whole and values.within(0, 1)):
        raise InvalidInput("boolean-sum supports only a column of zeros and ones")
    if not values.within(lower, upper):
        raise InvalidInput("the audited column has values outside the bounds; give other bounds, or correct the column")
    if name in DIFFERING and not values.distinct():
        other = "max-min-duplicates" if name == "max-min" else "max"
        raise InvalidInput(f"{name} requires distinct values, and some are equal; use {other}")
