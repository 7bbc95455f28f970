"""What an explanation says of a question with Gaussian noise: what it takes, and what fits where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import pytest

from tacit.accounting.composition import Cost, cost
from tacit.accounting.filter import NOTHING_SPENT, Filter, State
from tacit.privacy.loss import Neighbours
from tacit.query.price.price import Quote, price, request
from tacit.query.price.takes import Balance, taken
from worlds import PUBLIC, World, clinic, world_in_memory

MANY = "SELECT " + ", ".join(f"COUNT(*) FILTER (WHERE cost > {at}) AS n{at}" for at in range(20)) + " FROM visits"
UNIT = Neighbours("add-remove", "unit")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("takes")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def by(cap: Filter, state: State = NOTHING_SPENT) -> Callable[[Sequence[Quote]], int | None]:
    return lambda quotes: next((at for at, quote in enumerate(quotes) if cap.admits(state, cost(quote.event))), None)


def said(place: World, cap: Filter, state: State = NOTHING_SPENT, **budget: float) -> tuple[Quote, list[str]]:
    def priced(epsilon: Fraction) -> tuple[Quote, ...]:
        return price(place.plan(MANY), request(**{**budget, "epsilon": epsilon}))  # type: ignore[arg-type]

    return taken(priced(Fraction(1)), Balance(by(cap, state), "the remaining budget"), priced)


def test_what_is_charged_is_said_with_all_three_numbers(place: World) -> None:
    wide = Filter(8, 1e-4, neighbours=UNIT)
    quote, lines = said(place, wide, delta=1e-6)
    assert quote.stated == (1, Fraction(1, 10**6))
    (line,) = lines
    assert line.startswith("takes from the budget of the data set: epsilon 1, delta 1e-06, rho 0.02")
    small = Filter(8, 1e-6, for_events=0, neighbours=UNIT)
    quote, lines = said(place, small, delta=1e-6)
    assert quote.stated is None
    assert lines[0].startswith("takes from the budget of the data set: rho 0.02"), "as rho alone, since no delta remains"


def test_the_least_noise_for_a_cap_does_not_fit_it_and_what_does_is_answered(place: World) -> None:
    """An exactly calibrated (1, 1e-6) has rho 0.028, and a cap of (1, 1e-6) admits 0.0244."""
    quote, lines = said(place, Filter(1, 1e-6, for_events=Fraction(1, 100), neighbours=UNIT), delta=1e-6)
    assert "the least Gaussian noise takes rho 0.027" in lines[0] or "the least Gaussian noise takes rho 0.028" in lines[0]
    assert "does not admit; Gaussian noise of a smaller rho fits" in lines[0]
    assert cost(quote.event).rho < Fraction("0.0244")
    assert lines[1].startswith("takes from the budget of the data set: rho 0.02")


def test_a_smaller_epsilon_is_offered_where_nothing_fits(place: World) -> None:
    cap = Filter(1, 1e-6, for_events=Fraction(1, 100), neighbours=UNIT)
    state = cap.after(NOTHING_SPENT, Cost(None, Fraction(1, 50), Fraction(0), UNIT))
    quote, (line,) = said(place, cap, state, delta=1e-6)
    offered = Fraction(line.split("epsilon ")[1].split(" ")[0])
    assert 0 < offered < quote.epsilon
    assert by(cap, state)(price(place.plan(MANY), request(epsilon=offered, delta=1e-6))) is not None
    assert by(cap, state)(price(place.plan(MANY), request(epsilon=offered + Fraction(1, 64), delta=1e-6))) is None


def test_a_question_with_laplace_noise_says_nothing_more(place: World) -> None:
    assert said(place, Filter(8, 1e-4, neighbours=UNIT))[1] == []


def test_no_smaller_epsilon_is_searched_for_many_sums(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of the search prices the question again: with how many sums it is done is known before."""
    cap = Filter(1, 1e-6, for_events=Fraction(1, 100), neighbours=UNIT)
    state = cap.after(NOTHING_SPENT, Cost(None, Fraction(1, 50), Fraction(0), UNIT))
    quotes = price(place.plan(MANY), request(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
    monkeypatch.setattr("tacit.query.price.takes.MOST_SEARCHED", 19)
    _, lines = taken(quotes, Balance(by(cap, state), "it"), lambda _: pytest.fail("it was priced again"))
    assert lines[0].endswith("which it does not admit; ask for a smaller epsilon")
