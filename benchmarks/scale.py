"""The queries of `queries.py` on Apache Spark: `python -m benchmarks scale`; `FULL=1` adds 10^8 rows, and Tumult on 10^7.

Every system reads the same Parquet file with two cores and the same memory. Plain Spark SQL asks for the same aggregates of tacit's
own store, in the same session and in turns with tacit, so that the ratio is what planning, noise and the ledger add. Tumult
Analytics runs in an environment of its own, on the Spark that it brings. Cost against workers is measured on a standalone cluster
on loopback, whose workers have one core each. A system that cannot be installed is left out with a note.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.queries import CATALOG, QUESTIONS, SQL, peer_seconds, visits
from benchmarks.tables import machine, markdown, write_table

FULL = os.environ.get("FULL") == "1"
SIZES = [10**6, 10**7, 10**8] if FULL else [10**6]
PEERS_AT = 10**7 if FULL else 10**6
WORKERS_AT = 10**7 if FULL else 10**6
MEMORY = "8g"
TURNS = 3
PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "scale.svg"
STORE = """
[store]
engine = "spark"
master = "{master}"
"""
PLAIN = {
    "count": "SELECT group_key, COUNT(*) FROM stored GROUP BY group_key",
    "sum and mean": "SELECT group_key, SUM(amount), COUNT(amount) FROM stored GROUP BY group_key",
    "median": "SELECT amount, COUNT(*) FROM stored GROUP BY amount",
    "count by day": "SELECT group_key, day, COUNT(*) FROM stored GROUP BY group_key, day",
}
Seconds = dict[str, float]


def measured(source: Path, master: str) -> dict[str, Seconds]:
    """tacit and plain Spark SQL on one cluster: seconds to prepare, and for each query the shortest of several turns."""
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {MEMORY} --executor-memory {MEMORY} pyspark-shell"
    import tacit
    from tacit.data.parquet_store import parquet_store
    from tacit.data.prepare import prepare
    from tacit.data.store import store_file
    from tacit.query.engines.spark import started

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tacit.toml").write_text(CATALOG.format(source=source) + STORE.format(master=master))
        data = tacit.open(Path(folder, "tacit.toml"))
        spark = started(master)
        spark.range(1).count()  # the cluster runs before the clock starts
        ours = {"prepare": _seconds(lambda: prepare(data.catalog))}
        data.begin_scratch("a benchmark")
        session = data.session()
        spark.read.parquet(parquet_store(store_file(data.catalog)).table("visits")).createOrReplaceTempView("stored")
        plain: Seconds = {}
        for name in QUESTIONS:
            for turn in range(TURNS):
                asked = _seconds(lambda name=name, turn=turn: session.sql(SQL[name], epsilon=f"1.{turn:06d}1", groups=36_500))
                alone = _seconds(lambda name=name: spark.sql(PLAIN[name]).toArrow())
                ours[name], plain[name] = min(asked, ours.get(name, asked)), min(alone, plain.get(name, alone))
    return {"tacit": ours, "plain": plain}


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def apart(source: Path, master: str) -> dict[str, Seconds]:
    """`measured` in a process of its own, since a process has one JVM."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", str(source), master], capture_output=True, text=True, check=False
    )
    found = re.findall(r"^\{.*\}$", done.stdout, re.MULTILINE)
    if not found:
        raise SystemExit(f"the measurement on {master} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(found[-1]))


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """A standalone cluster on loopback; workers have one core each."""
    import pyspark

    port = _free_port()
    run = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), "org.apache.spark.deploy"]
    master = f"spark://127.0.0.1:{port}"
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            started.append(
                subprocess.Popen(
                    [run[0], f"{run[1]}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"], **quiet
                )
            )
            _wait_for(port)
            for each in range(workers):
                place = str(Path(folder, str(each)))
                options = [
                    "--host",
                    "127.0.0.1",
                    "--cores",
                    "1",
                    "--memory",
                    MEMORY,
                    "--webui-port",
                    "0",
                    "--work-dir",
                    place,
                    master,
                ]
                started.append(subprocess.Popen([run[0], f"{run[1]}.worker.Worker", *options], **quiet))
            yield master
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the master of the cluster does not start")


def _figures(seconds: Seconds | str) -> list[str]:
    if isinstance(seconds, str):
        return [seconds] * (1 + len(QUESTIONS))
    return ["-" if (found := seconds.get(name)) is None else f"{found:.3g}" for name in ["prepare", *QUESTIONS]]


def drawn(points: list[dict[str, Any]]) -> None:
    """Seconds against rows, both on logarithmic axes."""
    import altair as alt

    from tacit.chart import save

    chart = alt.Chart(alt.Data(values=points)).mark_line(point=True).encode(
        x=alt.X("rows:Q", scale=alt.Scale(type="log"), title="rows"),
        y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds"),
        color=alt.Color("work:N", title=None),
        strokeDash=alt.StrokeDash("place:N", title=None),
    )  # fmt: skip
    save(chart.properties(width=420, height=300, title="tacit on Spark, two cores"), PICTURE)


def run() -> None:
    """Measures, prints and writes the tables and the picture."""
    rows: list[list[Any]] = []
    points: list[dict[str, Any]] = []

    def take(size: int, name: str, seconds: Seconds | str, place: str | None = None) -> None:
        rows.append([f"{size:,}", name, *_figures(seconds)])
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
        if place is not None and not isinstance(seconds, str):
            points.extend({"rows": size, "work": work, "seconds": found, "place": place} for work, found in seconds.items())

    for size in SIZES:
        source = visits(size)
        found = apart(source, "local[2]")
        ratios = {name: found["tacit"][name] / found["plain"][name] for name in QUESTIONS}
        take(size, "**tacit on Spark, local[2]**", found["tacit"], "local[2]")
        take(size, "plain Spark SQL on tacit's store", found["plain"])
        take(size, "tacit over plain Spark SQL", ratios)
        if size == PEERS_AT:
            take(size, "Tumult on its Spark 3.5, local[2]", peer_seconds("Tumult", source))
        if size <= WORKERS_AT:
            for workers in (1, 2):
                with cluster(workers) as master:
                    named = f"{workers} worker{'s' if workers > 1 else ''} of one core"
                    take(size, f"tacit on a cluster, {named}", apart(source, master)["tacit"], named)
    drawn(points)
    headers = ["rows", "system", "prepare, s", *(f"{question}, s" for question in QUESTIONS)]
    note = f"Wall seconds, the shortest of {TURNS} answers (Tumult: one); driver memory {MEMORY}."
    write_table("scale", f"{machine('pyspark')} {note}\n\n{markdown(headers, rows)}")


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]), sys.argv[2])))
