"""Local hashing: pairs meet with probability exactly 1/g, the fast tally is the slow one, the choice of the cells."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import plausible_hits
from tacit.errors import InvalidInput, InvalidValue
from tacit.privacy.rounding import exp_down
from tacit.publish.local.randomizers import hashing
from tacit.publish.local.randomizers.hashing import ORDERS, LocalHashing, best_cells, digits_of, field_of, linear_hash, tally


def slowly(drawn, category, cells, digits):
    """The definition, a digit at a time."""
    field, total = field_of(cells), 0
    for _ in range(digits):
        total = field.sums[total, field.products[drawn % cells, category % cells]]
        drawn, category = drawn // cells, category // cells
    return int(total)


@given(st.sampled_from([2, 3, 4, 5, 8, 16, 17]), st.integers(1, 9), st.data())
def test_the_hash_is_the_product_of_the_digits(cells, digits, data):
    drawn, category = (data.draw(st.integers(0, cells**digits - 1)) for _ in range(2))
    assert linear_hash(np.array([drawn]), category, cells, digits).tolist() == [slowly(drawn, category, cells, digits)]


@pytest.mark.parametrize(("cells", "size"), [(2, 16), (3, 20), (4, 16), (5, 25), (7, 30), (8, 40)])
def test_two_categories_meet_under_exactly_one_hash_in_g(cells, size):
    """All pairs, all hashes: what `false_hit` rests on."""
    digits = digits_of(size, cells)
    drawn = np.arange(cells**digits)
    table = np.array([linear_hash(drawn, category, cells, digits) for category in range(size)])
    for one in range(size):
        meetings = (table == table[one]).sum(axis=1)
        meetings[one] = drawn.size // cells
        assert (meetings == drawn.size // cells).all()


def test_a_family_modulo_a_prime_that_is_not_the_cells_would_not_do():
    """The planted bug: ((a v + b) mod 31) mod 4, the usual family, under which pairs meet more or less often than 1/4."""
    a, b = np.meshgrid(np.arange(1, 31), np.arange(31))
    hashed = [((a * v + b) % 31) % 4 for v in range(10)]
    assert {Fraction(int((hashed[0] == hashed[v]).sum()), a.size) for v in range(1, 10)} != {Fraction(1, 4)}


@settings(max_examples=30)
@given(st.integers(2, 60), st.sampled_from([2, 3, 4, 5, 7, 8]), st.randoms(use_true_random=False))
def test_the_fast_tally_counts_what_the_slow_one_does(size, cells, random):
    response = LocalHashing(size, 1, cells=cells)
    reports = np.array([random.randrange(response.hashes * cells) for _ in range(50)])
    slow = [sum(slowly(r // cells, v, cells, response.digits) == r % cells for r in reports.tolist()) for v in range(size)]
    assert response.supports(reports).tolist() == slow
    assert response.supports_of(reports, np.arange(size)).tolist() == slow


@pytest.mark.parametrize(("cells", "size"), [(2, 5), (3, 10), (5, 26), (7, 60), (8, 70), (16, 300), (23, 24), (23, 530), (31, 7)])
def test_the_highest_digit_is_the_one_that_is_cut(cells, size):
    """Sizes that leave the highest digit few values; the tally of all vectors begins with that of some."""
    response = LocalHashing(size, 1, cells=cells)
    reports = response.randomize(np.arange(400) % size)
    counts = np.bincount(reports, minlength=response.hashes * cells).reshape(response.hashes, cells)
    some, whole = tally(counts, response.digits, size), tally(counts, response.digits)
    assert (len(some), len(whole)) == (size, response.hashes)
    assert some.tolist() == whole[:size].tolist() == response.supports_of(reports, np.arange(size)).tolist()


def test_a_tally_of_more_reports_than_32_bits_count_is_not_cut_off():
    response = LocalHashing(4, 1, cells=2)
    counts = np.full((4, 2), 2**30)
    assert tally(counts, response.digits).tolist() == [2**32] * 4
    assert tally(counts[:2], 1).tolist() == [2**31] * 2


def test_a_tally_that_forgets_a_digit_is_seen():
    """The planted bug: the transform over all digits but the last."""
    response = LocalHashing(16, 1, cells=4)
    counts = np.bincount(response.randomize(np.full(2000, 9)), minlength=64).reshape(16, 4)
    whole = tally(counts, 2)
    assert whole[9] == response.supports_of(np.repeat(np.arange(64), counts.reshape(-1)), [9])[0]
    assert tally(counts[:4], 1)[1] != whole[9]


def test_fifty_categories_are_supported_as_often_as_they_should():
    response, people = LocalHashing(50, 1), 100_000
    counts = response.supports(response.randomize(np.full(people, 49)))
    expected = np.full(50, float(response.false_hit))
    expected[49] = float(response.hit)
    assert plausible_hits(counts, people, expected)


@pytest.mark.parametrize("epsilon", [Fraction(at, 20) for at in range(1, 101)], ids=str)
def test_the_cells_are_the_best_there_are_and_near_e_to_the_epsilon_plus_one(epsilon):
    """The variance at a share of zero is within 3.1 per cent (from epsilon 1 on 1.1) of the optimum over all reals."""
    ratio = exp_down(epsilon)
    chosen = LocalHashing(1000, epsilon)
    variance = chosen.false_hit * (1 - chosen.false_hit) / (chosen.hit - chosen.false_hit) ** 2
    optimum = 4 * ratio / (ratio - 1) ** 2
    assert optimum <= variance <= optimum * (Fraction("1.011") if epsilon >= 1 else Fraction("1.031"))
    assert all(variance <= _variance(ratio, cells) for cells in ORDERS)
    assert best_cells(ratio) == chosen.cells


def _variance(ratio, cells):
    hit, miss = ratio / (ratio + cells - 1), Fraction(1, cells)
    return miss * (1 - miss) / (hit - miss) ** 2


def test_very_many_categories_are_tallied_one_by_one():
    response = LocalHashing(2**40, 1)
    assert response.hashes == 2**40
    reports = response.randomize(np.full(4000, 2**39 + 12345))
    hits = response.supports_of(reports, [2**39 + 12345, 7])
    assert plausible_hits(hits, 4000, [response.hit, response.false_hit])
    with pytest.raises(InvalidInput, match="supports_of"):
        response.supports(reports)


def test_cells_that_are_no_field_are_refused():
    with pytest.raises(InvalidInput, match="prime or a power of two"):
        LocalHashing(10, 1, cells=6)
    with pytest.raises(InvalidValue):
        LocalHashing(10, 1, cells=4).supports([10**6])


def test_the_tables_of_several_digits_are_small():
    assert all(hashing._products(cells, 1).size <= 2**16 for cells in (2, 16, 251, 256))
