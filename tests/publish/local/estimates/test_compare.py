"""Two groups: differences without bias, with exact coverage over every report of tiny groups."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from enumeration import moments, surveys
from tacit.errors import InvalidInput
from tacit.publish.local.estimates.compare import compare
from tacit.publish.local.estimates.concentration import GUARANTEED
from tacit.publish.local.estimates.estimate import Request, Tally, Total, mean_scatter
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.numeric import OneBit


def compared(oracle, first, second, request):
    """(probability, difference) of every outcome of two tiny groups."""
    for (one, left), (other, right) in product(surveys(oracle, first), surveys(oracle, second)):
        yield one * other, compare(oracle, Tally(len(first), left), Tally(len(second), right), request)


@pytest.mark.parametrize("bound", GUARANTEED)
def test_differences_are_unbiased_and_covered(bound):
    oracle, request = KAry(3, 2), Request(confidence=0.6, bound=bound)
    for first, second in [((0, 1), (1, 2)), ((0, 0), (0, 0)), ((0, 0), (2, 2)), ((1, 2), (1,))]:
        truth = np.array([first.count(code) / len(first) - second.count(code) / len(second) for code in range(3)])
        outcomes = list(compared(oracle, first, second, request))
        for code in range(3):
            mean, _ = moments((weight, Fraction(float(found.values[code]))) for weight, found in outcomes)
            assert float(mean) == pytest.approx(truth[code], abs=1e-12)
            covered = sum(weight for weight, found in outcomes if found.low[code] <= truth[code] <= found.high[code])
            assert covered >= Fraction(6, 10)


def test_the_variance_of_the_difference_is_within_the_one_used():
    oracle = Binary(1)
    outcomes = compared(oracle, (0, 1), (1, 1, 1), Request(bound="chebyshev"))
    _, variance = moments((weight, Fraction(float(found.values[1]))) for weight, found in outcomes)
    half = compare(oracle, Tally(2, [1, 1]), Tally(3, [1, 2]), Request(confidence=0.5, bound="chebyshev")).margin
    assert float(variance) == pytest.approx(half**2 / 2, rel=1e-9)


def test_groups_that_differ_are_told_apart_and_equal_ones_are_not():
    """False alarm: the estimate of a difference of 0.4 would have to be 0.37 off, 39 standard deviations: below 10^-100."""
    oracle = Binary(1)
    first, second = (oracle.randomize(np.arange(20_000) % 10 < tenths) for tenths in (7, 3))
    assert compare(oracle, first, second).differs.all()
    same = compare(oracle, Tally(1000, [500, 500]), Tally(1000, [510, 490]))
    assert not same.differs.any()


def test_means_of_groups():
    randomizer = OneBit(0, 10, 1)
    found = compare(randomizer, Total(1000, 8000.0), Total(500, 2000.0), Request(bound="hoeffding"))
    assert found.values.tolist() == [4.0]
    assert found.low[0] == pytest.approx(4 - found.margin)
    assert found.high[0] == pytest.approx(min(10, 4 + found.margin))
    assert "mean" in str(found.named(["mean"]))
    assert found.margin == pytest.approx(scatter(randomizer, 1000, 500).half_width("hoeffding", Fraction(1, 20)) + 1)  # a step
    assert "with ± 1 for rounding" in str(found)


def scatter(randomizer, *sizes):
    one, other = (mean_scatter(randomizer, people) for people in sizes)
    return one + other


def test_groups_that_rounding_moves_apart_do_not_differ():
    """All of one group answer 4.4, all of the other 4.6, on a grid of step 1: a difference of 0.2 that is seen as 1."""
    randomizer, people = OneBit(0, 10, 100), 10**6
    groups = Total(people, 5.0 * people), Total(people, 4.0 * people)
    found, bare = compare(randomizer, *groups), compare(randomizer, *groups, Request(on_grid=True))
    assert found.low[0] <= 0.2 <= found.high[0]
    assert bare.low[0] > 0.2  # the planted bug


def test_how_it_is_shown(tmp_path):
    found = compare(Binary(1), Tally(1000, [100, 900]), Tally(1000, [900, 100])).named(["no", "yes"])
    assert [row["differs"] for row in found.to_rows()] == [True, True]
    assert found.to_csv(tmp_path / "d.csv") == (tmp_path / "d.csv").read_text()
    assert found.to_csv().startswith("category,difference,low,high,differs\nno,")
    assert found.chart(tmp_path / "d.svg") is not None
    assert (tmp_path / "d.svg").stat().st_size > 1000


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="2 categories require 2 names"):
        compare(Binary(1), [0], [1]).named(["one"])
    with pytest.raises(InvalidInput, match="one of"):
        compare(Binary(1), [0], [1], Request(bound="chernoff"))


def test_tallies_of_other_categories_are_refused():
    for first, second in (([3], [3, 3, 4]), ([3, 3, 4], [3, 7])):
        with pytest.raises(InvalidInput, match="the randomizer has 3"):
            compare(KAry(3, 1), Tally(10, first), Tally(10, second))
