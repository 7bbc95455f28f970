"""The private side of a map, sealed on its way from rows to the urn: jobs by destination and block, then by the cells of each.

Every other argument of every step is public: the names of blocks, the place of each destination, the cells around it, the total
that its jobs are brought to. The result is sealed again, so that nothing of homes is seen before `resample` has drawn.

The total: what is missing comes from elsewhere, the last cell; what is too much is cut from the end, in the order of cells. Then
a job that comes or goes takes the place of one from elsewhere or pushes one out at the end: it moves at most one home.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.unseal import opened
from tacit.privacy.sealed import Sealed

Codes = NDArray[np.int64]
Cells = tuple[Codes, Codes]  # occupied cells in rising order, and the jobs from each
Triples = tuple[Codes, Codes, Codes]  # place of the destination, block and jobs, sorted by place and block


def places_among(column: Any, names: Sequence[str]) -> Codes:
    """The place of each text of an Arrow column among the names, trimmed; the number after the last for all others.

    >>> import pyarrow
    >>> places_among(pyarrow.array(["b", " a ", None, "c"]), ["a", "b"])
    array([1, 0, 2, 2])
    """
    import pyarrow as arrow
    import pyarrow.compute as compute

    trimmed = compute.utf8_trim_whitespace(column)
    places = compute.index_in(trimmed, value_set=arrow.array(names, arrow.string()), skip_nulls=True)
    return np.asarray(places.fill_null(len(names)).to_numpy(zero_copy_only=False)).astype(np.int64)


def named_blocks(rows: Sealed[Any], column: str, names: Sequence[str]) -> Sealed[Codes]:
    """The block of every row, from the texts of a column of a sealed Arrow table."""
    import pyarrow as arrow

    return Sealed(places_among(opened(rows).column(column).combine_chunks().cast(arrow.string()), names))


def coded_blocks(rows: Sealed[Any], column: str, block_of_code: Codes) -> Sealed[Codes]:
    """The same from the codes of a column; the last of the blocks stands for NULL."""
    codes = opened(rows).column(column).combine_chunks().fill_null(len(block_of_code) - 1)
    return Sealed(block_of_code[np.asarray(codes.to_numpy(zero_copy_only=False)).astype(np.int64)])


def tallied_jobs(rows: Sealed[Any], column: str) -> Sealed[Codes]:
    """How many jobs each row stands for, from a column of counts."""
    return Sealed(np.asarray(opened(rows).column(column).combine_chunks().to_numpy(zero_copy_only=False)).astype(np.int64))


def by_destination(work: Any, home: Any, jobs: Any, place_of_block: Codes) -> Sealed[Triples]:
    """The jobs at the destinations that have a place (-1 stands for no place), from the blocks of work and home of each row.

    `jobs` is how many each row has, or None where each is one.
    """
    place, home_block = place_of_block[opened(work)], opened(home)
    many = np.ones(len(place), dtype=np.int64) if jobs is None else opened(jobs)
    kept = np.flatnonzero((place >= 0) & (many > 0))
    order = kept[np.lexsort((home_block[kept], place[kept]))]
    return Sealed((place[order], home_block[order], many[order]))


def by_cell(homes: Sealed[Triples], cells_of_block: Iterable[tuple[Codes, int]], totals: Codes) -> Iterator[Sealed[Cells]]:
    """For each destination in turn, with the cell of each block and the number of cells: its jobs, brought to its total."""
    place, block, jobs = opened(homes)
    ends = np.searchsorted(place, np.arange(len(totals) + 1))
    for at, (cell_of_block, cells) in enumerate(cells_of_block):
        part = slice(ends[at], ends[at + 1])
        counted = np.bincount(cell_of_block[block[part]], jobs[part], cells).astype(np.int64)
        yield Sealed(_fit(counted, int(totals[at])))


def renumbered(counts: Sealed[Cells], number_of_cell: Codes) -> Sealed[Cells]:
    """The same jobs with other numbers of the cells."""
    cells, jobs = opened(counts)
    return Sealed((number_of_cell[cells], jobs))


def _fit(counted: Codes, total: int) -> Cells:
    """The occupied cells with `total` jobs together; the last cell is elsewhere."""
    counted[-1] += max(total - int(counted.sum()), 0)
    upto = np.minimum(np.cumsum(counted), total)
    fitted = np.diff(upto, prepend=0)
    occupied = np.flatnonzero(fitted)
    return occupied, fitted[occupied]
