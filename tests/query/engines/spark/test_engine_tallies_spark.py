"""Tallies, from which maps and the data owner's comparisons are made: the same counts on Spark as on the embedded engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clusters import SPARK
from cohort import NAMES, cohort_catalog, people
from equality import written_on_spark
from tacit.query.engines.engine import Engine
from tacit.query.plan import Bound, Scan
from worlds import world

pytestmark = [*SPARK, pytest.mark.slow]
TEXTS = ["a", "A", "é", "e\u0301", "", " a", None, "a\u00a0", "\\' OR TRUE --", "${env:HOME}"]


def counted(engine: Engine, bound: Bound, columns: list[str]) -> list[str]:
    found = engine.tallies(bound, columns).unseal()
    assert found.num_rows == found.select(columns).group_by(columns).aggregate([]).num_rows, "each combination once"
    return sorted(map(repr, zip(*(found.column(name).to_pylist() for name in found.column_names), strict=True)))


@pytest.mark.parametrize("columns", [["ward"], NAMES, ["note"], ["note", "ward"]])
@pytest.mark.parametrize("limit", [1, 3])
def test_tallies_are_equal_on_both_engines(columns: list[str], limit: int, tmp_path: Path, spark: Any) -> None:
    declared = cohort_catalog(tmp_path)
    rows = [{**row, "note": TEXTS[at % len(TEXTS)]} for at, row in enumerate(people(40))]
    bound = Bound(Scan(declared.tables["visits"]), limit)
    cluster = written_on_spark(declared, {"visits": rows}, tmp_path / "parquet", spark)
    with world(tmp_path, declared, {"visits": rows}) as place:
        ours, theirs = (counted(engine, bound, columns) for engine in (place.engine, cluster))
    cluster.close()
    assert ours == theirs
