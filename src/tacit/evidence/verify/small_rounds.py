"""Rounds of synthetic rows on three columns of two cells: exact laws of choices and noise, along every path of budgets.

An attacker sees the columns, which marginal each round chose, and its noisy counts. The budget of a round follows from what was
released, so every path of raised budgets is walked with the pace that runs, and each round is taken at its worst: over what the
rows may have guessed before it, every marginal that may be chosen, and the output that tells most. Wrong ones are planted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from tacit.accounting.composition import Cost, cost
from tacit.evidence.verify.case import Case, Exhaustive
from tacit.evidence.verify.contract import Check
from tacit.evidence.verify.small_tables import (
    MAX_ROWS,
    OTHERS,
    PEOPLE,
    RELEASED,
    TOLERANCE,
    Rows,
    column_counts,
    log_ratio,
    noise_ratio,
    worst_ratio,
)
from tacit.mechanisms.farthest import Farthest
from tacit.privacy.catalog import Column, Source, Table
from tacit.privacy.rounding import as_text
from tacit.publish.synthetic.rows.cells import Axis
from tacit.publish.synthetic.rows.marginals import Counts, Design, Noise, Plan
from tacit.publish.synthetic.rows.rounds import Aim, Pace, rounds_designs, scoring_of
from tacit.query.price.price import UNIT, request

NAME = "Synthetic rounds, two rows each"
STEPS = 8
# Guesses of a pair: above all counts, where every row brings the counts nearer, and below, where none does.
GUESSES = ((60, 60, 60, 60), (0, 0, 0, 0))


@dataclass(frozen=True, eq=False)
class SmallRounds:
    """A design that runs on three columns of two cells, with the pace and the scores that run, and the epsilon that is claimed."""

    design: Design
    claim: Fraction
    pace: Callable[[Plan], Pace] = Pace
    divided_by: int = MAX_ROWS

    @property
    def plan(self) -> Plan:
        """The rounds of the design."""
        assert self.design.rounds is not None  # noqa: S101  # `rounds_designs` of three columns
        return self.design.rounds

    def check(self) -> Check:
        """The largest loss over all neighbours and paths, and whether it is within the claim."""
        rounds = {budget: self._of_round(*budget) for path in self.paths() for budget in path}
        told = max(sum(rounds[budget] for budget in path) for path in self.paths())
        worst = told + max(self._of_columns(others, (*others, *own)) for others in OTHERS for own in PEOPLE)
        said = f"one person more or less is distinguished by epsilon {worst:.4g}, where {as_text(self.claim)} is claimed"
        return Check("loss", worst <= float(self.claim) * (1 + TOLERANCE), said, worst, worst / float(self.claim))

    def paths(self) -> list[tuple[tuple[Fraction, Noise], ...]]:
        """The budgets of all rounds, for every way in which rounds may raise those of the next ones."""
        return [self._path(raised) for raised in product((False, True), repeat=STEPS)]

    def _path(self, raised: Sequence[bool]) -> tuple[tuple[Fraction, Noise], ...]:
        pace, path = self.pace(self.plan), list[tuple[Fraction, Noise]]()
        while (budget := pace.next_round()) and len(path) < STEPS:
            path.append(budget)
            if raised[len(path) - 1]:
                pace.quicken()
        return tuple(path)

    def _of_columns(self, fewer: Rows, more: Rows) -> float:
        """The largest loss of the noisy columns, in both directions."""
        counts = column_counts(fewer), column_counts(more)
        told = [noise_ratio(self.design.single, *counts, singles) for singles in product(RELEASED, repeat=3)]
        return max(map(abs, told))

    def _of_round(self, epsilon: Fraction, noise: Noise) -> float:
        """The largest loss of one round: its choice, and the noise of the marginal that was chosen."""
        worst = 0.0
        for others, own in product(OTHERS, PEOPLE):
            fewer, more = (tuple(sorted(rows)) for rows in (others, (*others, *own)))
            noises = {
                sign: [self._of_noise(noise, places, fewer, more, sign) for places in self.plan.candidates] for sign in (1, -1)
            }
            for guess in product(GUESSES, repeat=len(self.plan.candidates)):
                one, other = (self._law(guess, rows, epsilon, noise) for rows in (fewer, more))
                chosen = [log_ratio(b, a) for a, b in zip(one, other, strict=True)]
                worst = max(worst, *(sign * told + noises[sign][at] for at, told in enumerate(chosen) for sign in (1, -1)))
        return worst

    def _of_noise(self, noise: Noise, places: tuple[int, ...], fewer: Rows, more: Rows, sign: int) -> float:
        counts = zip(self._exact(fewer)[places], self._exact(more)[places], strict=True)
        return sum(worst_ratio(noise, int(b - a), sign) for a, b in counts if a != b)

    @cache  # noqa: B019  # the laws of a small world are kept as long as the world is
    def _exact(self, rows: Rows) -> dict[tuple[int, ...], Counts]:
        """The exact histogram of every candidate."""
        cells = {places: [2 * row[places[0]] + row[places[1]] for row in rows] for places in self.plan.candidates}
        return {places: np.bincount(np.array(codes, dtype=np.int64), minlength=4) for places, codes in cells.items()}

    @cache  # noqa: B019  # as above
    def _law(self, guess: tuple[tuple[int, ...], ...], rows: Rows, epsilon: Fraction, noise: Noise) -> list[float]:
        """How likely each marginal is chosen, by the choice that runs."""
        scoring = scoring_of(self.plan, [4] * len(guess), noise)
        choice = Farthest([np.array(each) for each in guess], self.divided_by, epsilon, UNIT, scoring)
        law = choice.law([self._exact(rows)[places] for places in self.plan.candidates]).probabilities
        return [float(law[at]) for at in range(len(guess))]


class _Forgetful(Pace):
    """Planted: each round is compared with the total by itself."""

    def next_round(self) -> tuple[Fraction, Noise] | None:
        self.spent = Cost(Fraction(0), Fraction(0), Fraction(0), UNIT)
        return super().next_round()


def _sound() -> SmallRounds:
    values = ("no", "yes")
    columns = {name: Column(name, "category", values=values, unknown="drop", nulls="drop") for name in "abc"}
    table = Table("small", Source("csv", "small.csv"), columns, max_rows=MAX_ROWS)
    axes = [Axis.of(column) for column in columns.values()]
    workload = (("a", "b"), ("b", "c"))
    design = rounds_designs(table, axes, request(epsilon=1), "add-remove", Aim(workload=workload, steps=STEPS))[0]
    return SmallRounds(design, cost(design.event).epsilon or Fraction(0))


def exhaustive() -> list[Exhaustive]:
    """The design that runs at epsilon 1, on every table of a small world and every person more."""
    return [_case(NAME, _sound())]


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    sound = _sound()
    yield "rounds", (NAME, _case(f"{NAME}, a filter of one round alone (planted)", replace(sound, pace=_Forgetful)))
    yield "score", (NAME, _case(f"{NAME}, scores divided by one row (planted)", replace(sound, divided_by=1)))


def _case(name: str, table: SmallRounds) -> Exhaustive:
    return Exhaustive(name, f"epsilon {as_text(table.claim)}", table.check)
