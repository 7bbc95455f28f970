"""An answer as it travels between server and client: every value exact, so that the same `Answer` comes out at the other end."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.release.answer import Answer, Receipt, record, recorded
from tacit.untrusted import for_json

if TYPE_CHECKING:
    from tacit.release.answers import Answers

MEDIA = "application/vnd.tacit.answer+json"
MOST_PARTS = 100  # answers that a statement is made of
MOST_COLUMNS, LONGEST_NAME = 10_000, 100_000  # of an answer: more than a server of tacit sends
NUMBER = re.compile(r"-?[0-9]{1,2000}(?:[./][0-9]{1,2000})?")  # exact, without an exponent, which could stand for any size
DECIMAL = re.compile(r"-?[0-9]{1,80}(?:\.[0-9]{1,80})?(?:E[+-]?[0-9]{1,3})?")


def exact_text(answer: Answer | Answers) -> str:
    """The answer with its receipt as JSON; of a list, all answers with their questions and one receipt."""
    if isinstance(answer, Answer):
        return f'{{"answer": {record(answer)}, "receipt": {_receipt_text(answer.receipt)}}}'
    from tacit.release.answers import record_answers

    asked = for_json([each.asked for each in answer])
    return f'{{"list": {record_answers(answer, record)}, "questions": {asked}, "receipt": {_receipt_text(answer.receipt)}}}'


def _receipt_text(receipt: Receipt) -> str:
    left = None if receipt.left_epsilon is None else [str(receipt.left_epsilon), str(receipt.left_delta or Fraction(0))]
    written: dict[str, Any] = {"left": left, "entry": receipt.entry, "data_version": receipt.data_version, "again": receipt.again}
    written |= {"periods": receipt.periods} if receipt.periods else {}
    return for_json(written | ({"entries": list(receipt.entries)} if receipt.entries else {}))


def is_list(text: str) -> bool:
    """Whether `exact_text` wrote the answers to a list."""
    return text.startswith('{"list": ')


def answer_from(text: str) -> Answer:
    """The answer that `exact_text` wrote."""
    content: dict[str, Any] = json.loads(text)
    answer = recorded(json.dumps(content["answer"]))
    return replace(answer, receipt=_receipt(content["receipt"], answer.receipt))


def answers_from(text: str) -> Answers:
    """The answers to a list that `exact_text` wrote."""
    from tacit.release.answers import recorded_answers

    content: dict[str, Any] = json.loads(text)
    made = recorded_answers(json.dumps(content["list"]))
    pairs = zip(made, content["questions"], strict=True)
    made = replace(made, answers=tuple(replace(each, asked=asked) for each, asked in pairs))
    return made.with_receipt(_receipt(content["receipt"], made.receipt))


def _receipt(told: dict[str, Any], paid: Receipt) -> Receipt:
    epsilon, delta = (None if part is None else Fraction(part) for part in told["left"] or (None, None))
    receipt = Receipt(paid.epsilon, paid.delta, epsilon, delta)
    entries = tuple(told.get("entries", ()))  # of a statement made of several answers
    receipt = replace(receipt, entry=told["entry"], data_version=told["data_version"], again=told["again"], entries=entries)
    return replace(receipt, periods=told.get("periods", ""))


# --- the form of a reply, for a client that trusts no server ---


def check_answer(answer: Mapping[str, Any], receipt: Mapping[str, Any]) -> None:
    """Raises unless an answer is a table of plain values: columns of one length, and numbers that can be computed with."""
    for number in (*answer["amounts"], answer["confidence"], *(receipt["left"] or ())):
        exact_number(number)
    columns, rows = answer["columns"], {len(part) for _, _, *parts in answer["columns"] for part in parts[:3] if part is not None}
    if len(columns) > MOST_COLUMNS or len(rows) > 1:
        raise ValueError("not a table")
    for name, kind, *parts in columns:
        if not is_text(name) or not is_text(kind) or not all(is_plain(value) for part in parts for value in part or ()):
            raise TypeError("not a column")
    texts = (*answer["notes"], *answer["limits"], receipt.get("periods", ""))
    if not all(map(is_text, texts)) or type(answer["simultaneous"]) is not bool:
        raise TypeError("not an answer")
    entry, version, again = (receipt[field] for field in ("entry", "data_version", "again"))
    if not (entry is None or type(entry) is int) or not (version is None or is_text(version)) or type(again) is not bool:
        raise TypeError("not a receipt")
    entries = receipt.get("entries", [])
    if type(entries) is not list or len(entries) > MOST_PARTS or not all(type(each) is int for each in entries):
        raise TypeError("not a receipt")


def exact_number(text: Any) -> Fraction:
    """An exact number of a reply; one with an exponent could take any time and memory."""
    if not isinstance(text, str) or not NUMBER.fullmatch(text):
        raise ValueError("not a number")
    return Fraction(text)


def is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_NAME


def is_plain(value: Any) -> bool:
    """Whether a value of an answer is one: a text, a number, a truth, NULL, or the exact decimal of `record`."""
    if isinstance(value, dict):
        return len(value) == 1 and all(isinstance(part, str) and DECIMAL.fullmatch(part) for part in value.values())
    return value is None or isinstance(value, str | int | float)


def table_from(told: Mapping[str, Any]) -> dict[str, Any]:
    """The declarations of a table, in the types that readers rely on."""
    unit, columns = told.get("unit"), told["columns"]
    named = [told["name"], *(part for column in columns for part in (column["name"], column["kind"]))]
    named += [] if unit is None else [unit["column"], *(unit["references"] or ())]
    bounds = [part for column in columns for part in column["bounds"] or ()]
    pairs = all(column["bounds"] is None or len(column["bounds"]) == 2 for column in columns)
    steps = [column["step"] for column in columns if column["step"] is not None]
    values = [value for column in columns for value in column["values"] or ()]
    if not pairs or not all(map(is_text, (*named, *bounds, *steps))) or not all(map(is_plain, values)):
        raise TypeError("not a table")
    if unit is not None and unit["references"] is not None and len(unit["references"]) != 2:
        raise TypeError("not a unit")
    return dict(told)
