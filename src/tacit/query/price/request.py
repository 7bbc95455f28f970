"""What an analyst asks for: a budget or an error, and the confidence of the intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.errors import InvalidBudget, InvalidInput, NoBudget
from tacit.privacy.arguments import truth_of
from tacit.privacy.loss import positive_budget, probability
from tacit.privacy.rounding import Number, brief, decimal_text, exact

LEAST_MISS = Fraction(1, 10**200)
LEAST = Fraction(1, 10**30)
LEAST_EPSILON = Fraction(1, 10**4)  # of a query: what a query reveals besides its answer counts per query, not per epsilon


HEAVIEST = 1000


@dataclass(frozen=True, slots=True)
class Request:
    """The analyst's budget, or the required error; and the confidence of the intervals. Those of quantiles can be left out."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    error: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    simultaneous: bool = False
    groups: int | None = field(default=None, repr=False)  # does not affect what is answered, only what is refused
    interval: bool = True
    weights: tuple[tuple[str, Fraction], ...] = ()


def request(
    epsilon: Number | None = None,
    delta: Number = 0,
    error: Number | None = None,
    confidence: Number = Fraction(95, 100),
    simultaneous: bool = False,
    groups: int | None = None,
    interval: bool = True,
    weights: Mapping[str, Number] | None = None,
) -> Request:
    """A request from plain numbers: a budget or an error, not both. More than 10,000 groups require `groups`.

    Without `interval`, a quantile is its value alone, to which then all of its epsilon goes. `weights` says how much more than
    others the error of a column counts when epsilon is split.
    """
    if epsilon is None and error is None:
        raise NoBudget(
            "missing budget",
            remedy="give epsilon=0.5, or error=50 with confidence=0.95",
            argument=("epsilon", "error", "confidence"),
        )
    if epsilon is not None and error is not None:
        raise NoBudget("both epsilon and error are given: the error determines the epsilon", remedy="leave one of them out")
    sure = exact(confidence, "confidence", InvalidBudget)
    if not 0 < sure <= 1 - LEAST_MISS:
        raise InvalidBudget(
            f"confidence must be above 0 and below 1, not {brief(confidence)}; give for example confidence=0.95",
            argument="confidence",
        )
    if weights and error is not None:
        raise InvalidInput("weights split a given epsilon; with error, every column gets what it needs: leave out weights")
    return Request(
        None if epsilon is None else _enough(_usual(positive_budget(epsilon), "epsilon")),
        probability(delta),
        None if error is None else _usual(positive_budget(error, "error"), "error"),
        sure,
        truth_of(simultaneous, "simultaneous"),
        None if groups is None else _whole(groups),
        truth_of(interval, "interval"),
        read_weights(weights),
    )


def requested(options: Sequence[tuple[str, Any]], budget: Mapping[str, Any]) -> Request:
    """The request of a budget that was given, else of the options written in the query; giving both is an error."""
    if unknown := sorted(set(budget) - set(Request.__dataclass_fields__)):
        raise InvalidInput(
            f"unknown argument {unknown[0]!r}; a budget is epsilon and delta, or error, with confidence, simultaneous, "
            "interval and weights"
        )
    given = {name: value for name, value in budget.items() if value is not None and (value is not False or name == "interval")}
    if options and {"epsilon", "delta", "error"} & set(given):
        raise NoBudget("the budget is given twice: in the question and as an argument", remedy="leave one of them out")
    return request(**{**dict(options), **given})


def or_one(options: Sequence[tuple[str, Any]], budget: Mapping[str, Any]) -> dict[str, Any]:
    """A budget, by default epsilon 1, for what is not paid for."""
    known = {name: value for name, value in budget.items() if value is not None}
    return known if options or {"epsilon", "error"} & set(known) else {"epsilon": 1, **known}


def weighed(asked: Request) -> str:
    """The weights as a comment of the SQL that a ledger records; empty without weights."""
    if not asked.weights:
        return ""
    known = ", ".join(f"{name} = {decimal_text(weight)}" for name, weight in asked.weights)
    return f" /* weights: {known.replace('*/', '* /').replace('/*', '/ *')} */"  # comments nest: neither sign may stand in a name


def _whole(groups: int) -> int:
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise InvalidInput(
            f"groups must be a whole number of at least 1, not {str(groups)[:40]}; give for example groups=100000",
            argument="groups",
        )
    return groups


def read_weights(weights: Mapping[str, Number] | None) -> tuple[tuple[str, Fraction], ...]:
    """The weights in the order of their names."""
    if weights is None:
        return ()
    if not isinstance(weights, Mapping) or not all(isinstance(name, str) for name in weights):
        raise InvalidInput("weights must be a mapping from column names to numbers; give for example weights={'cost': 3}")
    found = {name: exact(weight, "weight") for name, weight in weights.items()}
    for name, weight in found.items():
        if not Fraction(1, HEAVIEST) <= weight <= HEAVIEST:
            raise InvalidInput(f"the weight of {brief(name)} must lie between 0.001 and {HEAVIEST}; give for example 3")
    return tuple(sorted(found.items()))


def _usual(number: Fraction, name: str) -> Fraction:
    """A number that keeps noise and intervals within the range of a float."""
    if not LEAST <= number <= 1 / LEAST:
        raise InvalidBudget(f"{name} must lie between 1e-30 and 1e30; give for example {name}=0.5", argument=name)
    return number


def _enough(epsilon: Fraction) -> Fraction:
    if epsilon < LEAST_EPSILON:
        raise InvalidBudget("epsilon of a question must be at least 0.0001; give for example epsilon=0.1", argument="epsilon")
    return epsilon
