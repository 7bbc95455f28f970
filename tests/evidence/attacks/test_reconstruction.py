"""Reconstruction from counts: it succeeds as often as theory says, and fails where a ledger rules the noise."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from chance import fewest_hits, mean_limit, most_hits, plausible_hits
from tacit.errors import InvalidInput
from tacit.evidence.attacks.reconstruction import Reconstruction, Subsets, against, predicted_share, reconstruct
from tacit.mechanisms.laplace import Laplace

PEOPLE, QUESTIONS = 128, 512


def secret(seed: int, people: int = PEOPLE) -> np.ndarray:
    return np.random.default_rng([seed, 9]).integers(0, 2, people)


def gaussian_answerer(bits: np.ndarray, deviation: float, seed: int):
    generator = np.random.default_rng([seed, 5])
    return lambda subset: bits[subset].sum() + generator.normal(0, deviation)


class Exact:
    def __init__(self, bits):
        self.bits, self.asked = bits, []

    def query(self, subset):
        self.asked.append(len(subset))
        return int(self.bits[subset].sum())


def test_exact_answers_give_every_bit_away_and_no_question_is_about_few_people():
    bits = secret(1)
    answerer = Exact(bits)
    found = against(answerer, PEOPLE, 2 * PEOPLE, truth=bits)
    assert found.recovered == 1
    assert (found.bits == bits.astype(bool)).all()
    assert len(answerer.asked) == 2 * PEOPLE
    assert min(answerer.asked) > PEOPLE / 4


def test_a_function_is_asked_as_an_object_is():
    bits = secret(2)
    one, two = (against(answerer, PEOPLE, 200, seed=4, truth=bits) for answerer in (Exact(bits), Exact(bits).query))
    assert np.array_equal(one.estimates, two.estimates)


def test_small_noise_does_not_help():
    """A fixed seed, so no bad luck: noise of 1.4 people an answer leaves more than 0.95."""
    bits = secret(1)
    found = against(gaussian_answerer(bits, 1.4, 1), PEOPLE, QUESTIONS, seed=1, truth=bits, deviation=1.4)
    assert found.recovered > 0.95
    assert found.predicted == pytest.approx(0.99977, abs=1e-4)


@pytest.mark.parametrize("ratio", [0.25, 0.5, 1, 2, 4])
def test_the_share_is_as_predicted(ratio):
    """30 fixed runs of 128 bits. The mean's standard deviation is sqrt(p (1 - p) / 3840) <= 0.0081; 0.03 also covers what
    4 / (m - n) leaves out. Half the predicted spread, a sign error or m in the place of m - n leave that band (below)."""
    deviation = ratio * sqrt(PEOPLE) / 2
    shares = []
    for run in range(30):
        bits = secret(run)
        shares.append(against(gaussian_answerer(bits, deviation, run), PEOPLE, QUESTIONS, seed=run, truth=bits).recovered)
    assert np.mean(shares) == pytest.approx(predicted_share(PEOPLE, QUESTIONS, deviation), abs=0.03)


def test_the_band_of_the_prediction_tells_wrong_formulas_apart():
    deviation = sqrt(PEOPLE) / 2
    right = predicted_share(PEOPLE, QUESTIONS, deviation)
    assert abs(predicted_share(PEOPLE, QUESTIONS, 2 * deviation) - right) > 0.1
    assert abs(predicted_share(0, QUESTIONS, deviation) - right) > 0.03


def test_answers_that_cost_one_epsilon_together_are_no_better_than_a_coin():
    """20 sessions of fair bits: 2,560 of them, each right with 0.503."""
    noise = Laplace(sensitivity=1, epsilon=Fraction(1, QUESTIONS), step=1, on_grid=True)
    shares = []
    for run in range(20):
        bits = secret(run)
        found = against(lambda subset, bits=bits: noise.release(bits[subset].sum()), PEOPLE, QUESTIONS, seed=run, truth=bits)
        shares.append(found.recovered)
    assert fewest_hits(2560, 0.497, among=2) <= PEOPLE * sum(shares) <= most_hits(2560, 0.503, among=2)
    assert predicted_share(PEOPLE, QUESTIONS, sqrt(2) * QUESTIONS) == pytest.approx(0.5027, abs=1e-3)


def test_the_same_noise_without_a_ledger_is_averaged_out():
    """The planted bug: each answer has epsilon 1 of its own, so 512 of them cost 512, and the bits are gone."""
    noise, bits = Laplace(sensitivity=1, epsilon=1, step=1, on_grid=True), secret(3)
    found = against(lambda subset: noise.release(bits[subset].sum()), PEOPLE, QUESTIONS, truth=bits)
    assert PEOPLE * found.recovered >= fewest_hits(PEOPLE, 0.999)


def test_the_matrix_is_the_same_at_every_pass_whatever_the_blocks(monkeypatch):
    subsets = Subsets(37, 50, seed=3)
    whole = np.vstack(list(subsets.blocks()))
    assert whole.shape == (50, 37)
    monkeypatch.setattr("tacit.evidence.attacks.reconstruction.ENTRIES", 7 * 37)
    assert [len(block) for block in subsets.blocks()] == [7] * 7 + [1]
    assert np.array_equal(np.vstack(list(subsets.blocks())), whole)
    assert [row.tolist() for row in subsets] == [np.flatnonzero(row).tolist() for row in whole]
    assert len(subsets) == 50

    vector, answers = np.arange(37.0), np.arange(50.0)
    operator = subsets.operator()
    assert np.allclose(operator @ vector, whole @ vector)
    assert np.allclose(operator.rmatvec(answers), answers @ whole)


def test_each_person_is_in_each_subset_with_chance_one_half():
    """A fixed seed; 100 columns of 2,000 rows."""
    rows = np.vstack(list(Subsets(100, 2_000, seed=8).blocks()))
    assert plausible_hits(rows.sum(), 200_000, 1 / 2)
    assert plausible_hits(rows.sum(axis=0), 2_000, 1 / 2)
    assert not np.array_equal(rows[0], rows[1])


def test_rows_of_zeros_and_ones_are_questions_too():
    subsets, bits = Subsets(20, 60, seed=2), secret(4, 20)
    rows = np.vstack(list(subsets.blocks()))
    one, two = reconstruct(rows, rows @ bits, truth=bits), reconstruct(subsets, rows @ bits, truth=bits)
    assert one.recovered == two.recovered == 1
    assert np.allclose(one.estimates, two.estimates, atol=1e-4)


def test_fewer_questions_than_people_leave_the_rest_at_one_half():
    found = reconstruct([[1, 1, 0, 0], [1, 0, 0, 0]], [2, 1], truth=[1, 1, 0, 0], deviation=1.0)
    assert found.estimates == pytest.approx([1, 1, 0.5, 0.5])
    assert found.predicted is None


def test_the_truth_and_the_noise_are_for_judges_only():
    found = reconstruct([[1, 0], [0, 1]], [1, 0])
    assert (found.recovered, found.predicted) == (None, None)
    assert found.bits.tolist() == [True, False]
    assert found.summary() == "2 answers about subsets of 2 people, solved by least squares."


def test_the_summary_says_what_was_found_and_what_theory_expects():
    found = Reconstruction(np.array([0.9, 0.2, 0.7]), 12, np.array([True, False, False]), deviation=0.75)
    assert found.summary() == (
        "12 answers about subsets of 3 people, solved by least squares: 2 bits are right, 66.7% (a coin: 50%). "
        "Theory expects 84.1%."
    )


@pytest.mark.parametrize("truth", [None, np.array([True, False, True])])
def test_the_chart_shows_the_estimates_by_the_true_bit(tmp_path, truth):
    Reconstruction(np.array([0.9, 0.2, 0.7]), 12, truth).chart(tmp_path / "bits.svg")
    picture = (tmp_path / "bits.svg").read_text()
    assert picture.startswith("<svg")
    assert "Reconstruction from counts" in picture
    assert ("100% of the bits recovered" in picture) == (truth is not None)


def test_what_cannot_be_solved_is_refused():
    with pytest.raises(InvalidInput, match="people and questions"):
        Subsets(0, 3)
    with pytest.raises(InvalidInput, match="one answer"):
        reconstruct([[1, 0], [0, 1]], [1])
    with pytest.raises(InvalidInput, match="one answer"):
        reconstruct([1, 0], [1, 0])
    with pytest.raises(InvalidInput, match="finite"):
        reconstruct([[1, 0]], [float("nan")])
    with pytest.raises(InvalidInput, match="2 people"):
        reconstruct([[1, 0]], [1], truth=[1])


def test_no_noise_is_predicted_to_give_all_away():
    assert predicted_share(10, 20, 0) == 1
    assert predicted_share(10, 10, 1) is None


@pytest.mark.slow
def test_ten_thousand_people_and_forty_thousand_questions():
    """A fixed seed; the matrix would be 3.2 GB."""
    people, questions, deviation = 10_000, 40_000, 25.0
    subsets, bits = Subsets(people, questions, seed=1), secret(5, people)
    answers = subsets.operator() @ bits.astype(float) + np.random.default_rng(6).normal(0, deviation, questions)
    found = reconstruct(subsets, answers, truth=bits, deviation=deviation)
    assert found.recovered == pytest.approx(found.predicted, abs=mean_limit(people))
