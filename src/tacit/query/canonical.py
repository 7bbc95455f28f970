"""A plan as one text: what makes two queries the same. Output names, lines and paths are not part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tacit.privacy.catalog import Table
from tacit.query.plan import Key
from tacit.query.price.request import Request
from tacit.query.question import Question
from tacit.query.size_limit import compared_of

OF_A_TABLE = ("name", "max_rows", "max_rows_per_group", "min_people")  # what a plan reads of a table; its data has a version


UNSAID: dict[type, dict[str, Any]] = {  # nothing is said of these: what was answered before there were others stays so
    Question: {"beside": (), "below": (), "among": 1},
    Request: {"interval": True, "weights": (), "groups": None},
    Key: {"kept": None},
}


def canonical_plan(question: Question) -> str:
    """The text of a plan, the same for all questions that mean the same; whatever they call their columns."""
    return canonical_text(_unnamed(question))


def _unnamed(question: Question) -> Question:
    outputs = tuple(replace(output, name="") for output in question.outputs)
    keys = tuple(replace(key, name="") for key in question.group.keys)
    beside, below = (tuple(map(_unnamed, parts)) for parts in (question.beside, question.below))
    return replace(question, outputs=outputs, group=replace(question.group, keys=keys), beside=beside, below=below)


def canonical_text(value: Any) -> str:
    """A value of frozen parts as text: types and fields by name, numbers exact.

    >>> canonical_text((1, Fraction(1, 3), "a, b", None))
    "(1, 1/3, 'a, b', None)"
    """
    if isinstance(value, Table):
        return f"Table({', '.join(f'{name}={canonical_text(getattr(value, name))}' for name in OF_A_TABLE)})"
    if (known := compared_of(value)) is not None:  # what does not make two values differ is left out
        if (unsaid := UNSAID.get(type(value))) is not None:
            known = [name for name in known if name not in unsaid or getattr(value, name) != unsaid[name]]
        parts = ", ".join(f"{name}={canonical_text(getattr(value, name))}" for name in known)
        return f"{type(value).__name__}({parts})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {canonical_text(value[key])}' for key in sorted(value))}}}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(canonical_text, value))})"
    return str(value) if isinstance(value, Fraction) else repr(value)
