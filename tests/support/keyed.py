"""The keyed hash of store.md for one row, in plain Python."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

PRIME = 2**31 - 1


def secret(key: str, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{key} {name}".encode()).digest(), "big") % PRIME


def md5(text: str) -> int:
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:7], "little")


def own_number(key: str, own: int | str) -> int:
    """An own key as a number: itself, if it is an integer of 64 bits or the text of one."""
    whole = int(own) if re.fullmatch("0|-?[1-9][0-9]*", str(own)) else None
    return whole if whole is not None and -(2**63) <= whole < 2**63 else md5(f"{key}{own}")


def parts_of(key: str, own: int | str, numbers: Sequence[tuple[int, int]], texts: Sequence[str | None] = ()) -> list[int]:
    """The own key, the packed numbers with their numbers of bits, and the texts, in parts of 28 bits."""
    measured = ",".join("" if text is None else f"{len(text.encode())}:{text}" for text in texts)
    of_texts = [(md5(f"{key}{measured}"), 56)] if texts else []
    whole = [(own_number(key, own) & (2**63 - 1), 56), *numbers, *of_texts]
    return [number >> shift & (2**28 - 1) for number, bits in whole for shift in range(0, bits, 28)]


def place_of(
    key: str, own: int | str, numbers: Sequence[tuple[int, int]], texts: Sequence[str | None] = (), rounds: int = 3
) -> int:
    """The place of a row in the order of its unit."""
    parts = parts_of(key, own, numbers, texts)
    halves = []
    for lane in (0, 1):
        first, *multipliers = (secret(key, f"tacit_lane_{lane}_{place}") for place in range(len(parts) + 1))
        halves.append((first + sum(one * part for one, part in zip(multipliers, parts, strict=True))) % PRIME)
    for number in range(rounds):
        one = halves[number % 2]
        halves[1 - number % 2] ^= one * (one + secret(key, f"tacit_round_{number}")) >> 16 & PRIME
    return halves[0] * 2**31 + halves[1]
