"""Exact numbers, and roundings whose names say their direction.

Budgets and scales are `Fraction`s. Where mathematics leaves the rationals (exp, log, square root), the result is a rational
on the stated side of the true value, with a relative error below 10^-57: Python's `decimal` rounds exp, ln and sqrt
correctly, and one step of its last place moves the result past the true value.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation, Overflow
from fractions import Fraction
from functools import lru_cache
from typing import SupportsFloat

from tacit.errors import InvalidInput

Number = int | float | str | Decimal | Fraction

DIGITS = 60
WRITTEN = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
FRACTION = re.compile(r"[+-]?[0-9]+/[0-9]+")
LARGEST_FLOAT = Fraction(sys.float_info.max)
MOST_BITS = 13_000  # of an integer: some 4000 digits, which Python still writes out in a message
MOST_DIGITS = 4000  # before or after the point of a number that is read: 1e999999999 is ten characters, and a gigabyte


def exact(number: Number, name: str = "number", error: type[InvalidInput] = InvalidInput) -> Fraction:
    """The rational that was written: floats are read by their shortest decimal form, so 0.1 is one tenth.

    A text is an ASCII decimal, or a fraction of two whole numbers, and nothing around it.

    >>> exact(0.1), exact("1/3"), exact(2)
    (Fraction(1, 10), Fraction(1, 3), Fraction(2, 1))
    """
    if type(number) is Fraction:  # most are, and need no other look
        return number
    several = hasattr(number, "__len__") and not isinstance(number, str)  # an array of one number is not a number either
    if isinstance(number, bool) or several or not isinstance(number, int | float | str | Decimal | Fraction | SupportsFloat):
        raise error(f"{name} must be a number, not {type(number).__name__}; give for example {name}=0.5", argument=name)
    if isinstance(number, int) and number.bit_length() > MOST_BITS:
        raise error(f"{name} must have at most {MOST_DIGITS} digits; give for example {name}=0.5", argument=name)
    try:
        if isinstance(number, Fraction | int):
            return Fraction(number)
        if isinstance(number, str | Decimal):
            return _parse_number(number)
        return Fraction(repr(float(number)))
    except (ValueError, TypeError, OverflowError, InvalidOperation, ZeroDivisionError):
        raise error(
            f"{name} must be a finite number, not {brief(number)!r}; write it like 20, 0.5, 1e-6 or 1/3", argument=name
        ) from None


@lru_cache(maxsize=4096)
def exact_from(text: str) -> Fraction:
    """The number of a text. Most entries of a ledger repeat those before: reading one costs more than a look.

    >>> exact_from("1/3")
    Fraction(1, 3)
    """
    return Fraction(text)


def _parse_number(number: str | Decimal) -> Fraction:
    """A decimal or a fraction in words; raises ValueError if invalid, or so long that to write it out exhausts memory."""
    if isinstance(number, str) and FRACTION.fullmatch(number):
        return Fraction(number)  # Python itself reads no more than 4300 digits of an integer
    if isinstance(number, str) and not is_decimal(number):
        raise ValueError
    decimal = Decimal(number)
    if not decimal:
        return Fraction(0)
    if abs(decimal.adjusted()) + len(decimal.as_tuple().digits) > MOST_DIGITS:
        raise ValueError
    return Fraction(decimal)


def is_decimal(text: str) -> bool:
    """Whether a text is a number in ASCII: Python also reads blanks around it, underscores in it, and the digits of other scripts.

    >>> [is_decimal(text) for text in ("20", "-.5", "1e-6", " 1", "1_0", "\uff11", "\u0663", "nan")]
    [True, True, True, False, False, False, False, False]
    """
    return WRITTEN.fullmatch(text) is not None


def brief(value: object) -> str:
    """A given value for a message: its first 40 characters, and no number that is too long to be written out.

    >>> brief(0.5), brief(10**5000)
    ('0.5', 'a number of thousands of digits')
    """
    try:
        return str(value)[:40]
    except ValueError:
        return "a number of thousands of digits"


def counted(number: int, noun: str) -> str:
    """A number and what it counts, in the singular for 1.

    >>> counted(1, "row"), counted(0, "row"), counted(1200, "entry"), counted(3, "branch")
    ('1 row', '0 rows', '1,200 entries', '3 branches')
    """
    many = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


def as_text(number: Fraction) -> str:
    """A rational the way people write it: a short exact decimal if one exists, else six significant digits.

    >>> as_text(Fraction(1, 2)), as_text(Fraction(1, 3)), as_text(Fraction(1, 10**7)), as_text(Fraction(12))
    ('0.5', '0.333333', '1e-07', '12')
    >>> as_text(Fraction(10) ** 400)
    '1.00000e+400'
    """
    if number.denominator == 1 and abs(number) < 10**15:
        return str(number.numerator)
    if not abs(number) < LARGEST_FLOAT:
        return f"{Decimal(number.numerator) / Decimal(number.denominator):.6g}"
    near = float(number)
    short = Decimal(repr(near)).as_integer_ratio() == (number.numerator, number.denominator)
    return f"{near:.12g}" if short else f"{near:.6g}"


def decimal_text(number: Fraction) -> str:
    """An exact budget as a decimal where it has one, else as a fraction.

    >>> decimal_text(Fraction(1, 10**6)), decimal_text(Fraction(1, 3)), decimal_text(Fraction(19))
    ('0.000001', '1/3', '19')
    """
    for places in range(40):
        scaled = number * 10**places
        if scaled.denominator == 1:
            digits = f"{abs(scaled.numerator):0{places + 1}d}"
            text = digits if not places else f"{digits[:-places]}.{digits[-places:]}"
            return f"-{text}" if number < 0 else text
    return str(number)


def decimal_near(number: Fraction, direction: str) -> Decimal:
    """The rational as a decimal: exact where 60 digits more than its numerator has are enough, else rounded in the `direction`.

    >>> decimal_near(Fraction(2**60 + 1, 100), ROUND_FLOOR), decimal_near(Fraction(-1, 3), ROUND_CEILING) > Fraction(-1, 3)
    (Decimal('11529215046068469.77'), True)
    """
    digits = len(str(abs(number.numerator))) + DIGITS
    context = Context(prec=digits, rounding=direction, Emax=MAX_EMAX, Emin=MIN_EMIN)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def exp_up(x: Fraction, digits: int = DIGITS) -> Fraction:
    """A rational at or above e^x; more `digits` bring it closer."""
    return _outward(Decimal.exp, x, ROUND_CEILING, digits)


def exp_down(x: Fraction, digits: int = DIGITS) -> Fraction:
    """A rational at or below e^x, and positive; more `digits` bring it closer."""
    return _outward(Decimal.exp, x, ROUND_FLOOR, digits)


def log_up(x: Fraction) -> Fraction:
    """A rational at or above ln x, for x > 0."""
    return _outward(Decimal.ln, _positive(x), ROUND_CEILING)


def log_down(x: Fraction) -> Fraction:
    """A rational at or below ln x, for x > 0."""
    return _outward(Decimal.ln, _positive(x), ROUND_FLOOR)


def sqrt_up(x: Fraction) -> Fraction:
    """A rational at or above the square root of x, for x >= 0; exact where the root is rational.

    >>> sqrt_up(Fraction(9, 4)), sqrt_up(Fraction(2)) ** 2 > 2
    (Fraction(3, 2), True)
    """
    return _rational_root(x) or _outward(Decimal.sqrt, x, ROUND_CEILING)


def sqrt_down(x: Fraction) -> Fraction:
    """A rational at or below the square root of x, for x >= 0; exact where the root is rational."""
    return _rational_root(x) or _outward(Decimal.sqrt, x, ROUND_FLOOR)


def float_up(x: Fraction) -> float:
    """The least float at or above x; infinity beyond the largest one.

    >>> float_up(Fraction(10) ** 400), float_up(-(Fraction(10) ** 400)) == -float(LARGEST_FLOAT)
    (inf, True)
    """
    if not abs(x) < LARGEST_FLOAT:
        return math.inf if x > LARGEST_FLOAT else float(LARGEST_FLOAT) * (1 if x > 0 else -1)
    nearest = float(x)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def float_down(x: Fraction) -> float:
    """The largest float at or below x; minus infinity below the least one."""
    if not abs(x) < LARGEST_FLOAT:
        return -float_up(-x)
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)


def _positive(x: Fraction) -> Fraction:
    if x <= 0:
        raise InvalidInput(f"a logarithm requires a positive number, not {as_text(x)}")
    return x


def _rational_root(x: Fraction) -> Fraction | None:
    if x < 0:
        raise InvalidInput(f"a square root requires a number of at least 0, not {as_text(x)}")
    root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    return root if root * root == x else None


def _outward(function: Callable[[Decimal, Context], Decimal], x: Fraction, direction: str, digits: int = DIGITS) -> Fraction:
    """`function(x)` moved to the side of `direction`; `function` must be increasing and correctly rounded."""
    context = Context(prec=digits, rounding=direction, Emax=MAX_EMAX, Emin=MIN_EMIN)
    at = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    try:
        result = function(at, context)
    except Overflow:
        raise InvalidInput(f"e to the power of {as_text(x)} is too large; give a smaller number") from None
    if not result and at >= 0:  # ln 1 and the root of 0 are exact; a step from 0 would have a denominator of 10^18 digits
        return Fraction(0)
    return Fraction(context.next_plus(result) if direction == ROUND_CEILING else context.next_minus(result))
