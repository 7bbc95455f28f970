"""The public grid: numbers in, whole units out, and back. The cost of rounding is proved in grid.md.

Rounding is floor(x / step + 1/2), computed exactly: two values that differ by d land at most ceil(d / step) units apart, which
half-even rounding does not promise (0.5 and 1.5 go to 0 and 2). Units are Python integers or int64 arrays, and arrays of Python
integers where int64 is too small: nothing wraps around.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.privacy.rounding import Number, as_text, exact

Units = int | NDArray[Any]

HALF = Fraction(1, 2)
STEPS_PER_SCALE = 1000
STEP_OF_CONSTANTS = Fraction(1, 2**20)
DOUBLE_LIMIT = 2**53  # every integer up to here is a double
WORD_LIMIT = 2**63
NEAR_THE_GRID = 2**20
NOT_FINITE = "invalid value: expected finite numbers, not NaN or Infinity; replace such values before the release"


def read_step(step: Number) -> Fraction:
    """A step that is finite and above zero."""
    number = exact(step, "step")
    if number <= 0:
        raise InvalidInput(f"step must be a finite number above 0, not {step}; give for example step=0.01")
    return number


def default_step(scale: Fraction) -> Fraction:
    """The largest power of two that is at most scale / 1000: fine enough not to be seen, and floats sit on it exactly.

    A constant (scale 0) has no noise to compare with; its step is 2^-20.

    >>> default_step(Fraction(4)), default_step(Fraction(5000))
    (Fraction(1, 256), Fraction(4, 1))
    """
    if scale <= 0:
        return STEP_OF_CONSTANTS
    target = scale / STEPS_PER_SCALE
    exponent = target.numerator.bit_length() - target.denominator.bit_length()  # 2^exponent is within a factor 2 of the target
    return next(power for e in (exponent, exponent - 1) if (power := Fraction(2) ** e) <= target)


def to_units(value: Any, step: Fraction) -> Units:
    """floor(value / step + 1/2), exactly: an integer for a number, an array of integers for an array.

    >>> to_units(0.5, Fraction(1)), to_units(1.5, Fraction(1)), to_units(-0.5, Fraction(1))
    (1, 2, 0)
    >>> to_units(np.array([0.1, 2.675]), Fraction(1, 100))
    array([ 10, 267])
    """
    if not is_array(value):
        return _round(value, step)
    array = read_array(value)
    if array.dtype.kind in "biu":
        return _units_of_integers(array, step)
    if array.dtype.kind == "f":
        return _units_of_floats(array, step)
    return _each_rounded(array, step)


def grid_units(value: Any, step: Fraction) -> Units:
    """The units of values that are declared to lie on the grid, each given exactly or as a float near it.

    A value more than a millionth of a step away (or 2^-50 of itself, where floats are coarser than that) breaks the declaration.

    >>> grid_units(0.07, Fraction(1, 100))
    7
    """
    fine: Any = to_units(value, step / NEAR_THE_GRID)
    past = fine % NEAR_THE_GRID
    if np.any(np.minimum(past, NEAR_THE_GRID - past) > 1 + abs(fine) // 2**50):
        raise InvalidValue(
            f"the values are declared to be on the grid of step {as_text(step)}, but not all are; give their step, or on_grid=False"
        )
    return to_units(value, step)


def from_units(units: Units, step: Fraction) -> Any:
    """The numbers at `units` on the grid: integers where the step is one, the nearest floats otherwise.

    >>> from_units(7, Fraction(2)), from_units(7, Fraction(1, 100)), from_units(np.array([1, -3]), Fraction(1, 4))
    (14, 0.07, array([ 0.25, -0.75]))
    """
    if not isinstance(units, np.ndarray):
        return _number_at(units, step)
    low, high = _range(units)
    reach = max(-low, high, 1) * step.numerator
    if units.dtype != object and step.denominator == 1 and reach < WORD_LIMIT:
        return units * step.numerator
    if units.dtype != object and reach < DOUBLE_LIMIT and step.denominator < DOUBLE_LIMIT:
        return units * step.numerator / step.denominator  # two exact doubles: their quotient is correctly rounded
    numbers = np.array([_number_at(int(unit), step) for unit in units.flat], dtype=object).reshape(units.shape)
    return compact(numbers) if step.denominator == 1 else numbers.astype(np.float64)


def add_units(one: Units, other: Units) -> Units:
    """The exact sum. Its type follows from the sum alone, so that it reveals nothing else about the summands.

    >>> add_units(np.array([2**62]), np.array([2**62])), add_units(2**70, 1) - 2**70
    (array([9223372036854775808], dtype=object), 1)
    """
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return one + other
    if one.dtype == other.dtype == np.int64:
        total = one + other
        wrapped = ((one ^ total) & (other ^ total)) < 0  # both terms have one sign, the sum the other
        if not wrapped.any():
            return total
    return compact(one.astype(object) + other.astype(object))


def compact(units: NDArray[Any]) -> NDArray[Any]:
    """The same integers as an int64 array where they all fit, else as Python integers."""
    low, high = _range(units)
    return units.astype(np.int64) if low >= -WORD_LIMIT and high < WORD_LIMIT else units.astype(object)


def read_units(value: Any) -> Units:
    """Whole units as given by a caller who is on the grid already; anything that is not an integer is refused.

    >>> read_units([1, 2**70])
    array([1, 1180591620717411303424], dtype=object)
    """
    array = read_array(value) if is_array(value) else np.array([value], dtype=object)
    if array.dtype.kind in "bi":
        return array.astype(np.int64)
    if not all(isinstance(number, Integral) for number in array.flat):
        raise InvalidValue("grid units must be whole numbers; for other numbers call release(...)")
    units = np.array([int(number) for number in array.flat], dtype=object).reshape(array.shape)
    return compact(units) if is_array(value) else int(units[0])


def is_array(value: Any) -> bool:
    """Whether several values are given at once: a list, a tuple, a NumPy array, or what converts to one, such as a Series."""
    return isinstance(value, list | tuple) or (hasattr(value, "__array__") and not isinstance(value, np.generic))


def read_array(value: Any) -> NDArray[Any]:
    """The values as an array of numbers or objects; masked arrays, text, dates and complex numbers are refused."""
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidValue("masked arrays are not supported: they hide values; give array.filled(...) with a declared meaning")
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidValue("the values must be one flat array, not rows of different lengths") from None
    if array.dtype.kind not in "biufO":
        raise InvalidValue(f"the values must be numbers, not {array.dtype}; convert them first")
    return array


def _round(value: Any, step: Fraction) -> int:
    number = value.item() if isinstance(value, np.generic) and value.dtype.kind in "biuf" else value
    if not isinstance(number, int | float | Fraction | Decimal | np.longdouble):
        raise InvalidValue(f"the value must be a number, not {type(number).__name__}; convert it first")
    try:
        top, bottom = number.as_integer_ratio()
    except (ValueError, OverflowError):
        raise InvalidValue(NOT_FINITE) from None
    return math.floor(Fraction(int(top), int(bottom)) / step + HALF)


def _each_rounded(array: NDArray[Any], step: Fraction) -> NDArray[Any]:
    return compact(np.array([_round(number, step) for number in array.flat], dtype=object).reshape(array.shape))


def _units_of_integers(array: NDArray[Any], step: Fraction) -> NDArray[Any]:
    """(2 x denominator + numerator) // (2 numerator), in int64 where every term fits."""
    top, bottom = step.numerator, step.denominator
    low, high = _range(array)
    if 2 * max(-low, high, 1) * bottom + 2 * top < WORD_LIMIT:
        words = array.astype(np.int64)
        return words * bottom if top == 1 else (words * (2 * bottom) + top) // (2 * top)
    return compact((array.astype(object) * (2 * bottom) + top) // (2 * top))


def _units_of_floats(array: NDArray[Any], step: Fraction) -> NDArray[Any]:
    if not np.isfinite(array).all():
        raise InvalidValue(NOT_FINITE)
    exponent = step.denominator.bit_length() - step.numerator.bit_length()
    if array.dtype.itemsize > 8 or abs(exponent) > 900:
        return _each_rounded(array, step)
    doubles = array.astype(np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return _units_of_doubles(doubles, step, exponent) if _power_of_two(step) else _near_units(doubles, step)


def _units_of_doubles(array: NDArray[np.float64], step: Fraction, exponent: int) -> NDArray[Any]:
    """Exact in doubles for a step of 2^-exponent: see grid.md, "Floats"."""
    scaled = np.ldexp(array, exponent)
    floor = np.floor(scaled)
    if not (np.abs(floor) < WORD_LIMIT / 2).all():
        return _each_rounded(array, step)
    return floor.astype(np.int64) + (scaled - floor >= 0.5)


def _near_units(array: NDArray[np.float64], step: Fraction) -> NDArray[Any]:
    """Rounded in doubles where the quotient is clear of a tie by more than doubles can be wrong, else exactly."""
    quotient = array * (step.denominator / step.numerator)
    floor = np.floor(quotient)
    doubt = np.abs(quotient - floor - 0.5) <= (1 + np.abs(quotient)) * 2.0**-49
    doubt |= ~(np.abs(quotient) < DOUBLE_LIMIT / 16)
    units: NDArray[Any] = np.where(doubt, 0, floor + (quotient - floor >= 0.5)).astype(np.int64)
    if not doubt.any():
        return units
    whole = units.astype(object)
    whole[doubt] = [_round(number, step) for number in array[doubt]]
    return compact(whole)


def _number_at(units: int, step: Fraction) -> int | float:
    if step.denominator == 1:
        return units * step.numerator
    try:
        return units * step.numerator / step.denominator  # division of Python integers is correctly rounded
    except OverflowError:
        raise InvalidValue(f"the release is too large for a float on a grid of step {as_text(step)}; use a whole step") from None


def _range(array: NDArray[Any]) -> tuple[int, int]:
    return (int(array.min()), int(array.max())) if array.size else (0, 0)


def _power_of_two(step: Fraction) -> bool:
    return (step.numerator & (step.numerator - 1)) == 0 and (step.denominator & (step.denominator - 1)) == 0
