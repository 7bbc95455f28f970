"""Which questions running totals answer, that public parameters decide, and that what windows add up is covered."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from chance import fewest_hits
from stored import catalog, category, days, number, table
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.running import Running, recovery
from tacit.privacy.catalog import Column, Owner
from tacit.query.intervals.bands import half_width_of_sum
from tacit.query.intervals.trends import sums_of_cells, trend_of
from tacit.query.price.explain import explained
from tacit.query.price.price import Quote, price, request
from tacit.release.answer import Receipt
from tacit.release.noisy import ran, released
from tacit.release.tabulate import answer
from worlds import World, ranked, world_in_memory

DELTA = Fraction(1, 10**6)
MONTH = "DATE_TRUNC('month', day)"
BY_MONTH = "FROM visits GROUP BY month"
BY_WARD = "FROM visits GROUP BY month, ward"


def visits(last: str, max_rows: int = 12, **declared: object) -> World:
    return table(
        "visits", Path("visits.csv"),
        Column("person", "key"), days("day", "2010-01-01", last, nulls="drop"), category("ward", "a", "b"), number("cost", 0, 50),
        unit=Owner("person"), max_rows=max_rows, rows_at_most=10_000, **declared,
    )  # fmt: skip  # type: ignore[return-value]


@pytest.fixture(scope="module")
def decade() -> Iterator[World]:
    with world_in_memory(catalog(Path(), visits("2019-12-31")), {"visits": []}) as made:  # type: ignore[arg-type]
        yield made


@pytest.fixture(scope="module")
def year() -> Iterator[World]:
    rows = ranked([[{"day": 14610 + 31 * at % 365, "ward": at % 2, "cost": 7} for at in range(one % 5 + 1)] for one in range(60)])
    with world_in_memory(catalog(Path(), visits("2010-12-31")), {"visits": rows}) as made:  # type: ignore[arg-type]
        yield made


def gaussian_quote(world: World, text: str, **more: object) -> Quote:
    """The best quote with Gaussian noise; where the noise of one row decides, Laplace noise may be less."""
    quotes = price(world.plan(text), request(epsilon=1, delta=DELTA, **more))  # type: ignore[arg-type]
    return next(quote for quote in quotes if quote.sums[0].mechanism.concentrated)


def mechanisms(world: World, text: str, **more: object) -> list[type]:
    return [type(each.mechanism) for each in gaussian_quote(world, text, **more).sums]


TOTAL = f"SUM(COUNT(*)) OVER (ORDER BY {MONTH})"
SERVED = [
    f"SELECT {MONTH} AS month, {TOTAL} AS n {BY_MONTH}",
    f"SELECT {MONTH} AS month, SUM(COUNT(*)) OVER (ORDER BY {MONTH} DESC) AS n {BY_MONTH}",
    f"SELECT {MONTH} AS month, COUNT(*) AS alone, {TOTAL} AS n {BY_MONTH}",
    f"SELECT {MONTH} AS month, AVG(COUNT(*)) OVER (ORDER BY {MONTH} ROWS 11 PRECEDING) AS n {BY_MONTH}",
    f"SELECT {MONTH} AS month, ward, SUM(SUM(cost)) OVER (PARTITION BY ward ORDER BY {MONTH}) AS n {BY_WARD}",
    f"SELECT {MONTH} AS month, {TOTAL} / 2 AS half {BY_MONTH} HAVING {MONTH} > DATE '2012-01-01' ORDER BY month DESC LIMIT 5",
    f"SELECT {MONTH} AS month, SUM(COUNT(DISTINCT person)) OVER (ORDER BY {MONTH}) AS n {BY_MONTH}",
]
NOT_SERVED = [
    f"SELECT {MONTH} AS month, COUNT(*) AS n {BY_MONTH}",
    f"SELECT {MONTH} AS month, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY {MONTH}) AS n {BY_MONTH}",
    f"SELECT {MONTH} AS month, SUM(COUNT(*)) OVER (ORDER BY {MONTH} ROWS 1 PRECEDING) AS n {BY_MONTH}",
    f"SELECT {MONTH} AS month, ward, SUM(COUNT(*)) OVER (ORDER BY {MONTH}) AS n {BY_WARD}",  # several wards in a row of the order
    f"SELECT {MONTH} AS month, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) AS n {BY_MONTH}",
    f"SELECT {MONTH} AS month, {TOTAL} AS n, AVG(cost) AS mean {BY_MONTH}",
    "SELECT ward, SUM(COUNT(*)) OVER (ORDER BY ward) AS n FROM visits GROUP BY ward",
    f"SELECT day, {TOTAL.replace(MONTH, 'day')} AS n FROM visits GROUP BY day",  # 3,652 days
]


@pytest.mark.parametrize("text", SERVED)
def test_running_totals_are_measured_where_they_are_asked_for(decade: World, text: str) -> None:
    assert set(mechanisms(decade, text)) == {Running}


@pytest.mark.parametrize("text", NOT_SERVED)
def test_single_months_and_differences_have_noise_of_their_own(decade: World, text: str) -> None:
    assert Running not in mechanisms(decade, text)


def test_weights_and_rows_that_spread_decide_too(decade: World) -> None:
    both = f"SELECT {MONTH} AS month, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY {MONTH} ROWS 2 PRECEDING) AS last {BY_MONTH}"
    assert mechanisms(decade, both, weights={"n": 100}) == [Gaussian]
    spread = catalog(Path(), visits("2010-12-31", max_rows=12, max_rows_per_group=1))  # type: ignore[arg-type]
    with world_in_memory(spread, {"visits": []}) as short:
        text = f"SELECT {MONTH} AS month, {TOTAL} AS n {BY_MONTH}"
        quote = gaussian_quote(short, text)
        alone = Gaussian(quote.sums[0].mechanism.sensitivity, 1, step=1, on_grid=True)
        assert isinstance(quote.sums[0].mechanism, Gaussian), alone  # twelve rows in twelve months move every measurement


def test_an_error_at_equal_price_is_at_most_a_third(decade: World) -> None:
    """120 months: the root mean square of the totals, of the quote that is offered, against noise of the same rho on each month."""
    (part,) = gaussian_quote(decade, SERVED[0]).sums
    assert isinstance(part.mechanism, Running)
    totals = part.mechanism.deviations([(0, last) for last in range(1, 121)])
    alone = float(Gaussian(12, part.mechanism.rho, step=1, dimension=120, on_grid=True).scale) * np.sqrt(np.arange(1, 121))
    assert np.sqrt((totals**2).sum() / (alone**2).sum()) <= 0.31


def test_an_explanation_says_which(decade: World) -> None:
    text = str(explained(gaussian_quote(decade, SERVED[0])))
    assert "count: Gaussian, on running totals, sensitivity 12.0085 (l2), scale 50.7319, concentrated rho 0.0280145" in text
    assert "n: up to ± 240.386 at 0.95 confidence" in text
    assert "running totals" not in str(explained(gaussian_quote(decade, NOT_SERVED[0])))


# --- what windows add up -------------------------------------------------------------------------------------------------------


def brute(noise: Running, cells: np.ndarray, span: tuple[int, int]) -> float:
    """The deviation of a sum of cells, from the definition: weights on all measurements of all series."""
    weights = np.zeros(noise.shape)
    weights.reshape(-1)[cells[span[0] : span[1]]] = 1
    spread = np.einsum("bpa,pm->bma", weights, recovery(noise.periods))
    return float(noise.noise_scale) * float(np.sqrt((spread**2).sum()))


def test_sums_of_cells_have_the_width_of_their_law_and_others_are_never_narrower() -> None:
    noise = Running(1, 1, Fraction(1, 100), (2, 12, 3))
    series = (np.arange(12) * 3) + 1 + 36  # the second block, the middle column
    for cells in (series, series[::-1], series[[0, 1, 2, 5, 6, 7]], np.arange(72), np.random.default_rng(1).permutation(72)):
        spans = [(0, 1), (0, 3), (1, 3), (0, len(cells)), (2, 2), (3, 6)]
        widths = sums_of_cells(noise, cells, spans, Fraction(1, 20))
        for span, width in zip(spans, widths, strict=True):
            assert width >= 1.95 * brute(noise, cells, span)
            straight = span[1] > span[0] and (np.abs(np.diff(cells[span[0] : span[1]])) == 3).all()
            assert not straight or width <= 1.97 * brute(noise, cells, span) + 2.5
    assert half_width_of_sum(noise, 3, Fraction(1, 20)) >= 3 * float(noise.interval(0.95).above)


COVERED = {
    f"SELECT {MONTH} AS month, {TOTAL} AS n {BY_MONTH} ORDER BY month": lambda exact: np.cumsum(exact),
    f"SELECT {MONTH} AS month, SUM(COUNT(*)) OVER (ORDER BY {MONTH} DESC) AS n, {TOTAL} AS m {BY_MONTH} ORDER BY month": (
        lambda exact: np.cumsum(exact[::-1])[::-1]
    ),
    f"SELECT {MONTH} AS month, {TOTAL} AS n {BY_MONTH} HAVING {MONTH} > DATE '2010-04-09' ORDER BY 1": (
        lambda exact: np.cumsum(exact[4:])
    ),
    f"SELECT {MONTH} AS month, SUM(COUNT(*)) OVER (ORDER BY {MONTH} ROWS 5 PRECEDING) AS n {BY_MONTH} ORDER BY month": (
        lambda exact: np.array([exact[max(0, at - 5) : at + 1].sum() for at in range(12)])
    ),
}


@pytest.mark.parametrize("text", COVERED)
def test_windows_cover_the_exact_numbers_as_often_as_they_say(year: World, text: str) -> None:
    quote, rounds = gaussian_quote(year, text), 150
    assert trend_of(quote.question) is not None
    assert isinstance(quote.sums[0].mechanism, Running)
    exact = COVERED[text](np.asarray(year.exact(quote.question)[0]))
    hits, narrow, sealed = np.zeros(len(exact)), np.zeros(len(exact)), ran(quote, year.engine.run)
    for _ in range(rounds):
        column = answer(quote, released(quote, sealed), Receipt(quote.epsilon, quote.delta), []).columns[1]
        low, value, high = (np.array(each, dtype=np.float64) for each in (column.low, column.values, column.high))
        hits += (low <= exact) & (exact <= high)
        narrow += np.abs(exact - value) <= (high - low) / 8
    assert (hits >= fewest_hits(rounds, 0.95, among=4 * 12)).all()
    assert (narrow < fewest_hits(rounds, 0.95, among=4 * 12)).any()  # planted: a quarter as wide
