"""Mironov's attack: it reaches the known share on the textbook's noise, none on ours, and all of noise off the grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from chance import mean_limit
from tacit.errors import InvalidInput
from tacit.evidence.attacks.samplers import (
    FloatingPoint,
    floating_point,
    floating_point_gaussian,
    grid_can_give,
    samplers,
    textbook_can_give,
    textbook_gaussian,
    textbook_gaussian_can_give,
    textbook_laplace,
)
from tacit.mechanisms.laplace import Laplace

DRAWS = 50_000


@pytest.fixture(scope="module")
def outputs():
    generator = np.random.default_rng(3)
    return {answer: textbook_laplace(answer, 1.0, DRAWS, generator) for answer in (0, 1)}


@pytest.mark.parametrize("answer", [0, 1])
def test_the_search_finds_every_output_of_the_answer_itself(outputs, answer):
    assert textbook_can_give(outputs[answer], answer, 1.0).all()


def test_from_zero_two_fifths_of_the_neighbours_outputs_can_be_had(outputs):
    """0.398, from 50,000 draws of a fixed seed."""
    assert float(textbook_can_give(outputs[1], 0, 1.0).mean()) == pytest.approx(0.398, abs=mean_limit(50_000))


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_other_scales_are_attacked_too(scale):
    outputs = textbook_laplace(1, scale, 5_000, np.random.default_rng(4))
    assert textbook_can_give(outputs, 1, scale).all()
    assert textbook_can_give(outputs, 0, scale).mean() < 0.9


def test_ours_gives_nothing_away_and_the_textbook_most():
    found = floating_point(draws=20_000)
    assert (found.ours_zero, found.ours_one) == (0, 0)
    assert 0.55 < found.textbook_one < 0.65
    assert 0.62 < found.textbook_zero < 0.72


def test_the_same_test_on_noise_off_the_grid_gives_everything_away():
    mechanism = Laplace(sensitivity=1, epsilon=1)
    off_the_grid = np.array([1 / 3 + mechanism.release(0) for _ in range(100)])
    assert not grid_can_give(off_the_grid, 0, mechanism.step).any()
    assert grid_can_give(np.array([mechanism.release(0) for _ in range(100)]), 1, mechanism.step).all()


def test_the_summary_says_both_shares():
    text = FloatingPoint(1000, 0.6, 0.7, 0.0, 0.0).summary()
    assert "65.0%" in text
    assert "0.0%" in text


def test_the_chart_is_saved(tmp_path):
    FloatingPoint(1000, 0.6, 0.7, 0.0, 0.0).chart(str(tmp_path / "shares.svg"))
    picture = (tmp_path / "shares.svg").read_text()
    assert picture.startswith("<svg")
    assert all(words in picture for words in ("textbook floats", "integers on a grid", "60%"))


def test_no_draws_is_refused():
    with pytest.raises(InvalidInput, match="at least 1"):
        floating_point(draws=0)


def test_the_grid_is_exact_where_floats_would_round():
    assert grid_can_give(np.array([0.1, 0.3]), answer=0, step=Fraction(1, 10)).tolist() == [False, False]


def test_the_textbook_gaussian_is_found_out_and_ours_is_not():
    found = floating_point_gaussian(draws=20_000)
    assert found.ours == 0
    assert found.textbook > 0.5
    assert "Gaussian" in found.summary()
    assert found.to_dict()["recovered"] == found.textbook


@pytest.mark.parametrize("answer", [0, 1])
def test_the_gaussian_search_finds_every_output_of_the_answer_itself(answer):
    outputs = textbook_gaussian(answer, 1.0, DRAWS, np.random.default_rng(5))
    assert textbook_gaussian_can_give(outputs, answer, 1.0).all()


def test_a_wider_search_finds_no_more(outputs, monkeypatch):
    """What is called out of reach is out of reach: sixteen times as many uniforms around the inverse give none of it."""
    normal = textbook_gaussian(1, 1.0, 5_000, np.random.default_rng(6))
    narrow = textbook_gaussian_can_give(normal, 0, 1.0), textbook_can_give(outputs[1][:5_000], 0, 1.0)
    monkeypatch.setattr("tacit.evidence.attacks.samplers.SEARCHED", 128)
    wide = textbook_gaussian_can_give(normal, 0, 1.0), textbook_can_give(outputs[1][:5_000], 0, 1.0)
    assert all(np.array_equal(one, other) for one, other in zip(narrow, wide, strict=True))


def test_floats_and_fractions_agree_on_the_grid():
    outputs = np.array([0.5, 0.25, 3.0, 0.125, 1e6 + 0.25, 2.0**60, 0.1])
    quick = grid_can_give(outputs, 1, Fraction(1, 4))
    slow = [(Fraction(output) - 1) % Fraction(1, 4) == 0 for output in outputs.tolist()]
    assert quick.tolist() == slow == [True, True, True, False, True, True, False]


@pytest.mark.slow
def test_a_million_draws_of_each():
    found = samplers(draws=1_000_000)
    assert found.holds
    assert min(found.laplace.textbook, found.gaussian.textbook) > 0.5
