"""The one till: every way to publish pays here, and nothing that reads private rows runs anywhere else. once.md has the proof.

check     the ledger is the one that this data set knows, and has lost nothing
reserve   one transaction: an answer that was released before, or the first offer that the ledger admits, spent
run       what was paid for, once; whatever happens, it stays spent, and what does not finish is counted
keep      the answer, with its hash in the chain
receipt   made for whoever asks: their own entry, and what is left for them
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tacit.accounting.filter import Left
from tacit.accounting.ledger.ledger import Ledger
from tacit.accounting.ledger.rollback import check_head, remember_head
from tacit.accounting.ledger.selling import Granted, Recalled, Sale
from tacit.errors import InvalidCatalog, InvalidValue, StoppedAfterSpending, StoreUnusable, TacitError, TimedOut
from tacit.release.unforeseen import alone, noted

Value = TypeVar("Value")


def _nothing_to_open() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Till:
    """A ledger, and the folder beside the prepared data that remembers its head (none: nothing is remembered).

    `named` is the ledger that the prepared data itself names; `ready` opens the data and reads no row, so that what cannot be
    opened is found before it is paid for. `log` is the folder of the data owner's log.
    """

    ledger: Ledger
    folder: Path | None = None
    named: str | None = None
    ready: Callable[[], None] = _nothing_to_open
    log: Path | None = None

    def check(self) -> None:
        """Refuse a ledger that is not this data set's, or that has lost entries; before anything is read from it."""
        if self.folder is not None:
            check_head(self.folder, self.ledger, self.named)

    def remember(self, granted: Granted) -> None:
        if self.folder is not None:
            remember_head(self.folder, granted.entry.head)


@dataclass(frozen=True, slots=True)
class Form(Generic[Value]):
    """How a released value is kept as a text, and read again."""

    write: Callable[[Value], str]
    read: Callable[[str], Value]


@dataclass(frozen=True, slots=True)
class Sold(Generic[Value]):
    """A released value for one who asked: the offer that was taken, their entry, what is left for them.

    `repeated` is true where they had asked for it before; then nothing was spent.
    """

    value: Value
    offer: int
    entry: int
    left: Left
    repeated: bool = False


def once(till: Till, sale: Sale, run: Callable[[Granted], Value], form: Form[Value] | None = None) -> Sold[Value]:
    """What `run` releases for the offer that the ledger granted; or what was released before under the sale's key.

    `run` is called at most once, after the spend is on the disk. With a key there must be a form.
    """
    till.ready()
    till.check()
    found = till.ledger.reserve(sale)
    if isinstance(found, Recalled):
        assert form is not None  # noqa: S101  # only what has a key is kept, and what has a key has a form
        return Sold(form.read(found.text), found.offer, found.entry, till.ledger.left(sale.analyst), repeated=found.own)
    value = _paid_for(till, found, run, form if sale.key else None)
    return Sold(value, found.offer, found.entry.number, till.ledger.left(sale.analyst))


def _paid_for(till: Till, granted: Granted, run: Callable[[Granted], Value], form: Form[Value] | None) -> Value:
    """The value, kept where there is a form; what was spent stays spent. A time-out or a failure becomes an entry, and is counted.

    The error that leaves is raised when the one that was caught is gone: neither it nor a frame of it can be reached from outside.
    """
    try:
        till.remember(granted)
        value = run(granted)
        text = None if form is None else form.write(value)
    except (Exception, KeyboardInterrupt) as error:
        leaving, counted = _ending(error, till, granted)
    else:
        if text is not None:
            till.ledger.answered(granted, text)
        return value
    if counted:
        till.ledger.failed(granted, counted)
    else:
        till.ledger.stopped(granted)
    raise alone(leaving)


def _ending(error: Exception | KeyboardInterrupt, till: Till, granted: Granted) -> tuple[TacitError, str]:
    """What leaves in the place of an error, and the word by which it is counted; no word for what no row can cause."""
    match error:
        case KeyboardInterrupt():
            return StoppedAfterSpending(f"stopped; entry {granted.entry.number} of the ledger stays spent"), ""
        case TimedOut():
            return error, "timed out"
        case StoreUnusable() | InvalidCatalog():  # not of a row
            return error, ""
        case TacitError() if not isinstance(error, InvalidValue):  # which may speak of a value
            return error, "failed"
        case OSError():
            why = os.strerror(error.errno) if error.errno else type(error).__name__
            what = f"the system failed after the spend, which stays ({why})"
            return StoreUnusable(what, remedy="check the disk and its rights, then ask again"), ""
        case _:
            return noted(error, till.log), "failed"
