"""Training: every unit moves every sum by at most what it is priced for, at any coefficients; prices add up to the request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import variance_limits
from cohort import Heard, cohort_catalog, listening, people
from tacit.accounting.composition import cost_under
from tacit.errors import InvalidInput, NoBudget, NotAllowed, TooManyGroups, UnknownName, WrongType
from tacit.evidence.verify.small_training import evaluated
from tacit.mechanisms.gaussian import Gaussian
from tacit.privacy.catalog import Catalog, Column
from tacit.privacy.conversion import least_epsilon_up
from tacit.privacy.loss import Neighbours
from tacit.privacy.sealed import Sealed
from tacit.publish.trained import steps
from tacit.publish.trained.features import ONE, Inputs, inputs_of
from tacit.publish.trained.steps import (
    CHANCE,
    LARGEST_WEIGHT,
    WEIGHT,
    Design,
    curvature_plan,
    designs_for,
    exact_sums,
    expected_noise,
    gradient_plan,
    train,
)
from tacit.query.engines.exact import Exact
from tacit.query.plan import Bound, Group, Scan, Where
from tacit.query.planning import size_of_group
from tacit.query.price.price import Request, request
from tacit.query.price.work import Expressions
from worlds import World, ranked, without, world_in_memory

LARGEST = LARGEST_WEIGHT * WEIGHT
FEATURES = ["ward", "cost", "pulse", "day"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    declared = cohort_catalog(tmp_path_factory.mktemp("cohort"))
    with world_in_memory(declared, {"visits": people(8)}) as world:
        yield world


def inputs(catalog: Catalog) -> Inputs:
    return inputs_of(catalog, "visits", "urgent", FEATURES)


def design_of(catalog: Catalog, few: int = 3, **budget: Any) -> Design:
    """A design as it is priced, with few steps, for tests that run it on an engine."""
    made = designs_for(inputs(catalog), request(**{"epsilon": 1, **budget}), catalog.change)[0]
    return replace(made, steps=few)


def weights(size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.sampled_from([-LARGEST, -WEIGHT, -1, 0, 1, 777, WEIGHT, LARGEST]), min_size=size, max_size=size)


def counted(rows: Any, most: int = 3) -> list[Mapping[str, int]]:
    """The rows that count, as plain Python has them."""
    return [row for row in rows if row["tacit_rank"] < most and all(row[name] is not None for name in [*FEATURES, "urgent"])]


# --- exact sums --------------------------------------------------------------------------------------------------------------


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_the_engine_adds_up_what_each_row_says(place: World, data: st.DataObject) -> None:
    """At any coefficients, and for the second moments; NULLs are left out."""
    made = inputs(place.catalog)
    chosen = data.draw(weights(len(made.features)))
    plans = (gradient_plan(made, chosen), curvature_plan(made, [(0, 0), (0, 1), (3, 4), (5, 5)]))
    rows = counted(place.tables["visits"])
    assert 0 < len(rows) < len(place.tables["visits"]), "some rows have a NULL"
    for plan in plans:
        plain = [sum(evaluated(moment.value, row) for row in rows) for moment in plan.moments if moment.value is not None]
        assert exact_sums(plan, place.engine).unseal().tolist() == plain


def hostile(columns: Inputs) -> Iterator[dict[str, int]]:
    """Rows at every border of every column, in all combinations."""
    named = {column.name: column.points for column in (*columns.columns, columns.label.column)}
    borders = [sorted({0, 1, points // 2, points - 2, points - 1} & set(range(points))) for points in named.values()]
    for values in product(*borders):
        yield dict(zip(named, values, strict=True))


def test_no_row_passes_the_bounds_and_some_reach_them(place: World) -> None:
    """In whole numbers, at coefficients that tell most; the bounds are the sensitivities of a unit of one row."""
    made = inputs(place.catalog)
    most, size = made.most_at_once, len(made.features)
    l1, l2 = {"gradient": 0, "moments": 0}, {"gradient": 0, "moments": 0}
    pairs = Design(made, Fraction(1), Fraction(0), Gaussian, Fraction(1), Fraction(1), 1).pairs
    plans = [gradient_plan(made, [sign * LARGEST, *[0] * (size - 1)]) for sign in (-1, 0, 1)]
    for row in hostile(made):
        features = [evaluated(feature.row, row) for feature in made.features]
        assert all(abs(each) <= ONE for each in features)
        assert sum(each != 0 for each in features) <= most
        moments = [features[one] * features[other] for one, other in pairs]
        for plan in plans:
            gradient = [evaluated(moment.value, row) for moment in plan.moments if moment.value is not None]
            l1["gradient"] = max(l1["gradient"], sum(map(abs, gradient)))
            l2["gradient"] = max(l2["gradient"], sum(each**2 for each in gradient))
        l1["moments"] = max(l1["moments"], sum(map(abs, moments)))
        l2["moments"] = max(l2["moments"], sum(each**2 for each in moments))
    table = replace(made.table, max_rows=1)
    for delta, found in (("0", l1), ("1e-6", l2)):
        priced = designs_for(replace(made, table=table), request(epsilon=1, delta=delta), "add-remove")[0]
        power = 2 if priced.law.concentrated else 1
        assert found["gradient"] == pytest.approx(float(priced.of_step.sensitivity**power)), "reached, and not passed"
        assert found["moments"] == pytest.approx(float(priced.of_curvature.sensitivity**power))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_coefficients_take_more_work_than_was_bounded(place: World, data: st.DataObject) -> None:
    """The bound is computed with the largest coefficients; others are shorter and do no more for a row."""
    made = inputs(place.catalog)
    bound, plan = gradient_plan(made, [LARGEST] * len(made.features)), gradient_plan(made, data.draw(weights(len(made.features))))
    most, least = size_of_group(bound), size_of_group(plan)
    slack = len(made.features) * 4  # a minus, and parentheses
    assert least.characters <= most.characters * 1.02 + slack * len(made.features)
    each = [sum(Expressions.of(group).steps(m.value) for m in group.moments if m.value is not None) for group in (bound, plan)]
    assert each[1] <= each[0]


# --- one unit ----------------------------------------------------------------------------------------------------------------


def run_with_and_without(place: World, rows: Any, design: Design, unit: int) -> list[tuple[Heard, Heard]]:
    """Both runs, the second one with the released numbers of the first."""
    more = place.with_rows("visits", rows)
    with listening() as heard:
        train(design, more.engine)
    fewer = place.with_rows("visits", without(rows, unit))
    with listening(heard) as again:
        train(design, fewer.engine)
    return list(zip(heard, again, strict=True))


def distance(one: Heard, other: Heard) -> float:
    """How far an input moved, in the norm of its mechanism."""
    moved = [abs(int(a) - int(b)) for a, b in zip(np.atleast_1d(one.given), np.atleast_1d(other.given), strict=True)]
    return float(sum(moved)) if one.mechanism.norm == "l1" else float(sum(each**2 for each in moved)) ** 0.5


EXTREME = {"ward": 1, "urgent": 1, "cost": 100, "pulse": 3, "day": 59, "note": "x"}


def with_extreme(rows: int) -> list[dict[str, Any]]:
    return [*people(5), *ranked([[EXTREME] * rows], codes=[99])]


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}])
def test_no_unit_moves_an_input_by_more_than_it_is_priced_for(place: World, budget: dict[str, Any]) -> None:
    """A person of more rows than are kept, each at the border of every column."""
    design = design_of(place.catalog, **budget)
    pairs = run_with_and_without(place, with_extreme(5), design, 99)
    shares = [distance(*pair) / float(pair[0].mechanism.sensitivity) for pair in pairs]
    assert len(shares) == 1 + design.steps
    assert max(shares) <= 1 + 1e-12
    assert shares[0] == pytest.approx(1), "three rows at the bound: the person is there"
    assert max(shares[1:]) >= 0.49, "the first step is at chance one half"


def test_planted_limits_are_seen(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for one row where a unit has three; rows that are limited only after a filter on the data."""
    design = design_of(place.catalog)
    wrong = replace(design, inputs=replace(design.inputs, table=replace(design.inputs.table, max_rows=1)))
    monkeypatch.setattr(Inputs, "rows", property(lambda self: _unlimited(design.inputs)))
    for planted in (wrong, design):
        pairs = run_with_and_without(place, with_extreme(5), planted, 99)
        assert max(distance(*pair) / float(pair[0].mechanism.sensitivity) for pair in pairs) > 1.5


def _unlimited(made: Inputs) -> Any:
    return Bound(Scan(made.table), 5)


def test_a_gradient_in_floating_point_is_seen() -> None:
    """Planted: sums of doubles, where the order and the other rows decide how a row is rounded; whole numbers never do that."""
    random = np.random.default_rng(1)
    others, own = random.normal(size=10_000) * 1e6, 0.1
    assert len({float(np.sum([*part, own]) - np.sum(part)) for part in (others, others[:100], others[::-1])}) > 1
    whole = np.rint(others).astype(np.int64)
    assert {int(np.sum([*part, 3]) - np.sum(part)) for part in (whole, whole[:100], whole[::-1])} == {3}


# --- what runs, and its price ------------------------------------------------------------------------------------------------


def test_what_runs_is_what_the_ledger_records(place: World) -> None:
    for delta in ("0", "1e-6"):
        design = design_of(place.catalog, delta=delta)
        with listening() as heard:
            train(design, place.engine)
        assert [one.mechanism.event for one in heard] == list(design.event.events)  # type: ignore[union-attr]


@settings(max_examples=40, deadline=None)
@given(
    epsilon=st.sampled_from(["0.01", "1", "3", "1/7", "20"]),
    delta=st.sampled_from(["0", "1e-9", "1e-3"]),
    change=st.sampled_from(["add-remove", "change-one"]),
)
def test_the_parts_cost_what_was_asked_for_and_no_more(place: World, epsilon: str, delta: str, change: Any) -> None:
    designs = designs_for(inputs(place.catalog), request(epsilon=epsilon, delta=delta), change)
    assert len(designs) == (1 if delta == "0" else 3)
    noise = [design.noise_of_gradient for design in designs]
    assert noise == sorted(noise)
    price = cost_under(designs[0].event, Neighbours(change, "unit"))
    if delta == "0":
        assert price.epsilon is not None
        assert Fraction(epsilon) * (1 - Fraction(1, 10**20)) <= price.epsilon <= Fraction(epsilon)
    else:
        assert least_epsilon_up(price.rho, Fraction(delta) - price.delta) <= Fraction(epsilon)
        assert least_epsilon_up(price.rho, Fraction(delta)) >= Fraction(epsilon) * Fraction(9, 10)


def test_a_budget_that_leaves_nothing_but_noise_is_refused(place: World) -> None:
    with pytest.raises(NoBudget, match="only noise"):
        designs_for(inputs(place.catalog), Request(Fraction(1, 10**20)), "add-remove")


# --- the steps ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InMemory:
    """Distinct rows with numbers of copies, added up in plain Python: a gradient of each row once, whatever its copies."""

    rows: list[dict[str, int]]
    copies: list[int]

    def run(self, group: Group) -> Exact:
        exact = [
            sum(n * evaluated(moment.value, row) for row, n in zip(self.rows, self.copies, strict=True))
            for moment in group.moments
            if moment.value is not None
        ]
        return Exact(tuple(Sealed(np.array([each])) for each in exact))


def _yes(name: str) -> Column:
    return Column(name, "category", values=(False, True), unknown="drop", nulls="drop")


def _evenly(catalog: Catalog, each: int) -> tuple[Inputs, InMemory]:
    """Two truths and a label, all combinations equally often: as the forecast assumes."""
    table = replace(catalog.tables["visits"], columns={name: _yes(name) for name in ("one", "two", "ill")}, max_rows=1)
    made = inputs_of(replace(catalog, tables={"visits": table}), "visits", "ill")
    rows = [dict(zip(("one", "two", "ill"), values, strict=True)) for values in product((0, 1), repeat=3)]
    return made, InMemory(rows, [each] * 8)


def test_the_forecast_is_the_noise_that_is_seen(place: World) -> None:
    """The mean square of 120 errors over their forecast, in each coefficient; planted: a forecast that forgets the averaging."""
    made, engine = _evenly(place.catalog, 5000)
    design = designs_for(made, request(epsilon=1, delta="1e-6"), "add-remove")[0]
    found = np.array([train(design, engine).weights for _ in range(120)])  # type: ignore[arg-type]
    forecast = expected_noise(design, 40_000)
    low, high = variance_limits(len(found), among=2 * design.size)
    squares = np.mean((found / forecast) ** 2, axis=0)  # of labels without a pattern, the coefficients are 0
    assert np.all((low < squares) & (squares < high)), squares
    planted = forecast * design.averaged**0.5
    assert np.all(np.mean((found / planted) ** 2, axis=0) < low)


def test_with_little_noise_the_coefficients_are_those_of_the_least_loss(place: World) -> None:
    """Of rows whose label follows a logistic law exactly, in whole numbers of rows."""
    made, _ = _evenly(place.catalog, 1)
    wanted = (-0.5, 1.0, -2.0)
    rows, copies = [], []
    for one, two in product((0, 1), repeat=2):
        chance = 1 / (1 + np.exp(-(wanted[0] + wanted[1] * one + wanted[2] * two)))
        for ill in (0, 1):
            rows.append({"one": one, "two": two, "ill": ill})
            copies.append(round(10**5 * (chance if ill else 1 - chance)))
    design = designs_for(made, request(epsilon=1000), "add-remove")[0]
    found = train(design, InMemory(rows, copies)).weights  # type: ignore[arg-type]
    assert np.allclose(found, wanted, atol=0.03)


# --- what is refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"table": "nothing"}, UnknownName, "unknown table"),
        ({"label": "nothing"}, UnknownName, "unknown column"),
        ({"label": "cost"}, WrongType, "must be a category"),
        ({"label": "ward"}, InvalidInput, "has 3 values, not 2"),
        ({"label": "ward=z"}, InvalidInput, "unknown value z"),
        ({"features": ["urgent"]}, InvalidInput, "is the label"),
        ({"features": ["cost", "Cost"]}, InvalidInput, "duplicate column"),
        ({"features": ["note"]}, WrongType, "its values are private"),
        ({"features": ["person"]}, WrongType, "it identifies people"),
        ({"features": []}, InvalidInput, "no column to learn from"),
    ],
)
def test_what_cannot_be_learnt_is_refused_by_the_catalog_alone(
    place: World, asked: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        inputs_of(place.catalog, **{"table": "visits", "label": "urgent", **asked})


def test_public_tables_and_too_many_values_are_refused(place: World) -> None:
    visits = place.catalog.tables["visits"]
    public = replace(place.catalog, tables={"visits": replace(visits, public=True)})
    with pytest.raises(NotAllowed, match="is public"):
        inputs_of(public, "visits", "urgent")
    many = replace(visits, columns={**visits.columns, "ward": Column("ward", "category", values=tuple(range(80)))})
    with pytest.raises(TooManyGroups, match="coefficients"):
        inputs_of(replace(place.catalog, tables={"visits": many}), "visits", "urgent")


def test_without_names_all_columns_that_can_be_used_are(place: World) -> None:
    made = inputs_of(place.catalog, "visits", "ward=b")
    assert [column.name for column in made.columns] == ["urgent", "cost", "pulse", "day"]
    assert str(made.label) == "ward = b"
    assert isinstance(made.rows, Where)
    assert steps.CHANCES[0] == 0
    assert max(steps.CHANCES) == CHANCE
