"""Small tables as bags of rows, and all the tables that an attacker has to consider.

A bag says how often each row occurs, whatever the order. The attacker counts tables by bags and weighs each with the number of ways
to assign it to rows, so that a few hundred rows in a group can be handled where rows one by one could not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any

from tacit.errors import InvalidInput

Row = tuple[Hashable, Hashable]
"""A combination of quasi-identifiers, and a sensitive value."""

Bag = frozenset[tuple[Row, int]]
"""How often each row occurs."""

MOST_TABLES = 200_000  # a publisher runs on each; some minutes for the slower ones


@dataclass(frozen=True, slots=True)
class Candidate:
    """A table that the attacker has to consider, and its weight before the publisher's choice is considered."""

    table: Bag
    weight: Fraction


def bag(rows: Iterable[Row]) -> Bag:
    """The rows without their order.

    >>> sorted(bag([("q2", "no"), ("q1", "yes"), ("q2", "no")]))
    [(('q1', 'yes'), 1), (('q2', 'no'), 2)]
    """
    return frozenset(Counter(rows).items())


def as_bag(rows: Bag | Iterable[Row]) -> Bag:
    """The rows without their order; a bag stays as it is."""
    return rows if isinstance(rows, frozenset) else bag(rows)


def rows_of(table: Bag) -> list[Row]:
    """The rows of a bag, in a fixed order.

    >>> rows_of(bag([("q2", "no"), ("q1", "yes"), ("q2", "no")]))
    [('q1', 'yes'), ('q2', 'no'), ('q2', 'no')]
    """
    return [row for row, times in sorted(table, key=repr) for _ in range(times)]


def groups_of(table: Bag) -> dict[Hashable, dict[Hashable, int]]:
    """Per published label, how often each value occurs."""
    groups: dict[Hashable, dict[Hashable, int]] = {}
    for (quasi, value), times in sorted(table, key=repr):
        groups.setdefault(quasi, {})[value] = times
    return groups


def splits(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a total as that many counts in a row.

    >>> list(splits(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in splits(total - first, parts - 1):
            yield (first, *rest)


def ways(counts: Sequence[int]) -> int:
    """The number of ways to hand out labels with these counts: a multinomial coefficient.

    >>> ways((2, 1, 1))
    12
    """
    return prod(comb(sum(counts[: place + 1]), each) for place, each in enumerate(counts))


Leaves = Mapping[Any, Sequence[Any]]
"""For a published label, the combinations that it may stand for; a label that is not listed stands for itself."""


def tables_that_fit(output: Bag, leaves: Leaves) -> int:
    """The number of bags that the attacker has to consider for an output."""
    return prod(comb(times + len(leaves.get(quasi, (quasi,))) - 1, times) for (quasi, _), times in output)


def fitting_tables(output: Bag, leaves: Leaves, known: Mapping[Any, int] | None = None) -> Iterator[Candidate]:
    """Every table that the output can be a generalization of; the weight is the number of assignments of leaves to rows.

    `known` is how often each combination occurs, if the attacker has that from an outside table.

    >>> output = bag([("Q", "yes"), ("Q", "no")])
    >>> [(sorted(each.table), int(each.weight)) for each in fitting_tables(output, {"Q": ["q1", "q2"]}, known={"q1": 2})]
    [([(('q1', 'no'), 1), (('q1', 'yes'), 1)], 1)]
    """
    if tables_that_fit(output, leaves) > MOST_TABLES:
        raise InvalidInput(f"more than {MOST_TABLES:,} tables fit; attack one group, or a smaller table")
    parts = []
    for (quasi, value), times in sorted(output, key=repr):
        below = leaves.get(quasi, (quasi,))
        parts.append([[((leaf, value), n) for leaf, n in zip(below, counts, strict=True)] for counts in splits(times, len(below))])
    for chosen in product(*parts):
        table: Counter[Row] = Counter()
        for part in chosen:
            table.update(dict(part))
        if known is None or _quasi(table) == {each: n for each, n in known.items() if n}:
            weight = prod(ways([n for _, n in part]) for part in chosen)
            yield Candidate(frozenset((row, n) for row, n in table.items() if n), Fraction(weight))


def possible_tables(counts_known: Mapping[Any, int], prior: Mapping[Any, Fraction]) -> Iterator[Candidate]:
    """Every table with the known quasi-identifiers, when each person's value is an independent draw from a prior.

    This is the attacker of a refusal: no row is seen, and yet there is an output to reason from.

    >>> tables = possible_tables({"q1": 1}, {"yes": Fraction(1, 4), "no": Fraction(3, 4)})
    >>> [(sorted(each.table), str(each.weight)) for each in tables]
    [([(('q1', 'no'), 1)], '3/4'), ([(('q1', 'yes'), 1)], '1/4')]
    """
    if prod(comb(times + len(prior) - 1, times) for times in counts_known.values()) > MOST_TABLES:
        raise InvalidInput(f"more than {MOST_TABLES:,} tables are possible; attack a smaller table")
    values = list(prior)
    for chosen in product(*(splits(times, len(values)) for times in counts_known.values())):
        rows = {
            (quasi, value): n
            for quasi, counts in zip(counts_known, chosen, strict=True)
            for value, n in zip(values, counts, strict=True)
        }
        weight = prod((prior[value] ** n for (_, value), n in rows.items()), start=Fraction(1))
        yield Candidate(frozenset((row, n) for row, n in rows.items() if n), weight * prod(ways(counts) for counts in chosen))


def _quasi(table: Mapping[Row, int]) -> dict[Hashable, int]:
    counts: Counter[Hashable] = Counter()
    for (quasi, _), times in table.items():
        counts[quasi] += times
    return {quasi: times for quasi, times in counts.items() if times}
