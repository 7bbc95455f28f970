"""Entries by which the data owner changes what a ledger counts for: other units, other periods, a raised budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tacit.accounting.ledger.by_period import begun_of
from tacit.accounting.ledger.chain import nothing
from tacit.accounting.ledger.changes import REPLACED, InForce, Regrouped, calendar_of_text, nest
from tacit.accounting.ledger.entries import IN_FORCE, REGROUPED, Entry
from tacit.accounting.ledger.pages import entry_after, whole_chain
from tacit.accounting.ledger.units import Policy, Units, dated_unit
from tacit.errors import InvalidInput, UnitsChanged
from tacit.privacy.periods import Runs

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
    change = settle(change, reader.charged)
    sums = reader.restated(steps, relation, replace(last, cap=policy.budget))
    pages = {} if change is None else reader.regroup(change, steps, last.orders)[1]
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
    if accepted is None or policy.per is None or not (raised := accepted.rises(policy.declared)):
        raise InvalidInput("no budget was raised above what the ledger counts with; there is nothing to accept")
    said = {"analyst": by, "question": f"{why} ({'; '.join(raised)})" if why else "; ".join(raised)}
    return page.append(entry_after(page.books, policy.budget, "budget", {}, **said, more={IN_FORCE: policy.declared}))


def regrouped_by(counted: Units, policy: Policy, steps: int) -> Regrouped | None:
    """The change of periods that a catalog declares, after something was paid for; None without periods before and after.

    Finer periods are restated for coarser ones, and whole persons for periods. Everything else is refused.
    """
    old, new = ({table: dated_unit(text) for table, text in units.private} for units in (counted, policy.units))
    before = {unit[2] for unit in old.values()} - {None}
    if policy.per is None and not before:
        return None
    if policy.per is None:
        raise _refused("the budget was one of each period, and is not any more")
    calendar = policy.per.calendar
    if not before:
        if not begun_of(policy):
            raise UnitsChanged("no period has begun, by the prepared data", remedy="run first: tacit prepare --through PERIOD")
        return Regrouped(None, calendar.text, REPLACED, begun_of(policy))
    for table, (unit, period, _, zone) in new.items():
        was = old.get(table)
        parts = [] if was is None else [(was[0], unit, "unit"), (was[1], period, "period"), (was[3], zone, "zone")]
        if was is None or (other := next((word for one, now, word in parts if one != now), None)) is not None:
            raise _refused(f"{table} is a new private table" if was is None else f"the {other} of {table} has changed")
    (calendar_then, *others) = sorted({str(old[table][2]) for table in new})
    if others or steps != 1:
        raise (
            _refused("tables had different periods")
            if others
            else InvalidInput(
                "steps must be 1 for the same persons with coarser periods: the steps of these follow from both calendars",
                argument="steps",
            )
        )
    return None if calendar_then == calendar.text else Regrouped(calendar_then, calendar.text, 1)


def settle(change: Regrouped | None, charged: Runs) -> Regrouped | None:
    """A change of periods with its steps, by the periods that were ever charged; refused if one of these lies in several."""
    if change is not None and change.old is None and charged:
        raise _refused("periods were charged that no table declares")
    if change is None or change.old is None:
        return change
    old, new = calendar_of_text(change.old), calendar_of_text(change.new)
    if not nest(charged, old, new):
        raise _refused(f"a {old.word} does not lie in one {new.word}: only finer periods are restated for coarser ones")
    return replace(change, steps=change.needs(charged))


def _refused(what: str) -> UnitsChanged:
    return UnitsChanged(
        f"{what}, and what was paid for periods has no price for that",
        remedy="declare per, zone, period and unit as before; per may become coarser, such as a quarter after a month",
    )
