"""A real Spark cluster on the loopback: a master, workers with an executor each, and a driver in a process of its own."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusters import INSTALL_SPARK, LIGHT
from services import Missing, _free_port, java_program

STARTING = 300.0  # seconds for a process to be there
PATIENCE = 900.0  # seconds for a question: what is tested is what it costs, not how long it takes
DEFAULTS = f"""
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.driver.memory 1g
spark.executor.memory 512m
spark.executor.cores 1
spark.python.worker.reuse true
spark.driver.defaultJavaOptions {LIGHT}
spark.executor.defaultJavaOptions {LIGHT}
"""
DRIVER = """
import json, sys, threading, time
from dataclasses import replace
from tacit.errors import TacitError
from tacit.query.engines.engine import Limits
from tacit.session import open as open_data


def say(**words):
    print(json.dumps(words), flush=True)

def slowed(engine, table, pause):
    "The rows of a stored table in some parts, with a pause before each row: it takes its time, whatever the machine does."
    rows = engine._session.read.parquet(engine._store.table(table)).repartition(8)
    rows.where(f"reflect('java.lang.Thread', 'sleep', {pause}L) IS NOT NULL").createOrReplaceTempView(f"{engine._views}_{table}")

def watch(context):
    "Says when two tasks of one stage run."
    tracker = context.statusTracker()
    while True:
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and info.numActiveTasks >= 2 and info.numTasks == 8:
                return say(running=True)
        time.sleep(0.1)

with open_data(sys.argv[1]) as data:
    session = data.session("ana")
    for line in sys.stdin:
        asked, engine = json.loads(line), data.engine
        engine.limits = Limits(seconds=asked["seconds"])
        engine.wanted = replace(engine.wanted, seconds_to_reach=asked["opening"])
        if "pause" in asked:
            slowed(engine, "visits", asked["pause"])
            threading.Thread(target=watch, args=[engine._session.sparkContext], daemon=True).start()
        if "instead" in asked:
            engine._arrow = lambda *_: engine._session.sql(asked["instead"]).toArrow()
        try:
            said = {"rows": len(session.sql(asked["sql"], epsilon=0.1).rows())}
        except TacitError as error:
            said = {"code": error.code, "message": str(error)}
        engine.__dict__.pop("_arrow", None)
        kinds = [each.kind for each in data.ledger.entries()]
        say(**said, spends=kinds.count("spend"), failures=kinds.count("failure"))
"""


@dataclass
class Cluster:
    """Its address, and its processes by name; each is the head of a process group, with the executors that it has started."""

    master: str
    environment: Mapping[str, str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def signal(self, name: str, number: int) -> None:
        """Sends a signal to a process and to what it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.processes[name].pid, number)


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and its workers, each with one core; all of it ends with the block."""
    java_program()
    try:
        import pyspark
    except ImportError:
        raise Missing(INSTALL_SPARK) from None
    home, port = Path(pyspark.__file__).parent, _free_port()
    (folder / "spark-defaults.conf").write_text(DEFAULTS)
    environment = {
        **os.environ, "SPARK_HOME": str(home), "SPARK_CONF_DIR": str(folder), "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": LIGHT, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": sys.executable,
    }  # fmt: skip
    cluster = Cluster(f"spark://127.0.0.1:{port}", environment)
    ports = ["--host", "127.0.0.1", "--webui-port", "0"]
    try:
        _start(cluster, folder, "master", "master.Master", *ports, "--port", str(port))
        for number in range(workers):
            work = ["--cores", "1", "--memory", "600m", "--work-dir", str(folder / f"work{number}")]
            _start(cluster, folder, f"worker{number}", "worker.Worker", *ports, *work, cluster.master)
        yield cluster
    finally:
        for name, process in cluster.processes.items():
            cluster.signal(name, signal.SIGKILL)
            process.wait()


def _start(cluster: Cluster, folder: Path, name: str, kind: str, *arguments: str) -> None:
    program = [str(Path(cluster.environment["SPARK_HOME"], "bin/spark-class")), f"org.apache.spark.deploy.{kind}", *arguments]
    with (folder / f"{name}.log").open("wb") as log:
        cluster.processes[name] = subprocess.Popen(
            program, env=dict(cluster.environment), stdout=log, stderr=log, start_new_session=True
        )
    wanted, end = ("I have been elected leader" if name == "master" else "Successfully registered"), time.monotonic() + STARTING
    while wanted not in (folder / f"{name}.log").read_text("utf-8", "replace"):
        assert time.monotonic() < end, f"the {name} did not start: {(folder / f'{name}.log').read_text('utf-8', 'replace')}"
        time.sleep(0.2)


class Driver:
    """A process that asks questions of a catalog, one after the other."""

    def __init__(self, cluster: Cluster, catalog: Path) -> None:
        run = [sys.executable, "-c", DRIVER, str(catalog)]
        self.process = subprocess.Popen(
            run, env=dict(cluster.environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ask(self, sql: str, seconds: float = PATIENCE, **more: Any) -> None:
        """Sends a question, without waiting; `pause` is milliseconds for every row, `opening` the time to reach the cluster."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"sql": sql, "seconds": seconds, "opening": PATIENCE, **more}) + "\n")
        self.process.stdin.flush()

    def said(self) -> dict[str, Any]:
        """What it says next: that tasks run, or what came of the question."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return dict(json.loads(line))

    def waits(self, seconds: float) -> bool:
        """Whether it says nothing for some seconds."""
        return not select.select([self.process.stdout], [], [], seconds)[0]

    def close(self) -> str:
        """Ends the process; what it wrote to standard error."""
        return self.process.communicate(timeout=PATIENCE)[1]
