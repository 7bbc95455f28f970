"""Frames given in Python: prepared as a Parquet file of the same rows, recognized by the register, refused without a cell."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from stored import by_unit, stored
from tacit.data import registering
from tacit.data.files import sources as memory
from tacit.data.files.sources import as_arrow, given_tables
from tacit.errors import InvalidInput, StoreUnusable

CATALOG = """
[budget]
epsilon = 8
[tables.visits]
source = {source}
unit = {{ column = "person" }}
max_rows = 2
rows_at_most = 10000
[tables.visits.columns]
age = {{ bounds = [0, 110] }}
weight = {{ bounds = [0, 200], step = 0.5 }}
price = {{ bounds = [0, 100], step = 0.01 }}
large = {{ bounds = [0, 100] }}
ward = {{ values = ["north", "south"], unknown = "other" }}
note = {{ keys = "private" }}
day = {{ type = "date", bounds = ["2020-01-01", "2024-12-31"] }}
moment = {{ type = "date", bounds = ["2020-01-01", "2024-12-31"] }}
zoned = {{ type = "date", bounds = ["2020-01-01", "2024-12-31"] }}
second = {{ type = "date", bounds = ["2020-01-01", "2024-12-31"] }}
ill = {{ values = [true, false] }}
nested = {{}}
"""
ROWS = 6
STORED = ("age", "weight", "price", "large", "ward", "note", "day", "moment", "zoned", "second", "ill", "nested")
WARDS = ["north", "south", None, "east", "north", "north"]
MOMENT = datetime(2021, 3, 4, 23, 30)
COLUMNS: Mapping[str, pa.Array] = {
    "person": pa.array([1, 1, 1, 2, None, 3], pa.int32()),
    "Age": pa.array([7, None, 300, -2, 9, 10], pa.int16()),
    "weight": pa.array([70.25, float("nan"), None, float("inf"), -0.0, 80.0], pa.float32()),
    "price": pa.array([*map(Decimal, ("1.25", "0.01", "1000.00", "-1.00", "5.00")), None], pa.decimal128(9, 2)),
    "large": pa.array([2**64 - 1, 0, None, 7, 100, 101], pa.uint64()),
    "ward": pa.array(WARDS).dictionary_encode(),
    "note": pa.array(["caf\u00e9", " x ", None, "", "long " * 100, "y"], pa.large_string()),
    "day": pa.array([date(2020, 1, 1), None, date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), date(2022, 1, 1)]),
    "moment": pa.array([MOMENT, None] * 3, pa.timestamp("ns")),
    "zoned": pa.array([MOMENT.replace(tzinfo=UTC), None] * 3, pa.timestamp("us", "America/New_York")),
    "second": pa.array([1_600_000_000, None, 2**60, -(2**60), 0, 1_700_000_000], pa.int64()).view(pa.timestamp("s")),
    "ill": pa.array([True, False, None] * 2),
    "nested": pa.array([[1], None, [], [2, 3], [4], None], pa.list_(pa.int64())),
    "undeclared": pa.array([{"x": 1}] * ROWS),
}  # fmt: skip
READABLE = {**COLUMNS, "second": COLUMNS["moment"].cast(pa.timestamp("s"), safe=False)}  # moments that pandas and Parquet hold


def opened(folder: Path, source: str) -> tacit.session.DataSet:
    folder.mkdir(exist_ok=True)
    place = folder / "tacit.toml"
    place.write_text(CATALOG.format(source=f'"{source}"'))
    return tacit.open(place)


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """All folders rank with one key, so that their stores can be compared."""
    monkeypatch.setattr("tacit.data.prepare.ranking_key", lambda folder: "key")


def from_parquet(folder: Path, write: Callable[[Path], object]) -> Any:
    data = opened(folder, "visits.parquet")
    write(folder / "visits.parquet")
    data.prepare(yes=True, reason="a test compares two ways to the same rows")
    return by_unit(data.catalog, "visits", *STORED)


def from_memory(folder: Path, frame: Any) -> Any:
    data = opened(folder, "memory")
    data.prepare(yes=True, sources={"visits": frame}, reason="a test compares two ways to the same rows")
    return by_unit(data.catalog, "visits", *STORED)


TABLE = pa.table(dict(READABLE))
ARROW = {
    "table": lambda: TABLE,
    "chunks": lambda: pa.concat_tables([TABLE.slice(0, 2), TABLE.slice(2)]),
    "batch": lambda: TABLE.combine_chunks().to_batches()[0],
    "reader": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=2)),
}


@pytest.mark.parametrize("form", ARROW)
def test_arrow_is_prepared_as_parquet_is(tmp_path: Path, form: str) -> None:
    expected = from_parquet(tmp_path / "file", lambda place: pq.write_table(TABLE, place))
    assert from_memory(tmp_path / "memory", ARROW[form]()) == expected
    assert sum(map(len, expected)) == 4, "two rows of the first person, one of each other; the row of nobody is left out"


def test_polars_is_prepared_as_parquet_is(tmp_path: Path) -> None:
    frame = pl.from_arrow(TABLE)
    assert isinstance(frame, pl.DataFrame)
    frame = frame.with_columns(pl.col("ward").cast(pl.Categorical), sex=pl.Series(["F"] * ROWS, dtype=pl.Enum(["F", "M"])))
    frame = pl.concat([frame.head(3), frame.tail(3)], rechunk=False)
    assert from_memory(tmp_path / "memory", frame) == from_parquet(tmp_path / "file", frame.write_parquet)


def test_pandas_is_prepared_as_parquet_is(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = TABLE.drop_columns(["undeclared"]).to_pandas()
    frame["ward"] = pandas.Categorical(WARDS)
    expected = from_parquet(tmp_path / "file", frame.to_parquet)
    assert from_memory(tmp_path / "memory", frame) == expected

    class Older(type(frame)):  # type: ignore[misc]
        """As pandas was before it exported Arrow streams."""

        __module__ = "pandas.core.frame"

        @property
        def __arrow_c_stream__(self) -> Any:
            raise AttributeError

    assert from_memory(tmp_path / "older", Older(frame)) == expected


def test_a_reader_that_changes_what_it_reads_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: NaN, which Parquet keeps, becomes 0 on the way."""
    honest = memory._frame_to_arrow

    def planted(frame: Any) -> pa.Table:
        table = honest(frame)
        at = table.column_names.index("weight")
        return table.set_column(at, "weight", pa.array([0.0] * len(table)))

    monkeypatch.setattr(memory, "_frame_to_arrow", planted)
    weights = pa.table({**READABLE, "weight": pa.array([float("nan")] * ROWS)})
    sound = from_parquet(tmp_path / "nan", lambda place: pq.write_table(weights, place))
    assert from_memory(tmp_path / "memory", weights) != sound


def test_no_value_of_a_frame_makes_preparation_fail(tmp_path: Path) -> None:
    """Moments that the engine does not hold, in each unit, and texts that are not UTF-8."""
    broken = pa.Array.from_buffers(pa.string(), 6, [None, *pa.array([b"ab\xff", b"", b"c", b"\xc3", b"d", b"e"]).buffers()[1:]])
    ends = pa.array([2**63 - 1, -(2**63), 2**62, -(2**62), 0, None], pa.int64())
    moments = {
        "second": ends.view(pa.timestamp("s")),
        "moment": ends.view(pa.timestamp("ms")),
        "zoned": ends.view(pa.timestamp("us")),
    }
    seen = from_memory(tmp_path / "memory", pa.table({**COLUMNS, **moments, "day": ends.view(pa.timestamp("ns")), "note": broken}))
    assert sum(map(len, seen)) == 4
    data = opened(tmp_path / "memory", "memory")
    assert ("\ufffd",) in stored(data.catalog, "visits", "note")


def test_a_public_table_may_be_given_too(tmp_path: Path) -> None:
    (tmp_path / "tacit.toml").write_text('[budget]\nepsilon = 1\n[tables.wards]\nsource = "memory"\npublic = true\n')
    data = tacit.open(tmp_path / "tacit.toml")
    data.prepare(sources={"Wards": pl.DataFrame({"ward": ["north"], "beds": [12]})})
    assert stored(data.catalog, "wards", "beds") == [(0,)]


# --- nothing raw stays -------------------------------------------------------------------------------------------------------


def test_the_rows_lie_in_a_private_folder_while_they_are_prepared_and_are_gone_after(tmp_path: Path) -> None:
    data, seen = opened(tmp_path, "memory"), set()

    def look(*_: object) -> None:
        for path in tmp_path.glob(".tacit/store/preparing-*/memory-*.parquet"):
            seen.add((stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)))

    data.prepare(look, yes=True, sources={"visits": TABLE})
    assert seen == {(0o600, 0o700)}
    assert not list(tmp_path.rglob("*.parquet"))


# --- what is refused ---------------------------------------------------------------------------------------------------------

SECRET = "one person's own"  # noqa: S105


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        (None, 'missing rows of visits, declared with source = "memory"; pass them in Python, for example db.prepare(sources='),
        ({}, "missing rows of visits"),
        ([TABLE], "sources must be a mapping of table names to frames, not list"),
        ({"visit": TABLE}, "unknown table 'visit' in sources; the catalog declares: visits"),
        ({"visits": {"age": [SECRET]}}, "unsupported type of sources['visits']: dict; expected a pandas or Polars DataFrame"),
        ({"visits": [[SECRET]]}, "unsupported type of sources['visits']: list"),
        ({"visits": pl.LazyFrame({"age": [1]})}, "unsupported type of sources['visits']: LazyFrame"),
        ({"visits": pl.Series("age", [SECRET])}, "sources['visits'] cannot be converted to an Arrow table"),
        ({"visits": pa.table({})}, "sources['visits'] has no columns"),
        (
            {"visits": pa.table({"age": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})},
            "unsupported type of column 'age' in sources['visits']: month_day_nano_interval; convert it",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_words_without_a_cell(tmp_path: Path, sources: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        opened(tmp_path, "memory").prepare(sources=sources)
    assert words in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_column_of_mixed_values_is_not_quoted(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidInput, match="give every column values of") as refused:
        as_arrow(pandas.DataFrame({"age": [1, SECRET]}, dtype=object), "visits")
    assert SECRET not in str(refused.value)


def test_a_table_with_a_source_of_its_own_is_not_given(tmp_path: Path) -> None:
    data = opened(tmp_path, "visits.parquet")
    with pytest.raises(InvalidInput, match='declare source = "memory", or'):
        given_tables(data.catalog, {"visits": TABLE})


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(tacit.errors.TacitError, match="missing column 'age' in the"):
        opened(tmp_path, "memory").prepare(sources={"visits": TABLE.drop_columns(["Age"])})


# --- the register ------------------------------------------------------------------------------------------------------------


def many(first: int = 0, rows: int = 200) -> pa.Table:
    numbers = list(range(first, first + rows))
    plain = {name: pa.nulls(rows, column.type) for name, column in COLUMNS.items()}
    return pa.table({**plain, "person": pa.array(numbers), "Age": pa.array([number % 100 for number in numbers])})


def begin(folder: Path, frame: Any) -> None:
    opened(folder, "memory").prepare(new_ledger=True, yes=True, sources={"visits": frame})


@pytest.mark.parametrize(
    "again",
    [
        many(),
        pa.concat_tables([many(), many(500)]),
        pl.from_arrow(many().drop_columns(["undeclared"])),
    ],
    ids=["the same rows", "rows added", "in another library"],
)
def test_the_same_rows_are_recognized_in_another_catalog(tmp_path: Path, again: Any) -> None:
    begin(tmp_path / "one", many().drop_columns(["undeclared"]) if isinstance(again, pl.DataFrame) else many())
    (tmp_path / "other").mkdir()
    with pytest.raises(StoreUnusable, match="already behind the ledger"):
        opened(tmp_path / "other", "memory").prepare(sources={"visits": again}, yes=True)


def test_other_rows_are_not_recognized(tmp_path: Path) -> None:
    begin(tmp_path / "one", many())
    begin(tmp_path / "other", many(1000))


def test_a_catalog_that_lost_its_ledger_is_recognized_whatever_it_is_given(tmp_path: Path) -> None:
    begin(tmp_path / "one", many())
    for left in ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "store/store.duckdb"):
        (tmp_path / "one" / ".tacit" / left).unlink(missing_ok=True)
    with pytest.raises(StoreUnusable, match="already behind the ledger"):
        opened(tmp_path / "one", "memory").prepare(new_ledger=True, yes=True, sources={"visits": many(1000)})


def test_marks_that_leave_the_rows_out_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: only the place counts, and a second catalog gets a second budget."""
    monkeypatch.setattr(registering, "_given_rows", lambda table: iter(()))
    begin(tmp_path / "one", many())
    begin(tmp_path / "other", many())


def test_a_ledger_is_begun_with_the_rows_it_is_for(tmp_path: Path) -> None:
    data = opened(tmp_path / "one", "memory")
    data.prepare(yes=True, sources={"visits": many()})
    with pytest.raises(InvalidInput, match="missing rows of visits"):
        data.begin_ledger()
    data.begin_ledger(sources={"visits": many()})
    with pytest.raises(StoreUnusable, match="already behind the ledger"):
        opened(tmp_path / "other", "memory").prepare(yes=True, sources={"visits": many()})
