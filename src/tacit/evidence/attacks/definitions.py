"""Definitions of privacy that fail, each shown on a small example, with exact probabilities.

Each function returns a `Demonstration`: the promise of the definition, the loss in the sense of differential privacy, and the
probability that the release gives a person away. The names of those who proposed or refuted them are with each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from math import comb, exp, inf
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, json_figures, lines
from tacit.privacy.law import ARITHMETIC, Law, hockey_stick, worst_log_ratio
from tacit.privacy.rounding import Number, as_text, exact
from tacit.privacy.universe import Universe

Rows = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The promise of a definition, and the harm that it allows. `curve` is the chance of harm along `along`, if it has one."""

    name: str
    promised: str
    happens: str
    loss: float
    recovered: Fraction
    along: str = ""
    curve: tuple[tuple[Fraction, Fraction], ...] = ()

    def summary(self) -> str:
        """The demonstration in two sentences."""
        loss = "infinite" if self.loss == inf else f"{self.loss:.4g}"
        return f"{self.name}. {self.promised} {self.happens} Loss: {loss}; chance of harm: {float(self.recovered):.4g}."

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return json_figures(
            name=self.name,
            promised=self.promised,
            happens=self.happens,
            loss=self.loss,
            recovered=self.recovered,
            curve=self.curve,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """The chance of harm along its parameter; a level line where it depends on nothing."""
        points = self.curve or ((Fraction(0), self.recovered), (Fraction(1), self.recovered))
        rows = [{"x": float(x), "y": float(y), "series": self.name} for x, y in points]
        return lines(rows, Axes(self.along or " ", "chance of harm", share=True), self.name, path)


def random_row(people: int = 5) -> Demonstration:
    """Release a row picked at random: all neighbours are within statistical distance 1/n, and yet one person's row is published.

    Dwork (2006) and others: a distance in sums of probabilities says nothing at 1/n, and less than 1/n is of no use.

    >>> shown = random_row(4)
    >>> shown.recovered, shown.loss
    (Fraction(1, 1), inf)
    """
    distance, loss = Decimal(0), Decimal(0)
    for rows, other in _neighbours(people):
        one, two = _law_of_pick(rows), _law_of_pick(other)
        distance = max(distance, hockey_stick(one, two, Decimal(0)))
        loss = max(loss, worst_log_ratio(one, two))
    return Demonstration(
        "Publish a random row",
        f"Neighbours are never farther apart than {float(distance):.4g} = 1/n in statistical distance.",
        "One person's row is published each time.",
        float(loss),
        Fraction(1),
        "",
    )


def released_sample(people: int = 100, size: int = 10, unique: int = 20) -> Demonstration:
    """Release a sample: an output with a unique row cannot come from data without its person.

    Chaudhuri and Mishra (2006): safe with high probability if unique rows are rare. They are not, in data worth having.

    >>> float(released_sample(100, 10, 20).recovered) > 0.9, released_sample(100, 10, 0).loss
    (True, 0.0)
    """
    if not 0 <= unique <= people or not 0 < size <= people:
        raise InvalidInput(f"a sample of {size} and {unique} unique rows are too many for {people} people")

    def bad(rare: int) -> Fraction:
        return 1 - Fraction(comb(people - rare, size), comb(people, size))

    curve = tuple((Fraction(rare, people), bad(rare)) for rare in range(people + 1))
    return Demonstration(
        "A released sample",
        f"Only {size} of {people} rows are released unchanged, without names.",
        f"{unique} rows are unique: one of them in the sample proves that its person is in the data.",
        inf if unique else 0.0,
        bad(unique),
        "share of rows that are unique",
        curve,
    )


def fit_and_resample(people: int = 100, drawn: int = 100) -> Demonstration:
    """Learn the distribution and release points drawn from it: the learnt distribution still depends on each row.

    The definition (only the distribution is revealed) is circular: the fitted distribution is a function of the data.

    >>> round(float(fit_and_resample(100, 100).recovered), 3)
    0.634
    """

    def chance_of_row(count: int) -> Fraction:
        return 1 - (1 - Fraction(1, people)) ** count

    steps = sorted({round(drawn * share / 20) for share in range(21)} | {drawn})
    return Demonstration(
        "Fit a distribution and draw from it",
        f"All {drawn} points are synthetic, drawn from frequencies fitted to {people} rows.",
        "A value that only one person has can be drawn only if that person is in the data.",
        inf,
        chance_of_row(drawn),
        "points drawn",
        tuple((Fraction(count), chance_of_row(count)) for count in steps),
    )


def told_apart(function: Callable[[Rows], Hashable], universe: Universe, size: int) -> tuple[Rows, Rows] | None:
    """Two databases of `size` rows that differ in one row and that `function` tells apart; None where it is constant on that size.

    Any deterministic map that is not constant has such a pair: change the rows of one input into those of another with a different
    output one by one; the output changes somewhere on the way.

    >>> told_apart(lambda rows: sum(rows) > 2, Universe((0, 1)), size=4)
    ((0, 1, 1, 0), (0, 1, 1, 1))
    >>> told_apart(len, Universe((0, 1)), size=4) is None
    True
    """
    first: Rows | None = None
    for database in universe.databases(size):
        if first is None:
            first = database.rows
        elif function(database.rows) != function(first):
            return _step(function, first, database.rows)
    return None


def deterministic(function: Callable[[Rows], Hashable], universe: Universe, size: int) -> Demonstration:
    """The same as a demonstration: the pair, and its infinite loss.

    >>> deterministic(max, Universe((0, 1, 2)), size=3).loss
    inf
    """
    pair = told_apart(function, universe, size)
    if pair is None:
        return Demonstration("A constant", "Nothing depends on the data.", "Nothing is learnt.", 0.0, Fraction(0))
    return Demonstration(
        "A deterministic answer",
        "The answer is an aggregate over all rows, without noise.",
        f"{pair[0]} and {pair[1]} differ in one row and have different answers.",
        inf,
        Fraction(1),
    )


def input_perturbation(width: int = 10, distance: int = 8) -> Demonstration:
    """Add bounded noise to each row and release the rows: an output out of the other value's reach settles which it was.

    Rows with values `distance` apart and uniform noise from -width to width. To be private a row's noise must cover its whole
    range, as randomized response does; then it is the local model, with its error.

    >>> input_perturbation(width=2, distance=2).recovered
    Fraction(2, 5)
    """
    chance = ARITHMETIC.divide(Decimal(1), 2 * width + 1)
    one, other = (Law({value + start: chance for value in range(-width, width + 1)}) for start in (0, distance))

    def beyond(gap: int) -> Fraction:
        return min(Fraction(1), Fraction(gap, 2 * width + 1))

    return Demonstration(
        "Noise on each row",
        f"Every row is released with noise uniform from {-width} to {width}.",
        f"Of two values {distance} apart, an output beyond the reach of one proves the other.",
        float(worst_log_ratio(one, other)),
        beyond(distance),
        "distance of the two values",
        tuple((Fraction(gap), beyond(gap)) for gap in range(2 * width + 3)),
    )


def one_plus_epsilon(epsilon: Number = 1) -> Demonstration:
    """(1 +- epsilon) is not e^epsilon: Laplace noise of scale 1/epsilon has ratios of e^epsilon, more than 1 + epsilon.

    A theorem stated for the one and proved for the other fails by their difference; and k people multiply, (e^epsilon)^k.

    >>> shown = one_plus_epsilon(1)
    >>> round(shown.loss, 10), "2.718" in shown.happens
    (1.0, True)
    """
    from tacit.mechanisms.laplace import Laplace

    budget = exact(epsilon, "epsilon")
    mechanism = Laplace(sensitivity=1, epsilon=budget, step=1, on_grid=True)
    one, other = mechanism.law(1), mechanism.law(0)
    ratio = ARITHMETIC.exp(worst_log_ratio(one, other))
    exceeding = sum(
        (weight for outcome, weight in one.probabilities.items() if _exceeds(weight, other, outcome, 1 + budget)), Decimal(0)
    )
    grid = [budget * part / 10 for part in range(21)]
    return Demonstration(
        "(1 +- epsilon) for e^epsilon",
        f"Every output is at most {as_text(1 + budget)} times as likely as from a neighbour, by the claim.",
        f"Laplace noise has a ratio of {float(ratio):.4g}.",
        float(worst_log_ratio(one, other)),
        Fraction(exceeding).limit_denominator(10**12),
        "epsilon",
        tuple((each, exact(min(1.0, exp(float(each)) - 1 - float(each)))) for each in grid),
    )


@dataclass(frozen=True, slots=True)
class Gallery:
    """Several demonstrations, one after the other."""

    shown: tuple[Demonstration, ...]

    def summary(self) -> str:
        """All demonstrations in sentences."""
        return "\n\n".join(one.summary() for one in self.shown)

    def to_dict(self) -> dict[str, Any]:
        """All demonstrations as plain values, ready for JSON."""
        return {"definitions": [one.to_dict() for one in self.shown]}

    def chart(self, path: str | Path | None = None) -> Any:
        """The chance of harm in a sample and under noise on each row, along its parameter, as shares of the largest."""
        drawn = [one for one in self.shown if one.curve]
        rows = [{"x": float(x / one.curve[-1][0]), "y": float(y), "series": one.name} for one in drawn for x, y in one.curve]
        return lines(rows, Axes("share of the largest", "chance of harm", share=True), "Definitions that fail", path)


def gallery() -> Gallery:
    """All of them, as they are shown on the command line.

    >>> [one.loss for one in gallery().shown][:5] == [inf] * 5
    True
    """
    majority = deterministic(lambda rows: sum(int(str(row)) for row in rows) >= 2, Universe((0, 1)), 4)
    return Gallery((random_row(), released_sample(), fit_and_resample(), majority, input_perturbation(), one_plus_epsilon()))


def _neighbours(people: int) -> Iterator[tuple[Rows, Rows]]:
    for rows in product((0, 1), repeat=people):
        for place in range(people):
            yield rows, (*rows[:place], 1 - rows[place], *rows[place + 1 :])


def _law_of_pick(rows: Rows) -> Law:
    return Law({(place, row): ARITHMETIC.divide(Decimal(1), len(rows)) for place, row in enumerate(rows)})


def _step(function: Callable[[Rows], Hashable], one: Rows, other: Rows) -> tuple[Rows, Rows]:
    path = [(*other[:place], *one[place:]) for place in range(len(one) + 1)]
    return next(pair for pair in pairwise(path) if function(pair[0]) != function(pair[1]))


def _exceeds(weight: Decimal, other: Law, outcome: Hashable, most: Fraction) -> bool:
    against = other.probabilities.get(outcome)
    return against is not None and weight * most.denominator > against * most.numerator
