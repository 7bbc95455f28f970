"""How far one row can move an answer: global sensitivities, exact, for both neighbour relations. Proofs in sensitivity.md.

Under change-one the number of rows is public, and `rows` is that number. Under add/remove it is private, and `rows` is a
public lower bound: the smaller of the two neighbours has at least that many rows; the formulas fall as sizes grow.

Bounds may be infinite; the sensitivity is then infinite too, which no mechanism accepts. The blanks of a lecture's quiz (Harvard
CS208, 2022; change-one, ten rows): the sum of bits, the sum of reals, the mean, the median and the variance on [0, 1].

>>> from tacit.privacy.loss import CHANGE_ONE
>>> unit = (0, 1)
>>> total(unit, CHANGE_ONE), total((-math.inf, math.inf), CHANGE_ONE), mean(unit, 10, CHANGE_ONE)
(Fraction(1, 1), inf, Fraction(1, 10))
>>> lower_median(unit, CHANGE_ONE), midpoint_median(unit, 9, CHANGE_ONE), midpoint_median(unit, 10, CHANGE_ONE)
(Fraction(1, 1), Fraction(1, 1), Fraction(1, 2))
>>> population_variance(unit, 10, CHANGE_ONE), sample_variance(unit, 10, CHANGE_ONE)
(Fraction(9, 100), Fraction(1, 10))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from tacit.errors import InvalidInput, InvalidSensitivity
from tacit.privacy.loss import ADD_REMOVE, Neighbours
from tacit.privacy.rounding import Number, exact, sqrt_up
from tacit.privacy.universe import Universe

Bounds = tuple[Number, Number]
Exact = Fraction | float  # the float is infinity, and only that


def count(neighbours: Neighbours = ADD_REMOVE) -> Fraction:
    """The number of rows with some property: 1 under both relations."""
    _change_one(neighbours)
    return Fraction(1)


def fraction(rows: int | None = None, neighbours: Neighbours = ADD_REMOVE) -> Fraction:
    """The share of rows with some property: the mean of bits."""
    return Fraction(1, _rows(rows, "a fraction", neighbours) + (not _change_one(neighbours)))


def total(bounds: Bounds | None = None, neighbours: Neighbours = ADD_REMOVE) -> Exact:
    """The sum of values in `bounds`: the width when one changes, the largest absolute value when one comes or goes.

    >>> from tacit.privacy.loss import CHANGE_ONE
    >>> total((-2, 6), CHANGE_ONE), total((-2, 6), ADD_REMOVE)
    (Fraction(8, 1), Fraction(6, 1))
    """
    low, high = _read(bounds, "a sum")
    return high - low if _change_one(neighbours) else max(-low, high)


def centred_total(bounds: Bounds | None = None, neighbours: Neighbours = ADD_REMOVE) -> Exact:
    """The sum of the distances to the middle of `bounds`, which is public: half the width when a row comes or goes."""
    width = _width(bounds, "a centred sum")
    return width if _change_one(neighbours) else width / 2


def mean(bounds: Bounds | None = None, rows: int | None = None, neighbours: Neighbours = ADD_REMOVE) -> Exact:
    """The mean of values in `bounds`.

    >>> mean((0, 100), rows=50)
    Fraction(100, 51)
    >>> mean((0, 100))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tacit.errors.InvalidSensitivity: a mean requires the number of rows, which is private under 'add or remove one row'; release ...
    """
    width = _width(bounds, "a mean")
    return width / (_rows(rows, "a mean", neighbours) + (not _change_one(neighbours)))


def population_variance(bounds: Bounds | None = None, rows: int | None = None, neighbours: Neighbours = ADD_REMOVE) -> Exact:
    """The mean squared distance to the mean. Under add/remove and without `rows`: the worst case, one row and two."""
    width = _width(bounds, "a variance")
    if _change_one(neighbours):
        size = _rows(rows, "a variance", neighbours)
        return width**2 * Fraction(size - 1, size**2) if size > 1 else Fraction(0)
    least = _rows(1 if rows is None else rows, "a variance", neighbours)
    return width**2 * Fraction(least, (least + 1) ** 2)


def sample_variance(bounds: Bounds | None = None, rows: int | None = None, neighbours: Neighbours = ADD_REMOVE) -> Exact:
    """The squared distances to the mean over rows - 1; that of one row is declared 0."""
    width = _width(bounds, "a variance")
    if _change_one(neighbours):
        size = _rows(rows, "a variance", neighbours)
        return width**2 / size if size > 1 else Fraction(0)
    return width**2 / (_rows(1 if rows is None else rows, "a variance", neighbours) + 1)


def lower_median(bounds: Bounds | None = None, neighbours: Neighbours = ADD_REMOVE) -> Exact:
    """Row ceil(n/2) in ascending order: the whole width, whatever the number of rows."""
    _change_one(neighbours)
    return _width(bounds, "a median")


def midpoint_median(bounds: Bounds | None = None, rows: int | None = None, neighbours: Neighbours = ADD_REMOVE) -> Exact:
    """The mean of the two middle rows of an even number: half the width, but the whole width where an odd number is public."""
    width = _width(bounds, "a median")
    odd = _change_one(neighbours) and _rows(rows, "a median", neighbours) % 2
    return width if odd else width / 2


def smallest(bounds: Bounds | None = None, neighbours: Neighbours = ADD_REMOVE) -> Exact:
    """The least value: the whole width."""
    _change_one(neighbours)
    return _width(bounds, "a minimum")


def largest(bounds: Bounds | None = None, neighbours: Neighbours = ADD_REMOVE) -> Exact:
    """The greatest value: the whole width."""
    _change_one(neighbours)
    return _width(bounds, "a maximum")


def histogram_l1(neighbours: Neighbours = ADD_REMOVE) -> Fraction:
    """Counts of disjoint cells, summed over cells: a changed row leaves one and enters another.

    The numbers of women and of men, from a lecture: 2 when one person's entry changes, 1 when one person comes or goes.

    >>> from tacit.privacy.loss import CHANGE_ONE
    >>> histogram_l1(CHANGE_ONE), histogram_l1(ADD_REMOVE)
    (Fraction(2, 1), Fraction(1, 1))
    """
    return Fraction(2 if _change_one(neighbours) else 1)


def histogram_l2(neighbours: Neighbours = ADD_REMOVE) -> Fraction:
    """Counts of disjoint cells, Euclidean, rounded up where it is the root of 2."""
    return sqrt_up(histogram_l1(neighbours))


def counts_l1(queries: int, neighbours: Neighbours = ADD_REMOVE) -> Fraction:
    """Any `queries` counts, which may overlap: one row may move every one of them by 1."""
    _change_one(neighbours)
    return Fraction(_whole(queries, "queries"))


def counts_l2(queries: int, neighbours: Neighbours = ADD_REMOVE) -> Fraction:
    """Any `queries` counts, Euclidean: the root of their number, rounded up."""
    return sqrt_up(counts_l1(queries, neighbours))


SENSITIVITIES: Mapping[str, Callable[..., Exact]] = MappingProxyType(
    {
        "count": count,
        "fraction": fraction,
        "sum": total,
        "centred sum": centred_total,
        "mean": mean,
        "population variance": population_variance,
        "sample variance": sample_variance,
        "lower median": lower_median,
        "midpoint median": midpoint_median,
        "min": smallest,
        "max": largest,
        "histogram l1": histogram_l1,
        "histogram l2": histogram_l2,
        "counts l1": counts_l1,
        "counts l2": counts_l2,
    }
)


def largest_change(query: Callable[[Sequence[Any]], Any], universe: Universe, rows: int, neighbours: Neighbours) -> Fraction:
    """The largest l1 distance of `query` between neighbours, the smaller of `rows` rows, by listing every pair.

    `query` takes the rows and returns a number or a tuple of numbers. For small universes: it checks a formula, or a query of
    one's own.

    >>> from tacit.privacy.loss import CHANGE_ONE
    >>> largest_change(sum, Universe((-2, 0, 6)), rows=3, neighbours=CHANGE_ONE)
    Fraction(8, 1)
    """
    return max(
        _distance(query(one.rows), query(other.rows))
        for one in universe.databases(rows)
        for other in one.neighbours(neighbours)
        if other.size >= rows
    )


def _distance(one: Any, other: Any) -> Fraction:
    pairs = zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]
    return sum((abs(Fraction(a) - Fraction(b)) for a, b in pairs), start=Fraction(0))


def _change_one(neighbours: Neighbours) -> bool:
    if neighbours.of != "row":
        raise InvalidInput(
            f"these formulas apply to one row, not to '{neighbours}'; multiply by the maximum number of rows per {neighbours.of}"
        )
    return neighbours.change == "change-one"


def _read(bounds: Bounds | None, what: str) -> tuple[Exact, Exact]:
    if bounds is None:
        raise InvalidSensitivity(f"{what} of unbounded values has no finite sensitivity; give bounds=(low, high) and clamp to them")
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidSensitivity("bounds must be a pair; give bounds=(low, high)", argument="bounds")
    low, high = _bound(bounds[0]), _bound(bounds[1])
    if low > high or low == math.inf or high == -math.inf:
        raise InvalidSensitivity(
            f"bounds must be (low, high) with low at most high, not ({bounds[0]}, {bounds[1]})", argument="bounds"
        )
    return low, high


def _bound(bound: Number) -> Exact:
    return bound if isinstance(bound, float) and math.isinf(bound) else exact(bound, "a bound", InvalidSensitivity)


def _width(bounds: Bounds | None, what: str) -> Exact:
    low, high = _read(bounds, what)
    return high - low


def _rows(rows: int | None, what: str, neighbours: Neighbours) -> int:
    if rows is None and neighbours.size_is_public:
        raise InvalidSensitivity(f"{what} requires the number of rows, which is public under '{neighbours}'; give rows=")
    if rows is None:
        raise InvalidSensitivity(
            f"{what} requires the number of rows, which is private under '{neighbours}'; "
            "release the sum and the count separately, or give rows= a public lower bound"
        )
    return _whole(rows, "rows")


def _whole(number: int, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidSensitivity(f"{name} must be a whole number of at least 1, not {number!r}", argument=name)
    return number
