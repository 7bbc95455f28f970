"""The examples and the count of questions until the first refusal."""

from __future__ import annotations

import pytest

from tacit.errors import InvalidInput
from tacit.publish.audited.examples import COMPARED, Utility, max_example, sum_triangle, utility
from tacit.publish.audited.question import Denial, ExactAnswer


def test_the_value_based_auditor_gives_x5_away_and_the_simulatable_one_does_not():
    first, second = max_example()[:4], max_example()[4:]
    assert [turn.concludes for turn in first] == ["", "x5 = 10", "", ""]
    assert [turn.concludes for turn in second] == ["", "", "", ""]
    decided = [[isinstance(turn.reply, Denial) for turn in turns if turn.auditor == "simulatable"] for turns in (first, second)]
    assert decided == [[False, True], [False, True]]  # whatever the data
    peeked = [[isinstance(turn.reply, Denial) for turn in turns if turn.auditor == "value-based"] for turns in (first, second)]
    assert peeked == [[False, True], [False, False]]


def test_the_triangle():
    replies = [turn.reply for turn in sum_triangle()]
    assert [reply.answer for reply in replies if isinstance(reply, ExactAnswer)] == [50, 80, 50]
    assert replies[2].reason == "together with questions 1, 2 it would give row 1"


def test_sums_last_longest(tmp_path):
    found = Utility(30, dict(utility(30, 5)))
    answered = {name: middle for name, _, middle, _ in found.rows()}
    assert set(answered) == set(COMPARED)
    assert 24 <= answered["sum"] <= 29  # at most one fewer than rows
    assert answered["max"] < answered["sum"]
    found.chart(tmp_path / "costs.svg")
    assert "before the first refusal" in (tmp_path / "costs.svg").read_text()


def test_too_few_rows_are_refused():
    with pytest.raises(InvalidInput, match="people must be at least 2"):
        list(utility(1, 1))
