"""How far a released mean or variance will be from the exact one, before anything is released: for a group of a given size.

The number of rows is private; `min_rows` of a table says for which size a forecast is wanted. It decides nothing else: noise is
scaled to the sensitivity and the epsilon that is charged, the released count is used as it is, and a smaller group has a wider
interval. Proof in forecast.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.accounting.calibrate import short_up
from tacit.accounting.weighted import Draws, weighted_error
from tacit.query.plan import Call, Moment, Question
from tacit.query.price.aggregates import moments_of
from tacit.query.price.margins import Added
from tacit.query.price.pairs import row_of, spread, step_of
from tacit.query.price.quote import Quote
from tacit.query.price.stability import tables_of
from tacit.query.price.statements import SPREADS, declared

ROUNDS = 12
EXAMPLE_ROWS = 1000  # of a group for which an error is forecast, where the catalog names no size
LEAST_ROWS = 3  # of a group for which the error of a variance is forecast
FORECAST = frozenset({"avg"}) | SPREADS
OF_THE_MEAN, OF_BOUNDS, OF_ROWS = Fraction(1, 25), Fraction(2, 5), Fraction(1, 100)  # of the chance that a variance misses
Noises = tuple[Draws, ...]  # those of the sum and of the count of a mean, in this order; of a variance, first that of the squares
Shares = Callable[[Fraction], Noises]  # for an epsilon of each


def declared_rows(question: Question) -> int | None:
    """The smallest `min_rows` that the private tables of a question declare."""
    return min((table.min_rows for table in tables_of(question.group) if table.min_rows), default=None)


def has_forecast(call: Call, question: Question) -> bool:
    """Whether the catalog names a size for which the error of a call can be forecast."""
    return call.name in FORECAST and (declared_rows(question) or 0) >= (LEAST_ROWS if call.name in SPREADS else 1)


def noises_in(call: Call, question: Question, noise: Callable[[Moment], Draws]) -> Noises:
    """The noises of a call's sums, in the order of `Noises`."""
    return tuple(noise(moment) for moment in reversed(moments_of(call, question.calls)))


def forecast(call: Call, noises: Noises, rows: int, missed: Fraction) -> float:
    """How far an answer over at least `rows` rows is from the exact one, except with a chance of `missed`."""
    return (mean_error if call.name == "avg" else spread_error)(call, noises, rows, missed)


def mean_error(call: Call, noises: Noises, rows: int, missed: Fraction) -> float:
    """How far a mean over at least `rows` rows is from the exact one, except with a chance of `missed`; at most its range."""
    unit = _unit(call)
    error = _of_mean(noises, _largest(call), rows, missed, 2 * spread(call.over))
    return min(error * unit, spread(call.over) * step_of(call.over))


def _of_mean(noises: Noises, largest: float, rows: int, missed: Fraction, enough: float) -> float:
    """The error of a mean in the units of its sum, as soon as it is `enough`."""
    error = 0.0
    for _ in range(ROUNDS):
        needed = _reach(noises, largest + error, missed) / rows
        if needed <= error:
            break
        error = needed * 1.0001
        if error >= enough:
            break
    return error


def spread_error(call: Call, noises: Noises, rows: int, missed: Fraction) -> float:
    """The same for a variance or a deviation: at most its range, and that for fewer than `LEAST_ROWS` rows."""
    most, divided, units = spread(call.over), rows - int(call.name.endswith("samp")), step_of(call.over) ** 2 / 4
    if rows < LEAST_ROWS:
        return declared(call)[1]
    error = _of_variance(noises, most, divided, missed) * (1 + 1e-9)
    if error > most**2 / 2:
        return declared(call)[1]
    return float(np.sqrt(error * units)) if call.name.startswith("stddev") else error * units


def _of_variance(noises: Noises, most: float, divided: int, missed: Fraction) -> float:
    """The error of a variance in half steps, R = `most` being the range in steps; infinite where the proof does not hold."""
    of_mean, counted = noises[1:], noises[-1]
    mean = _of_mean(of_mean, most, divided, missed * OF_THE_MEAN, most)
    if mean > most * 2 / 3:
        return np.inf
    rest = missed * (1 - OF_THE_MEAN - OF_BOUNDS - OF_ROWS)
    weights = np.array([[0.5, 2 * most, 1.5 * most**2]])
    inside = mean**2 + float(weighted_error(noises, weights, rest, (0.5, 0.0, 0.0))[0]) / divided
    at_bounds = 2 * most * _reach(of_mean, most, 2 * missed * OF_BOUNDS) / divided
    in_middle = (most + mean / 2) * _reach(of_mean, most, missed * OF_BOUNDS) / divided
    by_rows = most**2 * counted.error(missed * OF_ROWS) / divided**2 if counted.scale else 0.0
    return max(inside, at_bounds, in_middle, by_rows)


def forecast_text(call: Call, quote: Quote, missed: Fraction) -> str:
    """The forecast of a mean, a variance or a deviation: for a group of the declared size, else for one of a thousand rows."""
    parts = {part.moment: part.mechanism for part in quote.noisy_sums}

    def noise(moment: Moment) -> Draws:
        found = parts[moment]
        alone, count = (found.mechanism, found.count) if isinstance(found, Added) else (found, 1)
        return Draws(alone.name, alone.scale, count)

    rows = declared_rows(quote.question) if has_forecast(call, quote.question) else None
    error = forecast(call, noises_in(call, quote.question, noise), rows or EXAMPLE_ROWS, missed)
    least = f"in a group of at least {rows:,} rows" if rows else f"in a group of {EXAMPLE_ROWS:,} rows, less in a larger one"
    return f"at most ± {error:.6g} {least}, at {float(quote.request.confidence):.4g} confidence"


def holds(call: Call, noises: Noises, rows: int, error: Fraction, missed: Fraction) -> bool:
    """Whether an answer over at least `rows` rows is within `error`, except with a chance of `missed`."""
    if call.name != "avg":
        return spread_error(call, noises, rows, missed) <= float(error) * (1 - 1e-12)
    units = float(error) / _unit(call) * (1 - 1e-12)
    return _reach(noises, _largest(call) + units, missed) <= units * rows * (1 - 1e-12)


def least_share(call: Call, shares: Shares, rows: int, error: Fraction, missed: Fraction) -> Fraction:
    """The least epsilon, to 6 digits, with which `holds`, where `shares` says what each sum gets of it."""
    low, high = Fraction(1, 10**9), Fraction(1)
    while not holds(call, shares(high), rows, error, missed):
        low, high = high, 4 * high
    while high > low * Fraction(1_000_001, 1_000_000):
        middle = short_up((low + high) / 2, 9)
        low, high = (low, middle) if holds(call, shares(middle), rows, error, missed) else (middle, high)
    found = short_up(high, 6)
    while not holds(call, shares(found), rows, error, missed):
        found = short_up(found * Fraction(1001, 1000), 6)
    return found


@lru_cache(maxsize=1024)
def _reach(noises: Noises, weight: float, missed: Fraction) -> float:
    return float(weighted_error(noises, np.array([[1.0, weight]]), missed)[0])


def _unit(call: Call) -> float:
    """What one unit of the sum is in the answer: half a step, if the sum is centered."""
    return step_of(call.over) / (1 if call.together is not None else 2)


def _largest(call: Call) -> float:
    """The largest mean in these units."""
    node = row_of(call.over)
    return float(max(abs(node.low), abs(node.high))) if call.together is not None else spread(call.over)
