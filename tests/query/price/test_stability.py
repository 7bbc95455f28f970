"""Neighbours drift by no more than the plan says: every unit is taken away in turn, and the exact answers are compared.

Each check is shown to catch a planted bug: a clamp after the sum, one row too many, a SUM without bounds, a scale from the wrong
sensitivity, groups priced as disjoint people, and ranks counted by rows where units have several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drift import by_group, most_rows, moved
from owned import RAWS, Raw, Unit, prepared_from, raw, units
from owned import without as neighbour
from questions import clinic_questions, clinic_units
from tacit.data import prepare
from tacit.data.ownership import Link
from tacit.data.store import store_file
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.privacy.catalog import Catalog
from tacit.query.engines import compile as compiled
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.engines.engine import StoredFacts
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.plan import Bound
from tacit.query.price import price as pricing
from tacit.query.price import quote as noises
from tacit.query.price.price import Quote, price, request
from tacit.query.price.stability import Reach, reach
from tacit.query.question import Question
from worlds import PUBLIC, World, clinic, opened, ranked, without, world_in_memory

LENGTHS = pytest.mark.parametrize("examples", [25, pytest.param(500, marks=pytest.mark.slow)])
ROW = {"ward": 0, "cost": 5000, "age": 10, "day": 0, "diagnosis": "flu", "scan": 0}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("drift")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def drift(question: Question, made: World) -> list[list[list[int]]]:
    """For every unit, taken away, and every moment: how far each group moved."""
    rows = made.tables["visits"]
    full, found = by_group(question, made), []
    for unit in sorted({row["tacit_unit"] for row in rows}):
        less = by_group(question, made.with_rows("visits", without(rows, unit)))
        found.append([[moved(one.get(k, 0), other.get(k, 0)) for k in one | other] for one, other in zip(full, less, strict=True)])
    made.with_rows("visits", rows)
    return found


def check(quotes: tuple[Quote, ...], made: World) -> None:
    """No unit moves what a mechanism adds noise to by more than the mechanism was told."""
    for unit in drift(quotes[0].question, made):
        for quote in quotes:
            for part in quote.sums:
                moves = unit[part.place]
                if isinstance(part.mechanism, Laplace):
                    assert sum(moves) <= part.mechanism.sensitivity, (part, moves)
                else:
                    assert sum(move**2 for move in moves) <= part.mechanism.sensitivity**2, (part, moves)
            for rank in quote.ranks:
                assert sum(unit[rank.place]) <= most_rows(rank), (rank, unit[rank.place])
            for mode in quote.modes:
                assert sum(unit[mode.place]) <= 2 * mode.mechanism.sensitivity, (mode, unit[mode.place])
            if quote.keys:
                units = _place_of_units(quote)
                assert max(unit[units], default=0) <= 1
                assert sum(unit[units]) <= quote.keys.max_groups


def _place_of_units(quote: Quote) -> int:
    """The place of the numbers of units, by which private keys are hidden."""
    return next(at for at, moment in enumerate(quote.question.group.moments) if moment.kind == "units")


def quoted(made: World, text: str) -> tuple[Quote, ...]:
    return price(made.plan(text), request(epsilon=1, delta=Fraction(1, 10**6)))


@LENGTHS
def test_no_unit_moves_an_answer_further_than_its_sensitivity(place: World, tmp_path: Any, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        clinic_questions(private_keys=True), clinic_units(least=1, most=3), st.sampled_from([None, 1, 2]), st.sampled_from([1, 3])
    )
    def inner(text: str, units: Any, per_group: int | None, max_rows: int) -> None:
        limited = clinic(tmp_path, max_rows, per_group if max_rows > 1 else None)
        made = place.with_rows("visits", ranked(units)).with_catalog(limited)
        check(quoted(made, text), made)

    inner()


# --- the bounds are reached ------------------------------------------------------------------------------------------------------

WORST = {
    "SELECT COUNT(*) FROM visits": [[ROW] * 3],
    "SELECT SUM(cost) FROM visits": [[ROW] * 3],
    "SELECT SUM(-cost) FROM visits": [[ROW] * 3],
    "SELECT AVG(age) FROM visits": [[ROW] * 3],
    "SELECT VAR_POP(age) FROM visits": [[{**ROW, "age": 0}] * 3],
    "SELECT MEDIAN(cost) FROM visits": [[ROW] * 3],
    "SELECT MODE(ward) FROM visits": [[ROW] * 3],
    "SELECT age, MODE(ward) FROM visits GROUP BY age": [[{**ROW, "age": age} for age in (1, 2, 3)]],
    "SELECT age, COUNT(*) FROM visits GROUP BY age": [[{**ROW, "age": age} for age in (1, 2, 3)]],
    "SELECT age, COUNT(DISTINCT person) FROM visits GROUP BY age": [[{**ROW, "age": age} for age in (1, 2, 3)]],
    "SELECT COUNT(DISTINCT cost) FROM visits": [[{**ROW, "cost": cost} for cost in (1, 2, 3)]],
    "SELECT COUNT(DISTINCT diagnosis) FROM visits": [[{**ROW, "diagnosis": name} for name in ("x", "y", "z")]],
    "SELECT COUNT(DISTINCT age > 2) FROM visits": [[{**ROW, "age": age} for age in (0, 9, 10)]],
    "SELECT age, COUNT(DISTINCT cost) FROM visits GROUP BY age": [[{**ROW, "age": age} for age in (1, 2, 3)]],
    "SELECT age, SUM(cost) FROM visits GROUP BY age": [[{**ROW, "age": age} for age in (1, 2, 3)]],
    "SELECT age, MEDIAN(cost) FROM visits GROUP BY age": [[{**ROW, "age": age} for age in (1, 2, 3)]],
    "SELECT site, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY site": [[ROW] * 3],
    "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis": [[{**ROW, "diagnosis": name} for name in ("x", "y", "z")]],
}


@pytest.mark.parametrize("text", WORST)
def test_a_worst_unit_reaches_the_sensitivity(place: World, text: str) -> None:
    """Sensitivities are not larger than they must be: with Laplace each is reached by some unit."""
    made = place.with_rows("visits", ranked(WORST[text])).with_catalog(place.catalog)
    quotes = [quote for quote in quoted(made, text) if all(isinstance(part.mechanism, Laplace) for part in quote.sums)]
    assert len(quotes) == 1 or (quotes and all(quote.keys for quote in quotes)), "private keys are offered with either noise"
    (unit,) = drift(quotes[0].question, made)
    for quote in quotes:
        declared = [(part.place, part.mechanism.sensitivity) for part in quote.sums]
        declared += [(part.place, part.mechanism.max_rows) for part in quote.ranks]
        declared += [(part.place, 2 * part.mechanism.sensitivity) for part in quote.modes]
        declared += [(_place_of_units(quote), quote.keys.max_groups)] if quote.keys else []
        assert {place: sum(unit[place]) for place, _ in declared} == dict(declared)


@given(st.integers(1, 12), st.integers(1, 6), st.integers(1, 12))
def test_the_squares_of_a_reach_are_the_largest_of_all_ways_to_spread_rows(rows: int, groups: int, per_group: int) -> None:
    touched = Reach(rows, groups, per_group)
    least = {0: 0}  # the largest sum of squares for every number of rows, group by group
    for _ in range(groups):
        least = {
            used: max(least[used - here] + here**2 for here in range(min(per_group, used) + 1) if used - here in least)
            for used in range(rows + 1)
            if any(used - here in least for here in range(min(per_group, used) + 1))
        }
    assert touched.l2_squared == max(least.values())
    assert touched.l1 == max(used for used in least)
    assert touched.units_l1 == min(rows, groups)


# --- planted bugs ----------------------------------------------------------------------------------------------------------------


def caught(made: World, text: str, quotes: tuple[Quote, ...] | None = None) -> bool:
    made.engine._compiled.clear()  # what was compiled without the planted bug
    try:
        check(quotes or quoted(made, text), made)
    except AssertionError:
        return True
    return False


ONE_RANK = "SELECT MEDIAN(cost) FROM visits"
FROM_ONE_TREE = "SELECT MEDIAN(cost), MIN(cost), MAX(cost), PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost) FROM visits"


def test_a_clamp_after_the_sum_is_caught(place: World) -> None:
    """A stored value beyond its bounds is what a clamp after the sum would add up."""
    honest = place.with_rows("visits", ranked([[ROW] * 3])).with_catalog(place.catalog)
    assert not caught(honest, "SELECT SUM(cost) FROM visits")
    unclamped = honest.with_rows("visits", ranked([[{**ROW, "cost": 5001}] * 3]))
    assert caught(unclamped, "SELECT SUM(cost) FROM visits")
    assert caught(unclamped, "SELECT AVG(cost) FROM visits")


@pytest.mark.parametrize("text", ["SELECT COUNT(*) FROM visits", "SELECT MEDIAN(cost) FROM visits", "SELECT SUM(age) FROM visits"])
def test_one_row_too_many_is_caught(place: World, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    made = place.with_rows("visits", ranked([[ROW] * 5])).with_catalog(place.catalog)
    assert not caught(made, text)
    honest = compiled.relation.dispatch(Bound)
    compiled.relation.register(Bound, lambda node, tables: honest(replace(node, max_rows=node.max_rows + 1), tables))
    try:
        assert caught(made, text)
    finally:
        compiled.relation.register(Bound, honest)
    assert not caught(made, text)


def test_one_row_too_many_in_a_group_is_caught(place: World, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT age, SUM(cost) FROM visits GROUP BY age"
    made = place.with_rows("visits", ranked([[ROW] * 3])).with_catalog(clinic(tmp_path, 3, 1))
    assert not caught(made, text)
    honest = compiled.group_rows
    monkeypatch.setattr(compiled, "group_rows", lambda group, tables: honest(replace(group, per_group=group.per_group + 1), tables))
    assert caught(made, text)


def test_a_sum_without_bounds_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = place.with_rows("visits", ranked([[ROW] * 3])).with_catalog(place.catalog)
    monkeypatch.setattr("tacit.query.price.stability.row_range", lambda moment, fixed: (0, 1))
    assert caught(made, "SELECT SUM(cost) FROM visits")


@pytest.mark.parametrize("text", ["SELECT COUNT(DISTINCT diagnosis) FROM visits", "SELECT COUNT(DISTINCT cost) FROM visits"])
def test_different_values_counted_as_one_for_each_unit_are_caught(place: World, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The planted bug: a unit is taken to bring one value, as it is one of COUNT(DISTINCT person)."""
    rows = [{**ROW, "diagnosis": name, "cost": cost} for name, cost in (("x", 1), ("y", 2), ("z", 3))]
    made = place.with_rows("visits", ranked([rows])).with_catalog(place.catalog)
    assert not caught(made, text)
    honest = noises.l1_sensitivity
    monkeypatch.setattr(noises, "l1_sensitivity", lambda moment, *given: 1 if moment.kind == "distinct" else honest(moment, *given))
    assert caught(made, text)


def test_a_scale_from_the_wrong_sensitivity_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The l2 sensitivity, given to a mechanism that needs the l1."""
    text = "SELECT age, COUNT(*) FROM visits GROUP BY age"
    made = place.with_rows("visits", ranked([[{**ROW, "age": age} for age in (1, 2, 3)]])).with_catalog(place.catalog)
    assert not caught(made, text)
    honest = noises.l2_sensitivity
    monkeypatch.setattr(noises, "l1_sensitivity", lambda moment, touched: int(honest(moment, replace(touched, per_group=1))))
    assert caught(made, text)


@pytest.mark.parametrize(
    "text", ["SELECT age, COUNT(*) FROM visits GROUP BY age", "SELECT age, MEDIAN(cost) FROM visits GROUP BY age"]
)
def test_groups_priced_as_disjoint_people_are_caught(place: World, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """One unit has rows in several groups, so the price of one group is not the price of all."""
    made = place.with_rows("visits", ranked([[{**ROW, "age": age} for age in (1, 2, 3)]])).with_catalog(place.catalog)
    assert not caught(made, text)
    monkeypatch.setattr(pricing, "reach", lambda *given: Reach(1, 1, 1))
    assert caught(made, text)


@pytest.mark.parametrize(("text", "mechanism"), [(ONE_RANK, QuantileWithInterval), (FROM_ONE_TREE, FromTree)])
def test_ranks_counted_by_rows_are_caught(place: World, monkeypatch: pytest.MonkeyPatch, text: str, mechanism: type) -> None:
    made = place.with_rows("visits", ranked([[ROW] * 3])).with_catalog(place.catalog)
    assert {type(rank.mechanism) for quote in quoted(made, text) for rank in quote.ranks} == {mechanism}
    assert not caught(made, text)
    honest = noises._rank
    monkeypatch.setattr(
        noises,
        "_rank",
        lambda call, epsilon, confidence, touched, interval: honest(call, epsilon, confidence, Reach(1, 1, 1), interval),
    )
    assert caught(made, text)


def test_a_join_without_its_fan_out_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT COUNT(*) FROM visits JOIN wards USING (ward)"
    made = place.with_rows("visits", ranked([[ROW] * 3])).with_catalog(place.catalog)
    assert reach(made.plan(text)).rows == 9
    assert not caught(made, text)
    monkeypatch.setattr(type(made.facts), "fan_out", lambda facts, table, column: 1)
    assert caught(made, text)


def test_what_moves_is_measured_as_it_should(place: World) -> None:
    one, other = (np.array([0, 3]), np.array([2, 1])), (np.array([0, 4]), np.array([1, 1]))
    assert moved(one, other) == 3
    assert moved(one, 0) == 3
    assert moved(-2, 5) == 7


# --- the same on stores that were prepared, with rows of several owners ----------------------------------------------------------

ASKED = ("SELECT COUNT(*), SUM(x) FROM {0}", "SELECT x, COUNT(*) FROM {0} GROUP BY x")


def answers(prepared: Catalog) -> dict[str, tuple[tuple[Quote, ...], list[Any]]]:
    """What each question costs, and its exact moments on the store of a catalog."""
    engine, found = DuckDBEngine(store_file(prepared)), {}
    for text in (text.format(name) for name in prepared.tables for text in ASKED):
        quotes = price(rewrite(parse(text), prepared, StoredFacts({}, engine)), request(epsilon=1))
        found[text] = quotes, opened(engine.run(quotes[0].question.group))
    engine.close()
    return found


def check_prepared(folder: Path, data: Raw, *leaving: Unit) -> None:
    """No unit that leaves the raw data moves a number by more than its sensitivity, whoever else claims its rows."""
    whole = answers(prepared_from(folder / "whole", data))
    for unit in leaving or units(data):
        less = answers(prepared_from(folder / "less", neighbour(data, unit)))
        for text, (quotes, before) in whole.items():
            for part in (part for quote in quotes for part in quote.sums):
                assert isinstance(part.mechanism, Laplace)
                drifted = sum(moved(*pair) for pair in zip(before[part.place], less[text][1][part.place], strict=True))
                assert drifted <= part.mechanism.sensitivity, (text, unit, drifted)


SHARED = raw(visits=[(7, 1, 3), (7, 2, 4)], labs=[(None, 7, place % 9) for place in range(9)], notes=[(None, None, 8)])


def test_no_unit_moves_a_prepared_store_further_than_its_sensitivity(tmp_path: Path) -> None:
    check_prepared(tmp_path, SHARED)


@pytest.mark.slow
@settings(max_examples=20)
@given(data=RAWS)
def test_no_unit_moves_any_prepared_store_further_than_its_sensitivity(tmp_path_factory: pytest.TempPathFactory, data: Raw) -> None:
    check_prepared(tmp_path_factory.mktemp("stores"), data)


def the_least_owner(pairs: str) -> str:
    return f"SELECT tacit_link, min(tacit_holder) AS tacit_holder FROM ({pairs}) GROUP BY tacit_link"


def nobody_where_there_are_several(pairs: str) -> str:
    return f"{the_least_owner(pairs)} HAVING count(*) = 1"


CLAIMED = raw(
    visits=[(visit, unit, 0) for visit, unit in ((5, 1), (6, 3), (8, 4), (5, 2), (6, 2), (8, 2))],
    labs=[(None, visit, x) for visit in (5, 6, 8) for x in range(3)],
)
CROSSED = raw(
    visits=[(visit, unit, 0) for visit, unit in ((10, 1), (11, 1), (12, 1), (10, 2), (11, 3), (12, 4))],
    labs=[(None, visit, first + place) for visit, first in ((10, 0), (11, 3), (12, 6)) for place in range(3)],
)


@pytest.mark.parametrize(("bug", "data", "unit"), [(nobody_where_there_are_several, CLAIMED, 2), (the_least_owner, CROSSED, 1)])
def test_rows_that_change_hands_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: Any, data: Raw, unit: int) -> None:
    """One person who claims the visits of others would take their labs away, or give them some."""
    check_prepared(tmp_path, data, unit)
    honest = Link.pairs
    monkeypatch.setattr(Link, "pairs", lambda link, *given: bug(honest(link, *given)))
    with pytest.raises(AssertionError, match="labs"):
        check_prepared(tmp_path, data, unit)


def test_a_row_too_many_in_the_store_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions read no ranks of a store that says how many rows of a unit it holds, so preparation must keep its word."""
    honest = prepare.stored_rows
    monkeypatch.setattr(prepare, "stored_rows", lambda maker, table, *more: honest(maker, replace(table, max_rows=3), *more))
    with pytest.raises(AssertionError, match="labs"):
        check_prepared(tmp_path, SHARED)
