"""Queries over several private tables, compared with plain DuckDB: `python -m benchmarks joins`; `FULL=1` adds 10^7 lines.

customers, orders and lineitems as in TPC-H: on average ten orders per customer and four lines per order. The unit is a customer; an
order leads to one, and a line does through its order. There are four queries: revenue by nation and month, over three tables;
customers by their number of orders; the median value of an order; the orders of customers who never returned anything. Both systems
answer on the same rows, in turns, in one process and with the same threads. No customer has more rows than the catalog keeps, so
both count the same. If other work keeps the machine busy, processor time says more than wall time.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import machine, markdown, write_table

FULL = os.environ.get("FULL") == "1"
OUT = Path(__file__).parent / "out"
SIZES = [10**6, 10**7] if FULL else [10**6]
TURNS = 9
GOAL = "at most 2 times plain DuckDB, plus 50 ms, in wall time"
LINES_OF_ORDER, ORDERS_OF_CUSTOMER = 4, 10
MOST_LINES, MOST_ORDERS = 7, 19
DAYS = 2406  # 1992-01-01 to 1998-08-02

SQL = {
    "revenue by nation and month": """
        SELECT nation, DATE_TRUNC('month', day) AS month, SUM(price) AS revenue
        FROM lineitems JOIN orders ON lineitems.order_id = orders.id JOIN customers ON orders.customer_id = customers.id
        GROUP BY nation, month""",
    "orders per customer": """
        SELECT n, COUNT(*) AS customers
        FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS per
        GROUP BY n""",
    "median value of an order": """
        SELECT MEDIAN(worth) AS half
        FROM (SELECT order_id, SUM(price) AS worth FROM lineitems GROUP BY order_id) AS per""",
    "orders of customers without returns": """
        SELECT priority, COUNT(*) AS n
        FROM orders
        WHERE NOT EXISTS (
            SELECT 1 FROM lineitems JOIN orders AS others ON lineitems.order_id = others.id
            WHERE others.customer_id = orders.customer_id AND lineitems.returned)
        GROUP BY priority""",
}
CATALOG = """
[budget]
epsilon = 1000000

[tables.customers]
source = "{customers}"
unit = "row"
rows_at_most = {rows}

[tables.customers.columns]
id = {{ key = true }}
nation = {{ bounds = [0, 24], nulls = "drop" }}

[tables.orders]
source = "{orders}"
unit = {{ column = "customer_id", references = "customers.id" }}
max_rows = {most_orders}
rows_at_most = {rows}

[tables.orders.columns]
id = {{ key = true }}
day = {{ type = "date", bounds = ["1992-01-01", "1998-12-31"], nulls = "drop" }}
priority = {{ bounds = [1, 5], nulls = "drop" }}

[tables.lineitems]
source = "{lineitems}"
unit = {{ column = "order_id", references = "orders.id" }}
max_rows = {most_lines}
rows_at_most = {rows}

[tables.lineitems.columns]
price = {{ bounds = [0, 100000], step = 0.01, nulls = "drop" }}
returned = {{ values = [false, true], nulls = false }}
"""


def tables(lines: int) -> dict[str, Path]:
    """Parquet files with about the given number of lines, generated once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths = {name: OUT / f"{name}-{lines}.parquet" for name in ("customers", "orders", "lineitems")}
    if not all(path.exists() for path in paths.values()):
        OUT.mkdir(exist_ok=True)
        for name, columns in _generated(np.random.default_rng(lines), lines).items():
            pq.write_table(pa.table(columns), paths[name])
    return paths


def _generated(generator: np.random.Generator, lines: int) -> dict[str, dict[str, Any]]:
    """Data, not noise: the same for both systems. Rows are shuffled, as in a table in use."""
    customers = np.arange(1, lines // LINES_OF_ORDER // ORDERS_OF_CUSTOMER + 1)
    whose = np.repeat(customers, generator.integers(1, MOST_ORDERS + 1, len(customers)))
    orders = generator.permutation(len(whose)) + 1
    of_order = np.repeat(orders, generator.integers(1, MOST_LINES + 1, len(orders)))
    honest = generator.random(len(customers)) < 0.3
    returned = (generator.random(len(of_order)) < 0.1) & ~honest[whose[np.argsort(orders)][of_order - 1] - 1]
    shuffled = generator.permutation(len(of_order))
    return {
        "customers": {"id": generator.permutation(customers), "nation": generator.integers(0, 25, len(customers))},
        "orders": {
            "id": orders,
            "customer_id": whose,
            "day": np.datetime64("1992-01-01") + generator.integers(0, DAYS, len(orders)),
            "priority": generator.integers(1, 6, len(orders)),
        },
        "lineitems": {
            "order_id": of_order[shuffled],
            "price": np.round(generator.gamma(4.0, 9000.0, len(of_order)).clip(0, 100_000), 2),
            "returned": returned[shuffled],
        },
    }


def private(paths: dict[str, Path], rows: int, opened: ExitStack) -> tuple[float, Callable[[str, int], object]]:
    """tacit: seconds of preparation, and a function that asks; each turn uses another epsilon, so that no stored answer is
    returned.
    """
    import tacit
    from tacit.data.prepare import prepare

    folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
    declared = {"rows": rows * 6 // 5, "most_orders": MOST_ORDERS, "most_lines": MOST_ORDERS * MOST_LINES}
    (folder / "tacit.toml").write_text(CATALOG.format(**paths, **declared))
    data = tacit.open(folder / "tacit.toml", own_process=False)
    opened.callback(data.close)
    start = time.perf_counter()
    prepare(data.catalog)
    data.begin_scratch("a benchmark")
    session, seconds = data.session(), time.perf_counter() - start
    return seconds, lambda question, turn: session.sql(question, epsilon=f"1.{turn:06d}1")


def plain(paths: dict[str, Path], opened: ExitStack) -> tuple[float, Callable[[str, int], object]]:
    """DuckDB, not private: seconds to load into a file of its own, and a function that asks."""
    import duckdb

    folder = opened.enter_context(tempfile.TemporaryDirectory())
    engine = opened.enter_context(duckdb.connect(str(Path(folder, "plain.duckdb"))))
    start = time.perf_counter()
    for name, path in paths.items():
        engine.read_parquet(str(path)).create(name)
    engine.execute("CHECKPOINT")
    return time.perf_counter() - start, lambda question, turn: engine.execute(question).fetchnumpy()


def measured(lines: int) -> list[list[str]]:
    """A row of the table for each query."""
    paths = tables(lines)
    with ExitStack() as opened:
        loading, ask_plain = plain(paths, opened)
        preparing, ask_private = private(paths, lines, opened)
        rows = [[f"{lines:,}", "load or prepare, once", f"{loading:.2f}", f"{preparing:.2f}", *[""] * 4]]
        for name, question in SQL.items():
            turns = [(_spent(ask_plain, question, turn), _spent(ask_private, question, turn)) for turn in range(TURNS)]
            (base, base_work), (ours, our_work) = (
                [min(times) for times in zip(*one, strict=True)] for one in zip(*turns, strict=True)
            )
            numbers = [f"{each:.3f}" for each in (base, ours, base_work, our_work)]
            rows.append([f"{lines:,}", name, *numbers, _within(base, ours), _within(base_work, our_work)])
            print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    return rows


def _within(base: float, ours: float) -> str:
    return "yes" if ours <= 2 * base + 0.05 else "no"


def _spent(ask: Callable[[str, int], object], question: str, turn: int) -> tuple[float, float]:
    """Wall seconds, and seconds of all processors together."""
    start, working = time.perf_counter(), time.process_time()
    ask(question, turn)
    return time.perf_counter() - start, time.process_time() - working


def run() -> None:
    """Measures, prints and writes the table."""
    rows = [row for lines in SIZES for row in measured(lines)]
    busy = f"The load of the machine was {os.getloadavg()[0]:.1f}." if hasattr(os, "getloadavg") else ""
    note = f"Each figure is the shortest of {TURNS} turns. {busy} The goal: {GOAL}."
    headers = ["lines", "query", "DuckDB, s", "tacit, s", "DuckDB, processor s", "tacit, processor s", "goal met"]
    headers.append("met in processor time")
    write_table("joins", f"{machine()} {note}\n\n{markdown(headers, rows)}")


if __name__ == "__main__":
    run()
