"""The prepared store names its ledger and the last entry that it saw, so that a lost, foreign or older ledger stops all answers.

A chain of hashes shows every change but one: a ledger that is cut off at its end is a shorter ledger that fits. So after every
spend, and before any data is read, the head is written beside the prepared data; and before every spend the ledger must still hold
that entry, with that hash. Only the curator's `adopt` accepts another ledger, and what had been spent is carried over to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.accounting.durable import replace_file, turn_of
from tacit.accounting.entries import Entry, Head, head_from, head_text
from tacit.errors import StoreUnusable

if TYPE_CHECKING:
    from tacit.accounting.ledger import Ledger

FILE = "ledger.json"
REMEDY = "put the ledger back where tacit.toml says it is; or, if it is lost, let the curator run: tacit ledger adopt"


def remembered_head(folder: Path) -> Head | None:
    """The head that a store's folder remembers; None where it remembers none."""
    try:
        return head_from((folder / FILE).read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        raise StoreUnusable(f"{folder / FILE} cannot be read, so nobody knows which ledger counts here", remedy=REMEDY) from None


def remember_head(folder: Path, head: Head) -> None:
    """Remember a head, unless a later one of the same ledger is remembered already. On return it is on the disk."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with turn_of(folder):
        known = remembered_head(folder)
        if known is not None and known.ledger != head.ledger:
            raise StoreUnusable(f"this store belongs to ledger {known.ledger[:8]}, not to {head.ledger[:8]}", remedy=REMEDY)
        if known is None or known.number < head.number:
            replace_file(folder / FILE, head_text(head))


def check_head(folder: Path, ledger: Ledger, named: str | None = None) -> None:
    """Refuse a ledger that is not the one remembered, or that has lost what was remembered of it.

    `named` is the identity that the prepared data itself names; it counts where the folder remembers no head.
    """
    known = remembered_head(folder)
    identity = named if known is None else known.ledger
    if identity is not None and identity != ledger.identity:
        raise StoreUnusable(f"this store belongs to ledger {identity[:8]}, and found is {ledger.identity[:8]}", remedy=REMEDY)
    if known is not None and (found := ledger.hash_at(known.number)) != known.hash:
        what = "is older than" if found is None else "has another history than"
        raise StoreUnusable(f"the ledger {what} the one that this store saw: {known} is not in it", remedy=REMEDY)


def adopt(folder: Path, ledger: Ledger, by: str, reason: str) -> Entry | None:
    """Accept the ledger as it is: an entry in its chain says so, and it is the one that the folder remembers from now on.

    The sums that were remembered, as far as this ledger has not counted them, are carried over by that entry: adopting never
    makes budget. Of a memory that cannot be read nothing can be carried over, and the entry says that too. None comes back, and
    nothing is written, where the ledger is the remembered one already.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with turn_of(folder):
        try:
            forgotten = remembered_head(folder)
        except StoreUnusable:
            forgotten = None
        else:
            if forgotten is not None and ledger.hash_at(forgotten.number) == forgotten.hash:
                return None
        entry = ledger.adopt(forgotten, by, reason)
        replace_file(folder / FILE, head_text(entry.head))
        return entry
