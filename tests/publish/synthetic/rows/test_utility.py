"""The curator's workload: exact distances from the real rows, and a page that says whose it is."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from cohort import cohort_catalog, people, real_codes
from tacit.publish.synthetic.rows import utility as measured_by
from tacit.publish.synthetic.rows.cells import Axis, chosen_columns
from tacit.publish.synthetic.rows.inference import Model
from tacit.publish.synthetic.rows.marginals import Measured, independent_designs
from tacit.publish.synthetic.rows.release import SyntheticTable, values_of
from tacit.publish.synthetic.rows.utility import workload, write_report
from tacit.query.price.price import request
from tacit.release.answer import Receipt
from tacit.release.curators import NOTICE
from worlds import world


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[SyntheticTable, object]:
    """The real rows themselves and, in one column, all in the first cell."""
    folder = tmp_path_factory.mktemp("workload")
    declared = cohort_catalog(folder, max_rows=2)
    declared.store_folder.mkdir(parents=True)
    with world(declared.store_folder, declared, {"visits": people(12)}):
        chosen = chosen_columns(declared, "visits", ["ward", "urgent", "cost", "day"])
        codes = real_codes(declared, chosen)
        wrong = (np.zeros_like(codes[0]), *codes[1:])
        (design,) = independent_designs(chosen.table, chosen.axes, request(epsilon=1), "add-remove")
        measured = Measured(design, tuple(np.ones(axis.size, dtype=np.int64) for axis in chosen.axes), {})
        receipt = Receipt(design.epsilon, design.delta, entry=1)
        return SyntheticTable(chosen, measured, Model(()), wrong, values_of(chosen, wrong), receipt), declared


def brute(axes: tuple[Axis, ...], places: tuple[int, ...], real: list[tuple[int, ...]], drawn: list[tuple[int, ...]]) -> float:
    cells = {tuple(row[place] for place in places) for row in [*real, *drawn]}
    shares = [
        {cell: sum(tuple(row[place] for place in places) == cell for row in rows) / len(rows) for cell in cells}
        for rows in (real, drawn)
    ]
    return sum(abs(shares[0][cell] - shares[1][cell]) for cell in cells) / 2


def test_errors_are_total_variations_of_the_rows_that_answers_use(made) -> None:
    table, declared = made
    found = workload(declared, table)
    real = list(zip(*(codes.tolist() for codes in real_codes(declared, table.chosen)), strict=True))
    drawn = list(zip(*(codes.tolist() for codes in table.codes), strict=True))
    assert len(real) == 24, "two rows of each person, of three"
    axes = table.chosen.axes
    expected = {
        tuple(axes[place].name for place in places): brute(axes, places, real, drawn)
        for ways in (1, 2, 3)
        for places in combinations(range(4), ways)
    }
    assert {error.columns: error.variation for error in found.errors} == pytest.approx(expected)
    assert found.worst(1).columns == ("ward",)
    assert found.mean(1) == pytest.approx(found.worst(1).variation / 4), "the other columns are exact"
    assert list(found.to_dict()) == ["for_the_curator_alone"]
    assert found.skipped == 0


def test_where_there_are_very_many_marginals_some_are_left_out_and_it_is_said(made, monkeypatch: pytest.MonkeyPatch) -> None:
    table, declared = made
    monkeypatch.setattr(measured_by, "MOST_MARGINALS", 3)
    found = workload(declared, table)
    assert [len(found.of(ways)) for ways in (1, 2, 3)] == [2, 3, 2]
    assert found.skipped == 4 + 6 + 4 - 7


def test_the_page_is_the_curators_and_complete_in_itself(made, tmp_path: Path) -> None:
    table, declared = made
    page = write_report(workload(declared, table), table, tmp_path / "private" / "report.html").read_text()
    assert NOTICE in page.splitlines()[0]
    assert page.count("<svg") == 2 + len(table.chosen.axes)
    assert "<script" not in page
    assert not [link for link in page.split('"') if link.startswith(("http:", "https:")) and "www.w3.org" not in link]
    assert "NULL" in page


def test_a_long_axis_ends_in_one_bar_for_the_others(made, monkeypatch: pytest.MonkeyPatch) -> None:
    import altair as alt

    table, declared = made
    monkeypatch.setattr(measured_by, "MANY_BARS", 1)
    for chart, axis in zip(measured_by._columns_charts(alt, workload(declared, table), table), table.chosen.axes, strict=True):
        bars = chart.data.values
        assert [bar["cell"] for bar in bars[::2]] == [axis.labels[0], f"{axis.size - 1} others"]
        for rows in ("real", "synthetic"):
            assert sum(bar["share"] for bar in bars if bar["rows"] == rows) == pytest.approx(1), "no row is left out"


def test_no_rows_at_all_are_compared_too(made, tmp_path: Path) -> None:
    table, declared = made
    from dataclasses import replace

    nothing = tuple(codes[:0] for codes in table.codes)
    empty = replace(table, codes=nothing, columns=values_of(table.chosen, nothing))
    found = workload(declared, empty)
    assert found.mean(2) == pytest.approx(0.5), "all the real shares, and none of the synthetic ones"
    write_report(found, empty, tmp_path / "report.html")
