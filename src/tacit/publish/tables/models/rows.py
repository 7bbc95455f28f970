"""The rows that a checker looks at: published quasi-identifiers, sensitive columns, and the groups of rows that look alike.

Nothing here is shared with the anonymizers. A missing value is a value of its own. A row that has the mark of suppression in every
quasi-identifier belongs to no group, but its sensitive value counts in the distribution of the whole table, unless it is the mark
too. Where every row has the mark everywhere, no row differs from another, and all of them are one group.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.tables.models.counts import Counts, count_triples

MARK = "*"
LARGEST_KEY = 2**62
DENSE = 4  # most places a row for which a table of keys is quicker than hashing


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column as codes, and the values that they stand for, in the order of their first row."""

    codes: NDArray[np.int64]
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The group of each row, -1 for a suppressed row, and the size of each group."""

    of_row: NDArray[np.int64]
    sizes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """A published table: coded columns, and which rows are suppressed.

    >>> rows = rows_of({"zip": ["021*", "021*", "*"], "ill": ["flu", "cold", "flu"]}, ["zip"], ["ill"])
    >>> rows.groups.sizes.tolist(), int(rows.suppressed.sum()), rows.counts("ill").totals.tolist()
    ([2], 1, [2, 1])
    """

    quasi: Mapping[str, Column]
    sensitive: Mapping[str, Column]
    suppressed: NDArray[np.bool_]
    others: Mapping[str, Column] = field(default_factory=dict)
    _counts: dict[tuple[str, bool], Counts] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.suppressed)

    @cached_property
    def groups(self) -> Groups:
        """Rows that are equal in every quasi-identifier."""
        return self._group(list(self.quasi.values()))

    def counts(self, name: str, strict: bool = True) -> Counts:
        """How often each value of a sensitive column occurs in each group.

        With `strict`, the other sensitive columns count as quasi-identifiers: whoever knows a person's other sensitive values
        finds a smaller group (Machanavajjhala et al. 2007, section 4.4).
        """
        if (name, strict) not in self._counts:
            self._counts[name, strict] = self._count_values(name, strict)
        return self._counts[name, strict]

    def _count_values(self, name: str, strict: bool) -> Counts:
        column = self.sensitive[name]
        beside = [each for other, each in self.sensitive.items() if other != name] if strict else []
        groups = self._group([*self.quasi.values(), *beside]) if beside else self.groups
        kept = ~self.suppressed
        outer = groups.sizes
        if beside:
            outer = np.empty_like(groups.sizes)
            outer[groups.of_row[kept]] = self.groups.sizes[self.groups.of_row[kept]]
        told = kept | np.array([value != MARK for value in column.values], dtype=np.bool_)[column.codes]
        totals = np.bincount(column.codes[told], minlength=len(column.values)).astype(np.int64)
        return count_triples(groups.of_row[kept], column.codes[kept], outer, totals, column.values, name)

    def _group(self, columns: Sequence[Column]) -> Groups:
        kept = ~self.suppressed
        every = bool(kept.all())
        codes, number = pack_codes(
            [each.codes if every else each.codes[kept] for each in columns], [len(e.values) for e in columns]
        )
        sizes = np.bincount(codes, minlength=number).astype(np.int64)
        if every:
            return Groups(codes, sizes)
        of_row = np.full(len(self), -1, dtype=np.int64)
        of_row[kept] = codes
        return Groups(of_row, sizes)


def rows_of(
    columns: Mapping[str, Any],
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    mark: str | None = MARK,
    drop: Collection[str] | None = None,
) -> Rows:
    """The rows of a table of columns: Arrow arrays, NumPy arrays or lists.

    `mark` is the text of suppressed values (None: no row counts as suppressed). With `drop`, rows that hold one of its texts, or no
    value, in a chosen column are left out first. Chosen columns that are neither, such as guarding nodes, are kept as `others`.
    """
    _check_names(columns, quasi, sensitive)
    coded = {name: _encode(name, values) for name, values in columns.items()}
    if len({len(each.codes) for each in coded.values()}) > 1:
        raise InvalidInput("the columns differ in length: every row needs a value, or None, in each")
    if drop is not None:
        coded = _without(coded, drop)
    number = len(next(iter(coded.values())).codes)
    if not number:
        raise InvalidInput("the table has no rows to check; check the file and what is dropped")
    suppressed = np.ones(number, dtype=np.bool_)
    for name in quasi:
        marked = np.array([mark is not None and value == mark for value in coded[name].values], dtype=np.bool_)
        suppressed &= marked[coded[name].codes]
    if suppressed.all():
        suppressed[:] = False
    others = {name: each for name, each in coded.items() if name not in {*quasi, *sensitive}}
    return Rows({name: coded[name] for name in quasi}, {name: coded[name] for name in sensitive}, suppressed, others)


def _check_names(columns: Mapping[str, Any], quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    if not quasi:
        raise InvalidInput(
            "no quasi-identifier is named: groups are the rows that agree in them; give for example quasi=age,sex", argument="quasi"
        )
    for names in (quasi, sensitive):
        if twice := [name for name in names if list(names).count(name) > 1]:
            raise InvalidInput(f"column {twice[0]!r} is named twice; name each column once")
    if both := [name for name in quasi if name in sensitive]:
        raise InvalidInput(f"column {both[0]!r} is both a quasi-identifier and sensitive; name it in one of the two lists")
    if missing := [name for name in (*quasi, *sensitive) if name not in columns]:
        raise InvalidInput(f"unknown column {missing[0]!r}; give one of {', '.join(columns)}")


def _encode(name: str, values: Any) -> Column:
    import pyarrow as pa

    if isinstance(values, Column):
        return values
    try:
        array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    except pa.ArrowException:
        raise InvalidInput(f"column {name!r} mixes types; write all of its values as texts") from None
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    encoded = array.dictionary_encode(null_encoding="encode")
    return Column(encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), tuple(encoded.dictionary.to_pylist()))


def _without(coded: Mapping[str, Column], drop: Collection[str]) -> dict[str, Column]:
    """The columns without the rows that hold one of the texts, or no value, in any of them, and without values that are gone."""
    kept = np.ones(len(next(iter(coded.values())).codes), dtype=np.bool_)
    for each in coded.values():
        lost = np.array([value is None or value in ("", *drop) for value in each.values], dtype=np.bool_)
        kept &= ~lost[each.codes]
    return {name: _recode(each.codes[kept], each.values) for name, each in coded.items()}


def _recode(codes: NDArray[np.int64], values: tuple[Any, ...]) -> Column:
    present, dense = np.unique(codes, return_inverse=True)
    return Column(dense.astype(np.int64), tuple(values[at] for at in present.tolist()))


def pack_codes(columns: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> tuple[NDArray[np.int64], int]:
    """One code for each row, equal for rows that are equal in every column, and the number of codes.

    Codes of several columns are one number in mixed radix. It is made dense again before it would leave 62 bits.
    """
    key, space = np.zeros(len(columns[0]), dtype=np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        if space * max(size, 1) >= LARGEST_KEY:
            key, space = _dense(key, space)
        key, space = key * size + codes, space * max(size, 1)
    return _dense(key, space)


def _dense(key: NDArray[np.int64], space: int) -> tuple[NDArray[np.int64], int]:
    if space <= DENSE * len(key):
        present = np.zeros(space, dtype=np.bool_)
        present[key] = True
        return (np.cumsum(present) - 1)[key], int(present.sum())
    import pyarrow as pa

    encoded = pa.array(key).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)
