"""Requests that ended a process of the server. One that did so twice is refused by its fingerprint until the curator looks.

    working     while the clerk reads, prices or draws for a request, its fingerprint stands in a file; not while others go first
    counted     what stands there when a signal ended the clerk is counted by the next one; so is an engine that ends over public
                tables, and a question that was paid for and did not finish, whatever the reason
    refused     what was counted twice, before anything is spent
    forgotten   by `tacit ledger resume` and POST /v1/resume

A fingerprint is a SHA-256 of the account, the text and its parameters, with whatever budget. So nobody can have an ordinary
question refused to others, nor learn that they asked it. Nothing here depends on private rows, except whether a paid question
finished: that is counted apart. All reasons are one, as in the reply. server.md says why.
"""

from __future__ import annotations

import json
import os
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import sqlalchemy as sql

from tacit.doors.server.records import SUSPECTS, Records, run
from tacit.doors.server.requests import digest_of
from tacit.doors.server.turns import WORKING
from tacit.errors import TooManyFailures
from tacit.files import held_open
from tacit.release.once import log_line

FILE = "server.working"
ENDS = 2  # after so many a request is refused
MOST = 1_000  # fingerprints that are remembered: the latest
PLACES, SIZE = 64, 512  # threads that work at once, more than the clerk has, and bytes of what each works on
COUNTED = sql.select(SUSPECTS.c.ends).where(SUSPECTS.c.fingerprint == sql.bindparam("fingerprint"))
CLERK, ENGINE, UNFINISHED = "the clerk", "an engine", "without an answer"


def fingerprint_of(account: str, text: str, params: Mapping[str, Any] | None) -> str:
    """The fingerprint of a question of an account, with whatever budget.

    >>> fingerprint_of("ana", " SELECT 1", None) == fingerprint_of("ana", "SELECT 1 ", {})
    True
    """
    return digest_of(account, text.strip(), json.dumps(params or {}, sort_keys=True))


def paid(fingerprint: str) -> str:
    """The fingerprint of a question as one that is paid for."""
    return digest_of("paid", fingerprint)


class Suspects:
    """What the clerk works on now, in a file, and what was counted before, in the records."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._records, self._folder = records, folder
        self._file = held_open(folder / FILE)
        weakref.finalize(self, os.close, self._file)
        self._places: SimpleQueue[int] = SimpleQueue()
        for place in range(PLACES):
            self._places.put(place)

    def recover(self, died: bool) -> None:
        """Count what the clerk before this one worked on, if a signal ended it, and begin anew."""
        found = os.pread(self._file, PLACES * SIZE, 0)
        os.ftruncate(self._file, 0)
        for place in range(PLACES) if died else ():
            fingerprint, _, account = found[SIZE * place : SIZE * (place + 1)].rstrip(b"\0").decode(errors="replace").partition(" ")
            if fingerprint:
                self.count(fingerprint, account, CLERK)

    @contextmanager
    def working(self, fingerprint: str) -> Iterator[None]:
        """Refuse a request that was counted too often; else it is worked on, until it waits for an engine or is done."""
        self.require_few(fingerprint)
        mark = Mark(self, fingerprint, WORKING.get())
        before = MARK.set(mark)
        try:
            mark.put()
            yield
        finally:
            mark.lift()
            MARK.reset(before)

    def require_few(self, fingerprint: str) -> None:
        """Raises `TooManyFailures` for a request that was counted too often."""
        with self._records.reading() as connection:
            ends = run(connection, COUNTED, fingerprint=fingerprint).scalar()
        if ends is not None and ends >= ENDS:
            raise TooManyFailures(
                f"this question did not finish {ENDS} times, and is refused until the data owner has investigated",
                remedy="ask another question, or ask the data owner to investigate and run: tacit ledger resume",
            )

    def count(self, fingerprint: str, account: str, what: str) -> None:
        """One more end of a process, or one more question without an answer."""
        mine, now = SUSPECTS.c.fingerprint == fingerprint, time.time()
        with self._records.writing() as connection:
            ends = 1 + (connection.scalar(sql.select(SUSPECTS.c.ends).where(mine)) or 0)
            connection.execute(sql.delete(SUSPECTS).where(mine))
            connection.execute(sql.insert(SUSPECTS), {"fingerprint": fingerprint, "ends": ends, "last": now})
            latest = sql.select(SUSPECTS.c.fingerprint).order_by(SUSPECTS.c.last.desc()).limit(MOST)
            connection.execute(sql.delete(SUSPECTS).where(SUSPECTS.c.fingerprint.not_in(latest)))
        with suppress(OSError):
            log_line(f"request {fingerprint[:16]} of {account!r} ended {what} ({ends}; refused after {ENDS})", self._folder)

    def place(self) -> int | None:
        """A free place in the file."""
        with suppress(Empty):
            return self._places.get_nowait()
        return None

    def write(self, place: int, text: str) -> None:
        """Write what is worked on at a place. It outlives the process, and need not outlive the machine."""
        with suppress(OSError):
            os.pwrite(self._file, text.encode()[:SIZE].ljust(SIZE, b"\0"), place * SIZE)
        if not text:
            self._places.put(place)


def forget(records: Records) -> None:
    """Let every request be asked again: the curator has looked."""
    with records.writing() as connection:
        connection.execute(sql.delete(SUSPECTS))


# --- of the thread that works --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Mark:
    """That the clerk works on a request; for one thread."""

    suspects: Suspects
    fingerprint: str
    account: str
    places: list[int] = field(default_factory=list)

    def put(self) -> None:
        """Note it in the file."""
        if not self.places and (place := self.suspects.place()) is not None:
            self.places.append(place)
            self.suspects.write(place, f"{self.fingerprint} {self.account}")

    def lift(self) -> None:
        """Take it out of the file."""
        while self.places:
            self.suspects.write(self.places.pop(), "")


MARK: ContextVar[Mark | None] = ContextVar("what this thread of the clerk works on", default=None)


def lift() -> None:
    """An engine works now, and not the clerk."""
    if (mark := MARK.get()) is not None:
        mark.lift()


@contextmanager
def elsewhere() -> Iterator[None]:
    """An engine works inside, or the clerk for others, and after it the clerk for this request again."""
    lift()
    try:
        yield
    finally:
        if (mark := MARK.get()) is not None:
            mark.put()


def engine_ended() -> None:
    """Count an engine that ended over what it was asked of public tables for this request."""
    if (mark := MARK.get()) is not None:
        mark.suspects.count(mark.fingerprint, mark.account, ENGINE)
