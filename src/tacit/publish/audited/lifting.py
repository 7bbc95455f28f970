"""From a solution modulo a prime to the exact one: is a vector a rational combination of the answered questions? See sums.md.

The coefficients c of  c B = w  (B the columns of the pivots, w the vector there) are found to more and more digits in base p, as
Dixon 1982 does, and read as fractions of one denominator (Wang 1981). They are then checked in whole numbers on every column.
Yes is proved by the check. No is proved when the digits suffice for the largest fractions that determinants of zeros and ones
allow (Hadamard): the one solution at the pivots is then known, and fails elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, gcd, isqrt, log2

import numpy as np

from tacit.publish.audited.modular import Bits, Echelon, Residues, product, remainder

SMALL = 2**31  # numerators below this are checked in machine integers


@dataclass(frozen=True, slots=True)
class Combination:
    """The vector times `denominator` is the sum of `numerators[i]` times question i."""

    numerators: tuple[int, ...]
    denominator: int


def combination(echelon: Echelon, vector: Bits) -> Combination | None:
    """The vector as an exact rational combination of the rows; None if it is not one, which is proved too."""
    rest, most = vector[echelon.pivots].astype(np.float64), enough_digits(echelon.rank, echelon.prime)
    digits = [remainder(product(rest, echelon.recipe), echelon.prime)]
    if (found := read(digits, echelon.prime, echelon.asked, vector)) or most == 1:
        return found
    square = echelon.asked[:, echelon.pivots].astype(np.float64)
    while len(digits) < most:
        for _ in range(min(len(digits), most - len(digits))):
            rest = (rest - product(digits[-1], square)) / echelon.prime  # divisible, so that the quotient is exact
            digits.append(remainder(product(rest, echelon.recipe), echelon.prime))
        if found := read(digits, echelon.prime, echelon.asked, vector):
            return found
    return None


def read(digits: list[Residues], prime: int, asked: Bits, vector: Bits) -> Combination | None:
    """The coefficients that have these digits in base p, if they are fractions of which the vector is the combination."""
    found = _fractions(_whole(digits, prime), prime ** len(digits))
    return found if found is not None and _holds(found, asked, vector.astype(np.int64)) else None


def enough_digits(rank: int, prime: int) -> int:
    """Enough digits to distinguish every solution: numerators and denominators are determinants of zeros and ones.

    >>> enough_digits(2, 5), enough_digits(1000, 2**25)
    (2, 320)
    """
    bits = (rank + 1) / 2 * log2(rank + 1) - rank  # |det| of a 0/1 matrix is at most (k+1)^((k+1)/2) / 2^k
    return ceil((2 * max(1.0, bits) + 2) / log2(prime))


def _whole(digits: list[Residues], prime: int) -> list[int]:
    """The digits put together, the first the least."""
    total = [0] * len(digits[0])
    for digit in reversed(digits):
        total = [known * prime + int(more) for known, more in zip(total, digit.tolist(), strict=True)]
    return total


def _fractions(residues: list[int], modulus: int) -> Combination | None:
    """The residues as fractions of one small denominator, with small numerators; None if no such fractions exist."""
    limit, denominator, numerators = isqrt((modulus - 1) // 2), 1, list[int]()
    for residue in residues:
        reduced = _centred(residue * denominator, modulus)
        if abs(reduced) > limit:
            factor = _denominator(residue * denominator % modulus, modulus, limit)
            if factor is None or denominator * factor > limit:
                return None
            denominator, numerators = denominator * factor, [factor * number for number in numerators]
            reduced = _centred(residue * denominator, modulus)
        numerators.append(reduced)
    common = gcd(denominator, *numerators)
    return Combination(tuple(number // common for number in numerators), denominator // common)


def _centred(number: int, modulus: int) -> int:
    residue = number % modulus
    return residue - modulus if 2 * residue > modulus else residue


def _denominator(residue: int, modulus: int, limit: int) -> int | None:
    """The least denominator of a fraction with this residue and a numerator within the limit, by Euclid's algorithm."""
    (old, new), (old_factor, factor) = (modulus, residue), (0, 1)
    while new > limit:
        quotient = old // new
        old, new = new, old - quotient * new
        old_factor, factor = factor, old_factor - quotient * factor
    return abs(factor) if 0 < abs(factor) <= limit else None


def _holds(found: Combination, asked: Bits, target: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> bool:
    """Whether the combination is the target at every column, in whole numbers."""
    used = [row for row, number in enumerate(found.numerators) if number]
    kind = np.int64 if max(map(abs, found.numerators), default=0) < SMALL else object
    numerators = np.array([found.numerators[row] for row in used], dtype=kind)
    made = numerators @ asked[used].astype(kind) if used else np.zeros(target.size, dtype=np.int64)
    return bool((made == target.astype(kind) * found.denominator).all())
