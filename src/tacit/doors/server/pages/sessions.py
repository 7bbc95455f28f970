"""Who visits: a narrow token in a cookie, made from the token or the code that was typed once.

The cookie is for pages alone: /v1 never reads it, and pages never read the Authorization header. The server keeps no session of its
own: the cookie holds the token, no script can read it, and it is sent with no request that another site begins.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tacit.doors.server.calls import Reply
from tacit.doors.server.pages.frame import Frame, Lines, made_from
from tacit.doors.server.settings import Settings

SECONDS = 8 * 3600
HOURS = 8
TOKEN = re.compile(r"tacit_[A-Za-z0-9_-]{43}")
PLACE = re.compile(r"/(?:catalog|history|budget|owner|auditor|publish|answers/[0-9]{1,16})?")  # where a login may lead
MOST_FIELDS = 300
QUESTION = ("sql", "kind", "epsilon", "error")
NOTHING: Mapping[str, str] = MappingProxyType({})
LONGEST_ADDRESS = 8_000  # which a header has room for
TOO_MANY, PATIENCE = 429, 1.0  # seconds


class Asks(Protocol):
    """Passes a call to the clerk, with a credential as text."""

    async def reply(self, name: str, credential: str, given: Mapping[str, Any], request: Request, key: str = "") -> Reply:
        """The reply of the clerk."""


class LoggedOut(Exception):
    """The request has no live session."""


class Problem(Exception):
    """A reply that is not what a page can show in its place; the page of the problem stands for it."""

    def __init__(self, reply: Reply) -> None:
        super().__init__("a problem")
        self.reply = reply


@dataclass(frozen=True, slots=True)
class Visit:
    """One request with a session: the account, and what the page may ask of the clerk."""

    request: Request
    asks: Asks
    token: str = field(repr=False)
    who: dict[str, Any] = field(repr=False)

    @property
    def nonce(self) -> str:
        """The nonce of the style sheets of this page."""
        return made_from(self.who["fresh"], "nonce")

    @property
    def key(self) -> str:
        """The key of the form on this page."""
        return made_from(self.who["fresh"], "form")

    async def call(self, operation: str, /, key: str = "", **given: Any) -> Reply:
        """The reply of the clerk, whatever it is; raises `LoggedOut` if the session has ended."""
        reply = await self.asks.reply(operation, self.token, given, self.request, key)
        if reply.status == TOO_MANY:  # a page is several requests, and a person who waits for it sends no others meanwhile
            await asyncio.sleep(PATIENCE)
            reply = await self.asks.reply(operation, self.token, given, self.request, key)
        if reply.status == 401:
            raise LoggedOut
        return reply

    async def facts(self, operation: str, /, **given: Any) -> dict[str, Any]:
        """The facts of a reply; any other reply is a problem."""
        reply = await self.call(operation, **given)
        if reply.status != 200:
            raise Problem(reply)
        facts: dict[str, Any] = json.loads(reply.body)
        return facts


def cookie_of(settings: Settings) -> str:
    """The name of the cookie: one that no other name of the domain can set, where TLS allows it."""
    return "__Host-session" if settings.scheme == "https" else "session"


async def visit_of(request: Request, asks: Asks, settings: Settings) -> Visit:
    """The visit of a request; raises `LoggedOut` without a live session."""
    token = request.cookies.get(cookie_of(settings), "")
    if not TOKEN.fullmatch(token):
        raise LoggedOut
    unknown = Visit(request, asks, token, {})
    return Visit(request, asks, token, await unknown.facts("who"))


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, the last of each name; raises `ValueError` for a body that is not one."""
    return dict(await fields_of(request))


async def fields_of(request: Request) -> list[tuple[str, str]]:
    """The fields of a form in their order. A line break is one character, as in every other way to ask."""
    body = (await request.body()).decode("ascii", "strict")
    pairs = parse_qsl(
        body, keep_blank_values=True, strict_parsing=bool(body), encoding="utf-8", errors="strict", max_num_fields=MOST_FIELDS
    )
    return [(name, value.replace("\r\n", "\n")) for name, value in pairs]


def _question_of(given: Mapping[str, str]) -> dict[str, Lines]:
    """The question in a form, with its budget: what is kept while its analyst logs in again."""
    if not given.get("sql", "").strip():
        return {}
    return {name: Lines(given[name].replace("\r\n", "\n")) for name in QUESTION if name in given}


@dataclass(frozen=True, slots=True)
class Entrance:
    """Logging in and out."""

    frame: Frame
    asks: Asks
    settings: Settings

    async def show(self, request: Request) -> Response:
        """The page that asks for a token."""
        return self.page(request.query_params.get("next", ""))

    def page(self, place: str = "", status: int = 200, wrong: str = "", kept: Mapping[str, str] = NOTHING) -> Response:
        """That page, after a session has ended or a token was wrong; a question of the form that was sent is kept in it."""
        facts: dict[str, Any] = {"place": place if PLACE.fullmatch(place) else "/", "wrong": wrong, "kept": _question_of(kept)}
        return self.frame.page("login.html", status, who=None, at="", **facts)

    async def log_in(self, request: Request) -> Response:
        """A session of its own for what was typed; an older one of this browser ends."""
        given = await form_of(request)
        typed, place = given.get("token", "").strip(), given.get("next", "")
        reply = await (self._session_of(typed, request) if TOKEN.fullmatch(typed) else self._redeemed(typed, request))
        if reply.status != 200:
            known = {403: "wrong_narrow", 401: "wrong_token"}.get(reply.status, "wrong_now")
            return self.page(place, reply.status, self.frame.texts[known], given)
        if old := request.cookies.get(cookie_of(self.settings), ""):
            await self.asks.reply("leave", old, {}, request)
        there = self._after(place if PLACE.fullmatch(place) else "/", _question_of(given))
        self._set(there, json.loads(reply.body)["token"], SECONDS)
        return there

    def _after(self, place: str, kept: Mapping[str, Lines]) -> Response:
        """Where a login leads: with a question, to its price. Nothing is spent for it, and its form gets a new key."""
        address = f"/?{urlencode(kept)}" if kept else place
        if len(address) <= LONGEST_ADDRESS:
            return RedirectResponse(address, 303)
        return self.frame.page("kept.html", who=None, at="", kept=kept)

    def is_known(self, request: Request) -> bool:
        """Whether the browser sent a cookie: a request without one, as another site can cause, ends no session."""
        return cookie_of(self.settings) in request.cookies

    async def _session_of(self, token: str, request: Request) -> Reply:
        """A narrow token of eight hours; of a token that ends earlier, one that ends with it."""
        narrow: dict[str, Any] = {"replace": False}
        reply = await self.asks.reply("renew_token", token, {**narrow, "hours": HOURS}, request)
        return reply if reply.status != 422 else await self.asks.reply("renew_token", token, narrow, request)

    async def _redeemed(self, code: str, request: Request) -> Reply:
        return await self.asks.reply("login", "", {"code": code[:40]}, request)

    async def log_out(self, request: Request) -> Response:
        """The session ends here and at the clerk."""
        if TOKEN.fullmatch(token := request.cookies.get(cookie_of(self.settings), "")):
            await self.asks.reply("leave", token, {}, request)
        return self.forgotten(RedirectResponse("/login", 303))

    def forgotten(self, response: Response) -> Response:
        """The same reply, with which the browser forgets the cookie."""
        self._set(response, "", 0)
        return response

    def _set(self, response: Response, value: str, seconds: int) -> None:
        secure = self.settings.scheme == "https"
        response.set_cookie(
            cookie_of(self.settings), value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict"
        )
        response.headers["cache-control"] = "no-store"
