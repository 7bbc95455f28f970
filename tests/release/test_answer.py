"""An answer in every form: the same numbers, ends and NULLs, whatever the form; and what people see is short and true."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tacit.errors import InvalidInput
from tacit.release.answer import Answer, Column, Receipt, cell_text, record, recorded, with_names
from tacit.untrusted import visible

RECEIPT = Receipt(Fraction(1, 2), Fraction(1, 10**6), Fraction(19, 3), Fraction(0), 12, "ab" * 16)
ANSWER = Answer(
    (
        Column("code", "key", (1, 2, "other", None)),
        Column("day", "key", ("2020-01-01", "2020-02-01", None, "2020-03-01")),
        Column("n", "count", (10, -3, 2**70, 0), (5, -8, 2**70 - 5, -5), (15, 2, 2**70 + 5, 5)),
        Column("n_low", "avg", (1.25, None, 3.0, -0.5), (1.0, None, 2.5, None), (1.5, None, 5.0, None)),
        Column("last", "quantile", ("2020-01-05",) * 4, ("2020-01-01",) * 4, ("2020-01-31",) * 4),
    ),
    Fraction(95, 100),
    RECEIPT,
    notes=("error bars cover the noise",),
)
EMPTY = Answer((Column("key", "key", ()), Column("n", "count", (), (), ())), Fraction(1, 3), Receipt(Fraction(1), Fraction(0)))


def test_flat_columns_are_of_one_type_and_none_hides_another() -> None:
    flat = ANSWER.flat()
    assert list(flat) == [
        "code",
        "day",
        "n",
        "n_low_",
        "n_high",
        "n_low",
        "n_low_low",
        "n_low_high",
        "last",
        "last_low",
        "last_high",
    ]
    assert flat["code"] == ["1", "2", "other", None]
    assert flat["n"] == [10, -3, 2**70, 0]
    assert {type(number) for number in flat["n"]} == {Decimal}
    assert flat["n_low"] == [1.25, None, 3.0, -0.5]
    assert flat["n_low_"][0] == 5


def test_numbers_and_ends_that_are_all_missing_are_doubles(tmp_path: Path) -> None:
    """They had the type null, so that the files of two answers did not fit together."""
    nothing, day = (None, None), ("2020-01-05", "2020-01-06")
    columns = (
        Column("ward", "key", nothing),
        Column("n", "avg", nothing, nothing, nothing),
        Column("m", "count", (1, 2), nothing, nothing),
    )
    answer = replace(EMPTY, columns=(*columns, Column("last", "quantile", day, nothing, nothing)))
    types = {field.name: str(field.type) for field in answer.to_arrow().schema}
    assert types == {
        "ward": "null", "n": "double", "n_low": "double", "n_high": "double", "m": "int64", "m_low": "double", "m_high": "double",
        "last": "string", "last_low": "string", "last_high": "string",
    }  # fmt: skip
    answer.to_parquet(tmp_path / "answer.parquet")
    assert str(pq.read_schema(tmp_path / "answer.parquet").field("m_low").type) == "double"


def test_arrow_parquet_pandas_and_polars_hold_the_same(tmp_path: Path) -> None:
    table = ANSWER.to_arrow()
    assert table.to_pydict() == ANSWER.flat()
    ANSWER.to_parquet(tmp_path / "answer.parquet")
    assert pq.read_table(tmp_path / "answer.parquet").equals(table)
    frame = ANSWER.to_pandas()
    assert list(frame.columns) == list(ANSWER.flat())
    assert frame["n_low"].tolist()[0] == 1.25
    assert frame["n_low"].isna().tolist() == [False, True, False, False]
    polars = pytest.importorskip("polars")
    assert ANSWER.to_polars().to_dict(as_series=False) == ANSWER.flat()
    assert ANSWER.to_polars()["code"].dtype == polars.String


def test_csv_is_read_back(tmp_path: Path) -> None:
    text = ANSWER.to_csv(tmp_path / "answer.csv")
    assert (tmp_path / "answer.csv").read_text() == text
    header, *rows = csv.reader(io.StringIO(text))
    assert header == list(ANSWER.flat())
    assert rows[1][:3] == ["2", "2020-02-01", "-3"]
    assert rows[3][0] == ""


def test_json_is_what_the_design_says() -> None:
    known = json.loads(ANSWER.to_json())
    assert known["columns"][2] == {"name": "n", "kind": "count"}
    assert known["rows"][0]["code"] == 1
    assert known["rows"][0]["n"] == {"value": 10, "low": 5, "high": 15, "half_width": 5}
    assert known["rows"][1]["n_low"] == {"value": None, "low": None, "high": None}
    assert known["rows"][3]["n_low"] == {"value": -0.5, "low": None, "high": None}
    assert known["rows"][0]["last"] == {"value": "2020-01-05", "low": "2020-01-01", "high": "2020-01-31"}
    assert known["rows"][2]["n"] == {"value": str(2**70), "low": str(2**70 - 5), "high": str(2**70 + 5), "half_width": 5}
    assert (known["price"], known["left"]) == ({"epsilon": "0.5", "delta": "0.000001"}, {"epsilon": "19/3", "delta": "0"})
    assert (known["entry"], known["data_version"], known["confidence"]) == (12, "ab" * 16, 0.95)


@pytest.mark.parametrize("answer", [ANSWER, EMPTY])
def test_what_is_kept_comes_back_as_it_was(answer: Answer) -> None:
    kept = recorded(record(answer))
    price = Receipt(answer.receipt.epsilon, answer.receipt.delta)
    assert kept == replace(answer, receipt=price), "a balance belongs to whoever asks, and is not kept"
    assert with_names(answer, [f"x{at}" for at in range(len(answer.columns))]).columns[1].name == "x1"


@pytest.mark.parametrize("answer", [ANSWER, EMPTY])
def test_every_form_takes_every_answer(answer: Answer, tmp_path: Path) -> None:
    assert answer.to_arrow().num_rows == len(answer)
    assert len(answer.to_pandas()) == len(answer)
    answer.to_parquet(tmp_path / "x.parquet")
    assert answer.to_csv().count("\n") == len(answer) + 1
    assert len(str(answer).splitlines()) == len(answer) + 3
    assert answer._repr_html_().count("<tr>") == len(answer) + 1
    console = Console(file=io.StringIO(), width=200)
    console.print(answer)


# --- for people ------------------------------------------------------------------------------------------------------------------


def cell(value: Any, low: Any, high: Any, kind: str = "avg") -> str:
    return cell_text(Column("x", kind, (value,), (low,), (high,)), 0)


@pytest.mark.parametrize(
    ("released", "text"),
    [
        ((1234, 1000, 1468), "1,234 ± 234"),
        ((35, 35, 35), "35 ± 0"),
        ((12.3456, 11.3456, 13.3456), "12.3 ± 1.0"),
        ((0.00012345, 0.00011345, 0.00013345), "0.000123 ± 0.000010"),
        ((595.4, 575.0, 620.0), "595 [575, 620]"),
        ((1e12, 1e12 - 5e9, 1e12 + 5e9), "1,000,000,000,000 ± 5,000,000,000"),
        ((None, None, None), "NULL"),
        ((17.25, None, None), "17.25 (error unbounded)"),
        (("2020-01-05", "2020-01-01", "2020-01-31"), "2020-01-05 [2020-01-01, 2020-01-31]"),
    ],
)
def test_a_number_is_shown_with_as_many_digits_as_its_bar_allows(released: tuple[Any, Any, Any], text: str) -> None:
    assert cell(*released) == text


def test_a_quantile_of_whole_values_has_no_decimals() -> None:
    """It is a value of the grid; an average that is whole by chance keeps the digits of its error."""
    assert cell(49.0, 48.0, 51.0, "quantile") == "49 [48, 51]"
    assert cell(49.0, 49.0, 49.0, "quantile") == "49 ± 0"
    assert cell(49.5, 49.0, 50.0, "quantile") == "49.50 ± 0.50"
    assert cell(49.0, 48.0, 50.0, "avg") == "49.0 ± 1.0"


def test_the_table_says_what_it_cost_and_what_its_bars_mean() -> None:
    assert (
        str(ANSWER).splitlines()[-1] == "95 % intervals (per value). Spent: epsilon 0.5, delta 1e-06. Remaining: epsilon 6.33333."
    )
    assert str(EMPTY).splitlines()[-1] == "33.33 % intervals (per value). Spent: epsilon 1."


@pytest.mark.parametrize(("rows", "shown_rows", "said"), [(40, 40, False), (41, 40, True), (500_006, 40, True)])
def test_people_see_forty_rows_and_the_number_of_all(rows: int, shown_rows: int, said: bool) -> None:
    long = Answer((Column("n", "key", tuple(range(rows))),), Fraction(1, 2), Receipt(Fraction(1), Fraction(0)))
    lines = str(long).splitlines()
    assert lines[1 : 1 + shown_rows] == [str(at) for at in range(shown_rows)]
    assert len(lines) == 1 + shown_rows + 2 + said
    assert (f"40 of {rows:,} rows are shown; CSV, JSON and Parquet have all" in lines) == said
    assert long._repr_html_().count("<tr>") == 1 + shown_rows
    console = Console(file=io.StringIO(), width=200)
    console.print(long)
    assert console.file.getvalue().count("│") == 2 * shown_rows  # type: ignore[attr-defined]
    assert len(long.to_csv().splitlines()) == rows + 1


def test_an_answer_is_walked_drawn_and_shown() -> None:
    columns = (Column("ward", "key", ("a", "b")), Column("n", "count", (3, 4), (1, 2), (5, 6)))
    answer = Answer(columns, Fraction(1, 2), Receipt(Fraction(1), Fraction(0)))
    assert list(answer) == answer.rows()
    assert repr(answer) == str(answer)
    assert answer.plot().svg() == answer.chart().svg()
    page = answer._repr_html_()
    assert page.count("text-align: right") == 2
    assert ">± 2<" in page, "the interval has a place of its own, beside its number"
    assert page.count("data:image/svg+xml;base64,") == 1
    assert "<style" not in page, "the styles of a chart stay in its image"


HOSTILE = ["[bold]x[/bold]", "[/]", "a\nb", "\x1b[2Jgone", "<b>&amp;</b>", "\u202egnp", "tab\there", "\r\n", "[red", "🙂é"]


def test_keys_of_private_text_cannot_steer_a_terminal_or_a_page() -> None:
    answer = Answer((Column("[u]key", "key", tuple(HOSTILE)),), Fraction(1, 2), Receipt(Fraction(1), Fraction(0)))
    plain = str(answer)
    assert len(plain.splitlines()) == len(HOSTILE) + 3
    assert "\x1b" not in plain
    console = Console(file=io.StringIO(), width=300)
    console.print(answer)
    drawn = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[bold]x[/bold]" in drawn
    assert "[u]key" in drawn
    assert "\x1b[2J" not in drawn
    assert "<b>" not in answer._repr_html_()
    assert answer["[u]key"] == tuple(HOSTILE)


@given(st.text(max_size=30))
def test_any_text_is_shown_on_one_line(text: str) -> None:
    line = cell_text(Column("x", "key", (text,)), 0)
    assert visible(line) == line
    assert len(line.splitlines()) <= 1


def test_a_column_that_is_not_there_is_named() -> None:
    assert ANSWER["n"][0] == 10
    with pytest.raises(InvalidInput, match="unknown column 'm'"):
        ANSWER["m"]


def test_an_interval_that_is_the_whole_range_is_unknown():
    column = Column("mean", "avg", (55.0, 40.0), (0.0, 38.5), (110.0, 110.0), (0.0, 110.0))
    answer = Answer((column,), Fraction(95, 100), Receipt(Fraction(1), Fraction(0)))
    assert [cell_text(column, at) for at in (0, 1)] == ["unknown [0, 110]", "40 [38, 110]"]
    cells = [row["mean"] for row in answer.rows()]
    assert cells[0]["unknown"] is True
    assert "unknown" not in cells[1]
    assert recorded(record(answer)).columns == answer.columns
    assert not Column("n", "count", (3,), (-9,), (15,)).is_unknown(0)


def test_dates_that_are_the_whole_range_are_unknown():
    range_of = "2020-01-01", "2024-12-31"
    column = Column("last", "quantile", ("2022-03-04",) * 2, ("2020-01-01",) * 2, ("2024-12-31", "2023-01-01"), range_of)
    assert [cell_text(column, at) for at in (0, 1)] == ["unknown [2020-01-01, 2024-12-31]", "2022-03-04 [2020-01-01, 2023-01-01]"]
    answer = Answer((column,), Fraction(95, 100), Receipt(Fraction(1), Fraction(0)))
    assert [row["last"].get("unknown") for row in answer.rows()] == [True, None]
    assert recorded(record(answer)).columns == answer.columns
