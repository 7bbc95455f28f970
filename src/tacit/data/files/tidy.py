"""Texts of a CSV file that cleaning would not change, and plain numbers among them, told apart before the engine reads them.

To clean a text takes an engine longer than everything else that it does with a row. Most texts need none: so each column of a batch
is looked at as a whole. If all its texts are tidy, they are passed on as such; if all are plain numbers, as integers at a scale of
10^6. Else they are cleaned one by one, as ever. Both ways give the same value for every text that is tidy or plain, so how a row is
read still depends on its own bytes alone (store.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

DIGITS = 6  # of plain numbers, after the decimal point
LARGEST = 10 ** (18 - DIGITS)  # plain numbers are below it
PRINTABLE = bytes(range(0x20, 0x7F))
DECIMALS = b"0123456789"
PLAIN = DECIMALS + b".-"
MOST_DIGITS = 18  # of a whole number
BLANK, ZERO = b" 0"

Form = Literal["text", "number", "key"]
Places = NDArray[np.int64]


def tidy_name(column: str) -> str:
    """The column of the tidy texts of another, which is NULL where they are given, and the reverse."""
    return f"t{column}"


def number_name(column: str) -> str:
    """The column of the plain numbers of another, which is NULL where they are given, and the reverse."""
    return f"n{column}"


def tidied(batches: pa.RecordBatchReader, forms: Mapping[str, Form]) -> pa.RecordBatchReader:
    """The same rows: each column of texts with one for those that are tidy, or for plain numbers, or with both, for keys."""
    import pyarrow as pa

    forms = {column: forms.get(column, "text") for column in batches.schema.names}
    names = {column: _names(column, form) for column, form in forms.items()}
    types = {tidy_name(column): pa.large_string() for column in names} | {number_name(column): pa.int64() for column in names}
    schema = pa.schema([(each, types.get(each, pa.large_string())) for column in names for each in names[column]])

    def parted() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found: dict[str, Any] = {}
            for column in names:
                found |= _parted(column, batch.column(column), forms[column])
            nothing = {each: pa.nulls(len(batch), kind) for each, kind in zip(schema.names, schema.types, strict=True)}
            yield pa.record_batch(list({**nothing, **found}.values()), schema=schema)

    return pa.RecordBatchReader.from_batches(schema, parted())


def _names(column: str, form: Form) -> list[str]:
    others = {"text": [tidy_name(column)], "number": [number_name(column)], "key": [tidy_name(column), number_name(column)]}
    return [column, *others[form]]


def _parted(column: str, texts: Any, form: Form) -> dict[str, Any]:
    """The texts in the one form that they all have, under the name of that form."""
    numbers = {"text": lambda _: None, "number": plain_numbers, "key": whole_numbers}[form](texts)
    if numbers is not None:
        return {number_name(column): numbers}
    return {tidy_name(column) if form != "number" and are_tidy(texts) else column: texts}


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


def plain_numbers(texts: Any) -> Any:
    """The numbers times 10^6 as integers, NULL for an empty text; None unless all are digits with a sign and a point at most."""
    import pyarrow as pa

    places, content = _content(texts)
    if content.translate(None, PLAIN):
        return None
    filled = _without_empty(texts, np.diff(places))
    try:
        return _scaled(filled) if b"." in content else _whole(filled)
    except pa.ArrowInvalid:  # not a number, too large, or of more digits
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


def _whole(texts: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = texts.cast(pa.int64())
    ends = pc.min_max(whole).as_py()
    if max(abs(ends["min"] or 0), abs(ends["max"] or 0)) >= LARGEST:
        return None
    return pc.multiply(whole, 10**DIGITS)


def _scaled(texts: Any) -> Any:
    """Decimals of 18 digits fit into the lower half of their 128 bits."""
    import pyarrow as pa

    decimals = texts.cast(pa.decimal128(18, DIGITS))
    valid, halves = decimals.buffers()
    lower = np.frombuffer(halves, np.int64)[::2].copy()
    return pa.Array.from_buffers(pa.int64(), len(decimals), [valid, pa.py_buffer(lower)], offset=decimals.offset)


def _content(texts: Any) -> tuple[Places, bytes]:
    """Where each text begins, and the last one ends, in the bytes of all of them."""
    _, offsets, content = texts.buffers()
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    first, last = int(places[0]), int(places[-1])
    return places - first, b"" if content is None else content[first:last].to_pybytes()
