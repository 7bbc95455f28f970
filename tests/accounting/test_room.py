from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from filtering import how_many, spent
from tacit.accounting.composition import Cost, cost_of
from tacit.accounting.filter import NOTHING_SPENT, Filter, State
from tacit.privacy.loss import Pure

F = Fraction
caps = st.builds(
    Filter,
    st.fractions(F(1, 10), 10),
    st.sampled_from([0, 1e-9, 1e-6, F(1, 10)]),
    st.sampled_from([0, F(1, 3), F(1, 2), 1]),
)
epsilons = st.none() | st.fractions(0, 2, max_denominator=10**6)
costs = st.builds(Cost, epsilons, st.fractions(0, F(1, 2), max_denominator=10**6), st.sampled_from([F(0), F("1e-10"), F("1e-7")]))


def test_questions_of_a_hundredth_that_fit() -> None:
    """Adaptive, in the split of a catalog without private keys; `room` says the same as asking one by one."""
    hundredth = cost_of(Pure(0.01))
    small, large = Filter(1, 1e-6, F(1, 100)), Filter(8, 1e-6, F(1, 100))
    assert how_many(small, hundredth) == small.room(NOTHING_SPENT, hundredth) == 486
    assert large.room(NOTHING_SPENT, hundredth) == 21034
    assert [Filter(cap, 1e-6).room(NOTHING_SPENT, hundredth) for cap in (1, 8)] == [458, 20169]


@given(caps, st.lists(costs, max_size=4), costs)
def test_room_is_what_asking_one_by_one_admits(cap: Filter, before: list[Cost], one: Cost) -> None:
    state = spent(cap, *before)
    room = cap.room(state, one)
    if room is None:
        assert all(cap.holds(after) for after in (state, spent(cap, *before, one, one)))
    elif room:
        last = State(*_times(cap, state, one, room))
        assert cap.holds(last)
        assert not cap.admits(last, one)
    else:
        assert not cap.admits(state, one)


def _times(cap: Filter, state: State, one: Cost, count: int) -> tuple[Fraction | None, Fraction, Fraction]:
    """The sums after `count` events of the same cost."""
    each = cap.after(NOTHING_SPENT, one)
    epsilon = None if state.epsilon is None or each.epsilon is None else state.epsilon + count * each.epsilon
    return epsilon, state.rho + count * each.rho, state.delta + count * each.delta
