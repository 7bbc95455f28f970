"""Questions that wait for a curator: above the limit of their analyst, unpaid, without an engine, through restarts.

    an analyst asks          the ledger refuses it without a decision; it is written into the records, and its number is the reply
    it waits                 at most `wait_days`, at most `MOST_WAITING` of one account; the analyst may withdraw it
    a curator decides        an entry of the ledger, which alone says what was decided; the caps are asked when it is approved
    the analyst asks again   the same request, under the same Idempotency-Key or another: it is paid for and answered

The records hold what was asked; what became of it is read from the ledger each time, so that no crash leaves the two at odds. A
number and a state follow from the requests of one account and the decisions on them: they tell nothing of others. Curators see a
text, its price and its derivation, and nothing of the data.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sqlalchemy as sql

from tacit.accounting.ledger.approvals import APPROVE, KIND, REDUCE, Decision
from tacit.accounting.ledger.caps import Stated
from tacit.accounting.ledger.statement import amounts
from tacit.doors.server.analysts import as_json, budget_of
from tacit.doors.server.calls import Reply
from tacit.doors.server.problems import problem
from tacit.doors.server.records import DAY, WAITING, account_name, moment
from tacit.doors.server.requests import digest_of
from tacit.errors import InvalidInput, NeedsApproval, TacitError
from tacit.privacy.rounding import decimal_text, exact
from tacit.untrusted import for_json

if TYPE_CHECKING:
    from tacit.accounting.ledger.entries import Entry
    from tacit.doors.server.decisions import ApprovalsWanted, Verdict, Withdrawal
    from tacit.doors.server.models import Asked, Nothing
    from tacit.doors.server.office import Office
    from tacit.doors.server.records import Account
    from tacit.session import Session

MOST_WAITING = 20  # of one account at a time
MOST_ROWS = 100  # of one account that are remembered, whatever became of them
SHOWN = 100  # the latest, of all accounts together or of one


# --- analysts ----------------------------------------------------------------------------------------------------------------


def hold(office: Office, analyst: str, asked: Asked, error: NeedsApproval) -> NeedsApproval:
    """The reply to a question that no decision admits: it waits under its number, or why it cannot."""
    stated = error.stated
    if not isinstance(stated, Stated):
        return error  # a curator has decided otherwise
    now = office.accounts.now()
    mine = WAITING.c.analyst == analyst
    kept = {name: value for name, value in asked.model_dump(exclude={"form"}).items() if value is not None}
    row = {
        "analyst": analyst, "subject": stated.subject, "epsilon": str(stated.epsilon), "delta": str(stated.delta),
        "asked": for_json(kept), "at": now, "head": office.data.ledger.head.number,
    }  # fmt: skip
    with office.records.transaction() as connection:
        rows = connection.execute(sql.select(WAITING).where(mine).order_by(WAITING.c.number)).all()
        open_rows = [each for each in rows if _state(office, each)[0] == "waiting"]
        same = [each for each in open_rows if (each.subject, each.epsilon, each.delta) == tuple(row.values())[1:4]]
        number = same[0].number if same else 1 + max((each.number for each in rows), default=0)
        if not same and len(open_rows) >= MOST_WAITING:
            return NeedsApproval(
                f"{error.message}, and {MOST_WAITING} questions of this account wait already", remedy="withdraw one of them"
            )
        if not same:
            connection.execute(sql.insert(WAITING), {**row, "number": number})
            ended = [each.number for each in rows if each not in open_rows][: max(0, len(rows) + 1 - MOST_ROWS)]
            connection.execute(sql.delete(WAITING).where(mine, WAITING.c.number.in_(ended)))
    return NeedsApproval(
        f"{error.message}; it waits as number {number}, and nothing was spent",
        remedy=f"ask it again when it is approved, or {error.remedy.rpartition(', or ')[2]}",
    )


def list_own(office: Office, account: Account, _: Nothing, __: str) -> Reply:
    """The analyst's own questions that wait or have waited, the latest first."""
    return as_json({"questions": [_row_json(office, row) for row in _rows(office, account.name)]})


def withdraw(office: Office, account: Account, wanted: Withdrawal, _: str) -> Reply:
    """A question of the analyst's own that no longer waits."""
    mine = (WAITING.c.analyst == account.name) & (WAITING.c.number == wanted.number)
    with office.records.transaction() as connection:
        row = connection.execute(sql.select(WAITING).where(mine)).first()
        if row is None or _state(office, row)[0] != "waiting":
            return problem("not_found")
        connection.execute(sql.update(WAITING).where(mine).values(withdrawn=office.accounts.now()))
    return as_json({"withdrawn": wanted.number})


# --- the curator -------------------------------------------------------------------------------------------------------------


def approvals(office: Office, _: Account, wanted: ApprovalsWanted, __: str) -> Reply:
    """The questions that wait, and what was decided lately; of one of them, with the derivation of its price."""
    work = digest_of("approvals", wanted.name or "", str(wanted.number))
    with office.seats.seat(), office.suspects.at_work(work):
        return as_json({"questions": list_questions(office, wanted.name, wanted.number)})


def list_questions(office: Office, name: str | None, number: int | None) -> list[dict[str, Any]]:
    """The same as plain values."""
    if number is not None and name is None:
        raise InvalidInput("a number is one of an account; give the name too", argument="number")
    rows = _rows(office, None if name is None else account_name(name))
    if number is None:
        return [_row_json(office, row) for row in rows]
    return [
        {**_row_json(office, row), "derivation": derivation(office, row.analyst, json.loads(row.asked))}
        for row in rows
        if row.number == number
    ]


def derivation(office: Office, analyst: str, asked: dict[str, Any]) -> dict[str, Any] | None:
    """How the price of a question follows from the catalog and its text; None if the catalog no longer admits it."""
    session, question = _session(office, analyst), _question_of(asked)
    with suppress(TacitError):
        if session is not None:
            explained: dict[str, Any] = session.explain(question.sql, params=question.params, **budget_of(question)).to_dict()
            return explained
    return None


def decide(office: Office, account: Account, wanted: Verdict, _: str) -> Reply:
    """The entry of a decision, on the question that was read under this number."""
    work = digest_of("decide", wanted.name, str(wanted.number))
    with office.seats.seat(), office.suspects.at_work(work):
        return as_json({"entry": record_decision(office, account.name, wanted).number})


def record_decision(office: Office, by: str, wanted: Verdict) -> Entry:
    """The entry of the decision of a curator; raises if the question no longer waits, or its caps do not admit it."""
    analyst = account_name(wanted.name)
    with office.records.reader() as connection:
        chosen = (WAITING.c.analyst == analyst) & (WAITING.c.number == wanted.number)
        row = connection.execute(sql.select(WAITING).where(chosen)).first()
    if row is None or _state(office, row)[0] != "waiting":
        raise InvalidInput(f"question {wanted.number} of {analyst!r} does not wait; list those that do")
    asked = _question_of(json.loads(row.asked))
    stated = Stated(row.subject, Fraction(row.epsilon), Fraction(row.delta))
    if wanted.decision == REDUCE:
        stated = _largest_price(stated, wanted)
    elif wanted.epsilon is not None or wanted.delta is not None:
        raise InvalidInput("epsilon and delta belong to decision = reduced alone; leave them out", argument="epsilon")
    text = asked.sql if isinstance(asked.sql, str) else ";\n".join(asked.sql)
    sales = []
    if wanted.decision == APPROVE:
        session = _session(office, analyst)
        if session is None:
            raise InvalidInput(f"the catalog does not declare {analyst!r} any more; refuse the question")
        parts = session.questions_in(asked.sql, asked.params, {**budget_of(asked), "groups": asked.groups})
        offers = [offer for offer, *_ in parts]
        sales = [session.sale(offers, offer, request, part) for offer, request, part in parts]
        if not sales or any(sale.stated != stated for sale in sales):
            raise InvalidInput("the question has another price or meaning by now; the analyst must ask it again")
    decision = Decision(by, analyst, text, wanted.decision, stated, wanted.reason)
    return office.data.ledger.decide(decision, sales)


def _largest_price(stated: Stated, wanted: Verdict) -> Stated:
    """The most that a reduced question may cost; less than was asked for."""
    if wanted.epsilon is None:
        raise InvalidInput("reduced needs the most that the question may cost; give epsilon", argument="epsilon")
    delta = stated.delta if wanted.delta is None else exact(wanted.delta, "delta")
    most = replace(stated, epsilon=exact(wanted.epsilon, "epsilon"), delta=delta)
    if not 0 < most.epsilon <= stated.epsilon or most.delta > stated.delta or most == stated:
        raise InvalidInput(
            f"epsilon must be above 0 and below {decimal_text(stated.epsilon)}, which was asked for", argument="epsilon"
        )
    return most


# --- rows and states ---------------------------------------------------------------------------------------------------------


def _session(office: Office, analyst: str) -> Session | None:
    from tacit.doors.server.records import ANALYST, Account

    return office.session(Account(analyst, ANALYST))


def _question_of(document: dict[str, Any]) -> Asked:
    from tacit.doors.server.models import Asked

    return Asked.model_validate(document, strict=True)


def _rows(office: Office, analyst: str | None) -> list[Any]:
    wanted = sql.select(WAITING).order_by(WAITING.c.at.desc(), WAITING.c.number.desc()).limit(SHOWN)
    with office.records.reader() as connection:
        return list(connection.execute(wanted if analyst is None else wanted.where(WAITING.c.analyst == analyst)))


def _state(office: Office, row: Any) -> tuple[str, Entry | None]:
    """The state of a question, and the entry that says so."""
    entry = office.data.ledger.last_decision(row.subject, row.analyst)
    if entry is not None and entry.number > row.head:
        if entry.kind != KIND:
            return "asked", entry
        if row.withdrawn is None:
            ended = entry.details["until"] <= moment(office.accounts.now())
            return ("expired" if ended else entry.details["decision"]), entry
    if row.withdrawn is not None:
        return "withdrawn", None
    return ("expired" if row.at + office.data.catalog.wait_days * DAY <= office.accounts.now() else "waiting"), None


def _row_json(office: Office, row: Any) -> dict[str, Any]:
    (state, entry), asked = _state(office, row), json.loads(row.asked)
    is_decision = entry is not None and entry.kind == KIND
    details = dict(entry.details) if entry is not None and is_decision else {}
    until = details.get("until") or moment(row.at + office.data.catalog.wait_days * DAY)
    admits = details.get("decision") in (APPROVE, REDUCE)
    most = amounts(Fraction(details["epsilon"]), Fraction(details["delta"])) if admits else None
    return {
        "name": row.analyst, "number": row.number, "sql": asked["sql"], "params": asked.get("params"),
        "price": amounts(Fraction(row.epsilon), Fraction(row.delta)), "state": state, "at": moment(row.at), "until": until,
        "entry": None if entry is None else entry.number, "most": most, "reason": details.get("reason", ""),
    }  # fmt: skip
