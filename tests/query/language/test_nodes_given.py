"""Today and parameters are literals of the question: of its plan, of its price, and of what the ledger records."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from hospital import NOW, hospital_session
from tacit.errors import Refused
from tacit.session import Session

LATELY = "SELECT COUNT(*) AS n FROM visits WHERE day > CURRENT_DATE - INTERVAL '1000 days'"


@pytest.fixture
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with hospital_session(tmp_path_factory.mktemp("given")) as session:
        yield session


def last_question(session: Session) -> str:
    return [entry.question for entry in session.data.ledger.entries() if entry.question][-1]


def test_today_is_a_literal_and_tomorrow_another_question(ana: Session) -> None:
    first = ana.sql(LATELY, epsilon=0.1)
    assert "DATE '2025-01-01' - INTERVAL '1000' day" in last_question(ana)
    again = ana.sql("SELECT COUNT(*) AS n FROM visits WHERE day > TODAY() - 1000", epsilon=0.1)
    assert again.receipt.again
    assert again["n"] == first["n"]
    ana.clock = lambda: NOW + timedelta(days=1)
    assert not ana.sql(LATELY, epsilon=0.1).receipt.again
    assert "DATE '2025-01-02'" in last_question(ana)


def test_today_is_that_of_utc(ana: Session) -> None:
    ana.clock = lambda: datetime(2025, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert ana.sql("SELECT CURRENT_DATE AS d FROM wards LIMIT 1")["d"] == ("2024-12-31",)
    assert Session(ana.data, "ana")._today() == datetime.now(UTC).date()


def test_frames_have_the_same_clock(ana: Session) -> None:
    ana.sql(LATELY, epsilon=0.1)
    asked = ana.table("visits").where("day > CURRENT_DATE - INTERVAL '1000 days'").agg(n="count(*)")
    assert asked.release(epsilon=0.1).receipt.again


def test_parameters_make_the_same_question_as_literals(ana: Session) -> None:
    plain = ana.sql("SELECT COUNT(*) AS n FROM visits WHERE ward = 'north' AND cost < 100.5", epsilon=0.1)
    for text, params in (
        ("SELECT COUNT(*) AS n FROM visits WHERE ward = ? AND cost < ?", ["north", 100.5]),
        ("SELECT COUNT(*) AS n FROM visits WHERE ward = :w AND cost < :c", {"w": "north", "c": 100.5}),
        ("SELECT COUNT(*) AS n FROM visits WHERE ward = $1 AND cost < $2", ["north", 100.5]),
    ):
        answer = ana.sql(text, params=params, epsilon=0.1)
        assert answer.receipt.again
        assert answer["n"] == plain["n"]
    assert "price: epsilon 0.1" in str(ana.explain("SELECT COUNT(*) FROM visits WHERE ward = ?", params=["east"], epsilon=0.1))


def test_a_refusal_carries_its_place_as_a_note(ana: Session) -> None:
    for asked in (ana.sql, ana.explain):
        with pytest.raises(Refused) as refused:
            asked("SELECT COUNT(*) FROM visits WHERE csot > ?", params=[5], epsilon=1)
        assert refused.value.__notes__ == ["  SELECT COUNT(*) FROM visits WHERE csot > ?\n                                    ^"]
