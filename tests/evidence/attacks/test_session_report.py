"""Verdicts of attacks on a session: an attack that could not have succeeded has not failed either."""

from __future__ import annotations

import pytest

from tacit.evidence.attacks.figures import lucky_share
from tacit.evidence.attacks.session_report import (
    FAILED,
    SUCCEEDED,
    TOO_FEW,
    Correlation,
    Finding,
    Never,
    SessionReport,
    Tries,
    pool,
)


def tries(hits, count, enough=True, chance=0.5):
    return Tries("guessing", "share right", hits, count, chance, chance, enough)


def report(*parts):
    return SessionReport(100, 40, 1.0, 1, pool(parts))


@pytest.mark.parametrize(
    ("part", "verdict"),
    [
        (tries(32, 64), FAILED),
        (tries(64, 64), SUCCEEDED),
        (tries(12, 26, enough=False), TOO_FEW),
        (tries(26, 26, enough=False), SUCCEEDED),  # luck of one in 67 million is no luck, on however few
        (tries(0, 0), TOO_FEW),  # nobody to find
        (Never("beyond", "answers", 0.0, 0.0), FAILED),
        (Never("beyond", "answers", 1.0, 0.0), SUCCEEDED),
        (Correlation("timing", "correlation", 0.1, 128, True), FAILED),
        (Correlation("timing", "correlation", -0.9, 128, True), SUCCEEDED),
        (Correlation("timing", "correlation", 0.1, 20, False), TOO_FEW),
    ],
)
def test_verdicts(part, verdict):
    (found,) = pool([part])
    assert found.verdict == verdict
    assert verdict.lower() in found.summary().lower()


def test_three_members_cannot_be_recognized_too_often():
    """The limit of luck is all of them: without the rule this attack fails whatever it finds."""
    assert lucky_share(3, 0.03) == 1
    (found,) = pool([tries(3, 3, chance=0.03)])
    assert (found.figure, found.limit, found.verdict) == (1.0, 1.0, TOO_FEW)
    (more,) = pool([tries(8, 8, chance=0.03)])
    assert more.verdict == SUCCEEDED


def test_seeds_are_pooled():
    (found,) = pool([tries(40, 64), tries(44, 64), tries(40, 64)])
    assert found.figure == 124 / 192
    assert found.limit == lucky_share(192, 0.5) < lucky_share(64, 0.5)
    (told,) = pool([Correlation("timing", "r", value, 101, True) for value in (0.4, -0.4, 0.3)])
    assert told.figure == pytest.approx(0.1)
    assert told.limit == pytest.approx(4.9 / (10 * 3**0.5))


def test_what_all_of_it_says():
    assert report(tries(32, 64)).verdict == "Every attack failed."
    few = report(tries(12, 26, enough=False), Never("beyond", "answers", 0.0, 0.0))
    assert few.holds
    assert few.verdict == "No attack succeeded, but 1 of 2 had too few people or members for a verdict."
    broken = report(tries(12, 26, enough=False), Never("beyond", "answers", 1.0, 0.0))
    assert not broken.holds
    assert broken.verdict.startswith("An attack succeeded")
    assert broken.to_dict()["attacks"][1]["verdict"] == SUCCEEDED
    assert Finding("a", "share", 0.5, 0.6, enough=False).verdict == TOO_FEW
    assert "40 of them with the secret" in few.summary()
