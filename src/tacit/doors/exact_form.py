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
    known = answer.receipt
    left = None if known.left_epsilon is None else [str(known.left_epsilon), str(known.left_delta or Fraction(0))]
    receipt = {"left": left, "entry": known.entry, "data_version": known.data_version, "again": known.again}
    return f'{{"answer": {record(answer)}, "receipt": {for_json(receipt)}}}'


def answer_from(text: str) -> Answer:
    """The answer that `exact_text` wrote."""
    known: dict[str, Any] = json.loads(text)
    answer, told = recorded(json.dumps(known["answer"])), known["receipt"]
    epsilon, delta = (None if part is None else Fraction(part) for part in told["left"] or (None, None))
    receipt = Receipt(answer.receipt.epsilon, answer.receipt.delta, epsilon, delta)
    return replace(answer, receipt=replace(receipt, entry=told["entry"], data_version=told["data_version"], again=told["again"]))
