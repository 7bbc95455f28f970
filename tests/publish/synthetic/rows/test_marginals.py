"""Marginals: every unit moves every input of a mechanism by at most what it is priced for, and the prices add up to the request."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cohort import NAMES, Heard, cohort_catalog, listening, moved, people
from tacit.accounting.composition import cost_under
from tacit.accounting.filter import NOTHING_SPENT, Filter
from tacit.data.catalog.columns import even_bins
from tacit.errors import InvalidBudget, InvalidInput, NoBounds, NoBudget, NotAllowed, TooManyGroups, UnknownName, WrongType
from tacit.mechanisms.farthest import Farthest
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.catalog import Catalog, Column, Table
from tacit.privacy.conversion import least_epsilon_up
from tacit.privacy.loss import Neighbours
from tacit.publish.synthetic.rows import marginals
from tacit.publish.synthetic.rows.cells import Axis, chosen_columns
from tacit.publish.synthetic.rows.marginals import (
    Design,
    Measured,
    Noise,
    chosen_pairs,
    count_marginal,
    count_pairs,
    groups_of,
    guesses,
    independent_designs,
    measure,
    tree_designs,
)
from tacit.query.plan import Bound
from tacit.query.price.price import Request, request
from worlds import World, without, world_in_memory

BUDGETS = ({"epsilon": 1}, {"epsilon": 1, "delta": "1e-5"})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    declared = cohort_catalog(tmp_path_factory.mktemp("cohort"))
    with world_in_memory(declared, {"visits": people(4)}) as world:
        yield world


def design_of(catalog: Catalog, at: int = 0, **budget: Any) -> Design:
    chosen = chosen_columns(catalog, "visits")
    return tree_designs(chosen.table, chosen.axes, request(**{"epsilon": 1, **budget}), catalog.change)[at]


# --- cells -------------------------------------------------------------------------------------------------------------------


def test_the_engine_counts_the_cells_that_the_catalog_says(place: World) -> None:
    """Every row is in one cell of every column, in the same one for the engine and for whoever reads the store."""
    chosen = chosen_columns(place.catalog, "visits")
    assert [axis.name for axis in chosen.axes] == NAMES
    assert dict(chosen.left_out) == {"person": "it identifies people", "note": "its values are private"}
    assert [axis.size for axis in chosen.axes] == [4, 2, 4, 4, 2]
    for axis in chosen.axes:
        stored = [row[axis.name] for row in place.tables["visits"]]
        missing = np.array([value is None for value in stored])
        codes = axis.codes(np.array([value or 0 for value in stored]), missing)
        found = count_marginal(chosen.table, [axis], place.engine).unseal()
        assert found.tolist() == np.bincount(codes, minlength=axis.size).tolist()
        assert found.sum() == len(stored)


def test_the_engine_counts_groups_of_cells_as_they_are_merged(place: World) -> None:
    """Whichever cells are rare, neighbouring ones or not, that of NULL or not, all of them or none; a column of one bin too."""
    chosen = chosen_columns(place.catalog, "visits")
    ward = chosen.axes[0]
    other = count_marginal(chosen.table, [ward], place.engine).unseal()
    whole = replace(chosen.axes[4], begins=(0,))
    for axis in (*chosen.axes, whole):
        cells = count_marginal(chosen.table, [axis], place.engine).unseal()
        for groups in {tuple(groups_of(np.array(rare), least=1).tolist()) for rare in product((0, 1), repeat=axis.size)}:
            found = count_marginal(chosen.table, [axis], place.engine, [np.array(groups)]).unseal()
            assert found.tolist() == np.bincount(groups, weights=cells).tolist(), (axis.name, groups)
        both = count_marginal(
            chosen.table, [ward, axis], place.engine, [np.arange(4), np.zeros(axis.size, dtype=np.int64)]
        ).unseal()
        assert both.tolist() == other.tolist(), axis.name


@pytest.mark.parametrize("together", [1, 16, 10**6])
def test_pairs_that_are_counted_together_are_those_counted_alone(
    place: World, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many columns are counted at once, with cells that are merged and with all of them."""
    monkeypatch.setattr(marginals, "MOST_TOGETHER", together)
    design = design_of(place.catalog)
    for merged in (
        [np.arange(axis.size) for axis in design.axes],
        [np.array(each) for each in ([0, 1, 1, 2], [0, 0], [1, 0, 1, 1])],
    ):
        few = replace(design, axes=design.axes[: len(merged)])
        found = count_pairs(few, merged, place.engine, lambda words, share: None)
        assert set(found) == set(few.candidates)
        for pair, sealed in found.items():
            axes, groups = zip(*((few.axes[at], merged[at]) for at in pair), strict=True)
            assert sealed.unseal().tolist() == count_marginal(few.table, axes, place.engine, groups).unseal().tolist()


def test_values_of_a_bin_lie_in_it_and_null_stays_null(place: World) -> None:
    cost = chosen_columns(place.catalog, "visits", ["cost"]).axes[0]
    assert cost.labels == ("0 to 9.5", "10 to 24.5", "25 to 50", "NULL")
    values = cost.fill(np.array([0, 1, 2, 3] * 200)).to_pylist()
    assert values[3::4] == [None] * 200
    for cell, (low, high) in enumerate([(0, 9.5), (10, 24.5), (25, 50)]):
        drawn = values[cell::4]
        assert all(low <= value <= high and 2 * value == int(2 * value) for value in drawn)
        assert len(set(drawn)) > 10, "all values of the bin are drawn, not its middle"
    # All 20 values of the first bin are equally likely: among 4,000 draws one is missing with a chance of 20 * 0.95^4000 < 1e-80.
    assert len(set(cost.fill(np.zeros(4000, dtype=np.int64)).to_pylist())) == 20


def test_even_bins_are_for_columns_that_have_none(place: World) -> None:
    """They follow from the declared range alone, as `bins` of the catalog does, and leave declared bins as they are."""
    wide = Column("wealth", "number", (Fraction(0), Fraction(10**6)), Fraction(1))
    visits = place.catalog.tables["visits"]
    more = replace(place.catalog, tables={"visits": replace(visits, columns={**visits.columns, "wealth": wide})})
    binned = {axis.name: axis for axis in chosen_columns(more, "visits", bins=20).axes}
    declared = {axis.name: axis for axis in chosen_columns(place.catalog, "visits").axes}
    assert declared == {name: axis for name, axis in binned.items() if name != "wealth"}
    assert binned["wealth"] == Axis.of(replace(wide, bins=even_bins(wide, 20)))
    assert len(binned["wealth"].begins) == 20
    for wrong in (0, 101, True, 2.5, "20"):
        with pytest.raises(InvalidInput, match="whole number from 1 to 100"):
            chosen_columns(more, "visits", bins=wrong)  # type: ignore[arg-type]


def test_what_cannot_be_counted_in_public_cells_is_refused_by_the_catalog_alone(place: World) -> None:
    wide = Column("wealth", "number", (Fraction(0), Fraction(10**6)), Fraction(1))
    visits = place.catalog.tables["visits"]
    more = replace(place.catalog, tables={"visits": replace(visits, columns={**visits.columns, "wealth": wide})})
    with pytest.raises(NoBounds, match=r"no bins for visits.wealth \(1,000,001 values\)"):
        chosen_columns(more, "visits")
    with pytest.raises(UnknownName, match="unknown table"):
        chosen_columns(place.catalog, "people")
    with pytest.raises(UnknownName, match="unknown column age"):
        chosen_columns(place.catalog, "visits", ["age"])
    with pytest.raises(WrongType, match="its values are private"):
        chosen_columns(place.catalog, "visits", ["note"])
    with pytest.raises(NotAllowed, match="duplicate column"):
        chosen_columns(place.catalog, "visits", ["ward", "Ward"])
    public = replace(place.catalog, tables={"visits": replace(visits, public=True)})
    with pytest.raises(NotAllowed, match="public"):
        chosen_columns(public, "visits")
    none = replace(place.catalog, tables={"visits": replace(visits, columns={"note": visits.columns["note"]})})
    with pytest.raises(NotAllowed, match="no column that can be"):
        chosen_columns(none, "visits")
    many = tuple(map(Fraction, range(1001)))
    binned = {name: replace(wide, name=name, bins=many) for name in ("x", "y")}
    with pytest.raises(TooManyGroups, match=f"{1002 * 1002:,} cells"):
        chosen_columns(replace(place.catalog, tables={"visits": replace(visits, columns=binned)}), "visits")
    wide = {f"c{at}": replace(wide, name=f"c{at}", bins=many[:299]) for at in range(30)}
    with pytest.raises(TooManyGroups, match=f"have {435 * 300**2:,} cells"):
        chosen_columns(replace(place.catalog, tables={"visits": replace(visits, columns=wide)}), "visits")


def test_rare_cells_are_counted_as_one() -> None:
    assert groups_of(np.array([9, 1, 2, 50]), least=5).tolist() == [0, 2, 2, 1]
    assert groups_of(np.array([9, 1]), least=5).tolist() == [0, 1], "one rare cell stays as it is"
    assert groups_of(np.array([0, -4, 3]), least=5).tolist() == [0, 0, 0]


# --- one unit more or less ---------------------------------------------------------------------------------------------------


def replayed_on(world: World, design: Design, rows: Any, heard: list[Heard]) -> list[Heard]:
    """What the mechanisms are given on other rows, if everything before had been released as it was."""
    other = world.with_rows("visits", rows)
    try:
        with listening(heard) as again:
            measure(design, other.engine)
    finally:
        world.with_rows("visits", world.tables["visits"])
    return again


def largest_excess(world: World, design: Design) -> int:
    """By how much the worst unit moves an input beyond its mechanism's sensitivity; at most 0 for a sound design."""
    with listening() as heard:
        measure(design, world.engine)
    worst = -(10**9)
    for unit in {row["tacit_unit"] for row in world.tables["visits"]}:
        again = replayed_on(world, design, without(world.tables["visits"], unit), heard)
        assert len(again) == len(heard)
        for one, other in zip(heard, again, strict=True):
            assert type(one.mechanism) is type(other.mechanism)
            assert one.mechanism.event == other.mechanism.event
            sensitivity = getattr(one.mechanism, "sensitivity", None) or one.mechanism.max_rows
            worst = max(worst, moved(one, other) - int(sensitivity))
    return worst


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "with delta"])
def test_no_unit_moves_an_input_by_more_than_it_is_priced_for(place: World, budget: dict[str, Any]) -> None:
    """Recorded on all rows, replayed without each person in turn: the same mechanisms, and each input moved within its bound."""
    chosen = chosen_columns(place.catalog, "visits")
    for design in tree_designs(chosen.table, chosen.axes, request(**budget), "add-remove"):
        assert largest_excess(place, design) == 0, "three rows of one person do move a count by three"


def test_noise_for_one_row_is_seen(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    design = design_of(place.catalog)
    planted = replace(design, single=replace(design.single, max_rows=1))
    assert largest_excess(place, planted) == 2
    assert design.pair is not None
    assert largest_excess(place, replace(design, pair=replace(design.pair, max_rows=1))) == 2


def test_rows_that_are_limited_after_they_were_counted_are_seen(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog of at most one row for each person, and a plan that counts all three of them."""
    visits = replace(place.catalog.tables["visits"], max_rows=1)
    narrow = place.with_catalog(replace(place.catalog, tables={"visits": visits}))
    design = design_of(narrow.catalog)
    assert largest_excess(narrow, design) == 0
    monkeypatch.setattr(marginals, "Bound", lambda scan, most: Bound(scan, 10**6))
    assert largest_excess(narrow, design) == 2


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "with delta"])
def test_what_runs_is_what_the_ledger_records(place: World, budget: dict[str, Any]) -> None:
    for design in tree_designs(*_declared(place.catalog), request(**budget), "add-remove"):
        with listening() as heard:
            measured = measure(design, place.engine)
        assert sorted(map(repr, (one.mechanism.event for one in heard))) == sorted(map(repr, design.event.events))  # type: ignore[union-attr]
        assert len(measured.pairs) == len(design.axes) - 1


def _declared(catalog: Catalog) -> tuple[Table, tuple[Axis, ...]]:
    chosen = chosen_columns(catalog, "visits")
    return chosen.table, chosen.axes


# --- the price ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    columns=st.integers(1, 40),
    epsilon=st.sampled_from(["0.01", "1", "3", "1/7", "20"]),
    delta=st.sampled_from(["0", "1e-9", "1e-3"]),
    change=st.sampled_from(["add-remove", "change-one"]),
    max_rows=st.integers(1, 5),
)
def test_the_parts_cost_what_was_asked_for_and_no_more(columns: int, epsilon: str, delta: str, change: Any, max_rows: int) -> None:
    """Under both relations, for any number of columns; a budget of just so much admits it, to the last digit."""
    axes = tuple(Axis(Column(f"c{at}", "category", values=("a", "b")), (0, 1)) for at in range(columns))
    table = Table("t", None, {}, max_rows=max_rows)  # type: ignore[arg-type]
    for designs in (tree_designs, independent_designs):
        for design in designs(table, axes, request(epsilon=epsilon, delta=delta), change):
            price = cost_under(design.event, Neighbours(change, "unit"))
            if design.delta == 0:
                assert price.epsilon is not None
                assert Fraction(epsilon) * (1 - Fraction(1, 10**30)) <= price.epsilon <= Fraction(epsilon)
                assert Filter(epsilon, neighbours=price.neighbours).admits(NOTHING_SPENT, price)
            else:
                assert least_epsilon_up(price.rho, design.delta - price.delta) <= Fraction(epsilon)
                assert least_epsilon_up(price.rho, design.delta) >= Fraction(epsilon) * Fraction(9, 10)


def test_two_columns_have_one_pair_and_no_choice_and_one_column_none(place: World) -> None:
    table, axes = _declared(place.catalog)
    (two,) = tree_designs(table, axes[:2], request(epsilon=1), "add-remove")
    assert two.choice is None
    assert two.pair is not None
    assert (2 * two.single.budget, two.pair.budget) == (Fraction(2, 5), Fraction(3, 5))
    with listening() as heard:
        assert list(measure(two, place.engine).pairs) == [(0, 1)]
    assert not any(isinstance(one.mechanism, Farthest) for one in heard)
    (one,) = tree_designs(table, axes[:1], request(epsilon=1), "add-remove")
    assert (one.pair, one.single.budget) == (None, 1)


def test_the_design_with_less_noise_stands_first(place: World) -> None:
    table, axes = _declared(place.catalog)
    few = tree_designs(table, axes[:3], request(epsilon=1, delta="1e-9"), "add-remove")
    assert [design.delta for design in few] == [0, Fraction(1, 10**9)], "of few columns, Laplace"
    many = tuple(replace(axes[0], column=replace(axes[0].column, name=f"c{at}")) for at in range(60))
    assert tree_designs(table, many, request(epsilon=1, delta="1e-9"), "add-remove")[0].delta, "of many, Gaussian"


def test_a_budget_that_leaves_nothing_but_noise_is_refused(place: World) -> None:
    """Of a request that is below what a question may cost, as none is from outside."""
    chosen = chosen_columns(place.catalog, "visits")
    with pytest.raises(NoBudget, match="only noise"):
        tree_designs(chosen.table, chosen.axes, Request(Fraction(1, 10**20)), "add-remove")
    with pytest.raises(InvalidBudget, match=r"at least 0\.0001"):
        design_of(place.catalog, epsilon="1e-20")


# --- the choice of pairs, enumerated -----------------------------------------------------------------------------------------

BITS = tuple(product(range(2), repeat=3))
SINGLES = (np.array([3, 1]), np.array([2, 2]), np.array([0, 5]))


def bits_design(max_rows: int, choice: Fraction) -> Design:
    axes = tuple(Axis(Column(name, "category", values=("n", "y"), nulls="drop", unknown="drop"), (0, 1)) for name in "abc")
    noise = Noise(Laplace, max_rows, Fraction(100))  # little noise: no cell is rare
    return Design(Table("t", None, {}, max_rows=max_rows), axes, Fraction(1), Fraction(0), noise, noise, choice)  # type: ignore[arg-type]


def tree_law(design: Design, rows: tuple[tuple[int, ...], ...], monkeypatch: pytest.MonkeyPatch) -> dict[Any, float]:
    """The probability of every tree, in the order of choosing: the code runs once for each, and its choices are prescribed."""
    columns = Measured(design, SINGLES, {})
    counts = {
        (one, other): np.bincount([2 * row[one] + row[other] for row in rows], minlength=4).astype(np.int64)
        for one, other in design.candidates
    }
    found: dict[Any, float] = {}
    for script in product(range(3), range(2)):
        chances: list[float] = []

        def prescribed(self: Farthest, histograms: Any, script: Any = script, chances: list[float] = chances) -> int:
            index = script[len(chances)]
            chances.append(float(self.law(histograms).probabilities[index]))
            return index

        monkeypatch.setattr(Farthest, "release", prescribed)
        tree = chosen_pairs(design, guesses(columns), counts)  # type: ignore[arg-type]
        found[tree] = math.prod(chances)
    return found


def worst_tree_loss(design: Design, units: int, max_rows: int, monkeypatch: pytest.MonkeyPatch) -> float:
    """The largest log ratio of any tree, over all databases of so many units and one more."""
    rows = BITS[::3]
    people = [own for size in range(1, max_rows + 1) for own in combinations_with_replacement(rows, size)]
    worst = 0.0
    for others in combinations_with_replacement(people, units):
        fewer = tree_law(design, tuple(row for own in others for row in own), monkeypatch)
        assert math.isclose(sum(fewer.values()), 1)
        for own in people:
            more = tree_law(design, tuple(row for unit in (*others, own) for row in unit), monkeypatch)
            worst = max(worst, *(abs(math.log(more[tree] / fewer[tree])) for tree in fewer))
    return worst


@pytest.mark.parametrize(("max_rows", "units"), [(1, 2), (3, 1)])
def test_the_law_of_the_tree_is_within_its_price(max_rows: int, units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every database of a small world and every unit more: two choices of epsilon 1/2 lose at most 1 together."""
    assert worst_tree_loss(bits_design(max_rows, Fraction(1, 2)), units, max_rows, monkeypatch) <= 1 + 1e-12


@pytest.mark.parametrize("bug", ["the score's sensitivity halved", "one row where a unit has three"])
def test_planted_bugs_of_the_choice_are_seen(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 2 as the exponent's divisor forgotten, or the unit's rows, the same enumeration finds more than was paid for."""
    planted = bits_design(1, Fraction(1)) if "halved" in bug else bits_design(1, Fraction(1, 2))
    max_rows, units = (1, 2) if "halved" in bug else (3, 1)
    assert worst_tree_loss(planted, units, max_rows, monkeypatch) > 1.05, "exactly computed, so that any excess is one"
