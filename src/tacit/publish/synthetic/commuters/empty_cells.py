"""The probability that an empty cell keeps its fake workers: a function of the public map and the destination, never of the flows.

A cell with a worker always keeps its noise. An empty cell keeps it with a public probability, and is left out of the map otherwise.
That removes fake commuters from the map at a price. Someone who moves into an empty cell changes the probability that the cell is
on the map at all, so the loss grows by the factor that dirichlet.md derives, at least 1 over the smallest probability. The slides
of the tutorial say "ignore b with probability f(b)": read with their theorem and their figures, f is the probability to KEEP b.
A probability of 0 puts noise on occupied cells only, which is a breach: a worker alone in a cell is proved to live there.

    all                every cell keeps its noise
    uniform:0.1        every empty cell with probability 1/10
    distance:0.1       1 within 5 km, halved whenever the distance doubles, and never below 1/10; distance:0.1:20 begins at 20 km
    file:CHANCES.csv   by cell, from a public file with the columns origin and keep; cells not listed keep their noise
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.files.columns import read_columns
from tacit.errors import InvalidInput, NotAllowed
from tacit.privacy.rounding import Number, exact
from tacit.publish.synthetic.commuters.geography import ELSEWHERE, Codes, Domain

ONE = Fraction(1)
BEGIN = 5.0  # kilometers within which distance:... keeps every cell
METRE, FARTHEST = Fraction(1, 1000), 20_100  # kilometers: a smaller or larger value is a mistake


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """The keep probabilities of a domain's cells, in few classes: `classes` in descending order, and the class of every cell."""

    classes: tuple[Fraction, ...]
    of_cell: NDArray[np.int64]

    @property
    def least(self) -> Fraction:
        """The smallest probability that an empty cell is kept."""
        return min(self.classes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells in each class."""
        return tuple(np.bincount(self.of_cell, minlength=len(self.classes)).tolist())

    @property
    def order(self) -> NDArray[np.int64]:
        """The cells class by class, in ascending order inside each: an urn numbers its blocks in this order."""
        return np.arange(len(self.of_cell)) if len(self.classes) == 1 else np.argsort(self.of_cell, kind="stable")


@dataclass(frozen=True, slots=True)
class All:
    """Every cell keeps its noise.

    >>> print(All())
    all
    """

    def chances(self, domain: Domain) -> Chances:
        """The probability of each cell of a domain to be kept if it is empty."""
        return Chances((ONE,), np.zeros(len(domain), dtype=np.int64))

    def __str__(self) -> str:
        return "all"


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every empty cell keeps its noise with the same probability; the cell `elsewhere` always does."""

    chance: Fraction

    def chances(self, domain: Domain) -> Chances:
        """The probability of each cell of a domain to be kept if it is empty."""
        classes = np.ones(len(domain), dtype=np.int64)
        classes[-1] = 0
        return _classes([ONE, self.chance], classes)

    def __str__(self) -> str:
        return f"uniform:{self.chance}"


@dataclass(frozen=True, slots=True)
class ByDistance:
    """1 within `begin` kilometers, 1/2 up to twice that, 1/4 up to four times, and so on, but never below `least`."""

    least: Fraction
    begin: float = BEGIN

    def chances(self, domain: Domain) -> Chances:
        """The probability of each cell of a domain to be kept if it is empty."""
        halvings = np.ceil(np.log2(np.maximum(np.nan_to_num(domain.distances, nan=0.0) / self.begin, 1.0))).astype(np.int64)
        steps = [ONE]
        while steps[-1] > self.least:
            steps.append(max(steps[-1] / 2, self.least))
        return _classes(steps, np.minimum(halvings, len(steps) - 1))

    def __str__(self) -> str:
        return f"distance:{self.least}" + ("" if self.begin == BEGIN else f":{self.begin:g}")


@dataclass(frozen=True, slots=True, eq=False)
class ByName:
    """Probabilities by the name of the cell, from public data; a cell that is not named keeps its noise."""

    named: Mapping[str, Fraction]
    source: str = "chances by name"

    def require_known(self, names: Iterable[NDArray[Any]]) -> None:
        """Refuse probabilities if none of them is for a cell: names are written as on the map. Others may be of a larger map."""
        if not any(str(name) in self.named for cells in names for name in cells):
            raise InvalidInput(f"no origin of {self.source} is on the map; write origins as the map does, with leading zeros")

    def chances(self, domain: Domain) -> Chances:
        """The probability of each cell of a domain to be kept if it is empty."""
        steps = sorted({ONE, *self.named.values()}, reverse=True)
        place = {chance: number for number, chance in enumerate(steps)}
        classes = np.array([place[self.named.get(str(name), ONE)] for name in domain.names], dtype=np.int64)
        classes[-1] = 0
        return _classes(steps, classes)

    def __str__(self) -> str:
        return self.source


Keeping = All | Uniform | ByDistance | ByName


def read_keeping(written: str) -> Keeping:
    """The rule in the notation that the module describes.

    >>> print(read_keeping("distance:0.1"), read_keeping("uniform:0.25"))
    distance:1/10 uniform:1/4
    >>> read_keeping("uniform:0")
    Traceback (most recent call last):
    ...
    tacit.errors.NotAllowed: a probability of 0 puts noise on occupied cells only, which proves that a worker alone in a cell \
lives there; give every empty cell a probability above 0, for example distance:0.1
    """
    kind, _, rest = written.partition(":")
    if kind not in KINDS or (kind == "all") != (not rest):
        raise InvalidInput(f"invalid rule {written[:60]!r}; expected all, uniform:0.1, distance:0.1 or file:CHANCES.csv")
    return KINDS[kind](rest)


def chance(value: Number) -> Fraction:
    """A probability above 0 and at most 1; 0 is refused with the reason."""
    probability = exact(value, "keep")
    if probability == 0:
        raise NotAllowed(
            "a probability of 0 puts noise on occupied cells only, which proves that a worker alone in a cell lives there",
            remedy="give every empty cell a probability above 0, for example distance:0.1",
        )
    if not 0 < probability <= 1:
        raise InvalidInput(f"invalid probability {value}; it must be above 0 and at most 1")
    return probability


def _by_distance(written: str) -> Keeping:
    least, _, begin = written.partition(":")
    start = exact(begin, "kilometres") if begin else Fraction(BEGIN)
    if not METRE <= start <= FARTHEST:
        raise InvalidInput(f"invalid distance {begin[:40]}; it must be from 0.001 to {FARTHEST:,} km")
    return ByDistance(chance(least), float(start))


def _by_name(path: str) -> Keeping:
    names, chances = read_columns(path, ["origin", "keep"])
    listed = names.to_pylist()
    if len(set(listed)) < len(listed):
        raise InvalidInput(f"{Path(path).name} has a duplicate origin; give each cell one probability")
    named = {name: chance(written) for name, written in zip(listed, chances.to_pylist(), strict=True) if name != ELSEWHERE}
    return ByName(named, f"file:{Path(path).name}")


KINDS: Mapping[str, Callable[[str], Keeping]] = {
    "all": lambda _: All(),
    "uniform": lambda written: Uniform(chance(written)),
    "distance": _by_distance,
    "file": _by_name,
}


def _classes(chances: list[Fraction], of_cell: Codes) -> Chances:
    """The classes that occur, in descending order."""
    used, cells = np.unique(of_cell, return_inverse=True)
    kept = [chances[number] for number in used]
    distinct = sorted(set(kept), reverse=True)
    places = np.array([distinct.index(each) for each in kept], dtype=np.int64)
    return Chances(tuple(distinct), places[cells])
