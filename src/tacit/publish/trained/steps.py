"""Noisy gradient steps for logistic regression: the design and its price, the exact sums, and the steps. Proof in classifier.md.

One noisy matrix of second moments of the features comes first. It bounds the curvature of the loss (Boehning 1992), so that every
step after it goes equally fast in all directions. Then a fixed number of steps: the exact sum of the gradients of all rows at
released coefficients, with noise. The mean of the later coefficients is the model. Everything but the sums is public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import Batch, Event
from tacit.accounting.filter import on_grid_down
from tacit.errors import NoBudget
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.unseal import together
from tacit.privacy.loss import Change
from tacit.privacy.rounding import sqrt_up
from tacit.privacy.sealed import Sealed
from tacit.publish.trained.features import ONE, Feature, Inputs
from tacit.query.binding.terms import choose, floor_by, plus, times
from tacit.query.engines.engine import Engine
from tacit.query.plan import Compare, Group, Literal, Lookup, Moment, Row
from tacit.query.price.price import UNIT, Request, calibrate_rho

WEIGHT = 2**12  # the integer that stands for a coefficient of 1
LARGEST_WEIGHT = 1000
CHANCE = 1024  # the integer that stands for a probability of 1
BUCKETS = 64  # of a score, for each unit of it
FARTHEST = 8 * BUCKETS  # buckets on either side: a chance of 0.0003 or of 0.9997
MOMENTUM = 0.5
RIDGE = 0.2  # of the noise of the mean gradient
LARGEST_DEVIATION = 2.0**50  # beyond it only noise is left, and it does not fit 64 bits

Law = type[Laplace] | type[Gaussian]
Vector = NDArray[np.float64]
Told = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Design:
    """The parts of a training, and its price: `curvature` and `each` are the epsilons, or rhos, of the matrix and of each step."""

    inputs: Inputs
    epsilon: Fraction
    delta: Fraction
    law: Law
    curvature: Fraction
    each: Fraction
    steps: int

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return len(self.inputs.features)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The entries of the matrix, each once."""
        return list(combinations_with_replacement(range(self.size), 2))

    @property
    def of_curvature(self) -> Laplace | Gaussian:
        """The noise on the matrix of second moments."""
        most = self.inputs.most_at_once
        return self._noise(self.curvature, ONE**2 * most * (most + 1) // 2, ONE**4 * most * (most + 1) // 2, len(self.pairs))

    @property
    def of_step(self) -> Laplace | Gaussian:
        """The noise on the sum of gradients of one step."""
        most = self.inputs.most_at_once
        return self._noise(self.each, CHANCE * ONE * most, (CHANCE * ONE) ** 2 * most, self.size)

    def _noise(self, budget: Fraction, of_row: int, squares_of_row: int, numbers: int) -> Laplace | Gaussian:
        """Noise for the rows of a unit. Each row adds at most `of_row` in l1, and the root of `squares_of_row` in l2."""
        rows = self.inputs.table.max_rows
        moved: Fraction | int = sqrt_up(Fraction(rows**2 * squares_of_row)) if self.law.concentrated else rows * of_row
        return self.law(moved, budget, 1, numbers, True, UNIT)

    @property
    def event(self) -> Event:
        """The event that the ledger records for the whole training."""
        return Batch((self.of_curvature.event, *[self.of_step.event] * self.steps))

    @property
    def averaged(self) -> int:
        """The last steps, whose coefficients are averaged."""
        return self.steps - self.steps // 2

    @property
    def noise_of_gradient(self) -> float:
        """The standard deviation of the noise in the mean gradient of the averaged steps, as a number of rows."""
        return float(self.of_step.deviation / (CHANCE * ONE) / self.averaged**0.5)

    @property
    def ridge(self) -> float:
        """The penalty on squared coefficients, in proportion to the noise: public, like all else here."""
        return float(RIDGE * self.inputs.most_at_once**0.5 * self.noise_of_gradient)


def designs_for(inputs: Inputs, asked: Request, change: Change) -> tuple[Design, ...]:
    """The designs within a budget, the one with the least noise first: Laplace noise without a delta, else Gaussian noise.

    A cap of the same epsilon and delta keeps some of its delta for truncated noise, so that the whole delta may not fit it: those
    after the first are for a little less, and for half. If one unit changes, an epsilon counts twice and a rho four times.
    """
    if asked.epsilon is None:
        raise NoBudget("missing budget for training", remedy="give epsilon=1", argument="epsilon")
    factor = 2 if change == "change-one" else 1
    if not asked.delta:
        return (_design(inputs, asked, Laplace, asked.epsilon / factor),)
    shares = (Fraction(1), Fraction(98, 100), Fraction(1, 2))
    return tuple(_design(inputs, asked, Gaussian, calibrate_rho(asked.epsilon, asked.delta * each) / factor**2) for each in shares)


def _design(inputs: Inputs, asked: Request, law: Law, whole: Fraction) -> Design:
    """A tenth of a rho for the matrix and 20 steps; a fifth of an epsilon and 10 steps, since epsilons add up faster."""
    share, steps = (Fraction(1, 10), 20) if law.concentrated else (Fraction(1, 5), 10)
    parts = on_grid_down(whole * share), on_grid_down(whole * (1 - share) / steps)
    if min(parts) > 0:
        made = Design(inputs, asked.epsilon or Fraction(0), asked.delta, law, *parts, steps)
        if max(made.of_curvature.deviation, made.of_step.deviation) <= LARGEST_DEVIATION:
            return made
    raise NoBudget("the budget is too small: only noise would be left", remedy="give for example epsilon=1", argument="epsilon")


# --- exact sums --------------------------------------------------------------------------------------------------------------


def score_of(inputs: Inputs, weights: Sequence[int]) -> Row:
    """The score of a row at integer coefficients: 2^22 stands for 1."""
    score: Row = Literal(0)
    for feature, weight in zip(inputs.features, weights, strict=True):
        score = plus(score, times(feature.row, Literal(weight)))
    return score


def chance_of(score: Row) -> Row:
    """The probability of the class at a score, from 0 to 1024, by a public table."""
    place = floor_by(score, WEIGHT * ONE // BUCKETS)
    if isinstance(place, Literal):  # all coefficients but the intercept are 0
        return Literal(CHANCES[min(max(place.low, -FARTHEST), FARTHEST - 1) + FARTHEST])
    below, above = Compare("<", place, Literal(-FARTHEST)), Compare("<", Literal(FARTHEST - 1), place)
    inside = choose([(below, Literal(0)), (above, Literal(2 * FARTHEST - 1))], plus(place, Literal(FARTHEST)))
    return Lookup(inside, CHANCES, min(CHANCES), max(CHANCES), inside.nullable)


CHANCES = tuple(round(CHANCE / (1 + float(np.exp(-(at + 0.5) / BUCKETS)))) for at in range(-FARTHEST, FARTHEST))
"""The probability in the middle of each bucket, an integer from 0 to 1024."""


def gradient_plan(inputs: Inputs, weights: Sequence[int]) -> Group:
    """The sums of the gradients of all rows: (chance - label) times each feature, whole numbers of at most 2^20."""
    residual = plus(chance_of(score_of(inputs, weights)), times(inputs.label.row, Literal(-CHANCE)))
    return Group(inputs.rows, (), tuple(Moment("sum", times(residual, feature.row)) for feature in inputs.features))


def curvature_plan(inputs: Inputs, pairs: Sequence[tuple[int, int]]) -> Group:
    """The sums of the products of each two features."""
    rows = [feature.row for feature in inputs.features]
    return Group(inputs.rows, (), tuple(Moment("sum", times(rows[one], rows[other])) for one, other in pairs))


def exact_sums(group: Group, engine: Engine) -> Sealed[Any]:
    """The sums of a plan without keys, sealed as one vector."""
    return together([moment for moment in engine.run(group).moments if isinstance(moment, Sealed)])


# --- the steps ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """Released numbers only: the design, the noisy number of rows, and the coefficients of the features from -1 to 1."""

    design: Design
    rows: float
    weights: tuple[float, ...]


def train(design: Design, engine: Engine, told: Told | None = None) -> Trained:
    """The coefficients. Only the mechanisms see sums; each step asks at coefficients that follow from released numbers."""
    say = told or (lambda words, share: None)
    say("second moments", 0.0)
    moments = _floats(design.of_curvature.release_units(exact_sums(curvature_plan(design.inputs, design.pairs), engine)))
    values, axes = _metric(design, moments / ONE**2)
    weights = before = np.zeros(design.size)
    visited = []
    for step in range(design.steps):
        say(f"step {step + 1} of {design.steps}", (1 + step) / (2 + design.steps))
        ahead = integers_of(weights + MOMENTUM * (weights - before))
        noisy = design.of_step.release_units(exact_sums(gradient_plan(design.inputs, ahead.tolist()), engine))
        point = ahead / WEIGHT
        slope = _floats(noisy) / (CHANCE * ONE) + design.ridge * point
        before, weights = weights, point - axes @ ((axes.T @ slope) / (values + design.ridge))
        visited.append(weights)
    mean = integers_of(np.mean(visited[-design.averaged :], axis=0)) / WEIGHT
    return Trained(design, max(0.0, float(moments[0]) / ONE**2), tuple(mean.tolist()))


def integers_of(weights: Vector) -> NDArray[np.int64]:
    """Coefficients as the integers that the engine gets: a function of released numbers, within a public range."""
    return np.rint(np.clip(weights, -LARGEST_WEIGHT, LARGEST_WEIGHT) * WEIGHT).astype(np.int64)


def _metric(design: Design, moments: Vector) -> tuple[Vector, Vector]:
    """A quarter of the matrix, which bounds the curvature; eigenvalues that noise may have made are raised to its size."""
    matrix = np.zeros((design.size, design.size))
    for (one, other), moment in zip(design.pairs, moments, strict=True):
        matrix[one, other] = matrix[other, one] = moment / 4
    values, axes = np.linalg.eigh(matrix)
    least = design.of_curvature.deviation / ONE**2 / 4 * 2 * design.size**0.5
    return np.maximum(values, least), axes


def _floats(units: Any) -> Vector:
    return np.asarray(np.atleast_1d(np.asarray(units)), dtype=np.float64)


# --- the noise of the coefficients, before anything is spent -----------------------------------------------------------------


def expected_noise(design: Design, rows: int) -> Vector:
    """The standard deviation of the noise in each coefficient, for a table of `rows` rows that are spread evenly.

    Evenly means: every value in the declared range, or of a category, equally likely, columns independent, and both classes
    equally likely whatever the features are. Then the curvature is a quarter of the second moments, and the noise of the averaged
    coefficients is that of the mean gradient, divided by the curvature. A class that features predict well has a smaller
    curvature, and more noise.
    """
    inverse = np.linalg.inv(rows * _even_moments(design.inputs) / 4 + design.ridge * np.eye(design.size))
    return np.asarray(design.noise_of_gradient * np.sqrt((inverse**2).sum(axis=1)))


def _even_moments(inputs: Inputs) -> Vector:
    """The mean product of each two features over evenly spread rows."""
    means = np.array([_mean(feature) for feature in inputs.features])
    moments = np.outer(means, means)
    for one, feature in enumerate(inputs.features):
        for other, same in enumerate(inputs.features):
            if feature.column is not None and same.column is not None and feature.column.name == same.column.name:
                moments[one, other] = 0.0 if one != other else (means[one] if feature.code is not None else 1 / 3)
    return moments


def _mean(feature: Feature) -> float:
    if feature.column is None:
        return 1.0
    return 0.0 if feature.code is None else 1 / feature.column.points
