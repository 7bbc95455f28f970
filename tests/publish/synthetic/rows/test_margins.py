"""Measured margins with their intervals, what carries an analysis, and the public report, which no real row can change."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from chance import fewest_hits, most_hits
from measured_rows import joint, released
from tacit.errors import InvalidInput, UnknownName
from tacit.publish.synthetic.rows.cells import Chosen
from tacit.publish.synthetic.rows.inference import drawn_codes, fit
from tacit.publish.synthetic.rows.marginals import Measured
from tacit.publish.synthetic.rows.margins import margins_of, support_in, support_of
from tacit.publish.synthetic.rows.release import SyntheticTable
from tacit.publish.synthetic.rows.report import Report, check_public_report, write_public_report
from tacit.publish.synthetic.rows.rounds import Aim
from tacit.release.answer import Receipt


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    rng = np.random.default_rng(11)
    z = (rng.random(1500) < 0.3).astype(np.int64)
    return np.stack([rng.binomial(5, 0.3 + 0.3 * z), rng.integers(0, 4, 1500), z], axis=1)


def table_of(measured: Measured, number: int = 400) -> SyntheticTable:
    design, model = measured.design, fit(measured, number)
    receipt = Receipt(design.epsilon, design.delta, entry=1)
    chosen = Chosen(design.table, design.axes, {})
    return SyntheticTable(chosen, measured, model, drawn_codes(measured, model, number), {}, receipt)


def test_intervals_contain_the_real_counts_as_often_as_they_say(rows: np.ndarray) -> None:
    inside = together = cells = margins = 0
    for _ in range(40):
        measured = released(rows, epsilon=2, delta="1e-6")
        for margin in margins_of(measured):
            merged = measured.merged_groups if len(margin.places) > 1 else tuple(np.arange(size) for size in (6, 4, 2))
            apart = np.abs(joint(rows, margin.places, merged) - margin.counts)
            inside, cells = inside + int((apart <= margin.half_width).sum()), cells + apart.size
            together, margins = together + int((apart <= margin.simultaneous).all()), margins + 1
    assert fewest_hits(cells, 0.95, 4) <= inside <= most_hits(cells, 0.99, 4), "discrete noise: a little more than 95 %"
    assert fewest_hits(margins, 0.95, 4) <= together


def test_half_the_width_is_seen(rows: np.ndarray) -> None:
    inside = cells = 0
    for _ in range(40):
        measured = released(rows, epsilon=2, delta="1e-6")
        for margin in margins_of(measured)[:3]:
            apart = np.abs(joint(rows, margin.places, tuple(np.arange(size) for size in (6, 4, 2))) - margin.counts)
            inside, cells = inside + int((apart <= margin.half_width // 2).sum()), cells + apart.size
    assert inside < fewest_hits(cells, 0.95)


def test_of_several_measurements_the_least_noisy_counts(rows: np.ndarray) -> None:
    measured = released(rows, epsilon=2, delta=0)
    first = measured.rounds[0]
    loud = replace(first, noise=replace(first.noise, budget=first.noise.budget / 4), counts=first.counts + 1000)
    margin = next(each for each in margins_of(replace(measured, rounds=(first, loud))) if each.places == first.places)
    assert (margin.times, margin.counts.tolist()) == (2, first.counts.tolist())
    fresh = replace(first, counts=first.counts + 1)
    margin = next(each for each in margins_of(replace(measured, rounds=(first, fresh))) if each.places == first.places)
    assert margin.counts.tolist() == fresh.counts.tolist(), "of equal ones the last: whether it came does not depend on its noise"


def test_what_carries_an_analysis() -> None:
    margins = [{"columns": list(names), "half_width": 5} for names in ("a", "b", "c", "d")]
    margins += [{"columns": ["a", "b"], "half_width": 9}, {"columns": ["a", "c", "d"], "half_width": 20}]
    assert support_of(margins, [" A "]).carried == "measured"
    assert support_of(margins, ["b", "a"]).half_width == 9
    part = support_of(margins, ["d", "c"])
    assert (part.carried, part.half_width, part.together) == ("measured", None, ("a", "c", "d"))
    assert part.sentences == ["d and c were measured together, as a part of a, c and d: their counts are sums of its cells"]
    alone = support_of(margins, ["a", "b", "c"])
    assert (alone.carried, alone.missing, alone.carries(linear=True)) == ("model", (("b", "c"),), False)
    pairs = support_of([*margins, {"columns": ["b", "c"], "half_width": 4}], ["a", "b", "c"])
    assert (pairs.carried, pairs.carries(), pairs.carries(linear=True)) == ("pairs", False, True)
    spelled = support_of([{"columns": ["Age"], "half_width": 5}, {"columns": ["=sum(A1) "], "half_width": 5}], ["Age", "=sum(A1) "])
    assert spelled.missing == (("Age", "=sum(A1) "),), "a name as it is listed, whatever its letters"
    with pytest.raises(UnknownName, match="unknown column e"):
        support_of(margins, ["e"])
    with pytest.raises(InvalidInput, match="missing columns"):
        support_of(margins, [])


def test_a_relation_that_was_not_measured_is_not_in_the_rows() -> None:
    """The warning is true: x and y are the same in every row, and independent in rows from the other pairs alone."""
    rng = np.random.default_rng(12)
    y = rng.integers(0, 4, 3000)
    rows = np.stack([y, y, rng.integers(0, 2, 3000)], axis=1)
    made = table_of(released(rows, epsilon=20, delta=0, aim=Aim(workload=(("x", "z"), ("y", "z")), steps=2)), 3000)
    assert made.support(["x", "y"]).carried == "model"
    assert made.support(["x", "z"]).carried == "measured"
    agreeing = np.count_nonzero(made.codes[0] == made.codes[1])
    assert agreeing <= most_hits(3000, 0.3), "a fourth by chance, and noise moves far less than a twentieth of the rows"
    known = table_of(released(rows, epsilon=20, delta=0, aim=Aim(workload=(("x", "y"),), steps=1)), 3000)
    assert known.support(["x", "y"]).carried == "measured"
    assert np.count_nonzero(known.codes[0] == known.codes[1]) >= fewest_hits(3000, 0.95), "all, and noise moves far fewer"


class Links(HTMLParser):
    """Everything on a page that would load something, and the number of sections."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded, self.sections, self.scripts = [], 0, 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sections += tag == "section"
        self.scripts += tag == "script"
        self.loaded += [value for name, value in attrs if name in ("src", "href")]


def test_the_public_report_is_made_from_what_was_released(rows: np.ndarray, tmp_path: Path) -> None:
    made = table_of(released(rows, epsilon=2, delta=0))
    page = write_public_report(made, tmp_path / "report.html").read_text()
    seen = Links()
    seen.feed(page)
    assert (seen.loaded, seen.scripts) == ([], 0)
    assert seen.sections == 5 + 3 + 1
    told = json.loads((tmp_path / "report.json").read_text())
    assert [each["columns"] for each in told["margins"]] == [list(margin.columns) for margin in made.margins]
    for each, margin in zip(told["margins"], made.margins, strict=True):
        assert each["noisy"] == margin.counts.tolist()
        assert sum(each["synthetic"]) == pytest.approx(made.measured.total, rel=1e-3)
    assert told["model_only"]["pairs"] == [list(pair) for pair in Report(made).missing]
    again = write_public_report(made, tmp_path / "again.html").read_text()
    assert again == page, "a function of what was released and of the rows"


def test_hostile_names_are_escaped(rows: np.ndarray, tmp_path: Path) -> None:
    measured = released(rows, epsilon=2, delta=0)
    axis = measured.design.axes[0]
    hostile = replace(axis, column=replace(axis.column, name="<script>alert(1)</script>"))
    design = replace(measured.design, axes=(hostile, *measured.design.axes[1:]))
    page = write_public_report(table_of(replace(measured, design=design)), tmp_path / "report.html").read_text()
    assert "<script" not in page


def test_the_report_needs_the_name_of_a_page(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"ends in \.html"):
        check_public_report(tmp_path / "report.csv")


def test_an_analysis_is_checked_from_the_receipt(rows: np.ndarray, tmp_path: Path) -> None:
    made = table_of(released(rows, epsilon=2, delta=0))
    place = tmp_path / "rows.csv.receipt.json"
    place.write_text(json.dumps(made.to_dict()))
    for given in (tmp_path / "rows.csv", place):
        assert support_in(given, ["x", "z"]).to_dict() == made.support(["x", "z"]).to_dict()
    with pytest.raises(InvalidInput, match="cannot read"):
        support_in(tmp_path / "other.csv", ["x"])
    place.write_text("{}")
    with pytest.raises(InvalidInput, match="is not a receipt"):
        support_in(place, ["x"])
