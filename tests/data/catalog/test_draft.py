"""A drafted catalog is valid, private, and says exactly what is left to fill in."""

import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.catalog import parse_catalog
from tacit.data.catalog.draft import draft
from tacit.data.files.columns import Field, Found
from tacit.errors import InvalidCatalog

TYPES = ["BIGINT", "HUGEINT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(38,30)", "DECIMAL(5,0)", "BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR"]
TYPES += ["UUID", "BLOB", "VARCHAR[]", "STRUCT(a INTEGER)", "ENUM('secret', 'values')", "TIME", None]
FIELDS = st.builds(
    Field, st.text(max_size=4) | st.sampled_from(["id", "ID", "patient_id", "a b", "tacit_x"]), st.sampled_from(TYPES)
)
FOUND = st.builds(
    Found,
    st.sampled_from(["visits", "Patients", "tacit_store", "", "x.y", "a\nb"]),
    st.sampled_from(["data/x.csv", 'odd "name".csv', {"duckdb": "h.duckdb", "table": "visits"}]),
    st.lists(FIELDS, max_size=5).map(tuple),
)

HOSPITAL = [
    Found("patients", "patients.parquet", (Field("id", "BIGINT"), Field("Age", "INTEGER"), Field("bmi", "DOUBLE"))),
    Found("visits", "visits.csv.gz", (Field("patient_id"), Field("cost"), Field("hours-per-week"))),
]


def left(text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(InvalidCatalog) as caught:
        parse_catalog(text)
    assert all(problem.what == "is not filled in yet" for problem in caught.value.problems)
    return [(problem.line, problem.key) for problem in caught.value.problems]


def marked(document: dict, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, value in document.items():
        found += marked(value, (*path, name)) if isinstance(value, dict) else [(*path, name)] * (value == "?")
    return found


def test_what_is_left_is_every_mark_and_nothing_else():
    text = draft(HOSPITAL)
    assert [key for _, key in left(text)] == [
        "budget.epsilon",
        "tables.patients.unit",
        "tables.patients.rows_at_most",
        "tables.patients.columns.id",
        "tables.patients.columns.Age.bounds",
        "tables.patients.columns.bmi.bounds",
        "tables.patients.columns.bmi.step",
        "tables.visits.unit",
        "tables.visits.rows_at_most",
        "tables.visits.columns.patient_id",
        "tables.visits.columns.cost",
        "tables.visits.columns.hours-per-week",
    ]
    lines = text.splitlines()
    assert all('= "?"' in lines[line - 1] for line, _ in left(text))


@settings(max_examples=150, deadline=None)
@given(st.lists(FOUND, min_size=1, max_size=3))
def test_any_draft_is_valid_and_says_what_is_left(found):
    text = draft(found)
    assert len(left(text)) == len(marked(tomllib.loads(text)))
    assert len(tomllib.loads(text)["tables"]) == len(found)


@settings(max_examples=50, deadline=None)
@given(st.lists(FOUND, min_size=1, max_size=3))
def test_every_table_is_private_and_nothing_is_guessed(found):
    for table in tomllib.loads(draft(found))["tables"].values():
        assert table["unit"] == "?"
        assert not table.keys() & {"public", "max_rows"}
        for column in table.get("columns", {}).values():
            assert column == "?" or column.get("bounds", "?") == "?"
            assert column == "?" or column.get("values", [False, True]) == [False, True]


def test_the_values_of_an_enum_do_not_get_into_the_draft():
    assert "secret" not in draft([Found("t", "t.parquet", (Field("kind", "ENUM('secret', 'values')"),))])


def test_a_type_says_what_to_declare():
    columns = tomllib.loads(draft([Found("t", "t.parquet", tuple(Field(f"c{n}", kind) for n, kind in enumerate(TYPES)))]))[
        "tables"
    ]["t"]
    assert columns["columns"] == {
        "c0": {"bounds": "?"},
        "c1": {"bounds": "?"},
        "c2": {"bounds": "?", "step": "?"},
        "c3": {"bounds": "?", "step": 0.01},
        "c4": {"bounds": "?", "step": "?"},
        "c5": {"bounds": "?"},
        "c6": {"values": [False, True]},
        "c7": {"type": "date", "bounds": "?"},
        "c8": {"type": "date", "bounds": "?"},
        **{f"c{n}": "?" for n in (9, 10, 11, 14, 15, 16)},
    }


def test_names_that_cannot_be_declared_are_told_in_comments():
    fields = (Field("a"), Field("A"), Field(""), Field("x\ny"), Field("tacit_unit"), Field("tags", "VARCHAR[]"))
    comments = re.findall(r"^# (.* cannot be .*)$", draft([Found("t", "t.csv", fields)]), re.MULTILINE)
    assert comments == [
        "A cannot be declared: another column has the same name, and names match without case",
        '"" cannot be declared: it has no name',
        r'"x\ny" cannot be declared: its name has control characters or marks of writing direction',
        "tacit_unit cannot be declared: names that begin with tacit_ are tacit's own",
        "tags cannot be asked about: it is of the type varchar[]",
    ]


def test_the_likely_owner_is_named_in_a_comment_and_works_when_taken():
    text = draft(HOSPITAL)
    assert 'or { column = "patient_id", references = "patients.id" }' in text
    text = re.sub(r'(\[tables\.patients\]\n.*\n)unit = "\?"', r'\1unit = "row"', text)
    text = re.sub(r'unit = "\?"', 'unit = { column = "patient_id", references = "patients.id" }\nmax_rows = 8', text)
    for mark, meaning in {
        'epsilon = "?"': "epsilon = 1",
        'id = "?"  #': "id = { key = true }  #",
        'bounds = "?"': "bounds = [0, 100]",
        'step = "?"': "step = 0.1",
        'rows_at_most = "?"': "rows_at_most = 1000",
        '= "?"': "= {}",
    }.items():
        text = text.replace(mark, meaning)
    catalog = parse_catalog(text)
    assert catalog.tables["visits"].unit.references == ("patients", "id")
    assert catalog.tables["visits"].max_rows == 8


def test_tables_of_one_name_are_told_apart():
    assert list(tomllib.loads(draft([Found("t", "a/t.csv", ()), Found("T", "b/t.csv", ())]))["tables"]) == ["t", "t_2"]
