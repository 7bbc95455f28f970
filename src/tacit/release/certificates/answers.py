"""The certificates of answers to questions: when an answer is released, and at any later time from what the ledger keeps.

The question, its budget and the version of the data stand in the entry and in the kept answer. The plan is made from them again,
and is the one that was paid for if it has the key of the entry. Else there is no certificate, and the error says why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from tacit.accounting.ledger.entries import hash_of
from tacit.errors import InvalidInput, TacitError
from tacit.privacy.catalog import Catalog, having_begun
from tacit.query.language.nodes import given
from tacit.query.language.sql import read
from tacit.query.language.syntax import Select
from tacit.query.offers import asked_from, offered
from tacit.query.passes import rewrite
from tacit.query.price.quote import Quote, Request
from tacit.release.answer import Answer, Column, recorded, with_names
from tacit.release.answers import Answers, is_list, recorded_answers
from tacit.release.certificates.certificate import Certificate
from tacit.release.certificates.keys import OF_CERTIFICATES, Signer
from tacit.release.certificates.making import Basis, Before, of_question, unsigned, without_names
from tacit.release.certificates.ways import basis_kept

if TYPE_CHECKING:
    from tacit.accounting.ledger.entries import Entry
    from tacit.accounting.ledger.ledger import Ledger
    from tacit.query.binding.scope import PublicFacts

CHANGED = "the catalog, the public tables or tacit itself have changed since, so that its plan cannot be made again"


class Holds(Protocol):
    """The parts of a data set that certificates are made of."""

    catalog: Catalog

    @property
    def ledger(self) -> Ledger: ...
    @property
    def public(self) -> PublicFacts: ...
    @property
    def signer(self) -> Signer: ...


@dataclass(frozen=True, slots=True)
class Paid:
    """An entry by which an analyst paid for a question, with the answer as the ledger keeps it."""

    entry: Entry
    text: str

    @property
    def answer(self) -> Answer:
        return recorded(self.text)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers to a list, or the only one."""
        return tuple(recorded_answers(self.text)) if is_list(self.text) else (self.answer,)


def certified(data: Holds, number: int, analyst: str, quote: Quote | None = None, auditor: bool = False) -> Certificate:
    """The certificate of an entry of an analyst; `quote` is what was run, where it is known."""
    paid = paid_in(data.ledger, number, analyst)
    return certificate_of(data, paid, sums_before(data.ledger, paid.entry) if auditor else None, quote)


def certificate_of(data: Holds, paid: Paid, before: Before | None = None, quote: Quote | None = None) -> Certificate:
    """The signed certificate of what was paid for; with the sums `before` the entry in the auditor's form."""
    basis = basis_of_way(paid) if quote is None else basis_of(paid, quote)
    basis = basis or basis_made_again(paid, data.catalog, data.public)
    return certify(basis, paid.entry, data.catalog, data.signer, before)


def certified_at_once(data: Holds, kept: tuple[Entry, str], quote: Quote, answer: Answer | Answers) -> Certificate:
    """The same certificate of an answer that this process has just released under the quote, and `kept`: nothing is read again."""
    entry, text = kept
    return certify(of_question(quote, entry, text, _columns(answer)), entry, data.catalog, data.signer)


def _columns(answers: Answer | Answers) -> list[Column]:
    """The columns of an answer; of those to a list, all in their order."""
    return [column for each in (answers if isinstance(answers, Answers) else (answers,)) for column in each.columns]


def of_entry(data: Holds, number: int, auditor: bool) -> Certificate:
    """The same for the data owner, of whoever paid by that entry."""
    entry = next(data.ledger.entries(first=number), None) if number > 0 else None
    if entry is None or entry.number != number:
        raise InvalidInput(f"the ledger has no entry {number}; `tacit history` lists the entries", argument="entry")
    return certified(data, number, entry.analyst, auditor=auditor)


def paid_in(ledger: Ledger, number: int, analyst: str) -> Paid:
    """An entry of an analyst with its kept answer; raises if it has none."""
    row = ledger.paid_by(number, analyst)
    if row is None:
        raise InvalidInput(
            f"entry {number} is not a paid question of {analyst}; `tacit history` lists the entries", argument="entry"
        )
    entry, text = row
    if text is None:
        raise InvalidInput(f"entry {number} has no certificate: its answer was not kept", argument="entry")
    return Paid(entry, text)


def sums_before(ledger: Ledger, entry: Entry) -> Before:
    """The sums of the data set before an entry; those of its periods from all entries before it, since no entry has them."""
    spent = next(ledger.entries(first=entry.number - 1)).spent
    if entry.in_periods is None:
        return Before(spent)
    from tacit.accounting.ledger.by_period import Passed

    passed = Passed()
    for each in ledger.entries():
        if each.number >= entry.number:
            break
        passed.take(each)
    return Before(spent, passed.within(entry.in_periods.runs))


def certify(basis: Basis, entry: Entry, catalog: Catalog, signer: Signer, before: Before | None = None) -> Certificate:
    """The signed certificate; with the sums `before` the entry in the auditor's form."""
    return Certificate(signer.signed(unsigned(basis, entry, catalog.questions_at_most, before), OF_CERTIFICATES))


def basis_of(paid: Paid, quote: Quote) -> Basis | None:
    """The basis of an answer under the quote for its question; None if another event was paid for."""
    if paid.entry.event != quote.event:
        return None
    if is_list(paid.text):
        columns = [column for each in paid.answers for column in each.columns]
        named = [replace(each, name=output.name) for each, output in zip(columns, quote.question.headed, strict=True)]
        return of_question(quote, paid.entry, paid.text, named)
    names, kept = [output.name for output in quote.question.outputs], paid.answer
    return of_question(quote, paid.entry, without_names(paid.text, kept), with_names(kept, names).columns)


def basis_of_way(paid: Paid) -> Basis | None:
    """The basis of another way than a question, as it was kept with its result; None if none was."""
    kept = json.loads(paid.text)
    told = kept.get("certificate") if isinstance(kept, dict) else None
    return None if told is None else basis_kept({**told, "asked": {"what": paid.entry.question}}, hash_of(paid.text))


def basis_made_again(paid: Paid, catalog: Catalog, public: PublicFacts) -> Basis:
    """The same at a later time, from the entry, the kept answer and the catalog."""
    try:
        for quote in quotes_of(paid, catalog, public):
            if (basis := basis_of(paid, quote)) is not None:
                return basis
    except TacitError:  # what was answered then is refused now
        pass
    raise InvalidInput(f"the answer of entry {paid.entry.number} has no certificate: {CHANGED}; ask the question again to have one")


def quotes_of(paid: Paid, catalog: Catalog, public: PublicFacts) -> Iterator[Quote]:
    """The quotes of the requests that may have been made, under the key of the entry.

    Periods may have begun since then. All that it read are among those that it was charged to, from the first to the last.
    """
    if catalog.per is not None and paid.entry.in_periods is not None and (runs := paid.entry.in_periods.runs):
        catalog = having_begun(catalog, replace(catalog.per, begun=(runs[0][0], runs[-1][1])))
    select = read(paid.entry.question, given(None, date.fromisoformat(paid.entry.at[:10])), several=True).statement
    if not isinstance(select, Select):
        return
    for asked in _requests(paid, select, catalog, public):
        offer = offered(select, asked, catalog, public, paid.entry.data_version, renewed=False)
        if offer.key == paid.entry.key:
            yield from offer.quotes


def _requests(paid: Paid, select: Select, catalog: Catalog, public: PublicFacts) -> Iterator[Request]:
    """The request as it was recorded; of an answer from before requests were, those that its price and confidence leave."""
    kept = json.loads(paid.text)
    if not isinstance(kept, dict) or not kept.keys() & {
        "columns",
        "answers",
    }:  # the result of another way, kept by an earlier version
        return
    told: Mapping[str, Any] | None = kept.get("asked")
    if told is not None:
        names = [output.name for output in rewrite(select, catalog, public).outputs] if told["weights"] else []
        yield asked_from({**told, "weights": sorted([names[place], weight] for place, weight in told["weights"])})
        return
    answer = paid.answer
    epsilon, delta = answer.receipt.epsilon, answer.receipt.delta
    plain = Request(epsilon, delta, None, answer.confidence, answer.simultaneous)
    deltas = {delta, *(value for name, value in select.options if name == "delta")}
    for each in deltas:
        yield replace(plain, delta=Fraction(each))
        yield replace(plain, delta=Fraction(each), interval=False)
