"""Answers kept as text: what was released once is the same for ever, at no further cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tacit.release.answer import Answer, Column, Receipt
from tacit.untrusted import for_json


def record(answer: Answer) -> str:
    """The answer as text, column by column, to be kept: what was released once is the same for ever."""
    columns = [[column.name, column.kind, column.values, column.low, column.high] for column in answer.columns]
    receipt = answer.receipt
    amounts = (receipt.epsilon, receipt.delta, receipt.left_epsilon, receipt.left_delta)
    kept = {
        "columns": columns,
        "confidence": str(answer.confidence),
        "amounts": [None if amount is None else str(amount) for amount in amounts],
        "place": [receipt.entry, receipt.data_version],
        "simultaneous": answer.simultaneous,
        "notes": answer.notes,
    }
    return for_json(kept)


def recorded(text: str) -> Answer:
    """The answer that `record` wrote."""
    kept = json.loads(text)
    columns = [
        Column(name, kind, tuple(values), *(None if end is None else tuple(end) for end in ends))
        for name, kind, values, *ends in kept["columns"]
    ]
    epsilon, delta, *left = (None if amount is None else Fraction(amount) for amount in kept["amounts"])
    receipt = Receipt(epsilon or Fraction(0), delta or Fraction(0), left[0], left[1], *kept["place"])
    return Answer(tuple(columns), Fraction(kept["confidence"]), receipt, kept["simultaneous"], tuple(kept["notes"]))


def renamed(known: Answer, names: Sequence[str]) -> Answer:
    """The same answer under the names of another question."""
    return replace(known, columns=tuple(replace(column, name=name) for column, name in zip(known.columns, names, strict=True)))
