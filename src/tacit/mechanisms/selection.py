"""Keys by threshold: groups are released only if their noisy count of units is large enough. Proof in selection.md.

`KeyThreshold` has Laplace noise for how many groups a unit is in; `GaussianKeyThreshold` Gaussian noise for the root of that.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from numbers import Real
from operator import ne
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import calibrate
from tacit.accounting.composition import loss
from tacit.accounting.events import GaussianKeys, ThresholdedKeys
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.mechanisms.additive import MISSING, MOST_OUTCOMES, decimal, within
from tacit.mechanisms.gaussian import gaussian_weights
from tacit.mechanisms.noise import discrete
from tacit.mechanisms.noise.discrete_law import DiscreteLaplaceLaw
from tacit.mechanisms.noise.grid import add_units, read_units
from tacit.mechanisms.unseal import opened
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours, positive_budget, probability
from tacit.privacy.rounding import Number, exact, exp_down, exp_up, log_down, log_up, sqrt_up
from tacit.privacy.sealed import Sealed

Shown = tuple[tuple[Hashable, int], ...]
Floats = NDArray[np.float64]
Integers = NDArray[Any]

NO_UNITS = np.zeros(0, dtype=np.int64)
MOST_UNITS = 2**60
FAR = Fraction(10**4)  # e^-FAR stands for everything smaller
SLACK = 1e-6  # of a noise scale, by which ends are moved outward before they are rounded: doubles are off by less than 1e-7 of it


class Kept(NamedTuple):
    """The keys that are shown, sorted, their noisy counts, and what else is known of each of them, still sealed."""

    keys: tuple[Hashable, ...]
    counts: tuple[int, ...]
    others: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class KeyThreshold:
    """The keys whose noisy number of *units* reaches a threshold, with that number; sorted by key.

    One unit is in at most `max_groups` groups. Groups without units are not considered, so a list of all keys is not needed.
    `min_people` raises the threshold. (epsilon, delta): after Korolova et al. 2009.

    >>> keys = KeyThreshold(epsilon=1, delta=1e-6, max_groups=8)
    >>> print(keys.threshold, keys.loss)
    124 epsilon 1, delta 1e-06 (add or remove one row)
    """

    epsilon: Fraction
    delta: Fraction
    max_groups: int
    min_people: int = 0
    neighbours: Neighbours = ADD_REMOVE
    threshold: int = field(init=False)

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        max_groups: int,
        min_people: int = 0,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> None:
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "delta", _positive_probability(delta))
        object.__setattr__(self, "max_groups", _whole(max_groups, "max_groups", 1))
        object.__setattr__(self, "min_people", _whole(min_people, "min_people", 0))
        object.__setattr__(self, "neighbours", neighbours)
        object.__setattr__(self, "threshold", max(self.min_people, _least_threshold(self.scale, self.delta, max_groups)))

    @property
    def scale(self) -> Fraction:
        """Of the noise: a unit that comes or goes changes `max_groups` counts by one, a unit that changes twice as many."""
        return self.max_groups * self.neighbours.histogram_distance / self.epsilon

    @property
    def event(self) -> ThresholdedKeys:
        """The event that the ledger records for one release."""
        return ThresholdedKeys(self.epsilon, self.delta, self.max_groups, self.threshold, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def release(self, groups: Any) -> Shown:
        """(key, noisy count) for each key shown, sorted by key; `groups` is a mapping from keys to numbers of units, or a pair."""
        keys, counts = _pair(opened(groups))
        kept = self.release_with(keys, counts, ())
        return tuple(zip(kept.keys, kept.counts, strict=True))

    def release_with(self, keys: Any, counts: Any, others: Sequence[Any], most: int | None = None) -> Kept:
        """The keys shown, and what `others` (columns in the order of `keys`) have for them, sealed: an array, or one by one.

        Everything but keys and counts stays sealed; to release it costs a mechanism of its own. Of more than `most` keys, those
        with the largest noisy counts are shown.
        """
        return _kept(self, discrete.draw_laplace, (keys, counts, others), most)

    def interval(self, confidence: Number) -> Interval:
        """How far a noisy count is from the number of units, for a group chosen without looking at what was shown.

        Of the groups that are shown, those near the threshold are there because their noise was high: `ends` is for them.
        """
        return within(Fraction(calibrate.discrete_laplace_error(self.scale, calibrate.miss(confidence))))

    def ends(self, counts: Any, confidence: Number) -> tuple[NDArray[Any], NDArray[Any]]:
        """Between which numbers the units of shown groups lie, each with at least `confidence` given that its group is shown.

        >>> keys = KeyThreshold(epsilon=1, delta=1e-6, max_groups=8)
        >>> [end.tolist() for end in keys.ends([125, 400], 0.95)]
        [[1, 376], [138, 424]]
        """
        return ends_of_shown(counts, self.threshold, self.scale, calibrate.miss(confidence))

    def law(self, groups: Any, missing: Number = MISSING) -> Law:
        """The probability of each list of keys and counts, except counts so high that they weigh at most `missing` per group."""
        return _law(groups, exact(missing, "missing"), self._outcomes)

    def _outcomes(self, key: Hashable, count: int, tail: Fraction) -> dict[Shown, Decimal]:
        """One group: hidden, or shown with a count."""
        noise, last = DiscreteLaplaceLaw(self.scale), count + calibrate.discrete_laplace_error(self.scale, tail)
        shown: dict[Shown, Decimal] = {((key, n),): noise.mass(n - count) for n in range(self.threshold, last + 1)}
        return {(): noise.below(self.threshold - count)} | shown


@dataclass(frozen=True, slots=True)
class GaussianKeyThreshold:
    """The same with discrete Gaussian noise on the numbers of units: concentrated `rho`, and `delta` for keys of a single unit.

    One unit moves `max_groups` numbers by one, an l2 distance of the root of `max_groups`; so the threshold is lower than that of
    Laplace noise where a unit is in more than a few groups.

    >>> keys = GaussianKeyThreshold(rho="0.0279", delta=5e-7, max_groups=64)
    >>> print(keys.threshold, KeyThreshold(epsilon=1, delta=1e-6, max_groups=64).threshold, keys.loss)
    193 1108 concentrated rho 0.0279, delta 5e-07 (add or remove one row)
    """

    rho: Fraction
    delta: Fraction
    max_groups: int
    min_people: int = 0
    neighbours: Neighbours = ADD_REMOVE
    scale: Fraction = field(init=False)
    threshold: int = field(init=False)

    def __init__(
        self,
        rho: Number,
        delta: Number,
        max_groups: int,
        min_people: int = 0,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> None:
        object.__setattr__(self, "rho", positive_budget(rho, "rho"))
        object.__setattr__(self, "delta", _positive_probability(delta))
        object.__setattr__(self, "max_groups", _whole(max_groups, "max_groups", 1))
        object.__setattr__(self, "min_people", _whole(min_people, "min_people", 0))
        object.__setattr__(self, "neighbours", neighbours)
        object.__setattr__(self, "scale", calibrate.gaussian_scale_up(self.length, self.rho))
        object.__setattr__(self, "threshold", max(self.min_people, _gaussian_threshold(self.scale, self.delta, max_groups)))

    @property
    def length(self) -> Fraction:
        """The l2 distance that one unit moves the numbers of units by, rounded up."""
        return sqrt_up(Fraction(self.max_groups * self.neighbours.histogram_distance))

    @property
    def event(self) -> GaussianKeys:
        """The event that the ledger records for one release."""
        return GaussianKeys(self.length, self.scale, self.delta, self.max_groups, self.threshold, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def release(self, groups: Any) -> Shown:
        """(key, noisy count) for each key shown, sorted by key; `groups` is a mapping from keys to numbers of units, or a pair."""
        keys, counts = _pair(opened(groups))
        kept = self.release_with(keys, counts, ())
        return tuple(zip(kept.keys, kept.counts, strict=True))

    def release_with(self, keys: Any, counts: Any, others: Sequence[Any], most: int | None = None) -> Kept:
        """The keys shown, and what `others` have for them, sealed: as `KeyThreshold` does it."""
        return _kept(self, discrete.draw_gaussian, (keys, counts, others), most)

    def interval(self, confidence: Number) -> Interval:
        """How far a noisy count is from the number of units, for a group chosen without looking at what was shown."""
        return within(Fraction(calibrate.gaussian_error(self.scale, calibrate.miss(confidence))))

    def ends(self, counts: Any, confidence: Number) -> tuple[NDArray[Any], NDArray[Any]]:
        """Between which numbers the units of shown groups lie, each with at least `confidence` given that its group is shown.

        >>> keys = GaussianKeyThreshold(rho="0.0279", delta=5e-7, max_groups=64)
        >>> [end.tolist() for end in keys.ends([205, 400], 0.95)]
        [[1, 334], [264, 466]]
        """
        return gaussian_ends_of_shown(counts, self.threshold, self.scale, calibrate.miss(confidence))

    def law(self, groups: Any, missing: Number = MISSING) -> Law:
        """The probability of each list of keys and counts, except counts so high that they weigh at most `missing` per group."""
        return _law(groups, exact(missing, "missing"), self._outcomes)

    def _outcomes(self, key: Hashable, count: int, tail: Fraction) -> dict[Shown, Decimal]:
        """One group: hidden, or shown with a count."""
        weights, last = gaussian_weights(self.scale), count + calibrate.gaussian_error(self.scale, tail)
        mass = {n: weights[abs(n - count)] for n in range(count - len(weights) + 1, count + len(weights))}
        shown: dict[Shown, Decimal] = {((key, n),): mass.get(n, Decimal(0)) for n in range(self.threshold, last + 1)}
        return {(): reduce(ARITHMETIC.add, (weight for n, weight in mass.items() if n < self.threshold), Decimal(0))} | shown


Keys = KeyThreshold | GaussianKeyThreshold


def _kept(
    mechanism: Keys, draw: Callable[[Fraction, int], Integers], groups: tuple[Any, Any, Sequence[Any]], most: int | None
) -> Kept:
    """The keys whose noisy number reaches the threshold of a mechanism, with what else is known of them, still sealed."""
    (names, units), others = _read(opened(groups[0]), opened(groups[1])), groups[2]
    # two empty groups, which leave again: NumPy takes another time for no group and for one than for two and more
    present = np.flatnonzero(np.concatenate([[1, 1], units]) > 0)[2:] - 2
    noise = draw(mechanism.scale, present.size + 2)
    noisy = np.asarray(add_units(np.concatenate([[0, 0], units[present]]), noise))[2:]
    shown = np.flatnonzero(noisy >= mechanism.threshold)
    pairs = sorted(zip(present[shown].tolist(), noisy[shown].tolist(), strict=True), key=lambda pair: order(names[pair[0]]))
    if most is not None and len(pairs) > most:
        largest = sorted(pairs, key=lambda pair: pair[1], reverse=True)[:most]  # of equal ones, the first keys
        pairs = sorted(largest, key=lambda pair: order(names[pair[0]]))
    places = [place for place, _ in pairs]
    columns = tuple(_select(opened(column), places) for column in others)
    return Kept(tuple(_canonical(names[place]) for place in places), tuple(count for _, count in pairs), columns)


def _law(groups: Any, tail: Fraction, outcomes_of: Callable[[Hashable, int, Fraction], dict[Shown, Decimal]]) -> Law:
    """The probability of each list of keys and counts, from the outcomes of each group alone."""
    names, units = _read(*_pair(opened(groups)))
    present = sorted(((_canonical(key), int(n)) for key, n in zip(names, units, strict=True) if n > 0), key=lambda g: order(g[0]))
    each = [outcomes_of(key, count, tail) for key, count in present]
    if math.prod(map(len, each)) > MOST_OUTCOMES:
        raise InvalidInput(f"{len(each)} groups have too many outcomes to list; use a larger epsilon, or a larger missing=")
    listed: dict[Hashable, Decimal] = {}
    for outcome in product(*(outcomes.items() for outcomes in each)):
        shown = tuple(pair for pairs, _ in outcome for pair in pairs)
        listed[shown] = reduce(ARITHMETIC.multiply, (weight for _, weight in outcome), Decimal(1))
    return Law(listed, min(Decimal(1), len(each) * decimal(tail)))


def order(key: Any) -> tuple[Any, ...]:
    """The sort key of a key of any type: numbers, then text, then others by type; none at all comes last.

    >>> sorted([("b", 1), (None, 0), ("a", 2.5), ("a", 2)], key=order)
    [('a', 2), ('a', 2.5), ('b', 1), (None, 0)]
    """
    if isinstance(key, tuple):
        return 3, tuple(map(order, key))
    if key is None:
        return (4,)
    return (0, key) if isinstance(key, Real) else (1, key) if isinstance(key, str) else (2, type(key).__name__, key)


def _least_threshold(scale: Fraction, delta: Fraction, max_groups: int) -> int:
    """The least tau >= 1 with 1 - (1 - x)^G <= delta, x = p^(tau-1) / (1+p), p = e^(-1/scale); rounded against us."""
    ratio, allowed = min(1 / scale, FAR), log_up(1 - delta) / max_groups
    least_ratio = exp_down(-ratio) if ratio < FAR else Fraction(0)

    def holds(tau: int) -> bool:
        shown = exp_up(-(tau - 1) * ratio) / (1 + least_ratio)
        return max_groups * shown <= delta or (shown < 1 and log_down(1 - shown) >= allowed)

    enough = 2 + math.ceil(log_up(max_groups / delta) / ratio)  # where G x <= delta, so that 1 - (1 - x)^G <= delta
    if enough > MOST_UNITS:
        raise InvalidBudget("with this epsilon and delta a key would require more than 2^60 units; use a larger epsilon")
    return bisect_left(range(1, enough + 1), True, key=holds) + 1


@lru_cache(maxsize=256)
def _gaussian_threshold(scale: Fraction, delta: Fraction, max_groups: int) -> int:
    """The least tau >= 2 with G x <= delta, x = P[1 + X >= tau] of discrete Gaussian X, rounded against us."""
    threshold = 2 + calibrate.gaussian_error(scale, 2 * delta / max_groups)
    if threshold > MOST_UNITS:
        raise InvalidBudget("with this rho and delta a key would require more than 2^60 units; use a larger rho")
    return threshold


def _pair(groups: Any) -> tuple[Any, Any]:
    if isinstance(groups, Mapping):
        return tuple(groups.keys()), list(groups.values())
    if isinstance(groups, tuple | list) and len(groups) == 2:
        return groups[0], groups[1]
    raise InvalidValue("the groups must be a mapping from keys to numbers of units, or a pair (keys, numbers of units)")


def _read(keys: Any, counts: Any) -> tuple[Sequence[Any], NDArray[Any]]:
    names = keys.tolist() if isinstance(keys, np.ndarray) else tuple(keys)
    units = np.asarray(read_units(counts if len(counts) else NO_UNITS))  # no group takes the road of one
    if units.ndim != 1 or len(names) != units.size or (units < 0).any():
        raise InvalidValue("every key requires its number of units, a whole number of at least 0")
    if len(set(names)) != len(names) or any(map(ne, parts := _parts(names), parts)):
        raise InvalidValue("duplicate key, or a key that does not equal itself (NaN); group the rows by cleaned keys first")
    return names, units


def _parts(keys: Sequence[Any]) -> Sequence[Any]:
    """The keys, or what they consist of if some are tuples; without a step of Python for each, which the clock would tell."""
    if not any(issubclass(kind, tuple) for kind in set(map(type, keys))):
        return keys
    return [part for key in keys for part in (key if isinstance(key, tuple) else (key,))]


def _canonical(key: Any) -> Any:
    """One spelling of equal keys: -0.0 is 0.0."""
    if isinstance(key, tuple):
        return tuple(map(_canonical, key))
    plain = key.item() if isinstance(key, np.generic) else key
    return plain + 0.0 if isinstance(plain, float) else plain


def _select(column: Any, places: list[int]) -> Any:
    if isinstance(column, np.ndarray):
        return Sealed(column[np.array(places, dtype=np.int64)])
    return tuple(Sealed(column[place]) for place in places)


def _positive_probability(delta: Number) -> Fraction:
    number = probability(delta)
    if number == 0:
        raise InvalidBudget(
            "delta must be above 0: a private key is hidden only with probability 1 - delta; give for example delta=1e-7",
            argument="delta",
        )
    return number


def _whole(number: int, name: str, least: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise InvalidInput(f"{name} must be a whole number of at least {least}, not {number!r}", argument=name)
    return number


# --- the ends of a count that is shown ---------------------------------------------------------------------------------------


def ends_of_shown(counts: Any, threshold: int, scale: Fraction, missed: Fraction) -> tuple[Integers, Integers]:
    """Between which numbers the units of groups lie whose noisy `counts` reached `threshold`; each misses with at most `missed`.

    A group near the threshold is shown because its noise was high, so the usual interval around its noisy count misses far too
    often. These ends come from the law of the count given that it reached the threshold, for every true number of units.

    >>> low, high = ends_of_shown([16, 40], threshold=15, scale=Fraction(2), missed=Fraction(1, 20))
    >>> low.tolist(), high.tolist()
    ([1, 34], [21, 46])
    """
    shown = np.asarray(read_units(counts))
    above = np.asarray(add_units(shown, np.full(shown.shape, -threshold)), dtype=np.float64)
    width, log_missed = float(scale), math.log(missed / 2)
    low = add_units(shown, -_whole_units(_below(above, width, log_missed)))
    unknown = above + width * log_missed < SLACK * width  # as likely with a single unit as with `threshold` of them
    return np.where(unknown, 1, low), np.asarray(add_units(shown, _whole_units(_above(above, width, log_missed))))


def _below(above: Floats, width: float, log_missed: float) -> Floats:
    """The largest d with Pr[Y >= y] / Pr[Y >= threshold] > missed / 2 for y - d units: a root of a quadratic in e^(-d / scale)."""
    ratio, beyond = math.exp(-1 / width), np.maximum(above + width * log_missed, 0)
    root = np.sqrt(math.expm1(-1 / width) ** 2 - 4 * ratio * np.expm1(-beyond / width))
    distance = -width * (log_missed + np.log((1 + ratio + root) / 2))
    return np.minimum(np.floor(distance + SLACK * width), above)


def _above(above: Floats, width: float, log_missed: float) -> Floats:
    """The largest e with Pr[threshold <= Y <= y] / Pr[Y >= threshold] > missed / 2 for y + e units; at least 0."""
    ratio, tail = math.exp(-1 / width), np.exp(-(above + 1) / width)
    likely = -np.expm1(-(above + 1) / width) + math.exp(log_missed) * tail
    distance = width * (np.log(likely) - log_missed - math.log1p(ratio))
    return np.maximum(np.floor(distance + SLACK * width), 0)


def _whole_units(numbers: Floats) -> Integers:
    return np.asarray(read_units([int(number) for number in numbers.tolist()]))


TABLED = 512  # scales up to this have their tails added up term by term
LOG_SLACK = 2e-3  # of the logarithm of a ratio of tails, by which more truths are let in: doubles and formulas are off by less
FINEST = 64  # of a scale above `TABLED`: a count nearer to the threshold has the high end of one that far


def gaussian_ends_of_shown(counts: Any, threshold: int, scale: Fraction, missed: Fraction) -> tuple[Integers, Integers]:
    """The ends of `ends_of_shown` for discrete Gaussian noise: found by bisection, as both tails are monotone in the truth.

    >>> low, high = gaussian_ends_of_shown([16, 40], threshold=15, scale=Fraction(2), missed=Fraction(1, 20))
    >>> low.tolist(), high.tolist()
    ([1, 36], [20, 44])
    """
    shown = np.asarray(read_units(counts if len(counts) else NO_UNITS), dtype=np.int64)
    width, least = float(scale), math.log(missed / 2) - LOG_SLACK
    tail = _log_tails(scale)
    nearest = threshold - 1 + int(scale) // FINEST if scale > TABLED else threshold

    def not_too_high(truth: Integers) -> Any:
        return tail(shown - truth) - tail(threshold - truth) > least

    def not_too_low(truth: Integers) -> Any:
        inside = tail(truth - np.maximum(shown, nearest))
        with np.errstate(divide="ignore"):
            cut = np.log(-np.expm1(np.minimum(tail(truth - threshold + 1) - inside, 0.0)))
        return inside + cut - tail(threshold - truth) > least

    farthest = shown + math.ceil(width * math.sqrt(2 * (math.log(2) - least))) + 1
    low = _first_where(not_too_high, np.ones_like(shown), shown)
    return low, _first_where(lambda truth: ~not_too_low(truth), shown + 1, farthest) - 1


def _first_where(holds: Callable[[Integers], Any], low: Integers, high: Integers) -> Integers:
    """In each place the first number from `low` on for which a monotone test holds; `high` where none before it does."""
    while (low < high).any():
        middle = low + (high - low) // 2
        good = holds(middle)
        low, high = np.where(good | (low >= high), low, middle + 1), np.where(good, middle, high)
    return low


@lru_cache(maxsize=16)
def _log_tails(scale: Fraction) -> Callable[[Integers], Floats]:
    """ln P[X >= j] of discrete Gaussian noise, to within a thousandth."""
    width = float(scale)
    if scale <= TABLED:
        reach = math.ceil(40 * scale) + 64
        places = np.arange(-reach, reach + 1)
        added = np.logaddexp.accumulate(-((places[::-1] / width) ** 2) / 2)[::-1]
        log_total, near = float(added[0]), reach
    else:
        log_total, near = math.log(width * math.sqrt(2 * math.pi)), 40 * int(scale)

    def tails(of: Integers) -> Floats:
        if scale <= TABLED:
            inside = added[np.clip(of + near, 0, 2 * near)] - log_total
        else:
            from scipy.special import log_ndtr

            inside = log_ndtr((0.5 - of) / width)
        far = np.maximum(of, near).astype(np.float64)
        beyond = -((far / width) ** 2) / 2 - np.log(-np.expm1(-(2 * far + 1) / (2 * width**2))) - log_total
        return np.where(of > near, beyond, inside)

    return tails
