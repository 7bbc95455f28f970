"""What the owner changes in a ledger with periods: coarser periods, periods at last, a raised budget. Everything else is refused.

After a change, each period of today has spent at least what its old ones have, at the group price of as many steps. Whoever
verifies the chain computes the same.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from fractions import Fraction

import pytest

from ledgers import UNIT, opened, policy, pure
from services import fresh_database
from tacit.accounting.composition import cost_under, counted_at
from tacit.accounting.events import Batch, GaussianNoise, LaplaceNoise
from tacit.accounting.filter import GRID
from tacit.accounting.ledger import changes, paid
from tacit.accounting.ledger.by_period import Charge
from tacit.accounting.ledger.changes import InForce, calendar_of_text, lying_in, most_in_one, nest
from tacit.accounting.ledger.entries import entry_from
from tacit.accounting.ledger.selling import Granted, Sale
from tacit.accounting.ledger.units import Units, restated_price
from tacit.errors import BudgetExceeded, InvalidInput, UnitsChanged
from tacit.privacy.periods import Calendar, Per, each, runs_of

JANUARY = Calendar("month").numbered("2025-01")
QUARTER = Calendar("quarter").numbered("2025-Q1")
CALENDARS = [*map(Calendar, ("day", "week", "month", "quarter", "year")), Calendar("days", 7, -3), Calendar("days", 30, 19723)]


def units_of(per: Per | None, period: object = "day", unit: object = ("patient", None, "drop"), **more: str) -> Units:
    text = json.dumps(list(unit) if per is None else [list(unit), period, per.calendar.text, per.zone], separators=(",", ":"))
    return Units((("visits", text), *more.items()))


def by(kind: str | None, epsilon: object = 8, lifetime: object = None, delta: object = "1e-5", **how):
    """A policy per some kind of period, over visits."""
    if kind is None:
        return policy(epsilon, delta, units=units_of(None), **how)
    cap = None if lifetime is None else (Fraction(lifetime), Fraction(delta))
    begun = {"month": (JANUARY, JANUARY + 11), "quarter": (QUARTER, QUARTER + 3), "day": (20089, 20453), "year": (2025, 2025)}.get(
        kind
    )
    per = Per(Calendar(kind), cap, begun=begun, zone=how.pop("zone", None))
    return policy(epsilon, delta, per=per, units=how.pop("units", None) or units_of(per, how.pop("period", "day")), **how)


def ask(ledger, event, *months: int, analyst: str = "ana"):
    runs = runs_of(JANUARY + month for month in months)
    price = cost_under(event, UNIT)
    done = ledger.reserve(Sale((event,), analyst, "q", "v", charge=Charge(runs, (price,))))
    assert isinstance(done, Granted)
    return done


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return fresh_database(request.getfixturevalue("postgres_url"))


def of_quarter(epsilon: object, first: int, last: int) -> Sale:
    event = pure(epsilon)
    charge = Charge(((QUARTER + first, QUARTER + last),), (cost_under(event, UNIT),))
    return Sale((event,), "ana", "q", "v", charge=charge)


def spent(ledger, analyst: str | None = None) -> dict[str, Fraction]:
    """The epsilon that each period has spent; all that have none are left out."""
    return {name: Fraction(sums[0] or 0, GRID) for name, sums, _ in ledger.by_period(analyst) if sums != (0, 0, 0, 0)}


# --- calendars -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", CALENDARS, ids=lambda each: each.text)
def test_what_lies_in_what_is_what_its_days_say(old):
    for new in CALENDARS:
        check_nesting(old, new)


def check_nesting(old: Calendar, new: Calendar) -> None:
    first = old.number(Calendar("day").first_day(20089))
    runs = ((first, first + 14),)
    by_day = {at: {new.number(Calendar("day").first_day(day)) for day in days_of(old, at)} for at in each(runs)}
    assert nest(runs, old, new) == all(len(found) == 1 for found in by_day.values())
    assert calendar_of_text(old.text) == old
    if nest(runs, old, new):
        assert set(each(lying_in(runs, old, new))) == {at for found in by_day.values() for at in found}
        inside = [
            len({old.number(Calendar("day").first_day(day)) for day in days_of(new, at)}) for at in each(lying_in(runs, old, new))
        ]
        assert most_in_one(runs, old, new) == max(inside)


def days_of(calendar: Calendar, at: int) -> range:
    day = Calendar("day")
    return range(day.number(calendar.first_day(at)), day.number(calendar.last_day(at)) + 1)


# --- coarser periods -----------------------------------------------------------------------------------------------------------


def test_months_become_quarters_at_the_price_of_three(address):
    """Two months at 1/2 each, by one question: their quarter counts it three times, as a person in three months loses."""
    ledger = opened(address, by("month", lifetime=30))
    ask(ledger, pure("0.5"), 0, 1)
    ask(ledger, pure("0.25"), 4, analyst="bo")
    lifetime = ledger.head.spent
    coarse = ledger.under(by("quarter", lifetime=30))
    with pytest.raises(UnitsChanged, match="the unit of visits has changed"):
        coarse.reserve(of_quarter("0.1", 0, 0))
    coarse.accept_units(1, "curator", "quarters from now on")
    assert spent(coarse) == {"2025-Q1": Fraction(3, 2), "2025-Q2": Fraction(3, 4)}
    assert spent(coarse, "bo") == {"2025-Q2": Fraction(3, 4)}
    assert coarse.head.spent == lifetime, "a person is who they were"
    assert coarse.verify().problems == ()
    with pytest.raises(BudgetExceeded, match="2025-Q1"):
        coarse.reserve(of_quarter(7, 0, 3))
    coarse.reserve(of_quarter(7, 1, 3))
    assert coarse.verify().whole
    yearly = coarse.under(by("year", lifetime=30))
    yearly.accept_units(1, "curator", "years from now on")
    assert spent(yearly) == {"2025": 4 * (Fraction(3, 2) + Fraction(3, 4) + 7)}
    assert yearly.verify().problems == ()


ASKED = (
    (pure("0.5"), (0, 1)),
    (LaplaceNoise(Fraction(1), Fraction(4), neighbours=UNIT), (1, 2, 4)),
    (Batch((pure("0.1"), pure("0.2"))), (7, 8)),
    (GaussianNoise(Fraction(3), Fraction(30), Fraction(1, 10**12), UNIT), (4, 11)),
)


@pytest.mark.parametrize(("kind", "steps"), [("quarter", 3), ("year", 12)])
def test_restated_periods_cover_a_person_in_all_of_their_old_ones(tmp_path, kind, steps):
    ledger = opened(str(tmp_path / "l.sqlite"), by("month", epsilon=50))
    for event, months in ASKED:
        ask(ledger, event, *months)
    coarse = ledger.under(by(kind, epsilon=50))
    coarse.accept_units(1, "curator", "")
    assert coarse.verify().problems == ()
    calendar, month = Calendar(kind), Calendar("month")
    for name, sums, _ in coarse.by_period():
        (at,) = {calendar.numbered(each) for each in names_in(name, calendar)[:1]}
        inside = [event for event, months in ASKED if any(calendar.number(month.first_day(JANUARY + one)) == at for one in months)]
        prices = [restated_price(event, cost_under(event, UNIT), steps) for event in inside]
        order = next(entry.orders.periods for entry in coarse.entries() if entry.kind == "units")
        counted = [price.rho if order is None else counted_at(price, order).at_order for price in prices]
        assert Fraction(sums[1], GRID) >= sum(counted, Fraction(0))
        assert Fraction(sums[2], GRID) >= sum((price.delta for price in prices), Fraction(0))
        assert (sums[0] is None) == any(price.epsilon is None for price in prices)
        assert sums[0] is None or Fraction(sums[0], GRID) >= sum((price.epsilon for price in prices), Fraction(0))
        assert sums[3] == len(inside)


def names_in(words: str, calendar: Calendar) -> list[str]:
    low, _, high = words.partition(" to ")
    return [calendar.name(at) for at in range(calendar.numbered(low), calendar.numbered(high or low) + 1)]


def test_planted_too_few_steps_are_found(tmp_path, monkeypatch):
    ledger = opened(str(tmp_path / "l.sqlite"), by("month"))
    ask(ledger, pure("0.5"), 0)
    monkeypatch.setattr(changes.Regrouped, "needs", lambda *_: 1)
    coarse = ledger.under(by("quarter"))
    coarse.accept_units(1, "curator", "too few")
    monkeypatch.undo()
    assert any("too few steps" in problem for problem in coarse.verify().problems)


def test_planted_sums_that_are_not_restated_are_found(tmp_path, monkeypatch):
    ledger = opened(str(tmp_path / "l.sqlite"), by("month"))
    ask(ledger, pure("0.5"), 0)
    real = paid.restated_price
    monkeypatch.setattr(paid, "restated_price", lambda event, price, steps: real(event, price, 1))
    coarse = ledger.under(by("quarter"))
    coarse.accept_units(1, "curator", "not restated")
    assert spent(coarse) == {"2025-Q1": Fraction(1, 2)}
    monkeypatch.undo()
    assert "the restated sums after it are wrong" in " ".join(coarse.verify().problems)


REFUSED = {
    "finer": (lambda: by("day"), "does not lie in one day"),
    "zone": (lambda: by("month", zone="Europe/Zurich"), "the zone of visits has changed"),
    "period column": (lambda: by("month", period="seen"), "the period of visits has changed"),
    "inherited": (lambda: by("month", period=["of", "stays"]), "the period of visits has changed"),
    "unit": (
        lambda: by("month", units=units_of(Per(Calendar("month")), unit=("ward", None, "drop"))),
        "the unit of visits has changed",
    ),
    "table": (
        lambda: by("month", units=units_of(Per(Calendar("month")), labs='[["p",null,"drop"],"day","month",null]')),
        "new private table",
    ),
    "weeks": (lambda: by("week"), "does not lie in one week"),
    "none": (lambda: by(None), "and is not any more"),
}


@pytest.mark.parametrize("change", REFUSED)
def test_every_other_change_is_refused_and_nothing_is_lost(tmp_path, change):
    ledger = opened(str(tmp_path / "l.sqlite"), by("month"))
    ask(ledger, pure("0.5"), 0)
    before = ledger.head
    declared, words = REFUSED[change]
    with pytest.raises(UnitsChanged, match=words) as refused:
        ledger.under(declared()).accept_units(1, "curator", "another one")
    assert "as before" in str(refused.value.remedy)
    assert ledger.head == before
    ask(ledger, pure("0.5"), 0)
    assert ledger.verify().whole


def test_steps_of_persons_are_not_those_of_periods(tmp_path):
    ledger = opened(str(tmp_path / "l.sqlite"), by("month"))
    ask(ledger, pure("0.5"), 0)
    with pytest.raises(InvalidInput, match="steps must be 1"):
        ledger.under(by("quarter")).accept_units(3, "curator", "")


def test_before_anything_is_paid_everything_may_change(tmp_path):
    ledger = opened(str(tmp_path / "l.sqlite"), by("month"))
    other = ledger.under(by("day", zone="Europe/Zurich"))
    other.accept_units(1, "curator", "days")
    assert other.verify().whole


# --- periods at last -----------------------------------------------------------------------------------------------------------


def test_a_ledger_without_periods_gets_them_and_each_has_spent_two_steps(address):
    """Taking a person's month away replaces the person: all that was paid counts twice in every month that has begun."""
    ledger = opened(address, by(None))
    ledger.spend(pure("1"), "ana", "q", "v")
    ledger.spend(pure("0.5"), "bo", "q", "v")
    lifetime = ledger.head.spent
    monthly = ledger.under(by("month", lifetime=30))
    monthly.accept_units(1, "curator", "a budget of each month from 2025 on; no row is of a later month")
    assert spent(monthly) == {"2025-01 to 2025-12": Fraction(3)}
    assert spent(monthly, "bo") == {"2025-01 to 2025-12": Fraction(1)}
    assert monthly.head.spent == lifetime, "a lifetime takes the old sums as they are"
    assert monthly.verify().problems == ()
    ask(monthly, pure("5"), 0)
    with pytest.raises(BudgetExceeded):
        ask(monthly, pure("0.1"), 0)
    ask(monthly, pure("5"), 11)
    assert monthly.verify().whole


def test_periods_need_to_have_begun(tmp_path):
    ledger = opened(str(tmp_path / "l.sqlite"), by(None))
    ledger.spend(pure("1"), "ana", "q", "v")
    declared = by("month")
    with pytest.raises(UnitsChanged, match="no period has begun") as refused:
        ledger.under(replace(declared, per=replace(declared.per, begun=None))).accept_units(1, "curator", "")
    assert "tacit prepare --through" in str(refused.value.remedy)


def test_planted_one_step_to_periods_is_found(tmp_path, monkeypatch):
    ledger = opened(str(tmp_path / "l.sqlite"), by(None))
    ledger.spend(pure("1"), "ana", "q", "v")
    monkeypatch.setattr("tacit.accounting.ledger.turning.REPLACED", 1)
    monthly = ledger.under(by("month"))
    monthly.accept_units(1, "curator", "")
    assert any("too few steps" in problem for problem in monthly.verify().problems)


# --- a budget that changes while periods are open --------------------------------------------------------------------------------


def test_a_lowered_budget_binds_at_once_and_a_raised_one_by_an_entry(address):
    ledger = opened(address, by("month", epsilon=2, lifetime=20))
    ask(ledger, pure("1"), 0)
    lowered = ledger.under(by("month", epsilon=1, lifetime=20))
    with pytest.raises(BudgetExceeded):
        ask(lowered, pure("0.5"), 0)
    ask(lowered, pure("0.5"), 1)
    raised = lowered.under(by("month", epsilon=3, lifetime=40))
    with pytest.raises(BudgetExceeded, match="2025-02") as refused:
        ask(raised, pure("1"), 1)
    assert "tacit ledger budget" in str(refused.value.remedy)
    assert raised.left().epsilon == lowered.left().epsilon == Fraction(0), "what is shown is what counts"
    entry = raised.accept_budget("curator", "the board agreed")
    assert entry.kind == "budget"
    assert (
        entry.question
        == "the board agreed ([budget] from epsilon 1, delta 1e-05 to epsilon 3, delta 1e-05; lifetime from epsilon 20, "
        "delta 1e-05 to epsilon 40, delta 1e-05)"
    )
    ask(raised, pure("1"), 1)
    assert raised.verify().problems == ()
    with pytest.raises(InvalidInput, match="nothing to accept"):
        raised.accept_budget("curator", "again")


def test_a_lifetime_that_is_taken_away_is_a_raised_one(tmp_path):
    ledger = opened(str(tmp_path / "l.sqlite"), by("month", epsilon=5, lifetime=1))
    ask(ledger, pure("1"), 0)
    without = ledger.under(by("month", epsilon=5))
    with pytest.raises(BudgetExceeded, match="lifetime"):
        ask(without, pure("1"), 1)
    assert "lifetime from epsilon 1, delta 1e-05 to none" in without.accept_budget("curator", "").question
    ask(without, pure("1"), 1)
    assert without.verify().whole


def test_planted_a_budget_that_rises_by_itself_is_found(tmp_path, monkeypatch):
    ledger = opened(str(tmp_path / "l.sqlite"), by("month", epsilon=1))
    ask(ledger, pure("1"), 0)
    monkeypatch.setattr(InForce, "under", lambda self, declared: declared)
    raised = ledger.under(by("month", epsilon=2))
    ask(raised, pure("1"), 0)
    monkeypatch.undo()
    assert any("has not accepted" in problem for problem in raised.verify().problems)


def test_entries_of_a_change_are_read_as_they_were_written(tmp_path):
    ledger = opened(str(tmp_path / "l.sqlite"), by("month"))
    ask(ledger, pure("0.5"), 0)
    ledger.under(by("quarter")).accept_units(1, "curator", "quarters")
    with sqlite3.connect(tmp_path / "l.sqlite") as books:
        texts = [text for (text,) in books.execute("SELECT text FROM tacit_entries ORDER BY number")]
    assert [entry_from(text).text for text in texts] == texts
    assert '"regrouped":{"new":"quarter","old":"month","runs":[],"steps":3}' in texts[-1]


def test_without_periods_a_raised_budget_needs_no_entry(tmp_path):
    ledger = opened(str(tmp_path / "l.sqlite"), by(None, epsilon=1))
    ledger.spend(pure("1"), "ana", "q", "v")
    ledger.under(by(None, epsilon=2)).spend(pure("1"), "ana", "q", "v")
