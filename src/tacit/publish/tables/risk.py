"""The risk of a published table, and of a random sample of one. For the data owner, not to be published.

Re-identification risk of a published table. Every figure is a fact about private data: for the data owner, not to be published.

Prosecutor: the attacker knows that the person is in the table, and picks one of the m rows of the person's group: 1/m.
Journalist: the attacker picks one of the M people of that group in the population: 1/M.
Marketer: the attacker picks for every row, and any hit counts: the expected share of rows that are found.

Suppressed rows belong to no group. The figures are given without them, and once more with all of them as one group: someone who
fits no published group is among them.

Publishing a random sample: the probability that no person is given away, for one table and one sampling rate.

A sample is not differentially private: if everyone with some value is drawn, a table with one such person fewer could not have
given that sample. If few values are rare, this seldom happens (Chaudhuri and Mishra 2006). Here the
probability is computed, see sampling.md. It depends on the table: for the data owner, not to be published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import DIGITS, Number, as_text, exact, exp_down, exp_up
from tacit.publish.tables.models.rows import Column, Rows, pack_codes

NOT_TO_BE_PUBLISHED = "for the data owner: not to be published"
FINEST = 10**9  # weights have at most 9 decimals
HIGH = Fraction(1, 5)  # the threshold that regulators of health data most often set: groups of fewer than 5


@dataclass(frozen=True, slots=True)
class Risk:
    """Figures of one set of groups: the largest risk of a row, the mean, the share of rows above 1/5, and rows that are alone."""

    rows: int
    groups: int
    largest: Fraction
    mean: Fraction
    high: Fraction
    uniques: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the mark."""
        return {name: str(each) if isinstance(each, Fraction) else each for name, each in asdict(self).items()} | {
            "not_to_be_published": True
        }


def prosecutor(rows: Rows) -> Risk:
    """The risk of rows by the size of their group. The mean, groups over rows, is the marketer's share as well.

    >>> from tacit.publish.tables.models.rows import rows_of
    >>> risk = prosecutor(rows_of({"age": ["20-29"] * 4 + ["30-39"]}, ["age"]))
    >>> print(risk.largest, risk.mean, risk.uniques)
    1 2/5 1
    """
    return _risk(rows.groups.sizes, rows.groups.sizes)


def with_suppressed(rows: Rows) -> Risk:
    """The same with all suppressed rows as one more group."""
    lost = int(rows.suppressed.sum())
    sizes = np.append(rows.groups.sizes, lost) if lost else rows.groups.sizes
    return _risk(sizes, sizes)


def journalist(rows: Rows, population: Rows) -> Risk:
    """The risk of rows by the size of their group in a population that has the same quasi-identifiers in the same form.

    The mean is the marketer's share: the expected share of rows found by one who picks a person of the population for each row.
    `uniques` counts rows that are alone in the population.
    """
    if list(rows.quasi) != list(population.quasi):
        raise InvalidInput("the population must have the same quasi-identifiers as the table; name the same columns of both")
    kept, people = ~rows.suppressed, ~population.suppressed
    joined = [_join_columns(rows.quasi[name], kept, population.quasi[name], people) for name in rows.quasi]
    codes, number = pack_codes([each.codes for each in joined], [len(each.values) for each in joined])
    here = int(kept.sum())
    sizes = np.bincount(codes[:here], minlength=number).astype(np.int64)
    larger = np.bincount(codes[here:], minlength=number).astype(np.int64)
    there = sizes > 0
    if (larger[there] < sizes[there]).any():
        raise InvalidInput(
            "the population has fewer people in a group than the table has rows; it must contain everyone in the table"
        )
    return _risk(sizes[there], larger[there])


def estimate_risk(rows: Rows, weight: str) -> Risk:
    """The journalist's risk if the rows are a sample: the people of a group are estimated by the sum of the weights of its rows.

    An estimate, and no bound: sampling errors of small groups are large. `uniques` counts rows of groups of at most one person.

    >>> from tacit.publish.tables.models.rows import rows_of
    >>> sample = rows_of({"age": ["20-29", "20-29", "30-39"], "weight": ["50", "30.5", "12"]}, ["age"])
    >>> print(estimate_risk(sample, "weight").largest)
    1/12
    """
    if weight not in rows.others:
        raise InvalidInput(f"unknown column of weights {weight!r}; name a column that is neither a quasi-identifier nor sensitive")
    column, kept = rows.others[weight], ~rows.suppressed
    numbers = [exact(value, "weight") for value in column.values]
    if any(number <= 0 for number in numbers):
        raise InvalidInput("weight must be above 0 in every row; a row stands for that many people", argument="weight")
    scale = lcm(*(number.denominator for number in numbers))
    if scale > FINEST:
        raise InvalidInput("weight must have at most 9 decimals; round the weights", argument="weight")
    scaled = np.array([int(number * scale) for number in numbers], dtype=object)[column.codes[kept]]
    people = np.zeros(len(rows.groups.sizes), dtype=object)
    np.add.at(people, rows.groups.of_row[kept], scaled)
    return _risk(rows.groups.sizes, people, scale)


def _risk(sizes: NDArray[np.int64], larger: NDArray[Any], scale: int = 1) -> Risk:
    """Rows of each group, and the number of people that each of them is taken from, in units of 1/scale; at least one person."""
    total, people = int(sizes.sum()), np.maximum(larger, scale)
    different, place = np.unique(people, return_inverse=True)
    rows_of = np.zeros(len(different), dtype=np.int64)
    np.add.at(rows_of, place, sizes)
    mean = sum((Fraction(int(rows) * scale, int(size)) for rows, size in zip(rows_of, different, strict=True)), Fraction(0)) / total
    high = Fraction(int(sizes[people * HIGH.numerator < HIGH.denominator * scale].sum()), total)
    return Risk(total, len(sizes), Fraction(scale, int(different[0])), mean, high, int(sizes[people == scale].sum()))


def _join_columns(one: Column, kept: NDArray[np.bool_], other: Column, people: NDArray[np.bool_]) -> Column:
    """Two columns under one code."""
    values = tuple(dict.fromkeys((*one.values, *other.values)))
    places = {value: place for place, value in enumerate(values)}
    first = np.array([places[value] for value in one.values], dtype=np.int64)[one.codes[kept]]
    second = np.array([places[value] for value in other.values], dtype=np.int64)[other.codes[people]]
    return Column(np.concatenate([first, second]), values)


# --- publishing a random sample ----------------------------------------------------------------------------------------------


EXACT_WORK = 2_000_000_000  # multiplications, a second or two; beyond, two bounds are given
DESIGNS = ("bernoulli", "fixed")


@dataclass(frozen=True, slots=True)
class Holders:
    """Values that `holders` people have each: how many there are, how many may be drawn, and the chance that more of one are."""

    holders: int
    values: int
    most: int
    chance: float


@dataclass(frozen=True, slots=True)
class SampleRisk:
    """The probability that a sample's privacy loss is at most epsilon for every person: `low` to `high`, which mostly agree."""

    design: str
    rows: int
    rate: Fraction
    epsilon: Fraction
    low: float
    high: float
    by_holders: tuple[Holders, ...]
    all_unique: float

    @property
    def uniques(self) -> int:
        """Values that one person has."""
        return sum(each.values for each in self.by_holders if each.holders == 1)

    @property
    def exposed(self) -> float:
        """The expected number of people whose value is theirs alone, and who are drawn."""
        return float(self.uniques * self.rate)

    def uniques_at_most(self, least: float) -> int:
        """How many unique values a table may have, and no other rare ones, for a probability of at least `least`."""
        return math.floor(math.log(least) / math.log1p(-float(self.rate)))

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the mark."""
        return {
            "design": self.design,
            "rows": self.rows,
            "rate": str(self.rate),
            "epsilon": str(self.epsilon),
            "private_with_probability": [self.low, self.high],
            "same_size_all_unique": self.all_unique,
            "uniques": self.uniques,
            "expected_uniques_drawn": self.exposed,
            "by_holders": [
                {"holders": each.holders, "values": each.values, "most": each.most, "chance": each.chance}
                for each in self.by_holders
            ],
            "differentially_private": False,
            "not_to_be_published": True,
        }


def sample_risk(rows: Rows, rate: Number, epsilon: Number = 1, design: str = "bernoulli") -> SampleRisk:
    """The risk of publishing a sample of the quasi-identifiers of some rows.

    With `bernoulli` each row is drawn by itself, and neighbours differ by one person more or fewer. With `fixed` the number of rows
    drawn is public, rate times rows rounded, and neighbours differ in one person's value.

    >>> from tacit.publish.tables.models.rows import rows_of
    >>> many = rows_of({"job": ["nurse"] * 500 + ["clerk"] * 499 + ["mayor"]}, ["job"])
    >>> print(f"{sample_risk(many, 0.01).low:.3f}", f"{sample_risk(many, 0.01).all_unique:.6f}")
    0.990 0.000043
    """
    return from_counts(rows.groups.sizes, rate, epsilon, design)


def from_counts(counts: NDArray[np.int64], rate: Number, epsilon: Number = 1, design: str = "bernoulli") -> SampleRisk:
    """The same, given how many people have each value."""
    share, loss = _check_design(rate, epsilon, design)
    total = int(counts.sum())
    holders, values = np.unique(counts, return_counts=True)
    numbers = dict(zip(holders.tolist(), values.tolist(), strict=True))
    drawn = round(share * total)
    if design == "fixed" and not 0 < drawn < total:
        raise InvalidInput(
            "rate must leave at least one row in the sample and one out of it; give another rate, or use design=bernoulli",
            argument=("rate", "design"),
        )
    share = Fraction(drawn, total) if design == "fixed" else share
    most = {each: _most(each, share if design == "bernoulli" else Fraction(0), loss) for each in numbers}
    tail = _binomial_tail(share) if design == "bernoulli" else _hypergeometric_tail(total, drawn)
    lines = tuple(Holders(each, number, most[each], tail(most[each], each)) for each, number in numbers.items())
    if design == "bernoulli":
        low = high = _all_within(lines)
        alone = math.exp(total * math.log1p(-float(share)))
    else:
        low, high = _fixed_size(lines, most, total, drawn)
        alone = 0.0
    return SampleRisk(design, total, share, loss, low, high, lines, alone)


def _check_design(rate: Number, epsilon: Number, design: str) -> tuple[Fraction, Fraction]:
    share, loss = exact(rate, "rate"), exact(epsilon, "epsilon")
    if not 0 < share < 1:
        raise InvalidInput(f"rate must be above 0 and below 1, not {as_text(share)}; give for example rate=0.01", argument="rate")
    if not 0 < loss <= 50:
        raise InvalidInput(
            f"epsilon must be above 0 and at most 50, not {as_text(loss)}; give for example epsilon=1", argument="epsilon"
        )
    if design not in DESIGNS:
        raise InvalidInput(f"unknown design {design[:40]!r}; expected bernoulli or fixed")
    if design == "bernoulli" and exp_down(-loss) > 1 - share:
        least = as_text(Fraction(math.ceil(-math.log1p(-float(share)) * 10000), 10000))
        raise InvalidInput(
            f"epsilon must be at least -ln(1 - rate): absence alone tells that much; give for example epsilon={least}",
            argument="epsilon",
        )
    return share, loss


def _most(holders: int, share: Fraction, loss: Fraction) -> int:
    """The most of `holders` people who may be drawn: the floor of holders (1 - (1 - share) e^-epsilon), exactly."""
    digits = DIGITS
    while True:
        ends = [math.floor(holders * (1 - (1 - share) * bound(-loss, digits))) for bound in (exp_up, exp_down)]
        if ends[0] == ends[1]:
            return ends[0]
        digits *= 2


def _binomial_tail(share: Fraction) -> Callable[[int, int], float]:
    from scipy.stats import binom

    return lambda most, holders: float(binom.sf(most, holders, float(share)))


def _hypergeometric_tail(total: int, drawn: int) -> Callable[[int, int], float]:
    from scipy.stats import hypergeom

    return lambda most, holders: float(hypergeom.sf(most, total, holders, drawn))


def _all_within(lines: tuple[Holders, ...]) -> float:
    """The product of the chances that no value is drawn too often, with values independent of each other."""
    if any(each.chance >= 1 for each in lines):
        return 0.0
    return math.exp(sum(each.values * math.log1p(-each.chance) for each in lines))


def _fixed_size(lines: tuple[Holders, ...], most: Mapping[int, int], total: int, drawn: int) -> tuple[float, float]:
    """Exactly if the work is small, else a union bound and a product: counts of a fixed sample are negatively associated."""
    steps = sum(each.values.bit_length() * 2 for each in lines)
    if steps * (drawn + 1) ** 2 > EXACT_WORK:
        return max(0.0, 1 - sum(each.values * each.chance for each in lines)), _all_within(lines)
    both = _fixed_exactly(lines, most, total, drawn)
    return both, both


def _fixed_exactly(lines: tuple[Holders, ...], most: Mapping[int, int], total: int, drawn: int) -> float:
    """P(no value too often, and `drawn` rows) over P(`drawn` rows), with each row drawn by itself; all terms are positive."""
    from scipy.stats import binom

    rate, log_scale = drawn / total, 0.0
    distribution = np.ones(1)
    for each in lines:
        one = binom.pmf(np.arange(min(most[each.holders], drawn) + 1), each.holders, rate)
        power, log_power = _power(one, each.values, drawn)
        distribution = np.convolve(distribution, power)[: drawn + 1]
        log_scale += log_power + math.log(distribution.sum())
        distribution = distribution / distribution.sum()
    if len(distribution) <= drawn or not distribution[drawn]:
        return 0.0
    return min(1.0, float(np.exp(log_scale + math.log(distribution[drawn]) - binom.logpmf(drawn, total, rate))))


def _power(one: NDArray[np.float64], times: int, longest: int) -> tuple[NDArray[np.float64], float]:
    """A polynomial to a power, cut after `longest`, divided by the sum of its coefficients; and the logarithm of that sum."""
    result, log_result = np.ones(1), 0.0
    base, log_base = one / one.sum(), math.log(one.sum())
    while times:
        if times & 1:
            result = np.convolve(result, base)[: longest + 1]
            log_result += log_base + math.log(result.sum())
            result = result / result.sum()
        times >>= 1
        if times:
            base = np.convolve(base, base)[: longest + 1]
            log_base = 2 * log_base + math.log(base.sum())
            base = base / base.sum()
    return result, log_result
