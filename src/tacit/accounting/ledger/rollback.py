"""A data set remembers its ledger and the last entry that it saw, so that a lost, foreign or older ledger stops all answers.

A chain of hashes shows every change but one: a ledger that is cut off at its end is a shorter ledger that fits. So after every
spend, and before any data is read, the head is written to a folder beside the prepared data; and before every spend the ledger must
still hold that entry, with that hash. Only the curator's `adopt` accepts another ledger, and what had been spent is carried over to
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.accounting.composition import Cost
from tacit.accounting.filter import NOTHING_SPENT
from tacit.accounting.ledger.chain import nothing
from tacit.accounting.ledger.entries import HALF, Entry, Head, canonical_json, state_from, state_text
from tacit.accounting.ledger.group_commit import turn_of
from tacit.errors import StoreUnusable
from tacit.files import make_private_folder, replace_file, sync_folder
from tacit.privacy.loss import relation_from, relation_text
from tacit.privacy.rounding import exact_from

if TYPE_CHECKING:
    from tacit.accounting.ledger.ledger import Ledger
    from tacit.accounting.ledger.units import Policy

FILE = "ledger.json"
HEADS = 2  # the format of remembered heads, which hold nothing that format 3 of entries added
REMEDY = "restore the ledger at the place declared in tacit.toml; if it is lost, ask the data owner to run: tacit ledger adopt"


# --- heads as a text ---------------------------------------------------------------------------------------------------------


def heads_text(heads: Sequence[Head]) -> str:
    """Heads as a text, and back with `heads_from`."""
    documents = [
        {name: getattr(head, name) for name in ("ledger", "number", "hash", "units", "questions", "failures")}
        | {"neighbours": relation_text(head.neighbours), "spent": json.loads(state_text(head.spent)), "split": str(head.for_events)}
        | ({} if head.order is None else {"order": str(head.order)})
        for head in heads
    ]
    return canonical_json({"format": HEADS, "heads": documents})


def heads_from(text: str) -> tuple[Head, ...]:
    """The heads of a text."""
    return tuple(_head(at) for at in json.loads(text)["heads"])


def _head(at: Mapping[str, Any]) -> Head:
    relation, spent = relation_from(at["neighbours"]), state_from(canonical_json(at["spent"]))
    counts = (int(at.get("questions", 0)), int(at.get("failures", 0)))
    named = (str(at["ledger"]), int(at["number"]), str(at["hash"]), relation, spent, str(at.get("units", "")))
    order = exact_from(at["order"]) if "order" in at else None
    return Head(*named, *counts, exact_from(at.get("split", str(HALF))), order)  # heads of earlier versions: a half, and none


# --- what a folder remembers -------------------------------------------------------------------------------------------------


def remembered_heads(folder: Path) -> tuple[Head, ...]:
    """The heads that a store's folder remembers: the last one first, then ever fewer of the older ones."""
    try:
        return heads_from((folder / FILE).read_text())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        raise StoreUnusable(f"{folder / FILE} cannot be read, so the ledger of this store is unknown", remedy=REMEDY) from None


def take_over_heads(before: Path, folder: Path) -> Path:
    """`folder`, after it has taken over what an earlier version of tacit remembered in the folder `before`, the store's own.

    A crash in between leaves both files, and the later one counts. Files of two ledgers are for the data owner to settle.
    """
    if not (before / FILE).exists():
        return folder
    make_private_folder(folder)
    with turn_of(before), turn_of(folder):
        if not (folder / FILE).exists() or _is_later(remembered_heads(before), remembered_heads(folder), before):
            replace_file(folder / FILE, (before / FILE).read_bytes())
        (before / FILE).unlink(missing_ok=True)
        sync_folder(before)
    return folder


def _is_later(heads: tuple[Head, ...], remembered: tuple[Head, ...], folder: Path) -> bool:
    """Whether heads are later ones of the same ledger."""
    if heads and remembered and heads[0].ledger != remembered[0].ledger:
        raise StoreUnusable(
            f"two ledgers are remembered, {remembered[0].ledger[:8]} and, in {folder / FILE}, {heads[0].ledger[:8]}",
            remedy="remove the file of the one that is not in use",
        )
    return bool(heads) and (not remembered or heads[0].number > remembered[0].number)


def remember_head(folder: Path, head: Head) -> None:
    """Remember a head, unless a later one of the same ledger is remembered already. On return it is on the disk."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with turn_of(folder):
        heads = remembered_heads(folder)
        if heads and heads[0].ledger != head.ledger:
            raise StoreUnusable(f"this store belongs to ledger {heads[0].ledger[:8]}, not to {head.ledger[:8]}", remedy=REMEDY)
        if not heads or heads[0].number < head.number:
            replace_file(folder / FILE, heads_text(thin_out([head, *heads])))


def thin_out(heads: Iterable[Head]) -> list[Head]:
    """Of heads with the last one first: the oldest and the newest of each age of 1, 2 to 3, 4 to 7, ... entries."""
    last, *older = heads
    by_age: dict[int, list[Head]] = {}
    for head in older:
        by_age.setdefault((last.number - head.number).bit_length(), []).append(head)
    return [last, *(kept for same in by_age.values() for kept in (same[0], *same[1:][-1:]))]


def check_head(folder: Path, ledger: Ledger, named: str | None = None) -> None:
    """Refuse a ledger that is not the one remembered, or that has lost what was remembered of it.

    `named` is the identity that the prepared data itself names; it counts where the folder remembers no head.
    """
    heads = remembered_heads(folder)
    identity = heads[0].ledger if heads else named
    if identity is not None and identity != ledger.identity:
        raise StoreUnusable(f"this store belongs to ledger {identity[:8]}, but found {ledger.identity[:8]}", remedy=REMEDY)
    if not heads:
        return
    digest, now = ledger.seen_at(heads[0].number)
    if digest != heads[0].hash:
        what = "is older than" if digest is None else "has another history than"
        raise StoreUnusable(f"the ledger {what} the one that this store saw: {heads[0]} is not in it", remedy=REMEDY)
    if not _counts(now, heads[0]):
        raise StoreUnusable(
            f"the ledger records less than was spent at {heads[0]}: its last entries were changed",
            remedy="restore the ledger from a backup; `tacit history` lists what is wrong",
        )


def _counts(now: Head, before: Head) -> bool:
    """Whether sums include known ones: sums only ever grow, also when they are restated. Entries after a head may be forged.

    Only the sum of rhos becomes less, once: when the ledger takes the order at which it counts from then on.
    """
    spent, remembered = now.spent, before.spent
    pure = spent.epsilon is None or (remembered.epsilon is not None and spent.epsilon >= remembered.epsilon)
    kept = spent.rho >= remembered.rho or (before.order is None and now.order is not None)
    return pure and kept and spent.delta >= remembered.delta


def adopt(folder: Path, ledger: Ledger, by: str, reason: str) -> Entry | None:
    """Accept the ledger as it is: an entry in its chain says so, and it is the one that the folder remembers from now on.

    The sums that were remembered, from the latest point that this ledger shares, are carried over by that entry: adopting never
    makes budget. Of a memory that cannot be read nothing can be carried over, and the entry says that too. None comes back, and
    nothing is written, where the ledger is the remembered one already.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with turn_of(folder):
        try:
            heads = remembered_heads(folder)
        except StoreUnusable:
            heads = ()
        if heads and _holds(ledger, heads[0]):
            return None
        place = f"{heads[0]}, {heads[0].hash}" if heads else "nothing known"
        carried = _cost_carried_over(ledger, heads)
        units_known = not heads or bool(heads[0].units) or carried == nothing(carried.neighbours)
        counts, order = _counts_carried_over(ledger, heads), heads[0].order if heads and heads[0].spent != NOTHING_SPENT else None
        entry = ledger.adopt(carried, by, f"{reason} (in the place of {place})", units_known, counts, order)
        replace_file(folder / FILE, heads_text([entry.head]))
        return entry


def with_the_split_of(folder: Path, policy: Policy) -> Policy:
    """The policy, with the split of delta and the order under which the remembered ledger has spent: there is one over both."""
    with suppress(StoreUnusable):  # of a memory that cannot be read nothing is carried over
        heads = remembered_heads(folder)
        if heads and heads[0].spent != NOTHING_SPENT:
            return replace(policy, split=1 - heads[0].for_events, order=heads[0].order)
    return policy


def _counts_carried_over(ledger: Ledger, heads: tuple[Head, ...]) -> tuple[int, int]:
    """The questions and failures that the lost ledger had counted since the latest remembered point that this one shares."""
    shared = next((head for head in heads if _holds(ledger, head)), None)
    before = (0, 0) if shared is None else (shared.questions, shared.failures)
    last = (heads[0].questions, heads[0].failures) if heads else (0, 0)
    return max(0, last[0] - before[0]), max(0, last[1] - before[1])


def _holds(ledger: Ledger, head: Head) -> bool:
    return ledger.hash_at(head.number) == head.hash


def _cost_carried_over(ledger: Ledger, heads: tuple[Head, ...]) -> Cost:
    """The spending between the latest remembered point that the ledger shares, or the beginning, and the last one."""
    here = ledger.head
    relation = here.neighbours
    if not heads:
        return nothing(relation)
    if heads[0].units and here.units and heads[0].units != here.units:
        raise StoreUnusable(
            "the known spending is for other units than this ledger counts for, and cannot be carried over",
            remedy="declare the same units as before",
        )
    if heads[0].neighbours != relation:
        raise StoreUnusable(
            f"the known spending is for '{heads[0].neighbours}', and cannot be carried over to '{relation}'",
            remedy="declare the same `neighbours` as before",
        )
    if heads[0].for_events != here.for_events and heads[0].spent != NOTHING_SPENT:
        raise StoreUnusable(
            "the known spending is under another split of delta than this ledger keeps, and cannot be carried over",
            remedy="declare another place in [ledger] url and run `tacit ledger begin`, which takes over the split",
        )
    spent, shared = heads[0].spent, next((head.spent for head in heads if _holds(ledger, head)), NOTHING_SPENT)
    epsilon = None if spent.epsilon is None or shared.epsilon is None else spent.epsilon - shared.epsilon
    return Cost(epsilon, spent.rho - shared.rho, spent.delta - shared.delta, relation)
