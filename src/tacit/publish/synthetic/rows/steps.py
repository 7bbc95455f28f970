"""The compiled loop of `population.py`: every value of every synthetic row drawn again, given the rest of its row.

This module needs Numba when it is imported, so it is imported inside the functions that call it. Its random numbers decide rows
that follow from released numbers alone. No guarantee depends on them, and they start from a secret seed all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

MISSING = 'synthetic rows need the package numba, which is not installed; run: pip install "tacit[synthetic]"'
WIDE = 64  # values of a column above which a few are tried instead of all
TRIES = 8
FAR = -40.0  # logarithms of weights below the largest one by more than this count nothing

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def _compiled(function: Callable[..., Any]) -> Any:
    try:
        import numba
    except ImportError:
        raise InvalidInput(MISSING) from None
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder in which the machine code could be kept
        return numba.njit(nogil=True)(function)


@_compiled
def uniform(state: Any) -> float:
    """A number in [0, 1), by SplitMix64 (Steele, Lea and Flood 2014); advances the state."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@_compiled
def takes_out(
    rows: Any, row: int, column: int, excess: Any, begins: Any, members: Any, steps: Any, touching: Any, base: Any
) -> int:
    """Takes the value of a row out of the counts; `base` gets the cells of its marginals otherwise. Returns their number."""
    count = 0
    while count < touching.shape[1] and touching[column, count] >= 0:
        marginal = touching[column, count]
        place = begins[marginal]
        for at in range(members.shape[1]):
            other = members[marginal, at]
            if other >= 0 and other != column:
                place += rows[row, other] * steps[marginal, other]
        base[count] = place
        excess[place + rows[row, column] * steps[marginal, column]] -= 1.0
        count += 1
    return count


@_compiled
def tries(rows: Any, row: int, column: int, size: int, tried: Any, state: Any) -> int:
    """The values that are tried: all of a column of few, else the one that is there, uniform ones and those of other rows."""
    if size <= WIDE:
        for value in range(size):
            tried[value] = value
        return size
    tried[0] = rows[row, column]
    for at in range(1, TRIES + 1):
        tried[at] = int(uniform(state) * size) if at % 2 else rows[int(uniform(state) * rows.shape[0]), column]
    return TRIES + 1


@_compiled
def place_of(weights: Any, count: int, state: Any) -> int:
    """A place in proportion to the exponentials of the first `count` numbers, which it overwrites."""
    top = weights[0]
    for at in range(1, count):
        top = max(top, weights[at])
    total = 0.0
    for at in range(count):
        if weights[at] - top > FAR:
            total += np.exp(weights[at] - top)
        weights[at] = total
    limit, place = uniform(state) * total, 0
    while place < count - 1 and weights[place] <= limit:
        place += 1
    return place


@_compiled
def sweep(rows: Any, sizes: Any, excess: Any, pull: Any, begins: Any, members: Any, steps: Any, touching: Any, state: Any) -> None:
    """Draws each value of each row anew, once, in the columns that `touching` has: all of them, or the first ones.

    A value of a column has weight exp(-sum of pull[m] * excess of the cell it would be in), over the marginals m with that
    column. `excess` is the count of a cell among these rows minus its target, all marginals in a line, and is kept up to date.
    `members[m]` lists the columns of marginal m, `touching[j]` the marginals of column j, both with -1 at the end; `steps[m, j]`
    is how far one value of column j moves in marginal m.
    """
    weights, tried = np.empty(max(WIDE, TRIES + 1)), np.empty(max(WIDE, TRIES + 1), np.int64)
    base = np.empty(touching.shape[1], np.int64)
    for row in range(rows.shape[0]):
        for column in range(touching.shape[0]):
            count = takes_out(rows, row, column, excess, begins, members, steps, touching, base)
            values = tries(rows, row, column, sizes[column], tried, state)
            weights[:values] = 0.0
            for at in range(count):
                marginal = touching[column, at]
                step, strength = steps[marginal, column], pull[marginal]
                for each in range(values):
                    weights[each] -= strength * excess[base[at] + tried[each] * step]
            new = tried[place_of(weights, values, state)]
            rows[row, column] = new
            for at in range(count):
                excess[base[at] + new * steps[touching[column, at], column]] += 1.0


@_compiled
def exchange(
    rows: Any, block: Any, marginals: Any, excess: Any, pull: Any, begins: Any, members: Any, steps: Any, state: Any
) -> None:
    """Offers each row the values that another row has in some columns, all at once (Metropolis); `marginals` have one of them.

    Columns that conditions tie together can then change where no single one of them could.
    """
    old, new = np.empty(marginals.size, np.int64), np.empty(marginals.size, np.int64)
    for row in range(rows.shape[0]):
        other = int(uniform(state) * rows.shape[0])
        loss = 0.0
        for at in range(marginals.size):
            marginal = marginals[at]
            old[at] = new[at] = begins[marginal]
            for part in range(members.shape[1]):
                column = members[marginal, part]
                if column >= 0:
                    old[at] += rows[row, column] * steps[marginal, column]
                    taken = other if (block == column).any() else row
                    new[at] += rows[taken, column] * steps[marginal, column]
            if new[at] != old[at]:
                loss += pull[marginal] * (excess[new[at]] - excess[old[at]] + 1.0)
        if loss > 0.0 and uniform(state) >= np.exp(-loss):
            continue
        for column in block:
            rows[row, column] = rows[other, column]
        for at in range(marginals.size):
            excess[old[at]] -= 1.0
            excess[new[at]] += 1.0
