"""Small finite fields by their tables: the integers modulo a prime, and the fields of 2^k elements. Proof in hashing.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

LARGEST = 256
# The least irreducible polynomial of each degree over two elements, its coefficients as binary digits.
IRREDUCIBLE = {1: 0b11, 2: 0b111, 3: 0b1011, 4: 0b10011, 5: 0b100101, 6: 0b1000011, 7: 0b10000011, 8: 0b100011011}

Table = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Field:
    """The field of `order` elements, named 0, 1, ..., order - 1; 0 and 1 are what they are called."""

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
        raise InvalidInput(f"order must be a prime or a power of two up to {LARGEST}, not {order}")
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
