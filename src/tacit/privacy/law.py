"""The law of a mechanism's output, listed outcome by outcome, and the loss between two such laws.

Probabilities are `Decimal`s of 50 digits, computed by the mechanism from its definition, not from draws. An infinite law lists
a window of outcomes and bounds what is `missing`. The missing part may belong to listed outcomes, once a function has put several
of them into one: then `unplaced` bounds how much more than is listed an outcome may have, and ratios reckon with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import reduce
from types import MappingProxyType

from tacit.errors import InvalidInput

ARITHMETIC = Context(prec=50)
SLACK = Decimal("1e-35")  # what 50-digit arithmetic may be off, summed over any window used here


@dataclass(frozen=True, slots=True)
class Law:
    """The probability of each listed outcome; `missing` bounds the rest from above.

    Listed probabilities are exact, or too small by `unplaced` at most, all of them together.

    >>> coin = Law({0: Decimal("0.25"), 1: Decimal("0.75")})
    >>> coin.map(lambda bit: "any").probabilities["any"]
    Decimal('1.00')
    """

    probabilities: Mapping[Hashable, Decimal]
    missing: Decimal = field(default=Decimal(0))
    unplaced: Decimal = field(default=Decimal(0))

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", MappingProxyType(dict(self.probabilities)))
        total = reduce(ARITHMETIC.add, self.probabilities.values(), Decimal(0))
        if not (-SLACK <= ARITHMETIC.subtract(1, total) <= ARITHMETIC.add(self.missing, SLACK)):
            raise InvalidInput(f"the probabilities of a law must sum to 1 minus the missing mass, not to {total:.12f}")

    def map(self, function: Callable[[Hashable], Hashable]) -> Law:
        """The law of `function` of the outcome (post-processing); an outcome that is missing may have any image."""
        mapped: dict[Hashable, Decimal] = {}
        for outcome, weight in self.probabilities.items():
            image = function(outcome)
            mapped[image] = ARITHMETIC.add(mapped.get(image, Decimal(0)), weight)
        return Law(mapped, self.missing, self.missing)

    def and_then(self, following: Callable[[Hashable], Law]) -> Law:
        """The law of the pair (outcome, outcome of the law chosen by it): adaptive composition."""
        pairs: dict[Hashable, Decimal] = {}
        missing, unplaced = self.missing, self.unplaced > 0
        for first, weight in self.probabilities.items():
            second_law = following(first)
            missing, unplaced = ARITHMETIC.fma(weight, second_law.missing, missing), unplaced or second_law.unplaced > 0
            for second, second_weight in second_law.probabilities.items():
                pairs[first, second] = ARITHMETIC.multiply(weight, second_weight)
        return Law(pairs, missing, missing if unplaced else Decimal(0))


def worst_log_ratio(one: Law, other: Law) -> Decimal:
    """The largest ln(P/Q) over the outcomes listed in `one`, see `worst_ratio`; -Infinity if no outcome can be compared."""
    return ARITHMETIC.ln(worst_ratio(one, other))


def worst_ratio(one: Law, other: Law) -> Decimal:
    """The largest P/Q over the outcomes listed in `one`, from below: infinite where `other` cannot produce one of them.

    An outcome that `other` may have among what it misses is passed over, and one that it may have more of than it lists counts
    with all of that: so a ratio above a claim is a breach for certain.
    """
    worst = Decimal(0)
    for outcome, weight in one.probabilities.items():
        if weight == 0:
            continue
        against = other.probabilities.get(outcome)
        if against is None and other.missing > 0:
            continue
        against = against or Decimal(0)
        if not against and not other.unplaced:
            return Decimal("Infinity")
        worst = max(worst, ARITHMETIC.divide(weight, ARITHMETIC.add(against, other.unplaced)))
    return worst


def hockey_stick(one: Law, other: Law, epsilon: Decimal) -> Decimal:
    """The least delta for `epsilon`, from above: the sum of P - e^epsilon Q where positive, plus what is missing of P."""
    ratio = ARITHMETIC.exp(epsilon)
    excess = (
        ARITHMETIC.subtract(weight, ARITHMETIC.multiply(ratio, other.probabilities.get(outcome, Decimal(0))))
        for outcome, weight in one.probabilities.items()
    )
    return reduce(ARITHMETIC.add, (part for part in excess if part > 0), one.missing)
