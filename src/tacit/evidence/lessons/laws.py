"""Two neighbouring laws side by side: their ratio, the probabilities of a set, and delta as an area.

The laws are those of the mechanisms themselves, outcome by outcome (`law`), for two values that are typed and not of a data set.

>>> two = neighbouring_laws("geometric", [10, 11], epsilon=1, inside="x >= 11")
>>> [f"{chance:.6f}" for chance in two.of_set], f"{two.set_ratio:.5f}"
(['0.268941', '0.731059'], '2.71828')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.mechanisms.exponential import Exponential, positive_sensitivity
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.privacy.law import ARITHMETIC, Law, hockey_stick, worst_ratio
from tacit.privacy.loss import positive_budget, probability
from tacit.privacy.rounding import Number, as_text, exact
from tacit.release.charts import save_drawing
from tacit.release.plots import Drawing, Mark, Panel

POINTS = 240  # of a curve, as many as an eye can see
SHOWN = Decimal("0.0015")  # how much of each law may lie beyond each end of a picture
MOST_COLUMNS = 25  # outcomes of a picture of whole numbers
RESOLVED = Decimal("1e-9")  # probabilities below it are not stated: what a law leaves out is below a thousandth of it
SLACK = Decimal(f"1.{'0' * 29}1")  # 50-digit laws of one epsilon are equal within this factor


@dataclass(frozen=True, slots=True)
class Inside:
    """A set of outcomes: an interval of numbers, or a list of names."""

    words: str
    low: Fraction | None = None
    high: Fraction | None = None
    ends: tuple[bool, bool] = (True, True)  # whether each end belongs to it
    names: tuple[str, ...] | None = None

    def __contains__(self, outcome: Hashable) -> bool:
        if self.names is not None:
            return str(outcome) in self.names
        if not isinstance(outcome, int | float):
            return False
        low, high = (None if end is None else float(end) for end in (self.low, self.high))
        above = low is None or outcome > low or (self.ends[0] and outcome == low)
        return above and (high is None or outcome < high or (self.ends[1] and outcome == high))


NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
INTERVAL = re.compile(rf"\s*(?:({NUMBER})\s*(<=|<)\s*)?x\s*(?:(<=|<|>=|>|=)\s*({NUMBER})\s*)?")
NAMES = re.compile(r"\s*x\s*(?:=|in)\s*(.+?)\s*")


def read_set(text: str) -> Inside:
    """The set that a text describes.

    >>> 11 in read_set("x >= 11"), 11 in read_set("10 < x < 11"), "tea" in read_set("x in tea, coffee")
    (True, False, True)
    """
    found = INTERVAL.fullmatch(text)
    if found and (found[1] or found[3]):
        below, under, sign, number = found[1], found[2], found[3], found[4]
        at = None if number is None else Fraction(number)
        if sign in (">", ">=") and below is None:
            return Inside(text.strip(), at, None, (sign == ">=", True))
        if sign in ("<", "<=", None):
            return Inside(text.strip(), None if below is None else Fraction(below), at, (under != "<", sign != "<"))
        if sign == "=" and below is None:
            return Inside(text.strip(), at, at, (True, True))
    elif names := NAMES.fullmatch(text):
        return Inside(text.strip(), names=tuple(name.strip() for name in names[1].split(",")))
    raise InvalidInput(f"invalid set {text[:60]!r}: expected a comparison with x; write for example 'x >= 11' or '10 <= x < 12'")


@dataclass(frozen=True)
class Laws:
    """The laws of one mechanism on two neighbours, `first` and `second`, with a set to compare them by."""

    noise: str  # the mechanism in words
    names: tuple[str, str]
    epsilon: Fraction
    delta: Fraction  # as the mechanism promises
    first: Law
    second: Law
    inside: Inside
    step: Fraction | None = None  # of a curve; None if each outcome is shown by itself

    @cached_property
    def bound(self) -> Decimal:
        """e^epsilon."""
        return ARITHMETIC.exp(_decimal(self.epsilon))

    @cached_property
    def ratio(self) -> Decimal:
        """The largest ratio of the probabilities of one outcome, either way."""
        return max(worst_ratio(self.first, self.second), worst_ratio(self.second, self.first))

    @cached_property
    def of_set(self) -> tuple[Decimal, Decimal]:
        """The probability of the set under each law."""
        return _weight(self.first, self.inside), _weight(self.second, self.inside)

    @cached_property
    def set_ratio(self) -> Decimal | None:
        """The larger probability of the set over the smaller; None if the smaller one is too small to be stated."""
        low, high = sorted(self.of_set)
        return None if low < RESOLVED else ARITHMETIC.divide(high, low)

    @cached_property
    def excess(self) -> Decimal:
        """The least delta at epsilon: the probability beyond e^epsilon times the other law, either way."""
        if self.ratio <= ARITHMETIC.multiply(self.bound, SLACK):
            return Decimal(0)
        budget = _decimal(self.epsilon)
        return max(hockey_stick(self.first, self.second, budget), hockey_stick(self.second, self.first, budget))

    @cached_property
    def belief(self) -> Decimal | None:
        """The belief in one value after the least favourable outcome, of someone who found both equally likely before."""
        return None if self.delta else ARITHMETIC.divide(self.ratio, ARITHMETIC.add(1, self.ratio))

    def explanation(self) -> list[str]:
        """The meaning of both laws in plain words."""
        one, other = self.names
        low, high = self.of_set
        ratio = "not stated, one of them is below 1e-9" if self.set_ratio is None else f"{self.set_ratio:.5f}"
        return [
            f"{self.noise}, on {one} and on {other}.",
            f"Set S: {self.inside.words}. Probability on {one}: {_chance(low)}; on {other}: {_chance(high)}; ratio: {ratio}.",
            f"The promise: at most e^epsilon = {self.bound:.5f} times as likely on one as on the other{self._plus_delta()}.",
            *self._verdict(),
        ]

    def _plus_delta(self) -> str:
        return f", plus delta = {as_text(self.delta)}" if self.delta else ""

    def _verdict(self) -> list[str]:
        if self.belief is not None:
            return [
                f"The largest ratio of any outcome is {self.ratio:.5f}, so delta is {_chance(self.excess)}.",
                f"Someone who finds {self.names[0]} and {self.names[1]} equally likely is at most {100 * self.belief:.1f} % "
                "sure of one of them after the release.",
            ]
        return [
            f"Outcomes far from both have larger ratios. What lies above e^epsilon times the other law is the area delta: "
            f"{_chance(self.excess)} here."
        ]

    def to_dict(self) -> dict[str, Any]:
        """The same numbers as plain values."""
        names = self.names
        return {
            "mechanism": self.noise,
            "values": list(names),
            "epsilon": as_text(self.epsilon),
            "promised_delta": as_text(self.delta),
            "largest_allowed_ratio": float(self.bound),
            "largest_ratio": None if self.delta else float(self.ratio),
            "set": self.inside.words,
            "set_probabilities": dict(zip(names, map(float, self.of_set), strict=True)),
            "set_ratio": None if self.set_ratio is None else float(self.set_ratio),
            "delta": float(self.excess),
        }

    # --- the picture ---

    def drawing(self) -> Drawing:
        """Both laws above, with the set shaded and delta as an area, and the logarithm of their ratio below."""
        return _curves(self) if self.step is not None else _columns(self)

    def chart(self, path: str | Path) -> Path:
        """Write the picture as .svg, .html or .png."""
        return save_drawing(self.drawing(), path)


def _weight(law: Law, inside: Inside) -> Decimal:
    chances = (chance for outcome, chance in law.probabilities.items() if outcome in inside)
    return reduce(ARITHMETIC.add, chances, Decimal(0))


def _chance(number: Decimal) -> str:
    return (
        "0"
        if not number
        else "below 1e-9"
        if number < RESOLVED
        else f"{number:.6f}"
        if number >= Decimal("0.001")
        else f"{number:.4g}"
    )


def _decimal(number: Fraction) -> Decimal:
    return ARITHMETIC.divide(Decimal(number.numerator), Decimal(number.denominator))


# --- the mechanisms ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """Two values with a budget; `sensitivity` is their distance unless it is given."""

    values: tuple[Fraction, ...]
    epsilon: Fraction
    delta: Fraction
    sensitivity: Fraction | None
    others: tuple[Fraction, ...] | None
    candidates: tuple[str, ...] | None


def _pair(asked: Asked) -> tuple[Fraction, Fraction, Fraction]:
    if len(asked.values) != 2 or asked.values[0] == asked.values[1]:
        raise InvalidInput(
            "values must be two different numbers, the answers on two neighbours; give for example values=10,11", argument="values"
        )
    distance = abs(asked.values[0] - asked.values[1])
    if asked.sensitivity is not None and distance > positive_sensitivity(asked.sensitivity):
        raise InvalidInput(
            f"neighbours differ by at most the sensitivity {as_text(asked.sensitivity)}, and these values by {as_text(distance)}; "
            "give values that are closer"
        )
    return *asked.values, asked.sensitivity or distance


def _additive(asked: Asked, mechanism: Laplace | Gaussian, words: str, curve: bool) -> Laws:
    one, other = asked.values
    default = f"x >= {as_text(max(asked.values))}"
    step = mechanism.step if curve else None
    first, second = (mechanism.law(value) for value in asked.values)
    return Laws(words, (as_text(one), as_text(other)), asked.epsilon, asked.delta, first, second, read_set(default), step)


def _laplace(asked: Asked) -> Laws:
    _, _, distance = _pair(asked)
    mechanism = Laplace(distance, asked.epsilon)
    noise = f"Laplace noise of scale {as_text(distance / asked.epsilon)} in steps of {as_text(mechanism.step)}"
    return _additive(asked, mechanism, noise, curve=True)


def _geometric(asked: Asked) -> Laws:
    *values, distance = _pair(asked)
    if any(value.denominator != 1 for value in (*values, distance)):
        raise InvalidInput("values must be whole numbers for geometric noise; give for example values=10,11", argument="values")
    noise = f"Geometric (discrete Laplace) noise of scale {as_text(distance / asked.epsilon)}"
    return _additive(asked, Laplace(distance, asked.epsilon, step=1, on_grid=True), noise, curve=False)


def _gaussian(asked: Asked) -> Laws:
    _, _, distance = _pair(asked)
    mechanism = Gaussian.for_budget(distance, asked.epsilon, asked.delta)
    noise = f"Gaussian noise of standard deviation {float(mechanism.scale * mechanism.step):.5g}"
    return _additive(asked, mechanism, noise, curve=True)


def _randomized_response(asked: Asked) -> Laws:
    if sorted(asked.values) != [0, 1]:
        raise InvalidInput("values must be 0 and 1: randomized response reports one bit; give values=0,1", argument="values")
    mechanism = RandomizedResponse(asked.epsilon)
    noise = f"Randomized response that lies with probability {float(mechanism.flip):.5f}"
    names = (as_text(asked.values[0]), as_text(asked.values[1]))
    first, second = (mechanism.law(int(value)) for value in asked.values)
    return Laws(noise, names, asked.epsilon, Fraction(0), first, second, read_set("x = 1"))


def _exponential(asked: Asked) -> Laws:
    if len(asked.values) < 2:
        raise InvalidInput(
            "values must be the utilities of at least two candidates; give for example values=3,5,2", argument="values"
        )
    reach = positive_sensitivity(asked.sensitivity or 1)
    best = asked.values.index(max(asked.values))
    others = asked.others or tuple(value - reach if at == best else value + reach for at, value in enumerate(asked.values))
    if len(others) != len(asked.values) or any(abs(a - b) > reach for a, b in zip(asked.values, others, strict=False)):
        raise InvalidInput(
            f"the neighbour has one utility for each candidate, at most {as_text(reach)} away; give others= that are closer",
            argument="others",
        )
    names = asked.candidates or tuple(f"candidate {at + 1}" for at in range(len(others)))
    mechanism = Exponential(reach, asked.epsilon, names)
    first, second = (mechanism.law(list(each)) for each in (asked.values, others))
    words = tuple(f"utilities {', '.join(map(as_text, each))}" for each in (asked.values, others))
    noise = f"Exponential mechanism, weights e^({as_text(asked.epsilon / 2)} utility / {as_text(reach)})"
    return Laws(
        noise, (words[0], words[1]), asked.epsilon, Fraction(0), first, second, Inside(f"x = {names[best]}", names=(names[best],))
    )


MECHANISMS: Mapping[str, Callable[[Asked], Laws]] = {
    "laplace": _laplace,
    "gaussian": _gaussian,
    "geometric": _geometric,
    "randomized-response": _randomized_response,
    "exponential": _exponential,
}


def neighbouring_laws(mechanism: str, values: Sequence[Number], epsilon: Number, inside: str | None = None, **more: Any) -> Laws:
    """The laws of a mechanism on two neighbours: two answers, or the utilities of all candidates for the exponential mechanism.

    `inside` is a set such as "x >= 11". More, by name: `delta` (for Gaussian noise, 0.01 unless given), `sensitivity` (the distance
    of the values unless given), and for the exponential mechanism `others`, the utilities on the neighbour, and `candidates`.
    """
    if mechanism not in MECHANISMS:
        raise InvalidInput(f"unknown mechanism {mechanism[:40]!r}; expected one of {', '.join(MECHANISMS)}")
    delta = probability(positive_budget(more.get("delta") or Fraction(1, 100), "delta")) if mechanism == "gaussian" else Fraction(0)
    sensitivity, others = more.get("sensitivity"), more.get("others")
    asked = Asked(
        _numbers(values),
        positive_budget(epsilon),
        delta,
        None if sensitivity is None else exact(sensitivity, "sensitivity"),
        None if others is None else _numbers(others),
        None if more.get("candidates") is None else tuple(more["candidates"]),
    )
    laws = MECHANISMS[mechanism](asked)
    return laws if inside is None else replace(laws, inside=read_set(inside))


def _numbers(values: Sequence[Number]) -> tuple[Fraction, ...]:
    return tuple(exact(value, "a value") for value in values)


# --- pictures ----------------------------------------------------------------------------------------------------------------


def _title(laws: Laws) -> tuple[str, tuple[str, ...]]:
    low, high = laws.of_set
    said = f"Shaded: {laws.inside.words}, with probability {_chance(low)} on {laws.names[0]} and {_chance(high)} on {laws.names[1]}"
    return laws.noise, (said,)


def _footer(laws: Laws) -> tuple[str, ...]:
    plus = f", plus delta {as_text(laws.delta)}" if laws.delta else ""
    return (f"Epsilon {as_text(laws.epsilon)}: no set is more than {laws.bound:.4f} times as likely on one as on the other{plus}",)


def _rules(laws: Laws) -> tuple[tuple[float, str], ...]:
    return (float(laws.epsilon), "epsilon"), (-float(laws.epsilon), "−epsilon")


def _outcomes(laws: Laws) -> list[float]:
    """The numbers that both laws list, without their far ends."""
    shared = sorted(
        number for number in laws.first.probabilities if number in laws.second.probabilities and isinstance(number, int | float)
    )
    ends = [_reached(shared, law, SHOWN) for law in (laws.first, laws.second)]
    return shared[min(low for low, _ in ends) : max(high for _, high in ends) + 1]


def _reached(outcomes: list[Any], law: Law, share: Decimal) -> tuple[int, int]:
    """The places between which a law has all but this share at either end."""
    ends = []
    for order in (range(len(outcomes)), range(len(outcomes) - 1, -1, -1)):
        total, place = Decimal(0), order[0]
        for place in order:
            total += law.probabilities[outcomes[place]]
            if total > share:
                break
        ends.append(place)
    return ends[0], ends[1]


def _ratio_name(laws: Laws) -> str:
    return f"ln of the ratio, {laws.names[1]} over {laws.names[0]}"


def _loss(laws: Laws, outcome: Hashable) -> float:
    return float(ARITHMETIC.ln(ARITHMETIC.divide(laws.second.probabilities[outcome], laws.first.probabilities[outcome])))


def _curves(laws: Laws) -> Drawing:
    title, notes = _title(laws)
    every = _outcomes(laws)
    every = every[:: max(1, len(every) // POINTS)]
    step = float(laws.step or 1)
    densities = [{at: float(law.probabilities[at]) / step for at in every} for law in (laws.first, laws.second)]
    marks = [
        Mark(at, density[at], series=f"on {name}") for density, name in zip(densities, laws.names, strict=True) for at in every
    ]
    if laws.delta:
        marks += _area(laws, densities, every)
    ratio = [Mark(at, _loss(laws, at)) for at in every]
    shaded = ((_end(laws.inside.low, every[0]), _end(laws.inside.high, every[-1])),)
    panels = (
        Panel("density of the release x", tuple(marks), shaded=shaded),
        Panel(_ratio_name(laws), tuple(ratio), rules=_rules(laws), shaded=shaded),
    )
    return Drawing("line", title, panels, "x", notes, _footer(laws))


def _area(laws: Laws, densities: list[dict[float, float]], every: list[float]) -> list[Mark]:
    """The part of the second law above e^epsilon times the first, whose area is delta."""
    bound = float(laws.bound)
    return [
        Mark(
            at,
            densities[1][at],
            bound * densities[0][at],
            densities[1][at],
            f"above e^epsilon times the other: area {_chance(laws.excess)}",
        )
        for at in every
        if densities[1][at] > bound * densities[0][at]
    ]


def _end(number: Fraction | None, otherwise: float) -> float:
    return otherwise if number is None else float(number)


def _columns(laws: Laws) -> Drawing:
    title, notes = _title(laws)
    outcomes: list[Any] = list(laws.first.probabilities)
    if len(outcomes) > MOST_COLUMNS:
        outcomes = _outcomes(laws)
        middle = len(outcomes) // 2
        outcomes = outcomes[max(0, middle - MOST_COLUMNS // 2) : middle + MOST_COLUMNS // 2 + 1]
    labels = {outcome: f"{outcome:g}" if isinstance(outcome, float) else str(outcome) for outcome in outcomes}
    pairs = zip((laws.first, laws.second), laws.names, strict=True)
    marks = [Mark(labels[at], float(law.probabilities[at]), series=f"on {name}") for law, name in pairs for at in outcomes]
    ratio = [Mark(labels[at], _loss(laws, at)) for at in outcomes]
    shaded = tuple((place - 0.5, place + 0.5) for place, at in enumerate(outcomes) if at in laws.inside)
    panels = (
        Panel("probability", tuple(marks), shaded=shaded),
        Panel(_ratio_name(laws), tuple(ratio), rules=_rules(laws), shaded=shaded),
    )
    return Drawing("columns", title, panels, "x", notes, _footer(laws))
