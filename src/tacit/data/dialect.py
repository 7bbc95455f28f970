"""The words in which engines differ, in one object for each: all other SQL of preparation is common to them.

A step of preparation writes SQL for the engine of its workshop, and takes from here the names of types, casts of constants,
integer division, shifts, regular expressions, the length in bytes, the hash and how a text is read as bytes or as a day. What
each gives is the same on every engine, so that a store means the same whichever engine prepared it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from tacit.data.quoting import text

Nature = Literal["integer", "wide", "decimal", "double", "truth", "day", "moment", "bytes", "nested", "text"]
Word = Callable[[str], str]
Words = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Types:
    """Names of types: whole numbers of 64 and of 128 bits, a small and a large one without sign, doubles, texts and days.

    `natures` says what kind a type of a source is, by its name, and `beginnings` by how the name begins; others are read by
    their text.
    """

    whole: str
    wide: str
    small: str
    unsigned: str
    double: str
    text: str
    day: str
    natures: Mapping[str, Nature]
    beginnings: Mapping[str, Nature]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine spells what others spell otherwise; each word takes SQL and gives SQL."""

    types: Types
    constant: Words  # a constant, written as text, of a type
    cast_or_null: Words  # a value as a type, NULL where it cannot be
    day: Word  # a constant day, written as YYYY-MM-DD
    quotient: Words  # of whole numbers that are not negative, rounded down
    shifted_left: Words
    shifted_right: Words
    matches: Words  # whether a pattern is found in a text; patterns are those that all engines share
    matches_whole: Words  # whether a pattern is the whole text
    replaced: Callable[[str, str, int], str]  # a text, where a pattern is found, by one of its groups
    extracted: Callable[[str, str, int], str]  # a group of a pattern in a text
    bytes_of: Word  # the length of a text in bytes of UTF-8
    decoded: Word  # bytes as a text, NULL where they are not UTF-8
    composed: Word  # a text in the normal form NFC
    day_or_null: Words  # the day that a text is, by a format
    is_nan: Word
    is_finite: Word
    distinct: Word  # all values of a group but NULL, each once, as a sorted list
    hashed: Word  # the first 64 bits of the MD5 of a text, without sign
    row: str  # what tells the rows of a table apart, and is the same as often as it is asked within one statement
    code_in: Words  # the place of a text in a type of listed values, from 0; NULL where it is none of them
    where: Words  # the rows of a query for which a condition with a window holds


DUCKDB = Dialect(
    types=Types(
        whole="BIGINT",
        wide="HUGEINT",
        small="UTINYINT",
        unsigned="UBIGINT",
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
    hashed=lambda sql: f"CAST(md5_number({sql}) >> 64 AS UBIGINT)",
    row="rowid",
    code_in=lambda sql, listed: f"enum_code(TRY_CAST({sql} AS {listed}))",
    where=lambda rows, condition: f"SELECT * FROM ({rows}) QUALIFY {condition}",  # noqa: S608  # of names that are quoted
)

DIALECTS: Mapping[str, Dialect] = {"duckdb": DUCKDB}
