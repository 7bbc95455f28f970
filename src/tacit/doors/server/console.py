"""The operations that only the pages of the console call: there is no route under /v1 to them.

    login      a code for a demonstration, which works once, becomes a session; the only one without a credential
    who        whose session it is, and fresh random text for the page
    leave      the presented session ends
    preview    an explanation, the balance, and whether the answer is paid for, in one call
    certified  why the price of an answer is right, line by line, from its certificate
    keys       the public keys by which certificates and heads are checked, for every role
    take_head  the signed head of the ledger, to be kept elsewhere
    overview   the data owner's first page: sums, caps, the latest entries and failures
    offer, offered, publish    an analyst offers answers; the data owner makes a page of those that they pick

A session is a narrow token: it ends with the token that was typed, is listed for the curator and can be revoked. Nothing here opens
private data; what is published was released before.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from hmac import compare_digest
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import sqlalchemy as sql
from pydantic import Field, StringConstraints

from tacit.accounting.ledger.by_period import state_of
from tacit.accounting.ledger.entries import canonical_json
from tacit.accounting.ledger.statement import amounts, late_replies
from tacit.doors.server.analysts import answer_of, as_json, budget_of
from tacit.doors.server.calls import Reply
from tacit.doors.server.models import Amount, Budgeted, Entry, Strict, Text
from tacit.doors.server.narrow import Wanted, account_of, make
from tacit.doors.server.problems import problem
from tacit.doors.server.records import ANALYST, CODES, OFFERS, Account, Accounts, digest_of_token, moment, random_text
from tacit.doors.server.requests import fingerprint_of
from tacit.errors import InvalidInput, TacitError
from tacit.mechanisms.noise import bits
from tacit.privacy.rounding import decimal_text
from tacit.release.answer import Answer
from tacit.release.answers import Answers
from tacit.release.certificates.certificate import sections_of
from tacit.release.certificates.exports import head_of
from tacit.release.certificates.keys import public_keys
from tacit.release.published import Part, page_of

if TYPE_CHECKING:
    from tacit.accounting.ledger.ledger import Ledger
    from tacit.doors.server.models import Nothing
    from tacit.doors.server.office import Office
    from tacit.release.certificates.certificate import Certificate

HOURS = 8  # of a session
CODE_SECONDS = 120.0
MOST_TRIES = 10  # wrong codes, after which none works
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # 32, without those that look alike
LATEST = 100  # entries on the data owner's page
MOST_OFFERS = 200  # of one analyst
PAGE = "text/html; charset=utf-8"


class Previewed(Budgeted):
    """A question to be priced for a page, at a few epsilons: the first is the one that it would be asked with."""

    sql: Text
    epsilons: Annotated[list[Amount], Field(min_length=1, max_length=5)] | None = None


class Code(Strict):
    """The code of a demonstration."""

    code: Annotated[str, StringConstraints(min_length=1, max_length=40)]


class Offered(Strict):
    """An answer by its entry, and what it is called; with `withdraw`, the offer is taken back."""

    entry: Entry
    title: Annotated[str, StringConstraints(max_length=200)] = ""
    withdraw: bool = False


class Certified(Strict):
    """An answer by its entry."""

    entry: Entry


class Published(Strict):
    """The answers of a page by their entries, its title, and words of its own."""

    entries: Annotated[list[Entry], Field(min_length=1, max_length=100)]
    title: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    words: Annotated[str, StringConstraints(max_length=4000)] = ""


# --- sessions ----------------------------------------------------------------------------------------------------------------


def make_code(accounts: Accounts, name: str) -> str:
    """A new code of 50 random bits for an account, in two groups of letters: it works once, within two minutes."""
    text = "".join(LETTERS[each % 32] for each in bits.random_bytes(10))
    row = {"digest": digest_of_token(text), "account": name, "expires": accounts.now() + CODE_SECONDS, "tries": 0}
    with accounts.records.transaction() as connection:
        connection.execute(sql.insert(CODES), row)
    return f"{text[:5]}-{text[5:]}"


def login(office: Office, given: Code) -> Reply:
    """A session for a code that is live; it is used up before the session is made, so that no second one follows."""
    name = _used(office.accounts, "".join(each for each in given.code.upper() if each.isalnum()))
    if name is None:
        return problem("unauthenticated")
    made = make(office.accounts, account_of(office.accounts, name), Wanted(HOURS), office.data.ledger.last_token(name))
    return as_json({"name": name, "token": made.token, "expires": made.expires})


def _used(accounts: Accounts, code: str) -> str | None:
    """The account of a live code, which is gone afterwards; a wrong one counts against all that are live.

    Anybody may try, so nothing is written while no code is live: not more than `MOST_TRIES` times for each.
    """
    digest, now = digest_of_token(code), accounts.now()
    with accounts.records.reader() as connection:
        if not connection.scalar(sql.select(sql.func.count()).where(CODES.c.expires > now, CODES.c.tries < MOST_TRIES)):
            return None
    with accounts.records.transaction() as connection:
        connection.execute(sql.delete(CODES).where((CODES.c.expires <= now) | (CODES.c.tries >= MOST_TRIES)))
        for row in connection.execute(sql.select(CODES)).all():
            if compare_digest(row.digest, digest):
                connection.execute(sql.delete(CODES).where(CODES.c.digest == row.digest))
                return str(row.account)
        connection.execute(sql.update(CODES).values(tries=CODES.c.tries + 1))
    return None


def who(_: Office, account: Account, __: Nothing, ___: str) -> Reply:
    """Whose session it is, and random text from which the page makes its nonce and the keys of its forms."""
    number = account.path[0].number if account.path else None
    return as_json({"name": account.name, "role": account.role, "number": number, "fresh": random_text()})


def leave(office: Office, account: Account, _: Nothing, __: str) -> Reply:
    """The presented narrow token ends; a token of the account itself does not end in this way."""
    if not account.path:
        return problem("forbidden")
    return as_json({"revoked": office.accounts.revoke(account.name, narrow=account.path[0].number)})


# --- analysts ----------------------------------------------------------------------------------------------------------------


def preview(office: Office, account: Account, asked: Previewed, _: str) -> Reply:
    """The price and the errors of an answer, the balance, and whether the analyst has paid for it already."""
    session = office.session(account)
    if session is None:
        return problem("forbidden")
    given = budget_of(asked)
    with office.seats.seat(), office.suspects.at_work(fingerprint_of(session.analyst, asked.sql, asked.params)):
        explanation = session.explain(asked.sql, params=asked.params, **given, epsilons=asked.epsilons).to_dict()
        single = given | ({"epsilon": asked.epsilons[0]} if asked.epsilons else {})
        paid = session.is_paid(asked.sql, params=asked.params, **single)
    return as_json({"explanation": explanation, "budget": session.budget(), "paid": paid})


def offer(office: Office, account: Account, wanted: Offered, _: str) -> Reply:
    """Offer an answer of one's own to the data owner for publication, or take the offer back."""
    row = office.data.ledger.paid_by(wanted.entry, account.name)
    if row is None or answer_of(office, *row) is None:
        return problem("not_found")
    mine = (OFFERS.c.analyst == account.name) & (OFFERS.c.entry == wanted.entry)
    with office.records.transaction() as connection:
        connection.execute(sql.delete(OFFERS).where(mine))
        count = connection.scalar(sql.select(sql.func.count()).where(OFFERS.c.analyst == account.name)) or 0
        if wanted.withdraw:
            return as_json({"offered": False})
        if count >= MOST_OFFERS:
            raise InvalidInput(f"at most {MOST_OFFERS} answers can be offered at a time; take some back")
        new = {"analyst": account.name, "entry": wanted.entry, "title": wanted.title, "at": office.accounts.now()}
        connection.execute(sql.insert(OFFERS), new)
    return as_json({"offered": True})


def offered(office: Office, account: Account, _: Nothing, __: str) -> Reply:
    """The offers: an analyst's own, or all of them for the data owner."""
    return as_json({"offers": _offers(office, account.name if account.role == ANALYST else None)})


def _offers(office: Office, analyst: str | None) -> list[dict[str, Any]]:
    wanted = sql.select(OFFERS).order_by(OFFERS.c.entry)
    with office.records.reader() as connection:
        rows = connection.execute(wanted if analyst is None else wanted.where(OFFERS.c.analyst == analyst)).all()
    return [{"entry": row.entry, "analyst": row.analyst, "title": row.title, "at": moment(row.at)} for row in rows]


def certified(office: Office, account: Account, wanted: Certified, _: str) -> Reply:
    """The certificate of an answer of this analyst, in words: the first line, and the sections under their headings."""
    session = office.session(account)
    if session is None:
        return problem("forbidden")
    if office.data.ledger.paid_by(wanted.entry, account.name) is None:
        return problem("not_found")
    with office.seats.seat():
        document = session.certificate(wanted.entry).document
    return as_json({"about": document["about"], "sections": sections_of(document)})


# --- certificates and heads, for whoever checks them -------------------------------------------------------------------------


def keys(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """The public keys in the order in which they signed; the first is made now, if nothing was signed yet."""
    assert office.data.signer.key  # noqa: S101  # it is made here, if nothing was signed yet
    return _file(public_keys(office.data.catalog.kept))


def take_head(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """The last entry by number and hash, signed: a ledger that was cut, rewritten or restored does not extend it."""
    return _file(head_of(office.data))


def _file(document: dict[str, Any]) -> Reply:
    """A document as the command line writes it: canonical, and one line."""
    return Reply(200, f"{canonical_json(document)}\n".encode("ascii"), "application/json")


# --- the data owner ----------------------------------------------------------------------------------------------------------


def publish(office: Office, _: Account, wanted: Published, __: str) -> Reply:
    """One page with the picked answers; an entry that no analyst has offered is as absent as one that never was."""
    by_entry = {each["entry"]: each for each in _offers(office, None)}
    parts = []
    for entry in dict.fromkeys(wanted.entries):
        one = by_entry.get(entry)
        row = None if one is None else office.data.ledger.paid_by(entry, one["analyst"])
        answer = None if row is None else answer_of(office, *row)
        if one is None or row is None or answer is None:
            return problem("not_found")
        listed = [(one["title"], answer)] if isinstance(answer, Answer) else _numbered(one["title"], answer)
        parts += [(one["analyst"], Part(title, each.asked or row[0].question, each, entry)) for title, each in listed]
    with office.seats.seat():
        shown = [replace(part, certificate=_certificate(office, part.entry, analyst)) for analyst, part in parts]
        catalog = office.data.catalog
        text = page_of(wanted.title, wanted.words, shown, catalog.budget, catalog.change, catalog.per)
    return Reply(200, text.encode(), PAGE)


def _numbered(title: str, answers: Answers) -> list[tuple[str, Answer]]:
    """The answers to a list, each with the title of the list and its number."""
    return [(f"{title} ({number} of {len(answers)})", each) for number, each in enumerate(answers, 1)]


def _certificate(office: Office, entry: int, analyst: str) -> Certificate | None:
    """The certificate of an answer; None where the catalog has changed since, so that none can be made."""
    with suppress(TacitError):
        return office.data.certified(entry, analyst)
    return None


def overview(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """The sums against their caps, whose failures stop questions, and the latest entries: all of it from the ledger."""
    ledger, data = office.data.ledger, office.data
    data.refresh()
    head, whole, spent, left = ledger.head, data.catalog.budget, ledger.spent(), ledger.left()
    analysts = [_standing(office, name) for name in sorted(data.catalog.analysts) or sorted(office.accounts.names(ANALYST))]
    with office.seats.seat():
        entries = list(islice(ledger.entries(first=max(0, head.number + 1 - LATEST)), LATEST))[::-1]
    listed = [
        {
            "entry": entry.number,
            "at": entry.at,
            "kind": entry.kind,
            "analyst": entry.analyst,
            "question": entry.question,
            "epsilon": None if entry.price.epsilon is None else decimal_text(entry.price.epsilon),
            "about": entry.about,
        }
        for entry in entries
        if entry.kind in ("spend", "recall", "failure", "resume")
    ]
    facts: dict[str, Any] = {
        "cap": amounts(whole.epsilon, whole.delta),
        "spent": _epsilon(spent.epsilon),
        "questions": head.questions,
    }
    facts |= {"left": decimal_text(left.epsilon), "failures": head.failures, "number": head.number}
    facts["late"] = late_replies(ledger)
    facts |= _in_periods(ledger)
    return as_json({**facts, "analysts": analysts, "entries": listed, "now": moment(office.accounts.now())})


def _in_periods(ledger: Ledger) -> dict[str, Any]:
    """The remaining budget of every period, and of a lifetime, where the budget is one of each period."""
    if ledger.policy.per is None:
        return {}
    listed = [{"periods": words, "left": decimal_text(left.epsilon)} for words, _, left in ledger.by_period()]
    cap, within = ledger.policy.lifetime, ledger.caps.lifetime
    left = None if within is None else within.filter.left(ledger.spent()).epsilon
    lifetime = None if cap is None or left is None else {"cap": decimal_text(cap.epsilon), "left": decimal_text(left)}
    return {"periods": listed, "lifetime": lifetime}


def _standing(office: Office, name: str) -> dict[str, Any]:
    ledger = office.data.ledger
    own = ledger.caps.analyst(name)
    cap = own.budget or office.data.catalog.budget
    spent = ledger.spent(name).epsilon if ledger.policy.per is None else _largest(ledger, name)
    return {
        "name": name,
        "cap": decimal_text(cap.epsilon),
        "spent": _epsilon(spent),
        "left": decimal_text(ledger.left(name).epsilon),
    }


def _largest(ledger: Ledger, name: str) -> Fraction | None:
    """The sum of an analyst in the period where it is largest; None where one has more than an epsilon says."""
    sums = [state_of(sums).epsilon for _, sums, _ in ledger.by_period(name)]
    return None if None in sums else max((each for each in sums if each is not None), default=Fraction(0))


def _epsilon(epsilon: Fraction | None) -> str | None:
    return None if epsilon is None else decimal_text(epsilon)
