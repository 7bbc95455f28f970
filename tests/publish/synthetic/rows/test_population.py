"""Rows settle on marginals: without noise they have them, what no marginal joins is as independent as it can be."""

from __future__ import annotations

import numpy as np
import pytest

from chance import next_run_limit
from tacit.publish.synthetic.rows.population import Population, Target, padded, repeated, strides

ROWS = 6000


def joint(seed: int, *sizes: int) -> np.ndarray:
    """A distribution in which all columns go together."""
    return np.random.default_rng(seed).dirichlet(np.full(int(np.prod(sizes)), 0.3)).reshape(sizes)


def shares_of(whole: np.ndarray, *places: int) -> np.ndarray:
    others = tuple(at for at in range(whole.ndim) if at not in places)
    return whole.sum(axis=others).ravel()


def distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).sum() / 2)


def settled(whole: np.ndarray, marginals: list[tuple[int, ...]], deviation: float = 1e-4, rows: int = ROWS) -> Population:
    made = Population([shares_of(whole, at) for at in range(whole.ndim)], rows, seed=5)
    made.targets += [Target((at,), shares_of(whole, at), deviation) for at in range(whole.ndim)]
    made.targets += [Target(places, shares_of(whole, *places), deviation) for places in marginals]
    made.settle(30)
    return made


@pytest.mark.parametrize("marginals", [[(0, 1), (1, 2), (0, 2)], [(0, 1, 2)]], ids=["a cycle of pairs", "a triple"])
def test_without_noise_rows_have_the_marginals(marginals: list[tuple[int, ...]]) -> None:
    """A cycle, for which a tree has no model; before, as independent columns, they are far away."""
    whole = joint(3, 4, 5, 3)
    before = Population([shares_of(whole, at) for at in range(3)], ROWS, seed=5)
    made = settled(whole, marginals)
    for places in marginals:
        assert distance(before.histogram(places), shares_of(whole, *places)) > 0.2
        assert distance(made.histogram(places), shares_of(whole, *places)) < 0.01


def test_columns_along_a_chain_are_independent_given_the_one_between() -> None:
    """The largest entropy: of 0-1 and 1-2 follows 0-2, which nobody measured. In 12 runs 0.018 to 0.028, a spread of 0.0025."""
    whole = joint(4, 4, 3, 4)
    first, second = whole.sum(axis=2), whole.sum(axis=0)
    implied = (first / first.sum(axis=0)).dot(second).ravel()
    made = settled(whole, [(0, 1), (1, 2)], rows=4 * ROWS)
    assert distance(made.histogram((0, 2)), implied) < 0.023 + next_run_limit(0.0025, 12) < 0.1
    assert distance(shares_of(whole, 0, 2), implied) > 0.25, "which is not what the table has"


def test_a_marginal_of_more_noise_has_less_weight() -> None:
    whole, wrong = joint(5, 4, 4), np.full(16, 1 / 16)
    made = settled(whole, [(0, 1)], deviation=1e-3)
    made.targets.append(Target((0, 1), wrong, 0.05))
    made.settle(20)
    assert distance(made.histogram((0, 1)), shares_of(whole, 0, 1)) < 0.02 < distance(made.histogram((0, 1)), wrong)


def test_a_wide_column_settles_by_trying_a_few_values() -> None:
    whole = joint(6, 150, 3)
    made = settled(whole, [(0, 1)], rows=3 * ROWS)
    assert distance(made.histogram((0, 1)), shares_of(whole, 0, 1)) < 0.05


def test_any_numbers_whatever_have_rows() -> None:
    for shares in (np.zeros(4), np.full(4, -3.0), np.array([1e12, -1e12, 0.0, 5.0])):
        made = Population([np.array([-1.0, -2.0]), np.array([0.0, 0.0])], 50, seed=1)
        made.targets.append(Target((0, 1), shares, 1e-9))
        made.settle(3)
        assert made.histogram((0, 1)).sum() == pytest.approx(1)


def test_shapes() -> None:
    assert strides([2, 3, 5]) == [15, 5, 1]
    assert padded([[3], [1, 2]]).tolist() == [[3, -1], [1, 2]]
    assert sorted(np.bincount(repeated(3, 7)).tolist()) == [2, 2, 3]
    assert len(set(repeated(5, 3).tolist())) == 3
