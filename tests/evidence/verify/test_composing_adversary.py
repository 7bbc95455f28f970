"""The search for the best strategy against the plain enumeration of all strategies."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import log

import pytest

from tacit.accounting.filter import NOTHING_SPENT, Filter, State
from tacit.evidence.verify.composing import Move, Rule, concentrated_move, failing_move, pure_move, worst_delta
from tacit.privacy.rounding import log_down

F = Fraction
Leaves = tuple[tuple[Fraction, Fraction], ...]


class Everything:
    """A filter that admits all."""

    def admits(self, state: State, cost: object) -> bool:
        return True

    def after(self, state: State, cost: object) -> State:
        return state


def all_strategies(rule: Rule, moves: list[Move], depth: int, state: State = NOTHING_SPENT) -> Iterator[Leaves]:
    """The transcripts' probabilities (P, Q) under every deterministic strategy of at most `depth` moves."""
    yield ((F(1), F(1)),)
    if depth == 0:
        return
    for move in moves:
        if rule.admits(state, move.cost):
            following = list(all_strategies(rule, moves, depth - 1, rule.after(state, move.cost)))
            for chosen in product(following, repeat=len(move.outcomes)):
                yield tuple((p * x, q * y) for (p, q), leaves in zip(move.outcomes, chosen, strict=True) for x, y in leaves)


def hockey_stick(leaves: Leaves, ratio: Fraction) -> Fraction:
    return sum((max(F(0), p - ratio * q) for p, q in leaves), start=F(0))


@pytest.mark.parametrize(
    ("rule", "moves", "depth", "ratio"),
    [
        (Everything(), [pure_move(F(2)), pure_move(F(3, 2))], 3, F(2)),
        (Everything(), [pure_move(F(2)), failing_move(F(3, 2), F(1, 10))], 2, F(3)),
        (Filter(F(1), F(1, 4)), [pure_move(F(3, 2)), concentrated_move(F(5, 4))], 3, F(5, 4)),
        (Filter(F(1, 2), F(1, 2)), [failing_move(F(1), F(1, 4)), pure_move(F(4, 3))], 2, F(1)),
    ],
)
def test_the_search_finds_the_best_of_all_strategies(rule: Rule, moves: list[Move], depth: int, ratio: Fraction) -> None:
    listed = [hockey_stick(leaves, ratio) for leaves in all_strategies(rule, moves, depth)]
    assert len(listed) > 5
    assert worst_delta(rule, moves, depth, ratio) == max(listed) > 0


def test_moves_are_laws_with_the_cost_they_claim() -> None:
    for move in (pure_move(F(3, 2)), failing_move(F(2), F(1, 7)), concentrated_move(F(4))):
        assert sum(p for p, _ in move.outcomes) == sum(q for _, q in move.outcomes) == 1
        assert sum(p for p, q in move.outcomes if q == 0) <= move.cost.delta
        ratios = [max(p / q, q / p) for p, q in move.outcomes if p and q]
        assert move.cost.epsilon is None or move.cost.epsilon >= log_down(max(ratios))


@pytest.mark.parametrize("ratio", [F(11, 10), F(2), F(10)])
def test_the_rho_of_randomized_response_holds_at_every_order_and_is_needed(ratio: Fraction) -> None:
    """R_a <= exp(a (a-1) rho) at whole and at small orders; at 1.001 one per cent less would not do."""
    move = concentrated_move(ratio)

    def needed(order: float) -> float:
        moment = sum(float(p) ** order * float(q) ** (1 - order) for p, q in move.outcomes)
        return log(moment) / (order * (order - 1))

    rho = float(move.cost.rho)
    assert all(needed(order) <= rho * (1 + 1e-9) for order in (1.001, 1.01, 1.5, 2, 5, 20))
    assert needed(1.001) > 0.99 * rho


def test_without_a_filter_the_adversary_wins() -> None:
    """Twelve randomized responses of ratio 2 tell the neighbours apart: the search is not blind."""
    assert worst_delta(Everything(), [pure_move(F(2))], 12, F(2)) > F(1, 2)
