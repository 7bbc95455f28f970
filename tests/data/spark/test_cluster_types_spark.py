"""Every type that a source can have, with its hostile values, declared as every kind: both engines make the same store of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from both_engines import LIGHT, compare, keyed
from clusters import SPARK
from stored import catalog, category, days, number, table, write_parquet
from tacit.data.spark import cluster
from tacit.privacy.catalog import Column, Owner, Source

pytestmark = [*SPARK, pytest.mark.usefixtures("spark")]
SLOW = pytest.mark.slow
NINES = "9" * 38
WRITTEN = ["1d", "NaN", None, "1e400", "-0", "2020-01-05"]
DAYS = [date(1, 1, 1), date(9999, 12, 31), None, date(2020, 1, 5), date(1582, 10, 10), date(1970, 1, 1)]
BYTES = [b"a\xff", b"e\xcc\x81", None, b"\xed\xa0\x80", b"1", b"2020-01-05"]  # in texts, too, as no writer should
FAR = [2**63 - 1, -(2**63), None, 1578182400000000, -62135596800000000, 0]


def decimals(*written: str | None) -> list[Decimal | None]:
    return [None if each is None else Decimal(each) for each in written]


NUMBERS: Mapping[str, Any] = {
    "small": pa.array([-128, 127, None, 0, 3, 5], pa.int8()),
    "bytes": pa.array([0, 255, None, 1, 3, 5], pa.uint8()),
    "whole": pa.array([-(2**63), 2**63 - 1, None, 0, 3, 2**53 + 1], pa.int64()),
    "unsigned": pa.array([0, 2**64 - 1, None, 2**63, 3, 5], pa.uint64()),
    "half": pa.array([0.5, math.nan, None, 65504, math.inf, -0.0], pa.float16()),
    "single": pa.array([0.1, math.nan, None, 3.4e38, math.inf, -0.0], pa.float32()),
    "double": pa.array([0.1, math.nan, None, 1.7e308, -math.inf, -0.0], pa.float64()),
    "border": pa.array([2.4999999999999996, 0.125, 0.375, 0.25, 5e-324, 2**53 + 2.0], pa.float64()),
    "decimal": pa.array(decimals("1.125", "-3.25", None, "0", "0.5", "99.999"), pa.decimal128(5, 3)),
    "longest": pa.array(decimals(NINES, f"-{NINES}", None, "0", "3", "1"), pa.decimal128(38, 0)),
    "wider": pa.array(decimals("1.125", "-3.25", None, "0", "0.5", f"{NINES}9"), pa.decimal256(60, 3)),
    "truth": pa.array([True, False, None, True, True, False]),
}
TEXTS: Mapping[str, Any] = {
    "text": pa.array(WRITTEN),
    "odd": pa.array(["e\u0301", "\x00", "a" * 70_000, "\u0301", "\ufeff1", "9999-12-31"]),
    "blank": pa.array(["0000-12-31", "0000-01-01", " \u3000", "\x1c5", "5\x85", "\uff11"]),
    "long": pa.array(["1e-400", "9" * 400, "0x10", "Infinity", "-inf", "0.1e1"], pa.large_string()),
    "coded": pa.array(WRITTEN).dictionary_encode(),
    "broken": pa.Array.from_buffers(pa.string(), 6, pa.array(BYTES, pa.binary()).buffers()),
    "raw": pa.array(BYTES),
    "fixed": pa.array([b"\xff\x00", b"11", None, b"\x00a", b"ab", b"\xed\xa0"], pa.binary(2)),
    "nothing": pa.nulls(6),
}
MOMENTS: Mapping[str, Any] = {
    "day": pa.array(DAYS, pa.date32()),
    "far day": pa.array([2**31 - 1, -(2**31) + 1, None, 18000, 18300, 0], pa.int32()).cast(pa.date32()),
    "seconds": pa.array([2**52, -(2**52), None, 1578182400, 253402300799, 0], pa.timestamp("s")),
    "milli": pa.array([2**62, -(2**62), None, 1578182400000, 253402300799999, 0], pa.timestamp("ms")),
    "micro": pa.array(FAR, pa.timestamp("us")),
    "nano": pa.array([2**63 - 1, -(2**63) + 1, None, 1578182400000000000, 1, 0], pa.timestamp("ns")),
    "zoned": pa.array([datetime(2020, 1, 5), None, datetime(1, 1, 1), *[datetime(2020, 1, 6)] * 3], pa.timestamp("us", "+14:00")),
    "far zoned": pa.array(FAR, pa.timestamp("us", "UTC")),
    "nano zoned": pa.array([2**63 - 1, -(2**63) + 1, None, 1578182400000000000, 1, 0], pa.timestamp("ns", "UTC")),
    "time": pa.array([0, 1, None, 86399, -1, 2**31 - 1], pa.time32("s")),
    "long time": pa.array([0, 1, None, 86399, -1, 2**63 - 1], pa.time64("ns")),
}  # fmt: skip
ALL = {**NUMBERS, **TEXTS, **MOMENTS}
KINDS: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "text": (lambda name: Column(name, "text", nulls="keep", longest=80_000), ALL),
    "number": (lambda name: number(name, -5, 50, "0.25", nulls="keep", outside="null"), {**NUMBERS, **TEXTS}),
    "wide": (lambda name: number(name, -(2**52), 2**52 - 1, nulls="keep"), {**NUMBERS, **TEXTS}),
    "date": (lambda name: days(name, "0001-02-01", "9998-12-31", nulls="keep"), {**TEXTS, **MOMENTS}),
    "category": (lambda name: category(name, "1", "a", "true", nulls="keep", unknown="null"), ALL),
    "integers": (lambda name: category(name, 0, 1, 2, 3, nulls="keep", unknown="other"), ALL),
    "truth": (lambda name: category(name, True, False, nulls="keep", unknown="null"), ALL),
    "presence": (lambda name: Column(name, "presence"), ALL),
}


@pytest.fixture(autouse=True, scope="module")
def _light() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "SETTINGS", {**cluster.SETTINGS, **LIGHT})
        yield


@SLOW
@pytest.mark.parametrize("kind", KINDS)
def test_every_type_is_read_alike(kind: str, tmp_path: Path) -> None:
    column, held = KINDS[kind]
    source = write_parquet(tmp_path / "t.parquet", {"who": pa.array([1, 1, 2, None, 3, 3]), **held})
    compare(keyed(catalog(tmp_path, table("t", source, *map(column, held), unit=Owner("who"), max_rows=3, no_unit="own"))))


@SLOW
@pytest.mark.parametrize(
    "types",
    [
        ("small", "whole"),
        ("whole", "unsigned"),
        ("whole", "double", "longest", "decimal", "truth", "long"),
        ("text", "odd", "blank", "broken", "raw", "fixed"),
        ("day", "seconds", "milli", "micro", "nano", "nano zoned", "far zoned", "time"),
    ],
    ids=["whole", "unsigned", "numbers", "texts", "moments"],
)
def test_keys_of_every_type_name_the_same_units(types: tuple[str, ...], tmp_path: Path) -> None:
    """A key in each table, all of them compared with each other; nobody's key stops the preparation."""
    tables = [
        table(
            f"of {at}",
            write_parquet(tmp_path / f"{at}.parquet", {"who": ALL[kind], "x": list(range(6))}),
            number("x", 0, 9),
            unit=Owner("who"),
            max_rows=2,
            no_unit="own",
        )
        for at, kind in enumerate(types)
    ]
    compare(keyed(catalog(tmp_path, *tables)))


def test_integers_of_128_bits_are_keys_on_both(tmp_path: Path) -> None:
    """They have up to 39 digits, and the widest numbers of a cluster have 38."""
    place, largest = tmp_path / "huge.duckdb", 2**127 - 1
    rows = ", ".join(f"({who}::HUGEINT, {x})" for x, who in enumerate([largest, f"(-{largest})", 3, "NULL", 3, 20, 10**38]))
    with duckdb.connect(str(place)) as engine:
        engine.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) AS given(who, x)")
    _, found = compare(
        keyed(catalog(tmp_path, table("t", Source("duckdb", str(place), "t"), number("x", 0, 9), unit=Owner("who"), max_rows=2)))
    )
    assert found.tables[0].kept == 6
