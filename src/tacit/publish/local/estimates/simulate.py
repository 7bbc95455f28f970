"""Simulated surveys, and the two ends of randomized response between which every survey lies.

Simulated surveys: the expected error for several epsilons and numbers of people, by theory and by simulation.

The people are invented (each answer has its share of them), and only they are: their answers go through the randomizers
that real people use. A share or a value taken from real data makes the result a release without protection: show it only to
people who may see that data.

The two ends of randomized response: p = 0, where every report is the answer, and p = 1/2, where it is a fair coin.

The first example of a lecture (Ziani). Neither is a way to ask people: the one protects no one, the other tells nothing. They are
here for simulations only; `RandomizedResponse` and `Binary` refuse them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import choice
from tacit.mechanisms.randomized_response import posterior
from tacit.privacy.rounding import Number, as_text, exact
from tacit.publish.local.estimates.estimate import Tally, Total, is_oracle, numeric, share_variance
from tacit.publish.local.estimates.estimate import shares as estimated
from tacit.publish.local.estimates.results import Rows, table
from tacit.publish.local.randomizers.randomizer import FrequencyOracle, Randomizer

Make = Callable[[Fraction], Randomizer]


@dataclass(frozen=True, slots=True)
class Cell:
    """One epsilon and number of people: the exact root of the mean square error, the one that was seen, and in how many runs."""

    epsilon: Fraction
    people: int
    theory: float
    simulated: float
    runs: int


@dataclass(frozen=True, slots=True)
class Simulation(Rows):
    """The error against the number of people and epsilon; of all shares on average, or of a mean."""

    columns: ClassVar = ("epsilon", "people", "theory", "simulated")
    what: str
    cells: tuple[Cell, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary for each epsilon and number of people."""
        return [
            {"epsilon": as_text(each.epsilon), "people": each.people, "theory": each.theory, "simulated": each.simulated}
            for each in self.cells
        ]

    def __str__(self) -> str:
        rows = [(row["epsilon"], str(row["people"]), f"{row['theory']:.4g}", f"{row['simulated']:.4g}") for row in self.to_rows()]
        whole = table(self.columns, rows)
        return f"{whole}\ntypical error of {self.what}, {self.cells[0].runs} runs each"

    def chart(self, path: str | Path | None = None, note: str = "") -> Any:
        """An Altair chart: theory as lines, trials as dots, a colour for each epsilon, both axes by powers of ten; a note below
        the title, if there is one.
        """
        from tacit.chart import COLOURS, charting, save

        alt = charting()
        names = list(dict.fromkeys(f"epsilon {as_text(each.epsilon)}" for each in self.cells))
        rows = [{**row, "name": f"epsilon {row['epsilon']}"} for row in self.to_rows()]
        colours = [COLOURS[1:][at % len(COLOURS[1:])] for at in range(len(names))]
        base = alt.Chart(alt.InlineData(values=rows)).encode(
            x=alt.X("people:Q", scale=alt.Scale(type="log"), title="people", axis=alt.Axis(grid=False, format="~s")),
            color=alt.Color("name:N", title=None, sort=names, scale=alt.Scale(domain=names, range=colours)),
        )
        axis = alt.Axis(gridOpacity=0.4, tickCount=6, format="~g")
        scale = alt.Scale(type="log")
        lines = base.mark_line(strokeWidth=2).encode(y=alt.Y("theory:Q", scale=scale, axis=axis, title=f"error of {self.what}"))
        dots = base.mark_circle(size=45, opacity=1).encode(y=alt.Y("simulated:Q", scale=scale))
        said = ["lines: exact; dots: simulated surveys", *([note] if note else [])]
        title = alt.TitleParams("What local privacy costs", subtitle=said, anchor="start")
        return save((lines + dots).properties(title=title, width=480, height=300).configure_view(stroke=None), path)


def simulate(make: Make, truth: Sequence[Number], epsilons: Sequence[Number], people: Sequence[int], runs: int = 100) -> Simulation:
    """Surveys by the randomizers that `make` makes for each epsilon, of each number of people, `runs` times.

    `truth` holds the shares of the categories, or, for a numeric randomizer, the values that people have in turn.

    >>> from tacit.publish.local.randomizers.categories import Binary
    >>> found = simulate(Binary, truth=["0.7", "0.3"], epsilons=[1], people=[100, 10_000], runs=2)
    >>> [f"{cell.theory:.4f}" for cell in found.cells]
    ['0.0960', '0.0096']
    """
    if not (epsilons and people and runs >= 1 and min(people) >= 1):
        raise InvalidInput("a simulation requires at least one epsilon, one number of people and one run")
    randomizers = [make(exact(epsilon, "epsilon")) for epsilon in epsilons]
    cells = [_cell(randomizer, truth, count, runs) for randomizer in randomizers for count in people]
    return Simulation("a share" if is_oracle(randomizers[0]) else "the mean", tuple(cells))


def _cell(randomizer: Randomizer, truth: Sequence[Number], people: int, runs: int) -> Cell:
    trial = _of_shares if is_oracle(randomizer) else _of_mean
    theory, errors = trial(randomizer, truth, people, runs)  # type: ignore[arg-type]
    return Cell(randomizer.epsilon, people, theory, math.sqrt(float(np.mean(np.square(errors)))), runs)


Trial = tuple[float, NDArray[np.float64]]


def _of_shares(oracle: FrequencyOracle, shares: Sequence[Number], people: int, runs: int) -> Trial:
    """The exact error of a category on average, and the errors seen."""
    values = population(shares, people)
    if len(shares) != oracle.size:
        raise InvalidInput(f"the randomizer has {oracle.size} categories; give the share of each")
    held = np.bincount(values, minlength=oracle.size)
    variances = [share_variance(oracle, Fraction(int(count), people), people) for count in held]
    tallies = [Tally.of(oracle, oracle.randomize(values)) for _ in range(runs)]
    errors = np.array([estimated(oracle, each.supports, people) - held / people for each in tallies])
    return math.sqrt(sum(variances, start=Fraction(0)) / oracle.size), errors


def _of_mean(randomizer: Any, truth: Sequence[Number], people: int, runs: int) -> Trial:
    """The exact error of the mean, and the errors seen; for the values on the grid."""
    number = numeric(randomizer)
    places = randomizer.index(np.resize(np.array([float(exact(value, "truth")) for value in truth]), people))
    codes, counts = np.unique(places, return_counts=True)
    points = [randomizer.point(int(code)) for code in codes]
    variance = sum((int(n) * randomizer.variance_at(int(at)) for at, n in zip(codes, counts, strict=True)), start=Fraction(0))
    mean = float(sum((int(n) * x for x, n in zip(points, counts, strict=True)), start=Fraction(0)) / people)
    values = np.array([float(point) for point in points])[np.searchsorted(codes, places)]
    totals = [Total.of(number, number.randomize(values)) for _ in range(runs)]
    return math.sqrt(variance) / people, np.array([each.total / people - mean for each in totals])


def population(shares: Sequence[Number], people: int) -> NDArray[np.int64]:
    """Invented people, the number with each code by its share; the largest remainders are rounded up.

    >>> population(["1/2", "1/4", "1/4"], people=5)
    array([0, 0, 0, 1, 2])
    """
    parts = [exact(share, "share") for share in shares]
    if not parts or min(parts) < 0 or sum(parts) != 1:
        raise InvalidInput(
            "the shares of a population must be at least 0 and sum to exactly 1; write them as decimals or fractions"
        )
    whole = [math.floor(part * people) for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda code: whole[code] - parts[code] * people)
    for code in by_remainder[: people - sum(whole)]:
        whole[code] += 1
    return np.repeat(np.arange(len(parts), dtype=np.int64), whole)


# --- the two ends of randomized response -------------------------------------------------------------------------------------


HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class End:
    """Reports of bits that are flipped with probability 0 or 1/2.

    >>> End(0).epsilon, End("1/2").epsilon, End(0).estimate([1, 0, 0, 0]), End("1/2").estimate([1, 0, 0, 0])
    (inf, 0.0, 0.25, None)
    """

    flip: Fraction

    def __init__(self, flip: Number) -> None:
        object.__setattr__(self, "flip", exact(flip, "flip"))
        if self.flip not in (0, HALF):
            raise InvalidInput(f"flip must be 0 or 1/2, not {flip}", argument="flip")

    @property
    def epsilon(self) -> float:
        """ln((1 - flip) / flip): infinite, or 0."""
        return inf if self.flip == 0 else 0.0

    @property
    def meaning(self) -> str:
        """The meaning of this flip probability, in words."""
        return "no privacy: every report is the answer" if self.flip == 0 else "perfect privacy: every report is a fair coin"

    def randomize(self, bits: Any) -> Any:
        """The reports."""
        truth = np.asarray(bits).astype(np.int64)
        return truth if self.flip == 0 else truth ^ choice.bernoulli(HALF, truth.size).reshape(truth.shape)

    def estimate(self, reports: Any) -> float | None:
        """The share of ones among the answers: exactly, or not at all, since all shares give the same reports."""
        return float(np.mean(reports)) if self.flip == 0 else None

    def posterior(self, prior: Number, report: int) -> Fraction | None:
        """The belief in a one after a report, given `prior` before; None for a report that cannot occur.

        >>> End("1/2").posterior("0.3", 1), End(0).posterior("0.3", 1), End(0).posterior(0, 1)
        (Fraction(3, 10), Fraction(1, 1), None)
        """
        believed = exact(prior, "prior")
        return None if self.flip == 0 and believed == 1 - report else posterior(self.flip, believed, report)
