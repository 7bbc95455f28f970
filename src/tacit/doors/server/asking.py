"""Questions through the door: asked once, paid for once, and the same reply for the same request."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tacit.doors.exact_form import MEDIA, answer_from, exact_text
from tacit.doors.server.calls import Reply
from tacit.doors.server.problems import STATUS, problem, told
from tacit.doors.server.requests import Begun, Kept, framed, unframed
from tacit.doors.server.suspects import UNFINISHED, fingerprint_of, paid
from tacit.errors import Refused, TacitError, TimedOut
from tacit.query.language.sql import read
from tacit.query.language.syntax import Select
from tacit.query.passes import rewrite
from tacit.release.answer import Answer, Receipt, recorded, renamed
from tacit.untrusted import for_json

if TYPE_CHECKING:
    from tacit.accounting.ledger.entries import Entry
    from tacit.doors.server.accounts import Account
    from tacit.doors.server.models import Budgeted, Question
    from tacit.doors.server.office import Office
    from tacit.session import Session

DONE = 200
LOST = ("the question was paid for, and its answer was lost; its budget stays spent", "ask it again under a new Idempotency-Key")


def ask(office: Office, account: Account, asked: Question, key: str) -> Reply:
    """The answer to a question; under a key, the one reply of that key."""
    session = office.session(account)
    if session is None:
        return problem("forbidden")
    if not key:
        return rendered(_asked(office, session, asked), asked.form)
    given, stored = asked.model_dump(exclude={"form"}), partial(_stored, office, account.name)
    with office.requests.alone(account.name, key, given, office.data.ledger.head.number) as begun:
        if begun.finished is not None:
            return rendered(unframed(begun.finished, stored), asked.form)
        kept = _recovered(office, session, begun) if begun.again else None
        if kept is None:
            kept = _asked(office, session.for_request(begun.key), asked, begun)
        office.requests.finish(begun, framed(kept, stored))
        return rendered(kept, asked.form)


def _stored(office: Office, analyst: str, entry: int) -> str | None:
    found = office.data.ledger.paid_by(entry, analyst)
    return None if found is None else found[1]


def _asked(office: Office, session: Session, asked: Question, begun: Begun | None = None) -> Kept:
    """What a question comes to; a refusal is a reply like another. What is not the analyst's to hear is raised, and not kept."""
    known = fingerprint_of(session.analyst, asked.sql, asked.params)
    try:
        with office.seats.seat(), office.suspects.working(known):
            office.suspects.require_few(paid(known))
            answer = session.sql(asked.sql, params=asked.params, **budget_of(asked), groups=asked.groups)
    except TacitError as error:
        if isinstance(error, TimedOut):
            office.suspects.count(paid(known), session.analyst, UNFINISHED)
        reply = told(error)
        if reply is None:
            raise
        entry = None if begun is None else office.data.ledger.requested(begun.key, begun.head)
        return Kept(reply.status, reply.body.decode(), None if entry is None else entry.number)
    receipt = answer.receipt
    if receipt.entry is not None:
        left = office.left(session.analyst)
        receipt = replace(receipt, left_epsilon=left.epsilon, left_delta=left.delta)
    return Kept(DONE, exact_text(replace(answer, receipt=receipt)), receipt.entry)


def _recovered(office: Office, session: Session, begun: Begun) -> Kept | None:
    """What became of a request whose reply was lost with its process: the ledger decides. None if nothing was spent for it."""
    entry = office.data.ledger.requested(begun.key, begun.head)
    found = None if entry is None else office.data.ledger.paid_by(entry.number, session.analyst)
    if found is None:
        return None
    answer = answer_of(office, *found)
    if answer is None:
        return Kept(STATUS["timed_out"], problem("timed_out", *LOST).body.decode(), found[0].number)
    left = office.left(session.analyst)
    receipt = replace(answer.receipt, left_epsilon=left.epsilon, left_delta=left.delta)
    return Kept(DONE, exact_text(replace(answer, receipt=receipt)), found[0].number)


def answer_of(office: Office, entry: Entry, text: str | None) -> Answer | None:
    """The kept answer that an entry paid for, with the names of that analyst's own question; None if it is not kept."""
    if text is None:
        return None
    answer = recorded(text)
    receipt = Receipt(answer.receipt.epsilon, answer.receipt.delta, None, None, entry.number, entry.data_version)
    names = _names(office, entry.question)
    if names is None or len(names) != len(answer.columns):  # of an older catalog; never the names that somebody else gave
        names = [f"column {number}" for number in range(1, len(answer.columns) + 1)]
    return renamed(replace(answer, receipt=receipt), names)


def _names(office: Office, question: str) -> list[str] | None:
    try:
        statement = read(question).statement
        if not isinstance(statement, Select):
            return None
        return [output.name for output in rewrite(statement, office.data.catalog, office.data.public).outputs]
    except Refused:
        return None


def budget_of(asked: Budgeted) -> dict[str, Any]:
    """The budget of a request as a session takes it."""
    given = {name: getattr(asked, name) for name in ("epsilon", "delta", "error", "confidence", "weights")}
    more = {"simultaneous": asked.simultaneous or None, "interval": None if asked.interval else False}
    return {**{name: value for name, value in given.items() if value is not None}, **more}


def rendered(kept: Kept, form: str) -> Reply:
    """A kept reply in the form that is wanted."""
    if kept.status != DONE:
        return Reply(kept.status, kept.text.encode())
    if form == "exact":
        return Reply(DONE, kept.text.encode(), MEDIA)
    return Reply(DONE, for_json(answer_from(kept.text).to_dict()).encode())
