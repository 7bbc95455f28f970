"""Columns of a file that no catalog declares: the same from every kind of file, in one wording where they are not."""

from __future__ import annotations

import gzip
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.data.files.columns import column_names, read_columns, read_table, require_columns, require_names
from tacit.errors import InvalidInput

ROWS = [("a", 1), ("b", None), ("caf\u00e9", 3)]
TABLE = pa.table({"Name": [name for name, _ in ROWS], "jobs": pa.array([jobs for _, jobs in ROWS], pa.int32())})
TEXT = "Name,jobs\n" + "".join(f"{name},{'' if jobs is None else jobs}\n" for name, jobs in ROWS)


def write(path: Path) -> Path:
    """The same rows in the kind of file that a name says."""
    name = path.name
    if name.endswith((".parquet", ".pq")):
        pq.write_table(TABLE, path)
    elif name.endswith(".duckdb"):
        with duckdb.connect(str(path)) as engine:
            engine.register("given", TABLE)
            engine.execute("CREATE TABLE rows AS SELECT * FROM given")
    else:
        text = TEXT.replace(",", "\t" if ".tsv" in name else ",").encode()
        path.write_bytes(gzip.compress(text) if name.lower().endswith(".gz") else text)
    return path


KINDS = ["t.parquet", "t.pq", "t.csv", "t.csv.gz", "T.CSV.GZ", "t.tsv", "t.tsv.gz", "t.duckdb"]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_file_gives_the_same_texts(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    assert column_names(path) == ["Name", "jobs"]
    jobs, names = read_columns(path, ["jobs", "name"])
    assert names.to_pylist() == ["a", "b", "caf\u00e9"]
    assert [each or None for each in jobs.to_pylist()] == ["1", None, "3"], "CSV does not tell an empty text from none"


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_file_gives_the_same_table(tmp_path: Path, name: str) -> None:
    table = read_table(write(tmp_path / name))
    assert table.to_pylist() == TABLE.to_pylist()
    assert pa.types.is_integer(table.schema.field("jobs").type)


def test_the_type_of_a_csv_column_fits_its_last_row_too(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n\n" + "1\n" * 300_000 + "2.5\n")
    assert read_table(path).column("n").to_pylist()[-1] == 2.5


def test_a_csv_file_without_rows_has_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n")
    assert (read_table(tmp_path / "t.csv").column_names, len(read_table(tmp_path / "t.csv"))) == (["a", "b"], 0)


@pytest.mark.parametrize("row", [b"only", b"x,1,more", b'"open,1', b"\xff,2", b"a\0b,3", b'x"y,4', b"", b'"a\nb",5', b"x\r,6"])
def test_no_row_makes_reading_fail_or_changes_another(tmp_path: Path, row: bytes) -> None:
    """The planted rows are those that stop Arrow's own reader, or join with the next row there."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"Name,jobs\nfirst,1\n" + row + b"\nlast,9\n")
    names, jobs = read_columns(path, ["Name", "jobs"])
    found = list(zip(names.to_pylist(), jobs.to_pylist(), strict=True))
    assert (found[0], found[-1]) == (("first", "1"), ("last", "9"))
    assert len(read_table(path)) == len(found)


# --- one wording -------------------------------------------------------------------------------------------------------------

READ = (column_names, lambda path: read_columns(path, ["name"]), read_table)


@pytest.mark.parametrize("read", READ)
def test_a_file_that_is_not_there_or_is_of_another_kind(tmp_path: Path, read: object) -> None:
    with pytest.raises(InvalidInput, match=r"file not found"):
        read(tmp_path / "none.csv")  # type: ignore[operator]
    (tmp_path / "t.xlsx").write_text("secret")
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path / "t.xlsx")  # type: ignore[operator]
    assert str(refused.value) == "unsupported file type: t.xlsx; expected .parquet, .csv, .csv.gz, .tsv or .duckdb"


@pytest.mark.parametrize("name", ["t.parquet", "t.duckdb", "t.csv.gz"])
@pytest.mark.parametrize("read", READ)
def test_a_file_that_is_something_else_is_not_quoted(tmp_path: Path, name: str, read: object) -> None:
    (tmp_path / name).write_bytes(b"secret,row\n" * 30)
    with pytest.raises(InvalidInput, match="cannot be") as refused:
        read(tmp_path / name)  # type: ignore[operator]
    assert "secret" not in str(refused.value)


def test_a_missing_column_is_told_with_those_there_are_if_they_cannot_be_a_row(tmp_path: Path) -> None:
    for name in ("t.parquet", "t.duckdb"):
        with pytest.raises(InvalidInput) as refused:
            require_columns(write(tmp_path / name), ["cost"], "; see --columns")
        assert str(refused.value) == f"missing column 'cost' in {name}; it has: Name, jobs; see --columns"
    (tmp_path / "t.csv").write_text("alice,secret\nbob,secret\n")
    with pytest.raises(InvalidInput, match=r"missing column 'cost' in t\.csv") as refused:
        require_columns(tmp_path / "t.csv", ["cost"])
    assert "alice" not in str(refused.value)


def test_two_columns_of_a_name_are_refused_where_it_is_not_clear_which_is_meant(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,A,b,b\n1,2,3,4\n")
    (found,) = read_columns(tmp_path / "t.csv", ["A"])
    assert found.to_pylist() == ["2"], "the one that is written so"
    with pytest.raises(InvalidInput, match=r"two columns 'b' in t\.csv"):
        require_columns(tmp_path / "t.csv", ["b"])


def test_names_are_texts_or_whole_numbers(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1.5], "b": pa.array(["x"]).dictionary_encode()}), tmp_path / "t.parquet")
    require_names(tmp_path / "t.parquet", ["B"])
    with pytest.raises(InvalidInput, match=r"column 'a' in t\.parquet has"):
        require_names(tmp_path / "t.parquet", ["a"])


def test_a_duckdb_file_has_one_table(tmp_path: Path) -> None:
    path = write(tmp_path / "t.duckdb")
    with duckdb.connect(str(path)) as engine:
        engine.execute("CREATE TABLE more (x INTEGER)")
    with pytest.raises(InvalidInput, match=r"t\.duckdb must contain one table"):
        read_table(path)
