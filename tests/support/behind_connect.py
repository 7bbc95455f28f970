"""The hospital on Spark behind the server: Spark Connect, a valve in front of it, and a budget so large that noise is zero."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusters import hospital_on_spark
from served import ROLES
from serving import Server
from tacit.doors.server.desk import desk
from tacit.session import open as open_data
from valve import Valve

EXACT = "100000000"  # epsilon of a question: a sum of pulses has a scale below 1/10000, so that its noise is zero
ALLOWED = (("epsilon = 8", "epsilon = 100000000000"), ("epsilon = 2", "epsilon = 90000000000"))
OF_SPARK = ("SELECT", "tacit_", "parquet", "grpc", "spark.", "org.apache", "Exception", "Traceback", "sc://", "127.0.0.1")

LONG = 180.0  # seconds, on a machine that does other things too


@dataclass(frozen=True, slots=True)
class Place:
    """A server, the valve before its cluster, the ports of Spark Connect and of Spark's own page of jobs, and what it has said."""

    server: Server
    valve: Valve
    connect: int
    jobs: int
    said: Path

    def log(self) -> list[str]:
        """The lines of the data owner's log."""
        file = self.server.folder / ".tacit" / "log" / "unforeseen.log"
        return file.read_text("utf-8").splitlines() if file.exists() else []

    def running(self) -> set[int]:
        """The numbers of the jobs that run on Spark, from Spark itself."""
        where = f"http://127.0.0.1:{self.jobs}/api/v1/applications"
        (name,) = [each["id"] for each in _fetched(where)]
        return {job["jobId"] for job in _fetched(f"{where}/{name}/jobs?status=running")}


def _fetched(where: str) -> Any:
    with urllib.request.urlopen(where, timeout=30) as reply:  # noqa: S310  # the loopback
        return json.load(reply)


def hospital_served(folder: Path, master: str) -> dict[str, str]:
    """Prepares the hospital for Spark in a folder, with a large budget; the tokens of its accounts."""
    catalog = hospital_on_spark(folder, master)
    text = catalog.read_text("utf-8")
    for before, after in ALLOWED:
        text = text.replace(before, after, 1)
    catalog.write_text(text, "utf-8")
    with open_data(catalog, own_process=False) as data:
        office, declared = desk(data).office, data.catalog.analysts
        tokens = {name: office.accounts.add(name, role, declared=declared).token for name, role in ROLES.items() if name != "bob"}
        office.records.close()
    return tokens


@contextmanager
def busy(port: int, cores: int = 2) -> Iterator[None]:
    """A session of somebody else, whose tasks keep every core of the cluster until the end."""
    from pyspark.sql.connect.session import SparkSession

    other = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    asleep = other.range(0, cores, 1, cores).where("reflect('java.lang.Thread', 'sleep', 600000L) IS NOT NULL")

    def sleep() -> None:
        with suppress(Exception):
            asleep.count()

    thread = threading.Thread(target=sleep)
    thread.start()
    try:
        yield
    finally:
        other.interruptAll()
        thread.join()
        other.stop()


def ask(place: Place, question: str) -> tuple[int, Any]:
    """The reply to a question, in which there is nothing of Spark; nor is there in what the server and its log say."""
    status, told = place.server.ask(question, epsilon=EXACT, seconds=LONG)
    heard = [json.dumps(told), place.said.read_text("utf-8"), *place.log()]
    assert not [word for word in OF_SPARK for each in heard if word in each]
    return status, told


def new(number: int) -> str:
    """A question that no other number gives."""
    return f"SELECT COUNT(*) AS n FROM visits WHERE cost < {number}"


def answered(place: Place, number: int) -> int:
    """Asks until there is an answer; the seconds are those of a new engine, never of a new server."""
    end = time.monotonic() + LONG
    while (status := ask(place, new(number))[0]) != 200 and time.monotonic() < end:
        assert status == 503
        time.sleep(1)
    return status
