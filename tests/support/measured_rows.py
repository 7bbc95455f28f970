"""Rows of three columns that a test generates, measured with noise as a release measures a table, without a data set."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tacit.privacy.catalog import Column, Source, Table
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.rows.cells import Axis
from tacit.publish.synthetic.rows.marginals import Counts, Measured
from tacit.publish.synthetic.rows.rounds import Aim, rounds_designs, run_rounds
from tacit.query.price.price import request

SIZES = {"x": 6, "y": 4, "z": 2}


def axes_of() -> tuple[Axis, ...]:
    """The columns x, y and z, of 6, 4 and 2 whole numbers."""
    return tuple(
        Axis.of(Column(name, "number", (Fraction(0), Fraction(size - 1)), Fraction(1), nulls="drop"))
        for name, size in SIZES.items()
    )


def joint(rows: Counts, places: tuple[int, ...], merged: tuple[Counts, ...]) -> Counts:
    """The exact counts of some columns of the rows, by groups."""
    flat, size = np.zeros(len(rows), dtype=np.int64), 1
    for place in places:
        groups = int(merged[place].max()) + 1
        flat, size = flat * groups + merged[place][rows[:, place]], size * groups
    return np.bincount(flat, minlength=size).astype(np.int64)


def released(rows: Counts, epsilon: Any, delta: Any, aim: Aim | None = None) -> Measured:
    """The noisy counts of a release by rounds of all three pairs."""
    axes = axes_of()
    table = Table("generated", Source("csv", "generated.csv"), {axis.name: axis.column for axis in axes})
    design = rounds_designs(table, axes, request(epsilon=epsilon, delta=delta), "add-remove", aim or Aim(steps=3))[0]
    alone = [np.bincount(rows[:, at], minlength=axis.size) for at, axis in enumerate(axes)]
    singles = tuple(np.asarray(design.single.over(1).release_each(counts)).astype(np.int64) for counts in alone)
    measured = Measured(design, singles, {})
    assert design.rounds is not None
    sealed = {places: Sealed(joint(rows, places, measured.merged_groups)) for places in design.rounds.candidates}
    return run_rounds(measured, design.rounds, sealed, lambda words, share: None)
