"""The result of an anonymizer: for each quasi-identifier the published form of every row, and the suppressed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.publish.tables.conditions import Floats, Truths
from tacit.publish.tables.grouping import Groups, Integers, group_rows
from tacit.publish.tables.lattice import Lattice, Node
from tacit.publish.tables.table import Column


@dataclass(frozen=True, eq=False)
class Form:
    """A published column: its forms as a column, and for each form the share of the column's range that it covers, 0 to 1."""

    column: Column
    covers: Floats


@dataclass(frozen=True, eq=False)
class Recoded:
    """The published quasi-identifiers of every row, the suppressed rows, and figures on the work of the method."""

    forms: tuple[Form, ...]
    suppressed: Truths
    work: dict[str, Any] = field(default_factory=dict)

    def groups(self) -> tuple[Groups, Integers]:
        """The groups of the rows that are not suppressed, and the numbers of these rows."""
        rows = np.flatnonzero(~self.suppressed)
        columns = [form.column for form in self.forms]
        return group_rows([column.codes[rows] for column in columns], [len(column.values) for column in columns]), rows

    def sizes(self) -> Integers:
        """The size of each group."""
        return self.groups()[0].sizes()

    def losses(self, k: int, weights: Sequence[float]) -> dict[str, float]:
        """The measures that every method has: discernibility, average and ncp, as in measures.py."""
        rows, sizes = len(self.suppressed), self.sizes().astype(np.float64)
        gone = float(self.suppressed.sum())
        share = np.array(weights, dtype=np.float64) / sum(weights)
        cells = [float(form.covers[form.column.codes[~self.suppressed]].sum()) for form in self.forms]
        return {
            "discernibility": (float((sizes**2).sum()) + rows * gone) / rows**2,
            "average": rows / len(sizes) / k if len(sizes) else float("inf"),
            "ncp": (float(np.dot(share, cells)) + gone) / rows,
        }


def full_domain(lattice: Lattice, node: Node, published: Truths) -> Recoded:
    """The table at a node, with the groups suppressed that are not published."""
    forms = []
    for place, (name, level) in enumerate(zip(lattice.quasi, node, strict=True)):
        hierarchy, column = lattice.hierarchies[name], lattice.table[name]
        codes = lattice.above[place][level][column.codes]
        covers = (hierarchy.leaf_counts[level] - 1) / max(len(hierarchy.leaves) - 1, 1)
        forms.append(Form(Column(column.name, hierarchy.forms[level], codes), covers))
    return Recoded(tuple(forms), ~published[lattice.of_rows(node)])


def join_parts(parts: Sequence[tuple[Integers, Recoded]], rows: int) -> Recoded:
    """One table of several, each with the numbers of its rows; a row that none of them publishes is suppressed."""
    suppressed = np.ones(rows, dtype=np.bool_)
    for numbers, part in parts:
        suppressed[numbers[~part.suppressed]] = False
    forms = []
    for place, first in enumerate(parts[0][1].forms):
        words: dict[str, int] = {}
        covers: list[float] = []
        codes = np.zeros(rows, dtype=np.int32)
        for numbers, part in parts:
            form = part.forms[place]
            for word, share in zip(form.column.values, form.covers, strict=True):
                if words.setdefault(word, len(covers)) == len(covers):
                    covers.append(float(share))
                covers[words[word]] = max(covers[words[word]], float(share))
            places = np.array([words[word] for word in form.column.values], dtype=np.int32)
            kept = ~part.suppressed
            codes[numbers[kept]] = places[form.column.codes[kept]]
        forms.append(Form(Column(first.column.name, tuple(words), codes), np.array(covers)))
    return Recoded(tuple(forms), suppressed)
