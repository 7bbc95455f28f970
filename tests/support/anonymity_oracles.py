"""Slow definitions of the anonymity models, in fractions and straight from the papers. They share no code with the checkers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from scipy.optimize import linprog


def groups(rows: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], list[str]]:
    """The sensitive values, which stand last, of the rows that agree in all that stands before."""
    found: dict[tuple[str, ...], list[str]] = {}
    for *quasi, sensitive in rows:
        found.setdefault(tuple(quasi), []).append(sensitive)
    return found


def share(value: str, rows: Sequence[str]) -> Fraction:
    return Fraction(list(rows).count(value), len(rows))


def sorted_counts(rows: Sequence[str]) -> list[int]:
    return sorted(Counter(rows).values(), reverse=True)


def least_rows(table) -> int:
    return min(len(rows) for rows in groups(table).values())


def least_values(table) -> int:
    return min(len(set(rows)) for rows in groups(table).values())


def largest_share(table, protected=None) -> Fraction:
    return max(
        share(v, rows) for rows in groups(table).values() for v in set(rows) | {""} if protected is None or v in protected or not v
    )


def has_entropy(rows: Sequence[str], least: Fraction) -> bool:
    """m^m b^m >= a^m prod c^c for l = a/b, as integers."""
    size, right = len(rows), 1
    for count in Counter(rows).values():
        right *= count**count
    return size**size * least.denominator**size >= least.numerator**size * right


def is_recursive(rows: Sequence[str], c: Fraction, most: int) -> bool:
    counts = sorted_counts(rows)
    return counts[0] < c * sum(counts[most - 1 :])


def equal_distance(rows: Sequence[str], whole: Sequence[str]) -> Fraction:
    return sum((abs(share(v, rows) - share(v, whole)) for v in set(whole)), Fraction(0)) / 2


def ordered_distance(rows: Sequence[str], whole: Sequence[str]) -> Fraction:
    domain = sorted(set(whole), key=Fraction)
    running, total = Fraction(0), Fraction(0)
    for value in domain[:-1]:
        running += share(value, rows) - share(value, whole)
        total += abs(running)
    return total / (len(domain) - 1) if len(domain) > 1 else Fraction(0)


def hierarchical_distance(rows: Sequence[str], whole: Sequence[str], paths: Sequence[tuple[str, ...]]) -> Fraction:
    """The recursive form of Li et al.: extra, pos, neg and cost of each inner node."""
    height = len(paths[0]) - 1

    def extra(level: int, label: str) -> Fraction:
        below = {path[0] for path in paths if path[level] == label}
        return sum((share(v, rows) - share(v, whole) for v in below), Fraction(0))

    total = Fraction(0)
    for level in range(1, height + 1):
        for node in {path[level] for path in paths}:
            extras = [extra(level - 1, child) for child in {path[level - 1] for path in paths if path[level] == node}]
            positive, negative = sum(x for x in extras if x > 0), -sum(x for x in extras if x < 0)
            total += Fraction(level, height) * min(positive, negative)
    return total


def transport(rows: Sequence[str], whole: Sequence[str], ground) -> float:
    """The least work of moving the shares of the rows into those of the whole table: a linear program, nothing cleverer."""
    values = sorted(set(whole))
    pairs = list(product(values, values))
    sums = [[float(p[0] == v) for p in pairs] for v in values] + [[float(p[1] == v) for p in pairs] for v in values]
    shares = [float(share(v, rows)) for v in values] + [float(share(v, whole)) for v in values]
    return float(linprog([ground(*pair) for pair in pairs], A_eq=sums, b_eq=shares).fun)


def disclosure(rows: Sequence[str], whole: Sequence[str]) -> Fraction | None:
    """The largest of p/q and q/p; None where a value of the table is absent."""
    worst = Fraction(1)
    for value in set(whole):
        p, q = share(value, rows), share(value, whole)
        if not p:
            return None
        worst = max(worst, p / q, q / p)
    return worst


def breach(rows: Sequence[str], guard: str, paths: Sequence[tuple[str, ...]]) -> Fraction:
    """The chance that a value below the guarding node is the person's, each row and each leaf below it being equally likely."""
    leaves = {label: {path[0] for path in paths if label in path} for path in paths for label in path}
    return sum((Fraction(len(leaves[v] & leaves[guard]), len(leaves[v])) for v in rows), Fraction(0)) / len(rows)
