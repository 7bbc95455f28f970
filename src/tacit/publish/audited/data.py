"""The data behind a desk: one private column, and the public columns that identify people.

The private values are in an object of their own that only answers aggregates over rows, so that no auditor is ever handed it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.files.columns import read_table
from tacit.data.files.kinds import kind_of, missing_columns
from tacit.errors import InvalidInput
from tacit.publish.audited.question import Number, Question

LARGEST = 2**53  # whole numbers up to here are held exactly
HALF = 26


class Private:
    """The audited values. They answer aggregates, and show nothing else."""

    def __init__(self, values: Sequence[Number] | NDArray[Any]) -> None:
        column = np.asarray(values)
        self.whole = column.dtype.kind in "iub"
        self.boolean = column.dtype.kind == "b"
        size = np.abs(column.astype(np.float64))
        if not (np.isfinite(size) & (size <= LARGEST)).all():
            raise InvalidInput(
                "the audited column must have a number of magnitude at most 2^53 in every row; fill or drop the others first"
            )
        self._values = column.astype(np.int64 if self.whole else np.float64)

    def __repr__(self) -> str:
        return f"Private({len(self)} rows)"

    def __len__(self) -> int:
        return len(self._values)

    def answer(self, question: Question) -> Number:
        """The exact answer; a sum of floats is the exact sum, rounded once."""
        values = self._values[question.members]
        if question.aggregate == "sum":
            return _whole_sum(values) if self.whole else fsum(values)
        number = values.max() if question.aggregate == "max" else values.min()
        return int(number) if self.whole else float(number)

    def mean(self, total: Number, count: int) -> float:
        """A sum over a public number of rows as their average, rounded once."""
        return float(Fraction(total) / count)

    def distinct(self) -> bool:
        """Whether all values differ, which the curator must check before declaring it."""
        return len(np.unique(self._values)) == len(self._values)

    def within(self, lower: float | None, upper: float | None) -> bool:
        """Whether all values are within the bounds that the curator declares."""
        low, high = (-np.inf if lower is None else lower), (np.inf if upper is None else upper)
        return bool(((self._values >= low) & (self._values <= high)).all())


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """A table with one audited column; `public` has the columns that questions may select by."""

    values: Private
    value: str
    public: Mapping[str, NDArray[Any]]
    fingerprint: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Data({len(self)} rows, audited: {self.value}, public: {', '.join(self.public) or 'none'})"


def _whole_sum(values: NDArray[Any]) -> int:
    """The exact sum, by halves that cannot overflow."""
    return (int((values >> HALF).sum()) << HALF) + int((values & (1 << HALF) - 1).sum())


def read(path: str | Path, value: str | None = None, public: Sequence[str] = ()) -> Data:
    """The table in a CSV, Parquet or DuckDB file; without `value`, its only column of numbers is audited."""
    file = Path(path)
    table, as_text = read_table(file), kind_of(file) == "csv"
    names = {name.lower(): name for name in table.column_names}
    missing = [name for name in (*public, *([value] if value else [])) if name.lower() not in names]
    if missing:
        raise InvalidInput(missing_columns(missing[:1], file.name, table.column_names, as_text))
    chosen = names[value.lower()] if value else _only_number(table, [names[name.lower()] for name in public], file)
    if chosen.lower() in {name.lower() for name in public}:
        raise InvalidInput(f"{chosen} is the audited column and cannot be public; remove it from --public")
    values = Private(_numbers(table.column(chosen), chosen))
    if not len(values):
        raise InvalidInput(f"{file.name} has no rows")
    columns = {names[name.lower()]: _column(table.column(names[name.lower()])) for name in public}
    return Data(values, chosen, columns, hashlib.sha256(file.read_bytes()).hexdigest())


def _only_number(table: Any, public: list[str], path: Path) -> str:
    from pyarrow import types

    is_number = (types.is_integer, types.is_floating, types.is_boolean)
    others = [field for field in table.schema if field.name not in public]
    numeric = [field.name for field in others if any(test(field.type) for test in is_number)]
    if len(numeric) != 1:
        several = f"{len(numeric)} columns are numeric" if kind_of(path) == "csv" else f"there are {', '.join(numeric)}"
        listed = several if numeric else "no column is numeric"
        raise InvalidInput(f"choose the audited column of {path.name} with --value: {listed}")
    return str(numeric[0])


def _numbers(column: Any, name: str) -> NDArray[Any]:
    from pyarrow import types

    kind = column.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise InvalidInput(f"the audited column {name} holds {kind}, not numbers")
    if column.null_count:
        raise InvalidInput(f"the audited column {name} has missing values; fill or drop them first")
    numbers: NDArray[Any] = column.to_numpy()
    return numbers.astype(np.bool_) if types.is_boolean(kind) else numbers


def _column(column: Any) -> NDArray[Any]:
    """A public column: numbers with NaN for NULL, or objects with None."""
    from pyarrow import types

    kind = column.type
    if (types.is_integer(kind) and not column.null_count) or types.is_floating(kind):
        numbers: NDArray[Any] = np.asarray(column.to_numpy())
        return numbers
    return np.array(column.to_pylist(), dtype=object)
