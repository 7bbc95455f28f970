"""An engine's Arrow results as arrays of integers: what every engine returns for a plan, whichever SQL it ran."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.query.canonical import canonical_text
from tacit.query.engines.exact import Answers
from tacit.query.plan import Group

Integers = NDArray[Any]
Build = Callable[[Any], Any]  # from the stored tables (compile.Tables) to an expression of Ibis
Fetch = Callable[[Build, str], Mapping[str, Integers]]


def statements_of(group: Group, singly: bool = True) -> Iterator[tuple[int | None, Build, str]]:
    """What is built for a plan, each with a text that names it: its sums, and each list with the place of its moment.

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
    found = {place: fetch(build, key) for place, build, key in statements_of(group, singly)}
    return Answers(found.get(None, {}), {place: columns for place, columns in found.items() if place is not None})


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
        return _whole(combined)
    return np.ma.MaskedArray(_whole(combined.fill_null(0)), mask=_whole(combined.is_null()).astype(np.bool_))


def _whole(column: Any) -> Integers:
    """Integers without NULL, in a new array; `to_numpy` would load pandas."""
    import pyarrow as pa

    bytewise = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    return np.array(np.from_dlpack(bytewise), dtype=np.int64)
