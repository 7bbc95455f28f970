"""Questions in words, the history on disk, and the desk between them."""

from __future__ import annotations

import sqlite3
import stat
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import InvalidInput, InvalidSQL, NotAllowed, Refused, StoreUnusable, UnknownName, WrongType
from tacit.publish.audited.data import Data, Private, read
from tacit.publish.audited.desk import Desk, about
from tacit.publish.audited.history import History
from tacit.publish.audited.maximum import MaxAuditor
from tacit.publish.audited.named import auditor_named, check_facts
from tacit.publish.audited.predicate import select_rows
from tacit.publish.audited.question import Denial, ExactAnswer
from tacit.publish.audited.sums import SumAuditor

PUBLIC = {
    "name": np.array(["ana", "bob", "cid", "dan", None], dtype=object),
    "age": np.array([31.0, 45.0, np.nan, 38.0, 29.0]),
    "day": np.array([date(2020, 1, day) for day in range(1, 6)], dtype=object),
    "staff": np.array([True, False, True, None, False], dtype=object),
}


def rows(condition):
    return select_rows(f"MAX(pay) WHERE {condition}", "pay", PUBLIC, 5).rows.tolist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("name = 'ana'", [0]),
        ("name <> 'ana'", [1, 2, 3]),
        ("NOT name = 'ana'", [1, 2, 3]),
        ("name IN ('ana', 'dan') OR age < 30", [0, 3, 4]),
        ("name NOT IN ('ana', 'dan')", [1, 2]),
        ("age BETWEEN 31 AND 38", [0, 3]),
        ("31 < age", [1, 3]),
        ("age >= 38.5", [1]),
        ("age IS NULL", [2]),
        ("age IS NOT NULL AND NOT (age > 40)", [0, 3, 4]),
        ("age > 40 OR age IS NULL", [1, 2]),
        ("day >= '2020-01-04'", [3, 4]),
        ("day = DATE '2020-01-02'", [1]),
        ("staff", [0, 2]),
        ("NOT staff", [1, 4]),
        ("staff = FALSE AND NAME = 'bob'", [1]),
        ("TRUE", [0, 1, 2, 3, 4]),
        ("NOT (age > 40 AND name = NULL)", [0, 3, 4]),
    ],
)
def test_conditions_are_those_of_sql(condition, expected):
    import duckdb
    import pyarrow as arrow

    known = arrow.table({name: [None if value != value else value for value in column] for name, column in PUBLIC.items()})
    assert known.num_rows == 5
    found = duckdb.sql("SELECT row_number() OVER () - 1 AS place, * FROM known").filter(condition).project("place").fetchall()
    assert sorted(at for (at,) in found) == expected
    assert rows(condition) == expected


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("MAX(pay) WHERE pay > 3", NotAllowed, "is audited and cannot be used in a condition"),
        ("MAX(pay) WHERE name = 'x' OR PAY = 2", NotAllowed, "is audited"),
        ("MAX(pay) WHERE weight > 3", UnknownName, "declared public: name, age"),
        ("MAX(pay) WHERE age = 'old'", WrongType, "age holds numbers"),
        ("MAX(pay) WHERE age + 1 > 3", NotAllowed, "a public column with a constant"),
        ("MAX(pay) WHERE name LIKE 'a%'", NotAllowed, "LIKE is not supported"),
        ("MAX(pay) WHERE age > 1000", NotAllowed, "no row meets"),
        ("MAX(age)", NotAllowed, "the audited column is pay"),
        ("MEDIAN(pay)", NotAllowed, "MAX, MIN, SUM, AVG and COUNT"),
        ("SELECT MAX(pay) FROM t GROUP BY age", NotAllowed, "one aggregate with at most one condition"),
        ("SELECT MAX(pay), MIN(pay) FROM t", NotAllowed, "one aggregate"),
        ("how much", InvalidSQL, "invalid query"),
        ("MAX(pay) WHERE (", InvalidSQL, ""),
        ("MAX(pay) WHERE day = 'soon'", WrongType, "2020-12-31"),
    ],
)
def test_other_questions_are_refused_with_a_remedy(text, error, words):
    with pytest.raises(error) as found:
        select_rows(text, "pay", PUBLIC, 5)
    assert words in str(found.value)


def table():
    return Data(Private([3, 7, 2, 8, 10]), "pay", {"person": np.arange(1, 6)}, "one")


def test_exact_answers_of_every_kind():
    desk = Desk(table(), SumAuditor())
    assert desk.ask("SUM(pay)").answer == 30
    assert desk.ask("SELECT AVG(pay) FROM people WHERE person <= 2").answer == 5
    assert desk.ask("COUNT(*) WHERE person <= 2") == ExactAnswer(
        "COUNT(*) WHERE person <= 2", 2, "who is asked about is public", None
    )
    assert isinstance(desk.ask("avg(pay) WHERE person = 2"), Denial)
    assert [reply.differentially_private for reply in (desk.ask("SUM(pay)"), desk.ask("SUM(pay) WHERE person < 2"))] == [
        False,
        False,
    ]
    with pytest.raises(NotAllowed, match="escape the audit"):
        desk.ask("MAX(pay)")
    assert desk.summary().answers == 3
    big = Private(np.full(1000, 2**53 - 1))
    from tacit.publish.audited.question import question

    assert big.answer(question("sum", range(1000))) == 1000 * (2**53 - 1)
    assert Private([-5, 3]).answer(question("sum", [0, 1])) == -2
    assert Private([0.1] * 10).answer(question("sum", range(10))) == 1.0


def opened(path: Path, auditor=None, data=None) -> Desk:
    data, auditor = data or table(), auditor or MaxAuditor()
    desk = Desk(data, auditor, History(path, about(data, auditor)))
    list(desk.catch_up())
    return desk


def test_the_history_outlives_the_desk_and_is_one_for_all(tmp_path):
    path = tmp_path / "kept" / "history.sqlite"
    first, other = opened(path), opened(path)
    assert first.ask("MAX(pay)").entry == 1
    assert "question 1" in other.ask("MAX(pay) WHERE person <= 4").reason  # what was told to one counts for all
    assert "question 1" in opened(path).ask("MAX(pay) WHERE person <= 4").reason
    assert opened(path).summary().refusals == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_answer_is_durable_before_it_is_shown(tmp_path, monkeypatch):
    """What dies between the commit and the reply has cost its answer; what dies before has told nothing."""
    path = tmp_path / "history.sqlite"
    desk = opened(path)
    monkeypatch.setattr(desk, "_remember", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        desk.ask("MAX(pay)")
    assert opened(path).summary().answers == 1
    desk = opened(path)
    monkeypatch.setattr(desk.data.values, "answer", lambda asked: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        desk.ask("MAX(pay) WHERE person < 3")
    assert opened(path).summary().answers == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE answers SET answer = '11' WHERE number = 1", "entry 2"),
        ("DELETE FROM answers WHERE number = 0", "entry 1"),
        ("DELETE FROM answers WHERE number = 2", "last entries"),
        ("DELETE FROM answers", "last entries"),
    ],
)
def test_a_changed_history_is_noticed(tmp_path, change, words):
    path = tmp_path / "history.sqlite"
    desk = opened(path, SumAuditor())
    for text in ("SUM(pay)", "SUM(pay) WHERE person < 3", "SUM(pay) WHERE person IN (1, 3)"):
        assert isinstance(desk.ask(text), ExactAnswer)
    with sqlite3.connect(path) as database:
        database.execute(change)
    with pytest.raises(StoreUnusable, match=words):
        opened(path, SumAuditor())


def test_another_auditor_other_facts_and_other_data_are_refused(tmp_path):
    path = tmp_path / "history.sqlite"
    opened(path).ask("MAX(pay)")
    with pytest.raises(StoreUnusable, match="another auditor"):
        opened(path, SumAuditor())
    with pytest.raises(StoreUnusable, match="another facts"):
        opened(path, MaxAuditor(upper=100))
    with pytest.raises(StoreUnusable, match="another data"):
        opened(path, data=Data(Private([3, 7, 2, 8, 11]), "pay", {}, "two"))
    path.write_text("no database")
    with pytest.raises(StoreUnusable, match="cannot open the history"):
        opened(path)


def test_csv_and_parquet_are_the_same_table(tmp_path):
    import pyarrow as arrow
    from pyarrow import parquet

    columns = {"name": ["ana", "bob", None], "age": [31, None, 52], "pay": [1.5, 2.0, 3.0]}
    parquet.write_table(arrow.table(columns), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("name,age,pay\nana,31,1.5\nbob,,2\n,52,3\n")
    for name in ("t.csv", "t.parquet"):
        data = read(tmp_path / name, "PAY", ["age", "Name"])
        as_text = read(str(tmp_path / name), "PAY", ["age", "Name"])
        assert (as_text.fingerprint, list(as_text.public)) == (data.fingerprint, list(data.public))
        assert (len(data), data.value, list(data.public)) == (3, "pay", ["age", "name"])
        assert Desk(data, MaxAuditor()).ask("MAX(pay) WHERE age IS NOT NULL").answer == 3.0
    assert "1.5" not in repr(data) + repr(data.values)


@pytest.mark.parametrize(
    ("text", "value", "public", "words"),
    [
        ("a,b\n1,2\n", None, [], "choose the audited column"),
        ("a,b\n1,2\n", "c", [], "missing column 'c' in"),
        ("a,b\n1,2\n", "a", ["a"], "cannot be public"),
        ("a,b\nx,2\n", "a", ["b"], "not numbers"),
        ("a,b\n,2\n3,4\n", "a", ["b"], "missing values"),
        ("a,b\ninf,2\n3,4\n", "a", ["b"], "2\\^53"),
        ("a,b\n", "a", ["b"], "not numbers|no rows"),
        ("", "a", ["b"], "is empty"),
    ],
)
def test_tables_that_cannot_be_audited(tmp_path, text, value, public, words):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path / "t.csv", value, public)


@pytest.mark.parametrize("value", [None, "pay"])
def test_a_row_that_stands_as_the_header_is_not_quoted_by_an_audit(tmp_path, value):
    """The planted bug lists what the first line has, and that is somebody's pay."""
    (tmp_path / "t.csv").write_text("alice,41250,7\nbob,39999,8\n")
    with pytest.raises(InvalidInput, match=r"its first line must name|2 columns are numeric") as refusal:
        read(tmp_path / "t.csv", value, [])
    assert "41250" not in str(refusal.value)


def test_facts_that_do_not_hold_are_told_to_the_curator():
    with pytest.raises(InvalidInput, match="outside the bounds"):
        check_facts("max", 0, 5, Private([1, 9]))
    with pytest.raises(InvalidInput, match="max-min-duplicates"):
        check_facts("max-min", None, None, Private([1, 1]))
    with pytest.raises(InvalidInput, match="boolean-sum"):
        check_facts("sum", None, None, Private(np.array([True, False])))
    with pytest.raises(InvalidInput, match="zeros and ones"):
        check_facts("boolean-sum", None, None, Private([0, 2]))
    with pytest.raises(InvalidInput, match="unknown auditor"):
        auditor_named("median")
    with pytest.raises(InvalidInput, match="both bounds"):
        auditor_named("probabilistic-max")


def test_the_outlook_is_what_would_be_decided():
    data = Data(Private([3, 7, 2, 8, 10, 4]), "pay", {"ward": np.array(list("nnssee"), dtype=object), "id": np.arange(6)})
    desk = Desk(data, SumAuditor())
    desk.ask("SUM(pay) WHERE ward = 'n'")
    outlook = {line.question: line.outcome for line in desk.summary().outlook}
    assert outlook == {
        "SUM(pay) of everybody": "answered",
        "SUM(pay) of ward = e": "answered",
        "SUM(pay) of ward = n": "known already",
        "SUM(pay) of ward = s": "answered",
    }
    assert issubclass(NotAllowed, Refused)
