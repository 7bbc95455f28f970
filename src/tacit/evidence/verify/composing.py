"""Two releases one after the other, the second chosen by the outcome of the first: their joint laws, and what they may cost."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from operator import itemgetter

from tacit.accounting.composition import sequential
from tacit.evidence.verify.claims import aligned, as_decimal, claimed, measured_both_ways
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Approximate, Concentrated, Loss, Probabilistic, Pure, weakened

Laws = tuple[Law, Law]
CONVERTED_AT, TINY = Fraction(1, 10**6), Fraction(1, 10**30)
MOST_OUTCOMES = 20  # of one law in a pair of laws; more are gathered by their ratio, which can only hide, never invent


def surviving(loss: Loss) -> Pure | Approximate | Concentrated:
    """What remains of a loss under any function of the output: a probabilistic claim is about single outputs, and does not."""
    return loss.approximate() if isinstance(loss, Probabilistic) else loss


def together(first: Loss, second: Loss) -> Loss:
    """What the accountant says two releases cost, in a form that survives functions of the outputs and can be measured."""
    total = sequential([surviving(first), surviving(second)])
    return weakened(total, total.delta + CONVERTED_AT) if isinstance(total, Concentrated) and total.delta > TINY else total


def composed(first: Laws, second: Laws) -> Laws:
    """The laws of the pair of outputs for both neighbours.

    The adversary turns the second question round when the first answer speaks for the other neighbour.
    """
    one, other = gathered(*first)
    two, against = gathered(*second)

    def speaks_for_one(outcome: Hashable) -> bool:
        return one.probabilities.get(outcome, Decimal(0)) >= other.probabilities.get(outcome, Decimal(0))

    return (
        one.and_then(lambda outcome: two if speaks_for_one(outcome) else against),
        other.and_then(lambda outcome: against if speaks_for_one(outcome) else two),
    )


def gathered(one: Law, other: Law) -> Laws:
    """Both laws with at most about `MOST_OUTCOMES` outcomes: the most telling stay alone, the others share by rank of ratio."""
    one, other = aligned(one, other)

    def ratio(outcome: Hashable) -> Decimal:
        probability, against = (law.probabilities.get(outcome, Decimal(0)) for law in (one, other))
        return ARITHMETIC.divide(probability, against) if against > 0 else Decimal("Infinity")

    ranked = sorted({**one.probabilities, **other.probabilities}, key=ratio)
    size = -(-len(ranked) // MOST_OUTCOMES)
    alone = {*ranked[:5], *ranked[-5:]}
    if size == 1:
        return one, other
    place = {outcome: outcome if outcome in alone else ("class", rank // size) for rank, outcome in enumerate(ranked)}
    return one.map(place.__getitem__), other.map(place.__getitem__)


def worst_composition(releases: Sequence[tuple[str, Loss, Laws]]) -> tuple[str, Loss, Decimal]:
    """Of all pairs of releases under one relation: the one that comes nearest to (or passes) what both may cost together.

    Comes back as the names, the claim and the measure.
    """
    found = []
    fewer = [(name, loss, gathered(*laws)) for name, loss, laws in releases]
    for (first, loss, laws), (second, other_loss, other_laws) in combinations_with_replacement(fewer, 2):
        if loss.neighbours == other_loss.neighbours:
            claim = together(loss, other_loss)
            measure = measured_both_ways(claim, *composed(laws, other_laws))
            found.append((measure / as_decimal(claimed(claim)), f"{first} and {second}", claim, measure))
    _, names, claim, measure = max(found, key=itemgetter(0))
    return names, claim, measure
