"""Generated tables with hostile values, in Parquet and in CSV: both engines make the same store and the same report."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from both_engines import LIGHT, compare
from clusters import SPARK
from stored import catalog, category, days, number, table, write_parquet
from tacit.data.prepare import ranking
from tacit.data.spark import cluster
from tacit.privacy.catalog import Catalog, Column, Owner, Source

pytestmark = [*SPARK, pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.usefixtures("spark")]

EXAMPLES = int(os.environ.get("TACIT_PREPARATIONS", "25"))
NUMBERS = [
    "1d",
    "NaN",
    "Infinity",
    " 1 ",
    "\uff11",
    "9" * 25,
    "-0",
    "1e400",
    "1e-400",
    "0x1",
    "1_0",
    "+1",
    "1.",
    ".5",
    "1,5",
    "--1",
    "٣",
]
DAYS = [
    "2020-01-05",
    "10000-01-01",
    "0000-12-31",
    "-0001-01-01",
    "9999-12-31",
    "2020-02-30",
    "infinity",
    "epoch",
    "2020-1-5",
    "20200105",
]
TEXTS = [
    "\u00e9",
    "e\u0301",
    "\u0000",
    "a\u0000b",
    "\\ud800",
    "\ufffd",
    "\U0001f600",
    "two\nlines",
    'a "quoted" one',
    "\ufeff",
    "x\u00a0",
    "NULL",
]
WRITTEN = st.one_of(
    st.none(), st.just(""), st.sampled_from(NUMBERS + DAYS + TEXTS), st.text(max_size=4), st.integers(0, 9).map(str)
)
DOUBLES = st.one_of(st.none(), st.floats(), st.sampled_from([-0.0, 5e-324, 1e308, 2.4999999999999996]))
WIDE = Context(prec=60)
WHOLE = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1, 1578182400000000, 0]))
DECIMALS = st.one_of(
    st.none(),
    st.integers(-(10**37), 10**37).map(lambda each: Decimal(each).scaleb(-3, WIDE)),
    st.sampled_from([Decimal("1.005"), Decimal("-0.00")]),
)
SEXES = st.sampled_from(["F", "f", "M ", "\uff2d", None])
ROW = st.tuples(WRITTEN, WRITTEN, WRITTEN, WRITTEN, SEXES, DOUBLES, WHOLE, WHOLE, DECIMALS)
NAMES = ("who", "cost", "day", "note", "sex", "share", "big", "seen", "paid")
KINDS = {"share": pa.float64(), "big": pa.int64(), "seen": pa.timestamp("us"), "paid": pa.decimal128(38, 3)}


@pytest.fixture(autouse=True, scope="module")
def _light() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "SETTINGS", {**cluster.SETTINGS, **LIGHT})
        yield


def declared(folder: Path, source: Source | Path, most: int) -> Catalog:
    """One table of whoever a row names, with a column of every kind."""
    visits = table(
        "visits",
        source,
        number("cost", -5, 50, "0.25", nulls="keep", outside="null"),
        days("day", "2020-01-01", "2021-01-01", nulls="keep", outside="null"),
        Column("note", "text", nulls="keep", longest=8),
        category("sex", "F", "M", unknown="null", nulls="keep"),
        number("share", 0, 3, "0.5", nulls="keep"),
        number("big", -(2**40), 2**40, nulls="keep"),
        days("seen", "2020-01-01", "2021-01-01", nulls="keep"),
        number("paid", -5, 50, "0.01", nulls="keep", outside="null"),
        unit=Owner("who"),
        max_rows=most,
        no_unit="own",
    )
    made = catalog(folder, visits)
    made.kept.mkdir(exist_ok=True)
    (made.kept / ranking.KEY_FILE).write_text("0123456789abcdef" * 2)
    return made


def as_csv(folder: Path, rows: list[tuple[Any, ...]], mark: str) -> Path:
    """The rows as a CSV file, with quotes wherever they are needed; `mark` may be the byte order mark."""
    text = io.StringIO()
    written = csv.writer(text)
    written.writerow(NAMES)
    written.writerows([["" if value is None else value for value in row] for row in rows])
    (folder / "visits.csv").write_text(mark + text.getvalue(), "utf-8", newline="")
    return folder / "visits.csv"


def as_parquet(folder: Path, rows: list[tuple[Any, ...]]) -> Path:
    columns = dict(zip(NAMES, zip(*rows, strict=True) if rows else [[]] * len(NAMES), strict=True))
    types = dict.fromkeys(NAMES, pa.string()) | KINDS
    return write_parquet(folder / "visits.parquet", {name: pa.array(list(columns[name]), types[name]) for name in NAMES})


@given(rows=st.lists(ROW, max_size=12), most=st.integers(1, 3))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_generated_parquet_is_the_same(rows: list[tuple[Any, ...]], most: int, tmp_path: Path) -> None:
    compare(declared(tmp_path, as_parquet(tmp_path, rows), most))


@given(rows=st.lists(ROW, max_size=12), most=st.integers(1, 3), mark=st.sampled_from(["", "\ufeff"]))
@settings(
    max_examples=max(EXAMPLES // 4, 1),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_generated_csv_is_the_same(rows: list[tuple[Any, ...]], most: int, mark: str, tmp_path: Path) -> None:
    compare(declared(tmp_path, as_csv(tmp_path, rows, mark), most))
