"""Impossible combinations: no synthetic row meets a declared condition, and no row of the data causes a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from reference import truth
from stored import category, number, table
from tacit.errors import NotAllowed, Refused, TooManyGroups, UnknownName
from tacit.privacy.catalog import Table
from tacit.publish.synthetic.rows import inference
from tacit.publish.synthetic.rows.cells import Axis
from tacit.publish.synthetic.rows.contingency import synthesize_contingency
from tacit.publish.synthetic.rows.never import conditions_of, possible_codes, rules_of, splits_of
from tacit.publish.synthetic.rows.population import Barrier, Population, Target
from tacit.publish.synthetic.rows.release import synthesize_independent, synthesize_table, synthesize_tree
from tacit.publish.synthetic.rows.rounds import Aim
from tacit.session import DataSet

COLUMNS = (
    number("age", 0, 99, bins=(0, 10, 40)),
    number("income", 0, 9000, bins=(0, 1000, 5000)),
    category("job", "none", "clerk", "cook"),
    number("begin", 1, 6, nulls="drop"),
    number("finish", 1, 6, nulls="drop"),
)
ATOMS = (
    "age < 15", "age BETWEEN 20 AND 33", "age IS NULL", "income IS NOT NULL", "income > 2500", "FLOOR(income / 100) = 7",
    "job = 'none'", "job IN ('cook', 'none')", "begin > finish", "begin + finish > 9", "(age > 70) IS TRUE",
)  # fmt: skip


def people(*conditions: str) -> Table:
    return replace(table("people", Path("people.csv"), *COLUMNS), never=conditions)


def axes_of(declared: Table) -> tuple[Axis, ...]:
    return tuple(Axis.of(column, splits_of(declared, column)) for column in declared.columns.values())


def met(declared: Table, axes: tuple[Axis, ...], codes: Any) -> int:
    """How many rows meet a condition, with a random value of each cell, by the meaning of plans in plain Python."""
    generator, many = np.random.default_rng(3), 0
    for row in zip(*(each.tolist() for each in codes), strict=True):
        stored: dict[str, Any] = {}
        for axis, cell in zip(axes, row, strict=True):
            known = cell < len(axis.begins)
            stored[f"0.{axis.name}"] = axis.begins[cell] + int(generator.integers(axis.widths[cell])) if known else None
        many += any(truth(each.condition, stored) is True for each in conditions_of(declared))
    return many


def conditions() -> st.SearchStrategy[str]:
    atoms = st.sampled_from(ATOMS)
    joined = st.tuples(atoms, st.sampled_from(["AND", "OR", "AND NOT"]), atoms).map(lambda parts: f"({' '.join(parts)})")
    return st.one_of(atoms, joined, st.tuples(joined, atoms).map(lambda parts: f"{parts[0]} AND NOT ({parts[1]})"))


@settings(max_examples=15, deadline=None)
@given(st.lists(conditions(), min_size=1, max_size=3))
def test_no_row_meets_a_condition_whatever_the_cells_were(texts: list[str]) -> None:
    """Random cells, which follow no model; what is refused, since no row is possible or too many tied values, is no row either."""
    declared = people(*texts)
    axes = axes_of(declared)
    generator = np.random.default_rng(1)
    codes = [generator.integers(0, axis.size, 60) for axis in axes]
    try:
        kept = possible_codes(rules_of(declared, axes), codes, [generator.integers(-3, 9, axis.size) for axis in axes])
    except (NotAllowed, TooManyGroups):
        return
    assert met(declared, axes, kept) == 0


def test_cells_that_are_not_split_are_seen() -> None:
    """Planted: the declared bins alone, one of which has people of 10 to 39 and is judged by its begin."""
    declared = people("age > 15 AND income IS NOT NULL")
    axes = tuple(Axis.of(column) for column in declared.columns.values())
    codes = [np.full(400, cell) for cell in (1, 0, 0, 0, 0)]
    assert met(declared, axes, possible_codes(rules_of(declared, axes), codes, [np.ones(axis.size) for axis in axes])) > 0


def test_as_few_columns_as_can_be_are_moved() -> None:
    declared = people("age < 15 AND income IS NOT NULL AND job = 'cook'")
    axes = axes_of(declared)
    young, cook = 0, 2
    codes = [np.full(300, each) for each in (young, 1, cook, 3, 4)]
    kept = possible_codes(rules_of(declared, axes), codes, [np.ones(axis.size) for axis in axes])
    changed = sum((one != other).astype(int) for one, other in zip(codes, kept, strict=True))
    assert (changed == 1).all()
    assert all((one == other).all() for one, other in zip(codes[3:], kept[3:], strict=True)), "other columns stay"


def test_rows_settle_without_entering_impossible_cells() -> None:
    """Two columns that are each other's opposite: no single value can change alone, and yet the shares are reached."""
    made = Population([np.array([0.9, 0.1]), np.array([0.1, 0.9])], 4000, seed=2)
    made.keep_out([Barrier((0, 1), np.array([False, True, True, False]))], [np.array([0.9, 0.1]), np.array([0.1, 0.9])])
    made.targets += [Target((0,), np.array([0.6, 0.4]), 1e-3), Target((1,), np.array([0.4, 0.6]), 1e-3)]
    made.settle(30)
    assert np.abs(made.histogram((0, 1)) - np.array([0, 0.6, 0.4, 0])).max() < 0.02
    assert (made.rows[:, 0] != made.rows[:, 1]).all()


# --- from the catalog to the rows --------------------------------------------------------------------------------------------

CATALOG = """
[budget]
epsilon = 1000
delta = 1e-5
[tables.people]
source = "people.csv"
unit = "row"
never = ["age < 15 AND income IS NOT NULL", "job = 'none' AND income > 2500"]
[tables.people.columns]
age = { bounds = [0, 99], bins = [10, 40], nulls = "drop" }
income = { bounds = [0, 9000], bins = [1000, 5000] }
job = { values = ["none", "clerk", "cook"], nulls = "drop", unknown = "drop" }
"""


def opened(folder: Path, rows: list[str]) -> DataSet:
    folder.mkdir()
    (folder / "people.csv").write_text("\n".join(["age,income,job", *rows, ""]))
    (folder / "tacit.toml").write_text(CATALOG)
    data = tacit.open(folder / "tacit.toml")
    data.prepare(new_ledger=True, reason="a test")
    return data


@pytest.fixture(scope="module")
def violating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataSet]:
    """A table of which most rows meet a condition."""
    rows = [f"{at % 20},{at * 37 % 9000},{('none', 'clerk', 'cook')[at % 3]}" for at in range(400)]
    with opened(tmp_path_factory.mktemp("violating") / "people", rows) as data:
        yield data


@pytest.mark.parametrize("make", [synthesize_table, synthesize_tree, synthesize_independent, synthesize_contingency])
def test_no_method_makes_an_impossible_row(violating: DataSet, make: Any) -> None:
    more = {"columns": ["age", "income", "job"]} if make is synthesize_contingency else {}
    made = make(violating, "people", epsilon=2, rows=500, **more).to_arrow().to_pylist()
    assert not [row for row in made if row["age"] < 15 and row["income"] is not None]
    assert not [row for row in made if row["job"] == "none" and (row["income"] or 0) > 2500]
    assert len({row["job"] for row in made}) == 3, "and what is possible is there"


def test_rows_that_meet_a_condition_cause_nothing_that_can_be_seen(violating: DataSet, tmp_path: Path) -> None:
    """The same request on an empty table: the same price, events, columns and notes."""
    with opened(tmp_path / "empty", []) as empty:
        told = [synthesize_table(data, "people", epsilon=3, rows=50, aim=Aim(steps=2)).to_dict() for data in (violating, empty)]
    seen = [{key: each[key] for key in ("rows", "columns", "left_out", "price", "events", "notes")} for each in told]
    assert seen[0] == seen[1]


def test_a_condition_of_a_column_that_is_left_out_is_said_not_to_apply(violating: DataSet) -> None:
    made = synthesize_table(violating, "people", epsilon=1, columns=["age", "job"], rows=40)
    assert sum("is not applied" in note for note in made.notes) == 2


def test_what_is_not_valid_is_refused_with_its_text() -> None:
    wrong = {
        "age <": Refused,
        "height > 3": UnknownName,
        "COUNT(*) > 3": NotAllowed,
        "1 = 1": Refused,
        "job = 'driver'": Refused,
    }
    for text, kind in wrong.items():
        with pytest.raises(kind, match="never"):
            conditions_of(people(text))
    declared = people("age >= 0 OR age IS NULL")
    with pytest.raises(NotAllowed, match="no row is possible"):
        rules_of(declared, axes_of(declared))


def test_numbers_of_many_values_are_compared_with_constants() -> None:
    wide = replace(table("t", Path("t.csv"), number("a", 0, 10**9, bins=(0, 5)), number("b", 0, 10**9, bins=(0, 5))))
    plain = replace(wide, never=("a < 77 AND b >= 5000",))
    assert 77 in splits_of(plain, plain.columns["a"])
    for text in ("a > b", "FLOOR(a / 7) = 3"):
        with pytest.raises(TooManyGroups, match="many values"):
            conditions_of(replace(wide, never=(text,)))


def test_the_end_is_where_all_rows_pass(violating: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the last step is left out, and rows along a tree meet conditions."""
    monkeypatch.setattr(inference, "possible_codes", lambda rules, codes, shares: tuple(codes))
    made = synthesize_tree(violating, "people", epsilon=2, rows=501).to_arrow().to_pylist()
    assert [row for row in made if row["age"] < 15 and row["income"] is not None]


def test_check_reports_a_condition_that_is_not_valid(tmp_path: Path) -> None:
    from tacit.data.catalog import parse_catalog
    from tacit.doors.cli.check_report import described

    (tmp_path / "people.csv").write_text("age,income,job\n")
    sound = described(parse_catalog(CATALOG, tmp_path / "tacit.toml"))
    wrong = described(parse_catalog(CATALOG.replace("job = 'none'", "jobs = 'none'"), tmp_path / "tacit.toml"))
    assert sound["sound"]
    assert sound["tables"][0]["never"][1] == "job = 'none' AND income > 2500"
    assert [problem for problem in wrong["problems"] if "jobs" in problem]
