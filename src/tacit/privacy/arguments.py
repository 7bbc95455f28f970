"""Arguments that are texts, truths or whole numbers: read as they were given, or refused in words that name the argument.

Numbers of budgets and scales are read by `rounding.exact`.
"""

from __future__ import annotations

import operator
import re
from typing import Any

from tacit.errors import InvalidInput

LONGEST = 2_000
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")  # controls, line ends, and halves of characters


def text_of(value: Any, name: str) -> str:
    r"""The text itself: one line, of characters that a ledger can keep and a terminal can show.

    >>> text_of("ana", "analyst")
    'ana'
    >>> text_of("\ud800", "analyst")
    Traceback (most recent call last):
    ...
    tacit.errors.InvalidInput: analyst must be one line of printable text; remove the character at position 1
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {type(value).__name__}", argument=name)
    if unprintable := UNPRINTABLE.search(value):
        raise InvalidInput(
            f"{name} must be one line of printable text; remove the character at position {unprintable.start() + 1}", argument=name
        )
    if len(value) > LONGEST:
        raise InvalidInput(f"{name} has {len(value):,} characters: at most {LONGEST:,} are allowed; shorten it")
    return value


def truth_of(value: Any, name: str) -> bool:
    """True or False, also NumPy's."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise InvalidInput(f"{name} must be True or False, not {type(value).__name__}", argument=name)
    return bool(value)


def whole_of(value: Any, name: str, least: int, most: int) -> int:
    """A whole number within limits, also NumPy's.

    >>> whole_of(10, "limit", 0, 100)
    10
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        given = f", not {type(value).__name__}" if number is None else ""
        raise InvalidInput(f"{name} must be a whole number from {least} to {most:,}{given}", argument=name)
    return number
