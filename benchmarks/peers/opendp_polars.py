"""OpenDP through its Polars interface, unit = user with at most 10 rows; the data frame is in memory before the clock starts."""

import json
import sys
import time

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")


def context(frame):
    return dp.Context.compositor(
        data=frame.lazy(),
        privacy_unit=dp.unit_of(contributions=10, identifier=pl.col("user_id")),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=len(frame))],
    )


def questions():
    amount = pl.col("amount").fill_null(0.0).fill_nan(0.0)
    groups = pl.LazyFrame({"group_key": range(100)})
    cells = groups.join(pl.LazyFrame({"day": range(365)}), how="cross")
    length = dp.len(signed=True)

    def limited(context):
        return context.query().truncate_per_group(10)

    yield "count", lambda c: limited(c).group_by("group_key").agg(length).with_keys(groups)
    yield "sum and mean", lambda c: limited(c).group_by("group_key").agg(amount.dp.sum((0.0, 1000.0)), length).with_keys(groups)
    yield "median", lambda c: limited(c).select(amount.dp.median([float(v) for v in range(1001)]))
    yield "count by day", lambda c: limited(c).group_by("group_key", "day").agg(length).with_keys(cells)


def main(path):
    frame = pl.read_parquet(path)
    seconds = {}
    for name, ask in questions():
        start = time.perf_counter()
        try:
            ask(context(frame)).release().collect()
            seconds[name] = time.perf_counter() - start
        except Exception as error:
            print(name, type(error).__name__, str(error)[:300], file=sys.stderr)
    print(json.dumps(seconds))


main(sys.argv[1])
