"""The clock: it tells the magnitude of a draw that tosses coins, and nothing of ours."""

from __future__ import annotations

import pytest

from chance import normal_limit
from tacit.evidence.attacks import samplers as clock
from tacit.evidence.attacks.samplers import LIMIT, rank_correlation, samplers, spearman, timing


def test_coins_are_told_by_the_clock_and_ours_are_not():
    """20,000 independent pairs: a rank correlation has a deviation of 1 / sqrt(20,000)."""
    found = timing(20_000)
    assert found.textbook > 20 * normal_limit(1, 20_000)
    assert found.ours < normal_limit(1, 20_000) < LIMIT
    assert "coins" in found.summary()


def test_a_planted_delay_is_seen(monkeypatch):
    """By a clock that the draw itself moves on: what else the machine does is not in it."""
    values, now = iter(range(200)), [0]
    monkeypatch.setattr(clock.time, "perf_counter_ns", lambda: now[0])

    def slower_and_slower():
        value = next(values)
        now[0] += 1000 + value
        return value

    assert rank_correlation(slower_and_slower, 200) == 1


def test_ranks():
    assert spearman([3, 1, 2], [30, 10, 20]) == 1
    assert spearman([3, 1, 2], [-30, -10, -20]) == -1
    assert spearman([1, 1, 1], [1, 2, 3]) == 0


def test_both_ways_side_by_side(tmp_path):
    found = samplers(draws=2_000, timed=300)
    assert found.holds
    assert found.to_dict()["laplace"]["recovered"] > 0.5
    assert len(found.summary().splitlines()) == 3
    found.chart(tmp_path / "floats.svg")
    assert "integers on a grid" in (tmp_path / "floats.svg").read_text()
    found.clock.chart(tmp_path / "clock.svg")
    assert "coin by coin" in (tmp_path / "clock.svg").read_text()


@pytest.mark.slow
def test_no_correlation_at_length():
    assert timing(200_000).ours < normal_limit(1, 200_000)
