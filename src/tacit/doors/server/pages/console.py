"""The routes of the console, behind its own gate: each with the roles that it is for, which the clerk checks again."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.doors.server.calls import Clerk
from tacit.doors.server.front import Asking as Calls
from tacit.doors.server.front import app
from tacit.doors.server.gate import SAFE, App, Gate, Message, Receive, Send
from tacit.doors.server.pages.asking import DOWNLOADS, Asking
from tacit.doors.server.pages.frame import ONCE_A_YEAR, POLICY, Frame
from tacit.doors.server.pages.offices import Offices
from tacit.doors.server.pages.sessions import Asks, Entrance, LoggedOut, Problem, Visit, form_of, visit_of
from tacit.doors.server.settings import Settings

Show = Callable[[Visit], Awaitable[Response]]
ANALYST, CURATOR, AUDITOR = "analyst", "curator", "auditor"
NOT_STORED = {"cache-control": "no-store"}
HOME = {ANALYST: "/", CURATOR: "/owner", AUDITOR: "/auditor"}


def with_console(clerk: Clerk, settings: Settings) -> App:
    """The API at /v1, and the console at every other address: they share the clerk, and no header of one is read by the other."""
    calls = Calls(clerk, settings.behind_proxy)
    api, pages = app(clerk, settings, calls), console(calls, settings)

    async def either(scope: Message, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and not f"{scope['path']}/".startswith("/v1/")
        await (pages if is_page else api)(scope, receive, send)

    return either


@dataclass(frozen=True, slots=True)
class Door:
    """Shows pages to those who have a session with one of their roles."""

    frame: Frame
    asks: Asks
    settings: Settings
    entrance: Entrance

    def page(self, path: str, show: Show, *roles: str, method: str = "GET") -> Route:
        """The route of a page; without roles, it is for every role."""

        async def run(request: Request) -> Response:
            who = None
            try:
                visit = await visit_of(request, self.asks, self.settings)
                who = visit.who
                if not roles or visit.who["role"] in roles:
                    return await show(visit)
                return RedirectResponse(HOME[visit.who["role"]], 303, NOT_STORED) if path == "/" else _not_found(self.frame)
            except LoggedOut:
                return await self._ask_to_log_in(path, request)
            except Problem as problem:
                return _problem(self.frame, problem, who)
            except (ValueError, UnicodeError):  # a form that no page of this server has sent
                return _as_response(self.frame, "bad_request")

        return Route(path, run, methods=[method])

    async def _ask_to_log_in(self, path: str, request: Request) -> Response:
        """The page that asks for a token; a question that was sent or linked goes on after it."""
        place = request.url.path if request.method in SAFE else ""
        try:
            kept = await form_of(request) if path == "/ask" else dict(request.query_params) if path == "/" else {}
        except (ValueError, UnicodeError):
            return _as_response(self.frame, "bad_request")
        page = self.entrance.page(place, 401 if place != "/" else 200, kept=kept)
        return self.entrance.forgotten(page) if self.entrance.is_known(request) else page


def console(asks: Asks, settings: Settings) -> App:
    """The application of every address that is not of the API."""
    frame = Frame()
    entrance = Entrance(frame, asks, settings)
    door, asking, offices = Door(frame, asks, settings, entrance), Asking(frame, settings), Offices(frame, settings)
    routes = [
        Route("/login", _guarded(frame, entrance.show), methods=["GET"]),
        Route("/login", _guarded(frame, entrance.log_in), methods=["POST"]),
        Route("/leave", _guarded(frame, entrance.log_out), methods=["POST"]),
        Route("/static/{name:path}", partial(_file, frame), methods=["GET"]),
        door.page("/", asking.ask, ANALYST),
        door.page("/build", asking.build, ANALYST),
        door.page("/ask", asking.send, ANALYST, method="POST"),
        door.page("/price", asking.price, ANALYST, method="POST"),
        door.page("/answers/{entry:int}", asking.answer, ANALYST),
        door.page("/answers/{entry:int}/offer", asking.offer, ANALYST, method="POST"),
        *(door.page(f"/answers/{{entry:int}}.{form}", partial(asking.download, form=form), ANALYST) for form in DOWNLOADS),
        door.page("/answers/{entry:int}/certificate", asking.certificate, ANALYST),
        door.page("/keys.json", asking.keys),
        door.page("/catalog", asking.catalog),
        door.page("/history", asking.history, ANALYST),
        door.page("/budget", asking.budget, ANALYST),
        door.page("/owner", offices.owner, CURATOR),
        door.page("/waiting", asking.show_waiting, ANALYST),
        door.page("/waiting", asking.withdraw, ANALYST, method="POST"),
        door.page("/approvals", offices.approvals, CURATOR),
        door.page("/approvals/{name}/{number:int}", offices.approval, CURATOR),
        door.page("/approvals", offices.decide, CURATOR, method="POST"),
        door.page("/owner/invite", offices.invite, CURATOR, method="POST"),
        door.page("/owner/revoke", offices.revoke, CURATOR, method="POST"),
        door.page("/owner/cap", offices.lower, CURATOR, method="POST"),
        door.page("/owner/resume", offices.resume, CURATOR, method="POST"),
        door.page("/publish", offices.publish, CURATOR),
        door.page("/publish", offices.published, CURATOR, method="POST"),
        door.page("/auditor", offices.auditor, AUDITOR),
        door.page("/auditor/head.json", offices.head, AUDITOR),
    ]
    inside = Starlette(
        routes=routes, exception_handlers={HTTPException: partial(_absent, frame), Exception: partial(_unforeseen, frame)}
    )
    inside.router.redirect_slashes = False
    return Gate(inside, settings, frame.rules(settings))


def _guarded(frame: Frame, show: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    async def run(request: Request) -> Response:
        try:
            return await show(request)
        except (ValueError, UnicodeError):
            return _as_response(frame, "bad_request")

    return run


async def _file(frame: Frame, request: Request) -> Response:
    """A file of the pages by its address, which changes with its content; the policy is for those who open it alone."""
    media, content = frame.static.get(request.url.path, ("", b""))
    if not media:
        return _not_found(frame)
    return Response(
        content, 200, {"content-type": media, "cache-control": ONCE_A_YEAR, "content-security-policy": POLICY.format(nonce="")}
    )


async def _absent(frame: Frame, _: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _as_response(frame, {404: "not_found", 405: "method_not_allowed"}.get(status, "bad_request"))


async def _unforeseen(frame: Frame, _: Request, error: Exception) -> Response:
    """An address that cannot be read, such as one with a number of 5,000 digits; or an error that was not foreseen."""
    return _as_response(frame, "bad_request" if isinstance(error, ValueError) else "unavailable")


def _not_found(frame: Frame) -> Response:
    return _as_response(frame, "not_found")


def _as_response(frame: Frame, code: str) -> Response:
    reply = frame.problem(code)
    return Response(reply.body, reply.status, {"content-type": reply.media, **dict(reply.headers)})


def _problem(frame: Frame, problem: Problem, who: dict[str, Any] | None) -> Response:
    """The page of a reply that is a problem, in the clerk's words; with the ways to the other pages, if it is known for whom."""
    try:
        error = json.loads(problem.reply.body)["error"]
    except (ValueError, LookupError, TypeError):
        error = {"message": frame.texts["unavailable"]}
    facts = {"message": error["message"], "remedy": error.get("remedy", "")}
    return frame.page("problem.html", problem.reply.status, who=who, at="", **facts)
