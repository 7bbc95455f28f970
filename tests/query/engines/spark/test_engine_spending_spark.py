"""What a question on Spark costs when the cluster fails, and what gets out: one spend, closed errors, and no word of Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit.query.engines.spark.engine as engines
from clusters import LIGHT, SPARK, hospital_on_spark, jobs_of
from tacit.data.spark.connect import unreachable
from tacit.errors import StoreUnusable, TimedOut
from tacit.release.once import LOG as FILE
from tacit.session import DataSet
from tacit.session import open as open_data

pytestmark = SPARK
WORD = "a_word_of_the_analyst"
QUESTION = f"SELECT ward, COUNT(*) AS n, SUM(cost) AS c FROM visits WHERE diagnosis <> '{WORD}' GROUP BY ward"


@pytest.fixture
def data(tmp_path: Path, spark: Any) -> Iterator[DataSet]:
    with open_data(hospital_on_spark(tmp_path)) as opened:
        yield opened


def spent(data: DataSet) -> tuple[int, int]:
    """How many spends and failures the ledger has."""
    kinds = [each.kind for each in data.ledger.entries()]
    return kinds.count("spend"), kinds.count("failure")


def log(data: DataSet) -> str:
    file = data.catalog.kept / FILE
    return file.read_text("utf-8") if file.exists() else ""


def test_a_question_is_asked_from_end_to_end(data: DataSet) -> None:
    answer = data.session("ana").sql(QUESTION, epsilon=2)
    assert sum(row["n"]["value"] for row in answer.rows()) == pytest.approx(120, abs=600)
    assert spent(data) == (1, 0)
    again = data.session("ana").sql(QUESTION, epsilon=2)
    assert again.rows() == answer.rows()
    assert again.receipt.again


def test_a_cluster_that_cannot_be_reached_costs_nothing(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "started", lambda *_, **__: (_ for _ in ()).throw(unreachable()))
    with pytest.raises(StoreUnusable, match="Spark cluster cannot be reached"):
        data.session("ana").sql(QUESTION, epsilon=1)
    assert spent(data) == (0, 0)


@pytest.mark.parametrize("opened", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_table_that_is_missing_costs_nothing(data: DataSet, opened: bool, capfd: pytest.CaptureFixture[str]) -> None:
    """Before the first question and after it: a table that the question does not need may be gone too."""
    ana = data.session("ana")
    if opened:
        ana.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    file = next(data.catalog.kept.rglob("parquet/visits.parquet"))
    away = file.rename(file.with_suffix(".away"))
    with pytest.raises(StoreUnusable, match="prepared store is missing"):
        ana.sql(QUESTION, epsilon=1)
    assert spent(data) == (int(opened), 0)
    away.rename(file)
    ana.sql(QUESTION, epsilon=1)
    assert spent(data) == (1 + opened, 0)
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.slow
def test_tables_in_other_files_cost_nothing(data: DataSet) -> None:
    """A folder of parts that was written again: Spark would look for the old parts after the spend."""
    file = next(data.catalog.kept.rglob("parquet/visits.parquet"))
    part = file.rename(file.with_name("part"))
    file.mkdir()
    part = part.rename(file / "one.parquet")
    ana = data.session("ana")
    ana.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    part.rename(file / "two.parquet")
    with pytest.raises(StoreUnusable, match="changed after it was opened"):
        ana.sql(QUESTION, epsilon=1)
    assert spent(data) == (1, 0)


@pytest.mark.slow
def test_a_store_that_was_replaced_costs_nothing(data: DataSet) -> None:
    ana = data.session("ana")
    ana.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    file = next(data.catalog.kept.rglob("store.json"))
    file.write_text(file.read_text("utf-8").replace(data.version, "another"), "utf-8")
    with pytest.raises(StoreUnusable, match="prepared again after"):
        ana.sql(QUESTION, epsilon=1)
    assert spent(data) == (1, 0)


def test_what_fails_after_the_spend_is_counted_once(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The spend stays, the analyst gets the closed error, and the data owner's log says why in words of a closed list."""
    ana = data.session("ana")
    lost = RuntimeError(f"ExecutorLostFailure at {WORD} of node 10.1.2.3")
    monkeypatch.setattr(engines.SparkEngine, "_fetch", lambda *_: (_ for _ in ()).throw(lost))
    with pytest.raises(TimedOut, match="limits of time or memory") as failed:
        ana.sql(QUESTION, epsilon=1)
    assert failed.value.code == "timed_out"
    assert failed.value.why == ""
    assert spent(data) == (1, 1)
    assert "executors were lost" in log(data)
    assert WORD not in log(data) + str(failed.value)


def test_a_session_whose_cluster_went_away_is_replaced_before_the_spend(data: DataSet) -> None:
    ana = data.session("ana")
    ana.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1)

    class Gone:
        """An empty task of a session that answers nothing any more."""

        def collect(self) -> None:
            raise ConnectionRefusedError

    data.engine._empty = Gone()  # type: ignore[attr-defined]
    assert len(ana.sql("SELECT COUNT(*) AS m FROM patients", epsilon=1).rows()) == 1


def test_the_cluster_runs_a_task_before_every_question(data: DataSet, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its plan is kept, its result is not: a cluster that went away a moment ago is noticed. A driver alone needs no task."""
    data.engine.open()
    alone = jobs_of(spark)
    data.engine.open()
    assert jobs_of(spark) == alone
    monkeypatch.setattr(engines, "runs_here", lambda _: False)
    data.engine.open()
    before = jobs_of(spark)
    data.engine.open()
    data.engine.open()
    assert jobs_of(spark) == before + 2


FAILING = """
import sys
from tacit.session import open as open_data
from tacit.errors import TacitError
with open_data(sys.argv[1]) as data:
    try:
        data.session("ana").sql(sys.argv[2], epsilon=1)
    except TacitError as error:
        print(type(error).__name__, error)
    try:
        data.engine._session.sql("SELECT " + sys.argv[3]).toArrow()
    except Exception as error:
        print(type(error).__name__)
"""


@pytest.mark.slow
def test_nothing_of_spark_reaches_standard_error(tmp_path: Path, spark: Any) -> None:
    """A process of its own: the driver starts, a table cannot be read, and Spark's message with the SQL goes nowhere."""
    catalog = hospital_on_spark(tmp_path)
    next(tmp_path.rglob("parquet/visits.parquet")).write_bytes(b"not Parquet")
    environment = {**os.environ, "JDK_JAVA_OPTIONS": LIGHT}
    run = [sys.executable, "-c", FAILING, str(catalog), QUESTION, WORD]
    done = subprocess.run(run, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.split()[0] == "TimedOut"
    assert done.stdout.split()[-1] == "AnalysisException"
    assert done.stderr == ""
    assert not list(tmp_path.rglob("spark-warehouse")), "nothing is left where the command was run"
    assert WORD not in done.stdout
    left = [file for file in tmp_path.rglob("*") if file.is_file() and WORD.encode() in file.read_bytes()]
    assert all("ledger" in file.name for file in left)  # where the question is recorded
    assert "a file of the prepared store cannot be read" in next(tmp_path.rglob("unforeseen.log")).read_text("utf-8")
