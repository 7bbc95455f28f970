"""The same person asked again and again: permanent answers, and an account on the person's own side. Proof in longitudinal.md.

A fresh report every day would average out: the truth is what is said most often. A permanent answer (`permanent.py`) is one report
for each true value, given again whenever the value is that one, so that a hundred days tell what one day told. What is paid is
epsilon for every *distinct* true value ever reported. The account counts these; how many it may pay for is public and reserved
when a question is opened, so that nothing that is refused, or omitted, depends on what is true.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import numpy as np

from tacit.errors import BudgetExceeded, InvalidInput
from tacit.privacy.loss import CHANGE_ONE, Pure, positive_budget
from tacit.privacy.rounding import Number, as_text, decimal_text
from tacit.publish.local.randomizers.permanent import permanent
from tacit.publish.local.randomizers.randomizer import Randomizer

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
    """What one respondent has reserved and reported; only the respondent keeps it.

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
        """What all open questions together may cost, whatever is true; public."""
        return sum((each.reserved for each in self.questions.values()), start=Fraction(0))

    @property
    def loss(self) -> Pure:
        """What was spent so far: epsilon for each distinct true value ever reported. Known only to the respondent.

        It bounds what all reports together tell of the values, among histories that change on the same days. That a value changed
        is seen when the report does, unless `most_values` is 1, where no report ever changes and the bound needs no "among".
        """
        spent = (len(values) * self.questions[key].randomizer.epsilon for key, values in self.told.items())
        return Pure(sum(spent, start=Fraction(0)), CHANGE_ONE)

    def opened(self, survey: str, question: str, randomizer: Randomizer, most_values: int = 1) -> Account:
        """The account with a question to be answered again and again, its cost for `most_values` true values reserved.

        Refused by public things alone: the cap, and what other questions reserved.
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
        known = {standing.randomizer.written(each): each for each in before}
        if asked in known:
            now = known[asked]
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
