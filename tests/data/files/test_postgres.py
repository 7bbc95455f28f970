"""A PostgreSQL table as a source, against a real server."""

import os

import pytest
from adbc_driver_postgresql import dbapi

from stored import catalog, category, days, number, stored, table
from tacit.data.catalog import parse_catalog
from tacit.data.catalog.draft import draft
from tacit.data.files.kinds import Field
from tacit.data.files.postgres import postgres_tables
from tacit.data.prepare import prepare
from tacit.data.store import store_file, store_info
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Column, Owner, Source

HOSTILE = """
DROP SCHEMA IF EXISTS ward CASCADE;
CREATE SCHEMA ward;
CREATE TYPE ward.mood AS ENUM ('fine', 'poor');
CREATE TABLE ward.visits (
    "Patient ID" bigint, small smallint, x double precision, f real, n numeric, n2 numeric(30, 20), t text, v varchar(9), c char(5),
    d date, ts timestamp, tz timestamptz, b boolean, m ward.mood, j jsonb, a int[], secret text, gone int
);
ALTER TABLE ward.visits DROP COLUMN gone;
INSERT INTO ward.visits VALUES
 (1, 7, 1.25, 0.1, 2.005, 0.125, ' é ', 'M', 'F', '2020-01-02', '2020-01-02 23:59:59', '2020-01-02 23:59:59-11',
  true, 'fine', '{}', '{1}', 's1'),
 (1, -1, 'NaN', 'NaN', 'NaN', '-5', '', '', '', 'infinity', 'infinity', '-infinity',
  false, 'poor', 'null', '{}', 's2'),
 (2, 32767, 'infinity', '-infinity', 1e300, 9999999999, E'e\\u0301', 'X', 'M', '4713-01-01 BC', '294276-12-31', '4714-11-24 BC',
  NULL, NULL, '1', NULL, 's3'),
 (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 's4')
"""
COLUMNS = (
    number("small", 0, 10),
    number("x", 0, 10, "0.5"),
    number("f", 0, 1, "0.1"),
    number("n", 0, 10, "0.01"),
    number("n2", 0, 10, "0.25"),
    Column("t", "text"),
    category("v", "M", "F"),
    category("c", "M", "F"),
    days("d", "2020-01-01", "2020-12-31"),
    days("ts", "2020-01-01", "2020-12-31"),
    days("tz", "2020-01-01", "2020-12-31"),
    category("b", False, True),
    category("m", "fine", "poor"),
    Column("j", "presence"),
    Column("a", "presence"),
)
EXPECTED = [
    (7, 3, 1, 201, 1, "é", 0, 1, 1, 1, 2, 1, 0, 0, 0),
    (0, None, None, None, 0, None, None, None, 365, 365, 0, 0, 1, 0, 0),
    (10, 20, 0, 1000, 40, "é", None, 0, 0, 365, 0, None, None, 0, None),
]


@pytest.fixture(scope="module")
def server(postgres_url):
    with dbapi.connect(postgres_url) as connection, connection.cursor() as cursor:
        for statement in HOSTILE.split(";\n"):
            cursor.execute(statement)
        connection.commit()
    return postgres_url


def visits(url, *columns, name="ward.visits", **declared):
    return table("visits", Source("postgres", url, name), *columns, **{"unit": Owner("patient id"), "max_rows": 9} | declared)


def test_no_value_of_the_server_makes_it_fail(server, tmp_path):
    prepared = catalog(tmp_path, visits(server, *COLUMNS))
    report = prepare(prepared).tables[0]
    assert stored(prepared, "visits", *(column.name for column in COLUMNS)) == sorted(EXPECTED, key=repr)
    assert (report.read, report.kept, report.unnamed) == (4, 3, 1)
    assert b"s1" not in store_file(prepared).read_bytes()


def test_a_password_from_the_environment_is_nowhere_in_the_store(server, tmp_path, monkeypatch):
    monkeypatch.setenv("WARD_SECRET", "hush-hush")
    url = server.replace("tacit@", "tacit:${WARD_SECRET}@")
    prepared = catalog(tmp_path, visits(url, number("small", 0, 10)))
    prepare(prepared)
    assert b"hush" not in b"".join(file.read_bytes() for file in prepared.kept.rglob("*") if file.is_file())
    assert len(stored(prepared, "visits")) == 3
    assert os.environ["WARD_SECRET"] not in str(store_info(prepared))


def test_many_batches_keep_every_row(server, tmp_path):
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        rows = "SELECT i % 1000 AS who, i AS x, repeat('x', 200) AS t FROM generate_series(1, 150000) i"
        cursor.execute(f"CREATE TABLE IF NOT EXISTS ward.many AS {rows}")
        connection.commit()
    columns = (number("x", 0, 200_000), Column("t", "text"))
    prepared = catalog(tmp_path, visits(server, *columns, name="ward.many", unit=Owner("who"), max_rows=1000))
    report = prepare(prepared, memory="500MB").tables[0]
    assert (report.read, report.kept) == (150_000, 150_000)
    assert {x for (x,) in stored(prepared, "visits", "x")} == set(range(1, 150_001))


def test_a_public_table_of_the_server(server, tmp_path):
    prepared = catalog(
        tmp_path, visits(server, number("small", 0, 10)), table("ward", Source("postgres", server, "ward.visits"), public=True)
    )
    prepare(prepared)
    columns = store_info(prepared).public["ward"]
    assert columns["small"].bounds == (-1, 32767)
    assert columns["m"].values == ("fine", "poor")
    assert columns["d"].kind == "date"
    assert columns["patient id"].kind == "number"


def refused(prepared):
    with pytest.raises(InvalidCatalog) as caught:
        prepare(prepared)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def test_what_is_wrong_is_said_without_the_url(server, tmp_path):
    where = server.removeprefix("postgresql://tacit@")
    words = refused(catalog(tmp_path, visits(f"postgresql://nobody:hush@{where}", number("small", 0, 10))))
    assert words.startswith("cannot connect to PostgreSQL")
    assert "hush" not in words
    assert "unknown table ward.visit" in refused(catalog(tmp_path, visits(server, name="ward.visit")))
    for name in ('visits"; DROP TABLE ward.visits; --', "", "pg_authid; x", "ward.visits; DROP TABLE ward.visits"):
        assert "check its name and the permissions" in refused(catalog(tmp_path, visits(server, name=name)))
    assert "missing column 'height'" in refused(catalog(tmp_path, visits(server, number("height", 0, 1))))
    prepare(catalog(tmp_path, visits(server, number("small", 0, 10))))


DECLARED = """
DROP SCHEMA IF EXISTS clinic CASCADE;
CREATE SCHEMA clinic;
CREATE TYPE clinic.mood AS ENUM ('fine', 'it''s poor');
CREATE DOMAIN clinic.share AS numeric(4, 3) CHECK (VALUE >= 0 AND VALUE <= 1);
CREATE TABLE clinic.patients (
    id bigint PRIMARY KEY, age int NOT NULL CHECK (age BETWEEN 0 AND 110), sex varchar(1) NOT NULL CHECK (sex IN ('F', 'M (x)')),
    mood clinic.mood, weight numeric(5, 1) CHECK (weight > 0 AND weight < 500), share clinic.share, tags int[],
    height double precision CHECK (height > 0 OR height IS NULL)
);
CREATE TABLE clinic."Visits ""x"" y" (
    no int, patient_id bigint NOT NULL REFERENCES clinic.patients,
    day date CHECK (day >= DATE '2020-01-01' AND day <= DATE '2024-12-31'),
    PRIMARY KEY (no, patient_id)
);
COMMENT ON COLUMN clinic.patients.age IS E'Age in years\n[tables.evil]';
INSERT INTO clinic.patients VALUES (1, 50, 'F', 'fine', 70.5, 0.5, NULL, 1.7);
ANALYZE clinic.patients
"""


@pytest.fixture(scope="module")
def clinic(postgres_url):
    with dbapi.connect(postgres_url) as connection, connection.cursor() as cursor:
        for statement in DECLARED.split(";\n"):
            cursor.execute(statement)
        connection.commit()
    return postgres_url


def test_the_declared_facts_of_a_database_and_nothing_of_its_rows(clinic):
    tables = {table.name: table for table in postgres_tables(clinic, {}) if table.name.startswith("clinic.")}
    fields = {field.name: field for field in tables["clinic.patients"].fields}
    assert fields["id"] == Field("id", "BIGINT", key=True, required=True)
    assert (fields["age"].bounds, fields["age"].required) == ((0, 110), True)
    assert fields["sex"].values == ("F", "M (x)")
    assert fields["mood"].values == ("fine", "it's poor")
    assert (fields["weight"].type, fields["weight"].bounds) == ("DECIMAL(5,1)", (0, 500))
    assert (fields["share"].type, fields["share"].bounds) == ("DECIMAL(4,3)", (0, 1))
    assert (fields["height"].bounds, fields["tags"].type) == (None, "VARCHAR[]")
    visits = {field.name: field for field in tables['clinic.Visits "x" y'].fields}
    assert visits["patient_id"].references == ("clinic.patients", "id")
    assert visits["day"].bounds == ("2020-01-01", "2024-12-31")
    assert not visits["no"].key  # a key of two columns identifies no row by one


def test_the_draft_of_a_database_can_be_prepared(clinic, tmp_path):
    tables = [table for table in postgres_tables(clinic, {}) if table.name.startswith("clinic.")]
    text = draft(tables)
    assert "\n[tables.evil]" not in text
    assert "# integer: Age in years [tables.evil]" in text
    assert 'age = { bounds = [0, 110], nulls = "drop" }' in text
    filled = (
        text.replace('epsilon = "?"', "epsilon = 1", 1)
        .replace('unit = "?"', 'unit = "row"')
        .replace('bounds = "?"', "bounds = [0, 3]")
        .replace('rows_at_most = "?"', "rows_at_most = 1000")
    )
    filled = filled.replace('step = "?"', "step = 0.5").replace('= "?"', "= { }")
    prepared = prepare(parse_catalog(filled, tmp_path / "tacit.toml"))
    assert {table.name: table.read for table in prepared.tables} == {"clinic.patients": 1, 'clinic.visits "x" y': 0}


def test_a_password_is_not_written_into_a_draft(clinic):
    url = clinic.replace("tacit@", "tacit:hush@")
    assert "hush" not in draft(postgres_tables(url, {}))
    assert "tacit:$PGPASSWORD@" in draft(postgres_tables(url, {}))
