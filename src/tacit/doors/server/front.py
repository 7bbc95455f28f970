"""The front: HTTP in, calls to the clerk out. It knows no credential, no ledger and no data; it checks forms and passes them on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from tacit.doors.server import decisions
from tacit.doors.server import models as of
from tacit.doors.server import shapes as told
from tacit.doors.server.calls import ADMISSION, CONNECTION, Call, Clerk, Reply
from tacit.doors.server.gate import App, Gate
from tacit.doors.server.leaving import TIMED
from tacit.doors.server.problems import STATUS, misfit, plainest, problem
from tacit.doors.server.settings import PER_ACCOUNT, Crowd, Settings
from tacit.doors.server.stream_models import StreamAsked, StreamExplanation, StreamPriced

EXACT = "application/vnd.tacit.answer+json"
KEY = r"^[!-~]{1,128}$"
CSV, ARROW = "text/csv", "application/vnd.apache.arrow.stream"
FORMS = (CSV, ARROW, "image/svg+xml", "application/vnd.tacit.certificate+json")
OFFERED: dict[
    str, tuple[str, frozenset[str]]
] = {  # of an answer: the form, and parameters that are true of it; the first is preferred
    "application/json": ("plain", frozenset({"charset=utf-8"})),
    CSV: ("csv", frozenset({"charset=utf-8", "header=present"})),
    ARROW: ("arrow", frozenset()),
    EXACT: ("exact", frozenset()),
}
QUALITY = re.compile(r"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")

bearer = HTTPBearer(auto_error=False, description="A token of an account: tacit_...")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
Key = Annotated[
    str, Header(alias="Idempotency-Key", pattern=KEY, description="The same request under the same key is paid for once.")
]
EntryPath = Annotated[int, Path(ge=0, le=of.MOST_ENTRY)]
Credential = HTTPAuthorizationCredentials | None


class Health(told.Shape):
    """The clerk answers."""

    status: Literal["ready"]


class HistoryQuery(of.HistoryWanted, strict=False):
    """The same from a query, where everything is text."""


class LogQuery(of.LogWanted, strict=False):
    """The same from a query."""


class LedgerQuery(of.LedgerWanted, strict=False):
    """The same from a query."""


class ApprovalsQuery(decisions.ApprovalsWanted, strict=False):
    """The same from a query."""


class AnswerQuery(of.Strict, strict=False):
    """The form of an answer."""

    form: of.Form = "json"


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of the API: a method and a path, the model of its body (or of its query), and the shape of its reply."""

    method: str
    path: str
    operation: str
    given: type[of.Strict]
    shape: type[BaseModel]


ROUTES = (
    Route("POST", "/v1/explain", "explain", of.Explained, told.Explanation),
    Route("POST", "/v1/streams/explain", "explain_stream", StreamPriced, StreamExplanation),
    Route("GET", "/v1/budget", "budget", of.Nothing, told.Budgets),
    Route("GET", "/v1/history", "history", HistoryQuery, told.History),
    Route("GET", "/v1/waiting", "waiting", of.Nothing, decisions.EveryWaiting),
    Route("POST", "/v1/waiting/withdrawals", "withdraw", decisions.Withdrawal, decisions.Withdrawn),
    Route("GET", "/v1/approvals", "approvals", ApprovalsQuery, decisions.EveryWaiting),
    Route("POST", "/v1/approvals", "decide", decisions.Verdict, told.Recorded),
    Route("GET", "/v1/catalog", "catalog", of.Nothing, told.Catalog),
    Route("POST", "/v1/token", "renew_token", of.OwnToken, told.Issued),
    Route("GET", "/v1/token", "own_tokens", of.Nothing, told.OwnTokens),
    Route("POST", "/v1/token/revocations", "revoke_own", of.OwnRevocation, told.Revoked),
    Route("GET", "/v1/accounts", "accounts", of.Nothing, told.Accounts),
    Route("POST", "/v1/accounts", "add_account", of.NewAccount, told.Issued),
    Route("POST", "/v1/tokens", "add_token", of.NewToken, told.Issued),
    Route("POST", "/v1/revocations", "revoke", of.Revocation, told.Revoked),
    Route("GET", "/v1/caps", "caps", of.Nothing, told.EveryCap),
    Route("PUT", "/v1/caps", "set_caps", of.NewCaps, told.Caps),
    Route("GET", "/v1/limits", "limits", of.Nothing, told.Limits),
    Route("PUT", "/v1/limits", "set_limits", of.NewLimits, told.Limits),
    Route("POST", "/v1/resume", "resume", of.Resumption, told.Recorded),
    Route("GET", "/v1/log", "log", LogQuery, told.Log),
    Route("GET", "/v1/ledger", "ledger", LedgerQuery, told.Ledger),
    Route("GET", "/v1/verification", "verification", of.Nothing, told.Verification),
    Route("GET", "/v1/head", "head", of.Nothing, told.Head),
)


def app(clerk: Clerk, settings: Settings, asking: Asking | None = None) -> App:
    """The application: routes that pass calls to the clerk, behind the gate. The console beside it shares its `asking`."""
    api = FastAPI(title="tacit", version="1", openapi_url="/v1/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False)
    api.add_exception_handler(RequestValidationError, partial(_invalid, clerk))
    api.add_exception_handler(HTTPException, partial(_absent, clerk))
    api.add_exception_handler(Exception, _unavailable)
    ask = asking or Asking(clerk, settings.behind_proxy)

    @api.get("/v1/health", operation_id="health", responses=_replies(Health))
    async def health(_: Annotated[of.Nothing, Query()], request: Request) -> Response:
        return await ask("health", None, {}, request)

    @api.post("/v1/questions", operation_id="ask", responses=_answer((CSV, ARROW), told.Answer | told.Answers))
    async def questions(asked: of.Asked, who: Bearer, request: Request, key: Key = "") -> Response:
        form = form_of(",".join(request.headers.getlist("accept")))
        if form is None:
            return await _refusal(clerk, request) or _response(problem("not_acceptable"))
        return await ask("ask", who, {**asked.model_dump(), "form": form}, request, key)

    @api.post("/v1/streams", operation_id="stream", responses=_answer((CSV, ARROW), told.Answer))
    async def stream(asked: StreamAsked, who: Bearer, request: Request, key: Key = "") -> Response:
        form = form_of(",".join(request.headers.getlist("accept")))
        if form is None:
            return await _refusal(clerk, request) or _response(problem("not_acceptable"))
        return await ask("stream", who, {**asked.model_dump(), "form": form}, request, key)

    @api.get("/v1/answers/{entry}", operation_id="answer", responses=_answer(FORMS, told.Answer | told.Answers))
    async def answers(entry: EntryPath, wanted: Annotated[AnswerQuery, Query()], who: Bearer, request: Request) -> Response:
        return await ask("answer", who, {"entry": entry, "form": wanted.form}, request)

    for route in ROUTES:
        _add(api, route, ask)
    return Gate(api, settings)


class Asking:
    """Passes calls on, and counts the connections on which replies of each account leave."""

    def __init__(self, clerk: Clerk, shared: bool) -> None:
        self.clerk, self.shared, self.accounts = clerk, shared, Crowd(PER_ACCOUNT)

    async def __call__(self, name: str, who: Credential, given: dict[str, Any], request: Request, key: str = "") -> Response:
        """The response to one call, if the connection may carry it."""
        return _response(await self.reply(name, "" if who is None else who.credentials, given, request, key))

    async def reply(self, name: str, credential: str, given: Mapping[str, Any], request: Request, key: str = "") -> Reply:
        """The reply to one call, if the connection may carry it."""
        reply = await self.clerk.ask(Call(name, credential, given, key))
        line = request.scope.get("state", {}).get(CONNECTION)
        if reply.timed:
            request.scope.setdefault("state", {})[TIMED] = True
        if line is not None and reply.account and not line.owe(self.accounts, reply.account, self.shared):
            refused = problem("too_many_connections")
            return replace(refused, headers=(*refused.headers, ("connection", "close")))
        return reply


def _replies(shape: type[BaseModel], closed: Iterable[str] = STATUS) -> dict[int | str, dict[str, Any]]:
    """The replies of an operation: its own shape, and the problems of the closed list by their status."""
    codes: dict[int | str, list[str]] = {}
    for code in closed:
        codes.setdefault(STATUS[code], []).append(code)
    problems = {status: {"model": told.Problem, "description": ", ".join(sorted(names))} for status, names in sorted(codes.items())}
    return {200: {"model": shape, "description": getattr(shape, "__doc__", "") or ""}, **problems}


def _answer(forms: Iterable[str], shape: Any) -> dict[int | str, dict[str, Any]]:
    """The replies of an operation that returns an answer, as JSON or in other forms."""
    document = _replies(shape)
    exact = {"application/vnd.tacit.answer+json": {"schema": {"type": "object"}}}
    others = {media: {"schema": {"type": "string", "format": "binary"}} for media in forms}
    return {**document, 200: {**document[200], "content": {**others, **exact}}}


def form_of(accept: str) -> str | None:
    """The form of an answer that an Accept header prefers, by RFC 9110; JSON without one, and None if it takes no form offered.

    >>> form_of(""), form_of("text/csv;q=0.5, application/*;q=0.1"), form_of("*/*, application/json;q=0"), form_of("text/html")
    ('plain', 'csv', 'csv', None)
    """
    if not accept.strip():
        return "plain"
    ranges = [found for part in accept.split(",") if (found := _range_of(part)) is not None]
    wanted = {media: _quality(media, known, ranges) for media, (_, known) in OFFERED.items()}
    best = max(wanted, key=lambda media: wanted[media])  # the first of equals
    return OFFERED[best][0] if wanted[best] else None


def _range_of(part: str) -> tuple[str, frozenset[str], float] | None:
    """A media range with its parameters and its quality; None if it has no valid form."""
    media, *parameters = (each.strip().lower().replace('"', "") for each in part.split(";"))
    weights = [each for each in parameters if each.startswith("q=")]
    quality = QUALITY.fullmatch(weights[0]) if weights else None
    if weights and (quality is None or len(weights) > 1):
        return None
    return media, frozenset(each for each in parameters if each and each not in weights), float(quality[1]) if quality else 1.0


def _quality(media: str, known: frozenset[str], ranges: list[tuple[str, frozenset[str], float]]) -> float:
    """The quality that the most specific range gives a media type; 0 if no range includes it."""
    patterns = ("*/*", f"{media.partition('/')[0]}/*", media)
    fitting = [
        (patterns.index(name), len(parameters), quality)
        for name, parameters, quality in ranges
        if name in patterns and parameters <= known
    ]
    return max(fitting, default=(0, 0, 0.0))[2]


def _add(api: FastAPI, route: Route, ask: Asking) -> None:
    async def run(given: of.Strict, who: Bearer, request: Request) -> Response:
        return await ask(route.operation, who, given.model_dump(), request)

    run.__annotations__["given"] = Annotated[route.given, Query()] if route.method == "GET" else route.given
    document: dict[str, Any] = {"operation_id": route.operation, "responses": _replies(route.shape)}
    api.add_api_route(route.path, run, methods=[route.method], name=route.operation, summary=route.given.__doc__, **document)


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, {"content-type": reply.media, **dict(reply.headers)})


async def _invalid(clerk: Clerk, request: Request, error: Exception) -> Response:
    """Where the request does not fit the document, and by which rule; only to an account that may use the operation."""
    assert isinstance(error, RequestValidationError)  # noqa: S101  # it is registered for this one
    return await _refusal(clerk, request) or _response(
        problem("invalid_request", misfit(plainest(error.errors())), "see /v1/openapi.json")
    )


async def _refusal(clerk: Clerk, request: Request) -> Response | None:
    """Whether the clerk would refuse the operation whatever its arguments are: credential and role come before the form."""
    operation = getattr(request.scope.get("route"), "operation_id", None)
    if operation is None or operation == "health":
        return None
    who = await bearer(request)
    reply = await clerk.ask(Call(ADMISSION, "" if who is None else who.credentials, {"operation": operation}))
    return None if reply.status == 200 else _response(reply)


async def _absent(clerk: Clerk, request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  # it is registered for this one
    codes = {404: "not_found", 405: "method_not_allowed"}
    code = codes.get(error.status_code, "bad_request")
    if code == "bad_request" and (refused := await _refusal(clerk, request)) is not None:
        return refused
    reply = _response(problem(code))
    reply.headers.update({name: value for name, value in (error.headers or {}).items() if name.lower() == "allow"})
    return reply


async def _unavailable(_: Request, __: Exception) -> Response:
    """The clerk does not answer, or an error was not foreseen; its text may quote the request, and is not sent."""
    return _response(problem("unavailable"))
