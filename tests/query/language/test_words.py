"""Words of other dialects: each form has one reading, and what has two is refused with both of them written out."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from itertools import product

import pytest
from hypothesis import given as generated
from hypothesis import settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput, NotAllowed, Refused, WrongType
from tacit.query.language.date_formats import MONTHS, WEEKDAYS, of_strftime, of_to_char, written_as
from tacit.query.language.nodes import given
from tacit.query.language.sql import parse
from tacit.query.language.words import WORDS
from tacit.query.language.writer import expression_text, written

TODAY = date(2025, 3, 31)


def read(text: str, **values: object) -> str:
    """An expression in plain words."""
    return expression_text(parse(f"SELECT {text} FROM t", given(values or None, TODAY)).items[0].expression)


READINGS = [
    ("DATE_TRUNC('month', day)", "DATE_TRUNC('month', day)"),
    ("DATE_TRUNC(day, MONTH)", "DATE_TRUNC('month', day)"),
    ("DATE_TRUNC(MONTH, visited)", "DATE_TRUNC('month', visited)"),
    ('DATE_TRUNC("month", DAY)', "DATE_TRUNC('day', month)"),
    ("DATE_TRUNC(t.month, YEAR)", "DATE_TRUNC('year', t.month)"),
    ("DATE_TRUNC(day, ISOWEEK)", "DATE_TRUNC('week', day)"),
    ("DATE_TRUNC(day, WEEK(MONDAY))", "DATE_TRUNC('week', day)"),
    ("TRUNC(day, 'MONTH')", "DATE_TRUNC('month', day)"),
    ("DATE_DIFF(a, b, DAY)", "a - b"),
    ("DATE_DIFF('day', a, b)", "b - a"),
    ("DATEDIFF(day, a, b)", "b - a"),
    ("DATEDIFF(a, b)", "a - b"),
    ("DATE_DIFF(day, DATE '2020-01-01', DAY)", "DAY - DATE '2020-01-01'"),
    ("DATEDIFF(YEAR, a, b)", "YEAR(b) - YEAR(a)"),
    ("DATEDIFF(YEAR, a, day)", "YEAR(day) - YEAR(a)"),
    ("DATE_PART(year, day)", "YEAR(day)"),
    ("EXTRACT('year' FROM day)", "YEAR(day)"),
    ("DATEADD(day, -30, x)", "x - INTERVAL '30' day"),
    ("TO_CHAR(day, 'YYYY-MM')", "STRFTIME(day, '%Y-%m')"),
    ("STRFTIME('%Y', day)", "STRFTIME(day, '%Y')"),
    ("APPROX_COUNT_DISTINCT(x)", "COUNT(DISTINCT x)"),
    ("COUNT_IF(x > 1)", "COUNT(CASE WHEN x > 1 THEN 1 ELSE NULL END)"),
    ("SAFE_DIVIDE(a, b)", "a / b"),
    ("a ~* 'x'", "REGEXP_MATCHES(a, '(?i)x')"),
    ("CURRENT_DATE", "DATE '2025-03-31'"),
    ("TODAY()", "DATE '2025-03-31'"),
    ("NOW()::date", "DATE '2025-03-31'"),
    ("CAST(CURRENT_TIMESTAMP AS DATE)", "DATE '2025-03-31'"),
    ("CURRENT_DATE - INTERVAL '1 month'", "DATE '2025-02-28'"),
    ("CURRENT_DATE + INTERVAL '2' YEAR", "DATE '2027-03-31'"),
    ("CURRENT_DATE - INTERVAL '1000 days'", "DATE '2025-03-31' - INTERVAL '1000' day"),
    ("DATE(2020, 2, 29)", "DATE '2020-02-29'"),
    ("public.t.a", "t.a"),
]


def test_a_word_has_one_reading() -> None:
    assert {text: read(text) for text, _ in READINGS} == dict(READINGS)


REFUSED = [
    ("DATE_TRUNC(MONTH, day)", "two readings", "DATE_TRUNC('month', day) or DATE_TRUNC('day', MONTH)"),
    ("DATE_TRUNC(year, MONTH)", "two readings", "DATE_TRUNC('year', MONTH) or DATE_TRUNC('month', year)"),
    ("DATE_DIFF(day, x, MONTH)", "two readings", "DATE_DIFF('day', x, MONTH) or DATE_DIFF('month', x, day)"),
    ("DATE_TRUNC(day, WEEK)", "Sunday", "DATE_TRUNC('week', day)"),
    ("DATE_TRUNC(day, WEEK(SUNDAY))", "Monday", "DATE_TRUNC('week', day)"),
    ("DATE_TRUNC(day, HOUR)", "requires one of", "DATE_TRUNC('month', day)"),
    ("DATE_DIFF(a, b, WEEK)", "weeks", "DATE_DIFF('day', a, b) / 7"),
    ("DATE_DIFF(a, b, c)", "requires a unit", "DATE_DIFF('day', earlier, later)"),
    ("DATE_PART('epoch', day)", "epoch is not a part of a date", ""),
    ("TO_CHAR(day, 'HH24:MI')", "'HH24' in a date format", "YYYY"),
    ("TO_CHAR(day, 'MONTH')", "'MONTH' in a date format", "FMMonth"),
    ("STRFTIME(day, '%Y %H')", "%H in a date format", "%Y"),
    ("STRFTIME(day, '%')", "% in a date format", "%Y"),
    ("DATE_FORMAT(day, '%M')", "%M in a date format", "%m"),
    ("DATE_FORMAT(day, 'yyyy-mm')", "'mm' in a date format", "MM"),
    ("NOW()", "time of day", "CURRENT_DATE"),
    ("other.t.a", "a schema 'other' before a column is not supported", "write t.a"),
]


def test_what_fits_no_reading_or_two_is_refused() -> None:
    for text, message, remedy in REFUSED:
        with pytest.raises(NotAllowed) as refused:
            read(text)
        assert message in refused.value.message, text
        assert remedy in refused.value.remedy, text
        assert refused.value.at == (1, 8), text


def test_month_is_not_read_as_a_column() -> None:
    """The planted reading: sqlglot's own takes DATE_TRUNC(day, MONTH) for a column MONTH, truncated to a day."""
    assert "MONTH" not in read("DATE_TRUNC(day, MONTH)")


FORMATS = st.lists(
    st.sampled_from(["%Y", "%y", "%m", "%d", "%j", "%b", "%B", "%a", "%A", "%u", "-", "/", " ", "%%", "Q"]), max_size=8
)


@settings(max_examples=100, deadline=None)
@generated(st.dates(date(1900, 1, 1), date(2200, 1, 1)), FORMATS.map("".join))
def test_dates_are_written_as_strftime_writes_them(day: date, form: str) -> None:
    """Python's own, in the C locale of the test; names are checked below."""
    assert written_as(day, of_strftime(form)) == day.strftime(form)


def test_names_are_english() -> None:
    assert [written_as(date(2024, month, 1), "%B") for month in range(1, 13)] == list(MONTHS)
    assert written_as(date(2024, 1, 1), "%A") == WEEKDAYS[0] == "Monday"


@settings(max_examples=200, deadline=None)
@generated(st.text(st.sampled_from('YMDQIW%ymdq"-/ FM'), max_size=12))
def test_every_format_is_read_or_refused(form: str) -> None:
    for translate in (of_to_char, of_strftime):
        with suppress(Refused):
            assert isinstance(written_as(TODAY, translate(form)), str)


ARGUMENTS = ["a", "'month'", "DAY", "1", "NULL", "*", "DISTINCT a", "(SELECT 1)", "a > 1", "INTERVAL 1 DAY", "?", "NOW()"]


def neither_read_nor_refused() -> set[str]:
    """The words that fail otherwise for some number of arguments of one kind."""
    failing = set()
    for word, count, argument in product(sorted(WORDS), range(5), ARGUMENTS):
        try:
            read(f"{word}({', '.join([argument] * count)})")
        except Refused:
            continue
        except Exception:
            failing.add(word)
    return failing


def test_every_word_takes_or_refuses_any_number_of_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a word that takes its second argument for granted."""
    assert neither_read_nor_refused() == set()
    planted = sorted(WORDS)[0]
    monkeypatch.setitem(WORDS, planted, lambda *given: given[1].nothing)
    assert neither_read_nor_refused() == {planted}


@settings(max_examples=100, deadline=None)
@generated(st.sampled_from(sorted(WORDS)), st.lists(st.sampled_from(ARGUMENTS), max_size=4))
def test_so_does_a_word_with_arguments_of_several_kinds(word: str, arguments: list[str]) -> None:
    with suppress(Refused):
        read(f"{word}({', '.join(arguments)})")


# --- parameters --------------------------------------------------------------------------------------------------------------


def test_parameters_are_literals() -> None:
    text = "SELECT COUNT(*) FROM t WHERE {} = {} AND b < {} LIMIT {}"
    expected = "SELECT COUNT(*) FROM t WHERE a = 'x' AND b < -2.5 LIMIT 3"
    assert written(parse(text.format("a", "?", "?", "?"), given(["x", -2.5, 3]))) == expected
    named = parse(text.format("a", ":ward", "@low", ":rows"), given({"ward": "x", "LOW": -2.5, "rows": 3}))
    assert written(named) == expected
    assert (
        read(":day > $1 AND :no IS NULL", day=date(2024, 1, 2), no=None, **{"1": True})
        == "DATE '2024-01-02' > TRUE AND NULL IS NULL"
    )


def test_question_marks_count_in_the_order_of_the_text() -> None:
    """Clauses are read in another order than they are written."""
    text = "WITH w AS (SELECT a FROM t WHERE a = ?) SELECT SUM(b + ?) FROM w WHERE b > ? GROUP BY c HAVING COUNT(*) > ? LIMIT ?"
    found = written(parse(text, given([1, 2, 3, 4, 5])))
    assert [mark for mark in ("a = 1", "b + 2", "b > 3", "> 4", "LIMIT 5") if mark not in found] == []


def test_a_text_cannot_become_more_than_a_literal() -> None:
    hostile = "x' OR 1 = 1; DROP TABLE t --"
    found = parse("SELECT COUNT(*) FROM t WHERE a = ?", given([hostile]))
    assert written(found) == "SELECT COUNT(*) FROM t WHERE a = 'x'' OR 1 = 1; DROP TABLE t --'"
    assert found.where.arguments[1].value == hostile  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("SELECT a FROM t WHERE a = ?", None, "the parameter '1' has no value"),
        ("SELECT a FROM t WHERE a = :b", {"c": 1}, "the parameter 'b' has no value"),
        ("SELECT a FROM t", {"c": 1}, "the question has no parameter 'c'"),
        ("SELECT a FROM t WHERE a = ?", [1, 2], "the question has no parameter '2'"),
        ("SELECT a FROM t WHERE a = ?", [float("nan")], "must be a number"),
        ("SELECT a FROM t WHERE a = ?", [10**50], "must be a number"),
        ("SELECT a FROM t LIMIT ?", ["x"], "LIMIT requires an integer"),
        ("SELECT a FROM t LIMIT ?", [-1], "LIMIT requires an integer"),
        ("SELECT a FROM t WHERE a = ?", ["\x1b[2J"], "control character"),
        ("SELECT a FROM ?", ["t"], ""),
    ],
)
def test_what_is_given_must_fit(text: str, values: object, message: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(text, given(values))  # type: ignore[arg-type]
    assert message in refused.value.message


def test_a_parameter_is_a_plain_value() -> None:
    for wrong in ([object()], [[1]], "ab", 5, {"a": b"x"}, {1.5: 1}):
        with pytest.raises(InvalidInput):
            given(wrong)  # type: ignore[arg-type]


def test_without_a_clock_there_is_no_today() -> None:
    with pytest.raises(NotAllowed, match="current date is not known"):
        parse("SELECT CURRENT_DATE FROM t")
    with pytest.raises(WrongType, match="TODAY takes 0 arguments"):
        read("TODAY(1)")
