"""Preparation on Spark: the store, the report and the refusals are those of the embedded engine, for hostile values too."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from both_engines import LIGHT, compare, holdings, in_duckdb, in_parquet, keyed, on_spark
from clusters import SPARK
from owned import RAWS, prepared_from
from stored import catalog, category, days, number, table, write_csv, write_parquet
from tacit.data.prepare import prepare, ranking
from tacit.data.prepare.verdict import NotAccepted
from tacit.data.spark import cluster, executors, making
from tacit.data.spark.cluster import failure, spell_for_spark
from tacit.data.spark.session import quiet
from tacit.data.store import FILE_ROWS, parquet_store, store_file, store_info
from tacit.errors import InvalidCatalog, StoreUnusable
from tacit.privacy.catalog import Catalog, Column, Notation, Owner

pytestmark = [*SPARK, pytest.mark.usefixtures("spark")]

COSTS = ["1d", "1f", "0x1", " 2.5 ", "\u00a03", "1_0", "1e1", "-0", "NaN", "inf", "+4", "4.", ".5", "9" * 40, "", None, "٣", "12L"]
TEXTS = ["\u00e9", "e\u0301", " x\t", "\u0000", "", None, "Z", "a", "\u00c5", "A\u030a", "\ufb01", "x\u00a0"]
DAYS = [
    "2020-01-05",
    "2020-1-6",
    "31/12/20",
    "+2020-01-07",
    "2020-01-08T23:59:59+14:00",
    "0020-01-01",
    "epoch",
    "",
    None,
    "2020-02-30",
]
DOUBLES = [0.5, -0.0, math.nan, math.inf, -math.inf, 1e300, 2.4999999999999996, None, 0.1 + 0.2]
MOMENTS = [datetime(2020, 1, 9, 23, 59), datetime(1, 1, 1), datetime(9999, 12, 31), None]
BIG = [2**63 - 1, -(2**63), 2**53 + 1, 0, None, 7]


def cycled(values: list[Any], rows: int) -> list[Any]:
    return [values[at % len(values)] for at in range(rows)]


def people(folder: Path, rows: int = 60) -> Path:
    """Hostile values in all kinds of columns; keys that repeat, and texts that are one key."""
    keys = [["1", "1.0", " 2", "02", "e\u0301", "\u00e9", None, ""][at % 8] if at < 16 else f"{at}" for at in range(rows)]
    return write_parquet(
        folder / "people.parquet",
        {
            "ID": pa.array(keys, pa.string()),
            "cost": pa.array(cycled(COSTS, rows), pa.string()),
            "sex": pa.array(cycled(["F", "f", "M ", "x", None], rows), pa.string()),
            "note": pa.array(cycled(TEXTS, rows), pa.string()),
            "born": pa.array(cycled(DAYS, rows), pa.string()),
            "share": pa.array(cycled(DOUBLES, rows), pa.float64()),
            "seen": pa.array(cycled(MOMENTS, rows), pa.timestamp("us")),
            "big": pa.array(cycled(BIG, rows), pa.int64()),
            "paid": pa.array(cycled([Decimal("1.005"), Decimal("-3.25"), None, Decimal("99999.995")], rows), pa.decimal128(12, 3)),
            "size": pa.array(cycled([2**64 - 1, 0, 9, None], rows), pa.uint64()),
        },
    )


def hostile(folder: Path) -> Catalog:
    """A chain of three tables, one more that names people, one without keys, one without rows, one in CSV, and a public one."""
    visits = {
        "id": pa.array([at % 25 if at % 9 else None for at in range(90)], pa.int64()),
        "person": pa.array([[f"{at % 40}", "1", "\u00e9", None, "2.00"][at % 5] for at in range(90)], pa.string()),
        "hours": pa.array([at % 6 / 2 for at in range(90)], pa.float32()),
        "day": pa.array([date(2020, 1, 1 + at % 28) for at in range(90)], pa.date32()),
        "kind": pa.array([at % 5 for at in range(90)], pa.int8()),
    }
    labs = [(f"{at % 30}.0" if at % 7 else "", f"{at % 5}.50") for at in range(80)]
    declared = [
        table(
            "people",
            people(folder),
            Column("id", "key"),
            number("cost", 0, 50, "0.25"),
            category("sex", "F", "M", unknown="null", nulls="keep"),
            Column("note", "text", nulls="keep", longest=8),
            days("born", "2020-01-01", "2021-01-01", nulls="keep", outside="null"),
            number("share", 0, 3, "0.5", nulls="keep"),
            days("seen", "2020-01-01", "2020-12-31", nulls="keep"),
            number("big", -(2**40), 2**40, nulls="keep"),
            number("paid", -2, 1000, "0.01", nulls="keep", outside="null"),
            number("size", 0, 10, nulls="keep"),
            max_rows=1,
        ),
        table(
            "visits",
            write_parquet(folder / "visits.parquet", visits),
            Column("id", "key"),
            number("hours", 0, 2, "0.5"),
            days("day", "2020-01-03", "2020-01-20", outside="drop"),
            category("kind", 0, 1, 2, 3, unknown="null"),
            unit=Owner("person", ("people", "id")),
            max_rows=2,
            no_unit="own",
        ),
        table(
            "labs",
            write_csv(folder / "labs.csv", ["visit", "level"], labs),
            number("level", 0, 4, "0.5"),
            unit=Owner("visit", ("visits", "id")),
            max_rows=2,
        ),
        table(
            "notes", write_parquet(folder / "notes.parquet", {"x": pa.array([3, 1, 1, None, 9])}), number("x", 0, 5, nulls="keep")
        ),
        table(
            "empty",
            write_parquet(folder / "empty.parquet", {"who": pa.array([], pa.string()), "x": pa.array([], pa.int64())}),
            number("x", 0, 5),
            unit=Owner("who", ("people", "id")),
        ),
        table("wards", write_csv(folder / "wards.csv", ["ward", "beds"], [("w0", 3), ("w\u0301", 4)]), public=True),
    ]
    return keyed(catalog(folder, *declared))


@pytest.fixture(autouse=True, scope="module")
def _light() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "SETTINGS", {**cluster.SETTINGS, **LIGHT})
        yield


@pytest.fixture(scope="module", params=["a part", pytest.param("all tables", marks=pytest.mark.slow)])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The hostile catalog, prepared on both engines; in the quick form, the tables with the most kinds of values and of keys."""
    made = hostile(tmp_path_factory.mktemp("hostile"))
    if request.param == "a part":
        made = replace(made, tables={name: made.tables[name] for name in ("people", "visits", "wards")})
    compare(made)
    return made


def test_a_store_prepared_on_spark_is_that_of_the_embedded_engine(both: Catalog) -> None:
    """`compare` has seen to it: values, ranks, units, codes and the report. The tables are not trivial."""
    rows = in_parquet(on_spark(both))
    assert {name for name, found in rows.items() if found} == both.tables.keys() - {"empty"}
    assert {row["tacit_rank"] for row in rows["visits"]} == {0, 1}
    info, other = store_info(both), store_info(on_spark(both))
    assert info is not None
    assert other is not None
    assert (other.fingerprint, other.public) == (info.fingerprint, info.public)


def test_files_of_a_store_have_few_rows(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few bytes the rows have; and a task reads 4 of such files at most (query/price/work.md)."""
    monkeypatch.setattr(cluster, "FILE_ROWS", 2)
    source = write_parquet(tmp_path / "p.parquet", {"x": pa.array([5] * 150, pa.int8())})
    made = replace(on_spark(catalog(tmp_path, table("people", source, number("x", 0, 9)))), store_cores=64)
    assert [note.partition(":")[0] for note in prepare(made).notes] == ["[store] cores declares 64, and the cluster has 2 now"]
    described = parquet_store(store_file(made))
    assert described.file_rows == FILE_ROWS
    files = list(Path(described.table("people")).glob("*.parquet"))
    sizes = [pq.ParquetFile(file).metadata.num_rows for file in files]
    assert (sum(sizes), max(sizes)) == (150, 2)
    placed = (
        quiet(spark)
        .read.parquet(described.table("people"))
        .selectExpr("spark_partition_id() AS task", "_metadata.file_path AS file")
    )
    tasks = Counter(row.task for row in placed.distinct().collect())
    assert sum(tasks.values()) == len(files) >= 75
    assert max(tasks.values()) == 4


@pytest.mark.slow
def test_files_of_different_types_and_texts_that_are_not_utf_8(tmp_path: Path) -> None:
    """The types are those that hold the values of all files; what is not UTF-8 is mended on the executors."""
    folder = tmp_path / "notes"
    folder.mkdir()
    first = {"who": pa.array([1, 2, 300], pa.int16()), "note": pa.array([b"a\xff", b"e\xcc\x81", None], pa.binary())}
    schema = pa.schema([("who", pa.int16()), ("note", pa.string())])
    broken = pa.Array.from_buffers(pa.string(), 3, first["note"].buffers())
    pq.write_table(pa.table([first["who"], broken], schema=schema), folder / "a.parquet")
    write_parquet(folder / "b.parquet", {"WHO": pa.array([2**40, 2], pa.int64()), "x": pa.array([1, 2], pa.int8())})
    source = replace(table("notes", folder / "a.parquet").source, location=str(folder))
    declared = table(
        "notes", source, Column("note", "text", nulls="keep"), number("x", 0, 5, nulls="keep"), unit=Owner("who"), max_rows=3
    )
    expected, _ = compare(catalog(tmp_path, declared))
    assert expected.tables[0].read == 5


def test_what_is_refused_or_not_accepted_leaves_nothing(tmp_path: Path) -> None:
    made = catalog(tmp_path, table("people", write_parquet(tmp_path / "p.parquet", {"x": ["1d", "2"]}), number("x", 0, 9)))
    other = on_spark(made)
    wrong = replace(made.tables["people"], columns={"y": number("y", 0, 9)})
    for engine in (made, other):
        with pytest.raises(NotAccepted):
            prepare(
                replace(engine, tables={"people": replace(made.tables["people"], columns={"x": number("x", 5, 9)})}), accept=False
            )
        with pytest.raises(InvalidCatalog, match="the source of people"):
            prepare(replace(engine, tables={"people": wrong}))
        (tmp_path / "p.parquet").rename(tmp_path / "whole.parquet")
        (tmp_path / "p.parquet").write_bytes(b"PAR1 and no more")
        with pytest.raises(InvalidCatalog, match="the source of people"):
            prepare(engine)
        (tmp_path / "whole.parquet").rename(tmp_path / "p.parquet")
    assert sorted(file.name for file in made.store_folder.iterdir()) == ["prepare.lock"]


@pytest.mark.slow
def test_a_new_store_replaces_the_old_one_as_a_whole(tmp_path: Path) -> None:
    made = on_spark(catalog(tmp_path, table("notes", write_parquet(tmp_path / "n.parquet", {"x": [1, 2]}), number("x", 0, 9))))
    told: list[tuple[str, float]] = []
    prepare(made, lambda words, share: told.append((words, share)))
    first = parquet_store(store_file(made))
    assert {words for words, _ in told} == {"reading notes", "writing notes", "prepared"}
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert told[-1] == ("prepared", 1.0)

    class Stopped(Exception):
        pass

    def stop(words: str, _: float) -> None:
        if words == "writing notes":
            raise Stopped

    with pytest.raises(Stopped):
        prepare(made, stop)
    assert parquet_store(store_file(made)) == first
    assert [file.name for file in made.store_folder.glob("*-*")] == [Path(first.folder).name]
    prepare(made)
    assert [str(file) for file in made.store_folder.glob("tables-*")] == [parquet_store(store_file(made)).folder] != [first.folder]


# --- planted bugs ----------------------------------------------------------------------------------------------------------------


def planted(both: Catalog, folder: Path) -> bool:
    """Whether preparation on Spark, with a bug, still gives the store of the embedded engine."""
    wrong = replace(on_spark(both), store_path=str(folder))
    prepare(wrong)
    return holdings(both, in_parquet(wrong)) == holdings(both, in_duckdb(both))


def test_numbers_that_spark_would_read_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: '1d' is 1.0, as in a cast of Spark's."""
    costs = write_parquet(tmp_path / "n.parquet", {"cost": ["1d", "2", " 3"]})
    made = catalog(tmp_path, table("notes", costs, number("cost", 0, 9, nulls="keep")))
    compare(made)
    real = executors._view

    def cast_by_spark(engine: Any, columns: Any, rows: str) -> None:
        real(engine, {**columns, '"cost"': "regexp_replace(native.cost, '^([0-9]+)[dDfF]$', '\\1')"}, rows)

    monkeypatch.setattr(executors, "_view", cast_by_spark)
    assert not planted(made, tmp_path / "bug")


@pytest.mark.slow
def test_another_order_of_missing_keys_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: among rows that are stored alike, those without a key first, which is Spark's own order."""
    visits = {"id": [None, 1, None, 1, 2], "who": [5, 5, 5, 5, 5], "x": [1, 1, 1, 1, 1]}
    labs = {"visit": [1, 2], "x": [1, 2]}
    made = catalog(
        tmp_path,
        table(
            "visits",
            write_parquet(tmp_path / "v.parquet", visits),
            Column("id", "key"),
            number("x", 0, 5),
            unit=Owner("who"),
            max_rows=2,
        ),
        table(
            "labs",
            write_parquet(tmp_path / "l.parquet", labs),
            number("x", 0, 5),
            unit=Owner("visit", ("visits", "id")),
            max_rows=2,
        ),
    )
    compare(made)
    real = ranking.Ranking._first
    monkeypatch.setattr(ranking.Ranking, "_first", lambda self, rows: real(self, rows).replace("NULLS LAST", "NULLS FIRST"))
    assert not planted(made, tmp_path / "bug")


# --- words and failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        (f"RuntimeError: {executors.CODE}version", "duckdb=="),
        ("ModuleNotFoundError: No module named 'pyarrow'", "pyarrow and numpy"),
        (f"RuntimeError: {executors.CODE}memory", "spark.executor.memoryOverhead"),
        ("java.lang.OutOfMemoryError: Java heap space", "spark.executor.memoryOverhead"),
        ("java.io.IOException: No space left on device", "spark.local.dir"),
        ("Connection refused: spark://10.0.0.7 secret", "check that it runs"),
    ],
)
def test_a_failure_has_a_remedy_and_does_not_quote_the_cluster(message: str, remedy: str) -> None:
    told = failure(message)
    assert isinstance(told, StoreUnusable)
    assert remedy in told.remedy
    assert "secret" not in str(told) + told.remedy


def test_files_that_workers_do_not_reach_are_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = on_spark(catalog(tmp_path, table("notes", write_parquet(tmp_path / "n.parquet", {"x": [1]}), number("x", 0, 9))))
    real = making._parts
    monkeypatch.setattr(making, "_parts", lambda plan: [replace(part, file="/nowhere/n.parquet") for part in real(plan)])
    with pytest.raises(InvalidCatalog, match="every worker reads it"):
        prepare(made)


def test_names_are_spelled_as_spark_quotes_them() -> None:
    assert (
        spell_for_spark('SELECT "a`b" FROM "t" WHERE x = \'say "t"\'', {"t": "v"}) == "SELECT `a``b` FROM v WHERE x = 'say \"t\"'"
    )


@pytest.mark.slow
def test_a_large_file_is_cleaned_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row once, whichever row group it is in."""
    monkeypatch.setattr(making, "PART_BYTES", 1)
    pq.write_table(pa.table({"who": [at % 7 for at in range(50)], "x": range(50)}), tmp_path / "n.parquet", row_group_size=13)
    declared = table("notes", tmp_path / "n.parquet", number("x", 0, 99), unit=Owner("who"), max_rows=3)
    _, found = compare(catalog(tmp_path, declared))
    assert found.tables[0].read == 50


@pytest.mark.slow
@given(data=RAWS)
@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_generated_units_are_the_same(data: Any, tmp_path: Path) -> None:
    compare(prepared_from(tmp_path, data))


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [0, ranking.CROWD])
def test_crowds_are_the_same(crowd: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "CROWD", crowd)
    compare(replace(hostile(tmp_path), tables=dict(reversed(hostile(tmp_path).tables.items()))))


@pytest.mark.slow
def test_notation_is_read_on_the_executors(tmp_path: Path) -> None:
    """Declared missing values, decimal commas and formats of days, and a key by its text."""
    written = {
        "who": pa.array(["1.0", "1", "-9", "x "]),
        "cost": pa.array(["1.234,5", "-9", "12,25", "1234,5"]),
        "day": pa.array(["05.01.2020", "5.1.20", "-9", "31.12.2020"]),
    }
    how = Notation(decimal=",", thousands=".", missing=("-9",))
    declared = table(
        "notes",
        write_parquet(tmp_path / "n.parquet", written),
        number("cost", 0, 2000, "0.25", notation=how, nulls="keep"),
        days("day", "2020-01-01", "2020-12-31", notation=Notation(format="%d.%m.%Y", missing=("-9",)), nulls="keep"),
        unit=Owner("who"),
        max_rows=3,
        notation=how,
    )
    compare(catalog(tmp_path, declared))


@pytest.mark.slow
def test_what_only_the_cluster_reaches_is_read_by_it(tmp_path: Path) -> None:
    """A URL instead of a path: the same store and the same report, with the same examples."""
    made = hostile(tmp_path)
    kept = {name: made.tables[name] for name in ("people", "notes")}
    wards = table("wards", write_parquet(tmp_path / "wards.parquet", {"ward": ["w0", "w1"], "beds": [3, 4]}), public=True)
    near = replace(made, tables={**kept, "wards": wards})
    far = {
        name: replace(one, source=replace(one.source, location=f"file://{one.source.location}"))
        for name, one in near.tables.items()
    }
    remote = on_spark(replace(near, tables=far))
    expected, found = prepare(near), prepare(remote)
    assert holdings(near, in_parquet(remote)) == holdings(near, in_duckdb(near))
    assert (found.tables, found.sharing) == (expected.tables, expected.sharing)
    with pytest.raises(InvalidCatalog, match="engine spark only"):
        prepare(replace(remote, store_engine="duckdb"))
    with pytest.raises(InvalidCatalog, match="cannot read the source"):
        prepare(
            replace(remote, tables={"notes": replace(far["notes"], source=replace(far["notes"].source, location="file:///no"))})
        )


@pytest.mark.slow
def test_tables_lie_where_the_cluster_reaches_them(tmp_path: Path) -> None:
    """At a URL, too: what is left at the end is the new tables, whatever failed before."""
    place = tmp_path / "bucket"
    source = write_csv(tmp_path / "n.csv", ["who", "x"], [("a", 1), ("a", 2), ("b", 3)])
    notes = table("notes", source, number("x", 0, 9), unit=Owner("who"), max_rows=2)
    wards = table("wards", write_csv(tmp_path / "w.csv", ["ward"], [("w0",)]), public=True)
    made = catalog(tmp_path, notes, wards)
    remote = replace(on_spark(made), store_parquet=f"file://{place}")
    prepare(made)
    for _ in range(2):
        prepare(remote)
        described = parquet_store(store_file(remote))
        assert [f"file://{file}" for file in place.iterdir()] == [described.folder]
    read = {name: pq.read_table(described.table(name).removeprefix("file://")).to_pylist() for name in made.tables}
    assert holdings(made, read) == holdings(made, in_duckdb(made))
    assert read["wards"] == in_duckdb(made)["wards"]
    outside = replace(notes, columns={"x": number("x", 5, 9)})
    with pytest.raises(NotAccepted):
        prepare(replace(remote, tables={"notes": outside, "wards": wards}), accept=False)
    assert [f"file://{file}" for file in place.iterdir()] == [described.folder]
