"""Every aggregate on every kind of column: the values are of the type that the aggregate has, in every form of the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import questions
from stored import catalog, table
from tacit.errors import Refused
from tacit.privacy.catalog import Column, Owner
from tacit.query.price.price import price, request
from tacit.query.question import Call
from tacit.release.answer import Answer, Receipt, cell_text
from tacit.release.noisy import noised
from tacit.release.tabulate import answer
from worlds import World, ranked, world_in_memory

ALIKE = ("signed", "shifted", "below")  # as other numbers of COLUMNS
COLUMNS = (Column("person", "key"), *(each for each in questions.COLUMNS if each.name not in ALIKE), Column("scan", "presence"))
RANKS = ["MIN({})", "MEDIAN({})", "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {})"]
SUMS = ["COVAR_SAMP({0}, small)", "COVAR_POP(cents, {})", "SUM({})", "AVG({})", "VAR_SAMP({})", "STDDEV_POP({})"]
COUNTS = ["COUNT({})", "COUNT({}) FILTER (WHERE small > 2)", "COUNT(DISTINCT {})"]
WHOLE, REAL, DAY, LARGE = "a whole number", "a number", "a date", "a number beyond doubles"
NUMBER_LINE = r"-?[\d,]+(\.\d+)?( ± [\d,]+(\.\d+)?| \[-?[\d,]+(\.\d+)?, -?[\d,]+(\.\d+)?\])|unknown \[.*\]|NULL"
TEXT = {
    WHOLE: r"-?[\d,]+( ± [\d,]+| \[-?[\d,]+, -?[\d,]+\])",
    REAL: NUMBER_LINE,
    DAY: r"\d{4}-\d\d-\d\d( \[.*\])?|unknown \[.*\]",
    LARGE: NUMBER_LINE,
}
TYPES = {WHOLE: int, REAL: float, DAY: str, LARGE: Decimal}


def expected(aggregate: str, column: Column) -> str | None:
    """What an aggregate of a column is, by the declared kind alone; None where it is refused."""
    if aggregate in COUNTS:
        filtered = "FILTER" in aggregate and column.kind in ("text", "presence", "key")
        values = "DISTINCT" in aggregate and column.kind == "presence"
        return None if filtered or values else WHOLE
    if column.kind == "date":
        return DAY if aggregate in RANKS else None
    numbers = column.kind == "number" or (column.kind == "category" and set(map(type, column.domain)) in ({bool}, {int}))
    return (LARGE if (aggregate, column.name) == ("SUM({})", "wide") else REAL) if numbers else None


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("kinds")
    people = table("people", folder / "people.csv", *COLUMNS, unit=Owner("person"), max_rows=2, rows_at_most=1000)
    row: dict[str, Any] = {column.name: 1 for column in COLUMNS if column.kind not in ("key", "text")}
    with world_in_memory(catalog(folder, people), {"people": ranked([[{**row, "note": "a"}]] * 50)}) as made:
        yield made


def asked(place: World, text: str) -> Answer:
    (quote, *_) = price(place.plan(text), request(epsilon=5))
    return answer(quote, noised(quote, place.engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))


def of_kind(kind: str, value: Any) -> bool:
    if kind == DAY:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    return type(value) is TYPES[kind]


def in_json(kind: str, value: Any) -> bool:
    """A number that a reader of doubles would change is its exact text."""
    return of_kind(kind, Decimal(value)) and isinstance(value, str) if kind == LARGE else of_kind(kind, value)


def in_arrow(kind: str, known: pa.DataType) -> bool:
    return pa.types.is_decimal(known) if kind == LARGE else known == {WHOLE: pa.int64(), REAL: pa.float64(), DAY: pa.string()}[kind]


def disagreements(found: Answer, name: str, kind: str) -> list[str]:
    """The forms in which the values of a column, or their ends, are not of the kind."""
    column = found.column(name)
    ends = [*column.values, *(column.low or ()), *(column.high or ())]
    cell = json.loads(found.to_json())["rows"][0][name]
    arrow, pandas = found.to_arrow(), found.to_pandas()
    wrong = {
        "Python": not all(of_kind(kind, value) for value in ends),
        "text": not re.fullmatch(TEXT[kind], cell_text(column, 0)),
        "JSON": not all(in_json(kind, cell[end]) for end in ("value", "low", "high")),
        "Arrow": not all(in_arrow(kind, arrow.schema.field(end).type) for end in (name, f"{name}_low", f"{name}_high")),
        "pandas": not all(of_kind(kind, value) for value in pandas[name].tolist()),
    }
    return [form for form, is_wrong in wrong.items() if is_wrong]


@pytest.mark.parametrize("beside", [[*COUNTS, *RANKS, "SUM({})"], SUMS], ids=["alone", "beside an average"])
@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_the_type_of_the_values_agrees_with_the_kind(place: World, column: Column, beside: list[str]) -> None:
    kinds = {aggregate: expected(aggregate, column) for aggregate in beside}
    for aggregate in (aggregate for aggregate, kind in kinds.items() if kind is None):
        with pytest.raises(Refused):
            place.plan(f"SELECT {aggregate.format(column.name)} FROM people")
    named = {f"x{at}": (aggregate, kind) for at, (aggregate, kind) in enumerate(kinds.items()) if kind is not None}
    if not named:
        return
    found = asked(place, f"SELECT {', '.join(f'{each.format(column.name)} AS {x}' for x, (each, _) in named.items())} FROM people")
    assert {each: disagreements(found, x, kind) for x, (each, kind) in named.items()} == {each: [] for each, _ in named.values()}


def test_a_count_of_dates_that_is_a_date_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: whatever is over dates is a date."""
    monkeypatch.setattr(
        Call, "is_date", property(lambda self: self.over is not None and type(self.over.type).__name__ == "DateType")
    )
    planted = asked(place, "SELECT COUNT(seen) AS x FROM people")
    assert disagreements(planted, "x", WHOLE) == ["Python", "text", "JSON", "Arrow", "pandas"]


def test_a_count_of_dates_is_compared_and_computed_with_as_a_number(place: World) -> None:
    found = asked(place, "SELECT COUNT(seen) + 1 AS x FROM people HAVING COUNT(seen) > 5 ORDER BY COUNT(seen)")
    assert found["x"][0] > 5
    with pytest.raises(Refused, match="a number is compared with"):
        place.plan("SELECT COUNT(seen) FROM people HAVING COUNT(seen) > '2020-01-01'")


@pytest.mark.parametrize(
    ("key", "kind"),
    [("small", int), ("cents", float), ("fruit", str), ("flag", bool), ("DATE_TRUNC('year', day)", str), ("SIGN(wide)", int)],
)
def test_keys_are_of_the_type_that_is_declared(place: World, key: str, kind: type, tmp_path: Path) -> None:
    found = asked(place, f"SELECT {key} AS k, COUNT(*) AS n FROM people GROUP BY {key}")
    assert {type(value) for value in found["k"] if value is not None} <= {kind, *([int] if kind is float else [])}
    assert found.to_arrow().schema.field("n").type == pa.int64()
