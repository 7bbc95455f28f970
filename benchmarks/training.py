"""Three ways to train a classifier privately, at equal price: `python -m benchmarks training`. The excess loss on rows held out.

The steps are those of `tacit.train`, on integers. Noise on the minimizer and in the objective are here in floats, with the exact
minimizer and continuous noise: yardsticks of accuracy, not something to release with. All three get the same bounded features, and
the penalty of each is the best of several on the data itself, except that of the steps, which is public.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import erf, exp, expm1, log, sqrt
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import brentq

from benchmarks.tables import machine, markdown, write_table
from tacit.privacy.catalog import Budget, Catalog, Column, Source, Table
from tacit.privacy.sealed import Sealed
from tacit.publish.trained.features import ONE, Inputs, inputs_of
from tacit.publish.trained.steps import designs_for, train
from tacit.query import plan
from tacit.query.engines.exact import Exact
from tacit.query.price.price import request

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult"
RUNS = 9
BUDGETS = (("0.2", "1e-6"), ("1", "1e-6"), ("4", "1e-6"), ("1", "0"))
PENALTIES = (1, 3, 10, 30, 100)
HEADERS = ("rows", "budget", "steps (tacit)", "noise on the minimizer", "noise in the objective", "the same, for one row of a unit")
Vector = np.ndarray[Any, np.dtype[Any]]
Rows = Mapping[str, Vector]


def evaluated(node: Any, rows: Rows, known: dict[int, Any] | None = None) -> Any:
    """The integers of an expression for all rows at once; a part that is used again is computed once."""
    known = {} if known is None else known
    if id(node) not in known:
        known[id(node)] = _computed(node, rows, known)
    return known[id(node)]


def _computed(node: Any, rows: Rows, known: dict[int, Any]) -> Any:
    match node:
        case plan.Column():
            return rows[node.name]
        case plan.Literal():
            return node.value
        case plan.Add():
            return evaluated(node.left, rows, known) + evaluated(node.right, rows, known)
        case plan.Multiply():
            return evaluated(node.left, rows, known) * evaluated(node.right, rows, known)
        case plan.Quotient():
            return evaluated(node.child, rows, known) // node.divisor
        case plan.Lookup():
            return np.array(node.table)[evaluated(node.child, rows, known)]
        case plan.Compare():
            left, right = evaluated(node.left, rows, known), evaluated(node.right, rows, known)
            return left == right if node.operator == "=" else left < right
        case plan.Choose():
            size = len(next(iter(rows.values())))
            tests = [evaluated(test, rows, known) for test, _ in node.branches]
            chosen = [np.broadcast_to(evaluated(value, rows, known), size) for _, value in node.branches]
            return np.select(tests, chosen, np.broadcast_to(evaluated(node.otherwise, rows, known), size))
    raise TypeError(type(node).__name__)


@dataclass(frozen=True)
class InMemory:
    """Rows in numpy, added up as the engine does."""

    rows: Rows

    def run(self, group: plan.Group) -> Exact:
        size = len(next(iter(self.rows.values())))
        known: dict[int, Any] = {}
        sums = [np.broadcast_to(evaluated(moment.value, self.rows, known), size).sum() for moment in group.moments]
        return Exact(tuple(Sealed(np.array([int(each)])) for each in sums))


@dataclass(frozen=True)
class Task:
    """Rows to learn from and rows held out, as features from -1 to 1 with their labels."""

    name: str
    inputs: Inputs
    rows: Rows
    held_out: Rows

    def arrays(self, rows: Rows) -> tuple[Vector, Vector]:
        size = len(next(iter(rows.values())))
        columns = [np.broadcast_to(evaluated(feature.row, rows), size) / ONE for feature in self.inputs.features]
        return np.stack(columns, axis=1), np.asarray(evaluated(self.inputs.label.row, rows), dtype=float)


def made_up(rows: int, numbers: int, seed: int) -> Task:
    """Numbers of different spread, and a label by a logistic law over them."""
    random = np.random.default_rng(seed)
    columns = {
        f"x{at}": Column(f"x{at}", "number", (Fraction(0), Fraction(1000)), Fraction(1), nulls="drop") for at in range(numbers)
    }
    spread, middle = random.uniform(0.2, 1, numbers), random.uniform(-0.3, 0.3, numbers)
    x = np.clip(random.uniform(-1, 1, (2 * rows, numbers)) * spread + middle, -1, 1)
    score = x @ random.normal(0, 2, numbers) + random.normal(0, 1)
    stored = {f"x{at}": np.rint(500 * (1 + x[:, at])).astype(np.int64) for at in range(numbers)}
    stored["label"] = (random.random(2 * rows) < 1 / (1 + np.exp(-score))).astype(np.int64)
    first, rest = ({name: values[part] for name, values in stored.items()} for part in (slice(rows), slice(rows, None)))
    return Task(f"{rows:,} made up, {numbers} numbers", _inputs(columns), first, rest)


def _inputs(columns: Mapping[str, Column]) -> Inputs:
    label = Column("label", "category", values=(False, True), unknown="drop", nulls="drop")
    table = Table("rows", Source("csv", "rows.csv"), {**columns, "label": label})
    return inputs_of(Catalog(Budget(Fraction(1)), {"rows": table}), "rows", "label")


def adult() -> Task:
    """Income above 50,000 by five numbers and two truths of the census extract, and its own rows for tests."""
    bounds = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99), "capital-gain": (0, 20000)}
    columns = {name: Column(name, "number", tuple(map(Fraction, ends)), Fraction(1), nulls="drop") for name, ends in bounds.items()}
    columns |= {name: Column(name, "category", values=(False, True), unknown="drop", nulls="drop") for name in ("male", "married")}

    def read(file: str) -> Rows:
        with gzip.open(ADULT / file, "rt", newline="") as opened:
            people = [{name.strip(): value.strip() for name, value in row.items()} for row in csv.DictReader(opened)]
        stored = {
            name: [min(max(int(float(one[name])), low), high) - low for one in people] for name, (low, high) in bounds.items()
        }
        stored["male"] = [int(one["sex"] == "Male") for one in people]
        stored["married"] = [int(one["marital-status"].startswith("Married")) for one in people]
        stored["label"] = [int(">50K" in one["income"]) for one in people]
        return {name: np.array(values, dtype=np.int64) for name, values in stored.items()}

    return Task("Adult, 32,561 people", _inputs(columns), read("adult.csv.gz"), read("adult_test.csv.gz"))


# --- the yardsticks ----------------------------------------------------------------------------------------------------------


def loss(weights: Vector, x: Vector, y: Vector) -> float:
    score = x @ weights
    return float(np.mean(np.logaddexp(0, score) - y * score))


def minimizer(x: Vector, y: Vector, penalty: float, slope: Vector | float = 0.0) -> Vector:
    """The exact minimizer of the sum of losses, a penalty and a linear part, by Newton's method."""
    weights = np.zeros(x.shape[1])
    for _ in range(40):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -40, 40)))
        gradient = x.T @ (chance - y) + penalty * weights + slope
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + penalty * np.eye(x.shape[1])
        weights = weights - np.linalg.solve(curvature, gradient)
        if (size := float(np.linalg.norm(weights))) > 1e3:
            weights *= 1e3 / size
    return weights


def gaussian_scale(epsilon: float, delta: float) -> float:
    """The exact scale for sensitivity 1 (Balle and Wang 2018)."""

    def over(scale: float) -> float:
        below, above = (0.5 / scale - sign * epsilon * scale for sign in (1, -1))
        return (1 + erf(below / sqrt(2))) / 2 - exp(epsilon) * (1 + erf(-above / sqrt(2))) / 2 - delta

    return float(brentq(over, 0.01, 10**4))


def spherical(random: np.random.Generator, size: int, scale: float) -> Vector:
    """A density in proportion to exp(-norm / scale)."""
    direction = random.normal(size=size)
    return direction / np.linalg.norm(direction) * random.gamma(size, scale)


def on_the_minimizer(task: Task, epsilon: float, delta: float, random: np.random.Generator) -> list[Callable[[], Vector]]:
    """Chaudhuri, Monteleoni and Sarwate 2011: a row moves the minimizer by at most its largest gradient over the penalty."""
    x, y = task.arrays(task.rows)
    largest = sqrt(task.inputs.most_at_once)

    def one(penalty: float) -> Vector:
        moved = largest / penalty
        noise = (
            random.normal(0, moved * gaussian_scale(epsilon, delta), x.shape[1])
            if delta
            else spherical(random, x.shape[1], moved / epsilon)
        )
        return minimizer(x, y, penalty) + noise

    return [lambda penalty=penalty: one(penalty) for penalty in PENALTIES]  # type: ignore[misc]


def in_the_objective(task: Task, epsilon: float, delta: float, random: np.random.Generator) -> list[Callable[[], Vector]]:
    """Kifer, Smith and Thakurta 2012; without a delta Chaudhuri, Monteleoni and Sarwate 2011."""
    x, y = task.arrays(task.rows)
    square = task.inputs.most_at_once
    if delta:
        scale, penalty = sqrt(square * (8 * log(2 / delta) + 4 * epsilon)) / epsilon, square / 2 / epsilon
        return [lambda: minimizer(x, y, penalty, random.normal(0, scale, x.shape[1]))]
    return [
        lambda share=share: minimizer(  # type: ignore[misc]
            x, y, square / 4 / expm1(share * epsilon), spherical(random, x.shape[1], sqrt(square) / (epsilon * (1 - share)))
        )
        for share in (0.25, 0.5)
    ]


def for_one_row(task: Task, epsilon: float, delta: float, random: np.random.Generator) -> list[Callable[[], Vector]]:
    """Redberg, Koskela and Wang 2023, for one row: a part of epsilon for the curvature, the rest as one number."""
    x, y = task.arrays(task.rows)
    square = task.inputs.most_at_once
    return [
        lambda share=share: minimizer(  # type: ignore[misc]
            x,
            y,
            square / 4 / expm1(share * epsilon),
            random.normal(0, sqrt(square) * gaussian_scale((1 - share) * epsilon, delta / 2), x.shape[1]),
        )
        for share in (0.25, 0.5)
    ]


# --- the table ---------------------------------------------------------------------------------------------------------------


def steps_of(task: Task, epsilon: str, delta: str) -> list[Callable[[], Vector]]:
    """What `tacit.train` runs."""
    design = designs_for(task.inputs, request(epsilon=epsilon, delta=delta), "add-remove")[0]
    return [lambda: np.array(train(design, InMemory(task.rows)).weights)]  # type: ignore[arg-type]


def tasks() -> Iterator[Task]:
    yield made_up(1_000, 3, 1)
    yield made_up(20_000, 6, 2)
    yield made_up(50_000, 12, 3)
    if ADULT.exists():
        yield adult()


def run() -> None:
    """The median excess loss of several runs; of the yardsticks, with the penalty or share that is best on the rows held out."""
    rows, random = [], np.random.default_rng(7)
    for task in tasks():
        x, y = task.arrays(task.held_out)
        best = loss(minimizer(*task.arrays(task.rows), 1e-3), x, y)
        for epsilon, delta in BUDGETS:
            numbers = float(epsilon), float(delta)
            ways = [steps_of(task, epsilon, delta)]
            ways += [way(task, *numbers, random) for way in (on_the_minimizer, in_the_objective)]
            ways += [for_one_row(task, *numbers, random)] if numbers[1] else [[]]
            found = [min((median(loss(one(), x, y) - best for _ in range(RUNS)) for one in way), default=None) for way in ways]
            budget = f"epsilon {epsilon}" + (f", delta {delta}" if numbers[1] else "")
            rows.append(
                (f"{task.name} (least loss {best:.3f})", budget, *("-" if each is None else f"{each:.5f}" for each in found))
            )
    write_table("training", f"{machine('scipy')} Medians of {RUNS} runs.\n\n{markdown(HEADERS, rows)}")
