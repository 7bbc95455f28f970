"""Rounds: again and again, the marginal that the rows so far have most wrong is chosen with noise and measured with noise.

McKenna, Mullins, Sheldon and Miklau 2022 (AIM), with a population of rows as the model (population.py). One total is fixed and
paid before the data is read. The budget of a round follows from noisy numbers, so a filter adds up what runs and never lets it
exceed the total: rounds.md. Nothing depends on a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb, pi, prod, sqrt
from typing import Any

import numpy as np

from tacit.accounting.composition import Cost, cost
from tacit.accounting.events import BoundedRangeChoice, Event
from tacit.accounting.filter import on_grid_down
from tacit.errors import InvalidInput, LawViolated, NoBudget, TooManyGroups, UnknownName
from tacit.mechanisms.farthest import HEAVIEST, Farthest, Scoring
from tacit.privacy.arguments import whole_of
from tacit.privacy.catalog import Table
from tacit.privacy.conversion import pure_rho_up
from tacit.privacy.loss import Change
from tacit.privacy.rounding import sqrt_down
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.rows.cells import MOST_CELLS, MOST_CELLS_IN_ALL, Axis
from tacit.publish.synthetic.rows.marginals import (
    LARGEST_DEVIATION,
    Counts,
    Design,
    Measured,
    Noise,
    Plan,
    Round,
    Told,
    budgets_under,
    count_marginal,
    count_pairs,
    histograms_of,
    independent_designs,
    release_column,
)
from tacit.publish.synthetic.rows.never import barrier, rules_of
from tacit.publish.synthetic.rows.population import LEARNING, Barrier, Population, Target
from tacit.query.engines.engine import Engine
from tacit.query.price.price import UNIT, Request

FOR_COLUMNS = Fraction(2, 5)  # of the budget; the rest is for rounds. At small budgets, noise of columns is half of the error
FOR_CHOICES = Fraction(1, 10)  # of each round
ROUNDS_EACH = 6  # rounds for each column, if the workload has that many marginals
MOST_STEPS = 1000
RAISED = (Fraction(2), Fraction(7, 5))  # a round that taught too little raises the rho, or the epsilon, of the next ones by this
FEWEST_PARTS = 6  # no round of a pure plan costs more than this share of it, so that the rho of all is far below that of one
TARGETED = 4  # the weight of marginals with the target column, where others have 1
MOST_TRIPLES = 1000
SETTLING, BETWEEN, LOOKS = 6, 1, 4  # sweeps after a round, sweeps between looks at the rows, and looks before a choice


@dataclass(frozen=True, slots=True)
class Aim:
    """The use of the rows, from the request alone: a column that matters most, or a list of marginals; and how many rounds.

    `share` is the part of the budget that this table has, where one budget pays for two tables.
    """

    target: str | None = None
    workload: tuple[tuple[str, ...], ...] = ()
    steps: int | None = None
    share: Fraction = Fraction(1)


# --- the plan and its price --------------------------------------------------------------------------------------------------


def rounds_designs(
    table: Table, axes: Sequence[Axis], asked: Request, change: Change, aim: Aim | None = None
) -> tuple[Design, ...]:
    """The designs within a budget, the one with less noise in columns and first rounds first; with a delta there are two."""
    aim = Aim() if aim is None else aim
    if len(axes) == 1:
        return independent_designs(table, axes, asked, change, aim.share)
    candidates, weights = candidates_of(axes, aim)
    steps = min(ROUNDS_EACH * len(axes), len(candidates)) if aim.steps is None else whole_of(aim.steps, "steps", 1, MOST_STEPS)
    designs: list[tuple[float, Design]] = []
    for law, whole in budgets_under(asked, change, aim.share):
        single = Noise(law, table.max_rows, on_grid_down(whole * FOR_COLUMNS / histograms_of(axes)))
        rest = on_grid_down(whole * (1 - FOR_COLUMNS))
        rho = rest if law.concentrated else parts_of(steps) * pure_rho_up(rest / parts_of(steps))
        plan = Plan(law, table.max_rows, rest, rho, steps, candidates, weights)
        delta = asked.delta if law.concentrated else Fraction(0)
        first = noise_of(plan, on_grid_down(rest / steps))
        if min(single.budget, first.budget) <= 0 or max(single.deviation, first.deviation) > LARGEST_DEVIATION:
            raise NoBudget(
                "the budget is too small: only noise would be left", remedy="give for example epsilon=1", argument="epsilon"
            )
        design = Design(table, tuple(axes), asked.epsilon or Fraction(0), delta, single, rounds=plan)
        designs.append((single.deviation * first.deviation, design))
    return tuple(design for _, design in sorted(designs, key=lambda pair: pair[0]))


def parts_of(steps: int) -> int:
    """The number of parts of a pure total; no round exceeds one part."""
    return min(steps, FEWEST_PARTS)


def candidates_of(axes: Sequence[Axis], aim: Aim) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """The marginals that may be measured, with their weights: a function of the request and the catalog.

    All pairs; with a target, triples that contain it too, if they are few enough; with a workload, its marginals alone.
    """
    names, sizes = [axis.name for axis in axes], [axis.groups_at_most for axis in axes]
    target = None if aim.target is None else _place_of(aim.target, names)
    pairs = list(combinations(range(len(axes)), 2))
    if aim.workload:
        chosen = [tuple(sorted(_place_of(name, names) for name in part)) for part in aim.workload]
        _check_workload(chosen, sizes)
        candidates = list(dict.fromkeys(chosen))
    else:
        candidates = [*pairs, *_triples_with(target, sizes)]
    weights = tuple(TARGETED if target is not None and target in places else 1 for places in candidates)
    return tuple(candidates), weights


def _triples_with(target: int | None, sizes: Sequence[int]) -> list[tuple[int, ...]]:
    if target is None or comb(len(sizes) - 1, 2) > MOST_TRIPLES:
        return []
    others = [at for at in range(len(sizes)) if at != target]
    triples = [tuple(sorted((target, *pair))) for pair in combinations(others, 2)]
    small = [places for places in triples if prod(sizes[at] for at in places) <= MOST_CELLS]
    return small if sum(prod(sizes[at] for at in places) for places in small) <= MOST_CELLS_IN_ALL else []


def _place_of(name: str, names: Sequence[str]) -> int:
    if name.strip().lower() not in names:
        raise UnknownName(f"unknown column {name}", remedy=f"expected one of: {', '.join(names)}")
    return names.index(name.strip().lower())


def _check_workload(chosen: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> None:
    for places in chosen:
        if len(places) not in (2, 3) or len(set(places)) < len(places):
            raise InvalidInput("a marginal of a workload must have two or three different columns", argument="workload")
        if prod(sizes[at] for at in places) > MOST_CELLS:
            raise TooManyGroups(f"a marginal of the workload has more than {MOST_CELLS:,} cells", remedy="declare fewer bins")
    if sum(prod(sizes[at] for at in places) for places in chosen) > MOST_CELLS_IN_ALL or len(chosen) > HEAVIEST * 5:
        raise TooManyGroups("the workload is too large", remedy="list fewer marginals")


# --- the filter --------------------------------------------------------------------------------------------------------------


class Pace:
    """The budgets of the rounds: the filter of an `AdaptiveRounds`, whose sum of costs never exceeds the totals of the plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.total = plan, cost(plan.event)
        self.spent = Cost(Fraction(0), Fraction(0), Fraction(0), UNIT)
        self._each, self._rounds = on_grid_down(plan.whole / plan.steps), 0

    def next_round(self) -> tuple[Fraction, Noise] | None:
        """The epsilon of the next choice and the noise of its measurement, counted before they run; None at the end."""
        plan = self.plan
        if self._rounds == plan.steps or 2 * plan.steps * self.left < plan.whole:
            return None  # what is left is less than half a round: roundings
        budget = self._next_budget()
        epsilon, noise = choice_of(plan, budget), noise_of(plan, budget)
        self._spend([BoundedRangeChoice(epsilon, UNIT), noise.over(1).event])
        self._rounds += 1
        return epsilon, noise

    def quicken(self) -> None:
        """From the next round on, about 0.7 of the noise: the last round taught less than its noise."""
        self._each *= RAISED[0] if self.plan.law.concentrated else RAISED[1]

    @property
    def left(self) -> Fraction:
        """The rest of the epsilon of a pure plan, or of the rho."""
        if self.plan.law.concentrated:
            return self.total.rho - self.spent.rho
        return (self.total.epsilon or Fraction(0)) - (self.spent.epsilon or Fraction(0))

    def _next_budget(self) -> Fraction:
        """The present cost of a round, or all that is left where two do not fit or no other round may follow."""
        pure_most = on_grid_down(self.plan.whole / parts_of(self.plan.steps))
        most = self.left if self.plan.law.concentrated else min(self.left, pure_most)
        last = self._rounds == self.plan.steps - 1 or self.left < 2 * self._each
        return most if last else min(self._each, most)

    def _spend(self, events: Sequence[Event]) -> None:
        after = self.spent
        for event in events:
            after = after + cost(event)
        within = self.total.epsilon is None or (after.epsilon is not None and after.epsilon <= self.total.epsilon)
        if not (within and after.rho <= self.total.rho and after.delta <= self.total.delta):
            raise LawViolated("filter", "a round would cost more than is left of its total")
        self.spent = after


def choice_of(plan: Plan, budget: Fraction) -> Fraction:
    """The epsilon of the choice in a round: a bounded range of epsilon costs rho epsilon^2 / 8."""
    share = on_grid_down(budget * FOR_CHOICES)
    return on_grid_down(sqrt_down(8 * share)) if plan.law.concentrated else share


def noise_of(plan: Plan, budget: Fraction) -> Noise:
    """The noise of the marginal that a round measures."""
    return Noise(plan.law, plan.max_rows, on_grid_down(budget * (1 - FOR_CHOICES)))


# --- the rounds --------------------------------------------------------------------------------------------------------------


def measure_rounds(design: Design, engine: Engine, told: Told | None = None) -> Measured:
    """The released columns and rounds of a design. Only mechanisms see counts; rows and guesses follow from what they released."""
    say = told or (lambda words, share: None)
    singles = []
    for place, axis in enumerate(design.axes):
        say(f"counting {axis.name}", place / len(design.axes) / 20)
        counted = count_marginal(design.table, [axis], engine)
        singles.append(release_column(design.single, axis, counted))
    measured = Measured(design, tuple(singles), {})
    if design.rounds is None:
        return measured
    sealed = _count_candidates(
        design, design.rounds, measured.merged_groups, engine, lambda words, share: say(words, 0.05 + share / 4)
    )
    return run_rounds(measured, design.rounds, sealed, say)


def run_rounds(measured: Measured, plan: Plan, sealed: Mapping[tuple[int, ...], Sealed[Any]], say: Told) -> Measured:
    """Rounds until the total is spent: choose, measure, settle; one that taught less than its noise raises the budget."""
    pace, rows, total, rounds = Pace(plan), begun(measured, LEARNING), measured.total, list[Round]()
    while budget := pace.next_round():
        epsilon, noise = budget
        say(f"round {len(rounds) + 1}", 0.3 + 0.6 * float(1 - pace.left / plan.whole))
        guesses = _guesses(rows, plan.candidates, total)
        choice = Farthest(guesses, plan.max_rows, epsilon, UNIT, scoring_of(plan, [guess.size for guess in guesses], noise))
        at = choice.release([sealed[places] for places in plan.candidates])
        places, guess = plan.candidates[at], guesses[at]
        counts = _whole(noise.over(guess.size).release_units(sealed[places]))
        rounds.append(Round(places, counts, epsilon, noise))
        rows.targets.append(_target(rounds[-1], total))
        rows.settle(SETTLING)
        if np.abs(rows.histogram(places) * total - guess).sum() <= _expected(noise, guess.size):
            pace.quicken()
    return replace(measured, rounds=tuple(rounds))


def begun(measured: Measured, most: int) -> Population:
    """Rows of independent columns, by their noisy counts, which are its first targets."""
    together = [
        np.bincount(groups, weights=single.astype(np.float64)).astype(np.float64)
        for single, groups in zip(measured.counts, measured.merged_groups, strict=True)
    ]
    rows = Population(together, max(1, min(most, round(measured.total))))
    rows.keep_out(barriers_of(measured), together)
    deviation = measured.design.single.deviation
    for place, (axis, counts) in enumerate(zip(measured.design.axes, together, strict=True)):
        spread = deviation * (1 if axis.width else sqrt(axis.size / counts.size))
        rows.targets.append(Target((place,), counts / measured.total, spread / measured.total))
    rows.settle(BETWEEN)
    return rows


def barriers_of(measured: Measured) -> list[Barrier]:
    """Which joint groups of cells the declared conditions leave possible (never.py): from the catalog and released groups."""
    merged = measured.merged_groups
    flat = [(rule.places, barrier(rule, merged)) for rule in rules_of(measured.design.table, measured.design.axes)]
    return [Barrier(places, possible) for places, possible in flat if possible is not None]


def settled(measured: Measured, number: int) -> Population:
    """`number` rows that settled on all that was released."""
    rows = begun(measured, number)
    rows.targets += [_target(each, measured.total) for each in measured.rounds]
    return rows


def _target(each: Round, total: float) -> Target:
    return Target(each.places, each.counts / total, each.noise.deviation / total)


def _guesses(rows: Population, candidates: Sequence[tuple[int, ...]], total: float) -> list[Counts]:
    """The counts that the rows have in each candidate, over several looks, as whole numbers."""
    sums = [rows.histogram(places) for places in candidates]
    for _ in range(LOOKS - 1):
        rows.settle(BETWEEN)
        sums = [so_far + rows.histogram(places) for so_far, places in zip(sums, candidates, strict=True)]
    return [np.rint(share * (total / LOOKS)).astype(np.int64) for share in sums]


def scoring_of(plan: Plan, cells: Sequence[int], noise: Noise) -> Scoring:
    """Distances count beyond the noise of a measurement: a large marginal is worth less than a small one as far off."""
    return Scoring(plan.weights, tuple(int(_expected(noise, size)) for size in cells))


def _expected(noise: Noise, cells: int) -> float:
    """About the l1 norm of the noise of a marginal: for scores, not for guarantees."""
    return sqrt(2 / pi) * noise.deviation * cells


def _count_candidates(
    design: Design, plan: Plan, merged: Sequence[Counts], engine: Engine, told: Callable[[str, float], None]
) -> dict[tuple[int, ...], Sealed[Any]]:
    """The exact counts of all candidates by groups, sealed. Which they are depends on the request alone."""
    places = range(len(design.axes))
    all_pairs = set(combinations(places, 2)) <= set(plan.candidates)
    sealed: dict[tuple[int, ...], Sealed[Any]] = {}
    if all_pairs:
        sealed |= dict[tuple[int, ...], Sealed[Any]](count_pairs(design, merged, engine, told).items())
    alone = [places for places in plan.candidates if places not in sealed]
    for at, each in enumerate(alone):
        told("counting marginals", 0.9 * at / len(alone))
        sealed[each] = count_marginal(design.table, [design.axes[at] for at in each], engine, [merged[at] for at in each])
    return sealed


def _whole(units: Any) -> Counts:
    return np.atleast_1d(np.asarray(units)).astype(np.int64)
