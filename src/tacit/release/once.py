"""The one till: every way to publish pays here, and nothing that reads private rows runs anywhere else. once.md has the proof.

check     the ledger is the one that this data set knows, and has lost nothing
reserve   one transaction: an answer that was released before, or the first offer that the ledger admits, spent
run       what was paid for, once; whatever happens, it stays spent, and what does not finish is counted
keep      the answer, with its hash in the chain
receipt   made for whoever asks: their own entry, and what is left for them
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tacit.accounting.filter import Left
from tacit.accounting.heads import check_head, remember_head
from tacit.accounting.ledger import Ledger
from tacit.accounting.selling import Granted, Recalled, Sale
from tacit.errors import CatalogUnusable, StoppedAfterSpending, StoreUnusable, TimedOut

Value = TypeVar("Value")


def _nothing_to_open() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Till:
    """A ledger, and the folder beside the prepared data that remembers its head (none: nothing is remembered).

    `named` is the ledger that the prepared data itself names; `ready` opens the data and reads no row, so that what cannot be
    opened is found before it is paid for.
    """

    ledger: Ledger
    folder: Path | None = None
    named: str | None = None
    ready: Callable[[], None] = _nothing_to_open

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
    till.remember(found)
    value = _paid_for(till, found, run)
    if form is not None and sale.key:
        till.ledger.answered(found, form.write(value))
    return Sold(value, found.offer, found.entry.number, till.ledger.left(sale.analyst))


def _paid_for(till: Till, granted: Granted, run: Callable[[Granted], Value]) -> Value:
    """The value; what was spent stays spent. A time-out or a failure becomes an entry, and is counted."""
    try:
        return run(granted)
    except KeyboardInterrupt:
        till.ledger.stopped(granted)
        raise StoppedAfterSpending(f"stopped; entry {granted.entry.number} of the ledger stays spent") from None
    except TimedOut:
        till.ledger.failed(granted, "timed out")
        raise
    except (StoreUnusable, CatalogUnusable, OSError):  # of the catalog, the store or the disk: not of a row
        till.ledger.stopped(granted)
        raise
    except Exception:
        till.ledger.failed(granted, "failed")
        raise
