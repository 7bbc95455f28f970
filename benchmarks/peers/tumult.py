"""Tumult Analytics on local Spark, unit = user with at most 10 rows; the data frame is cached before the clock starts.

`tumult.py PATH [QUESTION...]`: a line of JSON when the data is loaded, and after each question one with all seconds so far.
"""

import json
import os
import sys
import time

from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def main(path, *wanted):
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "8g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    frame = spark.read.parquet(path).cache()
    frame.count()
    groups = KeySet.from_dict({"group_key": list(range(100))})
    cells = KeySet.from_dict({"group_key": list(range(100)), "day": list(range(365))})
    base = QueryBuilder("visits").enforce(MaxRowsPerID(10))
    work = {
        "count": [base.groupby(groups).count()],
        "sum and mean": [base.groupby(groups).sum("amount", 0, 1000), base.groupby(groups).average("amount", 0, 1000)],
        "median": [base.median("amount", 0, 1000)],
        "count by day": [base.groupby(cells).count()],
    }
    seconds = {}
    print(json.dumps(seconds), flush=True)
    for name in wanted or work:
        session = Session.from_dataframe(PureDPBudget(float("inf")), "visits", frame, protected_change=AddRowsWithID("user_id"))
        start = time.perf_counter()
        try:
            for query in work[name]:
                session.evaluate(query, PureDPBudget(1.0)).collect()
            seconds[name] = time.perf_counter() - start
        except Exception as error:
            print(name, type(error).__name__, str(error)[:300], file=sys.stderr)
        print(json.dumps(seconds), flush=True)


main(*sys.argv[1:])
