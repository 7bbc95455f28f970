"""Values and both ends of functions of released numbers; query/functions.py lists them. A missing value is NULL, never an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from tacit.query.intervals.bands import Band, Cells, Flags, Floats, Numbers, Truths, Words, certain, listed, settle

Map = Callable[[Numbers], Numbers]


def arithmetic(operator: str, one: Numbers, two: Numbers) -> Numbers:
    """The four operators; division by zero is NULL."""
    with np.errstate(all="ignore"):
        left, right = one.band, two.band
        made = {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "/": left.__truediv__}[operator](right)
    by_zero = (two.low <= 0) & (two.high >= 0) if operator == "/" else np.zeros_like(one.null)
    return settle(made, one.null | two.null | by_zero, one.empty | two.empty)


def round_to(child: Numbers, decimals: int) -> Numbers:
    """Rounded to decimals, halves away from zero."""
    unit = 10.0**decimals

    def nearest(numbers: Floats) -> Floats:
        with np.errstate(all="ignore"):
            scaled = np.sign(numbers) * np.floor(np.abs(numbers) * unit + 0.5) / unit
        return np.where(np.isfinite(scaled), scaled, numbers)

    return settle(child.band.mapped_by(nearest), child.null, child.empty)


def fit_digits(child: Numbers, limit: int) -> Numbers:
    """NULL where a number has more digits than fit."""
    most = float(limit)
    inside = np.abs(child.value) < most
    outside = (child.low <= -most) | (child.high >= most)
    gone = child.empty | (child.low >= most) | (child.high <= -most)
    low, high = np.clip(child.low, -most, most), np.clip(child.high, -most, most)
    return settle(Band(np.where(inside, child.value, np.nan), low, high), child.null | outside, gone)


# --- functions of one number -------------------------------------------------------------------------------------------------


def rising(function: Callable[[Floats], Floats]) -> Map:
    """A function that grows, and has a value everywhere."""

    def of(child: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return settle(child.band.mapped_by(function), child.null, child.empty)

    return of


def from_zero(function: Callable[[Floats], Floats], zero: bool) -> Map:
    """A function that grows, and has a value above zero alone; at zero too, if `zero`."""

    def inside(numbers: Floats) -> Flags:
        return numbers >= 0 if zero else numbers > 0

    def of(child: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            value = np.where(inside(child.value), function(child.value), np.nan)
            low, high = function(np.maximum(child.low, 0.0)), function(np.maximum(child.high, 0.0))
        return settle(Band(value, low, high), child.null | ~inside(child.low), child.empty | ~inside(child.high))

    return of


def absolute(child: Numbers) -> Numbers:
    """ABS."""
    ends = (np.abs(child.low), np.abs(child.high))
    low = np.where((child.low <= 0) & (child.high >= 0), 0.0, np.minimum(*ends))
    return settle(Band(np.abs(child.value), low, np.maximum(*ends)), child.null, child.empty)


def power(base: Numbers, exponent: Numbers, constant: Fraction | None) -> Numbers:
    """base to the exponent. The ends are those of the corners, which hold the extremes where the base is positive.

    For a constant whole exponent they hold elsewhere too, with zero where the base may be zero; else nothing is known there.
    """
    whole = constant is not None and constant.denominator == 1 and constant >= 0
    with np.errstate(all="ignore"):
        value = np.power(base.value, exponent.value)
        value = np.where(np.isnan(base.value) | np.isnan(exponent.value), np.nan, value)  # NumPy: NaN to the 0 is 1
        corners = [np.power(one, two) for one in (base.low, base.high) for two in (exponent.low, exponent.high)]
    if whole and constant:
        corners.append(np.where((base.low <= 0) & (base.high >= 0), 0.0, corners[0]))
    bounded = np.ones_like(base.null) if whole else base.low > 0
    low = np.where(bounded, np.minimum.reduce(corners), -np.inf)
    high = np.where(bounded, np.maximum.reduce(corners), np.inf)
    return settle(Band(value, low, high), base.null | exponent.null | ~bounded, base.empty | exponent.empty)


# --- of several, one ---------------------------------------------------------------------------------------------------------


def least(parts: Sequence[Numbers]) -> Numbers:
    """The least of those that are not NULL."""
    return _negative(greatest([_negative(part) for part in parts]))


def greatest(parts: Sequence[Numbers]) -> Numbers:
    """The greatest of those that are not NULL."""
    value: Floats = np.fmax.reduce([part.value for part in parts])
    high: Floats = np.fmax.reduce([part.high for part in parts])
    sure: Floats = np.fmax.reduce([np.where(part.null, np.nan, part.low) for part in parts])
    low: Floats = np.where(np.isnan(sure), np.fmin.reduce([part.low for part in parts]), sure)
    null, empty = np.all([part.null for part in parts], axis=0), np.all([part.empty for part in parts], axis=0)
    return settle(Band(value, low, high), null, empty)


def _negative(part: Numbers) -> Numbers:
    return Numbers(-part.value, -part.high, -part.low, part.null)


def choose(tests: Sequence[Truths], values: Sequence[Numbers]) -> Numbers:
    """CASE; the last value is that of ELSE. The range is that of all values that may be chosen."""
    size = len(values[-1].value)
    value, low, high = (np.full(size, np.nan) for _ in range(3))
    null, waiting, reached = np.zeros(size, dtype=np.bool_), np.ones(size, dtype=np.bool_), np.ones(size, dtype=np.bool_)
    for at, each in enumerate(values):
        test = tests[at] if at < len(tests) else None
        taken = waiting if test is None else waiting & (test.value == 1)
        possible = reached if test is None else reached & test.true
        value = np.where(taken, each.value, value)
        low = np.where(possible, np.fmin(low, each.low), low)
        high = np.where(possible, np.fmax(high, each.high), high)
        null |= possible & (each.null | each.empty)
        if test is not None:
            waiting, reached = waiting & (test.value != 1), reached & (test.false | test.unknown)
    return settle(Band(value, low, high), null, np.isnan(low))


def coalesce(parts: Sequence[Numbers]) -> Numbers:
    """The first that is not NULL."""
    tests = [Truths(np.where(np.isnan(part.value), 0, 1).astype(np.int8), ~part.empty, part.null, np.zeros_like(part.null))
             for part in parts[:-1]]  # fmt: skip
    present = [Numbers(part.value, part.low, part.high, part.empty) for part in parts[:-1]]
    return choose(tests, [*present, parts[-1]])


# --- comparisons -------------------------------------------------------------------------------------------------------------


def compare(operator: str, one: Cells, two: Cells) -> Truths:
    """A comparison; unknown where one side is NULL."""
    if isinstance(one, Numbers) and isinstance(two, Numbers):
        return _of_numbers(operator, one, two)
    return _of_words(operator, one, two)


def _of_numbers(operator: str, one: Numbers, two: Numbers) -> Truths:
    if operator in (">", ">="):
        return _of_numbers({">": "<", ">=": "<="}[operator], two, one)
    unknown = np.isnan(one.value) | np.isnan(two.value)
    holds = {"<": np.less, "<=": np.less_equal, "=": np.equal, "<>": np.not_equal}[operator](one.value, two.value)
    overlap = (one.low <= two.high) & (two.low <= one.high)
    same = (one.low == one.high) & (two.low == two.high) & (one.low == two.low)
    either = ~(one.empty | two.empty)
    can, cannot = {
        "<": (one.low < two.high, one.high >= two.low),
        "<=": (one.low <= two.high, one.high > two.low),
        "=": (overlap, ~same),
        "<>": (~same, overlap),
    }[operator]
    value = np.where(unknown, -1, holds.astype(np.int8)).astype(np.int8)
    return Truths(value, can & either, cannot & either, one.null | two.null | one.empty | two.empty)


_PLAIN: Mapping[str, Callable[[object, object], bool]] = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b,  # type: ignore[operator]
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,  # type: ignore[operator]
}  # fmt: skip


def _of_words(operator: str, one: Cells, two: Cells) -> Truths:
    """Where a side is not certain, anything may be."""
    value = np.array([_plain(operator, *pair) for pair in zip(listed(one), listed(two), strict=True)], dtype=np.int8)
    unsure = np.full(len(value), not (_is_certain(one) and _is_certain(two)))
    return Truths(value, (value == 1) | unsure, (value == 0) | unsure, (value == -1) | unsure)


def _plain(operator: str, one: object, two: object) -> int:
    if one is None or two is None:
        return -1
    if isinstance(one, str) != isinstance(two, str):
        return int(operator == "<>")
    return int(_PLAIN[operator](one, two))


def _is_certain(cells: Cells) -> bool:
    if isinstance(cells, Words):
        return cells.certain
    return bool((cells.empty | (cells.low == cells.high)).all() and not (cells.null & ~cells.empty).any())


def constant(value: float, size: int) -> Numbers:
    """The same number in every row; NULL where a double does not hold it."""
    return certain(np.full(size, value if np.isfinite(value) else np.nan))
