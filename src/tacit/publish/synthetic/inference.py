"""From noisy marginals, which contradict each other, to one model of the table: by the package `mbi`, which only this file imports.

The model is that of McKenna, Sheldon and Miklau 2019: among the distributions along the tree, the one whose marginals are
nearest to the noisy ones. It is computed from released numbers alone, so it costs nothing, and no randomness enters.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.synthetic.marginals import Measured

Floats = NDArray[np.float64]
STEPS = 2000  # of mirror descent; it stops earlier where it no longer gains
GAIN = 1e-5  # relative, over fifty steps


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """A column in the order of drawing: its parent, None for a root, and how likely each group is (for each of the parent's)."""

    place: int
    parent: int | None
    shares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A tree of columns, parents before children; every row of `shares` sums to 1."""

    branches: tuple[Branch, ...]


def require_mbi() -> None:
    """Refuses, before anything is spent, where the package for inference is not installed."""
    with _float64():
        pass


def fitted(measured: Measured) -> Model:
    """The model of released marginals; whatever noise has made of them, there is one."""
    marginals = {clique: _cleaned(found) for clique, found in _estimated(measured).items()}
    return Model(tuple(_branches(measured, marginals)))


def _estimated(measured: Measured) -> dict[tuple[int, ...], Floats]:
    """The marginals of the model: of every pair that was measured, and of columns in no pair."""
    with _float64() as mbi:
        merged = measured.merged
        names = [str(place) for place in range(len(merged))]
        domain = mbi.Domain(names, [int(groups.max()) + 1 for groups in merged])
        model = mbi.estimation.MirrorDescent().estimate(
            domain, _measurements(mbi, measured), known_total=measured.total, iters=STEPS, tol=GAIN
        )
        apart = set(range(len(merged))) - {place for pair in measured.pairs for place in pair}
        cliques: list[tuple[int, ...]] = [*measured.pairs, *((place,) for place in sorted(apart))]
        return {
            clique: np.asarray(model.project(tuple(names[place] for place in clique)).datavector(flatten=False))
            for clique in cliques
        }


def _measurements(mbi: Any, measured: Measured) -> list[Any]:
    """All marginals with their noise; a group of several cells has more of it, and weighs less."""
    design, found = measured.design, []
    for place, (single, groups) in enumerate(zip(measured.singles, measured.merged, strict=True)):
        together = np.bincount(groups, weights=single.astype(np.float64))
        weights = 1 / np.sqrt(np.bincount(groups))
        query = mbi.marginal_loss.WeightedQuery(weights)
        found.append(mbi.LinearMeasurement(together * weights, (str(place),), design.single.deviation, query))
    for pair, counts in measured.pairs.items():
        assert design.pair is not None  # noqa: S101  # pairs are measured by designs that have a noise for them
        clique = tuple(str(place) for place in pair)
        found.append(mbi.LinearMeasurement(counts.astype(np.float64), clique, design.pair.deviation))
    return found


@contextmanager
def _float64() -> Iterator[Any]:
    """The package, with numbers of 64 bits while it is used; its warnings are about how others use it."""
    try:
        import jax
    except ImportError:
        raise _missing() from None
    with warnings.catch_warnings(), jax.enable_x64(True):
        warnings.simplefilter("ignore")
        try:
            import mbi
            import mbi.marginal_loss
        except ImportError:
            raise _missing() from None
        yield mbi


def _missing() -> InvalidInput:
    return InvalidInput('synthetic tables need the package mbi, which is not installed; run: pip install "tacit[synthetic]"')


def _cleaned(marginal: Floats) -> Floats:
    """The marginal without what is no number or negative, evenly where nothing is left."""
    positive = np.where(np.isfinite(marginal), marginal, 0.0).clip(min=0)
    return positive if positive.sum() > 0 else np.ones_like(positive)


def _branches(measured: Measured, marginals: dict[tuple[int, ...], Floats]) -> Iterator[Branch]:
    """The columns from the first one along the pairs, then any that are in none."""
    reached: set[int] = set()
    for root in range(len(measured.singles)):
        if root in reached:
            continue
        reached.add(root)
        alone = next(
            found if clique == (root,) else found.sum(axis=1 - clique.index(root))
            for clique, found in marginals.items()
            if root in clique
        )
        yield Branch(root, None, alone / alone.sum())
        waiting = [root]
        while waiting:
            parent = waiting.pop(0)
            for pair in measured.pairs:
                child = next((place for place in pair if place != parent), parent) if parent in pair else None
                if child is None or child in reached:
                    continue
                reached.add(child)
                waiting.append(child)
                joint = marginals[pair] if pair[0] == parent else marginals[pair].T
                yield Branch(child, parent, _given(joint))


def _given(joint: Floats) -> Floats:
    """Each row as shares; a row of nothing gets the shares of all rows together."""
    whole = joint.sum(axis=0) / joint.sum()
    rows = joint.sum(axis=1, keepdims=True)
    return np.where(rows > 0, joint / np.where(rows > 0, rows, 1), whole)
