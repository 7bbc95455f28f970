"""The parts of the benchmark of scale: what they keep, what they stop, and what their tables say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.data.catalog import read_catalog
from tacit.privacy.catalog import fingerprint
from tacit.query.engines.engine import StoredFacts
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.price.work import afford

ROOT = Path(__file__).parents[2]
PEER = """
import json, sys, time
print("{}", flush=True)
for name in sys.argv[1:]:
    print("a line of its log")
    time.sleep(60 if name == "sum and mean" else 0)
    print(json.dumps({} if name == "median" else {name: 1.5}), flush=True)
"""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The modules of the benchmark."""
    if not (ROOT / "benchmarks").exists():
        pytest.skip("a source distribution leaves the benchmarks out")
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import queries, scale
    from benchmarks.scaling import figures, measuring, showing

    return SimpleNamespace(queries=queries, scale=scale, figures=figures, measuring=measuring, showing=showing)


def line(bench: SimpleNamespace, part: str, rows: int, **more: Any) -> Any:
    """Figures that lie on a line: 2 seconds, and 3 for each 10^7 rows."""
    wall = dict.fromkeys(("prepare", *bench.queries.QUESTIONS), 2 + 3e-7 * rows)
    return bench.figures.Figures(part, rows, wall, load=0.0, **more)


def test_figures_are_kept_and_replaced(bench: SimpleNamespace, tmp_path: Path) -> None:
    first, again = line(bench, "local", 10**7), line(bench, "local", 10**7, turns=3, why={"median": "fails"})
    for each in (first, line(bench, "local", 10**6), again):
        bench.figures.keep(each, tmp_path / "kept")
    assert bench.figures.kept(tmp_path / "kept") == [line(bench, "local", 10**6), again]


def test_every_planned_part_exists(bench: SimpleNamespace) -> None:
    assert {part for part, _ in bench.scale.PLAN + bench.scale.FULL_PLAN} <= set(bench.scale.PARTS)
    assert set(bench.scale.LIMITS) == {"loaded", *bench.queries.QUESTIONS}
    assert set(bench.measuring.PLAIN) == set(bench.queries.QUESTIONS)


def test_a_peer_that_does_not_end_is_stopped_and_reported(
    bench: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.scale, "KEPT", tmp_path)
    monkeypatch.setattr(bench.scale, "LIMITS", {**bench.scale.LIMITS, "sum and mean": 0.2})
    wall: dict[str, float] = {}
    why: dict[str, str] = {}
    program = [sys.executable, "-c", PEER]
    assert bench.scale._answered(program, ["count", "median", "sum and mean", "count by day"], wall, why) == "sum and mean"
    assert bench.scale._answered(program, ["count by day"], wall, why) == ""
    assert wall == {"count": 1.5, "count by day": 1.5}
    assert why == {"median": "fails", "sum and mean": "more than 0 s"}


def test_a_peer_that_ends_early_fails_in_what_remains(bench: SimpleNamespace, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(bench.scale, "KEPT", tmp_path)
    wall: dict[str, float] = {}
    why: dict[str, str] = {}
    assert bench.scale._answered([sys.executable, "-c", ""], bench.queries.QUESTIONS, wall, why) == ""
    assert (wall, why) == ({}, dict.fromkeys(bench.queries.QUESTIONS, "fails"))


def test_processor_time_includes_processes_below(bench: SimpleNamespace) -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    _, processor = bench.measuring.taken(lambda: subprocess.run([sys.executable, "-c", burn], check=True))
    assert processor >= 0.18
    assert bench.measuring.processor_seconds(os.getpid()) >= processor


def test_the_catalog_is_the_same_for_both_engines(bench: SimpleNamespace, tmp_path: Path) -> None:
    made = [bench.measuring.catalog(tmp_path, Path("x.parquet"), 10**8, master) for master in (None, "local[2]")]
    assert made[0] == made[1]
    spark = read_catalog(made[1])
    assert spark.store_engine == "spark"
    bench.measuring.catalog(tmp_path, Path("x.parquet"), 10**8, None)
    assert fingerprint(read_catalog(made[0])) == fingerprint(spark)
    assert spark.tables["visits"].rows_at_most == 10**8
    for question in bench.queries.SQL.values():
        afford(rewrite(parse(question), spark, StoredFacts({}, None)))  # not refused on as many rows as the benchmark has


def test_a_part_is_measured_from_preparation_to_answers(bench: SimpleNamespace, tmp_path: Path) -> None:
    draw, source = np.random.default_rng(1), tmp_path / "visits.parquet"
    held = {"user_id": 100, "group_key": 100, "day": 365, "amount": 900}
    pq.write_table(pa.table({name: draw.integers(0, most, 1000) for name, most in held.items()}), source)
    place = bench.measuring.catalog(tmp_path / "data", source, 1000, None)
    made = bench.measuring.prepared(place, "500MB")
    found = bench.measuring.asked(place, 1, beside=False)
    figures = bench.scale._figures("duckdb", 1000, made, found, by="DuckDB", turns=1)
    assert set(figures.wall) == set(figures.processor) == {"prepare", *bench.queries.QUESTIONS}
    assert min(figures.wall.values()) > 0
    assert not figures.plain
    bench.measuring.moved(place)
    assert (place.parent / ".tacit" / "store" / "store.json").exists()


def test_a_line_is_carried_along_its_slope(bench: SimpleNamespace) -> None:
    """Two cores took 3 seconds for 10^7 rows: 600 core-seconds for 10^9, so 60,000 for 10^11."""
    found = [line(bench, "local", rows, stored=8 * rows) for rows in (10**5, 10**6, 10**7)] + [line(bench, "moved", 10**8)]
    fixed, each, few, many = bench.showing.slope(found, "count")
    assert (round(fixed, 6), round(each, 6), few, many) == (2.0, 600.0, 10**7, 10**8)
    about, table = bench.showing.carried(found)
    assert "8.0 bytes a row" in about
    assert "| count | 10,000,000 to 100,000,000 | 2.00 | 600.0 | 602 | 40 |" in table
    assert bench.showing.carried(found[:1]) == []


def test_the_tables_compare_what_ran_on_the_same_rows(bench: SimpleNamespace) -> None:
    plain = dict.fromkeys(bench.queries.QUESTIONS, 4.0)
    ours = [line(bench, "local", rows, plain=plain, processor=plain, plain_processor=plain) for rows in (10**6, 10**7)]
    peer = bench.figures.Figures("tumult", 10**7, {"count": 50.0}, why={"median": "fails"})
    about, table = bench.showing.beside([*ours, line(bench, "local", 10**8, plain=plain), peer])
    assert about.startswith("10,000,000 rows")
    assert "| tacit over plain Spark SQL, goal 1.3 | wall | 1.25 | 1.25 | 1.25 | 1.25 |" in table
    assert "| tacit over plain Spark SQL, goal 1.3 | processor | 1 | 1 | 1 | 1 |" in table
    assert "| Tumult on its Spark 3.5, local[2] | wall s | 50 | - | fails | - |" in table
    assert "| Tumult over tacit | wall | 10 | - | - | - |" in table
    assert "| 10,000,000 | 5 | 5 | 5 | 5 | 5 |" in bench.showing.costs(ours)


def test_the_picture_shows_rows_and_workers(bench: SimpleNamespace) -> None:
    found = [line(bench, part, 10**7) for part in ("local", "one-worker", "two-workers", "duckdb")]
    shown = bench.showing.points(found)
    assert {(point["panel"], point["at"]) for point in shown} == {("rows", 10**7), ("workers", 1), ("workers", 2)}
    assert {point["panel"] for point in bench.showing.points(found[:2])} == {"rows"}
