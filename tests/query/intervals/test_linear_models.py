"""Linear models: least squares on the values, bounds that hold for every system within them, coverage, and what is planted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import CHANCE  # noqa: F401  # coverage takes its limit from there
from tacit.accounting.weighted import Draws
from tacit.evidence.verify.coverage import coverage_of_draws
from tacit.query.intervals import linear_models
from tacit.query.intervals.linear_models import (
    MODEL_PARTS,
    System,
    coefficient_reach,
    model_ends,
    model_moments,
    released_model,
    solved,
)
from tacit.query.intervals.ratios import Released
from tacit.query.plan import Column, NumberType, Term
from tacit.query.question import Call

MISSED = Fraction(1, 10)
DRAWS = 400
BOUNDS = ((-10, 10), (0, 6), (-3, 5), (2, 4))
STEPS = (Fraction(1, 2), Fraction(1), Fraction(3), Fraction(1, 10))


def call(name: str, regressors: int, number: int = 1) -> Call:
    terms = [
        Term(Column(1, f"c{at}", low, high, False), NumberType(step))
        for at, ((low, high), step) in enumerate(zip(BOUNDS, STEPS, strict=True))
    ]
    share = Fraction(number) if name == "linreg_slope" else None
    return Call(name, terms[0], share, others=tuple(terms[1 : regressors + 1]))


def exact_sums(made: Call, rows: np.ndarray) -> list[float]:
    """The moments of rows of stored integers, in the order of `model_moments`."""
    count = len(made.others) + 1
    centred = [2 * rows[:, at] - sum(BOUNDS[at]) for at in range(count)]
    ranges = [high - low for low, high in BOUNDS]
    squared = range(count) if made.name == "linreg_r2" else range(1, count)
    found = [len(rows), *(each.sum() for each in centred), *((2 * centred[at] ** 2 - ranges[at] ** 2).sum() for at in squared)]
    return [float(each) for each in (*found, *((one * other).sum() for one, other in combinations(centred, 2)))]


def truth(made: Call, rows: np.ndarray) -> float:
    """By least squares on the values themselves."""
    values = [rows[:, at] * float(STEPS[at]) for at in range(len(made.others) + 1)]
    design = np.column_stack([np.ones(len(rows)), *values[1:]])
    found = np.linalg.lstsq(design, values[0], rcond=None)[0]
    if made.name == "linreg_r2":
        return float(1 - ((values[0] - design @ found) ** 2).sum() / ((values[0] - values[0].mean()) ** 2).sum())
    return float(found[int(made.share or 0)])


def every_part(regressors: int) -> list[Call]:
    slopes = [call("linreg_slope", regressors, number) for number in range(1, regressors + 1)]
    return [call("linreg_intercept", regressors), *slopes, call("linreg_r2", regressors)]


@given(st.integers(1, 3), st.integers(0, 2**32))
def test_values_are_those_of_least_squares(regressors: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = np.column_stack([draw.integers(low, high + 1, 40) for low, high in BOUNDS])
    for made in every_part(regressors):
        moments = model_moments(made)
        values = {moment: np.array([each]) for moment, each in zip(moments, exact_sums(made, rows), strict=True)}
        assert released_model(made, values)[0] == pytest.approx(truth(made, rows), rel=1e-7, abs=1e-7)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from([1e-3, 0.02, 0.1, 0.3]))
def test_every_system_within_the_bounds_has_its_solution_within_the_reach(seed: int, off: float) -> None:
    """No chance is involved: wherever the reach is finite, no system that the bounds admit has a solution outside."""
    assert violations(seed, off) == 0


def violations(seed: int, off: float) -> int:
    draw = np.random.default_rng(seed)
    size = int(draw.integers(2, 5))
    base = draw.normal(size=(30, size))
    matrix, right = base.T @ base / 10, draw.normal(size=size) * 3
    matrix_off, right_off = off * draw.random((size, size)), off * draw.random(size)
    made = System(matrix[None], right[None], np.array([np.nan]), matrix_off[None], right_off[None], np.zeros(1))
    found = solved(made)
    reach = coefficient_reach(made, found)[0]
    if not np.isfinite(reach).all():
        return 0
    outside = 0
    for _ in range(50):
        corner = matrix + matrix_off * draw.choice([-1.0, 1.0], matrix.shape)
        answer = np.linalg.solve(corner, right + right_off * draw.choice([-1.0, 1.0], size))
        outside += int((np.abs(answer - found[0]) > reach).any())
    return outside


def test_a_bound_that_leaves_out_a_term_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the error of the matrix counted in the right side alone, so that far solutions are missed."""
    honest = coefficient_reach

    def bug(system: System, found: np.ndarray) -> np.ndarray:
        return honest(replace(system, matrix_off=0 * system.matrix_off), found)

    monkeypatch.setitem(globals(), "coefficient_reach", bug)
    assert sum(violations(seed, 0.1) for seed in range(20)) > 0


# --- coverage ----------------------------------------------------------------------------------------------------------------


def columns(name: str) -> np.ndarray:
    draw = np.random.default_rng(5)
    rows = np.column_stack([draw.integers(low, high + 1, 3000) for low, high in BOUNDS])
    noise = draw.integers(-2, 3, 3000)
    by_name = {
        "apart": rows,
        "on a plane": np.column_stack([np.clip(rows[:, 1] - rows[:, 2], -10, 10), rows[:, 1:]]),
        "typical": np.column_stack([np.clip(rows[:, 1] - rows[:, 2] + noise, -10, 10), rows[:, 1:]]),
        "nearly alike": np.column_stack(
            [rows[:, 0], rows[:, 1], np.clip(rows[:, 1] - 2 + (draw.random(3000) < 0.2), -3, 5), rows[:, 3]]
        ),
        "at a bound": np.where(draw.random((3000, 4)) < 0.1, [high for _, high in BOUNDS], [low for low, _ in BOUNDS]),
        "few": rows[:12],
    }
    return by_name[name]


def released(made: Call, rows: np.ndarray, scale: float, noise: str, louder: int | None = None) -> list[Released]:
    """Many releases as if each were a group, each sum with noise of its own sensitivity."""
    draw = np.random.default_rng(11)
    exact = exact_sums(made, rows)
    ranges = [float(high - low) for low, high in BOUNDS[: len(made.others) + 1]]
    squared = ranges if made.name == "linreg_r2" else ranges[1:]
    sizes = [1.0, *ranges, *(each**2 for each in squared), *(one * other for one, other in combinations(ranges, 2))]
    scales = [size * scale * (100 if at == louder else 1) for at, size in enumerate(sizes)]
    return [
        Released(value + _drawn(draw, each, noise), Draws(noise, Fraction(each))) for value, each in zip(exact, scales, strict=True)
    ]


def _drawn(draw: np.random.Generator, scale: float, noise: str) -> np.ndarray:
    if noise == "Gaussian":
        return draw.normal(0, scale, DRAWS).round()
    chance = 1 - np.exp(-1 / scale)
    return (draw.geometric(chance, DRAWS) - draw.geometric(chance, DRAWS)).astype(float)


def covers(ends: tuple[np.ndarray, np.ndarray], exact: float) -> bool:
    slack = 1e-9 * (1 + abs(exact))
    return coverage_of_draws((ends[0] <= exact + slack) & (exact - slack <= ends[1]), float(1 - MISSED)).holds


@pytest.mark.parametrize("name", ["apart", "on a plane", "typical", "nearly alike", "at a bound", "few"])
@pytest.mark.parametrize(("scale", "noise"), [(3.0, "Laplace"), (2.0, "Gaussian")])
def test_hostile_data_is_covered(name: str, scale: float, noise: str) -> None:
    rows = columns(name)
    for made in every_part(2):
        assert covers(model_ends(made, released(made, rows, scale, noise), MISSED), truth(made, rows)), made.name


@pytest.mark.parametrize("name", MODEL_PARTS)
def test_ends_are_finite_where_there_is_much_data_and_near_the_error(name: str) -> None:
    made, rows = call(name, 2), columns("typical")
    low, high = model_ends(made, released(made, rows, 3.0, "Laplace"), MISSED)
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    values = {moment: each.value for moment, each in zip(model_moments(made), released(made, rows, 3.0, "Laplace"), strict=True)}
    error = np.quantile(np.abs(released_model(made, values) - truth(made, rows)), float(1 - MISSED))
    assert np.median(high - low) / 2 < 8 * error, "a bound by the union over all sums, and no more than that"


@pytest.mark.parametrize("louder", [2, 3, 4, 5, 6])
def test_a_term_left_out_is_caught(louder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the noise of one sum taken for none where it is the loudest."""
    made, rows = call("linreg_slope", 2, 2 if louder in (3, 5) else 1), columns("typical")
    sums = released(made, rows, 0.3, "Laplace", louder=louder)
    assert covers(model_ends(made, sums, MISSED), truth(made, rows))
    honest, loud = linear_models._width, sums[louder].noise

    def bug(each: Released, missed: Fraction) -> float:
        return 0.0 if each.noise == loud else honest(each, missed)

    monkeypatch.setattr(linear_models, "_width", bug)
    assert not covers(model_ends(made, sums, MISSED), truth(made, rows))


@pytest.mark.parametrize("rows", [0, 1, 2, 500])
def test_without_one_answer_nothing_is_claimed(rows: int) -> None:
    """Regressors that lie on a line have many answers; finite ends would claim that there is one."""
    base = np.arange(rows) % 3
    table = np.column_stack([base, base, base, np.full(rows, 2)]) if rows else np.zeros((0, 4), dtype=int)
    for made in every_part(2):
        low, high = model_ends(made, released(made, table, 1.0, "Laplace"), MISSED)
        unknown = (low == 0) & (high == 1) if made.name == "linreg_r2" else np.isinf(low) & np.isinf(high)
        assert coverage_of_draws(unknown, float(1 - MISSED)).holds, made.name


def test_sums_without_noise_give_narrow_ends() -> None:
    rows: Any = columns("typical")
    for made in every_part(3):
        sums = [Released(np.array([each]), Draws("Laplace", Fraction(0))) for each in exact_sums(made, rows)]
        low, high = model_ends(made, sums, MISSED)
        assert low[0] <= truth(made, rows) <= high[0]
        assert high[0] - low[0] < 1e-5 * (1 + abs(truth(made, rows)))
