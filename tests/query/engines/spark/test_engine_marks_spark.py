"""The questions that people ask of the hospital, through a session on each engine: the same answers, prices and refusals.

Exact integers are compared in test_same_on_spark.py; here, all that an analyst gets: columns, public keys, what is known in
advance, the price, and the words of a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from clusters import SPARK, hospital_on_spark
from hospital import hospital_session, session_at
from pages import ROOT
from tacit.errors import NoBudget, TacitError
from tacit.session import Session
from tacit.session import open as open_data

pytestmark = SPARK
LIST = ROOT.parent / "shared" / "questions.sql"
ENTRY = re.compile(r"^-- (answered|free|refused): (\d+)(?: .*)?\n(.+);$", re.MULTILINE)
MARKED = ENTRY.findall(LIST.read_text("utf-8")) if LIST.exists() else []
SLOW = pytest.mark.slow
CHOSEN = re.compile("HAVING|QUALIFY|LIMIT|GROUP BY diagnosis")  # noise has a part in which keys an answer has
ASKED = [
    pytest.param(mark, question, id=f"{mark} {number}", marks=() if mark != "answered" or int(number) % 18 == 4 else SLOW)
    for mark, number, question in MARKED
]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[tuple[Session, Session]]:
    """A session on the embedded engine, and one on Spark; each has a ledger of its own, and the same clock."""
    with (
        hospital_session(tmp_path_factory.mktemp("embedded")) as embedded,
        open_data(hospital_on_spark(tmp_path_factory.mktemp("spark"))) as data,
    ):
        yield embedded, session_at(data)


def told(session: Session, question: str, **budget: Any) -> Any:
    """What an analyst gets, without what noise has part in: a refusal, or columns, public keys and the price."""
    try:
        answer = session.sql(question, **budget)
    except NoBudget:
        return told(session, question, delta="1e-12", **budget) if "delta" not in budget else "no budget"
    except TacitError as error:
        return type(error).__name__, error.code, str(error), error.remedy
    free, fixed = answer.receipt.epsilon == 0, not CHOSEN.search(question)
    columns = [
        (each.name, each.kind, sorted(map(str, each.values)) if free or (fixed and each.kind == "key") else None)
        for each in answer.columns
    ]
    return columns, answer.receipt.epsilon, answer.receipt.delta


def explained(session: Session, question: str) -> str:
    try:
        return str(session.explain(question))
    except TacitError as error:
        return str(error)


@pytest.mark.skipif(not MARKED, reason="the list of questions is not here")
def test_the_list_of_questions_is_asked() -> None:
    assert len(MARKED) == 54


@pytest.mark.parametrize(("mark", "question"), ASKED)
def test_an_analyst_gets_the_same(sessions: tuple[Session, Session], mark: str, question: str) -> None:
    embedded, spark = sessions
    assert explained(spark, question) == explained(embedded, question)
    expected = told(embedded, question, epsilon="0.01")
    assert told(spark, question, epsilon="0.01") == expected
    assert (mark == "refused") == (isinstance(expected[0], str)), expected
