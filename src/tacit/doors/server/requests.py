"""One debit for one Idempotency-Key: the same request again is the same reply, whatever was lost on the way.

    begun       the key, a digest of the request and the head of the ledger are on the disk before anything is asked
    spent       the ledger's entry names the key (its digest), in the same transaction as the spend
    finished    the reply is on the disk before it leaves

A request that was begun and not finished is looked for in the ledger, after that head. If its entry is there, the entry decides:
its answer is the reply, or that it has none. If not, nothing was spent, and it is asked. Keys are per analyst: the digest is of
both, so that nobody's key tells anything about another one's.
"""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any

import sqlalchemy as sql

from tacit.doors.server.records import REQUESTS, Records
from tacit.errors import StoreUnusable
from tacit.untrusted import for_json

MOST_UNPAID = 1_000  # keys of one analyst that spent nothing and are remembered; one that spent is remembered for ever


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
        body = zlib.compress(kept.text.encode())
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
        finished = None if row.status is None else Kept(row.status, zlib.decompress(row.reply).decode(), row.entry)
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
