"""Ends by one statement about several released numbers, through a whole question: they cover on hostile data, and are short.

Many releases are laid side by side as if they were groups. A coverage is said not to hold only where draws show it at one in a
billion; a ratio of widths is asserted with a tenth to spare, some 20 deviations of its estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ages import DRAWS, HIGH, LOW, TRUTHS, ages, side_by_side
from tacit.evidence.verify.coverage import coverage_of_draws
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.query.intervals import misses
from tacit.query.intervals.bands import Numbers
from tacit.query.intervals.columns import Columns, band_of
from tacit.query.price.price import missed_by, price, request
from tacit.query.question import Result
from worlds import PUBLIC, World, clinic, world_in_memory


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("stated"), max_rows=1), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def numbers_of(place: World, asked: str, values: np.ndarray, kind: type = Laplace, epsilon: Any = 1, **more: Any) -> Numbers:
    """The cells of one output over many releases of the same values."""
    quotes = price(place.plan(f"SELECT {asked} AS x FROM visits"), request(epsilon=epsilon, delta=1e-6, **more))
    quote = next(quote for quote in quotes if isinstance(quote.sums[0].mechanism, kind))
    out = quote.question.outputs[0].value
    found = Columns(quote, side_by_side(quote, values, DRAWS), missed_by(out, quote.question, quote.request, 1)).of(out)
    assert isinstance(found, Numbers)
    return found


def held(found: Numbers, truth: float) -> np.ndarray:
    """Whether the exact value lies between the ends, or may be NULL where it is."""
    return found.null if np.isnan(truth) else (found.low <= truth + 1e-9) & (truth - 1e-9 <= found.high)


HOSTILE = {
    "empty": np.zeros(0, dtype=np.int64),
    "one row at a bound": np.array([HIGH]),
    "ties": np.full(30, 2),
    "all at a bound": np.full(300, LOW),
    "heavy tails": np.array([LOW] * 500 + [HIGH]),
    "both bounds": np.array([LOW, HIGH] * 40),
}
ASKED = ["AVG(age)", "VAR_POP(age)", "STDDEV(age)", "SUM(age) / COUNT(*)", "AVG(age) * AVG(age)", "COUNT(*) * 2 - AVG(age)"]


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize("data", HOSTILE)
@pytest.mark.parametrize("asked", ASKED)
def test_ends_cover_hostile_data(place: World, asked: str, data: str, kind: type) -> None:
    values = HOSTILE[data]
    if len(values) == 0:
        truth = np.nan
    elif len(values) == 1 and asked == "STDDEV(age)":
        truth = 0.0  # of one row, by convention
    else:
        truth = float(TRUTHS[asked](values))
    found = held(numbers_of(place, asked, values, kind), truth)
    assert coverage_of_draws(found, 0.95).holds, found.mean()


@pytest.mark.parametrize(
    ("asked", "most"), [("AVG(age)", 1.1), ("VAR_POP(age)", 1.3), ("STDDEV_POP(age)", 1.3), ("SUM(age) / COUNT(*)", 1.15)]
)
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_widths_are_close_to_the_error(place: World, asked: str, most: float, kind: type) -> None:
    """Half the width of the interval over the 95 % quantile of the error, 20,000 rows."""
    values = ages(20_000)
    found = numbers_of(place, asked, values, kind)
    error = np.quantile(np.abs(found.value - TRUTHS[asked](values)), 0.95)
    assert np.median(found.high - found.low) / 2 / error < most + 0.1


def test_all_numbers_together_hold_together(place: World) -> None:
    """`simultaneous`: the three columns of one release at once."""
    asked = "COUNT(*) AS n, AVG(age) AS mean, VAR_POP(age) AS spread"
    (quote,) = price(place.plan(f"SELECT {asked} FROM visits"), request(epsilon=1, simultaneous=True))
    values = HOSTILE["both bounds"]
    noisy = side_by_side(quote, values, DRAWS)
    together = np.ones(DRAWS, dtype=np.bool_)
    for output, truth in zip(quote.question.outputs, (len(values), values.mean(), values.var()), strict=True):
        missed = missed_by(output.value, quote.question, quote.request, 1)
        found = Columns(quote, noisy, missed).of(output.value)
        assert isinstance(found, Numbers)
        together &= held(found, float(truth))
    assert coverage_of_draws(together, 0.95).holds


def test_a_mean_counts_as_one_statement(place: World) -> None:
    question = place.plan("SELECT AVG(age), VAR_POP(age), STDDEV_POP(age), AVG(age) - VAR_POP(age) FROM visits")
    counts = [misses.pieces(output.value, question, 1, together=False) for output in question.outputs]
    assert counts == [1, 1, 1, 2]
    both = place.plan("SELECT STDDEV_POP(age) * VAR_POP(age), COUNT(*) + SUM(age), SUM(age) / COUNT(*), 1 / COUNT(*) FROM visits")
    assert [misses.pieces(output.value, both, 1, together=False) for output in both.outputs] == [1, 1, 1, 1]


def test_a_sum_beside_a_mean_has_the_law_of_both_noises(place: World) -> None:
    """SUM(age) = (centred sum + n (low + high)) / 2: one statement, and not two ends."""
    (quote,) = price(place.plan("SELECT SUM(age), AVG(age) FROM visits"), request(epsilon=1))
    out = quote.question.outputs[0].value
    assert isinstance(out, Result)
    values = ages(400)
    band = band_of(out, quote, side_by_side(quote, values, DRAWS))
    inside = (band.low <= values.sum()) & (values.sum() <= band.high)
    assert coverage_of_draws(inside, 0.95).holds
    error = np.quantile(np.abs(band.value - values.sum()), 0.95)
    assert np.median(band.high - band.low) / 2 / error < 1.25


def test_an_exact_count_leaves_the_noise_of_the_sum(place: World) -> None:
    """Where the number of rows is public, the interval of a mean is that of its sum, divided."""
    question = place.plan("SELECT AVG(age) AS x FROM visits")
    (quote,) = price(question, request(epsilon=1), fixed=True)
    band = band_of(quote.question.outputs[0].value, quote, side_by_side(quote, ages(1000), 50))
    centred = next(part for part in quote.sums if part.moment.kind == "centred")
    width = float(centred.mechanism.interval(Fraction(95, 100)).above) / 2 / 1000
    assert (band.high - band.low) / 2 == pytest.approx(width, rel=0.06)  # its ends move with the noisy mean: so far once in 10^7
