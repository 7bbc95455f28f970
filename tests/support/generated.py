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
from tacit.privacy.loss import Change
from tacit.query.question import Question

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
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {})", "REGR_SLOPE({}, small)", "COUNT({}) FILTER (WHERE note LIKE '%e%')",
    "LINREG_R2(small, signed, small * signed)",
]  # fmt: skip
ALONE = [each for each in AGGREGATES if not any(name in each for name in ("small", "signed", "flag", "note"))]
OF_ROWS = ["COUNT(DISTINCT note)", "COUNT(DISTINCT person)", "COUNT(scan)", "MODE(fruit)", "MAX(day)", "MEDIAN(seen)"]
OF_PEOPLE = ["s.total", "s.n", "s.high", "s.kinds", "s.high - s.low", "s.mean"]
OF_PAIRS = [f"{side}.{name}" for name in ("small", "signed", "cents", "wide", "below") for side in "ab"]
PAIRED = ["fruit", "code", "day", "small"]  # by which rows of one person are joined with each other
LEVELS = ["{}", "{}", "{}", "ROLLUP ({})", "{}, flag", "ROLLUP ({}, flag)", "{}, note"]  # of groups


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
    """The columns of questions.py by name and kind, each declared anew, and one of which only the presence is known."""
    return st.tuples(*(MAKERS[kind](name) for name, kind in NAMED.items()), st.just(Column("scan", "presence")))


def value_of(column: Column) -> st.SearchStrategy[Any]:
    """A stored value: often at an end of its range, or NULL where that is allowed."""
    nothing = [] if column.nulls == "drop" else [None]
    if column.kind == "text":
        return st.sampled_from([None, *LABELS, *WORDS, "a" * 64])
    if column.kind == "presence":
        return st.sampled_from([None, 0])
    last = column.points - 1
    return st.sampled_from([*nothing, 0, last]) | st.integers(0, last)


@dataclass(frozen=True)
class Generated:
    """A declared table `t`, with the rows of several people; the first of them is the one who may be missing."""

    declared: tuple[Column, ...]
    units: list[list[dict[str, Any]]]
    max_rows: int
    per_group: int | None
    change: Change = "add-remove"

    def catalog(self, folder: Path) -> Catalog:
        limits = {"max_rows": self.max_rows, "max_rows_per_group": self.per_group, "rows_at_most": 10**4}
        owner = Column("person", "key")
        held = table("t", folder / "t.csv", owner, *self.declared, unit=Owner("person"), **limits)
        return catalog(folder, held, change=self.change)


@st.composite
def tables(draw: st.DrawFn, most: int = 5) -> Generated:
    declared = draw(columns())
    rows = st.lists(st.fixed_dictionaries({column.name: value_of(column) for column in declared}), min_size=1, max_size=4)
    units = draw(st.lists(rows, min_size=1, max_size=most))
    most, per_group = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([None, None, 1, 2]))
    return Generated(declared, units, most, per_group, draw(st.sampled_from(["add-remove", "change-one"])))


@dataclass(frozen=True)
class Parts:
    """A question of `t` in parts, of which some may be refused."""

    key: str | None
    where: str
    numbers: tuple[str, ...]
    rows: str = "t"
    levels: str = "{}"

    def written(self) -> str:
        group = f" GROUP BY {self.levels.format(self.key)}" if self.key else ""
        asked = ", ".join((*([self.key] if self.key else ()), *self.numbers, "COUNT(*)"))
        return f"SELECT {asked} FROM {self.rows} WHERE {self.where}{group}"

    def admitted(self, plan: Callable[[str], Question]) -> Question | None:
        """The plan of all parts that are not refused: each expression is one more form that a row might make fail."""
        rest = Parts(None, "TRUE", (), self.rows, self.levels)
        for part in ({"where": self.where}, {"key": self.key}, *({"numbers": (each,)} for each in self.numbers)):
            more = replace(rest, **{**part, "numbers": (*rest.numbers, *part.get("numbers", ()))})
            with suppress(Refused):
                plan(more.written())
                rest = more
        return plan(rest.written()) if rest.numbers else None


def asked(most: int = 8) -> st.SearchStrategy[Parts]:
    """Questions with up to so many numbers: of rows, of what each person's rows make together, and of pairs of these rows."""
    tests, levels = st.just("TRUE") | conditions() | _on_texts() | _on_people(), st.sampled_from(LEVELS)
    of_rows = st.builds(
        Parts, st.none() | keys() | st.just("note"), tests, _wanted(numbers(), most, AGGREGATES, *OF_ROWS), st.just("t"), levels
    )
    some = ["s.n", "s.kinds", "s.n > 1", "s.total > 0"]
    people = st.builds(
        Parts, st.none() | st.sampled_from(some), st.just("TRUE"), _wanted(st.sampled_from(OF_PEOPLE), 4, ALONE), _people()
    )
    pairs = st.builds(
        Parts, st.none() | st.sampled_from(["a.fruit", "b.note"]), st.just("TRUE"), _wanted(_of_pairs(), 4, ALONE), _pairs()
    )
    return st.one_of(of_rows, of_rows, people, pairs)


def _wanted(over: st.SearchStrategy[str], most: int, forms: list[str], *more: str) -> st.SearchStrategy[tuple[str, ...]]:
    number = st.builds(str.format, st.sampled_from([*forms, *more]), over)
    return st.lists(number, min_size=most // 2, max_size=most, unique=True).map(tuple)


def _on_texts() -> st.SearchStrategy[str]:
    """Conditions on private text, with constants that are in the data, and that try to be more than texts."""
    literal = st.sampled_from([each.replace("'", "''") for each in LABELS])
    pattern = st.sampled_from([each.replace("'", "''") for each in LABELS if "\\" not in each])
    listed = st.lists(literal, min_size=1, max_size=4).map(lambda each: ", ".join(f"'{one}'" for one in each))
    like = st.sampled_from(["note LIKE '%{}%'", "note NOT LIKE '{}_'", "STARTS_WITH(note, '{}')"])
    return (
        st.builds("note IN ({})".format, listed) | st.builds("note <> '{}'".format, literal) | st.builds(str.format, like, pattern)
    )


def _on_people() -> st.SearchStrategy[str]:
    within = st.sampled_from(["person IN (SELECT person FROM t WHERE {})", "person NOT IN (SELECT person FROM t WHERE {})"])
    return st.builds(str.format, within, conditions())


def _people() -> st.SearchStrategy[str]:
    """One row for each person."""
    made = "SELECT person, SUM({0}) AS total, COUNT(*) AS n, MIN({1}) AS low, MAX({1}) AS high, AVG({2}) AS mean"
    per = f"({made}, COUNT(DISTINCT fruit) AS kinds FROM t WHERE {{3}} GROUP BY person) s"
    few = st.sampled_from(
        ["small", "signed", "cents", "shifted", "thirds", "EXTRACT(DAY FROM day)", "small / signed", "SIGN(wide)"]
    )
    return st.builds(per.format, few, few | st.just("wide"), few, st.just("TRUE") | conditions())


def _pairs() -> st.SearchStrategy[str]:
    """Each row with rows of the same person."""
    join, by = st.sampled_from(["JOIN", "LEFT JOIN"]), st.sampled_from(["", *(f" AND a.{each} = b.{each}" for each in PAIRED)])
    return st.builds("t a {} t b ON a.person = b.person{}".format, join, by | st.just(" AND a.day = b.seen"))


def _of_pairs() -> st.SearchStrategy[str]:
    one = st.sampled_from(OF_PAIRS)
    return one | st.builds("({} {} {})".format, one, st.sampled_from(["+", "-", "*", "/"]), one)
