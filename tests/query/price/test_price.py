"""Prices: what is charged is what was asked for, under either relation; errors asked for are reached with the least epsilon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from questions import clinic_questions, clinic_units
from tacit.accounting import calibrate
from tacit.accounting.composition import costs_under
from tacit.accounting.ledger.caps import require_for_one
from tacit.errors import (
    BudgetExceeded,
    ErrorNotPublic,
    InvalidBudget,
    InvalidInput,
    NoBudget,
    NotAllowed,
    Refused,
    TooManyGroups,
    TooMuchWork,
)
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.selection import GaussianKeyThreshold, KeyThreshold
from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.privacy.catalog import Analyst, Budget
from tacit.privacy.conversion import least_epsilon_up
from tacit.privacy.loss import Neighbours
from tacit.query.offers import key_of
from tacit.query.price.price import LEAST_EPSILON, Quote, price, request
from worlds import PUBLIC, World, clinic, ranked, world_in_memory

TINY = Fraction(1, 10**6)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("price")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def guarantee(quote: Quote, change: Any, convert: Callable[[Fraction, Fraction], Fraction] = least_epsilon_up) -> Fraction:
    """The epsilon that the events of a quote have at its delta: theorem by theorem, the concentrated ones converted together."""
    parts = costs_under(quote.event, Neighbours(change, "unit"))
    concentrated = sum((each.rho for each in parts if each.epsilon is None), start=Fraction(0))
    pure = sum((each.epsilon for each in parts if each.epsilon is not None), start=Fraction(0))
    rest = quote.delta - sum(each.delta for each in parts)
    assert rest >= 0
    return pure + (convert(concentrated, rest) if concentrated else 0)


def has_gaussian(quote: Quote) -> bool:
    """Whether sums or private keys have Gaussian noise."""
    return isinstance(quote.keys, GaussianKeyThreshold) or any(isinstance(part.mechanism, Gaussian) for part in quote.sums)


def stated(quote: Quote, quotes: tuple[Quote, ...]) -> Quote:
    """The same noise with its epsilon and delta stated, where it is offered so: a ledger may take the same as rho alone."""
    return next((other for other in quotes if other.stated and replace(other, stated=None) == quote), quote)


@settings(max_examples=60, deadline=None)
@given(
    clinic_questions(private_keys=True),
    st.sampled_from([Fraction(1, 100), Fraction(1), Fraction(7), Fraction(1, 3)]),
    st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(1, 100)]),
    st.sampled_from(["add-remove", "change-one"]),
)
@example("SELECT diagnosis, COUNT(*), AVG(cost) FROM visits GROUP BY diagnosis", Fraction(7), Fraction(1, 10**9), "change-one")
@example("SELECT age, COUNT(*), SUM(cost) FROM visits GROUP BY age", Fraction(7), Fraction(1, 100), "change-one")
def test_a_quote_costs_what_was_asked_for(place: World, text: str, epsilon: Fraction, delta: Fraction, change: Any) -> None:
    try:
        quotes = price(place.plan(text), request(epsilon=epsilon, delta=delta), change)
    except NoBudget:
        assert "diagnosis" in text  # private keys need a delta
        assert not delta
        return
    for quote in quotes:
        pure = not quote.keys and not any(isinstance(part.mechanism, Gaussian) for part in quote.sums)
        assert (quote.epsilon, quote.delta) == (epsilon, 0 if pure else delta)
        assert guarantee(stated(quote, quotes), change) <= epsilon + TINY / 5
        exactly = quote.stated or pure or (change == "change-one" and quote.keys)
        assert not exactly or guarantee(quote, change) > epsilon * (1 - Fraction(1, 1000))
        assert sum(share for part in quote.parts for _, share in part.shares) == 1
    assert sorted(map(has_gaussian, quotes)) in ([False], [False, True], [False, *[True] * 3])


AT_CAPS = [
    "SELECT diagnosis, COUNT(*), SUM(age), COUNT(cost) FROM visits GROUP BY diagnosis",
    "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
    "SELECT diagnosis, SUM(age), MEDIAN(age) FROM visits GROUP BY diagnosis",
    "SELECT SUM(age), MEDIAN(age), COUNT(cost) FROM visits",
    "SELECT ward, SUM(cost) FROM visits GROUP BY ward",
]


@pytest.mark.parametrize("text", AT_CAPS)
@pytest.mark.parametrize("change", ["add-remove", "change-one"])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 100)])
def test_a_question_at_exactly_the_cap_of_one_is_admitted(place: World, text: str, change: Any, delta: Fraction) -> None:
    """With Gaussian noise too, beside keys and quantiles that have a ratio; and no cap admits less than the events guarantee."""
    relation, epsilon = Neighbours(change, "unit"), Fraction(1, 2)
    quotes = price(place.plan(text), request(epsilon=epsilon, delta=delta), change)
    assert any(map(has_gaussian, quotes))
    for quote in (each for each in quotes if stated(each, quotes) is each):
        parts = costs_under(quote.event, relation)
        require_for_one(Analyst("ana", None, epsilon, delta), parts, Budget(Fraction(9), Fraction(1, 2)))
        whole = sum(parts[1:], start=parts[0])
        together = least_epsilon_up(whole.rho, delta - whole.delta) if whole.delta < delta else guarantee(quote, change)
        least = min(guarantee(quote, change), together)
        with pytest.raises(BudgetExceeded):
            require_for_one(Analyst("ana", None, least * (1 - 2 * TINY), delta), parts, Budget(Fraction(9), Fraction(1, 2)))


@pytest.mark.usefixtures("disagreeing")
def test_half_the_noise_than_was_paid_for_is_noticed(place: World) -> None:
    """The measure of the test above, on a quote whose sums have half their scale."""
    from dataclasses import replace

    (quote,) = price(place.plan("SELECT COUNT(*), SUM(cost) FROM visits"), request(epsilon=1))
    assert guarantee(quote, "add-remove") == 1
    halved = [
        replace(part, mechanism=Laplace(part.mechanism.sensitivity, 1, 1, 1, True, part.mechanism.neighbours))
        for part in quote.sums
    ]
    assert guarantee(replace(quote, sums=tuple(halved)), "add-remove") == 2


def test_the_quote_with_the_smaller_error_comes_first(place: World) -> None:
    many = price(place.plan("SELECT age, COUNT(*) FROM visits GROUP BY age"), request(epsilon=1, delta=1e-6))
    assert [type(quote.sums[0].mechanism) for quote in many] == [Laplace, Gaussian, Gaussian, Gaussian]
    wide = [f"COUNT(*) FILTER (WHERE cost > {at})" for at in range(20)]
    several = price(place.plan(f"SELECT {', '.join(wide)} FROM visits"), request(epsilon=1, delta=1e-6))
    widths = [quote.sums[0].mechanism.interval(0.95).above for quote in several]
    assert widths == sorted(widths)
    assert isinstance(several[0].sums[0].mechanism, Gaussian)


@settings(max_examples=30, deadline=None)
@given(
    clinic_questions(private_keys=True), clinic_units(most=2), clinic_units(most=2), st.sampled_from([{"epsilon": 1}, {"error": 5}])
)
def test_refusals_and_quotes_know_nothing_of_the_data(place: World, text: str, one: Any, two: Any, budget: dict[str, Any]) -> None:
    def said(rows: Any) -> Any:
        made = place.with_rows("visits", ranked(rows))
        try:
            return price(made.plan(text), request(**budget))
        except Refused as refusal:
            return refusal.code, str(refusal), refusal.at

    assert said(one) == said(two)


# --- by error --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("SELECT COUNT(*) FROM visits", 1),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward", 1),
        ("SELECT SUM(cost) FROM visits", Fraction(1, 100)),
        ("SELECT COUNT(DISTINCT person) FROM visits", 1),
        ("SELECT site, SUM(age) FROM visits JOIN wards USING (ward) GROUP BY site", 1),
    ],
)
@pytest.mark.parametrize("error", [Fraction(1, 2), Fraction(20), Fraction(12345, 10)])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_an_error_is_reached_with_the_least_epsilon(
    place: World, text: str, step: Fraction, error: Fraction, simultaneous: bool
) -> None:
    asked = request(error=error, confidence=0.9, simultaneous=simultaneous)
    (quote,) = price(place.plan(text), asked)
    (part,) = quote.sums
    assert quote.epsilon == part.mechanism.epsilon
    missed = Fraction(1, 10) / (part.mechanism.dimension if simultaneous else 1)
    assert part.mechanism.interval(1 - missed).above * step <= error
    less = Laplace(part.mechanism.sensitivity, quote.epsilon * Fraction(999, 1000), 1, 1, True, part.mechanism.neighbours)
    assert less.interval(1 - missed).above * step > error


def test_each_sum_pays_for_its_own_error(place: World) -> None:
    (quote,) = price(place.plan("SELECT COUNT(*), SUM(age) FROM visits"), request(error=10))
    assert quote.epsilon == sum(part.mechanism.epsilon for part in quote.sums)
    assert quote.sums[0].mechanism.epsilon < quote.sums[1].mechanism.epsilon


@pytest.mark.parametrize(
    "text",
    [
        "SELECT AVG(cost) FROM visits",
        "SELECT STDDEV(cost) FROM visits",
        "SELECT MEDIAN(cost) FROM visits",
        "SELECT SUM(cost) / COUNT(*) FROM visits",
        "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
        "SELECT COUNT(*) FROM visits HAVING SUM(cost) > 5",
        "SELECT COUNT(*), AVG(age) FROM visits",
    ],
)
def test_an_error_that_depends_on_the_data_is_refused(place: World, text: str) -> None:
    with pytest.raises(ErrorNotPublic) as caught:
        price(place.plan(text), request(error=5))
    assert caught.value.remedy


# --- mechanisms ------------------------------------------------------------------------------------------------------------------


def test_moments_are_shared_and_centred_beside_a_count(place: World) -> None:
    (quote,) = price(place.plan("SELECT COUNT(*), AVG(age), SUM(age), VAR_POP(age), STDDEV(age) FROM visits"), request(epsilon=1))
    assert [part.moment.kind for part in quote.sums] == ["rows", "centred", "squares"]
    assert [part.mechanism.sensitivity for part in quote.sums] == [3, 3 * 10, 3 * 100]


def test_quantiles_are_for_units_and_very_fine_grids_are_smooth(place: World) -> None:
    (quote,) = price(place.plan("SELECT MEDIAN(cost), MAX(age) FROM visits"), request(epsilon=1))
    assert [(type(rank.mechanism), rank.mechanism.max_rows) for rank in quote.ranks] == [(QuantileWithInterval, 3)] * 2
    (fine,) = price(place.plan("SELECT MEDIAN(age * 1000000000000 + cost) FROM visits"), request(epsilon=1))
    assert [(type(rank.mechanism), rank.mechanism.max_rows) for rank in fine.ranks] == [(SmoothQuantile, 3)]


def test_private_keys_pay_for_their_units_once(place: World) -> None:
    text = "SELECT diagnosis, COUNT(DISTINCT person), COUNT(*) FROM visits GROUP BY diagnosis"
    quotes = price(place.plan(text), request(epsilon=1, delta=1e-6))
    assert [part.moment.kind for part in quotes[0].sums] == ["rows"]
    assert quotes[0].keys is not None
    assert quotes[0].keys.max_groups == 3


def test_a_declared_number_of_people_raises_the_threshold(place: World, tmp_path: Any) -> None:
    def threshold(**declared: Any) -> int:
        made = place.with_catalog(clinic(tmp_path, **declared))
        (first, *_) = price(made.plan("SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis"), request(epsilon=1, delta=1e-6))
        assert first.keys is not None
        return first.keys.threshold

    assert threshold(min_people=10**6) == 10**6 > threshold()


@pytest.mark.parametrize(
    "budget",
    [
        {},
        {"epsilon": 1, "error": 5},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1e-09},
        {"epsilon": 1, "confidence": 1},
        {"error": 0},
        {"error": -3},
        {"epsilon": Fraction(1, 10**40)},
        {"epsilon": "0.00009999"},
        {"epsilon": 1e-20},
        {"epsilon": 10**40},
        {"error": 10**31},
        {"epsilon": 1, "confidence": 0},
        {"epsilon": "x"},
    ],
)
def test_no_budget_is_taken_that_is_none(budget: dict[str, Any]) -> None:
    with pytest.raises((NoBudget, InvalidBudget, InvalidInput)):
        request(**budget)


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
def test_an_error_that_little_would_do_for_costs_the_least_that_a_question_costs(place: World, change: Any) -> None:
    """And the error is then smaller than what was asked for."""
    for text in ("SELECT COUNT(*) FROM visits", "SELECT COUNT(*), SUM(cost), SUM(age) FROM visits"):
        (quote,) = price(place.plan(text), request(error=10**9), change)
        assert LEAST_EPSILON <= quote.epsilon < 2 * LEAST_EPSILON
        assert guarantee(quote, change) == quote.epsilon
        steps = [100 if part.moment.value is not None and part.moment.value.high == 5000 else 1 for part in quote.sums]  # of cost
        widths = [part.mechanism.interval(Fraction(95, 100)).above for part in quote.sums]
        assert all(width < 10**9 * step for width, step in zip(widths, steps, strict=True))
    (paid,) = price(place.plan("SELECT COUNT(*) FROM visits"), request(error=50), change)
    assert paid.epsilon > LEAST_EPSILON


@pytest.mark.parametrize(
    "text", ["SELECT SUM(cost * 0) FROM visits", "SELECT ward, COUNT(*), SUM(cost * 0) FROM visits GROUP BY ward"]
)
def test_a_sum_of_zeros_is_refused_in_its_own_words(place: World, text: str) -> None:
    with pytest.raises(NotAllowed, match="SUM of an expression that"):
        place.plan(text)


@pytest.mark.usefixtures("disagreeing")
def test_no_question_costs_nothing(place: World) -> None:
    """Whatever a plan holds: one whose moments nobody can move is not priced."""
    from tacit.query.plan import Moment

    question = place.plan("SELECT SUM(cost) FROM visits")
    (moment,) = question.group.moments
    assert moment.value is not None
    zeros = replace(moment, value=replace(moment.value, low=0, high=0))
    free = replace(question, group=replace(question.group, moments=(zeros,)))
    with pytest.raises(NotAllowed, match="does not depend on the data"):
        price(free, request(epsilon=1))
    paid = replace(question, group=replace(question.group, moments=(zeros, Moment("rows"))))
    assert guarantee(price(paid, request(epsilon=1))[0], "add-remove") > 0


@pytest.mark.parametrize(
    "budget", [{"epsilon": 1e-4}, {"epsilon": 1e30}, {"error": 1e30}, {"error": 1e-30}, {"epsilon": 1e-4, "delta": 1e-300}]
)
@pytest.mark.parametrize(
    "text", ["SELECT SUM(age), COUNT(*) FROM visits", "SELECT AVG(cost) FROM visits", "SELECT MAX(age) FROM visits"]
)
def test_the_largest_and_least_budgets_end_in_an_answer_or_a_word(place: World, text: str, budget: dict[str, Any]) -> None:
    from tacit.release.answer import Receipt
    from tacit.release.noisy import noised
    from tacit.release.tabulate import answer

    try:
        quote = price(place.plan(text), request(**budget))[0]
    except (Refused, InvalidInput):
        return
    released = answer(quote, noised(quote, place.engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))
    assert len(str(released).splitlines()) == 5


MANY = "SELECT EXTRACT(DOY FROM day), WIDTH_BUCKET(cost, 0, 50, 200), COUNT(*) FROM visits GROUP BY 1, 2"


def test_an_answer_of_more_groups_than_anybody_reads_must_be_asked_for(place: World) -> None:
    cells = 94 * 203
    with pytest.raises(TooManyGroups, match=f"would have {cells:,} groups"):
        price(place.plan(MANY), request(epsilon=1))
    with pytest.raises(TooManyGroups):
        price(place.plan(MANY), request(epsilon=1, groups=cells - 1))
    with pytest.raises(TooManyGroups):
        price(place.plan(MANY), request(error=100))
    assert price(place.plan(MANY), request(epsilon=1, groups=cells))
    assert price(place.plan(f"{MANY} ORDER BY 3 DESC LIMIT 5"), request(epsilon=1))
    assert price(place.plan("SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis"), request(epsilon=1, delta=1e-6))


def test_more_sums_than_can_be_priced_are_refused_before_any_is_priced(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = place.plan("SELECT ward, AVG(cost) AS a, AVG(cost + 1) AS b FROM visits GROUP BY ROLLUP(ward)")
    sums = sum(len(part.group.moments) for part in plan.parts)
    monkeypatch.setattr("tacit.query.price.price.MANY_SUMS", sums)
    assert price(plan, request(epsilon=1))
    monkeypatch.setattr("tacit.query.price.price.MANY_SUMS", sums - 1)
    monkeypatch.setattr("tacit.query.price.price.reach", lambda *_: pytest.fail("it was priced"))
    with pytest.raises(TooMuchWork, match=f"needs {sums} sums"):
        price(plan, request(epsilon=1))


def test_each_error_is_computed_once(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """By how often a tail of Gaussian noise is summed: at most twice for each noise of each sum, of which two quotes are made."""
    calls, tail = list[object](), calibrate.gaussian_tail_up
    monkeypatch.setattr(calibrate, "gaussian_tail_up", lambda *given: (calls.append(given), tail(*given))[1])
    sums = ", ".join(f"SUM(cost + {1000 + at}) AS c{at}" for at in range(20))
    quotes = price(place.plan(f"SELECT {sums} FROM visits"), request(epsilon="0.0123", delta="1e-6"))
    assert any(isinstance(part.mechanism, Gaussian) for part in quotes[0].sums)
    assert len(calls) <= 2 * 2 * 20
    alike = ", ".join(f"COUNT(*) FILTER (WHERE cost > {at}) AS c{at}" for at in range(20))
    calls.clear()
    price(place.plan(f"SELECT {alike} FROM visits"), request(epsilon="0.0123", delta="1e-6"))
    assert len(calls) <= 2 * 2 * 2, "noise that is the same is looked at once"


def test_how_many_groups_are_meant_does_not_make_it_another_question(place: World) -> None:
    asked = [request(epsilon=1, groups=groups) for groups in (None, 10**6)]
    keys = {key_of(price(place.plan("SELECT COUNT(*) FROM visits"), each)[0], "version") for each in asked}
    assert (len(keys), repr(asked[0])) == (1, repr(asked[1]))
    for bad in (0, -1, True, "x", 1.5):
        with pytest.raises(InvalidInput, match="groups must be a whole number"):
            request(epsilon=1, groups=bad)  # type: ignore[arg-type]


def test_quantiles_are_drawn_one_by_one_so_they_have_fewer_groups(place: World) -> None:
    many = "EXTRACT(DOY FROM day), age, WIDTH_BUCKET(cost, 0, 50, 200)"
    assert place.plan(f"SELECT COUNT(*) FROM visits GROUP BY {many}")
    with pytest.raises(TooManyGroups, match="the limit is 50000"):
        place.plan(f"SELECT MEDIAN(age), MAX(cost) FROM visits GROUP BY {many}")


@pytest.mark.parametrize(("rows", "kind"), [(1, KeyThreshold), (3, GaussianKeyThreshold), (40, GaussianKeyThreshold)])
def test_the_noise_of_private_keys_follows_how_many_groups_one_unit_is_in(place: World, rows: int, kind: type) -> None:
    """By public parameters alone: the first quote is that with the lowest threshold, and half of delta is for its keys."""
    plan = place.plan("SELECT diagnosis, COUNT(DISTINCT person) AS n FROM visits GROUP BY diagnosis")
    bound = plan.group.child
    table = replace(bound.child.table, max_rows=rows)
    plan = replace(plan, group=replace(plan.group, child=replace(bound, max_rows=rows, child=replace(bound.child, table=table))))
    quotes = price(plan, request(epsilon=1, delta=1e-6))
    assert isinstance(quotes[0].keys, kind)
    assert quotes[0].keys.max_groups == rows
    thresholds = [quote.keys.threshold for quote in quotes if quote.keys]
    assert thresholds == sorted(thresholds)
    if kind is GaussianKeyThreshold:
        assert (quotes[0].keys.delta, quotes[0].stated) == (Fraction(1, 2 * 10**6), (1, Fraction(1, 2 * 10**6)))
        (change,) = {type(each.keys) for each in price(plan, request(epsilon=1, delta=1e-6), "change-one")}
        assert change is KeyThreshold, "whose triple under change-one would weigh delta twice"
