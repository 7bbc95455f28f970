"""The routes of the console, behind its own gate: each with the roles that it is for, which the clerk checks again."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.doors.server.gate import App, Gate
from tacit.doors.server.pages.asking import Asking
from tacit.doors.server.pages.frame import ONCE_A_YEAR, POLICY, Frame
from tacit.doors.server.pages.offices import Offices
from tacit.doors.server.pages.sessions import Asks, Entrance, LoggedOut, Problem, Visit, visit_of
from tacit.doors.server.settings import Settings

Show = Callable[[Visit], Awaitable[Response]]
ANALYST, CURATOR, AUDITOR = "analyst", "curator", "auditor"
HOME = {ANALYST: "/", CURATOR: "/owner", AUDITOR: "/auditor"}


def console(asks: Asks, settings: Settings) -> App:
    """The application: every address that is not of the API."""
    frame = Frame()
    entrance, asking, offices = Entrance(frame, asks, settings), Asking(frame, settings), Offices(frame, settings)

    def page(path: str, show: Show, *roles: str, method: str = "GET") -> Route:
        async def run(request: Request) -> Response:
            try:
                visit = await visit_of(request, asks, settings)
                if roles and visit.who["role"] not in roles:
                    return (
                        RedirectResponse(HOME[visit.who["role"]], 303, {"cache-control": "no-store"})
                        if path == "/"
                        else _not_found(frame)
                    )
                return await show(visit)
            except LoggedOut:
                place = request.url.path if method == "GET" else ""
                return entrance.forgotten(entrance.page(place, 401 if place != "/" else 200))
            except Problem as problem:
                return _problem(frame, problem)
            except (ValueError, UnicodeError):  # a form that no page of this server has sent
                return _as_response(frame, "bad_request")

        return Route(path, run, methods=[method])

    routes = [
        Route("/login", _guarded(frame, entrance.show), methods=["GET"]),
        Route("/login", _guarded(frame, entrance.log_in), methods=["POST"]),
        Route("/leave", _guarded(frame, entrance.log_out), methods=["POST"]),
        Route("/static/{name:path}", partial(_file, frame), methods=["GET"]),
        page("/", asking.ask, ANALYST),
        page("/build", asking.build, ANALYST),
        page("/ask", asking.send, ANALYST, method="POST"),
        page("/price", asking.price, ANALYST, method="POST"),
        page("/answers/{entry:int}", asking.answer, ANALYST),
        page("/answers/{entry:int}/offer", asking.offer, ANALYST, method="POST"),
        *(
            page(f"/answers/{{entry:int}}.{form}", _with_form(asking.download, form), ANALYST)
            for form in ("csv", "json", "arrow", "svg")
        ),
        page("/catalog", asking.catalog),
        page("/history", asking.history, ANALYST),
        page("/budget", asking.budget, ANALYST),
        page("/owner", offices.owner, CURATOR),
        page("/owner/invite", offices.invite, CURATOR, method="POST"),
        page("/owner/revoke", offices.revoke, CURATOR, method="POST"),
        page("/owner/cap", offices.lower, CURATOR, method="POST"),
        page("/owner/resume", offices.resume, CURATOR, method="POST"),
        page("/publish", offices.publish, CURATOR),
        page("/publish", offices.published, CURATOR, method="POST"),
        page("/auditor", offices.auditor, AUDITOR),
        page("/auditor/head.json", offices.head, AUDITOR),
    ]
    inside = Starlette(routes=routes, exception_handlers={HTTPException: partial(_absent, frame)})
    inside.router.redirect_slashes = False
    return Gate(inside, settings, frame.rules(settings))


def _with_form(show: Show, form: str) -> Show:
    async def run(visit: Visit) -> Response:
        visit.request.path_params["form"] = form
        return await show(visit)

    return run


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


def _not_found(frame: Frame) -> Response:
    return _as_response(frame, "not_found")


def _as_response(frame: Frame, code: str) -> Response:
    reply = frame.problem(code)
    return Response(reply.body, reply.status, {"content-type": reply.media, **dict(reply.headers)})


def _problem(frame: Frame, problem: Problem) -> Response:
    """The page of a reply that is a problem, in the clerk's words."""
    try:
        error = json.loads(problem.reply.body)["error"]
    except (ValueError, LookupError, TypeError):
        error = {"message": frame.texts["unavailable"]}
    facts = {"message": error["message"], "remedy": error.get("remedy", "")}
    return frame.page("problem.html", problem.reply.status, who=None, at="", **facts)
