"""Qrlew rewrites the SQL and DuckDB runs it; unit = user. Rewriting and running are timed together, after the table is loaded."""

import json
import sys
import time

import duckdb
import pyqrlew as qrl
import sqlalchemy as sa

SQL = {
    "count": "SELECT group_key, COUNT(*) AS n FROM visits GROUP BY group_key",
    "sum and mean": "SELECT group_key, SUM(amount) AS s, AVG(amount) AS m FROM visits GROUP BY group_key",
    "count by day": "SELECT group_key, day, COUNT(*) AS n FROM visits GROUP BY group_key, day",
}


def schema():
    """Qrlew reads names and types from a database; ranges and values are given."""
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE visits (user_id INTEGER, group_key INTEGER, day INTEGER, amount REAL)"))
        connection.execute(sa.text("INSERT INTO visits VALUES (0, 0, 0, 0.5), (1, 99, 364, 999.5)"))
    data = qrl.dataset_from_database("visits", engine)
    for column, low, high in (("group_key", 0, 99), ("day", 0, 364), ("amount", 0.0, 1000.0)):
        data = data.with_range(None, "visits", column, low, high)
    for column, count in (("group_key", 100), ("day", 365)):
        data = data.with_possible_values(None, "visits", column, [str(value) for value in range(count)])
    return data


def main(path):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits AS SELECT * FROM read_parquet(?)", [path])
    data = schema()
    unit = [("visits", [], "user_id")]
    seconds = {}
    for name, question in SQL.items():
        start = time.perf_counter()
        try:
            relation = qrl.Relation.from_query(question, data)
            private = relation.rewrite_with_differential_privacy(data, unit, {"epsilon": 1.0, "delta": 1e-6}, max_multiplicity=10)
            query = private.relation().to_query(qrl.Dialect.PostgreSql)
            connection.execute(query).fetchall()
            seconds[name] = time.perf_counter() - start
        except Exception as error:
            print(name, type(error).__name__, str(error)[:600], file=sys.stderr)
    print(json.dumps(seconds))


main(sys.argv[1])
