"""A part that is used again is written once: the same rows from a shorter text, whatever is shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tacit.query.engines.spark.shared_parts as shared_parts
from tacit.query.engines.duckdb import duckdb_backend

ROWS = "CREATE TABLE visits AS SELECT range % 7 AS ward, range * range % 1009 - 300 AS cost FROM range(500)"


@pytest.fixture(scope="module")
def backend() -> Any:
    made = duckdb_backend().connect()
    made.raw_sql(ROWS)
    return made


def repeated(value: Any, times: int) -> Any:
    """The distance from ten, again and again: each uses the one before three times."""
    import ibis

    for _ in range(times):
        value = ibis.cases((value - 10 < 0, 10 - value), else_=value - 10)
    return value


def plain_and_shared(backend: Any, expression: Any) -> tuple[str, str]:
    return backend.compile(expression), shared_parts.share_parts(backend.compiler.to_sqlglot(expression)).sql(
        dialect=backend.dialect
    )


def rows_of(backend: Any, text: str) -> list[tuple[Any, ...]]:
    return sorted(backend.raw_sql(text).fetchall(), key=repr)


def grouped(rows: Any) -> Any:
    made = rows.mutate(value=repeated(rows["cost"], 5), other=repeated(rows["cost"] * 2, 5))
    return made.group_by("ward").aggregate(n=made["value"].sum(), m=(made["value"] * made["other"]).max())


def filtered(rows: Any) -> Any:
    deep = repeated(rows["cost"], 5)
    return rows.filter((deep < 50) & ((deep % 3 == 1) | (deep % 3 == 2) | ((deep > 20) & (rows["ward"] < 4)))).select(
        "ward", d=deep
    )


def summed(rows: Any) -> Any:
    return rows.aggregate(n=(repeated(rows["cost"], 5) * repeated(rows["cost"], 5)).sum(), m=repeated(rows["cost"], 5).count())


def limbs(rows: Any) -> Any:
    """Products inside sums, as for a covariance of wide columns."""
    rows = rows.mutate(one=rows["cost"] + 300, other=rows["ward"] * 2)
    halves = [(rows["one"] * 7 & 15, rows["one"] * 7 >> 4), (rows["other"] * 9 & 15, rows["other"] * 9 >> 4)]
    products = [left * right for left in halves[0] for right in halves[1]]
    return rows.aggregate(
        **{f"m{at}_{by}": ((product + by) * product).sum() for at, product in enumerate(products) for by in range(4)}
    )


def joined(rows: Any) -> Any:
    left = rows.mutate(value=repeated(rows["cost"], 5)).select("ward", "value")
    right = rows.group_by("ward").aggregate(most=repeated(rows["cost"], 5).max())
    return left.join(right, "ward").group_by("ward").aggregate(n=left["value"].sum(), m=right["most"].max())


def numbered(rows: Any) -> Any:
    import ibis

    deep = repeated(rows["cost"], 5)
    return rows.mutate(place=ibis.row_number().over(group_by="ward", order_by=[deep, "cost"]), deep=deep)


@pytest.mark.parametrize("asked", [grouped, filtered, summed, joined, numbered, limbs])
def test_the_same_rows_from_a_shorter_text(backend: Any, asked: Callable[[Any], Any]) -> None:
    plain, short = plain_and_shared(backend, asked(backend.table("visits")))
    assert rows_of(backend, short) == rows_of(backend, plain)
    assert len(short) * (1 if asked is limbs else 3) < len(plain)


def test_the_text_grows_with_the_steps_and_not_with_the_uses(backend: Any) -> None:
    rows = backend.table("visits")
    lengths = [len(plain_and_shared(backend, rows.select(d=repeated(rows["cost"], times)))[1]) for times in (4, 5, 6)]
    assert lengths[2] - lengths[1] == lengths[1] - lengths[0] < 300


def test_a_small_query_stays_as_it_is(backend: Any) -> None:
    rows = backend.table("visits")
    plain, short = plain_and_shared(backend, rows.select(d=repeated(rows["cost"], 2)))
    assert short == plain


def test_parentheses_of_long_chains_are_left_out(backend: Any) -> None:
    rows = backend.table("visits")
    found = rows["cost"] == 0
    for at in range(1, 120):
        found |= (rows["cost"] == at) & ((rows["ward"] < at) | (rows["ward"] == 3))
    plain, short = plain_and_shared(backend, rows.filter(found))
    assert rows_of(backend, short) == rows_of(backend, plain)
    assert '("t0"."cost" = 1)' in plain
    assert '("t0"."cost" = 1)' not in short


def test_a_plant_that_takes_two_numbers_for_one_is_caught(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shared_parts._Parts._form
    monkeypatch.setattr(shared_parts._Parts, "_form", lambda parts, value: "" if value in ("1", "2") else real(parts, value))
    rows = backend.table("visits")
    plain, wrong = plain_and_shared(backend, rows.select(a=repeated(rows["cost"] + 1, 5), b=repeated(rows["cost"] + 2, 5)))
    assert rows_of(backend, wrong) != rows_of(backend, plain)
