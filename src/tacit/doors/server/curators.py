"""What a curator may do: accounts and tokens, caps below the catalog's, time-outs, failures, and the log."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tacit.doors.server.accounts import NameTaken, account_name
from tacit.doors.server.analysts import as_json
from tacit.doors.server.calls import Reply
from tacit.doors.server.problems import problem
from tacit.doors.server.suspects import forget
from tacit.privacy.rounding import decimal_text, exact
from tacit.query.engines.engine import Limits
from tacit.release.once import latest

if TYPE_CHECKING:
    from tacit.doors.server.accounts import Account
    from tacit.doors.server.models import (
        LogWanted,
        NewAccount,
        NewCaps,
        NewLimits,
        NewToken,
        Nothing,
        OwnToken,
        Resumption,
        Revocation,
    )
    from tacit.doors.server.office import Office

CAPS = ("epsilon", "delta", "epsilon_per_query")


def accounts(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """Every account with the numbers of its tokens."""
    return as_json({"accounts": office.accounts.listed()})


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
    """A new token in the place of the presented one; for every role."""
    return as_json(asdict(office.accounts.renew(account, wanted.days)))


def revoke(office: Office, _: Account, wanted: Revocation, __: str) -> Reply:
    """How many tokens were revoked."""
    return as_json({"revoked": office.accounts.revoke(wanted.name, wanted.number)})


def caps(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """The caps that were lowered here, by analyst."""
    return as_json({"caps": [_caps(name, known) for name, known in sorted(office.caps.items())]})


def set_caps(office: Office, _: Account, wanted: NewCaps, __: str) -> Reply:
    """Lower the caps of an analyst; without any, those of the catalog hold again."""
    given = {name: exact(value, name) for name in CAPS if (value := getattr(wanted, name)) is not None}
    name = account_name(wanted.name)
    office.lower(name, given)
    return as_json(_caps(name, given))


def _caps(name: str, known: Any) -> dict[str, Any]:
    return {"name": name, **{cap: decimal_text(known[cap]) if cap in known else None for cap in CAPS}}


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
