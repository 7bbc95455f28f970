"""Every source gives the same store for the same data, and no row of any of them makes preparation fail."""

import gzip
import subprocess
import sys
from contextlib import contextmanager
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stored import catalog, category, days, number, stored, table, write_csv, write_duckdb, write_parquet
from tacit.data.files import sources
from tacit.data.files.csv_rows import csv_header
from tacit.data.files.sources import MENDING
from tacit.data.files.tolerant import mend_texts
from tacit.data.prepare import prepare
from tacit.data.store import store_file
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Column, Owner, Source

COLUMNS = (
    number("age", 0, 110),
    number("cost", 0, 5000, "0.01"),
    category("sex", "F", "M"),
    days("day", "2020-01-01", "2024-12-31"),
    Column("note", "text"),
    Column("seen", "presence"),
)
HEADER = ["id", "AGE", "Cost", "sex", "day", "note", "seen", "secret"]
ROWS = [
    [1, 40, "12.345", "F", "2020-01-02", "é", "x", "s1"],
    [2, 200, "0.005", "M", "2025-06-01", "e\u0301", "", "s2"],
    [3, None, "-1", "X", None, None, None, "s3"],
    [3, 7, "5000.01", " M ", "1999-01-01", " spaced ", "x", "s4"],
]


def rows_of(prepared):
    """What is stored, with the units numbered as they come, and the rows of each by their values."""
    found = stored(prepared, "visits", "tacit_unit", "age", "cost", "day", "sex", "note", "seen")
    units: dict[int, list[tuple]] = {}
    for unit, *values in found:
        units.setdefault(unit, []).append(tuple(values))
    return sorted((sorted(values, key=repr) for values in units.values()), key=repr)


WANTED = [
    [(40, 1235, 1, 0, "é", 0)],
    [(110, 1, 1826, 1, "é", None)],
    [(7, 500000, 0, 1, "spaced", 0), (None, 0, None, None, None, None)],
]


def visits(source, **declared):
    return table("visits", source, *COLUMNS, unit=Owner("id"), max_rows=5, **declared)


def arrow_columns():
    by_name = dict(zip(HEADER, zip(*ROWS, strict=True), strict=True))
    dates = [None if day is None else __import__("datetime").date.fromisoformat(day) for day in by_name["day"]]
    return {
        "id": pa.array(by_name["id"], pa.int32()),
        "AGE": pa.array(by_name["AGE"], pa.int16()),
        "Cost": pa.array([Decimal(cost) for cost in by_name["Cost"]], pa.decimal128(12, 4)),
        "sex": pa.array(by_name["sex"]).dictionary_encode(),
        "day": pa.array(dates, pa.date32()),
        "note": pa.array(by_name["note"], pa.large_string()),
        "seen": pa.array(by_name["seen"]),
        "secret": pa.array(by_name["secret"]),
    }


def csv_source(folder):
    return write_csv(folder / "visits.csv", HEADER, ROWS)


def gzip_source(folder):
    path = folder / "visits.csv.gz"
    path.write_bytes(gzip.compress(csv_source(folder).read_bytes()))
    return path


def semicolon_source(folder):
    path = folder / "visits.csv"
    path.write_bytes(b"\xef\xbb\xbf" + csv_source(folder).read_bytes().replace(b",", b";"))
    return path


def parquet_source(folder):
    return write_parquet(folder / "visits.parquet", arrow_columns())


def several_parquet_files(folder):
    whole = pa.table(arrow_columns())
    (folder / "visits[1]").mkdir()
    for place in range(3):
        part = whole.slice(place, 1 if place < 2 else 2)
        pq.write_table(part if place else part.select(reversed(part.column_names)), folder / "visits[1]" / f"part{place}.parquet")
    return Source("parquet", str(folder / "visits[[]1]" / "*.parquet"))


def folder_source(folder):
    several_parquet_files(folder)
    return Source("parquet", "visits[1]")


def duckdb_source(folder):
    return write_duckdb(folder / "hospital.duckdb", "visits", arrow_columns())


SOURCES = [
    csv_source,
    gzip_source,
    semicolon_source,
    parquet_source,
    several_parquet_files,
    folder_source,
    duckdb_source,
]


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_store(source, tmp_path):
    prepared = catalog(tmp_path, visits(source(tmp_path)))
    report = prepare(prepared).tables[0]
    assert rows_of(prepared) == sorted(WANTED, key=repr)
    assert (report.read, report.kept, dict(report.dropped)) == (4, 4, {"value": 0, "no unit": 0, "limit": 0})
    fates = {column.name: dict(column.fates) for column in report.columns}
    assert fates["age"] == {"missing": 1, "unreadable": 0, "below": 0, "above": 1, "rounded": 0}
    assert fates["sex"] == {"missing": 0, "unknown": 1}
    assert fates["day"] == {"missing": 1, "unreadable": 0, "below": 1, "above": 1}


@pytest.mark.parametrize("source", SOURCES)
def test_nothing_undeclared_is_kept(source, tmp_path):
    """The values of `secret` and the raw texts are in no file of the store, and no key is."""
    given = source(tmp_path)
    prepared = catalog(tmp_path, table("visits", given, number("age", 0, 110), unit=Owner("note"), max_rows=5))
    prepare(prepared)
    everything = b"".join(file.read_bytes() for file in prepared.kept.rglob("*") if file.is_file())
    assert store_file(prepared).stat().st_size > 0
    for absent in (b"s1", b"s4", "é".encode(), b"spaced"):
        assert absent not in everything.replace(b"tacit_s1", b"")


# --- CSV that is none --------------------------------------------------------------------------------------------------------

BROKEN_CSV = {
    "invalid UTF-8": b"id,note\n1,x\n2,\xff\xfe\n3,caf\xc3\xa9\n",
    "a truncated character": b"id,note\n1,x\n2,\xe2\x82\n3,y",
    "too many fields": b"id,note\n1,x,y,z\n2,y\n",
    "too few fields": b"id,note\n1\n2,y\n",
    "a quotation mark that is never closed": b'id,note\n1,"x\n2,y\n',
    "text after a quotation": b'id,note\n1,"x"y\n2,z\n',
    "two kinds of line ends, and a CR": b"id,note\r\n1,x\n2,y\rz\r\n",
    "CR alone": b"id,note\r1,x\r2,y\r",
    "NUL": b"id,note\n1,x\x00y\n2,\x00\n",
    "blank lines": b"id,note\n\n1,x\n\n\n2,y\n\n",
    "no line end": b"id,note\n1,x",
    "no rows": b"id,note\n",
    "a huge field": b"id,note\n1," + b"x" * 3_000_000 + b"\n2,y\n",
    "a huge quotation": b'id,note\n1,"' + b"x\n" * 1_500_000 + b'"\n2,y\n',
}
MULTILINE = {"a quotation mark that is never closed": False, "a huge quotation": True}
READ = {
    "invalid UTF-8": ["caf\u00e9", "x", "\ufffd\ufffd"],
    "a truncated character": ["x", "y", "\ufffd"],
    "too many fields": ["x", "y"],
    "too few fields": ["y", None],
    "a quotation mark that is never closed": ["x", "y"],
    "text after a quotation": ["xy", "z"],
    "two kinds of line ends, and a CR": ["x", "y\rz"],
    "CR alone": ["x", "y"],
    "NUL": ["x\ufffdy", "\ufffd"],
    "blank lines": ["x", "y"],
    "no line end": ["x"],
    "no rows": [],
}


@pytest.mark.parametrize("what", BROKEN_CSV)
@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_no_line_makes_it_fail(what, suffix, tmp_path):
    path = tmp_path / f"notes.{suffix}"
    path.write_bytes(gzip.compress(BROKEN_CSV[what], 1) if suffix == "csv.gz" else BROKEN_CSV[what])
    source = Source("csv", path.name, multiline=MULTILINE.get(what))
    note = Column("note", "text", longest=4_000_000)
    prepared = catalog(tmp_path, table("notes", source, note, unit=Owner("id"), max_rows=9))
    prepare(prepared)
    found = [note for (note,) in stored(prepared, "notes", "note")]
    if what in READ:
        assert sorted(found, key=repr) == sorted(READ[what], key=repr)
    else:
        assert sorted(len(note) for note in found) == [1, 3_000_000 - what.endswith("quotation")]


# --- Parquet that is not UTF-8 -----------------------------------------------------------------------------------------------


def invalid_strings(*values: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


def test_strings_that_are_not_utf8(tmp_path):
    columns = {
        "id": pa.array([b"\x00" * 15 + bytes([place]) for place in (1, 2, 2)], pa.binary(16)),
        "note": invalid_strings(b"fine", b"\xff\xfe", b"caf\xc3\xa9"),
        "sex": invalid_strings(b"F", b"M", b"\xc3").dictionary_encode(),
        "many": pa.array([[1], None, []], pa.list_(pa.int64())),
        "when": pa.array([0, 1, 2], pa.timestamp("us", "UTC")),
        "secret": invalid_strings(b"\xff", b"\xff", b"\xff"),
    }
    path = write_parquet(tmp_path / "notes.parquet", columns)
    wanted = (Column("note", "text"), category("sex", "F", "M"), Column("many", "presence"), Column("when", "text"))
    prepared = catalog(tmp_path, table("notes", path, *wanted, unit=Owner("id"), max_rows=9))
    report = prepare(prepared).tables[0]
    assert stored(prepared, "notes", "note", "sex", "many", "when") == sorted(
        [
            ("caf\u00e9", None, 0, "1970-01-01 00:00:00.000002+00"),
            ("fine", 0, 0, "1970-01-01 00:00:00+00"),
            ("\ufffd\ufffd", 1, None, "1970-01-01 00:00:00.000001+00"),
        ],
        key=repr,
    )
    assert len({unit for (unit,) in stored(prepared, "notes", "tacit_unit")}) == 2
    assert report.columns[1].fates == {"missing": 0, "unknown": 1}


SOUND = {
    "u": pa.array([b"0123456789abcdef"] * 2, pa.binary(16)),
    "t": pa.array([1_000_000_001, None], pa.time64("us")),
    "d": pa.array([Decimal("1.50"), None], pa.decimal128(30, 20)),
    "e": pa.array([Decimal("1.50"), None], pa.decimal256(50, 20)),
    "n": pa.array([2**64 - 1, 0], pa.uint64()),
    "f": pa.array([0.1, -0.0], pa.float32()),
    "h": pa.array([0.5, float("nan")], pa.float16()),
    "s": pa.array([-1, 2**62], pa.timestamp("ns")),
    "i": pa.array([7, -7], pa.duration("us")),
    "b": pa.array([True, None]),
    "j": pa.array([["x"], None]),
}


@pytest.mark.parametrize("moments", ["INT64", "INT96"])
def test_an_invalid_string_changes_the_reading_of_no_other_column(moments, tmp_path):
    """Exotic types included, and moments as other programs write them, with a nanosecond before a day."""
    found = []
    for place, note in enumerate((b"x", b"\xff")):
        path, columns = tmp_path / f"notes{place}.parquet", {**SOUND, "note": invalid_strings(note, b"y")}
        pq.write_table(pa.table(columns), path, use_deprecated_int96_timestamps=moments == "INT96")
        kinds = {key: Column(key, "presence" if key == "j" else "text") for key in columns}
        prepared = catalog(tmp_path, table("notes", path, *kinds.values()))
        prepare(prepared)
        found.append(stored(prepared, "notes", *SOUND))
        assert [note for (note,) in stored(prepared, "notes", "note")] == [
            "x" if place == 0 else "y",
            "y" if place == 0 else "\ufffd",
        ]
    assert found[0] == found[1]
    assert found[0][0][2:5] == ("1.5", "1.5", str(2**64 - 1))


def test_another_reader_of_the_whole_file_is_caught(tmp_path, monkeypatch):
    """The planted bug: as soon as one string is not UTF-8, all columns are Arrow's."""

    @contextmanager
    def by_arrow(workshop, catalog, source, wanted):
        table = pq.read_table(source.location)
        texts = pa.table(
            {key: mend_texts(table[key].combine_chunks()) if key == "note" else table[key] for key in table.column_names}
        )
        with sources._register_batches(workshop, texts.to_reader()) as rows:
            yield rows

    monkeypatch.setitem(MENDING, "parquet", by_arrow)
    with pytest.raises((AssertionError, InvalidCatalog)):
        test_an_invalid_string_changes_the_reading_of_no_other_column("INT96", tmp_path)


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_moments_too_far_away_for_the_engine_are_outside(zone, tmp_path):
    """They stop its reader, as a text does that is not UTF-8; days of the other rows are read as ever, in UTC."""
    day = 24 * 3600 * 1000
    moments = pa.array([2**62, -(2**62), day, day - 1, None], pa.int64()).cast(pa.timestamp("ms", zone))
    path = write_parquet(tmp_path / "far.parquet", {"when": moments, "x": [1, 2, 3, 4, 5]})
    prepared = catalog(tmp_path, table("far", path, days("when", "1969-01-01", "1971-01-01"), number("x", 0, 9)))
    report = prepare(prepared).tables[0]
    assert stored(prepared, "far", "x", "when") == [(1, 730), (2, 0), (3, 366), (4, 365), (5, None)]
    assert report.columns[0].fates == {"missing": 1, "unreadable": 0, "below": 1, "above": 1}


@pytest.mark.parametrize("zone", [None, "UTC", "+14:00"])
@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 10**3), ("us", 10**6)])
def test_moments_too_far_away_stop_no_column_and_change_no_other(unit, second, zone, tmp_path):
    """As a key, a text, a category or a presence: whoever reads it, a moment has one text, and the others keep theirs."""
    near = [86400 * second, 0, None, 9_000_000_000_000 * second]
    most = {"s": 2**53, "ms": 2**62, "us": 2**63 - 1}[unit]
    far = [most, -most, -9_223_372_022_401 * second, *([-(2**63)] if unit == "us" else [])]
    texts = []
    for count, given in enumerate((near, near + far)):
        moments = pa.array(given, pa.int64()).cast(pa.timestamp(unit, zone))
        held = {"who": moments, "note": moments, "there": moments, "kind": moments, "day": moments, "x": list(range(len(given)))}
        path = write_parquet(tmp_path / f"far{count}.parquet", held)
        named = category("kind", "1970-01-02 00:00:00", unknown="null")
        declared = (Column("note", "text"), Column("there", "presence"), named, days("day", "1969-01-01", "1971-01-01"))
        limits = {"unit": Owner("who"), "max_rows": 9, "no_unit": "own"}
        prepared = catalog(tmp_path, table("far", path, *declared, number("x", 0, 9), **limits))
        prepare(prepared)
        texts.append(stored(prepared, "far", "x", "note", "there", "kind", "day"))
    units = {unit for (unit,) in stored(prepared, "far", "tacit_unit")}
    plus = "+00" if zone else ""
    assert texts[1][: len(near)] == texts[0]
    assert [note for _, note, *_ in texts[1][len(near) :]] == [
        f"{each}{plus}" for each in ("294247-01-10 04:00:54", *["290309-12-22 (BC) 00:00:00"] * (len(far) - 1))
    ]
    assert [row[2:] for row in texts[0]] == [(0, None if zone else 0, 366), (0, None, 365), (None, None, None), (0, None, 730)]
    assert len(units) == len(near) + 2


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")], ids=["s", "ms", "us", "ns"])
def test_times_beyond_a_day_are_missing_and_change_no_other(kind, tmp_path):
    second, whole = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit], pa.int32() if kind.bit_width == 32 else pa.int64()
    near, far = [0, 86399 * second, None, 43200 * second + second // 2], [-1, 2 ** (kind.bit_width - 1) - 1]
    found = []
    for count, given in enumerate((near, near + far)):
        times = pa.array(given, whole).cast(kind)
        path = write_parquet(tmp_path / f"times{count}.parquet", {"who": times, "note": times, "x": list(range(len(given)))})
        declared = (Column("note", "text"), number("x", 0, 9))
        prepared = catalog(tmp_path, table("times", path, *declared, unit=Owner("who"), max_rows=2, no_unit="own"))
        prepare(prepared)
        found.append(stored(prepared, "times", "x", "note"))
    assert [note for _, note in found[0]][:3] == ["00:00:00", "23:59:59", None]
    assert found[1] == [*found[0], (4, None), (5, None)]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_nanoseconds_have_their_text(zone, tmp_path):
    moments = pa.array([2**63 - 2, -(2**63), 0, 1, None], pa.int64()).cast(pa.timestamp("ns", zone))
    path = write_parquet(tmp_path / "nano.parquet", {"note": moments, "x": [0, 1, 2, 3, 4]})
    prepared = catalog(tmp_path, table("nano", path, Column("note", "text"), number("x", 0, 9)))
    prepare(prepared)
    plus = "+00" if zone else ""
    texts = (
        "2262-04-11 23:47:16.854775806",
        "1677-09-21 00:12:43.145224192",
        "1970-01-01 00:00:00",
        "1970-01-01 00:00:00.000000001",
    )
    assert stored(prepared, "nano", "x", "note") == [*((x, f"{text}{plus}") for x, text in enumerate(texts)), (4, None)]


def test_invalid_strings_in_several_files_stay_in_their_rows(tmp_path):
    """In many batches, with columns in another order and one that is not declared; a column that places need is refused."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr("tacit.data.files.tolerant.BATCH_ROWS", 3)
    notes = [[b"%d" % (10 * file + row) + (b"\xff" if row == 7 else b"") for row in range(10)] for file in range(3)]
    for file, texts in enumerate(notes):
        numbers = pa.array([10 * file + row for row in range(10)])
        columns = {"X": numbers, "Note": invalid_strings(*texts)} if file else {"Note": invalid_strings(*texts), "X": numbers}
        write_parquet(tmp_path / f"n{file}.parquet", columns | ({"more": invalid_strings(*texts)} if file == 2 else {}))
    declared = (number("x", 0, 99), Column("note", "text"))
    prepared = catalog(tmp_path, table("n", Source("parquet", "n*.parquet"), *declared))
    prepare(prepared)
    monkeypatch.undo()
    for x, note in stored(prepared, "n", "x", "note"):
        assert note == f"{x}\ufffd" if x % 10 == 7 else note == str(x)
    write_parquet(tmp_path / "n9.parquet", {"Note": invalid_strings(b"\xff"), "X": [1], "file_index": [1]})
    with pytest.raises(InvalidCatalog, match="file_index is a name that"):
        prepare(prepared)


def test_a_text_that_is_a_number_in_another_file_is_said_so(tmp_path):
    write_parquet(tmp_path / "n1.parquet", {"note": [1.5]})
    for text, works in ((b"x", True), (b"\xff", False)):
        write_parquet(tmp_path / "n2.parquet", {"note": invalid_strings(text)})
        prepared = catalog(tmp_path, table("n", Source("parquet", "n*.parquet"), Column("note", "text")))
        if works:
            prepare(prepared)
        else:
            assert "note is text in one Parquet file and not in another" in refusal(prepared)


def test_hostile_values_of_every_arrow_type(tmp_path):
    doubles = [float("nan"), float("inf"), float("-inf"), -0.0, 1e308, 5e-324, None]
    columns = {
        "x": pa.array(doubles, pa.float64()),
        "h": pa.array([1.0, None, float("nan"), float("inf"), -0.0, 65504.0, 0.5], pa.float16()),
        "u": pa.array([2**64 - 1, 0, None, 1, 2, 3, 4], pa.uint64()),
        "d": pa.array(
            [Decimal("9" * 38), Decimal("-" + "9" * 38), None, Decimal(0), Decimal(1), Decimal(2), Decimal(3)], pa.decimal128(38, 0)
        ),
        "s": pa.array(["", " ", None, "1e999", "x" * 2_000_000, "\x00", "9" * 500], pa.string()),
        "t": pa.array([2**62, -(2**62), None, 0, 1, 2, 3], pa.timestamp("us")),
        "b": pa.array([b"\xff", b"", None, b"7", b"\x00", b"x" * 1_000_000, b"1"], pa.binary()),
    }
    declared = [number(each, 0, 10, "0.5") for each in "xhudsb"]
    path = write_parquet(tmp_path / "hostile.parquet", columns)
    prepared = catalog(tmp_path, table("hostile", path, *declared, days("t", "2020-01-01", "2020-12-31")))
    prepare(prepared)
    assert sorted(stored(prepared, "hostile", "x"), key=repr) == sorted(
        [(None,), (20,), (0,), (0,), (20,), (0,), (None,)], key=repr
    )
    assert sorted(stored(prepared, "hostile", "d"), key=repr) == sorted([(20,), (0,), (None,), (0,), (2,), (4,), (6,)], key=repr)
    assert sorted(stored(prepared, "hostile", "s"), key=repr) == sorted([(None,)] * 3 + [(20,), (None,), (None,), (20,)], key=repr)
    assert sorted(stored(prepared, "hostile", "b"), key=repr) == sorted([(None,)] * 3 + [(14,), (None,), (None,), (2,)], key=repr)
    assert sorted(stored(prepared, "hostile", "t"), key=repr) == sorted([(365,), (0,), (None,), (0,), (0,), (0,), (0,)], key=repr)


def test_what_a_parquet_file_declares_of_its_values_is_not_believed(tmp_path):
    """NaN is not in the statistics, and statistics may be wrong: bounds and NaN are looked at in every value."""
    path = write_parquet(tmp_path / "x.parquet", {"x": [1.0, float("nan"), 2.0], "n": pa.array([1, 777777, 2], pa.int64())})
    pq.write_table(pq.read_table(path), path, compression="none", use_dictionary=False)
    raw = path.read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    path.write_bytes(raw[:footer] + raw[footer:].replace((777777).to_bytes(8, "little"), (2).to_bytes(8, "little")))
    assert pq.read_metadata(path).row_group(0).column(1).statistics.max == 2
    assert pq.read_table(path)["n"].to_pylist() == [1, 777777, 2]
    prepared = catalog(tmp_path, table("x", path, number("x", 0, 5), number("n", 0, 5)))
    prepare(prepared)
    assert stored(prepared, "x", "x", "n") == sorted([(1, 1), (None, 5), (2, 2)], key=repr)


# --- what is said of a source that cannot be used ------------------------------------------------------------------------------


def refusal(prepared):
    with pytest.raises(InvalidCatalog) as caught:
        prepare(prepared)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None, "the engine's words are not passed on"
    return str(caught.value)


def test_a_missing_file_column_or_table(tmp_path):
    there = write_csv(tmp_path / "visits.csv", HEADER, ROWS)
    assert "file not found: nowhere.csv" in refusal(catalog(tmp_path, table("visits", Source("csv", "nowhere.csv"))))
    words = refusal(catalog(tmp_path, table("visits", there, number("height", 0, 1))))
    assert "missing column 'height' in the source of visits; its first line must name its columns" in words
    there = write_parquet(tmp_path / "visits.parquet", {"id": [1], "age": [2]})
    words = refusal(catalog(tmp_path, table("visits", there, number("height", 0, 1))))
    assert "missing column 'height' in the source of visits; it has: id, age; correct tacit.toml" in words


def test_a_row_that_stands_as_the_header_is_not_quoted_by_prepare(tmp_path):
    """The planted bug lists what the first line has."""
    there = write_csv(tmp_path / "visits.csv", ["alice", "syphilis"], [("bob", "flu")])
    words = refusal(catalog(tmp_path, table("visits", there, number("height", 0, 1))))
    assert "its first line must name its columns" in words
    assert "alice" not in words


def test_a_unit_that_is_no_column_and_a_table_that_is_none(tmp_path):
    there = write_csv(tmp_path / "visits.csv", HEADER, ROWS)
    words = refusal(catalog(tmp_path, table("visits", there, unit=Owner("owner"), max_rows=1)))
    assert "missing column 'owner'" in words
    source = write_duckdb(tmp_path / "hospital.duckdb", "visits", {"id": [1]})
    assert "names a table that is not there" in refusal(
        catalog(tmp_path, table("visits", Source("duckdb", source.location, "visit")))
    )
    (tmp_path / "empty.csv").touch()
    assert "empty.csv is empty" in refusal(catalog(tmp_path, table("visits", tmp_path / "empty.csv")))


@pytest.mark.parametrize("kind", ["parquet", "duckdb"])
def test_a_file_that_is_something_else_is_not_quoted(kind, tmp_path):
    (tmp_path / "visits").write_bytes(b"SECRET " * 1000)
    words = refusal(catalog(tmp_path, table("visits", Source(kind, "visits", "visits"), number("age", 0, 1))))
    assert words.startswith("the source of visits cannot be read")
    assert "SECRET" not in words


def test_different_headers(tmp_path):
    write_csv(tmp_path / "visits1.csv", ["a", "b"], [])
    write_csv(tmp_path / "visits2.csv", ["a", "c"], [])
    assert "different headers" in refusal(catalog(tmp_path, table("visits", Source("csv", "visits*.csv"))))


def test_the_header_is_parted_by_what_gives_most_names(tmp_path):
    path = tmp_path / "x.csv"
    for text, names, delimiter in (
        ("a,b\n1;2;3,4\n", ("a", "b"), ","),
        (' "a;b" ; B|c ;d\r\n', ("a;b", "b|c", "d"), ";"),
        ("a\tB,c\td\n", ("a", "b,c", "d"), "\t"),
        ("alone\n", ("alone",), ","),
    ):
        path.write_text(text)
        header = csv_header(path)
        assert (header.names, header.delimiter) == (names, delimiter)


def test_postgres_without_its_extra_says_what_to_install(tmp_path):
    script = (
        "import sys; sys.modules['adbc_driver_postgresql'] = None\n"
        "from tacit.data.files.postgres import _connect_to\n"
        "from tacit.errors import InvalidCatalog\n"
        "try: _connect_to('postgresql://nobody')\n"
        "except InvalidCatalog as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'tacit[postgres]'" in done.stdout
