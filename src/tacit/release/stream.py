"""A question that is asked again with every period: each time one more measurement of all periods so far (mechanisms/stream.py).

Every measurement is an entry of the ledger under a key of its own, which keeps the noisy numbers. A period pays when it is first
read, for every measurement up to the declared horizon; later ones read it without a further price. The numbers of an entry that
were lost are paid for again by all periods that are read again. Estimates and intervals follow from what is kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tacit.accounting.composition import cost_under
from tacit.accounting.ledger.by_period import Charge
from tacit.accounting.ledger.selling import Bearer, Granted, Sale
from tacit.errors import InvalidInput, NotAllowed
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.running import MOST_PERIODS
from tacit.mechanisms.stream import Measurement, Stream
from tacit.privacy.arguments import text_of, whole_of
from tacit.privacy.periods import EPOCH, Calendar, named
from tacit.privacy.rounding import decimal_text
from tacit.query.intervals.aggregates import weights_of
from tacit.query.intervals.bands import Noisy
from tacit.query.language.nodes import given
from tacit.query.language.sql import check_text, pointing, read
from tacit.query.language.syntax import Select
from tacit.query.language.writer import written
from tacit.query.offers import Offer, offered
from tacit.query.price.explanation import StreamPrice
from tacit.query.price.quote import UNIT, Quote, Request, request_of
from tacit.query.price.stream import measurement_of, stream_of
from tacit.query.question import domain
from tacit.query.trees import canonical_text
from tacit.release.answer import Answer, Receipt
from tacit.release.noisy import Paid
from tacit.release.once import Form, Sold, once
from tacit.release.tabulate import answer

if TYPE_CHECKING:
    from tacit.accounting.ledger.ledger import Ledger

NOTE = "running totals of a stream; a period paid for all measurements up to the horizon of {horizon} when it was first read"
KEPT: Form[list[int]] = Form(lambda numbers: json.dumps({"stream": numbers}), lambda text: list(json.loads(text)["stream"]))
LAST = "last"


class Asking(Protocol):
    """A session: its data set, and the analyst who pays."""

    data: Any
    analyst: str


Selling = Callable[[Offer, Request, str], Sale]  # of a session: who pays for a question, and for which request of a door


@dataclass(frozen=True, slots=True)
class Asked:
    """A stream as it is asked for: the text with `:last`, the last period that is read, the horizon and the price of a period."""

    text: str
    through: str
    horizon: int
    request: Request

    def at(self, last: date) -> Select:
        """The question with its last day."""
        statement = read(self.text, given({LAST: last}, last)).statement
        if not isinstance(statement, Select):
            raise InvalidInput("a stream needs a SELECT with :last, the last day that it reads")
        return statement

    @property
    def words(self) -> str:
        """The question, however its text is laid out."""
        return written(self.at(EPOCH))


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
    if budget.get("epsilon") is None or not budget.get("delta"):
        raise InvalidInput("a stream needs epsilon and delta, the price of each period: its noise is Gaussian", argument="delta")
    wanted = request_of((), dict(budget))
    most = whole_of(horizon, "horizon", 2, MOST_PERIODS)
    return Asked(check_text(text), text_of(through, "through"), most, wanted)


def stream_answer(session: Asking, asked: Asked, selling: Selling) -> Answer:
    """The answer up to the last period; measurements that are kept cost nothing, and missing ones are paid for in their order."""
    data = session.data
    data.refresh()
    with pointing(asked.text):
        place, offer = _place_of(session, asked)
        count = place.calendar.numbered(asked.through) - place.first + 1
        data.runner.start()
        try:
            sale = selling(offer, asked.request, "")
            bought = [_measurement(session, place, at, sale) for at in range(count)]
        finally:
            data.runner.free()
    return _tabulated(session, place, offer, bought)


@dataclass(frozen=True, slots=True)
class Explained:
    """A stream in advance: the price of each period, that of a person in all of them, and the errors of its running totals.

    `errors` has, for some numbers of periods, the half width of the interval of their total, and that of as many independent
    answers at the same price added up.
    """

    calendar: Calendar
    first: int
    stream: Stream
    epsilon: Fraction
    delta: Fraction
    confidence: Fraction
    unit: float

    @property
    def rho_lifetime(self) -> Fraction:
        """The price of all measurements for a person with rows in every period."""
        return sum((self.rho_of_person(at) for at in range(self.stream.horizon)), start=Fraction(0))

    def rho_of_person(self, at: int) -> Fraction:
        """The price of measurement `at`, counted from 0, for a person with rows in every period so far."""
        return cost_under(self.stream.lifetime(at), UNIT).rho

    def half_widths(self, periods: Sequence[int]) -> list[tuple[int, float, float]]:
        """For each number of periods the half width of their total, and of independent answers added up."""
        missed = 1 - self.confidence
        widths = self.stream.running(self.stream.horizon).widths([(0, each) for each in periods], missed)
        alone = Gaussian(self.stream.most, self.stream.rho, 1, 1, True, self.stream.neighbours)
        one = float(alone.interval(self.confidence).above)
        found = zip(periods, widths, strict=True)
        return [(each, self.unit * float(width), self.unit * one * each**0.5) for each, width in found]

    @property
    def errors(self) -> list[tuple[int, float, float]]:
        """The half widths of totals early, in between and at the end."""
        horizon = self.stream.horizon
        return self.half_widths(list(dict.fromkeys(each for each in (1, 3, 12, 36, horizon) if each <= horizon)))

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values; budgets are exact texts."""
        stream = self.stream
        return {
            "first": self.calendar.name(self.first), "horizon": stream.horizon, "per": self.calendar.text,
            "price": {"epsilon": decimal_text(self.epsilon), "delta": decimal_text(self.delta)}, "rho": float(stream.rho),
            "rho_lifetime": float(self.rho_lifetime), "rho_lifetime_of_independent": float(stream.horizon * stream.rho),
            "confidence": float(self.confidence),
            "errors": [{"periods": each, "half_width": width, "added_up": alone} for each, width, alone in self.errors],
        }  # fmt: skip

    def __str__(self) -> str:
        return str(StreamPrice(self.to_dict()))


def explanation(session: Asking, asked: Asked) -> Explained:
    """The price of a stream in every period and for a whole person, and its errors. Spends nothing, reads no rows."""
    with pointing(asked.text):
        place, offer = _place_of(session, asked)
    question, wanted = offer.quotes[0].question, asked.request
    (unit,) = weights_of(question.calls[0], question.calls) or (Fraction(1),)
    paid = wanted.epsilon or Fraction(0), wanted.delta
    return Explained(place.calendar, place.first, place.stream, *paid, wanted.confidence, float(unit))


# --- the question at a period --------------------------------------------------------------------------------------------------


def _offer(session: Asking, asked: Asked, last: date) -> Offer:
    """The question with its last day, priced as any other."""
    data = session.data
    return offered(asked.at(last), asked.request, data.as_prepared, data.public, data.version)


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
    offer = _offer(session, asked, per.calendar.last_day(last))
    runs = () if offer.charge is None else offer.charge.runs
    if len(runs) != 1 or runs[0][1] != last:
        where = named(runs, per.calendar) or "no period"
        raise NotAllowed(
            f"the conditions leave {where}: a stream reads consecutive periods up to {per.calendar.name(last)}",
            remedy="write WHERE day >= DATE '...' AND day <= :last, and begin the period with tacit prepare --through",
        )
    first, count = runs[0][0], last - runs[0][0] + 1
    return Place(asked, per.calendar, first, stream_of(offer.quotes[0], count, asked.horizon)), offer


# --- a measurement -------------------------------------------------------------------------------------------------------------


def _measurement(session: Asking, place: Place, at: int, asked: Sale) -> Sold[list[int]]:
    """The noisy numbers of a measurement, and the entry that paid for them."""
    data, stream = session.data, place.stream
    last, text = place.first + at, written(place.asked.at(place.last_day(at)))
    attempt = _attempt(data.ledger, place, at, asked)
    event, runs = (stream.again(at), ((place.first, last),)) if attempt else (stream.column(at), ((last, last),))
    key, charge = place.key(at, attempt), Charge(runs, (cost_under(stream.lifetime(at), UNIT),))
    sale = replace(asked, offers=(event,), question=text, data_version=data.version, key=key, charge=charge, singly=True)
    sale = replace(sale, request=asked.request or f"stream {key}", bearer=_bearer(asked))
    quote = None if data.ledger.recalled(sale) else _quote_at(session, place, at)
    ready = data.runner.open if quote is None else partial(data.runner.open, quote.question)
    till = replace(data.till, ready=ready)

    def run(granted: Granted) -> list[int]:
        assert quote is not None  # noqa: S101  # nothing that was recalled runs
        noisy = data.runner.noisy(quote, Paid(text, granted.entry.number, stream.horizon))
        return Measurement(stream, at).numbers(noisy.sums[quote.sums[0].place][1])

    return once(till, sale, run, KEPT)


def _quote_at(session: Asking, place: Place, at: int) -> Quote:
    """The quote of a measurement; refused before it is paid for if it is not of this stream, or reads other periods."""
    offer = _offer(session, place.asked, place.last_day(at))
    quote, mechanism = measurement_of(offer.quotes[0], place.stream.horizon)
    runs = () if offer.charge is None else offer.charge.runs
    if mechanism.stream != place.stream or runs != ((place.first, place.first + at),):
        raise NotAllowed("the question reads other rows in its earlier periods", remedy="write :last in one condition alone")
    return quote


def _bearer(sale: Sale) -> Bearer | None:
    """The tokens of a sale, which are charged what is asked for the one measurement."""
    return None if sale.bearer is None else replace(sale.bearer, asked=sale.bearer.asked[:1])


def _attempt(ledger: Ledger, place: Place, at: int, sale: Sale) -> int:
    """How often the numbers of a measurement were lost; a request that resumes takes up what it has paid for itself."""
    attempt = 0
    while (lost := ledger.lost(place.key(at, attempt))) is not None:
        if sale.resumes and (lost.analyst, lost.details.get("request")) == (sale.analyst, sale.request):
            break
        attempt += 1
    return attempt


def _tabulated(session: Asking, place: Place, offer: Offer, bought: Sequence[Sold[list[int]]]) -> Answer:
    """The answer from what was measured, which is released already."""
    quote, entries = offer.quotes[0], tuple(sold.entry for sold in bought)
    text = written(place.asked.at(place.last_day(len(bought) - 1)))
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
    return replace(answer(shown, noisy, receipt, [NOTE.format(horizon=place.stream.horizon)]), asked=text)
