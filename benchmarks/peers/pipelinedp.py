"""PipelineDP on its local backend, unit = user with at most 10 rows; rows are Python tuples in memory before the clock starts."""

import json
import sys
import time

import pipeline_dp
import pyarrow.parquet as pq


def aggregate(rows, metrics, partition, public):
    backend = pipeline_dp.LocalBackend()
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(budget, backend)
    parameters = pipeline_dp.AggregateParams(
        metrics=metrics,
        max_partitions_contributed=10,
        max_contributions_per_partition=10,
        min_value=0,
        max_value=1000,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=partition, value_extractor=lambda row: row[3]
    )
    result = engine.aggregate(rows, parameters, extractors, public_partitions=public)
    budget.compute_budgets()
    return list(result)


def main(path):
    table = pq.read_table(path).to_pydict()
    rows = list(zip(table["user_id"], table["group_key"], table["day"], table["amount"], strict=True))
    metrics = pipeline_dp.Metrics
    groups, cells = list(range(100)), [(g, d) for g in range(100) for d in range(365)]
    work = {
        "count": ([metrics.COUNT], lambda row: row[1], groups),
        "sum and mean": ([metrics.SUM, metrics.MEAN], lambda row: row[1], groups),
        "median": ([metrics.PERCENTILE(50)], lambda row: 0, [0]),
        "count by day": ([metrics.COUNT], lambda row: (row[1], row[2]), cells),
    }
    seconds = {}
    for name, (wanted, partition, public) in work.items():
        start = time.perf_counter()
        try:
            aggregate(rows, wanted, partition, public)
            seconds[name] = time.perf_counter() - start
        except Exception as error:
            print(name, type(error).__name__, str(error)[:300], file=sys.stderr)
    print(json.dumps(seconds))


main(sys.argv[1])
