"""The engine is locked in: it reads the store and nothing else, stops in time, and says nothing of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from stored import catalog, category, number, table
from tacit.errors import StoreUnusable, TimedOut
from tacit.privacy.catalog import Column, Owner, Source, Table
from tacit.privacy.sealed import Sealed
from tacit.query import named_parts
from tacit.query.engines import compile as compiled
from tacit.query.engines import duckdb as engines
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.engines.engine import Limits
from tacit.query.plan import Bound
from worlds import PUBLIC, World, clinic, ranked, world

ROW = {"ward": 0, "cost": 100, "age": 10, "day": 0, "diagnosis": "secret illness", "scan": 0}
SAID = "the query exceeded its limits of time or memory; its budget stays spent; " + (
    "ask a smaller question, or ask the data owner for higher limits"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("engine")
    with world(folder, clinic(folder), {"visits": ranked([[ROW], [ROW]]), "wards": PUBLIC}) as made:
        yield made


@pytest.fixture(scope="module")
def connection(place: World) -> Any:
    place.exact(place.plan("SELECT COUNT(*) FROM visits"))
    return place.engine._connection


OUTSIDE = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/*')",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "COPY store.visits TO '{folder}/out.parquet'",
    "ATTACH '{folder}/other.duckdb'",
    "ATTACH ':memory:' AS extra (TYPE sqlite)",
    "EXPORT DATABASE '{folder}/dump'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "FORCE INSTALL httpfs FROM 'http://localhost'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET memory_limit = '100GB'",
    "SET threads = 64",
    "SET autoload_known_extensions = true",
    "RESET enable_external_access",
    "SET temp_directory = '{folder}'",
    "SET allowed_directories = ['/']",
    "PRAGMA enable_external_access = true",
    "PRAGMA temp_directory = '{folder}'",
    "CREATE SECRET s (TYPE s3)",
    "INSERT INTO store.visits SELECT * FROM store.visits",
    "DELETE FROM store.visits",
    "UPDATE store.visits SET cost = 0",
    "DROP TABLE store.visits",
    "CREATE TABLE store.mine (x INTEGER)",
]


@pytest.mark.parametrize("statement", OUTSIDE)
def test_the_connection_cannot_leave_the_store(connection: Any, tmp_path: Path, statement: str) -> None:
    """Analysts' text never gets here; this is the second wall."""
    with pytest.raises(duckdb.Error):
        connection.execute(statement.format(folder=tmp_path)).fetchall()
    assert not list(tmp_path.iterdir())


def test_the_wall_is_there_because_it_was_built(tmp_path: Path) -> None:
    """The same statements go through on a connection that nobody locked, so that the test above can fail."""
    with duckdb.connect() as unlocked:
        assert unlocked.execute("SELECT COUNT(*) FROM read_text('/etc/hostname')").fetchone()
        unlocked.execute(f"COPY (SELECT 1) TO '{tmp_path}/out.csv'")
        unlocked.execute("SET threads = 1")
    assert list(tmp_path.iterdir())


def test_no_text_of_the_question_is_in_the_sql_of_the_engine(place: World) -> None:
    """But for constants of private text, which are written as constants."""
    question = place.plan(
        "SELECT SUM(cost) AS zebra FROM visits AS giraffe WHERE ward = 'a' AND diagnosis = 'it''s; DROP TABLE visits --'"
    )
    written = place.engine._open().compile(compiled.sums(question.group, compiled.Tables(place.engine._table)))
    assert "zebra" not in written
    assert "giraffe" not in written
    assert "'it''s; DROP TABLE visits --'" in written
    assert written.count(";") == 1
    assert [list(moment) for moment in place.exact(question)] == [[0]]


def test_answers_are_sealed(place: World) -> None:
    exact = place.engine.run(place.plan("SELECT ward, COUNT(*), MEDIAN(cost) FROM visits GROUP BY ward").group)
    assert isinstance(exact.moments[0], Sealed)
    assert all(isinstance(cell, Sealed) for cell in exact.moments[1])
    assert "100" not in repr(exact)
    private = place.engine.run(place.plan("SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis").group)
    assert "secret" not in repr(private)
    assert isinstance(private.keys, Sealed)


# --- limits ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows enough that a join with itself takes long."""
    folder = tmp_path_factory.mktemp("heavy")
    with duckdb.connect(str(folder / "store.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE facts AS "
            "SELECT range AS tacit_unit, 0::BIGINT AS tacit_rank, (range * 7919) % 1000003 AS x FROM range(400000)"
        )
        connection.execute("CREATE TABLE tacit_store AS SELECT 'a test' AS version, '{}' AS details")
    return folder


@pytest.fixture
def crossing() -> Iterator[None]:
    honest = compiled.relation.dispatch(Bound)

    def crossed(node: Any, reading: Any) -> Any:
        rows = honest(node, reading)
        facts = reading.tables.named("facts")
        other = facts.select(other=facts["x"])
        return rows.cross_join(other).filter(lambda both: (both["other"] + both["s0:x"]) % 7 != 3)

    compiled.relation.register(Bound, crossed)
    yield
    compiled.relation.register(Bound, honest)


def heavy_engine(folder: Path, limits: Limits) -> Any:
    from tacit.query.language.sql import parse
    from tacit.query.passes import rewrite

    declared = catalog(folder, table("facts", folder / "facts.csv", number("x", 0, 10**6 + 2)))
    engine = DuckDBEngine(folder / "store.duckdb", limits)
    return engine, lambda text: rewrite(parse(text), declared, None).group  # type: ignore[arg-type]


@pytest.mark.usefixtures("crossing")
@pytest.mark.parametrize("text", ["SELECT SUM(x) FROM facts", "SELECT SUM(x), MEDIAN(x), MAX(x * 2) FROM facts"])
def test_a_question_that_takes_too_long_ends_with_one_constant_text(heavy: Path, text: str) -> None:
    engine, plan = heavy_engine(heavy, Limits(seconds=0.3, threads=1))
    begun = time.process_time()
    with pytest.raises(TimedOut) as caught:
        engine.run(plan(text))
    assert str(caught.value) == SAID
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert time.process_time() - begun < 20, "of this process alone, however busy the machine is"
    engine.close()


def test_the_engine_still_answers_after_a_time_out(heavy: Path) -> None:
    engine, plan = heavy_engine(heavy, Limits(seconds=300, threads=1))
    engine._open()
    with pytest.raises(TimedOut), engine._deadline(engine.limits.seconds):
        raise duckdb.InterruptException("cell 'secret' was interrupted")
    assert int(engine.run(plan("SELECT COUNT(*) FROM facts")).moments[0].unseal()[0]) == 400_000
    engine.close()


@pytest.mark.usefixtures("crossing")
def test_a_time_out_between_two_statements_is_not_lost(heavy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is up while nothing runs; the next statement must be stopped all the same."""
    engine, plan = heavy_engine(heavy, Limits(seconds=0.2, threads=1))
    honest, places = engine._fetch, iter([None])

    def fetch(build: Any, key: str) -> Any:
        for _ in places:
            time.sleep(0.5)
            return {}
        return honest(build, key)

    monkeypatch.setattr(engine, "_fetch", fetch)
    begun = time.process_time()
    with pytest.raises(TimedOut):
        engine.run(plan("SELECT SUM(x), MEDIAN(x) FROM facts"))
    assert time.process_time() - begun < 20


def test_a_question_that_takes_too_much_memory_ends_with_the_same_text(heavy: Path) -> None:
    engine, plan = heavy_engine(heavy, Limits(memory="12MB", threads=1))
    with pytest.raises(TimedOut) as caught:
        engine.run(plan("SELECT x, COUNT(*), SUM(x * x), AVG(x) FROM facts GROUP BY x"))
    assert str(caught.value) == SAID
    engine.close()


@pytest.mark.parametrize("failure", [MemoryError("secret"), RecursionError("secret"), duckdb.ConversionException("cell 'secret'")])
def test_whatever_the_engine_says_the_analyst_hears_one_text(
    place: World, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_: Any) -> Any:
        raise failure

    monkeypatch.setattr(place.engine, "_fetch", fail)
    with pytest.raises(TimedOut) as caught:
        place.engine.run(place.plan("SELECT COUNT(*) FROM visits").group)
    assert str(caught.value) == SAID


def test_a_store_that_is_missing_or_broken_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="tacit prepare"):
        DuckDBEngine(tmp_path / "none.duckdb")._open()
    (tmp_path / "broken.duckdb").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreUnusable, match="tacit prepare"):
        DuckDBEngine(tmp_path / "broken.duckdb")._open()


# --- public facts ----------------------------------------------------------------------------------------------------------------


def test_fan_out_is_counted_whatever_columns_are_called(tmp_path: Path) -> None:
    from stored import category
    from tacit.privacy.catalog import Source, Table

    names = ("n", "rows", "key", "count")
    columns = {name: category(name, "x", "y") for name in names}
    public = Table("odd", Source("csv", "odd.csv"), columns, public=True)
    rows = [dict.fromkeys(names, 0), dict.fromkeys(names, 0), dict.fromkeys(names, 1), dict.fromkeys(names, None)]
    with world(tmp_path, catalog(tmp_path, public), {"odd": rows}) as made:
        assert [made.facts.fan_out("odd", name) for name in names] == [2] * 4
        assert made.facts.fan_out("ODD", "N") == 2


def test_fan_out_of_an_empty_table_is_none(tmp_path: Path) -> None:
    with world(tmp_path, clinic(tmp_path), {"visits": [], "wards": []}) as made:
        assert made.facts.fan_out("wards", "ward") == 0
        assert [list(moment) for moment in made.exact(made.plan("SELECT COUNT(*) FROM visits LEFT JOIN wards USING (ward)"))] == [
            [0]
        ]


# --- lookups in lists --------------------

MANY = 60  # declared values: more than are written as cases
LOOKED_UP = {
    "a condition": "SELECT COUNT(*) AS n FROM t WHERE code = other",
    "a value": "SELECT SUM(LENGTH(code)) AS n, SUM(CASE WHEN LENGTH(other) = 5 THEN 1 ELSE 0 END) AS m FROM t",
    "a key": "SELECT SUBSTRING(code, 5, 1) AS k, COUNT(*) AS n FROM t GROUP BY k ORDER BY k",
    "a join": "SELECT SUM(image) AS n FROM t JOIN images ON images.other = t.code",
    "a left join": "SELECT SUM(image) AS n, COUNT(*) AS m FROM t LEFT JOIN images ON images.other = t.code",
    "a semi-join": "SELECT COUNT(*) AS n FROM t WHERE code IN (SELECT other FROM images WHERE image > 3)",
    "an anti-join": "SELECT COUNT(*) AS n FROM t WHERE code NOT IN (SELECT other FROM images WHERE image > 3)",
    "units": "SELECT COUNT(*) AS n FROM t a LEFT JOIN t b ON a.person = b.person AND a.code = b.other",
}


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("listed")
    words = [f"c{at:04d}" for at in range(MANY)]
    columns = (Column("person", "key"), category("code", *words), category("other", *reversed(words), nulls="drop"))
    declared = table("t", folder / "t.csv", *columns, unit=Owner("person"), max_rows=2, rows_at_most=1000)
    held = (category("other", *reversed(words)), number("image", 0, 9))
    images = Table("images", Source("csv", "images.csv"), {column.name: column for column in held}, public=True)
    rows = ranked(
        [[{"code": at * 7 % MANY if at % 5 else None, "other": (MANY - 1 - at * 7) % MANY}] * (1 + at % 2) for at in range(300)]
    )
    public = [{"other": at, "image": at % 10} for at in range(0, MANY, 2)]
    with world(folder, catalog(folder, declared, images), {"t": rows, "images": public}) as made:
        yield made


@pytest.mark.parametrize("text", LOOKED_UP.values(), ids=LOOKED_UP)
def test_a_lookup_in_a_list_is_what_its_cases_are(listed: World, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """In a sub-query, as a constant, and as a list of cases: the same sums."""
    question, found = listed.plan(text), []
    for longest, branches in ((0, 32), (10**9, 32), (10**9, 10**9)):
        monkeypatch.setattr(engines, "LONG_LIST", longest)
        monkeypatch.setattr(named_parts, "LONGEST_BRANCHES", branches)
        listed.engine._compiled.clear()
        found.append([np.asarray(moment).tolist() for moment in listed.exact(question)])
        assert any("SELECT CAST(STR_SPLIT" in each for each in listed.engine._compiled.values()) == (longest == 0)
    assert found[0] == found[1] == found[2]
    assert np.asarray(found[0][0]).sum() > 0


def test_a_list_that_is_made_once_adds_no_rows(listed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is put beside the rows as a product with one row, which passes on as many as it reads (work.md)."""
    monkeypatch.setattr(engines, "LONG_LIST", 0)
    listed.engine._compiled.clear()
    listed.exact(listed.plan(LOOKED_UP["a value"]))
    (written,) = [text for text in listed.engine._compiled.values() if "SELECT CAST(STR_SPLIT" in text]
    ((_, profile),) = listed.engine._connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {written}").fetchall()
    products = [each for each in _operators(json.loads(profile)["operator"]) if each["type"] == "CROSS_PRODUCT"]
    assert products
    assert all(each["intermediate_rows"] == max(child["intermediate_rows"] for child in each["children"]) > 1 for each in products)


def _operators(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for each in found:
        yield each
        yield from _operators(each.get("children", []))
