"""Names and types of columns are read, and not one value."""

import gzip
import os
import threading
from pathlib import Path

import duckdb
import pytest

from tacit.data.files import columns as headers
from tacit.data.files.columns import Field, fields_of, tables_in
from tacit.errors import InvalidInput

HEADER = b'id,"name, first",hours-per-week\r\n'
NAMES = ("id", "name, first", "hours-per-week")


def names(path: Path) -> tuple[str, ...]:
    return tuple(field.name for field in fields_of(path))


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


class Counted:
    """A file that counts the bytes that were asked of it."""

    def __init__(self, file, counts: list[int]):
        self.file, self.counts = file, counts

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def read(self, size: int = -1) -> bytes:
        got = self.file.read(size)
        self.counts.append(len(got))
        return got


def test_of_a_csv_not_one_byte_after_the_header_is_read(tmp_path, monkeypatch):
    path = written(tmp_path / "people.csv", b"id,name\n" + b"1,secret\n" * 100_000)
    opened, counts = Path.open, []
    monkeypatch.setattr(Path, "open", lambda path, *_, **__: Counted(opened(path, "rb", buffering=0), counts))
    assert names(path) == ("id", "name")
    assert sum(counts) == len(b"id,name\n")
    # the planted bug: a reader that takes a block ahead is seen
    monkeypatch.setattr(headers, "_bytes_of", lambda file, _: iter([file.read(8192)]))
    counts.clear()
    assert names(path) == ("id", "name")
    assert sum(counts) > len(b"id,name\n")


@pytest.mark.parametrize("body", [b"", b"\x00\xff\xfe" * 1000, b'"open\n' * 9, b"1,2\n" * 10**6])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_whatever_the_body_is_the_header_is_the_same(tmp_path, body, suffix):
    path = tmp_path / f"people{suffix}"
    path.write_bytes(gzip.compress(HEADER + body, mtime=0) if suffix == ".csv.gz" else HEADER + body)
    assert names(path) == NAMES


def test_a_damaged_archive_gives_its_header(tmp_path):
    whole = gzip.compress(HEADER, mtime=0)[:-8] + b"\xff" * 100
    assert names(written(tmp_path / "people.csv.gz", whole)) == NAMES


def test_a_pipe_whose_writer_has_not_finished_gives_its_header(tmp_path):
    path = tmp_path / "people.csv"
    os.mkfifo(path)
    done = threading.Event()

    def write():
        with path.open("wb", buffering=0) as pipe:
            pipe.write(HEADER)
            done.wait(20)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert names(path) == NAMES
        assert not done.is_set()
    finally:
        done.set()
        writer.join()


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (b"a;b;c", ("a", "b", "c")),
        (b"a\tb", ("a", "b")),
        (b"a|b\n1|2", ("a", "b")),
        ("\ufeffä,b".encode(), ("ä", "b")),
        (b"2019,2020", ("2019", "2020")),
        (b" a , b ", ("a", "b")),
        (b"a,,a", ("a", "", "a")),
    ],
)
def test_headers_of_other_kinds(tmp_path, header, expected):
    assert names(written(tmp_path / "t.csv", header)) == expected


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"39, State-gov, 77516", "it has a number where a name is expected, so it may be a row"),
        (b"zoe,2020-01-31", "it has a number where a name is expected"),
        (b"x,-1.5e3", "it has a number where a name is expected"),
        (b"", "it is empty"),
        (b"\n1,2", "it is empty"),
        (b'a,"b\nc",d', "a quotation mark is left open"),
        (b"caf\xe9,x", "it is not UTF-8 text.*--encoding windows-1252"),
        ("größe,x\n1,2\n".encode("utf-16"), "it is not UTF-8 text.*--encoding utf-16"),
        ("größe,x\n1,2\n".encode("utf-16-be").join([b"\xfe\xff", b""]), "--encoding utf-16"),
        (b"a" * (2 << 20), "it is longer than a header can be"),
    ],
)
def test_a_first_line_that_is_no_header_is_refused_without_being_quoted(tmp_path, content, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        fields_of(written(tmp_path / "t.csv", content))
    assert "State-gov" not in str(caught.value)
    assert "zoe" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InvalidInput, match=r"file not found: .*t\.csv"):
        fields_of(tmp_path / "t.csv")
    with pytest.raises(InvalidInput, match=r"file not found: .*t\.parquet"):
        fields_of(tmp_path / "t.parquet")
    with pytest.raises(InvalidInput, match=r"u\.parquet cannot be read"):
        fields_of(written(tmp_path / "u.parquet", b"secret"))
    with pytest.raises(InvalidInput, match=r"unsupported file type: t\.odt; expected"):
        fields_of(tmp_path / "t.odt")


def parquet(path: Path, values: str) -> Path:
    duckdb.execute(f"COPY (SELECT {values}) TO '{path}' (FORMAT parquet)")
    return path


def test_a_parquet_file_without_its_data_gives_the_same(tmp_path):
    path = parquet(tmp_path / "t.parquet", "range AS id, 'name ' || range AS name, 1.5::DECIMAL(9,2) AS cost FROM range(1000)")
    expected = (Field("id", "BIGINT"), Field("name", "VARCHAR"), Field("cost", "DECIMAL(9,2)"))
    assert fields_of(path) == expected
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = b"\xff" * (len(content) - footer - 4)
    assert fields_of(written(path, bytes(content))) == expected
    with pytest.raises(duckdb.Error):
        duckdb.read_parquet(str(path)).fetchall()


def test_the_tables_of_a_duckdb_file(tmp_path):
    path = tmp_path / "hospital.duckdb"
    with duckdb.connect(str(path)) as engine:
        engine.execute('CREATE TABLE Visits ("Patient" BIGINT, day DATE); CREATE SCHEMA old; CREATE TABLE old.wards (name VARCHAR)')
    visits, wards = tables_in(path, "data/hospital.duckdb")[::-1]
    assert visits.source == {"duckdb": "data/hospital.duckdb", "table": "visits"}
    assert visits.fields == (Field("Patient", "BIGINT"), Field("day", "DATE"))
    assert wards.source == {"duckdb": "data/hospital.duckdb", "table": "old.wards"}
    assert fields_of(path, "main.Visits") == visits.fields
    with pytest.raises(InvalidInput, match=r"unknown table visit in hospital\.duckdb"):
        fields_of(path, "visit")


@pytest.mark.parametrize("name", ["Visits.CSV.gz", "visits.tsv", "visits.csv"])
def test_a_table_is_called_as_its_file(tmp_path, name):
    content = gzip.compress(HEADER) if name.endswith("gz") else HEADER
    (found,) = tables_in(written(tmp_path / name, content), f"data/{name}")
    assert (found.name, found.source) == ("visits", f"data/{name}")
