"""Groups of near rows instead of levels of a lattice: Mondrian's cuts, and microaggregation.

Mondrian (LeFevre, DeWitt and Ramakrishnan 2006): the table is cut again and again at medians, as long as both sides comply.

Each part is cut along its widest column, or the next widest where that cut is not allowed. Strict: rows with equal values stay on
one side. Relaxed: the rows that are equal to the median are divided, so that sides differ by one row at most. All parts of one
depth are cut together, by one sort; strict parts hold distinct tuples with their counts instead of rows.

Microaggregation by MDAV (Domingo-Ferrer and Torra 2005): rows in groups of k near neighbours, published as their means.

The two rows that are farthest out each gather their k - 1 nearest, until fewer than 3k rows are left. Columns are divided by their
standard deviation first. The work grows with the square of the rows, so there is a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.tables.conditions import Condition, Floats, Truths
from tacit.publish.tables.grouping import Integers, sum_by_place
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.lattice import Lattice, Rolled
from tacit.publish.tables.recoded import Form, Recoded
from tacit.publish.tables.search import Told
from tacit.publish.tables.table import Column, Table

MOST_LISTED = 20  # values of a group that are listed; a category with more has the form *


def positions(column: Column, hierarchy: Hierarchy | None) -> tuple[Integers, Floats]:
    """For each value its rank, and its place on a line of length 1: numbers by size, values of a hierarchy by it."""
    numbers = column.numbers()
    size = len(column.values)
    if numbers is not None:
        low, high = (numbers.min(), numbers.max()) if size else (0.0, 0.0)
        return np.arange(size), (numbers - low) / (high - low if high > low else 1.0)
    ranks = np.arange(size)
    if hierarchy is not None:
        levels = hierarchy.of_column(column)
        ranks[np.lexsort(levels)] = np.arange(size)
    return ranks, ranks / max(size - 1, 1)


def box_form(column: Column, hierarchy: Hierarchy | None, groups: Integers, number: int) -> Form:
    """The published form of a column: the range or the common form of each group, recomputed from its rows."""
    if column.numbers() is not None:
        return _ranges(column, groups, number)
    return _common(column, hierarchy, groups, number) if hierarchy is not None else _value_lists(column, groups, number)


def _ends(codes: Integers, groups: Integers, number: int) -> tuple[Integers, Integers]:
    """The least and the largest code of each group."""
    low, high = np.full(number, np.iinfo(np.int64).max), np.full(number, -1, dtype=np.int64)
    np.minimum.at(low, groups, codes)
    np.maximum.at(high, groups, codes)
    return low, high


def _ranges(column: Column, groups: Integers, number: int) -> Form:
    low, high = _ends(column.codes.astype(np.int64), groups, number)
    keys, of_group = np.unique(low * len(column.values) + high, return_inverse=True)
    ends = [(int(key) // len(column.values), int(key) % len(column.values)) for key in keys]
    words = [column.values[a] if a == b else f"[{column.values[a]}, {column.values[b]}]" for a, b in ends]
    _, line = positions(column, None)
    covers = np.array([line[b] - line[a] for a, b in ends])
    return Form(Column(column.name, tuple(words), of_group.astype(np.int32)[groups]), covers)


def _common(column: Column, hierarchy: Hierarchy, groups: Integers, number: int) -> Form:
    """The form at the lowest level on which all values of a group agree; without one, the form that stands for all values."""
    level_of, code_of = np.full(number, -1), np.zeros(number, dtype=np.int64)
    for level, codes in enumerate(hierarchy.of_column(column)):
        low, high = _ends(codes[column.codes].astype(np.int64), groups, number)
        fits = (low == high) & (level_of < 0)
        level_of[fits], code_of[fits] = level, low[fits]
    pairs, of_group = np.unique(np.stack([level_of, code_of]), axis=1, return_inverse=True)
    leaves = max(len(hierarchy.leaves) - 1, 1)
    told = [
        ("*", 1.0) if a < 0 else (hierarchy.forms[a][b], (hierarchy.leaf_counts[a][b] - 1) / leaves) for a, b in pairs.T.tolist()
    ]
    return _by_words(column.name, told, of_group.reshape(-1)[groups])


def _value_lists(column: Column, groups: Integers, number: int) -> Form:
    """Without a hierarchy: the values of a group between braces."""
    size = len(column.values)
    there = np.unique(groups * size + column.codes)
    begins = np.searchsorted(there, np.arange(number + 1) * size)
    told = []
    for begin, end in pairwise(begins.tolist()):
        words = [column.values[int(key) % size] for key in there[begin:end]]
        text = words[0] if len(words) == 1 else "{" + ", ".join(words) + "}" if len(words) <= MOST_LISTED else "*"
        told.append((text, (len(words) - 1) / max(size - 1, 1) if text != "*" else 1.0))
    return _by_words(column.name, told, groups)


def _by_words(name: str, told: Sequence[tuple[str, float]], codes: Integers) -> Form:
    """A column of words that may be repeated, with the larger of two covers."""
    covers: dict[str, float] = {}
    for word, share in told:
        covers[word] = max(share, covers.get(word, 0.0))
    places: Mapping[str, int] = {word: place for place, word in enumerate(covers)}
    mapped = np.array([places[word] for word, _ in told], dtype=np.int32)
    return Form(Column(name, tuple(covers), mapped[codes]), np.array(list(covers.values())))


# --- mondrian (LeFevre, DeWitt and Ramakrishnan 2006) ------------------------------------------------------------------------


@dataclass(eq=False)
class Points:
    """The points to cut: ranks and places of each column (rows of the arrays) for each point, and its rows."""

    ranks: Integers
    places: Floats
    counts: Integers


def mondrian(lattice: Lattice, conditions: Sequence[Condition], relaxed: bool = False, told: Told = None) -> Recoded:
    """The table in boxes that all meet the conditions."""
    points = _points(lattice, relaxed)
    check = Check(lattice, conditions, points, relaxed)
    if not check.holds(np.zeros(len(points.counts), dtype=np.int64), 1).all():
        raise InvalidInput(f"the whole table does not meet {', '.join(map(str, conditions))}; lower the requirement")
    of_point, number = _cut(points, check, relaxed, told)
    groups = of_point if relaxed else of_point[lattice.tuples.of_row]
    forms = [box_form(lattice.table[name], lattice.hierarchies.get(name), groups, number) for name in lattice.quasi]
    return Recoded(tuple(forms), np.zeros(lattice.table.rows, dtype=np.bool_), {"parts": number})


def _points(lattice: Lattice, relaxed: bool) -> Points:
    columns = [lattice.table[name] for name in lattice.quasi]
    rows = np.arange(lattice.table.rows) if relaxed else lattice.tuples.first
    on_lines = [positions(column, lattice.hierarchies.get(column.name)) for column in columns]
    ranks = np.stack([rank[column.codes[rows]] for (rank, _), column in zip(on_lines, columns, strict=True)])
    places = np.stack([place[column.codes[rows]] for (_, place), column in zip(on_lines, columns, strict=True)])
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
        sizes = sum_by_place(parts[inside], self.points.counts[inside], number)
        nothing = np.empty(0, dtype=np.int64)
        cells = (nothing, nothing, nothing)
        if self.sensitive:
            kept = parts[self.cells[0]]
            cells = kept[kept >= 0], self.cells[1][kept >= 0], self.cells[2][kept >= 0]
        return self.lattice.meets_all(Rolled((), np.zeros(number, dtype=np.int64), sizes, cells), self.conditions)


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
        rearranged, sides = _halve_at_median(points, order[chosen], part[chosen], attempt, relaxed)
        proposed = np.full(len(points.counts), -1, dtype=np.int64)
        proposed[rearranged] = 2 * part[chosen] + sides
        holds = check.holds(proposed, 2 * number).reshape(number, 2).all(axis=1) & waiting
        allowed = holds[part[chosen]]
        order[chosen[allowed]], side[chosen[allowed]] = rearranged[allowed], sides[allowed]
        cut |= holds
        waiting = waiting & ~holds
    return side, order, cut


def _halve_at_median(
    points: Points, order: Integers, part: Integers, attempt: Integers, relaxed: bool
) -> tuple[Integers, Integers]:
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


# --- microaggregation by MDAV (Domingo-Ferrer and Torra 2005) ----------------------------------------------------------------


MOST_ROWS = 200_000
DIGITS = 6  # of a published mean


def mdav(table: Table, quasi: tuple[str, ...], k: int, told: Told = None) -> Recoded:
    """The table with each quasi-identifier replaced by the mean of the row's group; every group has k to 2k - 1 rows."""
    if table.rows > MOST_ROWS:
        raise InvalidInput(f"mdav is limited to {MOST_ROWS:,} rows, and the table has {table.rows:,}; use the method mondrian")
    columns = [table[name] for name in quasi]
    numbers_of = [column.numbers() for column in columns]
    if texts := [column.name for column, numbers in zip(columns, numbers_of, strict=True) if numbers is None]:
        raise InvalidInput(
            f"mdav needs numbers, and {texts[0]} has a value that is not one; leave it out, or use the method mondrian"
        )
    points = np.stack(
        [numbers[column.codes] for column, numbers in zip(columns, numbers_of, strict=True) if numbers is not None], axis=1
    )
    spread = points.std(axis=0)
    groups, number = _gather((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0), k, told)
    forms = tuple(_means(column, points[:, place], groups, number) for place, column in enumerate(columns))
    return Recoded(forms, np.zeros(table.rows, dtype=np.bool_), {"parts": number})


def _gather(points: Floats, k: int, told: Told) -> tuple[Integers, int]:
    """The group of each row, and the number of groups."""
    groups, number = np.full(len(points), -1, dtype=np.int64), 0
    left = np.arange(len(points))
    here = points
    while len(left) >= 3 * k:
        far = here[_distances(here, here.mean(axis=0)).argmax()]
        opposite = here[_distances(here, far).argmax()]
        for centre in (far, opposite):
            near = _nearest(_distances(here, centre), k)
            groups[left[near]] = number
            number += 1
            stays = np.ones(len(left), dtype=np.bool_)
            stays[near] = False
            left, here = left[stays], here[stays]
        if told is not None:
            told("gathering", 1 - len(left) / len(points))
    if len(left) >= 2 * k:
        far = here[_distances(here, here.mean(axis=0)).argmax()]
        near = _nearest(_distances(here, far), k)
        groups[left[near]] = number
        number += 1
    groups[groups < 0] = number
    return groups, number + 1


def _distances(points: Floats, centre: Floats) -> Floats:
    return np.asarray(((points - centre) ** 2).sum(axis=1))


def _nearest(distances: Floats, k: int) -> Integers:
    """The k rows with the least distance; of equal ones the first."""
    if k >= len(distances):
        return np.arange(len(distances))
    edge = np.partition(distances, k - 1)[k - 1]
    inside = np.flatnonzero(distances < edge)
    return np.concatenate([inside, np.flatnonzero(distances == edge)[: k - len(inside)]])


def _means(column: Column, values: Floats, groups: Integers, number: int) -> Form:
    """The mean of each group as a text, and the range of the group over that of the column."""
    means = np.bincount(groups, weights=values, minlength=number) / np.bincount(groups, minlength=number)
    low, high = np.full(number, np.inf), np.full(number, -np.inf)
    np.minimum.at(low, groups, values)
    np.maximum.at(high, groups, values)
    reach = float(values.max() - values.min()) or 1.0
    words: dict[str, int] = {}
    covers: list[float] = []
    codes = np.zeros(number, dtype=np.int32)
    for group, mean in enumerate(means.tolist()):
        word = f"{mean:.{DIGITS}g}"
        codes[group] = words.setdefault(word, len(words))
        share = float(high[group] - low[group]) / reach
        if len(covers) < len(words):
            covers.append(share)
        covers[codes[group]] = max(covers[codes[group]], share)
    return Form(Column(column.name, tuple(words), codes[groups]), np.array(covers))
