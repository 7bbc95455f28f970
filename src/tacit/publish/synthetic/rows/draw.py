"""Rows drawn from a model with the secure source of randomness. This is post-processing: the number of rows costs nothing.

Shares are kept as well as whole rows allow: of n rows over values with shares p, value i gets n p_i rows up to rounding. The
rounding is systematic: one uniform number decides it, and each value gets n p_i rows in expectation. A uniform permutation assigns
the values to rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.uniform import distinct_integers
from tacit.publish.synthetic.rows.inference import Floats, Model
from tacit.publish.synthetic.rows.marginals import Counts, Measured

MOST_ROWS = 10**7


def read_rows(rows: int | None) -> int | None:
    """The requested number of rows, validated."""
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows <= MOST_ROWS):
        raise InvalidInput(f"invalid number of rows {rows!r}; expected a whole number from 0 to {MOST_ROWS:,}")
    return rows


def usual_rows(measured: Measured) -> int:
    """The default number of rows: the noisy total, capped because noise may make it larger than any machine can hold."""
    return min(MOST_ROWS, round(measured.total))


def drawn_codes(measured: Measured, model: Model, rows: int) -> tuple[Counts, ...]:
    """For every column, the cell of each of `rows` rows."""
    groups: dict[int, Counts] = {}
    for branch in model.branches:
        if branch.parent is None:
            groups[branch.place] = spread(branch.shares, rows)
        else:
            groups[branch.place] = _along(branch.shares, groups[branch.parent])
    return tuple(
        _apart(groups[place], merged, single)
        for place, (merged, single) in enumerate(zip(measured.merged, measured.singles, strict=True))
    )


def spread(shares: Floats | Sequence[float], rows: int) -> Counts:
    """`rows` values in random order, value i as often as its share requires, up to rounding.

    >>> spread([0.0, 1.0], 3)
    array([1, 1, 1])
    """
    ends = np.cumsum(np.asarray(shares, dtype=np.float64))
    ends = ends / ends[-1] * rows
    counts = np.diff(np.floor(ends + _uniform()), prepend=0).astype(np.int64)
    return shuffled(np.repeat(np.arange(counts.size), counts))


def shuffled(values: Counts) -> Counts:
    """The values in a random order, all orders equally likely."""
    return values[distinct_integers(values.size, values.size)]


def _along(shares: Floats, parents: Counts) -> Counts:
    """A value for each row, by the shares that the parent's value gives."""
    found = np.zeros(parents.size, dtype=np.int64)
    for value, inside in enumerate(_places(parents, shares.shape[0])):
        found[inside] = spread(shares[value], inside.size)
    return found


def _apart(groups: Counts, merged: Counts, single: Counts) -> Counts:
    """From groups back to cells: inside a group by the positive noisy counts, or evenly if no count is positive."""
    found = np.zeros(groups.size, dtype=np.int64)
    number = int(merged.max()) + 1
    for cells, inside in zip(_places(merged, number), _places(groups, number), strict=True):
        weights = single[cells].clip(min=0).astype(np.float64)
        found[inside] = cells[spread(weights if weights.sum() else np.ones(cells.size), inside.size)]
    return found


def _places(values: Counts, number: int) -> list[Counts]:
    """The positions of each of the values 0, 1, ..., number - 1; one sort for all, since a column may have very many."""
    ends = np.cumsum(np.bincount(values, minlength=number))
    return np.split(np.argsort(values, kind="stable"), ends[:-1])


def _uniform() -> float:
    """A multiple of 2^-28 in [0, 1): with `MOST_ROWS` rows added it is still exact, and so below the next integer."""
    return float(bits.random_words(1)[0] >> np.uint64(36)) * 2.0**-28
