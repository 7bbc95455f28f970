"""What an auditor may do: read the ledger, verify it, and take its head away. An auditor asks no questions."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

from tacit.accounting.ledger.entries import heads_text
from tacit.doors.server.analysts import as_json
from tacit.doors.server.calls import Reply

if TYPE_CHECKING:
    from tacit.doors.server.accounts import Account
    from tacit.doors.server.models import LedgerWanted, Nothing
    from tacit.doors.server.office import Office


def ledger(office: Office, _: Account, wanted: LedgerWanted, __: str) -> Reply:
    """Entries from a number on, each with its hash."""
    found = islice(office.data.ledger.entries(first=wanted.first), wanted.count)
    return as_json({"entries": [entry.to_dict() for entry in found]})


def verification(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """Whether the chain of hashes, the sums, the accounts and the answers are whole, computed again from the first entry on."""
    with office.verifying:
        report = office.data.ledger.verify()
    return as_json({"whole": report.whole, "entries": report.entries, "problems": list(report.problems)})


def head(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """The last entry, with its hash and the sums after it: kept elsewhere, it shows a ledger that was cut off."""
    return as_json(json.loads(heads_text((office.data.ledger.head,)))["heads"][0])
