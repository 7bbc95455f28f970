"""Row expressions: the engine gives exactly what the plan means, the plan means what SQL means, and no row can make one fail.

`reference.py` holds the meaning of a plan; DuckDB's own reading of the same text, on the values themselves, the meaning of SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import starmap
from typing import Any

import duckdb
import pytest
from hypothesis import assume, example, given, reject, settings
from hypothesis import strategies as st

import reference
from questions import COLUMNS, NUMBERS, conditions, dates, keys, numbers, texts, truncated
from stored import catalog, table
from tacit.errors import NeverTrue, RangeTooLarge, Refused
from tacit.privacy.catalog import LARGEST, day_number, day_of
from tacit.query.binding import conditions as possible
from tacit.query.binding import dates as calendar
from tacit.query.binding import terms
from tacit.query.binding.binder import Binder
from tacit.query.binding.comparisons import matches
from tacit.query.binding.conditions import can_be
from tacit.query.binding.scope import Scope, Source, column_term, declared_columns
from tacit.query.engines import compile as compiled
from tacit.query.engines import rows as compiled_rows
from tacit.query.language.sql import parse_expression
from tacit.query.named_parts import LONGEST_BRANCHES
from tacit.query.plan import Bound, Column, Condition, DateType, Key, Literal, NumberType, Scan, Term, TextColumn
from tacit.query.question import domain, key_value
from worlds import World, ranked, world

LENGTHS = pytest.mark.parametrize("examples", [25, pytest.param(400, marks=pytest.mark.slow)])
TEXTS = ["apple", "Banana", "x%y", "50%_é", "", None, "it's; DROP TABLE t --", "back\\slash", "new\nline"]


def extremes(column: Any, at: int) -> Any:
    """Stored values: both ends, NULL where it may be, and some in between."""
    if column.kind == "text":
        return TEXTS[at % len(TEXTS)]
    last = column.points - 1
    chosen = [0, last, last // 2, 1 % column.points, last - 1 % column.points, (last * 2) // 3]
    if column.nullable:
        chosen.insert(3, None)
    return chosen[at % len(chosen)]


def all_rows() -> list[dict[str, Any]]:
    """Rows in which the columns go through their values at different speeds."""
    return ranked(
        [
            [{column.name: extremes(column, (at * (place + 1)) // 2 + at) for place, column in enumerate(COLUMNS)}]
            for at in range(40)
        ]
    )


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("rows")
    private = table("facts", folder / "none.csv", *COLUMNS)
    with world(folder, catalog(folder, private), {"facts": all_rows()}) as made:
        yield made


@pytest.fixture(scope="module")
def plain(little: World) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same rows as values, for SQL to be read by an engine of its own."""
    types = {"category": "VARCHAR", "date": "DATE", "text": "VARCHAR", "number": "DECIMAL(18, 2)"}
    kinds = {column.name: types[column.kind] for column in COLUMNS}
    kinds |= dict.fromkeys(["small", "signed", "millions", "wide", "below"], "BIGINT") | {"flag": "BOOLEAN", "thirds": "DOUBLE"}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE facts ({', '.join(f'{name} {kind}' for name, kind in kinds.items())})")
        rows = [[decoded(column, row[column.name]) for column in COLUMNS] for row in little.tables["facts"]]
        connection.executemany(f"INSERT INTO facts VALUES ({', '.join('?' for _ in COLUMNS)})", rows)
        yield connection


def decoded(column: Any, stored: Any) -> Any:
    if stored is None or column.kind == "text":
        return stored
    if column.kind == "category":
        return column.domain[stored]
    exact = column.bounds[0] + stored * column.step
    if column.kind == "date":
        return day_of(int(exact))
    return int(exact) if exact.denominator == 1 else Decimal(exact.numerator) / Decimal(exact.denominator)


def binder(little: World) -> Binder:
    private = little.catalog.tables["facts"]
    return Binder(Scope((Source("facts", declared_columns(0, private.columns)),)))


def engine_values(little: World, **nodes: Any) -> dict[str, list[Any]]:
    """What the engine computes for every row, in the order of the units."""
    relation = Bound(Scan(little.catalog.tables["facts"]), 1)

    def build(tables: Any) -> Any:
        every = frozenset(compiled_rows.stored_name(0, name) for name in little.catalog.tables["facts"].columns)
        rows = compiled.relation(relation, compiled.Reading(tables, every))
        shown = rows.mutate(**{name: compiled_rows.value(node, rows) for name, node in nodes.items()})
        return shown.order_by(shown["tacit_unit"]).select(*(shown[name].cast("int64").name(name) for name in nodes))

    found = little.engine._fetch(build, repr(nodes))
    return {name: [None if hidden is None else int(hidden) for hidden in found[name].tolist()] for name in nodes}


def stored_rows(little: World) -> list[dict[str, Any]]:
    return reference.rows(Bound(Scan(little.catalog.tables["facts"]), 1), little.tables)


def bound(little: World, text: str) -> Term:
    """The term of an expression; a refusal says that it may leave the integers, or be too large, and nothing else."""
    try:
        return binder(little).term(parse_expression(text))
    except RangeTooLarge:
        assume(False)
        raise


# --- the engine computes what the plan means -------------------------------------------------------------------------------------


@LENGTHS
def test_numbers_are_exact_on_the_engine_and_in_their_range(little: World, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(numbers(), numbers(["wide", "millions", "below", "thirds", "signed"]))
    @example("(wide - wide) + wide * 1", "FLOOR(wide / 3) - CEIL(wide / 7)")
    @example("CASE WHEN wide > 0 THEN 2147483647 ELSE -2147483648 END + 1", "small * 2147483647")
    @example("wide / signed", "(cents / shifted) * 3")
    @example("FLOOR(small * 1e-35)", "(CASE WHEN flag THEN 0 ELSE 0 END) * 1e30 + small")
    @example("ABS(ABS(ABS(signed - 1) - 1) - 1)", "LEAST(signed, thirds, cents, NULL)")
    @example("NULL", "NULL + small * NULL")
    @example("cents % 0.3", "(small + 7) % 2.5")
    def check(one: str, two: str) -> None:
        nodes = {name: bound(little, text).node for name, text in (("one", one), ("two", two))}
        expected = {name: [reference.value(node, row) for row in stored_rows(little)] for name, node in nodes.items()}
        assert engine_values(little, **nodes) == expected

    check()


@LENGTHS
def test_conditions_have_three_truths_on_the_engine_too(little: World, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(conditions())
    @example("note LIKE '%''%' OR note LIKE 'back%'")
    @example("NOT (signed IN (NULL, 3))")
    def check(text: str) -> None:
        try:
            condition = binder(little).condition(parse_expression(text))
        except (RangeTooLarge, NeverTrue):
            assume(False)
            raise
        expected = [reference.truth(condition, row) for row in stored_rows(little)]
        held = engine_values(little, held=terms.truth_value(condition).node)["held"]
        assert held == [None if truth is None else int(truth) for truth in expected]
        assert terms.may_be_unknown(condition) or None not in expected

    check()


def sees_what_it_calls_impossible(condition: Condition, rows: list[dict[str, Any]]) -> bool:
    """Whether some row makes a condition what it is said never to be."""
    truths = {reference.truth(condition, row) for row in rows}
    return any(wanted in truths and not can_be(condition, wanted) for wanted in (True, False))


def around(little: World) -> list[dict[str, Any]]:
    """Rows at every value of some columns, for conditions that are decided at a border."""
    rows = stored_rows(little)
    return rows + [{**rows[0], "0.small": at, "0.signed": at, "0.fruit": at % 5} for at in range(11)]


@LENGTHS
def test_what_is_called_impossible_no_row_makes_true(little: World, examples: int) -> None:
    @settings(max_examples=4 * examples, deadline=None)
    @given(conditions() | st.lists(st.sampled_from(BORDERS), min_size=2, max_size=4).map(" AND ".join))
    def check(text: str) -> None:
        try:
            condition = binder(little).condition(parse_expression(text))
        except (RangeTooLarge, NeverTrue):
            assume(False)
            raise
        assert not sees_what_it_calls_impossible(condition, around(little))

    check()


BORDERS = [
    *(f"small {sign} {at}" for sign in ("<", "<=", ">", ">=", "=", "<>") for at in (2, 3)),
    *(f"NOT (small {sign} {at})" for sign in ("<", "<=", ">", ">=") for at in (2, 3)),
    "small IN (2, 3)", "small NOT IN (2, 4)", "signed > 2 OR small > 3", "(small > 2) IS TRUE", "fruit <> 'apple'",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "border"), [("small > 2 AND small < 4", 1), ("NOT (small < 3) AND small <= 3", 1), ("small >= 3 AND 3 >= small", 1)]
)
def test_a_border_that_is_off_by_one_is_caught(little: World, text: str, border: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: of two borders that leave one value, one is moved past it."""
    condition = binder(little).condition(parse_expression(text))
    assert not sees_what_it_calls_impossible(condition, around(little))
    honest = possible._against

    def planted(operator: str, child: Any, value: int, mirrored: bool, wanted: bool) -> Any:
        node, low, high, values, is_in = honest(operator, child, value, mirrored, wanted)
        return node, low + (border if low > node.low else 0), high, values, is_in

    monkeypatch.setattr(possible, "_against", planted)
    assert sees_what_it_calls_impossible(condition, around(little))


@LENGTHS
def test_every_value_of_a_key_is_one_of_its_public_points(little: World, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(keys() | dates | truncated | texts)
    def check(text: str) -> None:
        try:
            term = bound(little, text)
        except NeverTrue:  # a value that the catalog does not declare
            reject()
        key, found = Key("key", term), [reference.value(term.node, row) for row in stored_rows(little)]
        assert engine_values(little, key=term.node)["key"] == found
        assert set(found) <= set(domain(key))
        assert sorted(point for point in domain(key) if point is not None) == [point for point in domain(key) if point is not None]

    check()


# --- the plan means what SQL means -----------------------------------------------------------------------------------------------

ALIKE = ["small", "signed", "cents", "shifted", "millions", "below"]


def whole_numbers() -> st.SearchStrategy[str]:
    """Numbers that DuckDB computes exactly too: no quotient of two columns, no cast to a double, halves are not rounded."""
    leaves = st.sampled_from([*ALIKE, "0", "3", "-1", "0.25", "1000", "NULL", "YEAR(day)", "(day - seen)", "LENGTH(fruit)"])
    leaves |= st.builds("EXTRACT({} FROM {})".format, st.sampled_from(["QUARTER", "MONTH", "DAY", "DOW", "DOY", "ISODOW"]), dates)
    test = st.builds("{} {} {}".format, leaves, st.sampled_from(["<", "=", ">=", "<>"]), leaves)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-"]), inner),
            st.builds("({} * {})".format, inner, st.sampled_from(["2", "-3", "small", "0"])),
            st.builds("{}({})".format, st.sampled_from(["ABS", "FLOOR", "CEIL"]), inner),
            st.builds("{}({}, {})".format, st.sampled_from(["LEAST", "GREATEST", "COALESCE", "NULLIF"]), inner, inner),
            st.builds(
                "({} % {})".format, st.sampled_from(["small", "cents", "shifted"]), st.sampled_from(["1", "3", "0.3", "2.5"])
            ),
            st.builds("CASE WHEN {} THEN {} ELSE {} END".format, test, inner, inner),
            st.builds("CASE {} WHEN 3 THEN {} WHEN NULL THEN 1 END".format, inner, inner),
        ),
        max_leaves=6,
    )


def said_by_sql(plain: duckdb.DuckDBPyConnection, text: str) -> list[Any]:
    try:
        return [value for (value,) in plain.execute(f"SELECT {text} FROM facts").fetchall()]
    except (duckdb.BinderException, duckdb.ConversionException, duckdb.OutOfRangeException):
        assume(False)  # a type or a width of the other engine's own; what may not fail is our side
        raise


def said_here(little: World, term: Term) -> list[Any]:
    return [key_value(term, stored) for stored in engine_values(little, value=term.node)["value"]]


@LENGTHS
def test_numbers_are_what_sql_says(little: World, plain: duckdb.DuckDBPyConnection, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(whole_numbers())
    def check(text: str) -> None:
        term = bound(little, text)
        assert isinstance(term.type, NumberType)
        step = term.type.step
        ours = [None if stored is None else stored * step for stored in engine_values(little, value=term.node)["value"]]
        said = said_by_sql(plain, text)
        assert all(starmap(same_number, zip(ours, said, strict=True))), (ours, said)

    check()


def same_number(ours: Fraction | None, said: Any) -> bool:
    """Exactly, or to the last digits of a double where DuckDB makes one: FLOOR of an integer is one there."""
    if ours is None or said is None:
        return ours is said
    return ours == Fraction(said) or (isinstance(said, float) and abs(ours - Fraction(said)) <= abs(ours) / 10**13)


def test_numbers_that_differ_are_not_the_same() -> None:
    assert same_number(Fraction(199, 100), 0.99 + 1.0)
    assert not same_number(Fraction(199, 100), Fraction(1990001, 10**6))
    assert not same_number(Fraction(10**6), 1_000_000.25)
    assert not same_number(Fraction(0), None)


def compared_fruit(sign: str, text: str) -> str:
    """Equality is for declared values alone; any text has a place in their order."""
    declared = {"a": "bAnana", "B": "Banana"}.get(text, text)
    return f"fruit {sign} '{declared if sign in ('=', '<>') else text}'"


@LENGTHS
def test_conditions_are_what_sql_says(little: World, plain: duckdb.DuckDBPyConnection, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        st.one_of(
            st.builds(
                "{} {}BETWEEN {} AND {}".format, whole_numbers(), st.sampled_from(["", "NOT "]), whole_numbers(), whole_numbers()
            ),
            st.builds(
                "{} {}IN (1, 0.5, {})".format, st.sampled_from(ALIKE), st.sampled_from(["", "NOT "]), st.sampled_from(["3", "NULL"])
            ),
            st.builds(
                "{} {} '{}'".format,
                st.sampled_from(["fruit", "note"]),
                st.sampled_from(["LIKE", "NOT LIKE"]),
                st.text("%_aBn5é", max_size=5),
            ),
            st.builds("{} ILIKE '{}'".format, st.just("fruit"), st.text("%_aBn5é", max_size=5)),
            st.builds(compared_fruit, st.sampled_from(["<", ">=", "=", "<>"]), st.sampled_from(["apple", "a", "B", ""])),
            st.builds("{} {} DATE '2000-07-01'".format, truncated | dates, st.sampled_from(["<", ">", "="])),
            st.builds("({} OR flag) AND NOT ({})".format, st.just("signed > 0"), st.just("fruit = 'apple' OR seen IS NULL")),
        )
    )
    def check(text: str) -> None:
        try:
            condition = binder(little).condition(parse_expression(text))
        except (RangeTooLarge, NeverTrue):
            assume(False)
            raise
        held = engine_values(little, held=terms.truth_value(condition).node)["held"]
        assert held == [None if said is None else int(said) for said in said_by_sql(plain, text)]

    check()


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day"])
@pytest.mark.parametrize("column", ["day", "seen"])
def test_truncated_dates_are_what_sql_says(little: World, plain: duckdb.DuckDBPyConnection, unit: str, column: str) -> None:
    text = f"DATE_TRUNC('{unit}', {column})"
    said = said_by_sql(plain, text)
    assert said_here(little, bound(little, text)) == [None if day is None else str(day)[:10] for day in said]


@pytest.mark.parametrize(
    "text",
    [
        "LOWER(fruit)",
        "UPPER(fruit)",
        "TRIM(fruit)",
        "SUBSTRING(fruit, 2)",
        "SUBSTRING(fruit, 1, 3)",
        "LEFT(fruit, 2)",
        "fruit || 'é'",
        "'<' || fruit || '>'",
        "fruit || LOWER(fruit)",
        "CAST(small AS TEXT)",
        "CAST(signed AS TEXT) || fruit",
        "CAST(flag AS TEXT)",
        "CAST(day AS TEXT)",
        "CONCAT(small, '/', YEAR(day))",
        "YEAR(day) || '-' || QUARTER(day)",
        *(
            f"STRFTIME({column}, '{form}')"
            for column in ("day", "seen")
            for form in ("%Y-%m", "%Y-%m-%d", "%b %d, %y", "%A %B", "%j %u")
        ),
        "STRFTIME(seen, '%G-W%V (100%%)')",
    ],
)
def test_texts_are_what_sql_says(little: World, plain: duckdb.DuckDBPyConnection, text: str) -> None:
    assert said_here(little, bound(little, text)) == said_by_sql(plain, text)


WORDS = [  # a word of another dialect, and the same in DuckDB's own
    ("TO_CHAR(seen, 'YYYY-MM-DD')", "STRFTIME(seen, '%Y-%m-%d')"),
    ("TO_CHAR(seen, 'YYYY\"Q\"Q')", "YEAR(seen) || 'Q' || QUARTER(seen)"),
    ("TO_CHAR(seen, 'Mon DDD IYYY-IW')", "STRFTIME(seen, '%b %j %G-%V')"),
    ("FORMAT_DATE('%Y/%m', seen)", "STRFTIME(seen, '%Y/%m')"),
    ("DATE_FORMAT(seen, 'yyyyMM')", "STRFTIME(seen, '%Y%m')"),
    ("DATE_DIFF('day', day, seen)", "DATE_DIFF('day', day, seen)"),
    ("DATEDIFF(day, day, seen)", "DATE_DIFF('day', day, seen)"),
    ("DATE_DIFF(seen, facts.day, DAY)", "DATE_DIFF('day', day, seen)"),
    ("DATEDIFF(seen, day)", "DATE_DIFF('day', day, seen)"),
    *((f"DATEDIFF('{unit}', day, seen)", f"DATE_DIFF('{unit}', day, seen)") for unit in ("month", "quarter", "year")),
    *(
        (f"DATE_PART('{part}', seen)", f"DATE_PART('{part}', seen)")
        for part in ("year", "month", "dow", "doy", "isodow", "quarter")
    ),
    ("DATE_TRUNC(day, MONTH)", "DATE_TRUNC('month', day)"),
    ("DATE_TRUNC(seen, ISOWEEK)", "DATE_TRUNC('week', seen)"),
    ("DATE_ADD(day, INTERVAL 3 DAY)", "CAST(day + INTERVAL 3 DAY AS DATE)"),
    ("DATEADD(week, -2, day)", "CAST(day - INTERVAL 14 DAY AS DATE)"),
    ("DATE_SUB(day, INTERVAL 3 DAY)", "CAST(day - INTERVAL 3 DAY AS DATE)"),
    ("IF(flag, small, 0)", "CASE WHEN flag THEN small ELSE 0 END"),
    ("IIF(signed > 0, 1, 2)", "CASE WHEN signed > 0 THEN 1 ELSE 2 END"),
    ("NVL(signed, 3)", "COALESCE(signed, 3)"),
    ("IFNULL(signed, 3)", "COALESCE(signed, 3)"),
    ("ZEROIFNULL(signed)", "COALESCE(signed, 0)"),
    ("NULLIFZERO(signed)", "NULLIF(signed, 0)"),
    ("signed::BIGINT", "signed::BIGINT"),
    ("small - small % 3", "FLOOR(small / 3) * 3"),
    ("small - MOD(small, 3)", "FLOOR(small / 3) * 3"),
]


@pytest.mark.parametrize(("text", "said"), WORDS)
def test_words_of_other_dialects_mean_what_they_say(little: World, plain: duckdb.DuckDBPyConnection, text: str, said: str) -> None:
    here = said_here(little, bound(little, text))
    theirs = said_by_sql(plain, said)
    assert here == [str(value)[:10] if isinstance(value, date) else value for value in theirs]


@pytest.mark.parametrize(
    "text", ["STARTS_WITH(fruit, 'B')", "CONTAINS(fruit, 'nan')", "ENDS_WITH(fruit, 'a')", "STARTS_WITH(note, 'a')"]
)
@pytest.mark.parametrize("no", ["", "NOT "])
def test_parts_of_texts_are_what_sql_says(little: World, plain: duckdb.DuckDBPyConnection, text: str, no: str) -> None:
    condition = binder(little).condition(parse_expression(no + text))
    held = engine_values(little, held=terms.truth_value(condition).node)["held"]
    assert held == [None if said is None else int(said) for said in said_by_sql(plain, no + text)]


@pytest.mark.parametrize("pattern", ["^[Bb]", "an+a$", "(?i)^B.NANA$", "^$|50%", ".", "a|l{1}e", "\\pL+é", "x"])
def test_regular_expressions_are_those_of_re2(little: World, plain: duckdb.DuckDBPyConnection, pattern: str) -> None:
    for ours, theirs in ((f"fruit ~ '{pattern}'", f"regexp_matches(fruit, '{pattern}')"),
                         (f"fruit !~* '{pattern}'", f"NOT regexp_matches(fruit, '{pattern}', 'i')"),
                         (f"REGEXP_CONTAINS(fruit, '{pattern}')", f"regexp_matches(fruit, '{pattern}')")):  # fmt: skip
        condition = binder(little).condition(parse_expression(ours))
        held = engine_values(little, held=terms.truth_value(condition).node)["held"]
        assert held == [None if said is None else int(said) for said in said_by_sql(plain, theirs)]


def test_a_remainder_taken_away_has_the_groups_of_the_floor(little: World) -> None:
    for one, other in (("small - small % 3", "FLOOR(small / 3) * 3"), ("cents - cents % 0.5", "FLOOR(cents / 0.5) * 0.5")):
        assert bound(little, one) == bound(little, other)


@pytest.mark.parametrize("text", ["small / 4", "cents / 0.25", "signed / 0", "millions / 3", "signed / small", "shifted / signed"])
def test_division_is_sqls_and_null_by_zero(little: World, plain: duckdb.DuckDBPyConnection, text: str) -> None:
    """By a constant it is exact; by a column it is rounded down to a millionth."""
    said = said_by_sql(plain, f"CAST({text.replace('/', '/ CAST(').replace('CAST( ', 'CAST(')} AS DOUBLE) AS DOUBLE)")
    term = bound(little, text)
    step = float(term.type.step)  # type: ignore[union-attr]
    for ours, theirs in zip(engine_values(little, value=term.node)["value"], said, strict=True):
        finite = theirs is not None and abs(theirs) < float("inf")
        assert (ours is None) == (not finite)
        assert ours is None or ours * step == pytest.approx(theirs, abs=2e-6, rel=1e-12)


@pytest.mark.parametrize(("text", "value"), [("2.5", 3), ("-2.5", -2), ("2.4", 2), ("-2.6", -3), ("0.5", 1), ("-0.5", 0)])
def test_halves_are_rounded_up(little: World, text: str, value: int) -> None:
    """SQL engines differ on halves; here they go up, whatever the sign: ROUND, and CAST to a whole number, are floor(x + 1/2)."""
    for written in (f"ROUND({text})", f"CAST({text} AS INTEGER)"):
        term = bound(little, written)
        assert terms.constant_of(term) == value


# --- the calendar ----------------------------------------------------------------------------------------------------------------

SPANS = [
    ("1899-11-01", "1904-03-02"),
    ("2099-12-30", "2100-03-02"),
    ("0001-03-01", "0004-12-31"),
    ("9995-02-27", "9998-12-31"),
    ("2020-05-05", "2020-05-05"),
]


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("nullable", [False, True])
def test_parts_and_truncations_are_those_of_the_calendar(span: tuple[str, str], nullable: bool) -> None:
    first, last = (day_number(date.fromisoformat(day)) for day in span)
    term = Term(Column(0, "day", first, last, nullable), DateType())
    rows = [{"0.day": offset} for offset in range(last - first + 1)] + [{"0.day": None}] * nullable
    for table_, make in ((calendar.PARTS, calendar.part), (calendar.TRUNCATIONS, calendar.truncate_to)):
        for name, (_, on_day) in table_.items():
            found = make(name, term)
            expected = [None if row["0.day"] is None else on_day(day_of(first + row["0.day"])) for row in rows]
            assert [reference.value(found.node, row) for row in rows] == expected, name
            assert set(expected) <= set(domain(Key("day", found)))


def test_the_calendar_itself_is_pythons() -> None:
    for day in (date(2000, 2, 29) + timedelta(days=137 * step) for step in range(60)):
        parts = {name: on_day(day) for name, (_, on_day) in calendar.PARTS.items()}
        assert (parts["year"], parts["month"], parts["day"]) == (day.year, day.month, day.day)
        assert parts["isodow"] == day.isoweekday()
        assert parts["dayofweek"] == int(day.strftime("%w"))
        assert parts["dayofyear"] == int(day.strftime("%j"))
        assert day_of(calendar.TRUNCATIONS["week"][1](day)).weekday() == 0


# --- nothing leaves the integers -------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    st.integers(-LARGEST + 1, LARGEST - 1),
    st.integers(-LARGEST + 1, LARGEST - 1),
    st.integers(1, 10**18) | st.integers(1, 50),
    st.data(),
)
def test_quotients_are_exact_wherever_they_are_allowed(
    little: World, low: int, high: int, divisor: int, data: st.DataObject
) -> None:
    """The engine divides doubles; what it can be given is less than 2^53, so that the floor is exact (compile.py)."""
    low, high = min(low, high), max(low, high)
    assume(high - low < LARGEST)
    child = Column(0, "x", low, high, False)
    try:
        found = terms.floor_by(child, divisor)
    except RangeTooLarge:
        assert high - low + divisor >= LARGEST
        return
    at = data.draw(
        st.integers(low, high) | st.integers(low // divisor, high // divisor).map(lambda k: min(max(k * divisor, low), high))
    )
    assert reference.value(found, {"0.x": at - low}) == at // divisor
    if type(found).__name__ == "Quotient":
        shift = -(low // divisor)
        assert int((at + shift * divisor) / divisor) - shift == at // divisor  # the arithmetic of compile.py, in doubles


@pytest.mark.parametrize(
    "text",
    [
        "wide + wide + 2",
        "wide * wide",
        "GREATEST(small, 1e30)",
        "CASE WHEN flag THEN 1e20 ELSE small END",
        "small * 1e40 + 0.001",
        "COALESCE(signed, 9007199254740992)",
        "wide + 4503599627370496 * 2",
        "POWER(wide, 2)",
        "cents * millions * wide",
        "wide + thirds",
    ],
)
def test_what_could_leave_them_is_refused(little: World, text: str) -> None:
    with pytest.raises(RangeTooLarge):
        binder(little).term(parse_expression(text))


@pytest.mark.parametrize("text", ["day + INTERVAL 999999999 DAY", "DATE_TRUNC('year', day - INTERVAL 9999999 DAY)"])
def test_a_date_cannot_leave_the_calendar(little: World, text: str) -> None:
    with pytest.raises(RangeTooLarge):
        binder(little).term(parse_expression(text))


def test_a_column_whose_lower_bound_is_no_multiple_of_its_step() -> None:
    column = next(column for column in COLUMNS if column.name == "shifted")
    term = column_term(0, column, False)
    assert [reference.value(term.node, {"0.shifted": at}) * term.type.step for at in (0, 9)] == [Fraction(1, 2), Fraction(19, 2)]  # type: ignore[union-attr]


def test_a_tighter_range_never_moves_a_column() -> None:
    """A column is stored from its lower end on: to give it another one would shift every value."""
    term = Term(Column(0, "x", 0, 9, False), NumberType(Fraction(1)))
    assert terms.narrowed(term, 3, 5) == term


@given(st.text("ab%_é", max_size=8), st.text("ab%_é", max_size=6))
def test_like_is_decided_as_an_engine_would(text: str, pattern: str) -> None:
    assert matches(text, pattern) == reference.like(text, pattern)


def test_truths_are_never_taken_for_numbers_of_a_category() -> None:
    one, other = Term(Column(0, "x", 0, 1, False), column_type(1, 2)), Term(Column(0, "y", 0, 1, False), column_type(True, False))
    _, right, meaning = terms.on_one_step(one, other)
    assert meaning == column_type(1, 2, True, False)
    assert [reference.value(right, {"0.y": code}) for code in (0, 1)] == [2, 3]


def column_type(*values: Any) -> Any:
    from tacit.query.plan import CategoryType

    return CategoryType(values)


def test_long_tables_of_codes_are_looked_up_as_short_ones_are(little: World) -> None:
    child = terms.number_node(bound(little, "small"))
    table_ = tuple(None if at % 5 == 2 else (at * 2**33) % 1001 - 500 for at in range(LONGEST_BRANCHES + 9))
    for length in (11, len(table_)):
        node = terms.lookup(Term(child, NumberType(Fraction(1))), table_[:length])
        expected = [reference.value(node, row) for row in stored_rows(little)]
        assert engine_values(little, value=node)["value"] == expected


def test_deep_questions_are_refused_before_the_engine(little: World) -> None:
    for text in ("ABS(" * 12 + "signed" + "-1)" * 12, "NULLIF(" * 40 + "small" + ", 1)" * 40, "-(" * 55 + "small" + ")" * 55):
        with pytest.raises(Refused):
            binder(little).term(parse_expression(text))


def test_what_is_allowed_at_the_limit_still_runs(little: World) -> None:
    node: Any = bound(little, "small").node
    for _ in range(200):
        node = terms.plus(node, Literal(1))
    node = replace(node, high=10**6)
    assert engine_values(little, value=node)["value"][0] == reference.value(node, stored_rows(little)[0])


def test_private_text_is_no_number(little: World) -> None:
    assert isinstance(bound(little, "note").node, TextColumn)
    for text in ("note + 1", "LENGTH(note)", "note || 'a'", "note < 'a'", "CASE WHEN flag THEN note END", "note = fruit"):
        with pytest.raises(Refused):
            binder(little).term(parse_expression(text))


def test_every_number_column_is_here() -> None:
    assert {column.name for column in COLUMNS if column.kind == "number"} == set(NUMBERS)
