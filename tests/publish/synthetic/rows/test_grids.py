"""Columns without declared bins: means and quantiles within their intervals, both levels paid for, nothing decided by the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from chance import fewest_hits
from cohort import listening, moved
from reference import value
from stored import catalog, category, days, number, table
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.catalog import Column, Owner
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.rows import marginals
from tacit.publish.synthetic.rows.cells import Axis, chosen_columns
from tacit.publish.synthetic.rows.grids import QUARTILES, counts_of, groups_of_grid, numbers_of
from tacit.publish.synthetic.rows.marginals import Design, Noise, independent_designs, release_column
from tacit.publish.synthetic.rows.release import synthesize_table, synthesize_tree
from tacit.publish.synthetic.rows.rounds import Aim, measure_rounds, rounds_designs
from tacit.query.price.price import request
from tacit.session import DataSet
from worlds import World, ranked, without, world_in_memory

AGE = number("age", 0, 149, nulls="drop")
COST = number("cost", 0, 50_000, "0.01", nulls="drop")
DAY = days("day", "2020-01-01", "2024-12-31", nulls="drop")
ROWS, RUNS = 3000, 60


def offsets(column: Column, generator: np.random.Generator) -> Any:
    """Made-up values, all of them within the bounds: a hump, a long tail with many zeros, a season."""
    if column is AGE:
        return generator.normal(45, 20, ROWS).clip(0, 149).astype(int)
    if column is DAY:
        return (generator.beta(2, 5, ROWS) * 1800).astype(int)
    costs = np.exp(generator.normal(6, 1.2, ROWS)) * (generator.random(ROWS) < 0.7)
    return (costs * 100).clip(0, column.points - 1).astype(int)


def released(axis: Axis, values: Any, noise: Noise) -> Any:
    counted = np.bincount(axis.codes(values, np.zeros(values.size, dtype=bool)), minlength=axis.size)
    return release_column(noise, axis, Sealed(counted))


def as_offset(axis: Axis, value: Any) -> float:
    if axis.column.kind == "date":
        return float((np.datetime64(value) - np.datetime64("2020-01-01")).astype(int))
    assert axis.column.step is not None
    return float(value) / float(axis.column.step)


def truths(values: Any) -> dict[str, float]:
    return {"mean": float(values.mean()), **{f"quantile {q:g}": float(np.sort(values)[int(q * ROWS)]) for q in QUARTILES}}


def hits(column: Column, noise: Noise, spoiled: float = 1.0) -> dict[str, tuple[int, int]]:
    """How often the interval of each number contains that of the real rows, and that of synthetic ones."""
    axis, generator = Axis.grid(column), np.random.default_rng(4)
    told: dict[str, tuple[int, int]] = {}
    for _ in range(RUNS):
        values = offsets(column, generator)
        noisy = released(axis, values, noise)
        counts = counts_of(axis, noisy, noise.deviation)
        cells = np.repeat(np.arange(axis.size), counts)
        drawn = np.array(axis.begins)[cells] + (generator.random(cells.size) * np.array(axis.widths)[cells]).astype(int)
        drawn = generator.choice(drawn, ROWS)
        intervals = numbers_of(axis, noisy, replace(noise, budget=noise.budget * Fraction(spoiled)))
        for name, (low, high) in intervals.items():
            ends = as_offset(axis, low) - 0.01, as_offset(axis, high) + 0.01
            real, made = (ends[0] <= truths(each)[name] <= ends[1] for each in (values, drawn))
            so_far = told.get(name, (0, 0))
            told[name] = (so_far[0] + real, so_far[1] + made)
    return told


@pytest.mark.parametrize("column", [AGE, COST, DAY], ids=lambda column: column.name)
@pytest.mark.parametrize("law", [Laplace, Gaussian])
def test_means_and_quantiles_come_within_their_intervals(column: Column, law: Any) -> None:
    """Of the real rows in 95 of 100 runs, and so of synthetic ones, whose numbers follow the released counts."""
    noise = Noise(law, 1, Fraction(1, 4) if law is Laplace else Fraction(1, 200))
    told = hits(column, noise)
    for name, (real, made) in told.items():
        assert real >= fewest_hits(RUNS, 0.95, among=24), name
        assert made >= fewest_hits(RUNS, 0.9, among=24), name


def test_intervals_of_half_the_noise_are_seen() -> None:
    told = hits(AGE, Noise(Gaussian, 1, Fraction(1, 2000)), spoiled=16)
    assert min(real for real, _ in told.values()) < fewest_hits(RUNS, 0.95, among=24)


def test_noise_in_empty_cells_makes_no_people() -> None:
    """All rows at one value: nearly all synthetic rows are there, though a thousand cells have noise."""
    axis, noise = Axis.grid(COST), Noise(Gaussian, 1, Fraction(1, 200))
    noisy = released(axis, np.full(ROWS, 1_000_000), noise)
    counts = counts_of(axis, noisy, noise.deviation)
    cell = int(axis.codes(np.array([1_000_000]), np.array([False]))[0])
    assert counts[cell] > 0.9 * ROWS
    assert np.clip(noisy[axis.histograms[0] :], 0, None).sum() > 1.5 * ROWS, "which the noisy counts alone would not say"


def test_bins_are_fewer_where_there_is_more_noise() -> None:
    axis, generator = Axis.grid(COST), np.random.default_rng(1)
    values = offsets(COST, generator)
    bins = []
    for budget in (Fraction(1, 20_000), Fraction(1, 50)):
        noise = Noise(Gaussian, 1, budget)
        counts = counts_of(axis, released(axis, values, noise), noise.deviation)
        groups = groups_of_grid(axis, counts, 3 * noise.deviation)
        assert (np.diff(groups) >= 0).all()
        assert set(groups.tolist()) == set(range(int(groups.max()) + 1))
        assert groups.max() < axis.groups_at_most
        bins.append(int(groups.max()) + 1)
    assert bins[0] < bins[1]


# --- what a unit moves, and what is paid ---------------------------------------------------------------------------------------


def person(unit: int) -> list[dict[str, Any]]:
    cost = None if unit == 2 else unit * 900_000
    return [{"age": (unit * 37 + 50 * at) % 150, "cost": cost, "ward": unit % 3} for at in range(3)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("grids")
    columns = (
        Column("person", "key"),
        AGE,
        replace(COST, nulls="keep"),
        category("ward", "a", "b", "c", nulls="drop", unknown="drop"),
    )
    declared = catalog(folder, table("visits", folder / "visits.csv", *columns, unit=Owner("person"), max_rows=3))
    with world_in_memory(declared, {"visits": ranked([person(unit) for unit in range(5)])}) as world:
        yield world


def design_of(world: World, **budget: Any) -> Design:
    chosen = chosen_columns(world.catalog, "visits", grids=True)
    assert [bool(axis.width) for axis in chosen.axes] == [True, True, False]
    return rounds_designs(chosen.table, chosen.axes, request(**budget), world.catalog.change, Aim(steps=2))[0]


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}], ids=["pure", "with delta"])
def test_both_levels_are_paid_for_and_no_unit_moves_them_by_more(place: World, budget: dict[str, Any]) -> None:
    design = design_of(place, **budget)
    columns = len([each for each in design.event.events if each == design.single.over(1).event])  # type: ignore[attr-defined]
    with listening() as heard:
        measure_rounds(design, place.engine)
    first = heard[:5]
    assert columns == 5 == len({id(each) for each in first}), "two levels of two grids, and one column"
    assert [each.mechanism.event for each in first] == list(design.event.events[:5])  # type: ignore[attr-defined]
    for unit in range(5):
        other = place.with_rows("visits", without(place.tables["visits"], unit))
        try:
            with listening(heard) as again:
                measure_rounds(replace(design, rounds=None), other.engine)
        finally:
            place.with_rows("visits", place.tables["visits"])
        assert [moved(one, two) for one, two in zip(first, again, strict=True)] == [3] * 5


def test_the_engine_counts_the_cells_of_the_grid(place: World) -> None:
    """By arithmetic, the same as by the begins of the cells: those of the even grid, the bounds, and where a condition changes."""
    declared = place.catalog.tables["visits"]
    rows = place.tables["visits"]
    for name in ("age", "cost"):
        axis = Axis.grid(declared.columns[name], splits=(7, 900_001))
        missing = np.array([row[name] is None for row in rows])
        cells = axis.codes(np.array([row[name] or 0 for row in rows]), missing)
        counted = marginals.count_marginal(declared, [axis], place.engine).unseal()
        assert (counted == np.bincount(cells, minlength=axis.size)).all()
    edges = Axis.grid(declared.columns["cost"], splits=(7,))
    offsets = np.array(sorted({*edges.begins, *(begin - 1 for begin in edges.begins[1:])}))
    cells = [value(edges.cell(), {"0.cost": int(offset)}) for offset in offsets]
    assert cells == edges.codes(offsets, np.zeros(offsets.size, dtype=bool)).tolist()


def test_a_level_that_is_not_paid_for_is_seen(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginals, "histograms_of", lambda axes: len(axes))
    chosen = chosen_columns(place.catalog, "visits", grids=True)
    from tacit.accounting.composition import cost

    design = independent_designs(chosen.table, chosen.axes, request(epsilon=1), "add-remove")[0]
    assert (cost(design.event).epsilon or 0) > 1


# --- from the catalog to the rows --------------------------------------------------------------------------------------------

CATALOG = """
[budget]
epsilon = 1000
delta = 1e-5
[tables.visits]
source = "visits.csv"
unit = "row"
never = "cost > 300.5 AND age < 17"
[tables.visits.columns]
age = { bounds = [0, 149], nulls = "drop" }
cost = { bounds = [0, 50000], step = 0.01 }
day = { type = "date", bounds = ["2020-01-01", "2024-12-31"], nulls = "drop" }
"""


def opened(folder: Path, rows: list[str]) -> DataSet:
    folder.mkdir()
    (folder / "visits.csv").write_text("\n".join(["age,cost,day", *rows, ""]))
    (folder / "tacit.toml").write_text(CATALOG)
    data = tacit.open(folder / "tacit.toml")
    data.prepare(new_ledger=True, reason="a test")
    return data


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataSet]:
    generator = np.random.default_rng(2)
    ages, costs, seasons = (offsets(column, generator) for column in (AGE, COST, DAY))
    told = [
        f"{a},{'' if a < 17 else c / 100},{np.datetime64('2020-01-01') + int(d)}"
        for a, c, d in zip(ages, costs, seasons, strict=True)
    ]
    with opened(tmp_path_factory.mktemp("visits") / "visits", told) as data:
        yield data


@pytest.mark.parametrize("make", [synthesize_table, synthesize_tree])
def test_rows_have_the_measured_means_and_quantiles(visits: DataSet, make: Any) -> None:
    made = make(visits, "visits", epsilon=20, delta="1e-8", rows=ROWS)
    frame, numbers = made.to_pandas(), made.to_dict()["numbers"]
    assert not ((frame["cost"] > 300.5) & (frame["age"] < 17)).any()
    for name in ("age", "cost"):
        values = np.sort(frame[name].dropna().astype(float))
        for share in QUARTILES:
            low, high = numbers[name][f"quantile {share:g}"]
            near = values[[int((share - 0.02) * values.size), int((share + 0.02) * values.size)]]
            assert near[0] <= high, (name, share)
            assert near[1] >= low, (name, share)
    assert {"mean", "quantile 0.5"} < set(numbers["day"])


def test_an_empty_table_costs_and_looks_the_same(visits: DataSet, tmp_path: Path) -> None:
    with opened(tmp_path / "empty", []) as empty:
        told = [synthesize_table(data, "visits", epsilon=3, rows=50, aim=Aim(steps=2)) for data in (visits, empty)]
    one, other = (each.to_dict() for each in told)
    assert {key: one[key] for key in ("price", "events", "columns", "rows")} == {
        key: other[key] for key in ("price", "events", "columns", "rows")
    }
    assert told[0].to_arrow().schema == told[1].to_arrow().schema


def test_the_public_report_has_the_wide_cells_and_the_bins(visits: DataSet) -> None:
    from tacit.publish.synthetic.rows.report import Report

    made = synthesize_table(visits, "visits", epsilon=4, delta="1e-8", rows=500, aim=Aim(steps=2))
    told = Report(made).to_dict()
    margin = next(each for each in told["margins"] if each["columns"] == ["cost"])
    assert len(margin["noisy"]) == len(margin["synthetic"]) == len(told["cells"]["cost"]) == made.chosen.axes[1].histograms[0]
    assert len(told["groups_in_pairs"]["cost"]) == int(made.measured.merged_groups[1].max()) + 1
    assert told["cells"]["cost"][-1] == told["groups_in_pairs"]["cost"][-1] == "NULL"


def test_the_owners_report_compares_what_was_measured(visits: DataSet, tmp_path: Path) -> None:
    from tacit.publish.synthetic.rows.utility import workload, write_report

    made = synthesize_table(visits, "visits", epsilon=4, delta="1e-8", rows=500, aim=Aim(steps=2))
    page = write_report(workload(visits.catalog, made), made, tmp_path / "report.html").read_text("utf-8")
    assert f"<td>{made.chosen.axes[1].histograms[0]:,}" in page.replace('<td class="number">', "<td>")
