"""Brute force: what a history says, by listing every database there can be.

For MAX and MIN only the order of values and answers matters. So a database is a slot for each row: a known value (odd slots) or
one of the stretches between known values (even slots), of which each holds infinitely many reals and determines nothing.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import chain, combinations, pairwise, product

import numpy as np

from tacit.publish.audited.question import question

AGGREGATES = {"max": np.max, "min": np.min}


@cache
def slot_databases(people: int, levels: int, distinct: bool, bounded: tuple[bool, bool]) -> np.ndarray:
    """Every database of slots; where a bound is known it is the first or the last level, and nothing lies beyond it."""
    first, last = int(bounded[0]), 2 * levels + 1 - int(bounded[1])
    grid = np.array(list(product(range(first, last), repeat=people)), dtype=np.int8)
    if distinct:
        for level in range(1, 2 * levels, 2):
            grid = grid[(grid == level).sum(axis=1) <= 1]
    return grid


class Orders:
    """All that there is to know about MAX and MIN over a few rows."""

    def __init__(self, people, distinct=False, lower=None, upper=None):
        self.people, self.distinct, self.lower, self.upper = people, distinct, lower, upper

    def fitting(self, history):
        """The slot databases that agree with the history, and the levels."""
        bounds = {bound for bound in (self.lower, self.upper) if bound is not None}
        levels = sorted({answer for _, answer in history} | bounds)
        found = slot_databases(self.people, len(levels), self.distinct, (self.lower is not None, self.upper is not None))
        for asked, answer in history:
            found = found[AGGREGATES[asked.aggregate](found[:, asked.members], axis=1) == 2 * levels.index(answer) + 1]
        return found, levels

    def determined(self, history):
        found, _ = self.fitting(history)
        return {} if not len(found) else {row for row, slots in enumerate(found.T) if slots[0] % 2 and (slots == slots[0]).all()}

    def answers(self, history, asked):
        """One possible answer of every kind: known values, and one in every stretch."""
        bounds = {bound for bound in (self.lower, self.upper) if bound is not None}
        levels = sorted({answer for _, answer in history} | bounds)
        middles = [(low + high) / 2 for low, high in pairwise(levels)]
        ends = [levels[0] - 8.0, levels[-1] + 8.0] if levels else [0.0]
        low, high = (-np.inf if self.lower is None else self.lower), (np.inf if self.upper is None else self.upper)
        kinds = [answer for answer in (*levels, *middles, *ends) if low <= answer <= high]
        return [answer for answer in kinds if len(self.fitting([*history, (asked, answer)])[0])]

    def safe(self, history, asked):
        return not any(self.determined([*history, (asked, answer)]) for answer in self.answers(history, asked))


def all_questions(people, aggregates):
    sets = chain.from_iterable(combinations(range(people), size) for size in range(1, people + 1))
    return [question(aggregate, members) for members in sets for aggregate in aggregates]


def walk(auditor, oracle, people, depth, pick=lambda questions: questions):
    """Every history that the auditor allows, to a depth, with every question after it: yields what it and brute force decide."""

    def go(state, history, depth):
        for asked in pick(all_questions(people, sorted(auditor.aggregates))):
            decision = auditor.decide(state, asked)
            yield decision.answered, oracle.safe(history, asked), history, asked
            if decision.answered and depth > 1:
                for answer in oracle.answers(history, asked):
                    yield from go(auditor.learn(state, asked, answer), [*history, (asked, answer)], depth - 1)

    yield from go(auditor.begin(people), [], depth)


def rank(rows) -> int:
    """The rank over the rationals."""
    rows, found = [[Fraction(int(cell)) for cell in row] for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((at for at in range(found, len(rows)) if rows[at][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for at in range(found + 1, len(rows)):
            factor = rows[at][column] / rows[found][column]
            rows[at] = [cell - factor * top for cell, top in zip(rows[at], rows[found], strict=True)]
        found += 1
    return found


class Spaces:
    """All that there is to know about SUM over a few rows, by ranks of fractions."""

    def __init__(self, people):
        self.people = people

    def vector(self, asked):
        return [int(row in set(asked.members.tolist())) for row in range(self.people)]

    def follows(self, history, asked):
        rows = [self.vector(past) for past, _ in history]
        return rank([*rows, self.vector(asked)]) == rank(rows)

    def determined(self, history):
        rows = [self.vector(past) for past, _ in history]
        known = rank(rows)
        units = [[int(row == at) for at in range(self.people)] for row in range(self.people)]
        return {row for row, unit in enumerate(units) if rank([*rows, unit]) == known}

    def answers(self, history, asked):
        return [0.0]

    def safe(self, history, asked):
        return not self.determined([*history, (asked, 0)])


class Listed:
    """All that there is to know about SUM over rows whose values are on a list, by listing databases."""

    def __init__(self, people, values):
        self.databases = np.array(list(product(values, repeat=people)))

    def fitting(self, history):
        found = self.databases
        for asked, answer in history:
            found = found[found[:, asked.members].sum(axis=1) == answer]
        return found

    def answers(self, history, asked):
        return np.unique(self.fitting(history)[:, asked.members].sum(axis=1)).tolist()

    def determined(self, history):
        found = self.fitting(history)
        return {row for row, values in enumerate(found.T) if (values == values[0]).all()}

    def safe(self, history, asked):
        return not any(self.determined([*history, (asked, answer)]) for answer in self.answers(history, asked))
