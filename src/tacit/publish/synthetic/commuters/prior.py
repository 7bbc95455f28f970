"""A public prior for fake workers: where they are likely, in whole multiples of what the least likely cell gets.

With the same noise on every cell, fake workers come from everywhere alike, and most of them from far away. A prior puts more of
them where commuters probably live, from public knowledge alone: distance, population, or a map that was released before. It is
priced by its smallest value: a cell of weight w is w pieces with the same noise, and the pieces of a cell are added up afterwards
(dirichlet.md, section 7).

    even                 the same on every cell
    distance             more near the destination: 1 / (1 + (km / 5)^2) of what the nearest cells get
    file:PEOPLE.csv      by cell, from a public file with the columns origin and weight (or jobs), for example the population
    file:LAST.csv        the same with a column destination: a released map of an earlier year, for each destination by itself
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.data.files.columns import column_names, read_columns
from tacit.errors import InvalidInput
from tacit.privacy.arguments import whole_of
from tacit.publish.synthetic.commuters.geography import Codes, Domain, Numbers

USUAL, MOST = 10, 1000  # the weight of the likeliest cell, where the least likely has 1
NEAR = 5.0  # kilometers
Named = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Even:
    """The same noise on every cell.

    >>> print(Even())
    even
    """

    def weights(self, domain: Domain, destination: str) -> Codes:
        """The weight of each cell of a domain: 1."""
        return np.ones(len(domain), dtype=np.int64)

    def __str__(self) -> str:
        return "even"


@dataclass(frozen=True, slots=True)
class Near:
    """More near the destination, by public distances; `elsewhere` has the least."""

    most: int = USUAL

    def weights(self, domain: Domain, destination: str) -> Codes:
        """The weight of each cell of a domain."""
        return whole_weights(np.nan_to_num(1 / (1 + (domain.distances / NEAR) ** 2), nan=0.0), self.most)

    def __str__(self) -> str:
        return f"distance, up to {self.most}"


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """By the names of cells, from a public file; `by_destination` where it says more of a destination. Others have the least."""

    everywhere: Named
    by_destination: Mapping[str, Named]
    source: str
    most: int = USUAL

    def weights(self, domain: Domain, destination: str) -> Codes:
        """The weight of each cell of a domain."""
        named = self.by_destination.get(destination, self.everywhere)
        return whole_weights(np.array([named.get(str(name), 0.0) for name in domain.names]), self.most)

    def __str__(self) -> str:
        return f"{self.source}, up to {self.most}"


Prior = Even | Near | Listed


def whole_weights(values: Numbers, most: int) -> Codes:
    """Weights from 1 to `most`, the largest value having `most`.

    >>> whole_weights(np.array([0.0, 5.0, 10.0]), most=11).tolist()
    [1, 6, 11]
    """
    largest = float(values.max(initial=0.0))
    if largest <= 0:
        return np.ones(values.size, dtype=np.int64)
    return 1 + np.rint((most - 1) * (values / largest)).astype(np.int64)


def read_prior(written: str, most: int = USUAL) -> Prior:
    """The prior in the notation that the module describes; `most` is the weight of the likeliest cell.

    >>> print(read_prior("distance"))
    distance, up to 10
    """
    kind, _, rest = written.partition(":")
    if kind not in KINDS or (kind == "file") != bool(rest):
        raise InvalidInput(f"invalid prior {written[:60]!r}; expected even, distance or file:PRIOR.csv", argument="prior")
    return KINDS[kind](rest, whole_of(most, "prior_most", 1, MOST))


def _listed(path: str, most: int) -> Listed:
    there = {name.lower(): name for name in column_names(path)}
    value = "weight" if "weight" in there else "jobs"
    wanted = ["origin", value, *(["destination"] if "destination" in there else [])]
    origins, values, *destinations = (
        column.to_pylist() for column in read_columns(path, [there.get(each, each) for each in wanted])
    )
    numbers = [_number(each, Path(path).name) for each in values]
    everywhere: dict[str, float] = {}
    apart: dict[str, dict[str, float]] = {}
    for at, (origin, number) in enumerate(zip(origins, numbers, strict=True)):
        everywhere[origin] = everywhere.get(origin, 0.0) + number
        if destinations:
            own = apart.setdefault(destinations[0][at], {})
            own[origin] = own.get(origin, 0.0) + number
    return Listed(everywhere, apart, f"file:{Path(path).name}", most)


def _number(written: str | None, name: str) -> float:
    try:
        number = float(written or "")
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e15:
        raise InvalidInput(f"the column weight or jobs of {name} must have a number of at least 0 in every row", argument="prior")
    return number


KINDS: Mapping[str, Callable[[str, int], Prior]] = {
    "even": lambda _, most: Even(),
    "distance": lambda _, most: Near(most),
    "file": _listed,
}
