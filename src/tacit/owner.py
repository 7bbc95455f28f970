"""The data owner's actions on a data set, on one screen: prepare the data, begin its ledger, open it, accept changes.

None of them answers a query. What an analyst does is in `session.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.accounting.composition import cost_of
from tacit.accounting.filter import Left, State
from tacit.accounting.ledger import rollback
from tacit.accounting.ledger.ledger import Ledger, open_ledger
from tacit.accounting.ledger.ledger import begin_ledger as begin_books
from tacit.accounting.policy import policy_of
from tacit.data.store import prepared_for
from tacit.errors import InvalidInput, StoreUnusable
from tacit.mechanisms.noise import bits
from tacit.privacy.arguments import text_of, truth_of, whole_of
from tacit.privacy.catalog import Budget, Catalog
from tacit.privacy.loss import Approximate
from tacit.privacy.rounding import Number

if TYPE_CHECKING:
    from tacit.data.engine import Progress
    from tacit.data.prepare import Prepared

CURATOR = "curator"
MOST_STEPS = 10**6  # old units that one new unit touches: beyond this, a restated price is meaningless


@dataclass(frozen=True, slots=True)
class Preparing:
    """How to prepare data: `DataSet.prepare` explains each field."""

    progress: Progress | None = None
    new_ledger: bool = False
    reason: str = ""
    memory: str = "60%"
    accept: bool = False
    keep_version: bool = False
    sources: Mapping[str, Any] | None = None


def prepare_data(catalog: Catalog, begun: Callable[[], Ledger | None], asked: Preparing, replaced: Callable[[], None]) -> Prepared:
    """Copy the declared data into a new store; `replaced` is called once it has replaced the old one.

    `begun` opens the ledger of the data set, if it has one.
    """
    from tacit.data.files.memory import given_tables
    from tacit.data.prepare import prepare
    from tacit.data.registering import registration

    given = given_tables(catalog, asked.sources)
    found = registration(catalog, os.environ, given)
    reason, new_ledger = text_of(asked.reason, "reason"), truth_of(asked.new_ledger, "new_ledger")
    ledger = begun()
    found.require_alone(None if ledger is None else ledger.identity, reason)
    if new_ledger and ledger is not None:
        raise InvalidInput("this data set already has a ledger; leave new_ledger out")
    _settle_units(catalog, ledger)
    how = {"memory": asked.memory, "accept": asked.accept, "keep_version": asked.keep_version}
    prepared = prepare(catalog, asked.progress, given=given, **how)  # type: ignore[arg-type]
    replaced()
    ledger = begin_scratch(catalog, reason) if new_ledger else ledger
    if ledger is not None:
        ledger.note_public()  # before anything that is now public is reported
        found.record(ledger.identity)
        if reason and not new_ledger:
            ledger.note(CURATOR, reason)
    return replace(prepared, notes=(*prepared.notes, *((found.word,) if found.word else ())))


def _settle_units(catalog: Catalog, ledger: Ledger | None) -> None:
    """Let entries of format 1 count for the units that the store of their version declared, while that store exists."""
    if ledger is None or ledger.head.units:
        return
    with suppress(StoreUnusable):
        if not ledger.adopted() and ledger.versions() == {prepared_for(catalog)}:
            ledger.accept_units(1, CURATOR, "the units that the store of these entries declared")


# --- the ledger --------------------------------------------------------------------------------------------------------------


def begin_ledger(catalog: Catalog, reason: str, sources: Mapping[str, Any] | None = None) -> Ledger:
    """Begin the ledger of a data set, once, and record it in the register."""
    from tacit.data.files.memory import given_tables
    from tacit.data.registering import registration

    found = registration(catalog, os.environ, given_tables(catalog, sources))
    found.require_alone(None, text_of(reason, "reason"))
    begun = begin_scratch(catalog, reason)
    found.record(begun.identity)
    return begun


def begin_scratch(catalog: Catalog, reason: str) -> Ledger:
    """Begin a ledger that is not registered. What the prepared data remembers of a lost ledger is carried over."""
    folder = heads_folder(catalog)
    policy = rollback.with_the_split_of(folder, policy_of(catalog))
    begun = begin_books(catalog.ledger_address(os.environ), policy, bits.random_bytes(16).hex(), reason)
    if rollback.remembered_heads(folder):
        rollback.adopt(folder, begun, CURATOR, reason or "begun in the place of a lost one")
    else:
        rollback.remember_head(folder, begun.head)
    return begun


def heads_folder(catalog: Catalog) -> Path:
    """The folder that remembers the last entries of the ledger; what earlier versions kept elsewhere is moved there."""
    return rollback.settled(catalog.store_folder, catalog.heads_folder)


def own_ledger(catalog: Catalog) -> Ledger:
    """The ledger that was begun, not a copy of its file; catalogs share one only if they declare the same data set name."""
    from tacit.data.registering import require_no_copy

    address = catalog.ledger_address(os.environ)
    found = open_ledger(address, policy_of(catalog))
    name = found.belongs.get("data_set", catalog.name)
    at_home = catalog.ledger_url is None and catalog.data_set is None  # a folder may be renamed with its content
    if found.belongs.get("catalog", catalog.file) != catalog.file if at_home else name != catalog.name:
        raise StoreUnusable(
            f"this ledger belongs to the data set '{name}', and this catalog is that of '{catalog.name}'",
            remedy=f'to share one budget, declare [ledger] data_set = "{name}" in both; else declare another [ledger] url',
        )
    require_no_copy(found.identity, address, os.environ)
    return found


@dataclass(frozen=True, slots=True)
class Account:
    """A cap, the totals spent under it, and what one further query may cost."""

    name: str
    cap: Budget
    spent: State
    left: Left


def accounts(catalog: Catalog, ledger: Ledger, analyst: str | None) -> list[Account]:
    """What is spent and what remains: for the data set, and for every analyst or for one."""
    named = sorted(catalog.analysts) if analyst is None else [analyst] if analyst in catalog.analysts else []
    whole = Account("data set", catalog.budget, ledger.spent(), ledger.left())
    caps = {name: catalog.analysts[name].budget or catalog.budget for name in named}
    return [whole, *(Account(name, cap, ledger.spent(name), ledger.left(name)) for name, cap in caps.items())]


def questions_left(ledger: Ledger, epsilon: Number, delta: Number, analyst: str | None) -> int:
    """How many further questions of (epsilon, delta) the ledger admits: for everybody together, or for one analyst."""
    return ledger.room(cost_of(Approximate(epsilon, delta, ledger.policy.neighbours)), analyst)


def adopt(catalog: Catalog, ledger: Ledger, reason: str) -> int | None:
    """Accept the ledger that was found as the data set's own; returns the number of the entry that records this."""
    entry = rollback.adopt(heads_folder(catalog), ledger, CURATOR, text_of(reason, "reason"))
    return None if entry is None else entry.number


def accept_units(ledger: Ledger, steps: int, reason: str) -> int:
    """Let the ledger count for the currently declared units; returns the number of the entry that restates all earlier ones."""
    count = whole_of(steps, "steps", 1, MOST_STEPS)
    return ledger.accept_units(count, CURATOR, text_of(reason, "reason")).number


def resume(ledger: Ledger, reason: str) -> int:
    """Allow queries again after failures; returns the number of the entry that records this."""
    return ledger.resume(CURATOR, text_of(reason, "reason")).number
