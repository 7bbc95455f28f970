"""One suite of questions on every engine: what Spark returns equals what the embedded engine returns, to the last integer.

What engines differ in is asked on purpose: the order of NULL in a ranking, limits in each group, clips, codes of enums, overflow,
division, dates, LIKE, the order and equality of texts, and texts that try to be more than texts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters import SPARK, hospital_questions
from equality import assert_equal, on_spark
from extremes import SPARKS_OWN, STORABLE, Both, every_kind
from hospital import hospital_session
from join_questions import questions as join_questions
from joined import COLUMNS as HOSPITAL_COLUMNS
from joined import PRIVATE, Hospital, asked_of
from questions import conditions, keys, numbers
from tacit.data.spark.session import SETTINGS
from tacit.data.store import store_file
from tacit.errors import Refused, TimedOut
from tacit.query.language.nodes import given as with_parameters
from tacit.query.language.sql import read
from tacit.query.passes import rewrite

pytestmark = SPARK
QUESTIONS = hospital_questions()
SHORT = QUESTIONS[::9]
SLOW = pytest.mark.slow
LENGTHS = pytest.mark.parametrize("examples", [2, pytest.param(25, marks=SLOW)])
Asking = Callable[[str], None]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Asking]:
    """The prepared hospital of the guide."""
    folder = tmp_path_factory.mktemp("hospital")
    with hospital_session(folder) as session:
        engine = on_spark(store_file(session.data.catalog), folder / "parquet", spark)

        def ask(question: str) -> None:
            statement: Any = read(question, with_parameters(None, date(2025, 1, 1))).statement
            assert_equal(session.data.engine, engine, rewrite(statement, session.data.catalog, session.data.public))

        yield ask
        engine.close()


@pytest.mark.parametrize("question", SHORT)
def test_questions_of_the_hospital(hospital: Asking, question: str) -> None:
    hospital(question)


@pytest.mark.slow
@pytest.mark.parametrize("question", [each for each in QUESTIONS if each not in SHORT])
def test_all_questions_of_the_hospital(hospital: Asking, question: str) -> None:
    hospital(question)


# --- every kind of column, and expressions over them -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Both]:
    with every_kind(tmp_path_factory.mktemp("kinds"), spark) as both:
        yield both


@LENGTHS
def test_expressions(kinds: Both, examples: int) -> None:
    aggregate = st.sampled_from(["SUM({})", "AVG({})", "MEDIAN({})", "COUNT(DISTINCT {})", "VAR_POP({})", "MAX({})"])

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.builds(str.format, aggregate, numbers()), conditions(), st.none() | keys())
    def check(asked: str, where: str, key: str | None) -> None:
        grouped = f" GROUP BY {key}" if key else ""
        selected = f"{key} AS k, " if key else ""
        answered(kinds, f"SELECT {selected}{asked}, COUNT(*) FROM t WHERE {where}{grouped}")

    check()


def answered(ask: Asking, question: str) -> None:
    """Compares what is admitted; a refusal is decided before any engine is asked."""
    with suppress(Refused):
        ask(question)


def test_quantiles_come_back_as_histograms_never_as_rows(kinds: Both) -> None:
    """Also of a range with more values than the table may have rows, which the embedded engine returns one by one."""
    (cell,) = kinds.engine.run(kinds.plan("SELECT MEDIAN(wide) FROM t").group).moments[0]
    values, counts = cell.unseal()
    assert counts is not None
    assert len(values) == len(set(values.tolist())) < sum(counts.tolist())


@pytest.mark.parametrize("texts", [STORABLE[::4], pytest.param(STORABLE, marks=SLOW)], ids=["some", "all"])
def test_texts_are_never_more_than_texts(kinds: Both, texts: list[str]) -> None:
    """Quotes, backslashes, comments and Spark's own ${...} in a literal: each text counts the rows that hold it."""
    listed = ", ".join(f"SUM(CASE WHEN note = {quoted(each)} THEN 1 ELSE 0 END)" for each in texts)
    kinds(f"SELECT {listed}, COUNT(*) FROM t WHERE note IN ({', '.join(map(quoted, texts))})")
    patterns = [quoted(each) for each in texts if "\\" not in each][::3]
    kinds(f"SELECT {', '.join(f'SUM(CASE WHEN note LIKE {each} THEN 1 ELSE 0 END)' for each in patterns)} FROM t")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# --- joins of private tables, and sub-queries for each person --------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Asking]:
    """Patients, visits, labs and cards, with keys that repeat, are missing, and lead nowhere."""
    folder, draw = tmp_path_factory.mktemp("shared"), random.Random(11)
    few: dict[str, Any] = {
        "sex": ["F", "M"], "age": [0, 1, 2, 3], "ward": ["a", "b", "c", None], "cost": [None, -2, 0, 1, 5],
        "x": [None, 1, 2, 3], "kind": ["s", "t"], "points": [0, 1, 4],
    }  # fmt: skip
    sizes = {"patients": 20, "visits": 60, "labs": 60, "cards": 25}
    rows = {
        name: [
            {column: draw.choice(few.get(column, [None, *range(16)])) for column in HOSPITAL_COLUMNS[name]}
            for _ in range(sizes[name])
        ]
        for name in PRIVATE
    }
    asked = asked_of(folder / "store", Hospital(rows, {"visits": 3, "labs": 3, "cards": 2}), max_joined_rows=5000)
    engine = on_spark(store_file(asked.catalog), folder / "parquet", spark)
    yield lambda question: assert_equal(asked.engine, engine, asked.plan(question))
    engine.close()
    asked.close()


@LENGTHS
def test_joins_of_private_tables(shared: Asking, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(join_questions())
    def check(question: str) -> None:
        answered(shared, question)

    check()


@pytest.mark.parametrize(
    ("setting", "question"),
    [
        ("spark.sql.variable.substitute=true", f"SELECT COUNT(*) FROM t WHERE note = '{SPARKS_OWN}'"),
        ("spark.sql.parser.escapedStringLiterals=true", "SELECT COUNT(*) FROM t WHERE note = 'a\\'"),
        pytest.param("spark.sql.groupByOrdinal=false", "SELECT fruit, COUNT(*) FROM t GROUP BY fruit", marks=SLOW),
    ],
)
def test_each_setting_is_needed(kinds: Both, setting: str, question: str) -> None:
    """Planted bugs: a session without one of the settings gives another number, or none."""
    name, _, value = setting.partition("=")
    engine = kinds.engine
    kinds(question)
    engine._session.conf.set(name, value)
    try:
        with pytest.raises((AssertionError, TimedOut)):
            kinds(question)
    finally:
        engine._session.conf.set(name, SETTINGS[name])
