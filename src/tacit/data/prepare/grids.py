"""Numbers onto their grid, in SQL and outside of the engine: the offset of x is floor((x - low) / step + 1/2), inside the bounds.

The SQL cannot fail. Integers, decimals and numbers written as text are rounded in exact integer arithmetic, at a scale of 10^digits
at which bounds and step are whole. Doubles (and texts with an exponent) are rounded in double arithmetic, in the order (x - low) *
q / p + 1/2 for step = p / q: every engine with IEEE doubles gives the same point.

The reader of texts finds numbers that are plain in all rows of a block. It places them itself, exactly, in integers of 64 bits,
which takes a tenth of the time of the engine. Both ways give every number the same point and the same fate (store.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.data.dialect import DUCKDB, Dialect, text
from tacit.data.files.raw import DIGITS, OnGrid, Places, Raw, Scaled, filled
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Column, Notation

CLEAN, MISSING, UNREADABLE, BELOW, ABOVE, UNKNOWN, LONG, ROUNDED = range(8)
MOST_DIGITS = 38
NO_NUMBER = "?"
SMALL, LARGE = 2**62, 2**125  # the limits of 64 and 128 bits, with room for one addition
ENDS = {"whole": (-(2**63), 2**63 - 1), "wide": (-(2**127), 2**127 - 1)}

Layer = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Cleaning:
    """SQL that cleans one column: layers of named parts, each using the ones before it; then the fate and the code of a row."""

    layers: tuple[Layer, ...]
    fate: str
    code: str


@dataclass(frozen=True, slots=True)
class Grid:
    """The bounds and the step as integers at a scale of 10^digits, the engine type that holds them, and the engine's dialect."""

    digits: int
    low: int
    high: int
    step: int
    type: str
    words: Dialect

    def number(self, value: int) -> str:
        return self.words.constant(str(value), self.type)

    def held(self, scaled: str, slack: int = 0) -> str:
        """SQL for an integer at this scale, clamped to the bounds widened by `slack`."""
        low, high = self.number(self.low - slack), self.number(self.high + slack)
        return f"CAST(least(greatest({scaled}, {low}), {high}) AS {self.type})"

    def point(self, held: str) -> str:
        """SQL for the grid point of an integer between the bounds; it cannot overflow."""
        offset = f"{held} - {self.number(self.low)}"
        if self.step > 1:
            offset = self.words.quotient(f"({offset} + {self.number(self.step // 2)})", self.number(self.step))
        return f"CAST({offset} AS {self.words.types.whole})"

    def fate(self, scaled: str, rest: str = "FALSE") -> str:
        """SQL for the side of the bounds that a number is on; if `rest`, the number is slightly above its integer."""
        low, high = self.number(self.low), self.number(self.high)
        above = f"{scaled} > {high}" if rest == "FALSE" else f"{scaled} > {high} OR ({scaled} = {high} AND {rest})"
        moved = rest if self.step == 1 else f"{rest} OR {self.between(scaled)}"
        return f"CASE WHEN {scaled} < {low} THEN {BELOW} WHEN {above} THEN {ABOVE} WHEN {moved} THEN {ROUNDED} ELSE {CLEAN} END"

    def between(self, scaled: str) -> str:
        """SQL for whether a number is between grid points, so that rounding moves it; valid within the bounds."""
        return f"({scaled} - {self.number(self.low)}) % {self.number(self.step)} <> 0"


def grid(column: Column, words: Dialect, digits: int = 0) -> Grid:
    """The grid of a column at a scale of at least `digits` decimal digits."""
    low, high, step = measures(column)
    digits = max(digits, *(decimals(column, number) for number in (low, high, step)))
    first, last, apart = (int(number * 10**digits) for number in (low, high, step))
    largest = 2 * max(abs(first), abs(last), apart)
    if largest >= LARGE or digits >= MOST_DIGITS:
        raise InvalidCatalog(f"the bounds and the step of {column.name} need more than 38 digits; take a larger step")
    return Grid(digits, first, last, apart, words.types.whole if largest < SMALL else words.types.wide, words)


def measures(column: Column) -> tuple[Fraction, Fraction, Fraction]:
    """Lower bound, upper bound and step of a column that has them."""
    if column.bounds is None or column.step is None:
        raise InvalidCatalog(f"{column.name} is a {column.kind} without bounds or step; declare both")
    return (*column.bounds, column.step)


def from_integer(column: Column, raw: Raw) -> Cleaning:
    """Integers of any width, and booleans as 0 and 1."""
    x, points, words = raw.part("x"), grid(column, raw.words), raw.words
    low, high, _ = measures(column)
    kind, ends = (words.types.wide, ENDS["wide"]) if raw.nature == "wide" else (words.types.whole, ENDS["whole"])
    sides = ((math.ceil(low), "<"), (math.floor(high), ">"))
    below, above = (_beyond(f"{x} {sign} {words.constant(str(end), kind)}", sign, end, ends) for end, sign in sides)
    first, last = (words.constant(str(min(max(end, ends[0]), ends[1])), kind) for end, _ in sides)
    held = f"CAST(least(greatest({x}, {first}), {last}) AS {points.type})"
    scaled = f"{held} * {points.number(10**points.digits)}" if points.digits else held
    moved = f"WHEN {points.between(scaled)} THEN {ROUNDED} " if points.step > 1 else ""
    fate = f"CASE WHEN {x} IS NULL THEN {MISSING} WHEN {below} THEN {BELOW} WHEN {above} THEN {ABOVE} {moved}ELSE {CLEAN} END"
    return Cleaning(({x: f"CAST({raw.sql} AS {kind})"},), fate, points.point(scaled))


def from_decimal(column: Column, raw: Raw) -> Cleaning:
    """Decimals by their digits if 38 digits hold the scaled value, else by their text."""
    width, scale = raw.digits
    x, points, types = raw.part("x"), grid(column, raw.words, scale), raw.words.types
    wider = width + points.digits - scale
    wide = wider + points.digits + 1  # without the wide type, the engine would multiply in 64 bits and overflow
    if wide > MOST_DIGITS:
        return from_text(column, raw)
    product = f"CAST({raw.sql} AS DECIMAL({wide}, {points.digits})) * CAST({10**points.digits} AS DECIMAL({points.digits + 1}, 0))"
    scaled = f"CAST({product} AS {types.whole if wider <= 18 else types.wide})"
    return Cleaning(({x: scaled},), f"CASE WHEN {x} IS NULL THEN {MISSING} ELSE {points.fate(x)} END", points.point(points.held(x)))


def from_double(column: Column, raw: Raw) -> Cleaning:
    """Doubles, with NaN as missing and each infinity outside the bounds on its own side."""
    x, words = raw.part("x"), raw.words
    fate = f"CASE WHEN {x} IS NULL OR {words.is_nan(x)} THEN {MISSING} ELSE {_double_fate(column, x, words)} END"
    return Cleaning(({x: f"CAST({raw.sql} AS {words.types.double})"},), fate, _double_point(column, x, words))


def from_text(column: Column, raw: Raw) -> Cleaning:
    """Numbers written as text: exact for digits with at most one point, as doubles with an exponent or beyond every bound.

    At one digit more than the grid needs, every border between two grid points is an integer. So a number can be cut there
    (downwards; `rest` says whether anything was cut off) and keeps its grid point.
    """
    t, d, point, rest, cut, y = (raw.part(word) for word in ("t", "d", "point", "rest", "cut", "y"))
    words = raw.words
    points = grid(column, words, grid(column, words).digits + 1)
    as_written = filled(raw) if raw.nature == "decimal" else plain_number(filled(raw), column.notation, words)
    whole = f"CASE WHEN {point} > 0 THEN left({t}, {point} - 1) ELSE {t} END"
    fraction = f"CASE WHEN {point} > 0 THEN substr({t}, {point} + 1, {points.digits}) ELSE '' END"
    digits = words.cast_or_null(f"{whole} || rpad({fraction}, {points.digits}, '0')", points.type)
    layers = (
        {t: as_written},
        {d: f"CASE WHEN NOT contains({t}, '_') THEN {words.cast_or_null(t, words.types.double)} END", point: f"strpos({t}, '.')"},
        {
            rest: f"{point} > 0 AND ltrim(substr({t}, {point} + {points.digits + 1}), '0') <> ''",
            cut: f"CASE WHEN {d} IS NOT NULL AND NOT {words.matches(t, '[eE]')} THEN {digits} END",
        },
        {y: f"CASE WHEN {cut} IS NOT NULL THEN {points.held(cut, slack=1)} - CAST({rest} AND {t}[1] = '-' AS {points.type}) END"},
    )
    fate = (
        f"CASE WHEN {t} IS NULL OR {words.is_nan(d)} THEN {MISSING} WHEN {d} IS NULL THEN {UNREADABLE} "
        f"WHEN {y} IS NULL THEN {_double_fate(column, d, words)} ELSE {points.fate(y, rest)} END"
    )
    code = f"CASE WHEN {y} IS NULL THEN {_double_point(column, d, words)} ELSE {points.point(points.held(y))} END"
    return Cleaning(layers, fate, code)


def plain_number(sql: str, notation: Notation, words: Dialect) -> str:
    """SQL for a number in text with a decimal point and without grouping; text that is not written as declared stays unreadable.

    If a thousands separator is declared, digits are grouped in threes or not at all; then `1.5` is not a number with thousands =
    ".".
    """
    if (notation.decimal, notation.thousands) == (".", ""):
        return sql
    sign, between = re.escape(notation.decimal), re.escape(notation.thousands)
    groups = f"[0-9]{{1,3}}({between}[0-9]{{3}})+|" if notation.thousands else ""
    pattern = f"[+-]?(({groups}[0-9]+)({sign}[0-9]*)?|{sign}[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity|nan)"
    ungrouped = f"replace({sql}, {text(notation.thousands)}, '')" if notation.thousands else sql
    plain = f"replace({ungrouped}, ',', '.')" if notation.decimal == "," else ungrouped
    return f"CASE WHEN {sql} IS NULL OR {words.matches_whole(sql, pattern)} THEN {plain} ELSE {text(NO_NUMBER)} END"


def _beyond(test: str, sign: str, bound: int, ends: tuple[int, int]) -> str:
    """SQL for a test of x < bound or x > bound, where the bound may be outside the range of x's type."""
    lowest, highest = ends
    if lowest <= bound <= highest:
        return test
    return "TRUE" if (bound > highest) == (sign == "<") else "FALSE"


def _double_fate(column: Column, x: str, words: Dialect) -> str:
    low, high, _ = measures(column)
    outside = f"WHEN {x} < {_double(low, words)} THEN {BELOW} WHEN {x} > {_double(high, words)} THEN {ABOVE}"
    return f"CASE {outside} WHEN {_double_between(column, x, words)} THEN {ROUNDED} ELSE {CLEAN} END"


def _double_between(column: Column, x: str, words: Dialect) -> str:
    """SQL for whether a double within the bounds is further from its grid point than doubles are from the decimals they mean."""
    low, high, step = measures(column)
    steps = f"(({x} - {_double(low, words)}) * {_double(step.denominator, words)} / {_double(step.numerator, words)})"
    slack = 0.001 + float(max(abs(low), abs(high)) / step) * 2.0**-50
    half, one = _double(Fraction(1, 2), words), _double(1, words)
    return f"abs(({steps} + {half}) % {one} - {half}) > {words.constant(repr(slack), words.types.double)}"


def _double_point(column: Column, x: str, words: Dialect) -> str:
    """Defined for every double: the engine orders NaN above every number, so it becomes the upper bound here."""
    grid(column, words)
    low, high, step = measures(column)
    inside = f"least(greatest({x}, {_double(low, words)}), {_double(high, words)}) - {_double(low, words)}"
    scaled = f"({inside}) * {_double(step.denominator, words)} / {_double(step.numerator, words)}"
    rounded = f"floor({scaled} + {_double(Fraction(1, 2), words)})"
    last = words.constant(str(column.points - 1), words.types.whole)
    return f"least(CAST({rounded} AS {words.types.whole}), {last})"


def _double(number: Fraction | int, words: Dialect) -> str:
    return words.constant(repr(float(number)), words.types.double)


def decimals(column: Column, number: Fraction) -> int:
    """How many digits after the point a bound or a step of a column has."""
    for digits in range(MOST_DIGITS + 1):
        if (number * 10**digits).denominator == 1:
            return digits
    raise InvalidCatalog(f"the bounds and the step of {column.name} have no decimal form of 38 digits; write shorter ones")


# --- plain numbers onto their grid outside the engine, as grids.py does it in SQL --------------------------------------------


def is_plain(column: Column) -> bool:
    """Whether numbers of a column are written with a decimal point, and its grid fits integers at the scale of plain numbers."""
    notation = column.notation
    written = (notation.decimal, notation.thousands, notation.missing) == (".", "", ())
    if not written or column.kind != "number" or max(decimals(column, number) for number in measures(column)) > DIGITS:
        return False
    points = grid(column, DUCKDB, DIGITS)
    return 2 * max(abs(points.low), abs(points.high), points.step) < SMALL


def on_grid(column: Column) -> OnGrid:
    """A function that gives the numbers of a column their points and fates."""
    points = grid(column, DUCKDB, DIGITS)
    scaled = (points.low, points.high, points.step)
    whole = tuple(each // 10**DIGITS for each in scaled) if all(each % 10**DIGITS == 0 for each in scaled) else None

    def place_on_grid(given: Scaled) -> tuple[Places, NDArray[np.uint8]]:
        if given.digits == 0 and whole is not None:
            return _place_numbers(given, *whole)
        return _place_numbers(_at_scale(given), *scaled)

    return place_on_grid


def _at_scale(given: Scaled) -> Scaled:
    return given if given.digits else Scaled(given.numbers * 10**DIGITS, DIGITS, given.missing)


def _place_numbers(given: Scaled, low: int, high: int, step: int) -> tuple[Places, NDArray[np.uint8]]:
    """floor((x - low) / step + 1/2) of x held between the bounds, with the fate of x; all integers are at one scale."""
    held = np.clip(given.numbers, low, high)
    offsets = held - low
    points = (offsets + step // 2) // step if step > 1 else offsets
    fates = np.full(len(held), CLEAN, np.uint8)
    if step > 1:
        fates[points * step != offsets] = ROUNDED
    outside = held != given.numbers
    if outside.any():
        fates[outside] = np.where(given.numbers[outside] < low, BELOW, ABOVE)
    if given.missing is not None:
        fates[given.missing] = MISSING
    return points, fates


def from_plain(column: Column, raw: Raw) -> Cleaning:
    """Numbers that the reader of texts has placed already, and the others by their text."""
    as_text, point, fate = from_text(column, raw), raw.part("n"), raw.part("f")
    layers = ({**as_text.layers[0], point: raw.number or "NULL", fate: raw.fate or "NULL"}, *as_text.layers[1:])
    either = "CASE WHEN {fate} IS NOT NULL THEN {ours} ELSE {theirs} END"
    return Cleaning(
        layers,
        either.format(fate=fate, ours=fate, theirs=as_text.fate),
        either.format(fate=fate, ours=point, theirs=as_text.code),
    )
