"""The frame of every page: templates, texts, headers, and the gate that forms and links pass.

A page is made from replies of the clerk alone. Every text is escaped by Jinja, and every character that is not seen is shown as
its escape; no template marks a text as safe. Forms are accepted from a page of this server alone: `Origin` must name it. A link on
a page of another site, such as a mail program, leads to a page that asks to continue: the cookie is not sent with it.
"""

from __future__ import annotations

import tomllib
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup
from starlette.responses import Response

from tacit.doors.server.calls import Reply
from tacit.doors.server.gate import FOR_A_YEAR, HEADERS, OWN_SITE, SAFE, Message, Rules, header_values, host_name
from tacit.doors.server.problems import TEXTS
from tacit.doors.server.settings import Settings
from tacit.untrusted import visible

HTML = "text/html; charset=utf-8"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{nonce}; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"
)
REFERRER = (
    "Referrer-Policy",
    "same-origin",
)  # with none at all, a browser would send the forms of these pages without their Origin
LEFT_OUT = ("Cache-Control", "Content-Security-Policy", "Referrer-Policy")
ONCE_A_YEAR = "public, max-age=31536000, immutable"  # the address of a file changes with its content
FORM = "application/x-www-form-urlencoded"
MEDIA = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
FOLDER = files("tacit.doors.server.pages")


class Lines(str):
    """A text whose characters stay what they are, since it is sent back: the SQL in its field."""

    __slots__ = ()


def shown(value: object) -> object:
    """The value as it is put into a page, before it is escaped."""
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Lines | Markup) else value


def lines(text: str) -> Lines:
    """The same with its line breaks, for a question that is shown and not sent back."""
    return Lines("\n".join(map(visible, text.split("\n"))))


def read_texts(language: str = "en") -> Mapping[str, Any]:
    """Every text of the pages in a language, from texts.toml."""
    texts: Mapping[str, Any] = tomllib.loads(FOLDER.joinpath("texts.toml").read_text("utf-8"))[language]
    return texts


def read_static() -> dict[str, tuple[str, bytes]]:
    """The files that pages load, by their address, which holds a hash of the content; with the media type of each."""
    found = {}
    for file in FOLDER.joinpath("static").iterdir():
        if (media := MEDIA.get(file.name.rpartition(".")[2])) is not None:
            content = file.read_bytes()
            found[f"/static/{sha256(content).hexdigest()[:16]}/{file.name}"] = (media, content)
    return found


class Frame:
    """The templates, the texts and the files that all pages share."""

    def __init__(self) -> None:
        self.texts, self.static = read_texts(), read_static()
        templates = {
            file.name: file.read_text("utf-8") for file in FOLDER.joinpath("templates").iterdir() if file.name != "__pycache__"
        }
        self._templates = Environment(
            loader=DictLoader(templates), autoescape=True, undefined=StrictUndefined, finalize=shown, trim_blocks=True,
            lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip
        self._templates.filters["lines"] = lines
        addresses = {address.rpartition("/")[2]: address for address in self.static}
        self._templates.globals.update(t=self.texts, static=addresses, has_editor="editor.js" in addresses)
        for name in templates:  # compiled before the sandbox closes, and shared by all visits
            self._templates.get_template(name)

    def text(self, template: str, **facts: Any) -> str:
        """A page as text."""
        return self._templates.get_template(template).render(facts)

    def page(self, template: str, status: int = 200, nonce: str = "", **facts: Any) -> Response:
        """A page as a reply, with its policy."""
        content = self.text(template, nonce=nonce, **facts)
        policy = POLICY.format(nonce=f" 'nonce-{nonce}'" if nonce else "")
        headers = {"content-type": HTML, "cache-control": "no-store", "content-security-policy": policy}
        return Response(content.encode("utf-8", "replace"), status, headers)

    def problem(self, code: str) -> Reply:
        """The page of a problem that the gate or the clerk found; the texts are those of the API."""
        status, message, remedy = TEXTS[code]
        content = self.text("problem.html", nonce="", who=None, at="", message=message, remedy=remedy)
        headers = (("cache-control", "no-store"), ("content-security-policy", POLICY.format(nonce="")))
        return Reply(status, content.encode(), HTML, headers)

    def ask_to_continue(self, scope: Message) -> Reply:
        """A page with a link to the address that was asked for, which is one of this server whatever it looks like."""
        query = scope.get("query_string", b"").decode("latin-1")
        address = "/" + quote(scope["path"].lstrip("/\\"), safe="/") + (f"?{quote(query, safe='=&%+')}" if query else "")
        content = self.text("continue.html", nonce="", who=None, at="", address=address)
        headers = (("cache-control", "no-store"), ("content-security-policy", POLICY.format(nonce="")))
        return Reply(200, content.encode(), HTML, headers)

    def rules(self, settings: Settings) -> Rules:
        """The rules of the gate in front of the pages."""
        kept = tuple(pair for pair in HEADERS if pair[0] not in LEFT_OUT)
        more = (FOR_A_YEAR,) if settings.scheme == "https" and settings.reached else ()
        return Rules(partial(self.refusal, settings), self.problem, (*kept, REFERRER, *more))

    def refusal(self, settings: Settings, scope: Message) -> Reply | None:
        """The refusal of a request for another host, or of a form that is not of a page of this server."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        host, origin, site, mode, kind = (
            header_values(headers, name) for name in (b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest")
        )
        if len(host) != 1 or host_name(host[0]) not in settings.hosts:
            return self.problem("wrong_host")
        own = f"{settings.scheme}://{host[0].lower()}"
        if scope["method"] not in SAFE:
            is_own = origin == [own] and all(each == "same-origin" for each in site)
            types = header_values(headers, b"content-type")
            if not is_own:
                return self.problem("foreign_origin")
            return None if len(types) == 1 and types[0].partition(";")[0].strip().lower() == FORM else self.problem("bad_request")
        if any(each != own for each in origin):
            return self.problem("foreign_origin")
        if all(each in OWN_SITE for each in site):
            return None
        return self.ask_to_continue(scope) if (mode, kind) == (["navigate"], ["document"]) else self.problem("foreign_origin")


def made_from(fresh: str, purpose: str) -> str:
    """A secret text for one purpose, made from random text: the nonce of a page, or the key of a form."""
    return urlsafe_b64encode(sha256(f"{purpose} {fresh}".encode()).digest())[:32].decode()
