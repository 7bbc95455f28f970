"""Margins: which sums of a question are measured, and which are added up from the measured sums of a finer part (stability.md).

ROLLUP (ward, kind) asks for the rows of every ward and kind, of every ward, and of all. Over public keys the count of a ward is the
sum of the counts of its cells: added up, it costs nothing, agrees with them, and has the noise of all of them. Measured by itself,
it has noise once, but epsilon is split further, so that every number has more. Which of the two is better is decided from how many
cells there are and how much noise each number has: public parameters, both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from tacit.accounting.weighted import added_error, moments_error
from tacit.mechanisms.mechanism import Additive
from tacit.privacy.interval import Interval
from tacit.privacy.rounding import Number, exact, float_up
from tacit.query.groups import private, size
from tacit.query.plan import Moment, Question

ADDITIVE = frozenset(
    {"rows", "sum", "centred", "squares", "products"}
)  # of a union of disjoint groups: the sum of those of the groups
MOST_ADDED = 1000  # cells in one margin; from more of them, it is measured

Summed = Mapping[int, tuple[int, int]]
"""The parts whose sums are added up, by number; for each the part with the cells, and how many cells make one of its groups."""


@dataclass(frozen=True, slots=True)
class Added:
    """The noise of `count` numbers of a mechanism, added up."""

    mechanism: Additive
    count: int

    @property
    def name(self) -> str:
        return f"added up from {self.count} numbers with {self.mechanism.name} noise"

    def interval(self, confidence: Number) -> Interval:
        """Where the exact sum lies around the released one, with at least `confidence`: by the law of the sum (added.md)."""
        missed = 1 - exact(confidence, "confidence")
        width = float_up(Fraction(added_error(self.mechanism.name, self.mechanism.scale, self.count, missed)))
        return Interval(width, width)


def half_width_of_sum(mechanism: Additive, count: int, missed: Fraction, by_law: bool = True) -> float:
    """The distance that the sum of `count` noises, in units of the grid, exceeds with a chance of at most `missed` (added.md).

    >>> from tacit.mechanisms.laplace import Laplace
    >>> noise = Laplace(sensitivity=1, epsilon=Fraction(1, 10), step=1, on_grid=True)
    >>> [half_width_of_sum(noise, count, Fraction(1, 20)) for count in (1, 4, 100)]
    [30.0, 57.0, 277.0]
    """
    if count <= 1 or mechanism.scale == 0:
        return float(mechanism.interval(1 - missed).above)
    law = mechanism.name, mechanism.scale, count, missed
    each = count * float(mechanism.interval(1 - missed / count).above)
    return float(min(each, moments_error(*law), added_error(*law) if by_law else each))


@dataclass(frozen=True, slots=True)
class Margin:
    """A sum that is not measured: over the groups of another part, of which it adds up the sums at place `of`."""

    place: int
    moment: Moment
    part: int
    of: int
    mechanism: Added


@dataclass(frozen=True, slots=True)
class Spread:
    """Of every part: how many sums can be added up, their squared sensitivities together; and both for all else it releases."""

    parts: tuple[tuple[int, Fraction, int, Fraction], ...]
    concentrated: bool

    def error(self, added: Summed) -> Fraction:
        """The variances of one number of each part, added up, in units that are the same for every choice.

        Epsilon is split over all that is released, so that every variance grows with the square of how much that is; of
        concentrated noise the sums share what they have together.
        """
        measured = [(at, part) for at, part in enumerate(self.parts) if at not in added]
        shares = sum(part[0] for _, part in measured) + sum(part[2] for part in self.parts)
        squares = sum(part[3] for part in self.parts) + sum(part[1] for _, part in measured)
        squares += sum((count * self.parts[source][1] for source, count in added.values()), start=Fraction(0))
        return Fraction(squares) * shares**2 / (max(1, shares) if self.concentrated else 1)


def summed(question: Question, spread: Spread) -> Summed:
    """The parts whose sums are added up: among choices from none to all that can be, the one with the least error.

    Those that would be made from the most cells are measured first. Of equal choices the one that measures least is taken.
    """
    parts = question.parts
    sources = {at: list(_sources(at, parts)) for at in range(len(parts)) if spread.parts[at][0]}
    largest = sorted((at for at in sources if sources[at]), key=lambda at: min(count for _, count in sources[at]))
    choices = [_from_measured(largest[:kept], sources, spread) for kept in range(len(largest), -1, -1)]
    return min(choices, key=spread.error)


def _from_measured(wanted: list[int], sources: Mapping[int, list[tuple[int, int]]], spread: Spread) -> Summed:
    """Each of these parts with the measured part from which it has the least noise; one that has none is measured itself."""
    found: dict[int, tuple[int, int]] = {}
    for at in wanted:
        measured = [(source, count) for source, count in sources[at] if source not in wanted]
        if measured:
            found[at] = min(measured, key=lambda each: each[1] * spread.parts[each[0]][1])
    return found


def _sources(at: int, parts: tuple[Question, ...]) -> Iterator[tuple[int, int]]:
    """The parts over the same rows whose public groups make up those of one part, with how many make one group."""
    part = parts[at]
    keys, needed = {key.term for key in part.group.keys}, {each for each in part.group.moments if each.kind in ADDITIVE}
    for number, other in enumerate(parts):
        finer = {key.term for key in other.group.keys} > keys and other.group.child == part.group.child
        if finer and not private(other) and needed <= set(other.group.moments):
            count = prod(size(key) for key in other.group.keys if key.term not in keys)
            if count <= MOST_ADDED:
                yield number, count
