"""A category hashed to one of a few cells, and the cell randomized: optimized local hashing. Proof in hashing.md.

The hash family is linear over a small field: the digits of a category in base g are a vector v, a person draws a vector a, and
the cell is the product of a and v. Two different categories meet with probability exactly 1/g, so that `false_hit` is
exact; and all categories are tallied together by a fast transform instead of one hash for each report and category.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.noise.choice import uniform_integers
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.randomizer import (
    MOST_COUNTED,
    Channel,
    Codes,
    Coins,
    LocalMechanism,
    one_or_all,
    ratio_within,
    read_code,
    read_codes,
    read_reports,
    read_size,
)

LARGEST = 256
# The least irreducible polynomial of each degree over two elements, its coefficients as binary digits.
IRREDUCIBLE = {1: 0b11, 2: 0b111, 3: 0b1011, 4: 0b10011, 5: 0b100101, 6: 0b1000011, 7: 0b10000011, 8: 0b100011011}

Table = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Field:
    """The field of `order` elements, named 0, 1, ..., order - 1; 0 and 1 are its zero and its one."""

    order: int
    sums: Table
    products: Table


@lru_cache(maxsize=64)
def field_of(order: int) -> Field:
    """The field of a prime number of elements, or of a power of two, up to 256.

    >>> field_of(4).products.tolist()
    [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]]
    """
    if order not in ORDERS:
        raise InvalidInput(f"order must be a prime or a power of two up to {LARGEST}, not {order}", argument="order")
    one, other = np.meshgrid(np.arange(order), np.arange(order), indexing="ij")
    if order & (order - 1):
        return Field(order, ((one + other) % order).astype(np.uint8), ((one * other) % order).astype(np.uint8))
    return Field(order, (one ^ other).astype(np.uint8), _carryless(one, other, order).astype(np.uint8))


def _carryless(one: NDArray[np.int64], other: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """Products of polynomials over two elements, reduced: doubled again and again, added where the other factor has a one."""
    degree = order.bit_length() - 1
    product, doubled = np.zeros_like(one), one.copy()
    for place in range(degree):
        product ^= np.where(other >> place & 1, doubled, 0)
        doubled <<= 1
        doubled ^= np.where(doubled & order, IRREDUCIBLE[degree], 0)
    return product


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


ORDERS = tuple(order for order in range(2, LARGEST + 1) if order & (order - 1) == 0 or _is_prime(order))


# --- a category hashed to one of a few cells, and the cell randomized --------------------------------------------------------


LISTED = 256  # vectors of a few digits whose products are looked up in one table


@dataclass(frozen=True, init=False)
class LocalHashing(LocalMechanism):
    """Draws a linear hash to `cells` cells, hashes the category, and reports the hash and the cell through `KAry(cells)`.

    With cells near e^epsilon + 1, which is the default, the variance is that of optimized unary encoding (Wang et al. 2017), and
    a report is one number whatever the number of categories. A report is written as hash * cells + cell.

    >>> response = LocalHashing(size=1000, epsilon=1)
    >>> response.cells, response.hashes, response.false_hit, response.hit == response.response.hit
    (4, 1024, Fraction(1, 4), True)
    >>> LocalHashing(size=5, epsilon=1).channel.within(1)
    True
    """

    size: int
    epsilon: Fraction
    cells: int
    response: KAry = field(repr=False)

    def __init__(self, size: int, epsilon: Number, cells: int | None = None) -> None:
        budget = positive_budget(epsilon)
        object.__setattr__(self, "size", read_size(size))
        object.__setattr__(self, "epsilon", budget)
        object.__setattr__(self, "cells", best_cells(ratio_within(budget)) if cells is None else field_of(cells).order)
        object.__setattr__(self, "response", KAry(self.cells, budget))

    @property
    def digits(self) -> int:
        """The length of the vectors: the digits of the largest code in base `cells`."""
        return digits_of(self.size, self.cells)

    @property
    def hashes(self) -> int:
        """The number of hash functions that a person draws from; they are public."""
        return int(self.cells**self.digits)

    @property
    def hit(self) -> Fraction:
        """The probability that a report supports the true category."""
        return self.response.hit

    @property
    def false_hit(self) -> Fraction:
        """The probability that a report supports another given category."""
        return Fraction(1, self.cells)

    def randomize(self, values: Any) -> Any:
        """The reports, hash * cells + cell: an int64 array, or an integer for one value."""
        truth, alone = read_codes(values, self.size)
        drawn = uniform_integers(self.hashes, truth.size)
        cells = self.response.randomize(linear_hash(drawn, truth, self.cells, self.digits))
        return one_or_all(drawn * self.cells + cells, alone)

    def derive(self, value: int, coins: Coins) -> int:
        """A number below `hashes` is the hash; the cell of the value under it goes through `KAry.derive`."""
        truth = read_code(value, self.size)
        drawn = coins.below(self.hashes)
        cell = linear_hash(np.array([drawn]), truth, self.cells, self.digits)[0]
        return drawn * self.cells + self.response.derive(int(cell), coins)

    @cached_property
    def channel(self) -> Channel:
        """The exact probability of every report, for every answer."""
        return Channel.of(range(self.size), range(self.hashes * self.cells), self.probability)

    def probability(self, value: Any, report: Any) -> Fraction:
        """The probability of a report for a category."""
        drawn, cell = divmod(report, self.cells)
        kept = linear_hash(np.array([drawn]), np.array([value]), self.cells, self.digits)[0] == cell
        return (self.response.hit if kept else self.response.false_hit) / self.hashes

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """For each category the number of reports whose hash sends it to the reported cell."""
        outputs = self.hashes * self.cells
        if outputs > MOST_COUNTED:
            raise InvalidInput(f"{self.size} categories are too many to tally at once; tally selected ones with supports_of")
        counts = np.bincount(read_reports(reports, outputs), minlength=outputs)
        return tally(counts.reshape(self.hashes, self.cells), self.digits, self.size)

    def supports_of(self, reports: Any, categories: Any) -> NDArray[np.int64]:
        """The same for some categories only, in time that grows with reports times categories."""
        drawn, cell = np.divmod(read_reports(reports, self.hashes * self.cells), self.cells)
        wanted, _ = read_codes(np.atleast_1d(categories), self.size)
        counts = [np.count_nonzero(linear_hash(drawn, each, self.cells, self.digits) == cell) for each in wanted]
        return np.array(counts, dtype=np.int64)


def best_cells(ratio: Fraction) -> int:
    """The number of cells, a prime or a power of two, of the smallest variance (E - 1 + g)^2 / ((E - 1)^2 (g - 1)) at f = 0.

    >>> [best_cells(ratio_within(Fraction(epsilon))) for epsilon in (Fraction(1, 10), 1, 2, 3)]
    [2, 4, 8, 23]
    """
    return min(ORDERS, key=lambda cells: (ratio - 1 + cells) ** 2 / (cells - 1))


def digits_of(size: int, base: int) -> int:
    """How many digits the codes below `size` have in this base, at least one."""
    digits = 1
    while base**digits < size:
        digits += 1
    return digits


def linear_hash(drawn: Codes, categories: Any, cells: int, digits: int) -> NDArray[np.int64]:
    """The product of the vectors whose digits in base `cells`, the least first, are those of `drawn` and of `categories`."""
    together = 1
    while cells ** (together + 1) <= LISTED and together < digits:
        together += 1
    base, table, sums = cells**together, _products(cells, together), field_of(cells).sums.reshape(-1)
    total: NDArray[Any] | None = None
    for _ in range(0, digits, together):
        (drawn, left), (categories, right) = np.divmod(drawn, base), np.divmod(categories, base)
        cell = table[left * base + right]
        total = cell if total is None else sums[total.astype(np.intp) * cells + cell]
    return np.asarray(total, dtype=np.int64)


@lru_cache(maxsize=64)
def _products(cells: int, digits: int) -> NDArray[np.uint8]:
    """The products of all pairs of vectors of a few digits, at first * cells^digits + second."""
    field = field_of(cells)
    if digits == 1:
        return field.products.reshape(-1)
    fewer, base = _products(cells, digits - 1).reshape(1, cells ** (digits - 1), 1, -1), cells**digits
    last = field.products.reshape(cells, 1, cells, 1)
    return field.sums[last, fewer].reshape(base * base)


def tally(counts: NDArray[np.int64], digits: int, size: int | None = None) -> NDArray[np.int64]:
    """For each of the first `size` vectors v (of all by default) the sum over all vectors a of counts[a, product of a and v].

    One digit at a time: T[v_1, a_2, ..., c] is the sum over a_1 of T[a_1, a_2, ..., c + a_1 v_1], and so on for the digits that
    follow, and for the last one at c = 0 alone. The first digit is the highest: `size` leaves few values of it.

    >>> tally(np.array([[5, 0], [2, 3]]), digits=1)                     # two cells: a = 0 sends all to cell 0, a = 1 sends v to v
    array([7, 8])
    """
    cells = counts.shape[1]
    wanted = cells**digits if size is None else size
    # No sum is above that of all counts; half the bytes take half the time.
    narrow = counts.astype(np.int32 if counts.sum() < 2**31 else np.int64, copy=False)
    table = np.moveaxis(narrow.reshape((cells,) * (digits + 1)), -1, 1)  # a_1, c, a_2, ..., a_d
    for digit in range(digits - 1):
        values = cells if digit else -(-wanted // cells ** (digits - 1))
        table = np.moveaxis(
            _transform_digit(np.ascontiguousarray(table), values), (0, 2), (-1, 0)
        )  # the next a, c, ..., v_1, ..., v
    return _transform_last(table).reshape(-1)[:wanted].astype(np.int64)


def _transform_digit(table: NDArray[Any], values: int) -> NDArray[Any]:
    """For each v of the first `values` and each c the sum over a of table[a, c + a v]: whole rows are added."""
    field = field_of(len(table))
    sums = np.zeros((values, *table.shape[1:]), dtype=table.dtype)
    for v in range(values):
        for a, rows in enumerate(table):
            sums[v] += rows[field.sums[field.products[a, v]]]
    return sums


def _transform_last(table: NDArray[Any]) -> NDArray[Any]:
    """For each v, which comes last, the sum over a of table[a, a v]."""
    cells = len(table)
    return np.stack([table[np.arange(cells), row].sum(axis=0) for row in field_of(cells).products], axis=-1)
