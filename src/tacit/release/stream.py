"""A question that is asked again with every period: each time one more measurement of all periods so far (mechanisms/stream.py).

Every measurement is an entry of the ledger under a key of its own, which keeps the noisy numbers. A period pays when it is first
read, for every measurement up to the declared horizon; later ones read it without a further price. The numbers of an entry that
were lost are paid for again by all periods that are read again. Estimates and intervals follow from what is kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Protocol

import numpy as np

from tacit.accounting.composition import cost_under
from tacit.accounting.ledger.by_period import Charge
from tacit.accounting.ledger.selling import Sale
from tacit.errors import InvalidInput, NotAllowed
from tacit.mechanisms.running import MOST_PERIODS
from tacit.mechanisms.stream import Measurement, Stream
from tacit.privacy.arguments import text_of, whole_of
from tacit.privacy.periods import Calendar, named
from tacit.query.intervals.bands import Noisy
from tacit.query.language.nodes import given
from tacit.query.language.sql import pointing, read
from tacit.query.language.syntax import Select
from tacit.query.language.writer import written
from tacit.query.offers import Offer, offered
from tacit.query.periods import periods_of_group
from tacit.query.plan import DateType
from tacit.query.price.price import calibrate_rho
from tacit.query.price.quote import UNIT, Quote, Request, request_of
from tacit.query.price.stability import l1_sensitivity
from tacit.query.question import domain, private, size
from tacit.query.trees import canonical_text
from tacit.release.answer import Answer, Receipt
from tacit.release.noisy import Paid
from tacit.release.once import Form, Sold, once
from tacit.release.tabulate import answer

NOTE = "running totals of a stream; a period paid for all measurements up to the horizon of {horizon} when it was first read"
KEPT: Form[list[int]] = Form(lambda numbers: json.dumps({"stream": numbers}), lambda text: list(json.loads(text)["stream"]))
LAST = "last"


class Asking(Protocol):
    """A session: its data set, and the analyst who pays."""

    data: Any
    analyst: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A stream as it is asked for: the text with `:last`, the last period that is read, the horizon and the price of a period."""

    text: str
    through: str
    horizon: int
    request: Request

    @property
    def words(self) -> str:
        """The text, however it is laid out."""
        return " ".join(self.text.split())


@dataclass(frozen=True, slots=True)
class Place:
    """The stream in its data set: the calendar, its first period, and its declared numbers."""

    asked: Asked
    calendar: Calendar
    first: int
    stream: Stream

    def last_day(self, at: int) -> date:
        """The last day of period `at`, counted from 0."""
        return self.calendar.last_day(self.first + at)

    def key(self, at: int, attempt: int) -> str:
        """The name of a measurement in the ledger, whichever version of the data it reads."""
        numbers = self.stream.most, self.stream.horizon, self.stream.rho, self.stream.before, self.stream.after, self.stream.bits
        parts = ("stream", self.asked.words, self.calendar.text, self.first, *numbers, at, attempt)
        return hashlib.sha256(canonical_text(parts).encode()).hexdigest()


def asked_for(text: str, through: str, horizon: int, budget: Mapping[str, Any]) -> Asked:
    """The request, checked: a stream has a price in epsilon and delta, since its noise is Gaussian."""
    wanted = request_of((), dict(budget))
    if wanted.epsilon is None or not wanted.delta:
        raise InvalidInput("a stream has Gaussian noise: give epsilon= and delta=, the price of each period", argument="delta")
    most = whole_of(horizon, "horizon", 2, MOST_PERIODS)
    return Asked(text_of(text, "question"), text_of(through, "through"), most, wanted)


def stream_answer(session: Asking, asked: Asked, resumes: bool = False) -> Answer:
    """The answer up to the last period; measurements that are kept cost nothing, and missing ones are paid for in their order."""
    data = session.data
    data.refresh()
    with pointing(asked.text):
        place, offer = _place_of(session, asked)
        count = place.calendar.numbered(asked.through) - place.first + 1
        data.runner.start()
        try:
            bought = [_measurement(session, place, at, resumes) for at in range(count)]
        finally:
            data.runner.free()
    return _tabulated(session, place, offer, bought)


def explanation(session: Asking, asked: Asked) -> str:
    """The price of a stream in every period and for a whole person, and its errors, in lines. Spends nothing, reads no rows."""
    place, _ = _place_of(session, asked)
    stream, horizon = place.stream, place.stream.horizon
    lifetime = sum((cost_under(stream.lifetime(at), UNIT).rho for at in range(horizon)), start=Fraction(0))
    whole, alone = stream.running(horizon), float(stream.most) / (2 * float(stream.rho)) ** 0.5
    lines = [
        f"stream of {horizon} periods from {place.calendar.name(place.first)} on, each measured with all periods before it",
        f"price: rho {float(stream.rho):.4g} in each period, paid when it is first read, for all {horizon} measurements",
        f"price for a person with rows in each of {horizon} periods: rho {float(lifetime):.4g}, paid measurement by measurement; "
        f"independent answers cost rho {float(horizon * stream.rho):.4g}",
    ]
    for periods in dict.fromkeys(each for each in (1, 3, 12, 36, horizon) if each <= horizon):
        (deviation,) = whole.deviations([(0, periods)])
        lines.append(f"total of {periods}: deviation {deviation:.3g}; of independent answers added up {alone * periods**0.5:.3g}")
    return "\n".join(lines)


# --- the question at a period --------------------------------------------------------------------------------------------------


def _offer(session: Asking, asked: Asked, last: date) -> tuple[Offer, str]:
    """The question with its last day, priced as any other."""
    statement = read(asked.text, given({LAST: last}, last)).statement
    if not isinstance(statement, Select):
        raise InvalidInput("a stream needs a SELECT with :last, the last day that it reads")
    data = session.data
    return offered(statement, asked.request, data.as_prepared, data.public, data.version), written(statement)


def _place_of(session: Asking, asked: Asked) -> tuple[Place, Offer]:
    """The stream, from the question up to its last period."""
    per = session.data.as_prepared.per
    if per is None:
        raise NotAllowed(
            "a stream needs a budget of each period, which pays for every measurement that will read it",
            remedy='add per = "month" to [budget], or ask SUM(COUNT(*)) OVER (ORDER BY ...) in one question',
        )
    if ":last" not in asked.text:
        raise InvalidInput("a stream needs :last in its conditions, the last day that it reads; add AND day <= :last")
    last = per.calendar.numbered(asked.through)
    offer, _ = _offer(session, asked, per.calendar.last_day(last))
    runs = () if offer.charge is None else offer.charge.runs
    if len(runs) != 1 or runs[0][1] != last:
        where = named(runs, per.calendar) or "no period"
        raise NotAllowed(
            f"the conditions leave {where}: a stream reads consecutive periods up to {per.calendar.name(last)}",
            remedy="write WHERE day >= DATE '...' AND day <= :last, and begin the period with tacit prepare --through",
        )
    first, count = runs[0][0], last - runs[0][0] + 1
    quote = _sum_of(offer, count)
    (at,) = _series(quote, count)
    sizes = [size(key) for key in quote.question.group.keys]
    before, after = (int(np.prod(part, dtype=object)) for part in (sizes[:at], sizes[at + 1 :]))
    rho = calibrate_rho(asked.request.epsilon or Fraction(0), asked.request.delta)
    stream = Stream(l1_sensitivity(quote.sums[0].moment, quote.reach), asked.horizon, rho, before, after, quote.reach.neighbours)
    if count > asked.horizon:
        raise NotAllowed(
            f"the stream ends after {asked.horizon} periods, and this is number {count}", remedy="declare another stream"
        )
    return Place(asked, per.calendar, first, stream), offer


def _sum_of(offer: Offer, count: int) -> Quote:
    """The quote of a question with one sum for each period, of public groups; refused else."""
    quote = offer.quotes[0]
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


# --- a measurement -------------------------------------------------------------------------------------------------------------


def _measurement(session: Asking, place: Place, at: int, resumes: bool) -> Sold[list[int]]:
    """The noisy numbers of a measurement, and the entry that paid for them."""
    data, ledger = session.data, session.data.ledger
    offer, text = _offer(session, place.asked, place.last_day(at))
    quote, stream = _sum_of(offer, at + 1), place.stream
    same = l1_sensitivity(quote.sums[0].moment, quote.reach) == stream.most
    runs = () if offer.charge is None else offer.charge.runs
    if not same or runs != ((place.first, place.first + at),):
        raise NotAllowed("the question reads other rows in its earlier periods", remedy="write :last in one condition alone")
    attempt = 0
    while not resumes and ledger.is_lost(place.key(at, attempt)):
        attempt += 1
    mechanism = Measurement(stream, at)
    event = stream.again(at) if attempt else mechanism.event
    charged = runs if attempt else ((place.first + at, place.first + at),)
    key, whole = place.key(at, attempt), cost_under(stream.lifetime(at), UNIT)
    sale = Sale((event,), session.analyst, text, data.version, key, offer.tables, f"stream {key}", charge=Charge(charged, (whole,)),
                resumes=resumes, singly=True)  # fmt: skip
    noised = replace(quote.sums[0], mechanism=mechanism)  # type: ignore[arg-type]  # a measurement has no interval: it estimates nothing
    measured = replace(quote, sums=(noised,), stated=None)
    till = replace(data.till, ready=partial(data.runner.open, measured.question))

    def run(granted: Any) -> list[int]:
        noisy = data.runner.noisy(measured, Paid(text, granted.entry.number))
        return mechanism.numbers(noisy.sums[quote.sums[0].place][1])

    return once(till, sale, run, KEPT)


def _tabulated(session: Asking, place: Place, offer: Offer, bought: Sequence[Sold[list[int]]]) -> Answer:
    """The answer from what was measured, which is released already."""
    quote, entries = offer.quotes[0], tuple(sold.entry for sold in bought)
    numbers = np.array([sold.value for sold in bought], dtype=object)
    (part,) = quote.sums
    running = place.stream.running(len(numbers))
    shown = replace(quote, sums=(replace(part, mechanism=running),), stated=None)
    groups = tuple(product(*(domain(key) for key in quote.question.group.keys)))
    noisy = Noisy(groups, {part.place: (shown.sums[0], running.estimated(numbers))}, {})
    charge = offer.charge
    left = session.data.ledger.left(session.analyst, charge)
    wanted = place.asked.request
    receipt = Receipt(wanted.epsilon or Fraction(0), wanted.delta, left.epsilon, left.delta, entries[-1], session.data.version)
    receipt = replace(
        receipt,
        entries=entries,
        again=all(sold.repeated for sold in bought),
        periods="" if charge is None else named(charge.runs, place.calendar),
    )
    return replace(answer(shown, noisy, receipt, [NOTE.format(horizon=place.stream.horizon)]), asked=place.asked.text)
