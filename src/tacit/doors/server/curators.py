"""The operations of curators and auditors.

A curator has the accounts and tokens, caps below the catalog's, time-outs, failures and the log. An auditor reads the ledger,
verifies it, takes its head away, and asks no questions.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from tacit.accounting.ledger.rollback import heads_text
from tacit.doors.server.analysts import as_json
from tacit.doors.server.calls import Reply
from tacit.doors.server.problems import problem
from tacit.doors.server.records import NameTaken, account_name
from tacit.doors.server.requests import forget
from tacit.errors import InvalidInput
from tacit.privacy.rounding import decimal_text, exact
from tacit.query.engines.engine import Limits
from tacit.release.once import latest

if TYPE_CHECKING:
    from tacit.doors.server.models import (
        LedgerWanted,
        LogWanted,
        NewAccount,
        NewCaps,
        NewLimits,
        NewToken,
        Nothing,
        OwnRevocation,
        OwnToken,
        Resumption,
        Revocation,
    )
    from tacit.doors.server.office import Office
    from tacit.doors.server.records import Account

CAPS = ("epsilon", "delta", "epsilon_per_query")


def accounts(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """Every account with the numbers of its tokens."""
    return as_json({"accounts": office.accounts.summary()})


def add_account(office: Office, _: Account, wanted: NewAccount, __: str) -> Reply:
    """A new account, and its token, which is shown this once."""
    try:
        issued = office.accounts.add(wanted.name, wanted.role, wanted.days, office.data.catalog.analysts)
    except NameTaken:
        return problem("already_exists")
    return as_json(asdict(issued))


def add_token(office: Office, _: Account, wanted: NewToken, __: str) -> Reply:
    """A token for an account, beside those that it has or in their place."""
    make = office.accounts.rotate if wanted.replace else office.accounts.issue
    return as_json(asdict(make(wanted.name, wanted.days)))


def renew_token(office: Office, account: Account, wanted: OwnToken, _: str) -> Reply:
    """A new token in the place of the presented one, or a narrow one beside it; for every role."""
    from tacit.doors.server.narrow import Wanted, make

    if not wanted.replace:
        if wanted.days is not None:
            raise InvalidInput(
                "days are those of a token in the place of this one; give hours with replace = false", argument="days"
            )
        most = None if wanted.most is None else exact(wanted.most, "most")
        limits = Wanted(wanted.hours, most, wanted.operations)
        return as_json(asdict(make(office.accounts, account, limits, office.data.ledger.last_token(account.name))))
    if any(each is not None for each in (wanted.hours, wanted.most, wanted.operations)):
        raise InvalidInput("hours, most and operations limit a narrow token; give replace = false with them")
    return as_json(asdict(office.accounts.renew(account, 90 if wanted.days is None else wanted.days)))


def own_tokens(office: Office, account: Account, _: Nothing, __: str) -> Reply:
    """The narrow tokens that were made from the presented one, with what was asked for with each."""
    from tacit.doors.server.narrow import below, listed

    numbers = below(office.accounts, account)
    sums = office.data.ledger.token_sums(account.name, numbers)
    return as_json({"tokens": [one for one in listed(office.accounts, account.name, sums) if one["number"] in sums]})


def revoke_own(office: Office, account: Account, wanted: OwnRevocation, _: str) -> Reply:
    """How many narrow tokens that were made from the presented one were revoked."""
    from tacit.doors.server.narrow import revoke_below

    return as_json({"revoked": revoke_below(office.accounts, account, wanted.number)})


def revoke(office: Office, _: Account, wanted: Revocation, __: str) -> Reply:
    """How many tokens were revoked."""
    return as_json({"revoked": office.accounts.revoke(wanted.name, wanted.number, wanted.narrow)})


def caps(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """The caps that were lowered here, by analyst."""
    return as_json({"caps": [_caps(name, lowered) for name, lowered in sorted(office.caps.items())]})


def set_caps(office: Office, _: Account, wanted: NewCaps, __: str) -> Reply:
    """Lower the caps of an analyst; without any, those of the catalog hold again."""
    given = {name: exact(value, name) for name in CAPS if (value := getattr(wanted, name)) is not None}
    name = account_name(wanted.name)
    office.lower(name, given)
    return as_json(_caps(name, given))


def _caps(name: str, lowered: Any) -> dict[str, Any]:
    return {"name": name, **{cap: decimal_text(lowered[cap]) if cap in lowered else None for cap in CAPS}}


def limits(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """The seconds that a question may take."""
    return as_json({"seconds": office.seconds or round(Limits().seconds)})


def set_limits(office: Office, _: Account, wanted: NewLimits, __: str) -> Reply:
    """Change them."""
    office.set_seconds(wanted.seconds)
    return as_json({"seconds": wanted.seconds})


def resume(office: Office, _: Account, wanted: Resumption, __: str) -> Reply:
    """Let questions go on after failures, and requests that ended a process; the entry that records it."""
    entry = office.data.resume(wanted.reason)
    forget(office.records)
    return as_json({"entry": entry})


def log(office: Office, _: Account, wanted: LogWanted, __: str) -> Reply:
    """The latest lines of the log: times, kinds of errors and places in the code; never a value."""
    return as_json({"lines": latest(office.data.catalog.kept, wanted.last)})


# --- of an auditor -----------------------------------------------------------------------------------------------------------


def ledger(office: Office, _: Account, wanted: LedgerWanted, __: str) -> Reply:
    """Entries from a number on, each with its hash."""
    entries = islice(office.data.ledger.entries(first=wanted.first), wanted.count)
    return as_json({"entries": [entry.to_dict() for entry in entries]})


def verification(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """Whether the chain of hashes, the sums, the accounts and the answers are whole, computed again from the first entry on."""
    with office.verifying:
        report = office.data.ledger.verify()
    return as_json({"whole": report.whole, "entries": report.entries, "problems": list(report.problems)})


def head(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """The last entry, with its hash and the sums after it: kept elsewhere, it shows a ledger that was cut off."""
    return as_json(json.loads(heads_text((office.data.ledger.head,)))["heads"][0])
