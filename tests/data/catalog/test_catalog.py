"""tacit.toml: the example of the design reads as it says, and every broken catalog says what is wrong, where, and what to do."""

import re
import tomllib
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.catalog import parse_catalog, read_catalog
from tacit.data.catalog.columns import APPLIES
from tacit.data.declaration import has_endless_key, key_lines, key_text, schema, whole_text
from tacit.data.store import store_file
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import LARGEST, Budget, Catalog, Column, Notation, Owner, Source, canonical, day_number, fingerprint

EXAMPLE = """\
[budget]                      # the guarantee over everything ever released
epsilon = 8
delta = 1e-7

[analysts.ana]                # policy, inside the guarantee
epsilon = 2
epsilon_per_query = 0.5

[tables.patients]
source = "patients.parquet"   # parquet, csv, a DuckDB or PostgreSQL table, a Spark table
unit = "row"                  # every row is one person

[tables.patients.columns]
id   = { key = true }
age  = { bounds = [0, 110] }
sex  = { values = ["F", "M"], unknown = "drop" }    # or unknown = "other"

[tables.visits]
source = "visits.parquet"
unit = { column = "patient_id", references = "patients.id" }   # ownership, possibly through several tables
max_rows = 8                  # most rows of one unit that any answer uses
max_rows_per_group = 8        # and in one group (l2 falls below l1 only with this)
no_unit = "drop"              # or "own": each such row is its own unit
min_people = 0                # on top of the threshold of private keys

[tables.visits.columns]
cost = { bounds = [0, 5000], step = 0.01, outside = "clamp", nulls = "drop" }   # outside = "drop", nulls = VALUE
ward = { keys = "private" }   # values not public: a group appears only through a DP threshold
day  = { type = "date", bounds = ["2020-01-01", "2024-12-31"] }

[tables.wards]
source = "wards.csv"
public = true
"""


def problems(text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(InvalidCatalog) as caught:
        parse_catalog(text)
    assert caught.value.code == "catalog"
    return [(problem.line, str(problem).removeprefix(f"line {problem.line}: ")) for problem in caught.value.problems]


def column(declared: str) -> Column:
    text = f'[budget]\nepsilon = 1\n[tables.t]\nsource = "t.csv"\nunit = "row"\n[tables.t.columns]\nx = {declared}\n'
    return parse_catalog(text).tables["t"].columns["x"]


class TestTheExample:
    catalog = parse_catalog(EXAMPLE, Path("/data/tacit.toml"))

    def test_budgets_are_exact(self):
        assert self.catalog.budget == Budget(Fraction(8), Fraction(1, 10**7))
        ana = self.catalog.analysts["ana"]
        assert (ana.budget, ana.epsilon_per_query) == (Budget(Fraction(2), Fraction(1, 10**7)), Fraction(1, 2))
        assert ana.delta_per_query is None

    def test_patients(self):
        patients = self.catalog.tables["patients"]
        assert patients.source == Source("parquet", "/data/patients.parquet", declared="patients.parquet")
        assert (patients.unit, patients.max_rows, patients.key, patients.line) == (None, 1, "id", 9)
        assert patients.columns == {
            "id": Column("id", "key", line=14),
            "age": Column("age", "number", (Fraction(0), Fraction(110)), Fraction(1), line=15),
            "sex": Column("sex", "category", values=("F", "M"), unknown="drop", nulls="drop", line=16),
        }

    def test_visits(self):
        visits = self.catalog.tables["visits"]
        assert visits.unit == Owner("patient_id", ("patients", "id"))
        assert (visits.max_rows, visits.max_rows_per_group, visits.no_unit, visits.min_people) == (8, 8, "drop", 0)
        days = (Fraction(day_number(date(2020, 1, 1))), Fraction(day_number(date(2024, 12, 31))))
        assert visits.columns == {
            "cost": Column("cost", "number", (Fraction(0), Fraction(5000)), Fraction(1, 100), nulls="drop", line=27),
            "ward": Column("ward", "text", line=28),
            "day": Column("day", "date", days, Fraction(1), line=29),
        }
        assert visits.columns["cost"].points == 500_001
        assert visits.columns["day"].points == 1827

    def test_sizes(self):
        """What is not declared is assumed: 2 million rows, 1,000 rows of a unit after joins, texts of 256 bytes."""
        visits = self.catalog.tables["visits"]
        assert (visits.most_rows, visits.most_joined_rows, visits.columns["ward"].longest) == (2 * 10**6, 1000, 256)
        more = EXAMPLE.replace("max_rows = 8 ", "max_rows = 8\nrows_at_most = 500\nmax_joined_rows = 8\n#")
        declared = parse_catalog(more.replace('"private" }', '"private", longest = 64 }')).tables["visits"]
        assert (declared.most_rows, declared.most_joined_rows, declared.columns["ward"].longest) == (500, 8, 64)
        assert parse_catalog(EXAMPLE.replace("max_rows = 8 ", "max_rows = 5000 ")).tables["visits"].most_joined_rows == 5000

    def test_wards_and_the_rest(self):
        wards = self.catalog.tables["wards"]
        assert (wards.public, wards.unit, wards.source.kind, wards.columns) == (True, None, "csv", {})
        assert self.catalog.change == "add-remove"
        assert store_file(self.catalog) == Path("/data/.tacit/store/store.duckdb")
        assert self.catalog.ledger_address({}) == "sqlite:////data/.tacit/ledger.sqlite"


BROKEN = {
    # what is replaced, by what: on which line, the whole message
    ("epsilon = 8", "epsilon = -8"): (
        2,
        "budget.epsilon is -8, which must be above 0; a privacy budget: a positive number; for example epsilon = 1",
    ),
    ("epsilon = 8", "epsilon = inf"): (2, "budget.epsilon is Infinity, not a finite number"),
    ("epsilon = 8", "epsilon = nan"): (2, "budget.epsilon is NaN, not a finite number"),
    ("epsilon = 8", "epsilon = 1e999999999999999999999"): (2, "budget.epsilon is"),
    ("epsilon = 8", "epsilon = true"): (2, "budget.epsilon is true, not a number"),
    ("epsilon = 8", 'epsilon = "?"'): (2, "budget.epsilon is not filled in yet; a privacy budget"),
    ("epsilon = 8\n", ""): (1, "budget.epsilon is missing; a privacy budget: a positive number; for example epsilon = 1"),
    ("delta = 1e-7", "delta = 1"): (3, "budget.delta is 1, which must be below 1"),
    ("delta = 1e-7", "delta = -1e-7"): (3, "budget.delta is -1E-7, which must be at least 0"),
    ("delta = 1e-7", "detla = 1e-7"): (3, "budget.detla is not a key that tacit knows; did you mean delta?"),
    ("epsilon_per_query = 0.5", "epsilon_per_query = 0"): (7, "analysts.ana.epsilon_per_query is 0, which must be above 0"),
    ('source = "wards.csv"', ""): (31, "tables.wards.source is missing; a file, a folder"),
    ('"wards.csv"', '"wards.xlsx"'): (32, 'tables.wards.source is "wards.xlsx", which does not fit; a file, a folder'),
    ('"wards.csv"', '{ duckdb = "x.duckdb" }'): (
        32,
        "tables.wards.source names a database without a table; write for example source = ",
    ),
    ('"wards.csv"', '{ table = "x" }'): (
        32,
        "tables.wards.source must name exactly one file or database; write for example source = ",
    ),
    ('"wards.csv"', '{ csv = "w.csv", table = "x" }'): (32, "tables.wards.source names a table, which a CSV file does not have"),
    ('"wards.csv"', '{ xlsx = "w.csv", sheet = "x" }'): (32, 'tables.wards.source.xlsx is "w.csv", which does not fit; an Excel'),
    ('"wards.csv"', '{ xlsx = "w.xlsx" }'): (32, "tables.wards.source names a workbook without a sheet"),
    ('"wards.csv"', '{ duckdb = "w.duckdb", table = "x", multiline = true }'): (
        32,
        "tables.wards.source says multiline, which is supported for",
    ),
    ('"wards.csv"', '{ csv = "w.csv", multiline = "yes" }'): (32, 'tables.wards.source.multiline is "yes", not true or false'),
    ('"wards.csv"', '{ postgres = "mysql://x", table = "x" }'): (32, 'tables.wards.source.postgres is "mysql://x"'),
    ("public = true", "public = false"): (31, 'tables.wards.unit is missing; say whose a row is: unit = "row", or'),
    ("public = true", 'public = true\nunit = "row"'): (34, "tables.wards.unit means nothing for a public table; take it away"),
    ("public = true", "public = true\ncolumns.name = {}"): (34, "tables.wards.columns.name has no meaning for a column of a"),
    ("public = true", "public = true\ncolumns.beds = { key = true }"): (34, "tables.wards.columns.beds has no meaning for"),
    ('unit = "row" ', 'unit = "rows"'): (11, 'tables.patients.unit is "rows", which does not fit; whose a row is'),
    ('unit = "row" ', 'unit = "row"\nmax_rows = 3'): (12, 'tables.patients.max_rows means nothing with unit = "row"'),
    ("max_rows = 8 ", ""): (18, "tables.visits.max_rows is missing: without it one unit could change an answer"),
    ("max_rows = 8 ", "max_rows = 0"): (21, "tables.visits.max_rows is 0, which must be at least 1"),
    ("max_rows = 8 ", "max_rows = 7"): (22, "tables.visits.max_rows_per_group is 8, above max_rows; write at most 7"),
    ("max_rows = 8 ", "max_rows = 8.5"): (21, "tables.visits.max_rows is 8.5, not a whole number"),
    ("max_rows = 8 ", "max_rows = 8\nmax_joined_rows = 7\n#"): (22, "tables.visits.max_joined_rows is 7, below max_rows; write at"),
    ("max_rows = 8 ", "max_rows = 8\nrows_at_most = 0\n#"): (22, "tables.visits.rows_at_most is 0, which must be at least 1"),
    ("max_rows = 8 ", f"max_rows = 8\nrows_at_most = {2**33 + 1}\n#"): (22, "tables.visits.rows_at_most is 8589934593, which must"),
    ("public = true", "public = true\nrows_at_most = 5"): (34, "tables.wards.rows_at_most means nothing for a public table"),
    ("[0, 110]", "[0, 110], longest = 5"): (15, 'tables.patients.columns.age.longest has no effect here; declare keys = "private"'),
    ('"private" }', '"private", longest = 65537 }'): (28, "tables.visits.columns.ward.longest is 65537, which must be at most"),
    ('"private" }', '"private", longest = 3, nulls = "néé" }'): (
        28,
        'tables.visits.columns.ward.nulls is "néé", which has more than',
    ),
    ('no_unit = "drop"', 'no_unit = "keep"'): (23, 'tables.visits.no_unit is "keep", not "drop" or "own"'),
    ("min_people = 0", "min_people = -1"): (24, "tables.visits.min_people is -1, which must be at least 0"),
    ('"patients.id"', '"patients.key"'): (
        20,
        "tables.visits.unit references key, which patients does not declare; add key = { key = true } to [tables.patients.columns]",
    ),
    ('"patients.id"', '"patient.id"'): (
        20,
        "tables.visits.unit references patient, which is not declared; did you mean patients?",
    ),
    ('"patients.id"', '"patients.age"'): (
        20,
        "tables.visits.unit references patients.age, which is not a key; declare tables.patients.columns.age with key = true",
    ),
    ('"patients.id"', '"patients"'): (20, "tables.visits.unit references a table without its column; write for example"),
    ('"patients.id"', '"wards.id"'): (20, "tables.visits.unit references id, which wards does not declare"),
    ('"patients.id"', '"visits.patient_id"'): (20, "tables.visits.unit leads in a circle through visits; let one of them"),
    ("id   = { key = true }", "id   = { key = true }\nID = {}"): (
        15,
        "tables.patients.columns.ID differs from tables.patients.columns.id in case only; names match without case; rename one",
    ),
    ("id   = { key = true }", "id   = { key = true }\nother = { key = true }"): (
        13,
        "tables.patients.columns has 2 keys: id, other",
    ),
    ("id   = { key = true }", "id   = { key = true }\ntacit_unit = {}"): (
        15,
        "tables.patients.columns.tacit_unit begins with tacit_",
    ),
    ("[0, 110]", "[110, 0]"): (15, "tables.patients.columns.age.bounds is [110, 0]; the lower bound stands first"),
    ("[0, 110]", "[0, 0]"): (15, "tables.patients.columns.age.bounds is [0, 0]; the lower bound stands first"),
    ("[0, 110]", "[0]"): (15, "tables.patients.columns.age.bounds has 1 member, not 2"),
    ("[0, 110]", "[0, inf]"): (15, "tables.patients.columns.age.bounds has a member that is Infinity, not a finite number"),
    ("[0, 110]", "[0, 2.5]"): (15, "tables.patients.columns.age.step is missing, and the bounds are not whole numbers; add"),
    ("[0, 110]", "[0, 9007199254740992]"): (15, "tables.patients.columns.age.bounds has more than 2^53 values"),
    ("[0, 110]", '[0, "x"]'): (15, 'tables.patients.columns.age.bounds is [0, "x"], not two numbers; write for example'),
    ("{ bounds = [0, 110] }", "18"): (15, "tables.patients.columns.age is 18, not a table; how the column may be asked about"),
    ("{ bounds = [0, 110] }", '"?"'): (15, "tables.patients.columns.age is not filled in yet; how the column may be asked about"),
    ("{ bounds = [0, 110] }", "{ bound = [0, 110] }"): (
        15,
        "tables.patients.columns.age.bound is not a key that tacit knows; did",
    ),
    ("{ bounds = [0, 110] }", "{ step = 2 }"): (15, "tables.patients.columns.age.step has no effect here; declare bounds too"),
    ("step = 0.01", "step = 0.3"): (
        27,
        "tables.visits.columns.cost.step is 0.3, which does not divide the 5000 between the bounds; "
        "the nearest upper bound that fits is 5000.1",
    ),
    ("step = 0.01", "step = 9000"): (27, "tables.visits.columns.cost.step is 9000, which does not divide the 5000 between"),
    ("[0, 110]", "[0, 1e-19], step = 1e-20"): (15, "tables.patients.columns.age.bounds and step need more than 18 digits"),
    ("[0, 110]", "[1_000_000_000_000_000_000, 1_000_000_000_000_000_009]"): (
        15,
        "tables.patients.columns.age.bounds and step need",
    ),
    ("step = 0.01", "step = 0"): (27, "tables.visits.columns.cost.step is 0, which must be above 0"),
    ('nulls = "drop"', "nulls = 5001"): (27, "tables.visits.columns.cost.nulls is 5001, which is outside the bounds; take"),
    ('nulls = "drop"', "nulls = 0.125"): (
        27,
        "tables.visits.columns.cost.nulls is 0.125, which is between two steps; the nearest value is 0.12",
    ),
    ('nulls = "drop"', 'nulls = "zero"'): (27, 'tables.visits.columns.cost.nulls is "zero", which the column cannot have; write'),
    ('outside = "clamp"', 'unknown = "drop"'): (27, "tables.visits.columns.cost.unknown has no effect here; declare values too"),
    ('{ keys = "private" }', '{ keys = "private", values = ["a"] }'): (
        28,
        "tables.visits.columns.ward.values conflicts with keys",
    ),
    ('"2020-01-01"', '"2020-02-30"'): (29, 'tables.visits.columns.day.bounds has "2020-02-30", which is not a date; write'),
    ('"2020-01-01"', '"01.02.2020"'): (29, 'tables.visits.columns.day.bounds has "01.02.2020", which is not a date; write'),
    ('"2020-01-01"', '"2025-01-01"'): (29, "tables.visits.columns.day.bounds is"),
    ('type = "date"', 'type = "number"'): (29, 'tables.visits.columns.day.type is "number", but the bounds are of a date'),
    ('["F", "M"]', "[]"): (16, "tables.patients.columns.sex.values has 0 members, not 1 or more"),
    ('["F", "M"]', '["F", " F"]'): (16, 'tables.patients.columns.sex.values has "F" twice (blanks around a text do not count)'),
    ('["F", "M"]', '["e\\u0301", "\\u00e9"]'): (16, 'tables.patients.columns.sex.values has "é" twice'),
    ('["F", "M"]', '["F", 1]'): (16, "tables.patients.columns.sex.values mixes texts, whole numbers and truths"),
    ('["F", "M"]', "[1, true]"): (16, "tables.patients.columns.sex.values mixes texts, whole numbers and truths"),
    ('["F", "M"]', "[1.5]"): (16, "tables.patients.columns.sex.values has a member that is 1.5, not a text or a whole number or"),
    ('["F", "M"]', "[9223372036854775808]"): (16, "tables.patients.columns.sex.values has a number beyond 64 bits"),
    ('"M"], unknown = "drop"', '"other"], unknown = "other"'): (
        16,
        'tables.patients.columns.sex.unknown is "other", which is one',
    ),
    ('["F", "M"], unknown = "drop"', '[1], unknown = "other"'): (
        16,
        'tables.patients.columns.sex.unknown is "other", a text, and',
    ),
    ('["F", "M"], unknown = "drop"', '["F"], nulls = "X"'): (
        16,
        'tables.patients.columns.sex.nulls is "X", which the column cannot',
    ),
    ("[tables.wards]", "[tables.Visits]"): (31, "tables.Visits differs from tables.visits in case only; names match"),
    ("[tables.wards]", '[tables.""]'): (31, 'tables."" is not a name; a name has one character or more'),
    ("[tables.wards]", '[tables."wa\u202erds"]'): (31, r'tables."wa\u202Erds" has a mark of writing direction'),
    ("[tables.wards]", "[tables.tacit_store]"): (31, "tables.tacit_store begins with tacit_; such names are tacit's own"),
    ("[tables.wards]", "[store]\npath = 3\n[tables.wards]"): (32, "store.path is 3, not a text; a folder; for example path ="),
    ("[tables.wards]", '[ledger]\nurl = "ledger.db"\n[tables.wards]'): (32, 'ledger.url is "ledger.db", which does not fit'),
    ("[budget]", 'neighbours = "swap"\n[budget]'): (1, 'neighbours is "swap", not "add-remove" or "change-one"'),
    ("[budget]", "budgets = 3\n[budget]"): (1, "budgets is not a key that tacit knows; did you mean budget?"),
    ("ward = { keys", "ward.name = { keys"): (28, "tables.visits.columns.ward.name is not a key that tacit knows; a name with a"),
    ("[tables.visits.columns]\ncost", "cost"): (26, "tables.visits.cost is not a key that tacit knows; a column is declared in"),
}


@pytest.mark.parametrize(("edit", "expected"), BROKEN.items(), ids=lambda case: str(case[1])[:60])
def test_a_broken_catalog_says_what_where_and_what_to_do(edit, expected):
    assert edit[0] in EXAMPLE
    line, start = expected
    found = [(at, text) for at, text in problems(EXAMPLE.replace(*edit, 1)) if text.startswith(start)]
    assert [at for at, _ in found] == [line]
    assert all("; " in text for _, text in found), "a remedy follows"


def test_all_problems_are_told_at_once_in_the_order_of_lines():
    text = EXAMPLE.replace("epsilon = 8", "epsilon = 0").replace("[0, 110]", "[1, 0]").replace('"patients.id"', '"x.y"')
    assert [line for line, _ in problems(text)] == [2, 15, 20]


def test_one_mistake_is_one_problem():
    """A key that other declarations depend on is not reported a second time through them."""
    for edit in (("id   = { key = true }", 'id   = "?"'), ('unit = "row" ', 'unit = "?"'), ('source = "wards.csv"', "")):
        assert len(problems(EXAMPLE.replace(*edit, 1))) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [("[budget\nepsilon = 1", 1), ("[budget]\nepsilon = ", 2), ("a = 1\na = 2", 2), ("x = " + "9" * 5000, None), ("a = 'x", 1)],
)
def test_what_is_not_toml_is_told_with_its_line(text, line):
    ((at, message),) = problems(text)
    assert (at, message[:21]) == (line, "the text is not TOML:")


@pytest.mark.parametrize("depth", [100, 200, 300, 400, 480, 500, 700, 900, 5000])
@pytest.mark.parametrize("text", ["a = {}{}", "budget.epsilon = {}{}", "budget.epsilon{1}.a = 1"])
def test_deep_nesting_is_refused(text, depth):
    with pytest.raises(InvalidCatalog):
        parse_catalog(text.replace("{1}", ".a" * depth).format("[" * depth, "]" * depth))


@pytest.mark.parametrize("text", ["{} = 1", "[{}]", "[[{}]]", "a = {{ {} = 1 }}", "a = 1\n[b]\n{} = 1"])
def test_a_key_of_thousands_of_parts_is_refused_before_it_is_read(text, monkeypatch):
    """It took a minute to read one of 20,000 parts: the time of the parser grows with their square."""
    monkeypatch.setattr("tacit.data.catalog.tomllib.loads", lambda *_, **__: pytest.fail("the parser was called"))
    with pytest.raises(InvalidCatalog, match="nested too deeply"):
        parse_catalog(text.format(".".join(["a"] * 20_000)))


def test_a_text_with_many_dots_is_not_a_key():
    assert not has_endless_key(f'a = "{"b." * 1000}"\nc = 1  # {"d." * 1000}\n')
    assert not has_endless_key("a." * 49 + "a = 1")
    assert has_endless_key("a." * 50 + "a = 1")


class TestColumns:
    def test_the_default_step_is_for_bounds_written_as_whole_numbers(self):
        assert column("{ bounds = [-5, 5] }").step == 1
        with pytest.raises(InvalidCatalog, match="step is missing"):
            column("{ bounds = [0.0, 5.0] }")

    def test_numbers_are_the_decimals_that_were_written(self):
        read = column("{ bounds = [0.1, 0.7], step = 0.2 }")
        assert (read.bounds, read.step, read.points) == ((Fraction(1, 10), Fraction(7, 10)), Fraction(1, 5), 4)

    def test_the_largest_number_of_points(self):
        assert column(f"{{ bounds = [1, {LARGEST}] }}").points == LARGEST

    @pytest.mark.parametrize("bounds", ['["2020-01-01", "2020-01-31"]', "[2020-01-01, 2020-01-31]"])
    def test_dates_are_days_however_they_are_written(self, bounds):
        assert column(f"{{ bounds = {bounds} }}") == column(f'{{ type = "date", bounds = {bounds} }}')
        assert column(f"{{ bounds = {bounds} }}").points == 31

    def test_what_takes_the_place_of_null(self):
        assert column("{ bounds = [0, 10], nulls = 3 }").nulls == 3
        assert column('{ bounds = ["2020-01-01", "2020-12-31"], nulls = "2020-01-02" }').nulls == day_number(date(2020, 1, 2))
        assert column('{ values = ["a", "b"], nulls = " b" }').nulls == "b"
        assert column('{ values = ["a"], unknown = "other", nulls = "other" }').nulls == "other"
        assert column('{ keys = "private", nulls = "none" }').nulls == "none"
        assert column("{ values = [true, false], nulls = false }").nulls is False
        with pytest.raises(InvalidCatalog, match="nulls is 0, which the"):
            column("{ values = [true, false], nulls = 0 }")

    def test_nothing_declared_is_presence_and_a_key_that_is_false_is_no_key(self):
        assert column("{}").kind == "presence"
        assert column("{ key = false }").kind == "presence"
        assert column('{ type = "text" }').kind == "text"

    def test_a_question_mark_may_be_a_value(self):
        assert column('{ values = ["Private", "?"], nulls = "?" }').values == ("Private", "?")

    def test_values_are_kept_in_canonical_form(self):
        assert column('{ values = [" e\\u0301\\t", "x"] }').values == ("é", "x")

    def test_bins_share_out_the_values_or_begin_where_they_are_said_to(self):
        assert column("{ bounds = [0, 9], bins = 3 }").bins == (0, 3, 6)
        assert column("{ bounds = [0, 3], bins = 4 }").bins == (0, 1, 2, 3)
        assert column("{ bounds = [0.5, 2.0], step = 0.5, bins = [1.0] }").bins == (Fraction(1, 2), 1)
        january = day_number(date(2020, 1, 1))
        assert column('{ bounds = ["2020-01-01", "2020-01-31"], bins = [2020-01-11] }').bins == (january, january + 10)

    @pytest.mark.parametrize(
        ("declared", "problem"),
        [
            ("{ bounds = [0, 9], bins = 11 }", "bins is 11, and the column has 10 values"),
            ("{ bounds = [0, 9], bins = 0 }", "bins is 0, which does not fit"),
            ("{ bounds = [0, 9], bins = [] }", "bins is \\[\\], which does not fit"),
            ("{ bounds = [0, 9], bins = [0, 5] }", "each further bin begins above"),
            ("{ bounds = [0, 9], bins = [5, 10] }", "each further bin begins above"),
            ("{ bounds = [0, 9], bins = [5, 3] }", "each further bin begins above"),
            ("{ bounds = [0, 9], bins = [2.5] }", "begins between two steps"),
            ('{ bounds = [0, 9], bins = ["2020-01-01"] }', "not a number"),
            ('{ bounds = ["2020-01-01", "2020-01-31"], bins = [3] }', "not a date"),
            ('{ values = ["a"], bins = 2 }', "bins has no effect here; declare bounds too"),
        ],
    )
    def test_bins_that_mean_nothing_are_refused(self, declared, problem):
        with pytest.raises(InvalidCatalog, match=problem):
            column(declared)

    def test_every_kind_has_keys_that_the_schema_knows(self):
        known = set(schema()["definitions"]["column"]["properties"])
        assert set().union(*APPLIES.values()) == known


class TestUnits:
    def tables(self, *tables: str) -> Catalog:
        return parse_catalog("budget.epsilon = 1\n" + "\n".join(tables))

    def test_ownership_through_several_tables(self):
        catalog = self.tables(
            '[tables.people]\nsource = "p.csv"\nunit = "row"\ncolumns.id = { key = true }',
            '[tables.visits]\nsource = "v.csv"\nunit = { column = "who", references = "People.ID" }\nmax_rows = 2',
            "columns.number = { key = true }",
            '[tables.labs]\nsource = "l.csv"\nunit = { column = "Visit", references = "visits.number" }\nmax_rows = 2',
            '[tables.notes]\nsource = "n.csv"\nunit = { column = "who", references = "visits.who" }\nmax_rows = 2',
            '[tables.other]\nsource = "o.csv"\nunit = { column = "card" }\nmax_rows = 2',
        )
        assert catalog.tables["visits"].unit == Owner("who", ("people", "id"))
        assert catalog.tables["labs"].unit == Owner("visit", ("visits", "number"))
        assert catalog.tables["notes"].unit == Owner("who", ("visits", "who"))
        assert catalog.tables["other"].unit == Owner("card", None)

    def test_a_circle_of_two_is_reported_for_both(self):
        first = '[tables.a]\nsource = "a.csv"\nunit = { column = "x", references = "b.y" }\nmax_rows = 1'
        second = '[tables.b]\nsource = "b.csv"\nunit = { column = "y", references = "a.x" }\nmax_rows = 1'
        with pytest.raises(InvalidCatalog) as caught:
            self.tables(first, second)
        assert [problem.key for problem in caught.value.problems] == ["tables.a.unit", "tables.b.unit"]
        assert all("circle through a, b" in problem.what for problem in caught.value.problems)

    def test_a_public_table_has_no_units_to_refer_to(self):
        public = '[tables.p]\nsource = "p.csv"\npublic = true\ncolumns.id = { bounds = [0, 9] }'
        private = '[tables.t]\nsource = "t.csv"\nunit = { column = "x", references = "p.id" }\nmax_rows = 1'
        with pytest.raises(InvalidCatalog, match="references p, which is public"):
            self.tables(public, private)

    def test_names_may_have_dots_and_blanks(self):
        catalog = self.tables(
            '[tables."our people.v2"]\nsource = "p.csv"\nunit = "row"\ncolumns."the.id" = { key = true }',
            '[tables.v]\nsource = "v.csv"\nunit = { column = "a b", references = "our people.v2.the.id" }\nmax_rows = 2',
        )
        assert catalog.tables["v"].unit == Owner("a b", ("our people.v2", "the.id"))

    def test_rows_without_a_unit_need_a_unit_to_be_without(self):
        with_key = '[tables.p]\nsource = "p.csv"\nunit = "row"\nno_unit = "own"\ncolumns.id = { key = true }'
        assert self.tables(with_key).tables["p"].no_unit == "own"
        with pytest.raises(InvalidCatalog, match="no_unit has no effect here"):
            self.tables(with_key.replace("key = true", ""))

    VISITS = '[tables.visits]\nsource = "v.csv"\nunit = { column = "who" }\nmax_rows = 2\ncolumns.number = { key = true }'
    LABS = '[tables.labs]\nsource = "l.csv"\nunit = { column = "visit", references = "visits.number" }\nmax_rows = 2'

    def test_rows_are_no_units_of_their_own_where_units_are_looked_up(self):
        with pytest.raises(InvalidCatalog) as caught:
            self.tables(self.VISITS, self.LABS, 'no_unit = "own"')
        (problem,) = caught.value.problems
        assert (problem.key, problem.line) == ("tables.labs.no_unit", 11)
        assert "looked up in visits" in problem.what
        assert problem.remedy == 'write no_unit = "drop"'

    def test_nor_through_a_column_that_is_the_owner_of_its_table(self):
        notes = '[tables.notes]\nsource = "n.csv"\nunit = { column = "visit", references = "labs.visit" }\nmax_rows = 2'
        with pytest.raises(InvalidCatalog, match=r"tables\.notes\.no_unit is .* looked up"):
            self.tables(self.VISITS, self.LABS, notes, 'no_unit = "own"')

    def test_where_the_value_is_the_unit_they_may_be(self):
        people = '[tables.people]\nsource = "p.csv"\nunit = "row"\ncolumns.id = { key = true }'
        led = self.VISITS.replace('"who"', '"who", references = "people.id"') + '\nno_unit = "own"'
        cards = (
            '[tables.cards]\nsource = "c.csv"\nunit = { column = "w", references = "visits.who" }\nmax_rows = 2\nno_unit = "own"'
        )
        assert self.tables(people, led, cards).tables["cards"].no_unit == "own"

    @pytest.mark.parametrize("unit", ['{ column = ["sender", "receiver"] }', '["sender", "receiver"]'])
    def test_a_row_of_two_people_leads_to_both_through_another_table(self, unit):
        with pytest.raises(InvalidCatalog) as caught:
            self.tables(f'[tables.messages]\nsource = "m.csv"\nunit = {unit}\nmax_rows = 2')
        (problem,) = caught.value.problems
        assert problem.line == 4
        assert '["sender", "receiver"]' in problem.what
        assert "list them in another table, a row each, and refer to it" in problem.remedy
        parties = (
            '[tables.parties]\nsource = "p.csv"\nunit = { column = "person" }\nmax_rows = 9\ncolumns.message_id = { key = true }'
        )
        reference = '{ column = "id", references = "parties.message_id" }'
        both = self.tables(parties, f'[tables.messages]\nsource = "m.csv"\nunit = {reference}\nmax_rows = 2')
        assert both.tables["messages"].unit == Owner("id", ("parties", "message_id"))


class TestPlaces:
    def test_sources(self):
        declared = {
            '"a/b.CSV.gz"': Source("csv", "/data/a/b.CSV.gz", None, "a/b.CSV.gz"),
            '"/x/*.parquet"': Source("parquet", "/x/*.parquet", None, "/x/*.parquet"),
            '{ csv = "notes.csv" }': Source("csv", "/data/notes.csv", None, "notes.csv"),
            '{ csv = "notes.csv", multiline = false }': Source("csv", "/data/notes.csv", None, "notes.csv", False),
            '{ duckdb = "h.duckdb", table = "main.v" }': Source("duckdb", "/data/h.duckdb", "main.v", "h.duckdb"),
            '{ postgres = "$URL", table = "public.v" }': Source("postgres", "$URL", "public.v", "$URL"),
        }
        for text, source in declared.items():
            catalog = parse_catalog(f'budget.epsilon = 1\n[tables.t]\nunit = "row"\nsource = {text}', Path("/data/tacit.toml"))
            assert catalog.tables["t"].source == source

    def test_passwords_come_from_the_environment_when_they_are_used(self):
        source = Source("postgres", "postgresql://me:${SECRET}@db/$BASE?x=$$1", "t")
        assert source.url({"SECRET": "s", "BASE": "b"}) == "postgresql://me:s@db/b?x=$1"
        with pytest.raises(InvalidCatalog, match=r"names \$SECRET, which is not"):
            source.url({"BASE": "b"})
        with pytest.raises(InvalidCatalog, match=r"write \$\$"):
            Source("postgres", "postgresql://me:pass$@db", "t").url({})

    def test_the_ledger_and_the_store_are_where_the_catalog_says(self):
        text = EXAMPLE + '[ledger]\nurl = "sqlite:///books/ledger.sqlite"\n[store]\npath = "prepared"\n'
        catalog = parse_catalog(text, Path("/data/tacit.toml"))
        assert catalog.ledger_address({}) == "sqlite:////data/books/ledger.sqlite"
        assert store_file(catalog) == Path("/data/prepared/store.duckdb")
        elsewhere = parse_catalog(EXAMPLE + '[ledger]\nurl = "$LEDGER"\n')
        assert elsewhere.ledger_address({"LEDGER": "postgresql://db/l"}) == "postgresql://db/l"

    @pytest.mark.parametrize(
        ("declared", "cores"),
        [
            ("", None),
            ('engine = "duckdb"', None),
            ('engine = "spark"', 1),
            ('engine = "spark"\ncores = 64', 64),
            ('engine = "spark"\ncores = 4096\nmaster = "yarn"', 4096),
            ('engine = "spark"\ncores = 4\nmaster = "local[4]"', 4),
            ('engine = "spark"\ncores = 4\nmaster = "local[*]"', 4),
        ],
    )
    def test_cores_are_those_that_are_declared_for_a_cluster(self, declared, cores):
        assert parse_catalog(f"{EXAMPLE}[store]\npath = 'x'\n{declared}\n").cores == cores

    @pytest.mark.parametrize(
        ("declared", "said"),
        [
            ("cores = 4", 'is for a cluster: the engine duckdb runs on this machine; remove it, or declare engine = "spark"'),
            ('engine = "duckdb"\ncores = 1', "is for a cluster"),
            ('engine = "spark"\ncores = 0', "is 0, which must be at least 1"),
            ('engine = "spark"\ncores = -3', "is -3, which must be at least 1"),
            ('engine = "spark"\ncores = 4097', "is 4097, which must be at most 4096"),
            ('engine = "spark"\ncores = 2.5', "is 2.5, not a whole number"),
            ('engine = "spark"\ncores = true', "not a whole number"),
            ('engine = "spark"\ncores = "all"', "not a whole number"),
            ('engine = "spark"\nmaster = "local[4]"\ncores = 5', "is 5, and local[4] has fewer cores; declare at most 4"),
            ('engine = "spark"\nmaster = "local"\ncores = 2', "is 2, and local has fewer cores; declare at most 1"),
        ],
    )
    def test_cores_that_cannot_be_are_refused(self, declared, said):
        ((line, found),) = problems(f"{EXAMPLE}[store]\n{declared}\n")
        assert found.startswith("store.cores ")
        assert said in found
        assert line == len(f"{EXAMPLE}[store]\n{declared}".splitlines())

    def test_a_file_that_cannot_be_read_is_unusable(self, tmp_path):
        with pytest.raises(InvalidCatalog, match="tacit init"):
            read_catalog(tmp_path / "tacit.toml")
        with pytest.raises(InvalidCatalog, match="cannot be read"):
            read_catalog(tmp_path)
        (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
        with pytest.raises(InvalidCatalog, match="not UTF-8"):
            read_catalog(tmp_path / "latin.toml")

    def test_a_byte_order_mark_and_windows_lines_are_read(self, tmp_path):
        path = tmp_path / "tacit.toml"
        path.write_bytes(b"\xef\xbb\xbf" + EXAMPLE.replace("\n", "\r\n").encode())
        assert read_catalog(path).tables["visits"].columns["day"].line == 29


class TestFingerprint:
    plain = fingerprint(parse_catalog(EXAMPLE))

    @pytest.mark.parametrize(
        "edit",
        [
            ("epsilon = 8", "epsilon = 9"),
            ("epsilon = 2", "epsilon = 1"),
            ("[budget] ", 'neighbours = "change-one"\n[budget]'),
            ("max_rows_per_group = 8", "max_rows_per_group = 4"),
            ("min_people = 0", "min_people = 5"),
            ("min_people = 0", "min_people = 0\nmin_rows = 1000"),
            ("min_people = 0", "min_people = 0\nmax_joined_rows = 9"),
            ("min_people = 0", "min_people = 0\nrows_at_most = 2000000"),
            ('keys = "private"', 'keys = "private", longest = 256'),
            ("[budget] ", 'store = { engine = "spark", cores = 64 }\n[budget]'),
            ("# every row is one person", ""),
            ("[0, 5000]", "[0, 5000.0]"),
            ("[0, 110]", "[0, 110], bins = 11"),
            ("id   = { key = true }\nage  = { bounds = [0, 110] }", "Age  = { bounds = [0, 110] }\nID   = { key = true }"),
        ],
    )
    def test_what_preparation_does_not_read_does_not_change_it(self, edit):
        assert edit[0] in EXAMPLE
        assert fingerprint(parse_catalog(EXAMPLE.replace(*edit, 1))) == self.plain

    def test_the_folder_may_move(self):
        assert fingerprint(parse_catalog(EXAMPLE, Path("/elsewhere/tacit.toml"))) == self.plain

    def test_whatever_preparation_reads_changes_it(self):
        edits = [
            ("patients.parquet", "patients2.parquet"),
            ("[0, 110]", "[0, 111]"),
            ("step = 0.01", "step = 0.02"),
            ('["F", "M"]', '["M", "F"]'),
            ('["F", "M"]', "[1, 2]"),
            ('["F", "M"]', '["1", "2"]'),
            ('unknown = "drop"', 'unknown = "other"'),
            ('outside = "clamp"', 'outside = "null"'),
            ('nulls = "drop"', "nulls = 0"),
            ('no_unit = "drop"', 'no_unit = "own"'),
            ("max_rows = 8", "max_rows = 9"),
            ("max_rows = 8", "rows_at_most = 1000\nmax_rows = 8"),
            ("max_rows = 8", 'max_rows = 8\ndecimal = ","'),
            ("max_rows = 8", 'max_rows = 8\nmissing = ["N"]'),
            ("[0, 110]", '[0, 110], thousands = "."'),
            ('source = "wards.csv"', 'source = "wards.csv"\nencoding = "windows-1252"'),
            ('keys = "private"', 'keys = "private", longest = 64'),
            (', references = "patients.id"', ""),
            ('ward = { keys = "private" }', ""),
            ("public = true", 'unit = "row"'),
            ('source = "wards.csv"', 'source = { duckdb = "w.duckdb", table = "wards" }'),
            ('source = "wards.csv"', 'source = { csv = "wards.csv", multiline = true }'),
            ('source = "wards.csv"', 'source = { csv = "wards.csv", multiline = false }'),
        ]
        found = {fingerprint(parse_catalog(EXAMPLE.replace(*edit, 1))) for edit in edits}
        assert len(found | {self.plain}) == len(edits) + 1


# Laws over documents that nobody would write. Names and values are mostly those of catalogs, so that parsing goes deep.

KNOWN = sorted(
    {"budget", "analysts", "tables", "neighbours", "ledger", "store", "columns", "t", "u", "id", "T", "t.id", "url", "path"}
    | {name for definition in schema()["definitions"].values() for name in definition.get("properties", {})}
)
NAMES = st.sampled_from(KNOWN) | st.text(max_size=3)
SCALARS = (
    st.sampled_from(
        ["row", "?", "drop", "other", "private", "date", "number", "t.id", "u.t", "a.csv", "x.parquet", "2020-01-01", "$U"]
    )
    | st.integers(-3, 3)
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.dates()
    | st.text(max_size=3)
)


def documents(values: st.SearchStrategy, depth: int) -> st.SearchStrategy:
    members = values | st.lists(values, max_size=3)
    for _ in range(depth):
        members = members | st.dictionaries(NAMES, members, max_size=4)
    return st.dictionaries(NAMES, members, max_size=4)


COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        "bounds": st.lists(
            st.integers(-9, 9) | st.floats(-9, 9).map(lambda x: round(x, 2)) | st.dates().map(str), min_size=2, max_size=2
        ),
        "step": st.sampled_from([0.1, 0.25, 1, 3, -1, 1e-300, 10**30]),
        "bins": st.integers(-1, 9) | st.lists(st.integers(-9, 9) | st.dates().map(str), max_size=3),
        "values": st.lists(st.sampled_from(["a", "A", " a", "other", 1, 2, True]), max_size=3),
        "unknown": st.sampled_from(["other", "drop", "null"]),
        "outside": st.sampled_from(["clamp", "drop", "x"]),
        "nulls": SCALARS,
        "type": st.sampled_from(["number", "date", "text"]),
        "key": st.booleans(),
    },
)
TABLES = st.fixed_dictionaries(
    {
        "source": st.sampled_from(
            ["a.csv", {"duckdb": "x", "table": "t"}, {"table": "t"}, {"csv": "a.csv", "multiline": True}, {"csv": "a"}, "?"]
        )
    },
    optional={
        "unit": st.sampled_from(
            ["row", "?", {"column": "id"}, {"column": "id", "references": "t.id"}, {"column": "x", "references": "u"}]
        ),
        "public": st.booleans(),
        "max_rows": st.integers(-1, 4),
        "max_rows_per_group": st.integers(1, 4),
        "rows_at_most": st.integers(0, 4),
        "max_joined_rows": st.integers(0, 4),
        "no_unit": st.sampled_from(["drop", "own"]),
        "columns": st.dictionaries(st.sampled_from(["id", "x", "X", "tacit_rank"]), COLUMNS, max_size=3),
    },
)
NEARLY = st.fixed_dictionaries(
    {"budget": st.fixed_dictionaries({"epsilon": st.sampled_from([1, 0.5, 0, "1"])})},
    optional={
        "tables": st.dictionaries(st.sampled_from(["t", "u", "T"]), TABLES, max_size=3),
        "neighbours": st.just("change-one"),
    },
)


@st.composite
def grids(draw) -> dict:
    """Bounds and a step that mostly fit each other."""
    step = draw(st.sampled_from(["0.1", "0.25", "1", "3", "1e-9", "1e6"]).map(Decimal))
    low = draw(st.integers(-20, 20)) * step
    high = low + draw(st.integers(1, 50)) * step
    return {"bounds": [low, high], "step": step, "nulls": draw(st.sampled_from(["keep", "drop", low, high + step]))}


SOUND_COLUMNS = (
    grids()
    | st.lists(st.text(alphabet="ab ", max_size=2), min_size=1, max_size=3).map(lambda values: {"values": values})
    | st.lists(st.dates(), min_size=2, max_size=2).map(lambda days: {"type": "date", "bounds": sorted(map(str, days))})
    | st.sampled_from(
        [{}, {"keys": "private"}, {"type": "text"}, {"values": [1, 2], "unknown": "drop"}, {"values": ["a"], "unknown": "other"}]
    )
)
SOUND = st.fixed_dictionaries(
    {
        "budget": st.just({"epsilon": Decimal("0.5")}),
        "tables": st.dictionaries(
            st.sampled_from(["t", "U", "v"]),
            st.fixed_dictionaries(
                {
                    "source": st.just("a.csv"),
                    "columns": st.dictionaries(st.sampled_from(["x", "Y", "z-z"]), SOUND_COLUMNS, max_size=3),
                },
            ).flatmap(
                lambda table: st.sampled_from([{"unit": "row"}, {"unit": {"column": "id"}, "max_rows": 4}]).map(
                    lambda unit: table | unit
                )
            ),
            min_size=1,
        ),
    }
)


def toml(document: dict) -> str:
    return "\n".join(f"{key_text([name])} = {whole_text(value)}" for name, value in document.items())


def outcome(text: str) -> Catalog | InvalidCatalog:
    try:
        return parse_catalog(text)
    except InvalidCatalog as unusable:
        return unusable


@settings(max_examples=300, deadline=None)
@given(documents(SCALARS, 3) | NEARLY | SOUND)
def test_reading_gives_a_catalog_or_catalog_unusable_and_nothing_else(document):
    result = outcome(toml(document))
    if isinstance(result, InvalidCatalog):
        assert result.problems
        assert all(problem.what and problem.remedy for problem in result.problems)


@settings(max_examples=200, deadline=None)
@given(st.text() | st.text(alphabet="[]{}=.\"'\\\n#, ab1") | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_text_gives_a_catalog_or_catalog_unusable(text):
    assert isinstance(outcome(text), InvalidCatalog)


@settings(max_examples=300, deadline=None)
@given(documents(SCALARS, 2) | NEARLY | SOUND)
def test_what_the_parser_accepts_the_schema_accepts_too(document):
    text = toml(document)
    if isinstance(outcome(text), Catalog):
        jsonschema.validate(tomllib.loads(text), schema())


@settings(max_examples=300, deadline=None)
@given(NEARLY | SOUND)
def test_what_is_accepted_obeys_the_rules(document):
    result = outcome(toml(document))
    if isinstance(result, InvalidCatalog):
        return
    for table in result.tables.values():
        assert table.public or table.unit is not None or table.max_rows == 1
        assert 1 <= table.rows_per_group <= table.max_rows <= table.most_joined_rows
        for one in table.columns.values():
            assert one.name == one.name.lower()
            assert len({canonical(value) for value in one.domain}) == len(one.domain)
            if one.bounds:
                assert one.bounds[0] + (one.points - 1) * one.step == one.bounds[1]
                assert 2 <= one.points <= LARGEST


def test_the_schema_is_a_schema_and_knows_the_example():
    jsonschema.Draft7Validator.check_schema(schema())
    jsonschema.validate(tomllib.loads(EXAMPLE), schema())


SHAPE = ("does not fit", "not a key that", ", not a")


@pytest.mark.parametrize(
    "edit", [edit for edit, (_, text) in BROKEN.items() if any(word in text for word in SHAPE) and "finite" not in text]
)
def test_an_editor_sees_the_same_mistakes_of_shape(edit):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(EXAMPLE.replace(*edit, 1)), schema())


# The index of lines.

ODD = ["plain", "with-dash", "two words", "a.b", 'quo"te', "é", "#", "=", "[x]", "'"]


@st.composite
def texts_with_places(draw) -> tuple[str, dict[tuple[str, ...], int]]:
    """A TOML text in a mix of styles, and the line of every key, kept while it is written."""
    lines: list[str] = []
    places: dict[tuple[str, ...], int] = {}
    for header in draw(st.lists(st.sampled_from(ODD), min_size=1, max_size=4, unique=True)):
        lines += draw(st.lists(st.sampled_from(["", "# c = [ { ' \"", "  "]), max_size=2))
        lines.append(f"[{key_text([header])}]  # [not.this]")
        places[(header,)] = len(lines)
        for name in draw(st.lists(st.sampled_from(ODD), max_size=4, unique=True)):
            style = draw(
                st.sampled_from(
                    [
                        "1",
                        '"# x = 1"',
                        "'''\n[a]\nb = '' 1\n'''",
                        '"""\\"""\nq = "" 1\n"""""',
                        "[\n1, # ]\n[2],\n]",
                        "2020-01-01 00:00:00",
                    ]
                )
            )
            inline = draw(st.booleans())
            value = f"{{ {key_text(['in', name])} = {style} }}" if inline and "\n" not in style else style
            lines.append(f"{key_text([name])} = {value}")
            places[(header, name)] = len(lines)
            if value != style:
                places[(header, name, "in")] = places[(header, name, "in", name)] = len(lines)
            lines[-1:] = lines[-1].split("\n")
    return "\n".join(lines), places


@settings(max_examples=200, deadline=None)
@given(texts_with_places(), st.booleans())
def test_every_key_is_found_on_its_line(written, windows):
    text, places = written
    assert tomllib.loads(text)
    assert key_lines(text.replace("\n", "\r\n") if windows else text) == places


def test_lines_of_arrays_of_tables_and_dotted_keys():
    text = "[[a]]\nb = 1\n[[a]]\nb.c = 2\n[a.d]\ne.f.g = [{ h = 1 },\n { h = 2, i = 3 }]\n"
    assert key_lines(text) == {
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "b", "c"): 4,
        ("a", "d"): 5,
        ("a", "d", "e"): 6,
        ("a", "d", "e", "f"): 6,
        ("a", "d", "e", "f", "g"): 6,
        ("a", "d", "e", "f", "g", "h"): 6,
        ("a", "d", "e", "f", "g", "i"): 7,
    }


class TestNotation:
    """How values are written."""

    BEGINNING = '[budget]\nepsilon = 8\n[tables.a]\nsource = "a.csv"\nunit = "row"\n'

    def read(self, lines):
        return parse_catalog(self.BEGINNING + lines).tables["a"]

    def test_a_column_says_it_for_itself_and_else_the_table_does(self):
        columns = 'x = { bounds = [0, 9], missing = [] }\ny = { bounds = [0, 9], thousands = "." }'
        table = self.read(f'decimal = ","\nmissing = ["N", -9]\n[tables.a.columns]\n{columns}')
        assert table.columns["x"].notation == Notation(",")
        assert table.columns["y"].notation == Notation(",", ".", missing=("N", "-9"))
        assert table.notation == Notation(",", missing=("N", "-9"))

    def test_a_point_between_thousands_makes_the_comma_the_decimal_sign(self):
        assert self.read('thousands = "."').notation == Notation(",", ".")

    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            ('decimal = ";"', "decimal"),
            ('decimal = ","\nthousands = ","', "two different signs"),
            ('format = "%d.%m"', "does not tell year, month and day"),
            ('format = "%d.%m.%Y %Q"', "has %Q"),
            ('format = "%d.%m.%Y%"', "has %"),
            ('missing = [" "]', "missing in any case"),
            ('encoding = "klingon"', "not a known encoding"),
            ('encoding = "utf-7"', "one row can change how others are read"),
            ('[tables.a.columns]\nx = { values = ["N"], missing = ["N"] }', "declared as missing too"),
            ('[tables.a.columns]\nx = { values = ["N"], decimal = "," }', "declare bounds too"),
            ('[tables.a.columns]\nx = { bounds = [0, 9], format = "%Y%m%d" }', "declare type"),
        ],
    )
    def test_what_means_nothing_is_refused_with_a_remedy(self, lines, words):
        with pytest.raises(InvalidCatalog, match=re.escape(words)):
            self.read(lines)

    def test_an_encoding_is_for_csv(self):
        with pytest.raises(InvalidCatalog, match="encoding is supported for CSV"):
            parse_catalog((self.BEGINNING + 'encoding = "cp1252"').replace("a.csv", "a.parquet"))
