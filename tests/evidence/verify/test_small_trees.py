"""Small trees: the loss of all counts, exactly and from draws, and mutants of the code that runs."""

from dataclasses import replace

import pytest

from tacit.evidence.verify import small_trees
from tacit.evidence.verify.contract import contract
from tacit.evidence.verify.small_trees import PAIRS, ReadTree, SmallTree, _trees
from tacit.evidence.verify.trial import Effort
from tacit.mechanisms.tree.quantiles import Counts

EFFORT = Effort(samples=400)
TREE = _trees()[small_trees.DRAWN]


@pytest.mark.parametrize("name", [small_trees.TREE, small_trees.CHANGED])
def test_all_counts_together_reach_their_claim_and_no_more(name):
    tree = _trees()[name]
    found = SmallTree(tree, tree.noise).check()
    assert found.holds
    assert found.share == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", ["levels", "unit"])
def test_planted_noise_has_twice_the_loss(name):
    _, case = dict(small_trees.plant_cases())[name]
    assert float(case.run(EFFORT).measured) == pytest.approx(4)


def test_a_row_in_two_cells_of_a_level_is_seen(monkeypatch):
    """Planted in the code that counts: bounds that overlap by a point."""
    real = Counts.exactly
    monkeypatch.setattr(Counts, "exactly", lambda self, path: real(self, path) + real(self, path)[::-1])
    small_trees._every_count.cache_clear()
    tree = _trees()[small_trees.TREE]
    try:
        assert not SmallTree(tree, tree.noise).check().holds
    finally:
        small_trees._every_count.cache_clear()


def test_planted_noise_of_a_sixteenth_is_seen_from_few_draws():
    """Neighbours then hardly ever look alike, so the bound of a thousand draws is near 3.1, whatever is drawn; 2 is claimed."""
    spoiled = ReadTree(TREE, replace(TREE, epsilon=16 * TREE.epsilon))
    assert not contract(spoiled, PAIRS, Effort(samples=1000)).holds
