"""The limits of reconstruction and tracing: measured and predicted, and both regimes on one chart.

The limit of reconstruction: the share of bits recovered against noise and against questions, measured and predicted.

Dinur and Nissim (2003), Theorem 2: noise below the order of sqrt(n) is not enough against polynomially many questions. And the
other side, their feasibility result: noise of the order of sqrt(T) is enough against T questions. Here both are deviations of the
noise per answer, `breaking_noise` and `feasible`, and the second comes with its epsilon.

Both regimes on one chart: how exact d statistics of n people may be before rows are rebuilt, or members recognized.

Reconstruction (Dinur and Nissim 2003) needs more statistics than people; tracing (Dwork and others 2015) works where only averages
of a population are published. Either way the error that is still too small grows as sqrt(d) / n: the line above which both fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from tacit.evidence.attacks.answerers import Noise, fair_bits
from tacit.evidence.attacks.figures import Axes, json_figures, lines
from tacit.evidence.attacks.reconstruction import Reconstruction, Subsets, predicted_share, reconstruct
from tacit.evidence.attacks.tracing import tracing, tracing_noise
from tacit.privacy.rounding import Number

RATIOS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)  # of the deviation to sqrt(n) / 2
NEARLY_ALL = 1.6448536269514722  # the normal quantile of 0.95
Solver = Callable[..., Reconstruction]
Progress = Callable[[Iterable[Any], int, str], Iterable[Any]]


def quietly(items: Iterable[Any], total: int, what: str) -> Iterable[Any]:
    """No progress bar."""
    return items


@dataclass(frozen=True, slots=True)
class Point:
    """The mean share recovered over several runs, and the share predicted, at one place of a curve."""

    people: int
    questions: int
    deviation: float
    recovered: float
    predicted: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """Recovered shares along noise (`over` is "noise") or along the number of questions ("questions")."""

    over: str
    runs: int
    points: tuple[Point, ...]

    def summary(self) -> str:
        """A line for each point."""
        return "\n".join(
            f"deviation {point.deviation:.2f} ({point.deviation / sqrt(point.people):.3f} sqrt(n)), {point.questions:,} questions: "
            f"{point.recovered:.1%} recovered, {_percent(point.predicted)} predicted"
            for point in self.points
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        names = ("people", "questions", "deviation", "recovered", "predicted")
        return json_figures(over=self.over, runs=self.runs, points=[_figures(point, names) for point in self.points])

    def chart(self, path: str | Path | None = None) -> Any:
        """Measured points on the predicted curve, saved if a path is given."""
        title = "noise per answer, as a multiple of sqrt(n)" if self.over == "noise" else "questions, as a multiple of n"
        rows = [
            {"x": self._place(point), "y": share, "series": series, "seen": series == "measured"}
            for point in self.points
            for series, share in (("predicted", point.predicted), ("measured", point.recovered))
            if share is not None
        ]
        axes = Axes(title, "share of bits recovered", logarithmic_x=True, share=True)
        return lines(rows, axes, f"Reconstruction: how much is recovered, mean of {self.runs} runs", path)

    def _place(self, point: Point) -> float:
        return point.deviation / sqrt(point.people) if self.over == "noise" else point.questions / point.people


def over_noise(
    people: int, questions: int, law: str = "gaussian", *, runs: int = 5, seed: int = 0, solver: Solver = reconstruct,
    progress: Progress = quietly,
) -> Curve:  # fmt: skip
    """The share recovered as noise grows from sqrt(n) / 32 to 2 sqrt(n).

    >>> [round(point.recovered, 1) for point in over_noise(64, 256, runs=2).points[:3]]
    [1.0, 1.0, 1.0]
    """
    unit = Noise(law, 1.0).deviation
    places = [(questions, Noise(law, ratio * sqrt(people) / 2 / unit)) for ratio in RATIOS]
    return Curve("noise", runs, _points(people, places, runs, seed, solver, progress))


def over_questions(
    people: int, noise: Noise, multiples: Sequence[float] = (1.25, 1.5, 2, 4, 8, 16), *, runs: int = 5, seed: int = 0,
    solver: Solver = reconstruct, progress: Progress = quietly,
) -> Curve:  # fmt: skip
    """The share recovered as more questions are asked, from a little more than there are people to many times as many.

    >>> shares = [point.recovered for point in over_questions(64, Noise("gaussian", 4), (1.5, 16), runs=4).points]
    >>> shares[0] < shares[1]
    True
    """
    places = [(round(multiple * people), noise) for multiple in multiples]
    return Curve("questions", runs, _points(people, places, runs, seed, solver, progress))


@dataclass(frozen=True, slots=True)
class Feasible:
    """For T questions: the noise that breaks, the noise that is private, and the share recovered under the second."""

    people: int
    epsilon: float
    delta: float
    questions: tuple[int, ...]
    breaking: tuple[float, ...]
    private: tuple[float, ...]
    predicted: tuple[float, ...]

    def summary(self) -> str:
        """A line for each number of questions."""
        shown = zip(self.questions, self.breaking, self.private, self.predicted, strict=True)
        return "\n".join(
            f"{count:,} questions: noise up to {breaking:.1f} gives 95% of {self.people} bits away; noise of {private:.1f} is "
            f"(epsilon {self.epsilon:g}, delta {self.delta:g}) for all together, and leaves {share:.1%}"
            for count, breaking, private, share in shown
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        names = ("people", "epsilon", "delta", "questions", "breaking", "private", "predicted")
        return json_figures(**_figures(self, names))

    def chart(self, path: str | Path | None = None) -> Any:
        """Both noises against the number of questions; both grow with its square root."""
        series = {"95% recovered": self.breaking, f"private, epsilon {self.epsilon:g}": self.private}
        rows = [
            {"x": count, "y": noise, "series": name}
            for name, noises in series.items()
            for count, noise in zip(self.questions, noises, strict=True)
        ]
        axes = Axes("questions", "deviation of the noise", logarithmic_x=True, logarithmic_y=True)
        return lines(rows, axes, f"{self.people} people: the noise that fails and the noise that protects", path)


def feasible(people: int, questions: Sequence[int], epsilon: Number = 1, delta: Number = 1e-6) -> Feasible:
    """Noise of order sqrt(T) that makes T counts (epsilon, delta) together, beside the noise at which 95% are still recovered.

    Gaussian noise of deviation s on one count is concentrated with rho 1 / (2 s^2) (Bun and Steinke 2016), T of them with T times
    as much; so s = sqrt(T / (2 rho)). The share recovered is then Phi(sqrt(T - n) / (4 s)) < Phi(sqrt(rho / 8)), however many are
    asked.

    >>> found = feasible(128, [512, 2048])
    >>> [round(noise / sqrt(count), 2) for noise, count in zip(found.private, found.questions)]
    [5.35, 5.35]
    >>> max(found.predicted) < 0.52
    True
    """
    from tacit.mechanisms.gaussian import Gaussian
    from tacit.privacy.loss import largest_concentrated_down
    from tacit.privacy.rounding import exact

    whole = largest_concentrated_down(exact(epsilon, "epsilon"), exact(delta, "delta"))
    noises = [float(Gaussian(sensitivity=1, rho=whole / count, step=1, on_grid=True).scale) for count in questions]
    return Feasible(
        people,
        float(exact(epsilon)),
        float(exact(delta)),
        tuple(questions),
        tuple(breaking_noise(people, count) for count in questions),
        tuple(noises),
        tuple(predicted_share(people, count, noise) or 0.5 for count, noise in zip(questions, noises, strict=True)),
    )


def breaking_noise(people: int, questions: int) -> float:
    """The deviation at which 95% of the bits are expected to be recovered by least squares; below it, more are.

    >>> round(predicted_share(128, 512, breaking_noise(128, 512)), 3)
    0.95
    """
    return sqrt(max(0, questions - people)) / (4 * NEARLY_ALL)


def attempt(people: int, questions: int, noise: Noise, seed: int, solver: Solver = reconstruct) -> Reconstruction:
    """One attack on fair bits, counted with noise; `seed` rules bits, questions and this demonstration noise."""
    subsets, bits = Subsets(people, questions, seed), fair_bits(people, seed)
    exact = np.concatenate([block @ bits.astype(np.int64) for block in subsets.blocks()])
    answers = exact + noise.draw(questions, np.random.default_rng([seed, 5]))
    return solver(subsets, answers, truth=bits, deviation=noise.deviation)


def _points(
    people: int, places: list[tuple[int, Noise]], runs: int, seed: int, solver: Solver, progress: Progress
) -> tuple[Point, ...]:
    points = []
    for questions, noise in progress(places, len(places), "attacking"):
        shares = [attempt(people, questions, noise, seed + run, solver).recovered or 0.0 for run in range(runs)]
        predicted = predicted_share(people, questions, noise.deviation)
        points.append(Point(people, questions, noise.deviation, float(np.mean(shares)), predicted))
    return tuple(points)


def _figures(value: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _percent(share: float | None) -> str:
    return "nothing" if share is None else f"{share:.1%}"


# --- both regimes on one chart -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Regimes:
    """For each number of statistics: the error, as a share, up to which each attack works; and measured success below and above.

    `below` and `above` are measured at half and at three times that error: the share of bits recovered, and of members recognized.
    """

    people: int
    statistics: tuple[int, ...]
    reconstruction: tuple[float, ...]
    tracing: tuple[float, ...]
    line: tuple[float, ...]
    below: dict[str, tuple[float, ...]]
    above: dict[str, tuple[float, ...]]

    def summary(self) -> str:
        """A line for each number of statistics."""
        shown = zip(self.statistics, self.reconstruction, self.tracing, self.line, strict=True)
        return "\n".join(
            f"{count:,} statistics of {self.people} people: rows are reconstructed below an error of {rebuilt:.3f}, "
            f"members recognized below {traced:.3f}; sqrt(d)/n is {line:.3f}"
            for count, rebuilt, traced, line in shown
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return json_figures(
            people=self.people,
            statistics=self.statistics,
            reconstruction=self.reconstruction,
            tracing=self.tracing,
            line=self.line,
            below=self.below,
            above=self.above,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """Error against the number of statistics, both scales logarithmic."""
        series = {
            "95% of rows reconstructed": self.reconstruction,
            "half of members recognized": self.tracing,
            "sqrt(d)/n": self.line,
        }
        rows = [
            {"x": count, "y": error, "series": name}
            for name, errors in series.items()
            for count, error in zip(self.statistics, errors, strict=True)
            if error > 0
        ]
        axes = Axes("number of statistics, d", "error of each, as a share", logarithmic_x=True, logarithmic_y=True)
        return lines(rows, axes, f"{self.people} people: below its line, each attack works", path)


def regimes(
    people: int = 100, statistics: Sequence[int] = (200, 500, 1000, 2000, 5000), *, runs: int = 2, seed: int = 0
) -> Regimes:
    """The error at which each attack begins to work, by theory, with its success measured at half and at three times that error.

    >>> found = regimes(people=50, statistics=(200, 1000), runs=1)
    >>> all(error < line for error, line in zip(found.tracing, found.line))
    True
    """
    rebuilt = [breaking_noise(people, count) / people for count in statistics]
    traced = [tracing_noise(people, count) for count in statistics]

    def measure(factor: float) -> dict[str, tuple[float, ...]]:
        shares = [
            np.mean(
                [
                    attempt(people, count, Noise("gaussian", factor * error * people), seed + run).recovered or 0
                    for run in range(runs)
                ]
            )
            for count, error in zip(statistics, rebuilt, strict=True)
        ]
        rates = [
            tracing(people, count, [factor * error], runs=runs, seed=seed).levels[0].recovered
            for count, error in zip(statistics, traced, strict=True)
        ]
        return {"reconstruction": tuple(float(share) for share in shares), "tracing": tuple(rates)}

    line = [sqrt(count) / people for count in statistics]
    return Regimes(people, tuple(statistics), tuple(rebuilt), tuple(traced), tuple(line), measure(0.5), measure(3.0))
