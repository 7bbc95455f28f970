"""The search finds what trying all candidates finds, and its questions alone keep every candidate within 4 alpha."""

from __future__ import annotations

import numpy as np
import pytest

from chance import plausible_hits
from tacit.errors import InvalidInput
from tacit.evidence.attacks import exponential_adversary
from tacit.evidence.attacks.answerers import fair_bits
from tacit.evidence.attacks.exponential_adversary import HalfWay, Listed, RandomErrors, _consistent, search

EXACT = "exact"


def answers(kind, people, alpha, seed):
    bits = fair_bits(people, seed).astype(np.int64)
    return {
        "worst": HalfWay.worst(bits, alpha),
        "random": RandomErrors(bits, alpha, seed),
        EXACT: HalfWay(bits, alpha, bits),  # no error at all, though alpha is allowed: the most candidates agree
    }[kind]


def rows(candidates):
    return {tuple(row) for row in np.asarray(candidates).tolist()}


@pytest.mark.parametrize("kind", ["worst", "random", EXACT])
@pytest.mark.parametrize("alpha", [0.5, 1, 1.5])
def test_it_finds_those_that_trying_all_finds(kind, alpha):
    given = answers(kind, 10, alpha, seed=3)
    everyone = rows(np.concatenate(list(_consistent(given))))
    found = rows(search(given).candidates)
    assert everyone <= found
    if kind != "random":
        assert everyone == found


@pytest.mark.parametrize("kind", ["worst", "random", EXACT])
@pytest.mark.parametrize("guesses", [0, 64])
def test_all_that_are_left_are_within_four_alpha_of_forty_people(monkeypatch, kind, guesses):
    """Without random questions too: those about the rows in which two candidates differ are enough for the theorem."""
    monkeypatch.setattr(exponential_adversary, "GUESSES", guesses)
    given = answers(kind, 40, 1, seed=1)
    found = search(given).candidates
    wrong = (found != given.truth).sum(axis=1)
    assert wrong.min() == 0
    assert wrong.max() <= 4
    assert (wrong.max() == 4) or kind != "worst"


def test_without_the_questions_that_tell_apart_candidates_are_too_far(monkeypatch):
    """The planted bug: nothing is asked, and everything stays."""
    monkeypatch.setattr(exponential_adversary, "GUESSES", 0)
    monkeypatch.setattr(exponential_adversary, "_telling_apart", lambda candidates, alpha: candidates[:0])
    given = answers("worst", 11, 1, seed=1)
    assert (search(given).candidates != given.truth).sum(axis=1).max() == 11


def test_random_errors_are_a_function_of_the_subset_within_alpha_and_spread_over_it():
    given = answers("random", 40, 1, seed=2)
    subsets = np.random.default_rng(0).integers(0, 2, (20_000, 40))
    errors = given.to(subsets) - subsets @ given.truth
    assert (given.to(subsets[::-1])[::-1] == given.to(subsets)).all()
    assert np.abs(errors).max() <= 1
    assert plausible_hits(np.histogram(errors, bins=8, range=(-1, 1))[0], 20_000, 1 / 8)
    assert (RandomErrors(given.truth, 1.0, 9).to(subsets) != given.to(subsets)).mean() > 0.99


def test_listed_answers_are_looked_up_by_the_number_of_the_subset():
    given = Listed(np.array([1, 0, 1]), 1.0, np.arange(8.0))
    assert given.to(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1]])).tolist() == [0, 1, 6]


def test_too_many_candidates_are_refused():
    with pytest.raises(InvalidInput, match="fewer people or a smaller alpha"):
        search(answers(EXACT, 40, 10, seed=0))
