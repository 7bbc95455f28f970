"""The desk of the clerk: one closed table of operations, each with the roles that may use it, and one exit for every error.

    credential    checked first, with the same work and the same reply for all that are not valid
    role          of the operation's list; an operation that lists none is denied to all
    place         limits the requests of an account, at once and per second
    arguments     checked again, by the model of the operation
    reply         of the operation, or of the closed list of problems

An unforeseen error is `unavailable`. The data owner's log has a line about it, without its message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from tacit.doors.server import analysts, approvals, console, curators, decisions
from tacit.doors.server import models as of
from tacit.doors.server.calls import ADMISSION, Call, Reply
from tacit.doors.server.office import Office, as_it_is
from tacit.doors.server.problems import problem, words_for
from tacit.doors.server.records import ANALYST, AUDITOR, CURATOR, Account, Ended
from tacit.doors.server.requests import KeyReused
from tacit.doors.server.stream_models import StreamPriced, StreamWanted
from tacit.doors.server.turns import Places, Seats, TooManyRequests
from tacit.errors import InvalidCatalog, StoreUnusable, TacitError, Unforeseen
from tacit.files import append_line
from tacit.query.offers import MOST_EPSILONS
from tacit.release.once import LARGEST_LOG, LOG, OLDER_LOGS, noted
from tacit.session import DataSet

LONGEST_KEY = 128
MOST_REPLY = 64 * 2**20  # bytes, below what the line to the front carries: no answer of one analyst ends it for the others
EXPLAINING = 2.0  # requests as which an explanation counts, which is free: ten a second
Run = Callable[[Office, Account, Any, str], Reply]
EVERY_ROLE = (ANALYST, CURATOR, AUDITOR)
PAGES = "pages"  # what pages do beyond the API: offers, the first page of the data owner, publishing
MINT, NEVER = "tokens", ""  # who may issue any token may issue a wider one: that is not for narrow tokens


@dataclass(frozen=True, slots=True)
class Operation:
    """The function that runs, the model of its arguments, and the roles that may use it; without roles, no account may."""

    run: Run
    model: type[of.Strict]
    roles: tuple[str, ...] = ()
    counts: float = 1.0  # as how many requests it counts against the rate of an account
    each: str = ""  # the argument with a list, each part of which counts so
    grant: str | None = None  # the name under which narrow tokens have it, if not its own; empty if they never have it
    own: bool = False  # whether it concerns the presented token alone, so that every narrow one has it

    def requests(self, arguments: Mapping[str, Any]) -> float:
        """As how many requests a call counts; one with a longer list than its model admits is refused without work."""
        parts = arguments.get(self.each) if self.each else None
        return self.counts * min(max(1, len(parts)), MOST_EPSILONS) if isinstance(parts, list) else self.counts


OPERATIONS: Mapping[str, Operation] = {
    "ask": Operation(analysts.ask, of.Question, (ANALYST,)),
    "explain": Operation(analysts.explain, of.Explained, (ANALYST,), EXPLAINING, "epsilons"),
    "stream": Operation(analysts.stream, StreamWanted, (ANALYST,), grant="ask"),
    "explain_stream": Operation(analysts.explain_stream, StreamPriced, (ANALYST,), EXPLAINING, grant="explain"),
    "answer": Operation(analysts.answer, of.AnswerWanted, (ANALYST,)),
    "budget": Operation(analysts.budget, of.Nothing, (ANALYST,)),
    "history": Operation(analysts.history, of.HistoryWanted, (ANALYST,)),
    "waiting": Operation(approvals.list_own, of.Nothing, (ANALYST,)),
    "withdraw": Operation(approvals.withdraw, decisions.Withdrawal, (ANALYST,)),
    "catalog": Operation(analysts.catalog, of.Nothing, EVERY_ROLE),
    "renew_token": Operation(curators.renew_token, of.OwnToken, EVERY_ROLE, grant=MINT),
    "own_tokens": Operation(curators.own_tokens, of.Nothing, EVERY_ROLE, grant=MINT),
    "revoke_own": Operation(curators.revoke_own, of.OwnRevocation, EVERY_ROLE, grant=MINT),
    "accounts": Operation(curators.accounts, of.Nothing, (CURATOR,)),
    "add_account": Operation(curators.add_account, of.NewAccount, (CURATOR,), grant=NEVER),
    "add_token": Operation(curators.add_token, of.NewToken, (CURATOR,), grant=NEVER),
    "revoke": Operation(curators.revoke, of.Revocation, (CURATOR,)),
    "caps": Operation(curators.caps, of.Nothing, (CURATOR,)),
    "set_caps": Operation(curators.set_caps, of.NewCaps, (CURATOR,)),
    "limits": Operation(curators.limits, of.Nothing, (CURATOR,)),
    "set_limits": Operation(curators.set_limits, of.NewLimits, (CURATOR,)),
    "resume": Operation(curators.resume, of.Resumption, (CURATOR,)),
    "approvals": Operation(approvals.approvals, decisions.ApprovalsWanted, (CURATOR,), EXPLAINING),
    "decide": Operation(approvals.decide, decisions.Verdict, (CURATOR,)),
    "log": Operation(curators.log, of.LogWanted, (CURATOR,)),
    "ledger": Operation(curators.ledger, of.LedgerWanted, (AUDITOR,)),
    "verification": Operation(curators.verification, of.Nothing, (AUDITOR,)),
    "head": Operation(curators.head, of.Nothing, (AUDITOR,)),
}
OF_PAGES: Mapping[str, Operation] = {  # without a route under /v1: the front calls them for its pages
    "who": Operation(console.who, of.Nothing, EVERY_ROLE, own=True),
    "leave": Operation(console.leave, of.Nothing, EVERY_ROLE, own=True),
    "preview": Operation(console.preview, console.Previewed, (ANALYST,), EXPLAINING, grant="explain"),
    "certified": Operation(console.certified, console.Certified, (ANALYST,), grant="answer"),
    "keys": Operation(console.keys, of.Nothing, EVERY_ROLE, grant="catalog"),
    "take_head": Operation(console.take_head, of.Nothing, (AUDITOR,), grant="head"),
    "offer": Operation(console.offer, console.Offered, (ANALYST,), grant=PAGES),
    "offered": Operation(console.offered, of.Nothing, (ANALYST,), grant="answer"),
    "offers": Operation(console.offered, of.Nothing, (CURATOR,), grant=PAGES),
    "overview": Operation(console.overview, of.Nothing, (CURATOR,), grant=PAGES),
    "publish": Operation(console.publish, console.Published, (CURATOR,), grant=PAGES),
}
LOGIN = "login"
READY = Reply(200, b'{"status": "ready"}')


class Desk:
    """Answers calls, from many threads at once."""

    def __init__(self, office: Office, places: Places | None = None, operations: Mapping[str, Operation] = OPERATIONS) -> None:
        self.office, self.places, self.operations = office, places or Places(), {**OF_PAGES, **operations}
        self._logged: Exception | None = None

    def handle(self, call: Call) -> Reply:
        """The reply to one call; it raises nothing."""
        try:
            reply = self._handle(call)
            return reply if len(reply.body) <= MOST_REPLY else problem("answer_too_large")
        except TacitError as error:
            return words_for(error) or self._unavailable(error)
        except Exception as error:
            return self._unavailable(error)

    def _handle(self, call: Call) -> Reply:
        if call.operation == "health":
            return READY
        if call.operation == LOGIN:
            return self._login(call)
        account = self.office.accounts.who(call.credential)
        alone = call.operation == ADMISSION
        name = str(call.arguments.get("operation")) if alone else call.operation
        operation = self.operations.get(name)
        if account is None:
            return problem("unauthenticated")
        if operation is None or account.role not in operation.roles:
            return problem("forbidden")
        if not operation.own and not account.may(name if operation.grant is None else operation.grant):
            return problem("narrow_token")
        try:
            with self.places.take(account.name, operation.requests(call.arguments)):
                if alone:
                    return READY
                reply = operation.run(self.office, account, _check(operation, call), call.key)
                return replace(reply, account=account.name)
        except TooManyRequests:
            return problem("too_many_requests")
        except Ended:
            return problem("unauthenticated")
        except KeyReused:
            return problem("key_reused")
        except ValidationError:  # the front has said what is wrong; a front that did not is not to be trusted
            return problem("invalid_request", "the arguments do not fit the operation", "see /v1/openapi.json")

    def _login(self, call: Call) -> Reply:
        try:
            return console.login(self.office, console.Code.model_validate(dict(call.arguments), strict=True))
        except ValidationError:
            return problem("unauthenticated")

    def _unavailable(self, error: Exception) -> Reply:
        """The one reply to what an analyst cannot change, after a line in the log: in words only if they are tacit's own."""
        folder = self.office.data.catalog.kept
        if error is self._logged:  # the pool raises one error for as long as the data cannot be read
            return problem("unavailable")
        if isinstance(error, StoreUnusable | InvalidCatalog):
            self._logged = error
            with suppress(OSError):
                line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {error.code}: {error}"
                append_line(folder / LOG, line, LARGEST_LOG, OLDER_LOGS)
        elif not isinstance(error, Unforeseen):  # of which there is a line already
            noted(error, folder)
        return problem("unavailable")


def desk(data: DataSet, limit: Callable[[int], None] | None = None, seats: Seats | None = None, died: bool = False) -> Desk:
    """The desk of a data set; it calls `limit` with the seconds that a question may take, when a curator changes them.

    `died` says that a signal ended the clerk before this one.
    """
    office = Office(data, limit or as_it_is, seats)
    office.suspects.recover(died)
    return Desk(office)


def _check(operation: Operation, call: Call) -> of.Strict:
    if len(call.key) > LONGEST_KEY or not call.key.isascii() or not call.key.isprintable():
        raise ValidationError.from_exception_data("key", [])
    return operation.model.model_validate(dict(call.arguments), strict=True)
