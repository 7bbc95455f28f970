"""Raw values before they are cleaned: their type, their canonical text in SQL, and texts that need no cleaning.

To clean a text takes an engine longer than everything else that it does with a row. Most texts of a CSV file need no cleaning: so
each column of a batch is looked at as a whole. If all its texts are tidy, they are passed on as such; if all are plain numbers, as
points of the column's grid with their fates. Otherwise they are cleaned one by one. Both ways give the same value for every text
that is tidy or plain, so how a row is read still depends on its own bytes alone (store.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.data.dialect import DUCKDB, Dialect, Nature, name, text
from tacit.privacy.catalog import BLANKS, Notation

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_MOMENT, LAST_MOMENT = "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54"  # beyond, the engine stops at a moment's text
WHOLE = re.compile(r"^([+-]?[0-9]+)\.0+$")  # as in `named`


@dataclass(frozen=True, slots=True)
class Raw:
    """A column of a source: SQL that refers to it, its type in the engine, a name for derived columns, and the engine's dialect.

    Where a reader has found that a text needs no cleaning, or is a number, `sql` is NULL and `tidy` or `number` has it. If it also
    gives a `fate`, the number is a point of the column's grid.
    """

    sql: str
    type: str
    alias: str = "raw"
    words: Dialect = DUCKDB
    tidy: str | None = None
    number: str | None = None
    fate: str | None = None

    def part(self, word: str) -> str:
        """The name of a column derived from this one."""
        return name(f"{self.alias} {word}")

    @property
    def nature(self) -> Nature:
        """The kind of the type; a type that is not listed (UUID, TIME, ENUM, BIGNUM, ...) is read as its text."""
        if self.type.endswith("]"):
            return "nested"
        types = self.words.types
        if self.type in types.natures:
            return types.natures[self.type]
        return next((nature for beginning, nature in types.beginnings.items() if self.type.startswith(beginning)), "text")

    @property
    def digits(self) -> tuple[int, int]:
        """Width and scale of a DECIMAL."""
        width, scale = re.findall(r"\d+", self.type)[:2]
        return int(width), int(scale)


def written(raw: Raw) -> str:
    """The text of a value, trimmed; NULL for a missing value: NULL, NaN and, in the SQL of `filled`, a blank text.

    Whole numbers are written without a fraction and others in their shortest form, so 1, 1.0 and 1.00 give the same text; -0.0 is
    0. Text is composed (NFC), and NUL becomes the replacement character.
    """
    return _or_tidy(raw, WRITTEN.get(raw.nature, _text)(raw))


def filled(raw: Raw) -> str:
    """`written`, with a blank text as NULL."""
    return f"nullif({written(raw)}, '')"


def named(raw: Raw) -> str:
    """`written` for keys and categories: a text such as 7.00, a whole number with a fraction of zeros, loses the fraction."""
    if raw.nature not in ("text", "bytes"):
        return written(raw)
    return _or_tidy(raw, raw.words.replaced(written(replace(raw, tidy=None)), WHOLE.pattern, 1))


def _or_tidy(raw: Raw, cleaned: str) -> str:
    return cleaned if raw.tidy is None else f"coalesce({raw.tidy}, {cleaned})"


def without_missing(raw: Raw, notation: Notation) -> Raw:
    """The column with NULL in place of the values that the catalog declares as missing; values are compared as elsewhere.

    >>> without_missing(Raw("x", "BIGINT"), Notation(missing=("-9",))).sql
    "(CASE WHEN CAST(x AS VARCHAR) NOT IN ('-9') THEN x END)"
    """
    if not notation.missing or raw.nature == "nested":
        return raw
    codes = ", ".join(text(WHOLE.sub(r"\1", code)) for code in notation.missing)
    there = f"{named(raw)} NOT IN ({codes})"
    tidy = None if raw.tidy is None else f"(CASE WHEN {there} THEN {raw.tidy} END)"
    return replace(raw, sql=f"(CASE WHEN {there} THEN {raw.sql} END)", tidy=tidy)


def _text(raw: Raw) -> str:
    return _clean(raw.sql if raw.type == raw.words.types.text else _plain(raw), raw.words)


def _bytes(raw: Raw) -> str:
    """The bytes as text if they are UTF-8, else with the engine's escapes."""
    return _clean(f"coalesce({raw.words.decoded(raw.sql)}, {_plain(raw)})", raw.words)


def _clean(sql: str, words: Dialect) -> str:
    composed = words.composed(f"replace({sql}, chr(0), '\ufffd')")
    return f"trim({composed}, {text(BLANKS)})"


def _plain(raw: Raw) -> str:
    return f"CAST({raw.sql} AS {raw.words.types.text})"


def _moment(raw: Raw) -> str:
    """A moment with one that is too far away as the first or the last that every reader holds; nanoseconds reach neither."""
    if raw.type.endswith("_NS"):
        return _plain(raw)
    first, last = (raw.words.constant(each, raw.type) for each in (FIRST_MOMENT, LAST_MOMENT))
    held = f"CASE WHEN {raw.sql} < {first} THEN {first} WHEN {raw.sql} > {last} THEN {last} ELSE {raw.sql} END"
    return f"CAST({held} AS {raw.words.types.text})"


def _decimal(raw: Raw) -> str:
    return _plain(raw) if raw.digits[1] == 0 else f"rtrim(rtrim({_plain(raw)}, '0'), '.')"


def _double(raw: Raw) -> str:
    words, types = raw.words, raw.words.types
    digits = f"CAST({words.cast_or_null(raw.sql, types.wide)} AS {types.text})"
    whole = f"CASE WHEN {raw.sql} = trunc({raw.sql}) THEN {digits} END"
    return f"CASE WHEN NOT {words.is_nan(raw.sql)} THEN coalesce({whole}, {_plain(raw)}) END"


WRITTEN = {
    **dict.fromkeys(("integer", "wide", "truth", "day"), _plain),
    "moment": _moment,
    "decimal": _decimal,
    "double": _double,
    "bytes": _bytes,
}


# --- texts of a CSV file that cleaning would not change ----------------------------------------------------------------------


DIGITS = 6  # of plain numbers, after the decimal point
LARGEST = 10 ** (18 - DIGITS)  # plain numbers are below it
MOST_SCALED = 2**50  # up to here a double times 10^6 is nearer to its integer than 1/2
PRINTABLE = bytes(range(0x20, 0x7F))
DECIMALS = b"0123456789"
PLAIN = DECIMALS + b".-"
MOST_DIGITS = 18  # of a whole number
BLANK, ZERO, POINT = b" 0."
MOST_RUNS = 4  # before a run that takes all forms

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scaled:
    """Numbers as integers at a scale of 10^digits, which is 1 or 10^6; `missing` marks the empty texts."""

    numbers: Places
    digits: int
    missing: NDArray[np.bool_] | None = None


OnGrid = Callable[[Scaled], tuple[Places, NDArray[np.uint8]]]  # the points of a grid, and the fates
Form = Literal["text", "key"] | OnGrid


def tidy_name(column: str) -> str:
    """The column of the tidy texts of another, which is NULL where they are given, and the reverse."""
    return f"t{column}"


def number_name(column: str) -> str:
    """The column of the grid points, or the whole numbers, of another, which is NULL where they are given, and the reverse."""
    return f"n{column}"


def fate_name(column: str) -> str:
    """The column of the fates of plain numbers."""
    return f"f{column}"


def tidy_batches(batches: pa.RecordBatchReader, forms: Mapping[str, Form]) -> pa.RecordBatchReader:
    """The same rows: each column of texts with one for those that are tidy, or for plain numbers, or with both, for keys."""
    return Runs(batches, forms, most=0).next_run()


class Runs:
    """The rows of batches in runs: a run has columns for the forms that occurred up to then alone, and the last one for all.

    For an engine computes with a column that is NULL in all rows, too. There are `most` runs before the last.
    """

    def __init__(self, batches: pa.RecordBatchReader, forms: Mapping[str, Form], most: int = MOST_RUNS) -> None:
        self._forms: dict[str, Form] = {column: forms.get(column, "text") for column in batches.schema.names}
        self._types = {each: kind for column, form in self._forms.items() for each, kind in _types(column, form).items()}
        self._batches, self._parts = batches, (self._split_batch(batch) for batch in batches)
        self._names: set[str] = set()
        self._left, self._next = most, next(self._parts, None)

    def __bool__(self) -> bool:
        """Whether there are rows left."""
        return self._next is not None

    def close(self) -> None:
        """Give up the rows that are left."""
        self._batches.close()

    def next_run(self) -> pa.RecordBatchReader:
        """The next run; its reader must be read to the end before the next."""
        import pyarrow as pa

        self._names |= self._next.keys() if self._left and self._next is not None else self._types.keys()
        self._left = max(self._left - 1, 0)
        schema = pa.schema([(each, kind) for each, kind in self._types.items() if each in self._names])
        return pa.RecordBatchReader.from_batches(schema, self._run(schema))

    def _run(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        while self._next is not None and self._next.keys() <= set(schema.names):
            rows = len(next(iter(self._next.values())))
            nothing = {each: pa.nulls(rows, kind) for each, kind in zip(schema.names, schema.types, strict=True)}
            yield pa.record_batch(list({**nothing, **self._next}.values()), schema=schema)
            self._next = next(self._parts, None)

    def _split_batch(self, batch: pa.RecordBatch) -> dict[str, Any]:
        forms: dict[str, Any] = {}
        for column, form in self._forms.items():
            forms |= _split_column(column, batch.column(column), form)
        return forms


def _types(column: str, form: Form) -> dict[str, Any]:
    """The columns that a column becomes, with their types."""
    import pyarrow as pa

    texts, numbers = {column: pa.large_string()}, {number_name(column): pa.int64()}
    tidy = {tidy_name(column): pa.large_string()}
    if callable(form):
        return {**texts, **numbers, fate_name(column): pa.uint8()}
    return {**texts, **tidy, **(numbers if form == "key" else {})}


def _split_column(column: str, texts: Any, form: Form) -> dict[str, Any]:
    """The texts in the one form that they all have, under the name of that form."""
    import pyarrow as pa

    if callable(form):
        if (plain := plain_numbers(texts)) is None:
            return {column: texts}
        points, fates = form(plain)
        return {number_name(column): pa.array(points), fate_name(column): pa.array(fates)}
    if form == "key" and (numbers := whole_numbers(texts)) is not None:
        return {number_name(column): numbers}
    return {tidy_name(column) if are_tidy(texts) else column: texts}


def are_tidy(texts: Any) -> bool:
    """Whether all are ASCII without control characters, have no blank at an end, and none looks like 7.00.

    Such a text is composed, has nothing to cut off, and is its own name as a key or a value.
    """
    places, content = _content(texts)
    if content.translate(None, PRINTABLE) or b".0" in content:
        return False
    if b" " not in content:
        return True
    codes = np.frombuffer(content, np.uint8)
    filled = np.flatnonzero(np.diff(places))
    return not ((codes[places[filled]] == BLANK) | (codes[places[filled + 1] - 1] == BLANK)).any()


def plain_numbers(texts: Any) -> Scaled | None:
    """The numbers, an empty text being missing; None unless all are digits with a sign and a point at most."""
    import pyarrow as pa

    places, content = _content(texts)
    if content.translate(None, PLAIN):
        return None
    filled = _without_empty(texts, lengths := np.diff(places))
    missing = lengths == 0 if filled is not texts else None
    try:
        return _scale_decimals(filled, places, content, missing) if b"." in content else _whole(filled, missing)
    except pa.ArrowInvalid:  # not a number, or too large
        return None


def whole_numbers(texts: Any) -> Any:
    """The texts as integers, NULL for an empty one; None unless each is the shortest text of a whole number of up to 18 digits."""
    import pyarrow as pa

    places, content = _content(texts)
    lengths = np.diff(places)
    if content.translate(None, DECIMALS) or (lengths > MOST_DIGITS).any():
        return None
    if (np.frombuffer(content, np.uint8)[places[:-1][lengths > 1]] == ZERO).any():
        return None
    return _without_empty(texts, lengths).cast(pa.int64())


def _without_empty(texts: Any, lengths: Places) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.large_string()), texts) if (lengths == 0).any() else texts


def _whole(texts: Any, missing: NDArray[np.bool_] | None) -> Scaled | None:
    import pyarrow as pa

    whole = _plain_integers(texts.cast(pa.int64()), missing)
    if len(whole) and max(-int(whole.min()), int(whole.max())) >= LARGEST:
        return None
    return Scaled(whole, 0, missing)


def _scale_decimals(texts: Any, places: Places, content: bytes, missing: NDArray[np.bool_] | None) -> Scaled | None:
    """Decimals by way of doubles, which are exact enough for numbers of so few digits; None if a number has more."""
    import pyarrow as pa

    scaled = _plain_integers(texts.cast(pa.float64()), missing) * 10.0**DIGITS  # raises where a number has two points
    if _decimals(places, content) > DIGITS or max(-scaled.min(), scaled.max()) > MOST_SCALED:
        return None
    return Scaled(np.rint(scaled, out=scaled).astype(np.int64), DIGITS, missing)


def _decimals(places: Places, content: bytes) -> int:
    """A bound on the digits after the point of texts with one point at most: exact, unless all are too short to have too many."""
    if (longest := int(np.diff(places).max())) <= DIGITS + 1:
        return longest - 1
    points = np.flatnonzero(np.frombuffer(content, np.uint8) == POINT)
    has_point = np.diff(np.searchsorted(points, places)) > 0
    return int((places[1:][has_point] - points).max()) - 1


def _plain_integers(column: Any, missing: NDArray[np.bool_] | None) -> Any:
    """The numbers of a column, with 0 for the missing ones."""
    return (column if missing is None else column.fill_null(0)).to_numpy()


def _content(texts: Any) -> tuple[Places, bytes]:
    """Where each text begins, and the last one ends, in the bytes of all of them."""
    _, offsets, content = texts.buffers()
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    first, last = int(places[0]), int(places[-1])
    return places - first, b"" if content is None else content[first:last].to_pybytes()
