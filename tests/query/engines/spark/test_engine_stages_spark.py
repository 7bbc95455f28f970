"""What Spark really moves between tasks, beside what the model of work says: a question that is divided moves sums, never rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from clusters import SPARK, hospital_beside_spark, hospital_questions
from tacit.data.store import limits_of
from tacit.query.engines import compile as compiled
from tacit.query.engines.spark.shared_parts import share_parts
from tacit.query.language.nodes import given
from tacit.query.language.sql import read
from tacit.query.passes import rewrite
from tacit.query.price import work
from tacit.query.question import Question
from tacit.session import Session

pytestmark = SPARK
QUESTIONS = hospital_questions()
MOVING = ("SortMergeJoin", "ShuffledHashJoin", "Window", "CartesianProduct", "BroadcastNestedLoopJoin")
PUBLIC = re.compile(r"(key_\d+|value)#\d+L?")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[tuple[Session, Any]]:
    with hospital_beside_spark(tmp_path_factory.mktemp("stages"), spark) as (session, engine, _):
        yield session, engine


def planned(session: Session, text: str, rows: int) -> Question:
    """The question on tables that may have so many rows."""
    known = session.data.catalog
    tables = {name: table if table.public else replace(table, rows_at_most=rows) for name, table in known.tables.items()}
    statement: Any = read(text, given(None, date(2025, 1, 1))).statement
    return rewrite(statement, replace(known, tables=tables), session.data.public)


def is_divided(session: Session, text: str) -> bool:
    """Whether the model leaves to one core no more of twice as many rows, beside the start of their tasks."""
    one, other = (work.worst(planned(session, text, rows)).task for rows in (2**32, 2**33))
    return other - one < 2**32 * work.PROBE * 3 // 4


def moved(engine: Any, question: Question) -> set[str]:
    """What Spark's plans of a question bring together, besides sums by public keys."""
    found: set[str] = set()
    engine._open()
    tables = compiled.Tables(engine._table, limits_of(engine._store.details))
    for part in question.parts:
        summed = [compiled.sums(part.group, tables)] if any(each.kind != "list" for each in part.group.moments) else []
        listed = [at for at, each in enumerate(part.group.moments) if each.kind == "list"]
        for built in (*summed, *(compiled.lists(part.group, at, tables, singly=False) for at in listed)):
            backend = engine._open()
            sql = share_parts(backend.compiler.to_sqlglot(built)).sql(dialect=backend.dialect)
            found |= _moved(engine._session.sql(sql)._jdf.queryExecution().executedPlan())
    return found


def _moved(node: Any) -> set[str]:
    name = node.nodeName()
    below = [node.children().apply(at) for at in range(node.children().size())]
    found = {name} if name in MOVING else set()
    if name == "Exchange":
        by = re.match(r"Exchange (?:hashpartitioning\((.*), \d+\)|SinglePartition)", node.simpleString(100))
        first = next(
            each
            for each in _down(below[0])
            if each.nodeName() not in ("InputAdapter", "Project") and "Codegen" not in each.nodeName()
        )
        if (
            by is None
            or "partial_" not in first.simpleString(100)
            or not all(map(PUBLIC.fullmatch, (by[1] or "key_0#0").split(", ")))
        ):
            found.add(node.simpleString(20))
    return found.union(*map(_moved, below))


def _down(node: Any) -> Iterator[Any]:
    yield node
    if node.children().size() == 1:
        yield from _down(node.children().apply(0))


@pytest.mark.parametrize("texts", [QUESTIONS[::6], pytest.param(QUESTIONS, marks=pytest.mark.slow)], ids=["some", "all"])
def test_a_question_that_is_divided_moves_sums_alone(
    place: tuple[Session, Any], texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, engine = place
    engine.open()
    brought = {text: moved(engine, planned(session, text, 10**5)) for text in texts}
    divided = {text for text in texts if is_divided(session, text)}
    assert [text for text in divided if brought[text]] == []
    assert len(divided) >= len(texts) // 4
    assert sum(map(bool, brought.values())) >= len(texts) // 5
    monkeypatch.setattr(work.Flow, "largest", property(lambda rows: min(rows.rows, work.TASK_ROWS)))
    assert [text for text in texts if is_divided(session, text) and brought[text]], "rows that are brought together, divided"
