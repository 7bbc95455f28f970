"""Suggestions follow from names and declared types alone, and a catalog accepts every one of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data.catalog.columns import read_column
from tacit.data.catalog.suggest import (
    BY_NAME,
    COUNTRIES,
    CURRENCIES,
    STATES,
    by_name,
    own_key,
    references,
    suggest_column,
    suggest_unit,
)
from tacit.data.files.kinds import Field, Found

PATIENTS = Found("patients", "patients.csv", (Field("id"), Field("age")))
VISITS = Found("visits", "visits.csv", (Field("visit_id"), Field("patient_id"), Field("ward_id"), Field("cost")))


@pytest.mark.parametrize("declared", [declared for _, declared in BY_NAME if declared is not None])
def test_every_suggestion_is_accepted_once_it_is_complete(declared):
    filled = {key: {"bounds": [0, 1], "values": ["a"]}[key] if value == "?" else value for key, value in declared.items()}
    filled |= {"bounds": ["2020-01-01", "2021-01-01"]} if (declared.get("type"), declared.get("bounds")) == ("date", "?") else {}
    read_column("c", filled)


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("MONTH", {"bounds": [1, 12]}),
        ("AGE", {"bounds": [0, 120]}),
        ("AGEP", {"bounds": [0, 120]}),
        ("Alter", {"bounds": [0, 120]}),
        ("birthYear", {"bounds": [1900, 2100]}),
        ("SEX", {"values": ["F", "M"], "unknown": "other"}),
        ("hours-per-week", {"bounds": [0, 168]}),
        ("is_active", {"values": [False, True]}),
        ("salary", {"bounds": "?"}),
        ("Geburtsdatum", {"type": "date", "bounds": ["1900-01-01", "2099-12-31"]}),
        ("diagnosis", {"keys": "private"}),
        ("notes", {}),
    ],
)
def test_names_that_say_something(name, declared):
    assert by_name(name).declaration == declared


@pytest.mark.parametrize("name", ["first_name", "e-mail", "EMail", "phone", "Nachname", "ssn", "street"])
def test_names_that_identify_people_are_left_out(name):
    assert by_name(name).declaration is None


@pytest.mark.parametrize("name", ["x17", "package", "sextant", "image", "paid", "mage"])
def test_part_of_a_word_says_nothing(name):
    assert by_name(name) is None


def test_codes_are_those_of_the_standards():
    assert (len(COUNTRIES.split()), len(set(COUNTRIES.split()))) == (249, 249)
    assert (len(STATES.split()), len(set(STATES.split()))) == (51, 51)
    assert len(CURRENCIES.split()) == len(set(CURRENCIES.split())) > 150
    assert by_name("country").declaration["unknown"] == by_name("currency_code").declaration["unknown"] == "other"


def test_a_declared_type_wins_over_a_name():
    table = Found("t", "t.parquet", ())
    assert suggest_column(table, Field("sex", "BIGINT")).declaration == {"bounds": "?"}
    assert suggest_column(table, Field("age", "DOUBLE")).declaration == {"bounds": [0, 120]}
    assert suggest_column(table, Field("month", "DATE")).declaration == {"type": "date", "bounds": "?"}
    assert suggest_column(table, Field("tags", "VARCHAR[]")).declaration is None


def test_keys_and_references_are_suggested_by_names():
    assert (own_key(PATIENTS), own_key(VISITS)) == ("id", "visit_id")
    assert list(references(VISITS, [PATIENTS, VISITS])) == [("patient_id", "patients", "id")]
    assert suggest_unit(VISITS, [PATIENTS, VISITS]) == {"column": "patient_id", "references": "patients.id"}
    assert suggest_unit(VISITS, [VISITS]) == {"column": "patient_id"}
    assert suggest_unit(PATIENTS, [PATIENTS, VISITS]) == "row"
    assert suggest_unit(Found("t", "t.csv", (Field("x"),)), []) is None, "whose a row is follows from no name"
    unit = suggest_unit(VISITS, [PATIENTS, VISITS])
    assert suggest_column(VISITS, Field("patient_id"), unit).declaration == {}
    assert suggest_column(VISITS, Field("visit_id"), unit).declaration == {"key": True}
    assert suggest_column(VISITS, Field("ward_id"), unit).declaration is None


@given(st.text(max_size=20), st.sampled_from([None, "BIGINT", "DECIMAL(9,2)", "VARCHAR", "DATE", "BOOLEAN"]))
def test_any_name_gets_a_suggestion(name, kind):
    suggest_column(Found("t", "t.csv", (Field(name, kind),)), Field(name, kind))
