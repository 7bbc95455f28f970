"""A request as plain values, which the ledger keeps with an answer; and the maker of a certificate, for when it is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.query.price.needs import placed
from tacit.query.price.quote import Quote, Request

if TYPE_CHECKING:
    from tacit.release.certificates.certificate import Certificate


def asked_json(asked: Request) -> dict[str, Any]:
    """A request as plain values, and back with `asked_from`."""
    amounts = {name: _text(getattr(asked, name)) for name in ("epsilon", "delta", "error", "confidence")}
    weights = [[name, str(weight)] for name, weight in asked.weights]
    return {**amounts, "simultaneous": asked.simultaneous, "interval": asked.interval, "weights": weights}


def asked_from(document: Mapping[str, Any]) -> Request:
    """The request of plain values."""
    epsilon, error = (None if document[name] is None else Fraction(document[name]) for name in ("epsilon", "error"))
    weights = tuple((str(name), Fraction(weight)) for name, weight in document["weights"])
    delta, confidence = Fraction(document["delta"]), Fraction(document["confidence"])
    return Request(epsilon, delta, error, confidence, bool(document["simultaneous"]), None, bool(document["interval"]), weights)


def asked_by_place(quote: Quote) -> dict[str, Any]:
    """The same with the places of columns in place of names: what two questions have in common that share an answer."""
    by_place = sorted(placed(quote.request.weights, quote.question).items())
    return {**asked_json(quote.request), "weights": [[place, str(weight)] for place, weight in by_place]}


def _text(amount: Fraction | None) -> str | None:
    return None if amount is None else str(amount)


@dataclass(frozen=True, slots=True)
class Later:
    """Makes the certificate of a release when it is asked for. It does not leave the process: a copy of an answer has none."""

    make: Callable[[], Certificate]

    def __call__(self) -> Certificate:
        return self.make()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()
