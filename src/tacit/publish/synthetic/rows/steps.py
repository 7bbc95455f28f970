"""The compiled loop of `population.py`: every value of every synthetic row drawn again, given the rest of its row.

This module needs Numba when it is imported, so it is imported inside the functions that call it. Its random numbers decide rows
that follow from released numbers alone: they are no part of any guarantee, and start from a secret seed all the same.
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
def sweep(rows: Any, sizes: Any, excess: Any, pull: Any, begins: Any, members: Any, steps: Any, touching: Any, state: Any) -> None:
    """Draws each value of each row anew, once.

    A value of a column has weight exp(-sum of pull[m] * excess of the cell it would be in), over the marginals m with that
    column. `excess` is the count of a cell among these rows minus its target, all marginals in a line, and is kept up to date.
    `members[m]` lists the columns of marginal m, `touching[j]` the marginals of column j, both with -1 at the end; `steps[m, j]`
    is how far one value of column j moves in marginal m.
    """
    number, columns = rows.shape
    weights = np.empty(max(sizes.max(), TRIES + 1))
    base = np.empty(touching.shape[1], np.int64)
    tried = np.empty(TRIES + 1, np.int64)
    for row in range(number):
        for column in range(columns):
            size, old = sizes[column], rows[row, column]
            count = 0
            while count < touching.shape[1] and touching[column, count] >= 0:
                marginal = touching[column, count]
                place = begins[marginal]
                for at in range(members.shape[1]):
                    other = members[marginal, at]
                    if other >= 0 and other != column:
                        place += rows[row, other] * steps[marginal, other]
                base[count] = place
                excess[place + old * steps[marginal, column]] -= 1.0
                count += 1
            every = size <= WIDE
            number_tried = size if every else TRIES + 1
            if not every:
                tried[0] = old
                for at in range(1, TRIES + 1):
                    if at % 2:
                        tried[at] = int(uniform(state) * size)
                    else:
                        tried[at] = rows[int(uniform(state) * number), column]
            for at in range(number_tried):
                weights[at] = 0.0
            for at in range(count):
                marginal = touching[column, at]
                step, strength = steps[marginal, column], pull[marginal]
                if every:
                    for value in range(size):
                        weights[value] -= strength * excess[base[at] + value * step]
                else:
                    for each in range(number_tried):
                        weights[each] -= strength * excess[base[at] + tried[each] * step]
            top = weights[0]
            for at in range(1, number_tried):
                top = max(top, weights[at])
            total = 0.0
            for at in range(number_tried):
                if weights[at] - top > FAR:
                    total += np.exp(weights[at] - top)
                weights[at] = total
            limit = uniform(state) * total
            place = 0
            while place < number_tried - 1 and weights[place] <= limit:
                place += 1
            new = place if every else tried[place]
            rows[row, column] = new
            for at in range(count):
                excess[base[at] + new * steps[touching[column, at], column]] += 1.0
