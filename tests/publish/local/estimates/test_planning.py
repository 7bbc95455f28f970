"""Plans: with so many people the half-width is within the wanted one, and with one person fewer it is not."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.publish.local.estimates import planning
from tacit.publish.local.estimates.compare import compare
from tacit.publish.local.estimates.concentration import SUM_BOUNDS
from tacit.publish.local.estimates.estimate import Request, Tally, Total, estimate
from tacit.publish.local.estimates.intervals import BOUNDS
from tacit.publish.local.estimates.planning import least_people, plan, plan_difference, reach
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.numeric import OneBit
from tacit.publish.local.randomizers.unary import Unary


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("oracle", [Binary(1), KAry(20, 2), Unary(8, "1/2")], ids=["binary", "k-ary", "unary"])
def test_the_plan_of_shares_inverts_the_bound_exactly(oracle, bound):
    request = Request(bound=bound, simultaneous=True)
    needed = plan(oracle, "0.05", request).people
    for people, enough in ((needed, True), (needed - 1, False)):
        tally = Tally(people, np.full(oracle.size, people // 3))
        assert (estimate(oracle, tally, bound=bound, simultaneous=True).margin <= 0.05) is enough


@pytest.mark.parametrize("bound", SUM_BOUNDS)
def test_the_plan_of_a_mean_inverts_the_bound_exactly(bound):
    randomizer = OneBit(0, 100, 1)
    needed = plan(randomizer, 5, Request(bound=bound)).people
    found = [estimate(randomizer, Total(people, 50.0 * people), bound=bound).margin for people in (needed, needed - 1)]
    assert found[0] <= 5 < found[1]


@pytest.mark.parametrize("bound", SUM_BOUNDS)
def test_the_plan_of_a_difference_inverts_the_bound_exactly(bound):
    oracle = KAry(5, 1)
    needed = plan_difference(oracle, "0.1", Request(bound=bound)).people
    margins = [
        compare(oracle, Tally(people, [people, 0, 0, 0, 0]), Tally(people, [people, 0, 0, 0, 0]), Request(bound=bound)).margin
        for people in (needed, needed - 1)
    ]
    assert margins[0] <= 0.1 < margins[1]


def test_two_percent_at_epsilon_one():
    """By hand: the squared slope is tanh(1/2)^2; Hoeffding ln 40 / (2 * 0.02^2 * slope^2), Chebyshev p q / (0.05 * ...)."""
    found = plan(Binary(1), 0.02).by_bound
    slope = np.tanh(0.5) * 0.02
    assert found["hoeffding"] == int(np.ceil(np.log(40) / (2 * slope**2)))
    variance = np.e / (1 + np.e) ** 2
    assert found["chebyshev"] == int(np.ceil(variance / (0.05 * slope**2)))
    assert found["chebyshev as printed"] == int(np.ceil(0.25 / (0.05 * slope**2)))
    assert found["normal"] == int(np.ceil(1.9599639845**2 * variance / slope**2))


@pytest.mark.parametrize("half_width", ["1/50", "0.02", "0.1", "1/3", "0.05"])
@pytest.mark.parametrize("flip", ["1/4", "2/5", "1/10", "3/8"])
@pytest.mark.parametrize("bound", ["chebyshev", "chebyshev as printed"])
def test_chebyshev_asks_for_not_one_person_too_many(bound, flip, half_width):
    """In rationals the least n is ceil(v / (miss w^2 slope^2)); where that is whole, n people are enough and not n + 1."""
    oracle, wanted = Binary.with_flip(flip), Fraction(half_width)
    variance = Fraction(1, 4) if "printed" in bound else oracle.hit * (1 - oracle.hit)
    least = variance / (Fraction(1, 20) * wanted**2 * (oracle.hit - oracle.false_hit) ** 2)
    half_width_of, _ = reach(oracle, Request())
    assert least_people(lambda people: half_width_of(bound, people), wanted) == math.ceil(least)


def test_one_person_too_many_is_caught(monkeypatch):
    """The planted bug: a double above 1/50 compared with 1/50 itself."""
    half_width, _ = reach(Binary.with_flip("1/4"), Request())
    assert half_width("chebyshev as printed", 50_000) == 0.02
    assert Fraction(half_width("chebyshev as printed", 50_000)) > Fraction(1, 50)
    monkeypatch.setattr(planning, "float_up", lambda number: number)  # so that the wanted one is compared as it is
    assert least_people(lambda people: half_width("chebyshev as printed", people), Fraction(1, 50)) == 50_001


def test_a_half_width_within_the_rounding_is_out_of_reach_of_any_number_of_people():
    assert plan(OneBit(0, 100, 1), "0.6").people > plan(OneBit(0, 100, 1), "0.6", Request(on_grid=True)).people
    with pytest.raises(InvalidInput, match=r"half_width must be above 0.5"):
        plan(OneBit(0, 100, 1), "0.5")
    with pytest.raises(InvalidInput, match=r"half_width must be above 1"):
        plan_difference(OneBit(0, 100, 1), "0.9")
    assert "with ± 0.5 for rounding" in str(plan(OneBit(0, 100, 1), "0.6"))


def test_the_best_guarantee_is_the_plan_and_normal_never_is():
    found = plan(Binary(1), 0.02)
    assert found.people == min(people for bound, people in found.by_bound.items() if bound != "normal")
    assert found.terms.bound != "normal"
    assert "in each group" in str(plan_difference(Binary(1), 0.02))


def test_more_is_needed_for_a_population_than_for_those_who_answer():
    assert plan(Binary(4), 0.02, Request(sampled=True)).people > plan(Binary(4), 0.02).people
    mean = OneBit(0, 1, 6, points=1001)
    assert plan(mean, "0.1", Request(sampled=True, bound="chebyshev")).people > plan(mean, "0.1", Request(bound="chebyshev")).people


def test_reach_names_its_bounds():
    half_width, bounds = reach(Binary(1), Request())
    assert bounds == tuple(BOUNDS)
    assert half_width("hoeffding", 100) > half_width("hoeffding", 200)
    assert reach(OneBit(0, 1, 1), Request())[1] == tuple(SUM_BOUNDS)


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="above 0"):
        plan(Binary(1), 0)
    with pytest.raises(InvalidInput, match="one of"):
        plan(OneBit(0, 1, 1), 0.1, Request(bound="chernoff"))
    with pytest.raises(InvalidInput, match="more than"):
        plan(Binary("0.00001"), "0.00001", Request(bound="hoeffding"))
    assert least_people(lambda people: 0.0, Fraction(1)) == 1


def test_a_loose_bound_that_would_need_too_many_people_stops_nothing():
    """Chebyshev would need more than 10^10; Bernstein does not."""
    sure = Request(confidence="0.99999999")
    found = plan(Binary(1), "0.0001", sure)
    assert found.terms.bound == "bernstein"
    assert "chebyshev" not in found.by_bound
    with pytest.raises(InvalidInput, match="more than 10,000,000,000 people"):
        plan(Binary(1), "0.0001", Request(confidence="0.99999999", bound="chebyshev"))
    with pytest.raises(InvalidInput, match="more than 10,000,000,000 people"):
        plan(Binary(1), "0.000001")
