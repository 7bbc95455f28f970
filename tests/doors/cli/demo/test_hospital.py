"""The generated hospital: the same people every time, as the catalog declares them."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from tacit.data.catalog import read_catalog
from tacit.doors.cli.demo import hospital


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("hospital")
    hospital.build(here)
    return here


@pytest.fixture(scope="module")
def plain(folder):
    with hospital.plainly(folder) as engine:
        yield engine


def test_it_has_about_the_size_that_is_promised(plain):
    assert plain.rows("SELECT COUNT(*), COUNT(DISTINCT id) FROM patients") == [(50_000, 50_000)]
    ((visits, most),) = plain.rows("SELECT SUM(n), MAX(n) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY patient_id)")
    assert 395_000 < visits < 405_000
    assert most <= hospital.MOST_VISITS
    assert plain.rows("SELECT COUNT(*) FROM wards") == [(10,)]


def test_every_value_is_as_declared_so_that_error_bars_need_no_excuse(folder, plain):
    catalog = read_catalog(folder / "tacit.toml")
    for table in ("patients", "visits"):
        for name, column in catalog.tables[table].columns.items():
            if name in ("id", "badge"):
                continue
            seen = plain.rows(f"SELECT MIN({name}), MAX({name}), COUNT(*) - COUNT({name}), COUNT(DISTINCT {name}) FROM {table}")[0]
            assert seen[2] == 0
            if column.kind == "number":
                assert column.bounds[0] <= seen[0] < seen[1] <= column.bounds[1]
            if column.kind == "category":
                assert seen[3] == len(column.values)
    assert plain.rows("SELECT COUNT(*) FROM visits WHERE day NOT BETWEEN '2022-01-01' AND '2024-12-31'") == [(0,)]
    assert plain.rows("SELECT COUNT(*) FROM visits WHERE patient_id NOT IN (SELECT id FROM patients)") == [(0,)]


def test_those_who_work_there_are_ill_about_as_often_as_not(plain):
    ((staff, badges, chronic),) = plain.rows(
        "SELECT COUNT(*), COUNT(DISTINCT badge), SUM((diagnosis = 'chronic')::INT) FROM patients WHERE badge BETWEEN 1 AND 128"
    )
    assert (staff, badges) == (128, 128)
    assert 0.45 < chronic / staff < 0.55


def test_the_people_are_the_same_every_time(folder, tmp_path):
    hospital.build(tmp_path)
    for file in ("patients.parquet", "visits.parquet"):
        assert pq.read_table(tmp_path / file).equals(pq.read_table(folder / file))
    for file in ("wards.csv", "tacit.toml"):
        assert (tmp_path / file).read_text() == (folder / file).read_text()
