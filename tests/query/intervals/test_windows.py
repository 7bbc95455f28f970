"""What is made of released numbers means what SQL means: the same text, asked of DuckDB on the released table."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guide import quoted
from results import answered, by_duckdb, groups_of, noisy_of
from tacit.release.answer import Receipt, record, recorded
from tacit.release.tabulate import answer

GROUPED = "FROM visits GROUP BY ward, urgent"  # five wards with NULL, times true, false and NULL if declared so
NAMES = {"COUNT(*)": "n", "SUM(pulse)": "s"}

numbers = st.sampled_from(["COUNT(*)", "SUM(pulse)", "3", "-1.5", "0"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    tests = st.builds("{} {} {}".format, inner, st.sampled_from(["<", "<=", "=", "<>", ">", ">="]), inner) | st.sampled_from(
        ["ward = 'north'", "ward IS NULL", "COUNT(*) IS NULL", "NOT urgent", "COUNT(*) BETWEEN 1 AND 5", "SUM(pulse) IN (1, 2)"]
    )
    return st.one_of(
        two.map(lambda pair: f"({pair[0]} + {pair[1]})"),
        two.map(lambda pair: f"({pair[0]} - {pair[1]})"),
        two.map(lambda pair: f"({pair[0]} * {pair[1]})"),
        two.map(lambda pair: f"({pair[0]} / NULLIF({pair[1]}, 0))"),
        two.map(lambda pair: f"NULLIF({pair[0]}, {pair[1]})"),
        two.map(lambda pair: f"COALESCE({pair[0]}, {pair[1]})"),
        two.map(lambda pair: f"GREATEST({pair[0]}, {pair[1]})"),
        two.map(lambda pair: f"LEAST({pair[0]}, {pair[1]})"),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, tests, inner, inner),
        st.builds("CASE WHEN {} AND NOT ({}) THEN {} END".format, tests, tests, inner),
        inner.map(lambda one: f"ABS({one})"),
        inner.map(lambda one: f"SQRT(ABS({one}))"),
        inner.map(lambda one: f"LN(ABS({one}) + 1)"),
        inner.map(lambda one: f"LOG10(ABS({one}) + 1)"),
        inner.map(lambda one: f"EXP({one} / 1000)"),
        inner.map(lambda one: f"POWER({one}, 2)"),
        inner.map(lambda one: f"FLOOR({one})"),
        inner.map(lambda one: f"CEIL({one})"),
        inner.map(lambda one: f"SIGN({one})"),
    )


expressions = st.recursive(numbers, _grown, max_leaves=5)
order = st.sampled_from(["ward", "ward DESC", "ward, urgent", "COUNT(*) DESC, ward, urgent", "SUM(pulse), ward DESC, urgent DESC"])
over = st.builds("{} ORDER BY {}".format, st.sampled_from(["", "PARTITION BY urgent", "PARTITION BY ward"]), order)
total = st.sampled_from([", urgent", ""]).map(lambda more: f"ORDER BY COUNT(*) DESC, ward{more}, urgent")
frames = st.sampled_from(
    [
        "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
        "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
        "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
        "ROWS UNBOUNDED PRECEDING",
        "ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING",
    ]
)
aggregate = st.sampled_from(["SUM", "AVG", "MIN", "MAX", "COUNT"])
windows = st.one_of(
    st.builds("{}({}) OVER ({})".format, aggregate, expressions, st.one_of(over, st.sampled_from(["", "PARTITION BY ward"]))),
    st.builds("{}({}) OVER ({} {})".format, aggregate, expressions, total, frames),
    st.builds("{}() OVER ({})".format, st.sampled_from(["RANK", "DENSE_RANK"]), over),
    st.builds("ROW_NUMBER() OVER ({})".format, total),
    st.builds(
        "{}({}{}) OVER ({})".format, st.sampled_from(["LAG", "LEAD"]), expressions, st.sampled_from(["", ", 2", ", 1, 7"]), total
    ),
    st.builds("{}({}) OVER ({})".format, st.sampled_from(["FIRST_VALUE", "LAST_VALUE"]), expressions, total),
    st.builds("{}({}) OVER ({} {})".format, st.sampled_from(["FIRST_VALUE", "LAST_VALUE"]), expressions, total, frames),
)
CELLS = len(groups_of(quoted(f"SELECT ward, urgent, COUNT(*), SUM(pulse) {GROUPED}")))
released = st.lists(st.integers(-4, 6), min_size=CELLS, max_size=CELLS)


def plain(text: str) -> str:
    for aggregate_, name in NAMES.items():
        text = text.replace(aggregate_, name)
    return text


def alike(one: Any, two: Any) -> bool:
    if one is None or two is None or isinstance(one, str | bool):
        return one == two
    return math.isclose(float(one), float(two), rel_tol=1e-9, abs_tol=1e-9)


@given(st.one_of(expressions, windows, st.builds("{} + {}".format, windows, expressions)), released, released)
@settings(max_examples=80, deadline=None)
def test_expressions_and_windows_mean_what_they_mean_in_sql(expression: str, counts: list[int], sums: list[int]) -> None:
    question = f"SELECT ward, urgent, COUNT(*) AS c, SUM(pulse) AS p, {expression} AS x {GROUPED}"
    quote = quoted(question)
    found = answer(quote, noisy_of(quote, [counts, sums]), Receipt(quote.epsilon, quote.delta))
    theirs = by_duckdb(f"SELECT ward, urgent, {plain(expression)} AS x FROM r", quote, [counts, sums], ["n", "s"])
    keyed = {row[:2]: row[2] for row in theirs}
    for ward, urgent, ours in zip(found["ward"], found["urgent"], found["x"], strict=True):
        assert alike(ours, keyed[ward, urgent]), (ward, urgent, ours, keyed[ward, urgent])


@given(windows, st.sampled_from(["", "HAVING COUNT(*) > 1", "HAVING ward <> 'north'"]), released, released)
@settings(max_examples=40, deadline=None)
def test_qualify_chooses_as_in_sql_and_windows_see_what_having_leaves(
    window: str, having: str, counts: list[int], sums: list[int]
) -> None:
    question = (
        f"SELECT ward, urgent, COUNT(*) AS c, SUM(pulse) AS p, {window} AS x {GROUPED} {having} QUALIFY x > 1 AND {window} < 9"
    )
    quote = quoted(question)
    found = answer(quote, noisy_of(quote, [counts, sums]), Receipt(quote.epsilon, quote.delta))
    where = plain(having.replace("HAVING", "WHERE"))
    asked = f"SELECT ward, urgent, {plain(window)} AS x FROM r {where} QUALIFY x > 1 AND x < 9"
    keyed = {row[:2]: row[2] for row in by_duckdb(asked, quote, [counts, sums], ["n", "s"])}
    assert set(zip(found["ward"], found["urgent"], strict=True)) == set(keyed)
    for ward, urgent, ours in zip(found["ward"], found["urgent"], found["x"], strict=True):
        assert alike(ours, keyed[ward, urgent])


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("SQRT(COUNT(*))", None),
        ("LN(COUNT(*))", None),
        ("LOG10(COUNT(*) + 4)", None),
        ("EXP(-COUNT(*) * 1000)", None),
        ("POWER(-COUNT(*) * 100, 300)", None),
        ("POWER(COUNT(*), 0.5)", None),
        ("POWER(COUNT(*) + 4, -1)", None),
        ("COUNT(*) / 0", None),
        ("COUNT(*) / (COUNT(*) + 4)", None),
        ("CAST(COUNT(*) * 1000 AS NUMERIC(3, 1))", None),
        ("CAST(COUNT(*) / 3 AS NUMERIC(10, 2))", -1.33),
        ("CAST(COUNT(*) / 8 AS INTEGER)", -1),
        ("ROUND(COUNT(*) / 8, 1)", -0.5),
        ("CAST(COUNT(*) AS DOUBLE)", -4.0),
        ("(COUNT(*) / 8)::numeric(10, 0)", -1),
    ],
)
def test_what_has_no_value_is_null_and_never_an_error(asked: str, value: float | None) -> None:
    assert answered(f"SELECT {asked} AS x FROM visits", [-4])["x"] == (value,)


# --- nothing that is released can make an answer fail --------------------------------------------------------------------------

OVERS = ["", "ORDER BY COUNT(*)", "ORDER BY diagnosis", "PARTITION BY diagnosis", "PARTITION BY diagnosis ORDER BY COUNT(*) DESC"]
ROWS = ["", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING"]
EVERY = [
    *(f"{name}() OVER ({over})" for name in ("RANK", "DENSE_RANK", "ROW_NUMBER") for over in OVERS),
    *(f"{name}(COUNT(*)) OVER ({over})" for name in ("LAG", "LEAD") for over in OVERS),
    *(
        f"{name}(COUNT(*)) OVER ({over}{rows})"
        for name in ("SUM", "AVG", "MIN", "MAX", "COUNT", "FIRST_VALUE", "LAST_VALUE")
        for over in OVERS
        for rows in ROWS
    ),
    "CASE WHEN COUNT(*) > 5 THEN 'a' ELSE diagnosis END",
    "COALESCE(diagnosis, 'x')",
    "NULLIF(diagnosis, 'x')",
    "COUNT(diagnosis) OVER ()",
    "GREATEST(LN(COUNT(*)), SQRT(-COUNT(*)), POWER(COUNT(*), COUNT(*)), CAST(COUNT(*) AS NUMERIC(2, 1)), EXP(COUNT(*)))",
    "COUNT(*) BETWEEN 1 AND 2 OR diagnosis IS NULL",
]


NONE, ONE = "HAVING COUNT(*) > 9e18", "HAVING diagnosis = 'x' ORDER BY 3 DESC LIMIT 1"
QUICKLY = [("", []), ("", [3, -2]), (NONE, [2**62, 5, -(2**62)]), (ONE, [7])]
WHOLE = [(rest, numbers) for rest in ("", NONE, ONE) for numbers in ([], [7], [3, -2], [2**62, 5, -(2**62)])]


@pytest.mark.parametrize(
    ("rest", "numbers"), [*QUICKLY, *(pytest.param(*each, marks=pytest.mark.slow) for each in WHOLE if each not in QUICKLY)]
)
def test_an_answer_comes_whatever_and_however_little_was_released(rest: str, numbers: list[int]) -> None:
    """How many groups of private keys are shown follows the data: it must not decide whether there is an answer."""
    options = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7)"
    groups = [(f"group {at}",) for at in range(len(numbers))]
    for start in range(0, len(EVERY), 12):  # more at once would be too much work
        listed = ", ".join(f"{expression} AS x{at}" for at, expression in enumerate(EVERY[start : start + 12]))
        quote = quoted(f"SELECT {options} diagnosis, COUNT(*) AS n, {listed} FROM visits GROUP BY diagnosis {rest}")
        released = replace(noisy_of(quote, [numbers], groups), units=np.full(len(numbers), 10**6))
        found = answer(quote, released, Receipt(quote.epsilon, quote.delta))
        assert len(found) == (0 if rest else len(numbers))
        assert recorded(record(found)).columns == found.columns
        assert str(found)
