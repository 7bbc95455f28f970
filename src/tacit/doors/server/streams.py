"""Streams over HTTP: read up to a period, each of which pays once; and explained.

The measurements of a request are entries that name it. They are kept in the ledger, so that the same request again costs nothing,
with or without an Idempotency-Key. A key that had paid for a number which was lost with its process says so, and pays only once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.doors.server.analysts import as_json, lost_reply, reply_in, reply_kept
from tacit.doors.server.problems import problem
from tacit.doors.server.requests import fingerprint_of

if TYPE_CHECKING:
    from tacit.doors.server.calls import Reply
    from tacit.doors.server.office import Office
    from tacit.doors.server.records import Account
    from tacit.doors.server.requests import Begun, Kept
    from tacit.doors.server.stream_models import StreamPriced, StreamWanted
    from tacit.session import Session


def stream(office: Office, account: Account, asked: StreamWanted, key: str) -> Reply:
    """The answer up to a period; under a key, the one reply of that key."""
    session = office.session(account)
    if session is None:
        return problem("forbidden")
    if not key:
        return _reply_in(office, account, asked, _kept_reply(office, session, asked))
    arguments = {"stream": True, **asked.model_dump(exclude={"form"})}
    with office.requests.alone(account.name, key, arguments, office.data.ledger.head.number) as begun:
        kept = begun.finished or (_lost(office, session, begun) if begun.again else None)
        if kept is None:
            kept = _kept_reply(office, session.for_request(begun.key), asked, begun)
        if begun.finished is None:
            office.requests.finish(begun, kept)
        return _reply_in(office, account, asked, kept)


def explain_stream(office: Office, account: Account, asked: StreamPriced, _: str) -> Reply:
    """The price of a stream and its errors, before anything is spent."""
    session = office.session(account)
    if session is None:
        return problem("forbidden")
    with office.seats.seat(), office.suspects.at_work(_fingerprint(account.name, asked)):
        return as_json(session.explain_stream(asked.sql, **_arguments(asked)).to_dict())


def _kept_reply(office: Office, session: Session, asked: StreamPriced, begun: Begun | None = None) -> Kept:
    fingerprint = _fingerprint(session.analyst, asked)
    return reply_kept(office, session, fingerprint, lambda: session.stream(asked.sql, **_arguments(asked)), begun)


def _lost(office: Office, session: Session, begun: Begun) -> Kept | None:
    """The reply to a request whose process ended between a spend and its number; None if every number that it paid for is kept."""
    after = begun.head
    while (entry := office.data.ledger.requested(begun.key, after)) is not None:
        row = office.data.ledger.paid_by(entry.number, session.analyst)
        if row is None or row[1] is None:
            return lost_reply(entry.number)
        after = entry.number
    return None


def _arguments(asked: StreamPriced) -> dict[str, Any]:
    confidence = {} if asked.confidence is None else {"confidence": asked.confidence}
    amounts = {"epsilon": asked.epsilon, "delta": asked.delta}
    return {"through": asked.through, "horizon": asked.horizon, **amounts, **confidence}


def _fingerprint(account: str, asked: StreamPriced) -> str:
    return fingerprint_of(account, asked.sql, {"through": asked.through, "horizon": asked.horizon})


def _reply_in(office: Office, account: Account, asked: StreamWanted, kept: Kept) -> Reply:
    return reply_in(office, asked.form, kept, _fingerprint(account.name, asked))
