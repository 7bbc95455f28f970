"""Intervals in the table: each holds the value as often as it says, and one made for less noise does not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tacit.evidence.verify import interval_cases as covering
from tacit.evidence.verify.coverage import coverage
from tacit.evidence.verify.trial import Effort
from tacit.mechanisms.laplace import Laplace


@pytest.mark.parametrize("case", covering.cases(), ids=lambda case: case.name)
def test_every_interval_covers(case):
    row = case.run(Effort())
    assert row.broken == ()
    assert float(case.claimed.removeprefix("covers ").removesuffix("%")) / 100 <= float(row.measured) <= 1


@dataclass(frozen=True)
class TooSure:
    """Noise of epsilon 1 with the intervals of epsilon 2."""

    noise: Laplace
    sure: Laplace

    @property
    def event(self):
        return self.noise.event

    @property
    def loss(self):
        return self.noise.loss

    def release(self, value):
        return self.noise.release(value)

    def law(self, value):
        return self.noise.law(value)

    def interval(self, confidence):
        return self.sure.interval(confidence)


def test_an_interval_for_less_noise_is_broken():
    planted = TooSure(Laplace(1, 1, step="1/4"), Laplace(1, 2, step="1/4"))
    assert not coverage(planted, 0.3, 0.95).holds
    assert not covering._covers(planted, 0.3).holds


def test_a_median_interval_from_too_narrow_margins_is_broken(monkeypatch):
    monkeypatch.setattr(covering.QuantileWithInterval, "margins", property(lambda self: (0, 0)))
    assert not covering.median_covers().holds


def test_intervals_of_shares_that_are_too_short_are_broken(monkeypatch):
    sound = covering.intervals.share_ends

    def shortened(setting, bound, supports):
        low, high = sound(setting, bound, supports)
        return low + (high - low) / 4, high - (high - low) / 4

    assert covering.shares_cover().holds
    monkeypatch.setattr(covering.intervals, "share_ends", shortened)
    assert not covering.shares_cover().holds
