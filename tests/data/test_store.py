"""The store is replaced as a whole or not at all, is for the data owner only, and says of itself nothing that comes from rows."""

import gzip
import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import tacit
from parquet_copies import to_parquet
from stored import by_unit, catalog, category, days, number, stored, table, write_csv, write_parquet
from tacit.data.prepare import LedgerMark, prepare
from tacit.data.store import FORMAT, column_from, column_json, open_store, require_small_files, store_file, store_info
from tacit.errors import InvalidInput, StoreUnusable
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Column, Owner, assuming, fingerprint
from tacit.session import DataSet


def people(folder, rows=((1, 5), (1, 6), (2, 7)), **declared):
    source = write_csv(folder / "people.csv", ["id", "x"], rows)
    return catalog(folder, table("people", source, number("x", 0, 9), unit=Owner("id"), **{"max_rows": 5} | declared))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_for_the_curator_alone(tmp_path):
    before = os.umask(0)
    try:
        prepared = people(tmp_path)
        prepare(prepared)
    finally:
        os.umask(before)
    assert mode(prepared.kept) == mode(prepared.kept / "store") == 0o700
    files = [path for path in prepared.kept.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"store.duckdb", "rank.key", "prepare.lock"}
    assert {mode(path) for path in files} == {0o600}


def test_folders_that_were_open_are_closed(tmp_path):
    prepared = people(tmp_path)
    (prepared.kept / "store").mkdir(parents=True)
    prepared.kept.chmod(0o755)
    (prepared.kept / "store").chmod(0o777)
    prepare(prepared)
    assert mode(prepared.kept) == mode(prepared.kept / "store") == 0o700


def test_a_store_elsewhere(tmp_path):
    (tmp_path / "shared").mkdir(mode=0o755)
    prepared = people(tmp_path)
    elsewhere = catalog(tmp_path, *prepared.tables.values(), store_path="shared")
    prepare(elsewhere)
    assert store_file(elsewhere) == tmp_path / "shared" / "store.duckdb"
    assert mode(store_file(elsewhere)) == 0o600
    assert mode(tmp_path / "shared") == 0o755
    assert not (prepared.kept / "store").exists()
    assert mode(prepared.kept / "rank.key") == 0o600


def test_preparing_again_keeps_the_key_and_changes_the_version(tmp_path):
    prepared = people(tmp_path, [(unit, x) for unit in range(5) for x in range(10)], max_rows=3)
    first = prepare(prepared)
    key, kept = (prepared.kept / "rank.key").read_bytes(), by_unit(prepared, "people", "x")
    second = prepare(prepared)
    assert (prepared.kept / "rank.key").read_bytes() == key
    assert by_unit(prepared, "people", "x") == kept
    assert first.version != second.version
    assert store_info(prepared).version == second.version
    (prepared.kept / "rank.key").unlink()
    prepare(prepared)
    assert (prepared.kept / "rank.key").read_bytes() != key
    assert by_unit(prepared, "people", "x") != kept, "another key keeps other rows"


def test_a_damaged_key_is_not_taken(tmp_path):
    prepared = people(tmp_path)
    prepare(prepared)
    for damaged in ("", "0123", "z" * 32, "é"):
        (prepared.kept / "rank.key").write_text(damaged)
        with pytest.raises(StoreUnusable, match="ranking key is corrupt"):
            prepare(prepared)


def test_key_and_version_come_through_the_one_door(tmp_path, monkeypatch):
    drawn = iter(range(100))
    monkeypatch.setattr(bits, "random_bytes", lambda count: bytes([next(drawn)]) * count)
    prepared = people(tmp_path)
    version = prepare(prepared).version
    assert len(version) == 32
    assert len(set(version[::2] + version[1::2])) <= 2
    assert next(drawn) == 3, "a folder, a key and a version were drawn"


def test_what_the_store_says_of_itself_is_public(tmp_path):
    """Two databases that differ in every row say the same, version and time aside."""
    write_csv(tmp_path / "wards.csv", ["ward", "beds"], [["a", 5], ["b", 9]])
    said = []
    for rows in ([(1, 5)], [(place, place % 10) for place in range(50)]):
        prepared = people(tmp_path, rows)
        prepared = catalog(tmp_path, *prepared.tables.values(), table("wards", tmp_path / "wards.csv", public=True))
        prepare(prepared)
        with open_store(store_file(prepared)) as engine:
            ((version, prepared_at, details),) = engine.execute("SELECT version, prepared_at, details FROM tacit_store").fetchall()
        assert len(version) == 32
        assert prepared_at.startswith("20")
        said.append(details)
    assert said[0] == said[1]
    known = json.loads(said[0])
    assert list(known) == ["format", "catalog", "ledger", "head", "public", "limits"]
    assert known["format"] == FORMAT
    assert known["catalog"] == fingerprint(prepared)
    assert known["public"]["wards"]["beds"]["bounds"] == ["5", "9"]


def test_the_ledger_it_belongs_to(tmp_path):
    prepared = people(tmp_path)
    prepare(prepared)
    assert (store_info(prepared).ledger, store_info(prepared).head) == (None, None)
    prepare(prepared, mark=LedgerMark("ledger-1", "head-7"))
    prepare(prepared)
    assert (store_info(prepared).ledger, store_info(prepared).head) == ("ledger-1", "head-7")


def test_there_is_none_or_it_is_damaged(tmp_path):
    prepared = people(tmp_path)
    assert store_info(prepared) is None
    prepare(prepared)
    store_file(prepared).write_bytes(b"not a store")
    with pytest.raises(StoreUnusable, match="run `tacit prepare`"):
        store_info(prepared)
    store_file(prepared).unlink()
    with duckdb.connect(str(store_file(prepared))) as engine:
        engine.execute("CREATE TABLE people (x INTEGER)")
    with pytest.raises(StoreUnusable, match="cannot read the prepared store"):
        store_info(prepared)
    prepare(prepared)
    assert store_info(prepared) is not None


def written_as(prepared, form):
    """The store with another format, or with none, as the first format has it."""
    with duckdb.connect(str(store_file(prepared))) as engine:
        ((details,),) = engine.execute("SELECT details FROM tacit_store").fetchall()
        known = {**json.loads(details), "format": form}
        engine.execute("UPDATE tacit_store SET details = ?", [json.dumps({k: v for k, v in known.items() if v is not None})])


@pytest.mark.parametrize(("form", "said"), [(None, 1), (FORMAT + 1, FORMAT + 1)])
def test_a_store_of_another_format_is_prepared_anew(form, said, tmp_path):
    """Its rows mean something else; but the ledger that it names stays named."""
    prepared = people(tmp_path)
    prepare(prepared, mark=LedgerMark("ledger-1", "head-7"))
    written_as(prepared, form)
    with pytest.raises(StoreUnusable, match=f"has format {said}") as caught:
        store_info(prepared)
    assert caught.value.remedy == "run: tacit prepare"
    prepare(prepared)
    info = store_info(prepared)
    assert (info.ledger, info.head) == ("ledger-1", "head-7")


SHARED = """
budget.epsilon = 8
[tables.visits]
source = "visits.csv"
unit = { column = "patient" }
max_rows = 2
columns = { id = { key = true }, cost = { bounds = [0, 100] } }
[tables.labs]
source = "labs.csv"
unit = { column = "visit", references = "visits.id" }
max_rows = 2
columns = { value = { bounds = [0, 9] } }
"""


def test_a_store_that_was_made_in_the_first_format_is_not_asked(tmp_path):
    """Visit 7 is of two patients, and the least of them has all of its labs."""
    (tmp_path / "tacit.toml").write_text(SHARED)
    (tmp_path / "visits.csv").write_text("id,patient,cost\n7,1,5\n7,2,8\n8,2,9\n")
    (tmp_path / "labs.csv").write_text("visit,value\n7,1\n7,2\n8,3\n")
    data = tacit.open(tmp_path / "tacit.toml")
    data.catalog.store_folder.mkdir(parents=True)
    store_file(data.catalog).write_bytes(gzip.decompress((Path(__file__).parent / "stores" / "format-1.duckdb.gz").read_bytes()))
    assert len(stored(data.catalog, "labs")) == 3
    with pytest.raises(StoreUnusable, match="has format 1") as caught:
        _ = data.store
    assert caught.value.remedy == "run: tacit prepare"
    assert {report.name: report.copies for report in prepare(data.catalog).tables} == {"visits": 3, "labs": 4}
    assert (data.store.ledger, data.store.head) == ("ledger-1", "head-7")


COLUMNS = [
    number("x", 0, 5, "0.01", nulls=Fraction(3)),
    category("x", "a", "é", unknown="other", nulls="a"),
    category("x", True, False),
    category("x", 1, 2, nulls=1),
    days("x", "2020-01-01", "2020-12-31", outside="null", nulls="drop"),
    Column("x", "text", nulls="none"),
]


@pytest.mark.parametrize("column", COLUMNS)
def test_columns_survive_being_written(column):
    read = column_from("x", json.loads(json.dumps(column_json(column))))
    assert read == column
    assert [type(value) for value in read.values] == [type(value) for value in column.values]


# --- as a whole or not at all --------------------------------------------------------------------------------------------------


def test_readers_keep_the_store_they_opened_and_others_get_the_new_one(tmp_path):
    prepared = people(tmp_path)
    prepare(prepared)
    with open_store(store_file(prepared)) as old:
        prepare(people(tmp_path, [(1, 9)]))
        with open_store(store_file(prepared)) as new:
            assert old.execute("SELECT count(*) FROM people").fetchone() == (3,)
            assert new.execute("SELECT count(*) FROM people").fetchone() == (1,)


def test_questions_cannot_write(tmp_path):
    prepared = people(tmp_path)
    prepare(prepared)
    with open_store(store_file(prepared)) as engine, pytest.raises(duckdb.Error, match="read-only"):
        engine.execute("DELETE FROM people")


class Stopped(Exception):
    pass


@pytest.mark.parametrize("word", ["reading people", "ranking people", "numbering units", "writing people"])
def test_an_interruption_leaves_the_old_store(word, tmp_path):
    prepared = people(tmp_path)
    prepare(prepared)
    before, inode = stored(prepared, "people"), store_file(prepared).stat().st_ino

    def stop(words, fraction):
        if words == word:
            raise Stopped

    with pytest.raises(Stopped):
        prepare(people(tmp_path, [(place, 1) for place in range(1000)]), stop)
    assert stored(prepared, "people") == before
    assert store_file(prepared).stat().st_ino == inode
    assert sorted(path.name for path in (prepared.kept / "store").iterdir()) == ["prepare.lock", "store.duckdb"]


def test_a_table_larger_than_declared_leaves_the_old_store(tmp_path):
    """Stored rows count, after max_rows: of ten rows of one person five are stored."""
    prepared = people(tmp_path, rows_at_most=3)
    prepare(prepared)
    before, inode = stored(prepared, "people"), store_file(prepared).stat().st_ino
    more = people(tmp_path, [(1, 5), (1, 6), (2, 7), (2, 8)], rows_at_most=3)
    with pytest.raises(StoreUnusable) as caught:
        prepare(more)
    assert str(caught.value) == (
        "people has more rows than 3, which is declared as rows_at_most; the old store stays; "
        "raise rows_at_most in [tables.people], or lower max_rows"
    )
    assert (stored(prepared, "people"), store_file(prepared).stat().st_ino) == (before, inode)
    prepare(people(tmp_path, [(1, place % 10) for place in range(10)], rows_at_most=5))
    assert len(stored(prepared, "people")) == 5


def test_a_table_without_a_declared_size_has_one_all_the_same(tmp_path):
    with pytest.raises(StoreUnusable, match="more rows than 2, which"):
        prepare(assuming(people(tmp_path), 2))


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = {tests!r}
from test_store import people
from tacit.data.prepare import prepare
folder, word = Path(sys.argv[1]), sys.argv[2]
def tell(words, fraction):
    if words == word:
        os.kill(os.getpid(), signal.SIGKILL)
prepare(people(folder, [(place, 1) for place in range(1000)]), tell)
"""


@pytest.mark.parametrize("word", ["reading people", "writing people"])
def test_kill_9_leaves_the_old_store_and_the_next_one_clears_up(word, tmp_path):
    prepared = people(tmp_path)
    prepare(prepared)
    before = stored(prepared, "people")
    script = textwrap.dedent(KILLED.format(tests=[str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]))
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path), word], check=False)
    assert done.returncode == -signal.SIGKILL
    assert stored(prepared, "people") == before
    (left,) = (prepared.kept / "store").glob("preparing-*")
    assert mode(left) == 0o700, "what is left of raw rows is for the data owner only"
    prepare(prepared)
    assert not left.exists()


def test_one_at_a_time(tmp_path):
    prepared = people(tmp_path)

    def another(words, fraction):
        if words == "reading people":
            with pytest.raises(StoreUnusable, match="being prepared by another process"):
                prepare(prepared)
            raise Stopped

    with pytest.raises(Stopped):
        prepare(prepared, another)
    prepare(prepared)


def test_progress_rises_to_one_and_names_its_steps(tmp_path):
    told = []
    write_csv(tmp_path / "wards.csv", ["ward"], [["a"]])
    prepared = people(tmp_path)
    prepared = catalog(tmp_path, *prepared.tables.values(), table("wards", tmp_path / "wards.csv", public=True))
    prepare(prepared, lambda words, fraction: told.append((words, fraction)))
    fractions = [fraction for _, fraction in told]
    assert fractions == sorted(fractions)
    assert told[-1] == ("prepared", 1.0)
    assert fractions[0] < 1 / 6
    steps = list(dict.fromkeys(words for words, _ in told))
    assert steps == [
        "reading people",
        "ranking people",
        "numbering units",
        "writing people",
        "reading wards",
        "writing wards",
        "prepared",
    ]


# --- memory ----------------------------------------------------------------------------------------------------------------


def test_data_larger_than_the_memory_it_may_use(tmp_path, monkeypatch):
    """About 60 MB of rows with 40 MB for the engine: it spills, ends, leaves nothing behind and has lost nothing."""
    monkeypatch.setattr("tacit.data.engine.engine_bytes", lambda limit: 40 * 10**6)
    count = 700_000
    with duckdb.connect() as engine:
        path = tmp_path / "visits.parquet"
        rows = "SELECT 'user ' || (i * 7919 % 200000) AS who, hash(i) % 1000 AS x, 'note ' || hash(i) AS note FROM range(?) r(i)"
        engine.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet)", [count])
    prepared = catalog(tmp_path, table("visits", path, number("x", 0, 999), Column("note", "text"), unit=Owner("who"), max_rows=3))
    spilled = []

    def look(words, fraction):
        spilled.extend(file.stat().st_size for file in (prepared.kept / "store").glob("preparing-*/spill/*") if file.exists())

    report = prepare(prepared, look).tables[0]
    assert report.read == count
    assert report.kept == 3 * 200_000
    assert sum(spilled) > 0, "the test is of data that does not fit"
    assert not list((prepared.kept / "store").glob("preparing-*"))


def test_too_little_memory_is_said_in_our_words(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.data.engine.engine_bytes", lambda limit: 10**6)
    path = write_parquet(tmp_path / "visits.parquet", {"who": ["SECRET " * 1000] * 3000, "x": [1] * 3000})
    prepared = catalog(tmp_path, table("visits", path, number("x", 0, 9), unit=Owner("who"), max_rows=1))
    with pytest.raises(StoreUnusable, match=r"out of memory while preparing .limit") as caught:
        prepare(prepared)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None
    with pytest.raises(InvalidInput, match="memory must be a size"):
        prepare(prepared, memory="plenty")


def test_a_store_of_large_files_has_no_cores(tmp_path):
    """A store of before cores could be declared is refused with them, and only with them."""
    (tmp_path / "parquet").mkdir()
    prepared = people(tmp_path)
    prepare(prepared)
    described = to_parquet(store_file(prepared), tmp_path / "parquet")
    on_spark = replace(prepared, store_engine="spark")
    many = replace(on_spark, store_cores=64)
    require_small_files(many)  # there is no store yet
    store_file(on_spark).write_text(described.written())
    assert DataSet(many).store.version == described.version
    known = json.loads(described.written())
    for old in ({**known, "file_rows": None}, {key: known[key] for key in known if key != "file_rows"}):
        store_file(on_spark).write_text(json.dumps(old))
        for fits in (prepared, on_spark, replace(on_spark, store_cores=1)):
            assert DataSet(fits).store.version == described.version
        with pytest.raises(StoreUnusable, match="needs a store of small files"):
            _ = DataSet(many).store


def test_cores_that_are_declared_later_need_small_files_too(tmp_path):
    prepared = people(tmp_path)
    prepare(prepared)
    (tmp_path / "parquet").mkdir()
    described = to_parquet(store_file(prepared), tmp_path / "parquet")
    text = f"""
[budget]
epsilon = 8
[tables.people]
source = "people.csv"
unit = {{ column = "id" }}
max_rows = 5
[tables.people.columns]
x = {{ bounds = [0, 9] }}
[store]
engine = "spark"
path = "{tmp_path / "elsewhere"}"
"""
    (tmp_path / "tacit.toml").write_text(text)
    (tmp_path / "elsewhere").mkdir()
    with tacit.open(tmp_path / "tacit.toml") as data:
        old = replace(described, file_rows=None, details=described.details | {"catalog": fingerprint(data.catalog)})
        store_file(data.catalog).write_text(old.written())
        assert data.version == described.version
        (tmp_path / "tacit.toml").write_text(text + "cores = 64\n")
        with pytest.raises(StoreUnusable, match="needs a store of small files"):
            data.refresh()
