"""Quotes as certificates without values and signature, and the checker's report on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from threading import local
from typing import Any

from tacit.accounting.composition import Cost, cost_under
from tacit.accounting.events import Event
from tacit.accounting.ledger.entries import event_json
from tacit.privacy.loss import Change, Neighbours, relation_text
from tacit.query.offers import asked_json
from tacit.query.periods import charged
from tacit.query.price.lifetime import whole_person
from tacit.query.price.quote import Quote
from tacit.query.price.stability import tables_of
from tacit.release.certificates.derivation import derivation
from tacit.release.certificates.mechanisms import mechanisms_json
from tacit.release.certificates.plain import facts_json, plan_json
from tacit_certificate.check import Certificate, Report


def unsigned(quote: Quote, change: Change | None = None) -> dict[str, Any]:
    """A quote as a certificate has it, under the relation of a catalog, or else the one that it is priced for."""
    event, relation = quote.event, quote.reach.neighbours if change is None else Neighbours(change, "unit")
    cost = cost_under(event, relation)
    price = _sums(cost)
    cap = {"epsilon": "1000000", "delta": "1/2", "split": "1/2", "questions_at_most": 1}
    periods = _in_periods(quote, price)
    return {
        "way": "question",
        "form": "public",
        "relation": relation_text(relation),
        "plan": plan_json(quote.question),
        "facts": facts_json(quote.question),
        "derivation": derivation(quote),
        "mechanisms": mechanisms_json(quote, event),
        "event": event_json(event),
        "price": {**(_sums(whole_person(quote)) if periods else price), "relation": relation_text(relation)},
        "cap": cap,
        **periods,
        "asked": asked_json(quote.request),
        "entry": "0" * 64,
        "released": {"text": None, "sha256": None, "names": [output.name for output in quote.question.headed]},
        "intervals": [{"column": place, "rule": "as-stated"} for place in range(len(quote.question.headed))],
        "stated": [],
    }


def _sums(cost: Cost) -> dict[str, Any]:
    return {"epsilon": None if cost.epsilon is None else str(cost.epsilon), "rho": str(cost.rho), "delta": str(cost.delta)}


def _in_periods(quote: Quote, price: dict[str, Any]) -> dict[str, Any]:
    """The field of a certificate with the periods of a quote, where the budget is one of each."""
    tables = [table for part in quote.question.parts for table in tables_of(part.group)]
    if (per := next((table.per for table in tables if table.per is not None), None)) is None:
        return {}
    lifetime = {"epsilon": "1000000", "delta": "1/2"}
    runs = [list(run) for run in charged(quote.question)]
    return {"periods": {"per": per.calendar.text, "runs": runs, "price": price, "lifetime": lifetime}}


def checked(document: dict[str, Any]) -> Report:
    """The checker's report on the contents of a certificate."""
    return Certificate(document).contents()


def report_on(quote: Quote, change: Change | None = None) -> Report:
    """The checker's report on a quote."""
    return checked(unsigned(quote, change))


# --- on every quote of a test process ----------------------------------------------------------------------------------------

MOST_KEPT = 2000
DISAGREEMENTS: list[str] = []
COMPARED = count()


@dataclass
class SecondOpinion:
    """Checks each quote whose event is asked for, once, as the checker of certificates does, and keeps what it finds."""

    event: Callable[[Quote], Event]
    seen: dict[int, Quote] = field(default_factory=dict)
    inside: local = field(default_factory=local)

    def __call__(self, quote: Quote) -> Event:
        made = self.event(quote)
        if id(quote) in self.seen or getattr(self.inside, "busy", False):
            return made
        if len(self.seen) >= MOST_KEPT:
            self.seen.clear()
        self.seen[id(quote)] = quote
        self.inside.busy = True
        try:
            next(COMPARED)
            wrong = report_on(quote).wrong
            DISAGREEMENTS.extend(each for each in wrong if not each.startswith("cap: "))  # a quote has none: the till decides
        except Exception as error:
            DISAGREEMENTS.append(f"a quote has no certificate: {type(error).__name__}: {error}")
        finally:
            self.inside.busy = False
        return made
