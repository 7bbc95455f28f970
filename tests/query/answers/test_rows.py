"""What is made of answers: values as DuckDB computes them, and ranges in which the exact values lie.

The answers are made up here: released numbers with their ends, and exact numbers between those ends. The oracle runs the same SQL
over tables that hold the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf, isclose, isnan
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guide import Wards, hospital
from tacit.mechanisms.laplace import Laplace
from tacit.query.answers.levels import derivation_of
from tacit.query.answers.plan import Derivation
from tacit.query.answers.rows import Law, numbers_of, rows_of
from tacit.query.intervals.bands import Cells, Numbers, Words, half_width_of_sum
from tacit.query.language.sql import parse
from tacit.query.language.writer import written

WARDS, KINDS = ("north", "south", "east", "west", None), ("planned", "emergency", None)
INNER = "(SELECT ward, kind, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward, kind)"
NOISE = Laplace(sensitivity=1, epsilon=Fraction(1, 10), step=1, on_grid=True)
ANY = Fraction(1, 20)


@dataclass
class Made:
    """The answer to INNER: fifteen groups, numbers with ends; no count is missing, an average may be."""

    n: Sequence[float]
    n_ends: tuple[Sequence[float], Sequence[float]]
    c: Sequence[float]
    c_ends: tuple[Sequence[float], Sequence[float]]
    linear: bool = True

    def size(self, question: int) -> int:
        return len(WARDS) * len(KINDS)

    def values(self, question: int, output: int) -> Sequence[Any]:
        return [group[output] for group in GROUPS] if output < 2 else list((self.n, self.c)[output - 2])

    def cells(self, question: int, output: int, missed: Fraction) -> Cells:
        value, (low, high) = ((self.n, self.n_ends), (self.c, self.c_ends))[output - 2]
        return Numbers(*(np.array(each, dtype=np.float64) for each in (value, low, high)), np.zeros(len(value), dtype=np.bool_))

    def law(self, question: int, output: int) -> Law | None:
        return Law(NOISE, 1, 1.0) if self.linear and output == 2 else None


GROUPS = [(ward, kind) for ward in WARDS for kind in KINDS]


@cache
def derived(sql: str) -> Derivation:
    found = derivation_of(parse(sql.replace("INNER", INNER)), hospital(), Wards())
    assert found is not None
    return found


def table_of(derivation: Derivation, made: Made, missed: Fraction = ANY) -> list[tuple[Any, ...]]:
    """The rows with the plain value of each column."""
    table = rows_of(derivation.level, made, missed)
    columns = [
        held.values if held.values is not None else numbers_of(held.cells.value, each.type)  # type: ignore[union-attr]
        for held, each in zip(table.held, derivation.level.fields, strict=True)
    ]
    return list(zip(*columns, strict=True))


def ends_of(derivation: Derivation, made: Made) -> list[list[tuple[float, float, bool]]]:
    """For every row the ends of each column, and whether it may be NULL; open for an exact one."""
    table = rows_of(derivation.level, made, ANY)
    columns = []
    for held in table.held:
        cells = held.cells
        if isinstance(cells, Words):
            columns.append([(-inf, inf, True)] * table.size)
        else:
            columns.append(list(zip(cells.low.tolist(), cells.high.tolist(), (cells.null | cells.empty).tolist(), strict=True)))
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.fixture(scope="module", name="engine")
def _engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as engine:
        engine.execute(
            "CREATE TABLE wards AS SELECT * FROM (VALUES ('north', 1, 10), ('south', 2, 20), ('east', 3, 30), "
            "('west', 4, 40)) AS t(ward, floor, beds)"
        )
        yield engine


def by_duckdb(engine: duckdb.DuckDBPyConnection, sql: str, n: Sequence[float], c: Sequence[float]) -> list[tuple[Any, ...]]:
    """The rows of the same statement over a table that holds the answer."""
    wards, kinds = zip(*GROUPS, strict=True)
    answer = pa.table({"ward": wards, "kind": kinds, "n": [*map(float, n)], "c": [*map(float, c)]})
    engine.register("answer", answer)
    return engine.execute(sql.replace("INNER", "answer")).fetchall()


def same(one: Any, two: Any) -> bool:
    if isinstance(one, float | int) and isinstance(two, float | int) and not isinstance(one, bool):
        return isclose(one, two, rel_tol=1e-9, abs_tol=1e-9)
    return one == two or (one is None and isinstance(two, float) and isnan(two))


STATEMENTS = [
    "SELECT ward, kind, n, c FROM INNER t ORDER BY n DESC NULLS LAST, ward, kind",
    "SELECT ward, kind, n * 2 + 1 AS a, ROUND(c / 3, 1) AS b, n - c AS d FROM INNER t WHERE ward IS NOT NULL AND "
    "kind IS NOT NULL ORDER BY ward, kind",
    "SELECT ward, kind, n FROM INNER t WHERE n > 20 AND ward <> 'west' ORDER BY n, ward, kind",
    "SELECT ward, SUM(n) AS s, AVG(n) AS m, MIN(c) AS a, MAX(c) AS b, COUNT(*) AS k, COUNT(c) AS kc FROM INNER t "
    "GROUP BY ward ORDER BY ward NULLS LAST",
    "SELECT ward, SUM(n) AS s, AVG(c) AS m, COUNT(*) AS k FROM INNER t WHERE n > 25 GROUP BY ward ORDER BY ward NULLS LAST",
    "SELECT ward, SUM(n) AS s FROM INNER t GROUP BY ward HAVING SUM(n) > 90 ORDER BY s DESC, ward NULLS LAST",
    "SELECT SUM(n) AS s, COUNT(*) AS k, COUNT(DISTINCT ward) AS w, MIN(n) AS a FROM INNER t",
    "SELECT SUM(n) AS s, MAX(n) AS m FROM INNER t WHERE n > 1000",
    "SELECT w.floor, SUM(t.n) AS s, SUM(t.n) / MIN(w.beds) AS per FROM INNER t JOIN wards w ON t.ward = w.ward "
    "GROUP BY w.floor ORDER BY w.floor",
    "SELECT w.floor, w.beds, t.n FROM wards w LEFT JOIN INNER t ON w.ward = t.ward ORDER BY w.floor, t.kind NULLS LAST",
    "SELECT ward, kind, n / SUM(n) OVER (PARTITION BY ward) AS share, SUM(n) OVER () AS total FROM INNER t ORDER BY"
    " ward NULLS LAST, kind NULLS LAST",
    "SELECT ward, kind, RANK() OVER (ORDER BY n DESC) AS r, MAX(n) OVER (PARTITION BY kind) AS m FROM INNER t WHERE"
    " kind IS NOT NULL ORDER BY ward NULLS LAST, kind",
    "SELECT u.ward, u.s - v.s AS more FROM (SELECT ward, SUM(n) AS s FROM INNER t GROUP BY ward) u JOIN (SELECT "
    "ward, SUM(n) AS s FROM INNER t WHERE kind = 'planned' GROUP BY ward) v ON u.ward = v.ward ORDER BY u.ward",
    "SELECT ward, CASE WHEN n > 30 THEN n ELSE c END AS x, COALESCE(NULLIF(n, 3), 0) AS y, LEAST(n, c) AS z, "
    "GREATEST(n, 10) AS g FROM INNER t ORDER BY ward NULLS LAST, kind NULLS LAST",
    "SELECT UPPER(ward) AS w, SUM(n) AS s FROM INNER t WHERE kind LIKE 'pl%' GROUP BY UPPER(ward) ORDER BY w NULLS LAST",
    "SELECT m, COUNT(*) AS k FROM (SELECT FLOOR(n / 10) AS m FROM INNER t) u GROUP BY m ORDER BY m",
    "SELECT DISTINCT kind FROM INNER t WHERE kind IS NOT NULL ORDER BY kind",
    "SELECT ward, n, (SELECT MAX(n) FROM INNER u) AS most FROM INNER t WHERE kind = 'planned' ORDER BY ward NULLS LAST",
    "SELECT ward, kind, n FROM INNER t QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY n DESC) = 1 ORDER BY ward NULLS LAST",
    "SELECT SUM(n) AS s FROM (SELECT n FROM INNER t ORDER BY n DESC LIMIT 3) u",
    "SELECT ward FROM INNER t WHERE ward IN (SELECT ward FROM wards WHERE floor < 3) GROUP BY ward ORDER BY 1",
    # a sub-query that is a value, named before an aggregate
    "SELECT (SELECT SUM(beds) FROM wards) AS beds, SUM(n) AS s, COUNT(*) AS k FROM INNER t",
    "SELECT ward, SUM(n) / (SELECT SUM(beds) FROM wards) AS s, MIN(c) AS a FROM INNER t GROUP BY ward ORDER BY ward NULLS LAST",
    "SELECT ward, (SELECT MAX(n) FROM INNER u) AS most, SUM(n) AS s, MIN(c) AS a FROM INNER t GROUP BY ward "
    "HAVING (SELECT SUM(beds) FROM wards) > COUNT(*) ORDER BY ward NULLS LAST",
    "SELECT (SELECT SUM(beds) FROM wards) AS beds, COUNT(*) AS k, SUM(SUM(n)) OVER (PARTITION BY ward) AS s, ward FROM INNER t "
    "GROUP BY ward ORDER BY ward NULLS LAST",
]
numbers = st.lists(st.integers(-20, 120), min_size=15, max_size=15, unique=True)
halves = st.lists(st.integers(-40, 400).map(lambda each: each / 2), min_size=15, max_size=15, unique=True)
widths = st.lists(st.integers(0, 40), min_size=15, max_size=15)
shares = st.lists(st.fractions(-1, 1), min_size=15, max_size=15)


@pytest.mark.parametrize("sql", STATEMENTS)
@settings(max_examples=6, deadline=None)
@given(n=numbers, c=halves)
def test_values_are_those_of_sql(engine: duckdb.DuckDBPyConnection, sql: str, n: list[int], c: list[float]) -> None:
    made = Made(n, (n, n), c, (c, c))
    found, expected = table_of(derived(sql), made), by_duckdb(engine, sql, n, c)
    assert len(found) == len(expected)
    assert all(
        same(one, two) for mine, theirs in zip(found, expected, strict=True) for one, two in zip(mine, theirs, strict=True)
    ), (
        found,
        expected,
    )


# how many exact columns each row is found by among those of the exact numbers, for statements by their places
WITH_KEYS = {1: 2, 2: 2, 3: 1, 4: 1, 5: 1, 6: 0, 7: 0, 8: 1, 10: 2, 11: 2, 12: 1, 14: 1, 17: 1, 21: 1, 22: 1, 23: 1}


def inside(value: Any, ends: tuple[float, float, bool]) -> bool:
    low, high, null = ends
    if value is None:
        return null
    return not isnan(low) and low - 1e-9 * max(1, abs(low)) <= value <= high + 1e-9 * max(1, abs(high))


@pytest.mark.parametrize("place", WITH_KEYS)
@settings(max_examples=20, deadline=None)
@given(n=numbers, c=halves, wide=widths, at=shares)
def test_the_range_has_the_exact_value(
    engine: duckdb.DuckDBPyConnection, place: int, n: list[int], c: list[float], wide: list[int], at: list[Fraction]
) -> None:
    """Every exact number lies somewhere between its ends: then so does all that is made of them, whichever rows are chosen."""
    sql, keys = STATEMENTS[place], WITH_KEYS[place]
    exact_n = [a + float(w * s) for a, w, s in zip(n, wide, at, strict=True)]
    exact_c = [a + float(w * s) for a, w, s in zip(c, wide, reversed(at), strict=True)]
    ends = [([a - w for a, w in zip(v, wide, strict=True)], [a + w for a, w in zip(v, wide, strict=True)]) for v in (n, c)]
    made = Made(n, ends[0], c, ends[1], linear=False)
    derivation = derived(sql)
    shown, ranges = table_of(derivation, made), ends_of(derivation, made)
    exact = {row[:keys]: row for row in by_duckdb(engine, sql, exact_n, exact_c)}
    for row, found in zip(shown, ranges, strict=True):
        if (true := exact.get(row[:keys])) is not None and all(derivation.level.fields[at].exact for at in range(keys)):
            pairs = zip(true[keys:], found[keys:], strict=True)
            # a sum by the law of its noise is not a sum of ends: here its column has none
            assert all(inside(value, each) for value, each in pairs), (sql, row, true, found)


def test_ranges_that_forget_rows_which_may_count_are_caught(
    engine: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: an aggregate over the rows that noisy numbers chose, as if they had been chosen by the exact ones."""
    from tacit.query.answers import aggregates

    monkeypatch.setattr(aggregates.Grouped, "possible", property(lambda rows: rows.there))
    monkeypatch.setattr(aggregates.Grouped, "sure", property(lambda rows: rows.there))
    n = [24, *range(100, 114)]  # the first may be above 25
    low, high = [each - 10 for each in n], [each + 10 for each in n]
    made, sql = Made(n, (low, high), n, (n, n), linear=False), STATEMENTS[4]
    wards = [row[0] for row in table_of(derived(sql), made)]
    exact = {row[0]: row for row in by_duckdb(engine, sql, [30, *n[1:]], n)}
    assert not inside(exact["north"][3], ends_of(derived(sql), made)[wards.index("north")][3])


def test_a_sum_of_counts_has_the_law_of_the_sum_of_its_noise() -> None:
    """Narrower than the sum of the ends, and the same for a window over all rows of a group."""
    n = list(range(15))
    made = Made(n, ([-inf] * 15, [inf] * 15), n, (n, n))
    for sql in (
        "SELECT ward, SUM(n) AS s FROM INNER t GROUP BY ward",
        "SELECT SUM(n) OVER (PARTITION BY ward) AS s, ward FROM INNER t",
    ):
        table = rows_of(derived(sql).level, made, ANY)
        cells = next(held.cells for held in table.held if isinstance(held.cells, Numbers))
        width = half_width_of_sum(NOISE, 3, ANY)
        assert np.allclose(cells.high - cells.value, width)
        assert width < 3 * float(NOISE.interval(1 - ANY / 3).above)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(t.n) AS s FROM INNER t JOIN wards w ON w.floor > 0",  # each released number four times
        "SELECT SUM(t.n) OVER () AS s FROM INNER t JOIN wards w ON w.floor > 0",
    ],
)
def test_a_number_that_is_added_twice_has_no_law_of_its_own(sql: str) -> None:
    n = list(range(15))
    table = rows_of(derived(sql).level, Made(n, (n, n), n, (n, n)), ANY)
    cells = table.held[0].cells
    assert isinstance(cells, Numbers)
    assert np.isinf(cells.high).all()


def test_a_law_for_numbers_that_are_added_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: rows are not compared, so that noise that is added four times counts as four noises."""
    monkeypatch.setattr(
        np, "unique", lambda array, **more: (array, np.arange(np.size(array))) if more.get("return_inverse") else array
    )
    with pytest.raises(AssertionError):
        test_a_number_that_is_added_twice_has_no_law_of_its_own("SELECT SUM(t.n) AS s FROM INNER t JOIN wards w ON w.floor > 0")


@pytest.mark.parametrize("sql", STATEMENTS)
def test_the_statement_is_written_and_read_as_the_same(sql: str) -> None:
    whole = re.sub(" NULLS LAST", "", sql.replace("INNER", INNER))
    again, first = derived(written(parse(whole))), derived(whole)
    assert (again.level, again.plans) == (first.level, first.plans)
