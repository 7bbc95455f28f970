"""Durable spends per second, from one process and from eight: `python -m benchmarks ledger`; `FULL=1` for longer runs.

Each process spends as fast as it can; the longest wait is that of a single spend. For comparison, plain SQLite writes the same
rows, and each commit waits for the disk itself. One wait for the disk is measured just before: everything else depends on it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.tables import best_seconds, machine, markdown, write_table
from tacit.accounting.events import LaplaceNoise
from tacit.accounting.ledger.ledger import Ledger, begin_ledger, open_ledger
from tacit.accounting.ledger.rollback import check_head, remember_head
from tacit.accounting.ledger.units import Policy
from tacit.errors import NoLedger
from tacit.privacy.catalog import Budget
from tacit.privacy.loss import Neighbours

FULL = os.environ.get("FULL") == "1"
SECONDS = 20 if FULL else 3
RUNS = 3
ROOT = Path(__file__).parent.parent

EVENT = LaplaceNoise(Fraction(1), Fraction(4), Neighbours("add-remove", "unit"))
POLICY = Policy(Budget(Fraction(10**9), Fraction(1, 10**6)), questions_at_most=10**9)
TEXT = "x" * 700  # the length of an entry


def opened(file: str) -> Ledger:
    try:
        return open_ledger(file, POLICY)
    except NoLedger:
        return begin_ledger(file, POLICY, identity="ab" * 16)


def tacit(file: str) -> Callable[[], object]:
    ledger = opened(file)
    return lambda: ledger.spend(EVENT, "curator", "q" * 64, "v" * 32)


def plain(file: str) -> Callable[[], object]:
    """The same statements, with SQLite's own waiting and syncing."""
    connection = sqlite3.connect(file, timeout=60, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, hash TEXT, text TEXT)")
    connection.execute("CREATE TABLE IF NOT EXISTS ledger (place INTEGER PRIMARY KEY, number INTEGER)")
    connection.execute("INSERT OR IGNORE INTO ledger VALUES (1, 0)")

    def spend() -> None:
        connection.execute("BEGIN IMMEDIATE")
        number = connection.execute("SELECT number FROM ledger").fetchone()[0] + 1
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", [number, "h" * 64, TEXT])
        connection.execute("UPDATE ledger SET number = ?", [number])
        connection.execute("COMMIT")

    return spend


WAYS = {"tacit": tacit, "plain": plain}


def work(way: str, file: str) -> None:
    """One process: reports that it is ready, begins on a signal, and prints its number of spends and its longest wait."""
    spend = WAYS[way](file)
    print("ready", flush=True)
    sys.stdin.readline()
    waits = []
    end = time.perf_counter() + SECONDS
    while (start := time.perf_counter()) < end:
        spend()
        waits.append(time.perf_counter() - start)
    print(json.dumps([len(waits), max(waits)]))


def together(way: str, processes: int) -> tuple[float, float]:
    """Spends per second of all processes, and the longest wait of any."""
    with TemporaryDirectory(dir=ROOT) as folder:
        command = [sys.executable, "-m", "benchmarks.ledger", way, f"{folder}/ledger.sqlite"]
        WAYS[way](command[-1])()
        workers = [
            subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
        ]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        found = [json.loads(worker.communicate()[0]) for worker in _told(workers)]
    return sum(count for count, _ in found) / SECONDS, max(wait for _, wait in found)


def _told(workers: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return workers


def row(name: str, way: str, processes: int, goal: str) -> tuple[str, ...]:
    """The median of several runs, and the longest wait of all of them."""
    runs = [together(way, processes) for _ in range(RUNS)]
    return name, goal, f"{median(speed for speed, _ in runs):,.0f}", f"{max(wait for _, wait in runs):.3f} s"


def disk() -> float:
    """The median seconds of one wait for the disk, after overwriting 4 KiB."""
    with TemporaryDirectory(dir=ROOT) as folder, (Path(folder) / "file").open("wb", buffering=0) as file:
        waits = []
        for _ in range(300):
            file.seek(0)
            file.write(b"x" * 4096)
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            waits.append(time.perf_counter() - start)
    return median(waits)


def others() -> list[tuple[str, ...]]:
    """What else a query waits for, and reading the whole chain again."""
    with TemporaryDirectory(dir=ROOT) as folder:
        file, store = f"{folder}/ledger.sqlite", Path(folder, "store")
        ledger = opened(file)
        entries = [ledger.spend(EVENT, "curator", "q" * 64, "v" * 32) for _ in range(1000)]

        def remember() -> None:
            check_head(store, ledger)
            remember_head(store, entries.pop(0).head)

        return [
            ("open an existing ledger", "-", f"{best_seconds(lambda: opened(file), 20) * 1e3:.1f} ms"),
            ("check and remember the head, for one query", "-", f"{best_seconds(remember, 50) * 1e3:.2f} ms"),
            ("read and verify the chain, per 1,000 entries", "-", f"{best_seconds(ledger.verify, 5) * 1e3:.0f} ms"),
        ]


def run() -> None:
    """Measures, prints and writes the table."""
    wait = disk()
    speeds = [
        row("tacit, 8 processes", "tacit", 8, "1,000 per second, 2 s"),
        row("tacit, 1 process", "tacit", 1, "-"),
        row("plain SQLite, synchronous = FULL, 8 processes", "plain", 8, "-"),
        row("plain SQLite, synchronous = FULL, 1 process", "plain", 1, "-"),
    ]
    ahead = os.sched_getscheduler(0) == os.SCHED_FIFO
    alone = " At real-time priority, since other work shared the machine." if ahead else ""
    note = (
        f"{machine('sqlalchemy')} SQLite {sqlite3.sqlite_version}. One wait for the disk: {wait * 1e6:,.0f} microseconds. "
        f"Median of {RUNS} runs of {SECONDS} s; the longest wait of all runs.{alone}"
    )
    tables = [
        markdown(("what", "goal", "durable spends per second", "longest wait"), speeds),
        markdown(("measure", "goal", "tacit"), others()),
    ]
    write_table("ledger", "\n\n".join([note, *tables]))


if __name__ == "__main__":
    work(*sys.argv[1:])
