"""Scores learnt from draws: numbers that are large where the first of two samplers is likelier than the second.

A score only helps to choose an event; the event's probabilities are measured on draws that the score has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

Floats = NDArray[np.float64]
MOST_OUTCOMES = 2000  # as many separate outcomes as are told apart one by one
BINS = 64
STEPS = 20  # of Newton's method; the ridge keeps it convergent where the draws can be separated


@dataclass(frozen=True, slots=True)
class Draws:
    """Outputs in two readings: as labels (any hashable output) and, where all are numbers of one shape, as rows of floats."""

    labels: Sequence[Hashable]
    rows: Floats | None

    def part(self, start: int, stop: int) -> Draws:
        """The outputs from `start` up to `stop`."""
        return Draws(self.labels[start:stop], None if self.rows is None else self.rows[start:stop])

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Score:
    """A function of outputs, and the words for the event that it is at least a threshold."""

    of: Callable[[Draws], Floats]
    words: str
    sign: int = 1

    def event(self, threshold: float) -> str:
        """The event in words."""
        return f"{self.words} {'>=' if self.sign > 0 else '<='} {self.sign * threshold:.4g}"


def read(outputs: Iterable[Any]) -> Draws:
    """Outputs of a sampler: an array with one output per entry (row), or any sequence of outputs.

    >>> read([(1, 2), (3, 4)]).rows.shape, read(["yes", "no"]).rows
    ((2, 2), None)
    """
    listed = outputs if isinstance(outputs, np.ndarray) else list(outputs)
    labels = [label_of(output) for output in (listed.tolist() if isinstance(listed, np.ndarray) else listed)]
    try:
        rows = np.array(labels, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return Draws(labels, None)
    if rows.ndim > 2 or not np.isfinite(rows).all():
        return Draws(labels, None)
    return Draws(labels, rows.reshape(len(rows), -1))


def scores(one: Draws, other: Draws) -> list[Score]:
    """Every score that can be made of these draws: thresholds for numbers, single outcomes, and two trained ones."""
    if len(one) != len(other) or not len(one):
        raise InvalidInput("both samplers must give the same number of outputs, at least 8 each")
    made = []
    labels = set(one.labels) | set(other.labels)
    if len(labels) <= min(MOST_OUTCOMES, max(2, len(one) // 4)):
        made.append(_outcomes(one, other))
    if one.rows is None or other.rows is None or one.rows.shape != other.rows.shape:
        return made or [_outcomes(one, other)]
    if one.rows.shape[1] == 1:
        made += [Score(_column, "output"), Score(lambda draws: -_column(draws), "output", sign=-1)]
    return [*made, _binned_score(one.rows, other.rows), _linear(one.rows, other.rows)]


def label_of(output: Any) -> Hashable:
    """The output as a hashable value, arrays as tuples."""
    if isinstance(output, np.ndarray):
        output = output.tolist()
    if isinstance(output, list | tuple):
        return tuple(label_of(entry) for entry in output)
    plain: Hashable = output.item() if isinstance(output, np.generic) else output
    return plain


def _rows(draws: Draws) -> Floats:
    """The rows; a sampler whose later outputs are not numbers, or of another shape, cannot be scored by numbers."""
    if draws.rows is None:
        raise InvalidInput("a sampler must return outputs of one type: it gave numbers first and another type later")
    return draws.rows


def _column(draws: Draws) -> Floats:
    return _rows(draws)[:, 0]


def _outcomes(one: Draws, other: Draws) -> Score:
    """The logarithm of the ratio of counts of each outcome; half a count is added to both, as in Jeffreys' prior."""
    table: dict[Hashable, list[float]] = {}
    for side, draws in enumerate((one, other)):
        for label in draws.labels:
            table.setdefault(label, [0.5, 0.5])[side] += 1
    logs = {label: float(np.log(first / second)) for label, (first, second) in table.items()}
    return Score(lambda draws: np.array([logs.get(label, 0.0) for label in draws.labels]), "log-ratio of the outcome")


def _binned_score(one: Floats, other: Floats) -> Score:
    """The sum over coordinates of the log-ratio of counts in bins: the likelihood ratio where coordinates are independent."""
    inner = np.linspace(0, 1, BINS + 1)[1:-1]
    edges = [np.unique(np.quantile(np.concatenate([one[:, j], other[:, j]]), inner)) for j in range(one.shape[1])]

    def counts(rows: Floats, j: int) -> Floats:
        places = np.searchsorted(edges[j], rows[:, j], "right")
        return np.bincount(places, minlength=len(edges[j]) + 1).astype(np.float64) + 0.5

    tables = [np.log(counts(one, j) / counts(other, j)) for j in range(one.shape[1])]

    def of(draws: Draws) -> Floats:
        rows = _rows(draws)
        total = np.zeros(len(rows))
        for j, (edge, table) in enumerate(zip(edges, tables, strict=True)):
            total += table[np.searchsorted(edge, rows[:, j], "right")]
        return total

    return Score(of, "binned log-ratio")


def _linear(one: Floats, other: Floats) -> Score:
    """Logistic regression on the standardized coordinates, by Newton's method with a small ridge."""
    rows = np.concatenate([one, other])
    centre, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-300
    design = np.column_stack([np.ones(len(rows)), (rows - centre) / spread])
    target = np.repeat([1.0, 0.0], [len(one), len(other)])
    weights = np.zeros(design.shape[1])
    for _ in range(STEPS):
        fitted = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        curvature = (design * (fitted * (1 - fitted))[:, None]).T @ design + 1e-3 * np.eye(len(weights))
        weights = weights + np.linalg.solve(curvature, design.T @ (target - fitted) - 1e-3 * weights)
    slopes = weights[1:] / spread
    return Score(lambda draws: (_rows(draws) - centre) @ slopes, "linear score")
