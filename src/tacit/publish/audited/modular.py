"""Linear algebra modulo a prime: the row space of the answered questions, in reduced echelon form. See sums.md.

Residues are held as doubles, which are exact here: the prime is below 2^26, so that a product is below 2^52, and sums stay below
2^53. This is the arithmetic of exact linear algebra libraries, and several times faster than integer remainders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise.choice import uniform_integers

Residues = NDArray[np.float64]
Columns = NDArray[np.int64]
Bits = NDArray[np.bool_]
LARGEST_PRIME = 2**26
BLOCK = 1 << 16  # residues that are reduced at a time, so that they stay in the cache
PROBES = 16  # columns compared before whole rows are
MOST_ROWS = 8192  # so that sums of rows * rows * prime stay below 2^53


def random_prime() -> int:
    """A random prime between 2^25 and 2^26: about 1.9 million of them, so that no history is unlucky but by accident.

    >>> prime = random_prime()
    >>> 2**25 < prime < 2**26 and pow(2, prime - 1, prime) == 1
    True
    """
    while True:
        number = int(uniform_integers(LARGEST_PRIME // 4, 1)[0]) * 2 + LARGEST_PRIME // 2 + 1
        if all(number % divisor for divisor in range(3, int(number**0.5) + 1, 2)):
            return number


def remainder(numbers: Residues, prime: int) -> Residues:
    """The numbers modulo the prime, from 0; exact for whole numbers of size up to 2^52 (sums.md).

    >>> remainder(np.array([-1.0, 7.0, 2.0**52]), 7)
    array([6., 0., 2.])
    """
    reduced: Residues = numbers - prime * np.floor(numbers / prime)
    return reduced


def product(vector: Residues, table: Residues) -> Residues:
    """The vector times the table, in one thread: threads of a linear algebra library wait for one another on a busy machine."""
    made: Residues = np.einsum("i,ij->j", vector, table)
    return made


@dataclass(frozen=True, slots=True, eq=False)
class Echelon:
    """Rows that are independent modulo the prime: as asked, reduced, and how the reduced ones are made of the asked ones.

    `recipe @ asked = reduced` modulo the prime, and the columns `pivots` of `reduced` are those of the identity.
    """

    prime: int
    asked: Bits
    reduced: Residues
    recipe: Residues
    pivots: Columns

    @property
    def rank(self) -> int:
        """How many rows are independent."""
        return len(self.pivots)

    def residue(self, vector: Residues) -> Residues:
        """The vector minus the combination of rows that agrees with it at the pivots: zero if it is in the row space."""
        return remainder(vector - product(vector[self.pivots], self.reduced), self.prime)

    def extended(self, asked: Bits, residue: Residues) -> Echelon:
        """The echelon with one more row, whose residue is not zero."""
        pivot = int(np.flatnonzero(residue)[0])
        inverse = pow(int(residue[pivot]), -1, self.prime)
        steps = product(asked[self.pivots].astype(np.float64), self.recipe)
        row = remainder(residue * inverse, self.prime)
        made = remainder(np.append(-remainder(steps, self.prime), 1.0) * inverse, self.prime)
        reduced = _eliminated(self.reduced, self.reduced[:, pivot], row, self.prime)
        wider = np.concatenate([self.recipe, np.zeros((self.rank, 1))], axis=1)
        recipe = _eliminated(wider, self.reduced[:, pivot], made, self.prime)
        return Echelon(self.prime, np.concatenate([self.asked, asked[None]]), reduced, recipe, np.append(self.pivots, pivot))

    def unit(self, asked: Bits, residue: Residues, column: int) -> Residues:
        """Coefficients, modulo the prime, of the unit vector of a column over the rows and one more, which `multiples` found."""
        pivot = int(np.flatnonzero(residue)[0])
        inverse = pow(int(residue[pivot]), -1, self.prime)
        steps = remainder(product(asked[self.pivots].astype(np.float64), self.recipe), self.prime)
        at = np.flatnonzero(self.pivots == column)
        if at.size == 0:
            return remainder(np.append(-steps, 1.0) * inverse, self.prime)
        share = float(int(self.reduced[at[0], pivot]) * inverse % self.prime)
        return remainder(np.append(self.recipe[at[0]] + remainder(share * steps, self.prime), -share), self.prime)

    def split(self, columns: Columns) -> Echelon:
        """The same questions where each of the columns stands for two groups of people, that were always asked together."""
        if not columns.size:
            return self
        asked = np.concatenate([self.asked, self.asked[:, columns]], axis=1)
        reduced = np.concatenate([self.reduced, self.reduced[:, columns]], axis=1)
        return Echelon(self.prime, asked, reduced, self.recipe, self.pivots)

    def multiples(self, residue: Residues) -> NDArray[np.int64]:
        """The rows that are a multiple of the residue but at their own pivot: with it in the space, a unit vector is."""
        pivot = int(np.flatnonzero(residue)[0])
        direction = remainder(residue * pow(int(residue[pivot]), -1, self.prime), self.prime)
        rows = np.flatnonzero(self.reduced[:, pivot])
        support = np.flatnonzero(direction)
        for columns in (support[:: max(1, support.size // PROBES)], np.arange(residue.size)):
            table = self.reduced[np.ix_(rows, columns)]
            table = np.where(columns[None, :] == self.pivots[rows, None], 0.0, table)
            expected = remainder(self.reduced[rows, pivot][:, None] * direction[columns], self.prime)
            rows = rows[(table == expected).all(axis=1)]
        return rows


def empty(columns: int, prime: int) -> Echelon:
    """No rows yet."""
    shape = (0, columns)
    return Echelon(prime, np.zeros(shape, dtype=np.bool_), np.zeros(shape), np.zeros((0, 0)), np.empty(0, dtype=np.int64))


def _eliminated(table: Residues, factors: Residues, row: Residues, prime: int) -> Residues:
    """The table with `row` below it, and minus its multiples, block by block."""
    result = np.empty((len(table) + 1, row.size))
    result[:-1], result[-1] = table, row
    touched = np.flatnonzero(factors)
    height = max(1, BLOCK // max(1, row.size))
    for start in range(0, touched.size, height):
        rows = touched[start : start + height]
        block = result[rows]
        block -= factors[rows, None] * row
        quotients = block / prime
        np.floor(quotients, out=quotients)
        quotients *= prime
        block -= quotients
        result[rows] = block
    return result
