"""A ledger takes one Renyi order and keeps it; ledgers of earlier versions are restated event by event, once, as a whole or not."""

import os
import signal
from dataclasses import replace
from fractions import Fraction

import pytest

from ledgers import IDENTITY, OTHER_IDENTITY, UNIT, opened, policy, pure, spend
from services import fresh_database
from tacit.accounting.composition import Cost, cost_under, costs_under
from tacit.accounting.events import Batch, GaussianNoise, LaplaceNoise
from tacit.accounting.filter import Filter, on_grid_up
from tacit.accounting.ledger.by_period import Charge
from tacit.accounting.ledger.caps import Admission
from tacit.accounting.ledger.chain import Reader
from tacit.accounting.ledger.entries import NO_ORDERS, ORDERS, Entry, Orders, entry_from
from tacit.accounting.ledger.pages import Page
from tacit.accounting.ledger.rollback import adopt, check_head, remember_head, with_the_split_of
from tacit.accounting.ledger.selling import Sale
from tacit.errors import BudgetExceeded, StoreUnusable
from tacit.privacy.catalog import Analyst, Budget
from tacit.privacy.conversion import largest_order
from tacit.privacy.periods import Calendar, Per

F = Fraction
CAP = policy(1, "1e-6", split=F(99, 100))
ORDER = largest_order(F(1), F(99, 10**8))
EVENTS = [
    pure("1/100"),
    LaplaceNoise(F(5), F(100), UNIT),
    GaussianNoise(F(1), F(30), F(0), UNIT),
    Batch((pure("1/50"), LaplaceNoise(F(1), F(40), UNIT))),
]


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return fresh_database(request.getfixturevalue("postgres_url"))


def old_ledger(monkeypatch, address: str, declared=CAP, identity: str = IDENTITY):
    """A ledger as an earlier version kept it, which knew of no orders."""
    with monkeypatch.context() as earlier:
        earlier.setattr(Admission, "new_orders", lambda self, before=NO_ORDERS, largest=((), ()): before)
        ledger = opened(address, declared, identity)
        for event in EVENTS:
            spend(ledger, event)
    assert ORDERS not in "".join(entry.text for entry in ledger.entries())
    return opened(address, declared)


def counted(event) -> Fraction:
    return on_grid_up(sum(part.at_order for part in costs_under(event, UNIT, ORDER)))


def test_the_first_spend_takes_the_order_and_every_entry_after_it_keeps_it(address):
    ledger = opened(address, CAP)
    before = ledger.left()
    entries = [spend(ledger, event) for event in EVENTS]
    assert {entry.orders.sums for entry in entries} == {ORDER}
    assert ledger.spent().rho == sum(counted(event) for event in EVENTS) < sum(cost_under(event, UNIT).rho for event in EVENTS)
    assert ledger.spent("curator").rho == sum(on_grid_up(cost_under(event, UNIT).rho) for event in EVENTS)  # an analyst's: rhos
    assert [entry_from(entry.text).text for entry in entries] == [entry.text for entry in entries]
    assert ledger.verify().problems == ()
    raised = opened(address, policy(2, "1e-6", split=F(99, 100)))
    assert (raised.caps.at(entries[-1]).whole.filter.order, spend(raised, pure("1/10")).orders.sums) == (ORDER, ORDER)
    assert (raised.verify().problems, before.epsilon) == ((), 1)


def test_an_older_ledger_is_restated_event_by_event_once(address, monkeypatch, tmp_path):
    ledger = old_ledger(monkeypatch, address)
    was = ledger.spent()
    remember_head(tmp_path / "store", ledger.head)
    paid = spend(ledger, pure("1/100"))
    order = next(entry for entry in ledger.entries() if entry.kind == "order")
    assert (order.number, paid.number, [entry.kind for entry in ledger.entries()].count("order")) == (5, 6, 1)
    assert order.spent == replace(was, rho=sum(counted(event) for event in EVENTS))
    assert (paid.spent.rho, paid.orders.sums) == (order.spent.rho + counted(pure("1/100")), ORDER)
    assert ledger.verify().problems == ()
    check_head(tmp_path / "store", ledger)  # the sum became less, once
    spend(ledger, pure("1/100"))
    assert [entry.kind for entry in ledger.entries()].count("order") == 1


def test_the_order_is_that_of_the_largest_cap_so_far(address, monkeypatch):
    large = policy(4, "1e-6", split=F(99, 100))
    with monkeypatch.context() as earlier:
        earlier.setattr(Admission, "new_orders", lambda self, before=NO_ORDERS, largest=((), ()): before)
        spend(opened(address, large), pure("1/10"))
    ledger = opened(address, CAP)
    assert spend(ledger, pure("1/100")).orders.sums == largest_order(F(4), F(99, 10**8))
    assert ledger.verify().problems == ()


@pytest.mark.parametrize("after", ["entry", "commit"])
def test_a_process_that_dies_while_it_restates_leaves_all_or_nothing(address, after, monkeypatch):
    ledger = old_ledger(monkeypatch, address)
    was, plain = ledger.spent(), Page.append

    def dies(page: Page, entry: Entry, *rest):
        done = plain(page, entry, *rest)
        if entry.kind == "order" or after == "commit":
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    def append(page: Page, entry: Entry, *rest):
        return (dies if after == "entry" or entry.kind == "spend" else plain)(page, entry, *rest)

    if child := os.fork():
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    else:
        Page.append = append  # type: ignore[method-assign]
        try:
            spend(opened(address, CAP), pure("1/100"))
        finally:
            os._exit(0)
    again = opened(address, CAP)
    kinds = [entry.kind for entry in again.entries()]
    assert kinds == ["begin", *["spend"] * 4, *["order"] * (after == "commit")]
    assert (again.spent() == was) == (after == "entry")
    spend(again, pure("1/100"))
    assert ([entry.kind for entry in again.entries()].count("order"), again.verify().problems) == (1, ())


def test_sums_restated_to_less_than_they_are_are_found(tmp_path, monkeypatch):
    ledger, plain = old_ledger(monkeypatch, str(tmp_path / "ledger.sqlite")), Reader.at_orders
    with monkeypatch.context() as planted:
        planted.setattr(Reader, "at_orders", lambda self, *given: replace(plain(self, *given), rho=F(1, 10**6)))
        spend(ledger, pure("1/100"))
    assert "entry 5: the restated sums after it are wrong" in ledger.verify().problems


@pytest.mark.parametrize("orders", [[F(60)], [ORDER, F(60)]])
def test_an_order_that_is_not_that_of_the_cap_and_one_chosen_later_are_found(tmp_path, monkeypatch, orders):
    ledger = old_ledger(monkeypatch, str(tmp_path / "ledger.sqlite"))
    for order in orders:
        with monkeypatch.context() as planted:
            planted.setattr(Admission, "new_orders", lambda self, *given, order=order: Orders(order))
            spend(ledger, pure("1/100"))
    assert not ledger.verify().whole


def test_a_question_counts_in_each_period_and_in_a_lifetime_at_their_own_orders(tmp_path):
    per = Per(Calendar("day"), begun=(0, 100), lifetime=(F(3), F(1, 10**6)))
    ledger = opened(str(tmp_path / "ledger.sqlite"), policy(1, "1e-6", Analyst("ana"), per=per, split=F(99, 100)))
    hundredth, whole = Batch((pure("1/100"),) * 70), Cost(F(70, 100) * 2, 70 * 4 * cost_under(pure("1/100"), UNIT).rho, F(0), UNIT)
    many = 0
    while True:
        try:
            entry = ledger.reserve(Sale((hundredth,), "ana", "q", "v", charge=Charge(((3, 4),), (whole,)))).entry
        except BudgetExceeded:
            break
        many += 1
        assert (entry.orders.sums, entry.orders.periods) == (largest_order(F(3), F(99, 10**8)), ORDER)
    assert (many, ledger.verify().problems) == (7, ())  # 490 of 0.01 in each day; a sum of rhos has 6, which are 486
    assert Filter(1, "1e-6", "0.01").largest_rho < 490 * cost_under(pure("1/100"), UNIT).rho


def test_an_analysts_own_cap_sums_rhos(tmp_path):
    ana = Analyst("ana", Budget(F(1), F(1, 10**6)))
    ledger = opened(str(tmp_path / "ledger.sqlite"), policy(8, "1e-6", ana, split=F(99, 100)))
    spend(ledger, Batch((pure("1/100"),) * 486), "ana")
    with pytest.raises(BudgetExceeded, match="own budget"):
        spend(ledger, pure("1/100"), "ana")


def test_a_ledger_in_the_place_of_a_lost_one_takes_over_its_order(tmp_path):
    store, lost = tmp_path / "store", opened(str(tmp_path / "lost.sqlite"), policy(4, "1e-6", split=F(99, 100)))
    remember_head(store, spend(lost, pure("1/2")) and lost.head)
    other = opened(str(tmp_path / "other.sqlite"), CAP, OTHER_IDENTITY)
    spend(other, pure("1/100"))
    with pytest.raises(StoreUnusable, match="another Renyi order"):
        adopt(store, other, "curator", "lost")
    ledger = opened(str(tmp_path / "new.sqlite"), with_the_split_of(store, CAP), OTHER_IDENTITY)
    adopt(store, ledger, "curator", "lost")
    assert spend(ledger, pure("1/100")).orders.sums == largest_order(F(4), F(99, 10**8))
    assert ledger.verify().problems == ()
