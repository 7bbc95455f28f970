"""Releases one after another, each chosen by the outcomes before: their joint laws, and an adversary against the ledger's filter.

An adversary against the ledger's filter who tries everything: all adaptive strategies, worst mechanisms, exact arithmetic.

A transcript distinguishes two neighbours. After each answer the adversary chooses, with all answers in hand, the next
event from a menu, or stops; the filter decides what is admitted. Randomized response is the worst mechanism of its epsilon:
every (epsilon, delta) mechanism on two neighbours is a function of "reveal with probability delta, else randomized response"
(Kairouz, Oh and Viswanath 2015), so a menu of those covers every mechanism with the same costs. The best strategy is found by
dynamic programming on (likelihood ratio so far, sums so far); nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from operator import itemgetter
from typing import Protocol

from tacit.accounting.composition import Cost, sequential
from tacit.accounting.filter import NOTHING_SPENT, State, on_grid_up
from tacit.errors import LawViolated
from tacit.evidence.verify.claims import align, as_decimal, claimed_parameter, measured_both_ways
from tacit.privacy.conversion import pure_rho_up
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Approximate, Concentrated, Loss, Probabilistic, Pure, weakened
from tacit.privacy.rounding import as_text, exp_down, log_up

Laws = tuple[Law, Law]
CONVERTED_AT, TINY = Fraction(1, 10**6), Fraction(1, 10**30)
MOST_OUTCOMES = 20  # of one law in a pair of laws; more are gathered by their ratio, which can only hide, never invent


def surviving_loss(loss: Loss) -> Pure | Approximate | Concentrated:
    """The loss that holds for any function of the output: a probabilistic claim is about single outputs, and does not."""
    return loss.approximate() if isinstance(loss, Probabilistic) else loss


def together(first: Loss, second: Loss) -> Loss:
    """The accountant's cost of two releases, in a form that holds for functions of the outputs and can be measured."""
    total = sequential([surviving_loss(first), surviving_loss(second)])
    return weakened(total, total.delta + CONVERTED_AT) if isinstance(total, Concentrated) and total.delta > TINY else total


def compose(first: Laws, second: Laws) -> Laws:
    """The laws of the pair of outputs for both neighbours.

    The adversary turns the second question round when the first answer speaks for the other neighbour.
    """
    one, other = gather(*first)
    two, against = gather(*second)

    def speaks_for_one(outcome: Hashable) -> bool:
        return one.probabilities.get(outcome, Decimal(0)) >= other.probabilities.get(outcome, Decimal(0))

    return (
        one.and_then(lambda outcome: two if speaks_for_one(outcome) else against),
        other.and_then(lambda outcome: against if speaks_for_one(outcome) else two),
    )


def gather(one: Law, other: Law) -> Laws:
    """Both laws with at most about `MOST_OUTCOMES` outcomes: the most telling stay alone, the others share by rank of ratio."""
    one, other = align(one, other)

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
    """Of all pairs of releases under one relation, the one that comes nearest to (or passes) the cost of both together: the
    names, the claim and the measure.
    """
    pairs = []
    fewer = [(name, loss, gather(*laws)) for name, loss, laws in releases]
    for (first, loss, laws), (second, other_loss, other_laws) in combinations_with_replacement(fewer, 2):
        if loss.neighbours == other_loss.neighbours:
            claim = together(loss, other_loss)
            measure = measured_both_ways(claim, *compose(laws, other_laws))
            pairs.append((measure / as_decimal(claimed_parameter(claim)), f"{first} and {second}", claim, measure))
    _, names, claim, measure = max(pairs, key=itemgetter(0))
    return names, claim, measure


# --- an adversary against the ledger's filter who tries everything -----------------------------------------------------------


class Rule(Protocol):
    """A filter, right or planted."""

    def admits(self, state: State, cost: Cost) -> bool:
        """Whether the spend goes through."""

    def after(self, state: State, cost: Cost) -> State:
        """The sums after it."""


@dataclass(frozen=True, slots=True)
class Move:
    """An event that may be run: its cost, and the probability of each outcome under the two neighbours."""

    cost: Cost
    outcomes: tuple[tuple[Fraction, Fraction], ...]


def pure_move(ratio: Fraction) -> Move:
    """Randomized response of that ratio, priced as pure epsilon = ln ratio (rounded up to the ledger's grid).

    >>> pure_move(Fraction(3)).outcomes
    ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))
    """
    return failing_move(ratio, Fraction(0))


def failing_move(ratio: Fraction, delta: Fraction) -> Move:
    """Reveals the neighbour with probability delta, else randomized response: the worst (ln ratio, delta) event."""
    epsilon = on_grid_up(log_up(ratio))
    outcomes = [(share * (1 - delta), other * (1 - delta)) for share, other in _randomized_response(ratio)]
    failing = [(delta, Fraction(0)), (Fraction(0), delta)] if delta else []
    return Move(Cost(epsilon, pure_rho_up(epsilon), delta), (*outcomes, *failing))


def concentrated_move(ratio: Fraction) -> Move:
    """The same randomized response, priced by its exact rho, epsilon tanh(epsilon / 2), and without an epsilon.

    composition.md, section 2, proves that rho.
    """
    rho = log_up(ratio) * (ratio - 1) / (ratio + 1)
    return Move(Cost(None, on_grid_up(rho), Fraction(0)), _randomized_response(ratio))


def worst_delta(rule: Rule, moves: Sequence[Move], depth: int, ratio: Fraction) -> Fraction:
    """The largest P(S) - ratio Q(S) over all strategies of at most `depth` moves and all sets S of transcripts.

    With `ratio` = e^epsilon of the cap this is the delta that the filter really gives; a smaller ratio bounds it from above.

    >>> from tacit.accounting.filter import Filter
    >>> worst_delta(Filter(epsilon=2), [pure_move(Fraction(3, 2))], depth=6, ratio=exp_down(Fraction(2)))
    Fraction(0, 1)
    """
    excess: dict[tuple[Fraction, State, int], Fraction] = {}

    def best(against: Fraction, state: State, moves_left: int) -> Fraction:
        """The excess still to be won for each unit of P, when Q has `against` units there."""
        key = against, state, moves_left
        if key not in excess:
            admitted = [move for move in moves if rule.admits(state, move.cost)] if moves_left else []
            excess[key] = max([max(Fraction(0), 1 - ratio * against), *(run(move, *key) for move in admitted)])
        return excess[key]

    def run(move: Move, against: Fraction, state: State, moves_left: int) -> Fraction:
        spent = rule.after(state, move.cost)
        return sum((p * best(against * q / p, spent, moves_left - 1) for p, q in move.outcomes if p), start=Fraction(0))

    return best(Fraction(1), NOTHING_SPENT, depth)


def check_filter(rule: Rule, moves: Sequence[Move], depth: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The worst delta at the cap's epsilon, rounded up; `LawViolated` where it exceeds the cap's delta."""
    worst = worst_delta(rule, moves, depth, exp_down(epsilon))
    if worst > delta:
        raise LawViolated(
            "filter",
            f"an adaptive strategy of at most {depth} events reaches delta {as_text(worst)} at epsilon {as_text(epsilon)}, "
            f"above the cap's {as_text(delta)}",
        )
    return worst


def _randomized_response(ratio: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
    likely, unlikely = ratio / (1 + ratio), 1 / (1 + ratio)
    return (likely, unlikely), (unlikely, likely)
