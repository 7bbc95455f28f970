"""The search over the lattice: every tag and every optimum against counting all nodes, one row after the other."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from anonymity import ADULT, QUASI, adult, all_nodes, groups_of, plain_loss, random_table
from tacit.errors import InvalidInput
from tacit.publish.tables import search as searching
from tacit.publish.tables.conditions import Closeness, DistinctDiversity, EntropyDiversity, KAnonymity
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.lattice import Lattice
from tacit.publish.tables.measures import MEASURES, Losses
from tacit.publish.tables.search import COMPLIES, FAILS, best, search, tag_nodes
from tacit.publish.tables.search import Counter as NodeCounter
from tacit.publish.tables.table import Table

BY_ROWS = [measure for measure in MEASURES if measure != "queries"]


def ok(group, table, k, t=None):
    """k-anonymity and, if given, t-closeness with equal distance, in rationals."""
    if len(group) < k:
        return False
    if t is None:
        return True
    texts = table["s"].texts()
    whole, here = Counter(texts.tolist()), Counter(texts[group].tolist())
    return sum(abs(Fraction(here[v], len(group)) - Fraction(whole[v], table.rows)) for v in whole) / 2 <= t


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", [0, 3, 12])
@pytest.mark.parametrize("t", [None, Fraction(1, 4)])
def test_every_tag_is_what_counting_says(seed, limit, t):
    table, hierarchies = random_table(seed)
    lattice = Lattice(table, tuple(hierarchies), hierarchies, ("s",))
    conditions = [KAnonymity(3), *([] if t is None else [Closeness("s", t)])]
    tags = tag_nodes(NodeCounter(lattice, conditions, limit))
    for node in all_nodes(hierarchies):
        violating = sum(len(g) for g in groups_of(table, hierarchies, node).values() if not ok(g, table, 3, t))
        assert (tags[node] == COMPLIES) == (violating <= limit), node


def diverse(group, table):
    """Two values of s among the rows with each value of u, and the other way round."""
    pairs = [(table["s"].texts()[row], table["u"].texts()[row]) for row in group]
    return all(len({pair[1 - at] for pair in pairs if pair[at] == known[at]}) >= 2 for at in (0, 1) for known in pairs)


@pytest.mark.parametrize("seed", range(6))
def test_every_tag_with_several_sensitive_columns(seed):
    """With the other columns known, a group that complies may be spoilt by merging, also for distinct l-diversity."""
    table, hierarchies = random_table(seed, rows=60)
    u = np.random.default_rng(seed + 100).integers(0, 2, 60)
    table = Table((*table.columns, Table.of({"u": u})["u"]))
    lattice = Lattice(table, tuple(hierarchies), hierarchies, ("s", "u"))
    tags = tag_nodes(NodeCounter(lattice, [KAnonymity(2), DistinctDiversity("s", 2), DistinctDiversity("u", 2)], 20))
    for node in all_nodes(hierarchies):
        groups = groups_of(table, hierarchies, node).values()
        violating = sum(len(g) for g in groups if len(g) < 2 or not diverse(g, table))
        assert (tags[node] == COMPLIES) == (violating <= 20), node


def test_a_search_that_forgets_the_other_sensitive_columns_is_caught(monkeypatch):
    """Four rows comply, a fifth one does not; together they do not, since the fifth one's u is known and tells its s."""
    table = Table.of({"q": ["a"] * 4 + ["b"], "s": [*"xyxy", "x"], "u": [1, 1, 2, 2, 3]})
    lattice = Lattice(table, ("q",), {"q": Hierarchy.flat("q", ["a", "b"])}, ("s", "u"))
    conditions = [DistinctDiversity("s", 2), DistinctDiversity("u", 2)]
    assert tag_nodes(NodeCounter(lattice, conditions, 1)).tolist() == [COMPLIES, FAILS]
    monkeypatch.setattr(Lattice, "falls", lambda self, condition: condition.falls)
    assert tag_nodes(NodeCounter(lattice, conditions, 1)).tolist() == [COMPLIES, COMPLIES]


@pytest.mark.parametrize("measure", BY_ROWS)
@pytest.mark.parametrize("limit", [0, 6])
def test_the_optimum_is_the_best_of_all_nodes(measure, limit):
    for seed in range(4):
        table, hierarchies = random_table(seed)
        lattice = Lattice(table, tuple(hierarchies), hierarchies)
        found = search(lattice, [KAnonymity(3)], Losses(lattice, 3), measure, limit)
        plain = {}
        for node in all_nodes(hierarchies):
            groups = groups_of(table, hierarchies, node).values()
            if sum(len(g) for g in groups if len(g) < 3) <= limit:
                plain[node] = plain_loss(measure, table, hierarchies, node, lambda g: len(g) >= 3, 3)
        assert found.satisfying == len(plain)
        assert found.loss == pytest.approx(min(plain.values()), rel=1e-12)
        assert plain[found.node] == pytest.approx(found.loss, rel=1e-12)


def test_range_queries_against_counting_rows():
    table, hierarchies = random_table(1)
    lattice = Lattice(table, tuple(hierarchies), hierarchies)
    losses = Losses(lattice, 3)
    found = search(lattice, [KAnonymity(3)], losses, "queries", 6)
    assert found.loss == min(_query_loss(lattice, losses, node) for node in all_nodes(hierarchies) if found.tags[node] == COMPLIES)
    pair, numbers = next(iter(losses.queries.numbers_by_pair.items()))
    names = [lattice.quasi[each] for each in pair]
    inside = [losses.queries.in_range(each, numbers) for each in pair]
    rows = zip(*(table[name].texts() for name in names), strict=True)
    counted = sum(inside[0][hierarchies[names[0]].places[one]] * inside[1][hierarchies[names[1]].places[two]] for one, two in rows)
    assert losses.queries.truth[numbers].tolist() == counted.tolist()
    assert losses.queries.error(lattice.bottom, np.ones(len(lattice.tuples), dtype=bool)) == 0


def _query_loss(lattice, losses, node):
    rolled = lattice.roll_up(node)
    return losses.loss("queries", rolled, rolled.sizes >= 3)


def test_a_bound_is_never_above_the_loss_nor_falls():
    table, hierarchies = random_table(5)
    lattice = Lattice(table, tuple(hierarchies), hierarchies)
    losses = Losses(lattice, 3, {"a": 2.0})
    for measure in BY_ROWS:
        bound = {}
        for node in all_nodes(hierarchies):
            rolled = lattice.roll_up(node)
            bound[node] = losses.loss(measure, rolled, np.ones(len(rolled), dtype=bool))
            assert bound[node] <= losses.loss(measure, rolled, rolled.sizes >= 3) + 1e-12
            lower = [(*node[:at], level - 1, *node[at + 1 :]) for at, level in enumerate(node) if level]
            assert all(bound[each] <= bound[node] + 1e-12 for each in lower)


def test_rolling_up_is_the_same_from_anywhere():
    table, hierarchies = random_table(2)
    lattice = Lattice(table, tuple(hierarchies), hierarchies, ("s",))
    for node in all_nodes(hierarchies):
        direct = lattice.roll_up(node)
        lower = tuple(max(0, level - 1) for level in node)
        again = lattice.roll_up(node, lattice.roll_up(lower))
        assert again.sizes.tolist() == direct.sizes.tolist()
        assert [part.tolist() for part in again.cells] == [part.tolist() for part in direct.cells]
        assert lattice.of_tuples(node).sizes(lattice.bottom.sizes).tolist() == direct.sizes.tolist()


def test_pruning_by_a_condition_that_may_be_spoilt_would_be_wrong(monkeypatch):
    """With suppression, a node may meet t-closeness and one above it not: a search that tags by it gives other tags."""
    wrong = 0
    for seed in range(12):
        table, hierarchies = random_table(seed)
        lattice = Lattice(table, tuple(hierarchies), hierarchies, ("s",))
        counter = NodeCounter(lattice, [KAnonymity(2), Closeness("s", Fraction(1, 5))], 12)
        sound = tag_nodes(counter)
        with monkeypatch.context() as patch:
            patch.setattr(Closeness, "falls", True)
            wrong += int((tag_nodes(counter) != sound).sum())
    assert wrong > 0


def test_a_planted_bound_that_is_too_large_loses_the_optimum(monkeypatch):
    """The test of the optimum sees a search that passes over nodes wrongly."""
    table, hierarchies = random_table(0)
    lattice = Lattice(table, tuple(hierarchies), hierarchies)
    losses = Losses(lattice, 3)
    found = search(lattice, [KAnonymity(3)], losses, "discernibility", 6)
    monkeypatch.setattr(Losses, "bounds", lambda self, measure: -np.indices(self.lattice.shape).sum(axis=0).astype(float))
    monkeypatch.setattr(searching, "FREE", tuple(MEASURES))
    planted = Losses(lattice, 3)
    counter = NodeCounter(lattice, [KAnonymity(3)], 6)
    assert best(counter, tag_nodes(counter), planted, "discernibility")[1] == pytest.approx(found.loss), (
        "negative bounds prune nothing"
    )
    monkeypatch.setattr(Losses, "bounds", lambda self, measure: 9 - np.indices(self.lattice.shape).sum(axis=0).astype(float))
    assert best(counter, tag_nodes(counter), planted, "discernibility")[1] > found.loss


def test_several_sensitive_columns_are_strict_by_default():
    """Each disease group has two incomes, but with the disease known the income is known."""
    table, hierarchies = random_table(0, rows=8)
    hierarchies = {"b": hierarchies["b"]}
    rows = {"b": ["0"] * 4, "s": ["x", "x", "y", "y"], "u": ["1", "1", "2", "2"]}
    table = Table.of(rows)
    conditions = [DistinctDiversity("s", 2), DistinctDiversity("u", 2)]
    each = Lattice(table, ("b",), hierarchies, ("s", "u"), strict=False)
    assert each.meets_all(each.bottom, conditions).tolist() == [True]
    strict = Lattice(table, ("b",), hierarchies, ("s", "u"))
    assert strict.meets_all(strict.bottom, conditions).tolist() == [False]
    mixed = Table.of({**rows, "u": ["1", "2", "1", "2"]})
    apart = Lattice(mixed, ("b",), hierarchies, ("s", "u"))
    assert apart.meets_all(apart.bottom, conditions).tolist() == [True]


def test_a_requirement_that_nothing_meets_is_a_sentence():
    table, hierarchies = random_table(0)
    lattice = Lattice(table, tuple(hierarchies), hierarchies, ("s",))
    with pytest.raises(InvalidInput, match="no generalization of the table"):
        search(lattice, [EntropyDiversity("s", Fraction(3))], Losses(lattice), "ncp")


@pytest.mark.skipif(not ADULT.is_dir(), reason="needs ../shared/data/adult")
def test_adult_has_67_nodes():
    table, hierarchies = adult()
    lattice = Lattice(table, QUASI, hierarchies)
    found = search(lattice, [KAnonymity(5)], Losses(lattice, 5), "ncp")
    assert (found.satisfying, found.nodes) == (67, 6480)
    assert found.counted < 300
    assert found.node in found.minimal()


@pytest.mark.slow  # all 6,480 nodes are counted and scored without roll-up
@pytest.mark.skipif(not ADULT.is_dir(), reason="needs ../shared/data/adult")
@pytest.mark.parametrize("share", [0, 0.02])
def test_every_tag_and_optimum_of_adult(share):
    table, hierarchies = adult()
    lattice = Lattice(table, QUASI, hierarchies)
    limit, losses = int(share * table.rows), Losses(lattice, 5)
    measures = MEASURES if share == 0 else BY_ROWS  # every complying node is scored for the queries
    least = dict.fromkeys(measures, float("inf"))
    complying = set()
    for node in all_nodes(hierarchies):
        rolled = lattice.roll_up(node)
        if rolled.sizes[rolled.sizes < 5].sum() <= limit:
            complying.add(node)
            for measure in measures:
                least[measure] = min(least[measure], losses.loss(measure, rolled, rolled.sizes >= 5))
    for measure in measures:
        found = search(lattice, [KAnonymity(5)], losses, measure, limit)
        assert {tuple(map(int, node)) for node in np.argwhere(found.tags == COMPLIES)} == complying
        assert found.loss == pytest.approx(least[measure], rel=1e-12)
