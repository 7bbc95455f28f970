"""Folders and patterns of files as one table: the order, the names and links do not matter, and a file that differs is named."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet

from stored import catalog, number, stored, table
from tacit.data.catalog import parse_catalog
from tacit.data.files.columns import tables_at
from tacit.data.prepare import prepare
from tacit.data.store import open_store, store_file
from tacit.errors import InvalidCatalog, InvalidInput
from tacit.privacy.catalog import Owner, Source

PARTS = {"b.csv": [(1, 5), (1, 6)], "a.csv": [(1, 7), (2, 8)], "c.csv": [(1, 5)]}  # two files have the same row


def written(folder, parts=PARTS, form="csv"):
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in parts.items():
        if form == "csv":
            (folder / name).write_text("person,cost\n" + "".join(f"{person},{cost}\n" for person, cost in rows))
        else:
            columns = {"person": [person for person, _ in rows], "cost": [cost for _, cost in rows]}
            parquet.write_table(pa.table(columns), folder / name.replace("csv", "parquet"))
    return folder


def rows_of(tmp_path, kind, location, most=2):
    declared = catalog(
        tmp_path, table("visits", Source(kind, str(location)), number("cost", 0, 10), unit=Owner("person"), max_rows=most)
    )
    prepare(declared)
    return declared


def ranked(declared):
    with open_store(store_file(declared)) as engine:
        return sorted(engine.execute("SELECT tacit_rank, cost, count(*) FROM visits GROUP BY ALL").fetchall())


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_order_of_files_decides_nothing(tmp_path, form):
    """max_rows = 2 keeps the same rows of a person, whatever files they lie in and whatever these are called."""
    one = rows_of(tmp_path, form, written(tmp_path / "one", PARTS, form))
    renamed = {"z.csv": PARTS["a.csv"][::-1], "y.csv": PARTS["b.csv"][::-1], "sub.csv": PARTS["c.csv"]}
    before = ranked(one)
    assert ranked(rows_of(tmp_path, form, written(tmp_path / "two", renamed, form))) == before
    assert (
        ranked(
            rows_of(tmp_path, form, written(tmp_path / "all", {"x.csv": [row for rows in PARTS.values() for row in rows]}, form))
        )
        == before
    )


def test_two_files_with_the_same_row_have_it_twice(tmp_path):
    prepared = rows_of(tmp_path, "csv", written(tmp_path / "one"), most=9)
    assert stored(prepared, "visits", "cost") == [(5,), (5,), (6,), (7,), (8,)]


def test_a_link_to_a_file_of_the_folder_adds_no_rows(tmp_path):
    folder = written(tmp_path / "one")
    (folder / "again.csv").symlink_to(folder / "a.csv")
    (folder / "lost.csv").symlink_to(folder / "nothing.csv")
    assert len(stored(rows_of(tmp_path, "csv", folder, most=9), "visits", "cost")) == 5


def test_a_file_that_disappears_takes_its_rows_alone(tmp_path):
    folder = written(tmp_path / "one")
    assert len(stored(rows_of(tmp_path, "csv", folder, most=9), "visits", "cost")) == 5
    (folder / "a.csv").unlink()
    assert stored(rows_of(tmp_path, "csv", folder, most=9), "visits", "cost") == [(5,), (5,), (6,)]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_names_with_quotes_line_ends_and_signs_of_patterns_are_names(tmp_path, form):
    parts = {
        'it\'s "quoted".csv': [(1, 1)],
        "two\nlines.csv": [(2, 2)],
        "[x]*?.csv": [(3, 3)],
        ".hidden.csv": [(4, 4)],
        "UP.CSV": [(5, 5)],
    }
    folder = written(tmp_path / "o'ne", parts, "csv") if form == "csv" else written(tmp_path / "o'ne", parts, form)
    kept = stored(rows_of(tmp_path, form, folder), "visits", "cost")
    assert kept == [(1,), (2,), (3,), (5,)] if form == "csv" else kept[:3] == [(1,), (2,), (3,)]


def test_a_pattern_reads_what_matches(tmp_path):
    folder = written(tmp_path / "one")
    assert len(stored(rows_of(tmp_path, "csv", folder / "[ab].csv", most=9), "visits", "cost")) == 4


def test_a_file_that_differs_is_named(tmp_path):
    folder = written(tmp_path / "one")
    (folder / "b\n.csv").write_text("person,secret\n1,2\n")
    with pytest.raises(InvalidCatalog, match="different headers") as error:
        rows_of(tmp_path, "csv", folder)
    assert "secret" not in str(error.value)  # the first line of a file may be a row
    assert "\n" not in str(error.value)
    typed = written(tmp_path / "typed", PARTS, "parquet")
    parquet.write_table(pa.table({"person": [1], "price": [2]}), typed / "d.parquet")
    with pytest.raises(InvalidCatalog, match="it has price and lacks cost"):
        rows_of(tmp_path, "parquet", typed)


def test_init_takes_a_folder_or_a_pattern_as_one_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "visits")
    (found,) = tables_at("visits", str)
    assert (found.name, found.source, len(found.fields)) == ("visits", {"csv": "visits"}, 2)
    (found,) = tables_at("visits/*.csv", str)
    assert (found.name, found.source) == ("visits", "visits/*.csv")
    written(tmp_path / "visits", PARTS, "parquet")
    with pytest.raises(InvalidInput, match="has CSV and Parquet files"):
        tables_at("visits", str)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(InvalidInput, match="file not found"):
        tables_at("nothing", str)


def test_a_catalog_names_the_kind_of_a_folder(tmp_path):
    text = '[budget]\nepsilon = 1\n[tables.v]\nsource = { parquet = "visits" }\nunit = "row"'
    assert parse_catalog(text).tables["v"].source == Source("parquet", "visits", None, "visits")


def test_a_declared_separator_counts_and_not_the_one_that_parts_the_most(tmp_path):
    text = '[budget]\nepsilon = 1\n[tables.v]\nsource = "v.csv"\nseparator = "{}"\nunit = "row"\n[tables.v.columns]\n{} = {{ }}'
    (tmp_path / "v.csv").write_text("a;b,c,d\n1;2,3,4\n")
    for sign, column in ((";", '"b,c,d"'), (",", '"a;b"')):
        (tmp_path / "tacit.toml").write_text(text.format(sign, column))
        prepared = prepare(parse_catalog((tmp_path / "tacit.toml").read_text(), tmp_path / "tacit.toml"))
        assert prepared.tables[0].columns[0].fates == {"missing": 0}


def test_a_separator_is_for_csv_alone():
    with pytest.raises(InvalidCatalog, match="for CSV files only"):
        parse_catalog('[budget]\nepsilon = 1\n[tables.v]\nsource = "v.parquet"\nseparator = ";"\nunit = "row"')
