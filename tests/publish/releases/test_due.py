"""Which periods are due: by the owner's word, from whole periods alone, on any calendar."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest

from tacit.errors import InvalidInput
from tacit.privacy.periods import Period
from tacit.publish.releases.declaration import Release, Releases
from tacit.publish.releases.due import Complete, due_periods, next_periods


def release(period: str, start: str = "") -> Release:
    return Release("visits", "Visits", "SELECT 1", period=period, start=start)


YEAR = Complete(date(2024, 1, 1), date(2024, 12, 31))


@pytest.mark.parametrize(
    ("period", "many", "first", "last"),
    [
        ("month", 12, "2024-01", "2024-12"),
        ("quarter", 4, "2024-Q1", "2024-Q4"),
        ("year", 1, "2024", "2024"),
        ("week", 52, "2024-W01", "2024-W52"),
        ("day", 366, "2024-01-01", "2024-12-31"),
    ],
)
def test_a_year_has_its_periods(period: str, many: int, first: str, last: str) -> None:
    due = due_periods(release(period), YEAR)
    assert (len(due), due[0].name, due[-1].name) == (many, first, last)
    assert all(one.last is not None and two.first is not None and (two.first - one.last).days == 1 for one, two in pairwise(due))


def test_periods_are_whole_at_both_ends() -> None:
    part = Complete(date(2024, 1, 15), date(2024, 6, 29))
    assert [each.name for each in due_periods(release("month"), part)] == ["2024-02", "2024-03", "2024-04", "2024-05"]
    assert [each.name for each in due_periods(release("month", "2024-04"), part)] == ["2024-04", "2024-05"]
    assert [each.name for each in due_periods(release("quarter"), part)] == []
    assert [each.name for each in next_periods(release("month"), part, 2)] == ["2024-06", "2024-07"]
    assert [each.parameters for each in due_periods(release("month", "2024-05"), part)] == [
        {"first": date(2024, 5, 1), "last": date(2024, 5, 31)}
    ]


def test_without_the_owners_word_nothing_is_due() -> None:
    assert due_periods(release("month"), Complete(date(2024, 1, 1), None)) == []
    assert [each.name for each in due_periods(release(""), Complete(None, None))] == ["once"]


def test_closed_periods_of_the_budget_decide_where_it_has_periods() -> None:
    def period(month: int, closed: bool) -> Period:
        return Period(f"2024-{month:02}", date(2024, month, 1), date(2024, month, 28), closed, "v")

    complete = Complete.of(Releases((), ""), [period(1, True), period(2, True), period(3, False)], ())
    assert complete == Complete(date(2024, 1, 1), date(2024, 2, 28))
    assert Complete.of(Releases((), ""), [period(1, False)], ()) == Complete(date(2024, 1, 1), None), "nothing is due yet"
    with pytest.raises(InvalidInput, match="remove through"):
        Complete.of(Releases((), "", through="2024-03"), [], ())


@pytest.mark.parametrize(("through", "last"), [("2024-03", 31), ("2024-03-05", 5), ("2024-W10", 10), ("2024-Q1", 31)])
def test_any_name_of_a_period_says_what_is_complete(through: str, last: int) -> None:
    complete = Complete.of(Releases((), "", through=through), None, [date(2024, 1, 1), date(2023, 6, 1)])
    assert complete == Complete(date(2023, 6, 1), date(2024, 3, last))


def test_bad_words_and_too_many_periods_are_refused() -> None:
    with pytest.raises(InvalidInput, match="is not a period"):
        Complete.of(Releases((), "", through="2024-13"), None, ())
    with pytest.raises(InvalidInput, match="more than 5,000 periods"):
        due_periods(release("day"), Complete(date(1900, 1, 1), date(2024, 1, 1)))
