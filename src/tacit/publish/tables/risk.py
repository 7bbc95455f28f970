"""Re-identification risk of a published table. Every figure is a fact about private data: for the data owner, not to be published.

Prosecutor: the attacker knows that the person is in the table, and picks one of the m rows of the person's group: 1/m.
Journalist: the attacker picks one of the M people of that group in the population: 1/M.
Marketer: the attacker picks for every row, and any hit counts: the expected share of rows that are found.

Suppressed rows belong to no group. The figures are given without them, and once more with all of them as one group: someone who
fits no published group is among them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import exact
from tacit.publish.tables.models.rows import Column, Rows, packed

NOT_TO_BE_PUBLISHED = "for the data owner: not to be published"
FINEST = 10**9  # weights have at most 9 decimals
HIGH = Fraction(1, 5)  # the threshold that regulators of health data most often set: groups of fewer than 5


@dataclass(frozen=True, slots=True)
class Risk:
    """Figures of one set of groups: the largest risk of a row, the mean, the share of rows above 1/5, and rows that are alone."""

    rows: int
    groups: int
    largest: Fraction
    mean: Fraction
    high: Fraction
    uniques: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the mark."""
        return {name: str(each) if isinstance(each, Fraction) else each for name, each in asdict(self).items()} | {
            "not_to_be_published": True
        }


def prosecutor(rows: Rows) -> Risk:
    """The risk of rows by the size of their group. The mean, groups over rows, is the marketer's share as well.

    >>> from tacit.publish.tables.models.rows import rows_of
    >>> risk = prosecutor(rows_of({"age": ["20-29"] * 4 + ["30-39"]}, ["age"]))
    >>> print(risk.largest, risk.mean, risk.uniques)
    1 2/5 1
    """
    return _risk(rows.groups.sizes, rows.groups.sizes)


def with_suppressed(rows: Rows) -> Risk:
    """The same with all suppressed rows as one more group."""
    lost = int(rows.suppressed.sum())
    sizes = np.append(rows.groups.sizes, lost) if lost else rows.groups.sizes
    return _risk(sizes, sizes)


def journalist(rows: Rows, population: Rows) -> Risk:
    """The risk of rows by the size of their group in a population that has the same quasi-identifiers in the same form.

    The mean is the marketer's share: the expected share of rows found by one who picks a person of the population for each row.
    `uniques` counts rows that are alone in the population.
    """
    if list(rows.quasi) != list(population.quasi):
        raise InvalidInput("the population must have the same quasi-identifiers as the table; name the same columns of both")
    kept, people = ~rows.suppressed, ~population.suppressed
    joined = [_joined(rows.quasi[name], kept, population.quasi[name], people) for name in rows.quasi]
    codes, number = packed([each.codes for each in joined], [len(each.values) for each in joined])
    here = int(kept.sum())
    sizes = np.bincount(codes[:here], minlength=number).astype(np.int64)
    larger = np.bincount(codes[here:], minlength=number).astype(np.int64)
    there = sizes > 0
    if (larger[there] < sizes[there]).any():
        raise InvalidInput(
            "the population has fewer people in a group than the table has rows; it must contain everyone in the table"
        )
    return _risk(sizes[there], larger[there])


def estimated(rows: Rows, weight: str) -> Risk:
    """The journalist's risk if the rows are a sample: the people of a group are estimated by the sum of the weights of its rows.

    An estimate, and no bound: sampling errors of small groups are large. `uniques` counts rows of groups of at most one person.

    >>> from tacit.publish.tables.models.rows import rows_of
    >>> sample = rows_of({"age": ["20-29", "20-29", "30-39"], "weight": ["50", "30.5", "12"]}, ["age"])
    >>> print(estimated(sample, "weight").largest)
    1/12
    """
    if weight not in rows.others:
        raise InvalidInput(f"unknown column of weights {weight!r}; name a column that is neither a quasi-identifier nor sensitive")
    column, kept = rows.others[weight], ~rows.suppressed
    numbers = [exact(value, "weight") for value in column.values]
    if any(number <= 0 for number in numbers):
        raise InvalidInput("weight must be above 0 in every row; a row stands for that many people")
    scale = lcm(*(number.denominator for number in numbers))
    if scale > FINEST:
        raise InvalidInput("weight must have at most 9 decimals; round the weights")
    scaled = np.array([int(number * scale) for number in numbers], dtype=object)[column.codes[kept]]
    people = np.zeros(len(rows.groups.sizes), dtype=object)
    np.add.at(people, rows.groups.of_row[kept], scaled)
    return _risk(rows.groups.sizes, people, scale)


def _risk(sizes: NDArray[np.int64], larger: NDArray[Any], scale: int = 1) -> Risk:
    """Rows of each group, and the number of people that each of them is taken from, in units of 1/scale; at least one person."""
    total, people = int(sizes.sum()), np.maximum(larger, scale)
    different, place = np.unique(people, return_inverse=True)
    rows_of = np.zeros(len(different), dtype=np.int64)
    np.add.at(rows_of, place, sizes)
    mean = sum((Fraction(int(rows) * scale, int(size)) for rows, size in zip(rows_of, different, strict=True)), Fraction(0)) / total
    high = Fraction(int(sizes[people * HIGH.numerator < HIGH.denominator * scale].sum()), total)
    return Risk(total, len(sizes), Fraction(scale, int(different[0])), mean, high, int(sizes[people == scale].sum()))


def _joined(one: Column, kept: NDArray[np.bool_], other: Column, people: NDArray[np.bool_]) -> Column:
    """Two columns under one code."""
    values = tuple(dict.fromkeys((*one.values, *other.values)))
    places = {value: place for place, value in enumerate(values)}
    first = np.array([places[value] for value in one.values], dtype=np.int64)[one.codes[kept]]
    second = np.array([places[value] for value in other.values], dtype=np.int64)[other.codes[people]]
    return Column(np.concatenate([first, second]), values)
