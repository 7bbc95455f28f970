"""Stairs: a tree of comparisons of one row with constants, as the calendar has them, read back as borders and values.

An engine that runs columns of rows by the thousand visits every branch of such a tree for each of them: the quarters of 125 years
take more than a microsecond for a row. In lists with an index, by a bucket of rows in which at most one border lies, it is three
lookups. Compiled (compile.py) and priced (steps.py) by the same function.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from tacit.query.plan import Choose, Compare, Literal, Row

FEWEST = 8  # borders: a smaller tree is as fast
SPARSEST = 8  # buckets for each border: borders that are crowded in one place stay a tree


@dataclass(frozen=True, slots=True)
class Stairs:
    """A row, the borders at which its value changes, in order, and the values between them: one more than borders.

    >>> Stairs(Literal(0), (10, 20, 31), (1, 2, 3, 4)).buckets(0, 40)
    Buckets(power=3, first=(1, 1, 2, 3, 4, 4), then=(1, 2, 3, 4, 4, 4), borders=(8, 10, 20, 31, 40, 48))
    """

    row: Row
    borders: tuple[int, ...]
    values: tuple[int | None, ...]

    @property
    def low(self) -> int:
        return min((value for value in self.values if value is not None), default=0)

    @property
    def high(self) -> int:
        return max((value for value in self.values if value is not None), default=0)

    @property
    def nullable(self) -> bool:
        return self.row.nullable or None in self.values

    def buckets(self, low: int, high: int) -> Buckets:
        """For each bucket of the range, the value up to its border, the one from there on, and the border, less `low`."""
        power = self._power(low, high)
        starts = range(low, high + 1, 2**power)
        before = [bisect_left(self.borders, start) for start in starts]
        inside = [at < len(self.borders) and self.borders[at] < start + 2**power for at, start in zip(before, starts, strict=True)]
        places = list(zip(before, inside, starts, strict=True))
        borders = tuple(self.borders[at] - low if has else start + 2**power - low for at, has, start in places)
        return Buckets(
            power, tuple(self.values[at] for at in before), tuple(self.values[at + has] for at, has, _ in places), borders
        )

    def count(self, low: int, high: int) -> int:
        """How many buckets there are."""
        return ((high - low) >> self._power(low, high)) + 1

    def _power(self, low: int, high: int) -> int:
        """A bucket is the largest power of two that is at most the distance of two borders."""
        return min((right - left for left, right in pairwise(self.borders)), default=high - low + 1).bit_length() - 1


@dataclass(frozen=True, slots=True)
class Buckets:
    """2^power numbers each: the value of those below the border, and of the others."""

    power: int
    first: tuple[int | None, ...]
    then: tuple[int | None, ...]
    borders: tuple[int, ...]


def stairs(node: object) -> Stairs | None:
    """The stairs that a tree is, if it has so many borders, and lie so evenly, that lists are faster; None for any other node."""
    if not isinstance(node, Choose) or (row := _compared(node)) is None:
        return None
    read = _read(node, row)
    if read is None or len(read[0]) < FEWEST or any(left >= right for left, right in pairwise(read[0])):
        return None
    found = Stairs(row, *read)
    return found if found.count(row.low, row.high) <= SPARSEST * len(found.borders) else None


def _read(node: Row, row: Row) -> tuple[tuple[int, ...], tuple[int | None, ...]] | None:
    """Borders and values of a tree whose every branch compares `row`."""
    if isinstance(node, Literal):
        return (), (node.value,)
    if not isinstance(node, Choose) or _compared(node) != row:
        return None
    (test, lower), (_, upper) = node.branches
    one, other = _read(lower, row), _read(upper, row)
    if one is None or other is None or not isinstance(test, Compare) or not isinstance(test.right, Literal):
        return None
    assert test.right.value is not None  # noqa: S101  # by _compared
    return (*one[0], test.right.value, *other[0]), (*one[1], *other[1])


def _compared(node: Choose) -> Row | None:
    """The row of CASE WHEN row < border THEN ... WHEN border <= row THEN ... END; None for any other choice."""
    match node:
        case Choose(
            branches=(
                (Compare(operator="<", left=row, right=Literal(value=border)), _),
                (Compare(operator="<=", left=Literal(value=again), right=same), _),
            ),
            otherwise=Literal(value=None),
        ) if border is not None and border == again and row == same:
            return row
    return None
