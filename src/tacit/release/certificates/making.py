"""A certificate from a quote, the ledger's entry for the asker, and the released values; nothing else is read.

The public form has the hash of the entry, its event, its price and the cap: functions of the question. The auditor's form adds the
place in the chain and the sums, by the owner's word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from tacit.accounting.filter import State
from tacit.accounting.ledger.entries import Entry, InPeriods, event_json, hash_of
from tacit.privacy.catalog import Budget
from tacit.privacy.loss import relation_text
from tacit.query.offers import asked_json
from tacit.query.plan import Join, PublicScan
from tacit.query.price.quote import Quote
from tacit.query.trees import below
from tacit.release.answer import Answer, Column, plain_names
from tacit.release.certificates.certificate import ABOUT, FORMAT, IN_PERIODS
from tacit.release.certificates.derivation import derivation
from tacit.release.certificates.intervals import STATED, intervals_json
from tacit.release.certificates.mechanisms import mechanisms_json
from tacit.release.certificates.plain import facts_json, plan_json
from tacit.untrusted import for_json

ALWAYS = ("accounting/composition.md", "accounting/filter.md", "accounting/ledger/ledger.md")
PAGE_OF_PERIODS = "accounting/periods.md"
PAGES: Mapping[str, str] = {
    "rounds": "publish/synthetic/rows/rounds.md",
    "laplace": "mechanisms/laplace.md",
    "gaussian": "mechanisms/gaussian.md",
    "running": "mechanisms/running.md",
    "key-threshold": "mechanisms/selection.md",
    "gaussian-keys": "mechanisms/selection.md",
    "quantile": "mechanisms/quantile/quantile.md",
    "quantile-with-interval": "mechanisms/quantile/quantile.md",
    "smooth-quantile": "mechanisms/smooth/smooth.md",
    "tree": "mechanisms/tree/tree.md",
    "exponential": "mechanisms/exponential.md",
    "farthest": "mechanisms/farthest.md",
    "resampling": "mechanisms/dirichlet/dirichlet.md",
    "added": "accounting/added.md",
    "estimated": "mechanisms/residual.md",
    "stated": "accounting/composition.md",
}
"""The proof page of each kind of mechanism."""

CURVE = "the delta of the Gaussian noise of this question at its epsilon, by the curve of its law (accounting/gaussian_curve.md)"
TRUNCATION = "the weight that the sampler of Gaussian noise leaves out (mechanisms/noise/discrete.md)"
FANOUT = "the fan-out and the size of public tables, which the public data has"
SMOOTH = "the tails of noise scaled to smooth sensitivity (mechanisms/smooth/smooth.md)"


@dataclass(frozen=True, slots=True)
class Basis:
    """Of any release: its way, its parameters, how they lead to a price, and what is released."""

    way: str
    asked: Mapping[str, Any]
    plan: Mapping[str, Any]
    facts: Mapping[str, Any]
    derivation: Sequence[Mapping[str, Any]]
    mechanisms: Sequence[Mapping[str, Any]]
    released: Mapping[str, Any]
    intervals: Sequence[Mapping[str, Any]] = ()
    stated: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Before:
    """The sums of the data set before an entry; of the periods that it is charged to, each with the last of a run of equal sums."""

    sums: State
    periods: tuple[tuple[int, int, State], ...] | None = None


def unsigned(basis: Basis, entry: Entry, questions_at_most: int, before: Before | None = None) -> dict[str, Any]:
    """The document without its signature; with the sums `before` the entry it is the auditor's form."""
    assert entry.event is not None  # noqa: S101  # the caller has it from a spend or a recall
    document: dict[str, Any] = {
        "about": ABOUT,
        "format": FORMAT,
        "kind": "certificate",
        "form": "public" if before is None else "auditor",
        **{name: getattr(basis, name) for name in basis.__slots__},
        "relation": relation_text(entry.price.neighbours),
        "event": event_json(entry.event),
        "price": {**_sums(entry.price), "relation": relation_text(entry.price.neighbours)},
        "cap": _cap(entry, questions_at_most),
        "entry": entry.hash,
        "data_version": entry.data_version,
        "software": {"version": _version(), "proofs": _proofs(basis, entry)},
    }
    if entry.in_periods is not None:
        document["about"] += IN_PERIODS
        document["periods"] = _in_periods(entry.in_periods, entry.orders.sums)
    return document if before is None else {**document, "ledger": _position(entry, before)}


def _cap(entry: Entry, questions_at_most: int) -> dict[str, Any]:
    """The cap of the data set: where the budget is one of each period, of a period."""
    at = entry.orders.sums if entry.in_periods is None else entry.orders.periods
    return {**_budget(entry.cap, at), "split": str(1 - entry.for_events), "questions_at_most": questions_at_most}


def _in_periods(charged: InPeriods, order: Fraction | None) -> dict[str, Any]:
    """The periods of a release, its price in each, and the cap of a whole person, who is what the `price` is for."""
    lifetime = None if charged.lifetime is None else _budget(charged.lifetime, order)
    return {"per": charged.per, "runs": [list(run) for run in charged.runs], "price": _sums(charged.price), "lifetime": lifetime}


def _budget(budget: Budget, order: Fraction | None) -> dict[str, Any]:
    at = {} if order is None else {"order": str(order)}
    return {"epsilon": str(budget.epsilon), "delta": str(budget.delta), **at}


def _position(entry: Entry, before: Before) -> dict[str, Any]:
    sums: dict[str, Any] = {"before": _sums(before.sums), "after": _sums(entry.spent)}
    if before.periods is not None:
        sums["periods"] = [[first, last, _sums(state)] for first, last, state in before.periods]
    return {"id": entry.ledger, "number": entry.number, "text": entry.text, **sums}


def _sums(sums: Any) -> dict[str, Any]:
    return {"epsilon": None if sums.epsilon is None else str(sums.epsilon), "rho": str(sums.rho), "delta": str(sums.delta)}


def _proofs(basis: Basis, entry: Entry) -> dict[str, str]:
    """The fingerprint of each proof page on which the certificate rests, as this version of tacit has it."""
    steps = {str(step["proof"]).split(",")[0] for step in basis.derivation}
    pages = {*ALWAYS, *steps, *(PAGES[str(each["kind"])] for each in basis.mechanisms)}
    pages |= set() if entry.in_periods is None else {PAGE_OF_PERIODS}
    return {page: _fingerprint(page) for page in sorted(pages)}


@lru_cache(maxsize=1)
def _version() -> str:
    return version("tacit")


@lru_cache(maxsize=64)
def _fingerprint(page: str) -> str:
    return sha256(files("tacit").joinpath(page).read_bytes()).hexdigest()[:16]


# --- a question --------------------------------------------------------------------------------------------------------------


def of_question(quote: Quote, entry: Entry, text: str, columns: Sequence[Column]) -> Basis:
    """The basis of an answer, or of those to a list: `text` is kept without names, and `columns` have the asker's."""
    question = quote.question
    assert entry.event is not None  # noqa: S101  # it is the event of the quote, by which it was found
    mechanisms = mechanisms_json(quote, entry.event)
    intervals = intervals_json(quote, columns, mechanisms)
    names = [column.name for column in columns]
    return Basis(
        way="question",
        asked={"question": entry.question, **asked_json(quote.request)},
        plan=plan_json(question),
        facts=facts_json(question),
        derivation=derivation(quote),
        mechanisms=mechanisms,
        released={"text": text, "sha256": hash_of(text), "names": names},
        intervals=intervals,
        stated=list(
            _stated(quote, mechanisms, [name for name, rule in zip(names, intervals, strict=True) if rule["rule"] == STATED])
        ),
    )


def without_names(text: str, answer: Answer) -> str:
    """The text of a kept answer without names of columns: an earlier version kept those that its first analyst gave."""
    names = plain_names(len(answer.columns))
    if [column.name for column in answer.columns] == names:
        return text
    kept = json.loads(text)
    columns = [[name, *column[1:]] for name, column in zip(names, kept["columns"], strict=True)]
    return for_json({**kept, "columns": columns})


def _stated(quote: Quote, mechanisms: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    kinds = {each["kind"] for each in mechanisms}
    if quote.stated is not None:
        yield CURVE
    if kinds & {"gaussian", "running"}:
        yield TRUNCATION
    if "smooth-quantile" in kinds:
        yield SMOOTH
    if any(isinstance(step, Join | PublicScan) for part in quote.question.parts for step in below(part.group)):
        yield FANOUT
    if columns:
        yield f"the intervals of {', '.join(columns)}"
