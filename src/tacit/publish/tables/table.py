"""A table to be made anonymous: each column is an array of integer codes and the list of values that they stand for.

Texts are trimmed. A null and a blank text are the missing value, which is written as an empty text and is a value of its own until
`drop_missing` takes its rows out. Values stand in their natural order: numbers by size, everything else by text, missing first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.declaration import folded
from tacit.data.files.columns import column_names, read_columns
from tacit.data.files.kinds import kind_of
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

Codes = NDArray[np.int32]
MISSING = ""
MOST_ROWS = 2**31 - 1  # codes and groups are counted in 32 bits


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A name, the distinct values in their natural order, and for each row the place of its value; `typed` has Arrow's values."""

    name: str
    values: tuple[str, ...]
    codes: Codes
    typed: Any = None

    def texts(self) -> NDArray[np.object_]:
        """The value of every row."""
        return np.array(self.values, dtype=object)[self.codes] if self.values else np.empty(0, dtype=object)

    def numbers(self) -> NDArray[np.float64] | None:
        """The values as numbers, or None if one of them is not a number."""
        numbers_of_values = [_number(value) for value in self.values]
        return None if any(each is None for each in numbers_of_values) else np.array(numbers_of_values, dtype=np.float64)

    def counts(self) -> NDArray[np.int64]:
        """How many rows have each value."""
        return np.bincount(self.codes, minlength=len(self.values)).astype(np.int64)

    def kept(self, rows: NDArray[np.bool_]) -> Column:
        """The column on some rows, with the values that still occur."""
        codes = self.codes[rows]
        used = np.flatnonzero(np.bincount(codes, minlength=len(self.values)))
        used = used[natural_order([self.values[each] for each in used])]
        place = np.zeros(len(self.values), dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        typed = None if self.typed is None else self.typed.take(used)
        return Column(self.name, tuple(self.values[each] for each in used), place[codes], typed)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of equal length, found by name: exactly, or else without case.

    >>> table = Table.of({"age": ["31", "9", "?"], "sex": ["F", "M", "F"]})
    >>> table["age"].values, table.drop_missing(["?"]).rows
    (('31', '9', '?'), 2)
    >>> table.drop_missing(["?"])["AGE"].values
    ('9', '31')
    """

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[object]]) -> Table:
        """A table of Python values; None is missing."""
        lists = {name: [MISSING if each is None else str(each).strip() for each in values] for name, values in columns.items()}
        if len({len(values) for values in lists.values()}) > 1:
            raise InvalidInput("the columns of a table differ in length; give each the same number of rows")
        return cls(tuple(_encode(name, values) for name, values in lists.items()))

    @classmethod
    def read(cls, path: str | Path, names: Sequence[str] | None = None) -> Table:
        """The named columns of a CSV, Parquet or DuckDB file, or all of them; the types of a Parquet file are kept for writing."""
        there = column_names(path)
        wanted = list(names) if names is not None else there
        if not wanted:
            raise InvalidInput(f"{Path(path).name} has no columns; expected a table with a header")
        texts = read_columns(path, wanted)
        typed = _typed_columns(path, wanted) if kind_of(Path(path)) != "csv" else [None] * len(wanted)
        written = {folded(name): name for name in there}
        names_there = [name if name in there else written[folded(name)] for name in wanted]
        return cls(tuple(_from_arrow(name, *pair) for name, pair in zip(names_there, zip(texts, typed, strict=True), strict=True)))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0].codes) if self.columns else 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: str) -> Column:
        exact = [column for column in self.columns if column.name == name]
        matches = exact or [column for column in self.columns if folded(column.name) == folded(name)]
        if not matches:
            raise InvalidInput(f"missing column {name!r}; the table has: {', '.join(self.names)}")
        return matches[0]

    def select(self, names: Sequence[str]) -> Table:
        """The named columns, in the order asked for."""
        return Table(tuple(self[name] for name in names))

    def kept(self, rows: NDArray[np.bool_]) -> Table:
        """Some of the rows, in their order."""
        return Table(tuple(column.kept(rows) for column in self.columns))

    def drop_missing(self, marks: Iterable[str] = (), names: Sequence[str] | None = None) -> Table:
        """The rows without a missing value, or one of `marks`, in the named columns, or in any."""
        gone = {MISSING, *marks}
        stays = np.ones(self.rows, dtype=np.bool_)
        for column in self.columns if names is None else self.select(names).columns:
            present = np.array([value not in gone for value in column.values], dtype=np.bool_)
            stays &= present[column.codes] if len(present) else stays
        return self if stays.all() else self.kept(stays)

    def to_arrow(self) -> pa.Table:
        """The table as Arrow has it, with the types that were read."""
        import pyarrow as pa

        return pa.table({column.name: _arrow(column) for column in self.columns})


def natural_order(values: Sequence[str]) -> list[int]:
    """The places of the values in their natural order: numbers by size, everything else by text, missing first.

    >>> natural_order(["10", "9", ""]), natural_order(["10", "9", "b"])
    ([2, 1, 0], [0, 1, 2])
    """
    numbers = [_number(value) for value in values if value != MISSING]
    if any(each is None for each in numbers):
        return sorted(range(len(values)), key=lambda place: values[place])
    return sorted(range(len(values)), key=lambda place: (values[place] != MISSING, _number(values[place]) or 0, values[place]))


def _number(value: str) -> Decimal | None:
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _encode(name: str, values: Sequence[str]) -> Column:
    distinct = list(dict.fromkeys(values))
    ordered = [distinct[place] for place in natural_order(distinct)]
    places = {value: place for place, value in enumerate(ordered)}
    return Column(name, tuple(ordered), np.array([places[value] for value in values], dtype=np.int32))


def _from_arrow(name: str, texts: Any, typed: Any) -> Column:
    """A column from Arrow's texts; values that differ in blanks alone become one."""
    encoded = texts.dictionary_encode()
    words = [MISSING if each is None else each.strip() for each in encoded.dictionary.to_pylist()]
    codes = encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    words.append(MISSING)
    distinct = list(dict.fromkeys(words))
    places = {distinct[place]: rank for rank, place in enumerate(natural_order(distinct))}
    mapped = np.array([places[word] for word in words], dtype=np.int32)[codes]
    whole = Column(name, tuple(sorted(distinct, key=places.__getitem__)), mapped, None)
    column = whole.kept(np.ones(len(mapped), dtype=np.bool_))
    return column if typed is None else Column(name, column.values, column.codes, _examples(column, typed))


def _examples(column: Column, typed: Any) -> Any:
    """Arrow's own value of each distinct text: of the first row that has it."""
    first = np.zeros(len(column.values), dtype=np.int64)
    first[column.codes[::-1]] = np.arange(len(column.codes) - 1, -1, -1)
    return typed.take(first)


def _typed_columns(path: str | Path, names: Sequence[str]) -> list[Any]:
    from tacit.data.files.columns import read_table

    table = read_table(path)
    spelling = {folded(name): name for name in table.column_names}
    return [table.column(name if name in table.column_names else spelling[folded(name)]).combine_chunks() for name in names]


def _arrow(column: Column) -> Any:
    import pyarrow as pa

    values = pa.array(column.values, pa.string()) if column.typed is None else column.typed
    return values.take(pa.array(column.codes))
