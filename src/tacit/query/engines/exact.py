"""From an engine's result to one exact integer per group and moment, sealed.

Limbs are recombined as exact integers (a limb's name ends in its power of two), and every public group has its place, including
empty ones. Nothing here is read again before a mechanism opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.sealed import Sealed
from tacit.query.plan import Group, Moment, TextColumn
from tacit.query.question import domain
from tacit.query.trees import canonical_text

Integers = NDArray[Any]
Listed = tuple[Integers, Integers | None]
PRODUCTS = (("A", 0), ("B", 28), ("C", 28), ("D", 56))
INT64_ROWS = 2**33  # up to this many rows, the parts of compile.py cannot overflow


@dataclass(frozen=True, slots=True, eq=False, repr=False)  # a repr would quote the data
class Answers:
    """The engine's result: the sums by group, and for each list moment its rows (keys, value, rows), or a (keys, value) per row."""

    sums: Mapping[str, Integers]
    lists: Mapping[int, Mapping[str, Integers]]


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """The exact answer, sealed: one array of integers per moment, or for a list one (values, counts) per group.

    A list whose values come row by row has None for its counts.

    The groups are all public combinations of keys, in the order of their domains. If keys are private, `keys` seals those that
    occur, and each moment, including lists, is one sealed sequence in their order: even their number is private.
    """

    moments: tuple[Sealed[Any] | tuple[Sealed[Any], ...], ...]
    keys: Sealed[tuple[tuple[Any, ...], ...]] | None = None


def assemble(group: Group, answers: Answers) -> Exact:
    """The exact answer for every group; a public group without rows has zeros."""
    if any(isinstance(key.term.node, TextColumn) for key in group.keys):
        return _private(group, answers)
    cells = prod(len(domain(key)) for key in group.keys)
    places = _places(group, answers.sums) if answers.sums else np.zeros(0, dtype=np.int64)
    moments: list[Sealed[Any] | tuple[Sealed[Any], ...]] = []
    for at, moment in enumerate(group.moments):
        if moment.kind == "list":
            moments.append(tuple(map(Sealed, _lists_of(group, answers.lists[at], cells))))
        else:
            moments.append(Sealed(_spread(_whole(moment, at, answers.sums), places, cells)))
    return Exact(tuple(moments))


def _places(group: Group, columns: Mapping[str, Integers]) -> NDArray[np.int64]:
    """The index of each returned row among all public groups; -1 for one of a group that is not public, which then counts nowhere.

    No row makes such a group, by the proofs of ranges and points. If one of them were wrong, a failure here would tell of a row.
    """
    length = len(next(iter(columns.values()), ()))
    index, unknown = np.zeros(length, dtype=np.int64), np.zeros(length, dtype=np.bool_)
    for place, key in enumerate(group.keys):
        points = domain(key)
        position = _position(columns[f"key_{place}"], points)
        index, unknown = index * len(points) + position, unknown | (position < 0)
    return np.where(unknown, -1, index)


def _position(column: Integers, points: Sequence[int | None]) -> NDArray[np.int64]:
    """The position of each value in a sorted list of points with NULL last; -1 for any other value."""
    listed = np.array([point for point in points if point is not None], dtype=np.int64)
    values = np.ma.getdata(column)
    place = np.searchsorted(listed, values).astype(np.int64)
    is_listed = np.append(listed, 0)[place] == values
    is_listed &= place < len(listed)
    null = len(listed) if len(listed) < len(points) else -1
    return np.where(np.ma.getmaskarray(column), null, np.where(is_listed, place, -1))


def _spread(values: Integers, places: NDArray[np.int64], cells: int) -> Integers:
    if values.dtype == object:
        full: Integers = np.array([0] * cells, dtype=object)
    else:
        full = np.zeros(cells, dtype=np.int64)
    full[places[places >= 0]] = values[places >= 0]
    return full


def _column(columns: Mapping[str, Integers], name: str) -> Integers:
    """A sum over no rows is NULL in SQL and zero here."""
    column = columns[name]
    if column.dtype == object:
        return np.array([0 if value is None else value for value in column], dtype=object)
    return np.ma.filled(column, 0) if np.ma.isMaskedArray(column) else column


def _whole(moment: Moment, at: int, columns: Mapping[str, Integers]) -> Any:
    """The moment of each returned row, from its parts."""
    if moment.kind in ("units", "distinct"):
        return _column(columns, f"m{at}_{moment.kind}")
    rows = _column(columns, f"m{at}_rows")
    if moment.kind == "rows" or moment.value is None:
        return rows
    low, spread = moment.value.low, moment.value.high - moment.value.low
    most = moment.other.high - moment.other.low if moment.other is not None else spread
    largest = {"sum": max(abs(low), spread), "centred": 2 * spread}.get(moment.kind, 4 * spread * most)
    fits = largest * INT64_ROWS < 2**62
    count = rows if fits else rows.astype(object)
    total = _combine(columns, f"m{at}_sum", fits)
    if moment.kind == "sum":
        return total + low * count
    if moment.kind == "centred":
        return 2 * total - spread * count
    if moment.kind == "products":
        other = _combine(columns, f"m{at}_other", fits)
        return 4 * _product(columns, f"m{at}_product", fits) - 2 * most * total - 2 * spread * other + spread * most * count
    squares = _combine(columns, f"m{at}_square", fits)
    of_y = 4 * squares - 4 * spread * total + spread**2 * count
    return 2 * of_y - spread**2 * count


def _product(columns: Mapping[str, Integers], prefix: str, fits: bool) -> Any:
    """The sum of products, from those of the limbs of both: A of the low ones, D of the high ones, B and C of one of each."""
    made = [(letter, weight) for letter, weight in PRODUCTS if any(name.startswith(f"{prefix}{letter}") for name in columns)]
    return sum(_combine(columns, f"{prefix}{letter}", fits) * 2**weight for letter, weight in made)


def _combine(columns: Mapping[str, Integers], prefix: str, fits: bool) -> Any:
    parts: Iterator[Integers] = (
        (_column(columns, name) if fits else _column(columns, name).astype(object)) * 2 ** int(name.removeprefix(prefix))
        for name in columns
        if name.startswith(prefix)
    )
    total = next(parts)
    for part in parts:
        total = total + part
    return total


def _lists_of(group: Group, columns: Mapping[str, Integers], cells: int) -> list[Listed]:
    """For each public group, the values, relative to the low end and unordered, and how many rows have each, if counted."""
    values, rows = _values(columns)
    if not group.keys:
        return [(values, rows)]
    places = _places(group, columns)
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(cells + 1))
    return [_take(values, rows, order[start:end]) for start, end in pairwise(starts)]


def _values(columns: Mapping[str, Integers]) -> Listed:
    return _column(columns, "value"), _column(columns, "rows") if "rows" in columns else None


def _take(values: Integers, rows: Integers | None, at: Integers) -> Listed:
    return values[at], None if rows is None else rows[at]


# --- private keys ------------------------------------------------------------------------------------------------------------


def _private(group: Group, answers: Answers) -> Exact:
    """The groups that occur, in the order of their keys, with their moments. A threshold decides which are shown."""
    keys = [_plain(answers.sums[f"key_{place}"]) for place in range(len(group.keys))]
    groups = tuple(zip(*keys, strict=True))
    place_of = {key: place for place, key in enumerate(groups)} if answers.lists else {}
    moments: tuple[Any, ...] = tuple(
        _listed_private(group, answers.lists[at], place_of) if moment.kind == "list" else _whole(moment, at, answers.sums)
        for at, moment in enumerate(group.moments)
    )
    return Exact(tuple(map(Sealed, moments)), Sealed(groups))


def _plain(column: Integers) -> list[Any]:
    missing = np.ma.getmaskarray(column)
    return [None if gone else value for value, gone in zip(np.ma.getdata(column).tolist(), missing, strict=True)]


def _listed_private(group: Group, columns: Mapping[str, Integers], place_of: Mapping[tuple[Any, ...], int]) -> list[Listed]:
    keys = zip(*(_plain(columns[f"key_{place}"]) for place in range(len(group.keys))), strict=True)
    values, rows = _values(columns)
    members: list[list[int]] = [[] for _ in place_of]
    for at, key in enumerate(keys):
        members[place_of[key]].append(at)
    return [_take(values, rows, np.array(sorted(at, key=lambda i: values[i]), dtype=np.int64)) for at in members]


# --- an engine's Arrow results as arrays of integers, whichever SQL it ran ---------------------------------------------------


Build = Callable[[Any], Any]  # from the stored tables (compile.Tables) to an expression of Ibis
Fetch = Callable[[Build, str], Mapping[str, Integers]]


def statements_of(group: Group, singly: bool = True) -> Iterator[tuple[int | None, Build, str]]:
    """The statements of a plan, each with a text that names it: its sums, and each list with the place of its moment.

    Without `singly`, a list is always a histogram, and never one value for each row.
    """
    import tacit.query.engines.compile as compiled

    plan = canonical_text(group)
    listed = [place for place, moment in enumerate(group.moments) if moment.kind == "list"]
    if len(listed) < len(group.moments):
        yield None, partial(compiled.sums, group), plan
    for place in listed:
        yield place, partial(partial(compiled.lists, singly=singly), group, place), f"{place} {plan}"


def answers_of(group: Group, fetch: Fetch, singly: bool = True) -> Answers:
    """The sums of a plan and its lists; `fetch` runs what is built, and may keep its SQL by the plan's text."""
    fetched = {place: fetch(build, key) for place, build, key in statements_of(group, singly)}
    return Answers(fetched.get(None, {}), {place: columns for place, columns in fetched.items() if place is not None})


def numbers(column: Any) -> Integers:
    """A column of the engine's result: integers, with a mask if there are NULLs, or text."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), dtype=object)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.decimal256(40, 0)) if column.type.scale else column
        return np.array([None if value is None else int(value) for value in column.to_pylist()], dtype=object)
    combined = column.combine_chunks()
    if combined.null_count == 0:
        return _without_null(combined)
    return np.ma.MaskedArray(_without_null(combined.fill_null(0)), mask=_without_null(combined.is_null()).astype(np.bool_))


def _without_null(column: Any) -> Integers:
    """Integers without NULL, in a new array; `to_numpy` would load pandas."""
    import pyarrow as pa

    bytewise = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    return np.array(np.from_dlpack(bytewise), dtype=np.int64)
