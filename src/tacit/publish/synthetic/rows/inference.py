"""From noisy marginals to one model of the table, and rows drawn from it.

From noisy marginals, which contradict each other, to one model of the table, by the package `mbi`, which only this file imports.

The model is that of McKenna, Sheldon and Miklau 2019: among the distributions along the tree, the one whose marginals are nearest
to the noisy ones. It is computed from released numbers alone, so it costs nothing, and no randomness enters.

Rows drawn from a model with the secure source of randomness. This is post-processing: the number of rows costs nothing.

Shares are kept as well as whole rows allow: of n rows over values with shares p, value i gets n p_i rows up to rounding. The
rounding is systematic: one uniform number decides it, and each value gets n p_i rows in expectation. A uniform permutation assigns
the values to rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.uniform import distinct_integers
from tacit.publish.synthetic.rows.marginals import Counts, Measured, Pair
from tacit.publish.synthetic.rows.never import possible_codes, rules_of
from tacit.publish.synthetic.rows.population import AT_MOST, FINAL, LEARNING, Population
from tacit.publish.synthetic.rows.rounds import settled

Floats = NDArray[np.float64]
STEPS = 3000  # of mirror descent; it stops earlier if it no longer improves
GAIN = 1e-7  # relative, over fifty steps
LAST, AGAIN = 25, 5  # sweeps of a population before rows are drawn from it, and of other numbers of rows


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """A column in the order of drawing: its parent (None for a root), and the share of each group (for each of the parent's)."""

    place: int
    parent: int | None
    shares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A tree of columns, parents before children; every row of `shares` sums to 1."""

    branches: tuple[Branch, ...]


def require_mbi() -> None:
    """Refuse, before anything is spent, if the package for inference is not installed."""
    with _float64():
        pass


def fit(measured: Measured, rows: int = LEARNING, temperature: float = FINAL) -> Model | Population:
    """The model of released marginals; it exists whatever the noise. `rows` is how many will be drawn first."""
    if measured.design.rounds is not None:
        model = settled(measured, max(LEARNING, min(AT_MOST, rows)))
        model.temperature = temperature
        model.settle(LAST)
        return model
    estimates = _estimate(measured) if measured.pairs else _alone(measured)
    marginals = {clique: _clean(marginal) for clique, marginal in estimates.items()}
    parents = in_order(len(measured.singles), measured.pairs)
    return Model(tuple(_branch(place, parent, marginals) for place, parent in parents.items()))


def _alone(measured: Measured) -> dict[tuple[int, ...], Floats]:
    """If no pair was measured, the same model without the package: each column's nearest marginal with the common total."""
    return {(place,): nearest(single.astype(np.float64), measured.total) for place, single in enumerate(measured.counts)}


def nearest(noisy: Floats, total: float) -> Floats:
    """The non-negative numbers with the given sum that are nearest to the noisy ones: all lowered by one level, and cut off at 0.

    >>> nearest(np.array([70.0, 40.0, -5.0]), total=100.0)
    array([65., 35.,  0.])
    """
    descending = np.sort(noisy)[::-1]
    levels = (np.cumsum(descending) - total) / np.arange(1, noisy.size + 1)
    level = float(levels[np.flatnonzero(descending > levels)[-1]])
    return np.maximum(noisy - level, 0.0)


def _estimate(measured: Measured) -> dict[tuple[int, ...], Floats]:
    """The marginals of the model for every measured pair; the pairs are a tree, so every column is in one."""
    with _float64() as mbi:
        merged = measured.merged_groups
        names = [str(place) for place in range(len(merged))]
        domain = mbi.Domain(names, [int(groups.max()) + 1 for groups in merged])
        model = mbi.estimation.MirrorDescent().estimate(
            domain, _measurements(mbi, measured), known_total=measured.total, iters=STEPS, tol=GAIN
        )
        return {
            clique: np.asarray(model.project(tuple(names[place] for place in clique)).datavector(flatten=False))
            for clique in measured.pairs
        }


def _measurements(mbi: Any, measured: Measured) -> list[Any]:
    """All marginals with the size of their noise; for a column, the mean over its groups, since some contain several cells."""
    design, measurements = measured.design, []
    for place, (single, groups) in enumerate(zip(measured.counts, measured.merged_groups, strict=True)):
        together = np.bincount(groups, weights=single.astype(np.float64))
        each = 1.0 if design.axes[place].width else single.size / together.size
        deviation = design.single.deviation * float(np.sqrt(each))
        measurements.append(mbi.LinearMeasurement(together, (str(place),), deviation))
    for pair, counts in measured.pairs.items():
        assert design.pair is not None  # noqa: S101  # pairs are measured by designs that have a noise for them
        clique = tuple(str(place) for place in pair)
        measurements.append(mbi.LinearMeasurement(counts.astype(np.float64), clique, design.pair.deviation))
    return measurements


@contextmanager
def _float64() -> Iterator[Any]:
    """The package, in 64-bit mode while it is used; its warnings concern other uses."""
    try:
        import jax
    except ImportError:
        raise _mbi_missing() from None
    with warnings.catch_warnings(), jax.enable_x64(True):
        warnings.simplefilter("ignore")
        try:
            import mbi
        except ImportError:
            raise _mbi_missing() from None
        yield mbi


def _mbi_missing() -> InvalidInput:
    return InvalidInput('synthetic tables need the package mbi, which is not installed; run: pip install "tacit[synthetic]"')


def _clean(marginal: Floats) -> Floats:
    """The marginal without NaN and negative cells; uniform if nothing is left."""
    positive = np.where(np.isfinite(marginal), marginal, 0.0).clip(min=0)
    return positive if positive.sum() > 0 else np.ones_like(positive)


def _branch(place: int, parent: int | None, marginals: Mapping[tuple[int, ...], Floats]) -> Branch:
    if parent is not None:
        pair = (place, parent) if (place, parent) in marginals else (parent, place)
        return Branch(place, parent, _conditional_shares(marginals[pair] if pair[0] == parent else marginals[pair].T))
    clique, marginal = next((clique, marginal) for clique, marginal in marginals.items() if place in clique)
    alone = marginal if len(clique) == 1 else marginal.sum(axis=1 - clique.index(place))
    return Branch(place, None, alone / alone.sum())


def in_order(columns: int, pairs: Collection[Pair]) -> dict[int, int | None]:
    """Every column with its parent along the pairs, parents first; a root has none.

    >>> in_order(4, [(1, 2), (0, 1)])
    {0: None, 1: 0, 2: 1, 3: None}
    """
    parents: dict[int, int | None] = {}
    for root in range(columns):
        waiting: list[tuple[int, int | None]] = [(root, None)]
        while waiting:
            place, parent = waiting.pop(0)
            if place not in parents:
                parents[place] = parent
                waiting += [(one + other - place, place) for one, other in pairs if place in (one, other)]
    return parents


def _conditional_shares(joint: Floats) -> Floats:
    """Each row as shares; an empty row gets the shares of all rows together."""
    whole = joint.sum(axis=0) / joint.sum()
    rows = joint.sum(axis=1, keepdims=True)
    return np.where(rows > 0, joint / np.where(rows > 0, rows, 1), whole)


# --- rows drawn from a model with the secure source of randomness ------------------------------------------------------------


MOST_ROWS = 10**7


def read_rows(rows: int | None) -> int | None:
    """The requested number of rows, validated."""
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows <= MOST_ROWS):
        raise InvalidInput(f"invalid number of rows {rows!r}; expected a whole number from 0 to {MOST_ROWS:,}")
    return rows


def usual_rows(measured: Measured) -> int:
    """The default number of rows: the noisy total, capped because noise may make it larger than any machine can hold."""
    return min(MOST_ROWS, round(measured.total))


def drawn_codes(measured: Measured, model: Model | Population, rows: int) -> tuple[Counts, ...]:
    """For every column, the cell of each of `rows` rows; none meets a declared condition (never.py), whichever the model is."""
    groups = _of_population(model, rows) if isinstance(model, Population) else _along_tree(model, rows)
    columns = zip(measured.design.axes, measured.merged_groups, measured.counts, strict=True)
    codes = [
        _apart(groups[place], merged, single, None if axis.width else measured.total)
        for place, (axis, merged, single) in enumerate(columns)
    ]
    return possible_codes(rules_of(measured.design.table, measured.design.axes), codes, measured.counts)


def _of_population(model: Population, rows: int) -> dict[int, Counts]:
    """The rows of the population; other numbers are a random selection or copies, which settle once more if they are many."""
    if rows != model.number:
        model = model.resized(rows)
        model.settle(AGAIN if LEARNING <= rows <= AT_MOST else 0)
    return dict(enumerate(model.rows.T))


def _along_tree(model: Model, rows: int) -> dict[int, Counts]:
    groups: dict[int, Counts] = {}
    for branch in model.branches:
        if branch.parent is None:
            groups[branch.place] = spread(branch.shares, rows)
        else:
            groups[branch.place] = _along(branch.shares, groups[branch.parent])
    return groups


def spread(shares: Floats | Sequence[float], rows: int) -> Counts:
    """`rows` values in random order, value i as often as its share requires, up to rounding.

    >>> spread([0.0, 1.0], 3)
    array([1, 1, 1])
    """
    ends = np.cumsum(np.asarray(shares, dtype=np.float64))
    ends = ends / ends[-1] * rows
    counts = np.diff(np.floor(ends + _uniform()), prepend=0).astype(np.int64)
    return random_order(np.repeat(np.arange(counts.size), counts))


def random_order(values: Counts) -> Counts:
    """The values in a random order, all orders equally likely."""
    return values[distinct_integers(values.size, values.size)]


def _along(shares: Floats, parents: Counts) -> Counts:
    """A value for each row, by the shares that the parent's value gives."""
    values = np.zeros(parents.size, dtype=np.int64)
    for value, inside in enumerate(_places(parents, shares.shape[0])):
        values[inside] = spread(shares[value], inside.size)
    return values


def _apart(groups: Counts, merged: Counts, single: Counts, total: float | None) -> Counts:
    """From groups back to cells: inside a group by the counts of at least 0 that are nearest to the noisy ones.

    Noisy counts without those below 0 would have too many rows in rare cells. `total` is the number of rows that the counts are
    of, or None where the counts are an estimate already (grids.py) and rows follow them as they are.
    """
    values = np.zeros(groups.size, dtype=np.int64)
    number = int(merged.max()) + 1
    for cells, inside in zip(_places(merged, number), _places(groups, number), strict=True):
        if total is not None:
            weights = nearest(single[cells].astype(np.float64), max(1.0, total * inside.size / max(1, groups.size)))
        else:
            weights = single[cells].clip(min=0).astype(np.float64)
        values[inside] = cells[spread(weights if weights.sum() else np.ones(cells.size), inside.size)]
    return values


def _places(values: Counts, number: int) -> list[Counts]:
    """The positions of each of the values 0, 1, ..., number - 1; one sort for all, since a column may have very many."""
    ends = np.cumsum(np.bincount(values, minlength=number))
    return np.split(np.argsort(values, kind="stable"), ends[:-1])


def _uniform() -> float:
    """A multiple of 2^-28 in [0, 1): with `MOST_ROWS` rows added it is still exact, and so below the next integer."""
    return float(bits.random_words(1)[0] >> np.uint64(36)) * 2.0**-28
