"""Undeclared columns of public tables: their kind is read from the data, since the data is public."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import chain, islice
from typing import Any

from tacit.data.engine import Workshop
from tacit.data.files.raw import Raw, filled, named, without_missing
from tacit.data.prepare.cleaning import written_day
from tacit.data.prepare.grids import plain_number
from tacit.privacy.catalog import LARGEST, PLAIN, Column, Notation, Value, day_number
from tacit.privacy.rounding import exact

MOST_VALUES = 100_000
MOST_DIGITS = 9  # of a fraction read from data
WRITTEN_NUMBER = r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,9})?"  # leading zeros belong to codes, such as postcodes
WRITTEN_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
AFTER_POINT = r"\.(.*)$"

MOST_ASKED = 100  # expressions in one statement: planning time grows with their square

Found = Column | str
Answers = tuple[Any, ...]
Look = Generator[tuple[str, ...], Answers, Found]  # requests aggregates of the rows, receives their values, returns what it found


def found_columns(
    workshop: Workshop, relation: str, raws: Mapping[str, Raw], typed: bool, notation: Notation = PLAIN
) -> dict[str, Found]:
    """The columns found in the public data, in the table's notation, or the reasons why they are left out.

    Requests for many columns share a statement, so there are far fewer statements than columns.
    """
    looks = {key: _look_at_column(key, without_missing(raw, notation), typed, notation) for key, raw in raws.items()}
    columns: dict[str, Found] = {}
    asked = _resume_looks(dict.fromkeys(looks, ()), looks, columns)
    while asked:
        asked = _resume_looks(_answer_requests(workshop, relation, asked), looks, columns)
    return {key: replace(each, notation=notation) if isinstance(each := columns[key], Column) else each for key in raws}


def _resume_looks(
    answers: Mapping[str, Answers], looks: Mapping[str, Look], columns: dict[str, Found]
) -> dict[str, tuple[str, ...]]:
    """Resume every look that waits for an answer, and return what each requests next; finished looks go into `found`."""
    asked = {}
    for key, answer in answers.items():
        try:
            asked[key] = looks[key].send(answer or None)  # type: ignore[arg-type]  # what begins a generator is None
        except StopIteration as end:
            columns[key] = end.value
    return asked


def _answer_requests(workshop: Workshop, relation: str, asked: Mapping[str, tuple[str, ...]]) -> dict[str, Answers]:
    """The values of all requested aggregates, with several columns per statement."""
    answers: dict[str, Answers] = {}
    waiting: dict[str, tuple[str, ...]] = {}
    for place, (key, parts) in enumerate(asked.items(), 1):
        waiting[key] = parts
        if sum(map(len, waiting.values())) >= MOST_ASKED or place == len(asked):
            (row,) = workshop.rows(f"SELECT {', '.join(chain.from_iterable(waiting.values()))} FROM {relation}")
            values = iter(row)
            answers |= {column: tuple(islice(values, len(each))) for column, each in waiting.items()}
            waiting = {}
    return answers


def _look_at_column(key: str, raw: Raw, typed: bool, notation: Notation) -> Look:
    if key.startswith("tacit_"):
        return "such names are tacit's own"
    look = _Look(key, raw, notation)
    if raw.nature in ("integer", "wide", "truth"):
        return (yield from look.values() if raw.nature == "truth" else look.number(raw.sql, 0))
    if raw.nature == "decimal":
        return (yield from look.number(raw.sql, raw.digits[1]))
    if raw.nature in ("day", "moment"):
        return (yield from look.days(raw.words.cast_or_null(raw.sql, raw.words.types.day)))
    if raw.nature == "double":
        return (yield from look.doubles())
    if raw.nature in ("nested", "bytes"):
        return f"its type is {raw.type}"
    return (yield from look.values() if typed else look.text())


@dataclass(frozen=True, slots=True)
class _Look:
    """Requests about one public column."""

    key: str
    raw: Raw
    notation: Notation

    def number(self, sql: str, digits: int) -> Look:
        low, high, nulls = yield f"min({sql})", f"max({sql})", f"count(*) FILTER ({sql} IS NULL)"
        if low is None or high is None:
            return "it has no values"
        bounds, step = (exact(low), exact(high)), Fraction(1, 10**digits)
        if (bounds[1] - bounds[0]) / step >= LARGEST:
            return "its values need more than 2^53 steps"
        return Column(self.key, "number", bounds, step, nulls="keep" if nulls else "drop")

    def doubles(self) -> Look:
        """Doubles that are decimals of a few digits."""
        sql = f"CASE WHEN {self.raw.words.is_finite(self.raw.sql)} THEN {self.raw.sql} END"
        fits = yield tuple(f"bool_and({sql} = round({sql}, {digits}))" for digits in range(MOST_DIGITS + 1))
        digits = next((digits for digits, fit in enumerate(fits) if fit in (True, None)), None)
        return f"its numbers have more than {MOST_DIGITS} decimals" if digits is None else (yield from self.number(sql, digits))

    def text(self) -> Look:
        """Texts of a CSV file: numbers or days if all of them are written that way, else values."""
        words = self.raw.words
        sql, day = filled(self.raw), written_day(filled(self.raw), self.notation.format, words)
        plain = plain_number(sql, self.notation, words)
        is_day = f"{day} IS NOT NULL" + (f" AND {words.matches_whole(sql, WRITTEN_DAY)}" if self.notation.format is None else "")
        numbers, days, places = yield (
            f"bool_and({words.matches_whole(plain, WRITTEN_NUMBER)})",
            f"bool_and({is_day}) FILTER ({sql} IS NOT NULL)",
            f"max(length({words.extracted(plain, AFTER_POINT, 1)}))",
        )
        if numbers and not (days and self.notation.format):
            return (yield from self.number(words.cast_or_null(plain, f"DECIMAL(38, {places})"), int(places)))
        return (yield from self.days(day) if days else self.values())

    def days(self, sql: str) -> Look:
        first, last = self.raw.words.day("0001-01-01"), self.raw.words.day("9999-12-31")
        day = f"CASE WHEN {sql} BETWEEN {first} AND {last} THEN {sql} END"
        low, high, nulls = yield f"min({day})", f"max({day})", f"count(*) FILTER ({sql} IS NULL)"
        if not isinstance(low, date) or not isinstance(high, date):
            return "it has no values"
        bounds = Fraction(day_number(low)), Fraction(day_number(high))
        return Column(self.key, "date", bounds, Fraction(1), nulls="keep" if nulls else "drop")

    def values(self) -> Look:
        sql = f"nullif({named(self.raw)}, '')"
        count, nulls = yield f"count(DISTINCT {sql})", f"count(*) FILTER ({sql} IS NULL)"
        if not count:
            return "it has no values"
        if count > MOST_VALUES:
            return f"it has more than {MOST_VALUES:,} values"
        (listed,) = yield (self.raw.words.distinct(sql),)
        values: tuple[Value, ...] = tuple(value == "true" for value in listed) if self.raw.nature == "truth" else tuple(listed)
        return Column(self.key, "category", values=values, unknown="drop", nulls="keep" if nulls else "drop")
