"""The operations of an analyst: ask (paid for once, with the same reply to the same request), explain, and read.

An analyst reads their own answers, budget and history, and the declarations of the catalog.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from tacit.accounting.ledger.statement import amounts, history_page
from tacit.doors.exact_form import MEDIA, answer_from, answers_from, exact_text
from tacit.doors.exact_form import is_list as is_exact_list
from tacit.doors.server.calls import Reply
from tacit.doors.server.problems import STATUS, problem, words_for
from tacit.doors.server.requests import (
    UNFINISHED,
    Begun,
    Kept,
    as_frame,
    digest_of,
    fingerprint_of,
    fingerprint_once_paid,
    from_frame,
)
from tacit.errors import InvalidInput, NeedsApproval, NotAllowed, Refused, TacitError, TimedOut
from tacit.query.declared import declared_tables
from tacit.query.language.nodes import given
from tacit.query.language.sql import read
from tacit.query.language.syntax import Select
from tacit.query.passes import rewrite
from tacit.query.question import pause
from tacit.release.answer import Answer, Column, Receipt, plain_names, recorded, with_names
from tacit.release.answers import Answers, is_list, named_answers, names_of, recorded_answers
from tacit.release.elsewhere.stays import STAY
from tacit.untrusted import for_json

if TYPE_CHECKING:
    from tacit.accounting.ledger.entries import Entry
    from tacit.doors.server.models import AnswerWanted, Budgeted, Explained, HistoryWanted, Nothing, Question
    from tacit.doors.server.office import Office
    from tacit.doors.server.records import Account
    from tacit.doors.server.stream_models import StreamPriced, StreamWanted
    from tacit.privacy.catalog import Catalog
    from tacit.session import Session

# --- questions ---------------------------------------------------------------------------------------------------------------


DONE = 200
NO_WAITING = NotAllowed(
    "the epsilon of each period needs the data owner's approval, and a stream does not wait for one",
    remedy="ask with a smaller epsilon, or ask the data owner to read the stream",
)
LOST = ("the question was paid for, and its answer was lost; its budget stays spent", "ask it again under a new Idempotency-Key")


def ask(office: Office, account: Account, asked: Question, key: str) -> Reply:
    """The answer to a question; under a key, the one reply of that key."""
    session = office.session(account)
    if session is None:
        return problem("forbidden")
    if not isinstance(asked.sql, str) and asked.form not in ("plain", "exact"):
        raise InvalidInput("the answers to a list are JSON; ask with Accept: application/json")
    if not key:
        return _reply_in(office, account, asked, _kept_reply(office, session, asked))
    arguments, stored = asked.model_dump(exclude={"form"}), partial(_stored_text, office, account.name)
    with office.requests.alone(account.name, key, arguments, office.data.ledger.head.number) as begun:
        if begun.finished is not None:
            if begun.finished.entry is not None:
                _leave_after(begun.finished.entry)
            return _reply_in(office, account, asked, from_frame(begun.finished, stored))
        kept = _recover(office, session, begun) if begun.again else None
        if kept is None:
            kept = _kept_reply(office, session.for_request(begun.key), asked, begun)
        office.requests.finish(begun, as_frame(kept, stored))
        return _reply_in(office, account, asked, kept)


def _stored_text(office: Office, analyst: str, entry: int) -> str | None:
    row = office.data.ledger.paid_by(entry, analyst)
    return None if row is None else row[1]


def _kept_reply(office: Office, session: Session, asked: Question, begun: Begun | None = None) -> Kept:
    """The reply to a question."""
    fingerprint = fingerprint_of(session.analyst, _text_of(asked), asked.params)
    fresh = {"fresh": True} if asked.fresh and isinstance(asked.sql, str) else {}
    respond: Callable[..., Any] = session.sql if isinstance(asked.sql, str) else session.ask
    more = {"params": asked.params, **budget_of(asked), "groups": asked.groups, **fresh}
    return reply_kept(office, session, (fingerprint, asked), lambda: respond(asked.sql, **more), begun)


def reply_kept(
    office: Office,
    session: Session,
    what: tuple[str, Question | None],
    respond: Callable[[], Answer | Answers],
    begun: Begun | None,
) -> Kept:
    """The reply that an answer is, or its refusal, which is a reply like another. An error that is the data owner's is raised.

    `what` is the fingerprint of the request, and the question that waits if it needs an approval; a stream does not wait.
    """
    fingerprint, asked = what
    try:
        with office.seats.seat(), office.suspects.at_work(fingerprint):
            office.suspects.require_few(fingerprint_once_paid(fingerprint))
            answer = respond()
    except TacitError as error:
        if isinstance(error, TimedOut):
            office.suspects.count(fingerprint_once_paid(fingerprint), session.analyst, UNFINISHED)
        if isinstance(error, NeedsApproval):
            from tacit.doors.server.approvals import hold

            reply = words_for(NO_WAITING if asked is None else hold(office, session.analyst, asked, error))
            assert reply is not None  # noqa: S101  # it is a refusal
            return Kept(reply.status, reply.body.decode(), lasts=False)
        reply = words_for(error)
        if reply is None:
            raise
        entry = None if begun is None else office.data.ledger.requested(begun.key, begun.head)
        return Kept(reply.status, reply.body.decode(), None if entry is None else entry.number)
    receipt = answer.receipt
    _note_stay(office, receipt)
    if paid := receipt.entries or (() if receipt.entry is None else (receipt.entry,)):
        left = office.balance_of(session, paid)
        receipt = replace(receipt, left_epsilon=left.epsilon, left_delta=left.delta)
    return Kept(DONE, exact_text(_with(answer, receipt)), receipt.entry)


def _note_stay(office: Office, receipt: Receipt) -> None:
    """Where the clock is hidden: whether a paid reply leaves at the end of its stay, or repeats one that leaves before it."""
    stay = STAY.get()
    if stay is None or receipt.entry is None:
        return
    if receipt.again:
        _leave_after(receipt.entry)
    elif stay.granted is not None:
        stay.pay(receipt.entry)
        stay.record = partial(_record_late, office, receipt.entry)


def _record_late(office: Office, entry: int) -> None:
    with suppress(TacitError):  # the ledger cannot be written to; whoever asks next is told so
        office.data.ledger.late(entry)


def _leave_after(entry: int) -> None:
    """Let the reply of this thread leave after the one that paid for an entry."""
    if (stay := STAY.get()) is not None:
        stay.first = stay.staying.get(entry)


def _with(answer: Answer | Answers, receipt: Receipt) -> Answer | Answers:
    return replace(answer, receipt=receipt) if isinstance(answer, Answer) else answer.with_receipt(receipt)


def _text_of(asked: Budgeted) -> str:
    """The text of a question, or those of a list in one."""
    return asked.sql if isinstance(asked.sql, str) else json.dumps(asked.sql)


def _recover(office: Office, session: Session, begun: Begun) -> Kept | None:
    """The reply to a request whose reply was lost with its process: the ledger decides. None if nothing was spent for it."""
    entry = office.data.ledger.requested(begun.key, begun.head)
    row = None if entry is None else office.data.ledger.paid_by(entry.number, session.analyst)
    if entry is None or row is None:
        return None
    answer = answer_of(office, *row)
    if entry.details.get("among") and _is_whole(office, session, begun, entry):
        return None  # all that it is made of was answered: it is made again, and nothing is paid
    if answer is None or entry.details.get("among"):
        return lost_reply(row[0].number)
    left = office.balance_of(session, (row[0].number,))
    receipt = replace(answer.receipt, left_epsilon=left.epsilon, left_delta=left.delta)
    return Kept(DONE, exact_text(_with(answer, receipt)), row[0].number)


def lost_reply(entry: int) -> Kept:
    """The reply to a request that was paid for, and whose answer was lost with its process."""
    return Kept(STATUS["timed_out"], problem("timed_out", *LOST).body.decode(), entry)


def _is_whole(office: Office, session: Session, begun: Begun, first: Entry) -> bool:
    """Whether every question that was paid for with a request has its answer, from the data as it is now."""
    ledger, after = office.data.ledger, begun.head
    while (entry := ledger.requested(begun.key, after)) is not None:
        row = ledger.paid_by(entry.number, session.analyst)
        if row is None or row[1] is None or entry.data_version != office.data.version:
            return False
        after = entry.number
    return after >= first.number


def answer_of(office: Office, entry: Entry, text: str | None) -> Answer | Answers | None:
    """The kept answer that an entry paid for, with the names of that analyst's own question; None if it is not kept."""
    if text is None or is_measurement(text):
        return None
    if is_list(text):
        return _answers_of(office, entry, text)
    answer = recorded(text)
    receipt = Receipt(answer.receipt.epsilon, answer.receipt.delta, None, None, entry.number, entry.data_version)
    receipt = replace(receipt, periods="" if entry.in_periods is None else entry.in_periods.named)
    names = _names(office, entry.question)
    if names is None or len(names) != len(answer.columns):  # of an older catalog; never the names that somebody else gave
        names = plain_names(len(answer.columns))
    return with_names(replace(answer, receipt=receipt), names)


def is_measurement(text: str) -> bool:
    """Whether the kept text of an entry is one measurement of a stream, and no answer by itself."""
    return text.startswith('{"stream"')


def _answers_of(office: Office, entry: Entry, text: str) -> Answers:
    """The same of a list."""
    answers = recorded_answers(text)
    with suppress(Refused):  # by an older catalog, so that columns have no names
        statement = read(entry.question, given(None, date.fromisoformat(entry.at[:10])), several=True).statement
        assert isinstance(statement, Select)  # noqa: S101  # it was paid for
        named = names_of(rewrite(statement, office.data.catalog, office.data.public), statement)
        if [len(each) for each, *_ in named] == [len(each.columns) for each in answers]:
            answers = named_answers(answers, named)
    epsilon, delta = answers.receipt.epsilon, answers.receipt.delta
    return answers.with_receipt(Receipt(epsilon, delta, None, None, entry.number, entry.data_version))


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
    amounts = {name: getattr(asked, name) for name in ("epsilon", "delta", "error", "confidence", "weights", "loss")}
    more = {"simultaneous": asked.simultaneous or None, "interval": None if asked.interval else False}
    return {**{name: value for name, value in amounts.items() if value is not None}, **more}


def _reply_in(office: Office, account: Account, asked: Question, kept: Kept) -> Reply:
    """A kept reply in the form that is wanted."""
    return reply_in(office, asked.form, kept, fingerprint_of(account.name, _text_of(asked), asked.params))


def reply_in(office: Office, form: str, kept: Kept, fingerprint: str) -> Reply:
    """A kept reply in a form; a refusal is JSON in every form."""
    if kept.status != DONE:
        return Reply(kept.status, kept.text.encode())
    if form == "exact":
        return Reply(DONE, kept.text.encode(), MEDIA)
    if is_exact_list(kept.text):
        return as_json(answers_from(kept.text).to_dict())
    answer = answer_from(kept.text)
    if form == "plain":
        return as_json(answer.to_dict())
    with office.seats.seat(), office.suspects.at_work(fingerprint):
        return replace(FORMS[form](answer), headers=((RECEIPT, _receipt_text(answer)),))


def _receipt_text(answer: Answer) -> str:
    """The facts that a table has no place for: the price, the remainder, the entry and the confidence, as JSON in ASCII."""
    told = answer.to_dict()
    facts = {name: told[name] for name in ("entry", "price", "left", "confidence", "simultaneous")}
    return for_json({**facts, "again": answer.receipt.again}, plain=True)


# --- streams: a measurement is kept in the ledger, so that the same request again costs nothing, under a key or without one -------


def stream(office: Office, account: Account, asked: StreamWanted, key: str) -> Reply:
    """The answer up to a period; under a key, the one reply of that key."""
    session = office.session(account)
    if session is None:
        return problem("forbidden")
    if not key:
        return _stream_in(office, account, asked, _stream_kept(office, session, asked))
    arguments = {"stream": True, **asked.model_dump(exclude={"form"})}
    with office.requests.alone(account.name, key, arguments, office.data.ledger.head.number) as begun:
        kept = begun.finished or (_lost(office, session, begun) if begun.again else None)
        if kept is None:
            kept = _stream_kept(office, session.for_request(begun.key), asked, begun)
        if begun.finished is None:
            office.requests.finish(begun, kept)
        return _stream_in(office, account, asked, kept)


def explain_stream(office: Office, account: Account, asked: StreamPriced, _: str) -> Reply:
    """The price of a stream and its errors, before anything is spent."""
    session = office.session(account)
    if session is None:
        return problem("forbidden")
    with office.seats.seat(), office.suspects.at_work(_fingerprint_of_stream(account.name, asked)):
        return as_json(session.explain_stream(asked.sql, **_stream_arguments(asked)).to_dict())


def _stream_kept(office: Office, session: Session, asked: StreamPriced, begun: Begun | None = None) -> Kept:
    fingerprint = _fingerprint_of_stream(session.analyst, asked)
    return reply_kept(office, session, (fingerprint, None), lambda: session.stream(asked.sql, **_stream_arguments(asked)), begun)


def _lost(office: Office, session: Session, begun: Begun) -> Kept | None:
    """The reply to a request whose process ended between a spend and its number; None if every number that it paid for is kept."""
    after = begun.head
    while (entry := office.data.ledger.requested(begun.key, after)) is not None:
        row = office.data.ledger.paid_by(entry.number, session.analyst)
        if row is None or row[1] is None:
            return lost_reply(entry.number)
        after = entry.number
    return None


def _stream_arguments(asked: StreamPriced) -> dict[str, Any]:
    confidence = {} if asked.confidence is None else {"confidence": asked.confidence}
    amounts = {"epsilon": asked.epsilon, "delta": asked.delta}
    return {"through": asked.through, "horizon": asked.horizon, **amounts, **confidence}


def _fingerprint_of_stream(account: str, asked: StreamPriced) -> str:
    return fingerprint_of(account, asked.sql, {"through": asked.through, "horizon": asked.horizon})


def _stream_in(office: Office, account: Account, asked: StreamWanted, kept: Kept) -> Reply:
    return reply_in(office, asked.form, kept, _fingerprint_of_stream(account.name, asked))


# --- explanations ------------------------------------------------------------------------------------------------------------


MOST_DRAWN = 2_000  # rows of a picture
RECEIPT = "Tacit-Receipt"  # the header of a reply that is a table
CSV, ARROW, SVG = "text/csv; charset=utf-8; header=present", "application/vnd.apache.arrow.stream", "image/svg+xml"
CERTIFICATE = "application/vnd.tacit.certificate+json"


def as_json(content: Mapping[str, Any]) -> Reply:
    """A reply of plain values."""
    return Reply(DONE, for_json(content).encode())


def explain(office: Office, account: Account, asked: Explained, _: str) -> Reply:
    """The price of an answer, and its error, before anything is spent."""
    session = office.session(account)
    if session is None:
        return problem("forbidden")
    with office.seats.seat(), office.suspects.at_work(fingerprint_of(session.analyst, _text_of(asked), asked.params)):
        more = {"epsilons": asked.epsilons, "group_rows": asked.group_rows}
        return as_json(session.explain(asked.sql, params=asked.params, **budget_of(asked), **more).to_dict())


# --- answers -----------------------------------------------------------------------------------------------------------------


def answer(office: Office, account: Account, wanted: AnswerWanted, _: str) -> Reply:
    """An answer that this analyst has paid for; one of another analyst is as absent as one that never was."""
    _leave_after(wanted.entry)
    row = office.data.ledger.paid_by(wanted.entry, account.name)
    if row is not None and is_measurement(row[1] or ""):
        raise InvalidInput("the entry is one measurement of a stream; ask for the stream: POST /v1/streams")
    kept = None if row is None else answer_of(office, *row)
    if kept is None:
        return problem("not_found")
    work = office.suspects.at_work(digest_of("answer", account.name, str(wanted.entry), wanted.form))
    if wanted.form == "certificate":
        with office.seats.seat(), work:
            return _certificate(office, account, wanted.entry)
    with work:
        if isinstance(kept, Answer):
            return FORMS[wanted.form](kept)
        if wanted.form not in ("json", "exact"):
            raise InvalidInput("the entry has the answers to a list, which are JSON; ask for json")
        return as_json(kept.to_dict()) if wanted.form == "json" else Reply(DONE, exact_text(kept).encode(), MEDIA)


def _certificate(office: Office, account: Account, entry: int) -> Reply:
    """The certificate of an answer, byte for byte as its file."""
    session = office.session(account)
    if session is None:
        return problem("forbidden")
    return Reply(DONE, f"{session.certificate(entry).to_json()}\n".encode("ascii"), CERTIFICATE)


def _arrow(answer: Answer) -> Reply:
    """The flat table as an Arrow stream; the metadata of its schema has the rest of the answer as JSON."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    told = {name: value for name, value in answer.to_dict().items() if name != "rows"}
    table = answer.to_arrow().replace_schema_metadata({"tacit.answer": for_json(told)})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    return Reply(DONE, sink.getvalue().to_pybytes(), ARROW)


def _svg(answer: Answer) -> Reply:
    if not any(column.is_number for column in answer.columns):
        raise InvalidInput("the answer has no number to draw; ask for JSON or CSV")
    if len(answer) > MOST_DRAWN:
        raise InvalidInput(f"a picture shows at most {MOST_DRAWN:,} rows; ask for JSON or CSV")
    return Reply(DONE, answer.chart().svg().encode(), SVG)


FORMS: Mapping[str, Callable[[Answer], Reply]] = {
    "json": lambda answer: as_json(answer.to_dict()),
    "csv": lambda answer: Reply(DONE, answer.to_csv().encode(), CSV),
    "exact": lambda answer: Reply(DONE, exact_text(answer).encode(), MEDIA),
    "arrow": _arrow,
    "svg": _svg,
}
FIRST = Answer(
    (Column("key", "key", ("a", None)), Column("n", "count", (1, 2), (0.5, None), (1.5, None)), Column("m", "avg", (None, None))),
    Fraction(19, 20),
    Receipt(Fraction(1), Fraction(0)),
)


def load_forms() -> None:
    """Write an answer in every form, so that every library is loaded before the clerk serves, and none at a question."""
    for form in FORMS.values():
        form(FIRST)


# --- budget and history ------------------------------------------------------------------------------------------------------


def budget(office: Office, account: Account, _: Nothing, __: str) -> Reply:
    """The analyst's cap, what was spent and what one further question may cost; of the data set, the cap and what is left."""
    session = office.session(account)
    return problem("forbidden") if session is None else as_json(session.budget())


def history(office: Office, account: Account, wanted: HistoryWanted, _: str) -> Reply:
    """A page of the analyst's entries, the latest first."""
    with office.seats.seat():
        return as_json(history_page(office.data.ledger, account.name, wanted.last, wanted.before, pause))


# --- what is declared --------------------------------------------------------------------------------------------------------


def catalog(office: Office, _: Account, __: Nothing, ___: str) -> Reply:
    """The declarations of the catalog: no source, no other analyst, and no number of rows except of public tables."""
    office.data.refresh()
    declared = office.data.catalog
    tables = declared_tables(declared, office.data.public)
    facts = {"budget": amounts(declared.budget.epsilon, declared.budget.delta), "neighbours": declared.change, "tables": tables}
    return as_json({**facts, "questions_at_most": declared.questions_at_most, **_periods(declared)})


def _periods(declared: Catalog) -> dict[str, Any]:
    """The periods of the budget: their kind, the first and the last that have begun, and the budget of a lifetime."""
    per = declared.per
    if per is None:
        return {}
    begun = [None, None] if per.begun is None else [per.calendar.name(each) for each in per.begun]
    lifetime = None if per.lifetime is None else amounts(*per.lifetime)
    return {"periods": {"per": per.calendar.text, "first": begun[0], "last": begun[1], "lifetime": lifetime}}
