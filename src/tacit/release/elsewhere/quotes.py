"""A paid question on its way to an engine: as its quote, or as a text and a request to price anew; and the fingerprint of a quote.

A process of one's own is sent the quote itself. An engine of a server is sent the text: it prices the question by its own catalog,
public facts and code, and runs nothing unless one of its quotes has the fingerprint that was paid for. So the noise that is drawn
is the noise in the ledger.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields, is_dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any

from tacit.errors import InvalidValue
from tacit.privacy.catalog import Catalog
from tacit.query.price.quote import Quote, Request
from tacit.query.trees import canonical_text
from tacit.release.elsewhere.frames import Malformed

NUMBERS = ("epsilon", "delta", "error", "confidence")
HOMES = ("tacit.query.", "tacit.mechanisms.", "tacit.privacy.")  # where the classes of a quote are defined
PLAIN, LARGE, FRACTION = "=", "#", "/"
GATHERED: dict[str, Any] = {"tuple": tuple, "list": list, "frozenset": frozenset}


# --- a quote as values -------------------------------------------------------------------------------------------------------


def quote_written(quote: Quote) -> bytes:
    """A quote as JSON: a list of values, each after its parts, which it names by their places; shared parts stay shared.

    Iterative, so that no depth of a plan is too large.
    """
    places: dict[int, int] = {}
    values: list[list[Any]] = []
    waiting: list[tuple[Any, bool]] = [(quote, False)]
    while waiting:
        value, has_parts = waiting.pop()
        if id(value) in places:
            continue
        kind, parts = _parts(value)
        if parts and not has_parts:
            waiting.append((value, True))
            waiting.extend((part, False) for part in parts)
            continue
        places[id(value)] = len(values)
        values.append([kind, *_plain(kind, value), *(places[id(part)] for part in parts)])
    return json.dumps(values, separators=(",", ":")).encode()


def _plain(kind: str, value: Any) -> list[Any]:
    """A value without parts; in hexadecimal digits where Python limits decimal ones."""
    if kind == PLAIN:
        return [value]
    if kind == LARGE:
        return [hex(value)]
    return [hex(value.numerator), hex(value.denominator)] if kind == FRACTION else []


def _parts(value: Any) -> tuple[str, list[Any]]:
    """The kind of a value, and the values that it has inside."""
    if value is None or type(value) in (str, int, float, bool):
        return LARGE if type(value) is int and value.bit_length() > 64 else PLAIN, []
    if type(value) is Fraction:
        return FRACTION, []
    if type(value) is dict:
        return "dict", [part for pair in value.items() for part in pair]
    if (name := type(value).__name__) in GATHERED and type(value) is GATHERED[name]:
        return name, list(value)
    home = f"{type(value).__module__}:{type(value).__qualname__}"
    return home, [getattr(value, name) for name in _fields(home)]


def quote_read(content: bytes) -> Quote:
    """The quote that `quote_written` wrote; `InvalidValue` for anything else. It makes frozen values of tacit and calls nothing."""
    values: list[Any] = []
    try:
        for kind, *parts in json.loads(content):
            values.append(_value(kind, parts, values))
        quote = values[-1]
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, ImportError, RecursionError):
        raise InvalidValue("the message is not a quote") from None
    if type(quote) is not Quote:
        raise InvalidValue("the message is not a quote")
    return quote


def _value(kind: str, parts: list[Any], values: list[Any]) -> Any:
    if kind == PLAIN:
        return parts[0]
    if kind == LARGE:
        return int(parts[0], 16)
    if kind == FRACTION:
        return Fraction(int(parts[0], 16), int(parts[1], 16))
    if any(type(place) is not int or place < 0 for place in parts):
        raise TypeError("a place that no list has")
    inside = [values[place] for place in parts]
    if kind == "dict":
        return dict(zip(inside[::2], inside[1::2], strict=True))
    if kind in GATHERED:
        return GATHERED[kind](inside)
    made = object.__new__(_class(kind))
    for name, value in zip(_fields(kind), inside, strict=True):
        object.__setattr__(made, name, value)
    return made


@cache
def _fields(home: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(_class(home)))


@cache
def _class(home: str) -> Any:
    """A frozen dataclass of the chapters that a quote is made of; `TypeError` for any other name."""
    module, _, name = home.partition(":")
    if not module.startswith(HOMES):
        raise TypeError("a class that no quote has")
    made = getattr(import_module(module), name)
    if not isinstance(made, type) or not is_dataclass(made) or not made.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise TypeError("a class that no quote has")
    return made


# --- fingerprints ------------------------------------------------------------------------------------------------------------


def fingerprint_of(quote: Quote, version: str) -> str:
    """A hash of everything that a quote says, plan, noise and price, and of the version of the data that it is for."""
    return hashlib.sha256(canonical_text((version, quote)).encode()).hexdigest()


def fingerprint_of_message(content: bytes) -> str:
    """A hash of a quote as it was sent, which ties the numbers that come back to it."""
    return hashlib.sha256(content).hexdigest()


def pricing_of(catalog: Catalog) -> str:
    """A hash of what prices and refusals depend on; where it differs, an engine has read another catalog than the clerk."""
    budget = catalog.budget.epsilon, catalog.budget.delta
    declared = [repr(catalog.tables[name]) for name in sorted(catalog.tables)]
    periods = [] if catalog.per is None else [repr(catalog.per)]
    return hashlib.sha256(canonical_text((catalog.change, catalog.cores or 1, *budget, *declared, *periods)).encode()).hexdigest()


# --- a request ---------------------------------------------------------------------------------------------------------------


def request_written(asked: Request) -> dict[str, Any]:
    """A request as JSON values; numbers are exact texts."""
    values = asdict(asked)
    weights = [[name, str(weight)] for name, weight in asked.weights]
    return values | {name: None if values[name] is None else str(values[name]) for name in NUMBERS} | {"weights": weights}


def request_read(values: dict[str, Any]) -> Request:
    """The request that `request_written` wrote."""
    try:
        numbers = {name: None if values[name] is None else Fraction(values[name]) for name in NUMBERS}
        weights = tuple((_text(name), Fraction(weight)) for name, weight in values["weights"])
        asked = Request(**(values | numbers | {"weights": weights}))
    except (TypeError, ValueError, KeyError, ZeroDivisionError):
        raise Malformed("a request of another form") from None
    if type(asked.simultaneous) is not bool or type(asked.interval) is not bool or type(asked.groups) not in (int, type(None)):
        raise Malformed("a request of another form")
    return asked


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(name)
    return name
