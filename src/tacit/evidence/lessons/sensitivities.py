"""Global, local and smooth sensitivity of numbers that a class calls out. Derivations in sensitivities.md.

The numbers are typed, and never of a table: a local sensitivity is a private number. One of them may change to any number within
the bounds; how many there are is public (change-one). A(s) is the largest local sensitivity of data that differ in at most s
numbers, and the smooth sensitivity is the largest A(s) e^(-beta s) (Nissim, Raskhodnikova and Smith 2007).

>>> found = sensitivity_of("median", [1, 2, 3, 1000], bounds=(0, 1000), beta=2)
>>> found.value, found.everywhere, found.here, f"{found.smooth:.6f}", found.at
(Fraction(2, 1), Fraction(1000, 1), Fraction(1, 1), '135.064613', 1)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.accounting.calibrate import laplace_error_up
from tacit.errors import InvalidInput
from tacit.mechanisms.sensitivity import lower_median, mean, population_variance, total
from tacit.mechanisms.smooth.sensitivity import order_place
from tacit.privacy.law import ARITHMETIC
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Neighbours, positive_budget
from tacit.privacy.rounding import Number, as_text, exact
from tacit.release.charts import save_drawing
from tacit.release.plots import Drawing, Mark, Panel

MOST_NUMBERS = 200
SHOWN = 30  # values of s in a picture
Rows = Sequence[Fraction]  # sorted


@dataclass(frozen=True, slots=True)
class Bounded:
    """Sorted numbers with their bounds: x(i) is the i-th, the lower bound before the first and the upper one after the last."""

    rows: tuple[Fraction, ...]
    low: Fraction
    high: Fraction

    @property
    def size(self) -> int:
        return len(self.rows)

    def x(self, place: int) -> Fraction:
        return self.low if place < 1 else self.high if place > self.size else self.rows[place - 1]


Window = tuple[int, int]  # how many of the least, and of the largest, are left out of a mean


def _mean_of_window(numbers: Bounded, window: Window) -> Fraction:
    kept = numbers.rows[window[0] : numbers.size - window[1]]
    return sum(kept, start=Fraction(0)) / len(kept)


def _window_at(numbers: Bounded, window: Window, distance: int) -> Fraction:
    """A(s) of the mean of a window of order statistics: sensitivities.md, 1."""
    kept = numbers.size - sum(window)
    gaps = (
        numbers.x(start + kept + distance - down) - numbers.x(start - down)
        for start in (window[0], window[0] + 1)
        for down in range(distance + 1)
    )
    return max(gaps) / kept


def _variance(numbers: Bounded) -> Fraction:
    middle = _mean_of_window(numbers, (0, 0))
    return sum(((row - middle) ** 2 for row in numbers.rows), start=Fraction(0)) / numbers.size


def _variance_at(numbers: Bounded, distance: int) -> Fraction:
    """A(s) of the variance: sensitivities.md, 3."""
    size, rows = numbers.size, numbers.rows
    if size == 1:
        return Fraction(0)
    low, high = numbers.low, numbers.high
    best = Fraction(0)
    for at, row in enumerate(rows):  # the number that changes is as it was
        others = rows[:at] + rows[at + 1 :]
        for middle in _extreme_means(others, distance, low, high):
            own = (row - middle) ** 2
            best = max(best, own, (high - middle) ** 2 - own, (low - middle) ** 2 - own)
    if distance:  # the number that changes was changed before: to the mean of the others
        least = _extreme_means(rows[:-1], distance - 1, low, high)[0]
        most = _extreme_means(rows[1:], distance - 1, low, high)[1]
        best = max(best, (high - least) ** 2, (most - low) ** 2)
    return best * Fraction(size - 1, size**2)


def _extreme_means(rows: Rows, changes: int, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """The least and the largest mean of sorted rows after `changes` changes."""
    count = min(changes, len(rows))
    least = sum(rows[: len(rows) - count], start=count * low)
    most = sum(rows[count:], start=count * high)
    return least / len(rows), most / len(rows)


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic: its words, its value, and A(s)."""

    words: str
    value: Callable[[Bounded], Fraction]
    at_distance: Callable[[Bounded, int], Fraction]


def _of_place(words: str, place: Callable[[int], int]) -> Statistic:
    def window(numbers: Bounded) -> Window:
        return place(numbers.size) - 1, numbers.size - place(numbers.size)

    return Statistic(
        words,
        lambda numbers: _mean_of_window(numbers, window(numbers)),
        lambda numbers, distance: _window_at(numbers, window(numbers), distance),
    )


def _quartiles(size: int) -> tuple[int, int]:
    return order_place(Fraction(1, 4), size), order_place(Fraction(3, 4), size)


def _range_at(numbers: Bounded, distance: int) -> Fraction:
    """A(s) of the interquartile range: that of the quartile that moves farther (sensitivities.md, 2)."""
    if numbers.size == 1:
        return Fraction(0)
    return max(_window_at(numbers, (place - 1, numbers.size - place), distance) for place in _quartiles(numbers.size))


def _range(numbers: Bounded) -> Fraction:
    first, third = _quartiles(numbers.size)
    return numbers.x(third) - numbers.x(first)


def _trimmed(trim: int) -> Statistic:
    return Statistic(
        f"mean without the {trim} least and the {trim} largest",
        lambda numbers: _mean_of_window(numbers, (trim, trim)),
        lambda numbers, distance: _window_at(numbers, (trim, trim), distance),
    )


STATISTICS: Mapping[str, Statistic] = {
    "median": _of_place("lower median", lambda size: order_place(Fraction(1, 2), size)),
    "mean": Statistic(
        "mean", lambda numbers: _mean_of_window(numbers, (0, 0)), lambda numbers, distance: _window_at(numbers, (0, 0), distance)
    ),
    "max": _of_place("maximum", lambda size: size),
    "min": _of_place("minimum", lambda _: 1),
    "trimmed-mean": _trimmed(1),
    "variance": Statistic("variance (mean squared distance to the mean)", _variance, _variance_at),
    "iqr": Statistic("interquartile range (between the rows n/4 and 3n/4, rounded up)", _range, _range_at),
}


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The sensitivities of one statistic: `everywhere` is global, `here` is local, `smooth` is reached at distance `at`."""

    statistic: str
    words: str
    values: tuple[Fraction, ...]
    bounds: tuple[Fraction, Fraction]
    beta: Fraction
    value: Fraction
    distances: tuple[Fraction, ...]  # A(0), A(1), ..., A(n)

    @property
    def here(self) -> Fraction:
        """The local sensitivity: how far one number can move the statistic of these numbers."""
        return self.distances[0]

    @property
    def everywhere(self) -> Fraction:
        """The global sensitivity for as many numbers within the bounds: all of them may differ."""
        return self.distances[-1]

    @property
    def decayed(self) -> tuple[Decimal, ...]:
        """A(s) e^(-beta s) for s = 0, 1, ..., n, to 50 digits."""
        return tuple(
            ARITHMETIC.multiply(_decimal(reach), ARITHMETIC.exp(_decimal(-self.beta * at)))
            for at, reach in enumerate(self.distances)
        )

    @property
    def smooth(self) -> Decimal:
        """The smooth sensitivity."""
        return max(self.decayed)

    @property
    def at(self) -> int:
        """The least s at which A(s) e^(-beta s) is largest."""
        return self.decayed.index(self.smooth)

    def explanation(self) -> list[str]:
        """The three sensitivities in plain words."""
        low, high = map(as_text, self.bounds)
        return [
            f"{self.words[0].upper()}{self.words[1:]} of {', '.join(map(as_text, self.values))}: {_shown(self.value)}.",
            f"Global sensitivity: {_shown(self.everywhere)}. One number may move the {self.statistic} that far, on some "
            f"{len(self.values)} numbers from {low} to {high}.",
            f"Local sensitivity: {_shown(self.here)}. One number moves it at most that far here, but noise of that scale "
            "would reveal the data.",
            f"Smooth sensitivity at beta {as_text(self.beta)}: {_shown(self.smooth)}. It is A(s) e^(-beta s) at s = {self.at}, "
            f"where A({self.at}) = {_shown(self.distances[self.at])}.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """The same numbers as plain values."""
        return {
            "statistic": self.statistic,
            "value": float(self.value),
            "global": float(self.everywhere),
            "local": float(self.here),
            "smooth": float(self.smooth),
            "beta": as_text(self.beta),
            "at": self.at,
            "distances": [
                {"s": at, "a": float(reach), "decayed": float(decayed)}
                for at, (reach, decayed) in enumerate(zip(self.distances, self.decayed, strict=True))
            ],
        }

    def drawing(self) -> Drawing:
        """A(s) above, and A(s) e^(-beta s) below, whose largest column is the smooth sensitivity."""
        count = min(len(self.distances), SHOWN)
        above = tuple(Mark(str(at), float(self.distances[at])) for at in range(count))
        below = tuple(Mark(str(at), float(self.decayed[at])) for at in range(count))
        largest = ((self.at - 0.5, self.at + 0.5),)
        panels = (
            Panel("A(s), the largest local sensitivity within s changes", above, shaded=largest),
            Panel("A(s) e^(−beta s)", below, rules=((float(self.smooth), _shown(self.smooth)),), shaded=largest),
        )
        three = f"Global {_shown(self.everywhere)}, local {_shown(self.here)}, smooth {_shown(self.smooth)}"
        footer = (f"{three} at beta {as_text(self.beta)}",)
        title = f"Sensitivity of the {self.words.partition(' (')[0]} of {len(self.values)} numbers"
        return Drawing("columns", title, panels, "s, how many numbers differ", (), footer, bins=True)

    def chart(self, path: str | Path) -> Path:
        """Write the picture as .svg, .html or .png."""
        return save_drawing(self.drawing(), path)


def sensitivity_of(
    statistic: str, values: Sequence[Number], bounds: tuple[Number, Number], beta: Number, trim: int = 1
) -> Sensitivity:
    """Global, local and smooth sensitivity of a statistic of typed numbers within `bounds`; `trim` is for the trimmed mean."""
    if statistic not in STATISTICS:
        raise InvalidInput(f"unknown statistic {statistic[:40]!r}; expected one of {', '.join(STATISTICS)}")
    rows = tuple(exact(value, "a value") for value in values)
    low, high = (exact(end, "a bound") for end in bounds)
    if not 1 <= len(rows) <= MOST_NUMBERS:
        raise InvalidInput(
            f"expected 1 to {MOST_NUMBERS} values, not {len(rows)}; give for example values=1,2,3,1000", argument="values"
        )
    if low >= high or not all(low <= row <= high for row in rows):
        raise InvalidInput(
            "bounds must be two numbers with every value between them; give for example bounds=0,1000", argument="bounds"
        )
    chosen = _trimmed(_trim(trim, len(rows))) if statistic == "trimmed-mean" else STATISTICS[statistic]
    numbers = Bounded(tuple(sorted(rows)), low, high)
    distances = tuple(chosen.at_distance(numbers, distance) for distance in range(len(rows) + 1))
    return Sensitivity(statistic, chosen.words, rows, (low, high), positive_budget(beta, "beta"), chosen.value(numbers), distances)


def _trim(trim: int, size: int) -> int:
    if isinstance(trim, bool) or not isinstance(trim, int) or trim < 0 or 2 * trim >= size:
        raise InvalidInput(f"trim must be a whole number from 0 that leaves one of {size} values, not {trim!r}", argument="trim")
    return trim


def _decimal(number: Fraction) -> Decimal:
    return ARITHMETIC.divide(Decimal(number.numerator), Decimal(number.denominator))


def _shown(number: Fraction | Decimal) -> str:
    """Six digits, or all of a whole number."""
    plain = float(number)
    return f"{int(plain):,}" if plain.is_integer() and abs(plain) < 10**15 else f"{plain:,.6g}"


# --- the quiz ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuizQuery:
    """One query of the quiz: its sensitivity for n rows, and the largest answer, with which an error is compared."""

    name: str
    domain: str
    sensitivity: Callable[[int, Neighbours], Fraction | float]
    largest: Callable[[int], int | Fraction]

    def error(self, rows: int, epsilon: Fraction) -> float:
        """The 95 % error of Laplace noise as a share of the largest answer (change-one)."""
        reach = self.sensitivity(rows, CHANGE_ONE)
        if isinstance(reach, float):
            return math.inf
        return float(laplace_error_up(reach / epsilon, Fraction(1, 20)) / self.largest(rows))

    def useful(self, epsilon: Fraction) -> bool:
        """Whether the error falls as rows are added: ten times for a hundred times as many."""
        return self.error(100_000, epsilon) * 10 < self.error(1_000, epsilon) < math.inf


UNIT = (0, 1)
REALS = (-math.inf, math.inf)
QUIZ = (
    QuizQuery("sum of bits", "{0, 1}", lambda _, relation: total(UNIT, relation), lambda rows: rows),
    QuizQuery("sum of reals", "all reals", lambda _, relation: total(REALS, relation), lambda rows: rows),
    QuizQuery("mean", "[0, 1]", lambda rows, relation: mean(UNIT, rows, relation), lambda _: 1),
    QuizQuery("median", "[0, 1]", lambda _, relation: lower_median(UNIT, relation), lambda _: 1),
    QuizQuery("variance", "[0, 1]", lambda rows, relation: population_variance(UNIT, rows, relation), lambda _: Fraction(1, 4)),
)
SIZES = (10, 100, 1000)


def quiz(rows: int = 100, epsilon: Number = 1) -> list[dict[str, Any]]:
    """The quiz of sensitivities (Harvard CS208, 2022), query by query, for `rows` rows and Laplace noise at `epsilon`.

    Global sensitivity under both relations (under add/remove, for at least `rows` rows), the 95 % error as a share of the largest
    answer at 10, 100 and 1,000 rows, and whether Laplace noise is useful.

    >>> [(each["query"], each["change_one"], each["useful"]) for each in quiz(rows=10)][2:]
    [('mean', '1/10', True), ('median', '1', False), ('variance', '9/100', True)]
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InvalidInput(f"rows must be a whole number of at least 1, not {rows!r}", argument="rows")
    budget = positive_budget(epsilon)
    return [
        {
            "query": query.name,
            "domain": query.domain,
            "change_one": _exactly(query.sensitivity(rows, CHANGE_ONE)),
            "add_remove": _exactly(query.sensitivity(rows, ADD_REMOVE)),
            "errors": {str(size): None if math.isinf(error := query.error(size, budget)) else error for size in SIZES},
            "useful": query.useful(budget),
        }
        for query in QUIZ
    ]


def _exactly(number: Fraction | float) -> str:
    return "infinite" if isinstance(number, float) else str(number)
