"""Boxes of rows: for each group the range of a column, or the lowest form of its hierarchy that all its values share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from tacit.publish.tables.conditions import Floats
from tacit.publish.tables.grouping import Integers
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.recoded import Form
from tacit.publish.tables.table import Column

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


def boxed(column: Column, hierarchy: Hierarchy | None, groups: Integers, number: int) -> Form:
    """The published form of a column: the range or the common form of each group, recomputed from its rows."""
    if column.numbers() is not None:
        return _ranges(column, groups, number)
    return _common(column, hierarchy, groups, number) if hierarchy is not None else _listed(column, groups, number)


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


def _listed(column: Column, groups: Integers, number: int) -> Form:
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
