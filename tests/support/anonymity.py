"""Small tables, and slow plain ways to count what the anonymizers count quickly."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product
from math import log2
from pathlib import Path

import numpy as np

from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.table import Table

ADULT = Path(__file__).parents[2] / ".." / "shared" / "data" / "adult"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")


def adult(*more: str) -> tuple[Table, dict[str, Hierarchy]]:
    """The 30,162 rows without a missing value, and the hierarchies of the eight quasi-identifiers."""
    table = Table.read(ADULT / "adult.csv.gz", [*QUASI, *more]).drop_missing(["?"])
    return table, {name: Hierarchy.read(ADULT / "hierarchies" / f"{name}.csv") for name in QUASI}


def random_table(seed: int, rows: int = 40) -> tuple[Table, dict[str, Hierarchy]]:
    """Three quasi-identifiers of 2 to 4 levels and a sensitive column."""
    random = np.random.default_rng(seed)
    a, b, c = random.integers(0, 8, rows), random.integers(0, 3, rows), random.integers(0, 4, rows) ** 2
    s = random.integers(0, 3, rows)
    table = Table.of({"a": a, "b": b, "c": c, "s": [f"s{each}" for each in s]})
    hierarchies = {
        "a": Hierarchy.of("a", [(str(each), f"{each // 2}", f"{each // 4}", "*") for each in range(8)]),
        "b": Hierarchy.of("b", [(str(each), "*") for each in range(3)]),
        "c": Hierarchy.of("c", [(str(each), "low" if each < 4 else "high", "*") for each in (0, 1, 4, 9)]),
    }
    return table, hierarchies


def groups_of(table: Table, hierarchies: dict[str, Hierarchy], node: tuple[int, ...]) -> dict[tuple[str, ...], list[int]]:
    """The rows of each group of a node, one row after the other."""
    found = defaultdict(list)
    texts = [table[name].texts() for name in hierarchies]
    forms = [
        {leaf: hierarchy.forms[level][hierarchy.levels[level][place]] for place, leaf in enumerate(hierarchy.leaves)}
        for hierarchy, level in zip(hierarchies.values(), node, strict=True)
    ]
    for row in range(table.rows):
        found[tuple(form[text[row]] for form, text in zip(forms, texts, strict=True))].append(row)
    return found


def all_nodes(hierarchies: dict[str, Hierarchy]) -> list[tuple[int, ...]]:
    return list(product(*(range(hierarchy.height + 1) for hierarchy in hierarchies.values())))


def plain_loss(measure: str, table: Table, hierarchies: dict[str, Hierarchy], node: tuple[int, ...], kept, k: int) -> float:
    """The loss of a node, row by row; `kept` says of the rows of a group whether it is published."""
    groups = groups_of(table, hierarchies, node)
    rows = table.rows
    if measure == "discernibility":
        return sum(len(g) ** 2 if kept(g) else len(g) * rows for g in groups.values()) / rows**2
    if measure == "average":
        number = sum(kept(g) for g in groups.values())
        return float(Fraction(rows, number * k)) if number else float("inf")
    if measure == "kl":
        return _divergence(table, hierarchies, node, groups, kept)
    total = 0.0
    for form, group in groups.items():
        for row in group:
            total += sum(
                _cell(measure, table, hierarchies[name], name, level, row, form[at] if kept(group) else None)
                for at, (name, level) in enumerate(zip(hierarchies, node, strict=True))
            )
    return total / rows / len(hierarchies)


def _below(hierarchy: Hierarchy, level: int, form: str | None) -> list[str]:
    if form is None:
        return list(hierarchy.leaves)
    return [leaf for place, leaf in enumerate(hierarchy.leaves) if hierarchy.forms[level][hierarchy.levels[level][place]] == form]


def _cell(measure: str, table: Table, hierarchy: Hierarchy, name: str, level: int, row: int, form: str | None) -> float:
    if measure == "precision":
        return 1.0 if form is None else level / hierarchy.height
    below = _below(hierarchy, level, form)
    if measure == "ncp":
        return (len(below) - 1) / (len(hierarchy.leaves) - 1)
    counts = Counter(table[name].texts().tolist())
    whole = sum(count * log2(table.rows / count) for count in counts.values()) / table.rows
    return log2(sum(counts[leaf] for leaf in below) / counts[table[name].texts()[row]]) / whole


def _divergence(table: Table, hierarchies: dict[str, Hierarchy], node: tuple[int, ...], groups, kept) -> float:
    leaves = [table[name].texts() for name in hierarchies]
    here = Counter(zip(*(text.tolist() for text in leaves), strict=True))
    total = 0.0
    for form, group in groups.items():
        volume = 1
        for at, (hierarchy, level) in enumerate(zip(hierarchies.values(), node, strict=True)):
            volume *= len(_below(hierarchy, level, form[at] if kept(group) else None))
        for row in group:
            p = here[tuple(text[row] for text in leaves)] / table.rows
            total += log2(p / (len(group) / table.rows / volume)) / table.rows
    return total
