"""Raw values in SQL that cannot fail: the type of a source column, and the canonical text of a value."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tacit.data.dialect import DUCKDB, Dialect, Nature
from tacit.data.quoting import name, text
from tacit.privacy.catalog import BLANKS, Notation

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
