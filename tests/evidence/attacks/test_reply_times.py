"""The clock of a door: what a delay tells is found with its interval, and where there is none nothing is found."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from chance import mean_limit, most_hits, normal_limit
from tacit.errors import InvalidInput
from tacit.evidence.attacks import reply_times as clock
from tacit.evidence.attacks.reply_times import CHEAPEST, WARM_UP, Sides, reply_times


class Door:
    """A server whose clock is this one: each reply takes what it is made to take."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, delay: float) -> None:
        self.now, self.asked, self.drawn = 0.0, list[Fraction](), np.random.default_rng(5)
        self.delay = delay
        monkeypatch.setattr(clock.time, "perf_counter", lambda: self.now)

    def ask(self, present: bool, epsilon: Fraction) -> None:
        self.asked.append(epsilon)
        self.now += 0.05 + self.drawn.exponential(0.002) + self.delay * present

    def times(self, count: int = 200) -> Sides:
        return reply_times("q", (lambda e: self.ask(True, e), lambda e: self.ask(False, e)), count, rest=0).wall


def test_a_planted_delay_is_found_and_its_loss_is_bounded_from_below(monkeypatch):
    found = Door(monkeypatch, delay=0.004).times()
    assert found.auc > 0.8
    assert 0.5 < found.interval[0] < found.advantage < found.interval[1] <= 1
    assert found.epsilon > 0.1 > CHEAPEST


def test_shorter_replies_tell_as_much(monkeypatch):
    found = Door(monkeypatch, delay=-0.004).times()
    assert found.auc < 0.2
    assert found.interval[0] > 0.5


def test_where_the_clock_tells_nothing_nothing_is_found(monkeypatch):
    """An advantage of 0, from 200 guesses of 1 or -1."""
    found = Door(monkeypatch, delay=0.0).times()
    assert abs(found.advantage) < mean_limit(200, width=2)
    assert round(found.resolution, 2) == 0.15


def test_an_interval_covers_as_often_as_it_says():
    """Of 300 intervals for an advantage of 0, each fails with a chance of at most 0.05."""
    drawn = np.random.default_rng(7)
    missed = wide = 0
    for _ in range(300):
        found = Sides(tuple(drawn.random(40)), tuple(drawn.random(40)))
        missed += not found.interval[0] <= 0 <= found.interval[1]
        wide += not found.auc_interval[0] <= 0.5 <= found.auc_interval[1]
    assert missed <= most_hits(300, 0.05)
    assert wide <= most_hits(300, 0.07), "approximate: 0.07 of them at this size"


def test_the_threshold_is_learnt_from_other_replies_than_it_is_tried_on():
    """Planted: one that is learnt on the replies that it guesses finds an advantage where there is none."""
    drawn = np.random.default_rng(8)
    sides = [Sides(tuple(drawn.random(20)), tuple(drawn.random(20))) for _ in range(200)]
    honest = np.mean([each.advantage for each in sides])
    fitted = []
    for each in sides:
        at, sign = clock._threshold(np.array(each.present), np.array(each.absent))
        right = sum(sign * time > sign * at for time in each.present) + sum(sign * time <= sign * at for time in each.absent)
        fitted.append(2 * right / 40 - 1)
    assert abs(honest) < normal_limit(0.23, 200), "the deviation of an advantage is at most 0.23"
    assert np.mean(fitted) > 0.2


def test_no_two_questions_are_the_same_and_each_costs_the_least(monkeypatch):
    door = Door(monkeypatch, delay=0.0)
    door.times(30)
    assert len(set(door.asked)) == len(door.asked) == 2 * (30 + WARM_UP)
    assert all(0 < float(each - CHEAPEST) < 1e-6 for each in door.asked)


def test_words_figures_and_chart(monkeypatch, tmp_path):
    door, spent = Door(monkeypatch, delay=0.004), iter(range(10**6))
    asks = (lambda e: door.ask(True, e), lambda e: door.ask(False, e))
    found = reply_times("SELECT 1", asks, 20, lambda: next(spent) / 100, rest=0)
    assert found.processor is not None
    assert {round(each, 9) for each in found.processor.present + found.processor.absent} == {0.01}
    assert "AUC" in found.summary()
    assert "which a quiet machine would show" in found.summary()
    assert json.loads(json.dumps(found.to_dict()))["wall"]["auc"] == found.wall.auc
    found.chart(str(tmp_path / "times.svg"))
    assert "in the data" in (tmp_path / "times.svg").read_text("utf-8")


def test_too_few_replies_are_refused():
    with pytest.raises(InvalidInput, match="too few replies"):
        reply_times("q", (lambda _: None, lambda _: None), 3)
