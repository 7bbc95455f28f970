"""Every raw value becomes a point of its column's grid, NULL, or a dropped row, as declared; no value makes that fail."""

import math
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stored import category, days, number
from tacit.data.dialect import name
from tacit.data.engine import Workshop
from tacit.data.files.raw import Raw
from tacit.data.files.sources import Rows
from tacit.data.prepare.packing import packing_of
from tacit.data.prepare.staging import cleaned_rows, kept_condition
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Column

DROPPED = "dropped"


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    workshop = Workshop(tmp_path_factory.mktemp("spill"), "1GB")
    yield workshop
    workshop.engine.close()


def read(workshop, column, values, sql_type):
    """What becomes of raw values of an engine type: (value or DROPPED) for each."""
    columns = {column.name: column}
    relation = "(SELECT unnest(CAST($values AS VARCHAR[])) AS text, unnest($places) AS place)"
    typed = f"(SELECT CAST(text AS {sql_type}) AS raw, place FROM {relation})"
    rows = Rows(typed, {column.name: Raw("raw", sql_type)})
    value = packing_of(columns).unpack()[column.name]
    cleaned = cleaned_rows(workshop, columns, rows, {name("place"): "place"})
    query = f"SELECT {value}, {kept_condition(columns)} FROM ({cleaned}) ORDER BY place"
    texts = [None if value is None else str(value) for value in values]
    found = workshop.rows(query, {"values": texts, "places": list(range(len(texts)))})
    return [value if is_kept else DROPPED for value, is_kept in found]


def nearest(x: Fraction, column: Column) -> int:
    """The grid point of an exact number, by the rule: floor((x - low) / step + 1/2), inside the bounds."""
    low, high = column.bounds
    return min(math.floor((min(max(x, low), high) - low) / column.step + Fraction(1, 2)), column.points - 1)


# --- numbers -----------------------------------------------------------------------------------------------------------------

CENTS = number("cost", 0, 5000, "0.01")
ODD = number("x", "-7.5", 20, "2.5")
GRIDS = [
    number("x", 0, 110),
    CENTS,
    ODD,
    number("x", -(10**15), 10**15),
    number("x", "-0.000001", "0.000001", "0.000000001"),
    number("x", 10**20, 10**20 + 1000, 10),
    number("x", "0.2", "0.7", "0.1"),
]
INTEGERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-200, 200), st.sampled_from([-(2**63), 2**63 - 1, 0]))


@pytest.mark.parametrize("column", GRIDS)
@given(values=st.lists(INTEGERS, min_size=1, max_size=30))
@settings(max_examples=15, deadline=None)
def test_whole_numbers_are_rounded_exactly(workshop, column, values):
    assert read(workshop, column, values, "BIGINT") == [nearest(Fraction(x), column) for x in values]


@pytest.mark.parametrize("sql_type", ["UBIGINT", "HUGEINT", "UHUGEINT", "BIGNUM"])
def test_whole_numbers_beyond_64_bits(workshop, sql_type):
    values = [0, 1, 2**63, 2**64 - 1] + ([2**100, 2**127 - 1] if sql_type != "UBIGINT" else [])
    for column in GRIDS:
        assert read(workshop, column, values, sql_type) == [nearest(Fraction(x), column) for x in values]


@st.composite
def decimals(draw, places=12):
    """Decimals near grid points, borders and bounds, with a few digits more than any grid has."""
    base = Fraction(draw(st.integers(-3000, 3000)), draw(st.sampled_from([1, 2, 4, 20, 200, 2000, 2 * 10**9])))
    return base + Fraction(draw(st.sampled_from([-1, 0, 0, 0, 1])), 10**places)


def decimal_text(x: Fraction) -> str:
    return f"{Decimal(x.numerator) / Decimal(x.denominator):f}"


@pytest.mark.parametrize("column", GRIDS)
@given(values=st.lists(decimals(), min_size=1, max_size=30))
@settings(max_examples=15, deadline=None)
def test_decimals_and_texts_are_rounded_exactly(workshop, column, values):
    expected = [nearest(x, column) for x in values]
    texts = [decimal_text(x) for x in values]
    assert read(workshop, column, texts, "DECIMAL(18, 12)") == expected
    assert read(workshop, column, texts, "DECIMAL(38, 12)") == expected
    assert read(workshop, column, texts, "VARCHAR") == expected


def test_a_text_just_below_a_border_is_not_rounded_twice(workshop):
    below, at = "0.00" + "4" + "9" * 60, "0.005"
    assert read(workshop, CENTS, [below, at], "VARCHAR") == [0, 1]
    assert read(workshop, ODD, ["-6.25", "-6.2500000001", "-6.2499999999"], "VARCHAR") == [1, 0, 1]


def test_a_text_a_hair_above_the_bound_is_outside(workshop):
    column = number("x", 0, 5, "0.5", outside="drop")
    assert read(workshop, column, ["5", "5.000", "5.0" + "0" * 50 + "1", "-0.0" + "0" * 50 + "1", "-0"], "VARCHAR") == [
        10,
        10,
        DROPPED,
        DROPPED,
        0,
    ]


READABLE = {
    " 12 ": 12,
    "+5": 5,
    ".5": Fraction(1, 2),
    "5.": 5,
    "-.5": Fraction(-1, 2),
    "007": 7,
    "1e1": 10,
    "1.25E+1": Fraction(25, 2),
    "-0.0": 0,
    "1" * 70: 10**69,
    "-" + "9" * 400: -(10**399),
    "inf": 10**9,
    "-Infinity": -(10**9),
    "1e400": 10**9,
    "-1e400": -(10**9),
    "9223372036854775807": 10**18,
    "-9223372036854775808.5": -(10**18),
    "0" * 100 + "5": 5,
}
UNREADABLE = [
    "x",
    "1,5",
    "1 2",
    "--5",
    "1e",
    "1.2.3",
    "0x10",
    "1_000",
    "５",
    "true",
    "-",
    ".",
    "+",
    "1d",
    "$5",
    "NULL",
    "\x00",
    "1\x002",
]
MISSING = ["", "   ", "\t\r\n", "nan", "NaN", None]


@pytest.mark.parametrize("column", [ODD, number("x", 0, 15), number("x", 0, 20, "0.01"), number("x", "-1e6", "1e6", "0.000001")])
def test_numbers_as_people_write_them(workshop, column):
    assert read(workshop, column, list(READABLE), "VARCHAR") == [nearest(Fraction(x), column) for x in READABLE.values()]
    assert read(workshop, column, [*UNREADABLE, *MISSING], "VARCHAR") == [None] * len(UNREADABLE + MISSING)


DOUBLES = st.one_of(st.floats(), st.floats(-100, 100), decimals().map(float))


@pytest.mark.parametrize("column", GRIDS)
@pytest.mark.parametrize("sql_type", ["DOUBLE", "FLOAT"])
@given(values=st.lists(DOUBLES, min_size=1, max_size=30))
@settings(max_examples=15, deadline=None)
def test_doubles_follow_one_rule(workshop, column, sql_type, values):
    if sql_type == "FLOAT":
        values = [x for x in values if x == 0 or 1e-30 < abs(x) < 1e30 or not math.isfinite(x)]
        values = [float(np.float32(x)) for x in values] or [0.0]
    low, high = map(float, column.bounds)
    step = column.step

    def expected(x):
        if math.isnan(x):
            return None
        if not low <= x <= high:
            return 0 if x < low else column.points - 1
        return min(math.floor((x - low) * float(step.denominator) / float(step.numerator) + 0.5), column.points - 1)

    assert read(workshop, column, [repr(x) for x in values], sql_type) == [expected(x) for x in values]


def test_doubles_on_the_grid_stay_there(workshop):
    on_grid = [k / 100 for k in range(0, 500001, 97)]
    assert read(workshop, CENTS, [repr(x) for x in on_grid], "DOUBLE") == list(range(0, 500001, 97))
    assert read(workshop, CENTS, ["-0.0"], "DOUBLE") == [0]


@pytest.mark.parametrize("sql_type", ["DOUBLE", "VARCHAR", "DECIMAL(10,3)", "BIGINT"])
def test_what_is_outside_means_what_is_declared(workshop, sql_type):
    values = [-1, 0, 100, 101] if sql_type in ("BIGINT", "DECIMAL(10,3)") else ["-inf", 0, 100, "inf"]
    assert read(workshop, number("x", 0, 100), values, sql_type) == [0, 0, 100, 100]
    assert read(workshop, number("x", 0, 100, outside="null"), values, sql_type) == [None, 0, 100, None]
    assert read(workshop, number("x", 0, 100, outside="drop"), values, sql_type) == [DROPPED, 0, 100, DROPPED]


def test_what_is_missing_means_what_is_declared(workshop):
    for sql_type, values in {"DOUBLE": [None, "nan", 1], "VARCHAR": [None, "?", 1], "BIGINT": [None, None, 1]}.items():
        assert read(workshop, number("x", -5, 100, nulls="drop"), values, sql_type) == [DROPPED, DROPPED, 6]
        assert read(workshop, number("x", -5, 100, nulls=Fraction(40)), values, sql_type) == [45, 45, 6]
    both = number("x", 0, 9, outside="null", nulls="drop")
    assert read(workshop, both, [None, 10, 9], "BIGINT") == [DROPPED, None, 9]


def test_truths_are_numbers_too(workshop):
    assert read(workshop, number("x", 0, 1), ["true", "false", None], "BOOLEAN") == [1, 0, None]


@pytest.mark.parametrize("sql_type", ["DATE", "TIMESTAMP", "INTEGER[]", "STRUCT(a INTEGER)"])
def test_a_type_that_is_no_number_is_refused_by_name(workshop, sql_type):
    with pytest.raises(InvalidCatalog, match=r"x is declared as a"):
        read(workshop, number("x", 0, 1), [None], sql_type)


def test_a_grid_that_needs_too_many_digits_is_refused(workshop):
    with pytest.raises(InvalidCatalog, match="more than 38 digits"):
        read(workshop, number("x", 10**30, 10**30 + 1, "0.0000000001"), [1], "VARCHAR")
    with pytest.raises(InvalidCatalog, match="no decimal form"):
        read(workshop, number("x", 0, 1, "1/3"), [1], "BIGINT")


# --- categories, texts, presence ---------------------------------------------------------------------------------------------


def test_values_match_by_their_canonical_text(workshop):
    column = category("ward", "é", "Ward A", "12")
    values = ["é", "e\u0301", "  e\u0301\t", "Ward A", "ward a", "12", "12.0", "12.00", "012", "", None, "x" * 3_000_000, "é\x00"]
    assert read(workshop, column, values, "VARCHAR") == [0, 0, 0, 1, None, 2, 2, 2, None, None, None, None, None]


@pytest.mark.parametrize("values", [(1, 2, 3), (3, 1, 2), ("1", "2", "3")])
@pytest.mark.parametrize(
    ("sql_type", "given"),
    [
        ("BIGINT", [1, 3, 4, -(2**63), None]),
        ("HUGEINT", [1, 3, 4, 2**100, None]),
        ("DOUBLE", [1.0, 3.0, 1.5, "inf", "nan"]),
        ("DECIMAL(10,2)", ["1.00", "3.00", "1.50", "-1", None]),
        ("VARCHAR", ["1", " 3.0 ", "1.5", "one", ""]),
    ],
)
def test_one_and_one_point_zero_are_one_value(workshop, values, sql_type, given):
    code = {str(value): place for place, value in enumerate(values)}
    assert read(workshop, category("x", *values), given, sql_type) == [code["1"], code["3"], None, None, None]


def test_minus_zero_is_zero(workshop):
    assert read(workshop, category("x", 0, 1), ["-0.0", "0.0"], "DOUBLE") == [0, 0]


@pytest.mark.parametrize("sql_type", ["BOOLEAN", "VARCHAR", "BIGINT"])
def test_truths_as_values(workshop, sql_type):
    given = {"BOOLEAN": ["true", "false"], "VARCHAR": ["True", "FALSE"], "BIGINT": [1, 0]}[sql_type]
    assert read(workshop, category("x", False, True), [*given, None], sql_type) == [1, 0, None]


def test_unknown_values_mean_what_is_declared(workshop):
    given = ["a", "zzz", None]
    assert read(workshop, category("x", "a", "b"), given, "VARCHAR") == [0, None, None]
    assert read(workshop, category("x", "a", "b", unknown="drop"), given, "VARCHAR") == [0, DROPPED, None]
    assert read(workshop, category("x", "a", "b", unknown="other"), given, "VARCHAR") == [0, 2, None]
    assert read(workshop, category("x", "a", "b", unknown="other", nulls="other"), given, "VARCHAR") == [0, 2, 2]
    assert read(workshop, category("x", "a", "b", nulls="b"), given, "VARCHAR") == [0, None, 1]


def test_an_empty_text_is_missing_unless_it_is_a_declared_value(workshop):
    assert read(workshop, category("x", "a"), ["", " "], "VARCHAR") == [None, None]
    assert read(workshop, category("x", "a", "", unknown="drop"), ["", " ", "a"], "VARCHAR") == [1, 1, 0]


def test_values_that_are_read_alike_are_refused(workshop):
    with pytest.raises(InvalidCatalog, match="two values that are read alike"):
        read(workshop, category("x", "1", "1.0"), ["1"], "VARCHAR")


@given(values=st.lists(st.one_of(st.none(), st.text(max_size=20)), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_any_text_is_kept_composed_and_trimmed(workshop, values):
    import unicodedata

    def expected(text):
        if text is None:
            return None
        return unicodedata.normalize("NFC", text.replace("\0", "\ufffd")).strip(" \t\n\r\v\f") or None

    assert read(workshop, Column("note", "text"), values, "VARCHAR") == [expected(text) for text in values]


@given(values=st.lists(st.none() | st.text(alphabet="aé\u20ac \0", max_size=8), min_size=1, max_size=20), longest=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_a_text_that_is_too_long_is_missing_and_not_cut(workshop, values, longest):
    """Its own bytes alone decide, in the form that is stored."""
    whole = read(workshop, Column("note", "text", longest=100), values, "VARCHAR")
    fitting = [None if text is None or len(text.encode()) > longest else text for text in whole]
    assert read(workshop, Column("note", "text", longest=longest), values, "VARCHAR") == fitting
    dropped = [DROPPED if text is None else text for text in fitting]
    assert read(workshop, Column("note", "text", longest=longest, nulls="drop"), values, "VARCHAR") == dropped
    replaced = ["?" if text is None else text for text in fitting]
    assert read(workshop, Column("note", "text", longest=longest, nulls="?"), values, "VARCHAR") == replaced


def test_texts_of_other_types(workshop):
    column = Column("note", "text", nulls="none")
    assert read(workshop, column, [None, "1.50", "0.00"], "DECIMAL(10,2)") == ["none", "1.5", "0"]
    assert read(workshop, column, ["nan", "-0.0", "1e300", "0.1"], "DOUBLE")[:2] == ["none", "0"]
    assert read(workshop, column, ["\\xC3\\xA9", "\\xFF", ""], "BLOB") == ["é", "\\xFF", "none"]
    assert read(workshop, column, ["2020-01-01"], "DATE") == ["2020-01-01"]


def test_presence(workshop):
    column = Column("note", "presence")
    assert read(workshop, column, ["x", "", None], "VARCHAR") == [0, None, None]
    assert read(workshop, column, [0, "nan", None], "DOUBLE") == [0, None, None]
    assert read(workshop, column, ["[1]", None], "INTEGER[]") == [0, None]
    assert read(workshop, Column("note", "presence", nulls="drop"), ["x", None], "VARCHAR") == [0, DROPPED]


# --- dates -------------------------------------------------------------------------------------------------------------------

YEARS = days("day", "2020-01-01", "2024-12-31")
LAST = (date(2024, 12, 31) - date(2020, 1, 1)).days


@pytest.mark.parametrize("sql_type", ["DATE", "VARCHAR", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP WITH TIME ZONE"])
def test_days(workshop, sql_type):
    values = ["2020-01-01", "2020-03-01", "2024-12-31", "0001-01-01", "9999-12-31", None]
    assert read(workshop, YEARS, values, sql_type) == [0, 60, LAST, 0, LAST, None]


def test_days_far_out_and_moments(workshop):
    for sql_type in ("DATE", "VARCHAR", "TIMESTAMP"):
        values = ["infinity", "-infinity", "0044-03-15 (BC)", "99999-01-01"]
        assert read(workshop, YEARS, values, sql_type) == [LAST, 0, 0, LAST]
        assert read(workshop, days("day", "2020-01-01", "2020-12-31", outside="drop"), values, sql_type) == [DROPPED] * 4
    moments = ["2020-01-02 23:59:59", "2020-01-02T23:59:59-11:00"]
    assert read(workshop, YEARS, moments[:1], "TIMESTAMP_NS") == [1]
    assert read(workshop, YEARS, moments, "TIMESTAMP WITH TIME ZONE") == [1, 2]
    assert read(workshop, YEARS, moments, "VARCHAR") == [1, 1]


def test_days_that_are_none(workshop):
    values = ["2020-02-30", "2020-13-01", "20200101", "yesterday", "01/02/2020", "9999999-01-01", "", "1e9", "0"]
    assert read(workshop, YEARS, values, "VARCHAR") == [None] * len(values)
    assert read(workshop, days("day", "2020-01-01", "2020-12-31", nulls=Fraction(18262)), values, "VARCHAR") == [0] * len(values)
    with pytest.raises(InvalidCatalog, match="declared as a date"):
        read(workshop, YEARS, [1], "BIGINT")


def test_rows_pack_and_unpack(workshop):
    """Columns of all widths share numbers without touching each other."""
    columns = {f"c{bits:02d}": number(f"c{bits:02d}", 0, 2**bits - 1) for bits in (1, 2, 7, 31, 40, 52, 20, 5)}
    places = packing_of(columns)
    assert len(places.numbers) == 4
    for top in (0, 1):
        given = {key: f"{(column.points - 1) * top}::BIGINT" for key, column in columns.items()}
        packed = ", ".join(f"{sql} AS {alias}" for alias, sql in places.pack(given).items())
        ((*found,),) = workshop.rows(f"SELECT {', '.join(places.unpack().values())} FROM (SELECT {packed})")
        assert found == [(columns[key].points - 1) * top for key in places.unpack()]
