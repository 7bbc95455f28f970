"""How often intervals over synthetic copies hold, on generated rows: `python -m benchmarks synthetic_copies`.

A population of 2,000,000 rows has x (six values), y (five) and z (two), all related. Each run samples rows from it, releases them
by rounds (three pairs, all of which may be measured), makes copy 0 and five more, and estimates on each. An interval of the real
rows should hold the estimate on the sample, one of the population the estimate on all rows. For comparison: the interval that a
usual program states for copy 0 alone.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import machine, markdown, write_table
from tacit.privacy.catalog import Column, Source, Table
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.rows.cells import Axis, Chosen
from tacit.publish.synthetic.rows.copies import combine
from tacit.publish.synthetic.rows.inference import fit
from tacit.publish.synthetic.rows.marginals import Measured
from tacit.publish.synthetic.rows.release import SyntheticTable
from tacit.publish.synthetic.rows.rounds import Aim, rounds_designs, run_rounds
from tacit.query.price.price import request
from tacit.release.answer import Receipt

Rows = NDArray[np.int64]
SIZES = {"x": 6, "y": 5, "z": 2}
ROWS, RUNS, COPIES, EPSILONS = 3000, 120, 5, ("1", "4")
HEADERS = ("epsilon", "estimate", "real rows", "the same, without copy 0", "population", "the same, without copy 0", "copy 0 alone")


def _sample(rng: np.random.Generator, number: int) -> Rows:
    z = (rng.random(number) < 0.3).astype(np.int64)
    x = rng.binomial(5, 0.3 + 0.3 * z)
    y = np.clip(np.rint(0.5 * x + z + rng.normal(0, 1, number)), 0, 4).astype(np.int64)
    return np.stack([x, y, z], axis=1)


def _regression(rows: Rows, interaction: bool) -> tuple[float, float]:
    x, y, z = rows.T.astype(float)
    design = np.stack([np.ones(len(x)), x, z, *([x * z] if interaction else [])], axis=1)
    inverse = np.linalg.inv(design.T @ design)
    slopes = inverse @ design.T @ y
    left = y - design @ slopes
    at = 3 if interaction else 1
    return float(slopes[at]), float(left @ left / (len(x) - design.shape[1]) * inverse[at, at])


def _mean(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values.mean()), float(values.var(ddof=1) / len(values))


ESTIMATES: dict[str, Callable[[Rows], tuple[float, float]]] = {  # an estimate, and its squared standard error
    "mean of x": lambda rows: _mean(rows[:, 0].astype(float)),
    "share with y of 3 or more": lambda rows: _mean((rows[:, 1] >= 3).astype(float)),
    "mean of x where z is 1": lambda rows: _mean(rows[rows[:, 2] == 1, 0].astype(float)),
    "slope of y on x, given z": lambda rows: _regression(rows, interaction=False),
    "interaction of x and z (model only)": lambda rows: _regression(rows, interaction=True),
}


def _released(rows: Rows, epsilon: str) -> SyntheticTable:
    zero, one = Fraction(0), Fraction(1)
    axes = tuple(Axis.of(Column(name, "number", (zero, Fraction(size - 1)), one, nulls="drop")) for name, size in SIZES.items())
    table = Table("generated", Source("csv", "generated.csv"), {axis.name: axis.column for axis in axes})
    design = rounds_designs(table, axes, request(epsilon=epsilon, delta="1e-6"), "add-remove", Aim(steps=3))[0]
    alone = [np.bincount(rows[:, at], minlength=axis.size) for at, axis in enumerate(axes)]
    singles = tuple(np.asarray(design.single.over(1).release_each(counts)).astype(np.int64) for counts in alone)
    measured = Measured(design, singles, {})
    assert design.rounds is not None  # three columns have pairs
    sealed = {}
    for places in design.rounds.candidates:
        merged = [measured.merged_groups[place] for place in places]
        flat = np.zeros(len(rows), dtype=np.int64)
        for place, groups in zip(places, merged, strict=True):
            flat = flat * (int(groups.max()) + 1) + groups[rows[:, place]]
        cells = int(np.prod([int(groups.max()) + 1 for groups in merged]))
        sealed[places] = Sealed(np.bincount(flat, minlength=cells).astype(np.int64))
    measured = run_rounds(measured, design.rounds, sealed, lambda words, share: None)
    receipt, nothing = Receipt(design.epsilon, design.delta, entry=1), (np.zeros(1, dtype=np.int64),) * len(axes)
    return SyntheticTable(Chosen(table, axes, {}), measured, fit(measured, 100), nothing, {}, receipt)


def table_rows(epsilon: str) -> list[tuple[str, ...]]:
    """How often each interval holds, by estimate."""
    rng = np.random.default_rng(7)
    everybody = _sample(rng, 2_000_000)
    truth = {name: estimate(everybody)[0] for name, estimate in ESTIMATES.items()}
    hits = {name: np.zeros(5) for name in ESTIMATES}
    for _ in range(RUNS):
        rows = _sample(rng, ROWS)
        first, *others = (np.stack(each.codes, axis=1) for each in _released(rows, epsilon).copies(COPIES))
        for name, estimate in ESTIMATES.items():
            base, variance = estimate(first)
            values, variances = zip(*(estimate(copy) for copy in others), strict=True)
            own = estimate(rows)[0]
            for at, (held, given) in enumerate(((own, None), (truth[name], variances))):
                for without, released in enumerate((base, None)):
                    made = combine(values, given, released=released)
                    hits[name][2 * at + without] += made.low <= held <= made.high
            hits[name][4] += abs(base - truth[name]) <= 1.96 * variance**0.5
    return [(epsilon, name, *(f"{count / RUNS:.2f}" for count in hits[name])) for name in ESTIMATES]


def run() -> None:
    rows = [row for epsilon in EPSILONS for row in table_rows(epsilon)]
    write_table("synthetic copies", f"{machine('numba')} {RUNS} runs each.\n\n{markdown(HEADERS, rows)}")


if __name__ == "__main__":
    run()
