"""Reports on disk: one SQLite file for one form of one survey. What is not counted is kept beside, with its reason.

Reports lie in the order of their pseudonyms and without a time. SQLite writes new rows wherever there is room, so a store that took
something is written anew when it is closed: the closed file does not tell who came when.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from tacit.errors import StoreUnusable
from tacit.files import owned, turn
from tacit.publish.local.survey.declaration import Survey
from tacit.publish.local.survey.report import SAME, Form, Reason, Report, SetAside

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

    With `most_aside`, texts that are set aside are kept up to so many bytes; beyond it they are only told of.
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
            known = dict(self._database.execute("SELECT name, value FROM about"))
            if not known:
                self._database.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        for name, value in about.items() if known else ():
            if known.get(name) != value:
                self.close()
                raise StoreUnusable(f"{self.path} contains reports of another {name}", remedy="use a separate store for each form")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._turn_of, turn(self._database):
            yield

    def take(self, text: bytes, now: datetime | None = None) -> Report | SetAside:
        """Counts a report or sets it aside; durable when this returns."""
        with self._writing(), self._turn():
            return self._taken(text, now or datetime.now(UTC))

    def take_all(self, texts: Iterable[bytes], now: datetime | None = None) -> Iterator[Report | SetAside]:
        """The same for many, a thousand in one transaction; each outcome is returned once it is durable."""
        waiting, arrived = iter(texts), now or datetime.now(UTC)
        while batch := list(islice(waiting, BATCH)):
            with self._writing(), self._turn():
                told = [self._taken(text, arrived) for text in batch]
            yield from told

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreUnusable(
                f"{self.path} cannot be written ({error})", remedy="fix the cause, and send the reports again"
            ) from None

    def _taken(self, text: bytes, now: datetime) -> Report | SetAside:
        read = self.form.read(text, now)
        if isinstance(read, Report):
            answers = json.dumps(read.answers, sort_keys=True)
            row = (read.person, read.group, answers)
            if self._database.execute("INSERT OR IGNORE INTO reports VALUES (?, ?, ?)", row).rowcount:
                self._added = True
                return read
            read = self._duplicate(*row)
        return self._kept(text, read)

    def _kept(self, text: bytes, read: SetAside) -> SetAside:
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
        """What was reported on one question, as JSON has it, of all or of one group."""
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
