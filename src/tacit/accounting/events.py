"""The events that ran: frozen records, kept apart from their costs.

An event holds the parameters that a proof needs, and nothing private. Its meaning never changes: a ledger of today must be
readable in ten years, so a new mechanism, or a better theorem with other parameters, is a new event. The costs are in
`composition.py`.

One event has one text: canonical JSON, with sorted keys, no blanks, ASCII only, exact numbers as strings ("1/3"), counts as
integers. The names of kinds and fields are part of the format, whatever the classes come to be called.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.errors import InvalidInput, UnknownEvent
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Neighbours


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Discrete Laplace noise of `scale` on a vector of l1 sensitivity `sensitivity`, both in grid units."""

    sensitivity: Fraction
    scale: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Discrete Gaussian noise of parameter `scale` on a vector of l2 sensitivity `sensitivity`, both in grid units.

    `delta` is the weight of what the sampler truncates, summed over the vector.
    """

    sensitivity: Fraction
    scale: Fraction
    delta: Fraction = Fraction(0)
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class GaussianNoiseOne:
    """Discrete Gaussian noise on one number of integer sensitivity, stated as the (epsilon, delta) of its own sums."""

    sensitivity: Fraction
    scale: Fraction
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class ExponentialChoice:
    """One candidate drawn with weight exp(epsilon utility / (2 sensitivity)), or a tighter exponent proved at the mechanism.

    It is priced as pure, like every choice with an epsilon alone; the mechanisms of tacit record a `BoundedRangeChoice`.
    """

    epsilon: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class BoundedRangeChoice:
    """One candidate drawn by the exponential mechanism: for two neighbours all log-ratios lie in one interval of length epsilon.

    Its weights are exp(epsilon utility / spread), where a neighbour changes the utilities by numbers that are at most `spread`
    apart. That is pure epsilon, and costs a fourth of the rho of other pure events.
    """

    epsilon: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class NoisyMax:
    """The index of the largest of several numbers with noise."""

    epsilon: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class AboveThreshold:
    """The sparse vector technique: a noisy threshold, and at most `positives` answers above it."""

    epsilon_threshold: Fraction
    epsilon_answers: Fraction
    positives: int
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class RandomizedAnswer:
    """One person's own answer through a channel whose largest log-ratio is `epsilon`."""

    epsilon: Fraction
    neighbours: Neighbours = CHANGE_ONE


@dataclass(frozen=True, slots=True)
class SmoothNoise:
    """Noise scaled to smooth sensitivity: pure with heavy tails (delta 0), approximate with Laplace tails."""

    epsilon: Fraction
    delta: Fraction
    alpha: Fraction
    beta: Fraction
    gamma: Fraction | None
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class ThresholdedKeys:
    """The keys whose noisy number of units reaches a threshold, with those noisy numbers."""

    epsilon: Fraction
    delta: Fraction
    max_groups: int
    threshold: int
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class Resampling:
    """Synthetic records drawn from an urn of real and fake ones: pure where delta is 0.

    A probabilistic claim (ratio r, delta) is recorded as epsilon = ln r and delta: only that survives what is done with the output.
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours = CHANGE_ONE


@dataclass(frozen=True, slots=True)
class Batch:
    """Events fixed in advance and run on the same people: a question with several aggregates."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class CalibratedGaussian:
    """Discrete Gaussian noise on one vector or several of the same people, (epsilon, delta) together by the curve of its law.

    All three numbers are charged: epsilon, the rho of `events`, and delta, which is that of the curve at epsilon.
    """

    events: tuple[Event, ...]
    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class AdaptiveRounds:
    """Mechanisms on the same people whose budgets follow from what was released before: their costs add up to at most these.

    A filter inside the event refuses a part that would exceed a total, on every path (composition.md, section 6). `epsilon` is None
    where a part has no pure epsilon.
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class Parallel:
    """Events on disjoint parts, where one person is in at most one part."""

    events: tuple[Event, ...]


Event = (
    LaplaceNoise
    | GaussianNoise
    | GaussianNoiseOne
    | ExponentialChoice
    | BoundedRangeChoice
    | NoisyMax
    | AboveThreshold
    | RandomizedAnswer
    | SmoothNoise
    | ThresholdedKeys
    | Resampling
    | Batch
    | CalibratedGaussian
    | AdaptiveRounds
    | Parallel
)


# --- events as texts ---------------------------------------------------------------------------------------------------------


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
    "adaptive-rounds": AdaptiveRounds,
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


def event_of(document: Any) -> Event:
    """The event that `event_json` wrote; raises for text that it did not write."""
    if not isinstance(document, dict) or document.get("kind") not in KINDS:
        raise UnknownEvent("unknown kind of event; it may come from a newer version: update tacit")
    forms = FIELDS[document["kind"]]
    if document.keys() != {"kind", *forms}:
        raise UnknownEvent(
            f"an event of kind {document['kind']!r} has unexpected fields; it may come from a newer version: update tacit"
        )
    return KINDS[document["kind"]](**{name: form.read(document[name]) for name, form in forms.items()})


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


def whole_number(value: Any) -> int:
    """A whole number of a text; raises for anything else."""
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
    "int": Form(whole_number, whole_number),
    "Neighbours": Form(relation_text, relation_from),
    "tuple[Event, ...]": Form(lambda parts: [event_json(part) for part in parts], lambda parts: tuple(map(event_of, parts))),
}
FIELDS = {name: {at.name: FORMS[str(at.type)] for at in fields(kind)} for name, kind in KINDS.items()}
