"""The worst-case work of queries, compared with their processor time: `python -m benchmarks work`.

The rows are as many as the catalog declares; every filter passes and every join matches. The table shows, for each query, the steps
of the model (src/tacit/query/price/work.md), a thousand million to the second, and the processor time of the engine and of the
assembly of its numbers on one thread. The model should never be below, and about twice as much where possible.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.tables import machine, markdown, write_table
from tacit.data.catalog import read_catalog
from tacit.data.prepare import prepare
from tacit.data.store import store_file
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.engines.engine import Limits
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.plan import Question
from tacit.query.price.work import worst
from tacit.session import DataSet

ROWS = 2_000_000
CATALOG = f"""
[budget]
epsilon = 1

[tables.visits]
source = "visits.parquet"
unit = {{ column = "person" }}
max_rows = 8
rows_at_most = {ROWS}
[tables.visits.columns]
person = {{ key = true }}
ward = {{ bounds = [0, 9], nulls = "drop" }}
cost = {{ bounds = [0, 8000], nulls = "drop" }}
age = {{ bounds = [-3, 107] }}
fine = {{ bounds = [0, 1099511627776], nulls = "drop" }}
day = {{ type = "date", bounds = ["2020-01-01", "2024-12-31"], nulls = "drop" }}
note = {{ keys = "private", longest = 64 }}

[tables.limited]
source = "visits.parquet"
unit = {{ column = "person" }}
max_rows = 8
max_rows_per_group = 2
rows_at_most = {ROWS}
[tables.limited.columns]
ward = {{ bounds = [0, 9], nulls = "drop" }}
cost = {{ bounds = [0, 8000], nulls = "drop" }}

[tables.wards]
source = "wards.parquet"
public = true
"""
QUESTIONS = [
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE EXTRACT(MONTH FROM day) = 3",
    "SELECT DATE_TRUNC('week', day) AS w, COUNT(*) FROM visits GROUP BY w",
    "SELECT STDDEV(cost), AVG(cost), MAX(day) FROM visits WHERE age > -4",
    "SELECT SUM(cost * cost), SUM(age * cost), AVG(ABS(age)) FROM visits",
    "SELECT SUM(fine) FROM visits",
    "SELECT site, COUNT(*), SUM(cost) FROM visits JOIN wards USING (ward) GROUP BY site",
    "SELECT site, beds, COUNT(*) FROM visits LEFT JOIN wards USING (ward) WHERE age + beds > -9 GROUP BY site, beds",
    "SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward",
    "SELECT MEDIAN(cost), MEDIAN(age) FROM visits",
    "SELECT MEDIAN(fine) FROM visits",
    "SELECT cost, COUNT(*), SUM(age) FROM visits GROUP BY cost",
    "SELECT ward, cost, COUNT(*) FROM visits GROUP BY ward, cost",
    "SELECT cost, age, COUNT(*), SUM(age) FROM visits GROUP BY cost, age",
    "SELECT COUNT(*) FROM visits WHERE note LIKE '%12%34'",
    "SELECT COUNT(*) FROM visits WHERE note LIKE '%_1_2'",
    "SELECT COUNT(*) FROM visits WHERE note LIKE '0000%' OR note = 'x'",
    "SELECT note, COUNT(*) FROM visits GROUP BY note",
    "SELECT ward, COUNT(*), SUM(cost) FROM limited GROUP BY ward",
    f"SELECT COUNT(*) FROM visits WHERE cost / age > 3 OR cost IN ({', '.join(map(str, range(500)))})",  # noqa: S608
    "SELECT LEAST(age, cost) AS l, COUNT(*) FROM visits GROUP BY l",
]


def generated(folder: Path) -> None:
    """Visits without a pattern, and wards of which every visit matches four."""
    import duckdb

    drawn = "hash(range + {}) % {}"
    columns = {
        "person": "range // 8",
        "ward": drawn.format(0, 10),
        "cost": drawn.format(1, 8001),
        "age": f"CASE WHEN hash(range + 9) % 20 > 0 THEN ({drawn.format(2, 111)})::BIGINT - 3 END",
        "fine": drawn.format(3, 2**40),
        "day": f"DATE '2020-01-01' + ({drawn.format(4, 1827)})::INTEGER",
        "note": f"printf('%064d', ({drawn.format(5, 10**8)})::BIGINT)",
    }
    rows = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    with duckdb.connect() as engine:
        engine.execute(f"COPY (SELECT {rows} FROM range({ROWS})) TO '{folder / 'visits.parquet'}'")  # noqa: S608
        wards = "SELECT range % 10 AS ward, chr(65 + (range % 3)::INTEGER) AS site, range % 7 AS beds FROM range(40)"
        engine.execute(f"COPY ({wards}) TO '{folder / 'wards.parquet'}'")


def run() -> None:
    """Measures, and writes the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generated(folder)
        (folder / "tacit.toml").write_text(CATALOG)
        catalog = read_catalog(folder / "tacit.toml")
        prepare(catalog)
        engine = DuckDBEngine(store_file(catalog), Limits(seconds=600, threads=1))
        engine.open()
        with DataSet(catalog, own_process=False) as data:
            lines = [measured(engine, data, text) for text in QUESTIONS]
        engine.close()
    said = f"{machine()} {ROWS:,} rows, one thread. Seconds of the model and of processor time."
    write_table("work", "\n".join([said, "", markdown(["query", "", "model", "took", "ratio"], lines)]))


def processor_seconds(engine: DuckDBEngine, question: Question) -> float:
    """Processor seconds of all threads, for one run."""
    begun = time.process_time()
    engine.run(question.group)
    return time.process_time() - begun


def measured(engine: DuckDBEngine, data: DataSet, text: str) -> list[str]:
    """A query, its worst-case work up to the noise, the measured time, and the ratio of the two."""
    question = rewrite(parse(text), data.catalog, data.public)
    nothing_after = replace(question, outputs=(), order=(), having=None, calls=())
    model = worst(nothing_after).steps / 10**9
    took = min(processor_seconds(engine, question) for _ in range(2))
    shown = text if len(text) < 100 else f"{text[:80]} ..."
    return [f"`{shown}`", "", f"{model:.2f}", f"{took:.2f}", f"{model / took:.1f}"]
