"""A command on Spark that is ended leaves no Java process: the driver ends when its standard input does, however Python ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from clusters import LIGHT, SPARK, hospital_on_spark

pytestmark = [*SPARK, pytest.mark.slow]
ASKED = ["sql", "--analyst", "ana", "--epsilon", "0.1", "SELECT COUNT(*) AS n FROM visits"]
PATIENCE = 120.0  # seconds, on a busy machine


def below(process: int) -> dict[int, str]:
    """The processes that a process has started, directly or not, by number: what they run."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,stat,comm"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    rows = [line.split(maxsplit=3) for line in listed]
    found, waiting = {}, [process]
    while waiting:
        parent = waiting.pop()
        for number, of, state, program in rows:
            if int(of) == parent and not state.startswith("Z"):
                found[int(number)] = program
                waiting.append(int(number))
    return found


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # before the file is opened, and before it is read
        return False


def waited(until: Any) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if until():
            return True
        time.sleep(0.2)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("late", [0.0, 5.0])
@pytest.mark.parametrize(("command", "ending"), [(ASKED, signal.SIGTERM), (ASKED, signal.SIGKILL), (["prepare"], signal.SIGTERM)])
def test_a_command_that_is_ended_leaves_no_java(
    command: list[str], ending: signal.Signals, late: float, tmp_path: Path, spark: Any
) -> None:
    """While the driver starts, and while it works."""
    catalog = hospital_on_spark(tmp_path)
    run = [sys.executable, "-m", "tacit", command[0], "--catalog", str(catalog), *command[1:]]
    environment = {**os.environ, "JDK_JAVA_OPTIONS": LIGHT}
    nowhere: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(run, env=environment, start_new_session=True, **nowhere) as process:
        assert waited(lambda: "java" in below(process.pid).values())
        time.sleep(late)
        started = below(process.pid)
        process.send_signal(ending)
    try:
        assert started
        assert waited(lambda: not any(map(lives, started)))
    finally:
        for left in filter(lives, started):
            with suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
