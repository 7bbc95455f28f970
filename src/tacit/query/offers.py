"""What a question comes to before anything is paid for: its plan, its quotes by preference, and the key of its answer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from tacit.accounting.events import Event
from tacit.privacy.catalog import Catalog
from tacit.query.binding.scope import PublicFacts
from tacit.query.canonical import canonical_plan, canonical_text
from tacit.query.language.syntax import Select
from tacit.query.passes import rewrite
from tacit.query.plan import Question
from tacit.query.price.forecast import declared_rows, has_forecast
from tacit.query.price.needs import placed
from tacit.query.price.price import Quote, Request, price
from tacit.query.price.stability import rows_are_public, tables_of


@dataclass(frozen=True, slots=True)
class Offer:
    """A question with its quotes; `key` is that of its answer, and `tables` are the private ones that it reads.

    `older` is a key under which an answer to it may have been kept, of the time when requests differed that now do not.
    """

    question: Question
    quotes: tuple[Quote, ...]
    key: str
    tables: tuple[str, ...]
    older: str = ""

    @property
    def events(self) -> tuple[Event, ...]:
        """What each quote would spend."""
        return tuple(quote.event for quote in self.quotes)


def offered(select: Select, asked: Request, catalog: Catalog, public: PublicFacts, version: str) -> Offer:
    """The quotes for a question within a request, on a version of the prepared data.

    A question without quantiles is the same with and without intervals, which only quantiles can do without.
    """
    question = rewrite(select, catalog, public)
    public_rows, older = rows_are_public(question, catalog), ""
    quotes = price(question, asked, catalog.change, public_rows, catalog.cores)
    if not asked.interval and not any(part.ranks for part in quotes[0].parts):
        older, asked = key_of(quotes[0], version), replace(asked, interval=True)
        quotes = price(question, asked, catalog.change, public_rows, catalog.cores)
    tables = tuple(dict.fromkeys(table.name for part in question.parts for table in tables_of(part.group)))
    return Offer(question, quotes, key_of(quotes[0], version), tables, older)


def key_of(quote: Quote, version: str) -> str:
    """What makes two queries the same: the plan, the budget and the prepared data; never the text, nor the column names."""
    by_place = sorted(placed(quote.request.weights, quote.question).items())
    asked = replace(quote.request, weights=tuple((str(place), weight) for place, weight in by_place))
    known: tuple[object, ...] = (version, canonical_plan(quote.question), canonical_text(asked))
    if quote.request.error is not None and any(has_forecast(call, quote.question) for call in quote.question.calls):
        known = (*known, declared_rows(quote.question))  # what can be forecast is priced by it
    return hashlib.sha256(canonical_text(known).encode()).hexdigest()
