"""Mondrian (LeFevre, DeWitt and Ramakrishnan 2006): the table is cut again and again at medians, as long as both sides comply.

Each part is cut along its widest column, or the next widest where that cut is not allowed. Strict: rows with equal values stay on
one side. Relaxed: the rows that are equal to the median are divided, so that sides differ by one row at most. All parts of one
depth are cut together, by one sort; strict parts hold distinct tuples with their counts instead of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.tables.boxes import boxed, positions
from tacit.publish.tables.conditions import Condition, Floats, Truths
from tacit.publish.tables.grouping import Integers, summed
from tacit.publish.tables.lattice import Lattice, Rolled
from tacit.publish.tables.recoded import Recoded
from tacit.publish.tables.search import Told


@dataclass(eq=False)
class Points:
    """What is cut: ranks and places of each column (rows of the arrays) for each point, and its rows."""

    ranks: Integers
    places: Floats
    counts: Integers


def mondrian(lattice: Lattice, conditions: Sequence[Condition], relaxed: bool = False, told: Told = None) -> Recoded:
    """The table in boxes, each of which meets the conditions."""
    points = _points(lattice, relaxed)
    check = Check(lattice, conditions, points, relaxed)
    if not check.holds(np.zeros(len(points.counts), dtype=np.int64), 1).all():
        raise InvalidInput(f"the whole table does not meet {', '.join(map(str, conditions))}; lower the requirement")
    of_point, number = _cut(points, check, relaxed, told)
    groups = of_point if relaxed else of_point[lattice.tuples.of_row]
    forms = [boxed(lattice.table[name], lattice.hierarchies.get(name), groups, number) for name in lattice.quasi]
    return Recoded(tuple(forms), np.zeros(lattice.table.rows, dtype=np.bool_), {"parts": number})


def _points(lattice: Lattice, relaxed: bool) -> Points:
    columns = [lattice.table[name] for name in lattice.quasi]
    rows = np.arange(lattice.table.rows) if relaxed else lattice.tuples.first
    known = [positions(column, lattice.hierarchies.get(column.name)) for column in columns]
    ranks = np.stack([rank[column.codes[rows]] for (rank, _), column in zip(known, columns, strict=True)])
    places = np.stack([place[column.codes[rows]] for (_, place), column in zip(known, columns, strict=True)])
    counts = np.ones(len(rows), dtype=np.int64) if relaxed else lattice.tuples.sizes()
    return Points(ranks, places, counts)


@dataclass(eq=False)
class Check:
    """Whether parts comply; conditions on sensitive values look at the cells of all points of a part."""

    lattice: Lattice
    conditions: Sequence[Condition]
    points: Points
    by_rows: bool

    def __post_init__(self) -> None:
        self.sensitive = any(condition.sensitive is not None for condition in self.conditions)
        if self.sensitive and self.by_rows:
            rows = self.lattice.table.rows
            self.cells = np.arange(rows), self.lattice.sensitive_keys, np.ones(rows, dtype=np.int64)
        elif self.sensitive:
            self.cells = self.lattice.bottom.cells

    def holds(self, parts: Integers, number: int) -> Truths:
        """For each part whether it complies; points of part -1 belong to none."""
        inside = parts >= 0
        sizes = summed(parts[inside], self.points.counts[inside], number)
        nothing = np.empty(0, dtype=np.int64)
        cells = (nothing, nothing, nothing)
        if self.sensitive:
            kept = parts[self.cells[0]]
            cells = kept[kept >= 0], self.cells[1][kept >= 0], self.cells[2][kept >= 0]
        return self.lattice.complying(Rolled((), np.zeros(number, dtype=np.int64), sizes, cells), self.conditions)


def _cut(points: Points, check: Check, relaxed: bool, told: Told) -> tuple[Integers, int]:
    """The part of each point at the end, and how many parts there are; parts of one depth are cut together."""
    size = len(points.counts)
    done, number = np.zeros(size, dtype=np.int64), 0
    order, begins = np.arange(size), np.array([0])  # the points of parts that may still be cut, and where each part begins
    while len(order):
        part = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(order))))
        side, order, cut = _sides(points, check, order, part, begins, relaxed)
        stays = ~cut[part]
        left = np.flatnonzero(~cut)
        numbers = np.zeros(len(begins), dtype=np.int64)
        numbers[left] = number + np.arange(len(left))
        done[order[stays]] = numbers[part[stays]]
        number += len(left)
        order, key = order[~stays], (2 * part + side)[~stays]
        begins = np.flatnonzero(np.diff(key, prepend=-1))
        if told is not None:
            told("cutting", 1 - len(order) / size)
    return done, number


def _sides(
    points: Points, check: Check, order: Integers, part: Integers, begins: Integers, relaxed: bool
) -> tuple[Integers, Integers, Truths]:
    """For the points, sorted anew inside of their parts, the side of each; and for each part whether it is cut."""
    number = len(begins)
    spans = np.stack(
        [np.maximum.reduceat(place[order], begins) - np.minimum.reduceat(place[order], begins) for place in points.places]
    )
    tries = np.argsort(-spans, axis=0, kind="stable")
    side, cut, order = np.zeros(len(order), dtype=np.int64), np.zeros(number, dtype=np.bool_), order.copy()
    waiting = np.add.reduceat(points.counts[order], begins) > 1
    for attempt in tries:
        waiting &= spans[attempt, np.arange(number)] > 0
        if not waiting.any():
            break
        chosen = np.flatnonzero(waiting[part])
        rearranged, sides = _halved(points, order[chosen], part[chosen], attempt, relaxed)
        proposed = np.full(len(points.counts), -1, dtype=np.int64)
        proposed[rearranged] = 2 * part[chosen] + sides
        holds = check.holds(proposed, 2 * number).reshape(number, 2).all(axis=1) & waiting
        allowed = holds[part[chosen]]
        order[chosen[allowed]], side[chosen[allowed]] = rearranged[allowed], sides[allowed]
        cut |= holds
        waiting = waiting & ~holds
    return side, order, cut


def _halved(points: Points, order: Integers, part: Integers, attempt: Integers, relaxed: bool) -> tuple[Integers, Integers]:
    """The points sorted along the column of their part, and the side of each: beyond the median or not."""
    rank = points.ranks[attempt[part], order]
    rearranged = order[_argsort(part, rank)]
    rank = points.ranks[attempt[part], rearranged]
    counts = points.counts[rearranged]
    begins = np.flatnonzero(np.diff(part, prepend=-1))
    place = np.cumsum(np.diff(part, prepend=-1) != 0) - 1
    before = np.cumsum(counts) - counts  # rows before each point, over all parts
    start = before[begins]
    total = np.add.reduceat(counts, begins)
    if relaxed:
        return rearranged, (before - start[place] >= total[place] - total[place] // 2).astype(np.int64)
    middle = np.searchsorted(before, start + total / 2, side="left") - 1  # the last point that begins before half of the rows
    median = rank[middle]
    below = np.add.reduceat(counts * (rank < median[place]), begins)
    upto = np.add.reduceat(counts * (rank <= median[place]), begins)
    after = np.minimum(upto, total - upto) >= np.minimum(below, total - below)  # cut after the median's value, or before it
    return rearranged, np.where(after[place], rank > median[place], rank >= median[place]).astype(np.int64)


def _argsort(part: Integers, rank: Integers) -> Integers:
    """The order by part and then rank, stable; as one sort of integers where they fit."""
    width, high = max(len(part) - 1, 1).bit_length(), int(rank.max(initial=0)) + 1
    if (int(part.max(initial=0)) + 1) * high < 1 << (62 - width):
        packed = ((part * high + rank) << width) | np.arange(len(part))
        packed.sort()
        return np.asarray(packed & ((1 << width) - 1))
    return np.lexsort((rank, part))
