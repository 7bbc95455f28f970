"""Events as canonical JSON and back: what a ledger of today must still say in ten years.

One event has one text: keys sorted, no blanks, ASCII only, exact numbers as strings ("1/3"), counts as integers. The names of kinds
and fields are part of the format, whatever the classes come to be called; the test beside it holds one text of each kind, for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.accounting.events import (
    AboveThreshold,
    Batch,
    BoundedRangeChoice,
    CalibratedGaussian,
    Event,
    ExponentialChoice,
    GaussianNoise,
    GaussianNoiseOne,
    LaplaceNoise,
    NoisyMax,
    Parallel,
    RandomizedAnswer,
    Resampling,
    SmoothNoise,
    ThresholdedKeys,
)
from tacit.errors import InvalidInput, UnknownEvent
from tacit.privacy.neighbours import Neighbours

KINDS: dict[str, type[Event]] = {
    "laplace": LaplaceNoise,
    "gaussian": GaussianNoise,
    "gaussian-one": GaussianNoiseOne,
    "exponential": ExponentialChoice,
    "bounded-range": BoundedRangeChoice,
    "noisy-max": NoisyMax,
    "above-threshold": AboveThreshold,
    "randomized-answer": RandomizedAnswer,
    "smooth": SmoothNoise,
    "thresholded-keys": ThresholdedKeys,
    "resampling": Resampling,
    "batch": Batch,
    "calibrated-gaussian": CalibratedGaussian,
    "parallel": Parallel,
}
NAMES = {kind: name for name, kind in KINDS.items()}


ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> str:
    """The one text of a JSON value here: sorted keys, no blanks, ASCII.

    >>> canonical_json({"b": [1, None], "a": "1/3"})
    '{"a":"1/3","b":[1,null]}'
    """
    return ENCODER.encode(value)


def event_text(event: Event) -> str:
    """The text of an event.

    >>> event_text(ExponentialChoice(Fraction(1, 3), Neighbours("add-remove", "unit")))
    '{"epsilon":"1/3","kind":"exponential","neighbours":"add-remove unit"}'
    """
    return canonical_json(event_json(event))


def event_from(text: str) -> Event:
    """The event of a text.

    >>> event_from('{"epsilon":"1/3","kind":"noisy-max","neighbours":"add-remove row"}').epsilon
    Fraction(1, 3)
    """
    return event_of(json.loads(text))


def event_json(event: Event) -> dict[str, Any]:
    """The event as a JSON object, for use inside a larger one."""
    if type(event) not in NAMES:
        raise UnknownEvent(f"{type(event).__name__} cannot be stored; record an event of events.py")
    kind = NAMES[type(event)]
    return {"kind": kind, **{name: form.write(getattr(event, name)) for name, form in FIELDS[kind].items()}}


def event_of(known: Any) -> Event:
    """The event that `event_json` wrote; raises for text that it did not write."""
    if not isinstance(known, dict) or known.get("kind") not in KINDS:
        raise UnknownEvent("unknown kind of event; it may come from a newer version: update tacit")
    forms = FIELDS[known["kind"]]
    if known.keys() != {"kind", *forms}:
        raise UnknownEvent(
            f"an event of kind {known['kind']!r} has unexpected fields; it may come from a newer version: update tacit"
        )
    return KINDS[known["kind"]](**{name: form.read(known[name]) for name, form in forms.items()})


def relation_text(relation: Neighbours) -> str:
    """A relation as the ledger writes it, for example `add-remove row`."""
    return f"{relation.change} {relation.of}"


@lru_cache(maxsize=64)
def relation_from(text: str) -> Neighbours:
    """The relation of a text.

    >>> relation_from("change-one unit") == Neighbours("change-one", "unit")
    True
    """
    change, _, of = text.partition(" ")
    return Neighbours(change, of)  # type: ignore[arg-type]  # checked by Neighbours itself


@lru_cache(maxsize=4096)
def exact_from(text: str) -> Fraction:
    """The number of a text. Most entries repeat those of the entry before: reading one costs more than looking it up.

    >>> exact_from("1/3")
    Fraction(1, 3)
    """
    return Fraction(text)


def _exact_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise InvalidInput(f"an event must hold exact numbers, not {type(value).__name__}; convert it with exact(...) first")
    return str(value if isinstance(value, Fraction) else Fraction(value))


def _count(value: Any) -> int:
    if isinstance(value, bool) or int(value) != value:
        raise InvalidInput(f"an event must hold whole numbers here, not {value!r}")
    return int(value)


@dataclass(frozen=True, slots=True)
class Form:
    """How a field of one type is written and read."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


FORMS = {
    "Fraction": Form(_exact_text, exact_from),
    "Fraction | None": Form(lambda it: None if it is None else _exact_text(it), lambda it: None if it is None else exact_from(it)),
    "int": Form(_count, _count),
    "Neighbours": Form(relation_text, relation_from),
    "tuple[Event, ...]": Form(lambda parts: [event_json(part) for part in parts], lambda parts: tuple(map(event_of, parts))),
}
FIELDS = {name: {at.name: FORMS[str(at.type)] for at in fields(kind)} for name, kind in KINDS.items()}
