"""The names of the fields of dataclasses, found once for each class: every pass over a question asks for them, of every node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass

_FIELDS: dict[type, Sequence[str] | None] = {}
_COMPARED: dict[type, Sequence[str] | None] = {}


def fields_of(value: object) -> Sequence[str] | None:
    """The names of the fields of an instance of a dataclass; None for any other value.

    >>> from tacit.query.price.request import Request
    >>> fields_of(Request())[:2], fields_of(Request), fields_of("a text")
    (('epsilon', 'delta'), None, None)
    """
    kind = type(value)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
    return _FIELDS[kind]


def compared_of(value: object) -> Sequence[str] | None:
    """The same without the fields that do not make two values differ."""
    kind = type(value)
    if kind not in _COMPARED:
        _COMPARED[kind] = tuple(field.name for field in fields(kind) if field.compare) if is_dataclass(kind) else None
    return _COMPARED[kind]
