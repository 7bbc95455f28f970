"""One measurement, in a process of its own, since a process has one JVM: `python -m benchmarks.scaling.measuring WHAT FOLDER ...`.

A folder has a catalog, its prepared store and its ledger. Plain Spark SQL asks for the same aggregates of tacit's own store, in the
same session and in turns with tacit, so that the ratio is what planning, noise and the ledger add.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.queries import CATALOG, QUESTIONS, SQL

WARM = 2  # rounds of all questions before those that count; fewer if few count
CELLS = 36_500
PATIENCE = 600.0  # seconds for a question on Spark, where the default is 60: a slow machine is to be measured, too
DECLARED = "rows_at_most = 20000000"
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
Taken = tuple[float, float]  # seconds of wall time and of processor time


def catalog(folder: Path, source: Path, rows: int, master: str | None) -> Path:
    """The catalog of a folder, for Spark on a master or for DuckDB; what it declares of the table is the same for both."""
    folder.mkdir(parents=True, exist_ok=True)
    there = os.path.relpath(source.resolve(), folder.resolve())  # so that the store is still its own if both are moved
    declared = CATALOG.format(source=there).replace(DECLARED, f"rows_at_most = {max(rows, 20_000_000)}")
    place = folder / "tacit.toml"
    place.write_text(declared + (STORE.format(master=master) if master else ""))
    return place


def prepared(place: Path, memory: str) -> dict[str, Any]:
    """What preparation takes; a cluster runs, and has imported what it needs, before the clock starts."""
    import tacit
    from tacit.data.prepare import prepare
    from tacit.data.spark.session import started

    with tacit.open(place) as data:
        if data.catalog.store_engine == "spark":
            started(data.catalog.store_master).range(1).count()
        wall, processor = taken(lambda: prepare(data.catalog, memory=memory))
        stored = _bytes(data.catalog) if data.catalog.store_engine == "spark" else None
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": wall, "processor": processor, "megabytes": held, "stored": stored}


def _bytes(described: Any) -> int:
    """The size of a store in Parquet."""
    from tacit.data.store import parquet_store, store_file

    tables = Path(parquet_store(store_file(described)).folder)
    return sum(each.stat().st_size for each in tables.rglob("*.parquet") if each.is_file())


def asked(place: Path, turns: int, beside: bool) -> dict[str, Any]:
    """Medians for each question; on Spark also for plain SQL if `beside`, each turn of tacit followed by one of plain SQL."""
    import tacit
    from tacit.query.engines.engine import Limits

    with tacit.open(place) as data:
        if not data.has_ledger:
            data.begin_scratch("a benchmark")
        if data.catalog.store_engine == "spark":
            data.engine.limits = Limits(seconds=PATIENCE)
        session, numbers = data.session(), epsilons()
        plain = _plain(data.catalog) if beside else None
        found: dict[str, dict[str, list[Taken]]] = {"tacit": {}, "plain": {}}
        warm = min(WARM, turns // 2)
        for turn, name in product(range(warm + turns), QUESTIONS):
            ask = taken(lambda asked=SQL[name]: session.sql(asked, epsilon=next(numbers), groups=CELLS))
            alone = taken(lambda asked=PLAIN[name]: plain(asked)) if plain else None
            if turn >= warm:
                found["tacit"].setdefault(name, []).append(ask)
                found["plain"].setdefault(name, []).extend([alone] if alone else [])
    return {
        who: {name: [median(each) for each in zip(*times, strict=True)] for name, times in questions.items() if times}
        for who, questions in found.items()
    }


def _plain(described: Any) -> Callable[[str], object]:
    """Asks Spark itself, in the session that tacit starts, with the settings that tacit uses."""
    from tacit.data.spark.session import started
    from tacit.data.store import parquet_store, store_file

    spark = started(described.store_master)
    spark.read.parquet(parquet_store(store_file(described)).table("visits")).createOrReplaceTempView("stored")
    return lambda asked: spark.sql(asked).toArrow()


def moved(place: Path) -> dict[str, Any]:
    """Writes the store of a folder, prepared by DuckDB, as Parquet too; questions on Spark then find it."""
    import tacit
    from tacit.data.store import store_file
    from tests.support.parquet_copies import to_parquet

    with tacit.open(place) as data:
        file = store_file(data.catalog)
        tables = file.parent / "parquet"
        tables.mkdir(exist_ok=True)
        wall, processor = taken(lambda: (file.parent / "store.json").write_text(to_parquet(file, tables).written()))
    return {"wall": wall, "processor": processor}


def epsilons() -> Iterator[str]:
    """Budgets that no ledger has seen: a question that is repeated would get its stored answer."""
    number = time.time_ns() // 1000 % 10**12
    while True:
        number += 1
        yield f"1.{number:012d}"


def taken(work: Callable[[], object]) -> Taken:
    """Wall time, and processor time of this process with all processes below it, such as a JVM and its Python workers."""
    before, start = processor_seconds(os.getpid()), time.perf_counter()
    work()
    return time.perf_counter() - start, processor_seconds(os.getpid()) - before


def processor_seconds(root: int) -> float:
    """What a process and those below it have used, ended ones included."""
    ticks, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        own = int(stat.parent.name)
        parents[own], ticks[own] = int(words[1]), sum(map(int, words[11:15]))
    below = {root}
    while more := {each for each, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(ticks.get(each, 0) for each in below) / os.sysconf("SC_CLK_TCK")


def main(what: str, folder: str, *more: str) -> dict[str, Any]:
    place = Path(folder, "tacit.toml")
    match what:
        case "prepare":
            return prepared(place, *more)
        case "ask":
            return asked(place, int(more[0]), more[1] == "beside")
        case "move":
            return moved(place)
    raise SystemExit(f"unknown measurement {what}")


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
