"""The files of a table on this disk, compared with those that Spark has listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.data.store import still_here


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of two files, with the marks that Spark leaves beside them, at a place with a blank."""
    folder = tmp_path / "a folder" / "visits.parquet"
    folder.mkdir(parents=True)
    for name in ("part-0.parquet", "part-1.parquet", "_SUCCESS", ".part-0.parquet.crc"):
        (folder / name).write_bytes(b"x")
    return folder


def listed(*files: Path) -> frozenset[str]:
    return frozenset(each.as_uri() for each in files)


def test_the_same_files_are_still_here(table: Path) -> None:
    parts = listed(table / "part-0.parquet", table / "part-1.parquet")
    assert still_here(str(table), parts)
    assert still_here(str(table), {each.replace("file:///", "file:/") for each in parts})
    single = table / "part-0.parquet"
    assert still_here(str(single), listed(single))


def test_a_file_more_or_less_is_seen(table: Path) -> None:
    parts = listed(table / "part-0.parquet", table / "part-1.parquet")
    (table / "part-2.parquet").write_bytes(b"x")
    assert not still_here(str(table), parts)
    (table / "part-2.parquet").unlink()
    (table / "part-1.parquet").rename(table / "part-3.parquet")
    assert not still_here(str(table), parts)
    assert not still_here(str(table.with_name("away.parquet")), parts)


def test_what_cannot_be_seen_from_here_is_left_to_spark(table: Path) -> None:
    parts = listed(table / "part-0.parquet", table / "part-1.parquet")
    assert not still_here(str(table), frozenset())
    assert not still_here(str(table), {each.replace("file:///", "hdfs://host/") for each in parts})
    assert not still_here(str(table), {each.replace("file:///", "file://host/") for each in parts})
    assert not still_here(table.as_uri(), parts)
    (table / "part-1.parquet").unlink()
    (table / "part-1.parquet").mkdir()
    assert not still_here(str(table), parts)
    empty = table / "empty"
    empty.mkdir()
    assert not still_here(str(empty), frozenset())
