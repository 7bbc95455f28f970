"""All attacks against a copy of a data set: they fail, and succeed where noise is planted to be none. On few people."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks import against_session, hostile_key
from tacit.evidence.attacks.against_session import Battle, Finding, SessionReport, attack_session
from tacit.evidence.attacks.answerers import fair_bits
from tacit.evidence.attacks.questioner import PEOPLE
from tacit.evidence.attacks.scratch import people_data
from tacit.mechanisms.noise import discrete

NAMES = [
    "reconstruction by least squares", "reconstruction by linear programming", "tracing", "floating point", "timing",
    "one question more", "differencing", "tracker", "averaging", "asking again", "hostile key",
]  # fmt: skip


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(against_session, "TARGETS", 4)
    monkeypatch.setattr(against_session, "GROUPS", 2)
    monkeypatch.setattr(against_session, "REPEATS", 3)
    monkeypatch.setattr(hostile_key, "FORMATS", {"CSV": hostile_key.FORMATS["CSV"]})


@pytest.fixture(scope="module")
def data():
    with people_data(fair_bits(26, 1), epsilon=1) as made:
        yield made


@pytest.mark.usefixtures("few")
def test_every_attack_fails_and_is_named_with_its_figure(data, tmp_path):
    """Each limit is passed by luck with a chance of 1e-6."""
    before = data.ledger.head
    report = attack_session(data.catalog, PEOPLE, epsilon=1)
    assert [finding.attack for finding in report.findings] == NAMES
    assert report.holds, report.summary()
    told = report.to_dict()
    assert told["for"].startswith("the curator only")
    assert all({"attack", "recovered", "limit", "failed"} <= set(row) for row in told["attacks"])
    assert report.summary().count("failed") == len(NAMES)
    report.chart(tmp_path / "session.svg")
    assert "not for publication" in (tmp_path / "session.svg").read_text()
    assert data.ledger.head == before


@pytest.mark.slow
def test_without_noise_the_attacks_succeed(monkeypatch):
    """The planted bug: noise that is always zero. Quickly, by the command line's test of a broken session."""
    monkeypatch.setattr(discrete, "draw_laplace", lambda scale, size: np.zeros(size, dtype=np.int64))
    with people_data(fair_bits(64, 1), epsilon=1) as data:
        report = attack_session(data.catalog, PEOPLE, epsilon=1)
    succeeded = {finding.attack for finding in report.findings if not finding.failed}
    assert not report.holds
    assert set(NAMES) - {"floating point", "timing", "one question more", "asking again", "hostile key"} <= succeeded
    assert "SUCCEEDED" in report.summary()


def test_a_key_that_is_not_escaped_succeeds(data, monkeypatch):
    """The planted bug: CSV as it is."""
    monkeypatch.setattr(hostile_key, "FORMATS", {"CSV": hostile_key.FORMATS["CSV"]})
    battle = Battle(data.catalog, PEOPLE, fair_bits(26, 1), 1, 0)
    assert [finding.failed for finding in against_session._hostile_key(battle)] == [True]
    monkeypatch.setattr("tacit.untrusted.for_csv", lambda value: value)
    assert [finding.failed for finding in against_session._hostile_key(battle)] == [False]


def test_too_few_people_prove_nothing():
    with people_data(fair_bits(10, 1), epsilon=1) as data, pytest.raises(InvalidInput, match="only 10 people"):
        attack_session(data.catalog, PEOPLE)


def test_a_report_holds_if_every_finding_failed():
    sound, broken = Finding("a", "share", 0.5, 0.6), Finding("b", "share", 0.7, 0.6)
    assert SessionReport(1, 1.0, (sound,)).holds
    assert not SessionReport(1, 1.0, (sound, broken)).holds
