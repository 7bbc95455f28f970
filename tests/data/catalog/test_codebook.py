"""Data dictionaries: declared ranges and lists are taken, observed numbers are not, and no XML entity is expanded."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from sources import ROOT
from tacit.data.catalog.codebook import Entry, declaration_of, read_codebook
from tacit.errors import InvalidInput

ACS = ROOT.parent / "shared" / "data" / "acs-ma-2019" / "data_dictionary.json"
DDL = """
CREATE TYPE severity AS ENUM ('low', 'high');
CREATE TABLE patients (
  id bigint PRIMARY KEY,
  age int NOT NULL CHECK (age BETWEEN 0 AND 120),
  sex char(1) CHECK (sex IN ('F', 'M')),
  born date CHECK (born >= '1900-01-01' AND born <= '2030-12-31'),
  CHECK (age <> 7)
);
COMMENT ON COLUMN patients.age IS 'Age in years';
CREATE TABLE visits (
  id bigint, patient_id bigint NOT NULL REFERENCES patients (id), how severity, floor int CHECK (floor > -3 AND floor < 9),
  cost numeric(8,2) CHECK (cost >= 0 AND cost <= 5000), PRIMARY KEY (id)
);
"""
DDI = """<?xml version="1.0"?><codeBook xmlns="ddi:codebook:2_5"><dataDscr>
<var name="AGE"><labl>Age</labl><valrng><range min="0" max="99"/></valrng><sumStat type="max">97</sumStat></var>
<var name="SEX"><catgry><catValu>1</catValu><labl>Male</labl><catStat type="freq">17</catStat></catgry>
<catgry><catValu>2</catValu><labl>Female</labl></catgry><catgry missing="Y"><catValu>9</catValu><labl>None</labl></catgry></var>
<var name="PAY"><sumStat type="min">123</sumStat><sumStat type="max">98765</sumStat><varFormat type="numeric"/></var>
</dataDscr></codeBook>"""
TABLE_SCHEMA = {
    "fields": [
        {"name": "id", "type": "integer"},
        {"name": "age", "type": "integer", "title": "Age", "constraints": {"minimum": 0, "maximum": 120, "required": True}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}},
        {"name": "note", "type": "string"},
        {"name": "day", "type": "date", "format": "%d.%m.%Y", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
    ],
    "missingValues": ["", "-9"],
    "primaryKey": "id",
}


def read(folder: Path, name: str, text: str):
    (folder / name).write_text(text)
    return read_codebook(folder / name)


def declared(book, table=""):
    return {column: suggestion.declaration for (of, column), suggestion in book.columns.items() if of == table}


def test_sql_ddl(tmp_path):
    book = read(tmp_path, "schema.sql", DDL)
    assert declared(book, "patients") == {
        "id": {"key": True},
        "age": {"bounds": [0, 120], "nulls": "drop"},
        "sex": {"values": ["F", "M"]},
        "born": {"type": "date", "bounds": ["1900-01-01", "2030-12-31"]},
    }
    assert declared(book, "visits") == {
        "id": {"key": True},
        "patient_id": {"bounds": "?"},
        "how": {"values": ["low", "high"]},
        "floor": {"bounds": [-2, 8]},
        "cost": {"bounds": [0, 5000], "step": Decimal("0.01")},
    }
    assert book.references == {("visits", "patient_id"): ("patients", "id")}
    assert book.suggestion("Patients", "AGE").about == "Age in years"
    assert "patients: CHECK age <> 7: not understood" in book.not_understood


def test_ddi(tmp_path):
    book = read(tmp_path, "book.xml", DDI)
    assert declared(book) == {
        "age": {"bounds": [0, 99]},
        "sex": {"values": [1, 2], "labels": {"1": "Male", "2": "Female"}, "missing": ["9"]},
        "pay": {"bounds": "?"},
    }
    assert "PAY: no range and no list" in book.not_understood


def test_a_frictionless_table_schema(tmp_path):
    book = read(tmp_path, "schema.json", json.dumps(TABLE_SCHEMA))
    assert declared(book) == {
        "id": {"key": True},
        "age": {"bounds": [0, 120], "missing": ["-9"]},
        "sex": {"values": ["F", "M"], "missing": ["-9"]},
        "note": {"keys": "private"},
        "day": {"type": "date", "bounds": ["2020-01-01", "2020-12-31"], "format": "%d.%m.%Y", "missing": ["-9"]},
    }


def test_a_data_package_has_tables_and_references(tmp_path):
    key = {"fields": "pid", "reference": {"resource": "people", "fields": "id"}}
    visits = {"fields": [{"name": "pid", "type": "integer"}], "foreignKeys": [key]}
    package = {"resources": [{"name": "people", "schema": TABLE_SCHEMA}, {"name": "visits", "schema": visits}, {"name": "x"}]}
    book = read(tmp_path, "datapackage.json", json.dumps(package))
    assert book.suggestion("people", "age").declaration["bounds"] == [0, 120]
    assert book.suggestion("visits", "age") is None
    assert book.references == {("visits", "pid"): ("people", "id")}
    assert "x: no table schema" in book.not_understood


def test_a_csv_with_a_row_for_each_column(tmp_path):
    text = 'variable;label;type;min;max;values\nage;Age;integer;0;99;\nsex;Sex;;;;"1=male; 2=female"\npay;Pay;number;;;\n'
    book = read(tmp_path, "book.csv", text)
    assert declared(book) == {
        "age": {"bounds": [0, 99]},
        "sex": {"values": [1, 2], "labels": {"1": "male", "2": "female"}},
        "pay": {"bounds": "?"},
    }


def test_a_csv_with_a_row_for_each_code(tmp_path):
    book = read(tmp_path, "book.csv", "name,code,code_label\nsex,1,male\n,2,female\nward,n,north\nward,s,south\n")
    assert declared(book)["sex"]["labels"] == {"1": "male", "2": "female"}
    assert declared(book)["ward"]["values"] == ["n", "s"]


@pytest.mark.parametrize(
    "text",
    [
        "name,min,max,mean\npay,123,98765,2500\n",
        "name,min,max,freq\npay,123,98765,40\n",
        "name,observed_min,observed_max\npay,123,98765\n",
    ],
)
def test_observed_numbers_are_not_taken(tmp_path, text):
    """A minimum beside a mean is one person's value."""
    book = read(tmp_path, "book.csv", text)
    assert "98765" not in str(book.columns)
    assert book.not_understood


def test_observed_numbers_in_json_are_not_taken(tmp_path):
    book = read(tmp_path, "book.json", json.dumps({"pay": {"type": "number", "min": 123, "max": 98765, "mean": 2500}}))
    assert declared(book) == {"pay": {"bounds": "?"}}
    assert "stand beside mean" in book.not_understood[0]


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><codeBook><var name="A"><labl>&b;</labl></var></codeBook>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]><codeBook><var name="A"><labl>&f;</labl></var></codeBook>'
ELSEWHERE = '<!DOCTYPE x SYSTEM "http://example.org/x.dtd"><codeBook><var name="A"/></codeBook>'
DEEP = "<a>" * 300 + "</a>" * 300


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, ELSEWHERE, DEEP])
def test_xml_without_entities(tmp_path, text):
    with pytest.raises(InvalidInput, match="DOCTYPE, entities or too many levels"):
        read(tmp_path, "book.xml", text)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("book.json", "{", "not valid JSON"),
        ("book.json", "7", "no columns"),
        ("book.xml", "<a>", "not well-formed"),
        ("book.xml", "<a/>", "no variables"),
        ("book.sql", "SELECT 1", "no CREATE TABLE"),
        ("book.sql", "CREATE TABLE (", "not SQL"),
        ("book.csv", "", "is empty"),
        ("book.csv", "a,b\n1,2\n", "no column of names"),
        ("book.pdf", "x", "unsupported code book"),
    ],
)
def test_a_file_that_is_not_a_code_book(tmp_path, name, text, words):
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, name, text)


def test_a_declaration_that_a_catalog_refuses_is_listed():
    assert declaration_of(Entry("x", kind="integer", low=9, high=1)) == ({"bounds": "?"}, "its minimum is not below its maximum")
    assert declaration_of(Entry("y", codes=(("a", ""), (" a", ""))))[1].startswith("values has")


def test_the_dictionary_of_the_community_survey():
    if not ACS.exists():
        pytest.skip(f"{ACS} is missing")
    book = read_codebook(ACS)
    assert len(book.columns) == 23
    assert book.not_understood == ("INDP: no range and no list",)
    assert book.suggestion("ma2019", "POVPIP").declaration == {"bounds": [0, 501], "missing": ["N"]}
    assert book.suggestion("ma2019", "SEX").declaration == {"values": [1, 2], "labels": {"1": "Male", "2": "Female"}}
