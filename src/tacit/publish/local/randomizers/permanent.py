"""Permanent answers: chances that follow from a person's secret and the true value, so that nothing is stored but the secret.

Two programs that follow this format derive the same report (the page of a survey does in the browser what is done here):

    field(text)  the number of bytes of the text in UTF-8, as 4 bytes, most significant first; then those bytes
    label        field("tacit permanent 1") field(survey) field(question) field(value)
    block i      HMAC-SHA256(key = secret, message = label followed by i as 4 bytes, most significant first), i = 0, 1, 2, ...
    stream       block 0, block 1, block 2, ..., read once from the left
    coin(p)      read 8 bytes as a number w, most significant first; d = floor(p 2^64). If w differs from d, the coin says w < d.
                 If it is the same, p becomes p 2^64 - d: where that is 0 the coin says no, else it is tossed again.
    below(n)     k is the number of binary digits of n - 1; read ceil(k / 8) bytes as a number, most significant first, and keep its
                 lowest k bits; below n that is the result, else read again. For n = 1 nothing is read.

The value is written as its code in decimal ("3"), a number as its place on the grid, a set as its codes from least to largest
with commas ("1,4,7", or "" if it is empty): `written` of each randomizer.
Which coins a report takes is defined by `derive` of each randomizer. If HMAC-SHA256 is a pseudorandom function and the secret is
uniform, the report has the randomizer's law to anybody without the secret (permanent.md).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import choice
from tacit.publish.local.randomizers.randomizer import Chance, Coins, Randomizer

VERSION = "tacit permanent 1"
LEAST_SECRET = 16  # bytes; a page draws 32
WORD = 64


@dataclass(frozen=True, slots=True)
class FreshCoins:
    """Coins from the operating system's secure source."""

    def coin(self, probability: Chance) -> bool:
        """Whether a coin of this probability fell heads."""
        return _tossed(probability, lambda: choice.uniform_integer(2**WORD))

    def below(self, bound: int) -> int:
        """A uniform number below `bound`."""
        return choice.uniform_integer(bound)


@dataclass(slots=True, repr=False)  # a repr would show the secret
class DerivedCoins:
    """The stream of a secret and a label, read from the left.

    >>> from fractions import Fraction
    >>> coins = DerivedCoins(bytes(range(32)), label("survey", "question", "3"))
    >>> [coins.below(100) for _ in range(5)], [coins.coin(Fraction(1, 3)) for _ in range(5)]
    ([79, 35, 46, 89, 78], [True, False, False, False, False])
    """

    secret: bytes
    label: bytes
    unread: bytes = field(default=b"", init=False)
    blocks: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.secret, bytes) or len(self.secret) < LEAST_SECRET:
            raise InvalidInput(f"the secret must be at least {LEAST_SECRET} random bytes; draw 32 of them once, and store them")

    def coin(self, probability: Chance) -> bool:
        """True with the probability, if the stream is uniform."""
        return _tossed(probability, lambda: self._number(WORD))

    def below(self, bound: int) -> int:
        """One of 0, ..., bound - 1, uniform if the stream is."""
        if bound < 1:
            raise InvalidInput(f"bound must be at least 1, not {bound}")
        while True:
            drawn = self._number((bound - 1).bit_length())
            if drawn < bound:
                return drawn

    def _number(self, digits: int) -> int:
        size = -(-digits // 8)
        while len(self.unread) < size:
            self.unread += hmac.digest(self.secret, self.label + self.blocks.to_bytes(4, "big"), "sha256")
            self.blocks += 1
        taken, self.unread = self.unread[:size], self.unread[size:]
        return int.from_bytes(taken, "big") & ((1 << digits) - 1)


def _tossed(probability: Chance, word: Callable[[], int]) -> bool:
    """Words are compared with the binary digits of the probability, 64 at a time, until they differ or no digit is left."""
    rest, whole = probability.numerator, probability.denominator
    if not 0 <= rest <= whole:
        raise InvalidInput("probability must be from 0 to 1")
    while True:
        digits, rest = divmod(rest << WORD, whole)
        drawn = word()
        if drawn != digits or not rest:
            return drawn < digits


def label(survey: str, question: str, value: str) -> bytes:
    """The bytes that tell apart what the streams of one secret are for: no two different triples have the same.

    >>> label("s", "q", "3").hex()
    '0000001174616369742070657...'
    """
    texts = [text.encode("utf-8") for text in (VERSION, survey, question, value)]
    return b"".join(len(text).to_bytes(4, "big") + text for text in texts)


def permanent(randomizer: Randomizer, value: Any, secret: bytes, survey: str, question: str) -> Any:
    """The report of this respondent for this value, always the same: asking again reveals nothing new.

    `survey` must be another name for another randomizer (`longitudinal.stream_of` makes one): the same coins for two channels
    could contradict each other, which tells the truth.

    >>> from tacit.publish.local.randomizers.categories import KAry
    >>> secret = bytes(range(32))
    >>> [permanent(KAry(5, 1), value, secret, "canteen", "meal") for value in (0, 1, 2, 3, 4, 0)]
    [0, 2, 3, 4, 2, 0]
    """
    coins: Coins = DerivedCoins(secret, label(survey, question, randomizer.written(value)))
    return randomizer.derive(value, coins)
