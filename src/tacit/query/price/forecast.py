"""How far a released mean will be from the exact one, before anything is released: for a group of a given number of rows.

The number of rows is private; `min_rows` of a table says for which size a forecast is wanted. It decides nothing else: noise is
scaled to the sensitivity and the epsilon that is charged, the released count is used as it is, and a smaller group has a wider
interval. Proof in ratios.md, section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.accounting.calibrate import short_up
from tacit.accounting.weighted import Draws, weighted_error
from tacit.query.plan import Call, Question
from tacit.query.price.aggregates import moments_of
from tacit.query.price.margins import Added
from tacit.query.price.pairs import row_of, spread, step_of
from tacit.query.price.quote import Quote
from tacit.query.price.stability import tables_of

ROUNDS = 12
EXAMPLE_ROWS = 1000  # of a group for which the error of a mean is forecast, where the catalog names no size
Noises = tuple[Draws, Draws]  # those of the sum and of the count of a mean, in this order
Shares = Callable[[Fraction], Noises]  # for an epsilon of each


def declared_rows(question: Question) -> int | None:
    """The smallest `min_rows` that the private tables of a question declare."""
    return min((table.min_rows for table in tables_of(question.group) if table.min_rows), default=None)


def means_in(question: Question) -> list[Call]:
    """The averages of a question."""
    return [call for call in question.calls if call.name == "avg"]


def mean_error(call: Call, noises: Noises, rows: int, missed: Fraction) -> float:
    """How far a mean over at least `rows` rows is from the exact one, except with a chance of `missed`; at most its range."""
    unit, largest = _unit(call), _largest(call)
    error = 0.0
    for _ in range(ROUNDS):
        needed = _reach(noises, largest + error, missed) / rows
        if needed <= error:
            break
        error = needed * 1.0001
        if error >= 2 * spread(call.over):
            break
    return min(error * unit, spread(call.over) * step_of(call.over))


def mean_text(call: Call, quote: Quote, missed: Fraction) -> str:
    """The forecast of a mean: for a group of the declared size, else for one of a thousand rows."""
    parts = {part.moment: part.mechanism for part in quote.noisy_sums}
    found = [parts[moment] for moment in reversed(moments_of(call, quote.question.calls))]
    alone = [(each.mechanism, each.count) if isinstance(each, Added) else (each, 1) for each in found]
    summed, counted = (Draws(noise.name, noise.scale, count) for noise, count in alone)
    rows = declared_rows(quote.question)
    error = mean_error(call, (summed, counted), rows or EXAMPLE_ROWS, missed)
    least = f"in a group of at least {rows:,} rows" if rows else f"in a group of {EXAMPLE_ROWS:,} rows, less in a larger one"
    return f"at most ± {error:.6g} {least}, at {float(quote.request.confidence):.4g} confidence"


def holds(call: Call, noises: Noises, rows: int, error: Fraction, missed: Fraction) -> bool:
    """Whether a mean over at least `rows` rows is within `error`, except with a chance of `missed`."""
    units = float(error) / _unit(call) * (1 - 1e-12)
    return _reach(noises, _largest(call) + units, missed) <= units * rows * (1 - 1e-12)


def least_share(call: Call, shares: Shares, rows: int, error: Fraction, missed: Fraction) -> Fraction:
    """The least epsilon, to 6 digits, of the sum and of the count each with which `holds`."""
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
