"""The text of an answer in the ledger. A released answer stays the same forever, at no further cost, so the ledger keeps it."""

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
    """The answer as text, column by column, to be stored. A receipt belongs to the analyst who asks, so it is not stored."""
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
        **({} if answer.requested is None else {"asked": answer.requested}),
        **({} if answer.parts is None else {"parts": answer.parts}),
    }
    return for_json(kept, other=_written_decimal)


def record_for_all(answer: Answer) -> str:
    """The same for whoever pays for the answer: without the names that the first of them gave its columns."""
    return record(with_names(answer, plain_names(len(answer.columns))))


def plain_names(many: int) -> list[str]:
    """The names of columns that have none."""
    return [f"column {number}" for number in range(1, many + 1)]


def _written_decimal(value: object) -> dict[str, str]:
    """A decimal as an object of its own."""
    if not isinstance(value, Decimal):
        raise TypeError(f"an answer has no {type(value).__name__}")
    return {DECIMAL: str(value)}


def _read(fields: dict[str, Any]) -> Any:
    return Decimal(fields[DECIMAL]) if set(fields) == {DECIMAL} else fields


def _recorded_column(name: str, kind: str, values: Sequence[Any], low: Any, high: Any, bounds: Any = None) -> Column:
    low, high, bounds = (None if end is None else tuple(end) for end in (low, high, bounds))
    return Column(name, kind, tuple(values), low, high, bounds)


def recorded(text: str) -> Answer:
    """The answer that `record` wrote."""
    kept = json.loads(text, object_hook=_read)
    columns = [_recorded_column(*column) for column in kept["columns"]]
    epsilon, delta = map(Fraction, kept["amounts"])
    notes, limits = tuple(kept["notes"]), tuple(kept["limits"])
    made = Answer(tuple(columns), Fraction(kept["confidence"]), Receipt(epsilon, delta), kept["simultaneous"], notes, limits)
    totals = _totals(*kept["totals"]) if "totals" in kept else None
    return replace(made, totals=totals, parts=kept.get("parts"))


def _totals(parts: list[int], margins: list[list[int]], columns: list[int]) -> Totals:
    return Totals(tuple(parts), tuple(map(tuple, margins)), tuple(columns))


Labels = tuple[tuple[Any, str], ...]


def with_names(answer: Answer, names: Sequence[str], labels: Sequence[Labels] = ()) -> Answer:
    """The same answer with the column names of another query, and the labels that the catalog declares now."""
    given = [*labels, *((),) * (len(names) - len(labels))]
    columns = zip(answer.columns, names, given, strict=True)
    return replace(answer, columns=tuple(replace(column, name=name, labels=each) for column, name, each in columns))
