"""Released numbers with their intervals: two ends around the exact number, the noise that they follow from, and columns of them.

Everything here works on what is released already, so it costs nothing. The ends are moved by interval arithmetic: if each exact
input is between its ends, so is the exact output. In a column, both ends are NaN where the exact value is certainly NULL, and
`null` says where it may be. That is part of the range: the exact value lies between the ends, or is NULL where that is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.weighted import added_error, moments_error
from tacit.mechanisms.mechanism import Additive
from tacit.mechanisms.residual import Estimated, Residual, rounded
from tacit.mechanisms.selection import Keys
from tacit.privacy.interval import Interval
from tacit.privacy.rounding import Number, exact, float_up
from tacit.query.plan import Moment
from tacit.query.question import Call, Question

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Arrays of one shape; NaN means NULL."""

    value: Floats
    low: Floats
    high: Floats

    def __add__(self, other: Band) -> Band:
        return Band(self.value + other.value, self.low + other.low, self.high + other.high)

    def __neg__(self) -> Band:
        return Band(-self.value, -self.high, -self.low)

    def __sub__(self, other: Band) -> Band:
        return self + (-other)

    def __mul__(self, other: Band) -> Band:
        with np.errstate(all="ignore"):
            corners = [one * two for one in (self.low, self.high) for two in (other.low, other.high)]
            return _between(self.value * other.value, corners)

    def __truediv__(self, other: Band) -> Band:
        """If the divisor may be zero, the ends are infinite; if its value is zero, the value is NaN."""
        open_ended = (other.low <= 0) & (other.high >= 0)
        with np.errstate(all="ignore"):
            corners = [one / two for one in (self.low, self.high) for two in (other.low, other.high)]
            value = np.where(other.value == 0, np.nan, self.value / other.value)
        return _between(value, [np.where(open_ended, np.nan, corner) for corner in corners])

    def scaled_by(self, factor: float) -> Band:
        """Every number times a constant."""
        ends = (self.low * factor, self.high * factor)
        return Band(self.value * factor, np.minimum(*ends), np.maximum(*ends))

    def divided_by(self, divisor: float) -> Band:
        """Every number divided by a positive constant: for integers the nearest double, which times 1 / divisor may miss."""
        return Band(self.value / divisor, self.low / divisor, self.high / divisor)

    def shifted_by(self, constant: float) -> Band:
        """Every number plus a constant."""
        return Band(self.value + constant, self.low + constant, self.high + constant)

    def clamped_to(self, low: float, high: float) -> Band:
        """Every number clamped to a range that is known to contain the exact one."""
        return self.mapped_by(lambda numbers: np.clip(numbers, low, high))

    def mapped_by(self, increasing: Callable[[Floats], Floats]) -> Band:
        """An increasing function of every number."""
        return Band(increasing(self.value), increasing(self.low), increasing(self.high))

    def square(self) -> Band:
        """Every number squared: non-negative, and as small as zero if the ends have different signs."""
        ends = (self.low**2, self.high**2)
        crosses = (self.low <= 0) & (self.high >= 0)
        return Band(self.value**2, np.where(crosses, 0.0, np.minimum(*ends)), np.maximum(*ends))


def _between(value: Floats, corners: list[Floats]) -> Band:
    """The band between the smallest and the largest corner; if one is NaN, the ends are infinite."""
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return Band(value, np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def divisor(rows: Band) -> Band:
    """A number of rows to divide by: at least one in its value; its ends keep zero where zero is possible, so that nothing is
    claimed there.
    """
    return Band(np.maximum(rows.value, 1.0), rows.low, np.maximum(rows.high, 1.0))


def population(spread: float, rows: Band, centred: Band, squares: Band) -> Band:
    """E[y^2] - E[y]^2 in half steps, from the sums of y and of 2 y^2 - R^2, R the range in steps."""
    count = divisor(rows)
    second = (squares / count).shifted_by(spread**2).scaled_by(0.5).clamped_to(0.0, spread**2)
    mean = (centred / count).clamped_to(-spread, spread)
    return (second - mean.square()).clamped_to(0.0, spread**2)


def sample_correction(rows: Band) -> Band:
    """n / (n - 1), and 2 where n is at most 1.5."""

    def correction(numbers: Floats) -> Floats:
        return np.where(numbers > 1.5, numbers / np.maximum(numbers - 1.0, 0.5), 2.0)

    return Band(correction(rows.value), correction(rows.high), correction(rows.low))


def repeated(value: float, like: Band) -> Band:
    """A constant, repeated to the shape of `like`."""
    numbers = np.full_like(like.value, value)
    return Band(numbers, numbers, numbers)


# --- released numbers, and the noise of each ---------------------------------------------------------------------------------


class Asked(Protocol):
    """The part of a request that intervals follow from: their confidence, and whether all of them hold together."""

    @property
    def confidence(self) -> Fraction: ...
    @property
    def simultaneous(self) -> bool: ...


class Priced(Protocol):
    """The part of a quote that intervals follow from: the question, the request, how private keys are released, those beside it."""

    @property
    def question(self) -> Question: ...
    @property
    def request(self) -> Asked: ...
    @property
    def keys(self) -> Keys | None: ...
    @property
    def beside(self) -> tuple[Priced, ...]: ...


Integers = NDArray[Any]
Ranks = tuple[Floats, Floats, Floats]  # values, low ends and high ends of a quantile; of a mode, places among its candidates


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """Released numbers: per moment and group, per quantile and group; the groups by their keys, as integers or text.

    Sums and numbers of units are whole and exact, however large. `units` are those that came with private keys. The numbers of
    the other parts of a question are `beside` and `below`, as in the quote. `measured` are the numbers of the measurements that
    parts share, by workload; `centres` the estimates from them, before they are rounded to whole numbers that agree.
    """

    groups: tuple[tuple[Any, ...], ...]
    sums: Mapping[int, tuple[Released, Integers]]
    ranks: Mapping[Call, Ranks]
    units: Integers | None = None
    measured: tuple[tuple[Integers, ...], ...] = ()
    centres: Mapping[int, Floats] = field(default_factory=dict)
    beside: tuple[Noisy, ...] = ()
    below: tuple[Noisy, ...] = ()

    @property
    def parts(self) -> tuple[Noisy, ...]:
        """The numbers of all parts, in the order of the quote's."""
        return self, *self.beside, *self.below


def noises_of(part: Released) -> tuple[Additive, int]:
    """The noise of a released sum, and how many draws of it are added up in one number; a shared one has several (`Shared`)."""
    if isinstance(part, Shared):
        raise TypeError("a number that is estimated from shared measurements has no noise of its own")
    return (part.mechanism.mechanism, part.mechanism.count) if isinstance(part, Margin) else (part.mechanism, 1)


def half_width(part: Released, missed: Any) -> Interval:
    """The error bar of one released sum, for the chance that it may miss; of an estimate, with the rounding to whole numbers."""
    alone = part.mechanism.interval(1 - missed)
    if not isinstance(part, Shared):
        return alone
    more = rounded(part.mechanism.axes)
    return Interval(float_up(Fraction(alone.below) + Fraction(more)), float_up(Fraction(alone.above) + Fraction(more)))


def ends_of(noisy: Noisy, place: int, missed: Any) -> tuple[Floats, Floats]:
    """The ends of one released sum in every group. Those of an estimate are around it before it was rounded: the exact is whole."""
    part, released = noisy.sums[place]
    values = np.asarray(released, dtype=np.float64)
    if not isinstance(part, Shared):
        width = half_width(part, missed)
        return values - width.below, values + width.above
    centre, width = noisy.centres[place], part.mechanism.interval(1 - missed)
    return np.minimum(np.ceil(centre - width.below), values), np.maximum(np.floor(centre + width.above), values)


@dataclass(frozen=True, slots=True)
class Sum:
    """Noise for one moment over all groups; `units` of the moment make one unit of the answer."""

    place: int
    moment: Moment
    mechanism: Additive


@dataclass(frozen=True, slots=True)
class Added:
    """The noise of `count` numbers of a mechanism, added up."""

    mechanism: Additive
    count: int

    @property
    def name(self) -> str:
        return f"added up from {self.count} numbers with {self.mechanism.name} noise"

    def interval(self, confidence: Number) -> Interval:
        """Where the exact sum lies around the released one, with at least `confidence`: by the law of the sum (added.md)."""
        missed = 1 - exact(confidence, "confidence")
        width = float_up(Fraction(added_error(self.mechanism.name, self.mechanism.scale, self.count, missed)))
        return Interval(width, width)


@dataclass(frozen=True, slots=True)
class Margin:
    """A sum that is not measured: it adds up the sums at place `of` over the groups of another part."""

    place: int
    moment: Moment
    part: int
    of: int
    mechanism: Added


@dataclass(frozen=True, slots=True)
class Shared:
    """A sum that is not measured: its numbers are estimated from measurements that all parts of a question share."""

    place: int
    moment: Moment
    mechanism: Estimated = field(compare=False)  # it follows from the workload, which is named once


Released = Sum | Margin | Shared


@dataclass(frozen=True, slots=True)
class Workload:
    """Measurements of one moment that parts of a question share. `parts` has the number of each part, the place of the moment
    there, and the places of its keys in the order of the axes; one after the last key is that of a condition of the part. `sources`
    are the axes of what the engine counts by.
    """

    moment: Moment
    strategy: Residual
    parts: tuple[tuple[int, int, tuple[int, ...]], ...]
    sources: tuple[tuple[int, ...], ...]


def half_width_of_sum(mechanism: Additive, count: int, missed: Fraction, by_law: bool = True) -> float:
    """The distance that the sum of `count` noises, in units of the grid, exceeds with a chance of at most `missed` (added.md).

    >>> from tacit.mechanisms.laplace import Laplace
    >>> noise = Laplace(sensitivity=1, epsilon=Fraction(1, 10), step=1, on_grid=True)
    >>> [half_width_of_sum(noise, count, Fraction(1, 20)) for count in (1, 4, 100)]
    [30.0, 57.0, 277.0]
    """
    if count <= 1 or mechanism.scale == 0:
        return float(mechanism.interval(1 - missed).above)
    if mechanism.name not in ("Laplace", "Gaussian"):  # not independent: all of them hold together
        return count * float(mechanism.interval(1 - missed / count).above)
    law = mechanism.name, mechanism.scale, count, missed
    each = count * float(mechanism.interval(1 - missed / count).above)
    return float(min(each, moments_error(*law), added_error(*law) if by_law else each))


# --- columns: numbers, texts and tests of all rows ---------------------------------------------------------------------------


Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Numbers of all rows; NaN is NULL. `null` says where the exact value may be NULL."""

    value: Floats
    low: Floats
    high: Floats
    null: Flags

    @property
    def band(self) -> Band:
        """Value and ends alone, to compute with."""
        return Band(self.value, self.low, self.high)

    @property
    def empty(self) -> Flags:
        """Where the exact value is certainly NULL."""
        return np.isnan(self.low)

    def at(self, rows: NDArray[np.int64]) -> Numbers:
        """Those of some rows."""
        return Numbers(self.value[rows], self.low[rows], self.high[rows], self.null[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Texts or truths of all rows. `certain` says that they are exact: made of keys and constants alone."""

    values: tuple[Any, ...]
    certain: bool


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """Whether a test holds in every row: 1, 0, or -1 where it is unknown; and what it may be for the exact numbers."""

    value: NDArray[np.int8]
    true: Flags
    false: Flags
    unknown: Flags


Cells = Numbers | Words


def certain(value: Floats) -> Numbers:
    """Numbers that are exact."""
    return Numbers(value, value, value, np.isnan(value))


def settle(band: Band, null: Flags, empty: Flags | None = None) -> Numbers:
    """Numbers from a computed band: what is too large for a double is NULL, and ends that are not numbers are open."""
    value = np.where(np.isfinite(band.value), band.value, np.nan)
    low, high = np.where(np.isnan(band.low), -np.inf, band.low), np.where(np.isnan(band.high), np.inf, band.high)
    open_ended = np.isinf(low) | np.isinf(high)
    if empty is not None:
        low, high = np.where(empty, np.nan, low), np.where(empty, np.nan, high)
    return Numbers(value, low, high, null | open_ended | (False if empty is None else empty))


def always(value: bool | None, size: int) -> Truths:
    """The same truth in every row."""
    code = -1 if value is None else int(value)
    flags = [np.full(size, code == each) for each in (1, 0, -1)]
    return Truths(np.full(size, code, dtype=np.int8), *flags)


def all_of(parts: Sequence[Truths]) -> Truths:
    """AND: one false part decides; else one that is unknown leaves the whole unknown."""
    values = np.stack([part.value for part in parts])
    value = np.where((values == 0).any(axis=0), 0, np.where((values == -1).any(axis=0), -1, 1)).astype(np.int8)
    true = np.all([part.true for part in parts], axis=0)
    false = np.any([part.false for part in parts], axis=0)
    never_false = np.all([part.true | part.unknown for part in parts], axis=0)
    return Truths(value, true, false, never_false & np.any([part.unknown for part in parts], axis=0))


def negated(part: Truths) -> Truths:
    """NOT."""
    value = np.where(part.value == -1, -1, 1 - part.value).astype(np.int8)
    return Truths(value, part.false, part.true, part.unknown)


def any_of(parts: Sequence[Truths]) -> Truths:
    """OR."""
    return negated(all_of([negated(part) for part in parts]))


def known_as(part: Truths, wanted: bool) -> Truths:
    """IS TRUE or IS FALSE: never unknown."""
    can, other = (part.true, part.false) if wanted else (part.false, part.true)
    return Truths((part.value == int(wanted)).astype(np.int8), can, other | part.unknown, np.zeros_like(can))


def missing(cells: Cells) -> Truths:
    """IS NULL."""
    if isinstance(cells, Numbers):
        value = np.isnan(cells.value)
        return Truths(value.astype(np.int8), cells.null | cells.empty, ~cells.empty, np.zeros_like(value))
    value = np.array([each is None for each in cells.values], dtype=np.bool_)
    unsure = np.full(len(value), not cells.certain)
    return Truths(value.astype(np.int8), value | unsure, ~value | unsure, np.zeros_like(value))


def listed(cells: Cells) -> list[Any]:
    """The values as plain objects, None for NULL."""
    if isinstance(cells, Words):
        return list(cells.values)
    return [
        None if is_null else number for number, is_null in zip(cells.value.tolist(), np.isnan(cells.value).tolist(), strict=True)
    ]


def chosen_words(tests: Sequence[Truths], values: Sequence[Cells], certain: bool) -> Words:
    """CASE over texts or truths; the last value is that of ELSE."""
    columns = [listed(each) for each in values]
    holds = np.stack([*(test.value == 1 for test in tests), np.ones(len(columns[0]), dtype=np.bool_)])
    return Words(tuple(columns[at][row] for row, at in enumerate(holds.argmax(axis=0).tolist())), certain)
