"""Spark for tests: one session on this machine, as light as Java allows."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from hospital import hospital_session
from pages import ROOT
from parquet_copies import to_parquet
from services import Missing, _free_port, java_program
from tacit.data.store import store_file
from tacit.query.engines.engine import Opening
from tacit.session import Session

INSTALL_SPARK = "install PySpark (pip install 'tacit[spark]') and run the tests again"
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # half of the processor time of a short life
SPARK = [  # py4j leaves its sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


ENTRY = re.compile(r"^-- answered: \d+(?: .*)?\n(.+);$", re.MULTILINE)


def hospital_questions() -> list[str]:
    """The golden questions that are answered, each as one plan; a SELECT from answers is made of several questions like these."""
    files = [file for file in sorted((ROOT / "tests/queries/hospital").glob("*.sql")) if file.stem != "answers"]
    return [question for file in files for question in ENTRY.findall(file.read_text("utf-8"))]


@contextmanager
def quick_session(master: str = "local[2]") -> Iterator[Any]:
    """A Spark session that starts and runs short questions with little processor time; stopped at the end."""
    java_program()
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise Missing(INSTALL_SPARK) from None
    from tacit.data.spark.session import STACK, started

    session = started(master, {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": f"{LIGHT} {STACK}"})
    try:
        yield session
    finally:
        session.stop()


def jobs_of(session: Any) -> int:
    """How many jobs a session's driver has begun. Its scheduler is asked: what a tracker says comes late, and forgets."""
    return int(session.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def hospital_on_spark(folder: Path, master: str = "local[2]") -> Path:
    """The catalog of the hospital, with its prepared data in Parquet and a ledger; questions run on Spark."""
    with hospital_session(folder) as session:
        place = store_file(session.data.catalog).parent
        (place / "parquet").mkdir()
        described = to_parquet(store_file(session.data.catalog), place / "parquet")
        (place / "store.json").write_text(described.written(), "utf-8")
    catalog = folder / "tacit.toml"
    catalog.write_text(catalog.read_text("utf-8") + f'\n[store]\nengine = "spark"\nmaster = "{master}"\n', "utf-8")
    return catalog


@contextmanager
def hospital_beside_spark(folder: Path, spark: Any) -> Iterator[tuple[Session, Any, Path]]:
    """A session on the hospital, an engine with the same store on Spark, and the description of that store."""
    from tacit.query.engines.spark.engine import SparkEngine

    with hospital_session(folder) as session:
        (folder / "parquet").mkdir()
        described = to_parquet(store_file(session.data.catalog), folder / "parquet")
        (folder / "store.json").write_text(described.written(), "utf-8")
        engine = SparkEngine(Opening(folder / "store.json", "spark", described.version), spark)
        yield session, engine, folder / "store.json"
        engine.close()


@contextmanager
def connect_server(port: int = 0, **more: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A Spark Connect server on the loopback, with two cores of this machine; `more` are settings, with _ for each dot."""
    java_program()
    try:
        import pyspark
    except ImportError:
        raise Missing(INSTALL_SPARK) from None
    port, home = port or _free_port(), Path(pyspark.__file__).parent
    options = {
        "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"{LIGHT} -Xss16m", **{name.replace("_", "."): value for name, value in more.items()},
    }  # fmt: skip
    given = [word for name, value in options.items() for word in ("--conf", f"{name}={value}")]
    kind = "org.apache.spark.sql.connect.service.SparkConnectServer"
    run = [str(home / "bin/spark-submit"), "--class", kind, "--master", "local[2]", *given]
    nowhere: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    with subprocess.Popen(run, env=os.environ | {"PYSPARK_PYTHON": sys.executable}, **nowhere) as process:
        try:
            _wait_for(port, process)
            yield f"sc://127.0.0.1:{port}", process
        finally:
            process.kill()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.3)
    raise AssertionError("Spark Connect did not start")
