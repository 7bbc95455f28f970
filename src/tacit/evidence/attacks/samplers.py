"""Noise that gives the answer away by the way it is drawn: the floats that it can reach, and the time that it takes.

Textbook floating-point noise discloses the answer that it was added to (Mironov 2012; for the Gaussian, Jin et al. 2022).

A float has 53 bits, so `answer + sign * -scale * ln(U)` reaches only some floats, and which ones depends on the answer. The
attacker asks of an output: could the other answer have given it? Where it could not, one look settles what epsilon was to hide.
The same holds for `answer + scale * Phi^-1(U)`. Noise that is an exact integer on a public grid reaches every grid point from every
answer, so the same test learns nothing.

A textbook sampler here is the attacked object, not a source of noise: it uses NumPy's generator on purpose, as the code does
that it stands for, and nothing in tacit releases a value with it.

The time of a draw must not disclose its value: rank correlation of time and magnitude.

A sampler that flips coins until one fails takes as long as its result is large; an attacker who sees how long an answer took sees
how much noise is in it, and subtracts it (Haeberlen, Pierce and Narayan 2011; Jin, McMurtry, Rubinstein and Ohrimenko 2022).
Noise served from a block that was drawn ahead takes the same time whatever it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars, json_figures

Floats = NDArray[np.float64]
Sampler = Callable[[float, float, int, np.random.Generator], Floats]
Reach = Callable[[Floats, float, float], NDArray[np.bool_]]
BITS = 2.0**53
SEARCHED = 8  # uniforms tried on each side of the inverse; two suffice in practice, as every sampler reaches its own outputs


@dataclass(frozen=True, slots=True)
class FloatingPoint:
    """The share of outputs that the neighbouring answer cannot give, for the answers 0 and 1, scale 1."""

    draws: int
    textbook_zero: float
    textbook_one: float
    ours_zero: float
    ours_one: float
    law: str = "Laplace"

    @property
    def textbook(self) -> float:
        """The share over both answers."""
        return (self.textbook_zero + self.textbook_one) / 2

    @property
    def ours(self) -> float:
        """The share over both answers."""
        return (self.ours_zero + self.ours_one) / 2

    def summary(self) -> str:
        """The result in two sentences."""
        return (
            f"Of {self.draws:,} outputs for each of two neighbouring answers, textbook floating-point {self.law} noise "
            f"identifies the answer in {self.textbook:.1%}: the other answer cannot have produced them. "
            f"Noise on the grid does so in {self.ours:.1%}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The shares; `recovered` is that of the textbook's outputs which settle the answer, `ours` that of the grid's."""
        return {"law": self.law, "draws": self.draws, "recovered": self.textbook, "ours": self.ours}

    def chart(self, path: str | None = None) -> Any:
        """An Altair chart of the four shares, saved if a path is given."""
        from tacit.chart import charting, save

        altair = charting()

        rows: list[dict[str, Any]] = [
            {"noise": "textbook floats", "answer": "0", "share": self.textbook_zero},
            {"noise": "textbook floats", "answer": "1", "share": self.textbook_one},
            {"noise": "integers on a grid", "answer": "0", "share": self.ours_zero},
            {"noise": "integers on a grid", "answer": "1", "share": self.ours_one},
        ]
        share = altair.Y("share:Q", title="outputs that only this answer can give").axis(format="%").scale(domain=[0, 1])
        chart = altair.Chart(altair.InlineData(values=rows), title="One output identifies the answer").mark_bar()
        chart = chart.encode(
            x=altair.X("noise:N", title=None, sort=None).axis(labelAngle=0), xOffset="answer:N", y=share, color="answer:N"
        )
        return save(chart, path)


def floating_point(draws: int = 100_000) -> FloatingPoint:
    """Draw from both neighbouring answers with both noises, and ask of each output whether the other answer can give it.

    >>> found = floating_point(draws=20_000)
    >>> 0.6 < found.textbook < 0.7, found.ours
    (True, 0.0)
    """
    from tacit.mechanisms.laplace import Laplace

    step = Laplace(sensitivity=1, epsilon=1).step
    ours = Laplace(sensitivity=1, epsilon=1, step=step, dimension=_check_draws(draws), on_grid=True)
    return _shares("Laplace", textbook_laplace, textbook_can_give, ours, draws)


def floating_point_gaussian(draws: int = 100_000) -> FloatingPoint:
    """The same for Gaussian noise of deviation 1, drawn by the textbook through the inverse of the normal law.

    >>> found = floating_point_gaussian(draws=20_000)
    >>> found.textbook > 0.3, found.ours
    (True, 0.0)
    """
    from tacit.mechanisms.gaussian import Gaussian

    step = Gaussian(sensitivity=1, rho="1/2").step
    ours = Gaussian(sensitivity=1, rho="1/2", step=step, dimension=_check_draws(draws), on_grid=True)
    return _shares("Gaussian", textbook_gaussian, textbook_gaussian_can_give, ours, draws)


def _check_draws(draws: int) -> int:
    if draws < 1:
        raise InvalidInput(f"draws must be at least 1, not {draws}", argument="draws")
    return draws


def _shares(law: str, draw: Sampler, can_give: Reach, ours: Any, draws: int) -> FloatingPoint:
    generator = np.random.default_rng()  # the attacked sampler, see above

    def textbook_share(answer: int, other: int) -> float:
        return 1 - float(can_give(draw(answer, 1.0, draws, generator), other, 1.0).mean())

    def our_share(answer: int, other: int) -> float:
        outputs = np.asarray(ours.release(np.full(draws, answer)), np.float64)
        return 1 - float(grid_can_give(outputs, other, ours.step).mean())

    return FloatingPoint(draws, textbook_share(0, 1), textbook_share(1, 0), our_share(0, 1), our_share(1, 0), law)


def textbook_gaussian(answer: float, scale: float, size: int, generator: np.random.Generator) -> Floats:
    """`answer` plus scale times Phi^-1(U), with U a multiple of 2^-53 in (0, 1)."""
    from scipy.special import ndtri

    return np.asarray(answer + scale * ndtri(np.clip(generator.random(size), 1 / BITS, None)), dtype=np.float64)


def textbook_gaussian_can_give(outputs: Floats, answer: float, scale: float) -> NDArray[np.bool_]:
    """Whether some U gives each output from `answer`: those near Phi of the noise are tried.

    >>> draws = textbook_gaussian(1, 1.0, 20_000, np.random.default_rng(7))
    >>> bool(textbook_gaussian_can_give(draws, 1, 1.0).all()), bool(textbook_gaussian_can_give(draws, 0, 1.0).all())
    (True, False)
    """
    from scipy.special import ndtr, ndtri

    nearest = np.rint(ndtr((outputs - answer) / scale) * BITS)
    reached = np.zeros(len(outputs), dtype=np.bool_)
    for offset in range(-SEARCHED, SEARCHED + 1):
        reached |= answer + scale * ndtri(np.clip(nearest + offset, 1, BITS - 1) / BITS) == outputs
    return reached


def textbook_laplace(answer: float, scale: float, size: int, generator: np.random.Generator) -> Floats:
    """`answer` plus the textbook's noise: a fair sign times -scale ln U, with U a multiple of 2^-53 in (0, 1]."""
    sign = np.where(generator.random(size) < 0.5, -1.0, 1.0)
    return answer + sign * (-scale * np.log(1 - generator.random(size)))


def textbook_can_give(outputs: Floats, answer: float, scale: float) -> NDArray[np.bool_]:
    """Whether some U and sign of the textbook sampler give each output from `answer`: those near the inverse are tried.

    From the answer 0 all its own outputs can be had, and 39.8% of those of the answer 1.

    >>> draws = textbook_laplace(1, 1.0, 50_000, np.random.default_rng(7))
    >>> float(textbook_can_give(draws, 1, 1.0).mean()), round(float(textbook_can_give(draws, 0, 1.0).mean()), 1)
    (1.0, 0.4)
    """
    nearest = np.rint(np.exp(-np.abs(outputs - answer) / scale) * BITS)
    reached = np.zeros(len(outputs), dtype=np.bool_)
    for offset in range(-SEARCHED, SEARCHED + 1):
        numerator = np.clip(nearest + offset, 1, BITS)
        size = -scale * np.log(numerator / BITS)
        reached |= (answer + size == outputs) | (answer - size == outputs)
    return reached


def grid_can_give(outputs: Floats, answer: int, step: Fraction) -> NDArray[np.bool_]:
    """Whether each output is `answer` plus a whole number of steps, which discrete noise draws with some probability.

    Where the step is a power of two, floats are divided by it without rounding; else fractions do it.

    >>> grid_can_give(np.array([0.5, 2.25, 0.3]), answer=1, step=Fraction(1, 4))
    array([ True,  True, False])
    """
    if step.numerator & (step.numerator - 1) == 0 and step.denominator & (step.denominator - 1) == 0 and answer % step == 0:
        return np.asarray(np.fmod(outputs, float(step)) == 0, dtype=np.bool_)
    units = [(Fraction(output) - answer) / step for output in outputs.tolist()]
    return np.array([unit.denominator == 1 for unit in units])


# --- the time of a draw must not disclose its value -------------------------------------------------------------------------


SCALE = 100
LIMIT = 0.05


@dataclass(frozen=True, slots=True)
class Timing:
    """Spearman's correlation of the time of single draws with their magnitude, for coins tossed one by one and for ours."""

    draws: int
    textbook: float
    ours_laplace: float
    ours_gaussian: float

    @property
    def ours(self) -> float:
        """The larger one, without its sign."""
        return max(abs(self.ours_laplace), abs(self.ours_gaussian))

    def summary(self) -> str:
        """The result in one sentence."""
        return (
            f"Rank correlation of time and magnitude over {self.draws:,} single draws: {self.textbook:+.2f} for a sampler that "
            f"flips coins until one fails; {self.ours_laplace:+.3f} (Laplace) and {self.ours_gaussian:+.3f} (Gaussian) for tacit."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return json_figures(
            draws=self.draws, textbook=self.textbook, ours_laplace=self.ours_laplace, ours_gaussian=self.ours_gaussian
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """The three correlations, saved if a path is given."""
        correlations = {"coin by coin": self.textbook, "ours, Laplace": self.ours_laplace, "ours, Gaussian": self.ours_gaussian}
        rows = [{"x": name, "y": abs(value), "series": "rank correlation"} for name, value in correlations.items()]
        return bars(rows, Axes("", "time reveals magnitude", share=True), "What timing reveals", path)


def timing(draws: int = 10_000) -> Timing:
    """Time single draws of both kinds.

    >>> found = timing(draws=2_000)
    >>> found.textbook > 0.5, found.ours < 0.2
    (True, True)
    """
    from tacit.mechanisms.noise.discrete import draw_gaussian, draw_laplace

    generator = np.random.default_rng()  # the attacked sampler; nothing is released with it
    stops = [False] * (SCALE - 1) + [True]

    def coin_by_coin() -> int:
        tossed = 0
        while not stops[int(generator.random() * SCALE)]:
            tossed += 1
        return tossed

    scale = Fraction(SCALE)
    return Timing(
        draws,
        rank_correlation(coin_by_coin, max(draws // 10, 200)),
        rank_correlation(lambda: draw_laplace(scale, 1)[0], draws),
        rank_correlation(lambda: draw_gaussian(scale, 1)[0], draws),
    )


def rank_correlation(draw: Callable[[], Any], count: int) -> float:
    """Spearman's correlation of the time that one draw takes and the magnitude of what it gives; only the draw itself is timed."""
    clock = time.perf_counter_ns
    spent, values = np.empty(count), []
    for index in range(count):
        start = clock()
        value = draw()
        spent[index] = clock() - start
        values.append(abs(int(value)))
    return spearman(spent, np.array(values, dtype=float))


def spearman(one: ArrayLike, other: ArrayLike) -> float:
    """The correlation of ranks, ties at their mean; 0 where one of the two does not vary.

    >>> spearman([1, 2, 3, 4], [10, 20, 90, 100]), spearman([1, 2], [5, 5])
    (1.0, 0.0)
    """
    from scipy.stats import rankdata

    first, second = rankdata(np.asarray(one)), rankdata(np.asarray(other))
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return round(float(np.corrcoef(first, second)[0, 1]), 12)


# --- two ways in which the drawing of noise gives an answer away, side by side -----------------------------------------------


@dataclass(frozen=True, slots=True)
class Samplers:
    """Textbook Laplace and Gaussian noise against ours, by outputs and by time."""

    laplace: FloatingPoint
    gaussian: FloatingPoint
    clock: Timing

    @property
    def holds(self) -> bool:
        """Whether ours give nothing away by their outputs."""
        return self.laplace.ours == self.gaussian.ours == 0

    def summary(self) -> str:
        """The three results."""
        return "\n".join(part.summary() for part in (self.laplace, self.gaussian, self.clock))

    def to_dict(self) -> dict[str, Any]:
        """The textbook's share is `recovered`; `predicted` is the claim of tacit."""
        parts = {"laplace": self.laplace.to_dict(), "gaussian": self.gaussian.to_dict(), "timing": self.clock.to_dict()}
        return json_figures(recovered=self.laplace.textbook, ours=max(self.laplace.ours, self.gaussian.ours), predicted=0, **parts)

    def chart(self, path: str | Path | None = None) -> Any:
        """The share of outputs that identify the answer, by law and by noise."""
        rows = [
            {"x": part.law, "y": share, "series": series}
            for part in (self.laplace, self.gaussian)
            for series, share in (("textbook floats", part.textbook), ("integers on a grid", part.ours))
        ]
        return bars(rows, Axes("", "outputs that identify the answer", share=True), "Noise with a fingerprint", path)


def samplers(draws: int = 1_000_000, timed: int = 10_000) -> Samplers:
    """`draws` outputs of each noise for each of two neighbouring answers, and `timed` timed draws.

    >>> found = samplers(draws=5_000, timed=500)
    >>> found.holds, found.laplace.textbook > 0.5
    (True, True)
    """
    return Samplers(floating_point(draws), floating_point_gaussian(draws), timing(timed))
