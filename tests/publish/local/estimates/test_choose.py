"""The choice of a randomizer: exact variances, the spec's figures, and ties by the size of a report."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.local.estimates.choose import MAKERS, Candidate, Choice, choose
from tacit.publish.local.estimates.estimate import share_variance
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.unary import Unary


@pytest.mark.parametrize(("size", "figure"), [(2, 0.92067), (4, 1.59807), (16, 5.66243), (100, 34.11297)])
def test_k_ary_variances_at_share_zero(size, figure):
    assert float(share_variance(KAry(size, 1), 0, 1)) == pytest.approx(figure, abs=5e-6)


def test_unary_variances_at_share_zero():
    assert float(share_variance(Unary(100, 1), 0, 1)) == pytest.approx(3.68269, abs=5e-6)
    assert float(share_variance(Unary.symmetric(100, 1), 0, 1)) == pytest.approx(3.91770, abs=5e-6)
    assert float(share_variance(LocalHashing(100, 1), 0, 1)) == pytest.approx(3.68269, rel=0.01)  # four cells, and not e + 1


@given(st.integers(2, 200), st.fractions(Fraction(1, 10), 5, max_denominator=20), st.sampled_from(["worst", "total"]))
def test_the_first_is_the_best_and_the_figures_are_those_of_the_estimates(size, epsilon, goal):
    choice = choose(size, epsilon, goal)
    figures = [getattr(each, goal) for each in choice.candidates]
    assert figures == sorted(figures)
    best = choice.candidates[0]
    assert best.oracle is choice.oracle
    shares = [Fraction(code == 0) for code in range(size)]
    assert best.worst == max(share_variance(best.oracle, share, 1) for share in (0, Fraction(1, 3), 1))
    assert best.total == sum(share_variance(best.oracle, share, 1) for share in shares)


def test_the_total_is_the_same_for_every_population():
    oracle = Unary(4, 1)
    populations = [(1, 0, 0, 0), ("1/2", "1/2", 0, 0), ("1/4",) * 4]
    totals = {sum(share_variance(oracle, share, 10) for share in shares) for shares in populations}
    assert totals == {Candidate.of("unary, optimized", 4, Fraction(1)).total / 10}


def test_few_categories_go_k_ary_and_many_do_not():
    assert isinstance(choose(3, 1).oracle, KAry)
    assert isinstance(choose(100, 1).oracle, Unary)
    assert isinstance(choose(100, 1, "total").oracle, Unary)
    assert isinstance(choose(10**6, 2).oracle, LocalHashing)  # a unary report of a million bits is not offered
    assert isinstance(choose(100, 6, "total").oracle, KAry)


def test_equal_variances_are_told_apart_by_the_size_of_a_report():
    """Hadamard response and optimized unary encoding have the same worst variance, exactly."""
    names = [each.name for each in choose(100, 1).candidates]
    assert names.index("Hadamard response") < names.index("unary, optimized")
    one, other = (Candidate.of(name, 100, Fraction(1)) for name in ("Hadamard response", "unary, optimized"))
    assert one.worst == other.worst
    assert one.report_bits < other.report_bits


def test_it_is_explained():
    choice = choose(100, 1)
    assert "unary, symmetric for 100 categories at epsilon 1" in choice.reason
    assert all(name in str(choice) for name in MAKERS)
    one, other = (Candidate.of(name, 100, Fraction(1)) for name in ("Hadamard response", "unary, optimized"))
    assert "takes 7 bits and not 100" in Choice((one, other), "worst").reason
    assert "with" not in Choice((one,), "worst").reason


def test_report_sizes_count_what_is_sent():
    assert [Candidate.of(name, 100, Fraction(1)).report_bits for name in MAKERS] == [7, 7, 10, 100, 100]


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="goal"):
        choose(10, 1, "beauty")
    with pytest.raises(InvalidInput, match="size"):
        choose(1, 1)


def test_where_the_reports_are_as_long_too_the_reason_says_so():
    assert choose(2**17, "0.1").reason.endswith("as with local hashing, and its report takes 18 bits too")
