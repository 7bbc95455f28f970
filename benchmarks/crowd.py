"""Others wait behind one analyst's work, or do not: `python -m benchmarks crowd`.

An analyst asks the server of `server.py` new questions, one after the other: first alone, then while four other accounts, each on
four connections, send as many requests as they are allowed. These cost them nothing: explanations of 59 sums with a delta, each
priced anew; the same as questions that their budget refuses; and their histories. What counts is the ratio of the two medians.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.server import CLIENTS, ENGINES, SETTLED, Server, prepared, processor_seconds, serving
from benchmarks.server_client import Load, asked
from benchmarks.tables import machine, markdown, write_table

HOSTILE, EACH, COLUMNS = 4, 4, 59  # accounts, their connections, and sums of one question
QUESTIONS = 100 if os.environ.get("FULL") == "1" else 40
LEAST = 300  # requests of a hostile connection, which then begins again
GOAL = 3.0
BUSY = 2.0  # seconds of processor time from which on the clerk is busy with them
numbers = count(1)


def wide(epsilon: str) -> str:
    """A question of many sums, none of which was priced before."""
    first = next(numbers) * COLUMNS
    sums = ", ".join(f"SUM(cost + {first + at}) AS c{at}" for at in range(COLUMNS))
    return json.dumps({"sql": f"SELECT {sums} FROM visits", "epsilon": epsilon, "delta": "1e-9"})  # noqa: S608


KINDS: dict[str, tuple[str, Callable[[], str]]] = {
    "explanations of 59 sums with a delta": ("/v1/explain", lambda: wide("0.1")),
    "the same as questions beyond the budget": ("/v1/questions", lambda: wide("90000000")),
    "histories": ("/v1/history", lambda: "{}"),
}


def wait(server: Server) -> float:
    """The median of the seconds in which new questions of one analyst are answered."""
    found = []
    for _ in range(QUESTIONS):
        begun = time.monotonic()
        if asyncio.run(asked(server.port, server.tokens[-1], "/v1/questions", server.new())) != 200:
            raise RuntimeError("a question was not answered")
        found.append(time.monotonic() - begun)
        time.sleep(0.05)  # within the rate of an account
    return median(found)


def crowded(server: Server, path: str, body: Callable[[], str]) -> float:
    """The same among hostile accounts, which begin before and are ended after."""
    clients = [(server.tokens[at % HOSTILE], [body() for _ in range(LEAST)]) for at in range(HOSTILE * EACH)]
    clerk = server.parts()["clerk"]
    before = processor_seconds(clerk)
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # which ends it
        pool.apply_async(Load(server.port, path, clients, 3600.0)._run)
        while processor_seconds(clerk) < before + BUSY:
            time.sleep(0.1)
        return wait(server)


def run() -> None:
    """Measures, and writes the table."""
    lines = []
    with TemporaryDirectory(prefix="tacit-benchmark-") as name:
        tokens = prepared(Path(name))
        with serving(Path(name), tokens) as server:
            server.back()
            time.sleep(SETTLED)
            wait(server)  # what is read once is read
            for kind, (path, body) in KINDS.items():
                alone = wait(server)
                waited = crowded(server, path, body)
                ratio = f"{waited / alone:.1f}"
                lines.append([kind, f"{alone * 1e3:.0f} ms", f"{waited * 1e3:.0f} ms", f"at most {GOAL:.0f}", ratio])
                time.sleep(SETTLED)
    note = (
        f"{machine('fastapi', 'uvicorn')} {ENGINES} engines; {HOSTILE} of {CLIENTS} accounts on {EACH} connections each. "
        f"Medians of {QUESTIONS} questions; load average {os.getloadavg()[0]:.0f}."
    )
    head = ["four other accounts send", "alone", "beside them", "goal", "ratio"]
    write_table("crowd", "\n\n".join([note, markdown(head, lines)]))
