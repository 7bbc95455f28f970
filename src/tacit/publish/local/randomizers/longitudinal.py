"""The same person asked again and again: permanent answers, their format, and an account on the person's own side.

The same person asked again and again: permanent answers, and an account on the person's own side. Proof in longitudinal.md.

A fresh report every day would average out: the most frequent report is the truth. A permanent answer is one report
for each true value, given again whenever the value is that one, so that a hundred days tell no more than one day. The cost is
epsilon for every *distinct* true value ever reported. The account counts these; their largest number is public and reserved
when a question is opened, so that no refusal or omission depends on the true value.

Permanent answers: chances that follow from a person's secret and the true value, so that nothing is stored but the secret.

Two programs that follow this format derive the same report (the page of a survey runs the same derivation in the browser):

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
uniform, the report has the randomizer's law to everyone without the secret (permanent.md).
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import numpy as np

from tacit.errors import BudgetExceeded, InvalidInput
from tacit.mechanisms.noise import choice
from tacit.privacy.loss import CHANGE_ONE, Pure, positive_budget
from tacit.privacy.rounding import Number, as_text, decimal_text
from tacit.publish.local.randomizers.randomizer import Chance, Coins, Randomizer

VERSION = "tacit permanent 1"
LEAST_SECRET = 16  # bytes; a page draws 32
WORD = 64


@dataclass(frozen=True, slots=True)
class FreshCoins:
    """Coins from the operating system's secure source."""

    def coin(self, probability: Chance) -> bool:
        """Whether a coin of this probability fell heads."""
        return _toss(probability, lambda: choice.uniform_integer(2**WORD))

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
        return _toss(probability, lambda: self._number(WORD))

    def below(self, bound: int) -> int:
        """One of 0, ..., bound - 1, uniform if the stream is."""
        if bound < 1:
            raise InvalidInput(f"bound must be at least 1, not {bound}", argument="bound")
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


def _toss(probability: Chance, word: Callable[[], int]) -> bool:
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
    """The bytes that name the purpose of a stream of one secret: different triples have different bytes.

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


# --- the same person asked again and again -----------------------------------------------------------------------------------


Key = tuple[str, str]  # a survey and a question of it
NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Standing:
    """A question that is asked again and again: its randomizer, and for how many distinct true values it is paid."""

    randomizer: Randomizer
    most_values: int

    @property
    def reserved(self) -> Fraction:
        """The most that the question can cost one person."""
        return self.most_values * self.randomizer.epsilon


@dataclass(frozen=True, slots=True, repr=False)  # a repr would show true values
class Account:
    """The reservations and reports of one respondent; only the respondent keeps it.

    >>> from tacit.publish.local.randomizers.categories import KAry
    >>> account = Account(cap=4).opened("canteen", "meal", KAry(size=5, epsilon=1), most_values=2)
    >>> secret = bytes(range(32))
    >>> monday, account = account.answer(secret, "canteen", "meal", 3)
    >>> tuesday, account = account.answer(secret, "canteen", "meal", 3)
    >>> monday == tuesday, print(account.loss)
    pure epsilon 1 (change one row)
    (True, None)
    """

    cap: Fraction
    questions: Mapping[Key, Standing]
    told: Mapping[Key, tuple[Any, ...]]  # the distinct true values of each question, the one told last at the end

    def __init__(
        self, cap: Number, questions: Mapping[Key, Standing] = NOTHING, told: Mapping[Key, tuple[Any, ...]] = NOTHING
    ) -> None:
        object.__setattr__(self, "cap", positive_budget(cap))
        object.__setattr__(self, "questions", MappingProxyType(dict(questions)))
        object.__setattr__(self, "told", MappingProxyType(dict(told)))

    @property
    def reserved(self) -> Fraction:
        """The largest cost of all open questions together, whatever is true; public."""
        return sum((each.reserved for each in self.questions.values()), start=Fraction(0))

    @property
    def loss(self) -> Pure:
        """The loss so far: epsilon for each distinct true value ever reported. Known only to the respondent.

        It bounds the disclosure of all reports together about the values, among histories that change on the same days. That a
        value changed is seen when the report does, unless `most_values` is 1, where no report ever changes and the bound needs no
        "among".
        """
        spent = (len(values) * self.questions[key].randomizer.epsilon for key, values in self.told.items())
        return Pure(sum(spent, start=Fraction(0)), CHANGE_ONE)

    def opened(self, survey: str, question: str, randomizer: Randomizer, most_values: int = 1) -> Account:
        """The account with a question to be answered again and again, its cost for `most_values` true values reserved.

        A refusal depends on public facts alone: the cap, and the reservations of other questions.
        """
        if isinstance(most_values, bool) or not isinstance(most_values, int) or most_values < 1:
            raise InvalidInput("most_values, the number of true values that are paid for, must be a whole number of at least 1")
        if (survey, question) in self.questions:
            raise InvalidInput(f"the question {question!r} of {survey!r} is already open; its terms cannot change")
        standing = Standing(randomizer, most_values)
        if self.reserved + standing.reserved > self.cap:
            raise BudgetExceeded(
                f"the question would reserve epsilon {decimal_text(standing.reserved)}, but only "
                f"{decimal_text(self.cap - self.reserved)} of {decimal_text(self.cap)} remains",
                remedy="open it with fewer most_values, or do not answer it",
            )
        return replace(self, questions={**self.questions, (survey, question): standing})

    def answer(self, secret: bytes, survey: str, question: str, value: Any) -> tuple[Any, Account]:
        """Today's report, and the account after it.

        The permanent answer of the value, if it was told before or is still paid for; else that of the value told last, as if
        nothing had changed. A report is made in either case, so that silence tells nothing.
        """
        key = (survey, question)
        if key not in self.questions:
            raise InvalidInput(f"the question {question!r} of {survey!r} is not open; open it first, with its randomizer")
        standing, before = self.questions[key], self.told.get(key, ())
        asked = standing.randomizer.written(value)
        values = {standing.randomizer.written(each): each for each in before}
        if asked in values:
            now = values[asked]
        elif len(before) < standing.most_values:
            now = value
        else:
            now = before[-1]
        after = (*(each for each in before if each is not now), now)
        report = permanent(standing.randomizer, now, secret, stream_of(survey, standing.randomizer), question)
        return report, replace(self, told={**self.told, key: after})

    def to_json(self) -> str:
        """The reported true values as text for storage; as private as the secret, so keep both together.

        >>> from tacit.publish.local.randomizers.categories import KAry
        >>> account = Account(cap=4).opened("canteen", "meal", KAry(size=5, epsilon=1), most_values=2)
        >>> text = account.answer(bytes(range(32)), "canteen", "meal", 3)[1].to_json()
        >>> text, str(account.restored(text).loss.epsilon)
        ('{"canteen": {"meal": [3]}}', '1')
        """
        told: dict[str, dict[str, list[Any]]] = {}
        for (survey, question), values in self.told.items():
            told.setdefault(survey, {})[question] = [_plain(value) for value in values]
        return json.dumps(told, default=float)

    def restored(self, text: str) -> Account:
        """The account, with its questions opened again on their original terms, and with the values that `to_json` wrote."""
        try:
            kept = {(survey, one): tuple(values) for survey, each in json.loads(text).items() for one, values in each.items()}
        except (ValueError, TypeError, AttributeError):
            raise InvalidInput("invalid account; give the text that to_json wrote") from None
        for key, values in kept.items():
            if key not in self.questions or len(values) > self.questions[key].most_values:
                raise InvalidInput(f"the account tells of {key[1]!r} of {key[0]!r}; open it first, with its original terms")
        return replace(self, told=kept)

    def __str__(self) -> str:
        lines = [
            f"{survey} / {question}: {len(self.told.get((survey, question), ()))} of {each.most_values} true values told, "
            f"epsilon {as_text(each.randomizer.epsilon)} each"
            for (survey, question), each in self.questions.items()
        ]
        spent = as_text(self.loss.epsilon)
        return "\n".join([*lines, f"told {spent}, reserved {as_text(self.reserved)}, cap {as_text(self.cap)}"])


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(part) for part in value] if isinstance(value, list | tuple | set | frozenset) else value


def stream_of(survey: str, randomizer: Randomizer) -> str:
    """The name of the coins of a survey and one randomizer: another randomizer of the same survey gets coins of its own.

    The same coins compared with two probabilities could contradict each other, which tells the truth, whatever both epsilons say.
    """
    return f"{survey} {sha256(repr(_terms(randomizer)).encode()).hexdigest()}"


def _terms(value: Any) -> Any:
    """All that a frozen value holds, with the kind of each part: two kinds of randomizers may hold the same numbers."""
    if is_dataclass(value):
        return (type(value).__name__, *(_terms(getattr(value, each.name)) for each in fields(value)))
    return tuple(map(_terms, value)) if isinstance(value, tuple) else value
