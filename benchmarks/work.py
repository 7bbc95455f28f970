"""The worst-case work of queries, compared with their processor time: `python -m benchmarks work`.

The rows are as many as the catalog declares; every filter passes and every join matches. Each operator of the model
(src/tacit/query/price/work.md) has a query in which it does most of the work. The table shows the steps of the model, a thousand
million to the second, the processor time of the engine, the noise and the answer on one thread, the median of nine runs, and the
ratio of the two: at most a half. The ratios also go into work.md.
"""

# ruff: noqa: S608  # the texts of all queries are written here

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables import machine, markdown, write_table
from tacit.data.catalog import read_catalog
from tacit.data.prepare import prepare
from tacit.data.store import store_file
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.engines.engine import Limits
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.planning import size_of
from tacit.query.price import work
from tacit.query.price.price import Quote, price, request
from tacit.query.question import Question
from tacit.release.answer import Receipt
from tacit.release.noisy import noised
from tacit.release.tabulate import answer
from tacit.session import DataSet

ROWS = 2_000_000
FEWER = 500_000  # for most queries with private keys, which take microseconds a row
RUNS = 9
CODES, LABELS = 10_000, 150_000  # values of a category
PAGE = Path(work.__file__).with_suffix(".md")
CATALOG = f"""
[budget]
epsilon = 1
delta = 1e-6

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
born = {{ type = "date", bounds = ["1900-01-01", "2024-12-31"], nulls = "drop" }}
few = {{ values = {["x" * (at + 1) for at in range(30)]}, nulls = "drop" }}
code = {{ values = {[str(at) for at in range(CODES)]}, nulls = "drop" }}
label = {{ values = {[str(at) for at in range(LABELS)]}, nulls = "drop" }}
other = {{ values = {[str(LABELS - 1 - at) for at in range(LABELS)]}, nulls = "drop" }}
note = {{ keys = "private", longest = 64 }}
town = {{ keys = "private", longest = 16 }}

[tables.limited]
source = "visits.parquet"
unit = {{ column = "person" }}
max_rows = 8
max_rows_per_group = 2
rows_at_most = {ROWS}
[tables.limited.columns]
person = {{ key = true }}
ward = {{ bounds = [0, 9], nulls = "drop" }}
cost = {{ bounds = [0, 8000], nulls = "drop" }}

[tables.some]
source = "some.parquet"
unit = {{ column = "person" }}
max_rows = 8
rows_at_most = {FEWER}
[tables.some.columns]
person = {{ key = true }}
cost = {{ bounds = [0, 8000], nulls = "drop" }}
note = {{ keys = "private", longest = 64 }}
town = {{ keys = "private", longest = 16 }}

[tables.wards]
source = "wards.parquet"
public = true

[tables.costs]
source = "costs.parquet"
public = true
"""


def _sums(form: str, count: int) -> str:
    """A query with many sums of one form, each with constants of its own."""
    return f"SELECT {', '.join(f'SUM({form.format(at, at + 1)})' for at in range(1, count + 1))} FROM visits"


def _nested(low: int, high: int) -> str:
    """CASE in CASE: a tree of comparisons, with other values everywhere."""
    middle = (low + high) // 2
    if high - low < 80:
        return f"(age + {low})"
    return f"CASE WHEN cost < {middle} THEN {_nested(low, middle)} ELSE {_nested(middle, high)} END"


IN_LIST = ", ".join(str(11 * at) for at in range(700))
BRANCHES = " ".join(f"WHEN cost = {at} THEN {at * 7 % 50}" for at in range(100))
OF_ALL_ROWS = f"private keys, {ROWS:,} rows"  # without a median, whose worst work is above the limit for that many rows
QUESTIONS: tuple[tuple[str, str], ...] = (
    ("scan", "SELECT COUNT(*) FROM visits"),
    ("scan", "SELECT SUM(fine), SUM(cost), SUM(ward) FROM visits"),
    ("constants, + and -", _sums("cost + age * {0} + ward * {1}", 12)),
    ("*", _sums("(cost + {0}) * (ward + {1})", 12)),
    ("division by a constant", _sums("FLOOR((cost + {0}) / 7)", 12)),
    ("division", _sums("cost / (age + {0})", 6)),
    ("square root", _sums("SQRT(cost + {0})", 12)),
    ("logarithm", _sums("LN(cost + {0})", 3)),
    ("CASE", f"SELECT SUM(CASE {BRANCHES} ELSE 1 END) FROM visits"),
    ("CASE", f"SELECT SUM({_nested(0, 8000)}), COUNT(*) FROM visits"),
    ("LEAST, ABS", "SELECT LEAST(age, cost) AS l, COUNT(*), AVG(ABS(age)) FROM visits GROUP BY l"),
    ("lookup of at most 32", "SELECT LENGTH(few) AS l, COUNT(*) FROM visits GROUP BY l"),
    ("lookup in a list", "SELECT SUM(LENGTH(code)), COUNT(DISTINCT SUBSTRING(code, 2, 2)) FROM visits"),
    ("lookup in a list", "SELECT SUM(LENGTH(code) * ward), SUM(LENGTH(LOWER(code)) * cost) FROM visits"),
    ("lookup in a list", "SELECT COUNT(*) FROM visits WHERE label = other"),
    ("parts of dates", "SELECT COUNT(*) FROM visits WHERE EXTRACT(MONTH FROM day) < 13"),
    ("parts of dates", "SELECT SUM(EXTRACT(YEAR FROM born)), SUM(EXTRACT(DOW FROM born)) FROM visits"),
    ("parts of dates", "SELECT SUM(EXTRACT(MONTH FROM born)), SUM(EXTRACT(QUARTER FROM born)), COUNT(*) FROM visits"),
    ("parts of dates", "SELECT COUNT(DISTINCT DATE_TRUNC('quarter', born)) FROM visits"),
    ("comparison", f"SELECT COUNT(*) FROM visits WHERE {' AND '.join(f'cost + {at} > age' for at in range(120, 150))}"),
    ("IN", f"SELECT COUNT(*) FROM visits WHERE cost IN ({IN_LIST}) OR age < 200"),
    ("IN", f"SELECT SUM(CASE WHEN cost IN ({IN_LIST}) THEN 1 ELSE 2 END) FROM visits"),
    ("IN", f"SELECT COUNT(*) FROM visits WHERE cost + age IN ({IN_LIST}) OR age + ward IN ({IN_LIST})"),
    ("IN", f"SELECT COUNT(*) FROM visits WHERE cost / age > 3 OR cost IN ({', '.join(map(str, range(500)))})"),
    (
        "IS NULL, AND, OR, NOT",
        f"SELECT COUNT(*) FROM visits WHERE {' OR '.join(f'(age IS NULL AND NOT cost = {at})' for at in range(30))}",
    ),
    (
        "equality of texts",
        f"SELECT COUNT(*) FROM visits WHERE note IN ({', '.join(repr('0' * 61 + str(at)) for at in range(100, 130))}) OR age < 0",
    ),
    ("LIKE, a prefix", "SELECT COUNT(*) FROM visits WHERE note LIKE '0000%' OR note = 'x'"),
    ("LIKE", "SELECT COUNT(*) FROM visits WHERE note LIKE '%12%34'"),
    ("LIKE", "SELECT COUNT(*) FROM visits WHERE note LIKE '%_1_2'"),
    ("LIKE", "SELECT COUNT(*) FROM visits WHERE note LIKE '%0_0_0_0_0_0_0_0_0_0_0_0_0_0_0_0_x'"),
    ("join with a public table", "SELECT site, COUNT(*), SUM(cost) FROM visits JOIN wards USING (ward) GROUP BY site"),
    (
        "join with a public table",
        "SELECT site, beds, COUNT(*) FROM visits LEFT JOIN wards USING (ward) WHERE age + beds > -9 GROUP BY site, beds",
    ),
    ("join with a public table", "SELECT SUM(costs.image) FROM visits JOIN costs ON costs.cost = visits.fine"),
    ("join on the unit", "SELECT COUNT(*), SUM(l.cost) FROM visits v JOIN limited l ON l.person = v.person"),
    ("semi-join", "SELECT COUNT(*) FROM visits v WHERE v.person IN (SELECT person FROM limited WHERE cost >= 0)"),
    (
        "one row for each unit",
        "SELECT AVG(n), AVG(c) FROM (SELECT person, COUNT(*) AS n, SUM(cost) AS c FROM visits GROUP BY person) u",
    ),
    ("one row for each unit", "SELECT AVG(n) FROM (SELECT person, cost, COUNT(*) AS n FROM visits GROUP BY person, cost) u"),
    (
        "one row for each unit, DISTINCT",
        "SELECT AVG(n) FROM (SELECT person, COUNT(DISTINCT cost) AS n FROM visits GROUP BY person) u",
    ),
    ("UNION ALL", "SELECT COUNT(*), SUM(cost) FROM (SELECT person, cost FROM visits UNION ALL SELECT person, cost FROM limited) u"),
    ("limit in a group", "SELECT ward, COUNT(*), SUM(cost) FROM limited GROUP BY ward"),
    ("sums", "SELECT STDDEV(cost), AVG(cost), MAX(day) FROM visits WHERE age > -4"),
    ("sums", "SELECT CORR(cost, fine), CORR(age, cost), VAR_POP(fine) FROM visits"),
    ("at most 10^4 groups", "SELECT DATE_TRUNC('week', day) AS w, COUNT(*) FROM visits GROUP BY w"),
    ("at most 10^4 groups", "SELECT cost, COUNT(*), SUM(age) FROM visits GROUP BY cost"),
    ("at most 10^5 groups", "SELECT ward, cost, COUNT(*) FROM visits GROUP BY ward, cost"),
    ("at most 10^6 groups", "SELECT cost, age, COUNT(*), SUM(age) FROM visits GROUP BY cost, age"),
    ("more groups", "SELECT code, age, COUNT(*) FROM visits GROUP BY code, age"),
    ("units in a group", "SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward"),
    ("units in a group", "SELECT cost, age, COUNT(DISTINCT person) FROM visits GROUP BY cost, age"),
    ("different values", "SELECT COUNT(DISTINCT fine), COUNT(DISTINCT note) FROM visits"),
    ("list of values", "SELECT MEDIAN(cost), MEDIAN(age) FROM visits"),
    ("list of values", "SELECT MEDIAN(fine) FROM visits"),
    ("list of values", "SELECT ward, MEDIAN(cost) FROM visits GROUP BY ward"),
    ("mode", "SELECT MODE(cost), MODE(age) FROM visits"),
    ("private keys", "SELECT note, COUNT(*) FROM some GROUP BY note"),
    ("private keys", "SELECT town, COUNT(*), SUM(cost) FROM some GROUP BY town"),
    ("private keys", "SELECT note, town, COUNT(*), AVG(cost), COUNT(DISTINCT person) FROM some GROUP BY note, town"),
    ("private keys", "SELECT town, MEDIAN(cost) FROM some GROUP BY town"),
    (OF_ALL_ROWS, "SELECT note, COUNT(*) FROM visits GROUP BY note"),
    (OF_ALL_ROWS, "SELECT town, COUNT(*), SUM(cost) FROM visits GROUP BY town"),
    (OF_ALL_ROWS, "SELECT note, town, COUNT(*), AVG(cost), COUNT(DISTINCT person) FROM visits GROUP BY note, town"),
)


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
        "born": f"DATE '1900-01-01' + ({drawn.format(6, 45_000)})::INTEGER",
        "few": f"repeat('x', 1 + ({drawn.format(7, 30)})::INTEGER)",
        "code": f"({drawn.format(8, CODES)})::VARCHAR",
        "label": f"({drawn.format(11, LABELS)})::VARCHAR",
        "other": f"({drawn.format(12, LABELS)})::VARCHAR",
        "note": f"printf('%064d', ({drawn.format(5, 10**8)})::BIGINT)",
        "town": f"printf('%016d', ({drawn.format(10, 10**6)})::BIGINT)",
    }
    rows = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    with duckdb.connect() as engine:
        engine.execute(f"COPY (SELECT {rows} FROM range({ROWS})) TO '{folder / 'visits.parquet'}'")
        engine.execute(f"COPY (SELECT * FROM '{folder / 'visits.parquet'}' LIMIT {FEWER}) TO '{folder / 'some.parquet'}'")
        wards = "SELECT range % 10 AS ward, chr(65 + (range % 3)::INTEGER) AS site, range % 7 AS beds FROM range(40)"
        engine.execute(f"COPY ({wards}) TO '{folder / 'wards.parquet'}'")
        costs = f"SELECT DISTINCT fine AS cost, fine % 7 AS image FROM '{folder / 'visits.parquet'}'"
        engine.execute(f"COPY ({costs}) TO '{folder / 'costs.parquet'}'")


@dataclass(frozen=True, slots=True)
class Measured:
    """An operator, a query that it dominates, and seconds: of the model, and of the processor."""

    operator: str
    text: str
    model: float
    took: float

    @property
    def ratio(self) -> float:
        """The processor time by the model."""
        return self.took / self.model


def run() -> None:
    """Measures, and writes the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generated(folder)
        (folder / "tacit.toml").write_text(CATALOG)
        catalog = read_catalog(folder / "tacit.toml")
        prepare(catalog)
        engine = DuckDBEngine(store_file(catalog), Limits(seconds=600, threads=1))
        engine.open()
        with DataSet(catalog, own_process=False) as data:
            found = [measured(engine, data, operator, text) for operator, text in QUESTIONS]
            plans = planning(engine, data, folder)
        engine.close()
    said = f"{machine()} {ROWS:,} rows ({FEWER:,} for private keys, or as the row says), one thread, the median of {RUNS} runs."
    lines = [
        [each.operator, f"`{_short(each.text)}`", f"{each.model:.2f}", f"{each.took:.2f}", f"{each.ratio:.2f}"] for each in found
    ]
    headers = ["operator", "query", "model, s", "processor, s", "ratio"]
    heads = ["query", "characters", "counted", "model, s", "empty store, s", "full store, s", "ratio"]
    write_table("work", "\n".join([said, "", markdown(headers, lines), "", "Planning:", "", markdown(heads, plans)]))
    largest = [[operator, "", f"{ratio:.2f}"] for operator, ratio in by_operator(found).items()]
    write_table("ratios", "\n".join([said, "", markdown(["operator", "", "ratio"], largest)]), PAGE)


def by_operator(found: list[Measured]) -> Mapping[str, float]:
    """The largest ratio of each operator."""
    return {each.operator: max(other.ratio for other in found if other.operator == each.operator) for each in found}


def _short(text: str) -> str:
    return text if len(text) < 100 else f"{text[:80]} ..."


def measured(engine: DuckDBEngine, data: DataSet, operator: str, text: str) -> Measured:
    """A query with its worst-case work, and its processor time, that of the noise and the answer included."""
    question = rewrite(parse(text), data.catalog, data.public)
    quote = price(question, request(epsilon=1, delta="1e-6", groups=10**7))[0]
    took = statistics.median(processor_seconds(engine, quote) for _ in range(RUNS))
    model = (work.worst(question).steps - size_of(question).steps) / 10**9  # planning is measured apart
    return Measured(operator, text, model, took)


def processor_seconds(engine: DuckDBEngine, quote: Quote) -> float:
    """Processor seconds of all threads, for one run."""
    begun = time.process_time()
    answer(quote, noised(quote, engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))
    return time.process_time() - begun


# --- planning ----------------------------------------------------------------------------------------------------------------

TERM = "SUM(cost / LOG10(GREATEST(age, {})))"
PLANNED = [
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, AVG(cost), MEDIAN(age) FROM visits GROUP BY ward",
    f"SELECT {', '.join(TERM.format(least) for least in (1, 2, 3))} FROM visits",
    f"SELECT {', '.join(f'MEDIAN(LN(cost + {more}))' for more in range(1, 13))} FROM visits",
    f"SELECT SUM({'ABS(' * 6}age{' - 1)' * 6}) FROM visits",
    f"SELECT COUNT(*) FROM visits WHERE {'(' * 7}age > 3{''.join(f' = (age > {least}))' for least in range(7))}",
    f"SELECT COUNT(*) FROM visits WHERE cost IN ({', '.join(map(str, range(700)))})",
    "SELECT EXTRACT(YEAR FROM day) AS y, EXTRACT(MONTH FROM day) AS m, COUNT(*) FROM visits GROUP BY y, m",
    "SELECT site, COUNT(*), SUM(cost) FROM visits JOIN wards USING (ward) GROUP BY site",
]


def planning(full: DuckDBEngine, data: DataSet, folder: Path) -> list[list[str]]:
    """The time of planning on a store without rows and on a full one, since an optimizer reads statistics of the data."""
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
    """One line of the table: characters written and counted, the model, and processor time on both stores."""
    question = rewrite(parse(text), data.catalog, data.public)
    size = size_of(question)
    took = [min(_planning_seconds(engine, question, engine is empty) for _ in range(3)) for engine in (empty, full)]
    written = sum(map(len, full._compiled.values()))
    model = size.steps / 10**9
    times = [f"{each:.3f}" for each in (model, *took)]
    return [f"`{_short(text)}`", f"{written:,}", f"{size.characters:,}", *times, f"{max(took) / model:.2f}"]


def _planning_seconds(engine: DuckDBEngine, question: Question, run: bool) -> float:
    """Processor time to plan a question twice: before it runs, and as it runs. With `run`, the second is a real run."""
    engine._compiled.clear()
    begun = time.process_time()
    engine._plan(question.group)
    if run:
        engine.run(question.group)
    else:
        engine._planned.clear()
        engine._plan(question.group)
    return time.process_time() - begun
