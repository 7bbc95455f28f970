"""Refusals in the words of whoever asked: no name of the parser's, a place to look at, and never a raw exception."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from itertools import cycle, product

import pytest
from hypothesis import given as generated
from hypothesis import settings
from hypothesis import strategies as st
from sqlglot import exp

from guide import Wards, hospital
from tacit.errors import Refused
from tacit.query.binding.binder import CONDITIONS
from tacit.query.functions import FUNCTIONS
from tacit.query.language.nodes import given
from tacit.query.language.sql import excerpt, parse, pointing
from tacit.query.language.words import WORDS
from tacit.query.passes import rewrite

NODES = {name for name, kind in vars(exp).items() if isinstance(kind, type) and issubclass(kind, exp.Expr)}
CAMEL = {name for name in NODES if re.search("[a-z][A-Z]", name)}
SHOUTED = {name.upper() for name in NODES}
OF_SQL = {
    "SELECT", "COUNT", "GROUP", "BY", "FROM", "WHERE", "AS", "AVG", "SUM", "MIN", "MAX", "DISTINCT", "UNION", "ALL", "JOIN",
    "LEFT", "INNER", "ON", "USING", "CASE", "CAST", "DATE", "INTERVAL", "HAVING", "ORDER", "LIMIT", "EXISTS", "IN", "NOT",
    "AND", "OR", "NULL", "IS", "TRUE", "FALSE", "BETWEEN", "LIKE", "WITH", "FLOOR", "COALESCE", "EXTRACT", "FILTER", "ROUND",
    "DAY", "EXCEPT", "TABLE", "STRFTIME", "SUBSTRING", "INSERT", "DESCRIBE", "SHOW", "TABLES", "POWER", "DIV", "ESCAPE",
    "GROUPING", *WORDS, *map(str.upper, FUNCTIONS),
}  # fmt: skip


def refusal(text: str) -> Refused | None:
    """The refusal of a question, or None; whatever else is raised fails the test."""
    try:
        rewrite(parse(text, given(None, date(2025, 1, 1))), hospital(), Wards())
    except Refused as refused:
        return refused
    return None


def parsers_names(message: str, text: str) -> set[str]:
    """Names of the parser's classes in a message, other than those that stand in the question or are words of SQL."""
    told = set(re.findall(r"\w+", message))
    asked = {word.upper() for word in re.findall(r"\w+", text)}
    return {word for word in told if word in CAMEL or (word.isupper() and word in SHOUTED - OF_SQL - asked)}


QUESTIONS = [
    "SELECT COUNT(*) FROM a.b.c.visits",
    "SELECT COUNT(*) FROM db.public.visits",
    "SELECT * EXCEPT (cost) FROM visits",
    "WITH t AS (SELECT * FROM visits) SELECT COUNT(*) FROM t UNION SELECT 1",
    "SELECT COUNT(*) FROM visits QUALIFY x > 1",
    "SELECT COUNT(*) FROM visits TABLESAMPLE 10 PERCENT",
    "SELECT COUNT(*) FROM visits FOR UPDATE",
    "SELECT cost[1] FROM visits",
    "SELECT SUM(cost & 1) FROM visits",
    "SELECT SUM(cost << 1) FROM visits",
    "SELECT cost::json -> 'a' FROM visits",
    "SELECT LIST(cost) FROM visits",
    "SELECT ARRAY_AGG(cost) FROM visits",
    "SELECT STRING_AGG(ward, ',') FROM visits",
    "SELECT COUNT(*) FROM visits WHERE ward SIMILAR TO 'n%'",
    "SELECT COUNT(*) FROM visits WHERE ward IS DISTINCT FROM 'north'",
    "SELECT COUNT(*) FROM visits WHERE ward = ANY (SELECT ward FROM wards)",
    "SELECT [1, 2] FROM visits",
    "SELECT {a: 1} FROM visits",
    "SELECT SUM(cost) OVER (PARTITION BY ward) FROM visits",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward WITH ROLLUP",
    "SELECT COUNT(*) FROM visits AS v(a, b)",
    "SELECT COUNT(*) FROM visits, LATERAL (SELECT 1) AS t",
    "SELECT x -> x FROM visits",
    "SELECT COUNT(*) FROM visits ORDER BY 1 NULLS FIRST",
    "SELECT TRY_CAST(cost AS INT) FROM visits",
    "SELECT JSON_OBJECT('a': 1) FROM visits",
    "SELECT COUNT(*) INTO x FROM visits",
    "SELECT CURRENT_TIMESTAMP FROM visits",
    "SELECT day AT TIME ZONE 'UTC' FROM visits",
    "SELECT ward COLLATE de FROM visits",
    "SELECT DISTINCT ON (ward) cost FROM visits",
    "SELECT COUNT(*) FROM visits PIVOT (SUM(cost) FOR ward IN ('north'))",
    "SELECT COUNT(*) FROM UNNEST([1, 2])",
    "SELECT (1, 2) FROM visits",
    "SELECT MAX(cost) KEEP (1) FROM visits",
    "SELECT ~pulse FROM visits",
    "INSERT INTO visits VALUES (1)",
    "DROP TABLE visits",
    "EXPLAIN SELECT 1",
    "MERGE INTO visits USING wards ON TRUE WHEN MATCHED THEN DELETE",
    "SELECT COUNT(*) FROM visits WHERE cost > ALL (SELECT 1)",
    "SELECT x'00' FROM visits",
    "SELECT N'a' FROM visits",
    "SELECT pulse DIV 3 FROM visits",
    "SELECT EXTRACT(CENTURY FROM day) FROM visits",
    "SELECT CAST(cost AS GEOGRAPHY) FROM visits",
    "SELECT CAST(cost AS STRUCT<a INT>) FROM visits",
    "SELECT COUNT(*) FROM visits LIMIT 5 PERCENT",
    "SELECT COUNT(*) FROM visits LIMIT cost",
    "SELECT SUM(DISTINCT cost) FROM visits",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_refusal_names_what_was_written(text: str) -> None:
    refused = refusal(text)
    assert refused is not None
    assert parsers_names(str(refused), text) == set()


def test_a_name_of_the_parser_is_seen() -> None:
    """The planted messages are those that used to come."""
    assert parsers_names("SUBQUERY with ALIAS is not supported", "SELECT 1 FROM a.b") == {"SUBQUERY", "ALIAS"}
    assert parsers_names("REGEXPLIKE is not supported", "SELECT 1") == {"REGEXPLIKE"}
    assert parsers_names("ANONYMOUS with THIS is not supported", "SELECT f(1)") == {"ANONYMOUS"}
    assert parsers_names("a BitwiseAnd is not supported", "SELECT 1 & 2") == {"BitwiseAnd"}


ARGUMENTS = ["cost", "'month'", "DAY", "2", "NULL", "*", "day", "ward", "diagnosis", "cost > 1", "(SELECT 1)", "-1.5"]
ARGUMENTS += ["patient_id", "DISTINCT ward"]
OURS = sorted({*WORDS, *(name.upper() for name in (*FUNCTIONS, *CONDITIONS) if name.isidentifier())})
NAMES = sorted({*(str(name).upper() for kind in exp.ALL_FUNCTIONS for name in kind.sql_names()), *OURS})
FORMS = ["SELECT {}, COUNT(*) FROM visits GROUP BY 1", "SELECT COUNT(*) FROM visits WHERE {}", "SELECT SUM({}) FROM visits"]


def calls() -> Iterator[str]:
    """Every function that the parser knows, with wrong numbers and kinds of arguments, another mixture for each."""
    several = [", ".join(ARGUMENTS[:count]) for count in (0, 3, 4, 5)]
    given = cycle([*(", ".join(pair) for pair in product(ARGUMENTS, repeat=2)), *ARGUMENTS, *several])
    for name in NAMES:
        for _ in range(3):
            yield f"{name}({next(given)})"


def test_no_call_of_any_function_is_a_raw_exception() -> None:
    for call in calls():
        text = f"SELECT COUNT(*), {call} FROM visits"
        refused = refusal(text)
        assert refused is None or parsers_names(str(refused), text) == set(), refused


@settings(max_examples=150, deadline=None)
@generated(st.sampled_from(OURS), st.lists(st.sampled_from(ARGUMENTS), max_size=5), st.sampled_from(FORMS))
def test_no_argument_of_ours_is_a_raw_exception(name: str, arguments: list[str], form: str) -> None:
    text = form.format(f"{name}({', '.join(arguments)})")
    refused = refusal(text)
    assert refused is None or parsers_names(str(refused), text) == set()


# --- the place ---------------------------------------------------------------------------------------------------------------


def test_the_line_is_shown_with_a_caret() -> None:
    text = "SELECT COUNT(*)\n\tFROM visits WHERE csot > 5"
    with pytest.raises(Refused) as refused, pointing(text):
        rewrite(parse(text), hospital(), Wards())
    line, caret = refused.value.__notes__[0].split("\n")
    assert line == "   FROM visits WHERE csot > 5"
    assert caret.index("^") == line.index("csot")
    assert excerpt("a漢b", 1, 3).split("\n")[1] == "     ^"  # a wide letter takes two columns


@pytest.mark.parametrize("column", [1, 60, 200, 399, 400, 401])
def test_a_long_line_is_cut_around_the_place(column: int) -> None:
    text = "".join(chr(97 + at % 26) for at in range(400))
    line, caret = excerpt(text, 1, column).split("\n")
    assert len(line) <= 110
    if column <= 400:
        assert line[caret.index("^")] == text[column - 1]


@settings(max_examples=100, deadline=None)
@generated(st.text(max_size=50), st.integers(-1, 5), st.integers(-1, 60))
def test_an_excerpt_never_fails_nor_holds_a_control_character(text: str, line: int, column: int) -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\x1b]", excerpt(text, line, max(1, column)))
