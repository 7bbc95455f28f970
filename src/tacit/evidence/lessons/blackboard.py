"""Examples of a blackboard, computed: an urn, two counties, three colours, two counts that differ in one person, and thresholds.

Everything is exact, from numbers that are typed. The notes whose numbers are the defaults are named at each function.

>>> print(urn().explanation()[-1])
Ratio 7 = (6 + 1)/1. With noise 1 on every block, no outcome has a larger one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, floor, prod
from typing import Any

from tacit.errors import InvalidInput
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number, as_text, exact

MOST_DRAWS = 1000
MOST_ROWS = 5  # 3^5 databases, each with 10 neighbours
SHOWN_FACTORS = 6


@dataclass(frozen=True, slots=True)
class Example:
    """One example: the lines that explain it, and its figures."""

    lines: tuple[str, ...]
    figures: dict[str, Any]

    def explanation(self) -> list[str]:
        """The example in plain words."""
        return list(self.lines)

    def to_dict(self) -> dict[str, Any]:
        """The same numbers as plain values."""
        return dict(self.figures)


def _count(value: int, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(f"{name} must be a whole number from {least} to {most:,}, not {value!r}", argument=name)
    return value


def _percent(chance: Fraction) -> str:
    return f"{float(100 * chance):.4g} %"


# --- the urn -----------------------------------------------------------------------------------------------------------------


def urn(mass: Number = 10, noise: Number = 1, draws: int = 6) -> Example:
    """All draws from one block that has only noise on one database, and one worker more on its neighbour.

    The worked example of a tutorial (Machanavajjhala and others, 2009): 10 in the urn, 6 synthetic workers, ratio 7.
    """
    total, weight = exact(mass, "mass"), exact(noise, "noise")
    _count(draws, "draws", 1, MOST_DRAWS)
    if not 0 < weight <= total - 1:
        raise InvalidInput(
            "noise must be above 0 and leave one worker in the urn; give for example noise=1 in a mass of 10", argument="noise"
        )
    without, with_him = (_all_from(start, total, draws) for start in (weight, weight + 1))
    ratio = with_him / without
    lines = (
        f"An urn with a mass of {as_text(total)}, noise included; the block red has {as_text(weight)} of it on D1, and "
        f"{as_text(weight + 1)} on D2, where worker 1 lives there.",
        f"All {draws} synthetic workers come from red:",
        f"  D1  {_factors(weight, total, draws)} = {float(without):.4g}",
        f"  D2  {_factors(weight + 1, total, draws)} = {float(with_him):.4g}",
        f"Ratio {as_text(ratio)} = ({draws} + {as_text(weight)})/{as_text(weight)}. With noise {as_text(weight)} on every block, "
        "no outcome has a larger one.",
    )
    return Example(lines, {"first": float(without), "second": float(with_him), "ratio": float(ratio)})


def _all_from(weight: Fraction, mass: Fraction, draws: int) -> Fraction:
    """The chance that every draw of a Polya urn comes from a block of this weight."""
    return prod(((weight + drawn) / (mass + drawn) for drawn in range(draws)), start=Fraction(1))


def _factors(weight: Fraction, mass: Fraction, draws: int) -> str:
    shown = [f"{as_text(weight + drawn)}/{as_text(mass + drawn)}" for drawn in range(draws)]
    return " x ".join(shown if draws <= SHOWN_FACTORS else [*shown[:3], "...", shown[-1]])


# --- two counties ------------------------------------------------------------------------------------------------------------


def counties(noise: Number = 1, others: int = 9, draws: int = 10) -> Example:
    """A worker from Somerset or from Fayette, who is the only one from there: noise on occupied counties only, or on all.

    Theorem 2 of a tutorial (Machanavajjhala and others, 2009), with its two counties.
    """
    weight = exact(noise, "noise")
    if weight <= 0:
        raise InvalidInput("noise must be above 0; give for example noise=1", argument="noise")
    _count(others, "others", 1, 10**6)
    _count(draws, "draws", 1, MOST_DRAWS)
    lines = [
        f"Worker W comes from Somerset (D1) or from Fayette (D2), and {others} others from elsewhere; {draws} synthetic workers."
    ]
    figures: dict[str, Any] = {}
    for words, empty in (("on occupied counties only", Fraction(0)), ("on every county", weight)):
        mass = others + 1 + 2 * weight + empty
        seen = [1 - _all_from(mass - here, mass, draws) for here in (1 + weight, empty)]
        belief = seen[0] / sum(seen)
        ratio = None if not empty else (draws + weight) / weight
        lines += [
            f"Noise of {as_text(weight)} {words}: a synthetic worker from Somerset has probability {_percent(seen[0])} on D1, "
            f"{_percent(seen[1])} on D2.",
            f"  Whoever sees one, and found both counties equally likely, is {_percent(belief)} sure that W comes from Somerset. "
            + ("The ratio of outcomes is infinite." if ratio is None else f"No outcome has a ratio above {as_text(ratio)}."),
        ]
        figures["occupied" if not empty else "every"] = {
            "on_d1": float(seen[0]),
            "on_d2": float(seen[1]),
            "belief": float(belief),
            "ratio": None if ratio is None else float(ratio),
        }
    return Example(tuple(lines), figures)


# --- blue, green and red -----------------------------------------------------------------------------------------------------

COLOURS = ("blue", "green", "red")


def colours(rows: int = 5, epsilon: Number = 1) -> Example:
    """Each row is blue, green or red; all but the first are known to be blue: a histogram without noise, and with it.

    The picture by which a tutorial (Machanavajjhala and others, 2009) introduces differential privacy.
    """
    _count(rows, "rows", 2, MOST_ROWS)
    budget = positive_budget(epsilon)
    databases = list(product(COLOURS, repeat=rows))
    farthest = max(_distance(one, other) for one in databases for other in _changed(one))
    pairs = len(databases) * rows * (len(COLOURS) - 1) // 2
    bound = exp(float(budget))
    first, second = (f"{', '.join(map(str, _histogram((colour, *['blue'] * (rows - 1)))))}" for colour in ("green", "red"))
    lines = (
        f"{len(databases):,} databases of {rows} rows, each blue, green or red; {pairs:,} pairs differ in one row.",
        "An adversary knows that all rows but the first are blue, and that the first is green (D1) or red (D2).",
        f"Exact histogram (blue, green, red): {first} on D1 and {second} on D2. One look tells them apart: the ratio is infinite.",
        f"Over all pairs the counts differ by {farthest} in sum, so each gets Laplace noise of scale {farthest}/epsilon = "
        f"{as_text(farthest / budget)}.",
        f"Then no outcome is more than e^{as_text(budget)} = {bound:.5f} times as likely on one as on the other: "
        f"from even odds, at most {100 * bound / (1 + bound):.1f} % sure of green.",
    )
    figures = {"databases": len(databases), "pairs": pairs, "distance": farthest, "ratio": bound, "belief": bound / (1 + bound)}
    return Example(lines, figures)


def _histogram(database: Sequence[str]) -> tuple[int, ...]:
    return tuple(database.count(colour) for colour in COLOURS)


def _distance(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(abs(left - right) for left, right in zip(_histogram(one), _histogram(other), strict=True))


def _changed(database: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The databases that differ in one row."""
    return [(*database[:at], colour, *database[at + 1 :]) for at, old in enumerate(database) for colour in COLOURS if colour != old]


# --- two counts whose difference is one person -------------------------------------------------------------------------------


def difference(bits: str = "10110", person: int = 5, epsilon: Number = 1) -> Example:
    """Two counts, of all people and of all except one: their difference, exact and with noise from one budget.

    The bits are typed as zeros and ones; people are numbered from 1.
    """
    if not bits or len(bits) > MOST_DRAWS or set(bits) - {"0", "1"}:
        raise InvalidInput("bits must be zeros and ones; give for example bits=10110", argument="bits")
    _count(person, "person", 1, len(bits))
    budget = positive_budget(epsilon)
    total, rest = bits.count("1"), bits.count("1") - int(bits[person - 1])
    kept = exp(-float(budget) / 2)
    equal = (1 - kept) ** 2 / (1 + kept) ** 2 * (1 + kept**2) / (1 - kept**2)
    right, bound = (1 + equal) / 2, exp(float(budget)) / (1 + exp(float(budget)))
    lines = (
        f"The bits of {len(bits)} people: {bits}. The count of all is {total}; without person {person} it is {rest}.",
        f"Exact: the difference {total} - {rest} = {total - rest} is the bit of person {person}.",
        f"With geometric noise of epsilon {as_text(budget / 2)} on each count, {as_text(budget)} in total, the sign of the "
        f"difference guesses the bit rightly in {100 * right:.1f} % of all cases.",
        f"No way to guess is right in more than {100 * bound:.1f} % if both bits were equally likely before.",
    )
    return Example(lines, {"bit": total - rest, "right": right, "at_most": bound})


# --- how much noise ----------------------------------------------------------------------------------------------------------


def thresholds(people: int = 40) -> Example:
    """The rows that every adversary gets right when all subset counts are answered within alpha, from n/40 to n/2.

    The two thresholds of lecture slides on the Laplace mechanism, after Dinur and Nissim (2003): n/40 and n/2.
    """
    _count(people, "people", 2, 10**6)
    lines = [
        f"All subset counts of {people:,} people are answered within alpha. At most 4 alpha rows are rebuilt wrongly:",
        "  alpha    within    wrong at most    right at least",
    ]
    rows = []
    for part in (40, 20, 10, 8, 4, 2):
        wrong = min(people, floor(Fraction(4 * people, part)))
        lines.append(f"  n/{part:<5} {as_text(Fraction(people, part)):>7} {wrong:>14,} {float(1 - Fraction(wrong, people)):>16.0%}")
        rows.append({"alpha": float(Fraction(people, part)), "wrong": wrong, "right": float(1 - Fraction(wrong, people))})
    lines += [
        "At n/40, nine tenths of the rows are rebuilt: blatant non-privacy. From n/4 on, the theorem promises nothing.",
        f"At n/2 the answer |S|/2 to every subset S is within alpha, and says nothing: all 2^{people} candidates agree with it.",
    ]
    return Example(tuple(lines), {"people": people, "rows": rows})


def weeding(truth: str = "0011001", candidate: str = "0110011", alpha: Number = "0.7") -> Example:
    """The question that rules a candidate out if it differs from the truth in more than 4 alpha rows.

    The two databases of the proof of Theorem 1 in a tutorial (Machanavajjhala and others, 2009; Dinur and Nissim 2003).
    """
    if not truth or len(truth) != len(candidate) or set(truth + candidate) - {"0", "1"}:
        raise InvalidInput("truth and candidate must be as many zeros and ones; give for example truth=0011001", argument="truth")
    error = exact(alpha, "alpha")
    if error < 0:
        raise InvalidInput("alpha, an error, must be at least 0; give for example alpha=0.7", argument="alpha")
    pairs = list(enumerate(zip(truth, candidate, strict=True), start=1))
    more = [row for row, (one, other) in pairs if one < other]
    fewer = [row for row, (one, other) in pairs if one > other]
    largest = max(len(more), len(fewer))
    lines = [
        f"d = {truth} and c = {candidate} differ in {len(more) + len(fewer)} rows; 4 alpha is {as_text(4 * error)}.",
        *(
            f"q{number} = sum({', '.join(map(str, subset))}): d has {sum(truth[row - 1] == '1' for row in subset)}, "
            f"c has {sum(candidate[row - 1] == '1' for row in subset)}."
            for number, subset in enumerate((more, fewer), start=1)
            if subset
        ),
    ]
    ruled_out = largest > 2 * error
    compared = f"They differ by {largest}, {'more than' if ruled_out else 'at most'} 2 alpha = {as_text(2 * error)}"
    verdict = "no answer is within alpha of both, so c is ruled out." if ruled_out else "an answer half way fits both; c may stay."
    lines.append(f"{compared}: {verdict}")
    return Example(tuple(lines), {"differ": len(more) + len(fewer), "largest": largest, "ruled_out": ruled_out})
