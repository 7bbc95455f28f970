"""Changes by the data owner in a ledger with periods: other periods, for which all is restated, and a raised budget.

Both are fields of entries, so whoever reads the chain computes the same from them. `../periods.md` has the rules and their proof.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from tacit.errors import StoreUnusable
from tacit.privacy.catalog import Budget, day_number
from tacit.privacy.periods import KINDS, Calendar, Runs, each, runs_of
from tacit.privacy.rounding import as_text, exact_from

REPLACED = 2  # steps from a person with the rows of one period to the same person without: one is removed, and one is added


# --- other periods -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Regrouped:
    """Other periods from here on: calendars as texts, None where there were none before.

    One new period touches at most `steps` of the old ones. `runs` are the periods that had begun where there were none before:
    each of them counts everything that was paid until then.
    """

    old: str | None
    new: str
    steps: int
    runs: Runs = ()

    def of(self, runs: Runs) -> Runs:
        """The new periods in which some old ones lie; what was paid before there were periods counts in each that had begun."""
        return self.runs if self.old is None else lying_in(runs, calendar_of_text(self.old), calendar_of_text(self.new))

    def needs(self, charged: Runs) -> int:
        """The least number of steps, where these old periods were ever charged."""
        if self.old is None:
            return REPLACED
        return most_in_one(charged, calendar_of_text(self.old), calendar_of_text(self.new))


def calendar_of_text(text: str) -> Calendar:
    """The calendar of a text.

    >>> calendar_of_text("30 days from 2024-01-01").text, calendar_of_text("month")
    ('30 days from 2024-01-01', Calendar(kind='month', days=0, start=0))
    """
    if text in KINDS:
        return Calendar(text)
    if (days := re.fullmatch(r"([1-9][0-9]{0,5}) days from (\d{4}-\d\d-\d\d)", text)) is None:
        raise StoreUnusable("the ledger names periods that this version does not know", remedy="update tacit")
    return Calendar("days", int(days[1]), day_number(date.fromisoformat(days[2])))


def lying_in(runs: Runs, old: Calendar, new: Calendar) -> Runs:
    """The new periods in which old ones lie.

    >>> lying_in(((24300, 24303),), Calendar("month"), Calendar("quarter"))
    ((8100, 8101),)
    """
    return runs_of(new.number(old.first_day(at)) for at in each(runs))


def nest(runs: Runs, old: Calendar, new: Calendar) -> bool:
    """Whether each of the old periods lies in one new period.

    >>> nest(((24300, 24303),), Calendar("month"), Calendar("quarter")), nest(((2870, 2880),), Calendar("week"), Calendar("month"))
    (True, False)
    """
    return all(new.number(old.first_day(at)) == new.number(old.last_day(at)) for at in each(runs))


def most_in_one(runs: Runs, old: Calendar, new: Calendar) -> int:
    """The most old periods that lie in one of the new periods of these, charged or not.

    >>> most_in_one(((24300, 24300),), Calendar("month"), Calendar("quarter")), most_in_one((), Calendar("day"), Calendar("month"))
    (3, 1)
    """
    return max((_inside(at, old, new) for at in each(lying_in(runs, old, new))), default=1)


def _inside(at: int, old: Calendar, new: Calendar) -> int:
    return old.number(new.last_day(at)) - old.number(new.first_day(at)) + 1


def regrouped_json(change: Regrouped) -> dict[str, Any]:
    """The change as JSON."""
    return {"old": change.old, "new": change.new, "steps": change.steps, "runs": [list(run) for run in change.runs]}


def regrouped_from(document: Mapping[str, Any]) -> Regrouped:
    """The change of `regrouped_json`."""
    runs = tuple((int(low), int(high)) for low, high in document["runs"])
    return Regrouped(document["old"], document["new"], int(document["steps"]), runs)


# --- a budget that was raised ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InForce:
    """The budgets of each period and of a lifetime that the data owner has accepted; a lower declared one counts instead."""

    budget: Budget
    lifetime: Budget | None

    def under(self, declared: InForce) -> InForce:
        """The budgets that count: of each number the least that was accepted or is declared."""
        return InForce(_least(self.budget, declared.budget), _least_of(self.lifetime, declared.lifetime))

    def rises(self, declared: InForce) -> list[str]:
        """The declared budgets that exceed the accepted ones, in words; empty if none does."""
        now = self.under(declared)
        whole = [] if now.budget == declared.budget else [f"[budget] from {_words(self.budget)} to {_words(declared.budget)}"]
        if now.lifetime == declared.lifetime or self.lifetime is None:
            return whole
        to = "none" if declared.lifetime is None else _words(declared.lifetime)
        return [*whole, f"lifetime from {_words(self.lifetime)} to {to}"]


def _least(one: Budget, other: Budget) -> Budget:
    return Budget(min(one.epsilon, other.epsilon), min(one.delta, other.delta))


def _least_of(one: Budget | None, other: Budget | None) -> Budget | None:
    return _least(one, other) if one is not None and other is not None else one or other


def _words(budget: Budget) -> str:
    return f"epsilon {as_text(budget.epsilon)}" + (f", delta {as_text(budget.delta)}" if budget.delta else "")


def in_force_json(caps: InForce) -> dict[str, Any]:
    """The budgets as JSON."""
    return {"budget": _budget_json(caps.budget), "lifetime": None if caps.lifetime is None else _budget_json(caps.lifetime)}


def in_force_from(document: Mapping[str, Any]) -> InForce:
    """The budgets of `in_force_json`."""
    lifetime = document["lifetime"]
    return InForce(_budget_from(document["budget"]), None if lifetime is None else _budget_from(lifetime))


def _budget_json(budget: Budget) -> dict[str, str]:
    return {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}


def _budget_from(document: Mapping[str, str]) -> Budget:
    return Budget(exact_from(document["epsilon"]), exact_from(document["delta"]))
