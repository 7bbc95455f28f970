"""Signed heads of a ledger, and exports: the chain with all certificates, for a checker that has neither the ledger nor tacit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.accounting.ledger.by_period import Passed
from tacit.accounting.ledger.entries import canonical_json
from tacit.accounting.ledger.selling import PAID
from tacit.errors import TacitError
from tacit.files import write
from tacit.release.certificates.answers import certificate_of, paid_in
from tacit.release.certificates.keys import OF_HEADS
from tacit.release.certificates.making import Before

if TYPE_CHECKING:
    from tacit.accounting.ledger.entries import Entry
    from tacit.release.certificates.answers import Holds

HEAD = "The last entry of a ledger. Whoever keeps it notices a ledger that was cut, rewritten or restored."


def head_of(data: Holds) -> dict[str, Any]:
    """The signed head of the ledger of a data set."""
    head = data.ledger.head
    document = {"about": HEAD, "format": 1, "kind": "head", "ledger": head.ledger, "number": head.number, "hash": head.hash}
    return data.signer.signed(document, OF_HEADS)


def export(data: Holds, out: str | Path) -> Path:
    """Write the chain, the certificates in the auditor's form and the head, one JSON object a line."""
    return write(out, lambda file: [file.write(f"{canonical_json(line)}\n".encode("ascii")) for line in _lines(data)], private=True)


def _lines(data: Holds) -> Iterator[dict[str, Any]]:
    """The head is taken first, so that entries that come meanwhile are left out."""
    head = head_of(data)
    yield {"format": 1, "kind": "export", "ledger": head["ledger"]}
    for entry in _entries(data, head["number"]):
        yield {"entry": entry.text}
    spent, passed = None, Passed()
    for entry in _entries(data, head["number"]):
        if entry.kind in PAID and spent is not None:
            try:
                paid, charged = paid_in(data.ledger, entry.number, entry.analyst), entry.in_periods
                before = Before(spent, None if charged is None else passed.within(charged.runs))
                yield {"certificate": certificate_of(data, paid, before).to_dict()}
            except TacitError as error:
                yield {"missing": entry.number, "why": str(error)}
        passed.take(entry)
        spent = entry.spent
    yield {"head": head}


def _entries(data: Holds, last: int) -> Iterator[Entry]:
    for entry in data.ledger.entries():
        if entry.number > last:
            return
        yield entry
