"""Databases as histograms over a finite universe: small worlds in which a claim can be checked on every pair of neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

from tacit.errors import InvalidInput
from tacit.privacy.loss import Neighbours


@dataclass(frozen=True, slots=True)
class Universe:
    """The values that a row can have. `max_copies` limits how often one element may occur (1 for the edges of a graph).

    The heights of a lecture: feet and inches, and the distance of two databases.

    >>> heights = Universe(tuple(range(48, 97)))                             # 4 to 8 feet, in inches
    >>> one = heights.database([62, 73, 68, 68, 72])                         # 5'2 6'1 5'8 5'8 6'0
    >>> other = heights.database([62, 62, 63, 68, 72, 73])                   # one more 5'2, a 5'3, one 5'8 less
    >>> one.size, other.size, one.distance(other)
    (5, 6, 3)
    """

    elements: tuple[Hashable, ...]
    max_copies: int | None = None

    def __post_init__(self) -> None:
        if not self.elements or len(set(self.elements)) != len(self.elements):
            raise InvalidInput("elements must be a non-empty tuple of distinct elements")
        if self.max_copies is not None and self.max_copies < 1:
            raise InvalidInput(f"max_copies must be at least 1 or None, not {self.max_copies}")

    def database(self, rows: Iterable[Hashable]) -> Database:
        """The histogram of `rows`."""
        counted = Counter(rows)
        unknown = set(counted) - set(self.elements)
        if unknown:
            raise InvalidInput(f"{len(unknown)} of the rows are not elements of the universe; add them to `elements`")
        return Database(self, tuple(counted[element] for element in self.elements))

    def databases(self, size: int) -> Iterator[Database]:
        """Every database of exactly `size` rows."""
        if self.max_copies == 1:
            yield from (self.database(rows) for rows in combinations(self.elements, size))
            return
        for rows in combinations_with_replacement(self.elements, size):
            if self.max_copies is None or max(Counter(rows).values(), default=0) <= self.max_copies:
                yield self.database(rows)

    def databases_up_to(self, size: int) -> Iterator[Database]:
        """Every database of at most `size` rows, the empty one first."""
        for rows in range(size + 1):
            yield from self.databases(rows)


@dataclass(frozen=True, slots=True)
class Database:
    """How often each element of the universe occurs."""

    universe: Universe
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        limit = self.universe.max_copies
        if len(self.counts) != len(self.universe.elements) or any(c < 0 or (limit or c) < c for c in self.counts):
            raise InvalidInput("a database requires one count per element of its universe, from 0 to max_copies")

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(self.counts)

    @property
    def rows(self) -> tuple[Hashable, ...]:
        """The rows, in the order of the universe."""
        return tuple(e for e, c in zip(self.universe.elements, self.counts, strict=True) for _ in range(c))

    def distance(self, other: Database) -> int:
        """The l1 distance of the histograms, which is the size of the symmetric difference of the multisets."""
        if self.universe != other.universe:
            raise InvalidInput("the distance is defined only for two databases of the same universe")
        return sum(abs(one - two) for one, two in zip(self.counts, other.counts, strict=True))

    def neighbours(self, relation: Neighbours) -> Iterator[Database]:
        """Every database that `relation` makes a neighbour of this one.

        >>> bits = Universe((0, 1))
        >>> [n.counts for n in bits.database([0, 1]).neighbours(Neighbours("change-one"))]
        [(0, 2), (2, 0)]
        """
        places = range(len(self.counts))
        if relation.change == "change-one":
            moves = [(source, target) for source in places for target in places if source != target]
            yield from self._databases_after([((source, -1), (target, 1)) for source, target in moves])
        else:
            yield from self._databases_after([((place, change),) for place in places for change in (-1, 1)])

    def _databases_after(self, moves: Iterable[tuple[tuple[int, int], ...]]) -> Iterator[Database]:
        for move in moves:
            counts = list(self.counts)
            for place, change in move:
                counts[place] += change
            if all(0 <= c <= (self.universe.max_copies or c) for c in counts):
                yield Database(self.universe, tuple(counts))


def units(rows: Iterable[Hashable], max_rows: int) -> Universe:
    """The universe whose elements are units: every multiset of one to `max_rows` of the given rows.

    >>> units(["a", "b"], max_rows=2).elements
    (('a',), ('b',), ('a', 'a'), ('a', 'b'), ('b', 'b'))
    """
    choices = tuple(rows)
    return Universe(tuple(unit for k in range(1, max_rows + 1) for unit in combinations_with_replacement(choices, k)))


def edges(nodes: int) -> Universe:
    """The universe of simple graphs on `nodes` nodes: a database is a set of edges.

    >>> sum(1 for _ in edges(3).databases_up_to(3))
    8
    """
    return Universe(tuple(combinations(range(nodes), 2)), max_copies=1)
