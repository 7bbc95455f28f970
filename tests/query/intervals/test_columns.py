"""Error bars cover the exact number as often as they say, for every aggregate, from public parameters and released numbers alone.

Many releases are laid side by side as if they were groups, so that one pass makes all their error bars. A coverage is said not to
hold only where draws show it at one in a billion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ages import HIGH, LOW, TRUTHS, ages, side_by_side
from chance import fewest_hits
from tacit.evidence.verify.coverage import coverage_of_draws
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.selection import KeyThreshold
from tacit.privacy.sealed import Sealed
from tacit.query.engines.exact import Exact
from tacit.query.intervals.columns import band_of
from tacit.query.price.price import Quote, price, request
from tacit.release.noisy import noised
from worlds import PUBLIC, World, clinic, ranked, world_in_memory


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("bars"), max_rows=1), {"visits": [], "wards": PUBLIC}) as made:
        yield made


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize("size", [2, 40, 3000])
@pytest.mark.parametrize("asked", TRUTHS)
def test_error_bars_cover_the_exact_number(place: World, asked: str, size: int, kind: type) -> None:
    quotes = price(place.plan(f"SELECT {asked} AS x FROM visits"), request(epsilon=1, delta=1e-6))
    quote = next(quote for quote in quotes if isinstance(quote.sums[0].mechanism, kind))
    numbers = ages(size)
    band = band_of(quote.question.outputs[0].value, quote, side_by_side(quote, numbers))
    truth = TRUTHS[asked](numbers)
    held = (band.low <= truth + 1e-9) & (truth - 1e-9 <= band.high)
    assert coverage_of_draws(held, 0.95).holds, held.mean()
    known = ~np.isnan(band.value)
    assert ((band.low <= band.value + 1e-9) & (band.value <= band.high + 1e-9))[known].all()


def test_bars_that_are_ten_percent_too_short_are_caught(place: World) -> None:
    """The planted bug; a single count, whose bar is exact, so that there is nothing to spare."""
    (quote,) = price(place.plan("SELECT COUNT(*) FROM visits"), request(epsilon=0.01))
    band = band_of(quote.question.outputs[0].value, quote, side_by_side(quote, ages(100), 60_000))
    assert coverage_of_draws((band.low <= 100) & (band.high >= 100), 0.95).holds
    short = 0.9 * (band.high - band.value)
    assert not coverage_of_draws((band.value - short <= 100) & (band.value + short >= 100), 0.95).holds


@pytest.mark.parametrize(("asked", "widest"), [("AVG(age)", 0.2), ("STDDEV_POP(age)", 0.4), ("SUM(age) / COUNT(*)", 0.3)])
def test_bars_of_large_groups_are_short(place: World, asked: str, widest: float) -> None:
    (quote,) = price(place.plan(f"SELECT {asked} AS x FROM visits"), request(epsilon=1))
    band = band_of(quote.question.outputs[0].value, quote, side_by_side(quote, ages(3000), 500))
    assert (band.high - band.low).max() < widest


@pytest.mark.parametrize(
    ("asked", "low", "high"),
    [
        ("AVG(age)", LOW, HIGH),
        ("VAR_POP(age)", 0, 25),
        ("VAR_SAMP(age)", 0, 50),
        ("STDDEV_POP(age)", 0, 5),
        ("STDDEV(age)", 0, 50**0.5),
    ],
)
@pytest.mark.parametrize("size", [0, 1])
def test_of_an_empty_group_nothing_is_known_but_the_bounds(place: World, asked: str, low: float, high: float, size: int) -> None:
    (quote,) = price(place.plan(f"SELECT {asked} AS x FROM visits"), request(epsilon=Fraction(1, 10)))
    band = band_of(quote.question.outputs[0].value, quote, side_by_side(quote, ages(size), 1000))
    assert np.isfinite(band.value).all()
    assert (band.low >= low - 1e-9).all()
    assert (band.high <= high + 1e-9).all()
    whole = (band.low <= low + 1e-9) & (band.high >= high - 1e-9)
    assert whole.sum() >= fewest_hits(1000, 0.6)


def test_a_ratio_by_a_count_that_may_be_zero_has_no_ends(place: World) -> None:
    (quote,) = price(place.plan("SELECT SUM(age) / COUNT(*) AS x FROM visits"), request(epsilon=1))
    band = band_of(quote.question.outputs[0].value, quote, side_by_side(quote, ages(0), 1000))
    counts = side_by_side(quote, ages(0), 10).sums
    assert counts
    assert (np.isinf(band.low) == np.isinf(band.high)).all()
    assert np.isinf(band.low).sum() >= fewest_hits(1000, 0.95)


# --- numbers of units that came with private keys -------------------------------------------------------------------------------


def shown_ends(place: World, truth: int, tries: int = 40_000) -> tuple[np.ndarray, np.ndarray]:
    """The ends of COUNT(DISTINCT person) in the groups that are shown, of many that have `truth` people."""
    text = "SELECT diagnosis, COUNT(DISTINCT person) AS people FROM visits GROUP BY diagnosis"
    (quote, *_) = price(place.plan(text), request(epsilon=1, delta=1e-6))
    groups = tuple((f"{at}",) for at in range(tries))
    exact = Exact((Sealed(np.full(tries, truth)),), Sealed(groups))
    band = band_of(quote.question.outputs[1].value, quote, noised(quote, exact))
    return band.low, band.high


@pytest.mark.parametrize("truth", [9, 11, 14, 15, 17, 20, 40])  # the threshold is 15
def test_ends_of_shown_units_hold_given_that_the_group_is_shown(place: World, truth: int) -> None:
    low, high = shown_ends(place, truth)
    assert len(low) >= fewest_hits(40_000, math.exp(9 - 15) / (1 + math.exp(-1))), "as often as noise lifts nine people to 15"
    assert coverage_of_draws((low <= truth) & (truth <= high), 0.95).holds


def test_the_symmetric_interval_of_shown_units_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: ± 3 around a count that is there because its noise was high."""

    def symmetric(self: KeyThreshold, counts: Any, confidence: Any) -> Any:
        return np.asarray(counts) - self.interval(confidence).below, np.asarray(counts) + self.interval(confidence).above

    monkeypatch.setattr(KeyThreshold, "ends", symmetric)
    low, high = shown_ends(place, 11)
    assert not ((low <= 11) & (high >= 11)).any()
    assert not coverage_of_draws((low <= 11) & (high >= 11), 0.95).holds


# --- all together ----------------------------------------------------------------------------------------------------------------


def simultaneous(quote: Quote, place: World, releases: int) -> list[bool]:
    """For each of several releases, whether every bar of the answer covers, for no rows at all: all counts and sums are 0."""
    exact = place.engine.run(quote.question.group)
    held = []
    for _ in range(releases):
        drawn = noised(quote, exact)
        bands = [
            band_of(output.value, quote, drawn) for output in quote.question.outputs if type(output.value).__name__ != "KeyValue"
        ]
        held.append(all(bool(((band.low <= 0) & (band.high >= 0)).all()) for band in bands))
    return held


def test_simultaneous_bars_hold_all_together(place: World) -> None:
    text = "SELECT age, COUNT(*), SUM(cost) FROM visits GROUP BY age"
    (together,) = price(place.plan(text), request(epsilon=1, confidence=0.9, simultaneous=True))
    assert coverage_of_draws(simultaneous(together, place, 600), 0.9).holds
    (alone,) = price(place.plan(text), request(epsilon=1, confidence=0.9))
    assert not coverage_of_draws(simultaneous(alone, place, 600), 0.9).holds


# --- quantiles -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 30, 400])
@pytest.mark.parametrize(("asked", "share"), [("MEDIAN(age)", 0.5), ("MIN(age)", 0), ("MAX(age)", 1), ("QUANTILE(age, 0.9)", 0.9)])
def test_bars_of_quantiles_cover_every_usual_quantile(place: World, asked: str, share: float, size: int) -> None:
    numbers = ages(size)
    row = {"ward": 0, "cost": None, "day": 0, "diagnosis": None, "scan": None}
    made = place.with_rows("visits", ranked([[{**row, "age": int(age) - LOW}] for age in numbers]))
    (quote,) = price(made.plan(f"SELECT {asked} AS x FROM visits"), request(epsilon=2))
    exact = made.engine.run(quote.question.group)
    place.with_rows("visits", [])
    bands = [band_of(quote.question.outputs[0].value, quote, noised(quote, exact)) for _ in range(250)]
    for method in ("lower", "higher", "linear"):
        truth = np.quantile(numbers, share, method=method)
        assert coverage_of_draws([bool(band.low[0] <= truth <= band.high[0]) for band in bands], 0.95).holds
    assert all(LOW <= band.low[0] <= band.value[0] <= band.high[0] <= HIGH for band in bands)
    if size == 400 and share == 0.5:
        assert np.mean([band.high[0] - band.low[0] for band in bands]) < HIGH - LOW
