"""Answers that cost nothing: of public tables, and of the catalog. They are exact, and no ledger has an entry of them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from tacit.query.intervals.aggregates import CHOICES
from tacit.query.intervals.misses import DECLARED, declared, is_exact, of_quantiles
from tacit.query.price.quote import Request
from tacit.query.question import KeyValue, Output, Question, Result, is_word
from tacit.release.answer import PUBLIC, Answer, Column, Receipt


def free_answer(columns: Iterable[tuple[str, tuple[Any, ...]]]) -> Answer:
    """The answer of price 0 without an entry."""
    named = tuple(Column(name, PUBLIC, values) for name, values in columns)
    return Answer(named, Fraction(1), Receipt(Fraction(0), Fraction(0)))


def without_rows(question: Question, asked: Request) -> Answer:
    """The answer to a question of which no row is asked (LIMIT 0): the columns that any answer to it has, of price 0."""
    kinds = [[_empty(output, part, asked.interval) for output in part.outputs] for part in question.shown]
    columns = tuple(_stacked(list(each)) for each in zip(*kinds, strict=True))
    return Answer(columns, asked.confidence, Receipt(Fraction(0), Fraction(0)), asked.simultaneous)


def _empty(output: Output, question: Question, interval: bool) -> Column:
    """A column without a value, of the kind that it has in any answer (tabulate.py)."""
    if isinstance(output.value, KeyValue):
        return Column(output.name, "key", ())
    call = question.calls[output.value.index] if isinstance(output.value, Result) else None
    if call is not None and call.name in CHOICES:
        return Column(output.name, call.name, ())
    if is_exact(output.value, question):
        return Column(output.name, PUBLIC, ())
    if is_word(output.value):
        return Column(output.name, "text", ())
    kind = call.name if call else "expression"
    if not interval and of_quantiles(output.value, question, question.beside):
        return Column(output.name, kind, ())
    return Column(output.name, kind, (), (), (), declared(call) if call and call.name in DECLARED else None)


def _stacked(parts: list[Column]) -> Column:
    """One column of those that stand below each other (UNION ALL)."""
    kinds = {column.kind for column in parts}
    if len(kinds) == 1:
        return parts[0]
    kind = next((each for each in ("text", "key", PUBLIC) if each in kinds), "expression")
    ends = None if any(column.low is None for column in parts) else ()
    return Column(parts[0].name, kind, (), ends, ends)
