"""A tree of sensitive values, as the checkers need it: heights, nesting, and for each node the range of its leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput


@dataclass(frozen=True)
class Tree:
    """One path for each leaf: the value, then a coarser form for each level, to one that all leaves share.

    >>> tree = Tree((("flu", "lungs", "*"), ("asthma", "lungs", "*"), ("gout", "joints", "*")))
    >>> tree.height, tree.ranges["lungs"], tree.ranges["*"]
    (2, (1, 3), (0, 3))
    """

    paths: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.paths or len({len(path) for path in self.paths}) > 1 or len(self.paths[0]) < 2:
            raise InvalidInput("a tree of values needs a path of equal length, of two levels or more, for each value")
        if len({path[-1] for path in self.paths}) > 1:
            raise InvalidInput("the values of a tree share no root: the last level must be the same for all; add a level such as *")
        for level in range(self.height):
            above: dict[str, str] = {}
            for path in self.paths:
                if above.setdefault(path[level], path[level + 1]) != path[level + 1]:
                    raise InvalidInput(f"levels {level} and {level + 1} of the tree do not nest; give every value one coarser form")
        if len({path[0] for path in self.paths}) < len(self.paths):
            raise InvalidInput("a value has two paths in the tree; give each value one")

    @property
    def height(self) -> int:
        """The level of the root; leaves are at level 0."""
        return len(self.paths[0]) - 1

    @cached_property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """For each node, the first and one past the last of its leaves, when siblings stand side by side."""
        spans: dict[str, tuple[int, int]] = {}
        ordered = sorted(self.paths, key=lambda path: path[::-1])
        for level in range(self.height + 1):
            here: dict[str, list[int]] = {}
            for place, path in enumerate(ordered):
                here.setdefault(path[level], []).append(place)
            for label, places in here.items():
                span = places[0], places[-1] + 1
                if spans.setdefault(label, span) != span:
                    raise InvalidInput("two nodes of the tree have the same name and different values below; rename one of them")
        return spans

    def spans(self, names: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the leaves of each named node begin and end."""
        if any(name not in self.ranges for name in names):
            raise InvalidInput("the tree lacks a value of the column; add a path for each value")
        spans = np.array([self.ranges[name] for name in names], dtype=np.int64).reshape(-1, 2)
        return spans[:, 0], spans[:, 1]

    def levels(self, values: Sequence[Any]) -> list[NDArray[np.int64]]:
        """For each level, a code of the node above each of some leaves."""
        path_of = {path[0]: path for path in self.paths}
        if any(value not in path_of for value in values):
            raise InvalidInput("the tree lacks a value of the column; add a path for each value")
        coded = []
        for level in range(self.height + 1):
            codes = {label: code for code, label in enumerate(dict.fromkeys(path[level] for path in self.paths))}
            coded.append(np.array([codes[path_of[value][level]] for value in values], dtype=np.int64))
        return coded
