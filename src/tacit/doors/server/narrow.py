"""Narrow tokens: made from a presented token or by the curator, listed, and revoked.

A narrow token has at most the operations, the end and the limit of what it was made from. `records.py` decides whether it is live,
and the ledger counts what is asked for with it.

An analyst sees the tokens below the presented one, by numbers within the account: nothing here counts tokens of other accounts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sqlalchemy as sql

from tacit.doors.server.records import (
    ACCOUNTS,
    ANALYST,
    AUDITOR,
    CURATOR,
    DAY,
    MOST_DAYS,
    NARROW,
    PREFIX,
    TOKENS,
    Account,
    Accounts,
    digest_of_token,
    moment,
    random_text,
)
from tacit.errors import InvalidInput
from tacit.privacy.rounding import as_text, decimal_text

HOUR = 3_600.0
MOST_LIVE = 1_000  # narrow tokens of an account
MOST_ROWS = 4_000  # of an account, ended ones included
DEEPEST = 8  # narrow tokens above one another: a spend is charged to each of them
MINT = "tokens"  # the operation that makes, lists and revokes narrow tokens
GRANTS: Mapping[str, tuple[str, ...]] = {
    ANALYST: ("answer", "ask", "budget", "catalog", "explain", "history", "pages", MINT, "waiting", "withdraw"),
    CURATOR: (
        "accounts",
        "approvals",
        "caps",
        "catalog",
        "decide",
        "limits",
        "log",
        "pages",
        "resume",
        "revoke",
        "set_caps",
        "set_limits",
        MINT,
    ),
    AUDITOR: ("catalog", "head", "ledger", MINT, "verification"),
}
"""The operations that a narrow token may have, by role: not those that issue tokens to accounts, which would be wider ones."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The limits of a narrow token. Where one is None, it is that of the token above; operations are then all but `tokens`."""

    hours: int | None = None
    most: Fraction | None = None
    operations: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Issued:
    """A new narrow token: the only time that it is shown."""

    name: str
    token: str = field(repr=False)
    expires: str
    number: int
    most: str | None
    operations: tuple[str, ...]


def make(accounts: Accounts, account: Account, wanted: Wanted, above: int = 0) -> Issued:
    """A new token made from the presented one, or for the curator from an account; never wider than that.

    `above` is the largest number that the ledger has counted, so that lost records give no number out twice.
    """
    now, presented = accounts.now(), bool(account.token or account.path)
    expires = _end(wanted.hours, now, account.expires if presented else now + MOST_DAYS * DAY)
    most = _limit(wanted.most, account)
    operations = _granted(wanted.operations, [grant for grant in GRANTS[account.role] if account.may(grant)])
    if len(account.path) >= DEEPEST:
        raise InvalidInput(f"at most {DEEPEST} narrow tokens can be made from one another; make it from one of those above")
    token, mine = PREFIX + random_text(), NARROW.c.account == account.name
    with accounts.records.transaction() as connection:
        if presented:
            accounts.require(account)
        _require_room(connection, account.name, now)
        number = 1 + max(above, connection.scalar(sql.select(sql.func.max(NARROW.c.number)).where(mine)) or 0)
        row = {"account": account.name, "number": number, "digest": digest_of_token(token), "token": account.token or None}
        row |= {"parent": account.path[0].number if account.path else None, "created": now, "expires": expires}
        row |= {"most": None if most is None else str(most), "operations": " ".join(operations)}
        connection.execute(sql.insert(NARROW), row)
    limit = None if most is None else decimal_text(most)
    return Issued(account.name, token, moment(expires), number, limit, tuple(operations))


def account_of(accounts: Accounts, name: str) -> Account:
    """An account by its name, for the curator: no token is presented."""
    with accounts.records.reader() as connection:
        role = connection.scalar(sql.select(ACCOUNTS.c.role).where(ACCOUNTS.c.name == name))
    if role is None:
        raise InvalidInput(f"unknown account {name!r}; list the accounts with: tacit token list")
    return Account(name, str(role))


def _end(hours: int | None, now: float, end: float) -> float:
    if hours is None:
        return end
    if isinstance(hours, bool) or not isinstance(hours, int) or not 1 <= hours <= MOST_DAYS * 24:
        raise InvalidInput(f"hours must be a whole number from 1 to {MOST_DAYS * 24}", argument="hours")
    if now + hours * HOUR > end:
        raise InvalidInput(
            f"hours must be at most {int((end - now) // HOUR)}: a narrow token ends no later than the token that it is made from; "
            "leave hours out for the same end",
            argument="hours",
        )
    return now + hours * HOUR


def _limit(most: Fraction | None, account: Account) -> Fraction | None:
    largest = min((one.most for one in account.path if one.most is not None), default=None)
    if most is None:
        return largest
    if most <= 0:
        raise InvalidInput("most must be above 0: it limits the sum of the epsilons that are asked for", argument="most")
    if account.role != ANALYST:
        raise InvalidInput(f"most limits questions, and the role {account.role} asks none; leave it out", argument="most")
    if largest is not None and most > largest:
        raise InvalidInput(f"most must be at most {as_text(largest)}, the limit of the token that it is made from", argument="most")
    return most


def _granted(wanted: Sequence[str] | None, possible: Sequence[str]) -> list[str]:
    """The operations of a new token; without a list, all that are possible except making further tokens."""
    if wanted is None:
        return [name for name in possible if name != MINT]
    if beyond := sorted(set(wanted) - set(possible)):
        raise InvalidInput(
            f"the operation {beyond[0][:40]!r} is beyond the token that it is made from; expected some of: {', '.join(possible)}",
            argument="operations",
        )
    if not wanted:
        raise InvalidInput(f"operations must name at least one of: {', '.join(possible)}", argument="operations")
    return sorted(set(wanted))


def _require_room(connection: sql.Connection, name: str, now: float) -> None:
    """Few are live at once, and few of those that ended are remembered; the latest one always is, so that numbers only grow."""
    mine, live = NARROW.c.account == name, NARROW.c.revoked.is_(None) & (NARROW.c.expires > now)
    if (connection.scalar(sql.select(sql.func.count()).where(mine, live)) or 0) >= MOST_LIVE:
        raise InvalidInput(f"the account has {MOST_LIVE:,} narrow tokens that have not ended; revoke those that are not used")
    latest = sql.select(NARROW.c.number).where(mine).order_by(NARROW.c.number.desc()).limit(MOST_ROWS)
    connection.execute(sql.delete(NARROW).where(mine, ~live, NARROW.c.number.not_in(latest)))


# --- listed and revoked ------------------------------------------------------------------------------------------------------


def listed(accounts: Accounts, name: str, sums: Mapping[int, Fraction] | None = None) -> list[dict[str, Any]]:
    """The narrow tokens of an account by their numbers, each with its limits; with what was asked for, where sums are given."""
    rows, now = _rows(accounts, name), accounts.now()
    with accounts.records.reader() as connection:
        roots = {row.number: row.revoked is None and row.expires > now for row in connection.execute(sql.select(TOKENS))}
    live: dict[int, bool] = {}
    for row in rows:  # by number, and what a token was made from has a smaller one
        above = (row.token is None or roots.get(row.token, False)) and (row.parent is None or live.get(row.parent, False))
        live[row.number] = above and row.revoked is None and row.expires > now
    return [
        {
            "number": row.number,
            "parent": row.parent,
            "expires": moment(row.expires),
            "live": live[row.number],
            "most": None if row.most is None else decimal_text(Fraction(row.most)),
            "operations": row.operations.split(),
            **({} if sums is None else {"asked": decimal_text(sums.get(row.number, Fraction(0)))}),
        }
        for row in rows
    ]


def below(accounts: Accounts, account: Account) -> list[int]:
    """The numbers of the narrow tokens that were made from the presented one, directly or not."""
    top = account.path[0].number if account.path else None
    numbers: set[int] = set()
    for row in _rows(accounts, account.name):
        if (row.token or 0) == account.token and (row.parent in numbers or row.parent == top):
            numbers.add(row.number)
    return sorted(numbers)


def revoke_below(accounts: Accounts, account: Account, number: int | None = None) -> int:
    """How many tokens below the presented one were revoked: one by its number, or all of them; others are as absent as none."""
    reached = [one for one in below(accounts, account) if number in (None, one)]
    return sum(accounts.revoke(account.name, narrow=one) for one in reached)


def _rows(accounts: Accounts, name: str) -> list[Any]:
    with accounts.records.reader() as connection:
        return list(connection.execute(sql.select(NARROW).where(NARROW.c.account == name).order_by(NARROW.c.number)))
