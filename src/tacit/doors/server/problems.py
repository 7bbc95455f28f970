"""Every error that leaves the server: a closed list of codes, each with its HTTP status and, except for refusals, its one text.

A refusal says what is wrong with the question, from public facts alone. Whatever tacit did not foresee, and whatever concerns the
machine (the store, the ledger, the disk), leaves as `unavailable`: the data owner's log alone says more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacit.doors.server.calls import Reply
from tacit.errors import (
    BudgetExceeded,
    InvalidBudget,
    InvalidInput,
    InvalidSensitivity,
    InvalidToken,
    InvalidValue,
    NeedsApproval,
    Refused,
    TacitError,
    TimedOut,
    TooManyFailures,
)
from tacit.untrusted import for_json

REFUSED = 422  # a question that its analyst can change
CONFLICT = 409  # the state of the ledger or of the accounts does not allow it now
SHARED = ("the budget of the data set", "the budget of a person's lifetime")  # how refusals by caps over everybody begin

TEXTS: Mapping[str, tuple[int, str, str]] = {
    "bad_request": (400, "the request is not valid HTTP, or its body is not JSON", "see /v1/openapi.json"),
    "unauthenticated": (401, "the credential is missing or not valid", "send the header Authorization: Bearer TOKEN"),
    "forbidden": (403, "this account may not do this", "ask the curator for an account with another role"),
    "narrow_token": (
        403,
        "this token may not use this operation: it was made without it",
        "use the token that it was made from, or make one with this operation",
    ),
    "foreign_origin": (
        403,
        "the request comes from the page of another site",
        "send it from no page, or from a page of this server",
    ),
    "not_found": (404, "not found", "see /v1/openapi.json"),
    "method_not_allowed": (405, "this method is not supported here", "see /v1/openapi.json"),
    "not_acceptable": (
        406,
        "none of the media types in Accept is offered here; nothing was spent",
        "send Accept: application/json, text/csv or application/vnd.apache.arrow.stream",
    ),
    "already_exists": (CONFLICT, "this name was used before, and belongs to one account for ever", "choose another name"),
    "too_large": (413, "the request is too large", "send at most 128 KiB, with at most 64 KiB of SQL"),
    "unsupported_media_type": (415, "the body is not JSON", "send Content-Type: application/json"),
    "wrong_host": (421, "this server does not answer under this name", "use a name that the server was started with"),
    "answer_too_large": (REFUSED, "the answer is too large for one reply", "fetch it as Arrow or CSV, or ask for fewer groups"),
    "key_reused": (REFUSED, "another request was sent under this Idempotency-Key", "use a new key for each request"),
    "too_many_connections": (
        429,
        "too many connections with unread replies are open; what was already spent stays spent",
        "read the replies, close connections, and send the request again under the same Idempotency-Key",
    ),
    "too_many_requests": (429, "this account sends too many requests at once", "wait a moment, and send it again"),
    "unavailable": (503, "the server cannot answer now; what was already spent stays spent", "try again later, or ask the curator"),
}
OWN_TEXT: Mapping[str, int] = {"invalid_request": REFUSED, "invalid_input": REFUSED, "invalid_budget": REFUSED}
SPECIAL: Mapping[type[Refused], int] = {
    BudgetExceeded: CONFLICT,
    NeedsApproval: CONFLICT,
    TooManyFailures: CONFLICT,
    TimedOut: 504,
}


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


RULES: Mapping[str, str] = {  # what pydantic finds, in words of our own; those in braces are constants of the document
    "missing": "it is required",
    "extra_forbidden": "it is not a field of this request",
    "json_invalid": "it is not JSON",
    "string_type": "it must be a text",
    "string_too_long": "it has more than {max_length} characters",
    "string_too_short": "it has fewer than {min_length} characters",
    "string_pattern_mismatch": "it does not have the form of the document",
    "string_unicode": "it is not a text of Unicode",
    "bool_type": "it must be true or false",
    "bool_parsing": "it must be true or false",
    "int_type": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "int_parsing": "it must be a whole number",
    "int_parsing_size": "it is not in the range of the document",
    "greater_than_equal": "it must be at least {ge}",
    "less_than_equal": "it must be at most {le}",
    "literal_error": "it must be one of {expected}",
    "dict_type": "it must be an object",
    "model_type": "it must be an object",
    "model_attributes_type": "it must be an object",
    "too_long": "it has more than {max_length} entries",
    "too_short": "it has fewer than {min_length} entries",
    "value_error": "it is longer than 64 KiB",
}
OTHER_RULE = "it does not fit the document"
OF_PARAMETERS = "a parameter is a text, a number, true, false or null, within the limits of the document"
FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")


def plainest(errors: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The error to tell: the first, but where a list may stand for a text, what is wrong inside the list that was sent.

    >>> as_text = {"loc": ("body", "sql", "str"), "type": "string_type", "input": []}
    >>> plainest([as_text, {"loc": ("body", "sql", "list"), "type": "too_short", "input": []}])["type"]
    'too_short'
    """
    return next((each for each in errors if each["type"] != "string_type" or not isinstance(each["input"], list)), errors[0])


def misfit(error: Mapping[str, Any]) -> str:
    """Which field does not fit, and the rule; never what was sent in it.

    >>> misfit({"loc": ("body", "epsilon"), "type": "string_type"})
    'body.epsilon is not valid: it must be a text'
    """
    place, *names = map(str, error["loc"])
    if names[:1] == ["params"] and len(names) > 1:
        names, rule = ["params"], OF_PARAMETERS
    else:
        names = ["sql"] if names[:1] == ["sql"] else names  # what follows says which of its forms was tried
        rule = RULES.get(str(error["type"]), OTHER_RULE).format_map(error.get("ctx") or {})
    inside = "".join(f".{name}" for name in names if FIELD.fullmatch(name))
    return f"{place}{inside} is not valid: {rule}"


def words_for(error: TacitError) -> Reply | None:
    """The reply to an error in words for an analyst; None for one that is the data owner's alone."""
    if isinstance(error, BudgetExceeded):
        for cap in SHARED:  # what remains there is told in tenths alone
            if error.message.startswith(cap):
                return problem(
                    error.code, f"{cap} does not admit this question", "ask for a smaller epsilon, or ask the data owner"
                )
    if isinstance(error, Refused):
        return problem(error.code, error.message, error.remedy, error.at)
    if isinstance(error, InvalidBudget):
        return problem("invalid_budget", str(error))
    if isinstance(error, InvalidToken):  # the desk says so, and nothing is kept of it
        return None
    if isinstance(error, InvalidValue | InvalidSensitivity):  # of a mechanism, and so perhaps of the data
        return None
    return problem("invalid_input", str(error)) if isinstance(error, InvalidInput) else None
