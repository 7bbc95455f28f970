"""What a question is given beside its text: values of its parameters, and today's date. All of them become its literals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

from tacit.errors import InvalidInput
from tacit.query.language.syntax import Apply, At, Constant, Expression

Parameter = str | int | float | Decimal | Fraction | bool | date | None
Parameters = Mapping[str, Any] | Sequence[Any] | None


@dataclass(frozen=True, slots=True)
class Given:
    """Parameters by name, those of `?` and `$1` by their number from 1, and the date; `today` is None where nobody says it."""

    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    today: date | None = None


def given(parameters: Parameters = None, today: date | None = None) -> Given:
    """What is given, after a look at it.

    >>> given({"age": 65}).parameters, given([65, "F"]).parameters
    ({'age': 65}, {'1': 65, '2': 'F'})
    """
    if parameters is None:
        return Given({}, today)
    if isinstance(parameters, Mapping):
        named = {_name(name): value for name, value in parameters.items()}
    elif isinstance(parameters, Sequence) and not isinstance(parameters, str | bytes):
        named = {str(place): value for place, value in enumerate(parameters, 1)}
    else:
        raise InvalidInput(f"params must be a dictionary or a list, not {type(parameters).__name__}")
    return Given({name: _plain(name, value) for name, value in named.items()}, today)


def _name(name: object) -> str:
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise InvalidInput(f"the name of a parameter must be a text, not {type(name).__name__}")
    return str(name).lower()


def _plain(name: str, value: Any) -> Parameter:
    value = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    if isinstance(value, datetime) or not isinstance(value, str | bool | Integral | float | Decimal | Fraction | date | None):
        raise InvalidInput(
            f"the parameter {name!r} must be a text, a number, a date, True, False or None, not {type(value).__name__}"
        )
    return value if isinstance(value, str | bool | float | Decimal | Fraction | date | None) else int(value)


def decimal_of(value: int | float | Decimal | Fraction) -> str | None:
    """The decimal digits of a number, a float by its shortest form; None where they do not end."""
    if isinstance(value, Fraction):
        rest = value.denominator
        for prime in (2, 5):
            while rest % prime == 0:
                rest //= prime
        if rest != 1:
            return None
        value = Decimal(value.numerator) / Decimal(value.denominator)
    return repr(value) if isinstance(value, float) else str(value)


def constant(value: Fraction | str | bool | date | None, at: At) -> Expression:
    """A literal as the reader makes it from text: a number below zero is one with a sign."""
    if isinstance(value, Fraction) and value < 0:
        return Apply("negate", (Constant(-value, at),), at)
    return Constant(value, at)
