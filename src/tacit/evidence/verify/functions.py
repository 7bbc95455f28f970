"""Functions of an output, chosen to tell as much as they can: post-processing must not lose privacy through any of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any

from tacit.privacy.law import Law

Function = Callable[[Any], Hashable]
SALTS = ("one", "two", "three", "four")


def text_of(output: Any) -> str:
    """All that an output shows: its type and its digits, so that 1, 1.0, True and -0.0 differ."""
    if hasattr(output, "tolist"):
        return f"{type(output).__name__} {getattr(output, 'dtype', '')} {output.tolist()!r}"
    return f"{type(output).__name__} {output!r}"


def random_half(salt: str) -> Function:
    """A random set of outputs, the same at every call: whether the output is in it."""
    return lambda output: blake2b(f"{salt} {text_of(output)}".encode(), digest_size=1).digest()[0] < 128


def last_digits(output: Any) -> str:
    """The end of the mantissa of a float, where careless arithmetic leaves its traces; of a vector, of its first entry."""
    entry = _first(output)
    return math.frexp(entry)[0].hex()[-6:-3] if isinstance(entry, float) and math.isfinite(entry) else str(entry)[-1:]


def kind(output: Any) -> str:
    """The types in an output, without its digits."""
    return " ".join([type(output).__name__, type(_first(output)).__name__, str(getattr(output, "dtype", ""))])


def sign_of_zero(output: Any) -> Hashable:
    """Whether a zero is negative."""
    entry = _first(output)
    return math.copysign(1, entry) if isinstance(entry, float) and entry == 0 else "no zero"


def length(output: Any) -> int:
    """How many characters an output takes, which is also what a packet on the wire shows."""
    return len(text_of(output))


FUNCTIONS: dict[str, Function] = {
    "its last digits": last_digits,
    "its type": kind,
    "the sign of zero": sign_of_zero,
    "its length": length,
    **{f"random set {salt}": random_half(salt) for salt in SALTS},
}


def telling_sets(one: Law, other: Law) -> dict[str, Function]:
    """The sets of outcomes likelier under one law: the ratio above 1, above 2, and the single outcome of largest ratio."""

    def ratio(outcome: Hashable) -> float:
        probability, against = one.probabilities.get(outcome, 0), other.probabilities.get(outcome, 0)
        return math.inf if not against else float(probability) / float(against) if float(against) else 0.0

    worst = max(one.probabilities, key=ratio)
    return {
        "likelier under one": lambda outcome: ratio(outcome) > 1,
        "twice as likely under one": lambda outcome: ratio(outcome) > 2,
        "the most telling outcome": lambda outcome: outcome == worst,
    }


def _first(output: Any) -> Any:
    listed = output.tolist() if hasattr(output, "tolist") else output
    while isinstance(listed, list | tuple) and listed:
        listed = listed[0]
    return listed
