"""Marks of sources: a copy, a changed file and a file that has grown are recognized; other data is not; no guess is confirmed."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pytest

from stored import catalog, number, table, write_csv, write_duckdb, write_parquet
from tacit.accounting.ledger.register import FILE, Register, Registered
from tacit.data import registering as module
from tacit.data.catalog import read_catalog
from tacit.data.registering import marks_by_table, source_marks
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Catalog, Source

KEY, OTHER_KEY = bytes(range(32)), bytes(32)
HEADER = ["person", "cost"]
LARGE = 6000  # rows of a file that is sampled


@pytest.fixture(autouse=True)
def _short_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file counts as large from 8 KiB on, so that the tests are quick."""
    monkeypatch.setattr(module, "SAMPLE", 1 << 9)
    monkeypatch.setattr(module, "BEGINNING", 1 << 14)


def rows(count: int, seed: int = 0) -> list[tuple[int, int]]:
    return [(person, (person * 7919 + seed * 104729) % 5000) for person in range(count)]


def by_column(given: list[tuple[int, int]]) -> dict[str, list[int]]:
    return {name: [row[place] for row in given] for place, name in enumerate(HEADER)}


def over(source: Path | Source, folder: Path | None = None, **declared: Any) -> Catalog:
    home = folder or (source.parent if isinstance(source, Path) else Path("/catalogs"))
    return catalog(home, table("visits", source, number("cost", 0, 5000), **declared))


def marks(source: Path | Source, environment: Mapping[str, str] = os.environ) -> frozenset[str]:
    return source_marks(over(source), KEY, environment)


def recognized(one: Path | Source, other: Path | Source) -> bool:
    """Whether a second catalog over `other` is seen to be over the same data as one over `one`."""
    return not marks(one).isdisjoint(marks(other))


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another folder, as another catalog would have."""
    folder = tmp_path / "other"
    folder.mkdir()
    return folder


# --- copies ------------------------------------------------------------------------------------------------------------------


def small_csv(folder: Path) -> Path:
    return write_csv(folder / "visits.csv", HEADER, rows(20))


def large_csv(folder: Path) -> Path:
    return write_csv(folder / "visits.csv", HEADER, rows(LARGE))


def small_parquet(folder: Path) -> Path:
    return write_parquet(folder / "visits.parquet", by_column(rows(20)))


def large_parquet(folder: Path) -> Path:
    return write_parquet(folder / "visits.parquet", by_column(rows(LARGE)))


KINDS = [small_csv, large_csv, small_parquet, large_parquet]


def a_copy_is_recognized(made: Path, other: Path) -> bool:
    return recognized(made, Path(shutil.copy(made, other / f"renamed{made.suffix}")))


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_under_another_name_is_recognized(kind: Any, tmp_path: Path, other: Path) -> None:
    assert a_copy_is_recognized(kind(tmp_path), other)


@pytest.mark.parametrize("kind", KINDS)
def test_marks_of_places_alone_are_caught(kind: Any, tmp_path: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_readable", lambda *_: [])
    assert not a_copy_is_recognized(kind(tmp_path), other)


def test_the_copy_of_a_folder_is_known_to_the_register(tmp_path: Path) -> None:
    """The whole road: a data set with its catalog is copied, and the copy's sources are behind the ledger of the first."""
    kept = Path(__file__).parents[1] / "kept" / "format-1" / "people"
    first, second = (shutil.copytree(kept, tmp_path / name) for name in ("first", "second"))
    register = Register(tmp_path / "state", lambda: KEY)
    found = source_marks(read_catalog(first / "tacit.toml"), register.key, {})
    register.record(Registered("ab", str(first / "ledger.sqlite"), "people", str(first / "tacit.toml"), tuple(found)))
    copied = source_marks(read_catalog(second / "tacit.toml"), register.key, {})
    assert [known.ledger for known in register.sharing(copied)] == ["ab"]
    other_user = Register(tmp_path / "state of another user", lambda: OTHER_KEY)
    assert other_user.sharing(source_marks(read_catalog(first / "tacit.toml"), other_user.key, {})) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_other_data_is_not_recognized(kind: Any, tmp_path: Path, other: Path) -> None:
    made = kind(tmp_path)
    different = rows(20 if "small" in kind.__name__ else LARGE, seed=1)
    if made.suffix == ".csv":
        assert not recognized(made, write_csv(other / "visits.csv", HEADER, different))
    else:
        assert not recognized(made, write_parquet(other / "visits.parquet", by_column(different)))


def test_a_header_or_an_empty_file_is_not_data(tmp_path: Path, other: Path) -> None:
    wide = [f"column_{place:04d}" for place in range(2000)]
    for header, content in ((HEADER, []), (wide, [])):
        assert not recognized(write_csv(tmp_path / "a.csv", header, content), write_csv(other / "b.csv", header, content))
    one, two = ([[seed * place % 997 for place in range(2000)]] * 9 for seed in (3, 5))
    assert not recognized(write_csv(tmp_path / "a.csv", wide, one), write_csv(other / "b.csv", wide, two))


# --- files that change -------------------------------------------------------------------------------------------------------


def a_changed_file_is_recognized(folder: Path) -> bool:
    """All rows are others, at the same place; and the second catalog lies elsewhere."""
    file = write_csv(folder / "visits.csv", HEADER, rows(100))
    before = marks(file)
    write_csv(file, HEADER, rows(100, seed=3))
    after = source_marks(over(file, folder / "elsewhere"), KEY, {})
    return not before.isdisjoint(after)


def test_a_file_that_changed_is_recognized_by_its_place(tmp_path: Path) -> None:
    assert a_changed_file_is_recognized(tmp_path)


def test_marks_of_contents_alone_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(range(1000))
    monkeypatch.setattr(module, "_path", lambda file: str(next(drawn)).encode())
    assert not a_changed_file_is_recognized(tmp_path)


def test_places_are_where_paths_lead(tmp_path: Path, other: Path) -> None:
    file = write_csv(tmp_path / "visits.csv", HEADER, rows(3))
    link = other / "link.csv"
    link.symlink_to(file)
    content = {mark for mark in marks(file) if mark in marks(Path(shutil.copy(file, other / "copy.csv")))}
    assert (marks(file) & marks(link)) - content


def grown(file: Path, other: Path) -> Path:
    return write_csv(other / "later.csv", HEADER, [*rows(2000), *rows(500, seed=9)])


def test_a_copy_to_which_rows_were_added_is_recognized(tmp_path: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_csv(tmp_path / "visits.csv", HEADER, rows(2000))
    assert recognized(file, grown(file, other))
    assert recognized(grown(file, other), file), "whichever came first"
    monkeypatch.setattr(module, "LENGTHS", ())  # the whole content alone
    assert not recognized(file, grown(file, other))


def test_a_copy_in_which_somebody_was_changed_is_recognized(tmp_path: Path, other: Path) -> None:
    file = large_csv(tmp_path)
    assert file.stat().st_size > 2 * module.SAMPLE * module.SAMPLES, "it is sampled"
    content = bytearray(file.read_bytes())
    content[module.SAMPLE + 5] ^= 1
    (other / "changed.csv").write_bytes(content)
    assert recognized(file, other / "changed.csv")
    assert module.LENGTHS[0] > module.SAMPLE + 5, "by its samples: its beginning is another"


def test_compressed_or_not_the_rows_of_csv_are_the_same(tmp_path: Path, other: Path) -> None:
    file = write_csv(tmp_path / "visits.csv", HEADER, rows(2000))
    packed = other / "visits.csv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert recognized(file, packed)
    packed.write_bytes(packed.read_bytes()[:-100])
    assert marks(packed), "a broken file has its place; preparation says what is wrong with it"


def test_the_same_rows_as_csv_and_as_parquet_are_not_recognized(tmp_path: Path) -> None:
    """A limit that register.md names: this test is there so that the page stays true."""
    assert not recognized(small_csv(tmp_path), small_parquet(tmp_path))


# --- many files, and what is not a file --------------------------------------------------------------------------------------


def test_a_folder_is_recognized_whichever_files_are_in_it(tmp_path: Path, other: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    write_csv(parts / "january.csv", HEADER, rows(50))
    before, source = marks(Source("csv", str(parts))), Source("csv", str(other))
    write_csv(other / "january again.csv", HEADER, rows(50))
    write_csv(other / "february.csv", HEADER, rows(50, seed=2))
    assert not before.isdisjoint(marks(source)), "one file of several is a copy"
    (parts / "january.csv").unlink()
    write_csv(parts / "march.csv", HEADER, rows(50, seed=3))
    assert not before.isdisjoint(marks(Source("csv", str(parts)))), "the folder is the same"
    assert not marks(Source("csv", str(parts))).isdisjoint(marks(parts / "march.csv")), "one file of it alone"
    assert not marks(Source("csv", str(parts / "m*.csv"))).isdisjoint(marks(parts / "march.csv"))


def test_a_source_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidCatalog, match="file not found"):
        marks(tmp_path / "absent.csv")


def test_a_pipe_is_not_emptied(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "visits.csv")
    assert len(marks(tmp_path / "visits.csv")) == 2


def test_public_tables_have_no_marks(tmp_path: Path) -> None:
    file = small_csv(tmp_path)
    both = catalog(tmp_path, table("visits", file, number("cost", 0, 9)), table("wards", file, public=True))
    assert marks_by_table(both, KEY, {}).keys() == {"visits"}
    assert source_marks(over(file, public=True), KEY, {}) == frozenset()


# --- databases ---------------------------------------------------------------------------------------------------------------


def in_duckdb(path: Path, name: str, count: int = 200, seed: int = 0) -> Source:
    return write_duckdb(path, name, by_column(rows(count, seed)))


def test_a_table_of_duckdb_is_recognized_by_file_and_name_and_by_its_rows(tmp_path: Path, other: Path) -> None:
    source = in_duckdb(tmp_path / "a.duckdb", "visits")
    assert recognized(source, in_duckdb(other / "copy.duckdb", "renamed")), "the same rows in another file"
    assert recognized(source, in_duckdb(other / "later.duckdb", "visits", count=300)), "rows were added"
    assert not recognized(source, in_duckdb(tmp_path / "a.duckdb", "other", seed=1)), "another table of the same file"
    before = marks(source)
    with duckdb.connect(source.location) as engine:
        engine.execute("DELETE FROM visits; INSERT INTO visits VALUES (1, 1)")
    assert not before.isdisjoint(marks(Source("duckdb", source.location, "Main.Visits"))), "by its name, however it is written"


def test_few_rows_of_duckdb_are_compared_as_a_whole(tmp_path: Path, other: Path) -> None:
    source = in_duckdb(tmp_path / "a.duckdb", "visits", count=5)
    assert recognized(source, in_duckdb(other / "b.duckdb", "b", count=5))
    assert not recognized(source, in_duckdb(other / "c.duckdb", "c", count=6))
    assert not recognized(in_duckdb(tmp_path / "d.duckdb", "d", count=0), in_duckdb(other / "e.duckdb", "e", count=0))


def test_a_table_that_cannot_be_read_still_has_its_place(tmp_path: Path) -> None:
    source = in_duckdb(tmp_path / "a.duckdb", "visits")
    assert len(marks(Source("duckdb", source.location, "absent"))) == 1


def in_postgres(url: str, name: str = "visits") -> Source:
    return Source("postgres", url, name)


def test_a_table_of_postgres_is_recognized_by_server_database_and_name() -> None:
    one = in_postgres("postgresql://ana:secret@db/hospital")
    assert recognized(one, in_postgres("postgres://bob@DB:5432/hospital?sslmode=require", "public.Visits"))
    for url, name in (("db2/hospital", "visits"), ("db:5433/hospital", "visits"), ("db/clinic", "visits"), ("db/hospital", "labs")):
        assert not recognized(one, in_postgres(f"postgresql://ana:secret@{url}", name))
    assert not recognized(one, in_postgres("postgresql://db/hospital", "ward.visits"))


def test_variables_of_the_url_are_put_in() -> None:
    environment = {"SECRET": "x", "SERVER": "db"}
    source = in_postgres("postgresql://ana:$SECRET@$SERVER/hospital")
    assert marks(source, environment) == marks(in_postgres("postgresql://db/hospital"))
    with pytest.raises(InvalidCatalog, match=r"\$SECRET, which is not set"):
        marks(source, {})


# --- no guess is confirmed ---------------------------------------------------------------------------------------------------


def confirmed(register: str, guess: Path) -> bool:
    """Whether somebody who has the register's marks, but not its key, can tell that the guessed file is behind a ledger.

    The attacker runs tacit itself with keys of their own choice, and tries plain hashes of the file and of its rows.
    """
    raw = guess.read_bytes()
    contents = [raw, raw[raw.find(b"\n") + 1 :], os.fsencode(guess.resolve()), *(raw[:length] for length in module.LENGTHS)]
    plain = {sha256(content).hexdigest() for content in contents}
    guessed = plain.union(*(source_marks(over(guess), key, {}) for key in (b"", bytes(32), b"\xff" * 32, sha256(raw).digest())))
    return any(mark in register for mark in guessed)


def registered(folder: Path, file: Path) -> str:
    """What the register says of a ledger over the file, its key taken out."""
    register = Register(folder, lambda: KEY)
    register.record(Registered("ab", "/x/ledger.sqlite", "hospital", "/x/tacit.toml", tuple(source_marks(over(file), KEY, {}))))
    return (folder / FILE).read_text().replace(KEY.hex(), "")


def test_without_the_key_the_register_confirms_no_guess_of_the_data(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "visits.csv", HEADER, rows(2000))
    assert not confirmed(registered(tmp_path / "state", file), file)


def unkeyed(_: bytes, *parts: bytes) -> str:
    return sha256(b"".join(parts)).hexdigest()


def only_the_content(_: bytes, *parts: bytes) -> str:
    return parts[-1].hex()


@pytest.mark.parametrize("plant", [unkeyed, only_the_content])
def test_marks_without_a_key_are_caught(plant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_csv(tmp_path / "visits.csv", HEADER, rows(2000))
    monkeypatch.setattr(module, "mark_of", plant)
    assert confirmed(registered(tmp_path / "state", file), file)


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("said")
def test_nothing_of_a_source_is_said(tmp_path: Path) -> None:
    file = small_csv(tmp_path)
    assert all(len(mark) == 64 and set(mark) <= set("0123456789abcdef") for mark in marks(file))
