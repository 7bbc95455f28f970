"""A process that stops in its turn: those who wait are told, refused after a while, and go on as soon as it does."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ledgers import IDENTITY, opened, policy, pure, spend
from tacit.accounting.ledger import group_commit as durable
from tacit.accounting.ledger.group_commit import WAITING, turn_of
from tacit.accounting.ledger.rollback import remember_head
from tacit.errors import StoreUnusable

HOLD = """
import os, signal, sys
from pathlib import Path
from tacit.accounting.ledger.group_commit import turn_of
with turn_of(Path(sys.argv[1])):
    print("held", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five seconds are a tenth of one, and thirty three tenths."""
    hurry(monkeypatch, 0.1, 0.3)


def hurry(monkeypatch: pytest.MonkeyPatch, word: float, patience: float) -> None:
    monkeypatch.setattr(durable, "WORD", word)
    monkeypatch.setattr(durable, "PATIENCE", patience)


@contextmanager
def stopped_in_its_turn(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the turn, and is stopped as by Ctrl-Z."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.wait(60)


@pytest.mark.usefixtures("_in_a_hurry")
def test_a_stopped_process_is_waited_for_with_a_word_and_then_no_longer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(str(tmp_path / "ledger.sqlite"), policy(1), IDENTITY)
    with stopped_in_its_turn(tmp_path / "ledger.sqlite.lock"):
        with pytest.raises(StoreUnusable, match=r"held the ledger for more"):
            spend(ledger, pure("1/4"))
        assert capsys.readouterr().err == f"{WAITING}\n"
        assert ledger.spent().epsilon == 0, "reading needs no turn"
    hurry(monkeypatch, 60, 120)  # whoever gave up has the turn for a moment
    assert spend(ledger, pure("1/4")).number == 1, "whoever gave up does not keep the turn that came after all"


@pytest.mark.usefixtures("_in_a_hurry")
def test_the_turns_at_the_remembered_head_and_the_register_end_too(tmp_path: Path) -> None:
    ledger = opened(str(tmp_path / "ledger.sqlite"), policy(1), IDENTITY)
    folder = tmp_path / "store"
    remember_head(folder, ledger.head)
    with stopped_in_its_turn(folder), pytest.raises(StoreUnusable, match=r"held the ledger .*\(store\)"):
        remember_head(folder, spend(ledger, pure("1/4")).head)


@pytest.mark.usefixtures("_in_a_hurry")
def test_a_process_that_stops_while_it_flushes_leaves_open_whether_the_spend_counts(tmp_path: Path) -> None:
    ledger = opened(str(tmp_path / "ledger.sqlite"), policy(1), IDENTITY)
    spend(ledger, pure("1/8"))
    with stopped_in_its_turn(tmp_path / "ledger.sqlite.flush"), pytest.raises(StoreUnusable, match="did not confirm"):
        spend(ledger, pure("1/8"))
    assert ledger.spent().epsilon == pure("1/4").epsilon  # type: ignore[attr-defined]


def test_who_waits_is_woken_when_the_turn_is_free(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With patience: the one who continues hands the turn on."""
    hurry(monkeypatch, 60, 120)
    waiting = threading.Thread(target=lambda: turn_of(tmp_path / "lock").__enter__())
    with stopped_in_its_turn(tmp_path / "lock"):
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
    waiting.join(60)
    assert not waiting.is_alive()
    assert capsys.readouterr().err == ""


def waiting_threads() -> set[threading.Thread]:
    """The threads that wait for a turn; those of other tests come and go as they like."""
    return {thread for thread in threading.enumerate() if thread.name == "tacit turn"}


@pytest.mark.usefixtures("_in_a_hurry")
def test_a_lock_that_comes_too_late_is_let_go(tmp_path: Path) -> None:
    """Of many who gave up, none keeps a thread or the lock."""
    before = waiting_threads()
    with stopped_in_its_turn(tmp_path / "lock"):
        for _ in range(3):
            with pytest.raises(StoreUnusable), turn_of(tmp_path / "lock"):
                pytest.fail("two had the turn")
        assert len(waiting_threads() - before) == 3
    for _ in range(6000):
        if not waiting_threads() - before:
            break
        time.sleep(0.01)
    assert not waiting_threads() - before
    with (tmp_path / "lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.usefixtures("_in_a_hurry")
def test_an_error_of_the_system_is_not_taken_for_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(descriptor: int, kind: int) -> None:
        if kind & fcntl.LOCK_NB:
            raise BlockingIOError
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(OSError, match="No locks available"), turn_of(tmp_path / "lock"):
        pytest.fail("a turn without a lock")
