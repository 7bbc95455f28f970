"""All applicable attacks against one data set: a copy, with a scratch ledger for each attack. For the data owner only.

Each attack spends the whole of `epsilon`, once for each seed. The report (`session_report.py`) has figures and no released value;
it compares with the truth all the same, and is not for publication.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.answerers import Bits
from tacit.evidence.attacks.changed_unit import changed_unit
from tacit.evidence.attacks.fates import joining_questions, pattern_questions, told_apart
from tacit.evidence.attacks.hostile_key import broken_out, hostile_names, released_keys
from tacit.evidence.attacks.isolation import averaging, differencing, predicted_share, tracker
from tacit.evidence.attacks.linear_programming import least_absolute
from tacit.evidence.attacks.questioner import Questioner, Target, known_people
from tacit.evidence.attacks.reconstruction import Subsets, reconstruct
from tacit.evidence.attacks.reconstruction import predicted_share as predicted_bits
from tacit.evidence.attacks.scratch import copied_data
from tacit.evidence.attacks.session_report import Correlation, Never, Part, SessionReport, Tries, pooled
from tacit.evidence.attacks.timing import spearman
from tacit.evidence.attacks.tracing import QUANTILE
from tacit.privacy.catalog import Catalog
from tacit.privacy.rounding import Number, exact
from tacit.session import DataSet

Progress = Callable[[Iterable[Any], int, str], Iterable[Any]]
FINDINGS = 14  # at most: of a data set without public tables or without private text there are fewer
FEWEST = 24  # people that an attack needs at all
ENOUGH_PEOPLE, ENOUGH_MEMBERS = 64, 8  # below, luck reaches so far that a failed attack says nothing
PLENTY = 10**6  # an epsilon under which noise vanishes: the truth, for the judge
TARGETS, GROUPS, REPEATS = 32, 8, 16


@dataclass(frozen=True, slots=True, eq=False)
class Battle:
    """What all attacks share: the data, whom to attack, the truth, and the budget of each."""

    catalog: Catalog
    target: Target
    bits: Bits
    epsilon: Number
    seed: int

    @property
    def enough(self) -> bool:
        """Whether there are enough people for a failed attack to say something."""
        return len(self.bits) >= ENOUGH_PEOPLE


def attack_session(
    catalog: Catalog, target: Target, epsilon: Number = 1, *, seed: int = 0, seeds: int = 3, progress: Progress | None = None
) -> SessionReport:
    """Every attack in turn, each on a fresh copy with `epsilon` to spend, and all of that again with the following seeds.

    A seed rules the questions; noise is the session's own. The findings of all seeds are pooled.
    """
    if seeds < 1:
        raise InvalidInput(f"seeds must be a whole number of at least 1, not {seeds}")
    with copied_data(catalog, 4 * PLENTY) as data:
        known, bits = known_people(data.session(), target, PLENTY)
    if len(bits) < FEWEST:
        raise InvalidInput(
            f"too few people have a {target.column}: found {len(bits)}, but an attack requires at least {FEWEST} "
            f"({ENOUGH_PEOPLE} for a verdict); choose another column with --by"
        )
    battles = [Battle(catalog, known, bits, epsilon, seed + place) for place in range(seeds)]
    parts = (part for battle in battles for attack in ATTACKS for part in attack(battle))
    found = pooled(progress(parts, FINDINGS * seeds, "attacking") if progress else parts)
    return SessionReport(len(bits), int(bits.sum()), float(exact(epsilon)), seeds, found)


def _ask(battle: Battle, questions: int, attack: Callable[[Questioner], Any]) -> tuple[Questioner, Any]:
    """Attack a fresh copy with `questions` equal shares of the budget."""
    with copied_data(battle.catalog, battle.epsilon) as data:
        asked = Questioner(data.session(), battle.target, exact(battle.epsilon) / questions)
        return asked, attack(asked)


def _deviation(battle: Battle, questions: int) -> float:
    return sqrt(2) * questions / float(exact(battle.epsilon))


def _counts_over_subsets(battle: Battle) -> Iterator[Part]:
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
    share = predicted_bits(people, len(subsets), deviation) or 0.5
    for method, solver in (("least squares", reconstruct), ("linear programming", least_absolute)):
        right = round((solver(subsets, answers, truth=battle.bits).recovered or 0.0) * people)
        yield Tries(f"reconstruction by {method}", "share of bits right", right, people, share, share, battle.enough)
    yield _tracing(battle, rows, answers)
    yield Never("floating point", "share of outputs off the public grid", float((answers % 1 != 0).mean()), 0.0)
    noise = np.abs(answers - rows @ battle.bits.astype(np.int64))
    told_by_time = spearman(asked.seconds[: len(subsets)], noise)
    yield Correlation("timing", "rank correlation of time and noise", told_by_time, len(answers), battle.enough)
    yield Never("one extra query", "answers beyond the budget", one_more, 0.0)


def _tracing(battle: Battle, rows: NDArray[np.uint8], answers: NDArray[np.float64]) -> Tries:
    """Who is among those counted: scores of people with the secret, against the spread of the others' scores."""
    bits = battle.bits
    scores = (rows - 0.5).T @ (answers - answers.mean())
    others = scores[~bits] if (~bits).sum() > 1 else scores
    recognized = int((scores[bits] > others.mean() + QUANTILE * others.std(ddof=1)).sum())
    members = int(bits.sum())
    enough = battle.enough and min(members, len(bits) - members) >= ENOUGH_MEMBERS
    chance = 0.03  # 1%, with the spread estimated from few others
    return Tries("tracing", "members recognized at 1% false positives", recognized, members, chance, 0.01, enough)


def _differencing(battle: Battle) -> Iterator[Part]:
    targets = min(TARGETS, len(battle.bits))
    yield from _isolated(battle, differencing, "differencing", targets, rounds=2, questions=4 * targets)


def _tracker(battle: Battle) -> Iterator[Part]:
    targets = min(TARGETS, len(battle.bits))
    yield from _isolated(battle, tracker, "tracker", targets, rounds=1, questions=4 * targets)


def _averaging(battle: Battle) -> Iterator[Part]:
    yield from _isolated(battle, averaging, "averaging", GROUPS, rounds=GROUPS, questions=2 * GROUPS * GROUPS)


def _isolated(battle: Battle, attack: Any, name: str, targets: int, rounds: int, questions: int) -> Iterator[Part]:
    def run(asked: Questioner) -> Any:
        return attack(asked, battle.bits, rounds=rounds, targets=targets, seed=battle.seed)

    _, found = _ask(battle, questions, run)
    expected = predicted_share(name, _deviation(battle, questions), rounds)
    tried = len(found.truth)
    yield Tries(name, "share of targets found", round(found.recovered * tried), tried, expected, expected, battle.enough)


def _verbatim(battle: Battle) -> Iterator[Part]:
    """The same question again and again: it is remembered, so that nothing new comes, and nothing more is spent."""

    def run(asked: Questioner) -> int:
        for _ in range(REPEATS):
            asked.query(np.arange(len(battle.bits)))
        return len(set(asked.answers))

    _, different = _ask(battle, 1, run)
    yield Never("asking again", "different answers to one question", float(different), 1.0)


def _changed_unit(battle: Battle) -> Iterator[Part]:
    """Another unit declared over what was spent: nothing more may be admitted until it is restated, and here nothing after that."""
    found = changed_unit(battle.catalog, battle.target.table.lower(), battle.epsilon)
    yield Never("changed unit", "share of the budget admitted for a changed unit", found.before + found.after, 0.0)


def _hostile_key(battle: Battle) -> Iterator[Part]:
    """Values and names that try to be more than text: keys of simulated people, and names in queries about them."""
    with copied_data(battle.catalog, battle.epsilon) as data:
        named = list(hostile_names(data.session(), battle.target.table, battle.epsilon))
    escaped = broken_out([released_keys(), *named])
    yield Never("hostile key", "formats that a value escaped from", float(len(escaped)), 0.0)


def _time_out(battle: Battle) -> Iterator[Part]:
    """Twenty joins that multiply rows if one person has the secret: whether the question ends in time is then the secret."""
    yield from _fates(battle, joining_questions, "time-out")


def _long_cell(battle: Battle) -> Iterator[Part]:
    """A pattern that takes long on one long text: whether the question ends in time says who has one."""
    yield from _fates(battle, pattern_questions, "long cell")


def _fates(battle: Battle, asking: Callable[[DataSet, Target], list[str]], attack: str) -> Iterator[Part]:
    with copied_data(battle.catalog, battle.epsilon) as data:
        questions = asking(data, battle.target)
        if questions:
            share = exact(battle.epsilon) / len(questions)
            found = told_apart(data.session(), questions, share)
            yield Never(attack, "people identified by whether a query fails", found, 0.0)


ATTACKS = (
    _counts_over_subsets,
    _differencing,
    _tracker,
    _averaging,
    _verbatim,
    _time_out,
    _long_cell,
    _changed_unit,
    _hostile_key,
)
