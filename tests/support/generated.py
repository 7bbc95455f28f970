"""Small catalogs and tables at the ends of what may be declared, generated; and questions of them, several numbers in each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from hostile import FRAGMENTS
from questions import COLUMNS, conditions, keys, numbers
from stored import catalog, category, days, number, table
from tacit.errors import Refused
from tacit.privacy.catalog import Catalog, Column, Owner
from tacit.query.plan import Question

UNCLEAN = set(map(chr, range(0xD800, 0xE000)))  # which no file holds
WORDS = [each for each in dict.fromkeys(FRAGMENTS) if not UNCLEAN & set(each) and each == each.strip() and each.isprintable()]
LABELS = [
    *WORDS,
    "",
    "apple",
    "Apple",
    "nan",
    "NaN",
    "Infinity",
    "-0",
    "1e308",
    "NULL",
    "null",
    "true",
    "${env:HOME}",
    "%",
    "_",
    "\\%",
]
LONGEST = 2**53 - 1
LOWS = [0, 0, 0, 1, 1, -1, -5, -(2**31), -(2**52), 2**31, 2**52, -(2**63), 10**12, Fraction(1, 3), Fraction(-7, 2)]
STEPS = [1, 1, 1, Fraction(1, 100), Fraction(1, 3), 10**6, 7, Fraction(1, 2**20)]
SPANS = [1, 2, 10, 10, 100, 255, 2**28 - 1, 2**28, 2**31, 2**52, LONGEST]
USUAL = ("apple", "Banana", "bAnana", "", "50%_é")  # which conditions compare with
NAMED = {column.name: column.kind for column in COLUMNS}
NULLS = st.sampled_from([{}, {}, {"nulls": "drop"}])
AGGREGATES = [
    "SUM({})", "AVG({})", "COUNT({})", "MEDIAN({})", "COUNT(DISTINCT {})", "VAR_POP({})", "STDDEV({})", "MAX({})", "MIN({})",
    "MODE({})", "SUM({0} * {0})", "COVAR_POP({}, small)", "CORR({}, signed)", "SUM({}) FILTER (WHERE flag)",
]  # fmt: skip


def _number(name: str) -> st.SearchStrategy[Column]:
    def made(low: Any, step: Any, span: int, nulls: dict[str, str]) -> Column:
        first = Fraction(low) / Fraction(step)
        low = Fraction(low) if first.denominator == 1 else int(first) * Fraction(step)
        return number(name, low, low + span * Fraction(step), step, **nulls)

    return st.builds(made, st.sampled_from(LOWS), st.sampled_from(STEPS), st.sampled_from(SPANS), NULLS)


def _days(name: str) -> st.SearchStrategy[Column]:
    firsts = st.sampled_from([date(1, 2, 1), date(1582, 10, 4), date(1969, 12, 31), date(2000, 2, 28), date(9997, 1, 1)])
    spans = st.sampled_from([0, 1, 31, 366, 700])
    return st.builds(
        lambda first, span, nulls: days(
            name, first.isoformat(), min(first + timedelta(span), date(9998, 11, 1)).isoformat(), **nulls
        ),
        firsts, spans, NULLS,
    )  # fmt: skip


def _category(name: str) -> st.SearchStrategy[Column]:
    if name == "flag":
        return st.builds(lambda nulls: category(name, True, False, **nulls), NULLS)
    if name == "code":
        return st.builds(lambda nulls: category(name, 3, 1, 2, unknown="other", **nulls), NULLS)
    values = st.lists(st.sampled_from(LABELS), max_size=40, unique=True)
    return st.builds(lambda values, nulls: category(name, *dict.fromkeys((*values, *USUAL)), **nulls), values, NULLS)


MAKERS = {"number": _number, "date": _days, "category": _category, "text": lambda name: st.just(Column(name, "text"))}


def columns() -> st.SearchStrategy[tuple[Column, ...]]:
    """The columns of questions.py by name and kind, each declared anew."""
    return st.tuples(*(MAKERS[kind](name) for name, kind in NAMED.items()))


def value_of(column: Column) -> st.SearchStrategy[Any]:
    """A stored value: often at an end of its range, or NULL where that is allowed."""
    nothing = [] if column.nulls == "drop" else [None]
    if column.kind == "text":
        return st.sampled_from([None, *LABELS, *WORDS, "a" * 64])
    last = column.points - 1
    return st.sampled_from([*nothing, 0, last]) | st.integers(0, last)


@dataclass(frozen=True)
class Generated:
    """A declared table `t`, with the rows of several people; the first of them is the one who may be missing."""

    declared: tuple[Column, ...]
    units: list[list[dict[str, Any]]]
    max_rows: int
    per_group: int | None

    def catalog(self, folder: Path) -> Catalog:
        limits = {"max_rows": self.max_rows, "max_rows_per_group": self.per_group, "rows_at_most": 10**4}
        owner = Column("person", "key")
        return catalog(folder, table("t", folder / "t.csv", owner, *self.declared, unit=Owner("person"), **limits))


@st.composite
def tables(draw: st.DrawFn, most: int = 5) -> Generated:
    declared = draw(columns())
    rows = st.lists(st.fixed_dictionaries({column.name: value_of(column) for column in declared}), min_size=1, max_size=4)
    units = draw(st.lists(rows, min_size=1, max_size=most))
    return Generated(declared, units, draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([None, None, 1, 2])))


@dataclass(frozen=True)
class Parts:
    """A question of `t` in parts, of which some may be refused."""

    key: str | None
    where: str
    numbers: tuple[str, ...]

    def written(self) -> str:
        key, group = (f"{self.key} AS k, ", f" GROUP BY {self.key}") if self.key else ("", "")
        return f"SELECT {key}{', '.join((*self.numbers, 'COUNT(*)'))} FROM t WHERE {self.where}{group}"

    def admitted(self, plan: Callable[[str], Question]) -> Question | None:
        """The plan of all parts that are not refused: each expression is one more form that a row might make fail."""
        rest = Parts(None, "TRUE", ())
        for part in ({"where": self.where}, {"key": self.key}, *({"numbers": (each,)} for each in self.numbers)):
            more = replace(rest, **{**part, "numbers": (*rest.numbers, *part.get("numbers", ()))})
            with suppress(Refused):
                plan(more.written())
                rest = more
        return plan(rest.written()) if rest.numbers else None


def asked(most: int = 8) -> st.SearchStrategy[Parts]:
    """Questions with up to so many numbers."""
    over = st.builds(str.format, st.sampled_from(AGGREGATES), numbers())
    wanted = st.lists(over, min_size=most // 2, max_size=most, unique=True).map(tuple)
    return st.builds(Parts, st.none() | keys() | st.just("note"), st.just("TRUE") | conditions(), wanted)
