"""Does a sample follow the law of a definition? Six checks with the limits of chance.py; `suspicions` names those that fail."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from chance import classes_fit, distance_limit, plausible_hits

CHECKS = 6
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


def suspicions(values: np.ndarray, law: Laplace | Gaussian, block: int = 1, among: int = 1) -> list[str]:
    """The checks that `values` fail as draws of `law`; `block` is the width inside which the sampler's low bits are uniform."""
    counts, probabilities = _counted(values, law, max(1, int(law.scale * 20) // BINS))
    positive, share = np.count_nonzero(values > 0), 1 - float(law.cdf(np.array([0]))[0])
    checks = {
        "tail": _tail_fits(values, law, among),
        "sign": plausible_hits(positive, values.size, share, CHECKS * among),
        "bins": classes_fit(counts, probabilities, CHECKS * among),
        "distribution": _distance(counts, probabilities) <= distance_limit(values.size, CHECKS * among),
        "low digits": law.scale <= 1e5 or digits_fit(values, CHECKS * among),
        "inside blocks": block < 8 or _blocks_fit(values, law, block, among),
    }
    return [name for name, passed in checks.items() if not passed]


def _tail_fits(values: np.ndarray, law: Laplace | Gaussian, among: int) -> bool:
    """As many beyond a far point as there should be: about a hundred."""
    far = law.far(min(100 / values.size, 0.1))
    beyond = float(law.cdf(np.array([-far - 1]))[0]) * 2
    return plausible_hits(np.count_nonzero(np.abs(values) > far), values.size, beyond, CHECKS * among)


def _counted(values: np.ndarray, law: Laplace | Gaussian, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts and probabilities of bins of `step` integers, over all that matters; the two ends hold the rest."""
    half = law.far(1e-12) // step + 1
    places = values // step if step > 1 else values.copy()
    np.clip(places, -half - 1, half, out=places)
    places += half + 1
    ends = law.cdf(np.arange(-half, half + 1) * step - 1)
    return np.bincount(places, minlength=2 * half + 2), np.diff(ends, prepend=0, append=1)


def follows(values: np.ndarray, law: Laplace | Gaussian) -> bool:
    """Whether few values, at a scale so large that the law is all but continuous, follow it."""
    places = np.sort(law.cdf(values.astype(float)))
    ranks = np.arange(values.size) / values.size
    return float(np.max(np.abs(places - ranks))) < distance_limit(values.size) + 1 / values.size


def _distance(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """How far the two distribution functions are apart, at most."""
    return float(np.max(np.abs(np.cumsum(counts) / counts.sum() - np.cumsum(probabilities))))


def digits_fit(values: np.ndarray, among: int = 1) -> bool:
    """At scales beyond 1e5 the last digit in base 256 is uniform to within 1e-5 of its probability."""
    return classes_fit(np.bincount(values & (LOW_DIGITS - 1), minlength=LOW_DIGITS), np.full(LOW_DIGITS, 1 / LOW_DIGITS), among)


def _blocks_fit(values: np.ndarray, law: Laplace | Gaussian, block: int, among: int) -> bool:
    """Where in its block a value lies, in eighths, all blocks together and mirrored about -1/2."""
    counts, probabilities = _counted(np.maximum(values, ~values), law, block // 8)
    half = counts.size // 2
    mirrored = probabilities[half:] + probabilities[:half][::-1]
    eighths = np.arange(half) % 8
    return classes_fit(np.bincount(eighths, counts[half:]), np.bincount(eighths, mirrored), CHECKS * among)
