"""One debit for one Idempotency-Key: the same request again is the same reply, whatever was lost on the way.

    begun       the key, a digest of the request and the head of the ledger are on the disk before anything is asked
    spent       the ledger's entry names the key (its digest), in the same transaction as the spend
    finished    the reply is on the disk before it leaves

A request that was begun and not finished is looked for in the ledger, after that head. If its entry is there, the entry decides:
its answer is the reply, or that it has none. If not, nothing was spent, and it is asked. Keys are per analyst: the digest is of
both, so that nobody's key tells anything about another one's.

A key that spent is remembered as long as its entry. Its reply is kept beside it only if it is short; a longer one is kept as a
frame (names, amounts and receipt) around the answer that the ledger stores for the entry. Replies that cost nothing are kept for
the latest keys of an analyst, and long ones not at all: they are made again, at no cost.
"""

from __future__ import annotations

import json
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from threading import Lock
from typing import Any

import sqlalchemy as sql

from tacit.doors.exact_form import answer_from, exact_text
from tacit.doors.server.records import REQUESTS, Records
from tacit.errors import StoreUnusable
from tacit.release.answer import Receipt, recorded, renamed
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
        known = digest_of(analyst, key)
        with self._turn((analyst, known)):
            yield self._begun(analyst, known, digest_of(for_json(dict(sorted(asked.items())))), head)

    def finish(self, begun: Begun, kept: Kept) -> None:
        """Keep the reply. If that fails, the ledger's entry decides when the same request comes again."""
        body: bytes | None = zlib.compress(kept.text.encode())
        if kept.entry is None and body is not None and len(body) > MOST_FREE:
            body = None
        with suppress(StoreUnusable), self._records.writing() as connection:
            mine = (REQUESTS.c.analyst == begun.analyst) & (REQUESTS.c.key == begun.key)
            connection.execute(sql.update(REQUESTS).where(mine).values(status=kept.status, reply=body, entry=kept.entry))
            if kept.entry is None:
                self._forget_unpaid(connection, begun.analyst)

    def _begun(self, analyst: str, key: str, asked: str, head: int) -> Begun:
        mine = (REQUESTS.c.analyst == analyst) & (REQUESTS.c.key == key)
        with self._records.reading() as connection:
            row = connection.execute(sql.select(REQUESTS).where(mine)).first()
        if row is None:
            with self._records.writing() as connection:
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


def framed(kept: Kept, stored: Stored) -> Kept:
    """A reply as it is kept for ever: as it is if it is short, else as the frame from which `unframed` makes the same one."""
    if kept.entry is None or not kept.text.startswith(ANSWER) or len(zlib.compress(kept.text.encode())) <= SHORT:
        return kept
    answer = answer_from(kept.text)
    receipt = json.loads(kept.text[kept.text.rindex(RECEIPT) + len(RECEIPT) : -1])
    known = {"names": [column.name for column in answer.columns], "receipt": receipt}
    amounts = [str(answer.receipt.epsilon), str(answer.receipt.delta)]
    frame = replace(kept, text=FRAME + for_json({**known, "amounts": amounts}) + "}")
    try:
        return frame if unframed(frame, stored) == kept else kept
    except StoreUnusable:
        return kept


def unframed(kept: Kept, stored: Stored) -> Kept:
    """The reply that `framed` was given."""
    if not kept.text.startswith(FRAME) or kept.entry is None:
        return kept
    known, text = json.loads(kept.text)["frame"], stored(kept.entry)
    if text is None:
        raise StoreUnusable(f"the answer of entry {kept.entry} is not in the ledger", remedy="restore the ledger from a backup")
    told, (epsilon, delta) = known["receipt"], map(Fraction, known["amounts"])
    left = [None if part is None else Fraction(part) for part in told["left"] or (None, None)]
    receipt = Receipt(epsilon, delta, left[0], left[1], told["entry"], told["data_version"], told["again"])
    return replace(kept, text=exact_text(renamed(replace(recorded(text), receipt=receipt), known["names"])))
