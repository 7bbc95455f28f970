"""All attacks that apply, against one data set of ours: a copy, with a scratch ledger for each attack. For the curator only.

Each attack spends the whole of `epsilon`. It failed if what it found is within what luck gives to somebody whose answers have the
noise that was paid for: a limit that such luck passes once in a million. The report has figures and no released value; it
compares with the truth all the same, and is not for publication.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.answerers import Bits
from tacit.evidence.attacks.figures import Axes, bars, lucky_share, told
from tacit.evidence.attacks.hostile_key import broken_out, hostile_names, released_keys
from tacit.evidence.attacks.isolation import averaging, differencing, predicted_share, tracker
from tacit.evidence.attacks.linear_programming import least_absolute
from tacit.evidence.attacks.questioner import Questioner, Target, known_people
from tacit.evidence.attacks.reconstruction import Subsets, reconstruct
from tacit.evidence.attacks.reconstruction import predicted_share as predicted_bits
from tacit.evidence.attacks.scratch import copied_data
from tacit.evidence.attacks.timing import spearman
from tacit.evidence.attacks.tracing import QUANTILE
from tacit.privacy.catalog import Catalog
from tacit.privacy.rounding import Number, exact

Progress = Callable[[Iterable[Any], int, str], Iterable[Any]]
FINDINGS = 11
FEWEST = 24  # people: all their bits are found by luck once in ten million
PLENTY = 10**6  # an epsilon under which noise vanishes: the truth, for the judge
TARGETS, GROUPS, REPEATS = 32, 8, 16
NORMAL = 4.9  # deviations that a normal number passes once in a million, on both sides together


@dataclass(frozen=True, slots=True)
class Finding:
    """What one attack found, as a figure; it failed if that is not above `limit`."""

    attack: str
    measure: str
    figure: float
    limit: float
    predicted: float | None = None

    @property
    def failed(self) -> bool:
        return self.figure <= self.limit

    def summary(self) -> str:
        """The finding in one line."""
        verdict = "failed" if self.failed else "SUCCEEDED"
        return f"{self.attack}: {verdict}; {self.measure} {self.figure:.3g}, where luck may reach {self.limit:.3g}"


@dataclass(frozen=True, slots=True)
class SessionReport:
    """What every attack found. Not for publication."""

    people: int
    epsilon: float
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether every attack failed."""
        return all(finding.failed for finding in self.findings)

    def summary(self) -> str:
        """A line for each attack."""
        head = (
            f"Attacks on {self.people} people of a copy, epsilon {self.epsilon:g} each. For the curator only; not for publication."
        )
        return "\n".join([head, *(finding.summary() for finding in self.findings)])

    def to_dict(self) -> dict[str, Any]:
        listed = [
            told(
                attack=one.attack,
                measure=one.measure,
                recovered=one.figure,
                limit=one.limit,
                predicted=one.predicted,
                failed=one.failed,
            )
            for one in self.findings
        ]
        known = told(people=self.people, epsilon=self.epsilon, holds=self.holds)
        return {"for": "the curator only; not for publication", **known, "attacks": listed}

    def chart(self, path: str | Path | None = None) -> Any:
        """Each figure beside its limit."""
        rows = [
            {"x": one.attack, "y": min(1.0, value), "series": series}
            for one in self.findings
            for series, value in (("found", one.figure), ("limit of luck", one.limit))
        ]
        return bars(rows, Axes("", "figure", share=True), "Attacks on a session (not for publication)", path)


@dataclass(frozen=True, slots=True, eq=False)
class Battle:
    """What all attacks share: the data, whom to attack, the truth, and the budget of each."""

    catalog: Catalog
    target: Target
    bits: Bits
    epsilon: Number
    seed: int


def attack_session(
    catalog: Catalog, target: Target, epsilon: Number = 1, *, seed: int = 0, progress: Progress | None = None
) -> SessionReport:
    """Every attack in turn, each on a fresh copy with `epsilon` to spend.

    `seed` rules the questions; noise is the session's own.
    """
    with copied_data(catalog, 4 * PLENTY) as data:
        known, bits = known_people(data.session(), target, PLENTY)
    if len(bits) < FEWEST:
        raise InvalidInput(f"only {len(bits)} people are known by {target.column}; of fewer than {FEWEST} luck may find all")
    battle = Battle(catalog, known, bits, epsilon, seed)
    findings = (finding for attack in ATTACKS for finding in attack(battle))
    return SessionReport(
        len(bits), float(exact(epsilon)), tuple(progress(findings, FINDINGS, "attacking") if progress else findings)
    )


def _ask(battle: Battle, questions: int, attack: Callable[[Questioner], Any]) -> tuple[Questioner, Any]:
    """Attack a fresh copy with `questions` equal shares of the budget."""
    with copied_data(battle.catalog, battle.epsilon) as data:
        asked = Questioner(data.session(), battle.target, exact(battle.epsilon) / questions)
        return asked, attack(asked)


def _deviation(battle: Battle, questions: int) -> float:
    return sqrt(2) * questions / float(exact(battle.epsilon))


def _counts_over_subsets(battle: Battle) -> Iterator[Finding]:
    """Random subset counts, and five things to make of them."""
    people = len(battle.bits)
    subsets = Subsets(people, 2 * people, battle.seed)
    everyone = np.arange(people)

    def asking(asked: Questioner) -> float:
        for subset in subsets:
            asked.query(subset)
        return float(asked.query(everyone) is not None)

    asked, one_more = _ask(battle, len(subsets), asking)
    answers, deviation = np.array(asked.answers[: len(subsets)]), _deviation(battle, len(subsets))
    rows = np.vstack(list(subsets.blocks()))
    share = predicted_bits(people, len(subsets), deviation)
    limit = lucky_share(people, share or 0.5)
    for method, solver in (("least squares", reconstruct), ("linear programming", least_absolute)):
        found = solver(subsets, answers, truth=battle.bits).recovered or 0.0
        yield Finding(f"reconstruction by {method}", "share of bits right", found, limit, share)
    yield _tracing(battle.bits, rows, answers)
    yield Finding("floating point", "share of outputs off the public grid", float((answers % 1 != 0).mean()), 0.0, 0.0)
    noise = np.abs(answers - rows @ battle.bits.astype(np.int64))
    told_by_time = abs(spearman(asked.seconds[: len(subsets)], noise))
    yield Finding("timing", "rank correlation of time and noise", told_by_time, NORMAL / sqrt(len(answers) - 1), 0.0)
    yield Finding("one question more", "answers beyond the budget", one_more, 0.0, 0.0)


def _tracing(bits: Bits, rows: NDArray[np.uint8], answers: NDArray[np.float64]) -> Finding:
    """Who is among those counted: scores of people with the secret, against the spread of the others' scores."""
    scores = (rows - 0.5).T @ (answers - answers.mean())
    others = scores[~bits] if (~bits).sum() > 1 else scores
    rate = float((scores[bits] > others.mean() + QUANTILE * others.std(ddof=1)).mean()) if bits.any() else 0.0
    chance = 0.03  # 1%, with the spread estimated from few others
    return Finding("tracing", "members recognized at 1% false positives", rate, lucky_share(max(1, int(bits.sum())), chance), 0.01)


def _differencing(battle: Battle) -> Iterator[Finding]:
    targets = min(TARGETS, len(battle.bits))
    yield from _isolated(battle, differencing, "differencing", targets, rounds=2, questions=4 * targets)


def _tracker(battle: Battle) -> Iterator[Finding]:
    targets = min(TARGETS, len(battle.bits))
    yield from _isolated(battle, tracker, "tracker", targets, rounds=1, questions=4 * targets)


def _averaging(battle: Battle) -> Iterator[Finding]:
    yield from _isolated(battle, averaging, "averaging", GROUPS, rounds=GROUPS, questions=2 * GROUPS * GROUPS)


def _isolated(battle: Battle, attack: Any, name: str, targets: int, rounds: int, questions: int) -> Iterator[Finding]:
    def run(asked: Questioner) -> Any:
        return attack(asked, battle.bits, rounds=rounds, targets=targets, seed=battle.seed)

    _, found = _ask(battle, questions, run)
    expected = predicted_share(name, _deviation(battle, questions), rounds)
    yield Finding(name, "share of targets found", found.recovered, lucky_share(len(found.truth), expected), expected)


def _verbatim(battle: Battle) -> Iterator[Finding]:
    """The same question again and again: it is remembered, so that nothing new comes, and nothing more is spent."""

    def run(asked: Questioner) -> int:
        for _ in range(REPEATS):
            asked.query(np.arange(len(battle.bits)))
        return len(set(asked.answers))

    _, different = _ask(battle, 1, run)
    yield Finding("asking again", "different answers to one question", float(different), 1.0, 1.0)


def _hostile_key(battle: Battle) -> Iterator[Finding]:
    """Values and names that try to be more than texts: keys of made-up people, and names in questions about these people."""
    with copied_data(battle.catalog, battle.epsilon) as data:
        named = list(hostile_names(data.session(), battle.target.table, battle.epsilon))
    escaped = broken_out([released_keys(), *named])
    yield Finding("hostile key", "formats that a value got out of", float(len(escaped)), 0.0, 0.0)


ATTACKS = (_counts_over_subsets, _differencing, _tracker, _averaging, _verbatim, _hostile_key)
