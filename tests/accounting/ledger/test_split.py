"""A ledger keeps the split of delta that it began with: two splits over one history promise less than the cap."""

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from ledgers import IDENTITY, OTHER_IDENTITY, UNIT, opened, policy, pure, spend
from tacit.accounting.events import Resampling
from tacit.accounting.filter import NOTHING_SPENT
from tacit.accounting.ledger import ledger as module
from tacit.accounting.ledger.caps import Admission
from tacit.accounting.ledger.entries import state_text
from tacit.accounting.ledger.rollback import FILE, adopt, heads_from, heads_text, remember_head, with_the_split_of
from tacit.accounting.ledger.units import Units, policy_of
from tacit.data.catalog import parse_catalog
from tacit.errors import BudgetExceeded, InvalidCatalog, StoreUnusable

F = Fraction
KEPT = Path(__file__).parents[2] / "kept" / "format-2"
FOR_EVENTS, FOR_RHO = policy(1, "1e-6", split=F(1, 10)), policy(1, "1e-6", split=F(99, 100))
CATALOG = """
[budget]
epsilon = 1
delta = 1e-6
{budget}
[tables.people]
source = "people.csv"
unit = "row"
columns.age = {{ bounds = [0, 110] }}
{column}
"""
PRIVATE = 'columns.town = { keys = "private" }'


def failing(delta: str) -> Resampling:
    """An event with a delta of its own."""
    return Resampling(F(1, 10**6), F(delta), UNIT)


@pytest.fixture
def file(tmp_path) -> str:
    return str(tmp_path / "ledger.sqlite")


@pytest.mark.parametrize(
    ("budget", "column", "expected"),
    [("", "", F(99, 100)), ("", PRIVATE, F(1, 2)), ("split = 0.9", "", F(9, 10)), ("split = 0.9", PRIVATE, F(9, 10))],
)
def test_the_split_of_a_catalog(budget: str, column: str, expected: Fraction, file: str) -> None:
    declared = policy_of(parse_catalog(CATALOG.format(budget=budget, column=column)))
    assert declared.split == expected == opened(file, declared).split


@pytest.mark.parametrize("value", ["0", "1", "1.5", "-0.1", '"half"'])
def test_a_split_that_leaves_nothing_is_refused(value: str) -> None:
    with pytest.raises(InvalidCatalog, match=r"budget\.split"):
        parse_catalog(CATALOG.format(budget=f"split = {value}", column=""))


def test_keys_of_a_public_table_are_not_private() -> None:
    public = '[tables.towns]\nsource = "towns.csv"\npublic = true\n'
    assert parse_catalog(CATALOG.format(budget="", column="") + public).split == F(99, 100)


def test_another_split_in_the_catalog_has_no_effect(file: str) -> None:
    ledger = opened(file, FOR_EVENTS)
    spend(ledger, failing("0.9e-6"))
    before = ledger.left()
    for again in (opened(file, FOR_RHO), ledger.under(FOR_RHO)):
        assert (again.split, again.left(), again.caps.whole.filter.largest_rho) == (
            F(1, 10),
            before,
            ledger.caps.whole.filter.largest_rho,
        )
        with pytest.raises(BudgetExceeded, match="delta"):
            spend(again, failing("1e-9"))
    spend(opened(file, FOR_RHO), pure("1/10"))
    assert {entry.for_events for entry in ledger.entries()} == {F(9, 10)}
    assert ledger.verify().whole


def test_a_ledger_that_asks_the_catalog_for_the_split_is_caught(file: str) -> None:
    """Planted: a rule of today's catalog over a ledger of another split; filter.md shows what it loses, and `verify` finds it."""

    class Planted(module.Ledger):
        def reserve(self, sale, patience=1.0):
            share = 1 - self.policy.split
            return self._write(lambda page: module.selling.decide_sale(page, sale, replace(self.caps, for_events=share)))

    ledger = opened(file, FOR_RHO)
    with pytest.raises(BudgetExceeded, match="delta"):
        spend(ledger, failing("0.8e-6"))
    spend(Planted(ledger._store, FOR_EVENTS), failing("0.8e-6"))  # beside the R* of almost all of delta
    assert ledger.verify().problem == "entry 1: it was admitted beyond the cap"


def test_an_entry_with_another_split_is_found(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: entries that say the split of the catalog of today."""
    ledger, honest = opened(file, FOR_EVENTS), module.selling.entry_after
    spend(ledger, pure("1/10"))
    monkeypatch.setattr(module.selling, "entry_after", lambda *known, **said: replace(honest(*known, **said), for_events=F(1, 100)))
    spend(ledger, pure("1/10"))
    assert ledger.verify().problem == "entry 2: it splits delta differently than the entries before it"


def test_a_ledger_in_the_place_of_a_lost_one_takes_over_its_split(file: str, tmp_path) -> None:
    store = tmp_path / "store"
    lost = opened(file, FOR_EVENTS)
    remember_head(store, lost.head)
    assert with_the_split_of(store, FOR_RHO) == FOR_RHO  # nothing was spent
    remember_head(store, spend(lost, pure("1/10")).head)
    begun = opened(f"{file}.new", with_the_split_of(store, FOR_RHO), OTHER_IDENTITY)
    adopt(store, begun, "curator", "lost")
    assert (begun.split, begun.spent().epsilon) == (F(1, 10), F(1, 10))


def test_a_ledger_of_another_split_is_not_adopted_after_a_spend(file: str, tmp_path) -> None:
    store = tmp_path / "store"
    lost = opened(file, FOR_EVENTS)
    remember_head(store, spend(lost, pure("1/10")).head)
    with pytest.raises(StoreUnusable, match="another split of delta"):
        adopt(store, opened(f"{file}.new", FOR_RHO, OTHER_IDENTITY), "curator", "lost")


def test_a_head_from_before_there_was_a_choice_has_a_half(file: str, tmp_path) -> None:
    head = opened(file, FOR_EVENTS, IDENTITY).head
    assert heads_from(heads_text([head])) == (head,)
    known = json.loads(heads_text([head]))
    del known["heads"][0]["split"]
    (tmp_path / FILE).write_text(json.dumps(known))
    assert heads_from((tmp_path / FILE).read_text())[0].for_events == F(1, 2)


def test_an_older_ledger_keeps_its_half_and_gains_the_tight_conversion(file: str) -> None:
    """Written when a pure event counted epsilon^2 / 2, and rho was converted by the closed form: every sum is the same."""
    shutil.copy(KEPT / "half.sqlite", file)
    known = json.loads((KEPT / "half.json").read_text())
    units = Units((("visits", '["person"]'),))
    ledger = opened(file, replace(FOR_RHO, units=units))
    entries = list(ledger.entries())
    assert (ledger.split, ledger.verify().problems) == (F(1, 2), ())
    assert (len(entries), entries[-1].hash, json.loads(state_text(ledger.spent()))) == (
        known["entries"],
        known["head"],
        known["spent"],
    )
    assert [str(entry.price.rho) for entry in entries] == known["rhos"]
    assert ledger.left().epsilon > F(known["left"])
    spend(ledger, pure(known["refused"]))  # which it had refused
    assert ledger.verify().whole


def test_room_counts_caps_questions_and_failures(file: str) -> None:
    from tacit.accounting.composition import cost_of
    from tacit.privacy.catalog import Analyst, Budget
    from tacit.privacy.loss import Approximate

    ana = Analyst("ana", Budget(F(1, 2), F("1e-6")), epsilon_per_query=F(1, 5))
    declared = policy(1, "1e-6", ana, Analyst("bob"), split=F(99, 100), questions_at_most=6)
    ledger = opened(file, declared)

    def room(epsilon: str, analyst: str | None = None, delta: str = "0") -> int:
        return ledger.room(cost_of(Approximate(F(epsilon), F(delta), UNIT)), analyst)

    assert [room("1/5"), room("1/5", "ana"), room("1/5", "bob")] == [5, 2, 5]
    assert [room("1/4"), room("1/4", "ana")] == [4, 0]  # above what one question of ana may cost
    assert [room("1/100"), room("1/100", "ana")] == [6, 6]  # questions_at_most
    assert [room("1/100", delta="3e-9"), room("1/100", delta="2e-8")] == [3, 0]  # a hundredth of delta is for events
    asked = 0
    while ledger.admits(pure("1/5"), "ana"):
        spend(ledger, pure("1/5"), "ana")
        asked += 1
    assert asked == 2
    assert (room("1/5", "ana"), room("1/5"), room("1/100")) == (0, 3, 4)
    for _ in range(3):
        granted = ledger.reserve(module.Sale((pure("1/100"),), "bob", "q", "v"))
        ledger.failed(granted, "test")
    assert [room("1/100", "bob"), room("1/100")] == [0, 1]
    assert Admission(declared).room(module.Sums(NOTHING_SPENT, NOTHING_SPENT), cost_of(Approximate(0, 0, UNIT))) is None


def test_hundredths_that_a_real_ledger_admits(file: str) -> None:
    """490 of epsilon 0.01 in (1, 1e-6): the last one that is said to fit is admitted, and no other."""
    from tacit.accounting.composition import cost_of
    from tacit.accounting.events import Batch
    from tacit.privacy.loss import Pure

    ledger, hundredth = opened(file, FOR_RHO), cost_of(Pure(F(1, 100), UNIT))
    assert ledger.room(hundredth) == 490
    spend(ledger, Batch((pure("1/100"),) * 484))
    for left in range(6, 0, -1):
        assert ledger.room(hundredth) == left
        spend(ledger, pure("1/100"))
    with pytest.raises(BudgetExceeded, match="remains"):
        spend(ledger, pure("1/100"))
    assert ledger.spent().epsilon == F(490, 100)
    assert opened(f"{file}.8", policy(8, "1e-6", split=F(99, 100))).room(hundredth) == 21039
