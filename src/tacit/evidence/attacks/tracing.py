"""Many proportions give membership away: from d averages over n people one can tell who was among them.

Homer and others (2008); Dwork, Smith, Steinke, Ullman and Vadhan (2015). The attacker knows the proportions p of the population
and one person's d attributes z, and scores <z - p, q - p> against the published proportions q. A member's own attributes pull q
towards z: the score is larger by the sum of p (1 - p) / n, while without membership it spreads with the root of the sum of
p (1 - p) (p (1 - p) / n + noise^2). So noise must grow to the order of sqrt(d) / n before members cannot be told from strangers:
the more statistics, the more.

Seeded generators make people and the noise of the attacked release here; a release of tacit draws its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, json_figures, lines

Floats = NDArray[np.float64]
FALSE_POSITIVES = 0.01
QUANTILE = 2.3263478740408408  # of the normal law, at 1 - FALSE_POSITIVES
STRANGERS = 400
MULTIPLES = (0.0, 0.5, 1.0, 4.0)  # of sqrt(d) / n
Progress = Callable[[Iterable[Any], int, str], Iterable[Any]]
Release = Callable[[Floats], Any]


@dataclass(frozen=True, slots=True)
class Level:
    """The true-positive rate at 1% false positives for one noise, mean over runs; and the rate that theory predicts."""

    noise: float
    recovered: float
    predicted: float


@dataclass(frozen=True, slots=True)
class Tracing:
    """How many members are recognized from `statistics` proportions of `people`, against the noise on each proportion."""

    people: int
    statistics: int
    runs: int
    levels: tuple[Level, ...]

    @property
    def unit(self) -> float:
        """The noise from which on tracing fails: sqrt(d) / n."""
        return sqrt(self.statistics) / self.people

    def summary(self) -> str:
        """A line for each noise."""
        head = f"{self.statistics:,} proportions of {self.people:,} people, mean of {self.runs} runs, at 1% false positives:"
        shown = [
            f"  noise {level.noise:.3f} ({level.noise / self.unit:.2g} sqrt(d)/n): {level.recovered:.3f} of the members "
            f"recognized, predicted {level.predicted:.3f}"
            for level in self.levels
        ]
        return "\n".join([head, *shown])

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        levels = [{"noise": one.noise, "recovered": one.recovered, "predicted": one.predicted} for one in self.levels]
        return json_figures(people=self.people, statistics=self.statistics, runs=self.runs, unit=self.unit, levels=levels)

    def chart(self, path: str | Path | None = None) -> Any:
        """Measured rates on the predicted curve, against noise as a multiple of sqrt(d) / n."""
        most = max(4.0, *(level.noise / self.unit for level in self.levels))
        curve = [{"x": x, "y": self._predicted_rate(x), "series": "predicted"} for x in np.linspace(0, most, 120)]
        seen = [{"x": one.noise / self.unit, "y": one.recovered, "series": "measured", "seen": True} for one in self.levels]
        axes = Axes(
            "noise on each proportion, as a multiple of sqrt(d) / n", "members recognized at 1% false positives", share=True
        )
        return lines([*curve, *seen], axes, f"Tracing {self.people:,} people from {self.statistics:,} proportions", path)

    def _predicted_rate(self, multiple: float) -> float:
        return predicted_rate(self.people, self.statistics, multiple * self.unit)


def tracing(
    people: int = 100, statistics: int = 5000, noises: Sequence[float] | None = None, *, runs: int = 10, seed: int = 0,
    progress: Progress | None = None,
) -> Tracing:  # fmt: skip
    """Trace the members of generated data sets, published with Gaussian noise of each deviation in turn.

    Without `noises`: none, and half, once and four times sqrt(d) / n.

    >>> found = tracing(people=50, statistics=3000, runs=2)
    >>> found.levels[0].recovered > 0.9, found.levels[2].recovered < 0.2
    (True, True)
    """
    if people < 2 or statistics < 1 or runs < 1:
        raise InvalidInput(f"people, statistics and runs must be at least 1, not {people}, {statistics} and {runs}")
    unit = sqrt(statistics) / people
    chosen = [multiple * unit for multiple in MULTIPLES] if noises is None else list(noises)
    rates = np.zeros((runs, len(chosen)))
    for run in progress(range(runs), runs, "tracing") if progress else range(runs):
        generator = np.random.default_rng([seed, run])
        population, members, strangers = generate(people, statistics, generator)
        for place, noise in enumerate(chosen):
            published = members.mean(axis=0) + generator.normal(0, noise, statistics)
            rates[run, place] = true_positives(published, population, members, strangers)
    means = rates.mean(axis=0)
    levels = [
        Level(noise, float(rate), predicted_rate(people, statistics, noise)) for noise, rate in zip(chosen, means, strict=True)
    ]
    return Tracing(people, statistics, runs, tuple(levels))


def against(release: Release, people: int, statistics: int, *, runs: int = 1, seed: int = 0) -> float:
    """The mean true-positive rate against any way to publish: `release` takes the exact proportions and returns the published ones.

    >>> against(lambda proportions: proportions, people=50, statistics=5000)
    1.0
    >>> from tacit.mechanisms.gaussian import Gaussian
    >>> private = Gaussian(sensitivity=sqrt(5000) / 50, rho=0.1, dimension=5000)
    >>> against(private.release, people=50, statistics=5000) < 0.3
    True
    """
    rates = []
    for run in range(runs):
        population, members, strangers = generate(people, statistics, np.random.default_rng([seed, run]))
        rates.append(true_positives(release(members.mean(axis=0)), population, members, strangers))
    return float(np.mean(rates))


def generate(people: int, statistics: int, generator: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Proportions of a population, and the 0/1 attributes of members and of strangers drawn from it alike."""
    population = generator.random(statistics)
    members = (generator.random((people, statistics)) < population).astype(np.float64)
    strangers = (generator.random((STRANGERS, statistics)) < population).astype(np.float64)
    return population, members, strangers


def scores(published: ArrayLike, population: ArrayLike, persons: ArrayLike) -> Floats:
    """<z - p, q - p> for each person z: large where the published proportions q lean towards this person.

    >>> scores([0.6, 0.4], [0.5, 0.5], [[1, 0], [0, 1]]).round(2).tolist()
    [0.1, -0.1]
    """
    expected = np.asarray(population, dtype=np.float64)
    return np.asarray((np.asarray(persons) - expected) @ (np.asarray(published, dtype=np.float64) - expected), dtype=np.float64)


def true_positives(published: ArrayLike, population: ArrayLike, members: ArrayLike, strangers: ArrayLike) -> float:
    """The share of members whose score passes that of all but 1% of strangers."""
    threshold = np.quantile(scores(published, population, strangers), 1 - FALSE_POSITIVES, method="higher")
    return float((scores(published, population, members) > threshold).mean())


def predicted_rate(people: int, statistics: int, noise: float) -> float:
    """The true-positive rate at 1% false positives that a normal score would have, for proportions uniform in [0, 1].

    The mean of p (1 - p) is then 1/6, and that of its square 1/30.

    >>> [round(predicted_rate(100, 5000, multiple * sqrt(5000) / 100), 3) for multiple in (0, 0.5, 1, 4)]
    [1.0, 0.065, 0.027, 0.013]
    """
    lead = statistics / 6 / people
    spread = sqrt(statistics * (1 / 30 / people + noise**2 / 6))
    return erfc((QUANTILE - lead / spread) / sqrt(2)) / 2


def tracing_noise(people: int, statistics: int) -> float:
    """The noise at which half of the members are still recognized; 0 where there are too few statistics for that at all.

    >>> round(predicted_rate(100, 5000, tracing_noise(100, 5000)), 3)
    0.5
    """
    lead = statistics / 6 / people
    left = (lead / QUANTILE) ** 2 / statistics - 1 / 30 / people
    return sqrt(6 * left) if left > 0 else 0.0
