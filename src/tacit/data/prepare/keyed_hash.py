"""A keyed hash in SQL of 64-bit integers: two universal hashes by the secret key, and three Feistel rounds that mix them.

A row is a list of whole numbers, cut into parts of 28 bits. Each half of the state is the sum of the parts, times secret numbers,
modulo the prime 2^31 - 1. The rounds permute the states. No step overflows, and every engine has every step. store.md says what
this guarantees, and why no more is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tacit.data.dialect import Dialect

PRIME = 2**31 - 1
PART = 28  # bits: a part times a number below PRIME is below 2^59
MOST_PRODUCTS = 15  # of parts in one sum, which stays below 2^63
ROUNDS = 3
SHIFT = 16  # a round takes the middle bits of a product


def parts(sql: str, bits: int, words: Dialect) -> list[str]:
    """SQL for the parts of a non-negative integer of so many bits, the lowest first.

    >>> from tacit.data.dialect import DUCKDB
    >>> parts("x", 40, DUCKDB)
    ['(x & 268435455)', '((x >> 28) & 268435455)']
    """
    shifts = range(0, bits, PART)
    return [f"({words.shifted_right(sql, str(shift)) if shift else sql} & {2**PART - 1})" for shift in shifts]


def secrets(key: str, count: int) -> dict[str, int]:
    """The secret numbers, by the names under which the SQL of `placed` expects them, for rows of so many parts."""
    names = [*_multipliers(0, count), *_multipliers(1, count), *map(_of_round, range(ROUNDS))]
    return {name: int.from_bytes(hashlib.sha256(f"{key} {name}".encode()).digest()) % PRIME for name in names}


def placed(rows: str, carried: Sequence[str], given: Sequence[str], words: Dialect) -> str:
    """SQL for the rows with the columns to carry, and `tacit_place`: the hash of the `given` parts, an integer below 2^62."""
    kept, names = ", ".join(carried), [f"tacit_part_{place}" for place in range(len(given))]
    taken = ", ".join(f"{part} AS {name}" for part, name in zip(given, names, strict=True))
    halves = ", ".join(f"{_sum(names, lane, words)} AS tacit_half_{lane}" for lane in (0, 1))
    query = f"SELECT {kept}, {halves} FROM (SELECT {kept}, {taken} FROM ({rows}))"
    for number in range(ROUNDS):
        one, other = (f"tacit_half_{half}" for half in ((0, 1) if number % 2 == 0 else (1, 0)))
        product = f"({one} * ({one} + {_secret(_of_round(number), words)}))"
        mixed = words.xored(other, f"({words.shifted_right(product, str(SHIFT))} & {PRIME})")
        query = f"SELECT {kept}, {one}, {mixed} AS {other} FROM ({query})"
    return f"SELECT {kept}, {words.shifted_left('tacit_half_0', '31')} + tacit_half_1 AS tacit_place FROM ({query})"


def _sum(names: Sequence[str], lane: int, words: Dialect) -> str:
    """SQL for one half of the state before the rounds."""
    first, *multipliers = (_secret(each, words) for each in _multipliers(lane, len(names)))
    products = [f"{secret} * {name}" for secret, name in zip(multipliers, names, strict=True)]
    found = first
    for start in range(0, len(products), MOST_PRODUCTS):
        found = f"(({' + '.join([found, *products[start : start + MOST_PRODUCTS]])}) % {PRIME})"
    return found


def _multipliers(lane: int, count: int) -> list[str]:
    """The names of what a sum begins with, and of what each part is multiplied by."""
    return [f"tacit_lane_{lane}_{place}" for place in range(count + 1)]


def _of_round(number: int) -> str:
    return f"tacit_round_{number}"


def _secret(name: str, words: Dialect) -> str:
    return f"CAST(${name} AS {words.types.whole})"
