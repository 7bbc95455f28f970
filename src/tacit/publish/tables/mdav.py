"""Microaggregation by MDAV (Domingo-Ferrer and Torra 2005): rows in groups of k near neighbours, published as their means.

The two rows that are farthest out each gather their k - 1 nearest, until fewer than 3k rows are left. Columns are divided by their
standard deviation first. The work grows with the square of the rows, so there is a limit.
"""

from __future__ import annotations

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.tables.conditions import Floats
from tacit.publish.tables.grouping import Integers
from tacit.publish.tables.recoded import Form, Recoded
from tacit.publish.tables.search import Told
from tacit.publish.tables.table import Column, Table

MOST_ROWS = 200_000
DIGITS = 6  # of a published mean


def mdav(table: Table, quasi: tuple[str, ...], k: int, told: Told = None) -> Recoded:
    """The table with each quasi-identifier replaced by the mean of the row's group; every group has k to 2k - 1 rows."""
    if table.rows > MOST_ROWS:
        raise InvalidInput(f"mdav is limited to {MOST_ROWS:,} rows, and the table has {table.rows:,}; use the method mondrian")
    columns = [table[name] for name in quasi]
    known = [column.numbers() for column in columns]
    if texts := [column.name for column, numbers in zip(columns, known, strict=True) if numbers is None]:
        raise InvalidInput(
            f"mdav needs numbers, and {texts[0]} has a value that is not one; leave it out, or use the method mondrian"
        )
    points = np.stack(
        [numbers[column.codes] for column, numbers in zip(columns, known, strict=True) if numbers is not None], axis=1
    )
    spread = points.std(axis=0)
    groups, number = _gathered((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0), k, told)
    forms = tuple(_means(column, points[:, place], groups, number) for place, column in enumerate(columns))
    return Recoded(forms, np.zeros(table.rows, dtype=np.bool_), {"parts": number})


def _gathered(points: Floats, k: int, told: Told) -> tuple[Integers, int]:
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
