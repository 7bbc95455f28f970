"""The training of a classifier on people of two rows: the largest loss that any path of its steps reaches, and wrong designs.

The sums of a step follow from coefficients that were released before, so an attacker waits for noise that makes them tell most.
The plans that run are evaluated here on one row at a time: a person's rows add their own part to every sum, whoever else is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

from tacit.accounting.composition import cost
from tacit.errors import InvalidInput
from tacit.evidence.verify.case import Case, Exhaustive
from tacit.evidence.verify.contract import Check
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.catalog import Budget as Cap
from tacit.privacy.catalog import Catalog, Source, Table
from tacit.privacy.catalog import Column as Declared
from tacit.privacy.rounding import as_text
from tacit.publish.trained.features import inputs_of
from tacit.publish.trained.steps import LARGEST_WEIGHT, WEIGHT, Design, curvature_plan, designs_for, gradient_plan
from tacit.query.plan import Add, Choose, Column, Compare, Group, Literal, Lookup, Multiply, Quotient, Row
from tacit.query.price.price import request

PURE, CONCENTRATED = "Classifier, two rows each", "Classifier, Gaussian noise, two rows each"
TOLERANCE = 1e-9
MAX_ROWS = 2
CORNERS = (-LARGEST_WEIGHT * WEIGHT, 0, LARGEST_WEIGHT * WEIGHT)
ROWS = [dict(zip(("dose", "smoker", "ill"), values, strict=True)) for values in product((0, 5, 10), (0, 1), (0, 1))]
PEOPLE = [own for size in range(1, MAX_ROWS + 1) for own in combinations_with_replacement(ROWS, size)]
Person = Sequence[Mapping[str, int]]


def evaluated(node: Row, row: Mapping[str, int]) -> int:
    """The integer of an expression for one row without NULLs, in plain arithmetic."""
    match node:
        case Column():
            return row[node.name] + node.low
        case Literal():
            return node.value or 0
        case Add():
            return evaluated(node.left, row) + evaluated(node.right, row)
        case Multiply():
            return evaluated(node.left, row) * evaluated(node.right, row)
        case Quotient():
            return evaluated(node.child, row) // node.divisor
        case Lookup():
            return node.table[evaluated(node.child, row)] or 0
        case Choose():
            chosen = (value for test, value in node.branches if _holds(test, row))
            return evaluated(next(chosen, node.otherwise), row)
    raise InvalidInput(f"no plain form for {type(node).__name__}")


def _holds(test: object, row: Mapping[str, int]) -> bool:
    if not isinstance(test, Compare):
        raise InvalidInput(f"no plain form for {type(test).__name__}")
    left, right = evaluated(test.left, row), evaluated(test.right, row)
    return left == right if test.operator == "=" else left < right if test.operator == "<" else left <= right


def added(group: Group, person: Person) -> list[int]:
    """The sum of the rows of a person, in each sum of a plan."""
    return [sum(evaluated(moment.value, row) for row in person) for moment in group.moments if moment.value is not None]


@dataclass(frozen=True, slots=True)
class SmallTraining:
    """A design that runs on people of two rows, and the epsilon or the rho that is claimed of it."""

    design: Design
    claim: Fraction

    def check(self) -> Check:
        """The largest loss over all people and all paths, and whether it is within the claim."""
        design = self.design
        first = gradient_plan(design.inputs, [0] * design.size)
        later = [gradient_plan(design.inputs, weights) for weights in product(CORNERS, repeat=design.size)]
        worst = 0.0
        for person in PEOPLE:
            told = _told(design.of_curvature, added(curvature_plan(design.inputs, design.pairs), person))
            most = max(_told(design.of_step, added(plan, person)) for plan in later)
            worst = max(worst, told + _told(design.of_step, added(first, person)) + (design.steps - 1) * most)
        said = f"one person more or less is distinguished by {worst:.4g}, where {as_text(self.claim)} is claimed"
        return Check("loss", worst <= float(self.claim) * (1 + TOLERANCE), said, worst, worst / float(self.claim))


def _told(mechanism: Laplace | Gaussian, moved: Sequence[int]) -> float:
    """The loss of a vector with noise if it moves so: pure, or concentrated (laplace.md, gaussian.md); both are reached."""
    if isinstance(mechanism, Laplace):
        return float(sum(map(abs, moved)) / mechanism.scale)
    return float(sum(each**2 for each in moved) / (2 * mechanism.scale**2))


def _design(delta: str, rows: int = MAX_ROWS) -> Design:
    columns = {
        "dose": Declared("dose", "number", (Fraction(0), Fraction(10)), Fraction(1), nulls="drop"),
        "smoker": Declared("smoker", "category", values=(False, True), unknown="drop", nulls="drop"),
        "ill": Declared("ill", "category", values=(False, True), unknown="drop", nulls="drop"),
    }
    table = Table("small", Source("csv", "small.csv"), columns, max_rows=rows)
    inputs = inputs_of(Catalog(Cap(Fraction(1)), {"small": table}), "small", "ill")
    return designs_for(inputs, request(epsilon=1, delta=delta), "add-remove")[0]


def _sound(name: str) -> SmallTraining:
    design = _design("0" if name == PURE else "1e-6")
    spent = cost(design.event)
    return SmallTraining(design, (spent.epsilon if name == PURE else spent.rho) or Fraction(0))


def _case(name: str, small: SmallTraining) -> Exhaustive:
    kind = "rho" if small.design.law.concentrated else "epsilon"
    return Exhaustive(name, f"{kind} {as_text(small.claim)}", small.check)


def exhaustive() -> list[Exhaustive]:
    """The design of one number and one truth, with either noise."""
    return [_case(name, _sound(name)) for name in (PURE, CONCENTRATED)]


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    pure, concentrated = _sound(PURE), _sound(CONCENTRATED)
    table, columns = pure.design.inputs.table, concentrated.design.inputs.columns
    wrong = {
        "rows": (pure, "noise for one row", _with(pure.design, table=replace(table, max_rows=1))),
        "step": (pure, "the budget of two steps for each", replace(pure.design, each=2 * pure.design.each)),
        "column": (concentrated, "noise for one column less", _with(concentrated.design, columns=columns[1:])),
    }
    for plant, (sound, said, design) in wrong.items():
        name = PURE if sound is pure else CONCENTRATED
        yield plant, (name, _case(f"{name}, {said} (planted)", replace(sound, design=design)))


def _with(design: Design, **inputs: Any) -> Design:
    return replace(design, inputs=replace(design.inputs, **inputs))
