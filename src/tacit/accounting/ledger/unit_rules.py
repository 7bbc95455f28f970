"""Refuse to count for units that a ledger does not know; and accept others, with everything before restated. See units.md."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.accounting.ledger.books import following
from tacit.accounting.ledger.chain import nothing, read_chain
from tacit.accounting.ledger.entries import Entry
from tacit.accounting.ledger.units import NO_UNITS, UNKNOWN, Units, units_from
from tacit.accounting.policy import Policy
from tacit.errors import InvalidInput, StoreUnusable, UnitsChanged
from tacit.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from tacit.accounting.ledger.pages import Page

REMEDY = "ask the data owner to state how many old units one new unit can affect: tacit ledger units --steps N --reason WHY"
BY_ITSELF = "tables declared public"


def require_units(page: Page, policy: Policy, tables: tuple[str, ...]) -> None:
    """Refuse to count for units that the ledger does not know, and tables that it must not count at all.

    Tables that are newly declared public are noted: what was told of them exactly can never be private again.
    """
    if units_are_declared(page, policy) and not policy.units.closed:
        return  # and so nothing closed
    if found := differences(page, policy):
        raise UnitsChanged(f"the ledger counts for other units: {'; '.join(found)}", remedy=REMEDY)
    known = units_of(page)
    if closed := sorted({*known.closed, *policy.units.closed} & set(tables)):
        raise UnitsChanged(
            f"{', '.join(closed)} is or was public, and exact values of it were released: no budget covers them",
            remedy="declare it public again, or ask about other tables",
        )
    note_public(page, policy)


def units_are_declared(page: Page, policy: Policy) -> bool:
    """Whether the ledger counts for just what the policy declares."""
    last = page.books.last
    return (last.units, last.price.neighbours) == (policy.units.fingerprint, policy.neighbours)


def note_public(page: Page, policy: Policy) -> None:
    """Note tables that are newly declared public; the units of private ones stay what they are in the ledger."""
    last = page.books.last
    if last.units == UNKNOWN or last.price.neighbours != policy.neighbours:
        return  # nothing is admitted before the data owner has spoken, and then these are noted
    known = units_of(page)
    if not known.notes(policy.units):
        told = Units(public=policy.units.public, closed=policy.units.closed, opened=policy.units.opened)
        _turn(page, policy, known.accepting(told), 1, "", BY_ITSELF)


def differences(page: Page, policy: Policy) -> list[str]:
    """What a policy declares of units that the ledger does not count for, in words; nothing where questions go on."""
    last = page.books.last
    if last.price.neighbours != policy.neighbours:
        return [f"it counts for '{last.price.neighbours}', and the catalog declares '{policy.neighbours}'"]
    if last.units == UNKNOWN:
        return ["the units of its older entries are unknown"]
    return units_of(page).differences(policy.units)


def units_of(page: Page) -> Units:
    """The units that the ledger counts for."""
    if page.books.last.units == UNKNOWN:
        return NO_UNITS
    text = page.units(page.books.last.units)
    if text is None:
        raise StoreUnusable("the ledger has lost its declaration of units", remedy="restore the ledger from a backup")
    return units_from(text)


def accept_units(page: Page, policy: Policy, steps: int, by: str, why: str) -> Entry:
    """The entry from which on prices count for the units of the policy; one of them touches at most `steps` of the old ones.

    Everything that was paid before is restated one by one. The sums after it may exceed the cap: then nothing more is admitted.
    """
    _require_steps(steps, page.books.last.price.neighbours, policy.neighbours)
    if not differences(page, policy):
        raise InvalidInput("the ledger already counts for the declared units; there is nothing to restate")
    return _turn(page, policy, units_of(page).accepting(policy.units), steps, by, why)


def _turn(page: Page, policy: Policy, units: Units, steps: int, by: str, why: str) -> Entry:
    last, relation = page.books.last, policy.neighbours
    reader, problems = read_chain(page.all_lines())
    if problems:
        raise StoreUnusable(f"the chain is broken: {problems[0]}", remedy="run: tacit history")
    sums = reader.restated(steps, relation, replace(last, cap=policy.budget))
    changed = {name: replace(one, spent=sums.analysts.get(name, one.spent)) for name, one in page.books.accounts.items()}
    said = {"analyst": by, "question": why, "details": {"steps": str(steps)}}
    now = {"price": nothing(relation), "spent": sums.spent, "units": units.fingerprint}
    entry = following(page.books, policy.budget, "units", changed, **said, **now)
    page.note_units(units.fingerprint, units.text)
    page.append(entry, changed)
    return entry


def _require_steps(steps: int, old: Neighbours, new: Neighbours) -> None:
    """Refuse a number of steps that cannot be, and a change that has no number."""
    if steps < 1:
        raise InvalidInput(f"steps must be at least 1, not {steps}; give for example steps=10 for a person with up to 10 rows")
    if (old.change, new.change) == ("change-one", "add-remove"):
        raise UnitsChanged(
            "the number of units was released as public, so no entry has a price for 'add or remove one unit'",
            remedy='declare neighbours = "change-one" again',
        )
    if old.change != new.change and steps < 2:
        raise InvalidInput("steps must be at least 2 here: changing one unit is removing one and adding one")
