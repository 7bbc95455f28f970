"""A filter for each period: the decision is that of filter.py in every period alone, whoever chooses; and the books say so."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgers import UNIT, events, opened, policy, pure
from services import fresh_database
from tacit.accounting.composition import Cost, cost_under
from tacit.accounting.filter import NOTHING_SPENT, Filter
from tacit.accounting.ledger import by_period
from tacit.accounting.ledger.by_period import (
    NOTHING,
    PAGE,
    Charge,
    Limits,
    on_grid,
    plus,
    rows_after,
    rows_from,
    rows_text,
    spans,
    state_of,
    without,
)
from tacit.accounting.ledger.selling import Granted, Recalled, Sale
from tacit.errors import BudgetExceeded, NotAllowed, StoreUnusable, UnitsChanged
from tacit.privacy.catalog import Analyst, Budget
from tacit.privacy.periods import Calendar, Per, merged

DAY = Per(Calendar("day"), begun=(0, 1200))
ANA = Analyst("ana", Budget(Fraction(1, 2)))
RUNS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda at: (at[0], at[0] + at[1])), min_size=1, max_size=3
).map(merged)


def by_period_of(*analysts: Analyst, lifetime=None, epsilon: object = 1, delta: object = 0, kind: str = "day", **more):
    per = replace(DAY, calendar=Calendar(kind), lifetime=None if lifetime is None else (Fraction(lifetime), Fraction(delta)))
    return policy(epsilon, delta, *analysts, per=per, **more)


def sale(event, runs, analyst: str = "ana", whole=None, key: str = "") -> Sale:
    price = cost_under(event, UNIT)
    return Sale((event,), analyst, "q", "v", key, charge=Charge(runs, (price if whole is None else whole,)))


# --- pages -------------------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(RUNS, st.integers(1, 5)), max_size=6))
def test_a_page_is_the_sum_of_what_each_period_was_charged(charges):
    rows, plain = ((PAGE, NOTHING),), dict.fromkeys(range(PAGE), NOTHING)
    for runs, amount in charges:
        rows = rows_after(spans(rows, 0, runs), (amount, amount, 0, 1))
        plain |= {at: plus(plain[at], (amount, amount, 0, 1)) for low, high in runs for at in range(low, high + 1)}
    assert [sums for many, sums in rows for _ in range(many)] == [plain[at] for at in range(PAGE)]
    assert rows_from(rows_text(rows)) == rows
    assert all(one[1] != other[1] for one, other in pairwise(rows))


@given(RUNS, RUNS)
def test_without_is_the_difference(one, other):
    def every(runs):
        return {at for low, high in runs for at in range(low, high + 1)}

    assert every(without(one, other)) == every(one) - every(other)


@given(st.lists(events, max_size=8), st.fractions(Fraction(1, 10), 3), st.sampled_from([Fraction(0), Fraction(1, 10**6)]))
def test_limits_in_whole_numbers_decide_as_the_filter_does(asked, epsilon, delta):
    within = Filter(epsilon, delta, Fraction(1, 2), neighbours=UNIT)
    limits, sums, state = Limits.of(within, 100), NOTHING, NOTHING_SPENT
    for event in asked:
        price = cost_under(event, UNIT)
        sums, state = plus(sums, on_grid(price)), within.after(state, price)
        assert state_of(sums) == state
        assert limits.hold(sums) == within.holds(state)


# --- decisions ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([Fraction(1, 10), Fraction(1, 4), Fraction(1, 2)]), RUNS), min_size=4, max_size=12))
def test_a_ledger_admits_what_every_period_alone_would_admit(tmp_path_factory, asked):
    ledger = opened(str(tmp_path_factory.mktemp("ledger") / "ledger.sqlite"), by_period_of())
    spent: dict[int, Fraction] = {}
    for epsilon, runs in asked:
        touched = {at for low, high in runs for at in range(low, high + 1)}
        fits = all(spent.get(at, 0) + epsilon <= 1 for at in touched)
        try:
            ledger.reserve(sale(pure(epsilon), runs))
            assert fits
            spent |= {at: spent.get(at, Fraction(0)) + epsilon for at in touched}
        except BudgetExceeded:
            assert not fits
    assert ledger.verify().whole


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return fresh_database(request.getfixturevalue("postgres_url"))


def test_a_refusal_names_the_periods_that_have_too_little_and_those_that_have_enough(address):
    ledger = opened(address, by_period_of(kind="month"))
    ledger.reserve(sale(pure("0.8"), ((24300, 24302),)))
    with pytest.raises(BudgetExceeded, match="in 2025-01 to 2025-03") as refused:
        ledger.reserve(sale(pure("0.5"), ((24300, 24311),)))
    assert "2025-04 to 2025-12, which have enough" in str(refused.value.remedy)
    ledger.reserve(sale(pure("0.5"), ((24303, 24311),)))


def test_a_lifetime_is_charged_for_the_whole_person(address):
    """A question over twelve months: 1 in each, 12 in a lifetime; a second one is refused by the lifetime alone."""
    ledger = opened(address, by_period_of(lifetime=12, epsilon=2))
    twelve, whole = ((24300, 24311),), Cost(Fraction(12), Fraction(72), Fraction(0), UNIT)
    twice = Cost(Fraction(2), Fraction(2), Fraction(0), UNIT)
    granted = ledger.reserve(sale(pure(1), twelve, whole=whole))
    assert isinstance(granted, Granted)
    assert (granted.entry.price.epsilon, granted.entry.in_periods.price.epsilon) == (12, 1)
    with pytest.raises(BudgetExceeded, match="a person's lifetime"):
        ledger.reserve(sale(pure("0.1"), ((24312, 24312),)))
    raised = opened(address, by_period_of(lifetime=13, epsilon=2))
    raised.accept_budget("curator", "why")
    with pytest.raises(BudgetExceeded, match="about fewer periods"):  # what fits depends on how many there are
        raised.reserve(sale(pure(1), ((24312, 24313),), whole=twice))
    planted = opened(address, by_period_of(lifetime=12, epsilon=2))
    cheap = Cost(Fraction(1), Fraction(1, 2), Fraction(0), UNIT)
    assert not planted.caps.lifetime.filter.admits(planted.spent(), cheap)


def test_caps_of_an_analyst_count_in_each_period(address):
    ledger = opened(address, by_period_of(ANA, Analyst("bo")))
    ledger.reserve(sale(pure("0.5"), ((1, 3),)))
    with pytest.raises(BudgetExceeded, match="ana's own budget"):
        ledger.reserve(sale(pure("0.1"), ((3, 4),)))
    ledger.reserve(sale(pure("0.5"), ((4, 9),)))
    ledger.reserve(sale(pure("0.5"), ((1, 9),), "bo"))
    with pytest.raises(BudgetExceeded, match="the budget of the data set"):
        ledger.reserve(sale(pure("0.1"), ((9, 9),), "bo"))


def test_questions_are_counted_in_each_period(address):
    ledger = opened(address, by_period_of(questions_at_most=2))
    for _ in range(2):
        ledger.reserve(sale(pure("0.01"), ((1, 1),)))
    with pytest.raises(BudgetExceeded, match="2 questions were paid for"):
        ledger.reserve(sale(pure("0.01"), ((1, 2),)))
    ledger.reserve(sale(pure("0.01"), ((2, 2),)))


def test_an_answer_of_another_analyst_is_charged_to_the_asker_in_the_same_periods(address):
    ledger = opened(address, by_period_of(ANA, Analyst("bo", Budget(Fraction(1, 2)))))
    first = ledger.reserve(sale(pure("0.4"), ((1, 2),), key="k"))
    ledger.answered(first, "kept")
    told = ledger.reserve(sale(pure("0.4"), ((1, 2),), "bo", key="k"))
    assert isinstance(told, Recalled)
    with pytest.raises(BudgetExceeded, match="bo's own budget"):
        ledger.reserve(sale(pure("0.2"), ((2, 2),), "bo"))
    ledger.reserve(sale(pure("0.1"), ((2, 2),)))
    assert ledger.verify().whole


def test_a_way_to_publish_that_names_no_periods_is_refused(address):
    ledger = opened(address, by_period_of())
    with pytest.raises(NotAllowed, match="this way to publish"):
        ledger.spend(pure("0.1"), "ana", "q", "v")
    assert ledger.head.number == 0


def test_other_units_are_refused_after_the_first_question(address):
    ledger = opened(address, by_period_of())
    ledger.reserve(sale(pure("0.1"), ((1, 1),)))
    from tacit.accounting.ledger.units import Units

    with pytest.raises(UnitsChanged, match="no price for"):
        ledger.under(by_period_of(units=Units((("visits", '["row"]'),)))).accept_units(2, "curator", "why")


# --- the books ---------------------------------------------------------------------------------------------------------------


def test_changed_sums_are_found(tmp_path):
    import sqlite3

    address = str(tmp_path / "ledger.sqlite")
    ledger = opened(address, by_period_of())
    ledger.reserve(sale(pure("0.5"), ((1, 3),)))
    assert ledger.verify().whole
    with sqlite3.connect(address) as books:
        books.execute("UPDATE tacit_periods SET text = ?", [rows_text(((PAGE, NOTHING),))])
    assert "the sums of periods do not match the entries" in ledger.verify().problems
    with pytest.raises(StoreUnusable, match="sums of periods"):
        ledger.reserve(sale(pure("0.1"), ((1, 1),)))


def test_a_spend_beyond_a_period_is_found_by_verify(address, monkeypatch):
    """Planted: limits that hold for any sums."""
    ledger = opened(address, by_period_of())
    ledger.reserve(sale(pure("0.8"), ((1, 3),)))
    real = Limits.hold
    monkeypatch.setattr(Limits, "hold", lambda *_: True)
    ledger.reserve(sale(pure("0.8"), ((3, 4),)))
    monkeypatch.setattr(Limits, "hold", real)
    assert any("beyond the cap of a period" in problem for problem in ledger.verify().problems)


def test_a_spend_touches_the_pages_of_its_own_periods_whatever_came_before(address, monkeypatch):
    """So its time does not grow with the number of entries, and ten thousand periods cost one entry."""
    ledger = opened(address, by_period_of(epsilon=100))
    ledger.reserve(sale(pure("0.01"), ((0, 9_999),)))
    assert ledger.head.number == 1
    read: list[int] = []
    real = by_period.held_of
    monkeypatch.setattr(by_period, "held_of", lambda reading, *rest: real(_counting(reading, read), *rest))
    for _ in range(3):
        read.clear()
        ledger.reserve(sale(pure("0.01"), ((700, 700),)))
        assert read == [1, 1]  # a page of the data set, and one of the analyst


def _counting(reading, read):
    def counted(account, low, high):
        read.append(high - low + 1)
        return reading(account, low, high)

    return counted


def test_ten_thousand_periods_are_decided_in_the_time_of_one_entry(address):
    """A loose guard against a time that grows per period and entry; periods.md has what was measured."""
    ledger = opened(address, by_period_of(epsilon=100))
    for at in range(0, 2_000, 40):
        ledger.reserve(sale(pure("0.001"), ((at, at + 10),)))
    begin = process_time()
    ledger.reserve(sale(pure("0.001"), ((0, 9_999),)))
    assert process_time() - begin < 2
    assert ledger.verify().whole
