"""Questions through Spark Connect: the same integers, and closed errors where the server is gone. Skipped without grpcio."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from clusters import SPARK, connect_server, hospital_on_spark
from equality import assert_equal
from hospital import files
from services import Missing
from tacit.errors import StoreUnusable
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.language.nodes import given
from tacit.query.language.sql import read
from tacit.query.passes import rewrite
from tacit.session import open as open_data

pytestmark = [*SPARK, pytest.mark.slow]
QUESTIONS = [
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward",
    "SELECT diagnosis, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY diagnosis",
    "SELECT sex, MEDIAN(cost) AS m FROM visits JOIN patients ON visits.patient_id = patients.id GROUP BY sex",
    "SELECT floor, SUM(cost) AS c FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY floor",
]


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    pytest.importorskip("grpc", reason="install grpcio (pip install 'tacit[test]') to run these tests")
    try:
        with connect_server() as started:
            yield started
    except Missing as missing:
        pytest.skip(str(missing))


def test_data_is_prepared_through_spark_connect(server: tuple[str, subprocess.Popen[bytes]], tmp_path: Path) -> None:
    catalog = files(tmp_path)
    catalog.write_text(f'{catalog.read_text("utf-8")}\n[store]\nengine = "spark"\nmaster = "{server[0]}"\n', "utf-8")
    with open_data(catalog) as data:
        report = data.prepare(yes=True)
        data.begin_scratch("a test")
        assert {table.name: table.kept for table in report.tables} == {"patients": 40, "visits": 120, "wards": 4}
        assert len(data.session("ana").sql(QUESTIONS[3], epsilon=1).rows()) == 3


def test_the_same_integers_and_a_server_that_goes_away(server: tuple[str, subprocess.Popen[bytes]], tmp_path: Path) -> None:
    address, process = server
    with open_data(hospital_on_spark(tmp_path, address)) as data:
        embedded = DuckDBEngine(data.catalog.store_folder / "store.duckdb")
        data.engine.open()
        for question in QUESTIONS:
            statement: Any = read(question, given(None, date(2025, 1, 1))).statement
            assert_equal(embedded, data.engine, rewrite(statement, data.catalog, data.public))
        embedded.close()
        assert len(data.session("ana").sql(QUESTIONS[0], epsilon=1).rows()) == 5
        process.send_signal(signal.SIGKILL)
        process.wait()
        with pytest.raises(StoreUnusable, match="Spark cluster cannot be reached"):
            data.session("ana").sql(QUESTIONS[3], epsilon=1)
        assert [each.kind for each in data.ledger.entries()].count("spend") == 1
