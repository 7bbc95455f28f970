"""MAX with partial disclosure: no answer may move a person's odds far. Claim and proof are in probabilistic_max.md.

The prior is public: values are independent and uniform between known bounds, which are cut into equal intervals. A history is safe
if for every row and interval the odds after it are within a factor of the odds before. Answers to MAX leave groups of rows: "one of
these has M, the others are below" and "all of these are below M", whose odds have a simple form. Before a question the chance that
its answer would make the history unsafe is computed, not sampled: the answer's law has a closed form. A small chance is allowed.
The definition is that of Kenthapadi, Mishra and Nissim 2005, who sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.audited.auditor import check_aggregate, check_bounds
from tacit.publish.audited.question import Decision, Number, Question, Rows, number_text

Floats = NDArray[np.float64]
MARGIN = 1e-9  # more than the rounding of the chance, on the side of refusing


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The state of answers to MAX, in units of the bounds: row j is below `bounds[j]`, or in a group in which one row has it."""

    bounds: Floats
    tight: NDArray[np.bool_]
    answers: int

    def sizes(self) -> dict[float, int]:
        """The number of rows in each group in which one row has the bound."""
        levels, counts = np.unique(self.bounds[self.tight], return_counts=True)
        return dict(zip(levels.tolist(), counts.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Level:
    """The rows of a question at one bound: rows below it, rows of the group that has it, and the size of that group."""

    bound: float
    loose: int
    tight: int
    group: int

    @property
    def rows_met(self) -> int:
        """How many rows the question meets at this bound."""
        return self.loose + self.tight


@dataclass(frozen=True, slots=True)
class Safety:
    """Odds after and before, of every interval, differ by a factor between 1 - `drift` and 1 / (1 - drift)."""

    drift: float
    intervals: int

    @property
    def last(self) -> float:
        """Where the last interval begins: the bounds of safe groups lie in it, or odds there would be zero."""
        return 1 - 1 / self.intervals

    def group(self, size: int) -> tuple[float, float]:
        """The least and the largest bound at which a group of this size is safe; the first above the second if none is."""
        others, least, most = 1 - 1 / size, 1 - self.drift, 1 / (1 - self.drift)
        if size == 1:
            return inf, -inf
        low, high = max(self.last, others * least), min(1.0, others * most)
        return max(low, self._at(least, size)), min(high, self._at(most, size))

    def _at(self, odds: float, size: int) -> float:
        """The bound M at which the last interval's odds, intervals * (1/s + (1 - 1/s) (1 - last/M)), are `odds`."""
        share = (odds / self.intervals - 1 / size) / (1 - 1 / size)
        return inf if share >= 1 else self.last / (1 - share)

    def below(self, bound: float) -> bool:
        """Whether a row that is uniform below the bound is safe."""
        top = self.intervals * (1 - self.last / bound)
        return bound == 1 or (bound > self.last and bound >= 1 - self.drift and top >= 1 - self.drift)

    def fits(self, bound: float, size: int) -> bool:
        """Whether a group of this size, in which one row has the bound, is safe."""
        low, high = self.group(size)
        return low <= bound <= high and bound > self.last

    def holds(self, state: Groups) -> bool:
        """Whether every row is safe."""
        groups = all(self.fits(bound, size) for bound, size in state.sizes().items())
        return groups and all(map(self.below, np.unique(state.bounds[~state.tight]).tolist()))


@dataclass(frozen=True, slots=True)
class ProbabilisticMaxAuditor:
    """Over `rounds` answers, the history becomes unsafe with a chance of at most `risk`.

    >>> from tacit.publish.audited.question import question
    >>> auditor = ProbabilisticMaxAuditor(lower=0, upper=100)
    >>> known = auditor.begin(1000)
    >>> auditor.decide(known, question("max", range(500))).answered
    True
    >>> print(auditor.decide(known, question("max", range(5))).reason)
    the answer would move somebody's odds too far with a chance of 0.237, above the 0.005 allowed per answer
    """

    lower: float
    upper: float
    drift: float = 0.5
    intervals: int = 4
    risk: float = 0.1
    rounds: int = 20
    name = "probabilistic-max"
    aggregates = frozenset({"max"})

    def __post_init__(self) -> None:
        check_bounds(self.lower, self.upper)
        if not (0 < self.drift < 1 and 0 < self.risk < 1 and self.intervals >= 2 and self.rounds >= 1):
            raise InvalidInput("drift and risk must be between 0 and 1, intervals at least 2 and rounds at least 1")

    @property
    def facts(self) -> str:
        """The prior and the limits that the auditor assumes to be public, in words."""
        odds = f"drift {self.drift}, {self.intervals} intervals, risk {self.risk} in {self.rounds} answers"
        return f"values spread evenly between {self.lower} and {self.upper}, all distinct; {odds}"

    @property
    def safety(self) -> Safety:
        """The rule for a safe history: how far odds may move, and in how many intervals."""
        return Safety(self.drift, self.intervals)

    def begin(self, people: int) -> Groups:
        """The state before any answer."""
        return Groups(np.ones(people), np.zeros(people, dtype=np.bool_), 0)

    def decide(self, state: Groups, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        if state.answers >= self.rounds:
            return Decision(False, f"all {self.rounds} answers were given")
        chance, allowed = self.chance(state, check_aggregate(self, question).members), self.risk / self.rounds
        if chance + MARGIN > allowed:
            odds = f"with a chance of {number_text(float(f'{chance:.3g}'))}, above the {allowed:.3g} allowed per answer"
            return Decision(False, f"the answer would move somebody's odds too far {odds}")
        return Decision(True, f"the answer moves nobody's odds too far, except with probability {chance:.2g}")

    def chance(self, state: Groups, members: Rows) -> float:
        """The chance, given the history, that the answer makes it unsafe."""
        levels = _levels(state, members)
        return max(0.0, 1 - sum(_safe_stretches(levels, self.safety)) - sum(_safe_jumps(levels, self.safety)))

    def learn(self, state: Groups, question: Question, answer: Number) -> Groups:
        """Disjoint groups again: rows lowered to the answer, beside those of an earlier group that it splits."""
        value, inside = (float(answer) - self.lower) / (self.upper - self.lower), np.zeros(len(state.bounds), dtype=np.bool_)
        inside[question.members] = True
        lowered, group = inside & (state.bounds > value), state.tight & (state.bounds == value)
        split = bool((group & inside).any())
        tight = (state.tight & ~lowered & (inside | ~group)) if split else (state.tight & ~lowered) | lowered
        return Groups(np.where(lowered, value, state.bounds), tight, state.answers + 1)

    def summary(self, state: Groups) -> str:
        """The number of answers and of groups, in words."""
        groups = len(state.sizes())
        return f"{state.answers:,} of {self.rounds:,} answers; {groups:,} groups of rows of which one has a known value"


def _levels(state: Groups, members: Rows) -> list[Level]:
    """The rows of the question at each bound, ascending."""
    sizes, bounds, tight = state.sizes(), state.bounds[members], state.tight[members]
    return [_level(bound, tight[bounds == bound], sizes) for bound in np.unique(bounds).tolist()]


def _level(bound: float, tight: NDArray[np.bool_], sizes: dict[float, int]) -> Level:
    met = int(tight.sum())
    return Level(bound, tight.size - met, met, sizes[bound] if met else 0)


def _log_chance(above: list[Level], value: float) -> float:
    """The logarithm of the chance that the answer is at most `value`, which lies below these levels only."""
    total = 0.0
    for level in above:
        if level.tight and level.tight == level.group:
            return -inf
        total += level.rows_met * log(value / level.bound) + (log(1 - level.tight / level.group) if level.tight else 0.0)
    return total


def _rest_is_safe(above: list[Level], safety: Safety) -> bool:
    """Whether the groups that lose rows to a lower answer stay safe."""
    losing = [level for level in above if 0 < level.tight < level.group]
    return all(safety.fits(level.bound, level.group - level.tight) for level in losing)


def _safe_stretches(levels: list[Level], safety: Safety) -> Iterator[float]:
    """The chances of safe answers between two bounds, where the rows above make a new group."""
    for at, level in enumerate(levels):
        above, floor = levels[at:], levels[at - 1].bound if at else 0.0
        low, high = safety.group(sum(upper.rows_met for upper in above))
        low, high = max(low, floor, safety.last), min(high, level.bound)
        if low < high and _rest_is_safe(above, safety):
            yield exp(_log_chance(above, high)) - (exp(_log_chance(above, low)) if low > 0 else 0.0)


def _safe_jumps(levels: list[Level], safety: Safety) -> Iterator[float]:
    """The chances of safe answers that equal the bound of a group: its holder is then among the rows asked about."""
    for at, level in enumerate(levels):
        above = levels[at + 1 :]
        lowered = sum(upper.rows_met for upper in above) + level.group - level.tight
        safe = level.tight and safety.fits(level.bound, level.tight) and (not lowered or safety.below(level.bound))
        if safe and _rest_is_safe(above, safety):
            yield exp(_log_chance(above, level.bound)) - exp(_log_chance(levels[at:], level.bound))
