"""Every pair of values is in one cell, cells are few and short, and they are counted and drawn as if they were listed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interval_cells import depth_of
from tacit.mechanisms.quantile import cells as module
from tacit.mechanisms.quantile.cells import APART, MOST, NOTHING, Box, Cells

SIZES = [1, 2, 3, 16, 17, 31, 32, 33, 34, 65, 130]
spans = st.tuples(st.integers(0, 129), st.integers(0, 129)).map(sorted)


def arrays(box):
    return Box(*(np.array([end]) for end in box))


def meets(cell, box):
    (low, low_last), (high, high_last) = cell
    return low <= box.low_last and box.low_first <= low_last and high <= box.high_last and box.high_first <= high_last


@pytest.mark.parametrize("points", SIZES)
def test_every_pair_is_in_one_cell(points):
    cells, found = list(Cells.of(points).listed()), np.zeros((points, points), dtype=int)
    for low, high in cells:
        found[low[0] : low[1] + 1, high[0] : high[1] + 1] += 1
    assert (found == np.triu(np.ones((points, points)))).all()
    assert len(cells) == Cells.of(points).total
    assert len({(cell.low[0], cell.high[1]) for cell in cells}) == len(cells), "the ends tell the cell"


@pytest.mark.parametrize("points", SIZES)
def test_a_pair_is_in_the_longest_stretches_that_are_far_apart(points):
    for (first, last), (start, stop) in Cells.of(points).listed():
        depth = depth_of(np.array([first]), np.array([start]))[0]
        assert last - first == min(2**depth, points - first) - 1
        assert stop - start == min(2**depth, points - start) - 1
        assert depth == 0 or start - first >= APART * 2**depth


def test_there_are_few_cells():
    for points in (10_001, 100_001, 2**31, 2**53, MOST):
        assert 46 * points < Cells.of(points).total < 47 * points < 2**62


@given(spans, spans, st.data())
@settings(max_examples=30)
def test_cells_are_counted_and_found_as_if_they_were_listed(low, high, data):
    cells, listed = Cells.of(130), _LISTED
    outer = Box(*low, *high)
    inside = [sorted(data.draw(st.tuples(*[st.integers(*span)] * 2))) for span in (low, high)]
    inner = data.draw(st.sampled_from([NOTHING, Box(*inside[0], *inside[1])]))
    expected = {cell for cell in listed if meets(cell, outer)}
    assert cells.meeting(arrays(outer)).tolist() == [len(expected)]
    left = {cell for cell in expected if not meets(cell, inner)}
    assert {cells.at(place, outer, inner) for place in range(len(left))} == left


_LISTED = list(Cells.of(130).listed())


def test_counts_of_long_grids_are_exact():
    """By the sum over depths and offsets in Python's integers."""
    points, box = MOST, Box(3, MOST - 7, MOST // 3, MOST - 1)
    expected = 0
    for depth in range(60):
        low, low_last, high, high_last = (end >> depth for end in box)
        for offset in range(APART if depth else 0, 2 * APART):
            first, last = max(low, high - offset), min(low_last, high_last - offset)
            odd = offset == 2 * APART - 1
            expected += max(0, (last >> 1) - ((first - 1) >> 1) if odd else last - first + 1)
    assert Cells.of(points).meeting(arrays(box)).tolist() == [expected]
    cell = Cells.of(points).drawn(box)
    assert meets(cell, box)


def test_any_number_of_boxes_is_counted():
    """More boxes than are counted at a time, and fewer than depths fit in a part."""
    low, high = np.divmod(np.arange(2 * module.TOGETHER + 1) * 7 % 130**2, 130)
    boxes = Box(np.zeros_like(low), low, high, np.full_like(low, 129))
    counted = Cells.of(130).meeting(boxes)
    for place in (0, 1, module.TOGETHER, len(low) - 1):
        assert counted[place] == sum(meets(cell, Box(0, low[place], high[place], 129)) for cell in _LISTED)


def test_the_time_of_a_draw_does_not_depend_on_the_number_of_cells(monkeypatch):
    """Whatever is drawn from, the limit that is given with it is one and public, and no grid has more cells."""
    asked = []
    monkeypatch.setattr(module, "uniform_integer", lambda below, most: asked.append((below, most)) or 0)
    Cells.of(130).drawn(Box(0, 3, 5, 9))
    Cells.of(MOST).drawn(Cells.of(MOST).whole)
    [(few, limit), (many, same)] = asked
    assert few < 100 < 2**60 < many == Cells.of(MOST).total < limit == same == 64 * MOST == 2**62


def test_planted_cells_that_are_counted_at_every_offset_are_seen(monkeypatch):
    """Two stretches 31 places apart are in one of twice their length if the lower one is at an odd place: not twice."""
    honest = Cells(130).total
    monkeypatch.setattr(module, "_within", _every_offset)
    assert Cells(130).total > honest == len(_LISTED)


def _every_offset(start, nearest):
    most, fewest = np.maximum(2 * APART - start, 0), np.maximum(nearest - start, 0)
    return (most - fewest) * (most + fewest + 1) // 2
