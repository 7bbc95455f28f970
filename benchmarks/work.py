"""The worst-case work of queries, compared with their processor time: `python -m benchmarks work`.

The rows are as many as the catalog declares; every filter passes and every join matches. The table shows, for each query, the steps
of the model (src/tacit/query/price/work.md), a thousand million to the second, and the processor time of the engine and of the
assembly of its numbers on one thread. The model should never be below, and about twice as much where possible.
"""

from __future__ import annotations

import shutil
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
from tacit.query.planning import size_of
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
            plans = planning(engine, data, folder)
        engine.close()
    said = f"{machine()} {ROWS:,} rows, one thread. Seconds of the model and of processor time."
    heads = ["query", "characters", "counted", "model", "empty store", "full store", "ratio"]
    tables = [markdown(["query", "", "model", "took", "ratio"], lines), "", "Planning:", "", markdown(heads, plans)]
    write_table("work", "\n".join([said, "", *tables]))


def processor_seconds(engine: DuckDBEngine, question: Question) -> float:
    """Processor seconds of all threads, for one run."""
    begun = time.process_time()
    engine.run(question.group)
    return time.process_time() - begun


def measured(engine: DuckDBEngine, data: DataSet, text: str) -> list[str]:
    """A query, its worst-case work up to the noise, the measured time, and the ratio of the two."""
    question = rewrite(parse(text), data.catalog, data.public)
    nothing_after = replace(question, outputs=(), order=(), having=None, calls=())
    model = (worst(nothing_after).steps - size_of(nothing_after).steps) / 10**9  # planning is measured apart
    took = min(processor_seconds(engine, question) for _ in range(2))
    shown = text if len(text) < 100 else f"{text[:80]} ..."
    return [f"`{shown}`", "", f"{model:.2f}", f"{took:.2f}", f"{model / took:.1f}"]


# --- planning ----------------------------------------------------------------------------------------------------------------

TERM = "SUM(cost / LOG10(GREATEST(age, {})))"
PLANNED = [
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, AVG(cost), MEDIAN(age) FROM visits GROUP BY ward",
    f"SELECT {', '.join(TERM.format(least) for least in (1, 2, 3))} FROM visits",  # noqa: S608
    f"SELECT {', '.join(f'MEDIAN(LN(cost + {more}))' for more in range(1, 13))} FROM visits",  # noqa: S608
    f"SELECT SUM({'ABS(' * 6}age{' - 1)' * 6}) FROM visits",  # noqa: S608
    f"SELECT COUNT(*) FROM visits WHERE {'(' * 7}age > 3{''.join(f' = (age > {least}))' for least in range(7))}",  # noqa: S608
    f"SELECT COUNT(*) FROM visits WHERE cost IN ({', '.join(map(str, range(700)))})",  # noqa: S608
    "SELECT EXTRACT(YEAR FROM day) AS y, EXTRACT(MONTH FROM day) AS m, COUNT(*) FROM visits GROUP BY y, m",
    "SELECT site, COUNT(*), SUM(cost) FROM visits JOIN wards USING (ward) GROUP BY site",
]


def planning(full: DuckDBEngine, data: DataSet, folder: Path) -> list[list[str]]:
    """What planning takes, where there are no rows and where there are all: an optimizer reads statistics of the data."""
    import duckdb

    place = folder / "empty.duckdb"
    shutil.copy(full.path, place)
    with duckdb.connect(str(place)) as store:
        store.execute("DELETE FROM visits")
    empty = DuckDBEngine(place, full.limits)
    empty.open()
    lines = [planned(text, empty, full, data) for text in PLANNED]
    empty.close()
    return lines


def planned(text: str, empty: DuckDBEngine, full: DuckDBEngine, data: DataSet) -> list[str]:
    """A query, its characters, those that were counted, the model, and processor time: with a run if there are no rows."""
    question = rewrite(parse(text), data.catalog, data.public)
    size = size_of(question)
    took = [min(_planning_seconds(engine, question, engine is empty) for _ in range(3)) for engine in (empty, full)]
    written = sum(map(len, full._compiled.values()))
    shown, model = text if len(text) < 100 else f"{text[:80]} ...", size.steps / 10**9
    times = [f"{each:.3f}" for each in (model, *took)]
    return [f"`{shown}`", f"{written:,}", f"{size.characters:,}", *times, f"{model / max(took):.1f}"]


def _planning_seconds(engine: DuckDBEngine, question: Question, run: bool) -> float:
    """Planned once before a question runs, and again as it runs; where it does not run, twice."""
    engine._compiled.clear()
    begun = time.process_time()
    engine._plan(question.group)
    if run:
        engine.run(question.group)
    else:
        engine._planned.clear()
        engine._plan(question.group)
    return time.process_time() - begun
