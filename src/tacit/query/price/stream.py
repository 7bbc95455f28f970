"""The measurement of a stream that a quote stands for: from the question up to its last period, and the declared horizon alone.

So whoever pays for a measurement and whoever draws its noise derive the same one, from the text that the ledger records.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from tacit.accounting.composition import Cost, cost_under
from tacit.errors import NotAllowed
from tacit.mechanisms.stream import Measurement, Stream
from tacit.query.periods import charged, periods_of_group
from tacit.query.plan import DateType
from tacit.query.price.price import calibrate_rho
from tacit.query.price.quote import UNIT, Quote
from tacit.query.price.stability import l1_sensitivity
from tacit.query.question import private, size


def stream_of(quote: Quote, count: int, horizon: int) -> Stream:
    """The declared numbers of the stream whose first `count` periods a quote reads."""
    if count > horizon:
        raise NotAllowed(f"the stream ends after {horizon} periods, and this is number {count}", remedy="declare another stream")
    (at,) = _series(quote_of_sum(quote, count), count)
    sizes = [size(key) for key in quote.question.group.keys]
    before, after = (int(np.prod(part, dtype=object)) for part in (sizes[:at], sizes[at + 1 :]))
    rho = calibrate_rho(quote.request.epsilon or Fraction(0), quote.request.delta)
    most = l1_sensitivity(quote.sums[0].moment, quote.reach)
    return Stream(most, horizon, rho, before, after, quote.reach.neighbours)


def measurement_of(quote: Quote, horizon: int) -> tuple[Quote, Measurement]:
    """The quote of one measurement, that of the last period which a question reads, and the measurement."""
    runs = charged(quote.question)
    if len(runs) != 1:
        raise NotAllowed("a stream reads consecutive periods", remedy="write :last in one condition alone")
    count = runs[0][1] - runs[0][0] + 1
    mechanism = Measurement(stream_of(quote, count, horizon), count - 1)
    noised = replace(quote.sums[0], mechanism=mechanism)  # type: ignore[arg-type]  # a measurement has no interval: it estimates nothing
    return replace(quote, sums=(noised,), stated=None), mechanism


def person_price(quote: Quote) -> tuple[Cost, ...] | None:
    """The price of a measurement for a person with rows in every period so far; None for any other question."""
    mechanism = quote.sums[0].mechanism if len(quote.sums) == 1 else None
    return (cost_under(mechanism.stream.lifetime(mechanism.at), UNIT),) if isinstance(mechanism, Measurement) else None


def quote_of_sum(quote: Quote, count: int) -> Quote:
    """The quote of a question with one sum for each period, of public groups; refused else."""
    alone = not (quote.beside or quote.below or quote.ranks or quote.modes or quote.workloads or quote.margins or quote.shared)
    if not alone or len(quote.sums) != 1 or private(quote.question) or len(_series(quote, count)) != 1:
        raise NotAllowed(
            "a stream has one COUNT or SUM for each period: GROUP BY the period, and public keys if any",
            remedy="for example SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n ... GROUP BY month",
        )
    return quote


def _series(quote: Quote, count: int) -> list[int]:
    """The keys with one value for each period, which alone says the period of a row."""
    group = quote.question.group
    dates = [at for at, key in enumerate(group.keys) if isinstance(key.term.type, DateType) and size(key) == count]
    return [at for at in dates if periods_of_group(replace(group, keys=(group.keys[at],))) == (count, 1)]
