"""Personalized privacy: each person names the inference that no adversary may make about them (Xiao and Tao 2006).

A person's guarding node is a node of the tree of sensitive values. An adversary who has found the person's group takes each of its
rows to be the person's with equal probability, and each leaf below a published value as equally likely. The probability that the
person's value lies below the guarding node must be at most a limit. A person without a node has nothing to guard.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, as_text
from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.exactly import compare, integers, largest_ratio
from tacit.publish.tables.models.rows import Rows
from tacit.publish.tables.models.tree import Tree
from tacit.publish.tables.models.verdict import Figure, Verdict, at_most, parameter

NO_GUARD = (None, "")


@dataclass(frozen=True)
class PersonalizedPrivacy:
    """In every group, for the guarding node of each of its rows, the chance of a value below that node is at most `breach`.

    `guard` names the column of guarding nodes; it is the data owner's, and is never published. Published sensitive values may be
    inner nodes of the tree.

    >>> from tacit.publish.tables.models.rows import rows_of
    >>> tree = Tree((("flu", "lungs", "*"), ("asthma", "lungs", "*"), ("gout", "joints", "*")))
    >>> columns = {"age": ["30-39"] * 4, "ill": ["flu", "asthma", "gout", "lungs"], "guard": ["flu", "lungs", "", None]}
    >>> print(*PersonalizedPrivacy("1/2", tree, "guard").check(rows_of(columns, ["age"], ["ill"])))
    personalized privacy of ill, breach = 0.5: fails (breach = 0.75; failing: 1 of 1 groups, 1 of 4 rows)
    """

    breach: Number
    tree: Tree
    guard: str

    def __post_init__(self) -> None:
        parameter(self.breach, "breach", 0, 1)

    def check(self, rows: Rows, strict: bool = True) -> tuple[Verdict, ...]:
        """A verdict on the only sensitive column; the rows that fail are those whose own guarding node is breached."""
        if len(rows.sensitive) != 1 or self.guard not in rows.others:
            raise InvalidInput("personalized privacy needs one sensitive column and one column of guarding nodes; name both")
        counts = rows.counts(next(iter(rows.sensitive)), strict)
        group, node, people = _guards_by_group(rows, self.guard)
        limit = parameter(self.breach, "breach", 0, 1)
        figure, failing = Figure(Fraction(0), "nobody has a guarding node"), np.zeros(0, dtype=np.bool_)
        if len(group):
            chances = self._chances(counts, group, [rows.others[self.guard].values[each] for each in node.tolist()])
            failing = compare(*chances, limit) > 0
            figure = Figure(worst := largest_ratio(*chances), f"breach = {at_most(worst)}")
        number = len(counts.sizes), len(np.unique(group[failing])), int(counts.sizes.sum()), int(people[failing].sum())
        return (Verdict("personalized privacy", f"breach = {as_text(limit)}", not failing.any(), figure, *number, counts.name),)

    def _chances(self, counts: Counts, group: NDArray[np.int64], nodes: list[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The probability of each guarding node in its group: a sum over the values of the group."""
        first, last = self.tree.spans(nodes)
        published = counts.totals > 0
        low, high = np.zeros(len(published), dtype=np.int64), np.ones(len(published), dtype=np.int64)
        names = [value for value, present in zip(counts.values, published.tolist(), strict=True) if present]
        low[published], high[published] = self.tree.spans(names)
        common = lcm(*(int(width) for width in np.unique(high - low)))
        lengths = counts.distinct[group]
        pair = np.repeat(np.arange(len(group)), lengths)
        starts = np.cumsum(lengths) - lengths
        triple = np.arange(len(pair)) - np.repeat(starts, lengths) + np.repeat(counts.starts[group], lengths)
        value = counts.value[triple]
        overlap = np.maximum(np.minimum(last[pair], high[value]) - np.maximum(first[pair], low[value]), 0)
        most = int(counts.sizes.max()) * common * len(self.tree.paths)
        part = integers(counts.count, most)[triple] * overlap * (common // (high - low)[value])
        return np.add.reduceat(part, starts), integers(counts.sizes, most)[group] * common


def _guards_by_group(rows: Rows, guard: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Group, guarding node and number of people, for each pair of a group and a node that occurs in it."""
    column = rows.others[guard]
    named = np.array([value not in NO_GUARD for value in column.values], dtype=np.bool_)[column.codes] & ~rows.suppressed
    width = max(len(column.values), 1)
    keys, people = np.unique(rows.groups.of_row[named] * width + column.codes[named], return_counts=True)
    return keys // width, keys % width, people
