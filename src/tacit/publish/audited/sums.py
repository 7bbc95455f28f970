"""SUM (and AVG) over real values: the exact simulatable auditor. Claim and proof are in sums.md.

A value is determined if and only if its unit vector is a rational combination of the answered questions, whatever the answers were.
The combinations are looked for modulo a random prime. An unlucky prime can only raise a false alarm: it never hides a combination.
So "answer" needs no second look; "refuse" and "this follows already" are confirmed in whole numbers before anything rests on them.

People who were always asked about together are one column of the table: a million rows with a few attributes are a few columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.rounding import counted
from tacit.publish.audited import modular
from tacit.publish.audited.auditor import check_aggregate
from tacit.publish.audited.lifting import Combination, combination, read
from tacit.publish.audited.modular import MOST_ROWS, Bits, Echelon, Residues
from tacit.publish.audited.question import Decision, Number, Question, Rows, questions_text

MOST_CELLS = 60_000_000  # of the table: half a gigabyte


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What answers to SUM say: people in groups that were always asked together, and the space of the questions."""

    groups: NDArray[np.int64]  # the group of each row
    sizes: NDArray[np.int64]
    echelon: Echelon
    numbers: tuple[int, ...]  # which answered question each line of the echelon is
    answers: int

    def row(self, group: int) -> int:
        """The first row of a group."""
        return int(np.flatnonzero(self.groups == group)[0])


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """A question beside what is known: the state with its groups split where the question splits them, and what is found."""

    state: Sums
    vector: Bits
    residue: Residues
    follows: Combination | None = None
    unit: tuple[int, Combination] | None = None  # a group of one person, and how the question would give it away
    unlucky: bool = False


@dataclass(frozen=True, slots=True)
class SumAuditor:
    """Refuses a SUM that would determine somebody's value.

    >>> from tacit.publish.audited.question import question
    >>> auditor = SumAuditor()
    >>> known = auditor.learn(auditor.begin(3), question("sum", [0, 1]), 30)
    >>> known = auditor.learn(known, question("sum", [1, 2]), 50)
    >>> print(auditor.decide(known, question("sum", [0, 2])).reason)
    together with questions 1, 2 it would give row 1
    """

    name = "sum"
    aggregates = frozenset({"sum"})
    facts = "any real values"

    def begin(self, people: int) -> Sums:
        """What is known before anything was asked."""
        return Sums(np.zeros(people, dtype=np.int64), np.array([people]), modular.empty(1, modular.random_prime()), (), 0)

    def decide(self, state: Sums, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        found = find(state, check_aggregate(self, question).members)
        if found.follows is not None:
            used = questions_text(_used(found.state, found.follows.numerators))
            return Decision(True, f"it follows from {used}", known=True)
        if found.unit is not None:
            return Decision(False, _would_give(found.state, *found.unit))
        echelon = found.state.echelon
        if echelon.rank >= MOST_ROWS or (echelon.rank + 1) * found.vector.size > MOST_CELLS:
            return Decision(False, f"the history holds {echelon.rank:,} independent sums, which is the limit")
        return Decision(True, "no value is a combination of the sums")

    def learn(self, state: Sums, question: Question, answer: Number) -> Sums:
        """What is known after one more sum; the answer itself does not matter."""
        found = find(state, question.members)
        after = replace(found.state, answers=state.answers + 1)
        if found.follows is not None:
            return replace(state, answers=state.answers + 1)
        if found.unlucky:
            asked = np.concatenate([after.echelon.asked, found.vector[None]])
            return replace(after, echelon=_built(asked, found.vector.size), numbers=(*state.numbers, state.answers))
        return replace(after, echelon=after.echelon.extended(found.vector, found.residue), numbers=(*state.numbers, state.answers))

    def summary(self, state: Sums) -> str:
        """What the history has used up, in words."""
        people, rank = len(state.groups), state.echelon.rank
        return (
            f"{counted(state.answers, 'answer')}; {rank:,} of them independent, of at most {people - 1:,} that can ever be answered"
        )


def find(state: Sums, members: Rows) -> Finding:
    """Whether the question follows from the history, and whose value it would disclose; exact, whatever the prime."""
    state, vector = _split(state, members)
    residue = state.echelon.residue(vector.astype(np.float64))
    if not residue.any():
        if follows := combination(state.echelon, vector):
            return Finding(state, vector, residue, follows)
        state = replace(state, echelon=_built(state.echelon.asked, vector.size))  # the prime was unlucky
        return find(state, members)
    alarms = _alarms(state, residue)
    for group in alarms:
        if found := _confirmed(state.echelon, vector, residue, group):
            return Finding(state, vector, residue, unit=(group, found))
    return Finding(state, vector, residue, unlucky=bool(alarms))


def _confirmed(echelon: Echelon, vector: Bits, residue: Residues, group: int) -> Combination | None:
    """The unit vector of a group as a combination of the questions and the new one; None if it is not one."""
    unit, asked = np.arange(vector.size) == group, np.concatenate([echelon.asked, vector[None]])
    small = read([echelon.unit(vector, residue, group)], echelon.prime, asked, unit)  # so it is nearly always
    return small or combination(echelon.extended(vector, residue), unit)


def _split(state: Sums, members: Rows) -> tuple[Sums, Bits]:
    """The state with groups split so that the members are whole groups, and the question as zeros and ones over them."""
    asked = np.bincount(state.groups[members], minlength=state.sizes.size)
    parted = np.flatnonzero((asked > 0) & (asked < state.sizes))
    vector = np.concatenate([asked == state.sizes, np.ones(parted.size, dtype=np.bool_)])
    if not parted.size:
        return state, vector
    names = np.arange(state.sizes.size)
    names[parted] = state.sizes.size + np.arange(parted.size)
    groups = state.groups.copy()
    groups[members] = names[groups[members]]
    sizes = np.bincount(groups, minlength=vector.size)
    return replace(state, groups=groups, sizes=sizes, echelon=state.echelon.split(parted)), vector


def _alarms(state: Sums, residue: Residues) -> list[int]:
    """Groups of one person whose unit vector the question would bring into the space, modulo the prime."""
    alone = np.flatnonzero(residue)
    groups = state.echelon.pivots[state.echelon.multiples(residue)].tolist() + alone.tolist() * (alone.size == 1)
    return [group for group in groups if state.sizes[group] == 1]


def _built(asked: Bits, columns: int) -> Echelon:
    """The echelon of independent questions, modulo a prime that keeps them so."""
    while True:
        echelon = modular.empty(columns, modular.random_prime())
        for vector in asked:
            residue = echelon.residue(vector.astype(np.float64))
            if not residue.any():
                break
            echelon = echelon.extended(vector, residue)
        else:
            return echelon


def _used(state: Sums, numerators: Iterable[int]) -> list[int]:
    """The numbers of the questions that a combination uses; the new question, which comes last, has none yet."""
    return [number for number, factor in zip(state.numbers, numerators, strict=False) if factor]


def _would_give(state: Sums, group: int, found: Combination) -> str:
    row, used = state.row(group) + 1, _used(state, found.numerators)
    if not used:
        return f"the answer would be the value of row {row}"
    return f"together with {questions_text(used)} it would give row {row}"
