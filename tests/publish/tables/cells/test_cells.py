"""Cell bounds against brute force: every table with the marginals is listed, on small tables of two and three columns."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.errors import InvalidInput
from tacit.publish.tables.cells import bounds as bounds_module
from tacit.publish.tables.cells import suppression
from tacit.publish.tables.cells.bounds import cell_bounds, closed_bounds, tree
from tacit.publish.tables.cells.counting import count_tables, tables
from tacit.publish.tables.cells.released import Released, marginal, released
from tacit.publish.tables.cells.suppression import suppress

TWO_WAY = [(0,), (1,)]
CYCLE = [(0, 1), (1, 2), (0, 2)]
TREES = [[(0,), (1,), (2,)], [(0, 1), (1, 2)], [(0, 1), (2,)], [(0, 1), (0, 2)], [(0, 1, 2)], [(0, 1), (1, 2), (1,)]]


def every_table(shape, total):
    """All tables of counts with a total: by brute force, sharing nothing with the code under test."""
    cells = int(np.prod(shape))

    def filled(cells, left):
        if cells == 1:
            yield (left,)
        else:
            for first in range(left + 1):
                yield from ((first, *rest) for rest in filled(cells - 1, left - first))

    for counts in filled(cells, total):
        yield np.array(counts).reshape(shape)


def brute(table, sets):
    """The tables with the same marginals, and their least and largest cells."""
    axes = [tuple(axis for axis in range(table.ndim) if axis not in kept) for kept in sets]
    wanted = [table.sum(axis=each) for each in axes]
    fit = [
        other
        for other in every_table(table.shape, int(table.sum()))
        if all((other.sum(axis=each) == sums).all() for each, sums in zip(axes, wanted, strict=True))
    ]
    return np.min(fit, axis=0), np.max(fit, axis=0), len(fit)


small = arrays(np.int64, st.sampled_from([(2, 2), (2, 3)]), elements=st.integers(0, 2))
cubes = arrays(np.int64, (2, 2, 2), elements=st.integers(0, 1))


@given(small, st.sampled_from([TWO_WAY, [(0,)], [()], [(0, 1)]]))
@settings(max_examples=20, deadline=None)
def test_two_columns_by_formula_and_program_are_sharp(table, sets):
    low, high, many = brute(table, sets)
    for way in (None, "integer programs"):
        found = cell_bounds(released(table, sets), way)
        assert (found.lower == low).all()
        assert (found.upper == high).all()
        assert found.sharp
    assert count_tables(released(table, sets)).found == many


@given(cubes, st.sampled_from([*TREES, CYCLE]))
@settings(max_examples=30, deadline=None)
def test_three_columns_are_sharp(table, sets):
    low, high, many = brute(table, sets)
    found = cell_bounds(released(table, sets))
    assert found.way == ("integer programs" if sets is CYCLE else "formula")
    assert (found.lower == low).all()
    assert (found.upper == high).all()
    assert count_tables(released(table, sets)).found == many


@given(
    arrays(np.int64, (2, 2, 2, 2), elements=st.integers(0, 40)), st.sampled_from([[(0, 1), (1, 2), (2, 3)], [(0, 1, 2), (1, 2, 3)]])
)
@settings(max_examples=3, deadline=None)
def test_chains_of_four_columns_are_sharp_by_programs(table, sets):
    """Too many tables to list: the formula is compared with the integer programs."""
    closed = closed_bounds(released(table, sets))
    assert closed is not None
    found = cell_bounds(released(table, sets), "integer programs")
    assert (found.lower == closed[0]).all()
    assert (found.upper == closed[1]).all()


def test_linear_bounds_are_valid_and_can_be_wider():
    """Six people, five yes/no columns, all marginals of two columns: nobody can be in a cell, and the linear bound is 5/3."""
    people = [(0, 0, 1, 1, 1), (0, 1, 0, 1, 0), (0, 1, 1, 0, 1), (1, 0, 0, 1, 1), (1, 0, 1, 1, 0), (1, 1, 1, 1, 1)]
    table = np.zeros((2, 2, 2, 2, 2), dtype=np.int64)
    for person in people:
        table[person] += 1
    known = released(table, list(combinations(range(5), 2)))
    loose, exact = cell_bounds(known, "linear programs"), cell_bounds(known)
    assert (loose.lower <= exact.lower).all()
    assert (loose.upper >= exact.upper).all()
    assert (loose.upper[1, 0, 1, 1, 1], exact.upper[1, 0, 1, 1, 1]) == (1, 0)
    assert (loose.sharp, exact.sharp) == (False, True)
    listed = np.array(list(tables(known)))
    assert (listed.min(axis=0) == exact.lower).all()
    assert (listed.max(axis=0) == exact.upper).all()


def test_known_cells_narrow_the_rest():
    table = np.array([[2, 10], [12, 6]])
    known = Released((2, 2), released(table, TWO_WAY).marginals, {(0, 0): 2})
    found = cell_bounds(known)
    assert found.determined.all()
    assert (found.lower == table).all()
    assert count_tables(known).found == 1


def test_a_column_in_no_marginal_is_left_open():
    table = np.array([[1, 2], [3, 4]])
    found = cell_bounds(released(table, [(0,)]))
    assert found.lower.tolist() == [[0, 0], [0, 0]]
    assert found.upper.tolist() == [[3, 3], [7, 7]]


def test_trees_and_cycles_are_told_apart():
    assert tree(CYCLE) is None
    assert all(tree(sets) is not None for sets in TREES)
    assert tree([(0, 1), (1, 2), (2, 3), (0, 3)]) is None
    assert tree([(0, 1), (1, 2), (0, 2), (0, 1, 2)]) == [((0, 1, 2), ())]


def test_planted_mistakes_are_caught(monkeypatch):
    """A lower bound of 0, as on the slide, and a cycle taken for a tree."""
    table = np.array([[2, 10], [12, 6]])
    monkeypatch.setattr(bounds_module, "closed_bounds", lambda known: (np.zeros((2, 2), np.int64), closed_bounds(known)[1]))
    assert (cell_bounds(released(table, TWO_WAY)).lower != brute(table, TWO_WAY)[0]).any()
    monkeypatch.undo()
    cube = np.array([[[1, 0], [0, 0]], [[0, 1], [0, 0]]])
    as_tree = closed_bounds(Released((2, 2, 2), {axes: marginal(cube, axes) for axes in CYCLE[:2]}))
    low, high, _ = brute(cube, CYCLE)
    assert (as_tree[0] != low).any() or (as_tree[1] != high).any()


def test_marginals_of_no_table_are_refused():
    impossible = Released(
        (2, 2, 2), {(0, 1): np.array([[1, 0], [0, 1]]), (1, 2): np.array([[1, 0], [0, 1]]), (0, 2): np.array([[0, 1], [1, 0]])}
    )
    assert count_tables(impossible).found == 0
    with pytest.raises(InvalidInput, match="no table of counts"):
        cell_bounds(impossible)
    with pytest.raises(InvalidInput, match="different totals"):
        Released((2, 2), {(0,): np.array([1, 2]), (1,): np.array([1, 1])})
    with pytest.raises(InvalidInput, match="every combination"):
        Released((2, 2), {(0,): np.array([1, 2, 3])})
    with pytest.raises(InvalidInput, match="does not have"):
        released(np.ones((2, 2)), [(5,)])
    with pytest.raises(InvalidInput, match="at least the total"):
        Released((2, 2), {})


def test_counting_stops_at_its_limit():
    found = count_tables(released(np.full((3, 3), 9), TWO_WAY), most=50)
    assert (found.complete, str(found)) == (False, "more than 50")
    assert len({table.tobytes() for table in tables(released(np.full((2, 2), 3), TWO_WAY))}) == 7


# --- suppression -----------------------------------------------------------------------------------------------------------------


@given(arrays(np.int64, st.sampled_from([(3, 3), (3, 4)]), elements=st.integers(6, 30)), st.integers(1, 4))
@settings(max_examples=8, deadline=None)
def test_hidden_cells_keep_the_interval_that_was_asked_for(table, width):
    table[0, 0], table[1, 2] = 1, 4  # all others are large enough to move against them
    found = suppress(table, below=5, width=width, sets=TWO_WAY)
    seen = cell_bounds(found.published(), "integer programs")
    for cell in np.argwhere(found.small):
        assert seen.upper[tuple(cell)] - seen.lower[tuple(cell)] >= width
    assert (found.hidden >= found.small).all()


def test_hiding_the_small_cells_alone_does_not_do():
    table = np.array([[20, 50, 10], [8, 19, 22], [17, 32, 2]])
    found = suppress(table, below=5, width=4, sets=TWO_WAY)
    assert int(found.small.sum()) == 1
    alone = Released(
        table.shape, released(table, TWO_WAY).marginals, {cell: int(table[cell]) for cell in np.ndindex(3, 3) if cell != (2, 2)}
    )
    assert cell_bounds(alone).determined.all()
    assert found.narrowest >= 4
    assert cell_bounds(found.published()).narrower_than(4)[2, 2] == False  # noqa: E712  # a NumPy bool


def test_what_cannot_be_hidden_is_refused():
    with pytest.raises(InvalidInput, match="narrower"):
        suppress([[1, 2], [2, 1]], below=3, width=50, sets=TWO_WAY)
    with pytest.raises(InvalidInput, match="smaller numbers hide nothing"):
        suppress([[1, 2], [2, 1]], below=1, width=1, sets=TWO_WAY)


def some_set_would_do(table, below, width, sets):
    """Whether some set of hidden cells gives every small cell an interval of the width, from a list of all tables that fit."""
    flat, both = table.ravel(), table.sum(axis=0)  # both halves of a table of two make what its marginals hold
    halves = np.stack(np.meshgrid(*(np.arange(most + 1) for most in both.ravel()), indexing="ij"), axis=-1)
    pairs = ([half, both - half] for half in halves.reshape(-1, *both.shape))
    fits = np.array([np.ravel(pair) for pair in pairs if same_marginals(np.array(pair), table, sets)])
    small = [cell for cell, count in enumerate(flat) if 0 < count < below]
    others = [cell for cell in range(table.size) if cell not in small]
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            shown = [cell for cell in others if cell not in more]
            left = fits[(fits[:, shown] == flat[shown]).all(axis=1)]
            if (np.ptp(left, axis=0)[small] >= width).all():
                return True
    return False


def same_marginals(one, two, sets):
    return all((marginal(one, axes) == marginal(two, axes)).all() for axes in sets)


def wrongly_refused(seeds):
    """How many of random small tables are refused, and how many of these although some set of cells would protect them."""
    refused, wrong = 0, 0
    for seed in seeds:
        random = np.random.default_rng(seed)
        shape, sets = [((2, 3), TWO_WAY), ((2, 2, 2), CYCLE), ((2, 4), TWO_WAY)][seed % 3]
        table, width = random.integers(0, 5, shape), int(random.integers(1, 5))
        try:
            suppress(table, below=3, width=width, sets=sets)
        except InvalidInput:
            refused += 1
            wrong += some_set_would_do(table, 3, width, sets)
    return refused, wrong


def test_the_width_may_lie_on_both_sides_of_a_small_count():
    """The 1 can be 0 to 4 and the 2 can be 1 to 5, but the 2 cannot rise by four: its row and its column have no room for it."""
    found = suppress([[4, 3, 1], [2, 3, 3]], below=3, width=4, sets=TWO_WAY)
    assert found.intervals == {(0, 2): (0, 4), (1, 0): (1, 5)}


def test_a_table_is_refused_only_if_no_set_of_cells_would_do():
    refused, wrong = wrongly_refused(range(60))
    assert refused >= 20
    assert wrong == 0


def test_a_planted_width_that_lies_above_the_count_alone_is_seen(monkeypatch):
    def upwards(size, here):
        found = np.zeros((4, size))
        found[:2, here] = 1, -1
        return found.ravel()

    monkeypatch.setattr(suppression, "_apart", upwards)
    assert wrongly_refused(range(60))[1] >= 5
