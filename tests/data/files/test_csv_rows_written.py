"""How a source writes values is declared, and read by that rule alone: exactly, row by row, and never as something else in silence.

Each check of rows against rows is shown to catch a planted bug.
"""

import codecs
import math
import re
from datetime import date, timedelta
from fractions import Fraction
from io import BytesIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stored import catalog, category, days, number, stored, table, write_csv, write_parquet
from tacit.data.catalog.columns import ROW_BY_ROW, Wrong, read_encoding, read_notation
from tacit.data.dialect import name
from tacit.data.engine import Workshop
from tacit.data.files import csv_rows
from tacit.data.files.csv_rows import Transcoded
from tacit.data.files.raw import Raw
from tacit.data.files.sources import Rows
from tacit.data.prepare import prepare
from tacit.data.prepare.cleaning import FATES
from tacit.data.prepare.staging import cleaned_rows, fate_name
from tacit.privacy.catalog import PLAIN, Column, Notation, Owner, Source, fingerprint, fingerprint_of_format_1


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    workshop = Workshop(tmp_path_factory.mktemp("spill"), "1GB")
    yield workshop
    workshop.engine.close()


def read(workshop, column, values, sql_type="VARCHAR"):
    """The (fate, code) of raw values."""
    relation = "(SELECT unnest(CAST($values AS VARCHAR[])) AS text, unnest($places) AS place)"
    rows = Rows(f"(SELECT CAST(text AS {sql_type}) AS raw, place FROM {relation})", {column.name: Raw("raw", sql_type)})
    query = cleaned_rows(workshop, {column.name: column}, rows, {name("place"): "place"})
    value = '"tacit_row 0"' if column.kind != "text" else name(column.name)
    texts = [None if value is None else str(value) for value in values]
    found = workshop.rows(
        f"SELECT {fate_name(column.name)}, {value} FROM ({query}) ORDER BY place", {"values": texts, "places": [*range(len(texts))]}
    )
    return [(FATES[fate], code if FATES[fate] in ("clean", "rounded") else None) for fate, code in found]


# --- numbers ---------------------------------------------------------------------------------------------------------------------

NOTATIONS = [Notation(d, t) for d in ".," for t in ("", ".", ",", " ", "'", "_", "\u202f") if d != t]


def meant(text, notation):
    """The exact number that a text is, by the rule: digits, in groups of three or none, and at most one decimal sign; or None."""
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    whole, _, fraction = digits.partition(notation.decimal)
    if notation.thousands and notation.thousands in whole:
        first, *groups = whole.split(notation.thousands)
        if not 1 <= len(first) <= 3 or any(len(group) != 3 for group in groups):
            return None
        whole = first + "".join(groups)
    if not re.fullmatch("[0-9]*", whole, re.ASCII) or not re.fullmatch("[0-9]*", fraction, re.ASCII) or not whole + fraction:
        return None
    return Fraction(f"{sign}{whole or 0}.{fraction or 0}")


def fate_of(text, column):
    x = meant(text, column.notation)
    if x is None:
        return "unreadable", None
    low, high = column.bounds
    if not low <= x <= high:
        return ("below" if x < low else "above"), None
    steps = (x - low) / column.step
    return ("clean" if steps.denominator == 1 else "rounded"), min(math.floor(steps + Fraction(1, 2)), column.points - 1)


@pytest.mark.parametrize("step", ["1", "0.01", "2.5"])
@given(
    st.sampled_from(NOTATIONS),
    st.lists(st.text(st.sampled_from("0123456789.,'- _"), min_size=1, max_size=9), min_size=1, max_size=20),
)
@settings(max_examples=25, deadline=None)
@example(Notation(",", "."), ["962.692", "1.234,56", "4812,35", "1.5", "12.34.567", "-1.000", "1,", ",5", "1.234.567,891"])
@example(Notation(), ["962.692", "4812,35", "1,234", "12 000", "5"])
def test_numbers_are_read_by_the_declared_signs_and_by_nothing_else(workshop, step, notation, texts):
    column = number("x", -1000, 2_000_000, step, notation=notation)
    texts = [
        stripped for text in texts if (stripped := text.strip()) and "_" not in stripped.replace(notation.thousands or "\0", "")
    ]
    assert read(workshop, column, texts) == [fate_of(text, column) for text in texts]


def check_read_alone(reader, texts):
    """What becomes of a value among others is what becomes of it alone."""
    assert reader(texts) == [one for text in texts for one in reader([text])]


@given(st.sampled_from(NOTATIONS), st.lists(st.text(st.sampled_from("0123456789.,N-"), max_size=7), min_size=2, max_size=6))
@settings(max_examples=10, deadline=None)
def test_no_value_has_a_say_in_how_another_is_read(workshop, notation, texts):
    column = number("x", 0, 2_000_000, notation=Notation(notation.decimal, notation.thousands, missing=("N", "-9")))
    check_read_alone(lambda values: read(workshop, column, values), texts)


def test_a_reader_that_guesses_the_sign_from_the_column_is_caught(workshop):
    def guessing(texts):
        sign = "," if any("," in text for text in texts) else "."
        return read(workshop, number("x", 0, 5000, notation=Notation(sign)), texts)

    with pytest.raises(AssertionError):
        check_read_alone(guessing, ["4812,35", "962.692"])


@pytest.mark.parametrize("sql_type", ["DOUBLE", "DECIMAL(18, 4)", "BIGINT"])
def test_numbers_with_a_type_are_rounded_in_sight_too(workshop, sql_type):
    column = number("x", 0, 1000, "2.5")
    values = [0, 5, 4] if sql_type == "BIGINT" else [0, "2.5", "4.1"]
    assert [fate for fate, _ in read(workshop, column, values, sql_type)] == ["clean", "clean", "rounded"]
    cents = [f"{cents / 100:.2f}" for cents in range(1000)]
    assert {fate for fate, _ in read(workshop, number("x", 0, 10**9, "0.01"), cents, "DOUBLE")} == {"clean"}


# --- days ------------------------------------------------------------------------------------------------------------------------

FORMATS = ["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%d %b %Y", "%d.%m.%y", "%d.%m.%Y %H:%M", "%Y-%j", "%B %d, %Y"]


@given(st.sampled_from(FORMATS), st.lists(st.integers(0, 9000), min_size=1, max_size=20))
@settings(max_examples=25, deadline=None)
def test_a_day_is_read_as_it_is_written(workshop, written, numbers):
    first = date(2000, 1, 1)
    texts = [(first + timedelta(number)).strftime(written) for number in numbers]
    column = days("day", "2000-01-01", "2049-12-31", notation=Notation(format=written))
    assert read(workshop, column, texts) == [("clean", number) for number in numbers]


def test_a_day_in_another_form_is_unreadable(workshop):
    plain = days("day", "0001-01-01", "2049-12-31")
    odd = ["31.12.2023", "31/12/2023", "12/31/2023", "31/12/20", "31-12-20", "1.2.23", "20231231"]
    assert {fate for fate, _ in read(workshop, plain, odd)} == {"unreadable"}
    german = days("day", "0001-01-01", "2049-12-31", notation=Notation(format="%d.%m.%Y"))
    assert {fate for fate, _ in read(workshop, german, ["2023-12-31", "31/12/2023", "31.2.2023", "1.2.23", "12.31.2023"])} == {
        "unreadable"
    }
    assert read(workshop, days("day", "2023-01-01", "2023-12-31", notation=Notation(format="%Y%m%d")), [20230102], "BIGINT") == [
        ("clean", 1)
    ]


# --- what is missing -------------------------------------------------------------------------------------------------------------


def test_codes_for_missing_values_are_missing_in_every_kind_of_column(workshop):
    codes = Notation(missing=("N", "-9"))
    texts = ["N", " N ", "-9", "-9.0", "n", "9"]
    fates = {
        number("x", -10, 10, notation=codes): ["missing"] * 4 + ["unreadable", "clean"],
        category("x", "n", "9", notation=codes): ["missing"] * 4 + ["clean", "clean"],
        Column("x", "text", notation=codes): ["missing"] * 4 + ["clean", "clean"],
        Column("x", "presence", notation=codes): ["missing"] * 4 + ["clean", "clean"],
        days("x", "2020-01-01", "2021-01-01", notation=codes): ["missing"] * 4 + ["unreadable"] * 2,
    }
    for column, expected in fates.items():
        assert [fate for fate, _ in read(workshop, column, texts)] == expected
    for sql_type in ("BIGINT", "DOUBLE", "DECIMAL(9, 2)"):
        assert [fate for fate, _ in read(workshop, number("x", -10, 10, notation=codes), [-9, 9, None], sql_type)] == [
            "missing",
            "clean",
            "missing",
        ]


def test_a_key_may_be_missing_too(tmp_path):
    visits = write_parquet(tmp_path / "visits.parquet", {"patient": [1, 2, -9], "cost": [5, -9, 7]})
    declared = table("visits", visits, number("cost", 0, 9), unit=Owner("patient"), max_rows=2, notation=Notation(missing=("-9",)))
    (report,) = prepare(catalog(tmp_path, declared)).tables
    assert report.dropped == {"value": 0, "no unit": 1, "limit": 0}


def test_columns_of_a_public_table_are_written_as_the_table_says(tmp_path):
    wards = write_csv(
        tmp_path / "wards.csv", ["ward", "beds", "rent", "open"], [["a", "1.200", "4,5", "31.12.2020"], ["-", "-", "7", "-"]]
    )
    notation = read_notation({"thousands": ".", "format": "%d.%m.%Y", "missing": ["-"]})
    prepared = catalog(tmp_path, table("wards", wards, public=True, notation=notation))
    (report,) = prepare(prepared).tables
    assert (report.left_out, report.alarms) == ({}, ())
    assert stored(prepared, "wards", "ward", "beds", "rent", "open") == [(0, 0, 0, 0), (None, None, 25, None)]


# --- encodings -------------------------------------------------------------------------------------------------------------------


def known_encodings():
    from encodings.aliases import aliases

    found = {codecs.lookup(name).name for name in {*aliases.values()} if name not in ("mbcs", "oem")}
    return sorted(name for name in found if ROW_BY_ROW.fullmatch(name))


def check_row_by_row(encoding, rows):
    """What stands in a row has no say in what the next one is read as: none of these rows swallows the end of its line."""
    following = "\nx,7\n".encode(encoding)
    found = Transcoded(BytesIO(b"".join(row + following for row in rows)), encoding).read(1 << 26).decode()
    assert found.count("\nx,7\n") == len(rows), encoding


def units(encoding):
    """Units of UTF-16 and UTF-32 that are half of a character, or none."""
    order = "big" if encoding.endswith("be") else "little"
    return [(unit << 8).to_bytes(2 if "16" in encoding else 4, order) for unit in (*range(0xD7, 0xE1), 0xFF)]


@pytest.mark.parametrize("encoding", known_encodings())
def test_no_bytes_of_a_row_change_the_next_one(encoding):
    """Each byte; after those that begin a character, each other and some thirds."""
    if encoding.startswith(("utf-16", "utf-32")):
        return check_row_by_row(encoding if encoding.endswith("e") else f"{encoding}-le", units(encoding))
    free = [bytes([byte]) for byte in range(256) if bytes([byte]) not in (b"\n", b"\r")]
    leads = [byte for byte in free if not codecs.getincrementaldecoder(encoding)("replace").decode(byte)]
    pairs = [one + other for one in leads for other in free]
    return check_row_by_row(encoding, [*free, *pairs, *(pair + b"\x81" for pair in pairs)])


@pytest.mark.parametrize("encoding", ["iso2022_jp", "hz", "utf-7", "euc_kr"])
def test_encodings_in_which_a_row_changes_the_next_are_not_read_as_they_are(encoding):
    """The check would catch those that do."""
    if encoding == "euc_kr":
        assert read_encoding(encoding) == "cp949"
    else:
        with pytest.raises(Wrong, match="one row can change how"):
            read_encoding(encoding)
    if encoding != "utf-7":
        with pytest.raises(AssertionError):
            check_row_by_row(encoding, [b"\x1b$B", b"~{", b"\xa4\xd4"])


@pytest.mark.parametrize(
    ("encoding", "bad"), [("windows-1252", b"\x81"), ("utf-16", b"\x00\xd8"), ("shift_jis", b"\x81"), ("latin-1", b"")]
)
def test_a_file_in_another_encoding_is_read_and_a_bad_byte_is_one_value(encoding, bad, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_rows, "DECODED", 3)
    letter = "é" if encoding != "shift_jis" else "東"
    rows = [f"id,n{letter},note\n1,5,{letter}\n2,".encode(encoding), bad]
    rows.append(
        (f"6,b\n3,7,{letter}{letter}\n" if encoding != "utf-16" else f"\ufeff6,b\n3,7,{letter}{letter}\n").encode(encoding)[
            2 * (encoding == "utf-16") :
        ]
    )
    (tmp_path / "a.csv").write_bytes(b"".join(rows))
    source = Source("csv", "a.csv", encoding=read_encoding(encoding))
    prepared = catalog(tmp_path, table("a", source, number("id", 0, 9), number(f"n{letter}", 0, 9), Column("note", "text")))
    (report,) = prepare(prepared).tables
    found = stored(prepared, "a", "id", f"n{letter}", "note")
    middle = found.pop(1)
    assert found == [(1, 5, letter), (3, 7, letter * 2)]
    if encoding in ("windows-1252", "utf-16"):
        assert (middle, report.columns[1].fates["unreadable"]) == ((2, None, "b"), 1)
        assert "encoding" in report.columns[1].causes["unreadable"]
    if encoding == "latin-1":
        assert middle == (2, 6, "b")


# --- the fingerprint -------------------------------------------------------------------------------------------------------------


def test_another_way_of_writing_is_another_catalog(tmp_path):
    def of(notation=PLAIN, column=PLAIN, **source):
        return catalog(tmp_path, table("a", Source("csv", "a", **source), number("x", 0, 9, notation=column), notation=notation))

    ways = [Notation(","), Notation(thousands=","), Notation(format="%Y%m%d"), Notation(missing=("N",))]
    found = [of(), of(encoding="cp1252"), *(of(way) for way in ways), *(of(column=way) for way in ways)]
    assert len({fingerprint(each) for each in found}) == len(found)
    assert len({fingerprint_of_format_1(each) for each in found}) == 1, "format 1 knew nothing of it"
