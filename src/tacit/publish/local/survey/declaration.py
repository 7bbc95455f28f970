"""The declaration of a survey: frozen values, all of them public."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, Literal

from tacit.errors import InvalidInput
from tacit.privacy.rounding import decimal_text

Share = Literal["split", "sample"]

LAST_PLACE = timedelta(hours=12)  # a day ends last where clocks are twelve hours behind UTC


@dataclass(frozen=True, slots=True)
class YesNo:
    """Yes (code 1) or no (code 0)."""

    id: str
    ask: str
    hint: str = ""
    kind: Literal["yes/no"] = field(default="yes/no", init=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options, by its place among them."""

    id: str
    ask: str
    options: tuple[str, ...]
    method: str = ""
    hint: str = ""
    kind: Literal["choice"] = field(default="choice", init=False)


@dataclass(frozen=True, slots=True)
class Number:
    """A number on the public grid lower, lower + step, ..., upper."""

    id: str
    ask: str
    lower: Fraction
    upper: Fraction
    step: Fraction
    unit: str = ""
    method: str = ""
    hint: str = ""
    kind: Literal["number"] = field(default="number", init=False)

    @property
    def points(self) -> int:
        """How many numbers can be answered."""
        return int((self.upper - self.lower) / self.step) + 1


@dataclass(frozen=True, slots=True)
class SetOf:
    """Some of the options, up to `at_most` of them, perhaps none."""

    id: str
    ask: str
    options: tuple[str, ...]
    at_most: int
    hint: str = ""
    kind: Literal["set"] = field(default="set", init=False)


Question = YesNo | Choice | Number | SetOf


@dataclass(frozen=True, slots=True)
class Group:
    """A public fact about each person, by which results may be compared. It is sent as it is: nothing protects it."""

    ask: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """A survey as it was declared.

    >>> asked = Survey("bikes", "Bicycles", date(2030, 1, 31), Fraction(1), (YesNo("cycles", "Do you cycle?"),))
    >>> asked.open_until.isoformat(), asked.question("cycles").kind
    ('2030-02-01T12:00:00+00:00', 'yes/no')
    """

    id: str
    title: str
    closes: date
    epsilon: Fraction
    questions: tuple[Question, ...]
    share: Share = "split"
    language: str = "en"
    about: str = ""
    group: Group | None = None
    send_to: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def open_until(self) -> datetime:
        """The moment at which the closing day has ended everywhere on Earth."""
        return datetime(self.closes.year, self.closes.month, self.closes.day, tzinfo=UTC) + timedelta(days=1) + LAST_PLACE

    def closed_at(self, now: datetime) -> bool:
        """Whether reports that come now come too late."""
        return now >= self.open_until

    def question(self, id: str) -> Question:
        """The question of that name."""
        for question in self.questions:
            if question.id == id:
                return question
        raise InvalidInput(f"unknown question {id!r}; the survey has {', '.join(each.id for each in self.questions)}")

    def to_json(self) -> dict[str, Any]:
        """The meaning of the answers, and their randomization; titles, hints and closing date are left out."""
        return {
            "survey": self.id,
            "epsilon": decimal_text(self.epsilon),
            "share": self.share,
            "group": list(self.group.values) if self.group else None,
            "questions": [_meaning(question) for question in self.questions],
        }


def fingerprint(*parts: object) -> str:
    """32 hexadecimal digits that stand for values JSON can write: the same for the same values, whatever wrote them.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1}), len(fingerprint())
    (True, 32)
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]


def _meaning(question: Question) -> dict[str, Any]:
    names = [name for name in type(question).__dataclass_fields__ if name != "hint"]
    values = {name: getattr(question, name) for name in names}
    return {name: decimal_text(value) if isinstance(value, Fraction) else value for name, value in values.items()}
