"""Answers that cost nothing: of public tables, and of the catalog. They are exact, and no ledger has an entry of them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from tacit.release.answer import PUBLIC, Answer, Column, Receipt


def free_answer(columns: Iterable[tuple[str, tuple[Any, ...]]]) -> Answer:
    """The answer of price 0 without an entry."""
    named = tuple(Column(name, PUBLIC, values) for name, values in columns)
    return Answer(named, Fraction(1), Receipt(Fraction(0), Fraction(0)))
