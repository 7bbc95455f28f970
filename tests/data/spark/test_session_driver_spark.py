"""The driver that tacit starts: no other user can read what it writes while it works, and a busy machine does not fail it."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clusters import SPARK
from tacit.data.spark import session

pytestmark = SPARK
WHERE = """
from tacit.data.spark.session import started
session = started("local[1]")
print(session._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager().localDirs()[0])
"""


def is_private(place: Path) -> bool:
    """Whether a folder on the way there is closed to other users."""
    return any(not stat.S_IMODE(each.stat().st_mode) & 0o077 for each in (place, *place.parents))


def test_rows_on_disk_are_for_their_owner_alone(spark: Any) -> None:
    disk = spark._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
    (place,) = map(Path, map(str, disk.localDirs()))
    spark.range(100).repartition(2).collect()
    assert list(place.rglob("shuffle_*"))
    assert is_private(place)
    assert is_private(Path(spark._jvm.java.lang.System.getProperty("java.io.tmpdir")))


def test_a_busy_machine_has_time_to_hand_a_result_over(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default Java and Python give each other 15 seconds, and a question that was paid for ends without its answer."""
    from pyspark.util import local_connect_and_auth

    assert spark.conf.get("spark.python.authenticate.socketTimeout") == "120s"
    assert os.environ[session.PATIENCE_HERE] == "120"
    monkeypatch.setenv(session.PATIENCE_HERE, "0")
    with socket.create_server(("127.0.0.1", 0)) as busy, pytest.raises(Exception, match="CANNOT_OPEN_SOCKET"):
        local_connect_and_auth(busy.getsockname()[1], "a secret")  # it is this variable that counts


AFTER_ANOTHER = """
import sys
from pyspark.sql import SparkSession
SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate().stop()
from tacit.data.spark.session import started
disk = started("local[1]")._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
print(disk.localDirs()[0])
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.mark.slow
def test_rows_are_for_their_owner_alone_after_another_session(spark: Any) -> None:
    """The Java process of a session that was stopped is used again, with its own folder for temporary files."""
    run: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([sys.executable, "-c", AFTER_ANOTHER], **run) as process:
        assert process.stdout is not None
        place = Path(process.stdout.readline().strip())
        found = "tacit-spark-" in str(place) and is_private(place)
        process.communicate("")
    assert found


def test_a_fork_does_not_remove_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[Any] = []
    monkeypatch.setattr(session.atexit, "register", ends.append)
    folder = Path(session._scratch())
    with monkeypatch.context() as forked:
        forked.setattr(session.os, "getpid", lambda: -1)
        ends[0]()
    assert folder.is_dir()
    ends[0]()
    assert not folder.exists()


@pytest.mark.slow
def test_the_folder_goes_with_the_process(spark: Any) -> None:
    found = subprocess.run([sys.executable, "-c", WHERE], capture_output=True, text=True, check=True, timeout=300)
    place = Path(found.stdout.strip())
    assert "tacit-spark-" in str(place)
    assert not next(each for each in place.parents if each.name.startswith("tacit-spark-")).exists()
