"""epsilon-privacy of a published table: every group of rows that look alike, against one class of adversaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.tables.adversary.classes import Adversary, Verdict
from tacit.publish.tables.table import Table


@dataclass(frozen=True, slots=True)
class TableVerdict:
    """How many groups are private, and the smallest and the worst counts of those that are not; facts about private data."""

    groups: int
    failing: int
    failing_rows: int
    example: tuple[int, ...] | None
    needs: str

    @property
    def passes(self) -> bool:
        """Whether every group is private."""
        return self.failing == 0


Against = Callable[[tuple[Fraction, ...]], Adversary]
"""A class of adversaries, made from the shares of the values in the whole table."""


def judge_table(table: Table, quasi: Sequence[str], sensitive: str, against: Against, ratio: Fraction) -> TableVerdict:
    """Judge every group against one class of adversaries."""
    if not quasi:
        raise InvalidInput("no quasi-identifier is named; name at least one column")
    if not table.rows:
        raise InvalidInput("the table has no rows; there is nothing to judge")
    counts = group_counts(table, quasi, sensitive)
    shares = tuple(Fraction(int(count), table.rows) for count in counts.sum(axis=0))
    adversary = against(shares)
    different, inverse = np.unique(counts, axis=0, return_inverse=True)
    verdicts: list[Verdict] = [adversary.judge([int(count) for count in row], ratio) for row in different]
    passed = np.array([verdict.passes for verdict in verdicts])[inverse.ravel()]
    failing = counts[~passed]
    example = None if not len(failing) else min((tuple(map(int, row)) for row in failing), key=lambda row: (sum(row), row))
    first = next((verdict for verdict in verdicts if not verdict.passes), verdicts[0])
    return TableVerdict(len(counts), len(failing), int(failing.sum()), example, first.needs)


def group_counts(table: Table, quasi: Sequence[str], sensitive: str) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """For each group, how many rows have each sensitive value.

    >>> people = Table.of({"age": ["3*", "3*", "4*"], "ill": ["flu", "gout", "flu"]})
    >>> group_counts(people, ["age"], "ill").tolist()
    [[1, 1], [1, 0]]
    """
    group = np.zeros(table.rows, dtype=np.int64)
    for name in quasi:
        column = table[name]
        _, group = np.unique(group * len(column.values) + column.codes, return_inverse=True)
    values = table[sensitive]
    size = int(group.max()) + 1
    return np.bincount(group * len(values.values) + values.codes, minlength=size * len(values.values)).reshape(size, -1)
