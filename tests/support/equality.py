"""The same question on two engines: equal in every integer, key and histogram. What was compared is counted for the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from listed import counted
from parquet_copies import to_parquet
from tacit.data.store import ParquetStore
from tacit.privacy.sealed import Sealed
from tacit.query.engines.engine import Engine, Opening
from tacit.query.question import Question
from worlds import Stored, _types

EQUAL: Counter[str] = Counter()


def opened(found: Any) -> tuple[Any, list[Any]]:
    """Keys and moments of an exact answer, as plain integers and texts; histograms as sorted pairs."""
    keys = None if found.keys is None else found.keys.unseal()
    return keys, [
        _plain(each.unseal()) if isinstance(each, Sealed) else [_plain(part.unseal()) for part in each] for each in found.moments
    ]


def _plain(part: Any) -> Any:
    if isinstance(part, tuple):
        return sorted(counted(part).items())
    if isinstance(part, list):
        return [_plain(each) for each in part]
    return np.ma.filled(part, -1).tolist() if isinstance(part, np.ndarray) else part


def assert_equal(one: Engine, other: Engine, question: Question) -> None:
    """All parts of a question have the same exact answer on both."""
    for part in question.parts:
        expected, found = opened(one.run(part.group)), opened(other.run(part.group))
        assert found == expected
    EQUAL["questions"] += 1


def on_spark(store: Path, folder: Path, session: Any) -> Any:
    """An engine on Spark over a copy of a prepared DuckDB file."""
    folder.mkdir(exist_ok=True)
    return _engine(to_parquet(store, folder), folder, session)


def written_on_spark(catalog: Any, rows: Mapping[str, Stored], folder: Path, session: Any) -> Any:
    """An engine on Spark over rows as the store has them."""
    folder.mkdir(exist_ok=True)
    kinds = {"BIGINT": pa.int64(), "VARCHAR": pa.string()}
    for table in catalog.tables.values():
        held = {key: pa.array([row[key] for row in rows[table.name]], kinds[kind]) for key, kind in _types(table).items()}
        pq.write_table(pa.table(held), folder / f"{table.name.lower()}.parquet")
    return _engine(ParquetStore("a version", "", str(folder), {}), folder, session)


def _engine(described: ParquetStore, folder: Path, session: Any) -> Any:
    from tacit.query.engines.spark.engine import SparkEngine

    file = folder / "store.json"
    file.write_text(described.written(), "utf-8")
    return SparkEngine(Opening(file, "spark", described.version), session)
