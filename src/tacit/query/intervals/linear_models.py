"""Least squares with several regressors: coefficients and R2 from released sums, with their ends. Proof in linear_models.md.

A model needs n, the sums of every column, of the squares of the regressors and of every product of two columns; R2 also that of the
squares of y. Nothing else is read from the data. Where the released sums admit a model that has no answer, the ends are infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from tacit.accounting.weighted import weighted_error
from tacit.query.intervals.bands import Floats
from tacit.query.intervals.ratios import Ends, Released
from tacit.query.plan import Literal, Moment, NumberType, Row, Term
from tacit.query.question import Call

MODEL_PARTS = ("linreg_intercept", "linreg_slope", "linreg_r2")
MODEL = "linreg"  # all of them, as columns
MOST_REGRESSORS = 8
SLACK = 1e-9  # relative to a bound: doubles lose less in systems of this size
UNIT = 1e-13  # relative to what is added up in a released matrix


def columns_of(call: Call) -> tuple[Term, ...]:
    """y, and the regressors."""
    assert call.over is not None  # noqa: S101  # as the binder makes them
    return (call.over, *call.others)


def model_moments(call: Call) -> tuple[Moment, ...]:
    """The sums that a part of a model needs: n, those of columns, of squares of the regressors (R2: also of y), of products."""
    rows = [_row(term) for term in columns_of(call)]
    counted = Moment("rows", rows[0]) if rows[0].nullable else Moment("rows")
    squared = rows if call.name == "linreg_r2" else rows[1:]
    products = (Moment("products", one, other=other) for one, other in combinations(rows, 2))
    return (counted, *(Moment("centred", row) for row in rows), *(Moment("squares", row) for row in squared), *products)


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """The normal equations of every group in units of the range of each column: z = u / R is from -1 to 1.

    `matrix` is that of (1, z_1, ..., z_k), `right` its products with z_y, `squares` the sum of z_y^2 (NaN without it). The bounds
    on the noise of each hold together.
    """

    matrix: Floats
    right: Floats
    squares: Floats
    matrix_off: Floats
    right_off: Floats
    squares_off: Floats


def system_of(call: Call, values: Mapping[Moment, Floats], widths: Mapping[Moment, float]) -> System:
    """The equations from the released sums and the half-widths of their noise."""
    rows = [_row(term) for term in columns_of(call)]
    ranges = [float(row.high - row.low) for row in rows]
    counted, *_ = model_moments(call)

    def both(moment: Moment, divided: float) -> tuple[Floats, float]:
        return values[moment] / divided, widths[moment] / divided

    def entry(one: int | None, other: int | None) -> tuple[Floats, float]:
        if one is None and other is None:
            return both(counted, 1.0)
        if one is None or other is None:
            at = other if one is None else one
            assert at is not None  # noqa: S101
            return both(Moment("centred", rows[at]), ranges[at])
        if one == other:
            squares, off = both(Moment("squares", rows[one]), ranges[one] ** 2)
            return (squares + values[counted]) / 2, (off + widths[counted]) / 2
        first, last = sorted((one, other))
        return both(Moment("products", rows[first], other=rows[last]), ranges[first] * ranges[last])

    places: list[int | None] = [None, *range(1, len(rows))]
    made = [[entry(one, other) for other in places] for one in places]
    aimed = [entry(one, 0) for one in places]
    size = len(values[counted])
    matrix = np.stack([np.stack([value for value, _ in line], axis=-1) for line in made], axis=-2)
    right = np.stack([value for value, _ in aimed], axis=-1)
    squares, squares_off = entry(0, 0) if call.name == "linreg_r2" else (np.full(size, np.nan), 0.0)
    matrix_off = np.array([[off for _, off in line] for line in made]) + UNIT * np.abs(matrix)
    right_off = np.array([off for _, off in aimed]) + UNIT * np.abs(right)
    return System(matrix, right, squares, matrix_off, right_off, squares_off + UNIT * np.abs(squares))


def solved(system: System) -> Floats:
    """The coefficients by the released equations; NaN in a group that has no solution."""
    found = np.full(system.right.shape, np.nan)
    for at, (matrix, right) in enumerate(zip(system.matrix, system.right, strict=True)):
        if np.isfinite(matrix).all() and np.linalg.matrix_rank(matrix) == len(matrix):
            found[at] = np.linalg.solve(matrix, right)
    return found


def coefficient_reach(system: System, found: Floats) -> Floats:
    """How far each exact coefficient is from the released one, at most; infinite if the exact equations may be singular."""
    reach = np.full(found.shape, np.inf)
    for at, coefficients in enumerate(found):
        if not np.isfinite(coefficients).all():
            continue
        matrix, off = system.matrix[at], system.matrix_off[at]
        inverse = np.linalg.inv(matrix)
        contraction = np.abs(np.eye(len(matrix)) - inverse @ matrix) + np.abs(inverse) @ off * (1 + SLACK) + SLACK
        if not np.isfinite(contraction).all() or contraction.sum(axis=1).max() >= 1 - SLACK:
            continue
        residual = np.abs(system.right[at] - matrix @ coefficients)
        residual = residual + system.right_off[at] + off @ np.abs(coefficients)
        bound = np.linalg.solve(np.eye(len(matrix)) - contraction, np.abs(inverse) @ residual)
        if (bound >= 0).all():
            reach[at] = bound * (1 + SLACK) + SLACK * np.abs(coefficients)
    return reach


# --- in the units of an answer -----------------------------------------------------------------------------------------------


def released_model(call: Call, values: Mapping[Moment, Floats]) -> Floats:
    """A coefficient or R2 from released sums."""
    system = system_of(call, values, dict.fromkeys(values, 0.0))
    found = solved(system)
    return PARTS[call.name](call, system, found, np.zeros_like(found))[0]


def model_ends(call: Call, sums: Sequence[Released], missed: Fraction) -> Ends:
    """The ends of a coefficient or of R2: all sums miss with at most `missed` together."""
    moments = model_moments(call)
    each = missed / len(moments)
    widths = {moment: _width(released, each) for moment, released in zip(moments, sums, strict=True)}
    system = system_of(call, {moment: released.value for moment, released in zip(moments, sums, strict=True)}, widths)
    found = solved(system)
    _, low, high = PARTS[call.name](call, system, found, coefficient_reach(system, found))
    return low, high


def _width(released: Released, missed: Fraction) -> float:
    if not released.noise.scale:
        return 0.0
    return float(weighted_error([released.noise], np.ones((1, 1)), missed)[0])


Part = tuple[Floats, Floats, Floats]


def _slope(call: Call, system: System, found: Floats, reach: Floats) -> Part:
    """How much y grows with one regressor, the others held."""
    place = int(call.share or 1)
    terms = columns_of(call)
    unit = _range(terms[0]) * _step(terms[0]) / (_range(terms[place]) * _step(terms[place]))
    return _scaled(found[:, place], reach[:, place], unit, 0.0)


def _intercept(call: Call, system: System, found: Floats, reach: Floats) -> Part:
    """The value of y by the model where every regressor is 0."""
    aimed, *terms = columns_of(call)
    at_zero = np.array([1.0, *(-float(_row(term).low + _row(term).high) / _range(term) for term in terms)])
    value, off = found @ at_zero, np.where(np.isfinite(reach), reach, 0.0) @ np.abs(at_zero)
    off = np.where(np.isfinite(reach).all(axis=1), off + SLACK * (np.abs(found) @ np.abs(at_zero)), np.inf)
    middle = float(_row(aimed).low + _row(aimed).high) * _step(aimed) / 2
    return _scaled(value, off, _range(aimed) * _step(aimed) / 2, middle)


def _scaled(value: Floats, off: Floats, unit: float, middle: float) -> Part:
    spare = SLACK * np.abs(value * unit)
    return value * unit + middle, (value - off) * unit + middle - spare, (value + off) * unit + middle + spare


def _explained(call: Call, system: System, found: Floats, reach: Floats) -> Part:
    """R2: one minus the sum of squared residuals by that of squared distances to the mean; from 0 to 1."""
    rows, summed = system.matrix[:, 0, 0], system.right[:, 0]
    rows_off, summed_off = system.matrix_off[:, 0, 0], system.right_off[:, 0]
    fitted = (system.right * found).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        residual, total = system.squares - fitted, system.squares - summed**2 / rows
        value = np.where((rows > 0) & (total > 0), np.clip(1 - residual / total, 0.0, 1.0), np.nan)
        finite = np.isfinite(reach).all(axis=1) & (rows > rows_off)
        far = np.where(np.isfinite(reach), reach, 0.0)
        off = (np.abs(system.right) * far + system.right_off * (np.abs(found) + far)).sum(axis=1) + system.squares_off
        off = off + SLACK * (np.abs(system.right * found).sum(axis=1) + system.squares)
        most = (np.abs(summed) + summed_off) ** 2 / np.where(finite, rows - rows_off, 1.0)
        least = np.maximum(np.abs(summed) - summed_off, 0.0) ** 2 / (rows + rows_off)
        spare = system.squares_off + SLACK * np.abs(system.squares)
        low_total, high_total = system.squares - spare - most, system.squares + spare - least
        held = finite & (low_total > 0)
        below = np.where(held, low_total, 1.0)
        low = np.where(held, 1 - (residual + off) / below, 0.0)
        high = np.where(held, 1 - np.maximum(residual - off, 0.0) / np.where(held, high_total, 1.0), 1.0)
    return value, np.clip(np.nan_to_num(low, nan=0.0), 0.0, 1.0), np.clip(np.nan_to_num(high, nan=1.0), 0.0, 1.0)


PARTS: Mapping[str, Callable[[Call, System, Floats, Floats], Part]] = {
    "linreg_intercept": _intercept,
    "linreg_slope": _slope,
    "linreg_r2": _explained,
}


def _row(term: Term) -> Row:
    node: Any = term.node
    return node if hasattr(node, "low") else Literal(0)


def _range(term: Term) -> float:
    return float(_row(term).high - _row(term).low)


def _step(term: Term) -> float:
    return float(term.type.step) if isinstance(term.type, NumberType) else 1.0
