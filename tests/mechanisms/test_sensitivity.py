"""Each formula equals the largest change over every pair of neighbours of a small universe; wrong ones are caught."""

import math
import statistics
from collections import Counter
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput, InvalidSensitivity
from tacit.mechanisms import sensitivity
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.sensitivity import SENSITIVITIES, largest_change
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Neighbours
from tacit.privacy.universe import Universe

BOUNDS = (-2, 6)
VALUES = Universe((-2, 0, 1, 6))
BOTH = pytest.mark.parametrize("relation", [CHANGE_ONE, ADD_REMOVE], ids=str)
ROWS = pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])


def exact_mean(rows):
    return Fraction(sum(rows), len(rows))


def population_variance(rows):
    return sum((row - exact_mean(rows)) ** 2 for row in rows) / len(rows)


def sample_variance(rows):
    return sum((row - exact_mean(rows)) ** 2 for row in rows) / (len(rows) - 1) if len(rows) > 1 else 0


def cells(rows):
    return tuple(Counter(rows)[value] for value in VALUES.elements)


def overlapping_counts(rows):
    return tuple(sum(row >= limit for row in rows) for limit in (0, 1, 6))


QUERIES = {
    "count": lambda rows: sum(row > 0 for row in rows),
    "fraction": lambda rows: Fraction(sum(row > 0 for row in rows), len(rows)),
    "sum": sum,
    "centred sum": lambda rows: sum(row - 2 for row in rows),
    "mean": exact_mean,
    "population variance": population_variance,
    "sample variance": sample_variance,
    "lower median": statistics.median_low,
    "midpoint median": lambda rows: Fraction(statistics.median([Fraction(row) for row in rows])),
    "min": min,
    "max": max,
    "histogram l1": cells,
    "counts l1": overlapping_counts,
}


def claimed(name, rows, relation):
    """The table's value, called with the facts that the query needs."""
    needs = {
        "fraction": {"rows": rows},
        "mean": {"bounds": BOUNDS, "rows": rows},
        "population variance": {"bounds": BOUNDS, "rows": rows},
        "sample variance": {"bounds": BOUNDS, "rows": rows},
        "midpoint median": {"bounds": BOUNDS, "rows": rows},
        "counts l1": {"queries": 3},
        "counts l2": {"queries": 3},
    }
    bounded = {"sum", "centred sum", "lower median", "min", "max"}
    return SENSITIVITIES[name](**needs.get(name, {"bounds": BOUNDS} if name in bounded else {}), neighbours=relation)


def test_the_table_is_complete():
    assert set(SENSITIVITIES) == set(QUERIES) | {"histogram l2", "counts l2"}


@BOTH
@ROWS
@pytest.mark.parametrize("name", QUERIES)
def test_the_formula_is_the_largest_change(name, rows, relation):
    assert claimed(name, rows, relation) == largest_change(QUERIES[name], VALUES, rows, relation)


@BOTH
@pytest.mark.parametrize("name", ["histogram", "counts"])
def test_the_euclidean_formulas_are_the_least_above_the_largest_change(name, relation):
    query = {"histogram": cells, "counts": overlapping_counts}[name]
    squares = max(
        sum((a - b) ** 2 for a, b in zip(query(one.rows), query(other.rows), strict=True))
        for one in VALUES.databases(3)
        for other in one.neighbours(relation)
    )
    formula = claimed(f"{name} l2", 3, relation)
    assert squares <= formula**2 <= squares * (1 + Fraction(1, 10**50))


PLANTED = {
    ("sum", ADD_REMOVE): Fraction(4),  # half the width without centring
    ("sum", CHANGE_ONE): Fraction(6),  # the largest absolute value, though the row may go from end to end
    ("mean", CHANGE_ONE): Fraction(8, 4),  # one row too many in the divisor
    ("population variance", CHANGE_ONE): Fraction(64, 9) / 2,
    ("sample variance", CHANGE_ONE): Fraction(64 * 2, 9),  # the population's formula
    ("midpoint median", CHANGE_ONE): Fraction(4),  # the even form, for three rows
    ("lower median", ADD_REMOVE): Fraction(4),
    ("histogram l1", CHANGE_ONE): Fraction(1),
}


@pytest.mark.parametrize(("name", "relation"), PLANTED, ids=str)
def test_a_planted_wrong_formula_is_caught(name, relation):
    assert PLANTED[name, relation] < largest_change(QUERIES[name], VALUES, 3, relation)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (sensitivity.population_variance, [16, Fraction(128, 9), 12, Fraction(256, 25)]),
        (sensitivity.sample_variance, [32, Fraction(64, 3), 16, Fraction(64, 5)]),
    ],
)
def test_variances_for_two_to_five_rows(query, expected):
    assert [query(BOUNDS, rows, CHANGE_ONE) for rows in (2, 3, 4, 5)] == expected


def test_variances_under_add_remove_are_worst_for_one_row_and_two():
    assert sensitivity.population_variance(BOUNDS) == 16 == max(sensitivity.population_variance(BOUNDS, n) for n in range(1, 50))
    assert sensitivity.sample_variance(BOUNDS) == 32 == max(sensitivity.sample_variance(BOUNDS, n) for n in range(1, 50))


@given(st.integers(1, 10**9))
def test_a_lower_bound_on_the_rows_bounds_all_larger_sizes(rows):
    for query in (sensitivity.mean, sensitivity.population_variance, sensitivity.sample_variance):
        assert query((0, 1), rows + 1) <= query((0, 1), rows)
    assert sensitivity.fraction(rows + 1) <= sensitivity.fraction(rows)


UNBOUNDED = [
    "sum",
    "centred sum",
    "mean",
    "population variance",
    "sample variance",
    "lower median",
    "midpoint median",
    "min",
    "max",
]


@BOTH
@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_data_has_no_finite_sensitivity(name, relation):
    query = SENSITIVITIES[name]
    with_rows = partial(query, rows=10) if "rows" in query.__annotations__ else query
    with pytest.raises(InvalidSensitivity, match=r"give bounds=\(low, high\)"):
        with_rows(neighbours=relation)
    for bounds in ((-math.inf, math.inf), (0, math.inf), (-math.inf, 0)):
        assert with_rows(bounds, neighbours=relation) == math.inf


def test_the_variance_of_one_row_is_0_within_any_bounds():
    for query in (sensitivity.population_variance, sensitivity.sample_variance):
        assert [query(bounds, 1, CHANGE_ONE) for bounds in (BOUNDS, (-math.inf, math.inf))] == [0, 0]


def test_bounds_may_be_one_value():
    assert (sensitivity.total((2, 2), CHANGE_ONE), sensitivity.total((2, 2), ADD_REMOVE)) == (0, 2)


def test_no_mechanism_accepts_an_infinite_sensitivity():
    with pytest.raises(InvalidSensitivity):
        Laplace(sensitivity=sensitivity.mean((0, math.inf), 100, CHANGE_ONE), epsilon=1)


@pytest.mark.parametrize("bounds", [(1, 0), (math.inf, math.inf), (math.nan, 1), ("a", 1), (0,), 5, (-math.inf, -math.inf)])
def test_bounds_are_a_pair_in_order(bounds):
    with pytest.raises(InvalidSensitivity):
        sensitivity.total(bounds)


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "3"])
def test_rows_are_a_whole_number(rows):
    with pytest.raises(InvalidSensitivity, match="whole number"):
        sensitivity.mean((0, 1), rows)
    with pytest.raises(InvalidSensitivity, match="whole number"):
        sensitivity.population_variance((0, 1), rows)


def test_under_add_remove_a_mean_is_told_to_be_two_questions():
    with pytest.raises(InvalidSensitivity, match="release the sum and the"):
        sensitivity.mean((0, 1))
    with pytest.raises(InvalidSensitivity, match="give rows="):
        sensitivity.mean((0, 1), neighbours=CHANGE_ONE)


@pytest.mark.parametrize("name", SENSITIVITIES)
def test_the_formulas_are_for_rows(name):
    with pytest.raises(InvalidInput, match="apply to one row"):
        claimed(name, 3, Neighbours("add-remove", "unit"))
