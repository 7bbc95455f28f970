"""What the data owner is told of a source that is not written as declared: alarms, larger limits, examples and likely causes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stored import catalog, category, days, number, stored, table, write_csv, write_parquet
from tacit.data.files import csv_rows
from tacit.data.prepare import prepare, staging
from tacit.data.prepare.verdict import ColumnReport, NotAccepted, alarms, likely_cause
from tacit.errors import StoreUnusable
from tacit.privacy.catalog import Notation, Owner

COST = number("cost", 0, 10**7)
DAY = days("day", "2020-01-01", "2024-12-31")
CAUSES = [
    (COST, "unreadable", "4812,35", 'decimal sign a comma? decimal = ","'),
    (COST, "unreadable", "4,812", 'thousands = ",", or decimal = ","'),
    (COST, "unreadable", "1,234,567", 'thousands = ","'),
    (COST, "unreadable", "1.234,56", 'decimal = ",", thousands = "."'),
    (COST, "unreadable", "1,234.56", 'thousands = ","'),
    (COST, "unreadable", "1.234.567", 'thousands = "."'),
    (COST, "unreadable", "12 000", 'thousands = " "'),
    (COST, "unreadable", "N", 'missing = ["N"]'),
    (COST, "unreadable", "12 kg", "a unit"),
    (COST, "unreadable", "5\ufffd", "encoding = "),
    (COST, "rounded", "962.692", 'thousands = "."'),
    (COST, "rounded", "36.6", "smaller step meant? step = 0.1"),
    (COST, "rounded", "36.05", "smaller step meant? step = 0.01"),
    (COST, "rounded", "3e-2", "smaller step meant?"),
    (DAY, "unreadable", "31.12.2023", 'format = "%d.%m.%Y"'),
    (DAY, "unreadable", "31/12/23", 'format = "%d/%m/%y"'),
    (DAY, "unreadable", "12/31/2023", 'format = "%m/%d/%Y"'),
    (DAY, "unreadable", "05/04/2023", 'format = "%d/%m/%Y", or format = "%m/%d/%Y"'),
    (DAY, "unreadable", "20231231", 'format = "%Y%m%d"'),
    (DAY, "unreadable", "soon", 'missing = ["soon"]'),
    (days("day", "2020-01-01", "2024-12-31", notation=Notation(format="%d.%m.%Y")), "unreadable", "00.00.0000", '["00.00.0000"]'),
    (category("sex", "F", "M"), "unknown", "f", 'declared as "F"; add it to values, and group by the LOWER of this column'),
    (category("sex", "F", "M"), "unknown", "X", 'missing = ["X"]'),
]


@pytest.mark.parametrize(("column", "fate", "value", "words"), CAUSES)
def test_the_likely_cause_is_named(column, fate, value, words):
    assert words in likely_cause(column, fate, value)


@given(st.sampled_from([COST, DAY, category("sex", "F", "M")]), st.sampled_from(["unreadable", "unknown", "rounded"]), st.text())
@settings(max_examples=200)
def test_every_value_has_some_cause(column, fate, value):
    assert likely_cause(column, fate, value)


def test_more_than_half_is_an_alarm_and_half_is_none():
    def of(**fates):
        return (ColumnReport("x", fates, as_text=True),)

    assert alarms(4, 4, of(missing=0, unreadable=2)) == ()
    assert alarms(4, 4, of(missing=0, unreadable=3)) == ("x: 3 of 4 values cannot be used as they are written",)
    assert alarms(4, 4, of(missing=1, unreadable=1, above=1)) != ()
    assert alarms(4, 4, of(missing=3, unknown=1)) != ()
    assert alarms(4, 4, of(missing=0, rounded=3)) != ()
    assert alarms(4, 4, (ColumnReport("x", {"rounded": 3}),)) == (), "numbers of a source with types are rounded on purpose"
    assert alarms(4, 0, of()) == ("no row is kept",)
    assert alarms(0, 0, of()) == ()


@pytest.mark.parametrize("max_rows", [1, 2, 3])
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=40))
@settings(max_examples=3, deadline=None)
def test_what_larger_limits_would_keep_is_what_they_keep(tmp_path_factory, max_rows, rows):
    folder = tmp_path_factory.mktemp("limits")
    file = write_csv(folder / "a.csv", ["who", "x"], rows)

    def prepared(limit):
        return prepare(catalog(folder, table("a", file, number("x", 0, 9), unit=Owner("who"), max_rows=limit))).tables[0]

    report = prepared(max_rows)
    assert bool(report.would_keep) == bool(report.dropped["limit"])
    for limit, count in report.would_keep.items():
        assert (limit in (2 * max_rows, 4 * max_rows), prepared(limit).copies) == (True, count)


def test_rows_beyond_the_limit_are_counted_and_not_stored(tmp_path):
    file = write_csv(tmp_path / "a.csv", ["who", "x"], [[1, x] for x in range(10)])
    prepared = catalog(tmp_path, table("a", file, number("x", 0, 9), unit=Owner("who"), max_rows=2))
    (report,) = prepare(prepared).tables
    assert (report.kept, report.would_keep) == (2, {4: 4, 8: 8})
    assert [rank for (rank,) in stored(prepared, "a", "tacit_rank")] == [0, 1]


def test_what_is_not_accepted_leaves_the_old_store(tmp_path):
    file = write_csv(tmp_path / "a.csv", ["x"], [[1], [2]])
    prepared = catalog(tmp_path, table("a", file, number("x", 0, 9)))
    prepare(prepared, accept=False)
    before = stored(prepared, "a")
    write_csv(file, ["x"], [["1,5"], ["2,5"], [3]])
    with pytest.raises(NotAccepted, match="the old store stays") as refused:
        prepare(prepared, accept=False)
    assert isinstance(refused.value, StoreUnusable)
    assert "1,5" not in str(refused.value), "what is raised says nothing of the data"
    assert refused.value.prepared.alarms == ("a: x: 2 of 3 values cannot be used as they are written",)
    assert stored(prepared, "a") == before


def test_an_example_is_looked_for_among_the_first_rows_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(staging, "MOST_LOOKED_AT", 5)
    for first, examples in ((4, {"unreadable": "N"}), (5, {})):
        file = write_csv(tmp_path / "a.csv", ["x"], [[1]] * first + [["N"]] + [[2]] * 9)
        (report,) = prepare(catalog(tmp_path, table("a", file, number("x", 0, 9)))).tables
        assert (report.columns[0].fates["unreadable"], report.columns[0].examples) == (1, examples)


def test_a_parquet_file_that_needs_mending_has_examples_too(tmp_path):
    import pyarrow as pa

    broken = pa.array([b"\xff", b"N", b"F"], pa.binary()).cast(pa.large_binary()).view(pa.large_string())
    file = write_parquet(tmp_path / "a.parquet", {"sex": broken, "x": ["1", "2", "N"]})
    columns = (category("sex", "F"), number("x", 0, 9))
    (report,) = prepare(catalog(tmp_path, table("a", file, *columns))).tables
    sex, x = report.columns
    assert (sex.examples["unknown"] in ("\ufffd", "N"), x.examples) == (True, {"unreadable": "N"})


def test_places_in_a_wide_header_are_found_in_one_walk(monkeypatch):
    """Asking for the place of each name in turn takes the square of their number: 100,000 columns took minutes."""

    class Names(tuple):
        def index(self, *_):
            raise AssertionError("a walk for each name")

    header = csv_rows.Header(Names(("a", "b", "", "a")), ",")
    assert header.places == {"a": 0, "b": 1}
    assert [*csv_rows.Header(tuple(f"c{place}" for place in range(100_000)), ",").places.values()] == [*range(100_000)]


def test_a_file_of_very_many_columns_is_prepared(tmp_path):
    names = [f"c{place}" for place in range(20_000)]
    file = write_csv(tmp_path / "wide.csv", names, [[(place + row) % 10 for place in range(20_000)] for row in range(3)])
    prepared = catalog(tmp_path, table("wide", file, number("c7", 0, 9), number("c19999", 0, 9, notation=Notation(","))))
    prepare(prepared)
    assert stored(prepared, "wide", "c7", "c19999") == [(7, 9), (8, 0), (9, 1)]
