"""The records of requests: one debit for one Idempotency-Key, and a refusal of requests that ended a process.

The same request under the same key is the same reply, even if a process or a connection was lost.

    begun       the key, a digest of the request and the head of the ledger are on the disk before anything is asked
    spent       the ledger's entry names the key (its digest), in the same transaction as the spend
    finished    the reply is on the disk before it leaves

A request that was begun and not finished is looked for in the ledger, after that head. If its entry is there, the entry decides:
its answer is the reply, or that it has none. If not, nothing was spent, and it is asked. Keys are per analyst: the digest is of
both, so that the key of one analyst tells nothing about another.

A key that spent is remembered as long as its entry. Its reply is kept beside it only if it is short; a longer one is kept as a
frame (names, amounts and receipt) around the answer that the ledger stores for the entry. Replies that cost nothing are kept for
the latest keys of an analyst, and long ones not at all: they are made again, at no cost.

A request that ended a process of the server twice is refused by its fingerprint until the curator looks.

    working     while the clerk reads, prices or draws for a request, its fingerprint stands in a file; not while others go first
    counted     by the next clerk, if a signal ended this one; so is an engine that ends over public tables, and a question that was
                paid for and did not finish, whatever the reason
    refused     after the second count, before anything is spent
    forgotten   by `tacit ledger resume` and POST /v1/resume

A fingerprint is a SHA-256 of the account, the text and its parameters, with whatever budget. So no analyst can have an ordinary
question refused to others, nor learn that they asked it. Nothing here depends on private rows, except whether a paid question
finished: that is counted apart. All reasons are one, as in the reply. server.md says why.
"""

from __future__ import annotations

import json
import os
import time
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

import sqlalchemy as sql

from tacit.doors.exact_form import answer_from, exact_text
from tacit.doors.server.records import REQUESTS, SUSPECTS, Records, run
from tacit.doors.server.turns import WORKING
from tacit.errors import StoreUnusable, TooManyFailures
from tacit.files import held_open
from tacit.release.answer import Receipt, recorded, with_names
from tacit.release.once import log_line
from tacit.untrusted import for_json

Stored = Callable[[int], str | None]  # the answer that the ledger stores for an entry of the analyst

MOST_UNPAID = 1_000  # keys of one analyst that spent nothing and are remembered; one that spent is remembered for ever
SHORT = 2_048  # bytes, compressed, of a reply that is kept as it is for ever
MOST_FREE = 65_536  # bytes, compressed, of a reply that cost nothing and is kept
ANSWER, RECEIPT = '{"answer": ', ', "receipt": '  # how an answer begins, and what stands before its receipt
FRAME = '{"frame": '  # how a frame begins, as no reply does


class KeyReused(Exception):
    """Another request was sent under the same key."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A finished reply as it is kept: its status, and its text in the form that all others are made from."""

    status: int
    text: str
    entry: int | None = None
    lasts: bool = True  # else the same request is looked at anew under its key


@dataclass(frozen=True, slots=True)
class Begun:
    """A request under a key; `finished` if its reply is kept. `again` says that it was begun before, and never finished."""

    analyst: str
    key: str
    head: int
    again: bool
    finished: Kept | None = None


class Requests:
    """The requests of one server, in its records. One process uses them; its threads wait for one another."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._locks: dict[tuple[str, str], Lock] = {}
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()

    @contextmanager
    def alone(self, analyst: str, key: str, asked: Mapping[str, Any], head: int) -> Iterator[Begun]:
        """A request under its key, begun on the disk; a second one with the same key waits until the first has ended."""
        digest = digest_of(analyst, key)
        with self._turn((analyst, digest)):
            yield self._begin(analyst, digest, digest_of(for_json(dict(sorted(asked.items())))), head)

    def finish(self, begun: Begun, kept: Kept) -> None:
        """Keep the reply. If that fails, the ledger's entry decides when the same request comes again."""
        body: bytes | None = zlib.compress(kept.text.encode())
        if not kept.lasts or (kept.entry is None and body is not None and len(body) > MOST_FREE):
            body = None
        with suppress(StoreUnusable), self._records.transaction() as connection:
            mine = (REQUESTS.c.analyst == begun.analyst) & (REQUESTS.c.key == begun.key)
            connection.execute(sql.update(REQUESTS).where(mine).values(status=kept.status, reply=body, entry=kept.entry))
            if kept.entry is None:
                self._forget_unpaid(connection, begun.analyst)

    def _begin(self, analyst: str, key: str, asked: str, head: int) -> Begun:
        mine = (REQUESTS.c.analyst == analyst) & (REQUESTS.c.key == key)
        with self._records.reader() as connection:
            row = connection.execute(sql.select(REQUESTS).where(mine)).first()
        if row is None:
            with self._records.transaction() as connection:
                new = {"analyst": analyst, "key": key, "asked": asked, "head": head, "begun": time.time()}
                connection.execute(sql.insert(REQUESTS), new)
            return Begun(analyst, key, head, again=False)
        if row.asked != asked:
            raise KeyReused
        finished = (
            None if row.status is None or row.reply is None else Kept(row.status, zlib.decompress(row.reply).decode(), row.entry)
        )
        return Begun(analyst, key, row.head, again=True, finished=finished)

    def _forget_unpaid(self, connection: sql.Connection, analyst: str) -> None:
        unpaid = (REQUESTS.c.analyst == analyst) & REQUESTS.c.entry.is_(None) & REQUESTS.c.status.is_not(None)
        latest = sql.select(REQUESTS.c.key).where(unpaid).order_by(REQUESTS.c.begun.desc()).limit(MOST_UNPAID)
        connection.execute(sql.delete(REQUESTS).where(unpaid, REQUESTS.c.key.not_in(latest)))

    @contextmanager
    def _turn(self, which: tuple[str, str]) -> Iterator[None]:
        with self._lock:
            lock = self._locks.setdefault(which, Lock())
            self._waiting[which] += 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                self._waiting[which] -= 1
                if not self._waiting[which]:
                    del self._waiting[which], self._locks[which]


def digest_of(*parts: str) -> str:
    """One SHA-256 over texts, in hexadecimal; no two lists of texts share one."""
    return sha256("".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")).hexdigest()


# --- long replies ------------------------------------------------------------------------------------------------------------


def as_frame(kept: Kept, stored: Stored) -> Kept:
    """A reply as it is kept for ever: as it is if it is short, else as the frame from which `unframed` makes the same one."""
    if kept.entry is None or not kept.text.startswith(ANSWER) or len(zlib.compress(kept.text.encode())) <= SHORT:
        return kept
    answer = answer_from(kept.text)
    receipt = json.loads(kept.text[kept.text.rindex(RECEIPT) + len(RECEIPT) : -1])
    fields = {"names": [column.name for column in answer.columns], "receipt": receipt}
    amounts = [str(answer.receipt.epsilon), str(answer.receipt.delta)]
    frame = replace(kept, text=FRAME + for_json({**fields, "amounts": amounts}) + "}")
    try:
        return frame if from_frame(frame, stored) == kept else kept
    except StoreUnusable:
        return kept


def from_frame(kept: Kept, stored: Stored) -> Kept:
    """The reply that `framed` was given."""
    if not kept.text.startswith(FRAME) or kept.entry is None:
        return kept
    fields, text = json.loads(kept.text)["frame"], stored(kept.entry)
    if text is None:
        raise StoreUnusable(f"the answer of entry {kept.entry} is not in the ledger", remedy="restore the ledger from a backup")
    told, (epsilon, delta) = fields["receipt"], map(Fraction, fields["amounts"])
    left = [None if part is None else Fraction(part) for part in told["left"] or (None, None)]
    receipt = Receipt(epsilon, delta, left[0], left[1], told["entry"], told["data_version"], told["again"])
    receipt = replace(receipt, entries=tuple(told.get("entries", ())))
    return replace(kept, text=exact_text(with_names(replace(recorded(text), receipt=receipt), fields["names"])))


# --- requests that ended a process -------------------------------------------------------------------------------------------


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


def fingerprint_once_paid(fingerprint: str) -> str:
    """The fingerprint of a question as one that is paid for."""
    return digest_of("paid", fingerprint)


class Suspects:
    """The requests that the clerk works on now, in a file, and the counts of earlier ones, in the records."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._records, self._folder = records, folder
        self._file = held_open(folder / FILE)
        weakref.finalize(self, os.close, self._file)
        self._places: SimpleQueue[int] = SimpleQueue()
        for place in range(PLACES):
            self._places.put(place)

    def recover(self, died: bool) -> None:
        """Count what the clerk before this one worked on, if a signal ended it, and begin anew."""
        content = os.pread(self._file, PLACES * SIZE, 0)
        os.ftruncate(self._file, 0)
        for place in range(PLACES) if died else ():
            fingerprint, _, account = (
                content[SIZE * place : SIZE * (place + 1)].rstrip(b"\0").decode(errors="replace").partition(" ")
            )
            if fingerprint:
                self.count(fingerprint, account, CLERK)

    @contextmanager
    def at_work(self, fingerprint: str) -> Iterator[None]:
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
        with self._records.reader() as connection:
            ends = run(connection, COUNTED, fingerprint=fingerprint).scalar()
        if ends is not None and ends >= ENDS:
            raise TooManyFailures(
                f"this question did not finish {ENDS} times, and is refused until the data owner has investigated",
                remedy="ask another question, or ask the data owner to investigate and run: tacit ledger resume",
            )

    def count(self, fingerprint: str, account: str, what: str) -> None:
        """One more end of a process, or one more question without an answer."""
        mine, now = SUSPECTS.c.fingerprint == fingerprint, time.time()
        with self._records.transaction() as connection:
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
    with records.transaction() as connection:
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
