"""Entries by which the data owner changes what a ledger counts for: other units, other periods, a raised budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tacit.accounting.ledger.by_period import settled
from tacit.accounting.ledger.chain import nothing
from tacit.accounting.ledger.changes import InForce, Regrouped
from tacit.accounting.ledger.entries import IN_FORCE, REGROUPED, Entry
from tacit.accounting.ledger.pages import entry_after, whole_chain
from tacit.accounting.ledger.units import Policy, Units
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.accounting.ledger.pages import Page


class Turn(NamedTuple):
    """Other units from here on, the number of steps to them, and other periods if they have some."""

    units: Units
    steps: int = 1
    change: Regrouped | None = None


def turn(page: Page, policy: Policy, to: Turn, by: str, why: str) -> Entry:
    """The entry from which on the ledger counts for other units; everything that was paid before is restated one by one."""
    last, relation, reader, (units, steps, change) = page.books.last, policy.neighbours, whole_chain(page), to
    change = settled(change, reader.charged)
    sums = reader.restated(steps, relation, replace(last, cap=policy.budget))
    pages = {} if change is None else reader.regrouped(change, steps, last.orders)[1]
    changed = {name: replace(one, spent=sums.analysts.get(name, one.spent)) for name, one in page.books.accounts.items()}
    said = {"analyst": by, "question": why, "details": {"steps": str(steps)}}
    now = {"price": nothing(relation), "spent": sums.spent, "units": units.fingerprint}
    more = {} if change is None else {REGROUPED: change}
    entry = entry_after(page.books, policy.budget, "units", changed, **said, **now, pages=pages, more=more)
    page.note_units(units.fingerprint, units.text)
    page.append(entry, changed, pages)
    return entry


def accept_budget(page: Page, policy: Policy, by: str, why: str) -> Entry:
    """The entry from which on a raised budget counts, where it is one of each period; a lowered one counts at once."""
    accepted: InForce | None = page.books.last.more.get(IN_FORCE)
    if accepted is None or policy.per is None or not (raised := accepted.raised(policy.declared)):
        raise InvalidInput("no budget was raised above what the ledger counts with; there is nothing to accept")
    said = {"analyst": by, "question": f"{why} ({'; '.join(raised)})" if why else "; ".join(raised)}
    return page.append(entry_after(page.books, policy.budget, "budget", {}, **said, more={IN_FORCE: policy.declared}))
