"""Columns of public tables that are not declared: what they are is read from the data, since the data is public."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction

from tacit.data.engine import Workshop
from tacit.data.files.raw import Raw, filled, named, without_missing
from tacit.data.prepare.cleaning import written_day
from tacit.data.prepare.grids import plain_number
from tacit.privacy.catalog import LARGEST, PLAIN, Column, Notation, Value, day_number
from tacit.privacy.rounding import exact

MOST_VALUES = 100_000
MOST_DIGITS = 9  # of a fraction that is read from data
WRITTEN_NUMBER = r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,9})?"  # no zeros in front: they belong to codes, such as a postcode
WRITTEN_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
AFTER_POINT = r"\.(.*)$"

Found = Column | str


def found_column(workshop: Workshop, relation: str, key: str, raw: Raw, typed: bool, notation: Notation = PLAIN) -> Found:
    """The column that the public data show, written as the table says, or the reason why it is left out."""
    found = _found(workshop, relation, key, without_missing(raw, notation), typed, notation)
    return replace(found, notation=notation) if isinstance(found, Column) else found


def _found(workshop: Workshop, relation: str, key: str, raw: Raw, typed: bool, notation: Notation) -> Found:
    if key.startswith("tacit_"):
        return "such names are tacit's own"
    look = _Look(workshop, relation, key, raw, notation)
    if raw.nature in ("integer", "wide", "truth"):
        return look.values() if raw.nature == "truth" else look.number(raw.sql, 0)
    if raw.nature == "decimal":
        return look.number(raw.sql, raw.digits[1])
    if raw.nature in ("day", "moment"):
        return look.days(raw.words.cast_or_null(raw.sql, raw.words.types.day))
    if raw.nature == "double":
        return look.doubles()
    return f"its type is {raw.type}" if raw.nature in ("nested", "bytes") else look.values() if typed else look.text()


class _Look:
    """Questions about one public column."""

    def __init__(self, workshop: Workshop, relation: str, key: str, raw: Raw, notation: Notation) -> None:
        self.workshop, self.relation, self.key, self.raw, self.notation = workshop, relation, key, raw, notation
        self.words = raw.words

    def one(self, *asked: str) -> tuple[object, ...]:
        (row,) = self.workshop.rows(f"SELECT {', '.join(asked)} FROM {self.relation}")
        return row

    def number(self, sql: str, digits: int) -> Found:
        low, high, nulls = self.one(f"min({sql})", f"max({sql})", f"count(*) FILTER ({sql} IS NULL)")
        if low is None or high is None:
            return "it has no values"
        bounds, step = (exact(low), exact(high)), Fraction(1, 10**digits)  # type: ignore[arg-type]
        if (bounds[1] - bounds[0]) / step >= LARGEST:
            return "its values need more than 2^53 steps"
        return Column(self.key, "number", bounds, step, nulls="keep" if nulls else "drop")

    def doubles(self) -> Found:
        """Doubles that are decimals of a few digits."""
        sql = f"CASE WHEN {self.words.is_finite(self.raw.sql)} THEN {self.raw.sql} END"
        fits = self.one(*(f"bool_and({sql} = round({sql}, {digits}))" for digits in range(MOST_DIGITS + 1)))
        digits = next((digits for digits, fit in enumerate(fits) if fit in (True, None)), None)
        return f"its numbers have more than {MOST_DIGITS} decimals" if digits is None else self.number(sql, digits)

    def text(self) -> Found:
        """Texts of a CSV file: numbers or days if all of them are written so, else values."""
        words = self.words
        sql, day = filled(self.raw), written_day(filled(self.raw), self.notation.format, words)
        plain = plain_number(sql, self.notation, words)
        is_day = f"{day} IS NOT NULL" + (f" AND {words.matches_whole(sql, WRITTEN_DAY)}" if self.notation.format is None else "")
        numbers, days, places = self.one(
            f"bool_and({words.matches_whole(plain, WRITTEN_NUMBER)})",
            f"bool_and({is_day}) FILTER ({sql} IS NOT NULL)",
            f"max(length({words.extracted(plain, AFTER_POINT, 1)}))",
        )
        if numbers and not (days and self.notation.format):
            return self.number(words.cast_or_null(plain, f"DECIMAL(38, {places})"), int(str(places)))
        return self.days(day) if days else self.values()

    def days(self, sql: str) -> Found:
        first, last = self.words.day("0001-01-01"), self.words.day("9999-12-31")
        known = f"CASE WHEN {sql} BETWEEN {first} AND {last} THEN {sql} END"
        low, high, nulls = self.one(f"min({known})", f"max({known})", f"count(*) FILTER ({sql} IS NULL)")
        if not isinstance(low, date) or not isinstance(high, date):
            return "it has no values"
        bounds = Fraction(day_number(low)), Fraction(day_number(high))
        return Column(self.key, "date", bounds, Fraction(1), nulls="keep" if nulls else "drop")

    def values(self) -> Found:
        sql = f"nullif({named(self.raw)}, '')"
        listed = f"SELECT DISTINCT {sql} AS value FROM {self.relation} WHERE {sql} IS NOT NULL"
        rows = self.workshop.rows(f"SELECT value FROM ({listed}) ORDER BY value LIMIT {MOST_VALUES + 1}")
        if len(rows) > MOST_VALUES:
            return f"it has more than {MOST_VALUES:,} values"
        (nulls,) = self.one(f"count(*) FILTER ({sql} IS NULL)")
        values: tuple[Value, ...] = tuple(value for (value,) in rows)
        if self.raw.nature == "truth":
            values = tuple(value == "true" for value in values)
        return (
            Column(self.key, "category", values=values, unknown="drop", nulls="keep" if nulls else "drop")
            if values
            else "it has no values"
        )
