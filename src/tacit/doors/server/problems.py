"""Every error that leaves the server: a closed list of codes, each with its HTTP status and, except for refusals, its one text.

A refusal says what is wrong with the question, from public facts alone. Whatever tacit did not foresee, and whatever concerns the
machine (the store, the ledger, the disk), leaves as `unavailable`: the data owner's log alone says more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tacit.doors.server.calls import Reply
from tacit.errors import BudgetExceeded, InvalidBudget, InvalidInput, Refused, TacitError, TimedOut, TooManyFailures
from tacit.untrusted import for_json

REFUSED = 422  # a question that its analyst can change
CONFLICT = 409  # the state of the ledger or of the accounts does not allow it now
DATA_SET = "the budget of the data set"  # how a refusal by the cap over everybody begins

TEXTS: Mapping[str, tuple[int, str, str]] = {
    "bad_request": (400, "the request is not valid HTTP, or its body is not JSON", "see /v1/openapi.json"),
    "unauthenticated": (401, "the credential is missing or not valid", "send the header Authorization: Bearer TOKEN"),
    "forbidden": (403, "this account may not do this", "ask the curator for an account with another role"),
    "foreign_origin": (
        403,
        "the request comes from the page of another site",
        "send it from no page, or from a page of this server",
    ),
    "not_found": (404, "not found", "see /v1/openapi.json"),
    "method_not_allowed": (405, "this method is not supported here", "see /v1/openapi.json"),
    "already_exists": (CONFLICT, "this name was used before, and belongs to one account for ever", "choose another name"),
    "too_large": (413, "the request is too large", "send at most 128 KiB, with at most 64 KiB of SQL"),
    "unsupported_media_type": (415, "the body is not JSON", "send Content-Type: application/json"),
    "wrong_host": (421, "this server does not answer under this name", "use a name that the server was started with"),
    "answer_too_large": (REFUSED, "the answer is too large for one reply", "fetch it as Arrow or CSV, or ask for fewer groups"),
    "key_reused": (REFUSED, "another request was sent under this Idempotency-Key", "use a new key for each request"),
    "too_many_requests": (429, "this account sends too many requests at once", "wait a moment, and send it again"),
    "unavailable": (503, "the server cannot answer now; what was already spent stays spent", "try again later, or ask the curator"),
}
OWN_TEXT: Mapping[str, int] = {"invalid_request": REFUSED, "invalid_input": REFUSED, "invalid_budget": REFUSED}
SPECIAL: Mapping[type[Refused], int] = {BudgetExceeded: CONFLICT, TooManyFailures: CONFLICT, TimedOut: 504}


def _refusals(kind: type[Refused] = Refused) -> Iterator[type[Refused]]:
    yield kind
    for other in kind.__subclasses__():
        yield from _refusals(other)


STATUS: Mapping[str, int] = {
    **{code: status for code, (status, _, _) in TEXTS.items()},
    **OWN_TEXT,
    **{kind.code: SPECIAL.get(kind, REFUSED) for kind in _refusals()},
}


def problem(code: str, message: str = "", remedy: str = "", at: tuple[int, int] | None = None) -> Reply:
    """The reply of one code: with its constant text, or with the one that is given."""
    status, own, advice = TEXTS.get(code, (STATUS[code], "", ""))
    said: dict[str, Any] = {"code": code, "message": message or own}
    said |= {"remedy": remedy or advice} if remedy or advice else {}
    said |= {"line": at[0], "column": at[1]} if at else {}
    headers = {401: (("WWW-Authenticate", "Bearer"),), 429: (("Retry-After", "1"),), 503: (("Retry-After", "5"),)}
    return Reply(status, for_json({"error": said}).encode(), headers=headers.get(status, ()))


def told(error: TacitError) -> Reply | None:
    """What an analyst may hear of an error; None for one that is the data owner's alone."""
    if isinstance(error, BudgetExceeded) and error.message.startswith(DATA_SET):
        return problem(error.code, f"{DATA_SET} does not admit this question", "ask for a smaller epsilon, or ask the data owner")
    if isinstance(error, Refused):
        return problem(error.code, error.message, error.remedy, error.at)
    if isinstance(error, InvalidBudget):
        return problem("invalid_budget", str(error))
    return problem("invalid_input", str(error)) if isinstance(error, InvalidInput) else None
