"""Departures of a server that hides its clock: `python -m benchmarks departures`.

`tacit serve --hide-clock` runs over a small table with two engines; 64 clients of 64 accounts ask questions of rung 200 ms, one
after the other. An engine is held for a rung, so two engines answer at most ten of them in a second. The timer of the clerk is
measured by itself: how much later 64 replies that wait leave than they should, beside a bare thread that sleeps until the same
moments. An idle server is measured by the processor time of all of its processes.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import server
from benchmarks.server import ENGINES, SETTLED, processor_seconds
from benchmarks.server_client import Load
from benchmarks.tables import machine, markdown, write_table

ROWS, CLIENTS = 10_000, 64
SECONDS = 30 if os.environ.get("FULL") == "1" else 12
IDLE = 10.0
TIMES = 4  # rounds of 64 departures
RUNG, PACE = 200, 1.6  # milliseconds, and the pace at which the questions have that rung
QUESTION = "SELECT COUNT(*) AS n FROM visits WHERE age > {} AND cost < {}"


def asked(number: int) -> dict[str, str]:
    """A question that was never asked."""
    return {"sql": QUESTION.format(number % 100, 8000 - number // 100), "epsilon": "0.01"}


def timer() -> tuple[float, float]:
    """Milliseconds by which departures, and the wakings of a bare thread, are late at the 99th percentile."""
    from tacit.doors.server.clerk import Departures

    departures, late, bare, over = Departures(), list[float](), list[float](), threading.Semaphore(0)
    drawn = random.Random(1)  # noqa: S311  # moments of a benchmark
    for _ in range(TIMES):
        begun = time.monotonic() + 0.1
        dues = sorted(begun + drawn.random() for _ in range(CLIENTS))

        def left(due: float) -> None:
            late.append(time.monotonic() - due)
            over.release()

        for due in dues:
            departures.at(due, lambda due=due: left(due))  # type: ignore[misc]
        for due in dues:
            time.sleep(max(0.0, due - time.monotonic()))
            bare.append(time.monotonic() - due)
        for _ in dues:
            over.acquire()
    return _percentile(late), _percentile(bare)


def _percentile(seconds: list[float]) -> float:
    return sorted(seconds)[int(0.99 * len(seconds))] * 1e3


def late_of(folder: Path) -> tuple[int, int]:
    """How many questions the ledger has, and how many replies were late."""
    from tacit.session import open as open_data

    with open_data(folder / "tacit.toml", own_process=False) as data:
        kinds = [entry.kind for entry in data.ledger.entries()]
    return kinds.count("spend"), kinds.count("late")


def run() -> None:
    """Measures, and writes the table."""
    server.ROWS = ROWS
    server.CATALOG = server.CATALOG.replace("rows_at_most = 2000000", f"rows_at_most = {ROWS}") + f"\n[server]\npace = {PACE}\n"
    server.MORE = ("--hide-clock",)
    departed, bare = timer()
    with TemporaryDirectory(prefix="tacit-benchmark-") as name:
        tokens = server.prepared(Path(name))
        with server.serving(Path(name), tokens) as running:
            running.back()
            time.sleep(SETTLED)
            numbers = iter(range(10**6))
            clients = [(token, [json.dumps(asked(next(numbers))) for _ in range(60)]) for token in tokens]
            done, seconds = Load(running.port, "/v1/questions", clients, SECONDS).run()
            time.sleep(SETTLED)
            own = [running.process.pid, *(each for part in running.parts().values() for each in part)]
            before = processor_seconds(own)
            time.sleep(IDLE)
            idle = (processor_seconds(own) - before) / IDLE
        paid, late = late_of(Path(name))
    note = f"{machine('fastapi', 'uvicorn')} {ENGINES} engines, {CLIENTS} accounts; load average {os.getloadavg()[0]:.0f}."
    lines = [
        [f"questions of rung {RUNG} ms a second", "10", f"{done / seconds:.1f}"],
        ["late replies", "1 in 1,000", f"{late} of {paid}"],
        ["departures at the 99th percentile, later than due", "-", f"{departed:.1f} ms"],
        ["a bare timer beside them", "-", f"{bare:.1f} ms"],
        ["the difference", "2 ms", f"{departed - bare:.1f} ms"],
        ["processor time of an idle server", "1 % of a core", f"{100 * idle:.1f} %"],
    ]
    write_table("departures", "\n\n".join([note, markdown(["of a server that hides its clock", "goal", "measured"], lines)]))
