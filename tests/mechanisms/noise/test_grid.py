"""The grid: rounding is exact, never half-even, never wraps around, and its cost in sensitivity is what grid.md says."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise import grid

STEPS = st.one_of(
    st.integers(-60, 60).map(lambda e: Fraction(2) ** e),
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**9).filter(bool),
    st.sampled_from([Fraction(1, 100), Fraction(1, 3), Fraction(7), Fraction(2) ** 1000, Fraction(1, 10**400)]),
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def by_definition(value, step: Fraction) -> int:
    return math.floor(Fraction(value) / step + Fraction(1, 2))


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30).filter(bool))
def test_the_default_step_is_the_largest_power_of_two_within_a_thousandth(scale):
    step = grid.default_step(scale)
    assert math.log2(step.numerator).is_integer()
    assert math.log2(step.denominator).is_integer()
    assert step <= scale / 1000 < 2 * step


def test_the_default_step_at_its_limits():
    assert grid.default_step(Fraction(1000)) == 1
    assert grid.default_step(Fraction(999)) == Fraction(1, 2)
    assert grid.default_step(Fraction(0)) == Fraction(1, 2**20)


@settings(max_examples=200)
@given(FLOATS, STEPS)
@example(0.49999999999999994, Fraction(1))  # adding 1/2 in floats gives 1
@example(-0.49999999999999994, Fraction(1))
@example(-0.5, Fraction(1))
@example(2.5, Fraction(1))
@example(4503599627370497.5, Fraction(1))
@example(5e-324, Fraction(1))
@example(1.7976931348623157e308, Fraction(1, 2**60))
@example(0.005, Fraction(1, 100))
@example(0.015, Fraction(1, 100))
def test_floats_round_as_defined_alone_and_in_arrays(value, step):
    expected = by_definition(value, step)
    assert grid.to_units(value, step) == expected
    assert grid.to_units(np.float64(value), step) == expected
    assert grid.to_units(np.array([value, 0.0]), step).tolist() == [expected, 0]


@settings(max_examples=200)
@given(st.integers(-(2**63), 2**64), STEPS)
def test_integers_round_as_defined_alone_and_in_arrays(value, step):
    expected = by_definition(value, step)
    assert grid.to_units(value, step) == expected
    assert grid.to_units([value], step).tolist() == [expected]
    assert grid.to_units(np.array([value], dtype=object), step).tolist() == [expected]


TIED_STEPS = [Fraction(1, 100), Fraction(3, 13), Fraction(7, 17), Fraction(6, 13), Fraction(1, 10**12), Fraction(10**9, 7)]


@pytest.mark.parametrize("step", TIED_STEPS, ids=str)
def test_floats_beside_a_tie_round_as_defined_in_arrays(step):
    """The doubles nearest to ties, and those next to them: some of their quotients lie far more than 2^-49 on the wrong side."""
    units = [*range(-600, 600), *(sign * (2**e + odd) for e in range(6, 56) for odd in (-1, 0, 1) for sign in (-1, 1))]
    ties = np.array([float((unit + Fraction(1, 2)) * step) for unit in units])
    for values in (ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)):
        assert grid.to_units(values, step).tolist() == [by_definition(value, step) for value in values.tolist()]


@pytest.mark.parametrize("exponent", [-3, 0, 3, 40])
def test_floats_at_the_end_of_a_word_round_as_defined_in_arrays(exponent):
    """A step that is a power of two, in units up to 2^62, 2^63 and beyond."""
    step = Fraction(2) ** exponent
    for unit in (2**61, 2**62, 2**62 + 2**20, 2**63, 2**64):
        for value in (float(unit * step), float(-unit * step)):
            array = grid.to_units(np.array([value, 0.5]), step)
            assert array.tolist() == [by_definition(value, step), by_definition(0.5, step)]


@pytest.mark.parametrize(
    "step", [Fraction(1), Fraction(1, 8), Fraction(2), Fraction(2, 3), Fraction(7, 5), Fraction(2**61), Fraction(2**62, 3)], ids=str
)
def test_integers_at_the_end_of_a_word_round_as_defined_in_arrays(step):
    for value in (2**58, 2**59, 2**60, 2**61, 2**62, 2**63 - 1):
        for numbers in ([value, 0], [-value, 0], [value, -value], [0, 1]):
            assert grid.to_units(np.array(numbers), step).tolist() == [by_definition(number, step) for number in numbers]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "float64", "longdouble", "object"]
)
@pytest.mark.parametrize("step", [Fraction(1, 8), Fraction(1), Fraction(3, 7), Fraction(1, 100)])
def test_every_number_type_gives_the_same_units(dtype, step):
    array = np.array([0, 1, 1], dtype=dtype)
    assert grid.to_units(array, step).tolist() == [0, by_definition(1, step), by_definition(1, step)]
    assert grid.to_units(array[1], step) == by_definition(1, step)


def test_exact_numbers_stay_exact():
    assert grid.to_units(Fraction(5, 2), Fraction(1)) == 3
    assert grid.to_units(Decimal("2.5"), Fraction(1)) == 3
    assert grid.to_units(2**200 + 1, Fraction(1, 2)) == 2**201 + 2
    assert grid.to_units(np.array([Fraction(1, 3), Decimal("0.5"), 2], dtype=object), Fraction(1, 6)).tolist() == [2, 3, 12]


def test_half_even_rounding_would_break_the_bound_that_ours_keeps():
    """The planted bug: np.rint puts inputs one step apart two units apart."""
    values = np.array([0.5, 1.5])
    planted, ours = np.rint(values), grid.to_units(values, Fraction(1))
    assert planted[1] - planted[0] == 2
    assert ours[1] - ours[0] == 1


@settings(max_examples=200)
@given(FLOATS, FLOATS, STEPS)
def test_two_values_land_within_the_distance_rounded_up(one, other, step):
    apart = abs(grid.to_units(one, step) - grid.to_units(other, step))
    assert apart <= math.ceil(abs(Fraction(one) - Fraction(other)) / step)


def test_a_vector_of_reals_moves_by_up_to_ceil_of_the_distance_plus_dimension_less_one():
    """Exhaustive in quarters of a step, two and three coordinates; the bound of grid.md is attained."""
    for dimension, quarters in ((2, 7), (3, 5)):
        worst = {}
        for one, other in product(product(range(quarters), repeat=dimension), repeat=2):
            distance = sum(abs(a - b) for a, b in zip(one, other, strict=True))
            units = [grid.to_units([Fraction(x, 4) for x in vector], Fraction(1)) for vector in (one, other)]
            worst[distance] = max(worst.get(distance, 0), int(np.abs(units[0] - units[1]).sum()))
        for distance, moved in worst.items():
            assert moved <= (math.ceil(Fraction(distance, 4)) + dimension - 1 if distance else 0)
        assert worst[dimension] == dimension  # a quarter of a step in each coordinate: as many whole units as coordinates


@given(
    st.lists(st.integers(-(2**80), 2**80), min_size=1),
    st.sampled_from([Fraction(1), Fraction(3), Fraction(1, 8), Fraction(1, 100)]),
)
def test_units_become_the_nearest_numbers_alone_and_in_arrays(units, step):
    expected = [u * step.numerator / step.denominator if step.denominator > 1 else u * step.numerator for u in units]
    assert [grid.from_units(unit, step) for unit in units] == expected
    assert grid.from_units(grid.compact(np.array(units, dtype=object)), step).tolist() == expected


@pytest.mark.parametrize(
    ("units", "step"),
    [
        (2**53 + 1, Fraction(1, 3)),
        (-(2**53) - 1, Fraction(1, 3)),
        (2**52 + 1, Fraction(3, 7)),
        (1, Fraction(1, 2**53 + 1)),
        (3, Fraction(2, 2**53 + 1)),
        (2**62, Fraction(2)),
        (-(2**62), Fraction(2)),
        (2**62 - 1, Fraction(2)),
        (2**63 - 1, Fraction(1)),
        (-(2**63), Fraction(1)),
    ],
)
def test_units_that_words_and_doubles_do_not_hold_become_the_nearest_numbers(units, step):
    """Of an array as of one number: neither wrapped around nor rounded twice."""
    exact = units * step
    number = int(exact) if step.denominator == 1 else exact.numerator / exact.denominator
    assert grid.from_units(units, step) == number
    array = grid.from_units(np.array([units, 0]), step)
    assert array.tolist() == [number, 0]
    fits = step.denominator == 1 and -(2**63) <= number < 2**63
    assert array.dtype == (np.int64 if fits else object if step.denominator == 1 else np.float64)


@pytest.mark.parametrize(
    ("step", "numbers"), [(Fraction(3), [3, -6]), (Fraction(3, 2), [1.5, -3.0]), (Fraction(3, 7), [3 / 7, -6 / 7])]
)
@pytest.mark.parametrize("dtype", [np.int64, object])
def test_the_type_of_numbers_follows_from_the_step(step, numbers, dtype):
    """Also where the units are Python integers: whole steps give integers, others floats."""
    array = grid.from_units(np.array([1, -2], dtype=dtype), step)
    assert array.tolist() == numbers
    assert array.dtype == (np.int64 if step.denominator == 1 else np.float64)


def test_zeros_stay_zeros_on_grids_that_words_do_not_hold():
    for step in (Fraction(2) ** 1000, Fraction(1, 10**400)):
        assert grid.to_units(np.zeros(2, dtype=np.int64), step).tolist() == [0, 0]
    assert grid.from_units(np.zeros(2, dtype=np.int64), Fraction(2) ** 1000).tolist() == [0, 0]


def test_units_survive_the_way_there_and_back():
    for step in (Fraction(1, 256), Fraction(1, 100), Fraction(5)):
        units = np.arange(-1000, 1000)
        assert (grid.to_units(grid.from_units(units, step), step) == units).all()


def test_a_release_too_large_for_a_float_says_so():
    with pytest.raises(InvalidValue, match="too large for a float"):
        grid.from_units(10**400, Fraction(1, 2))
    assert grid.from_units(10**400, Fraction(2)) == 2 * 10**400


@given(st.lists(st.tuples(st.integers(-(2**64), 2**64), st.integers(-(2**63), 2**63 - 1)), min_size=1))
@example([(2**63 - 1, 1)])
@example([(-(2**63), -1)])
@example([(2**63, -1)])
@example([(2**63 - 1, 1), (0, 0)])  # one of several wraps around
@example([(0, 0), (-(2**63), -1)])
def test_sums_are_exact_and_their_type_follows_from_the_sum(pairs):
    one, other = (grid.compact(np.array(side, dtype=object)) for side in zip(*pairs, strict=True))
    total = grid.add_units(one, other)
    assert total.tolist() == [a + b for a, b in pairs]
    fits = all(-(2**63) <= a + b < 2**63 for a, b in pairs)
    assert total.dtype == (np.int64 if fits else object)


def test_a_number_is_added_to_a_number_and_to_an_array():
    assert grid.add_units(2**70, 3) == 2**70 + 3
    assert np.asarray(grid.add_units(np.array([1, 2]), 3)).tolist() == [4, 5]


def test_values_declared_on_the_grid_are_checked():
    assert grid.grid_units(np.array([0.07, 0.29, 1e12 + 0.01]), Fraction(1, 100)).tolist() == [7, 29, 10**14 + 1]
    assert grid.grid_units(2**90, Fraction(2)) == 2**89
    assert grid.grid_units(np.float32(0.5), Fraction(1, 4)) == 2
    for value in (3, 0.5, np.array([8, 9]), Fraction(1, 3)):
        with pytest.raises(InvalidValue, match="declared to be on the"):
            grid.grid_units(value, Fraction(8))


@pytest.mark.parametrize(("unit", "most"), [(0, 1), (5, 1), (-7, 1), (2**30 - 1, 1), (2**30, 2), (-(2**30), 2), (2**31, 3)])
def test_how_far_from_the_grid_a_value_may_be(unit, most):
    """A millionth of a step (2^-20), and beyond 2^30 units what a float of that size may be off by."""
    away = 1 if unit >= 0 else -1
    for off in (-1, 0, most):
        assert grid.grid_units(unit + Fraction(away * off, 2**20), Fraction(1)) == unit
    for off in (most + 1, 2**19, -most - 1):
        with pytest.raises(InvalidValue, match="declared to be on the"):
            grid.grid_units(unit + Fraction(away * off, 2**20), Fraction(1))


@pytest.mark.parametrize(
    "bad",
    [
        math.nan, math.inf, -math.inf, np.nan, None, "471", b"1", 1j, Decimal("NaN"), Decimal("Infinity"),
        [1.0, math.nan], np.array([math.inf]), ["a"], np.array([1j]), np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.array([1], dtype="timedelta64[D]"), np.datetime64("2020-01-01"), np.timedelta64(471),
        [[1], [1, 2]], np.array([None, 1], dtype=object),
        np.ma.masked_array([1, 2], [False, True]), {"a": 1}, np.array([math.nan], dtype=object),
    ],
)  # fmt: skip
def test_what_is_not_a_finite_number_is_refused_without_being_quoted(bad):
    with pytest.raises(InvalidValue) as caught:
        grid.to_units(bad, Fraction(1))
    assert "471" not in str(caught.value)
    assert "2020" not in str(caught.value)


@pytest.mark.parametrize("bad", [1.5, "1", [1.5], None, Fraction(1, 2), np.array([0.5]), math.nan, [1, Fraction(1, 2)]])
def test_units_are_whole_numbers(bad):
    with pytest.raises(InvalidValue, match="whole number"):
        grid.read_units(bad)


def test_units_are_read_exactly():
    assert grid.read_units(np.int8(5)) == 5
    assert grid.read_units(2**70) == 2**70
    assert grid.read_units(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [2**64 - 1]
    assert grid.read_units(np.array([np.int64(2**62)], dtype=object)).dtype == np.int64
    assert grid.read_units(np.array([True, False])).tolist() == [1, 0]


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", None, True])
def test_a_step_is_finite_and_above_zero(bad):
    with pytest.raises(InvalidInput, match="step must be a"):
        grid.read_step(bad)


def test_a_step_may_be_any_number_above_zero():
    assert [grid.read_step(step) for step in (0.5, 1, "1/3", 2)] == [Fraction(1, 2), 1, Fraction(1, 3), 2]
