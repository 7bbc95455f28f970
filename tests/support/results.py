"""Answers from given released numbers, and the same SQL asked of DuckDB on the released table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import duckdb
import numpy as np

from guide import quoted
from tacit.query.intervals.bands import Noisy
from tacit.query.price.price import Quote
from tacit.query.question import domain, key_value
from tacit.release.answer import Answer, Receipt
from tacit.release.tabulate import answer


def groups_of(quote: Quote) -> tuple[tuple[Any, ...], ...]:
    return tuple(product(*(domain(key) for key in quote.question.group.keys)))


def noisy_of(quote: Quote, released: Sequence[Sequence[float]], groups: Sequence[tuple[Any, ...]] | None = None) -> Noisy:
    """As if these numbers had been released, one list for each sum."""
    sums = {part.place: (part, np.asarray(numbers)) for part, numbers in zip(quote.sums, released, strict=True)}
    return Noisy(tuple(groups_of(quote) if groups is None else groups), sums, {})


def answered(question: str, *released: Sequence[float]) -> Answer:
    """The answer of the hospital where these numbers were released."""
    quote = quoted(question)
    return answer(quote, noisy_of(quote, released), Receipt(quote.epsilon, quote.delta))


def by_duckdb(question: str, quote: Quote, released: Sequence[Sequence[float]], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows of the same question, in which names stand for aggregates, on the released table r."""
    keys = [key.name for key in quote.question.group.keys]
    rows = [
        [*(key_value(key.term, value) for key, value in zip(quote.question.group.keys, group, strict=True)), *numbers]
        for group, *numbers in zip(groups_of(quote), *released, strict=True)
    ]
    with _database().cursor() as connection:
        columns = [f'"{key}" {_type(row[at] for row in rows)}' for at, key in enumerate(keys)]
        connection.execute(f"CREATE OR REPLACE TABLE r ({', '.join([*columns, *(f'{name} DOUBLE' for name in names)])})")
        connection.executemany(f"INSERT INTO r VALUES ({', '.join('?' * (len(keys) + len(names)))})", rows)
        return connection.execute(question).fetchall()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _type(values: Any) -> str:
    known = next(value for value in values if value is not None)
    return "BOOLEAN" if isinstance(known, bool) else "TEXT" if isinstance(known, str) else "DOUBLE"
