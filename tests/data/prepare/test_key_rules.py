"""Spellings of keys: counted for the owner as written, and one key by declared, public rules on both sides of a reference."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet

from tacit.data.catalog import parse_catalog
from tacit.data.prepare import prepare
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import fingerprint

CATALOG = """\
[budget]
epsilon = 1
[tables.patients]
source = "patients.{form}"
unit = "row"
rows_at_most = 100
[tables.patients.columns]
id = {{ key = {key} }}
age = {{ bounds = [0, 110] }}
[tables.visits]
source = "visits.{form}"
unit = {{ column = "patient_id", references = "patients.id"{unit} }}
max_rows = 9
rows_at_most = 100
[tables.visits.columns]
cost = {{ bounds = [0, 9] }}
"""
PATIENTS = ["17", "00017", "Ana", "ANA", "\u00a0bob", "bob", "e\u0301", "\u00e9", "000", "0", "a0", "A00"]
VISITS = ["017", "ana", "BOB\u2003", "é", " bob", "00"]
ALL = 'trim = true, case = "lower", zeros = true'


def prepared(folder, form="csv", key="true", unit=""):
    columns = {
        "patients": {"id": PATIENTS, "age": [50] * len(PATIENTS)},
        "visits": {"patient_id": VISITS, "cost": [1] * len(VISITS)},
    }
    for name, each in columns.items():
        if form == "csv":
            rows = zip(*each.values(), strict=True)
            (folder / f"{name}.csv").write_text(",".join(each) + "\n" + "".join(f"{one},{two}\n" for one, two in rows))
        else:
            parquet.write_table(pa.table(each), folder / f"{name}.parquet")
    path = folder / "tacit.toml"
    path.write_text(CATALOG.format(form=form, key=key, unit=unit))
    return prepare(parse_catalog(path.read_text(), path))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_look_alikes_are_counted_for_the_owner(tmp_path, form):
    patients, visits = prepared(tmp_path, form).tables
    assert patients.alike == {"id": {"blanks": 1, "case": 1, "zeros before a number": 2}}
    assert visits.alike == {}
    assert patients.kept == 11  # the two Unicode forms of é are one key in any case


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_declared_rules_make_them_one_on_both_sides(tmp_path, form):
    result = prepared(tmp_path, form, key=f"{{ {ALL} }}", unit=f", {ALL}")
    patients, visits = result.tables
    assert (patients.alike, patients.kept) == ({}, 7)  # 17, ana, bob, é, 0, a0, a00
    assert visits.kept == 6
    assert result.sharing[0].shared == 5


@pytest.mark.parametrize(
    ("key", "unit"), [("true", ", trim = true"), ("{ trim = true }", ""), ('{ case = "lower" }', ", zeros = true")]
)
def test_other_rules_on_one_side_are_refused(tmp_path, key, unit):
    with pytest.raises(InvalidCatalog, match="by other rules"):
        prepared(tmp_path, key=key, unit=unit)


def test_rules_belong_to_what_was_prepared_and_old_stores_stay_valid():
    text = CATALOG.format(form="csv", key="true", unit="")
    ruled = CATALOG.format(form="csv", key="{ trim = true }", unit=", trim = true")
    none = CATALOG.format(form="csv", key="{ trim = false }", unit=", trim = false")
    assert fingerprint(parse_catalog(text)) == fingerprint(parse_catalog(none))
    assert fingerprint(parse_catalog(text)) != fingerprint(parse_catalog(ruled))
