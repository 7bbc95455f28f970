"""Where the SQL of a command comes from: its argument, a file or standard input; and the values of its parameters."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

from tacit.errors import InvalidInput
from tacit.privacy.rounding import is_decimal

WORDS = {"true": True, "false": False, "null": None}
Parameter = str | Decimal | bool | date | None


def text_of(question: str | None, file: Path | None) -> str:
    """The question itself, what `file` holds, or what comes from standard input where the question is "-"."""
    if (question is None) == (file is None):
        raise InvalidInput("give the question as an argument, as - for standard input, or with --file, and only one of them")
    if file is not None:
        if str(file) != "-":
            with file.open("rb") as opened:
                return _decoded(_first(opened))
    elif question != "-":
        return question or ""
    return _decoded(_first(sys.stdin.buffer))


def _first(opened: BinaryIO) -> bytes:
    """No more of a file than a question may have, and some."""
    from tacit.query.language.sql import LONGEST_TEXT

    return opened.read(4 * LONGEST_TEXT + 1)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("the question is not UTF-8 text; save it as UTF-8") from None


def parameters(given: Sequence[str]) -> dict[str, Parameter] | None:
    """The values of `--param name=value`; those of ? and $1 have numbers as names.

    >>> parameters(["age=65", "ward=north", "day=2024-01-31", "code='7'", "1=true"])
    {'age': Decimal('65'), 'ward': 'north', 'day': '2024-01-31', 'code': '7', '1': True}
    """
    found: dict[str, Parameter] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign or not name.strip():
            raise InvalidInput(f"{each[:60]!r} is not a parameter; write --param age=65")
        if name.strip().lower() in found:
            raise InvalidInput(f"the parameter {name.strip()[:60]!r} is given twice; give it once")
        found[name.strip().lower()] = _value(value)
    return found or None


def _value(text: str) -> Parameter:
    """A number, TRUE, FALSE or NULL as in SQL; anything else is a text, and so is what stands in single quotes."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    return Decimal(text) if is_decimal(text) else text
