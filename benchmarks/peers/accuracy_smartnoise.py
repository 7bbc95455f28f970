"""SmartNoise SQL's answers: `python accuracy_smartnoise.py VALUES.npy EPSILON ROWS_A_PERSON TIMES` prints JSON lists of numbers.

Its SQL has no median. The variance of its dialect is computed from noisy sums.
"""

import json
import sys
import warnings

import numpy as np
import pandas as pd
import snsql
from snsql import Privacy

SQL = {
    "count": "SELECT COUNT(*) AS x FROM main.visits",
    "sum": "SELECT SUM(amount) AS x FROM main.visits",
    "mean": "SELECT AVG(amount) AS x FROM main.visits",
    "variance": "SELECT VAR(amount) AS x FROM main.visits",
}


def metadata(rows, per_person):
    columns = {
        "user_id": {"type": "int", "private_id": True},
        "amount": {"type": "float", "lower": 0, "upper": 1000},
    }
    return {"": {"main": {"visits": {"max_ids": per_person, "censor_dims": False, "rows": rows, **columns}}}}


def main(path, epsilon, per_person, times):
    warnings.simplefilter("ignore")
    values = np.load(path) / 100
    frame = pd.DataFrame({"user_id": np.arange(len(values)) // per_person, "amount": values})
    released = {}
    for name, question in SQL.items():
        try:
            reader = snsql.from_df(frame, privacy=Privacy(epsilon=epsilon, delta=1e-6), metadata=metadata(len(frame), per_person))
            answers = [reader.execute(question)[1][0] for _ in range(times)]
            released[name] = [float(answer) for answer in answers if answer is not None]
        except Exception as error:
            print(name, type(error).__name__, str(error)[:300], file=sys.stderr)
    print(json.dumps(released))


main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
