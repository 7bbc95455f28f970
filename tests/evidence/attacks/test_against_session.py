"""All attacks against a copy of a data set: they fail, succeed where noise is planted to be none, and on few people do not tell."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks import against_session, hostile_key
from tacit.evidence.attacks.against_session import Battle, attack_session
from tacit.evidence.attacks.answerers import fair_bits
from tacit.evidence.attacks.questioner import PEOPLE
from tacit.evidence.attacks.scratch import people_data
from tacit.evidence.attacks.session_report import FAILED, TOO_FEW
from tacit.mechanisms.noise import discrete

NAMES = [
    "reconstruction by least squares", "reconstruction by linear programming", "tracing", "floating point", "timing",
    "one extra query", "differencing", "tracker", "averaging", "asking again", "changed unit", "hostile key",
]  # fmt: skip
CERTAIN = {"floating point", "one extra query", "asking again", "changed unit", "hostile key"}  # luck has no part in them


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
def test_few_people_do_not_tell_and_every_attack_is_named_with_its_figure(data, tmp_path):
    """Each limit is passed by luck with a chance of 1e-6."""
    before = data.ledger.head
    report = attack_session(data.catalog, PEOPLE, epsilon=1, seeds=1)
    assert [finding.attack for finding in report.findings] == NAMES
    assert report.holds, report.summary()
    assert {one.attack: one.verdict for one in report.findings} == {name: FAILED if name in CERTAIN else TOO_FEW for name in NAMES}
    assert f"No attack succeeded, but 7 of {len(NAMES)} had too few people or members for a verdict." in report.summary()
    told = report.to_dict()
    assert told["for"].startswith("the data owner only")
    assert all({"attack", "recovered", "limit", "failed", "verdict"} <= set(row) for row in told["attacks"])
    report.chart(tmp_path / "session.svg")
    assert "not for publication" in (tmp_path / "session.svg").read_text()
    assert data.ledger.head == before


@pytest.mark.slow
def test_every_attack_fails_on_enough_people():
    """Each limit is passed by luck with a chance of 1e-6."""
    with people_data(fair_bits(64, 1), epsilon=1) as data:
        report = attack_session(data.catalog, PEOPLE, epsilon=1, seeds=2)
    assert [one.verdict for one in report.findings] == [FAILED] * len(NAMES), report.summary()
    assert report.verdict == "Every attack failed."


@pytest.mark.usefixtures("few")
def test_all_seeds_are_asked_anew_and_pooled(data, monkeypatch):
    asked = []

    def attack(battle):
        asked.append(battle.seed)
        yield against_session.Never("one", "figure", float(battle.seed == 7), 0.0)
        yield against_session.Tries("two", "share", battle.seed, 10, 0.5, 0.5, True)

    monkeypatch.setattr(against_session, "ATTACKS", (attack,))
    report = attack_session(data.catalog, PEOPLE, seed=6, seeds=3)
    assert asked == [6, 7, 8]
    assert [(one.figure, one.verdict) for one in report.findings] == [(1.0, "succeeded"), (21 / 30, FAILED)]
    with pytest.raises(InvalidInput, match="seeds"):
        attack_session(data.catalog, PEOPLE, seeds=0)


@pytest.mark.slow
def test_without_noise_the_attacks_succeed(monkeypatch):
    """The planted bug: noise that is always zero. Quickly, by the command line's test of a broken session."""
    monkeypatch.setattr(discrete, "draw_laplace", lambda scale, size: np.zeros(size, dtype=np.int64))
    with people_data(fair_bits(64, 1), epsilon=1) as data:
        report = attack_session(data.catalog, PEOPLE, epsilon=1, seeds=1)
    succeeded = {finding.attack for finding in report.findings if finding.verdict == "succeeded"}
    assert not report.holds
    assert set(NAMES) - {"floating point", "timing", *CERTAIN} <= succeeded
    assert "SUCCEEDED" in report.summary()


def test_a_key_that_is_not_escaped_succeeds(data, monkeypatch):
    """The planted bug: CSV as it is."""
    monkeypatch.setattr(hostile_key, "FORMATS", {"CSV": hostile_key.FORMATS["CSV"]})
    battle = Battle(data.catalog, PEOPLE, fair_bits(26, 1), 1, 0)
    assert [part.figure for part in against_session._hostile_key(battle)] == [0]
    monkeypatch.setattr("tacit.untrusted.for_csv", lambda value: value)
    assert [part.figure for part in against_session._hostile_key(battle)] == [1]


def test_too_few_people_prove_nothing():
    with people_data(fair_bits(10, 1), epsilon=1) as data, pytest.raises(InvalidInput, match="found 10"):
        attack_session(data.catalog, PEOPLE)
