"""Two releases one after the other, the second chosen by the outcome of the first: their joint laws, and what they may cost."""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal

from tacit.accounting.composition import sequential
from tacit.evidence.verify.claims import aligned
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Approximate, Concentrated, Loss, Probabilistic, Pure

Laws = tuple[Law, Law]
MOST_OUTCOMES = 60  # of one law in a pair of laws; more are gathered by their ratio, which can only hide, never invent


def surviving(loss: Loss) -> Pure | Approximate | Concentrated:
    """What remains of a loss under any function of the output: a probabilistic claim is about single outputs, and does not."""
    return loss.approximate() if isinstance(loss, Probabilistic) else loss


def together(first: Loss, second: Loss) -> Loss:
    """What the accountant says two releases cost, in a form that survives functions of the outputs."""
    return sequential([surviving(first), surviving(second)])


def composed(first: Laws, second: Laws) -> Laws:
    """The laws of the pair of outputs for both neighbours, where the adversary turns the second question round when the
    first answer speaks for the other neighbour.
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
