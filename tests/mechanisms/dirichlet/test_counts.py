"""Homes on their way to the urn: sealed at every step, and one job moves at most one of them."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tacit.mechanisms.dirichlet import counts as module
from tacit.mechanisms.dirichlet.counts import by_cell, by_destination, coded_blocks, named_blocks, renumbered
from tacit.privacy.sealed import Sealed

ROWS = Sealed(pa.table({"work": ["a", "b", None, "a"], "home": pa.array([1, 0, None, 2], pa.int64())}))
PLACES = np.array([0, -1, -1])  # of the blocks a, b and what is off the map


def test_every_step_gives_what_is_sealed():
    work = named_blocks(ROWS, "work", ["a", "b"])
    home = coded_blocks(ROWS, "home", np.array([4, 3, 2, 9]))
    assert (work.unseal().tolist(), home.unseal().tolist()) == ([0, 1, 2, 0], [3, 4, 9, 2])
    homes = by_destination(work, home, None, PLACES)
    (counted,) = by_cell(homes, [(np.array([0, 0, 0, 1, 1, 2]), 3)], np.array([3]))
    other = renumbered(counted, np.array([7, 8, 9]))
    assert {type(each) for each in (work, home, homes, counted, other)} == {Sealed}
    assert [part.tolist() for part in homes.unseal()] == [[0, 0], [2, 3], [1, 1]]
    assert [part.tolist() for part in counted.unseal()] == [[0, 1, 2], [1, 1, 1]], "the last comes from elsewhere"
    assert other.unseal()[0].tolist() == [7, 8, 9]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), max_size=20))
def test_jobs_are_those_of_the_rows(rows):
    work, home, jobs = (np.array(column, dtype=np.int64) for column in (zip(*rows, strict=True) if rows else ([], [], [])))
    place, block, many = by_destination(work, home, jobs, np.array([1, 0, -1])).unseal()
    assert sorted(zip(place.tolist(), block.tolist(), many.tolist(), strict=True)) == sorted(
        ([1, 0][at], home, jobs) for at, home, jobs in rows if at < 2 and jobs
    )
    assert (np.diff(place) >= 0).all()


# --- brought to the public total ---------------------------------------------------------------------------------------------


def fitted(homes: list[int], total: int, fit=module._fit) -> np.ndarray:
    cells, jobs = fit(np.bincount(homes, minlength=5).astype(np.int64), total)
    dense = np.zeros(5, dtype=np.int64)
    dense[cells] = jobs
    return dense


def moved(homes: list[int], more: int, total: int, fit=module._fit) -> int:
    """How many homes differ after one job came."""
    return int(np.abs(fitted(homes, total, fit) - fitted([*homes, more], total, fit)).sum()) // 2


@given(st.lists(st.integers(0, 4), max_size=12), st.integers(0, 4), st.integers(1, 10))
def test_one_job_more_or_less_moves_at_most_one_home(homes, more, total):
    assert fitted(homes, total).sum() == total
    assert moved(homes, more, total) <= 1


def test_a_cut_in_proportion_would_move_more():
    """The planted bug: what is too much is taken from all cells alike."""

    def proportional(counts, total):
        upto = np.rint(np.cumsum(counts) * total / max(counts.sum(), 1)).astype(np.int64)
        shares = np.diff(upto, prepend=0)
        return np.flatnonzero(shares), shares[np.flatnonzero(shares)]

    worst = max(moved(homes, more, 2, proportional) for homes in ([0, 1, 2], [0, 0, 1, 2, 3], [0, 2, 3, 4]) for more in range(5))
    assert worst > 1


def test_each_destination_has_its_own_jobs():
    """Three destinations, of which the middle one has none; blocks are cells, and the last cell is elsewhere."""
    work, home = np.array([0, 2, 0, 2, 2]), np.array([1, 0, 0, 1, 1])
    homes = by_destination(work, home, None, np.arange(3))
    cells = [(np.arange(3), 3)] * 3
    counted = [[part.tolist() for part in each.unseal()] for each in by_cell(homes, cells, np.array([2, 1, 3]))]
    assert counted == [[[0, 1], [1, 1]], [[2], [1]], [[0, 1], [1, 2]]]
