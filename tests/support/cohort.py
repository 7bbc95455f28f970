"""A small cohort as the store has it, people of three visits and columns of every kind; and mechanisms that are listened to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from stored import catalog, category, days, number, table
from tacit.mechanisms.farthest import Farthest
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.unseal import opened
from tacit.privacy.catalog import Catalog, Column, Owner
from tacit.publish.synthetic.rows.utility import real_cells
from worlds import ranked

COLUMNS = (
    Column("person", "key"),
    category("ward", "a", "b", "c"),
    category("urgent", False, True, nulls=False, unknown="drop"),
    number("cost", 0, 50, "0.5", bins=(0, 10, 25)),
    number("pulse", 0, 3, nulls="drop"),
    days("day", "2020-01-01", "2020-02-29", nulls="drop"),
    Column("note", "text"),
)
NAMES = ["ward", "urgent", "cost", "pulse", "day"]


def cohort_catalog(folder: Path, max_rows: int = 3, change: str = "add-remove") -> Catalog:
    columns = [column if column.name != "day" else _in_months(column) for column in COLUMNS]
    visits = table("visits", folder / "visits.csv", *columns, unit=Owner("person"), max_rows=max_rows)
    return catalog(folder, visits, change=change)


def _in_months(column: Column) -> Column:
    from dataclasses import replace

    assert column.bounds is not None
    return replace(column, bins=(column.bounds[0], column.bounds[0] + 31))


def real_codes(declared: Catalog, chosen: Any) -> tuple[Any, ...]:
    """The cells of the real rows, column by column, one for each row."""
    cells, many = real_cells(declared, chosen)
    return tuple(np.repeat(codes, many) for codes in cells)


def visit(at: int) -> dict[str, Any]:
    """A row as stored, all of it by its number; some values are NULL."""
    ward, cost = at % 4, at * 7 % 120
    return {
        "ward": None if ward == 3 else ward,
        "urgent": int(at % 3 == 0),
        "cost": None if cost > 100 else cost,
        "pulse": (at * at) % 4,
        "day": (at * 11) % 60,
        "note": "text",
    }


def people(number_of_people: int, rows_each: int = 3) -> list[dict[str, Any]]:
    return ranked([[visit(3 * person + row) for row in range(rows_each)] for person in range(number_of_people)])


@dataclass(frozen=True)
class Heard:
    """One use of a mechanism: what it was given, and what it released."""

    mechanism: Any
    given: Any
    released: Any


@contextmanager
def listening(replayed: Sequence[Heard] | None = None) -> Iterator[list[Heard]]:
    """What the mechanisms are given and release; with `replayed`, they release the same as there, one after the other."""
    heard: list[Heard] = []
    real = {(Laplace, "release_units"), (Gaussian, "release_units"), (Farthest, "release")}

    def listen(kind: Any, name: str) -> Any:
        genuine = getattr(kind, name)

        def release(self: Any, given: Any) -> Any:
            released = genuine(self, given) if replayed is None else replayed[len(heard)].released
            plain = [opened(one) for one in given] if isinstance(given, list) else opened(given)
            heard.append(Heard(self, plain, released))
            return released

        return mock.patch.object(kind, name, release)

    patches = [listen(*one) for one in real]
    for patch in patches:
        patch.start()
    try:
        yield heard
    finally:
        for patch in patches:
            patch.stop()


def moved(one: Heard, other: Heard) -> int:
    """How far the input of a mechanism moved: in l1, or for a choice the largest move of any of its distances."""
    if isinstance(one.mechanism, Farthest):
        pairs = zip(one.mechanism._distances(one.given), other.mechanism._distances(other.given), strict=True)
        return max(abs(int(a) - int(b)) for a, b in pairs)
    return int(np.abs(np.asarray(one.given) - np.asarray(other.given)).sum())
