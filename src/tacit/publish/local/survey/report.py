"""One report: how it is written, how it is read, and why one is set aside.

    {"tacit": "survey report 1", "survey": ID, "form": 32 hex digits, "person": 32 hex digits, "group": N, "answers": {...}}

As a code to be copied, the same text in URL-safe base64 after `tacit1.`. There is no time in it and nothing of the device. The
person is a pseudonym, derived from a secret that stays with them: it tells that two reports of one survey are of one person.
Whoever sends reports may be hostile: every text is either a report of this survey or set aside, and nothing is raised.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from tacit.errors import InvalidValue
from tacit.publish.local.randomizers.permanent import DerivedCoins, label, permanent
from tacit.publish.local.survey.declaration import Survey
from tacit.publish.local.survey.randomized import Randomized, form_of, from_json, randomized, stream_of, to_json, whole_below

VERSION = "survey report 1"
CODE = b"tacit1."
LARGEST = 64 * 1024  # bytes; a report of fifty questions of a hundred options has 6,000
DEEPEST = 8  # brackets inside one another; a report has two
SAME = "the same report was already received"
HEX = re.compile(r"[0-9a-f]{32}")

Reason = Literal["malformed", "foreign", "late", "duplicate"]


@dataclass(frozen=True, slots=True)
class Report:
    """A report of this survey; `answers` are as JSON has them, each one that its question's randomizer can make."""

    person: str
    group: int | None
    answers: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SetAside:
    """Why a text is not counted, in a word and in a sentence."""

    reason: Reason
    why: str
    kept: bool = True  # whether the text itself is in the store


class _Wrong(Exception):
    """What is wrong with a text that should be a report."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a report is checked against: the survey's form, worked out once."""

    survey: Survey
    fingerprint: str
    questions: Mapping[str, Randomized]

    @classmethod
    def of(cls, survey: Survey) -> Form:
        """The form of a survey."""
        return cls(survey, form_of(survey), {each.question.id: each for each in randomized(survey)})

    def read(self, text: bytes, now: datetime) -> Report | SetAside:
        """The report that a text holds, or why it is set aside."""
        try:
            document = _document(text)
            if document.get("survey") != self.survey.id:
                return SetAside("foreign", "it belongs to another survey")
            if document.get("form") != self.fingerprint:
                return SetAside("foreign", "it was made with another version of the form, whose probabilities may differ")
            report = self._report(document)
        except _Wrong as wrong:
            return SetAside("malformed", str(wrong))
        if self.survey.closed_at(now):
            return SetAside("late", f"it arrived after the survey closed on {self.survey.closes}")
        return report

    def text_of(self, answers: Mapping[str, Any], secret: bytes, group: int | None = None) -> str:
        """The report that the page makes of one person's true answers and secret, letter by letter.

        Answers are codes, sets of codes, and numbers, by question.
        """
        asked = self.asked(secret)
        whose = {"survey": self.survey.id, "form": self.fingerprint, "person": pseudonym(self.survey, secret)}
        public = {} if group is None else {"group": group}
        reports = {id: self._permanent(each, answers[id], secret) for id, each in self.questions.items() if id in asked}
        return json.dumps({"tacit": VERSION, **whose, **public, "answers": reports}, separators=(",", ":"))

    def _permanent(self, each: Randomized, answer: Any, secret: bytes) -> Any:
        return to_json(each.randomizer, permanent(each.randomizer, answer, secret, self.stream, each.question.id))

    def asked(self, secret: bytes) -> tuple[str, ...]:
        """The questions that this person is asked: all, or with "sample" one that is drawn whatever the answers are."""
        if self.survey.share != "sample":
            return tuple(self.questions)
        drawn = DerivedCoins(secret, label(self.stream, "", "which question")).below(len(self.questions))
        return (self.survey.questions[drawn].id,)

    @property
    def stream(self) -> str:
        """The name under which permanent answers are derived."""
        return stream_of(self.survey, self.fingerprint)

    def _report(self, document: Mapping[str, Any]) -> Report:
        known = {"tacit", "survey", "form", "person", "answers"} | ({"group"} if self.survey.group else set())
        if document.keys() != known:
            raise _Wrong(f"a report of this survey must have exactly these fields: {', '.join(sorted(known))}")
        if not isinstance(document["person"], str) or not HEX.fullmatch(document["person"]):
            raise _Wrong("its person must be 32 hexadecimal digits")
        return Report(document["person"], self._group(document.get("group")), self._answers(document["answers"]))

    def _group(self, written: Any) -> int | None:
        if self.survey.group is None:
            return None
        try:
            return whole_below(written, len(self.survey.group.values))
        except InvalidValue as error:
            raise _Wrong(f"its group is invalid: {error}") from None

    def _answers(self, written: Any) -> Mapping[str, Any]:
        if not isinstance(written, dict) or not written.keys() <= self.questions.keys():
            raise _Wrong("its answers do not match the questions of this survey")
        if len(written) != (1 if self.survey.share == "sample" else len(self.questions)):
            raise _Wrong("it must have exactly one answer to each question that it was asked")
        for id, answer in written.items():
            try:
                from_json(self.questions[id].randomizer, answer)
            except InvalidValue as error:
                raise _Wrong(f"its answer to {id} is invalid: {error}") from None
        return written


def pseudonym(survey: Survey, secret: bytes) -> str:
    """32 hexadecimal digits that are the same for one person in one survey, and tell nothing without the secret."""
    fields = [text.encode("utf-8") for text in ("tacit person 1", survey.id)]
    return hmac.digest(secret, b"".join(len(text).to_bytes(4, "big") + text for text in fields), "sha256").hex()[:32]


def _document(text: bytes) -> dict[str, Any]:
    """The JSON object that a text holds, plain or as a code."""
    stripped = text.strip()
    if len(stripped) > LARGEST:
        raise _Wrong(f"it is longer than {LARGEST:,} bytes")
    plain = _decoded(stripped) if stripped.startswith(CODE) else stripped
    if max(plain.count(b"["), plain.count(b"{")) > DEEPEST:
        raise _Wrong("it has too many brackets for a report")
    try:
        found = json.loads(plain.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except _Wrong:
        raise
    except (ValueError, RecursionError):  # no UTF-8, no JSON, or an integer of thousands of digits
        raise _Wrong("it is not JSON" if plain else "it is empty") from None
    if not isinstance(found, dict) or found.get("tacit") != VERSION:
        raise _Wrong(f"it is not marked as a {VERSION!r} of tacit")
    return found


def _decoded(code: bytes) -> bytes:
    letters = code[len(CODE) :]
    try:
        return base64.b64decode(letters + b"=" * (-len(letters) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _Wrong("it is a code with missing or extra letters") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Wrong("it has a duplicate key")
    return found


def _no_number(name: str) -> None:
    raise _Wrong("it contains NaN or Infinity")
