"""Reports of a survey: one as it is written and read, and all of them on disk.

One report: how it is written, how it is read, and why one is set aside.

    {"tacit": "survey report 1", "survey": ID, "form": 32 hex digits, "person": 32 hex digits, "group": N, "answers": {...}}

As a code to be copied, the same text in URL-safe base64 after `tacit1.`. There is no time in it and nothing of the device. The
person is a pseudonym, derived from a secret that stays with them: it tells that two reports of one survey are of one person.
Whoever sends reports may be hostile: every text is either a report of this survey or set aside, and nothing is raised.

Reports on disk: one SQLite file for one form of one survey. Texts that are not counted are kept beside them, with their reason.

Reports lie in the order of their pseudonyms and without a time. SQLite writes new rows wherever there is room, so a store that took
something is written anew when it is closed: the closed file does not tell who came when.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import json
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from tacit.errors import InvalidValue, StoreUnusable
from tacit.files import owned, turn
from tacit.publish.local.randomizers.longitudinal import DerivedCoins, label, permanent
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
    """The fault of a text that should be a report."""


@dataclass(frozen=True, slots=True)
class Form:
    """The survey's form, worked out once: every report is checked against it."""

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
        fields = {"tacit", "survey", "form", "person", "answers"} | ({"group"} if self.survey.group else set())
        if document.keys() != fields:
            raise _Wrong(f"a report of this survey must have exactly these fields: {', '.join(sorted(fields))}")
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
    plain = _decode(stripped) if stripped.startswith(CODE) else stripped
    if max(plain.count(b"["), plain.count(b"{")) > DEEPEST:
        raise _Wrong("it has too many brackets for a report")
    try:
        document = json.loads(plain.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except _Wrong:
        raise
    except (ValueError, RecursionError):  # no UTF-8, no JSON, or an integer of thousands of digits
        raise _Wrong("it is not JSON" if plain else "it is empty") from None
    if not isinstance(document, dict) or document.get("tacit") != VERSION:
        raise _Wrong(f"it is not marked as a {VERSION!r} of tacit")
    return document


def _decode(code: bytes) -> bytes:
    letters = code[len(CODE) :]
    try:
        return base64.b64decode(letters + b"=" * (-len(letters) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _Wrong("it is a code with missing or extra letters") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise _Wrong("it has a duplicate key")
    return document


def _no_number(name: str) -> None:
    raise _Wrong("it contains NaN or Infinity")


# --- reports on disk ---------------------------------------------------------------------------------------------------------


TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (person TEXT PRIMARY KEY, "group" INTEGER, answers TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS set_aside (
    hash TEXT NOT NULL, reason TEXT NOT NULL, why TEXT NOT NULL, times INTEGER NOT NULL, text BLOB NOT NULL,
    PRIMARY KEY (hash, reason)
) WITHOUT ROWID;
"""
WAIT = 30.0  # seconds for another process to finish writing
BATCH = 1000
ROW = 256  # bytes that a row takes beside its text, about


@dataclass(frozen=True, slots=True)
class Aside:
    """A text that is not counted: why, how often it came, and the text itself."""

    reason: Reason
    why: str
    times: int
    text: bytes


class Store:
    """The reports of one survey; many threads and processes may add to it.

    With `most_aside`, texts that are set aside are kept up to that number of bytes; beyond it they are only told of.
    """

    def __init__(self, path: str | Path | None, survey: Survey, most_aside: int | None = None) -> None:
        self.path = path = Path(path) if path else None
        self.form, self.most_aside, self._added = Form.of(survey), most_aside, False
        self._turn_of = threading.Lock()
        try:
            self._database = sqlite3.connect(
                owned(path) if path else ":memory:", timeout=WAIT, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA synchronous = FULL")
            self._own()
            self._database.executescript(TABLES)
            self._aside = self.kept_aside()
            self._bind({"what": "reports of a survey", "survey": survey.id, "form": self.form.fingerprint})
        except (sqlite3.Error, OSError) as error:
            raise StoreUnusable(f"{path} cannot be used as a store of reports ({error})", remedy="name another file") from None

    def _own(self) -> None:
        """Refuses a file that something else is kept in, before anything is written to it."""
        tables = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables - {"about", "reports", "set_aside"}:
            self._database.close()
            raise StoreUnusable(f"{self.path} is a database of another program", remedy="name another file")

    def _bind(self, about: Mapping[str, str]) -> None:
        with self._turn():
            bound = dict(self._database.execute("SELECT name, value FROM about"))
            if not bound:
                self._database.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        for name, value in about.items() if bound else ():
            if bound.get(name) != value:
                self.close()
                raise StoreUnusable(f"{self.path} contains reports of another {name}", remedy="use a separate store for each form")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._turn_of, turn(self._database):
            yield

    def take(self, text: bytes, now: datetime | None = None) -> Report | SetAside:
        """Counts a report or sets it aside; durable when this returns."""
        with self._write_errors(), self._turn():
            return self._take(text, now or datetime.now(UTC))

    def take_all(self, texts: Iterable[bytes], now: datetime | None = None) -> Iterator[Report | SetAside]:
        """The same for many, a thousand in one transaction; each outcome is returned once it is durable."""
        waiting, arrived = iter(texts), now or datetime.now(UTC)
        while batch := list(islice(waiting, BATCH)):
            with self._write_errors(), self._turn():
                told = [self._take(text, arrived) for text in batch]
            yield from told

    @contextmanager
    def _write_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreUnusable(
                f"{self.path} cannot be written ({error})", remedy="fix the cause, and send the reports again"
            ) from None

    def _take(self, text: bytes, now: datetime) -> Report | SetAside:
        read = self.form.read(text, now)
        if isinstance(read, Report):
            answers = json.dumps(read.answers, sort_keys=True)
            row = (read.person, read.group, answers)
            if self._database.execute("INSERT OR IGNORE INTO reports VALUES (?, ?, ?)", row).rowcount:
                self._added = True
                return read
            read = self._duplicate(*row)
        return self._keep(text, read)

    def _keep(self, text: bytes, read: SetAside) -> SetAside:
        """Keeps a text that is set aside, once, as long as there is room."""
        digest = hashlib.sha256(text).hexdigest()
        again = "UPDATE set_aside SET times = times + 1 WHERE hash = ? AND reason = ?"
        if self._database.execute(again, (digest, read.reason)).rowcount:
            return read
        if self.most_aside is not None and self._aside + len(text) + ROW > self.most_aside:
            return replace(read, kept=False)
        self._database.execute("INSERT INTO set_aside VALUES (?, ?, ?, 1, ?)", (digest, read.reason, read.why, text))
        self._aside, self._added = self._aside + len(text) + ROW, True
        return read

    def _duplicate(self, person: str, group: int | None, answers: str) -> SetAside:
        query = 'SELECT "group", answers FROM reports WHERE person = ?'
        if self._database.execute(query, (person,)).fetchone() == (group, answers):
            return SetAside("duplicate", SAME)
        return SetAside("duplicate", "another report of the same person was received earlier; only the first one counts")

    def people(self, group: int | None = None) -> int:
        """How many reports are counted, of all or of one group."""
        query = 'SELECT count(*) FROM reports WHERE ?1 IS NULL OR "group" = ?1'
        with self._turn_of:
            return int(self._database.execute(query, (group,)).fetchone()[0])

    def answers(self, id: str, group: int | None = None) -> list[Any]:
        """The reports on one question, as JSON has them, of all or of one group."""
        query = 'SELECT answers FROM reports WHERE ?1 IS NULL OR "group" = ?1'
        with self._turn_of:
            rows = self._database.execute(query, (group,)).fetchall()
        told = (json.loads(answers) for (answers,) in rows)
        return [answers[id] for answers in told if id in answers]

    def set_aside(self) -> list[Aside]:
        """All that is not counted."""
        with self._turn_of:
            rows = self._database.execute("SELECT reason, why, times, text FROM set_aside").fetchall()
        return [Aside(*row) for row in rows]

    def counts(self) -> dict[str, int]:
        """How many reports are counted, and how many texts are set aside for each reason, repetitions included."""
        with self._turn_of:
            asides = self._database.execute("SELECT reason, sum(times) FROM set_aside GROUP BY reason").fetchall()
        return {"counted": self.people()} | dict.fromkeys(REASONS, 0) | dict(asides)

    def kept_aside(self) -> int:
        """About how many bytes all that is set aside takes."""
        with self._turn_of:
            query = "SELECT coalesce(sum(length(text) + ?), 0) FROM set_aside"
            return int(self._database.execute(query, (ROW,)).fetchone()[0])

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the use of the file; what was added is put in its order."""
        with self._turn_of:
            if self._added and self.path is not None:
                with contextlib.suppress(sqlite3.Error):  # another process writes to it, and will do this; or the disk is full
                    self._database.execute("PRAGMA busy_timeout = 0")
                    self._database.execute("VACUUM")
            self._database.close()


REASONS: tuple[Reason, ...] = ("malformed", "foreign", "late", "duplicate")
