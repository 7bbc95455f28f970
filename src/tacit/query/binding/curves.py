"""LN, LOG10, SQRT and EXP of a bounded number: floors on a public step, exact and the same on every engine (curves.md).

The step is the finest power of ten with at most 2^20 steps in the range; a coarser one where integers would leave 2^53, or where
too many arguments lie so near to a border that doubles cannot tell on which side they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Literal as Choice

import numpy as np

from tacit.errors import RangeTooLarge, WrongType
from tacit.privacy.catalog import LARGEST
from tacit.privacy.rounding import as_text, exp_down, exp_up, log_down, log_up, sqrt_down, sqrt_up
from tacit.query.binding import terms
from tacit.query.plan import Literal, Logarithm, NumberType, Root, Term

FINEST = 2**20  # steps in a range whose step is not declared
FINEST_LOG = Fraction(1, 10**9)  # the least step of a logarithm, far above what doubles miss by
MOST_STEPS = 2**37  # of the argument of a logarithm
LARGEST_STEP = Fraction(10**40)
LARGEST_SQUARE = 2**52  # up to it, the root of a double never rounds up to a whole number (curves.md)
MARGIN = 2.0**-40  # relative: above what the logarithm in doubles, and the search for close calls, can miss by
CLOSE = 512  # arguments near a border that are expected at most
MOST_POINTS = 8192  # of the argument of EXP, which is a table
LARGEST_EXPONENT = 300
Base = Choice["e", "10"]


def public_step(spread: Fraction) -> Fraction:
    """The finest power of ten with at most 2^20 steps in a range.

    >>> public_step(Fraction(8))
    Fraction(1, 100000)
    """
    step = Fraction(1)
    while spread / step > FINEST:
        step *= 10
    while spread and spread * 10 / step <= FINEST:
        step /= 10
    return step


# --- roots -------------------------------------------------------------------------------------------------------------------


def root(term: Term) -> Term:
    """floor(sqrt(x) / unit), which for x = k step is the whole root of floor(k step / unit^2)."""
    node, step = terms.number_node(term), terms.number_step(term)
    if node.low < 0:
        raise _outside("SQRT", term, "at least 0", "SQRT(GREATEST(x, 0)) or SQRT(ABS(x))")
    unit = public_step(sqrt_up(node.high * step) - sqrt_down(node.low * step))
    while max(node.high, 1) * (step / unit**2).numerator >= LARGEST or node.high * step >= LARGEST_SQUARE * unit**2:
        unit *= 10
    ratio = step / unit**2
    square = terms.floor_by(terms.times(node, Literal(ratio.numerator)), ratio.denominator)
    if isinstance(square, Literal):
        return Term(Literal(None if square.value is None else isqrt(square.value)), NumberType(unit))
    return Term(Root(square, isqrt(square.low), isqrt(square.high), square.nullable), NumberType(unit))


# --- logarithms --------------------------------------------------------------------------------------------------------------


def logarithm(base: Base) -> Callable[[Term], Term]:
    """floor(log(x) / unit) of a number above 0."""
    word = "LN" if base == "e" else "LOG10"

    def apply(term: Term) -> Term:
        node, step = terms.number_node(term), terms.number_step(term)
        if node.low <= 0:
            raise _outside(word, term, "above 0", f"{word}(x + 1) or {word}(GREATEST(x, 1))")
        if node.high > MOST_STEPS or not 1 / LARGEST_STEP < step < LARGEST_STEP:
            raise RangeTooLarge(
                f"the argument of {word} has more than 2^37 steps, the limit of exact logarithms",
                remedy=f"round it first, for example {word}(ROUND(x, 2))",
            )
        unit = _log_unit(base, node.low, node.high)
        low, high = (floor_log(base, end * step, unit) for end in (node.low, node.high))
        if low == high:
            return Term(terms.where_known((node,), low), NumberType(unit))
        up, down = close_calls(base, step, unit, node.low, node.high)
        return Term(Logarithm(node, base, step, unit, up, down, low, high, node.nullable), NumberType(unit))

    return apply


def _log_unit(base: Base, low: int, high: int) -> Fraction:
    span = log_up(Fraction(high, low)) / (log_down(Fraction(10)) if base == "10" else 1)
    unit = max(public_step(span), FINEST_LOG)
    while span / unit * high > CLOSE / MARGIN:
        unit *= 10
    return unit


def floor_log(base: Base, x: Fraction, unit: Fraction) -> int:
    """floor(log(x) / unit), exactly: between a bound from below and one from above, or a power of ten.

    >>> floor_log("e", Fraction(10), Fraction(1, 1000)), floor_log("10", Fraction(1, 100), Fraction(1, 10))
    (2302, -20)
    """
    exponent = _power_of_ten(x) if base == "10" else (0 if x == 1 else None)
    if exponent is not None:
        return (exponent / unit).__floor__()
    ends = log_down(x), log_up(x)
    if base == "10":
        corners = [end / ten for end in ends for ten in (log_down(Fraction(10)), log_up(Fraction(10)))]
        ends = min(corners), max(corners)
    floors = {(end / unit).__floor__() for end in ends}
    if len(floors) > 1:  # never a border itself, which is irrational; nearer to one than fifty digits tell
        raise RangeTooLarge("the logarithm is too close to a border of its step", remedy="use coarser steps or other bounds")
    return floors.pop()


def _power_of_ten(x: Fraction) -> Fraction | None:
    """The exponent of a whole power of ten; None for any other number, whose logarithm is irrational."""
    top, sign = (x.numerator, 1) if x.denominator == 1 else (x.denominator, -1 if x.numerator == 1 else 0)
    digits = len(str(top)) - 1
    return Fraction(sign * digits) if sign and top == 10**digits else None


@lru_cache(maxsize=64)
def close_calls(base: Base, step: Fraction, unit: Fraction, low: int, high: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The arguments that lie near a border: those that reach it, and those that do not, each decided exactly.

    A border is exp(j unit) / step. Doubles find every whole number that is near to one; the few that are found are decided by
    directed rounding. All others are on the side on which doubles see them (curves.md).
    """
    first, last = (floor_log(base, end * step, unit) for end in (low, high))
    scale = float(unit * (log_up(Fraction(10)) if base == "10" else 1))
    places = np.arange(first, last + 2)
    borders = np.exp(places * scale - float(log_up(step) if step != 1 else 0))
    nearest = np.rint(borders)
    near = (np.abs(borders - nearest) <= nearest * MARGIN) & (nearest >= low) & (nearest <= high)
    up: list[int] = []
    down: list[int] = []
    for place, k in zip(places[near].tolist(), nearest[near].tolist(), strict=True):
        (up if floor_log(base, int(k) * step, unit) >= place else down).append(int(k))
    return tuple(up), tuple(down)


# --- powers of e -------------------------------------------------------------------------------------------------------------


def exponential(term: Term) -> Term:
    """floor(exp(x) / unit), by a table of all values of x."""
    node, step = terms.number_node(term), terms.number_step(term)
    if max(abs(node.low), abs(node.high)) * step > LARGEST_EXPONENT:
        raise RangeTooLarge(
            f"the argument of EXP must be from -{LARGEST_EXPONENT} to {LARGEST_EXPONENT}",
            remedy="use tighter bounds, for example EXP(LEAST(x, 10))",
        )
    if node.high - node.low >= MOST_POINTS:
        raise RangeTooLarge(
            f"the argument of EXP has {node.high - node.low + 1:,} possible values; the limit is {MOST_POINTS:,}",
            remedy="round it first, for example EXP(ROUND(x, 1))",
        )
    unit = public_step(exp_up(node.high * step) - exp_down(node.low * step))
    table = [_floor_exp(k * step, unit) for k in range(node.low, node.high + 1)]
    terms.checked(table[0], table[-1])
    if table[0] == table[-1]:
        return Term(terms.where_known((node,), table[0]), NumberType(unit))
    place = Term(terms.plus(node, Literal(-node.low)), NumberType(Fraction(1)))
    return Term(terms.lookup(place, table), NumberType(unit), points=tuple(sorted(set(table))))


def _floor_exp(x: Fraction, unit: Fraction) -> int:
    """floor(exp(x) / unit): by doubles where they are far from a border, which they miss by less than 2^-13, else by two bounds."""
    near = math.exp(float(x)) / float(unit)
    if near < 2**30 and abs(near - round(near)) > 2**-10:
        return math.floor(near)
    if x == 0:
        return (1 / unit).__floor__()
    low, high = ((end / unit).__floor__() for end in (exp_down(x), exp_up(x)))
    if low != high:
        raise RangeTooLarge("EXP is too close to a border of its step", remedy="use coarser steps or other bounds")
    return low


def _outside(word: str, term: Term, rule: str, example: str) -> WrongType:
    least = as_text(terms.number_node(term).low * terms.number_step(term))
    return WrongType(f"the argument of {word} must be {rule}; it can be {least}", remedy=f"write {example}")
