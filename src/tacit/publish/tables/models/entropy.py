"""Entropy l-diversity: the entropy of the sensitive values of every group is at least ln l (Machanavajjhala et al. 2007).

Ties are common (two values, five rows each, l = 2), and an entropy in floating point is on either side of them. See entropy.md for
why the comparison here is exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from math import gcd
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.rounding import Number, as_text, exp_down, float_down
from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.exactly import compare
from tacit.publish.tables.models.verdict import Figure, SensitiveModel, at_least, parameter

UNIT = 2.0**-52
SLACK = 64  # units of rounding beside one for each value of a group: logarithms, products and the last sums
DIGITS = 40


@dataclass(frozen=True)
class EntropyDiversity(SensitiveModel):
    """-sum p ln p >= ln l in every group; e to the entropy is the effective number of values.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(EntropyDiversity(4).on(counts_of([[4, 1, 1, 1, 1]])))
    entropy l-diversity, l = 4: passes (l = 4)
    >>> print(EntropyDiversity("4.000000000000000000001").on(counts_of([[4, 1, 1, 1, 1]])).passes)
    False
    """

    l: Number  # noqa: E741
    name: ClassVar[str] = "entropy l-diversity"

    def __post_init__(self) -> None:
        parameter(self.l, "l", 1)

    @property
    def requires(self) -> str:
        """The effective number of values."""
        return f"l = {as_text(parameter(self.l, 'l', 1))}"

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups whose entropy is below ln l: by floats where they are clear, else by integers."""
        least = parameter(self.l, "l", 1)
        if least > int(counts.distinct.max()):  # entropy is at most ln of the number of values
            return np.ones(len(counts.sizes), dtype=np.bool_)
        size, spread, values = _in_floats(counts)
        goal = counts.sizes * float(np.log(float(least)))
        excess = size - spread - goal
        doubt = (values + SLACK) * UNIT * (size + spread + goal + 1)
        failing: NDArray[np.bool_] = excess < 0
        even = counts.largest * counts.distinct == counts.sizes
        failing[even] = compare(counts.distinct[even], np.ones(int(even.sum()), dtype=np.int64), least) < 0
        unsure = np.flatnonzero((np.abs(excess) <= doubt) & ~even)
        known: dict[tuple[int, ...], bool] = {}
        for group in unsure.tolist():
            vector = _reduced(counts.vector(group))
            if vector not in known:
                known[vector] = sign_of_excess(vector, least) < 0
            failing[group] = known[vector]
        return failing

    def figure(self, counts: Counts) -> Figure:
        """e to the least entropy: exact if whole, else rounded down to a float."""
        worst = effective_values(_lowest(counts))
        return Figure(worst, f"l = {at_least(worst)}")


def effective_values(vectors: Iterable[tuple[int, ...]]) -> Fraction:
    """e to the least entropy of some vectors of counts; a whole number exactly, all else rounded down to a float.

    >>> effective_values([(4, 1, 1, 1, 1)]), float(effective_values([(8, 2, 2)]))
    (Fraction(4, 1), 2.38110...)
    """
    bounds = {vector: _enclosed(vector, Fraction(1), DIGITS)[0] / sum(vector) for vector in vectors}
    least = min(bounds, key=bounds.__getitem__)
    number = exp_down(bounds[least])
    whole = Fraction(round(number))
    return whole if sign_of_excess(least, whole) == 0 else Fraction(float_down(number))


def sign_of_excess(vector: tuple[int, ...], least: Fraction) -> int:
    """The sign of the entropy of some counts minus ln l, exactly.

    It is that of ln (m^m b^m / (a^m prod c^c)), with m the sum of the counts c and l = a/b. Whether the fraction is 1 is decided by
    integers; if it is not, an enclosure that is narrow enough does not hold 0.

    >>> sign_of_excess((4, 1, 1, 1, 1), Fraction(4)), sign_of_excess((8, 2, 2), Fraction(3))
    (0, -1)
    """
    size = sum(vector)
    powers: Counter[int] = Counter({size: size})
    powers[least.denominator] += size
    powers[least.numerator] -= size
    for count, times in Counter(vector).items():
        powers[count] -= count * times
    if is_one(powers):
        return 0
    digits = DIGITS
    while True:
        low, high = _enclosed(vector, least, digits)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        digits *= 2


def is_one(powers: Mapping[int, int]) -> bool:
    """Whether a product of powers of positive integers is 1, without computing it.

    The bases are written as products over a set of pairwise coprime integers; then every exponent of that set must be 0.

    >>> is_one({6: 2, 36: -1}), is_one({6: 2, 35: -1}), is_one({8: 8, 4: -12})
    (True, False, True)
    """
    bases = {base: power for base, power in powers.items() if base > 1 and power}
    for prime in coprime_base(bases):
        total = 0
        for base, power in bases.items():
            rest = base
            while rest % prime == 0:
                rest //= prime
                total += power
        if total:
            return False
    return True


def coprime_base(numbers: Iterable[int]) -> list[int]:
    """Pairwise coprime integers above 1 of which each of the numbers is a product of powers.

    >>> sorted(coprime_base([12, 18]))
    [2, 3]
    """
    work, base = [number for number in numbers if number > 1], list[int]()
    while work:
        number = work.pop()
        for place, other in enumerate(base):
            shared = gcd(number, other)
            if shared > 1:
                base.pop(place)
                work += [part for part in (number // shared, shared, other // shared) if part > 1]
                break
        else:
            base.append(number)
    return base


def _enclosed(vector: tuple[int, ...], least: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds of m ln m - sum c ln c - m ln l. Python's decimal rounds ln correctly, so one step of its last place is enough."""
    size = sum(vector)
    context = Context(prec=digits)
    terms = Counter({size: size, least.denominator: 0, least.numerator: 0})
    terms[least.denominator] += size
    terms[least.numerator] -= size
    for count, times in Counter(vector).items():
        terms[count] -= count * times
    low = high = Fraction(0)
    for number, times in terms.items():
        if number > 1 and times:
            log = context.ln(Decimal(number))
            ends = sorted(times * Fraction(end) for end in (context.next_minus(log), context.next_plus(log)))
            low, high = low + ends[0], high + ends[1]
    return low, high


def _in_floats(counts: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """m ln m, the sum of c ln c, and the number of values, of each group."""
    size: NDArray[np.float64] = counts.sizes.astype(np.float64) * np.log(counts.sizes)
    return size, counts.summed(counts.count * np.log(counts.count)), counts.distinct


def _lowest(counts: Counts) -> set[tuple[int, ...]]:
    """The counts of all groups that may have the least entropy, by what floats can tell."""
    size, spread, values = _in_floats(counts)
    entropy = (size - spread) / counts.sizes
    doubt = (values + SLACK) * UNIT * (size + spread + 1) / counts.sizes
    near = np.flatnonzero(entropy - doubt <= (entropy + doubt).min())
    if (counts.distinct[near] == 1).any():
        return {(1,)}
    even = counts.largest[near] * counts.distinct[near] == counts.sizes[near]
    vectors = {(1,) * number for number in np.unique(counts.distinct[near][even]).tolist()}
    return vectors | {_reduced(counts.vector(group)) for group in near[~even].tolist()}


def _reduced(vector: tuple[int, ...]) -> tuple[int, ...]:
    """The counts divided by what they have in common: the same shares, and a key that many groups have."""
    shared = reduce(gcd, vector)
    return tuple(count // shared for count in vector)
