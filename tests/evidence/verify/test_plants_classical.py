"""The classical bugs, put into the code that runs: the rows that stand in the table find each."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit.evidence.verify import local_answers, plants, subjects
from tacit.evidence.verify.contract import loss
from tacit.evidence.verify.local_answers import PERMANENT
from tacit.evidence.verify.plants import PLANTED
from tacit.evidence.verify.trial import Trial
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.smooth.estimates import SmoothQuantile, SmoothTrimmedMean
from tacit.mechanisms.sparse_vector import SparseVector
from tacit.publish.local.randomizers import rappor
from tacit.publish.local.randomizers.randomizer import ratio_within

SOUND = {case.name: case for case in subjects.sound()}  # built before any bug is planted, and run with it


def within(name, cases=SOUND):
    """Whether the listed laws of the row of this name are within its claim; no draws are needed."""
    case = cases[name]
    return all(check.holds for check in loss(Trial(case.mechanism, case.pairs, plants.QUICK)))


@pytest.mark.parametrize(
    ("name", "scale", "wrong"),
    [
        (subjects.SPARSE, "answer_scale", lambda self: self.positives * self.units / self.epsilon_answers),
        (subjects.SPARSE_TWO, "answer_scale", lambda self: 2 * self.units / self.epsilon_answers),
        (subjects.SPARSE, "threshold_scale", lambda self: self.units / (4 * self.epsilon_threshold)),
    ],
    ids=["without the 2", "without the positives", "a quarter of the threshold's noise"],
)
def test_the_sparse_vector(monkeypatch, name, scale, wrong):
    assert within(name)
    monkeypatch.setattr(SparseVector, scale, property(wrong))
    assert not within(name)


@pytest.mark.parametrize("name", [subjects.MAXIMUM, "Exponential, a maximum at its own rank"])
def test_half_the_spread(monkeypatch, name):
    whole = Quantile.spread.fget
    assert within(name)
    monkeypatch.setattr(Quantile, "spread", property(lambda self: whole(self) / 2))
    assert not within(name)


def test_a_budget_divided_by_too_little(monkeypatch):
    """The draws work with twice their part of epsilon, and do not say so: seen together and one by one."""
    names = [subjects.ENCLOSED, subjects.ENDS, f"{subjects.ENDS}, few rows", "Exponential, the value of an interval, few rows"]
    assert all(within(name) for name in names)
    whole = Quantile.spread.fget
    monkeypatch.setattr(Quantile, "spread", property(lambda self: whole(self) / 2))
    assert not any(within(name) for name in names)


def test_the_draws_of_an_interval_say_what_was_asked_for():
    """A budget divided by too little that is recorded as such is no breach of the claim, but more than was asked for."""
    for case in SOUND.values():
        asked = getattr(getattr(case, "mechanism", None), "epsilon", None)
        assert asked is None or case.mechanism.loss.epsilon <= asked, case.name
    enclosed = QuantileWithInterval("1/2", lower=0, upper=20, step=1, epsilon=1)
    assert enclosed.of_many.epsilon == Fraction(24, 25)
    assert [draw.epsilon for draw in enclosed.of_few] == [Fraction(12, 25)] * 2


@pytest.mark.parametrize(
    ("mechanism", "names"),
    [
        (SmoothQuantile, [subjects.HEAVY, *(f"Smooth sensitivity, a median, {tails} tails" for tails in ("lighter", "Laplace"))]),
        (SmoothTrimmedMean, ["Smooth sensitivity, a trimmed mean"]),
    ],
    ids=["medians", "trimmed means"],
)
def test_half_of_a_smooth_bound(monkeypatch, mechanism, names):
    assert all(within(name) for name in names)
    whole = mechanism.statistic

    def halved(self, rows):
        answer, bound = whole(self, rows)
        return answer, bound / 2

    monkeypatch.setattr(mechanism, "statistic", halved)
    assert not any(within(name) for name in names)


def test_half_of_a_smooth_bound_on_every_pair():
    assert subjects.smooth_median(subjects._bound).holds
    assert not subjects.smooth_median(lambda rows: subjects._bound(rows) / 2).holds


def test_forgotten_hashes(monkeypatch):
    """The permanent filter with the ratio of one hash; one report alone stays below the claim and would not show it."""
    assert within(PERMANENT)
    monkeypatch.setattr(rappor, "ratio_within", lambda budget: ratio_within(2 * budget if budget == Fraction(1, 4) else budget))
    built = {case.name: case for case in local_answers.cases()}  # a filter takes its chances where it is built
    assert not within(PERMANENT, built)
    assert within("Local, RAPPOR, one report", built)


def test_every_classical_bug_is_a_plant():
    names = {plant for plant, _ in plants.plant_cases()}
    assert names | {"hashes"} == {"two", "positives", "threshold", "spread", "halves", "halved", "hashes", "moved"}
    assert names < set(PLANTED)
