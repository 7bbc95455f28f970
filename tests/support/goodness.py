"""Does a sample follow the law of a definition? Five checks; `suspicions` names those that fail.

Each fails by bad luck with probability at most 1e-9: exact binomial tests for the tail and the sign, the inequality of
Dvoretzky, Kiefer, Wolfowitz and Massart for the distribution function, and chi-square for the rest, where bins that expect fewer
than 50 are merged and the level is set a hundred times lower to make up for the approximation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri
from scipy.stats import binomtest

LEVEL = 1e-9
CHI_SQUARE_LEVEL = 1e-11
BINS = 4000
LOW_DIGITS = 256


@dataclass(frozen=True)
class Laplace:
    scale: float

    def cdf(self, k: np.ndarray) -> np.ndarray:
        """P[X <= k] of weights e^-(|k| / scale), from the geometric series."""
        one = math.exp(-1 / self.scale)
        negative = np.exp(np.minimum(k, 0) / self.scale) / (1 + one)
        return np.where(k < 0, negative, 1 - np.exp(-(np.maximum(k, 0) + 1) / self.scale) / (1 + one))

    def far(self, probability: float) -> int:
        return max(1, round(self.scale * -math.log(probability)))


@dataclass(frozen=True)
class Gaussian:
    scale: float

    def cdf(self, k: np.ndarray) -> np.ndarray:
        """P[X <= k] of weights e^-(k^2 / (2 scale^2)): summed; beyond scale 2000 by the midpoint rule, error 1/(24 scale^2)."""
        if self.scale > 2000:
            return ndtr((k + 0.5) / self.scale)
        reach = math.ceil(9 * self.scale) + 1
        sums = np.cumsum(np.exp(-0.5 * (np.arange(-reach, reach + 1) / self.scale) ** 2))
        return np.where(k < -reach, 0, sums[np.clip(k + reach, 0, 2 * reach)] / sums[-1])

    def far(self, probability: float) -> int:
        return max(1, round(self.scale * -ndtri(probability / 2)))


def suspicions(values: np.ndarray, law: Laplace | Gaussian, block: int = 1) -> list[str]:
    """The checks that `values` fail as draws of `law`; `block` is the width inside which the sampler's low bits are uniform."""
    counts, probabilities = _counted(values, law, max(1, int(law.scale * 20) // BINS))
    checks = {
        "tail": _tail(values, law) < LEVEL,
        "sign": _binomial(np.count_nonzero(values > 0), values.size, 1 - float(law.cdf(np.array([0]))[0])) < LEVEL,
        "bins": _chi_square(counts, probabilities) < CHI_SQUARE_LEVEL,
        "distribution": _distance(counts, probabilities) > math.sqrt(math.log(2 / LEVEL) / (2 * values.size)),
        "low digits": law.scale > 1e5 and _low_digits(values) < CHI_SQUARE_LEVEL,
        "inside blocks": block >= 8 and _inside_blocks(values, law, block) < CHI_SQUARE_LEVEL,
    }
    return [name for name, failed in checks.items() if failed]


def _tail(values: np.ndarray, law: Laplace | Gaussian) -> float:
    """As many beyond a far point as there should be: about a hundred."""
    far = law.far(min(100 / values.size, 0.1))
    beyond = float(law.cdf(np.array([-far - 1]))[0]) * 2
    return _binomial(np.count_nonzero(values > far) + np.count_nonzero(values < -far), values.size, beyond)


def _binomial(count: int, size: int, probability: float) -> float:
    return float(binomtest(count, size, min(max(probability, 0.0), 1.0)).pvalue)


def _counted(values: np.ndarray, law: Laplace | Gaussian, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts and probabilities of bins of `step` integers, over all that matters; the two ends hold the rest."""
    half = law.far(1e-12) // step + 1
    places = values // step if step > 1 else values.copy()
    np.clip(places, -half - 1, half, out=places)
    places += half + 1
    ends = law.cdf(np.arange(-half, half + 1) * step - 1)
    return np.bincount(places, minlength=2 * half + 2), np.diff(ends, prepend=0, append=1)


def follows(values: np.ndarray, law: Laplace | Gaussian) -> bool:
    """Whether few values, at a scale so large that the law is all but continuous, follow it; false alarm at most 1e-9."""
    places = np.sort(law.cdf(values.astype(float)))
    ranks = np.arange(values.size) / values.size
    return float(np.max(np.abs(places - ranks))) < math.sqrt(math.log(2 / LEVEL) / (2 * values.size)) + 1 / values.size


def _distance(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """How far the two distribution functions are apart, at most."""
    return float(np.max(np.abs(np.cumsum(counts) / counts.sum() - np.cumsum(probabilities))))


def _low_digits(values: np.ndarray) -> float:
    """At scales beyond 1e5 the last digit in base 256 is uniform to within 1e-5 of its probability."""
    return _chi_square(np.bincount(values & (LOW_DIGITS - 1), minlength=LOW_DIGITS), np.full(LOW_DIGITS, 1 / LOW_DIGITS))


def _inside_blocks(values: np.ndarray, law: Laplace | Gaussian, block: int) -> float:
    """Where in its block a value lies, in eighths, all blocks together and mirrored about -1/2."""
    counts, probabilities = _counted(np.maximum(values, ~values), law, block // 8)
    half = counts.size // 2
    mirrored = probabilities[half:] + probabilities[:half][::-1]
    eighths = np.arange(half) % 8
    return _chi_square(np.bincount(eighths, counts[half:]), np.bincount(eighths, mirrored))


def _chi_square(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """The p-value after neighbouring bins are merged until each expects 50."""
    groups = [(0.0, 0.0)]
    for count, expected in zip(counts.tolist(), (probabilities * counts.sum()).tolist(), strict=True):
        if groups[-1][1] >= 50:
            groups.append((0.0, 0.0))
        groups[-1] = groups[-1][0] + count, groups[-1][1] + expected
    if groups[-1][1] < 50 and len(groups) > 1:
        rest = groups.pop()
        groups[-1] = groups[-1][0] + rest[0], groups[-1][1] + rest[1]
    statistic = sum((count - expected) ** 2 / expected for count, expected in groups)
    return float(chdtrc(len(groups) - 1, statistic)) if len(groups) > 1 else 1.0
