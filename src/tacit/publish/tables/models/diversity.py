"""l-diversity in four forms: distinct, frequency, recursive and entropy.

Distinct l-diversity: every group has at least l different sensitive values (Machanavajjhala et al. 2007).

Frequency l-diversity: no protected value has a share above 1/l in a group (the "simple" form of Wong et al. 2007).

Recursive (c,l)-diversity: the most frequent value is not too frequent beside the rare ones (Machanavajjhala et al. 2007).

Entropy l-diversity: the entropy of the sensitive values of every group is at least ln l (Machanavajjhala et al. 2007).

Ties are common (two values, five rows each, l = 2), and an entropy in floating point is on either side of them. See entropy.md for
why the comparison here is exact.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from math import gcd
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, as_text, exp_down, float_down
from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.exactly import compare, largest_ratio
from tacit.publish.tables.models.k_anonymity import whole
from tacit.publish.tables.models.verdict import Figure, SensitiveModel, at_least, at_most, parameter


@dataclass(frozen=True)
class DistinctDiversity(SensitiveModel):
    """Every group has at least l values; how unevenly they occur is not looked at.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(DistinctDiversity(2).on(counts_of([[8, 2, 2], [99, 1, 0]])))
    distinct l-diversity, l = 2: passes (l = 2)
    """

    l: int  # noqa: E741
    name: ClassVar[str] = "distinct l-diversity"

    def __post_init__(self) -> None:
        whole(self.l, "l")

    @property
    def requires(self) -> str:
        """The number of values."""
        return f"l = {self.l}"

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups with fewer values."""
        failing: NDArray[np.bool_] = counts.distinct < self.l
        return failing

    def figure(self, counts: Counts) -> Figure:
        """The least number of values in a group."""
        least = int(counts.distinct.min())
        return Figure(Fraction(least), f"l = {least}")


# --- frequency l-diversity ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FrequencyDiversity(SensitiveModel):
    """Every protected value has a share of at most 1/l in every group; by default, all values are protected.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(FrequencyDiversity(2).on(counts_of([[2, 2], [3, 1]])))
    frequency l-diversity, l = 2: fails (l = 1.33333; failing: 1 of 2 groups, 4 of 8 rows)
    >>> FrequencyDiversity(2, protected={1}).on(counts_of([[2, 2], [3, 1]])).passes
    True
    """

    l: Number  # noqa: E741
    protected: Collection[Any] | None = None
    name: ClassVar[str] = "frequency l-diversity"

    def __post_init__(self) -> None:
        parameter(self.l, "l", 1)

    @property
    def requires(self) -> str:
        """The number l, and whether all values are protected."""
        some = "" if self.protected is None else f", {len(set(self.protected))} protected values"
        return f"l = {as_text(parameter(self.l, 'l', 1))}{some}"

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups in which a protected value is too frequent."""
        failing: NDArray[np.bool_] = compare(counts.largest_of(self.protected), counts.sizes, 1 / parameter(self.l, "l", 1)) > 0
        return failing

    def figure(self, counts: Counts) -> Figure:
        """The largest share of a protected value in a group."""
        worst = largest_ratio(counts.largest_of(self.protected), counts.sizes)
        return Figure(worst, f"l = {at_least(1 / Fraction(worst))}" if worst else "no protected value occurs")


# --- recursive (c,l)-diversity -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecursiveDiversity(SensitiveModel):
    """In every group c_1 < c (c_l + c_(l+1) + ... + c_r), strictly, where c_1 >= c_2 >= ... are the counts of its r values.

    With the tail R = c_l + ... + c_r it is the same as c_1 / (c_1 + R) < c / (c+1). For l = 2 the left side is the share of
    the most frequent value. A group of fewer than l values has no tail, and fails.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(RecursiveDiversity(3, 2).on(counts_of([[8, 2, 2]])))
    recursive (c,l)-diversity, c = 3, l = 2 (largest share below c/(c+1) = 3/4): passes (c above 2, l = 2)
    >>> RecursiveDiversity(2, 2).on(counts_of([[8, 2, 2]])).passes
    False
    """

    c: Number
    l: int  # noqa: E741
    name: ClassVar[str] = "recursive (c,l)-diversity"

    def __post_init__(self) -> None:
        whole(self.l, "l")
        if not parameter(self.c, "c", 0):
            raise InvalidInput("c must be above 0; give for example c=3")

    @property
    def requires(self) -> str:
        """The two parameters, and the form with c/(c+1)."""
        c = parameter(self.c, "c", 0)
        of = "largest share" if self.l == 2 else "largest count over itself and the tail"
        return f"c = {as_text(c)}, l = {self.l} ({of} below c/(c+1) = {self.share_limit})"

    @property
    def share_limit(self) -> Fraction:
        """c / (c+1)."""
        c = parameter(self.c, "c", 0)
        return c / (c + 1)

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups without a tail, or with one that is too small."""
        tail = self._tail(counts)
        failing: NDArray[np.bool_] = tail == 0
        there = ~failing
        failing[there] = compare(counts.largest[there], tail[there], parameter(self.c, "c", 0)) >= 0
        return failing

    def figure(self, counts: Counts) -> Figure:
        """The largest c_1 over its tail: c must be above it."""
        worst = largest_ratio(counts.largest, self._tail(counts))
        if worst == math.inf:
            return Figure(worst, f"no c for l = {self.l}: a group has fewer than {self.l} values")
        return Figure(worst, f"c above {at_most(worst)}, l = {self.l}")

    def _tail(self, counts: Counts) -> NDArray[np.int64]:
        """Rows of each group that have none of its l - 1 most frequent values."""
        order = np.lexsort((-counts.count, counts.group))
        place = np.arange(len(order)) - np.repeat(counts.starts, counts.distinct)
        tail: NDArray[np.int64] = counts.sum_by_group(np.where(place >= self.l - 1, counts.count[order], 0))
        return tail


# --- entropy l-diversity -----------------------------------------------------------------------------------------------------


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
        decided: dict[tuple[int, ...], bool] = {}
        for group in unsure.tolist():
            vector = _reduce(counts.vector(group))
            if vector not in decided:
                decided[vector] = sign_of_excess(vector, least) < 0
            failing[group] = decided[vector]
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
    bounds = {vector: _enclosure(vector, Fraction(1), DIGITS)[0] / sum(vector) for vector in vectors}
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
        low, high = _enclosure(vector, least, digits)
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
    """Pairwise coprime integers above 1 such that each of the numbers is a product of their powers.

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


def _enclosure(vector: tuple[int, ...], least: Fraction, digits: int) -> tuple[Fraction, Fraction]:
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
    return size, counts.sum_by_group(counts.count * np.log(counts.count)), counts.distinct


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
    return vectors | {_reduce(counts.vector(group)) for group in near[~even].tolist()}


def _reduce(vector: tuple[int, ...]) -> tuple[int, ...]:
    """The counts divided by their greatest common divisor: the same shares, and a key that many groups have."""
    shared = reduce(gcd, vector)
    return tuple(count // shared for count in vector)
