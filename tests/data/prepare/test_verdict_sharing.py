"""Units that tables have in common, told to the data owner: as many as there are, and an alarm where keys never meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stored import catalog, number, table, write_csv
from tacit.data.prepare import prepare
from tacit.data.prepare.verdict import NotAccepted, Prepared, Sharing
from tacit.privacy.catalog import Column, Owner

COST = number("cost", 0, 9)
REFERS = Owner("patient", ("patients", "id"))


def prepared(folder: Path, visits: list[Any], patients: list[Any], unit: Owner = REFERS, accept: bool = True) -> Prepared:
    """Visits of the patients that are listed, by their keys; a cost of 99 drops a row."""
    cost = number("cost", 0, 9, outside="drop")
    seen = write_csv(
        folder / "visits.csv", [unit.column, "cost"], [each if isinstance(each, list) else [each, 1] for each in visits]
    )
    known = write_csv(folder / "patients.csv", ["id", "cost"], [[each, 1] for each in patients])
    tables = table("visits", seen, cost, unit=unit, max_rows=2), table("patients", known, Column("id", "key"), COST)
    return prepare(catalog(folder, *tables), accept=accept)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 6), max_size=8), st.lists(st.integers(0, 6), max_size=8))
def test_what_is_told_is_what_the_sources_have(tmp_path: Path, visits: list[int], patients: list[int]) -> None:
    (found,) = prepared(tmp_path, visits, patients).sharing
    assert (found.tables, found.units) == (("visits", "patients"), (len(set(visits)), len(set(patients))))
    assert found.shared == len(set(visits) & set(patients))


def test_units_without_a_row_that_is_kept_are_not_counted(tmp_path: Path) -> None:
    (found,) = prepared(tmp_path, [[1, 5], [2, 99], [None, 3], [3, 4]], [1, 2, 9]).sharing
    assert (found.units, found.shared) == ((2, 3), 1)
    assert found.words == "visits and patients share 1 unit: visits has 2, patients has 3"


def test_keys_that_never_meet_are_an_alarm_and_leave_the_old_store(tmp_path: Path) -> None:
    """A typo in a key, such as P-7 beside P7, makes two units of every person."""
    whole = prepared(tmp_path, ["P1", "P2"], ["P1", "P3"], accept=False)
    with pytest.raises(NotAccepted) as caught:
        prepared(tmp_path, ["P-1", "P-2"], ["P1", "P3"], accept=False)
    assert caught.value.prepared.alarms == (
        "visits and patients have no unit in common, though visits refers to patients: are the keys written in one way?",
    )
    assert whole.alarms == ()


def test_the_same_key_without_a_reference_is_an_alarm_too(tmp_path: Path) -> None:
    found = prepared(tmp_path, ["a"], ["b"], Owner("id")).alarms
    assert found == ("visits and patients have no unit in common, though both have the key id: are the keys written in one way?",)
    assert prepared(tmp_path, ["a"], ["b"], Owner("other")).alarms == ()


def test_a_table_without_units_is_no_alarm() -> None:
    assert Sharing(("visits", "patients"), (0, 9), 0, "visits refers to patients").alarm is None
    assert Sharing(("visits", "patients"), (4, 9), 0, "visits refers to patients").alarm is not None


def test_references_through_another_table_count(tmp_path: Path) -> None:
    """The units of lines are patients, looked up in visits: a line leads to nobody where its visit is not there."""
    lines = write_csv(tmp_path / "lines.csv", ["visit", "cost"], [[10, 1], [11, 1], [99, 1]])
    visits = write_csv(tmp_path / "visits.csv", ["visit", "patient"], [[10, 1], [11, 2], [12, 3]])
    patients = write_csv(tmp_path / "patients.csv", ["id"], [[1], [5]])
    declared = catalog(
        tmp_path,
        table("lines", lines, COST, unit=Owner("visit", ("visits", "visit")), max_rows=2),
        table("visits", visits, Column("visit", "key"), unit=REFERS, max_rows=2),
        table("patients", patients, Column("id", "key")),
    )
    found = {each.tables: (each.units, each.shared, each.because) for each in prepare(declared).sharing}
    assert found == {
        ("lines", "visits"): ((2, 3), 2, "lines refers to visits"),
        ("lines", "patients"): ((2, 2), 1, "lines refers to patients"),
        ("visits", "patients"): ((3, 2), 1, "visits refers to patients"),
    }
