"""The attacker's plan: what it promises, and what goes wrong with plans that do not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from small_graphs import random_graph
from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs.planted import attack
from tacit.evidence.attacks.graphs.planting import (
    Plan,
    clear,
    mistakable,
    outside,
    proved_accounts,
    self_matches,
    simple_plan,
    walk_plan,
)


def people(many: int) -> np.ndarray:
    return np.arange(many, dtype=np.int64)


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_keeps_its_promises(seed):
    plan = walk_plan(3000, 10, people(40), seed, (15, 30))
    assert all(plan.internal[place, place + 1] for place in range(9))
    assert (plan.internal == plan.internal.T).all()
    assert not plan.internal.diagonal().any()
    assert len(set(plan.subsets)) == 40
    assert {len(subset) for subset in plan.subsets} <= {2, 3}
    strangers = [person for row in plan.strangers for person in row]
    assert max(Counter(strangers).values()) == 1
    assert not set(strangers) & set(plan.targets.tolist())
    assert 15 <= outside(plan).min() <= outside(plan).max() <= 30
    assert not any(mistakable(plan.internal, subset) for subset in plan.subsets)
    assert self_matches(plan.internal, plan.degrees) == 1


def test_plans_differ_by_seed_and_repeat_with_it():
    one, same, other = (walk_plan(3000, 10, people(40), seed) for seed in (1, 1, 2))
    assert (one.internal == same.internal).all()
    assert one.strangers == same.strangers
    assert one.strangers != other.strangers


@pytest.mark.parametrize("seed", range(30))
def test_self_matches_are_those_of_all_permutations(seed):
    graph = random_graph(6, 0.5, seed)
    internal = np.array([[graph.has_edge(one, two) for two in range(6)] for one in range(6)])
    degrees = np.random.default_rng(seed).integers(3, 5, 6)
    every = [
        list(image)
        for image in permutations(range(6))
        if (internal[np.ix_(image, image)] == internal).all() and (degrees[list(image)] == degrees).all()
    ]
    assert self_matches(internal, degrees, most=10**6) == len(every)


@pytest.mark.parametrize(
    ("accounts", "targets", "degrees", "problem"),
    [
        (7, 70, (20, 60), "7 accounts have 56 sets"),  # more distinct subsets than exist: refused, not sought for ever
        (10, 100, (3, 5), "100 targets do not fit"),
        (3, 1, (20, 60), "at least 4 accounts"),
        (10, 5, (9, 3), "invalid external degrees"),
        (10, 5, (400, 500), "different people"),
    ],
)
def test_impossible_plans_are_refused(accounts, targets, degrees, problem):
    with pytest.raises(InvalidInput, match=problem):
        walk_plan(3000, accounts, people(targets), 0, degrees)


def test_targets_are_different_people_of_the_graph():
    for wrong in ([1, 1, 2], [-1, 2, 3], [1, 2, 3000], []):
        with pytest.raises(InvalidInput, match="different people"):
            walk_plan(3000, 10, np.array(wrong, dtype=np.int64))


def test_the_simple_form_has_one_account_for_every_target():
    plan = simple_plan(500, people(9), seed=2)
    assert plan.subsets == tuple((place,) for place in range(9))
    assert (plan.degrees == plan.internal.sum(axis=1) + 1).all()
    with pytest.raises(InvalidInput, match="one way only"):
        simple_plan(500, people(5))


def test_the_proof_asks_for_more_accounts_than_are_needed():
    assert proved_accounts(4_400_000) == 44
    assert proved_accounts(36_692) == 30
    assert proved_accounts(4_400_000, delta=0.5) == 55


def planted(internal: np.ndarray, subsets: tuple, strangers: tuple) -> Plan:
    return Plan(internal, people(len(subsets)), subsets, strangers)


def rows_of(*texts: str) -> np.ndarray:
    return np.array([[letter == "1" for letter in text] for text in texts])


def test_planted_bug_a_pattern_with_a_self_match():
    """The planner would draw again; a plan that does not leaves the attacker with several places to choose from."""
    square = rows_of("0101", "1010", "0101", "1010")
    plan = planted(square, ((0, 1), (2, 3)), tuple(tuple(range(10 + 3 * place, 13 + 3 * place)) for place in range(4)))
    assert self_matches(plan.internal, plan.degrees) == 2
    assert not clear(plan.internal, plan.degrees)
    found = attack(random_graph(60, 0.02, 1), plan)
    assert found.matches > 1
    assert not found.unique


def test_planted_bug_a_stranger_that_looks_like_an_account():
    path = rows_of("0100", "1011", "0101", "0110")  # account 0 has one neighbour, and so has a stranger of account 1
    plan = planted(path, ((0, 2),), ((), (20,), (21, 22, 23), (24, 25, 26, 27, 28)))
    assert not clear(path, plan.degrees)
    empty = random_graph(60, 0.0, 1)
    two_links = type(empty).of_edges([20], [50], 60)  # now the stranger has as many links as account 0
    assert attack(two_links, plan).matches == 2
    assert attack(empty, plan).matches == 1


def test_planted_bug_a_subset_used_twice():
    plan = walk_plan(60, 6, people(4), 3, (4, 8))
    graph = random_graph(60, 0.02, 1)
    assert attack(graph, plan).read == 4
    twice = replace(plan, subsets=(plan.subsets[1], *plan.subsets[1:]))
    found = attack(graph, twice)
    assert (found.unique, found.read, found.misread) == (True, 2, 0)
