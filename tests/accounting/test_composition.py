from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import events
from tacit.accounting.composition import Cost, cost, cost_of, loss, moved_weight_up, parallel, restated, sequential
from tacit.accounting.gaussian_sums import tail_sum, whole_sum
from tacit.errors import InvalidBudget, InvalidInput, UnknownEvent, WrongRelation
from tacit.privacy.conversion import pure_rho_up
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Approximate, Concentrated, Loss, Neighbours, Probabilistic, Pure
from tacit.privacy.rounding import exp_up
from tacit.privacy.universe import Universe

F = Fraction
UNIT = Neighbours("add-remove", "unit")
ONE = pure_rho_up(F(1))  # 0.462, where 1^2 / 2 is the round bound

THEOREMS: list[tuple[events.Event, Loss]] = [
    (events.LaplaceNoise(F(3), F(6)), Pure(F(1, 2))),
    (events.LaplaceNoise(F(0), F(0)), Pure(0)),
    (events.GaussianNoise(F(2), F(4)), Concentrated(F(1, 8))),
    (events.GaussianNoiseOne(F(2), F(9), F(1), F(1, 10**6)), Approximate(1, 1e-6)),
    (events.ExponentialChoice(F(1, 3)), Pure(F(1, 3))),
    (events.BoundedRangeChoice(F(1, 3), UNIT), Pure(F(1, 3), UNIT)),
    (events.NoisyMax(F(1, 3), UNIT), Pure(F(1, 3), UNIT)),
    (events.AboveThreshold(F(1, 4), F(1, 2), 3), Pure(F(3, 4))),
    (events.RandomizedAnswer(F(1)), Pure(1, CHANGE_ONE)),
    (events.SmoothNoise(F(1), F(0), F(1, 4), F(1, 2), F(4)), Pure(1)),
    (events.SmoothNoise(F(1), F(1, 10**6), F(1, 2), F(1, 30), None), Approximate(1, 1e-6)),
    (events.ThresholdedKeys(F(1), F(1, 10**6), 1, 15), Approximate(1, 1e-6)),
    (events.GaussianKeys(F(2), F(4), F(1, 10**6), 4, 15), Concentrated(F(1, 8), F(1, 10**6))),
    (events.Resampling(F(1), F(0)), Pure(1, CHANGE_ONE)),
    (events.Resampling(F(1), F(1, 10**6)), Approximate(1, 1e-6, CHANGE_ONE)),
    (events.Resampling(F(1), F(1, 10**6), ADD_REMOVE), Approximate(1, 1e-6)),
    (events.Batch((events.NoisyMax(F(1)), events.GaussianNoise(F(1), F(1)))), Concentrated(ONE + F(1, 2))),
    (events.AdaptiveRounds(F(1), F(1, 8), F(0)), Pure(1)),
    (events.AdaptiveRounds(None, F(1, 8), F(1, 10**9)), Concentrated(F(1, 8), F(1, 10**9))),
    (events.Parallel((events.NoisyMax(F(1)), events.NoisyMax(F(2)))), Pure(2)),
]


@pytest.mark.parametrize(("event", "expected"), THEOREMS, ids=lambda value: type(value).__name__)
def test_each_event_has_the_loss_of_its_theorem(event: events.Event, expected: Loss) -> None:
    assert loss(event) == expected


def test_unknown_events_and_noise_without_scale_have_no_price() -> None:
    with pytest.raises(UnknownEvent, match="str is an unknown event"):
        loss("a wish")  # type: ignore[arg-type]
    with pytest.raises(InvalidBudget, match="scale 0 gives no privacy"):
        loss(events.LaplaceNoise(F(1), F(0)))
    with pytest.raises(InvalidInput, match="nothing to compose"):
        loss(events.Batch(()))


def test_the_triple_of_each_kind_of_loss() -> None:
    assert cost_of(Pure(1)) == Cost(F(1), ONE, F(0))
    assert cost_of(Approximate(1, 1e-6)) == Cost(F(1), ONE, F(1, 10**6))
    assert cost_of(Probabilistic(1, 1e-6)) == cost_of(Approximate(1, 1e-6))
    assert cost_of(Concentrated("1/8", 1e-9)) == Cost(None, F(1, 8), F(1, 10**9))


def test_a_bounded_range_costs_a_fourth_of_the_rho_and_what_was_recorded_before_keeps_its_price() -> None:
    assert cost(events.BoundedRangeChoice(F(1))) == Cost(F(1), F(1, 8), F(0))
    assert cost(events.ExponentialChoice(F(1))) == cost(events.NoisyMax(F(1))) == Cost(F(1), ONE, F(0))
    changed = restated(cost(events.BoundedRangeChoice(F(1))), CHANGE_ONE)
    assert changed == Cost(F(2), F(1, 2), F(0), CHANGE_ONE), "an interval twice as long: 2^2 / 8"
    assert cost(events.BoundedRangeChoice(F(20))) == cost(events.NoisyMax(F(20))), "20^2 / 8 is more than pure 20 counts"


def test_rounds_cost_the_totals_of_their_filter() -> None:
    assert cost(events.AdaptiveRounds(F(1), F(1, 20), F(0))) == Cost(F(1), F(1, 20), F(0)), "not the rho of pure 1"
    concentrated = cost(events.AdaptiveRounds(None, F(1, 8), F(1, 10**9)))
    assert concentrated == Cost(None, F(1, 8), F(1, 10**9))
    assert restated(concentrated, CHANGE_ONE).rho == F(1, 2)


def test_a_batch_costs_the_sum_of_the_triples_and_not_the_triple_of_the_sum() -> None:
    two = events.Batch((events.NoisyMax(F(1)), events.ThresholdedKeys(F(2), F(1, 10**6), 1, 15)))
    assert cost(two) == Cost(F(3), ONE + pure_rho_up(F(2)), F(1, 10**6))
    assert cost_of(loss(two)).rho == pure_rho_up(F(3)) > cost(two).rho
    assert cost(events.Batch((two, events.GaussianNoise(F(1), F(1))))).epsilon is None


def test_parts_under_add_remove_cost_the_largest_of_each_number() -> None:
    parts = (events.NoisyMax(F(1)), events.ThresholdedKeys(F(1, 2), F(1, 10**6), 1, 15))
    assert cost(events.Parallel(parts)) == Cost(F(1), ONE, F(1, 10**6))
    assert cost(events.Parallel((*parts, events.GaussianNoise(F(3), F(1))))) == Cost(None, F(9, 2), F(1, 10**6))


def test_relations_do_not_mix() -> None:
    with pytest.raises(WrongRelation, match="cannot be composed"):
        cost(events.Batch((events.NoisyMax(F(1)), events.NoisyMax(F(1), UNIT))))
    with pytest.raises(WrongRelation, match="cannot be composed"):
        cost(events.Parallel((events.NoisyMax(F(1)), events.RandomizedAnswer(F(1)))))
    with pytest.raises(WrongRelation):
        sequential([Pure(1), Pure(1, CHANGE_ONE)])
    with pytest.raises(WrongRelation, match="can move a row from"):
        cost(events.Parallel((events.RandomizedAnswer(F(1)),)))
    with pytest.raises(WrongRelation, match="has no price for 'add"):
        restated(cost(events.RandomizedAnswer(F(1))), ADD_REMOVE)
    with pytest.raises(WrongRelation, match="no price"):
        restated(cost(events.NoisyMax(F(1), UNIT)), CHANGE_ONE)


def test_kinds_are_made_one_before_they_add() -> None:
    assert sequential([Pure(1), Probabilistic(1, 1e-6)]) == Probabilistic(2, 1e-6)
    assert sequential([Pure(1), Approximate(1, 1e-6), Probabilistic(1, 1e-6)]) == Approximate(3, 2e-6)
    assert sequential([Concentrated("1/2", 1e-9), Approximate(1, 1e-6)]) == Concentrated(F(1, 2) + ONE, F("1e-9") + F("1e-6"))
    assert sequential([Pure(1)] * 3) == Pure(3)


# Disjoint parts, checked on every pair of neighbours: a sum in each of two parts, with Laplace noise. At integer shifts the
# largest log-ratio is exactly sum of |shift| / scale.

VALUES = {"signed": (-1, 1), "positive": (0, 1), "count": (1,)}
PEOPLE = {kind: Universe(tuple(product("ab", values))) for kind, values in VALUES.items()}


def worst_over_neighbours(kind: str, scales: tuple[Fraction, Fraction], relation: Neighbours) -> Fraction:
    def sums(database):
        return [sum(value for part, value in database.rows if part == wanted) for wanted in "ab"]

    return max(
        sum((abs(x - y) / s for x, y, s in zip(sums(one), sums(other), scales, strict=True)), start=F(0))
        for one in PEOPLE[kind].databases_up_to(2)
        for other in one.neighbours(relation)
    )


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("scales", [(F(1), F(2)), (F(1), F(1)), (F(3), F(10**6))])
def test_disjoint_parts_on_all_neighbours(kind: str, scales: tuple[Fraction, Fraction]) -> None:
    parts = [Pure(1 / scale) for scale in scales]
    change_inside = {"signed": 2, "positive": 1, "count": 0}[kind]
    within = [Pure(change_inside / scale, CHANGE_ONE) for scale in scales]
    assert worst_over_neighbours(kind, scales, ADD_REMOVE) == parallel(parts, ADD_REMOVE).epsilon
    worst = worst_over_neighbours(kind, scales, CHANGE_ONE)
    assert worst == parallel(parts, CHANGE_ONE, within).epsilon
    assert worst <= parallel(parts, CHANGE_ONE).epsilon == 2 * max(part.epsilon for part in parts)
    assert worst <= restated(cost_of(parallel(parts, ADD_REMOVE)), CHANGE_ONE).epsilon


def test_the_two_largest_alone_would_be_a_mistake() -> None:
    scales = F(1), F(2)
    two_largest = sum(1 / scale for scale in scales)
    assert worst_over_neighbours("signed", scales, CHANGE_ONE) == 2 > two_largest


def test_change_one_parts_of_every_kind() -> None:
    assert parallel([Concentrated(1), Concentrated("1/2")], CHANGE_ONE) == Concentrated(4, 0, CHANGE_ONE)
    within = [Concentrated(1, 0, CHANGE_ONE)] * 2
    assert parallel([Concentrated(1), Concentrated("1/2")], CHANGE_ONE, within) == Concentrated("3/2", 0, CHANGE_ONE)
    mixed = parallel([Approximate(1, 1e-6), Pure(2)], CHANGE_ONE)
    assert (mixed.epsilon, mixed.delta) == (4, (1 + exp_up(F(1))) / 10**6)
    with pytest.raises(WrongRelation, match="one loss for 'change one"):
        parallel([Pure(1), Pure(1)], CHANGE_ONE, within=[Pure(1, CHANGE_ONE)])
    with pytest.raises(WrongRelation, match="no price"):
        parallel([Pure(1, UNIT)], CHANGE_ONE)


def test_restated_numbers() -> None:
    assert restated(cost_of(Pure(1)), ADD_REMOVE) == cost_of(Pure(1))
    assert restated(cost_of(Pure(1)), CHANGE_ONE) == Cost(F(2), pure_rho_up(F(2)), F(0), CHANGE_ONE)
    delta = F(1, 10**6)
    twice = restated(cost_of(Approximate(1, delta)), CHANGE_ONE)
    assert (twice.epsilon, twice.rho, twice.delta) == (2, 4 * ONE, delta * (1 + exp_up(F(1))))
    concentrated = restated(cost_of(Concentrated(1, delta)), CHANGE_ONE)
    assert (concentrated.epsilon, concentrated.rho) == (None, 4)
    assert concentrated.delta == delta + moved_weight_up(delta, F(1))


def hockey_stick(one: list[Fraction], other: list[Fraction], ratio: Fraction) -> Fraction:
    return sum((max(F(0), p - ratio * q) for p, q in zip(one, other, strict=True)), start=F(0))


laws = st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any).map(lambda w: [F(x, sum(w)) for x in w])


@given(laws, laws, laws, st.sampled_from([F(1, 10), F(1, 2), F(1)]))
def test_two_steps_of_any_laws_stay_within_the_restated_price(first, middle, last, epsilon) -> None:
    """x0, x1, x2 in a row: what holds from one to the next, restated, holds from the first to the last."""
    ratio = exp_up(epsilon)
    steps = [(first, middle), (middle, first), (middle, last), (last, middle)]
    delta = max(hockey_stick(one, other, ratio) for one, other in steps)
    if delta < 1:
        price = restated(cost_of(Approximate(epsilon, delta)), CHANGE_ONE)
        assert hockey_stick(first, last, ratio**2) <= price.delta


def gaussian_weight_from(start: int, scale: Fraction) -> Fraction:
    return tail_sum(scale, start).up / whole_sum(scale).down


@pytest.mark.parametrize("shift", [1, 10, 30])
@pytest.mark.parametrize("start", [40, 80, 150])
def test_a_small_set_weighs_more_for_the_neighbour_but_no_more_than_moved(start: int, shift: int) -> None:
    scale = F(10)
    weight, for_the_neighbour = gaussian_weight_from(start, scale), gaussian_weight_from(start - shift, scale)
    rho = F(shift**2) / (2 * scale**2)
    assert weight < for_the_neighbour <= moved_weight_up(weight, rho) <= 1000 * for_the_neighbour


def test_a_truncated_law_needs_more_than_the_weight_it_cuts_off() -> None:
    """Outputs possible for one neighbour only: their weight exceeds the truncation, and stays within the event's delta."""
    scale, shift, cut = F(10), 20, 60
    truncation = 2 * gaussian_weight_from(cut + 1, scale)
    impossible_for_the_neighbour = gaussian_weight_from(cut - shift + 1, scale) - gaussian_weight_from(cut + 1, scale)
    known = loss(events.GaussianNoise(F(shift), scale, truncation))
    assert isinstance(known, Concentrated)
    assert truncation < impossible_for_the_neighbour <= known.delta < 10**5 * impossible_for_the_neighbour
    assert loss(events.GaussianNoise(F(1), F(1), F(1, 2**190))).delta < F(1, 10**50)


def test_moved_weight_at_its_ends() -> None:
    assert moved_weight_up(F(0), F(7)) == 0
    assert moved_weight_up(F(1, 10), F(100)) == 1
    assert 0 <= moved_weight_up(F(1, 10), F(0)) - F(1, 10) < F(1, 10**50)


@given(st.lists(st.tuples(st.fractions(0, 3), st.fractions(0, 1), st.fractions(0, F(1, 10))), min_size=2, max_size=5), st.randoms())
def test_costs_add_in_any_order(numbers, order) -> None:
    costs = [Cost(*numbers_of_one) for numbers_of_one in numbers]
    shuffled = order.sample(costs, len(costs))
    assert sum(costs[1:], start=costs[0]) == sum(shuffled[1:], start=shuffled[0])
