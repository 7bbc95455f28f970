"""The split of epsilon: exactly the whole, the best for the forecast, and a function of the request alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from questions import clinic_questions
from tacit.accounting.composition import Cost, costs_under
from tacit.errors import InvalidInput, NoBudget
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.loss import Neighbours
from tacit.query.offers import key_of
from tacit.query.plan import Moment
from tacit.query.price import price as pricing
from tacit.query.price.needs import epsilon_shares, needs_of, rho_shares, root, round_shares
from tacit.query.price.price import Quote, price, request
from tacit.query.price.quote import Request
from tacit.query.price.stability import reach
from tacit.query.trees import canonical_text
from worlds import PUBLIC, World, clinic, world_in_memory

F = Fraction


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("needs")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def quoted(place: World, text: str, **budget: Any) -> Quote:
    return price(place.plan(text), request(**{"epsilon": 1, **budget}))[0]


def epsilons(quote: Quote) -> list[Fraction]:
    return [part.mechanism.epsilon for part in quote.sums]


# --- shares ------------------------------------------------------------------------------------------------------------------


@given(st.lists(st.fractions(min_value=0, max_value=10**6), min_size=2, max_size=25))
@example([F(1, 10**9)] * 12 + [F(1)])
@example([F(1)] * 3 + [F(2)] * 9)
def test_what_shares_lack_goes_to_the_farthest_one_by_one(sizes: list[Fraction]) -> None:
    """The rule as it is said, in as many steps: a price must not depend on how it is found."""
    shares = round_shares(sizes)
    if min(sizes) == max(sizes):
        return
    whole, total = 10 ** (1 + len(str(len(sizes)))), sum(sizes)
    parts = [max(1, int(size * whole / total)) for size in sizes]
    while sum(parts) != whole:
        step = 1 if sum(parts) < whole else -1
        free = [at for at in range(len(parts)) if parts[at] + step > 0]
        parts[max(free, key=lambda at: (step * (sizes[at] * whole / total - parts[at]), -at))] += step
    assert shares == [F(part, whole) for part in parts]


@given(st.lists(st.fractions(min_value=0, max_value=10**6), min_size=1, max_size=120))
@example([F(0), F(1)])
@example([F(1, 10**9)] * 8 + [F(1)])
@example([F(1, 10**9)] * 99 + [F(1)])
def test_rounded_shares_are_the_whole_and_each_is_something(sizes: list[Fraction]) -> None:
    shares = round_shares(sizes)
    assert sum(shares) == 1
    assert all(share > 0 for share in shares)
    if sum(sizes):
        assert all(abs(share - size / sum(sizes)) <= F(1, 10) for share, size in zip(shares, sizes, strict=True))


@given(st.fractions(min_value=0, max_value=10**9), st.sampled_from([2, 3]))
def test_a_root_is_the_largest_below(number: Fraction, degree: int) -> None:
    found = root(number, degree)
    assert found**degree <= number < (found + F(1, 10**12)) ** degree


def test_equal_needs_have_equal_shares(place: World) -> None:
    assert epsilons(quoted(place, "SELECT COUNT(*), SUM(cost) FROM visits")) == [F(1, 2)] * 2
    assert epsilons(quoted(place, "SELECT COUNT(*), SUM(cost), SUM(age) FROM visits")) == [F(1, 3)] * 3


def test_an_average_needs_less_for_its_count(place: World) -> None:
    """1/3 of the square of the sum: cube roots 0.693 and 1."""
    assert epsilons(quoted(place, "SELECT AVG(cost) FROM visits")) == [F(41, 100), F(59, 100)]
    both = epsilons(quoted(place, "SELECT COUNT(*) AS n, AVG(age) AS age FROM visits"))
    assert both == [F(63, 100), F(37, 100)], "the count has a column of its own"


def forecast(place: World, text: str, shares: dict[Any, Fraction], l1: bool) -> Fraction:
    """The weighted squares that the split minimizes, for any shares: each number's forecast over its best when alone."""
    total = F(0)
    for need in needs_of(place.plan(text), {}):
        squares = [(item, square * 9) for item, square in need.squares]  # three rows of a unit, in l1 and in l2
        alone = sum(float(square) ** (1 / (3 if l1 else 2)) for _, square in squares) ** (3 if l1 else 2)
        total += sum(square / shares[item] ** (2 if l1 else 1) for item, square in squares) / F(alone)
    return total


@pytest.mark.parametrize("text", ["SELECT AVG(cost) FROM visits", "SELECT COUNT(*), AVG(cost), SUM(cost), MEDIAN(age) FROM visits"])
@pytest.mark.parametrize("l1", [True, False])
def test_no_other_split_has_a_smaller_forecast(place: World, text: str, l1: bool) -> None:
    text = text if l1 else text.replace(", MEDIAN(age)", "")
    plan = place.plan(text)
    shares = (epsilon_shares if l1 else rho_shares)(plan, [reach(plan)], {}, {})
    best, step = forecast(place, text, shares, l1), F(1, 20)
    for more, less in product(shares, shares):
        if more != less:
            other = {**shares, more: shares[more] + step, less: shares[less] - step}
            assert forecast(place, text, other, l1) > best


# --- what is spent -----------------------------------------------------------------------------------------------------------


def spent(quote: Quote, change: Any) -> Cost:
    parts = costs_under(quote.event, Neighbours(change, "unit"))
    return sum(parts[1:], start=parts[0])


@settings(max_examples=40, deadline=None)
@given(
    clinic_questions(private_keys=True),
    st.sampled_from([F(1, 100), F(1), F(1, 3)]),
    st.sampled_from([F(0), F(1, 10**9), F(1, 100)]),
    st.lists(st.sampled_from([F(1, 1000), F(1, 7), F(3), F(1000)]), max_size=3),
)
def test_no_split_costs_more_than_was_asked_for(
    place: World, text: str, epsilon: Fraction, delta: Fraction, weights: list[Fraction]
) -> None:
    plan = place.plan(text)
    noisy = [
        plan.outputs[need.column is None or plan.outputs.index(need.column)].name for need in needs_of(plan, {}) if need.column
    ]
    chosen = dict(zip(dict.fromkeys(noisy), weights, strict=False))
    try:
        quotes = price(plan, request(epsilon=epsilon, delta=delta, weights=chosen))
    except NoBudget:
        return
    for quote in quotes:
        whole = spent(quote, "add-remove")
        assert whole.delta <= delta
        assert whole.epsilon is None or whole.epsilon <= epsilon
        assert sum(share for part in quote.parts for _, share in part.shares) == 1


@pytest.mark.usefixtures("disagreeing")
def test_shares_that_exceed_the_whole_are_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: every share is rounded up by itself."""
    text, honest = "SELECT COUNT(*), AVG(cost), SUM(cost) FROM visits", pricing.epsilon_shares
    assert spent(quoted(place, text), "add-remove").epsilon == 1
    monkeypatch.setattr(
        pricing, "epsilon_shares", lambda *given: {item: share + F(1, 100) for item, share in honest(*given).items()}
    )
    assert spent(quoted(place, text), "add-remove").epsilon > 1


def test_shares_of_rho_that_exceed_it_are_refused(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = pricing.rho_shares
    monkeypatch.setattr(pricing, "rho_shares", lambda *given: {item: share + F(1, 100) for item, share in honest(*given).items()})
    with pytest.raises(InvalidInput, match="must be above 0 and add"):
        price(place.plan("SELECT COUNT(*), SUM(cost) FROM visits"), request(epsilon=1, delta=1e-6))


# --- weights -----------------------------------------------------------------------------------------------------------------

TWO = "SELECT COUNT(*) AS n, SUM(cost) AS cost FROM visits"


def test_a_weight_moves_epsilon_to_its_column(place: World) -> None:
    assert epsilons(quoted(place, TWO, weights={"cost": 3})) == [F(32, 100), F(68, 100)], "1 to the cube root of 9"
    assert epsilons(quoted(place, TWO, weights={"COST": "1/3"})) == [F(68, 100), F(32, 100)]
    assert quoted(place, TWO, weights={"cost": 3, "n": 3}).sums == quoted(place, TWO).sums


def test_a_weight_reaches_a_question_beside_and_all_levels(place: World) -> None:
    percent = "SELECT ward, COUNT(*) AS n, 100.0 * COUNT(*) / (SELECT SUM(cost) FROM visits) AS share FROM visits GROUP BY ward"
    plain, heavy = (quoted(place, percent, weights=weights) for weights in (None, {"share": 5}))
    assert heavy.beside[0].sums[0].mechanism.epsilon > plain.beside[0].sums[0].mechanism.epsilon


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"price": 3}, "unknown column in weights: price"),
        ({"cost": 0}, "must lie between"),
        ({"cost": -1}, "must lie between"),
        ({"cost": 1e9}, "must lie between"),
        ({"cost": "much"}, "must be a finite number"),
        ([("cost", 3)], "weights must be a mapping"),
        ({3: 3}, "weights must be a mapping"),
    ],
)
def test_weights_that_say_nothing_are_refused(place: World, weights: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        quoted(place, TWO, weights=weights)


def test_weights_are_for_columns_with_noise_and_for_a_budget(place: World) -> None:
    with pytest.raises(InvalidInput, match="ward has no noise"):
        quoted(place, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", weights={"ward": 2})
    with pytest.raises(InvalidInput, match="leave out weights"):
        quoted(place, TWO, epsilon=None, error=5, weights={"cost": 2})


def test_weights_belong_to_the_key_of_an_answer_by_place(place: World) -> None:
    swapped = "SELECT COUNT(*) AS cost, SUM(cost) AS n FROM visits"
    keys = [
        key_of(quoted(place, text, weights=weights), "1")
        for text, weights in ((TWO, None), (TWO, {"cost": 3}), (TWO, {"n": 3}), (swapped, {"cost": 3}), (swapped, {"n": 3}))
    ]
    assert keys[1] == keys[4]
    assert keys[2] == keys[3]
    assert len(set(keys)) == 3


def test_a_request_without_weights_has_the_text_that_it_always_had() -> None:
    """Answers that were kept before there were weights are still found."""
    known = "Request(epsilon=1/2, delta=0, error=None, confidence=19/20, simultaneous=False)"
    assert canonical_text(request(epsilon="1/2")) == known
    assert "weights" in canonical_text(request(epsilon="1/2", weights={"n": 2}))
    assert request(epsilon=1, weights={"b": 1, "a": 2}) == Request(F(1), weights=(("a", F(2)), ("b", F(1))))


# --- Laplace or Gaussian -----------------------------------------------------------------------------------------------------


def test_the_noise_with_the_smaller_half_widths_comes_first(place: World) -> None:
    """Over many rows that hold together the tails decide; a single count is better with Laplace noise."""
    many = ", ".join(f"COUNT(*) FILTER (WHERE cost > {at}) AS n{at}" for at in range(12))
    alone, several = "SELECT COUNT(*) FROM visits", f"SELECT {many} FROM visits"
    assert isinstance(quoted(place, alone, delta=1e-6).sums[0].mechanism, Laplace)
    for text, sure in ((several, 0.95), (several, 0.5), (alone, 0.95), (alone, 1 - 1e-12)):
        asked = {"delta": 1e-3, "confidence": sure}
        quotes = price(place.plan(text), request(epsilon=1, **asked))
        widths = [sum(part.mechanism.interval(sure).above for part in quote.sums) for quote in quotes]
        assert widths == sorted(widths)
    together = price(place.plan(several), request(epsilon=1, delta=1e-6, confidence=0.9999, simultaneous=True))
    assert isinstance(together[0].sums[0].mechanism, Gaussian)


def test_only_sums_that_are_spread_over_groups_have_gaussian_noise_where_that_is_better(tmp_path_factory: Any) -> None:
    """The total beside the groups moves by as much in l2 as in l1: Laplace noise for it, Gaussian noise for the groups."""
    text = "SELECT age, COUNT(*) AS n, (SELECT COUNT(*) FROM visits) AS total FROM visits GROUP BY age"
    with world_in_memory(clinic(tmp_path_factory.mktemp("mixed"), 60, 1), {"visits": [], "wards": PUBLIC}) as made:
        quotes = price(made.plan(text), request(epsilon=1, delta=1e-3))
    best = quotes[0]
    assert isinstance(best.sums[0].mechanism, Gaussian)
    assert isinstance(best.beside[0].sums[0].mechanism, Laplace)
    assert best.stated == (F(1, 2), F(1, 1000))
    whole = spent(best, "add-remove")
    assert (whole.epsilon, whole.delta) == (1, F(1, 1000))
    assert [len(event.events) for event in best.event.events if hasattr(event, "events")] == [1]  # type: ignore[union-attr]


def test_a_gaussian_quote_is_offered_with_its_delta_then_as_rho_then_within_a_cap(place: World) -> None:
    text = "SELECT COUNT(*) FROM visits"
    quotes = [each for each in price(place.plan(text), request(epsilon=1, delta=1e-6)) if each.sums[0].mechanism.concentrated]
    first, second, third = (spent(quote, "add-remove") for quote in quotes)
    assert (first.epsilon, first.delta) == (1, F(1, 10**6))
    assert (second.epsilon, second.delta) == (None, 0)
    assert first.rho == second.rho
    assert F("0.0278") < first.rho < F("0.0281")
    assert F("0.0228") < third.rho < F("0.02436") < first.rho, "a cap of (1, 1e-6) admits the last one"
    assert quotes[0].sums == quotes[1].sums
    assert replace(quotes[0], stated=None) == quotes[1]


def test_moments_know_how_far_one_unit_moves_them(place: World) -> None:
    from tacit.query.price.price import moves_of

    for text in ("SELECT age, COUNT(*), SUM(cost) FROM visits GROUP BY age", "SELECT COUNT(*), COUNT(DISTINCT person) FROM visits"):
        plan = place.plan(text)
        for change in ("add-remove", "change-one"):
            touched = reach(plan, change)
            for moment in plan.group.moments:
                assert isinstance(moment, Moment)
                moves = moves_of(plan, moment, touched)
                assert moves.largest is not None
                assert moves.total is not None
                assert moves.largest**2 <= moves.length**2
                assert moves.length <= moves.total <= moves.entries * moves.largest
