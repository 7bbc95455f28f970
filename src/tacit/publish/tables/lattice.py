"""The lattice of full-domain generalizations: a node has one level for each quasi-identifier, and its groups are counted quickly.

Rows are collapsed once into distinct tuples of quasi-identifiers, and into cells of tuple and sensitive values. A node is counted
on the tuples, or rolled up from the fewer groups of a node below it: a group of the finer node lies in one of the coarser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.tables.conditions import Condition, Truths
from tacit.publish.tables.grouping import BITS, Groups, Integers, group_keys, group_rows, pack_keys, sum_by_place
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.table import Codes, Table

Node = tuple[int, ...]
MOST_NODES = 5_000_000  # tags of a lattice are kept in memory
DENSE = 1 << 22  # counts of groups times sensitive values that are held at once


@dataclass(frozen=True, slots=True, eq=False)
class Rolled:
    """The groups of a node: for each one a tuple that lies in it, its rows, and the cells of groups and sensitive values.

    `cells` has for each cell the group, the codes of the sensitive values as one key, and the rows.
    """

    node: Node
    tuples: Integers
    sizes: Integers
    cells: tuple[Integers, Integers, Integers]

    def __len__(self) -> int:
        return len(self.tuples)


@dataclass(frozen=True, eq=False)
class Lattice:
    """A table, its quasi-identifiers with their hierarchies, and its sensitive columns.

    `strict` treats the other sensitive columns as quasi-identifiers where a condition looks at one of several: knowledge of one
    sensitive value must not disclose another. `totals` are the counts of sensitive values that groups are compared with, by default
    those of the table.
    """

    table: Table
    quasi: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy]
    sensitive: tuple[str, ...] = ()
    strict: bool = True
    totals_given: Mapping[str, Integers] | None = None

    def __post_init__(self) -> None:
        if not self.quasi:
            raise InvalidInput("no quasi-identifiers: they are the columns that may be linked to outside data; name at least one")
        if len(set(self.quasi)) < len(self.quasi) or set(self.quasi) & set(self.sensitive):
            raise InvalidInput("a column stands twice among the quasi-identifiers and sensitive columns; name each once")
        if self.table.rows == 0:
            raise InvalidInput(
                "the table has no rows left; expected at least one, so check the file and the values that are missing"
            )

    @cached_property
    def above(self) -> tuple[tuple[Codes, ...], ...]:
        """For each quasi-identifier and level, the form of each value of the column."""
        return tuple(self.hierarchies[name].of_column(self.table[name]) for name in self.quasi)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each quasi-identifier."""
        return tuple(len(levels) for levels in self.above)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return prod(self.shape)

    def check_size(self) -> None:
        """Refuse a lattice that is too large to be searched."""
        if self.nodes > MOST_NODES:
            most = f"at most {MOST_NODES:,} are searched"
            raise InvalidInput(f"the lattice has {self.nodes:,} nodes: {most}; use fewer levels or columns, or the method mondrian")

    @cached_property
    def tuples(self) -> Groups:
        """The distinct tuples of quasi-identifiers: for each the first row, and for each row its tuple."""
        columns = [self.table[name] for name in self.quasi]
        return group_rows([column.codes for column in columns], [len(column.values) for column in columns])

    @cached_property
    def _sensitive_sizes(self) -> tuple[int, ...]:
        return tuple(len(self.table[name].values) for name in self.sensitive)

    @cached_property
    def sensitive_keys(self) -> Integers:
        """The sensitive values of every row as one key."""
        if prod(self._sensitive_sizes) >= 1 << BITS:
            raise InvalidInput("the sensitive columns have too many values together; name fewer of them")
        return pack_keys([self.table[name].codes for name in self.sensitive], self._sensitive_sizes)[0]

    @cached_property
    def bottom(self) -> Rolled:
        """The groups of the table as it is."""
        sizes = self.tuples.sizes()
        if not self.sensitive:
            nothing = np.empty(0, dtype=np.int64)
            return Rolled((0,) * len(self.quasi), np.arange(len(self.tuples)), sizes, (nothing, nothing, nothing))
        key = self.sensitive_keys
        cells = group_rows([self.tuples.of_row, key], [len(self.tuples), prod(self._sensitive_sizes)])
        kept = self.tuples.of_row[cells.first], key[cells.first], cells.sizes()
        return Rolled((0,) * len(self.quasi), np.arange(len(self.tuples)), sizes, kept)

    @cached_property
    def _forms(self) -> tuple[tuple[tuple[Integers, int], ...], ...]:
        """For each quasi-identifier and level, the form of each tuple as a code without gaps, and how many codes there are."""
        forms_of_columns = []
        for name, levels in zip(self.quasi, self.above, strict=True):
            codes = self.table[name].codes[self.tuples.first]
            dense = [np.unique(level, return_inverse=True) for level in levels]
            forms_of_columns.append(tuple((inverse.reshape(-1)[codes].astype(np.int64), len(there)) for there, inverse in dense))
        return tuple(forms_of_columns)

    def roll_up(self, node: Node, source: Rolled | None = None) -> Rolled:
        """The groups of a node, from those of a node that is nowhere above it."""
        below = source or self.bottom
        forms = [levels[level] for levels, level in zip(self._forms, node, strict=True)]
        groups = group_rows([codes[below.tuples] for codes, _ in forms], [size for _, size in forms])
        cells = below.cells
        if self.sensitive:
            inside, values, rows = cells
            merged = group_rows([groups.of_row[inside], values], [len(groups), prod(self._sensitive_sizes)])
            cells = groups.of_row[inside][merged.first], values[merged.first], merged.sizes(rows)
        return Rolled(node, below.tuples[groups.first], groups.sizes(below.sizes), cells)

    def of_tuples(self, node: Node) -> Groups:
        """The groups of a node with the group of every tuple; numbered as in `rolled`, whatever that was rolled up from."""
        forms = [levels[level] for levels, level in zip(self._forms, node, strict=True)]
        return group_rows([codes for codes, _ in forms], [size for _, size in forms])

    def of_rows(self, node: Node) -> Integers:
        """The group of every row."""
        return self.of_tuples(node).of_row[self.tuples.of_row]

    def meets_all(self, rolled: Rolled, conditions: Sequence[Condition]) -> Truths:
        """For each group whether it meets all conditions."""
        complies = np.ones(len(rolled), dtype=np.bool_)
        for condition in conditions:
            if condition.sensitive is None:
                empty = np.empty((len(rolled), 0), dtype=np.int64)
                complies &= condition.holds(rolled.sizes, empty, np.empty(0, dtype=np.int64))
            else:
                complies &= self._meets(rolled, condition, condition.sensitive)
        return complies

    def falls(self, condition: Condition) -> bool:
        """Whether rows that violate a condition can only fall from a node to one above it.

        Not where other sensitive columns count as known: a group that complies may be merged with one that has other values there.
        """
        alone = condition.sensitive is None or not self.strict or len(self.sensitive) == 1
        return condition.falls and alone

    def totals(self, name: str) -> Integers:
        """How often each value of a sensitive column occurs in the whole table."""
        return self._totals[name]

    @cached_property
    def _totals(self) -> dict[str, Integers]:
        given = self.totals_given or {}
        return {name: given[name] if name in given else self.table[name].counts() for name in self.sensitive}

    def _meets(self, rolled: Rolled, condition: Condition, name: str) -> Truths:
        inside, codes, others = self._split_keys(rolled.cells[1], name)
        group, rows = rolled.cells[0], rolled.cells[2]
        parts = group_keys(*pack_keys([group, others], [len(rolled), inside])) if self.strict and len(self.sensitive) > 1 else None
        places = group if parts is None else parts.of_row
        number = len(rolled) if parts is None else len(parts)
        holds = _holds_in_parts(condition, places, codes, rows, (number, len(self.table[name].values)), self.totals(name))
        if parts is None:
            return holds
        broken = np.bincount(group[parts.first][~holds], minlength=len(rolled))
        return np.asarray(broken == 0)

    def _split_keys(self, keys: Integers, name: str) -> tuple[int, Integers, Integers]:
        """From keys of all sensitive values: the number of keys of the others, this one's codes, and the others' keys."""
        place = self.sensitive.index(name)
        after = prod(self._sensitive_sizes[place + 1 :])
        size = self._sensitive_sizes[place]
        codes = keys // after % size
        others = keys // (after * size) * after + keys % after
        return prod(self._sensitive_sizes) // max(size, 1), codes, others


def _holds_in_parts(
    condition: Condition, places: Integers, codes: Integers, rows: Integers, shape: tuple[int, int], totals: Integers
) -> Truths:
    """Whether each group meets a condition, with a bounded number of counts in memory at once."""
    groups, values = shape
    order = np.argsort(places, kind="stable")
    places, codes, rows = places[order], codes[order], rows[order]
    step = max(1, DENSE // max(values, 1))
    parts = []
    for low in range(0, groups, step):
        high = min(groups, low + step)
        begin, end = np.searchsorted(places, [low, high])
        keys = (places[begin:end] - low) * values + codes[begin:end]
        counts = sum_by_place(keys, rows[begin:end], (high - low) * values).reshape(high - low, values)
        parts.append(condition.holds(counts.sum(axis=1), counts, totals))
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.bool_)
