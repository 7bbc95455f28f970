"""Which kinds and formats fit a file: forms from a public list, and one person's rows change nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.files import fitting
from tacit.data.files.fitting import FORMS, fit, fits_of
from tacit.data.files.kinds import Field

HEADER = "Nr;Alter;Wohnort;Datum;Umsatz;Quote"
ROWS = [
    f"{n};{n % 90};{('Köln', 'Zürich', 'Bonn')[n % 3]};{n % 28 + 1:02}.{n % 12 + 1:02}.2024;{n + 1}.250,{n % 90 + 10};0,{n % 9}"
    for n in range(400)
]
ONE_PERSON = ["x;?;1;2024/13/45;1e9;-", "7;200;\u0141\u00f3d\u017a;1.1.24;99,9;a", ";;;;;", "9;9;9;9;9;9", '"";"";"";"";"";""']


def german(folder, rows, encoding="cp1252"):
    path = folder / "umsatz.csv"
    path.write_bytes("\r\n".join([HEADER, *rows, ""]).encode(encoding, "replace"))
    return fits_of(path, ())


def test_a_german_file(tmp_path):
    fits = german(tmp_path, ROWS)
    assert (fits.encoding, fits.separator) == ("windows-1252", "semicolon")
    assert {name: each.words for name, each in fits.columns.items()} == {
        "Nr": "whole number",
        "Alter": "whole number",
        "Wohnort": "text, or several forms",
        "Datum": "day.month.year",
        "Umsatz": "number with 2 decimals, decimal comma, point between thousands",
        "Quote": "number with 1 decimals, decimal comma",
    }
    assert german(tmp_path, ROWS, "utf-8").encoding is None


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(ONE_PERSON), max_size=8), st.integers(0, 399), st.integers(0, 8))
def test_the_rows_of_one_person_change_nothing(tmp_path_factory, added, place, removed):
    """Up to eight rows of any form, added anywhere, and up to eight rows removed."""
    folder = tmp_path_factory.mktemp("neighbours")
    neighbour = [*ROWS[:place], *added, *ROWS[place + removed :]]
    assert german(folder, neighbour) == german(folder, ROWS)


def test_a_rule_that_one_row_decides_is_caught(tmp_path, monkeypatch):
    """Planted: all values must fit, as type inference of most readers has it."""
    monkeypatch.setattr(fitting, "NEARLY_ALL", (1, 1))
    assert german(tmp_path, [*ROWS, ONE_PERSON[0]]) != german(tmp_path, ROWS)


def test_nothing_of_the_values_is_in_the_result(tmp_path):
    """Other values of the same forms give the same result: no bound, no value and no count."""
    scaled = [row.replace("Köln", "Mürren").replace(".2024", ".1999") for row in ROWS[:300]]
    assert german(tmp_path, scaled) == german(tmp_path, ROWS)


def test_few_values_say_nothing(tmp_path):
    assert {each.words for each in german(tmp_path, ROWS[:60]).columns.values()} == {"too few values to tell"}


def test_a_few_lines_say_nothing_of_the_encoding(tmp_path):
    plain = [row.replace("ö", "o").replace("ü", "u") for row in ROWS]
    assert german(tmp_path, [*plain, *ROWS[:8]]).encoding is None


def test_day_and_month_that_cannot_be_told_apart():
    counts = [0] * len(FORMS)
    for place, form in enumerate(FORMS):
        counts[place] = 100 * (form.notation.get("format") in ("%d/%m/%Y", "%m/%d/%Y"))
    assert fit(100, counts).notation == {}
    assert "cannot be told apart" in fit(100, counts).words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2024-01-31", "day, year first"),
        ("2024-01-31 10:30:00", "day, year first"),
        ("31/01/2024", "day/month/year"),
        ("01/31/2024", "month/day/year"),
        ("20240131", "yearmonthday"),
        ("-12.5", "number with 1 decimals, decimal point"),
        ("1,234.50", "number with 2 decimals, decimal point, comma between thousands"),
        ("1'234.50", "number with 2 decimals, decimal point, apostrophe between thousands"),
        ("TRUE", "true or false"),
        ("abc", "text, or several forms"),
    ],
)
def test_forms(tmp_path, text, words):
    path = tmp_path / "t.csv"
    path.write_text("a|b\n" + f"{text}|x\n" * 120)
    assert fits_of(path, ()).columns["a"].words == words


def test_parquet_has_types_and_texts_are_read(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"n": list(range(200)), "day": ["31.01.2024"] * 200}), path)
    fits = fits_of(path, (Field("n", "BIGINT"), Field("day", "VARCHAR")))
    assert {name: each.words for name, each in fits.columns.items()} == {"day": "day.month.year"}
