"""Tables with rows at the ends of their ranges, on the embedded engine and on Spark."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equality import assert_equal, opened, written_on_spark
from hostile import FRAGMENTS
from questions import COLUMNS
from stored import catalog, table
from tacit.privacy.catalog import Catalog, Column
from tacit.query.engines.engine import Engine, StoredFacts
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.question import Question, canonical_plan
from worlds import PUBLIC, Stored, clinic, ranked, world

SPARKS_OWN = "${spark.sql.session.timeZone}"  # which Spark would replace by UTC
TEXTS = [*FRAGMENTS, SPARKS_OWN, "UTC", "${env:HOME}", "50%_é", "\\' OR TRUE --", "a\\", "x" * 300]
STORABLE = [each for each in dict.fromkeys(TEXTS) if each.isprintable() or each in "\t\n\r" or each.startswith("\\")]


@dataclass(frozen=True)
class Both:
    """A store on both engines."""

    embedded: Engine
    engine: Any
    plan: Callable[[str], Question]

    def __call__(self, question: str) -> None:
        """Requires the same exact answer, and the same plan with what either engine says of public tables."""
        assert_equal(self.embedded, self.engine, self.plan(question))

    def sees(self, question: str, bug: Callable[[], None]) -> bool:
        """Whether the answer on Spark differs once a bug is planted."""
        group = self.plan(question).group
        expected = opened(self.embedded.run(group))
        self.engine.close()  # what was compiled before
        bug()
        found = opened(self.engine.run(group))
        self.engine.close()
        return bool(found != expected)


def extreme(column: Column, draw: random.Random) -> Any:
    """A stored value of a column: often the least or the largest, or NULL where that is allowed."""
    if column.kind == "text":
        return draw.choice([None, *STORABLE])
    if column.kind == "presence":
        return draw.choice([None, 0])
    last = column.points - 1
    nothing = [None] if column.nulls is None else []
    return draw.choice([*nothing, 0, 0, last, last, draw.randint(0, last)])


@contextmanager
def every_kind(folder: Path, spark: Any) -> Iterator[Both]:
    """A table `t` with a column of every kind."""
    draw = random.Random(5)
    made = catalog(folder, table("t", folder / "t.csv", *COLUMNS, max_rows=4, rows_at_most=10**4))
    people = [[{column.name: extreme(column, draw) for column in COLUMNS} for _ in range(draw.randint(1, 4))] for _ in range(300)]
    with _both(folder, made, {"t": ranked(people)}, spark) as found:
        yield found


@contextmanager
def clinic_visits(folder: Path, spark: Any, per_group: int | None) -> Iterator[Both]:
    """The clinic, with a limit of rows in one group."""
    draw, made = random.Random(7), clinic(folder, max_rows_per_group=per_group)
    columns = [column for column in made.tables["visits"].columns.values() if column.kind != "key"]
    people = [[{column.name: extreme(column, draw) for column in columns} for _ in range(draw.randint(1, 5))] for _ in range(120)]
    with _both(folder, made, {"visits": ranked(people), "wards": PUBLIC}, spark) as found:
        yield found


@contextmanager
def _both(folder: Path, made: Catalog, rows: dict[str, Stored], spark: Any) -> Iterator[Both]:
    with world(folder, made, rows) as held:
        engine = written_on_spark(made, rows, folder / "parquet", spark)
        facts = StoredFacts(held.facts.tables, engine)

        def plan(question: str) -> Question:
            planned = held.plan(question)
            assert canonical_plan(planned) == canonical_plan(rewrite(parse(question), made, facts))
            return planned

        try:
            yield Both(held.engine, engine, plan)
        finally:
            engine.close()
