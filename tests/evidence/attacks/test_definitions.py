"""Definitions that fail: each is content with its example, and each example gives somebody away."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import e, inf

import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks.definitions import (
    deterministic,
    fit_and_resample,
    gallery,
    input_perturbation,
    one_plus_epsilon,
    random_row,
    released_sample,
    told_apart,
)
from tacit.privacy.universe import Universe


@pytest.mark.parametrize("people", [2, 3, 6])
def test_a_random_row_is_within_one_nth_and_is_a_row(people):
    shown = random_row(people)
    assert f"{1 / people:.4g}" in shown.promised
    assert (shown.loss, shown.recovered) == (inf, 1)


def test_the_chance_of_a_bad_sample_is_what_counting_gives():
    samples = list(combinations(range(7), 3))
    bad = sum(1 for sample in samples if set(sample) & {0, 1})
    assert released_sample(7, 3, unique=2).recovered == Fraction(bad, len(samples))


def test_a_sample_without_unique_rows_is_safe_and_more_of_them_are_worse():
    assert (released_sample(50, 5, 0).recovered, released_sample(50, 5, 0).loss) == (0, 0)
    chances = [chance for _, chance in released_sample(50, 5, 10).curve]
    assert chances == sorted(chances)
    assert chances[-1] == 1
    with pytest.raises(InvalidInput, match="too many for"):
        released_sample(5, 6, 1)


def test_a_fitted_distribution_draws_its_only_ones():
    assert fit_and_resample(2, 1).recovered == Fraction(1, 2)
    assert fit_and_resample(2, 3).recovered == Fraction(7, 8)


@pytest.mark.parametrize("function", [max, sum, lambda rows: sorted(rows)[1], lambda rows: rows.count(2) > 1])
def test_any_answer_that_is_not_constant_tells_neighbours_apart(function):
    one, other = told_apart(function, Universe((0, 1, 2)), size=3)
    assert function(one) != function(other)
    assert sum(left != right for left, right in zip(one, other, strict=True)) == 1
    assert deterministic(function, Universe((0, 1, 2)), 3).loss == inf


def test_a_constant_tells_nobody_apart():
    assert told_apart(lambda rows: 7, Universe((0, 1)), 4) is None
    assert deterministic(len, Universe((0, 1)), 4).loss == 0


def test_noise_on_rows_settles_values_as_often_as_they_are_apart():
    assert input_perturbation(width=4, distance=3).recovered == Fraction(3, 9)
    assert input_perturbation(width=4, distance=20).recovered == 1
    assert input_perturbation(width=4, distance=3).loss == inf
    assert input_perturbation(width=4, distance=0).loss == 0


def test_laplace_noise_passes_one_plus_epsilon():
    shown = one_plus_epsilon(1)
    assert shown.loss == pytest.approx(1)
    assert f"{e:.4g}" in shown.happens
    assert 0.5 < float(shown.recovered) < 1


def test_the_gallery(tmp_path):
    shown = gallery()
    assert len(shown.shown) == 6 == len(shown.to_dict()["definitions"])
    assert shown.summary().count("Loss:") == 6
    shown.chart(tmp_path / "all.svg")
    shown.shown[0].chart(tmp_path / "one.svg")
    assert "A released sample" in (tmp_path / "all.svg").read_text()
    assert "Publish a random row" in (tmp_path / "one.svg").read_text()
