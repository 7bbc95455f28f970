"""Where one unit changes, answers move by no more than they are priced for: a unit's rows are replaced by any others, or by none.

The number of units over all tables is public, and nothing else: a unit may have no row in a table, or in a filter, or in a group.
Each planted bug is one that somebody would plausibly build.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drift import by_group, most_rows, moved
from questions import clinic_questions, clinic_rows, clinic_units
from stored import catalog as catalog_of
from stored import category, number, table
from tacit.accounting.composition import cost_under
from tacit.errors import WrongRelation
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.loss import Neighbours
from tacit.query.plan import Moment
from tacit.query.price import stability
from tacit.query.price.price import Quote, price, request
from tacit.query.price.stability import Reach
from tacit.query.question import private
from worlds import PUBLIC, World, clinic, ranked, world_in_memory

LENGTHS = pytest.mark.parametrize("examples", [20, pytest.param(500, marks=pytest.mark.slow)])
ROW = {"ward": 0, "cost": 5000, "age": 10, "day": 0, "diagnosis": "flu", "scan": 0}
CHANGED, ADDED = Neighbours("change-one", "unit"), Neighbours("add-remove", "unit")
Units = list[list[dict[str, Any]]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("change")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def quoted(made: World, text: str) -> tuple[Quote, ...]:
    return price(made.plan(text), request(epsilon=1, delta=Fraction(1, 10**6)), "change-one")


def moves(quote: Quote, made: World, before: Units, after: Units) -> list[list[int]]:
    """For every moment how far each group moves from one set of rows to the other."""
    one, other = (by_group(quote.question, made.with_rows("visits", ranked(units))) for units in (before, after))
    return [[moved(old.get(key, 0), new.get(key, 0)) for key in old | new] for old, new in zip(one, other, strict=True)]


def check(quotes: tuple[Quote, ...], made: World, before: Units, after: Units) -> None:
    """No change of one unit moves what a mechanism adds noise to by more than the mechanism was told, for this relation."""
    found = moves(quotes[0], made, before, after)
    for quote in quotes:
        for part in quote.sums:
            doubled = 1 if part.mechanism.event.neighbours == CHANGED else 2  # of an add/remove event, the ledger charges two
            if isinstance(part.mechanism, Laplace):
                assert sum(found[part.place]) <= part.mechanism.sensitivity * doubled, (part, found[part.place])
            else:
                assert sum(move**2 for move in found[part.place]) <= (part.mechanism.sensitivity * doubled) ** 2
        for rank in quote.ranks:
            assert sum(found[rank.place]) <= 2 * most_rows(rank)
        for mode in quote.modes:
            doubled = 1 if mode.mechanism.neighbours == CHANGED else 2
            assert sum(found[mode.place]) <= 2 * mode.mechanism.sensitivity * doubled


@LENGTHS
def test_no_changed_unit_moves_an_answer_further_than_its_sensitivity(place: World, tmp_path: Path, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        clinic_questions(private_keys=True), clinic_units(least=0, most=2), st.lists(clinic_rows(), max_size=4),
        st.lists(clinic_rows(), max_size=4), st.sampled_from([None, 1]), st.sampled_from([1, 3]),
    )  # fmt: skip
    @example(
        "SELECT age, COUNT(*), SUM(cost), COUNT(DISTINCT person) FROM visits GROUP BY age", [], [ROW], [{**ROW, "age": 0}], None, 1
    )
    @example("SELECT SUM(age), AVG(age), VAR_POP(age) FROM visits", [], [ROW] * 3, [{**ROW, "age": 0}] * 3, None, 3)
    def inner(text: str, units: Units, before: Any, after: Any, per_group: int | None, max_rows: int) -> None:
        made = place.with_catalog(clinic(tmp_path, max_rows, per_group if max_rows > 1 else None))
        check(quoted(made, text), made, [*units, before], [*units, after])

    inner()


# --- the bounds are reached, and are those of the rules --------------------------------------------------------------------------

LOW = {**ROW, "cost": 0, "age": 0}
WORST: dict[str, tuple[Any, Any, int]] = {  # what a unit is before, after, and how far each sum may move
    "SELECT COUNT(*) FROM visits": ([ROW] * 3, [], 3),
    "SELECT SUM(cost) FROM visits": ([ROW] * 3, [], 3 * 5000),
    "SELECT SUM(age) FROM visits": ([ROW] * 3, [LOW] * 3, 3 * (7 + 3)),
    "SELECT SUM(cost + 10) FROM visits WHERE cost > 20": ([ROW] * 3, [LOW] * 3, 3 * 6000),
    "SELECT COUNT(DISTINCT person) FROM visits": ([ROW], [], 1),
    "SELECT COUNT(DISTINCT cost) FROM visits": ([{**ROW, "cost": at} for at in range(3)], [], 3),
    "SELECT age, COUNT(*) FROM visits GROUP BY age": ([ROW] * 3, [LOW] * 3, 6),
    "SELECT age, COUNT(DISTINCT person) FROM visits GROUP BY age": (
        [{**ROW, "age": at} for at in (0, 1, 2)], [{**ROW, "age": at} for at in (3, 4, 5)], 6,
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", WORST)
def test_a_worst_change_reaches_the_sensitivity(place: World, text: str) -> None:
    before, after, most = WORST[text]
    (quote,) = price(place.plan(text), request(epsilon=1), "change-one")
    (part,) = quote.sums
    assert part.mechanism.sensitivity == most
    assert sum(moves(quote, place, [before], [after])[part.place]) == most


@pytest.mark.parametrize(
    ("text", "cheaper"),
    [
        ("SELECT COUNT(*) FROM visits", 2),
        ("SELECT SUM(cost) FROM visits", 2),
        ("SELECT COUNT(DISTINCT person) FROM visits", 2),
        ("SELECT age, COUNT(*) FROM visits GROUP BY age", 1),
    ],
)
def test_what_is_gained_over_twice_the_price_of_add_remove(place: World, text: str, cheaper: int) -> None:
    (added,), (changed,) = (price(place.plan(text), request(epsilon=1), change) for change in ("add-remove", "change-one"))
    (before,), (after,) = added.sums, changed.sums
    assert after.mechanism.scale * cheaper == before.mechanism.scale * 2


@given(st.integers(-5, 5), st.integers(0, 5), st.integers(1, 3), st.integers(1, 3))
def test_squares_of_changes_are_at_most_what_is_told(low: int, more: int, rows: int, groups: int) -> None:
    """Every way to put a few rows of the least or the greatest value into groups, before and after."""
    ends = min(low, 0), max(low + more, 0)
    touched = Reach(rows, min(rows, groups), rows, "change-one", groups > 1)
    ways = _spread(rows, groups, ends)
    worst = max(sum((one - two) ** 2 for one, two in zip(before, after, strict=True)) for before in ways for after in ways)
    assert worst <= touched.l2_squared * stability._l2_squared_of(ends, touched)
    assert max(sum(abs(a - b) for a, b in zip(x, y, strict=True)) for x in ways for y in ways) <= touched.l1 * stability._l1_of(
        ends, touched
    )


def _spread(rows: int, groups: int, ends: tuple[int, int]) -> set[tuple[int, ...]]:
    ways = {(0,) * groups}
    for _ in range(rows):
        ways |= {(*way[:at], way[at] + end, *way[at + 1 :]) for way in ways for at in range(groups) for end in ends}
    return ways


# --- an event of one relation is not spent under the other -----------------------------------------------------------------------


@pytest.mark.parametrize("text", ["SELECT COUNT(*), SUM(cost) FROM visits", "SELECT MEDIAN(cost) FROM visits"])
def test_an_event_for_change_one_has_no_price_under_add_remove(place: World, text: str) -> None:
    (changed, *_), (added, *_) = (price(place.plan(text), request(epsilon=1), change) for change in ("change-one", "add-remove"))
    assert cost_under(changed.event, CHANGED).epsilon == 1
    with pytest.raises(WrongRelation, match="has no price for"):
        cost_under(changed.event, ADDED)
    assert cost_under(added.event, CHANGED).epsilon == 2


def test_private_keys_are_not_cheaper_than_twice_add_remove(place: World) -> None:
    (quote, *_) = quoted(place, "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis")
    assert private(quote.question)
    assert quote.keys is not None
    assert {part.mechanism.event.neighbours for part in quote.sums} | {quote.keys.event.neighbours} == {ADDED}


# --- planted bugs ----------------------------------------------------------------------------------------------------------------


def caught(place: World, text: str, before: Units, after: Units) -> bool:
    try:
        check(price(place.plan(text), request(epsilon=1), "change-one"), place, before, after)
    except AssertionError:
        return True
    return False


def without_zero(moment: Moment, fixed: bool = False) -> tuple[int, int]:
    """The planted rule: every unit has a row that counts before and after, so a sum moves by b - a, and a count not at all."""
    if moment.kind == "rows":
        return 0, 0
    return (moment.value.low, moment.value.high) if moment.kind == "sum" and moment.value is not None else stability_range(moment)


stability_range = stability.row_range


def test_the_plain_difference_under_a_filter_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """SUM over [10, 60] where cost > 20: a unit that no longer passes moves it by 60, and not by 50."""
    text = "SELECT SUM(cost + 10) FROM visits WHERE cost > 20"
    assert not caught(place, text, [[ROW]], [[LOW]])
    monkeypatch.setattr(stability, "row_range", without_zero)
    assert caught(place, text, [[ROW] * 3], [[LOW] * 3])


def test_a_size_that_is_taken_as_public_is_caught_where_another_column_drops_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`unknown = "drop"` of a column that the question does not name: the unit is there, and its row is not stored."""
    columns = (number("pay", 10, 60, nulls="drop"), category("place", "x", "y", unknown="drop"))
    rows = table("visits", tmp_path / "visits.csv", *columns, rows_at_most=100)
    with world_in_memory(catalog_of(tmp_path, rows), {"visits": []}) as made:
        before, after = [[{"pay": 50, "place": 0}]], [[]]  # the second is dropped when the data is prepared
        assert not caught(made, "SELECT SUM(pay), COUNT(*) FROM visits", before, after)
        monkeypatch.setattr(stability, "row_range", without_zero)
        for module in ("price", "needs"):
            monkeypatch.setattr(f"tacit.query.price.{module}.moves", lambda moment, touched: True)
        assert caught(made, "SELECT SUM(pay) FROM visits", before, after)


def test_the_number_of_rows_of_one_of_two_tables_is_not_public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that changes may leave one table and come into the other: both stay one unit, and neither size is public."""
    people, staff = (
        table(name, tmp_path / f"{name}.csv", number("pay", 10, 60, nulls="drop"), rows_at_most=100) for name in ("visits", "staff")
    )
    with world_in_memory(catalog_of(tmp_path, people, staff), {"visits": [], "staff": []}) as made:
        (quote,) = price(made.plan("SELECT COUNT(*) FROM visits"), request(epsilon=1), "change-one")
        assert quote.sums[0].mechanism.sensitivity == 1
        assert not caught(made, "SELECT SUM(pay) FROM visits", [[{"pay": 50}]], [[]])
        monkeypatch.setattr(stability, "row_range", without_zero)
        assert caught(made, "SELECT SUM(pay) FROM visits", [[{"pay": 50}]], [[]])


def test_groups_priced_as_one_are_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a unit that has one row touches one group; where it changes it leaves one and comes into another."""
    text = "SELECT age, COUNT(*) FROM visits GROUP BY age"
    assert not caught(place, text, [[ROW] * 3], [[LOW] * 3])
    honest = stability.reach
    monkeypatch.setattr("tacit.query.price.price.reach", lambda *given: replace(honest(*given), several=False))
    assert caught(place, text, [[ROW] * 3], [[LOW] * 3])
