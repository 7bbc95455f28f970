"""The history on disk: every answer given over one table, to all analysts together, in SQLite.

An answer is written before it is shown, in the transaction in which it was decided: two desks over one history see one another's
answers, and a crash may lose an answer but never its entry. Refusals are recorded too, and never used. Each line carries the
hash of the one before, so that a changed or removed entry is noticed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.errors import StoreUnusable
from tacit.files import owned, turn
from tacit.publish.audited.question import Number, Question

TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY, aggregate TEXT NOT NULL, members BLOB NOT NULL,
    answer TEXT NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS refusals (number INTEGER PRIMARY KEY, after INTEGER NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL);
"""
RESTORE = "restore the file from a backup"
WAIT = 30.0  # seconds for another desk to finish its question


@dataclass(frozen=True, slots=True)
class Past:
    """A question that was answered, and its answer."""

    question: Question
    answer: Number
    hash: str


class History:
    """The answers given over one table under one auditor; `about` names both, and a history about others is refused."""

    def __init__(self, path: Path | None, about: Mapping[str, str]) -> None:
        self.path, self.people = path, int(about["rows"])
        try:
            self._database = sqlite3.connect(owned(path) if path else ":memory:", timeout=WAIT, isolation_level=None)
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(TABLES)
            self._bind(about)
        except sqlite3.Error as error:
            raise StoreUnusable(
                f"cannot open the history {path} ({error})", remedy="move the file if it is not a history"
            ) from None

    def _bind(self, about: Mapping[str, str]) -> None:
        with turn(self._database):
            stored = dict(self._database.execute("SELECT name, value FROM about"))
            if not stored:
                self._database.executemany("INSERT INTO about VALUES (?, ?)", [*about.items(), ("last", "")])
        for name, value in about.items() if stored else ():
            if stored.get(name) != value:
                raise StoreUnusable(
                    f"the history {self.path} is about another {name}: answering for both would escape the audit",
                    remedy=f"continue with {stored.get(name)!r}" if name != "data" else "continue with the original file",
                )

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """A turn at the history: read what is new, decide, write; durable when it ends."""
        try:
            with turn(self._database):
                yield Turn(self._database, self.people)
        except sqlite3.Error as error:
            raise StoreUnusable(f"cannot write the history {self.path} ({error})", remedy="nothing was answered") from None

    def answers(self) -> int:
        """How many questions were answered."""
        return int(self._database.execute("SELECT count(*) FROM answers").fetchone()[0])

    def refusals(self) -> int:
        """How many questions were refused."""
        return int(self._database.execute("SELECT count(*) FROM refusals").fetchone()[0])

    def close(self) -> None:
        """Closes the file."""
        self._database.close()


@dataclass(frozen=True, slots=True)
class Turn:
    """The actions within one transaction."""

    database: sqlite3.Connection
    people: int

    def after(self, number: int, previous: str) -> Iterator[Past]:
        """The answers from `number` on, checked against the hash of the one before."""
        rows = self.database.execute("SELECT * FROM answers WHERE number >= ? ORDER BY number", (number,))
        for expected, (place, aggregate, members, answer, text, written) in enumerate(rows, start=number):
            previous = _hash(previous, place, aggregate, members, answer, text)
            if expected != place or previous != written:
                raise StoreUnusable(
                    f"entry {expected + 1} of the history was changed or is missing", remedy="restore it from a backup"
                )
            rest = np.frombuffer(zlib.decompress(members), dtype=np.uint8)
            asked = Question(aggregate, np.flatnonzero(np.unpackbits(rest, count=self.people)), text)
            yield Past(asked, json.loads(answer), written)
        if (previous,) != self.database.execute("SELECT value FROM about WHERE name = 'last'").fetchone():
            raise StoreUnusable("the last entries of the history are missing", remedy=RESTORE)

    def append_answer(self, number: int, previous: str, question: Question, answer: Number) -> str:
        """Writes an answer, and returns its hash."""
        inside = np.zeros(self.people, dtype=np.bool_)
        inside[question.members] = True
        members = zlib.compress(np.packbits(inside).tobytes(), 1)
        line = (number, question.aggregate, members, json.dumps(answer), question.text)
        written = _hash(previous, *line)
        self.database.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)", (*line, written))
        self.database.execute("UPDATE about SET value = ? WHERE name = 'last'", (written,))
        return written

    def append_refusal(self, after: int, question: Question, reason: str) -> None:
        """Records a refusal, which is never read back into a decision."""
        line = (after, str(question), reason)
        self.database.execute("INSERT INTO refusals (after, text, reason) VALUES (?, ?, ?)", line)


def _hash(previous: str, number: int, aggregate: str, members: bytes, answer: str, text: str) -> str:
    parts = [previous, number, aggregate, hashlib.sha256(members).hexdigest(), answer, text]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
