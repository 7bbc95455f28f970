"""The same plans on Spark and on the embedded engine: equal to the last integer. Skipped where there is no Java or no PySpark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusters import SPARK, hospital_beside_spark, hospital_questions, jobs_of
from equality import assert_equal
from tacit.errors import StoreUnusable, TimedOut
from tacit.query.engines.engine import Limits, Opening
from tacit.query.language.nodes import given
from tacit.query.language.sql import read
from tacit.query.passes import rewrite
from tacit.session import Session

pytestmark = SPARK
QUESTIONS = hospital_questions()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[tuple[Session, Any, Path]]:
    """A session on the hospital, the same store on Spark, and its description."""
    with hospital_beside_spark(tmp_path_factory.mktemp("spark"), spark) as made:
        yield made


def test_public_facts_are_the_same(place: tuple[Session, Any, Path]) -> None:
    session, engine, _ = place
    own = session.data.engine
    assert engine.size("wards") == own.size("wards") == 4
    assert engine.fan_out("wards", "floor") == own.fan_out("wards", "floor") == 2
    ordered = [sorted(map(str, each.public_rows("wards").to_pylist())) for each in (engine, own)]
    assert ordered[0] == ordered[1]
    with pytest.raises(TypeError, match="sealed, or not at all"):
        engine.public_rows("visits")


def test_public_facts_are_asked_once_for_each_version(place: tuple[Session, Any, Path], spark: Any, tmp_path: Path) -> None:
    """A failure of the cluster is not kept, and neither is anything about a store that was prepared again."""
    from tacit.query.engines.spark.engine import SparkEngine

    described = shutil.copytree(place[2].parent, tmp_path / "copy") / "store.json"
    described.write_text(described.read_text("utf-8").replace(str(place[2].parent), str(described.parent)), "utf-8")
    engine = SparkEngine(Opening(described, "spark"), spark)
    engine.open()
    opened, engine._session = engine._session, None
    with pytest.raises(StoreUnusable, match="cannot be reached"):
        engine.size("wards")
    engine._session = opened
    facts = [(engine.size("wards"), engine.fan_out("wards", "floor"))]
    before = jobs_of(spark)
    facts.append((engine.size("WARDS"), engine.fan_out("wards", "Floor")))
    assert (facts, jobs_of(spark)) == ([(4, 2), (4, 2)], before)

    stored = pq.read_table(described.parent / "parquet" / "wards.parquet")
    pq.write_table(pa.concat_tables([stored, stored]), described.parent / "parquet" / "wards.parquet")
    described.write_text(described.read_text("utf-8").replace(place[0].data.version, "another"), "utf-8")
    with pytest.raises(StoreUnusable, match="prepared again after"):
        engine.open()
    engine.open()
    assert (engine.size("wards"), engine.fan_out("wards", "floor")) == (8, 4)
    engine.close()


DEEP = "ABS(ABS(ABS(ABS(ABS(cost - 50) - 40) - 30) - 20) - 10)"


@pytest.mark.parametrize("deep", [DEEP, pytest.param("LN(1 + ABS(ABS(ABS(cost - 50) - 40) - 30))", marks=pytest.mark.slow)])
def test_deep_questions_are_short_for_sparks_parser(place: tuple[Session, Any, Path], deep: str) -> None:
    """Written out, this has 21,000 characters; a logarithm of something as deep would be refused for its size."""
    session, engine, _ = place
    statement: Any = read(f"SELECT ward, SUM({deep}) AS s FROM visits GROUP BY ward", given(None, date(2025, 1, 1))).statement
    assert_equal(session.data.engine, engine, rewrite(statement, session.data.catalog, session.data.public))
    written = list(engine._compiled.values())[-1]
    assert len(written) < 5_000
    assert "tacit_rank" not in written, "the store says that it holds no row beyond the limit"


def test_what_fails_on_the_cluster_is_said_in_one_way(place: tuple[Session, Any, Path], capfd: pytest.CaptureFixture[str]) -> None:
    """Spark's message names a column and a path; none of it gets out, not even to standard error."""
    _, engine, _ = place
    with pytest.raises(TimedOut) as failed, engine._deadline(60):
        engine._session.sql("SELECT secret_column FROM nowhere").toArrow()
    assert failed.value.__cause__ is None
    assert "secret_column" not in str(failed.value) + "".join(capfd.readouterr())


def test_a_question_that_takes_too_long_is_interrupted(place: tuple[Session, Any, Path]) -> None:
    _, engine, _ = place
    slow = "SELECT count(*) AS found FROM range(40000) a CROSS JOIN range(40000) b WHERE a.id * b.id % 7 = 3"
    with pytest.raises(TimedOut), engine._deadline(1.0):
        engine._session.sql(slow).toArrow()
    assert len(engine.public_rows("wards")) == 4


def test_another_version_and_a_cluster_that_is_gone_cost_nothing(place: tuple[Session, Any, Path]) -> None:
    from tacit.query.engines.spark.engine import SparkEngine

    described = place[2]
    with pytest.raises(StoreUnusable, match="prepared again after"):
        SparkEngine(Opening(described, "spark", "another", master="local[2]")).open()
    assert Limits().seconds == 60
