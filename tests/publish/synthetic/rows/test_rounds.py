"""Rounds: every unit moves every input within its price, no path of budgets exceeds the total, and what is kept is read again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cohort import Heard, cohort_catalog, listening, moved, people
from tacit.accounting.composition import Cost, cost, cost_under
from tacit.accounting.events import AdaptiveRounds, BoundedRangeChoice
from tacit.accounting.filter import NOTHING_SPENT, Filter
from tacit.errors import InvalidInput, LawViolated, NoBudget, TooManyGroups, UnknownName
from tacit.mechanisms.farthest import Farthest
from tacit.privacy.catalog import Catalog, Column, Table
from tacit.privacy.conversion import least_epsilon_up
from tacit.privacy.loss import Neighbours
from tacit.publish.synthetic.rows import population, rounds
from tacit.publish.synthetic.rows.cells import Axis, chosen_columns
from tacit.publish.synthetic.rows.marginals import Design, Plan
from tacit.publish.synthetic.rows.release import _read_record, _record
from tacit.publish.synthetic.rows.rounds import Aim, Pace, candidates_of, measure_rounds, rounds_designs
from tacit.query.price.price import UNIT, Request, request
from worlds import World, without, world_in_memory

BUDGETS = ({"epsilon": 1}, {"epsilon": 1, "delta": "1e-5"})
FEW = Aim(steps=4)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    declared = cohort_catalog(tmp_path_factory.mktemp("cohort"))
    with world_in_memory(declared, {"visits": people(4)}) as world:
        yield world


def design_of(catalog: Catalog, aim: Aim = FEW, **budget: Any) -> Design:
    chosen = chosen_columns(catalog, "visits")
    return rounds_designs(chosen.table, chosen.axes, request(**{"epsilon": 1, **budget}), catalog.change, aim)[0]


def plan_of(design: Design) -> Plan:
    assert design.rounds is not None
    return design.rounds


# --- one unit more or less ---------------------------------------------------------------------------------------------------


@pytest.fixture
def same_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coins of the rows, which are independent of the data, fall alike in every run: what is left to move is the data."""
    monkeypatch.setattr(population.bits, "random_words", lambda count: np.zeros(count, dtype=np.uint64) + np.uint64(1 << 63))
    monkeypatch.setattr(population, "distinct_integers", lambda below, size: np.arange(size))


def largest_excess(world: World, design: Design) -> int:
    """By how much the worst unit moves an input beyond its mechanism's sensitivity, all that was released before being the same."""
    with listening() as heard:
        measure_rounds(design, world.engine)
    worst = -(10**9)
    for unit in {row["tacit_unit"] for row in world.tables["visits"]}:
        other = world.with_rows("visits", without(world.tables["visits"], unit))
        try:
            with listening(heard) as again:
                measure_rounds(design, other.engine)
        finally:
            world.with_rows("visits", world.tables["visits"])
        assert len(again) == len(heard)
        worst = max(worst, *(_excess(one, replayed) for one, replayed in zip(heard, again, strict=True)))
    return worst


def _excess(one: Heard, other: Heard) -> int:
    assert one.mechanism.event == other.mechanism.event
    if isinstance(one.mechanism, Farthest):
        pairs = zip(one.mechanism.guesses, other.mechanism.guesses, strict=True)
        assert all((guess == again).all() for guess, again in pairs), "guesses follow from released numbers alone"
    return moved(one, other) - int(one.mechanism.sensitivity)


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "with delta"])
@pytest.mark.parametrize("aim", [FEW, Aim(target="ward", steps=4)], ids=["pairs", "target"])
@pytest.mark.usefixtures("same_coins")
def test_no_unit_moves_an_input_by_more_than_it_is_priced_for(place: World, budget: dict[str, Any], aim: Aim) -> None:
    """Recorded on all rows, replayed without each person in turn."""
    assert largest_excess(place, design_of(place.catalog, aim, **budget)) == 0, "three rows of one person do move a count by three"


@pytest.mark.usefixtures("same_coins")
def test_noise_for_one_row_is_seen(place: World) -> None:
    design = design_of(place.catalog)
    assert largest_excess(place, replace(design, rounds=replace(plan_of(design), max_rows=1))) == 2


@pytest.mark.usefixtures("same_coins")
def test_a_guess_that_looks_at_the_rows_is_seen(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the exact number of rows in place of the noisy one."""
    exact, counted = [0], rounds._count_candidates

    def looking(*given: Any) -> Any:
        sealed = counted(*given)
        exact[0] = int(next(iter(sealed.values())).unseal().sum())
        return sealed

    monkeypatch.setattr(rounds, "_count_candidates", looking)
    guessed = rounds._guesses
    monkeypatch.setattr(rounds, "_guesses", lambda rows, candidates, total: guessed(rows, candidates, exact[0]))
    with pytest.raises(AssertionError, match="guesses follow from released numbers"):
        largest_excess(place, design_of(place.catalog))


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "with delta"])
def test_what_runs_is_what_the_filter_counted(place: World, budget: dict[str, Any]) -> None:
    """The columns are the first events of the batch; the sum over what ran after them is within the last."""
    for design in rounds_designs(*_declared(place.catalog), request(**budget), "add-remove", FEW):
        with listening() as heard:
            measured = measure_rounds(design, place.engine)
        columns = len(design.axes)
        *singles, together = design.event.events  # type: ignore[union-attr]
        assert [one.mechanism.event for one in heard[:columns]] == singles
        ran = [cost(one.mechanism.event) for one in heard[columns:]]
        assert len(ran) == 2 * len(measured.rounds) > 0
        total = sum(ran, start=Cost(Fraction(0), Fraction(0), Fraction(0), UNIT))
        assert isinstance(together, AdaptiveRounds)
        assert total.rho <= together.rho
        assert together.epsilon is None or (total.epsilon is not None and total.epsilon <= together.epsilon)
        kinds = [(each.choice, each.noise.over(1).event) for each in measured.rounds]
        assert kinds == [
            (choice.mechanism.epsilon, noise.mechanism.event) for choice, noise in zip(*_halves(heard[columns:]), strict=True)
        ]


def _halves(heard: list[Heard]) -> tuple[list[Heard], list[Heard]]:
    return heard[::2], heard[1::2]


def _declared(catalog: Catalog) -> tuple[Table, tuple[Axis, ...]]:
    chosen = chosen_columns(catalog, "visits")
    return chosen.table, chosen.axes


# --- the filter --------------------------------------------------------------------------------------------------------------


def axes_of(columns: int) -> tuple[Axis, ...]:
    return tuple(Axis(Column(f"c{at}", "category", values=("a", "b")), (0, 1)) for at in range(columns))


def plans(steps: int, **budget: Any) -> list[Plan]:
    table = Table("t", None, {}, max_rows=2)  # type: ignore[arg-type]
    return [plan_of(each) for each in rounds_designs(table, axes_of(5), request(**budget), "add-remove", Aim(steps=steps))]


def largest_sum(plan: Plan, raised: tuple[bool, ...], pace: type[Pace] = Pace) -> Cost:
    """What the rounds of one path cost together, by their own events; budgets are raised after the given rounds."""
    running, total, at = pace(plan), Cost(Fraction(0), Fraction(0), Fraction(0), UNIT), 0
    while budget := running.next_round():
        total = total + cost(BoundedRangeChoice(budget[0], UNIT)) + cost(budget[1].over(3).event)
        if raised[at % len(raised)]:
            running.quicken()
        at += 1
    assert at <= plan.steps
    return total


def within(total: Cost, plan: Plan) -> bool:
    pure = plan.event.epsilon is None or (total.epsilon is not None and total.epsilon <= plan.event.epsilon)
    return pure and total.rho <= plan.rho and total.delta == 0


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_no_path_of_budgets_exceeds_the_totals(steps: int) -> None:
    """Every path of raises; nearly all of the total is spent on each, and without a raise there are all the rounds."""
    for plan in (*plans(steps, epsilon=1), *plans(steps, epsilon="20", delta="1e-6")):
        for raised in product((False, True), repeat=steps):
            total = largest_sum(plan, raised)
            assert within(total, plan)
            spent = total.rho / plan.rho if plan.law.concentrated else (total.epsilon or 0) / plan.whole
            assert spent > Fraction(1, 2)


def test_a_filter_of_one_round_alone_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: each round is compared with the total by itself, and the next budget does not fall with what was spent."""

    class Forgetful(Pace):
        def next_round(self) -> Any:
            self.spent = Cost(Fraction(0), Fraction(0), Fraction(0), UNIT)
            return super().next_round()

    for plan in plans(7, epsilon=1, delta="1e-6"):
        assert within(largest_sum(plan, (True,) * 7), plan)
        assert not within(largest_sum(plan, (True,) * 7, Forgetful), plan)


def test_the_filter_refuses_what_does_not_fit() -> None:
    for plan in plans(3, epsilon=1, delta="1e-6"):
        pace = Pace(plan)
        with pytest.raises(LawViolated, match="more than is left"):
            pace._spend([rounds.noise_of(replace(plan, max_rows=2), 2 * plan.whole).over(1).event])
        assert pace.spent.rho == 0


# --- the price ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(
    columns=st.integers(2, 30),
    epsilon=st.sampled_from(["0.01", "1", "1/7", "20"]),
    delta=st.sampled_from(["0", "1e-9", "1e-3"]),
    change=st.sampled_from(["add-remove", "change-one"]),
    max_rows=st.integers(1, 5),
)
def test_the_parts_cost_what_was_asked_for_and_no_more(columns: int, epsilon: str, delta: str, change: Any, max_rows: int) -> None:
    table = Table("t", None, {}, max_rows=max_rows)  # type: ignore[arg-type]
    for design in rounds_designs(table, axes_of(columns), request(epsilon=epsilon, delta=delta), change):
        price = cost_under(design.event, Neighbours(change, "unit"))
        if design.delta == 0:
            assert price.epsilon is not None
            assert Fraction(epsilon) * (1 - Fraction(1, 10**20)) <= price.epsilon <= Fraction(epsilon)
            assert Filter(epsilon, neighbours=price.neighbours).admits(NOTHING_SPENT, price)
        else:
            assert least_epsilon_up(price.rho, design.delta - price.delta) <= Fraction(epsilon)
            assert least_epsilon_up(price.rho, design.delta) >= Fraction(epsilon) * Fraction(9, 10)


def test_candidates_follow_from_the_request(place: World) -> None:
    _, axes = _declared(place.catalog)
    pairs, weights = candidates_of(axes, Aim())
    assert (len(pairs), set(weights)) == (10, {1})
    aimed, weights = candidates_of(axes, Aim(target="Urgent"))
    assert len(aimed) == 10 + 6
    assert all((weight == 4) == (1 in places) for places, weight in zip(aimed, weights, strict=True))
    assert candidates_of(axes, Aim(workload=(("day", "ward"), ("ward", "day"), ("cost", "ward", "pulse")))) == (
        ((0, 4), (0, 2, 3)),
        (1, 1),
    )
    for wrong, error in (
        (Aim(target="person"), UnknownName),
        (Aim(workload=(("ward",),)), InvalidInput),
        (Aim(workload=(("ward", "ward"),)), InvalidInput),
        (Aim(workload=(("ward", "nothing"),)), UnknownName),
    ):
        with pytest.raises(error):
            candidates_of(axes, wrong)
    with pytest.raises(InvalidInput, match="steps must be a whole number"):
        design_of(place.catalog, Aim(steps=0))
    wide = tuple(Axis(Column(f"c{at}", "category", values=tuple(map(str, range(60)))), tuple(range(60))) for at in range(3))
    with pytest.raises(TooManyGroups, match="more than 100,000 cells"):
        candidates_of(wide, Aim(workload=(("c0", "c1", "c2"),)))
    assert len(candidates_of(wide, Aim(target="c0"))[0]) == 3, "a triple of too many cells is left out"
    with pytest.raises(NoBudget, match="only noise"):
        rounds_designs(*_declared(place.catalog), Request(Fraction(1, 10**20)), "add-remove")


# --- what is kept ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "with delta"])
def test_what_was_kept_is_read_again(place: World, budget: dict[str, Any]) -> None:
    designs = rounds_designs(*_declared(place.catalog), request(**budget), "add-remove", FEW)
    measured = measure_rounds(designs[-1], place.engine)
    again = _read_record(_record(measured, designs, "a test"), designs)
    assert again.design == measured.design
    assert [each.tolist() for each in again.singles] == [each.tolist() for each in measured.singles]
    for one, other in zip(again.rounds, measured.rounds, strict=True):
        assert (one.places, one.choice, one.noise, one.counts.tolist()) == (
            other.places,
            other.choice,
            other.noise,
            other.counts.tolist(),
        )


def modules_with_a_clock(texts: dict[str, str]) -> list[str]:
    """The modules that import something that knows the time or can stop a run."""
    found = []
    for name, text in texts.items():
        imported = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
        names = [
            part
            for node in imported
            for part in ([each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        ]
        found += [name] * any(each.split(".")[0] in ("time", "datetime", "signal", "threading", "asyncio") for each in names)
    return found


def test_no_clock_stops_or_steers_the_rounds() -> None:
    """Steps are declared: what runs would be the same on a machine of any speed. Planted: a module that looks at a clock."""
    texts = {path.name: path.read_text("utf-8") for path in Path(rounds.__file__).parent.glob("*.py")}
    assert {"rounds.py", "population.py", "steps.py"} <= set(texts)
    assert modules_with_a_clock(texts) == []
    assert modules_with_a_clock({**texts, "late.py": "from time import monotonic"}) == ["late.py"]
    assert modules_with_a_clock({"later.py": "import time as other"}) == ["later.py"]
