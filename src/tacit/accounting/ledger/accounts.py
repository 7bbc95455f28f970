"""Spent and remaining budget in words: of the data set and of every analyst, and of each period where the budget is one of each."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.accounting.composition import cost_of
from tacit.accounting.filter import Left, State
from tacit.accounting.ledger.by_period import state_of
from tacit.accounting.ledger.ledger import Ledger
from tacit.privacy.catalog import Budget, Catalog
from tacit.privacy.loss import Approximate
from tacit.privacy.rounding import Number


@dataclass(frozen=True, slots=True)
class Account:
    """A cap, the totals spent under it, and what one further query may cost."""

    name: str
    cap: Budget
    spent: State
    left: Left


def accounts_of(catalog: Catalog, ledger: Ledger, analyst: str | None) -> list[Account]:
    """Spent and remaining budget: of the data set, and of every analyst or of one."""
    named = sorted(catalog.analysts) if analyst is None else [analyst] if analyst in catalog.analysts else []
    if ledger.policy.per is not None:
        return [
            *_in_periods(ledger, "data set", catalog.budget),
            *(account for name in named for account in _in_periods(ledger, name, catalog.analysts[name].budget or catalog.budget)),
            *_lifetime(ledger),
        ]
    caps = {name: catalog.analysts[name].budget or catalog.budget for name in named}
    whole = Account("data set", catalog.budget, ledger.spent(), ledger.left())
    return [whole, *(Account(name, cap, ledger.spent(name), ledger.left(name)) for name, cap in caps.items())]


def _in_periods(ledger: Ledger, name: str, cap: Budget) -> list[Account]:
    """The accounts of the data set or of an analyst in the periods that have begun, those that are equal together."""
    analyst = None if name == "data set" else name
    return [Account(f"{name}, {words}", cap, state_of(sums), left) for words, sums, left in ledger.by_period(analyst)]


def _lifetime(ledger: Ledger) -> list[Account]:
    """The account of a person's lifetime, if it has a budget."""
    cap = ledger.policy.lifetime
    within = ledger.standing("").caps.lifetime
    return [] if cap is None or within is None else [Account("a lifetime", cap, ledger.spent(), within.filter.left(ledger.spent()))]


def room_for(ledger: Ledger, epsilon: Number, delta: Number, analyst: str | None) -> int:
    """How many further questions of (epsilon, delta) the ledger admits: for all analysts together, or for one."""
    return ledger.room(cost_of(Approximate(epsilon, delta, ledger.policy.neighbours)), analyst)
