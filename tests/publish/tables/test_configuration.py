"""The TOML of an anonymization: what it declares, and every problem with its line and remedy."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tacit.errors import InvalidCatalog
from tacit.publish.tables.anonymized import anonymize
from tacit.publish.tables.configuration import parse_configuration, read_configuration, schema
from tacit.publish.tables.requirements import METHODS, UTILITIES, Requirements
from tacit.publish.tables.table import Table

WHOLE = """
k = 3
l = "distinct:2"
t = 0.5
alpha = 0.9
delta_disclosure = "3/2"
suppress = 0.02
suppressed = "drop"
several = "each"
utility = "entropy"
method = "local"
hierarchies = "trees"
drop_missing = ["?", "NA"]

[columns]
age = { role = "quasi", intervals = [5, 10], start = 1, weight = 2 }
born = { role = "quasi", dates = ["year"] }
zip = { role = "quasi", prefixes = [3, 1] }
sex = { role = "quasi", flat = true }
city = { role = "quasi", hierarchy = "cities.csv" }
job = { role = "quasi" }
ill = { role = "sensitive", protected = ["gout"] }
note = { role = "keep" }
name = { role = "drop" }
"""


def test_everything_that_may_be_declared():
    found = Requirements(**parse_configuration(WHOLE, folder=Path("here")))
    assert found.quasi == ("age", "born", "zip", "sex", "city", "job")
    assert (found.sensitive, found.keep) == (("ill",), ("note",))
    assert (found.k, found.l, found.t, found.alpha, found.delta) == (3, "distinct:2", "0.5", "0.9", "3/2")
    assert (found.suppress, found.suppressed, found.strict) == (Fraction(1, 50), "drop", False)
    assert (found.utility, found.method, found.drop_missing) == ("entropy", "local", ("?", "NA"))
    assert found.hierarchies == Path("here/trees")
    assert found.files == {"city": Path("here/cities.csv")}
    assert found.made == {
        "age": ("intervals", ([5, 10], 1)),
        "born": ("dates", ["year"]),
        "zip": ("prefixes", [3, 1]),
        "sex": ("flat", None),
    }
    assert (found.weights, found.protected) == ({"age": 2.0}, {"ill": ("gout",)})


def test_a_declared_table_is_made_anonymous():
    text = '[columns]\nage = { role = "quasi", intervals = [5, 10] }\nborn = { role = "quasi", dates = ["year"] }\n'
    text += 'zip = { role = "quasi", prefixes = [3] }\nsex = { role = "quasi", flat = true }\nill = { role = "sensitive" }\n'
    rows = {"age": [31, 33, 42, 44], "born": ["1990-01-02", "1990-05-06", "1980-01-02", "1980-03-04"]}
    table = Table.of({**rows, "zip": ["02139", "02138", "02139", "02138"], "sex": "FFMM", "ill": "abab"})
    made = anonymize(table, Requirements(**parse_configuration(text)))
    assert [column.texts().tolist()[0] for column in made.table.columns] == ["30-34", "1990", "021**", "F", "a"]


def test_the_schema_knows_what_the_code_knows():
    assert tuple(schema()["properties"]["method"]["enum"]) == METHODS
    assert tuple(schema()["properties"]["utility"]["enum"]) == UTILITIES


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("k = 0", "line 1: k is 0, which must be at least 1; k-anonymity"),
        ("k = 5\nmethods = 3", "line 2: methods is not a key that tacit knows; did you mean method?"),
        ('utility = "beauty"', 'line 1: utility is "beauty", not "discernibility" or'),
        ("[columns]\nage = { }", "line 2: columns.age.role is missing; what the column is"),
        ('[columns]\nage = { role = "key" }', 'columns.age.role is "key", not "quasi" or'),
        (
            '[columns]\nage = { role = "quasi", intervals = [5], flat = true }',
            "columns.age.flat contradicts intervals; a column",
        ),
        ('[columns]\nage = { role = "sensitive", weight = 2 }', "columns.age.weight does not fit the role sensitive"),
        ('[columns]\nage = { role = "quasi", start = 2 }', "columns.age.start has no intervals to begin"),
        ('[columns]\nage = { role = "quasi", intervals = [] }', "columns.age.intervals has 0 members, not 1 or more"),
        ("k = ", "is not TOML"),
    ],
)
def test_problems_have_their_line_and_remedy(text, problem):
    with pytest.raises(InvalidCatalog) as caught:
        parse_configuration(text)
    assert problem in str(caught.value)


def test_all_problems_are_reported_at_once():
    with pytest.raises(InvalidCatalog) as caught:
        parse_configuration('k = 0\nsuppress = 2\n[columns]\nage = { role = "key" }')
    assert len(caught.value.problems) == 3


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(InvalidCatalog, match="configuration not found"):
        read_configuration(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidCatalog, match="not UTF-8 text"):
        read_configuration(tmp_path / "b.toml")
