"""Differencing, averaging and trackers: each works on every weak answerer, and fails on a session of ours."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from chance import most_hits
from tacit.evidence.attacks.answerers import WEAK, Exact, MinimumSize, Noise, Noisy, Suppressing, fair_bits
from tacit.evidence.attacks.isolation import ATTACKS, averaging, differencing, gallery, predicted_share, tracker
from tacit.evidence.attacks.questioner import isolate_people
from tacit.mechanisms.laplace import Laplace

BITS = fair_bits(64, seed=2)


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_works_on_every_weak_answerer(attack, tmp_path):
    """Fixed seeds. An estimate's deviation is 0.16 at most, so that 1/2 is three of them for each of 8 targets."""
    found = gallery(attack, seed=2)
    assert list(found.found) == list(WEAK)
    for name, result in found.found.items():
        assert result.recovered == 1, name
        assert result.predicted > 0.99
    found.chart(tmp_path / "found.svg")
    assert "rounding to 5" in (tmp_path / "found.svg").read_text()
    assert len(found.summary().splitlines()) == len(WEAK) == len(found.to_dict()["against"])


class Paid:
    """What a session answers: counts with our noise, all questions from one epsilon of 1. Sessions themselves are asked below."""

    def __init__(self, questions):
        self.noise = Laplace(sensitivity=1, epsilon=Fraction(1, questions), step=1, on_grid=True)

    def query(self, subset):
        return float(self.noise.release(int(BITS[subset].sum())))


@pytest.mark.parametrize(
    ("attack", "rounds", "terms", "rate"), [("differencing", 2, 2, 0.501), ("tracker", 1, 4, 0.501), ("averaging", 8, 2, 0.001)]
)
def test_it_fails_where_one_budget_pays_for_all(attack, rounds, terms, rate):
    """60 bits each right with 0.501, 60 counts each exact with 0.001."""
    found = ATTACKS[attack](Paid(60 * rounds * terms), BITS, rounds=rounds, targets=60)
    assert found.questions == 60 * rounds * terms
    assert found.recovered <= most_hits(60, rate) / 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "targets", "rate"), [("differencing", 24, 0.502), ("tracker", 24, 0.502), ("averaging", 4, 0.009)]
)
def test_it_fails_on_a_session(attack, targets, rate):
    """24 bits each right with 0.502, 4 counts each exact with 0.009."""
    found = isolate_people(attack, 40, targets, epsilon=1, seed=3)
    assert found.refused == 0
    assert found.recovered <= most_hits(targets, rate) / targets < 1
    assert found.predicted < 0.51


def test_direct_questions_are_refused_where_trackers_are_answered():
    rule = MinimumSize(Exact(BITS), 64)
    assert rule.query(np.array([7])) is None
    assert rule.query(np.delete(np.arange(64), 7)) is None
    found = tracker(rule, BITS)
    assert (found.recovered, found.refused) == (1, 0)


def test_differencing_is_stopped_by_a_minimum_size_that_a_tracker_gets_round():
    found = differencing(MinimumSize(Exact(BITS), 64), BITS)
    assert found.refused == 64 * 2 == found.questions
    assert found.recovered == (~BITS).mean()


def test_a_small_cell_is_hidden_and_found_all_the_same():
    assert Suppressing(BITS).query(np.array([3])) is None
    assert differencing(Suppressing(BITS), BITS).recovered == 1


def test_the_error_of_an_average_falls_with_the_root_of_the_rounds():
    """Fixed seeds; 128 groups."""
    noisy = Noisy(BITS, Noise("laplace", 10.0), np.random.default_rng(5))
    few, many = (averaging(noisy, BITS, rounds=rounds, targets=128).error for rounds in (4, 400))
    assert few / many == pytest.approx(10, rel=0.3)


def test_one_budget_for_all_rounds_keeps_the_error():
    """More rounds at less epsilon each: the error of the average grows. Ours; the ratio is 7 in theory, of 16 estimates each.

    Root mean squares of 16 whose ratio is 7 change places with a chance below 1e-8.
    """
    errors = [averaging(Paid(2 * rounds), BITS, rounds=rounds, targets=16).error for rounds in (2, 100)]
    assert errors[1] > errors[0]


def test_predictions():
    assert predicted_share("tracker", 0, 1) == 1
    assert predicted_share("averaging", 1000, 1) < 0.001
    assert predicted_share("differencing", 1000, 1) == pytest.approx(0.5, abs=0.001)
    assert predicted_share("differencing", 1, 100) > predicted_share("differencing", 1, 1)


def test_the_chart_of_one(tmp_path):
    differencing(Exact(BITS), BITS, targets=5).chart(tmp_path / "one.svg")
    assert "100% found" in (tmp_path / "one.svg").read_text()


def test_averaging_never_asks_about_nobody():
    """With ten people in a group, one split in about fifty would leave a part empty."""
    asked = []

    class Watching:
        def query(self, subset):
            asked.append(len(subset))
            return float(len(subset))

    averaging(Watching(), np.ones(8, dtype=bool), rounds=400, targets=4)
    assert min(asked) == 1
    assert len(asked) == 3200
