"""SQL as analysts write it, generated: expressions over one table of every kind of column, and whole questions on them."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from stored import category, days, number
from tacit.privacy.catalog import Column

COLUMNS = (
    number("small", 0, 10, nulls="drop"),
    number("signed", -5, 5),
    number("cents", 0, 5, "0.01"),
    number("thirds", -1, 2, Fraction(1, 3)),
    number("shifted", "0.5", "9.5", nulls="drop"),
    number("millions", -(10**9), 10**9, 10**6),
    number("wide", -(2**52), 2**52 - 1),
    number("below", -(10**6), -1),
    category("fruit", "apple", "Banana", "bAnana", "", "50%_é"),
    category("code", 3, 1, 2, unknown="other"),
    category("flag", True, False, nulls="drop"),
    days("day", "1999-12-25", "2001-03-02", nulls="drop"),
    days("seen", "2020-01-01", "2020-12-31"),
    Column("note", "text"),
)
NUMBERS = ["small", "signed", "cents", "thirds", "shifted", "millions", "wide", "below"]
CONSTANTS = ["0", "1", "2", "3", "-1", "0.5", "0.01", "7", "10", "1000000", "4503599627370495", "2147483647", "1e-9", "NULL"]
TEXTS = ["'apple'", "'banana'", "'Banana'", "''", "'50%_é'", "'other'", "'x'"]
PATTERNS = ["'%an%'", "'_anana'", "'%'", "''", "'%!%%'", "'50%'", "'__%'", "'apple'"]
PARTS = ["YEAR", "QUARTER", "MONTH", "DAY", "DOW", "DOY", "ISODOW"]
DAYS = ["DATE '2000-02-29'", "DATE '2001-01-01'", "'2020-06-15'", "DATE '1990-01-01'"]

constants = st.sampled_from(CONSTANTS)
whole = st.sampled_from(["1", "2", "3", "7", "10", "60"])
_divisors = st.sampled_from(["1", "3", "0.3", "0.25", "2.5", "0.007", "1000", "1e-3"])
dates = st.sampled_from(["day", "seen", "DATE_TRUNC('month', day)", "DATE_TRUNC('week', seen)", "day + INTERVAL 40 DAY"])
truncated = st.builds("DATE_TRUNC('{}', {})".format, st.sampled_from(["year", "quarter", "month", "week", "day"]), dates)
texts = st.sampled_from(
    ["fruit", "LOWER(fruit)", "SUBSTRING(fruit, 2, 3)", "fruit || '!'", "UPPER(TRIM(fruit))", "fruit || flag || fruit"]
)


def numbers(columns: list[str] = NUMBERS, leaves_at_most: int = 6) -> st.SearchStrategy[str]:
    """Numbers: columns, constants and everything that makes numbers of numbers, dates and texts."""
    leaves = st.sampled_from(columns) | constants | st.builds("EXTRACT({} FROM {})".format, st.sampled_from(PARTS), dates)
    return st.recursive(leaves | st.builds("LENGTH({})".format, texts) | st.just("(day - seen)"), _grown, max_leaves=leaves_at_most)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    test = st.builds("{} {} {}".format, inner, st.sampled_from(["<", "<=", "=", "<>", ">", ">="]), inner)
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/"]), inner),
        st.builds("({} % {})".format, st.sampled_from(["small", "cents", "shifted", "ABS(thirds)", "small + 7"]), _divisors),
        st.builds("{}({})".format, st.sampled_from(["ABS", "SIGN", "FLOOR", "CEIL", "ROUND", "-"]), inner),
        st.builds("SQRT(ABS({}) + {})".format, st.sampled_from(["cents", "thirds", "millions"]), whole),
        st.builds("SQRT(GREATEST({}, 0.5))".format, st.sampled_from(["small", "signed"])),
        st.builds("EXP({}({}))".format, st.sampled_from(["SIGN", "0.1 * SIGN"]), inner),
        st.builds("ROUND({}, {})".format, inner, st.sampled_from(["-2", "1", "2"])),
        st.builds("CAST({} AS {})".format, inner, st.sampled_from(["INTEGER", "DOUBLE"])),
        st.builds("FLOOR({} / {}) * {}".format, inner, whole, whole),
        st.builds("POWER({}, {})".format, inner, st.sampled_from(["1", "2", "3"])),
        st.builds("WIDTH_BUCKET({}, {}, 7.5, {})".format, inner, st.sampled_from(["-2", "1", "0.001"]), whole),
        st.builds("{}({}, {})".format, st.sampled_from(["LEAST", "GREATEST", "COALESCE", "NULLIF"]), inner, inner),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, test, inner, inner),
        st.builds("CASE WHEN {} THEN {} END".format, test, inner),
        st.builds("CASE WHEN {} THEN {} WHEN flag THEN NULL ELSE {} END".format, test, inner, inner),
        st.builds("{}({}, {}, {}, 2)".format, st.sampled_from(["LEAST", "GREATEST", "COALESCE"]), inner, inner, inner),
    )


def conditions() -> st.SearchStrategy[str]:
    """Conditions on rows, joined by AND, OR and NOT."""
    some = numbers(leaves_at_most=2)
    leaves = st.one_of(
        st.builds("{} {} {}".format, some, st.sampled_from(["<", "<=", "=", "<>", ">", ">="]), some),
        st.builds("{} {}BETWEEN {} AND {}".format, some, st.sampled_from(["", "NOT "]), some, some),
        st.builds("{} {}IN ({}, {}, 4)".format, some, st.sampled_from(["", "NOT "]), constants, constants),
        st.builds("{} {} {}".format, texts, st.sampled_from(["=", "<>", "<", ">="]), st.sampled_from(TEXTS)),
        st.builds("{} {} {}".format, texts, st.sampled_from(["LIKE", "NOT LIKE", "ILIKE"]), st.sampled_from(PATTERNS)),
        st.builds("note {} {}".format, st.sampled_from(["=", "<>", "LIKE", "NOT LIKE"]), st.sampled_from([*TEXTS, *PATTERNS])),
        st.builds("{} {} {}".format, dates | truncated, st.sampled_from(["<", "=", ">=", "<>"]), st.sampled_from(DAYS)),
        st.builds("{} IS {}NULL".format, some | texts | dates | st.just("note"), st.sampled_from(["", "NOT "])),
        st.sampled_from(["flag", "code = 2", "code IN (1, 'other')", "TRUE", "flag IS TRUE", "(small > 3) IS FALSE", "code > 1"]),
    )
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR"]), inner) | st.builds("NOT ({})".format, inner)
        ),
        max_leaves=4,
    )


def keys() -> st.SearchStrategy[str]:
    """Expressions with few public values."""
    return st.one_of(
        st.sampled_from(
            ["fruit", "code", "flag", "small", "signed", "shifted", "thirds", "SIGN(wide)", "small > 3", "LOWER(fruit)"]
        ),
        st.builds("EXTRACT({} FROM {})".format, st.sampled_from(PARTS), dates),
        st.builds("DATE_TRUNC('{}', {})".format, st.sampled_from(["year", "quarter", "month"]), dates),
        st.builds("WIDTH_BUCKET({}, 0, 4, 3)".format, st.sampled_from(NUMBERS)),
        st.builds("CASE WHEN {} THEN 'yes' ELSE fruit END".format, conditions()),
        st.builds("COALESCE(fruit, 'none')".format),
        st.builds("FLOOR({} / 1000000)".format, st.sampled_from(["below", "millions / 1000"])),
    )


# --- whole questions on the clinic of worlds.py ----------------------------------------------------------------------------------

AGGREGATES = [
    "COUNT(*)", "COUNT(cost)", "COUNT(scan)", "COUNT(diagnosis)", "COUNT(DISTINCT person)", "SUM(cost)", "SUM(age)", "AVG(age)",
    "AVG(cost)", "VAR_POP(age)", "VAR_SAMP(cost)", "STDDEV(age)", "STDDEV_POP(cost)", "MEDIAN(age)", "MIN(cost)", "MAX(day)",
    "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost)", "SUM(CASE WHEN visits.ward = 'a' THEN age ELSE -2 * age END)",
    "SUM(age * age)", "AVG(age > 2)", "COUNT(*) FILTER (WHERE age > 0)", "SUM(cost / age)", "MEDIAN(ABS(age - 2))",
    "COUNT(DISTINCT visits.ward)", "COUNT(DISTINCT diagnosis)", "COUNT(DISTINCT cost)", "COUNT(DISTINCT age > 2)",
    "COVAR_POP(age, cost)", "CORR(cost, age)", "REGR_SLOPE(cost, -age)", "REGR_INTERCEPT(cost, cost + age)",
    "AVG(LN(cost + 1))", "SUM(SQRT(age + 3))", "MODE(visits.ward)", "LINREG_R2(cost, age, age * age)",
]  # fmt: skip
ROW_KEYS = ["visits.ward", "age", "EXTRACT(MONTH FROM day)", "age > 2", "WIDTH_BUCKET(cost, 0, 50, 4)", "cost IS NULL"]
JOINED_KEYS = ["site", "beds", "COALESCE(site, 'none')"]
FILTERS = [
    "age > 0",
    "cost BETWEEN 5 AND 30",
    "visits.ward <> 'a'",
    "diagnosis LIKE 'f%'",
    "scan IS NOT NULL",
    "day < '2020-03-01'",
    "cost > age",
]
JOINS = [
    "",
    " JOIN wards ON visits.ward = wards.ward",
    " LEFT JOIN wards ON wards.ward = visits.ward",
    " JOIN wards ON wards.beds = age + 2",
]


@st.composite
def clinic_questions(draw: st.DrawFn, most: int = 3, private_keys: bool = False) -> str:
    """SELECT aggregates FROM visits, perhaps joined, filtered and grouped."""
    join = draw(st.sampled_from(JOINS))
    own = [*ROW_KEYS, *(JOINED_KEYS if join else []), *(["diagnosis"] if private_keys else [])]
    keys_ = draw(st.lists(st.sampled_from(own), max_size=2, unique=True))
    asked = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=most, unique=True))
    filters = draw(st.lists(st.sampled_from(FILTERS), max_size=1))
    where = f" WHERE {filters[0]}" if filters else ""
    group = f" GROUP BY {', '.join(keys_)}" if keys_ else ""
    return f"SELECT {', '.join([*keys_, *asked])} FROM visits{join}{where}{group}"


def clinic_rows() -> st.SearchStrategy[dict[str, object]]:
    """One visit, as stored."""
    return st.fixed_dictionaries(
        {
            "ward": st.sampled_from([0, 0, 1, 2, None]),
            "cost": st.none() | st.sampled_from([0, 5000]) | st.integers(0, 5000),
            "age": st.sampled_from([0, 10]) | st.integers(0, 10),
            "day": st.sampled_from([0, 93, 31]) | st.integers(0, 93),
            "diagnosis": st.sampled_from(["flu", "fever", "cold", None]),
            "scan": st.sampled_from([0, None]),
        }
    )


def clinic_units(least: int = 0, most: int = 4) -> st.SearchStrategy[list[list[dict[str, object]]]]:
    """The rows of each of several people."""
    return st.lists(st.lists(clinic_rows(), min_size=1, max_size=5), min_size=least, max_size=most)
