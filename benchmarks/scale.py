"""The queries of `queries.py` on Apache Spark: `python -m benchmarks scale`; `FULL=1` adds 10^7 and 10^8 rows.

Every system reads the same Parquet file with two cores and the same memory. `scaling/measuring.py` says what is timed. Tumult
Analytics runs in an environment of its own, on the Spark that it brings. Cost against workers is measured on a standalone cluster
on loopback, whose workers have one core each. Spark prepares up to 10^7 rows; 10^8 rows are prepared by DuckDB with 2 GB of memory,
and the store is moved.

Parts run one by one too, and keep their figures under benchmarks/out: `python -m benchmarks.scale PART ROWS`, with the parts below.
`python -m benchmarks.scale write` writes the tables and the picture from all figures that are kept.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from benchmarks.queries import PEER_PACKAGES, PEERS, QUESTIONS, visits
from benchmarks.scaling.figures import KEPT, Figures, keep, kept
from benchmarks.scaling.loopback import cluster, settings
from benchmarks.scaling.measuring import catalog
from benchmarks.scaling.showing import show
from benchmarks.tables import peer_python

FULL = os.environ.get("FULL") == "1"
PLAN = [("local", 10**6), ("one-worker", 10**6), ("two-workers", 10**6), ("tumult", 10**6)]
FULL_PLAN = [
    ("local", 10**7), ("tumult", 10**7), ("local", 10**6), ("duckdb", 10**8), ("moved", 10**8),
    ("one-worker", 10**7), ("two-workers", 10**7),
]  # fmt: skip
DRIVER, EXECUTOR, WORKER = "8g", "4g", "4500m"
LOCAL = "local[2]"
TURNS, FEW = 7, 3  # turns that count; on many rows
MANY = 5 * 10**7
LIMITED = "2000MB"  # what DuckDB gets to prepare; `tacit prepare --memory`
LIMITS = {"loaded": 120.0, "count": 90.0, "count by day": 120.0, "sum and mean": 400.0, "median": 150.0}  # seconds for Tumult


def local(rows: int) -> Figures:
    """tacit on Spark on this machine, beside plain Spark SQL."""
    with _scratch() as folder:
        return _on_spark("local", rows, Path(folder, "data"), LOCAL, settings(Path(folder), DRIVER, EXECUTOR))


def workers(number: int, part: str) -> Callable[[int], Figures]:
    """tacit on a standalone cluster of so many workers."""

    def measured(rows: int) -> Figures:
        with _scratch() as folder:
            environment = settings(Path(folder), DRIVER, EXECUTOR)
            with cluster(Path(folder), number, WORKER, environment) as master:
                return _on_spark(part, rows, Path(folder, "data"), master, environment)

    return measured


def duckdb(rows: int) -> Figures:
    """tacit on DuckDB, prepared within a limit on memory; the store stays for `moved`."""
    folder, environment = _store(rows), dict(os.environ)
    catalog(folder, visits(rows), rows, None)
    made = _apart(environment, "prepare", str(folder), LIMITED)
    found = _apart(environment, "ask", str(folder), str(TURNS), "alone")
    return _figures("duckdb", rows, made, found, by=f"DuckDB, limit {LIMITED[:-2]} MB", turns=TURNS)


def moved(rows: int) -> Figures:
    """tacit on Spark on this machine, on the store that DuckDB prepared for the part before."""
    folder = _store(rows)
    place = folder / ".tacit" / "store"
    if not (place / "store.json").exists():
        catalog(folder, visits(rows), rows, None)
        if not (place / "store.duckdb").exists():
            _apart(dict(os.environ), "prepare", str(folder), LIMITED)
        _apart(dict(os.environ), "move", str(folder))
    catalog(folder, visits(rows), rows, LOCAL)
    turns = _turns(rows)
    with _scratch() as other:
        found = _apart(settings(Path(other), DRIVER, EXECUTOR), "ask", str(folder), str(turns), "beside")
    return _figures("moved", rows, {}, found, by="DuckDB", turns=turns)


def tumult(rows: int) -> Figures:
    """Tumult Analytics, each question within a time of its own; a run that does not end is stopped, and goes on with the next."""
    python, source = peer_python("Tumult", PEER_PACKAGES["Tumult"][1]), visits(rows)
    if python is None:
        return Figures("tumult", rows, {}, why=dict.fromkeys(QUESTIONS, "cannot be installed here"))
    wall: dict[str, float] = {}
    why: dict[str, str] = {}
    waiting = sorted(QUESTIONS, key=lambda name: LIMITS[name])
    while waiting:
        stopped = _answered([str(python), str(PEERS / PEER_PACKAGES["Tumult"][0]), str(source)], waiting, wall, why)
        waiting = [name for name in waiting if name not in wall and name not in why]
        if stopped == "loaded":
            why |= dict.fromkeys(waiting, "not loaded in time")
            break
    return Figures("tumult", rows, wall, why=why, by="")


def _answered(program: list[str], questions: Sequence[str], wall: dict[str, float], why: dict[str, str]) -> str:
    """Puts the seconds of questions that are answered, or why one is not, into the dictionaries; what it was stopped at, if so."""
    quiet: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([*program, *questions], cwd=KEPT, start_new_session=True, **quiet) as process:
        said = _lines(process)
        for name in ("loaded", *questions):
            try:
                found = said.get(timeout=LIMITS[name])
            except Empty:
                os.killpg(process.pid, signal.SIGKILL)
                why |= {} if name == "loaded" else {name: f"more than {LIMITS[name]:.0f} s"}
                return name
            if name in found:
                wall[name] = found[name]
            elif name != "loaded":
                why[name] = "fails"
    return ""


def _lines(process: subprocess.Popen[str]) -> Queue[dict[str, float]]:
    """What a process prints as JSON, line by line; where its output ends, nothing but empty dictionaries follow."""
    said: Queue[dict[str, float]] = Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                said.put(json.loads(line))
        for _ in LIMITS:
            said.put({})

    threading.Thread(target=read, daemon=True).start()
    return said


PARTS: Mapping[str, Callable[[int], Figures]] = {
    "local": local,
    "tumult": tumult,
    "duckdb": duckdb,
    "moved": moved,
    "one-worker": workers(1, "one-worker"),
    "two-workers": workers(2, "two-workers"),
}


def _on_spark(part: str, rows: int, folder: Path, master: str, environment: dict[str, str]) -> Figures:
    """Prepares and asks on Spark; plain SQL is asked beside it on this machine alone."""
    catalog(folder, visits(rows), rows, master)
    made = _apart(environment, "prepare", str(folder), "60%")
    turns, beside = _turns(rows), "beside" if master == LOCAL else "alone"
    found = _apart(environment, "ask", str(folder), str(turns), beside)
    return _figures(part, rows, made, found, by="Spark", turns=turns)


def _figures(part: str, rows: int, made: Mapping[str, Any], found: Mapping[str, Any], **more: Any) -> Figures:
    prepared = {kind: {"prepare": made[kind]} if made else {} for kind in ("wall", "processor")}
    costs = [{name: times[at] for name, times in found[who].items()} for who in ("tacit", "plain") for at in (0, 1)]
    wall, processor, plain, plain_processor = costs
    whole = {"wall": {**prepared["wall"], **wall}, "processor": {**prepared["processor"], **processor}}
    held = round(made["megabytes"]) if made and more["by"].startswith("DuckDB") else None
    sizes = {"megabytes": held, "stored": made.get("stored")}
    return Figures(part, rows, **whole, plain=plain, plain_processor=plain_processor, **sizes, **more)


def _apart(environment: Mapping[str, str], *words: str) -> dict[str, Any]:
    """A measurement in a process of its own."""
    program = [sys.executable, "-m", "benchmarks.scaling.measuring", *words]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=dict(environment))
    found = re.findall(r"^\{.*\}$", done.stdout, re.MULTILINE)
    if not found:
        raise SystemExit(f"the measurement {' '.join(words)} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(found[-1]))


def _turns(rows: int) -> int:
    return TURNS if rows < MANY else FEW


def _kept() -> Path:
    KEPT.mkdir(parents=True, exist_ok=True)
    return KEPT


def _scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for a while; an executor that has been killed may still be writing into it when it is removed."""
    return tempfile.TemporaryDirectory(dir=_kept(), ignore_cleanup_errors=True)


def _store(rows: int) -> Path:
    return _kept() / f"store-{rows}"


def measure(part: str, rows: int) -> None:
    """Runs a part, keeps its figures, and prints them."""
    start = time.perf_counter()
    found = PARTS[part](rows)
    keep(found)
    print(f"{part} {rows:,}: {time.perf_counter() - start:.0f} s in all; {found}", file=sys.stderr, flush=True)


def run() -> None:
    """Measures what has no figures yet, and writes the tables and the picture."""
    known = {(each.part, each.rows) for each in kept()}
    for part, rows in FULL_PLAN if FULL else PLAN:
        if (part, rows) not in known:
            measure(part, rows)
    show(kept())


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # a part that is stopped ends its cluster and removes its store
    if sys.argv[1:] == ["write"]:
        show(kept())
    else:
        measure(sys.argv[1], int(sys.argv[2].replace("_", "")))
