"""SmartNoise SQL on a pandas data frame (its own reader keeps it in memory), unit = user with at most 10 rows."""

import json
import sys
import time

import pandas as pd
import snsql
from snsql import Privacy

METADATA = {
    "": {
        "main": {
            "visits": {
                "max_ids": 10,
                "censor_dims": False,
                "row_privacy": False,
                "rows": 100_000,
                "user_id": {"type": "int", "private_id": True},
                "group_key": {"type": "int"},
                "visit_day": {"type": "int"},
                "amount": {"type": "float", "lower": 0, "upper": 1000},
            }
        }
    }
}
SQL = {
    "count": "SELECT group_key, COUNT(*) AS n FROM main.visits GROUP BY group_key",
    "sum and mean": "SELECT group_key, SUM(amount) AS s, AVG(amount) AS m FROM main.visits GROUP BY group_key",
    "count by day": "SELECT group_key, visit_day, COUNT(*) AS n FROM main.visits GROUP BY group_key, visit_day",
}


def main(path):
    frame = pd.read_parquet(path).rename(columns={"day": "visit_day"})  # DAY is a keyword of its grammar
    seconds = {}
    for name, question in SQL.items():
        reader = snsql.from_df(frame, privacy=Privacy(epsilon=1.0, delta=1e-6), metadata=METADATA)
        start = time.perf_counter()
        try:
            reader.execute(question)
            seconds[name] = time.perf_counter() - start
        except Exception as error:
            print(name, type(error).__name__, str(error)[:300], file=sys.stderr)
    print(json.dumps(seconds))


main(sys.argv[1])
