"""Generated catalogs, hostile values and questions: Spark answers as the embedded engine does, for every neighbour too.

A failure, another shape or another order that comes with one person's rows would tell of them. So every question is asked of a
table, of the table without one person, and of the empty one: none fails, and each answer is that of the embedded engine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from clusters import SPARK
from equality import assert_equal, written_on_spark
from generated import Generated, Parts, asked, tables
from tacit.query.engines.engine import Limits
from worlds import ranked, world_in_memory

pytestmark = [*SPARK, pytest.mark.timeout(7200)]
EXAMPLES = int(os.environ.get("TACIT_SPARK_EXAMPLES", "60"))
LENGTHS = pytest.mark.parametrize("examples", [1, pytest.param(EXAMPLES, marks=pytest.mark.slow)], ids=["one", "many"])
NUMBERED = count()
PATIENT = Limits(seconds=3600)  # what is compared is the answer, whatever else the machine does


@pytest.fixture(params=["false", pytest.param("true", marks=pytest.mark.slow)], ids=["plain", "ANSI"])
def ansi(request: pytest.FixtureRequest) -> Iterator[str]:
    """With ANSI errors too, which a cluster may insist on: no expression relies on their absence."""
    return request.param


def neighbours(made: Generated) -> Iterator[list[list[dict[str, Any]]]]:
    yield from (made.units, made.units[1:], [])


@LENGTHS
def test_every_neighbour_is_answered_alike(tmp_path: Path, spark: Any, examples: int, ansi: str) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
    @given(tables(), st.lists(asked(), min_size=3, max_size=3))
    def check(made: Generated, questions: list[Parts]) -> None:
        for units in neighbours(made):
            same(made, units, questions, tmp_path, spark, ansi)

    check()


def same(made: Generated, units: Any, questions: list[Parts], folder: Path, spark: Any, ansi: str) -> None:
    """The questions that are admitted have the same exact answers."""
    declared, rows = made.catalog(folder), {"t": ranked(units)}
    engine = written_on_spark(declared, rows, folder / f"parquet{next(NUMBERED)}", spark)
    engine.open()
    engine._session.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        with world_in_memory(declared, rows) as held:
            engine.limits = held.engine.limits = PATIENT
            for question in questions:
                plan = question.admitted(held.plan)
                if plan is not None:
                    assert_equal(held.engine, engine, plan)
    finally:
        engine.close()
