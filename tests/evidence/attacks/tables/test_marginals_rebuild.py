"""Rows rebuilt from exact marginals: what is called certain is true, and found by every method alike."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.marginals import SETS, Census, attack_blocks, blocks_of, made_blocks, rebuild
from tacit.publish.tables.cells.bounds import cell_bounds
from tacit.publish.tables.cells.counting import tables
from tacit.publish.tables.cells.released import Released, released
from tacit.publish.tables.table import Table


@pytest.mark.parametrize("seed", range(3))
def test_what_is_certain_is_true_and_is_the_lower_bound(seed):
    for block in made_blocks(3, seed):
        known = released(block, SETS)
        found = rebuild(known)
        assert (found.certain <= block).all()
        if block.sum() <= 12:
            assert (cell_bounds(known, "integer programs").lower == found.certain).all()
        if found.unique:
            assert (found.one == block).all()


def test_the_limit_of_the_list_changes_nothing_of_what_is_certain():
    """Beyond the limit the certain rows come from integer programs."""
    block = next(each for each in made_blocks(40) if 2 <= rebuild(released(each, SETS)).solutions.found <= 64)
    listed, solved = rebuild(released(block, SETS)), rebuild(released(block, SETS), most=1)
    assert listed.solutions.complete
    assert not solved.solutions.complete
    assert (listed.certain == solved.certain).all()


def test_all_sets_of_people_are_found():
    """Two people and two columns: both pairings of the values, by brute force over all pairs of rows."""
    block = np.array([[1, 0], [0, 1]])
    known = released(block, [(0,), (1,)])
    rows = list(product(range(2), repeat=2))
    pairs = {
        tuple(sorted(pair))
        for pair in product(rows, repeat=2)
        if sorted(a for a, _ in pair) == sorted(b for _, b in pair) == [0, 1]
    }
    found = rebuild(known)
    assert found.solutions.found == len(pairs) == len(list(tables(known))) == 2
    assert found.certain.sum() == 0


def test_small_blocks_fall_and_noise_saves_them():
    found = attack_blocks(made_blocks(12, seed=2))
    assert found.certain / found.people > 0.5
    assert sum(block.wrong for block in found.blocks) == 0
    assert found.right_under_noise < found.people
    assert "have one solution" in found.summary()


def test_a_planted_noisy_count_is_no_longer_solved():
    block = made_blocks(1)[0]
    exact = released(block, SETS)
    first, *others = exact.marginals.items()
    shifted = np.array(first[1])
    shifted.flat[0] += 1
    taken = int(np.flatnonzero(shifted.ravel()[1:])[0]) + 1
    shifted.flat[taken] -= 1  # the total stays: only the cells disagree
    with pytest.raises(InvalidInput, match="must be exact"):
        rebuild(Released(exact.shape, {first[0]: shifted, **dict(others)}))


def test_blocks_of_a_table():
    table = Table.of({"block": ["a", "a", "b"], "sex": ["f", "m", "f"], "age": ["1", "2", "2"]})
    blocks = blocks_of(table, "block", ["sex", "age"])
    assert [int(block.sum()) for block in blocks] == [2, 1]
    assert attack_blocks(blocks, Census(("sex", "age"), ((0,), (1,)))).people == 3
    with pytest.raises(InvalidInput, match="block column"):
        blocks_of(table, "block", ["block", "sex"])
