"""An answer as it travels between server and client: every value exact, so that the same `Answer` comes out at the other end."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tacit.release.answer import Answer, Receipt, record, recorded
from tacit.untrusted import for_json

MEDIA = "application/vnd.tacit.answer+json"


def exact_text(answer: Answer) -> str:
    """The answer with its receipt as JSON."""
    receipt = answer.receipt
    left = None if receipt.left_epsilon is None else [str(receipt.left_epsilon), str(receipt.left_delta or Fraction(0))]
    written: dict[str, Any] = {"left": left, "entry": receipt.entry, "data_version": receipt.data_version, "again": receipt.again}
    written |= {"entries": list(receipt.entries)} if receipt.entries else {}
    written |= {"periods": receipt.periods} if receipt.periods else {}
    return f'{{"answer": {record(answer)}, "receipt": {for_json(written)}}}'


def answer_from(text: str) -> Answer:
    """The answer that `exact_text` wrote."""
    content: dict[str, Any] = json.loads(text)
    answer, told = recorded(json.dumps(content["answer"])), content["receipt"]
    epsilon, delta = (None if part is None else Fraction(part) for part in told["left"] or (None, None))
    receipt = Receipt(answer.receipt.epsilon, answer.receipt.delta, epsilon, delta)
    entries = tuple(told.get("entries", ()))  # of a statement made of several answers
    receipt = replace(receipt, entry=told["entry"], data_version=told["data_version"], again=told["again"], entries=entries)
    receipt = replace(receipt, periods=told.get("periods", ""))
    return replace(answer, receipt=receipt)
