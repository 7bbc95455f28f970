"""Which options of `tacit anonymize graph` belong to which methods: one that a method would not look at is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.doors.cli.anonymize.graph import Asked

PRIVATE = ("dp-degrees", "dp-edges", "dp-triangles")
TAKEN_BY: Mapping[str, tuple[str, ...]] = {
    "k": ("k-degree", "k-neighbourhood", "grouping", "bipartite"),
    "l": ("bipartite",),
    "greedy": ("k-degree",),
    "delete": ("k-degree",),
    "effort": ("grouping",),
    "example": ("grouping",),
    "only": ("k-neighbourhood",),
    "labels": ("k-neighbourhood",),
    "hierarchy": ("k-neighbourhood",),
    "max_neighbourhood": ("k-neighbourhood",),
    "epsilon": PRIVATE,
    "nodes": PRIVATE,
    "ledger": PRIVATE,
    "theta": ("dp-degrees",),
    "repair": ("dp-degrees",),
}
"""Names of options, and the methods that look at them. --seed has a refusal of its own where noise is private."""


def refuse_foreign(method: str, asked: Asked) -> None:
    """Refuse options that this method ignores, by the methods that take them."""
    foreign = [name for name in _given(asked) if method not in TAKEN_BY.get(name, (method,))]
    if foreign:
        named = ", ".join(f"--{name.replace('_', '-')} (for {', '.join(TAKEN_BY[name])})" for name in foreign)
        raise InvalidInput(f"--method {method} does not use {named}; remove what it does not use, or choose another --method")


def _given(asked: Asked) -> list[str]:
    """The options that differ from their defaults."""
    every = (asked, asked.groups, asked.neighbourhoods, asked.private)
    return [
        field.name
        for terms in every
        for field in fields(terms)
        if getattr(terms, field.name) not in (None, False, "", field.default)
    ]
