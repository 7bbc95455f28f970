"""The limits of luck against exact tails, with planted bugs that they must not excuse; and no test has a tolerance of its own."""

import ast
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from chance import (
    CHANCE,
    chi_square,
    classes_fit,
    distance_limit,
    fewest_hits,
    follows_law,
    heavy_mean_limit,
    laplace_limit,
    mean_limit,
    most_hits,
    next_run_limit,
    normal_limit,
    plausible_hits,
    variance_limits,
)
from tolerances import tolerances

RATES = [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2), Fraction(9, 10)]


def tail(trials: int, rate: Fraction, above: int) -> Fraction:
    """The chance of more than `above` hits, summed."""
    return sum((math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(above + 1, trials + 1)), Fraction(0))


@pytest.mark.parametrize("among", [1, 40])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("trials", [1, 20, 400])
def test_hits_have_exact_tails(trials: int, rate: Fraction, among: int) -> None:
    """Beyond the limit is rarer than the chance, and a limit that is one less is not."""
    most, fewest = int(most_hits(trials, rate, among)), int(fewest_hits(trials, rate, among))
    allowed = Fraction(CHANCE) / among
    assert tail(trials, rate, most) <= allowed
    assert most == 0 or tail(trials, rate, most - 1) > allowed
    assert tail(trials, 1 - rate, trials - fewest) <= allowed
    assert fewest == trials or tail(trials, 1 - rate, trials - fewest - 1) > allowed


def test_the_chance_is_shared_by_both_sides_and_all_counts() -> None:
    for hits in [*range(40, 65), 100, *range(140, 170)]:
        beyond = min(tail(400, Fraction(1, 4), hits - 1), 1 - tail(400, Fraction(1, 4), hits))
        assert plausible_hits(hits, 400, 0.25) == (beyond > CHANCE / 2)
        assert plausible_hits([hits, 100, 100], 400, 0.25) == (beyond > CHANCE / 6)
        assert plausible_hits(hits, 400, 0.25, among=3) == (beyond > CHANCE / 6)
    assert plausible_hits([0, 400], 400, [0, 1])
    assert not plausible_hits([1, 400], 400, [0, 1])
    assert not plausible_hits([0, 399], 400, [0, 1])


def test_a_rate_that_is_a_tenth_off_is_caught() -> None:
    """Missed with a chance below 1e-6: exactly, of 40,000 trials, by the law of the planted rate."""
    planted = stats.binom(40_000, 0.25 * 1.1)
    assert planted.cdf(most_hits(40_000, 0.25, among=2)) < 1e-6
    assert stats.binom(40_000, 0.25 * 0.9).sf(fewest_hits(40_000, 0.25, among=2) - 1) < 1e-6


def test_a_listed_law_is_followed_by_all_its_outcomes_and_by_no_other() -> None:
    law = {"a": Fraction(1, 2), "b": Fraction(1, 3), "c": Fraction(1, 6), "d": Fraction(0)}
    as_listed = Counter({"a": 3000, "b": 2000, "c": 1000})
    assert follows_law(as_listed, law)
    assert follows_law(["a"], law)
    assert not follows_law(as_listed + Counter("d"), law), "an outcome of probability 0"
    assert not follows_law(as_listed + Counter("e"), law), "an outcome that is not listed"
    assert not follows_law(Counter({"a": 3000, "b": 1700, "c": 1300}), law), "two outcomes that changed a part of their mass"
    assert not follows_law(Counter({"a": 60}), law), "outcomes that never come"


@pytest.mark.parametrize("rate", [float(rate) for rate in RATES])
@pytest.mark.parametrize("draws", [10, 400, 20_000])
def test_means_of_coins_pass_their_limits_more_rarely_than_the_chance(draws: int, rate: float) -> None:
    """The exact law of the mean of coins; planted, a limit without the 2 in its root or half of it is passed more often."""

    def passing(limit: float) -> float:
        low, high = math.ceil(draws * (rate - limit) - 1e-9) - 1, math.floor(draws * (rate + limit) + 1e-9)
        return float(stats.binom.cdf(low, draws, rate) + stats.binom.sf(high, draws, rate))

    assert passing(mean_limit(draws)) <= CHANCE
    assert passing(mean_limit(draws, among=9)) <= CHANCE / 9
    assert passing(heavy_mean_limit(math.sqrt(rate * (1 - rate)), max(rate, 1 - rate) / 3, draws)) <= CHANCE
    if rate == 0.5 and draws > 10:
        assert passing(mean_limit(draws) / 2) > 1e3 * CHANCE
        assert passing(heavy_mean_limit(0.25, 1 / 6, draws)) > 1e3 * CHANCE, "half the deviation"
    assert mean_limit(draws, width=7) == pytest.approx(7 * mean_limit(draws))


@pytest.mark.parametrize("draws", [1, 5, 50])
def test_means_of_laplace_noise_too(draws: int) -> None:
    """The sum of n noises is a difference of two gamma variables of shape n; integrated over one of them."""

    def passing(limit: float) -> float:
        places = np.linspace(0, stats.gamma.isf(1e-14, draws), 200_001)
        return 2 * float(np.trapezoid(stats.gamma.pdf(places, draws) * stats.gamma.sf(places + limit * draws, draws), places))

    assert passing(heavy_mean_limit(math.sqrt(2), 1, draws)) <= CHANCE
    assert passing(0.6 * heavy_mean_limit(math.sqrt(2), 1, draws)) > CHANCE
    if draws == 1:
        assert passing(laplace_limit(1)) == pytest.approx(CHANCE / 2, rel=1e-3)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0, 40.0])
def test_one_discrete_noise_is_within_its_limit(scale: float) -> None:
    decay, beyond = math.exp(-1 / scale), math.floor(laplace_limit(scale)) + 1
    assert 2 * decay**beyond / (1 + decay) <= CHANCE
    assert 2 * decay ** (beyond // 2) / (1 + decay) > CHANCE


def test_normal_limits_are_those_of_the_normal_law() -> None:
    assert 2 * stats.norm.sf(normal_limit(1)) == pytest.approx(CHANCE, rel=1e-6)
    assert 2 * stats.norm.sf(normal_limit(1, among=50)) == pytest.approx(CHANCE / 50, rel=1e-6)
    assert normal_limit(3, draws=400) == pytest.approx(3 * normal_limit(1) / 20)
    planted = stats.norm(loc=0.1, scale=1 / math.sqrt(15_000))
    assert planted.cdf(normal_limit(1, draws=15_000)) < 1e-6, "a mean that is a tenth of a deviation off"


@pytest.mark.parametrize("draws", [20, 400])
def test_mean_squares_have_the_law_of_chi_square(draws: int) -> None:
    """Planted: a deviation that is half too large, of 400 draws, is within the limits with a chance below 1e-6."""
    low, high = variance_limits(draws)
    assert stats.chi2.cdf(low * draws, draws) == pytest.approx(CHANCE / 2, rel=1e-3)
    assert stats.chi2.sf(high * draws, draws) == pytest.approx(CHANCE / 2, rel=1e-3)
    low, high = variance_limits(draws, among=2)
    assert stats.chi2.sf(high * draws, draws) == pytest.approx(CHANCE / 4, rel=1e-3)
    if draws == 400:
        assert stats.chi2.cdf(high * draws / 1.5**2, draws) < 1e-6


def test_a_next_run_has_the_law_of_student() -> None:
    """Planted: the limit of a known deviation is passed thousands of times too often by the deviation of twelve runs."""
    limit = next_run_limit(1, 12)
    assert 2 * stats.t.sf(limit / math.sqrt(1 + 1 / 12), 11) == pytest.approx(CHANCE, rel=1e-6)
    assert next_run_limit(3, 12) == pytest.approx(3 * limit)
    assert 2 * stats.t.sf(normal_limit(1) / math.sqrt(1 + 1 / 12), 11) > 1e3 * CHANCE


@pytest.mark.parametrize("draws", [10, 500, 20_000])
def test_distances_have_the_law_of_kolmogorov(draws: int) -> None:
    assert stats.kstwo.sf(distance_limit(draws), draws) <= CHANCE
    assert stats.kstwo.sf(distance_limit(draws, among=4), draws) <= CHANCE / 4
    assert stats.kstwo.sf(distance_limit(draws) * 0.8, draws) > CHANCE


def test_noise_that_is_a_tenth_too_small_is_too_far() -> None:
    """The functions differ by 0.019 at their farthest: 80,000 draws miss that with a chance below 1e-6, at that place alone."""
    place = math.log(10 / 9) / (1 / 0.9 - 1)
    planted, law = stats.laplace.cdf(place, scale=0.9), stats.laplace.cdf(place)
    assert stats.binom.cdf(math.floor(80_000 * (law + distance_limit(80_000))), 80_000, planted) < 1e-6


@pytest.mark.parametrize("classes", [(0.5, 0.5), (0.2, 0.8), (1 / 3, 1 / 3, 1 / 3), (0.26, 0.3, 0.44)])
def test_chi_square_fails_more_rarely_than_the_chance(classes: tuple[float, ...]) -> None:
    """All counts of 250 draws with their exact chances. Planted: the mass of a class is 0.2 off, of 1,000 draws."""

    def failing(draws: int, real: tuple[float, ...]) -> float:
        firsts = range(draws + 1)
        counts = [(one, draws - one) for one in firsts] if len(real) == 2 else []
        if len(real) == 3:
            counts = [(one, two, draws - one - two) for one in firsts for two in range(draws - one + 1)]
        chances = stats.multinomial(draws, real).pmf(np.array(counts))
        rare = [chance for count, chance in zip(counts, chances, strict=True) if not classes_fit(count, classes)]
        return float(sum(rare))

    assert failing(250, classes) <= CHANCE
    if len(classes) == 2:
        assert failing(1000, (classes[0] + 0.2, classes[1] - 0.2)) > 1 - 1e-6


def test_chi_square_is_that_of_scipy_where_nothing_is_merged() -> None:
    counts = [60, 80, 70, 90]
    assert chi_square(counts, np.full(4, 0.25)) == pytest.approx(stats.chisquare(counts).pvalue)
    assert chi_square([*counts, 3, 4], [0.24, 0.24, 0.24, 0.24, 0.02, 0.02]) == pytest.approx(
        stats.chisquare([60, 80, 70, 97], np.array([0.24, 0.24, 0.24, 0.28]) * 307).pvalue
    )
    assert chi_square([5], [1]) == 1


# --- no tolerance that is written out ----------------------------------------------------------------------------------------

TESTS = Path(__file__).parent
EXPLAINED = {
    "test_the_public_report_is_made_from_what_was_released": "counts that are scaled to a total and rounded; no draw changes it",
    "test_it_fails_on_a_session": "the share that theory predicts, which no draw changes",
    "test_the_difference_is_within_the_claim": "the log odds are computed from laws; what is drawn beside them is not compared",
    "test_a_catalog_pays_for_all_homes_that_one_person_moves": "a price, rounded; no draw changes it",
    "test_the_regression_makes_degrees_more_accurate": "the error of a fit has no known law: its docstring has the tail of 60,000",
    "test_widths_are_close_to_the_error": "the factor is the claim, a tenth above the one that is measured in the long run",
    "test_a_sum_beside_a_mean_has_the_law_of_both_noises": "the factor is the claim; two ends in the place of one come to 1.4",
    "test_an_exact_count_leaves_the_noise_of_the_sum": "the ends move with the noisy mean, whose own interval is 0.06 of them",
    "test_the_forecast_is_close_to_the_error": "the factor is the claim, eight deviations of the quantile from the true one",
}


def test_no_test_of_draws_has_a_tolerance_of_its_own() -> None:
    written = {
        (path.relative_to(TESTS).as_posix(), line, text): name
        for path in sorted(TESTS.rglob("*.py"))
        for name, line, text in tolerances(ast.parse(path.read_text("utf-8")))
    }
    assert {place: name for place, name in written.items() if name not in EXPLAINED} == {}
    assert EXPLAINED.keys() == set(written.values()), "explanations of nothing"


WRITTEN_OUT = [
    "assert abs(noise.release(zeros).mean() - 0.5) < 0.03",
    "drawn = noise.release(zeros)\n    assert drawn.mean() == pytest.approx(3, abs=0.1)",
    "heads = int(bernoulli(half, 1000).sum())\n    assert abs(heads - 500) < 6 * math.sqrt(250)",
    "missed = 0\n    for _ in range(60):\n        missed += noise.release(0) > reach\n    assert missed / 60 <= 0.12",
    "seen = [choose(lengths, costs) for _ in range(size)]\n    assert (np.array(seen) == 1).sum() < 620",
    "assert chisquare(counts).pvalue > 1e-6",
    "return missed <= binom.isf(1e-6, 1500, 0.05)",
    "assert abs(helper() - half) < NORMAL * deviation",
]
SOUND = [
    "assert abs(noise.release(zeros).mean() - 0.5) < mean_limit(1000)",
    "luck = 3 * normal_limit(0.017)\n    assert unevenness(*timed([one], 2000)) > 0.1 + luck",
    "assert 0 <= noise.release(3) <= 100",
    "assert np.random.default_rng(1).random(1000).mean() < 0.6",
    "assert noise.release(3) <= largest * (1 + 1e-15)",
    "assert data.draw(numbers) < 0.5",
]


@pytest.mark.parametrize("body", WRITTEN_OUT)
def test_planted_tolerances_are_seen(body: str) -> None:
    text = f"NORMAL = 6.5\n\ndef helper():\n    return noise.release(0)\n\ndef test():\n    {body}\n"
    assert [name for name, _, _ in tolerances(ast.parse(text))] == ["test"]


def test_limits_ranges_rounding_and_seeds_are_not_tolerances() -> None:
    assert [body for body in SOUND if list(tolerances(ast.parse(f"def test():\n    {body}\n")))] == []
