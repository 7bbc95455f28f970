"""A changed unit: spend for one unit, have another one declared, and spend on as if what was spent still meant the same.

Under `unit = "row"` a question of epsilon 7 promises 7 for a row, and 70 for a person with ten rows. If a ledger that had counted
rows went on when persons are declared, it would admit the rest of its budget and claim a total that is far from true. It must
refuse until its entries are restated; then what is left is what is left for persons.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.accounting.events import Event, ExponentialChoice
from tacit.accounting.ledger.ledger import Ledger, open_ledger
from tacit.accounting.policy import policy_of
from tacit.errors import BudgetExceeded, UnitsChanged
from tacit.evidence.attacks.scratch import copied_data
from tacit.privacy.catalog import Catalog, Owner, Table
from tacit.privacy.rounding import Number, exact

ROWS = 10  # of one new unit among the old ones
PARTS = 8  # shares of the budget


@dataclass(frozen=True, slots=True)
class ChangedUnit:
    """What was admitted after the units had changed: before they were restated, and after; in shares of the budget.

    `true` is the loss of one new unit that the ledger would have allowed, as a share of the budget.
    """

    before: float
    after: float
    true: float

    @property
    def failed(self) -> bool:
        """Whether nothing was admitted that should have been refused."""
        return self.before == 0 and self.after == 0


def changed_unit(catalog: Catalog, table: str, epsilon: Number = 1) -> ChangedUnit:
    """Spend all but an eighth of `epsilon` on a copy, change the unit of a table, and try to spend the rest.

    One unit as declared then touches ten of those before, so that nothing may be left after the entries are restated either.
    """
    whole = exact(epsilon)
    with copied_data(catalog, whole) as data:
        event: Event = ExponentialChoice(whole / PARTS, data.catalog.neighbours)
        spent = _spend(data.ledger, event, PARTS - 1)
        tables = {**data.catalog.tables, table: _with_another_unit(data.catalog.tables[table])}
        others = policy_of(replace(data.catalog, tables=tables))
        changed = open_ledger(data.catalog.ledger_address(os.environ), others)
        before = _spend(changed, event, PARTS)
        changed.accept_units(ROWS, "attack", "ten old units in one")
        after = _spend(changed, event, PARTS)
    return ChangedUnit(float(before / whole), float(after / whole), float((ROWS * spent + before + after) / whole))


def _spend(ledger: Ledger, event: Event, times: int) -> Fraction:
    """What was admitted of several spends; an attacker goes on after each refusal."""
    spent = ledger.spent().epsilon or Fraction(0)
    for _ in range(times):
        try:
            ledger.spend(event, "attack", "a share of the budget", "a copy")
        except (UnitsChanged, BudgetExceeded):
            continue
    return (ledger.spent().epsilon or Fraction(0)) - spent


def _with_another_unit(table: Table) -> Table:
    """The same table with persons in the place of rows, or rows in the place of persons."""
    return replace(table, unit=Owner("person") if table.unit is None else None)
