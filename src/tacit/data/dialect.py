"""The SQL in which engines differ, in one object per engine; all other SQL of preparation is common to them.

A step of preparation writes SQL for the engine of its workshop. It takes from here the names of types, casts of constants, integer
division, shifts, exclusive or, regular expressions, lengths in bytes, the hash, and how a text is read as bytes or as a day. Each
gives the same result on every engine, so a store means the same whichever engine prepared it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal


def name(identifier: str) -> str:
    """An identifier as SQL.

    >>> print(name('a "b" c'))
    "a ""b"" c"
    """
    return '"' + identifier.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text as SQL, which cannot contain NUL.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''").replace("\0", "\ufffd") + "'"


# --- the SQL in which engines differ -----------------------------------------------------------------------------------------


Nature = Literal["integer", "wide", "decimal", "double", "truth", "day", "moment", "bytes", "nested", "text"]
Word = Callable[[str], str]
Words = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Types:
    """Names of types: integers of 64 and of 128 bits, a small unsigned integer, doubles, texts and days.

    `natures` maps the name of a source's type to its kind, and `beginnings` does so by the start of the name. Values of other types
    are read as their text.
    """

    whole: str
    wide: str
    small: str
    double: str
    text: str
    day: str
    natures: Mapping[str, Nature]
    beginnings: Mapping[str, Nature]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine spells what others spell differently; each entry takes SQL and returns SQL."""

    types: Types
    constant: Words  # a constant of a type, written as text
    cast_or_null: Words  # a value cast to a type, or NULL if it cannot be
    day: Word  # a constant day, written as YYYY-MM-DD
    quotient: Words  # of non-negative integers, rounded down
    shifted_left: Words
    shifted_right: Words
    matches: Words  # whether a text contains a pattern; patterns use only syntax that all engines share
    matches_whole: Words  # whether a pattern matches the whole text
    replaced: Callable[[str, str, int], str]  # a text with each match of a pattern replaced by one of its groups
    extracted: Callable[[str, str, int], str]  # a group of a pattern in a text
    bytes_of: Word  # the length of a text in UTF-8 bytes
    decoded: Word  # bytes as a text, or NULL if they are not UTF-8
    composed: Word  # a text in normal form NFC
    day_or_null: Words  # the day that a text means in a given format
    is_nan: Word
    is_finite: Word
    distinct: Word  # the distinct non-NULL values of a group, as a sorted list
    xored: Words  # exclusive or of non-negative integers
    hashed: Word  # the first seven bytes of the MD5 of a text in UTF-8, the lowest first, as an integer
    row: str  # identifies the rows of a table; stable within one statement
    code_in: Words  # the index of a text in a type of listed values, from 0; NULL if it is not listed
    where: Words  # the rows of a query for which a condition with a window holds


DUCKDB = Dialect(
    types=Types(
        whole="BIGINT",
        wide="HUGEINT",
        small="UTINYINT",
        double="DOUBLE",
        text="VARCHAR",
        day="DATE",
        natures={
            **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "integer"),
            **dict.fromkeys(("UBIGINT", "HUGEINT"), "wide"),
            **dict.fromkeys(("FLOAT", "DOUBLE"), "double"),
            "BOOLEAN": "truth",
            "DATE": "day",
            "BLOB": "bytes",
            "VARIANT": "nested",
        },
        beginnings={
            "DECIMAL(": "decimal",
            "TIMESTAMP": "moment",
            "STRUCT(": "nested",
            "MAP(": "nested",
            "UNION(": "nested",
        },
    ),
    constant=lambda written, kind: f"{text(written)}::{kind}",
    cast_or_null=lambda sql, kind: f"TRY_CAST({sql} AS {kind})",
    day=lambda written: f"DATE '{written}'",
    quotient=lambda above, below: f"{above} // {below}",
    shifted_left=lambda sql, bits: f"({sql} << {bits})",
    shifted_right=lambda sql, bits: f"({sql} >> {bits})",
    matches=lambda sql, pattern: f"regexp_matches({sql}, {text(pattern)})",
    matches_whole=lambda sql, pattern: f"regexp_full_match({sql}, {text(pattern)})",
    replaced=lambda sql, pattern, group: f"regexp_replace({sql}, {text(pattern)}, '\\{group}')",
    extracted=lambda sql, pattern, group: f"regexp_extract({sql}, {text(pattern)}, {group})",
    bytes_of=lambda sql: f"strlen({sql})",
    decoded=lambda sql: f"TRY(decode({sql}))",
    composed=lambda sql: f"nfc_normalize({sql})",
    day_or_null=lambda sql, written_as: f"CAST(try_strptime({sql}, {text(written_as)}) AS DATE)",
    is_nan=lambda sql: f"isnan({sql})",
    is_finite=lambda sql: f"isfinite({sql})",
    distinct=lambda sql: f"list_sort(list(DISTINCT {sql}) FILTER ({sql} IS NOT NULL))",
    xored=lambda one, other: f"xor({one}, {other})",
    hashed=lambda sql: f"CAST(md5_number({sql}) & {2**56 - 1}::UHUGEINT AS BIGINT)",
    row="rowid",
    code_in=lambda sql, listed: f"enum_code(TRY_CAST({sql} AS {listed}))",
    where=lambda rows, condition: f"SELECT * FROM ({rows}) QUALIFY {condition}",  # noqa: S608  # of names that are quoted
)


def _cleaned_before(*_: object) -> str:
    """One engine alone normalizes, trims and reads numbers and days, since engines differ in it: '1d' is 1.0 in Spark."""
    raise TypeError("Spark does not clean values; the embedded engine does, on the executors")


SPARK = Dialect(
    types=Types(
        whole="BIGINT",
        wide="DECIMAL(38, 0)",
        small="SMALLINT",
        double="DOUBLE",
        text="STRING",
        day="DATE",
        natures={},
        beginnings={},
    ),
    constant=lambda written, kind: f"CAST({text(written)} AS {kind})",
    cast_or_null=_cleaned_before,
    day=_cleaned_before,
    quotient=_cleaned_before,
    shifted_left=lambda sql, bits: f"shiftleft({sql}, {bits})",
    shifted_right=lambda sql, bits: f"shiftright({sql}, {bits})",
    matches=_cleaned_before,
    matches_whole=_cleaned_before,
    replaced=_cleaned_before,
    extracted=_cleaned_before,
    bytes_of=_cleaned_before,
    decoded=_cleaned_before,
    composed=_cleaned_before,
    day_or_null=_cleaned_before,
    is_nan=_cleaned_before,
    is_finite=_cleaned_before,
    distinct=_cleaned_before,
    xored=_cleaned_before,
    hashed=_cleaned_before,
    row="monotonically_increasing_id()",
    code_in=_cleaned_before,
    where=lambda rows, condition: f"SELECT * FROM (SELECT *, {condition} AS tacit_holds FROM ({rows})) WHERE tacit_holds",  # noqa: S608
)

DIALECTS: Mapping[str, Dialect] = {"duckdb": DUCKDB, "spark": SPARK}
