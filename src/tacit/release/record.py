"""Answers stored as text: a released answer stays the same forever, at no further cost.

A receipt belongs to the analyst who asks, so it is not stored: no analyst learns another one's balance.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tacit.release.answer import Answer, Column, Receipt
from tacit.release.tidy import Totals
from tacit.untrusted import for_json

DECIMAL = "decimal"


def record(answer: Answer) -> str:
    """The answer as text, column by column, to be stored."""
    columns = [
        [column.name, column.kind, column.values, column.low, column.high, *([column.bounds] if column.bounds else [])]
        for column in answer.columns
    ]
    kept = {
        "columns": columns,
        "confidence": str(answer.confidence),
        "amounts": [str(answer.receipt.epsilon), str(answer.receipt.delta)],
        "simultaneous": answer.simultaneous,
        "notes": answer.notes,
        "limits": answer.limits,
        **({} if answer.totals is None else {"totals": [answer.totals.parts, answer.totals.margins, answer.totals.columns]}),
    }
    return for_json(kept, other=_written)


def _written(value: object) -> dict[str, str]:
    """A decimal as an object of its own."""
    if not isinstance(value, Decimal):
        raise TypeError(f"an answer has no {type(value).__name__}")
    return {DECIMAL: str(value)}


def _read(known: dict[str, Any]) -> Any:
    return Decimal(known[DECIMAL]) if set(known) == {DECIMAL} else known


def recorded(text: str) -> Answer:
    """The answer that `record` wrote."""
    kept = json.loads(text, object_hook=_read)
    columns = [
        Column(name, kind, tuple(values), *(None if end is None else tuple(end) for end in ends))
        for name, kind, values, *ends in kept["columns"]
    ]
    epsilon, delta = map(Fraction, kept["amounts"])
    notes, limits = tuple(kept["notes"]), tuple(kept["limits"])
    made = Answer(tuple(columns), Fraction(kept["confidence"]), Receipt(epsilon, delta), kept["simultaneous"], notes, limits)
    return replace(made, totals=_totals(*kept["totals"])) if "totals" in kept else made


def _totals(parts: list[int], margins: list[list[int]], columns: list[int]) -> Totals:
    return Totals(tuple(parts), tuple(map(tuple, margins)), tuple(columns))


def renamed(known: Answer, names: Sequence[str]) -> Answer:
    """The same answer with the column names of another query."""
    return replace(known, columns=tuple(replace(column, name=name) for column, name in zip(known.columns, names, strict=True)))
