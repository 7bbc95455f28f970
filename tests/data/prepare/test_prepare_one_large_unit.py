"""A unit with very many rows: one task of a cluster ranks all of them, within its memory; what does not fit is on its disk."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tacit.data.spark import executors
from tacit.data.spark.cluster import NUMBERED, STATEMENTS
from tacit.data.spark.executors import Work, finished_batches

ROWS, EACH, KEPT = 400_000, 20_000, 8
FIRST = "SELECT *, CAST(row_number() OVER (PARTITION BY tacit_holder ORDER BY tacit_place) - 1 AS BIGINT) AS tacit_rank FROM {}"


def rows_of_one_unit() -> Iterator[pa.RecordBatch]:
    """Places in an order that no sort knows before it has seen all rows: the smallest are all over the batches."""
    for at in range(0, ROWS, EACH):
        place = (np.arange(at, at + EACH, dtype=np.int64) * 123_457) % ROWS
        wide = [pa.array(place * number) for number in range(1, 9)]
        names = [*(f"v{number}" for number in range(1, 9)), "tacit_holder", "tacit_place"]
        yield pa.record_batch([*wide, pa.array(np.full(EACH, 7)), pa.array(place)], names=names)


def ranked() -> list[tuple[int, int]]:
    """The places and the ranks that are kept, as a task of a cluster finds them."""
    kept = f"SELECT v1, tacit_holder, tacit_rank FROM ({FIRST.format(executors.ROWS)}) WHERE tacit_rank < {KEPT}"
    work = Work(duckdb.__version__, STATEMENTS, NUMBERED.format(kept), {})
    found = pa.Table.from_batches(list(finished_batches(work)(rows_of_one_unit())))
    return sorted(zip(found["v1"].to_pylist(), found["tacit_rank"].to_pylist(), strict=True))


def test_what_does_not_fit_in_memory_is_put_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "MEMORY", "24MB")  # for 32 MB of rows
    assert ranked() == [(rank, rank) for rank in range(KEPT)]


def test_without_a_disk_the_memory_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: an engine that cannot spill. It fails with a code, which quotes nothing."""
    monkeypatch.setattr(executors, "MEMORY", "24MB")
    monkeypatch.setattr(executors, "text", lambda given: "''" if "tacit-" in given else f"'{given}'")
    with pytest.raises(RuntimeError, match=r"^tacit_failed:memory$"):
        ranked()
