"""Margins of one table as one question, beside asking for each: `python -m benchmarks margins`.

Of the census extract Adult, the 36 margins of one and two of eight columns (workclass to sex without the country, income), and a
CUBE of four, at (1, 1e-6); and all pairs of 30 columns of a generated table of a million rows. Noise is that of the package; errors
are of released numbers against the exact ones.
"""

from __future__ import annotations

import gzip
import math
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from benchmarks.tables import machine, markdown, write_table
from tacit.query.language.margins import margins_sql
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.price.price import price, request
from tacit.query.price.quote import Quote
from tacit.release.noisy import ran, released
from tacit.session import DataSet
from tacit.session import open as open_data

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult" / "adult.csv.gz"
COLUMNS = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "income")
CUBED = ("education", "occupation", "race", "sex")
EPSILON, DELTA, TIMES = 1, "0.000001", 10
RHO = 0.02433  # of (1, 1e-6), by the tight conversion
WIDE, ROWS, VALUES = 30, 10**6, 6


def run() -> None:
    """Print both tables and write them."""
    with tempfile.TemporaryDirectory() as folder:
        adult, cubed = on_adult(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        seconds, memory, cells = of_many_columns(Path(folder))
    head = ["36 margins of Adult at (1, 1e-6), 1,644 cells", "mean absolute error", "of one by one, Laplace", "intervals hold"]
    text = f"{machine()}\n\n{markdown(head, adult)}\n\n"
    text += markdown([f"CUBE of {', '.join(CUBED)}", "mean absolute error", "largest half-width", "half-width of the total"], cubed)
    text += (
        f"\n\nAll {WIDE + math.comb(WIDE, 2)} margins of one and two of {WIDE} columns of {ROWS:,} rows ({cells:,} cells): "
        f"{seconds:.1f} processor seconds from the question to the answer, at most {memory:,.0f} MB of memory."
    )
    print(text, file=sys.stderr)
    write_table("margins", text)


def on_adult(folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    """The rows of the two tables."""
    with gzip.open(ADULT, "rb") as packed:
        table = csv.read_csv(packed).select(list(COLUMNS))
    columns = {name: [str(value).strip() for value in table[name].to_pylist()] for name in COLUMNS}
    values = {
        name: sorted(set(column) | ({"?"} if name in ("workclass", "occupation") else set())) for name, column in columns.items()
    }
    pq.write_table(pa.table(columns), folder / "adult.parquet")
    with declared(folder, "adult", values, len(table)) as data:
        margins = margins_sql("adult", COLUMNS)
        exact = counted(columns, [axes for size in (1, 2) for axes in combinations(COLUMNS, size)])
        laplace, gaussian = 36.0, math.sqrt(36 / (2 * RHO)) * math.sqrt(2 / math.pi)
        adult = [["one by one, Laplace noise at 1/36 each", f"{laplace:.1f}", "1.00", ""]]
        adult.append(["one by one, Gaussian noise at 1/36 of rho each", f"{gaussian:.1f}", f"{gaussian / laplace:.2f}", ""])
        for name, delta, loss, shared in (
            ("one question, noise for each set of keys", DELTA, None, False),
            ("one question, shared measurements, pure", 0, "squares", True),
            ("one question, shared measurements", DELTA, "squares", True),
            ("the same, largest error", DELTA, "largest", True),
        ):
            error, held, _ = measured(data, margins, exact, delta, loss, shared)
            adult.append([name, f"{error:.1f}", f"{error / laplace:.2f}", f"{held:.3f}"])
        return adult, list(of_cube(data, columns))


def of_cube(data: DataSet, columns: dict[str, list[str]]) -> Iterator[list[str]]:
    """A CUBE with shared measurements, and without."""
    listed = ", ".join(f'"{name}"' for name in CUBED)
    text = f"SELECT {listed}, COUNT(*) AS n FROM adult GROUP BY CUBE ({listed})"  # noqa: S608  # constants
    exact = counted(columns, [axes for size in range(5) for axes in combinations(CUBED, size)])
    for name, delta, loss, shared in (
        ("noise for each set of keys, pure", 0, None, False),
        ("as tacit chooses, pure", 0, None, True),
        ("noise for each set of keys", DELTA, None, False),
        ("as tacit chooses", DELTA, None, True),
        ("as tacit chooses, loss squares", DELTA, "squares", True),
        ("as tacit chooses, loss largest", DELTA, "largest", True),
    ):
        error, _, quote = measured(data, text, exact, delta, loss, shared)
        widths = [float(each.mechanism.interval("0.95").above) for part in quote.parts for each in part.noisy_sums]
        total = next(
            float(each.mechanism.interval("0.95").above)
            for part in quote.parts
            for each in part.noisy_sums
            if not part.question.group.keys
        )
        yield [name, f"{error:.1f}", f"{max(widths):.0f}", f"{total:.0f}"]


Exact = Counter[tuple[tuple[str, str], ...]]


def counted(columns: dict[str, list[str]], sets: Sequence[tuple[str, ...]]) -> Exact:
    """The number of rows of every cell of every set of columns."""
    found: Exact = Counter()
    for axes in sets:
        rows = zip(*(columns[name] for name in axes), strict=True) if axes else [()] * len(columns["sex"])
        for row, number in Counter(rows).items():
            found[tuple(zip(axes, row, strict=True))] = number
    return found


def measured(data: DataSet, text: str, exact: Exact, delta: Any, loss: str | None, shared: bool) -> tuple[float, float, Quote]:
    """The mean absolute error over all cells of several releases, how many of the intervals hold, and the quote."""
    asked = request(epsilon=EPSILON, delta=delta, loss=loss, groups=10**6)
    plan = rewrite(parse(text), data.catalog, data.public)
    quote = price(plan, asked)[0] if shared else apart(plan, asked)
    off, held, cells = 0.0, 0, 0
    counts = ran(quote, data.engine.run)
    for _ in range(TIMES):
        noisy = released(quote, counts)
        for part, numbers in zip(quote.parts, noisy.parts, strict=True):
            keys = part.question.group.keys
            ((placed, values),) = numbers.sums.values()
            width = float(placed.mechanism.interval("0.95").above)
            centres = numbers.centres.get(placed.place, np.asarray(values, dtype=np.float64))
            for group, value, centre in zip(numbers.groups, values, centres, strict=True):
                named = tuple(
                    sorted(
                        ((key.name, key.term.type.values[at]) for key, at in zip(keys, group, strict=True)),
                        key=lambda one: order(one[0]),
                    )
                )
                truth = exact[named]
                off, held, cells = off + abs(int(value) - truth), held + (abs(float(centre) - truth) <= width), cells + 1
    return off / cells, held / cells, quote


def order(name: str) -> int:
    """The place of a column among those of the census."""
    return COLUMNS.index(name)


def apart(plan: Any, asked: Any) -> Quote:
    """The best quote without shared measurements."""
    from tacit.query.price import price as pricing

    real = pricing.Sharing.of
    try:
        pricing.Sharing.of = lambda *_: None  # type: ignore[method-assign]
        return price(plan, asked)[0]
    finally:
        pricing.Sharing.of = real  # type: ignore[method-assign]


def declared(folder: Path, name: str, values: dict[str, list[str]], rows: int) -> DataSet:
    """A prepared table whose columns have these values."""
    rest = ', nulls = "drop", unknown = "drop"'
    listed = "\n".join(f"{column} = {{ values = {each!r}".replace("'", '"') + f"{rest} }}" for column, each in values.items())
    (folder / "tacit.toml").write_text(
        f'[budget]\nepsilon = 1000\ndelta = 1e-3\n\n[tables.{name}]\nsource = "{name}.parquet"\nunit = "row"\n'
        f"rows_at_most = {rows}\n\n[tables.{name}.columns]\n{listed}\n"
    )
    data = open_data(folder / "tacit.toml", own_process=False)
    data.prepare(new_ledger=True, reason="a benchmark")
    return data


def of_many_columns(folder: Path) -> tuple[float, float, int]:
    """Processor seconds and megabytes of all margins of two of many columns, and the number of cells."""
    generator = np.random.default_rng(7)
    codes = [np.minimum(*generator.integers(0, VALUES, (2, ROWS))) for _ in range(WIDE)]
    names = pa.array([str(value) for value in range(VALUES)])
    pq.write_table(pa.table({f"c{at}": names.take(pa.array(code)) for at, code in enumerate(codes)}), folder / "wide.parquet")
    values = {f"c{at}": [str(value) for value in range(VALUES)] for at in range(WIDE)}
    with declared(folder, "wide", values, ROWS) as data:
        begun = time.process_time()
        answer = data.session().margins("wide", list(values), epsilon=EPSILON, delta=DELTA)
        seconds = time.process_time() - begun
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(answer)
