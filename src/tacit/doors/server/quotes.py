"""A quote derived from the text of a question, and the fingerprint by which clerk and engine know that theirs is the same one.

The clerk prices a question and spends; the engine prices the same text by its own catalog, public facts and code, and runs nothing
unless one of its quotes has the fingerprint that was paid for. So the noise that is drawn is the noise in the ledger.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from tacit.doors.server.wire import Malformed
from tacit.privacy.catalog import Catalog
from tacit.query.binding.scope import PublicFacts
from tacit.query.canonical import canonical_text
from tacit.query.language.given import given
from tacit.query.language.sql import read
from tacit.query.language.syntax import Select
from tacit.query.passes import rewrite
from tacit.query.price.price import Quote, Request, price
from tacit.query.price.stability import rows_are_public

NUMBERS = ("epsilon", "delta", "error", "confidence")


def derived(text: str, asked: Request, catalog: Catalog, public: PublicFacts) -> tuple[Quote, ...]:
    """The quotes for a question, from its text."""
    statement = read(text, given(None, datetime.now(UTC).date())).statement
    if not isinstance(statement, Select):
        raise Malformed("what was paid for is not a question")
    question = rewrite(statement, catalog, public)
    return price(question, asked, catalog.change, rows_are_public(question, catalog), catalog.cores)


def fingerprint_of(quote: Quote, version: str) -> str:
    """A hash of everything that a quote says, plan, noise and price, and of the version of the data that it is for."""
    return hashlib.sha256(canonical_text((version, quote)).encode()).hexdigest()


def pricing_of(catalog: Catalog) -> str:
    """A hash of what prices and refusals depend on; where it differs, an engine has read another catalog than the clerk."""
    budget = catalog.budget.epsilon, catalog.budget.delta
    facts = catalog.change, catalog.cores or 1, *budget, *_declarations(catalog)
    return hashlib.sha256(canonical_text(facts).encode()).hexdigest()


def _declarations(catalog: Catalog) -> list[str]:
    return [repr(catalog.tables[name]) for name in sorted(catalog.tables)]


def request_written(asked: Request) -> dict[str, Any]:
    """A request as JSON values; numbers are exact texts."""
    fields = asdict(asked)
    weights = [[name, str(weight)] for name, weight in asked.weights]
    return fields | {name: None if fields[name] is None else str(fields[name]) for name in NUMBERS} | {"weights": weights}


def request_read(fields: dict[str, Any]) -> Request:
    """The request that `request_written` wrote."""
    try:
        numbers = {name: None if fields[name] is None else Fraction(fields[name]) for name in NUMBERS}
        weights = tuple((_text(name), Fraction(weight)) for name, weight in fields["weights"])
        request = Request(**(fields | numbers | {"weights": weights}))
    except (TypeError, ValueError, KeyError, ZeroDivisionError):
        raise Malformed("a request of another form") from None
    if (
        type(request.simultaneous) is not bool
        or type(request.interval) is not bool
        or type(request.groups) not in (int, type(None))
    ):
        raise Malformed("a request of another form")
    return request


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(name)
    return name
