"""The forecast of a mean: exact in small worlds; `min_rows` prices it and touches nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ages import LOW, ages, side_by_side
from tacit.accounting.composition import loss
from tacit.accounting.weighted import Draws
from tacit.errors import ErrorNotPublic
from tacit.evidence.verify.coverage import coverage_of_draws
from tacit.query.price import by_error
from tacit.query.price.explain import explained
from tacit.query.price.forecast import holds, mean_error
from tacit.query.price.price import price, request
from tacit.query.price.stability import l1_sensitivity
from tacit.release import stated
from tacit.release.intervals import band_of
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
    honest = by_error.laplace
    monkeypatch.setattr(  # planted: the sensitivity of a mean over min_rows rows
        by_error, "laplace", lambda part, moment, touched, share: honest(part, moment, touched, share * ROWS)
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
    honest = stated.mean_ends
    monkeypatch.setattr(
        stated,
        "mean_ends",
        lambda summed, rows, *rest: honest(summed, type(rows)(np.maximum(rows.value, ROWS), rows.noise), *rest),
    )
    monkeypatch.setattr(stated, "_around", lambda value, low, high: stated.Band(value, low, high))
    assert not covers()


def test_without_a_size_the_line_to_add_is_named(tmp_path: Path) -> None:
    with world_in_memory(clinic(tmp_path, max_rows=1), {"visits": [], "wards": PUBLIC}) as made:
        with pytest.raises(ErrorNotPublic) as caught:
            price(made.plan("SELECT AVG(age) FROM visits"), request(error=1))
        assert "min_rows = 1000 in table visits" in (caught.value.remedy or "")
        (quote,) = price(made.plan("SELECT AVG(age) FROM visits"), request(epsilon=1))
        assert "in a group of 1,000 rows, less in a larger one" in str(explained(quote))


@pytest.mark.parametrize("text", ["SELECT VAR_POP(age) FROM visits", "SELECT AVG(age) + 1 FROM visits"])
def test_only_an_average_by_itself_has_a_forecast(place: World, text: str) -> None:
    with pytest.raises(ErrorNotPublic):
        price(place.plan(text), request(error=1))
