"""Turns that processes take at files, and one wait for the disk on behalf of many.

Every wait has an end, since a process that was stopped in its turn keeps it. After WORD seconds a line on standard error says that
tacit is waiting, and after PATIENCE seconds the wait ends with an error.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from tacit.errors import StoreUnusable
from tacit.files import opened

COUNT = 8  # bytes of a counter
WORD, PATIENCE = 5.0, 30.0  # seconds; a turn takes a few thousandths
WAITING = "tacit: waiting for another process that holds the ledger"


@contextmanager
def turn_of(path: Path) -> Iterator[None]:
    """One process or thread at a time, the others asleep until the kernel wakes them.

    The descriptor is opened anew each time: one that a fork copies would share its lock with the child.
    """
    with opened(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT) as descriptor:
        try:
            lock(descriptor, fcntl.LOCK_EX)
        except TimeoutError:
            raise waited_too_long(path.name) from None
        yield


def waited_too_long(what: str) -> StoreUnusable:
    """The error for a process that has waited too long."""
    return StoreUnusable(
        f"another process has held the ledger for more than {PATIENCE:.0f} seconds ({what})",
        remedy="find the tacit process that is stopped or stuck, and resume or end it",
    )


def lock(descriptor: int, kind: int) -> None:
    """Take a lock, asleep until the kernel gives it; a TimeoutError after PATIENCE seconds.

    The system call cannot be given up, so where it would wait another thread makes it. Its descriptor is a copy: a lock that
    comes too late is released when the copy is closed.
    """
    if _takes(descriptor, kind | fcntl.LOCK_NB):
        return
    own, take_number, failed = os.dup(descriptor), Event(), list[OSError]()

    def sleep() -> None:
        try:
            fcntl.flock(own, kind)
        except OSError as error:
            failed.append(error)
        finally:
            os.close(own)
            take_number.set()

    Thread(target=sleep, name="tacit turn", daemon=True).start()
    if not take_number.wait(WORD):
        say_waiting()
        if not take_number.wait(PATIENCE - WORD):
            raise TimeoutError
    if failed:
        raise failed[0]


def say_waiting() -> None:
    """Report the wait on standard error."""
    print(WAITING, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class GroupCommit:
    """Many writers of one log, each of whom waits until the log is on the disk, while one of them waits for the disk.

    Whoever has written takes a number in its turn; then the first in the other queue flushes the log for all numbers taken so far,
    and those who come after find that theirs is done. Both counters lie in one block of one file, so that a crash cannot leave
    "flushed" ahead of "taken". ledger.md proves that no writer returns too early.
    """

    log: Path
    counters: Path
    flushing: Path

    def take_number(self) -> int:
        """The next number, for a writer that has written and still has its turn."""
        with opened(self.counters, os.O_RDWR | os.O_CREAT) as descriptor:
            number = (_counter(descriptor, 0) + 1) % 2**63
            os.pwrite(descriptor, number.to_bytes(COUNT, "big"), 0)
            return number

    def settle(self, number: int) -> None:
        """Return when everything that was written before the number was taken is on the disk."""
        with opened(self.flushing, os.O_RDWR | os.O_CREAT) as queue, opened(self.counters, os.O_RDWR | os.O_CREAT) as counters:
            if not _takes(queue, fcntl.LOCK_EX | fcntl.LOCK_NB):
                lock(queue, fcntl.LOCK_SH)  # until whoever flushes is done; then all who waited go on at once
                if _is_done(counters, number):
                    return
                lock(queue, fcntl.LOCK_EX)
            if not _is_done(counters, number):
                latest = _counter(counters, 0)
                _flush(self.log)
                os.pwrite(counters, latest.to_bytes(COUNT, "big"), COUNT)


def _takes(descriptor: int, lock: int) -> bool:
    try:
        fcntl.flock(descriptor, lock)
    except BlockingIOError:
        return False
    return True


def _is_done(counters: int, number: int) -> bool:
    """Whether the number is flushed; "flushed" ahead of "taken" is what no run leaves behind, and is not believed."""
    return number <= _counter(counters, COUNT) <= _counter(counters, 0)


def _counter(descriptor: int, place: int) -> int:
    return int.from_bytes(os.pread(descriptor, COUNT, place), "big")


def _flush(file: Path) -> None:
    """Bring everything that any process wrote into the file to the disk; on macOS, fsync alone leaves it in the drive's cache."""
    with opened(file, os.O_RDONLY) as descriptor:
        if hasattr(fcntl, "F_FULLFSYNC"):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(descriptor)
