"""Sessions on a Spark cluster, for preparation and for questions: quiet, and with the settings on which exactness rests.

Spark's own messages quote SQL, plans and hosts. A driver that is started here writes them nowhere, PySpark's loggers are silenced,
and no message reaches the caller. A process that already has a Spark session keeps it: its cluster is used, its log is its own.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tacit.data.deadline import stopped_after
from tacit.data.spark.connect import CONNECT, IN_BRACKETS, Address, channels_to, located, unreachable
from tacit.errors import StoreUnusable
from tacit.privacy.catalog import MOST_CORES, MOST_PARTS, PARTS_PER_CORE, REACH_SECONDS, expanded

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")  # they print SQL at any level
STACK = "-Xss16m"  # the deepest expression that is admitted is parsed and compiled by recursion
OPTIONS = "spark.driver.extraJavaOptions"
PATIENCE = "120"  # seconds for Java and Python to find each other; the usual 15 fail on a busy machine
PATIENCE_HERE = "SPARK_AUTH_SOCKET_TIMEOUT"
SOCKET = "spark.python.authenticate.socketTimeout"
START = {
    "spark.ui.enabled": "false",  # its pages show SQL and sizes
    "spark.eventLog.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.maxResultSize": "0",  # what comes back is limited before a question is paid for, not by what the rows hold
    OPTIONS: STACK,
    "spark.executor.extraJavaOptions": STACK,
    SOCKET: f"{PATIENCE}s",
}
PARTS = "spark.sql.shuffle.partitions"
WAREHOUSE = "spark.sql.warehouse.dir"  # Spark makes this folder, and in the current one if it is not named
SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # no expression raises; ranges are known beforehand, so none overflows either
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.variable.substitute": "false",  # a text such as ${env:HOME} is not replaced, inside quotes or elsewhere
    "spark.sql.parser.escapedStringLiterals": "false",  # as Ibis writes them, and so is the next
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",  # a file that cannot be read is a failure, never fewer rows
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.adaptive.enabled": "false",  # by what the rows hold, these would choose another plan
    "spark.sql.cbo.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.files.maxPartitionBytes": "134217728",  # 128 MB and 32 MB: by these, one task has at most 4 files (work.md)
    "spark.sql.files.openCostInBytes": "33554432",
    "spark.sql.files.maxPartitionNum": "2147483647",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.charVarcharAsString": "true",
}
RETRIES, RETRY_MILLISECONDS = 5, 4000  # of Spark Connect, which would try to reach a server that is gone for ten minutes


@dataclass(frozen=True, slots=True)
class Reach:
    """How a cluster is reached: it runs an empty task within `seconds` ([store] reach_seconds), or it cannot be reached.

    `at` is where a Spark Connect server was found; without it, gRPC looks the name up. `session` is the name that the session gets
    there.
    """

    seconds: float = REACH_SECONDS
    at: Address | None = None
    session: str = ""


def started(master: str | None, settings: Mapping[str, str] | None = None, reach: Reach = Reach()) -> Any:  # frozen
    """A session on a cluster, or on this machine; `sc://` is Spark Connect. The first one of a process decides its settings.

    Variables in `master` are put in here.
    """
    _silence()
    master = None if master is None else expanded(master, os.environ)
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise StoreUnusable("the engine 'spark' needs PySpark", remedy="run: pip install 'tacit[spark]'") from None
    try:
        if master is not None and master.startswith(CONNECT):
            return _set(_connect_server(master, reach.at, reach.session), reach.seconds)
        patience = f"{max(int(PATIENCE), math.ceil(reach.seconds))}"
        return quiet(_driven(master, {**START, SOCKET: f"{patience}s", **(settings or {})}), reach.seconds)
    except StoreUnusable:
        raise
    except Exception:  # its message may name hosts and users
        raise unreachable() from None


def quiet(session: Any, seconds: float = REACH_SECONDS) -> Any:
    """A session of its own on the same cluster, with the settings on which exactness rests."""
    _silence()
    if in_this_process(session):
        return _set(session.newSession(), seconds)
    return _set(type(session).builder.channelBuilder(session.client._builder).create(), seconds)  # Spark Connect


def cores(session: Any) -> int:
    """How many tasks the cluster runs at a time, as it says of itself; asking reaches it, and reads nothing."""
    parts = f"SELECT spark_partition_id() AS part FROM range({MOST_CORES})"
    rows = session.sql(f"SELECT max(part) AS last FROM ({parts})")
    return int(rows.toArrow().column("last")[0].as_py()) + 1


def for_questions(session: Any) -> Any:
    """The session, with as few parts of a shuffle as a question may have tasks of (work.md)."""
    parts = int(session.conf.get(PARTS))
    session.conf.set(PARTS, str(min(parts, MOST_PARTS)))
    return session


def in_this_process(session: Any) -> bool:
    """Whether the driver is in this process, so that both see the same disk; behind Spark Connect it is not."""
    return hasattr(session, "newSession")


def runs_here(session: Any) -> bool:
    """Whether the driver runs its tasks itself, and has not stopped: then an empty task has no cluster to reach."""
    if not in_this_process(session):
        return False
    context = session.sparkContext
    return bool(context.master == "local" or context.master.startswith("local[")) and not context._jsc.sc().isStopped()


def functions_of(session: Any) -> Any:
    """Spark's functions of columns, for this kind of session: those of a driver would look for one in this process."""
    if in_this_process(session):
        from pyspark.sql import functions

        return functions
    from pyspark.sql.connect import functions as connected

    return connected


@contextmanager
def interrupted(session: Any, seconds: float | None) -> Iterator[threading.Event]:
    """Stops what runs in a session after some seconds, again and again: an interrupt between two jobs is lost."""
    stop = session.interruptAll  # nothing else uses the session; tags miss what Arrow collects
    with stopped_after(seconds, stop, again=0.2) as late:
        yield late


def _set(own: Any, seconds: float) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns of settings that will go; each is set to what it is by default today
        for name, value in SETTINGS.items():
            own.conf.set(name, value)
    with interrupted(own, seconds):  # a master whose workers are gone accepts the task, and never runs it
        parts = PARTS_PER_CORE * cores(own)
    own.conf.set(PARTS, str(parts))
    return own


def _connect_server(master: str, at: Address | None, session: str) -> Any:
    """A new session of a Spark Connect server."""
    try:
        from pyspark.sql.connect.session import SparkSession
    except ImportError:  # PySpark checks for grpcio and others
        raise StoreUnusable("Spark Connect needs grpcio", remedy="run: pip install 'tacit[spark-connect]'") from None
    from pyspark.sql.connect.client.retries import DefaultPolicy

    builder = SparkSession.builder
    if at is None and IN_BRACKETS.search(master):
        at = located(master)
    made = (builder.remote(master) if at is None else builder.channelBuilder(channels_to(master, at, session))).create()
    made.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES, max_backoff=RETRY_MILLISECONDS)])
    return made


def _driven(master: str | None, settings: Mapping[str, str]) -> Any:
    """The session of the driver in this process, which is started when it is first needed."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    _forget_dead(SparkContext)
    held = SparkContext._active_spark_context
    if held is None:
        place = master or "local[*]"
        folder = _scratch()
        own = {WAREHOUSE: tempfile.gettempdir(), **settings, OPTIONS: f'{settings[OPTIONS]} "-Djava.io.tmpdir={folder}"'}
        conf = SparkConf().setAppName("tacit").setMaster(place).setAll(list(own.items()))
        if SparkContext._gateway is not None:  # a Java process of before, whose own folder for temporary files stays what it is
            conf.setIfMissing("spark.local.dir", folder)
        os.environ.setdefault(
            PATIENCE_HERE, settings.get(SOCKET, PATIENCE).removesuffix("s")
        )  # PySpark reads it whenever a result is handed over
        nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        held = SparkContext(conf=conf, gateway=SparkContext._gateway or launch_gateway(conf, nowhere))  # type: ignore[no-untyped-call]
        if place.startswith("local"):
            held.pythonExec = sys.executable  # what runs on the executors is this Python, not the first on the path
    elif master not in (None, held.master):
        raise StoreUnusable(
            "this process already has a Spark session on another master", remedy="stop it, or leave [store] master out"
        )
    return SparkSession.builder.getOrCreate()


def _scratch() -> str:
    """A folder that only this user can open, for the rows that the driver writes while it works: other users can read /tmp.

    It is Java's folder for temporary files, in which Spark writes unless the owner configures spark.local.dir.
    """
    folder, process = tempfile.mkdtemp(prefix="tacit-spark-"), os.getpid()

    def remove() -> None:
        if os.getpid() == process:  # and not in a process that was forked from it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def _forget_dead(context: Any) -> None:
    """A driver whose cluster is gone has stopped, or its Java process has ended; PySpark would go on using it."""
    held, gateway = context._active_spark_context, context._gateway
    process = getattr(gateway, "proc", None)
    if process is not None and process.poll() is not None:
        with suppress(Exception):
            gateway.shutdown()
        context._active_spark_context = context._gateway = context._jvm = None
        _forget_sessions()
    elif held is not None and held._jsc is not None and held._jsc.sc().isStopped():
        held.stop()
        _forget_sessions()


def _forget_sessions() -> None:
    from pyspark.sql import SparkSession

    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _silence() -> None:
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
