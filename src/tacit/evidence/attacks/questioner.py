"""A tacit session, queried by an attacker: counts over chosen people, each for a share of the budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.dialect import name, text
from tacit.errors import BudgetExceeded, InvalidInput
from tacit.evidence.attacks.answerers import Bits, Subset, fair_bits
from tacit.evidence.attacks.isolation import ATTACKS, Isolation, predicted_share
from tacit.evidence.attacks.reconstruction import Reconstruction, Subsets, against
from tacit.evidence.attacks.scratch import people_data
from tacit.privacy.catalog import Catalog, Table
from tacit.privacy.rounding import Number, exact
from tacit.session import Session

MOST_PEOPLE = 128


@dataclass(frozen=True, slots=True)
class Target:
    """The people that an attacker asks about, and the secret: people of `table`, known by the values of `column`; `secret` is a
    condition in SQL.
    """

    table: str
    column: str
    secret: str
    values: tuple[int, ...] = ()

    def question(self, subset: Iterable[int]) -> str:
        """How many of the people at these places have the secret.

        >>> print(Target("staff", "badge", "ill = 1", values=(11, 12, 13)).question([0, 2]))
        SELECT COUNT(*) AS n FROM "staff" WHERE (ill = 1) AND "badge" IN (11, 13)
        """
        listed = ", ".join(str(self.values[place]) for place in subset)
        return f"SELECT COUNT(*) AS n FROM {name(self.table)} WHERE ({self.secret}) AND {name(self.column)} IN ({listed})"  # noqa: S608

    def everyone(self, condition: str = "") -> str:
        """How many rows each value of the column has, with the condition."""
        where = f" WHERE ({condition})" if condition else ""
        by = name(self.column)
        return f"SELECT {by} AS known, COUNT(*) AS n FROM {name(self.table)}{where} GROUP BY {by}"  # noqa: S608


@dataclass(frozen=True, slots=True, eq=False)
class Questioner:
    """Answers subset counts through a session; the answers and their times are kept for those who judge the attack.

    A question beyond the budget is refused, and None comes back.
    """

    session: Session
    target: Target
    epsilon: Fraction
    answers: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def query(self, subset: Subset) -> float | None:
        """The noisy count of a paid question, or None once the budget is spent."""
        began = time.perf_counter()
        try:
            answer = self.session.sql(self.target.question(np.asarray(subset).tolist()), epsilon=self.epsilon)
        except BudgetExceeded:
            return None
        self.seconds.append(time.perf_counter() - began)
        self.answers.append(float(answer["n"][0]))
        return self.answers[-1]


PEOPLE = Target("people", "person", "secret = 1")


def reconstruct_people(
    people: int, questions: int, epsilon: Number, *, seed: int = 0, solver: Callable[..., Reconstruction] | None = None
) -> Reconstruction:
    """Random bits of simulated people, put into a tacit data set with a budget of `epsilon`, and asked for in `questions` counts.

    `seed` determines the bits and the questions; the noise is tacit's own, and has no seed.

    >>> reconstruct_people(24, 30, epsilon=1, seed=5).recovered < 1  # 24 fair bits: luck finds them all once in 10^7
    True
    """
    bits, budget = fair_bits(people, seed), exact(epsilon, "epsilon")
    target = Target(PEOPLE.table, PEOPLE.column, PEOPLE.secret, tuple(range(1, people + 1)))
    deviation = float(np.sqrt(2) * questions / float(budget))
    with people_data(bits, budget) as data:
        asked = Questioner(data.session(), target, budget / questions)
        result = against(asked, people, questions, seed=seed, truth=bits, deviation=deviation)
        return (
            result if solver is None else solver(Subsets(people, questions, seed), asked.answers, truth=bits, deviation=deviation)
        )


def chosen_target(catalog: Catalog, table: str | None = None, column: str | None = None, secret: str | None = None) -> Target:
    """A table of one row per person, a column of whole numbers that people may be known by, and a condition on another column.

    Named parts are used as given. Otherwise the column is one that only some people have, if there is one, and the secret the first
    value of the column with the most values. Nothing is read from the data.
    """
    fitting = [target for each in catalog.tables.values() if (table in (None, each.name)) and (target := _in(each, column, secret))]
    if not fitting:
        raise InvalidInput(
            "no table to attack: expected one row per person, a column of whole numbers and a column with values; "
            "give --table TABLE --by COLUMN --secret CONDITION"
        )
    return fitting[0]


def _in(table: Table, column: str | None, secret: str | None) -> Target | None:
    if table.public or table.max_rows != 1:
        return None
    numbers = [one.name for one in table.columns.values() if one.kind == "number" and one.step == 1]
    by = column or (max(numbers, key=lambda one: table.columns[one].outside == "null") if numbers else None)
    kinds = sorted((one for one in table.columns.values() if one.values), key=lambda one: -len(one.values))
    hidden = secret or next((_condition(one.name, one.values[0]) for one in kinds), None)
    return Target(table.name, by, hidden) if by and hidden else None


def _condition(column: str, value: Any) -> str:
    return f"{name(column)} = {text(value) if isinstance(value, str) else value}"


def known_people(session: Session, target: Target, epsilon: Number) -> tuple[Target, Bits]:
    """The target with those values that exactly one person has, up to 128 of them, and these people's secret bits.

    For the curator, on a copy with a budget so large that noise vanishes: it says what an attack should have found.
    """
    rows = _counts(session, target.everyone(), epsilon)
    alone = [value for value, count in sorted(rows.items()) if count == 1][:MOST_PEOPLE]
    if len(alone) < 2:
        raise InvalidInput(f"{target.column} does not identify people of {target.table}; choose another column with --by")
    secret = _counts(session, target.everyone(target.secret), epsilon)
    bits: NDArray[np.bool_] = np.array([secret.get(value, 0) == 1 for value in alone])
    return Target(target.table, target.column, target.secret, tuple(alone)), bits


def _counts(session: Session, question: str, epsilon: Number) -> dict[int, int]:
    answer = session.sql(question, epsilon=epsilon)
    pairs = zip(answer["known"], answer["n"], strict=True)
    return {int(value): round(count) for value, count in pairs if value is not None}


def isolate_people(attack: str, people: int, targets: int, epsilon: Number, *, seed: int = 0) -> Isolation:
    """Differencing, averaging or a tracker against a tacit session: simulated people, and all of `epsilon` for the questions.

    >>> isolate_people("differencing", 40, targets=4, epsilon=1).refused
    0
    """
    bits, budget = fair_bits(people, seed), exact(epsilon, "epsilon")
    rounds = {"differencing": 2, "tracker": 1, "averaging": 8}[attack]
    questions = targets * rounds * (4 if attack == "tracker" else 2)
    target = Target(PEOPLE.table, PEOPLE.column, PEOPLE.secret, tuple(range(1, people + 1)))
    with people_data(bits, budget) as data:
        asked = Questioner(data.session(), target, budget / questions)
        result = ATTACKS[attack](asked, bits, rounds=rounds, targets=targets, seed=seed)
    return replace(result, predicted=predicted_share(attack, 2**0.5 * questions / float(budget), rounds))
