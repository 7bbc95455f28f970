"""What is a question of its own inside a statement: by the plan and the catalog alone, and never where a row is of one person."""

from __future__ import annotations

import pytest

from guide import MARKED, Wards, hospital, outcome
from tacit.errors import Refused
from tacit.query.answers.kinds import ANSWERS, PUBLIC, QUESTION, ROWS, Kinds
from tacit.query.answers.levels import derivation_of
from tacit.query.free import may_select_from_answers
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite

BY_WARD = "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
BY_PERSON = "(SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id)"


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        (PUBLIC, "SELECT * FROM wards"),
        (PUBLIC, "SELECT DISTINCT ward FROM visits"),
        (PUBLIC, "SELECT floor, COUNT(*) FROM wards GROUP BY floor"),
        (ROWS, "SELECT * FROM visits WHERE urgent"),
        (ROWS, "SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id"),
        (ROWS, "SELECT patient_id, ward, SUM(cost) FROM visits GROUP BY patient_id, ward"),
        (ROWS, "SELECT v.patient_id, COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.id GROUP BY v.patient_id"),
        (ROWS, "SELECT p.id, COUNT(*) FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY 1"),
        (ROWS, "SELECT patient_id AS person, COUNT(*) FROM visits GROUP BY person"),
        (ROWS, f"SELECT * FROM {BY_PERSON} t WHERE n > 3"),
        (QUESTION, "SELECT COUNT(*) FROM visits"),
        (QUESTION, "SELECT ward, MEDIAN(cost) FROM visits GROUP BY ward"),
        (QUESTION, f"SELECT AVG(n) FROM {BY_PERSON} t"),
        (QUESTION, f"SELECT n, COUNT(*) FROM {BY_PERSON} t GROUP BY n"),
        (QUESTION, "SELECT ward, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM visits) FROM visits GROUP BY ward"),
        (ANSWERS, f"SELECT ward, n FROM {BY_WARD} t"),
        (ANSWERS, f"WITH q AS {BY_WARD} SELECT SUM(n) FROM q"),
        (ANSWERS, f"SELECT t.n FROM {BY_WARD} t JOIN wards w ON t.ward = w.ward"),
        (ANSWERS, "SELECT (SELECT COUNT(*) FROM visits) / (SELECT COUNT(*) FROM patients)"),
        (ANSWERS, f"SELECT n FROM (SELECT n FROM {BY_WARD} t) u"),
        (ANSWERS, f"SELECT people FROM (SELECT n, COUNT(*) AS people FROM {BY_PERSON} t GROUP BY n) u"),
    ],
)
def test_a_query_has_its_kind(kind: str, sql: str) -> None:
    assert Kinds(hospital(), Wards()).of(parse(sql)) == kind


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT * FROM {BY_WARD} t JOIN visits v ON v.ward = t.ward",
        f"SELECT COUNT(*) FROM visits v JOIN {BY_WARD} t ON v.ward = t.ward",
        f"SELECT COUNT(*) FROM visits v, {BY_WARD} t WHERE v.cost > t.n",
        f"SELECT * FROM {BY_WARD} t JOIN {BY_PERSON} p ON p.n = t.n",
        f"SELECT * FROM {BY_WARD} t LEFT JOIN (SELECT ward FROM visits) v ON v.ward = t.ward",
        f"SELECT COUNT(*) FROM (SELECT v.cost FROM visits v JOIN {BY_WARD} t ON v.ward = t.ward) u",
    ],
)
def test_released_numbers_never_meet_private_rows(sql: str) -> None:
    with pytest.raises(Refused) as refused:
        derivation_of(parse(sql), hospital(), Wards())
    assert "cannot be joined with the private rows" in str(refused.value)
    assert refused.value.at is not None


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM {BY_WARD} t WHERE n > 100)",
        f"SELECT COUNT(*) FROM visits WHERE cost > (SELECT MAX(n) FROM {BY_WARD} t)",
        "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
        f"SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM {BY_WARD} t WHERE n > 3)",
        f"SELECT SUM(CASE WHEN cost > (SELECT AVG(n) FROM {BY_WARD} t) THEN 1 ELSE 0 END) FROM visits",
    ],
)
def test_released_numbers_are_in_no_condition_on_private_rows(sql: str) -> None:
    select = parse(sql)
    assert Kinds(hospital(), Wards()).of(select) == QUESTION  # not a SELECT from answers: it is read as a question, and refused
    with pytest.raises(Refused):
        rewrite(select, hospital(), Wards())


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT * FROM {BY_PERSON} t",
        f"SELECT n FROM {BY_PERSON} t",
        f"SELECT n FROM {BY_PERSON} t ORDER BY n DESC LIMIT 1",
        "SELECT (SELECT cost FROM visits LIMIT 1)",
        "SELECT (SELECT n FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t LIMIT 1)",
        "SELECT * FROM (SELECT cost, ROW_NUMBER() OVER (ORDER BY cost) AS r FROM visits) t WHERE r = 1",
        "SELECT * FROM (SELECT ward, SUM(cost) OVER (PARTITION BY patient_id) AS s FROM visits) t",
        "SELECT * FROM (SELECT patient_id AS person, COUNT(*) AS n FROM visits GROUP BY 1) t",
    ],
)
def test_a_select_by_person_is_no_release(sql: str) -> None:
    assert outcome(sql)[0] == "refused"


@pytest.mark.parametrize(("mark", "number", "question"), MARKED, ids=[f"{mark} {number}" for mark, number, _ in MARKED])
def test_no_question_that_people_ask_is_read_anew(mark: str, number: str, question: str) -> None:
    if not question.startswith(("SELECT", "WITH")):
        return
    select = parse(question.replace("CURRENT_DATE", "DATE '2025-01-01'"))
    try:
        kind = Kinds(hospital(), Wards()).of(select)
    except Refused:
        kind = "refused"
    assert kind != ANSWERS


def test_a_plain_question_is_told_by_its_form() -> None:
    assert not may_select_from_answers(parse("SELECT ward, COUNT(*) FROM visits GROUP BY ward"))
    assert not may_select_from_answers(parse("SELECT COUNT(*) FROM (SELECT * FROM visits) t"))
    assert may_select_from_answers(parse(f"SELECT n FROM {BY_WARD} t"))
    assert may_select_from_answers(parse("SELECT (SELECT MEDIAN(cost) FROM visits)"))


def test_a_rule_by_aggregates_alone_would_release_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: whatever aggregates is taken for a question, also where it groups by the person."""
    monkeypatch.setattr(Kinds, "_keeps_the_unit", lambda *_: False)
    with pytest.raises(AssertionError):
        test_a_query_has_its_kind(ROWS, BY_PERSON.strip("()"))
