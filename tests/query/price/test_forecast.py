"""Forecasts of means and variances: exact in small worlds; `min_rows` prices them and touches nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ages import HIGH, LOW, ages, side_by_side
from tacit.accounting.composition import loss
from tacit.accounting.weighted import Draws
from tacit.errors import ErrorNotPublic
from tacit.evidence.verify.coverage import coverage_of_draws
from tacit.query.intervals import columns
from tacit.query.intervals.aggregates import finish_call
from tacit.query.intervals.bands import Band
from tacit.query.intervals.columns import band_of
from tacit.query.intervals.misses import declared as declared_range
from tacit.query.offers import key_of
from tacit.query.price import forecast
from tacit.query.price.explain import explained
from tacit.query.price.forecast import holds, mean_error, spread_error
from tacit.query.price.price import price, request
from tacit.query.price.stability import l1_sensitivity
from worlds import PUBLIC, World, clinic, world_in_memory

ROWS = 200


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(declared(tmp_path_factory.mktemp("forecast")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def declared(folder: Path):
    return clinic(folder, max_rows=1, min_rows=ROWS)


def law(scale: float) -> tuple[np.ndarray, np.ndarray]:
    places = np.arange(-int(25 * scale) - 1, int(25 * scale) + 2)
    weights = np.exp(-np.abs(places) / scale)
    return places, weights / weights.sum()


@pytest.mark.parametrize("rows", [20, 35])
@pytest.mark.parametrize(("of_sum", "of_count"), [(6, 2), (2, 1), (3, 4)])
def test_the_forecast_holds_exactly(place: World, of_sum: float, of_count: float, rows: int) -> None:
    """Against the exact chance of a larger error, summed over all noises, for means at the bounds and between."""
    call = place.plan("SELECT AVG(age) FROM visits").calls[0]
    missed = Fraction(1, 10)
    noises = Draws("Laplace", Fraction(of_sum)), Draws("Laplace", Fraction(of_count))
    error = mean_error(call, noises, 20, missed)
    assert 0 < error < 10
    assert holds(call, noises, 20, Fraction(error) * Fraction(1001, 1000), missed)
    (extra, chances), (more, others) = law(of_sum), law(of_count)
    for mean in (-10, -3, 0, 10):  # in half steps
        found = (mean * rows + extra[:, None]) / np.maximum(rows + more[None, :], 1)
        far = np.abs(np.clip(found, -10, 10) - mean) / 2 > error
        assert (chances[:, None] * others[None, :] * far).sum() <= missed


def test_an_average_can_be_asked_by_its_error(place: World) -> None:
    (quote,) = price(place.plan("SELECT AVG(age) AS x FROM visits"), request(error=Fraction(1, 2)))
    released = side_by_side(quote, ages(ROWS), 4000)
    found = band_of(quote.question.outputs[0].value, quote, released).value
    near = np.abs(found - ages(ROWS).mean()) <= 0.5
    assert coverage_of_draws(near, 0.95).holds
    (tenth,) = price(place.plan("SELECT AVG(age) AS x FROM visits"), request(error=Fraction(1, 20)))
    assert 9 < tenth.epsilon / quote.epsilon < 11
    assert f"in a group of at least {ROWS} rows" in str(explained(quote))


def test_min_rows_scales_no_noise(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scale of every sum is its sensitivity over its share, and the shares are what is charged."""

    def is_charged() -> bool:
        (quote,) = price(place.plan("SELECT AVG(age), COUNT(*) FROM visits"), request(error=1))
        shares = [l1_sensitivity(part.moment, quote.reach) / part.mechanism.scale for part in quote.sums]
        return sum(shares) == quote.epsilon == loss(quote.event).epsilon

    assert is_charged()
    honest = forecast.laplace
    monkeypatch.setattr(  # planted: the sensitivity of a mean over min_rows rows
        forecast, "laplace", lambda part, moment, touched, share: honest(part, moment, touched, share * ROWS)
    )
    assert not is_charged()


def test_a_clamped_count_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group smaller than declared: the interval of the answer covers; planted: the released count raised to min_rows."""
    (quote,) = price(place.plan("SELECT AVG(age) AS x FROM visits"), request(error=1))
    values = np.full(30, LOW)
    released = side_by_side(quote, values, 4000)

    def covers() -> bool:
        band = band_of(quote.question.outputs[0].value, quote, released)
        return coverage_of_draws((band.low <= LOW + 1e-9) & (band.high >= LOW), 0.95).holds

    assert covers()
    honest = columns.mean_ends
    monkeypatch.setattr(
        columns,
        "mean_ends",
        lambda summed, rows, *rest: honest(summed, type(rows)(np.maximum(rows.value, ROWS), rows.noise), *rest),
    )
    monkeypatch.setattr(columns, "_around", lambda value, low, high: columns.Band(value, low, high))
    assert not covers()


def test_without_a_size_the_line_to_add_is_named(tmp_path: Path) -> None:
    with world_in_memory(clinic(tmp_path, max_rows=1), {"visits": [], "wards": PUBLIC}) as made:
        with pytest.raises(ErrorNotPublic) as caught:
            price(made.plan("SELECT AVG(age) FROM visits"), request(error=1))
        assert "min_rows = 1000 in table visits" in (caught.value.remedy or "")
        (quote,) = price(made.plan("SELECT AVG(age) FROM visits"), request(epsilon=1))
        assert "in a group of 1,000 rows, less in a larger one" in str(explained(quote))


@pytest.mark.parametrize("text", ["SELECT COVAR_POP(age, cost) FROM visits", "SELECT AVG(age) + 1 FROM visits"])
def test_only_means_and_spreads_by_themselves_have_a_forecast(place: World, text: str) -> None:
    with pytest.raises(ErrorNotPublic):
        price(place.plan(text), request(error=1))


# --- variances and deviations ------------------------------------------------------------------------------------------------

MISSED = Fraction(1, 5)
SPREAD = 10  # of ages, in steps


def hostile(rows: int) -> Iterator[np.ndarray]:
    """Ages in half steps: all at one bound, almost all, at both, and in the middle."""
    for high in (0, 1, 2, rows // 2):
        yield np.array([SPREAD] * (rows - high) + [-SPREAD] * high)
    yield np.zeros(rows, dtype=np.int64)


def least_coverage(place: World, name: str, scales: tuple[float, float, float], rows: int, least: int) -> float:
    """The least chance, over data sets of `rows` rows, that a variance is within its forecast for `least` rows."""
    call = place.plan(f"SELECT {name}(age) FROM visits").calls[0]
    error = spread_error(call, tuple(Draws("Laplace", Fraction(scale)) for scale in scales), least, MISSED)
    assert error < declared_range(call)[1]
    (extra, first), (moved, second), (more, third) = map(short_law, scales)
    chances = first[:, None, None] * second[None, :, None] * third[None, None, :]
    found = []
    for numbers in hostile(rows):
        sums = rows + more, numbers.sum() + moved, (2 * numbers**2 - SPREAD**2).sum() + extra
        shaped = (sums[0][None, None, :], sums[1][None, :, None], sums[2][:, None, None])
        bands = tuple(Band(values, values, values) for values in (each.astype(float) for each in shaped))
        values = finish_call(call, (), bands).value
        truth = numbers.var(ddof=int(name.endswith("SAMP"))) / 4
        truth = truth**0.5 if name.startswith("STDDEV") else truth
        found.append(float(chances[np.abs(values - truth) <= error * (1 + 1e-9)].sum()))
    return min(found)


def short_law(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Up to where less than 1e-3 lies beyond; many places of a wide noise as one, which moves the result by less than 1e-3."""
    places = np.arange(-int(7 * scale) - 1, int(7 * scale) + 2, max(1, int(scale / 8)))
    weights = np.exp(-np.abs(places) / scale)
    return places, weights / weights.sum()


@pytest.mark.parametrize("rows", [60, 90])
@pytest.mark.parametrize("name", ["VAR_POP", "VAR_SAMP", "STDDEV_POP"])
@pytest.mark.parametrize("scales", [(100, 10, 1), (20, 20, 0.5), (200, 4, 2)])
def test_the_forecast_of_a_variance_holds_exactly(place: World, name: str, scales: tuple[float, ...], rows: int) -> None:
    assert least_coverage(place, name, scales, rows, 60) >= 1 - MISSED - Fraction(1, 100)


@pytest.mark.parametrize(("ignored", "scales"), [(1, (20, 20, 0.5)), (2, (20, 2, 2))])
def test_a_forecast_without_a_noise_is_caught(place: World, ignored: int, scales: tuple[float, ...], monkeypatch) -> None:
    """Planted: the noise of the sum or of the count is taken for none."""
    assert least_coverage(place, "VAR_POP", scales, 60, 60) >= 1 - MISSED
    honest, exact = forecast._of_variance, Draws("Laplace", Fraction(0))
    planted = lambda noises, *rest: honest((*noises[:ignored], exact, *noises[ignored + 1 :]), *rest)  # noqa: E731
    monkeypatch.setattr(forecast, "_of_variance", planted)
    assert least_coverage(place, "VAR_POP", scales, 60, 60) < 1 - MISSED


@pytest.mark.parametrize(
    ("name", "error", "truth"),
    [
        ("VAR_POP", 4, np.var),
        ("VAR_SAMP", 4, lambda values: np.var(values, ddof=1)),
        ("STDDEV_POP", 2, np.std),
        ("STDDEV_SAMP", 2, lambda values: np.std(values, ddof=1)),
    ],
)
def test_a_spread_can_be_asked_by_its_error(place: World, name: str, error: int, truth) -> None:
    (quote,) = price(place.plan(f"SELECT {name}(age) AS x FROM visits"), request(error=error))
    assert sum(l1_sensitivity(part.moment, quote.reach) / part.mechanism.scale for part in quote.sums) == quote.epsilon
    for values in (ages(ROWS), np.full(ROWS, LOW), np.array([LOW] * (ROWS - 10) + [HIGH] * 10)):
        found = band_of(quote.question.outputs[0].value, quote, side_by_side(quote, values, 2000)).value
        assert coverage_of_draws(np.abs(found - truth(values)) <= error, 0.95).holds
    (expected,) = explained(quote).errors
    assert f"in a group of at least {ROWS} rows" in expected.error
    assert float(expected.error.split()[3]) == pytest.approx(error, rel=1e-4)


def test_the_forecast_is_close_to_the_error(place: World) -> None:
    """Of data near a bound, whose variance has the largest error, and of ones like prices and waiting times."""
    (quote,) = price(place.plan("SELECT VAR_POP(age) AS x FROM visits"), request(error=4))
    near = np.array([LOW] * (ROWS - 8) + [HIGH] * 8)
    lopsided = LOW + np.minimum(-1.5 * np.log((np.arange(ROWS) + 0.5) / ROWS), 10).round().astype(np.int64)
    for values, most in ((near, 1.7), (lopsided, 2.4)):  # 1.47 and 1.90 on average, eight deviations below
        found = band_of(quote.question.outputs[0].value, quote, side_by_side(quote, values)).value
        assert 1 < 4 / np.quantile(np.abs(found - values.var()), 0.95) < most


def test_the_size_of_a_group_is_part_of_the_key(tmp_path: Path, place: World) -> None:
    """An answer that was priced for another size is not taken from the ledger."""
    with world_in_memory(clinic(tmp_path, max_rows=1, min_rows=2 * ROWS), {"visits": [], "wards": PUBLIC}) as other:
        keys = set()
        for world in (place, other):
            (quote,) = price(world.plan("SELECT VAR_POP(age) FROM visits"), request(error=4))
            keys.add(key_of(quote, "1"))
        assert len(keys) == 2


def test_a_group_too_small_for_a_variance_is_refused(tmp_path: Path) -> None:
    with world_in_memory(clinic(tmp_path, max_rows=1, min_rows=2), {"visits": [], "wards": PUBLIC}) as made:
        with pytest.raises(ErrorNotPublic) as caught:
            price(made.plan("SELECT VAR_SAMP(age) FROM visits"), request(error=1))
        assert "the data owner can declare" in (caught.value.remedy or "")
