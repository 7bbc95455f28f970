"""Smooth bounds against their definition: every database of a small world, every neighbour, exact comparisons."""

import math
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidBudget, InvalidInput
from tacit.mechanisms.smooth import sensitivity as module
from tacit.mechanisms.smooth.decayed_gap import Gap
from tacit.mechanisms.smooth.sensitivity import (
    LEAST,
    order_place,
    order_statistic,
    smooth_order_statistic,
    smooth_trimmed_mean,
    trimmed_mean,
)
from tacit.mechanisms.sorted_rows import sorted_rows
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE
from tacit.privacy.rounding import exp_down, exp_up

HALF = Fraction(1, 2)
LEVELS = [Fraction(1, 4), HALF, Fraction(9, 10)]
BETAS = [Fraction(1, 10), Fraction(35, 100), Fraction(1)]


# The small worlds: lists of rows from 0 to `top`, where one unit of up to `max_rows` rows comes, goes or changes.


@cache
def lists(top, size):
    return tuple(combinations_with_replacement(range(top + 1), size))


@cache
def without(rows, removed):
    return frozenset(
        rows_left
        for places in combinations(range(len(rows)), len(rows) - removed)
        for rows_left in [tuple(rows[p] for p in places)]
    )


def with_added(rows, top, added):
    return {tuple(sorted(rows + more)) for more in lists(top, added)}


@cache
def by_add_remove(rows, top, max_rows):
    removed = {left for k in range(1, min(max_rows, len(rows)) + 1) for left in without(rows, k)}
    return frozenset(removed) | {more for k in range(1, max_rows + 1) for more in with_added(rows, top, k)}


@cache
def by_change(rows, top, max_rows, keep_size=False):
    """A unit of up to `max_rows` rows is replaced by another one."""
    changed = set()
    for gone in range(min(max_rows, len(rows)) + 1):
        for come in [gone] if keep_size else range(max_rows + 1):
            changed |= {more for left in without(rows, gone) for more in with_added(left, top, come)}
    return frozenset(changed - {rows})


class World:
    """What a neighbour is: with the neighbours of every database, and the databases k units away, found once."""

    def __init__(self, neighbours):
        self.neighbours = cache(neighbours)
        self.layers = cache(self._layers)

    def _layers(self, start, distance):
        seen, layers = {start}, [{start}]
        for _ in range(distance):
            layers.append({y for x in layers[-1] for y in self.neighbours(x)} - seen)
            seen |= layers[-1]
        return layers

    def local(self, answer):
        """The largest change that a neighbour makes of each database."""
        return cache(lambda x: max((abs(answer(x) - answer(y)) for y in self.neighbours(x)), default=0))


def smooth_by_definition(start, world, local, beta, distance):
    """The maximum of e^(-beta k) times the largest change that a neighbour makes, over databases k <= distance units away."""
    layers = enumerate(world.layers(start, distance))
    return max(math.exp(-beta * k) * max(map(local, layer), default=0) for k, layer in layers)


def check_smooth(databases, neighbours, answer, bound, beta):
    """Both properties of a smooth bound on every pair, in exact arithmetic; the number of pairs checked."""
    answer, bound, pairs = cache(answer), cache(bound), [(x, y) for x in databases for y in neighbours(x)]
    check_answers(pairs, answer, bound)
    check_factors(pairs, bound, beta)
    return len(pairs)


def unlike(pairs, *measures):
    """Of all pairs with the same measures one: a small world has many databases and few answers and bounds."""
    places = {}
    place = cache(lambda rows: places.setdefault(tuple(measure(rows) for measure in measures), len(places)))
    return {(place(x), place(y)): (x, y) for x, y in pairs}.values()


def check_answers(pairs, answer, bound):
    for x, y in unlike(pairs, answer, bound):
        assert abs(answer(x) - answer(y)) <= min(bound(x), bound(y)), "local sensitivity"


def check_factors(pairs, bound, beta):
    factor = exp_down(beta)
    for x, y in unlike(pairs, bound):
        assert max(bound(x), bound(y)) <= factor * min(bound(x), bound(y)), "smoothness"


# Order statistics


@pytest.mark.parametrize(
    ("upper", "beta", "expected"),
    [(1000, 2, 1), (11, 0.5, 1.2130613), (1000, 0.5, 81.6745736), (1000, 0.1, 603.4980064), (1000, 1, 6.7042573)],
)
def test_vectors_of_one_to_ten(upper, beta, expected):
    rows = sorted_rows(list(range(1, 11)), 0, upper)
    assert float(smooth_order_statistic(rows, HALF, Fraction(str(beta)))) == pytest.approx(expected, rel=1e-7)


def test_the_two_databases_on_which_local_sensitivity_is_separable():
    """Six zeros and four L: the median cannot move, so noise of local sensitivity would be none; five and five: it can, by L."""
    one, other = sorted_rows([0] * 6 + [1000] * 4, 0, 1000), sorted_rows([0] * 5 + [1000] * 5, 0, 1000)
    assert order_statistic(one, HALF) == order_statistic(other, HALF) == 0
    assert (one.at(6) - one.at(5), one.at(5) - one.at(4)) == (0, 0)
    assert other.at(6) - other.at(5) == 1000
    assert float(smooth_order_statistic(one, HALF, Fraction(1, 4))) == pytest.approx(778.8007831)
    assert float(smooth_order_statistic(other, HALF, Fraction(1, 4))) == pytest.approx(1000)


def adjacent_gaps(rows, beta):
    """The formula as it is often printed: gaps between neighbouring rows only. It is too small."""
    place = order_place(HALF, rows.size)
    near = [(k, max(rows.at(place + t) - rows.at(place + t - 1) for t in range(-k, k + 2))) for k in range(rows.size + 1)]
    return max(gap * math.exp(-float(beta) * k) for k, gap in near)


def test_adjacent_gaps_are_caught_by_the_definition():
    beta, rows = Fraction(35, 100), (2, 3, 3, 4)
    world = World(lambda x: by_change(x, 4, 1, keep_size=True))
    truth = smooth_by_definition(rows, world, world.local(lambda x: x[order_place(HALF, len(x)) - 1]), float(beta), 4)
    assert truth == pytest.approx(2.1140643, rel=1e-7)
    assert float(smooth_order_statistic(sorted_rows(rows, 0, 4), HALF, beta)) == pytest.approx(truth, rel=1e-9)
    assert adjacent_gaps(sorted_rows(rows, 0, 4), beta) == pytest.approx(1.4093762, rel=1e-7)


@pytest.mark.parametrize("q", LEVELS)
def test_by_row_under_change_one_the_formula_is_the_definition(q):
    world = World(lambda x: by_change(x, 3, 1, keep_size=True))
    local = world.local(lambda x: x[order_place(q, len(x)) - 1])
    for beta in BETAS:
        for size in range(1, 5):
            for rows in lists(3, size):
                truth = smooth_by_definition(rows, world, local, float(beta), size)
                assert float(smooth_order_statistic(sorted_rows(rows, 0, 3), q, beta)) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("max_rows", [1, 2, 3])
def test_at_unit_level_the_formula_is_above_the_definition(max_rows):
    beta, world = 0.35, World(lambda x: by_add_remove(x, 2, max_rows))
    for q in LEVELS:
        local = world.local(partial(median_of, top=2, q=q))
        for rows in (x for size in range(4) for x in lists(2, size)):
            truth = smooth_by_definition(rows, world, local, beta, 3 if max_rows == 1 else 2)
            assert float(smooth_order_statistic(sorted_rows(rows, 0, 2), q, Fraction("0.35"), max_rows)) >= truth * (1 - 1e-12)


def median_of(rows, top, q):
    return rows[order_place(q, len(rows)) - 1] if rows else top // 2


@pytest.mark.parametrize("q", [Fraction(0), *LEVELS, Fraction(1)])
@pytest.mark.parametrize("max_rows", [1, 2, 3])
@pytest.mark.parametrize("relation", [by_add_remove, by_change])
def test_smooth_between_all_neighbours(relation, max_rows, q):
    top, largest = {1: (4, 5), 2: (4, 4), 3: (3, 4)}[max_rows]
    for beta in (BETAS[0], BETAS[2]):
        pairs = check_smooth(
            [x for size in range(largest + 1) for x in lists(top, size)],
            lambda x: relation(x, top, max_rows),
            lambda x: median_of(x, top, q),
            lambda x, beta=beta: smooth_order_statistic(sorted_rows(x, 0, top), q, beta, max_rows),
            beta,
        )
        assert pairs > 500


@pytest.mark.parametrize(
    "broken",
    [
        adjacent_gaps,  # the printed formula
        lambda rows, beta: math.ceil(smooth_order_statistic(rows, HALF, beta, 2)),  # rounded up to whole units
        lambda rows, beta: smooth_order_statistic(rows, HALF, 2 * beta, 2),
        lambda rows, beta: smooth_order_statistic(rows, HALF, beta, 1),  # units priced as rows
    ],
)
def test_planted_bounds_that_are_not_smooth_are_caught(broken):
    pairs = [(x, y) for size in range(4) for x in lists(4, size) for y in by_add_remove(x, 4, 2)]
    with pytest.raises(AssertionError, match="smoothness"):
        check_factors(pairs, cache(lambda x: Fraction(broken(sorted_rows(x, 0, 4), BETAS[0]))), BETAS[0])


def test_planted_bounds_that_are_too_small_are_caught():
    """Units of two rows priced as rows; and the printed formula, whose bound at distance 0 is a single gap."""
    pairs = [(x, y) for size in range(4) for x in lists(4, size) for y in by_add_remove(x, 4, 2)]
    for broken in (lambda rows: smooth_order_statistic(rows, HALF, BETAS[2], 1), lambda rows: adjacent_gaps(rows, BETAS[2])):
        with pytest.raises(AssertionError, match="local sensitivity"):
            check_answers(pairs, lambda x: median_of(x, 4, HALF), cache(lambda x: Fraction(broken(sorted_rows(x, 0, 4)))))  # noqa: B023


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 50) | st.integers(0, 10**9), min_size=1, max_size=40),
    st.sampled_from([0, 0.25, 0.5, 0.9, 1]),
    st.sampled_from(["0.000001", "0.01", "0.2", "1", "40"]),
    st.integers(1, 9),
)
def test_rounded_up_and_within_the_stated_precision(values, q, beta, max_rows):
    rows, level = sorted_rows(values, 0, 10**9), Fraction(str(q))
    place = order_place(level, rows.size)
    pairs = ((i, j) for i in range(-max_rows, place + 1) for j in range(place, rows.size + max_rows + 1) if i < j)
    exact = max(formula_log(rows, i, j, Fraction(beta) - module.SLACK, max_rows) for i, j in pairs)
    found = smooth_order_statistic(rows, level, Fraction(beta), max_rows)
    if found > LEAST:
        assert -1e-13 <= math.log(found) - exact <= 2.0**-40
    else:
        assert exact <= math.log(LEAST) + 1e-9
    distinct = sorted(set(values))
    assert smooth_order_statistic(
        sorted_rows(distinct, 0, 10**9, counts=[values.count(value) for value in distinct]), level, Fraction(beta), max_rows
    ) == pytest.approx(found, rel=2**-40, abs=0)


def formula_log(rows, i, j, rate, max_rows):
    gap = rows.at(j) - rows.at(i)
    return math.log(gap) - float(rate * (math.ceil((j - i) / max_rows) - 1)) if gap else -math.inf


def test_no_rows_have_the_whole_range_and_its_middle():
    empty = sorted_rows([], 0, 9)
    assert (order_statistic(empty, HALF), smooth_order_statistic(empty, HALF, BETAS[0], 3)) == (4, 9)


def test_a_unit_that_may_be_all_rows_has_the_whole_range():
    for max_rows in (4, 10**30):
        assert smooth_order_statistic(sorted_rows([3, 4, 5], 0, 9), HALF, BETAS[0], max_rows) == pytest.approx(9, rel=1e-11)


def test_a_bound_never_falls_below_the_least_and_large_budgets_do_not_overflow():
    rows = sorted_rows([5] * 1000, 0, 9)
    assert smooth_order_statistic(rows, HALF, Fraction(1)) == LEAST
    assert smooth_order_statistic(sorted_rows([1, 4, 5], 0, 9), HALF, Fraction(10**9)) == pytest.approx(3, rel=1e-11)


def test_a_beta_that_rounding_would_eat_is_refused():
    with pytest.raises(InvalidBudget, match="larger epsilon"):
        smooth_order_statistic(sorted_rows([1], 0, 9), HALF, Fraction(1, 2**40))


# Trimmed means


def test_vector_of_the_trimmed_mean():
    rows = sorted_rows([1, 2, 3, 4, 5], 0, 10)
    assert float(smooth_trimmed_mean(rows, 1, HALF, 1, CHANGE_ONE)) == pytest.approx(1.6174151, rel=1e-7)
    assert trimmed_mean(rows, 1) == 3


@pytest.mark.parametrize(("trim", "size"), [(0, 3), (1, 3), (1, 4), (2, 5)])
def test_trimmed_mean_by_row_is_the_definition(trim, size):
    world = World(lambda x: by_change(x, 3, 1, keep_size=True))
    local = world.local(cache(lambda x: float(mean_of(x, 3, trim))))
    for beta in BETAS:
        for rows in lists(3, size)[::3]:
            truth = smooth_by_definition(rows, world, local, float(beta), size)
            found = smooth_trimmed_mean(sorted_rows(rows, 0, 3), trim, beta, 1, CHANGE_ONE)
            assert float(found) == pytest.approx(truth, rel=1e-9)


def mean_of(rows, top, trim):
    kept = rows[trim : len(rows) - trim]
    return Fraction(sum(kept), len(kept)) if kept else Fraction(top // 2)


@pytest.mark.parametrize("max_rows", [1, 2])
@pytest.mark.parametrize("trim", [0, 1])
def test_trimmed_mean_is_smooth_under_change_one(trim, max_rows):
    for beta in (BETAS[0], BETAS[2]):
        pairs = check_smooth(
            [x for size in range(2 * trim + 1, 5) for x in lists(3, size)],
            lambda x: by_change(x, 3, max_rows, keep_size=True),
            lambda x: mean_of(x, 3, trim),
            lambda x, beta=beta: smooth_trimmed_mean(sorted_rows(x, 0, 3), trim, beta, max_rows, CHANGE_ONE),
            beta,
        )
        assert pairs > 300


@pytest.mark.parametrize("max_rows", [1, 2])
@pytest.mark.parametrize("trim", [0, 1])
def test_trimmed_mean_is_smooth_under_add_remove(trim, max_rows):
    for beta in (Fraction(1, 50), BETAS[0], BETAS[2]):
        pairs = check_smooth(
            [x for size in range(6 - max_rows) for x in lists(3, size)],
            lambda x: by_add_remove(x, 3, max_rows),
            lambda x: mean_of(x, 3, trim),
            lambda x, beta=beta: smooth_trimmed_mean(sorted_rows(x, 0, 3), trim, beta, max_rows, ADD_REMOVE),
            beta,
        )
        assert pairs > 300


def test_a_planted_mean_without_the_factor_of_units_is_caught():
    pairs = [(x, y) for size in range(1, 5) for x in lists(3, size) for y in by_change(x, 3, 2, keep_size=True)]
    bound = cache(lambda x: smooth_trimmed_mean(sorted_rows(x, 0, 3), 0, HALF, 1, CHANGE_ONE))
    with pytest.raises(AssertionError, match="local sensitivity"):
        check_answers(pairs, lambda x: mean_of(x, 3, 0), bound)


def test_a_planted_mean_whose_rows_cannot_run_out_is_caught():
    pairs = [(x, y) for size in range(5) for x in lists(3, size) for y in by_add_remove(x, 3, 1)]
    beta = Fraction(1, 50)
    with pytest.raises(AssertionError, match="smoothness"):
        check_factors(pairs, cache(lambda x: without_the_emptied(sorted_rows(x, 0, 3), beta)), beta)


def without_the_emptied(rows, beta):
    """The window over the rows kept alone, as if their number could not fall."""
    kept = rows.size
    if kept < 1:
        return Fraction(3)
    widest = module._widest(rows, module.Window(0, rows.size + 1, free=kept + 1), beta)
    return module._value(widest, beta, kept)


def test_trimming_everything_is_refused_where_the_size_is_public():
    with pytest.raises(InvalidInput, match="trim fewer"):
        smooth_trimmed_mean(sorted_rows([1, 2], 0, 3), 1, HALF, 1, CHANGE_ONE)


# Size; how long it takes is measured in benchmarks/noise.py


def test_a_million_rows_with_the_slowest_decay_end():
    """Evenly spaced values decay as they spread: (d + 1) e^(-beta d) is largest where d + 1 is near 1 / beta, at half the range."""
    rows, beta = np.arange(1, 10**6 + 1), Fraction(2, 10**6)
    found = float(smooth_order_statistic(sorted_rows(rows, 0, 10**6 + 1), HALF, beta))
    assert found == pytest.approx(5 * 10**5 / math.e, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("beta", ["0.1", "0.001", "1e-5", "1e-6"])
def test_ten_million_sorted_rows_agree_with_the_formula(beta):
    rate = float(beta)
    found = float(smooth_order_statistic(sorted_rows(np.arange(1, 10**7 + 1), 0, 10**7 + 1), HALF, Fraction(beta)))
    gaps = np.arange(1, 10**7 + 1)
    assert found == pytest.approx(float(np.max(gaps * np.exp(-rate * (gaps - 1)))), rel=1e-6)


# --- the numbers that the proof names ----------------------------------------------------------------------------------------


def test_the_roundings_are_those_of_the_proof():
    """B is at least S and at most S (1 + 2^-40): the search loses 2^-42, 2^-41 is added, and multiples of 2^-192 cost less."""
    assert (Fraction(1, 2**40), Fraction(1, 2**100)) == (module.SLACK, module.LEAST)
    assert (1 + Fraction(1, 2**41), 2**192) == (module.ROUNDING, module.DENOMINATOR)
    assert module.smoothness(Fraction(1)) == 1 - Fraction(1, 2**40)
    with pytest.raises(InvalidBudget, match="above 2\\^-39"):
        module.smoothness(Fraction(1, 2**39))
    assert module.smoothness(Fraction(1, 2**39) + Fraction(1, 2**60)) > Fraction(1, 2**40)


@pytest.mark.parametrize(("size", "decays", "divisor"), [(7, 0, 1), (7, 3, 1), (10, 5, 4), (2**61, 2, 7)])
def test_a_decayed_gap_is_rounded_up_to_its_grid(monkeypatch, size, decays, divisor):
    """With an exp that is exact: 2^-decays."""
    monkeypatch.setattr(module, "exp_up", lambda value: Fraction(2) ** int(value))
    exact = size * Fraction(1, 2**decays) * (1 + Fraction(1, 2**41)) / divisor
    found = module._value(Gap(size, decays), Fraction(1), divisor)
    assert 0 <= found - exact < Fraction(1, 2**192)


def test_small_and_steep_gaps_have_the_least_bound():
    least = Fraction(1, 2**100)
    assert module._value(Gap(0, 0), Fraction(1)) == least
    assert module._value(Gap(2**61, 301), Fraction(1)) == least
    assert module._value(Gap(1, 300), Fraction(1)) == least


def test_no_power_of_e_is_computed_for_a_steep_gap(monkeypatch):
    """Its exact value would have as many bits as the gap has decays: a million of them, or as many as there are rows."""
    monkeypatch.setattr(module, "exp_up", lambda _: pytest.fail("a steep gap was given to exp_up"))
    assert module._value(Gap(5, 10**9), Fraction(1)) == module.LEAST


def test_the_bounds_met_on_the_way_are_rounded_up(monkeypatch):
    """What is rounded up is doubled, and what is rounded down halved."""
    assert module.units_passed(Fraction(1, 2), 1) == 1
    monkeypatch.setattr(module, "exp_up", lambda value: 2 * exp_up(value))
    monkeypatch.setattr(module, "exp_down", lambda value: exp_down(value) / 2)
    expected = (2 * math.exp(3) - 1) / (math.exp(1.5) / 2 - 1)
    assert float(module.units_passed(Fraction(3), 2)) == pytest.approx(expected, rel=1e-12)


# ---- bounds that do not begin at 0 ----

LOWER, UPPER = 3, 14
LISTS = [[], [5], [5, 13], [4, 9, 10], [4, 4, 9, 13], [3, 6, 6, 11, 14], [4, 5, 8, 9, 12, 13, 13]]


@pytest.mark.parametrize("trim", [0, 1, 2, 3])
@pytest.mark.parametrize("values", LISTS)
def test_a_trimmed_mean_is_that_of_the_rows_that_are_left(values, trim):
    left = values[trim : len(values) - trim]
    expected = Fraction(sum(left), len(left)) if left else (LOWER + UPPER) // 2
    assert trimmed_mean(sorted_rows(values, LOWER, UPPER), trim) == expected


@pytest.mark.parametrize("rate", [0.3, 2])
@pytest.mark.parametrize("trim", [0, 1, 2, 3])
@pytest.mark.parametrize("values", LISTS)
def test_the_bound_of_a_trimmed_mean_is_the_largest_over_all_pairs(values, trim, rate):
    """smooth.md: the range, decayed until two rows are left, or the widest decayed gap around the rows that are left."""
    size, kept, padded = len(values), len(values) - 2 * trim, [LOWER, *values, UPPER]
    candidates = [(UPPER - LOWER) * math.exp(-rate * max(kept - 2, 0))]
    for low in range(trim + 1) if kept > 0 else ():
        for high in range(size + 1 - trim, size + 2):
            candidates.append((padded[high] - padded[low]) / kept * math.exp(-rate * (high - low - kept - 1)))
    bound = smooth_trimmed_mean(sorted_rows(values, LOWER, UPPER), trim, Fraction(str(rate)), 1, ADD_REMOVE)
    assert float(bound) == pytest.approx(max(candidates), rel=1e-9)


def test_no_rows_have_the_range_as_their_bound():
    assert smooth_order_statistic(sorted_rows([], LOWER, UPPER), HALF, Fraction(1)) == UPPER - LOWER


# ---- how far the search looks ----


@pytest.mark.parametrize("end", [0, 1, 2, 3, 4, 5, 8, 9, 1000])
def test_distances_double_up_to_the_end(end):
    assert module._doubling_distances(end) == [0, *(2**k for k in range(10) if 2**k < end), end]


@pytest.mark.parametrize("width", [1, 2])
def test_the_gaps_at_doubling_distances_are_probed(width):
    """From places 4 and 6 of seven, with the bounds at places 0 and 8; a pair of `free` places or fewer does not decay."""
    places = [LOWER, *LISTS[-1], UPPER]
    gaps = module._probe(sorted_rows(LISTS[-1], LOWER, UPPER), module.Window(4, 6, free=2, width=width))
    assert set(gaps) == {Gap(places[j] - places[i], (j - i - 2) // width) for i in (4, 3, 2, 0) for j in (6, 7, 8)}


def test_places_decay_one_by_one_unless_a_unit_is_wider():
    assert [module.Window(3, 4, free=1).decays(3, j) for j in (4, 5, 9)] == [0, 1, 5]


def test_the_logarithm_of_a_gap_falls_by_the_rate_with_each_decay():
    assert module._log_weight(Gap(8, 3), HALF) == pytest.approx(math.log(8) - 1.5)
    assert module._log_weight(Gap(0, 3), HALF) == -math.inf


@pytest.mark.parametrize(
    ("start", "rate", "decays"),
    [
        (Gap(1, 0), 1.0, 7),  # ln 1000 is 6.9
        (Gap(1, 2), 1.0, 9),
        (Gap(1, 0), 0.5, 14),
        (Gap(1000, 5), 1.0, 6),  # exactly 5, which rounding may hide
        (Gap(0, 0), 1.0, 77),  # ln(1000 2^100) is 76.2
        (Gap(1, 500), 1.0, 77),
    ],
)
@pytest.mark.parametrize("width", [1, 3])
def test_rows_matter_until_the_range_decays_below_the_start_or_the_least(start, rate, decays, width):
    """One decay for rounding, and one for the places that do not decay; there are no places beyond the bounds of few rows."""
    many, few = (sorted_rows([10**6 + 17] * size, 10**6, 10**6 + 1000) for size in (1000, 3))
    assert module._reach(many, start, Fraction(rate), width) == (decays + 2) * width
    assert module._reach(few, start, Fraction(rate), width) == 4
