"""A standalone Spark cluster on the loopback interface, whose workers have one core each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

STARTING = 120.0  # seconds in which a process of the cluster registers
READY = {"master": "I have been elected leader", "worker": "Successfully registered"}


def settings(folder: Path, driver: str, executor: str) -> dict[str, str]:
    """An environment in which Spark drivers have this memory, and executors that: by a configuration folder of their own."""
    defaults = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": driver,
        "spark.executor.memory": executor,
        "spark.executor.cores": "1",
        "spark.local.dir": str(folder / "local"),
    }
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in defaults.items()))
    return {**os.environ, "SPARK_CONF_DIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


@contextmanager
def cluster(folder: Path, workers: int, memory: str, environment: dict[str, str]) -> Iterator[str]:
    """The address of a master with so many workers, each with one core and this memory; all of it ends with the block."""
    started: list[subprocess.Popen[bytes]] = []
    local = ["--host", "127.0.0.1", "--webui-port", "0"]
    try:
        said = _started(started, folder, "master", environment, [*local, "--port", "0"])
        master = next(word for line in said.splitlines() for word in line.split() if word.startswith("spark://"))
        for number in range(workers):
            own = ["--cores", "1", "--memory", memory, "--work-dir", str(folder / f"work{number}"), master]
            _started(started, folder, f"worker{number}", environment, [*local, *own])
        yield master
    finally:
        for process in reversed(started):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the executors are in the group of their worker
            process.wait()


def _started(started: list[subprocess.Popen[bytes]], folder: Path, name: str, environment: dict[str, str], words: list[str]) -> str:
    """Starts a process of the cluster, and returns what it said until it was ready."""
    import pyspark

    home, kind, log = Path(pyspark.__file__).parent, name.rstrip("0123456789"), folder / f"{name}.log"
    program = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}.{kind.title()}", *words]
    with log.open("wb") as said:
        run = subprocess.Popen(
            program, env={**environment, "SPARK_HOME": str(home)}, stdout=said, stderr=said, start_new_session=True
        )
    started.append(run)
    end = time.monotonic() + STARTING
    while READY[kind] not in (text := log.read_text("utf-8", "replace")):
        if time.monotonic() > end or run.poll() is not None:
            raise SystemExit(f"the {name} of the cluster did not start:\n{text[-2000:]}")
        time.sleep(0.1)
    return text
