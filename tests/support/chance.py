"""How far may luck lead? The limits of statistical tests, all computed from one chance of failing by bad luck.

A test that draws compares with a limit from here and writes no tolerance of its own. Each function keeps the chance of a false
alarm within CHANCE for all of `among` comparisons together (Bonferroni). Counts have exact binomial tails. Means of bounded values
have Hoeffding's inequality (1963, which also holds for draws without replacement), means of other values Bernstein's with the
moments of their law, or the normal tail where the values are normal or the mean is of thousands. Distribution functions have the
inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant (1990). Chi-square is an approximation: classes that expect
fewer than 50 are merged, and the level is set a hundred times lower to make up for the rest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.special import chdtrc, gammaincinv, ndtri, stdtrit
from scipy.stats import binom

CHANCE = 1e-7
EXPECTED = 50  # of a class in chi-square, at least
MADE_UP = 100  # how much lower the level of chi-square is, since its tail is an approximation


def most_hits(trials: int, rate: Any, among: int = 1) -> Any:
    """The largest plausible number of hits in independent trials that hit with at most `rate`; more have a chance of CHANCE."""
    return binom.isf(CHANCE / among, trials, np.asarray(rate, dtype=float))


def fewest_hits(trials: int, rate: Any, among: int = 1) -> Any:
    """The smallest plausible number of hits in independent trials that hit with at least `rate`."""
    return trials - most_hits(trials, 1 - np.asarray(rate, dtype=float), among)


def plausible_hits(hits: Any, trials: int, rate: Any, among: int = 1) -> bool:
    """Whether numbers of hits, one or an array, fit their rates: exact, both tails, over all of them together."""
    hits, rate = np.broadcast_arrays(np.asarray(hits), np.asarray(rate, dtype=float))
    sides = 2 * hits.size * among
    return bool(np.all((fewest_hits(trials, rate, sides) <= hits) & (hits <= most_hits(trials, rate, sides))))


def follows_law(outcomes: Iterable[Any], law: Mapping[Any, Any], among: int = 1) -> bool:
    """Whether outcomes (or a Counter of them) are drawn from a listed law; an outcome that is not listed does not fit."""
    counts = outcomes if isinstance(outcomes, Counter) else Counter(outcomes)
    if any(counts[outcome] and not law.get(outcome) for outcome in counts):
        return False
    hits = [counts[outcome] for outcome in law]
    return plausible_hits(hits, counts.total(), [min(float(weight), 1.0) for weight in law.values()], among)


def mean_limit(draws: int, width: float = 1, among: int = 1) -> float:
    """The farthest that a mean of values in an interval of this width lies from its expectation (Hoeffding)."""
    return width * math.sqrt(math.log(2 * among / CHANCE) / (2 * draws))


def heavy_mean_limit(deviation: float, reach: float, draws: int, among: int = 1) -> float:
    """The farthest that a mean lies from its expectation where values have moments of order k of at most
    k!/2 deviation^2 reach^(k-2) (Bernstein): Laplace noise with its scale as reach, and any values within 3 reach of their mean.
    """
    exponent = math.log(2 * among / CHANCE) / draws
    return exponent * reach + math.sqrt(2 * exponent) * deviation


def normal_limit(deviation: float, draws: int = 1, among: int = 1) -> float:
    """The farthest that the mean of `draws` normal values, or of thousands of others, lies from its expectation."""
    return float(-ndtri(CHANCE / (2 * among))) * deviation / math.sqrt(draws)


def variance_limits(draws: int, among: int = 1) -> tuple[float, float]:
    """The ends of the mean square of `draws` normal values of variance 1."""
    return tuple(2 / draws * gammaincinv(draws / 2, [CHANCE / (2 * among), 1 - CHANCE / (2 * among)]))


def next_run_limit(deviation: float, runs: int, among: int = 1) -> float:
    """The farthest that a next run lies from the mean of `runs` recorded ones, which had this standard deviation (Student's t).

    For figures whose law is not known: means over many cells, nearly normal.
    """
    return float(-stdtrit(runs - 1, CHANCE / (2 * among))) * deviation * math.sqrt(1 + 1 / runs)


def laplace_limit(scale: float, among: int = 1) -> float:
    """The farthest that one Laplace noise, continuous or discrete, lies from 0."""
    return scale * math.log(2 * among / CHANCE)


def distance_limit(draws: int, among: int = 1) -> float:
    """The farthest that the distribution function of a sample lies from the true one, at any place."""
    return math.sqrt(math.log(2 * among / CHANCE) / (2 * draws))


def classes_fit(counts: Any, probabilities: Any, among: int = 1) -> bool:
    """Whether the counts of classes fit their probabilities, by chi-square."""
    return chi_square(counts, probabilities) > CHANCE / MADE_UP / among


def chi_square(counts: Any, probabilities: Any) -> float:
    """The p-value after neighbouring classes are merged until each expects 50."""
    expectations = np.asarray(probabilities, dtype=float) * np.sum(counts)
    groups = [(0.0, 0.0)]
    for count, expected in zip(np.asarray(counts).tolist(), expectations.tolist(), strict=True):
        if groups[-1][1] >= EXPECTED:
            groups.append((0.0, 0.0))
        groups[-1] = groups[-1][0] + count, groups[-1][1] + expected
    if groups[-1][1] < EXPECTED and len(groups) > 1:
        rest = groups.pop()
        groups[-1] = groups[-1][0] + rest[0], groups[-1][1] + rest[1]
    statistic = sum((count - expected) ** 2 / expected for count, expected in groups)
    return float(chdtrc(len(groups) - 1, statistic)) if len(groups) > 1 else 1.0


def auc_limit(pairs: int, among: int = 1) -> float:
    """The largest plausible AUC of two samples of one law, `pairs` of each, where the order in each pair was drawn by lot.

    The normal tail with the exact variance of Mann and Whitney (1947), which ties only make smaller; for dozens of pairs.
    """
    return 0.5 + normal_limit(math.sqrt((2 * pairs + 1) / 12) / pairs, 1, among)
