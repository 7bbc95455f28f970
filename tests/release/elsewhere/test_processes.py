"""A process that is started before a question is read: a fork that has what was imported, and nothing else of its command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

STARTED = """
import json, os, socket, sys, threading
from tacit.release.elsewhere import processes
from tacit.release.elsewhere.frames import TOLD, Line
{before}
first, ledger = open(os.devnull), open("ledger.sqlite")
processes.start_ahead()
(child,) = processes._ahead
Line(child.line).ask({{"ask": "ping"}}, TOLD, 120)
place = f"/proc/{{child.process}}"
held = {{number: os.readlink(f"{{place}}/fd/{{number}}") for number in os.listdir(f"{{place}}/fd")}}
forked = open(f"{{place}}/cmdline").read() == open("/proc/self/cmdline").read()
print(json.dumps({{"held": held, "forked": forked, "process": child.process, "group": os.getpgid(child.process)}}), flush=True)
{after}
"""
OPEN_FOR_ALL = "os.closerange = lambda *_: None"
THREAD = "threading.Thread(target=threading.Event().wait, daemon=True).start()"


def started(folder: Path, before: str = "", after: str = "") -> dict[str, Any]:
    (folder / "ledger.sqlite").write_text("spent")
    program = [sys.executable, "-c", STARTED.format(before=before, after=after)]
    said = subprocess.run(program, capture_output=True, text=True, cwd=folder, check=False)
    known: dict[str, Any] = json.loads(said.stdout.splitlines()[0])
    return known


def ledgers_of(known: dict[str, Any]) -> list[str]:
    return [place for place in known["held"].values() if "ledger" in place]


def test_a_fork_has_one_connection_and_nothing_else_that_was_open(tmp_path: Path) -> None:
    known = started(tmp_path)
    assert known["forked"]
    assert known["group"] == known["process"], "Ctrl-C does not reach it"
    nowhere = {number: place for number, place in known["held"].items() if int(number) < 3}
    assert nowhere == dict.fromkeys("012", "/dev/null")
    rest = [place for number, place in known["held"].items() if int(number) >= 3]
    assert [place.partition(":")[0] for place in rest] == ["socket"]


def test_a_descriptor_left_open_is_seen(tmp_path: Path) -> None:
    known = started(tmp_path, OPEN_FOR_ALL, "os.kill(child.process, 9)")
    assert len(ledgers_of(known)) == 1


def test_a_process_with_threads_is_not_forked(tmp_path: Path) -> None:
    """A lock that another thread holds at that moment would stay locked for ever."""
    known = started(tmp_path, THREAD)
    assert not known["forked"]
    assert ledgers_of(known) == []


def test_a_fork_ends_with_the_process_that_asks(tmp_path: Path) -> None:
    known = started(tmp_path, after="os.kill(os.getpid(), 9)")
    patience = time.monotonic() + 120
    while _runs(known["process"]) and time.monotonic() < patience:
        time.sleep(0.02)
    assert not _runs(known["process"])


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # before the file is opened, and before it is read
        return False


def test_what_is_imported_before_the_fork_knows_no_ledger_and_no_data() -> None:
    """What the two processes share is code of the road between them: no module that opens a ledger, a catalog or a source."""
    shown = "import sys; from tacit.release.elsewhere.worker import load_shared; load_shared(); print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True).stdout.split())
    assert {"duckdb", "numpy", "sqlglot", "tacit.query.plan", "tacit.release.noisy"} <= loaded
    kept_out = ("sqlalchemy", "sqlite3", "tacit.accounting.ledger", "tacit.session", "tacit.data_set", "tacit.data.catalog")
    assert {name for name in loaded if name.startswith(kept_out)} == set()


pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="looks at /proc")
