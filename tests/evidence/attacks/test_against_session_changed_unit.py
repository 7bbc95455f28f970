"""A unit that changes over a ledger: refused until it is restated; the ledger that does not look is caught."""

from __future__ import annotations

import pytest

from tacit.accounting.ledger import selling
from tacit.evidence.attacks.against_session import changed_unit
from tacit.evidence.attacks.answerers import fair_bits
from tacit.evidence.attacks.scratch import people_data


def test_it_fails():
    with people_data(fair_bits(8, 1), epsilon=1) as data:
        found = changed_unit(data.catalog, "people", epsilon=1)
    assert found.failed
    assert (found.before, found.after) == (0, 0)


def test_a_ledger_that_does_not_look_at_its_units_is_caught(monkeypatch: pytest.MonkeyPatch):
    """The planted bug: the rest of the budget is admitted, and a person with ten rows has lost many times the budget."""
    monkeypatch.setattr(selling, "require_units", lambda *_: None)
    with people_data(fair_bits(8, 1), epsilon=1) as data:
        found = changed_unit(data.catalog, "people", epsilon=1)
    assert not found.failed
    assert found.before == 1 / 8
    assert found.true > 8
