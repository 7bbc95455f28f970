"""Visits of the console over ASGI: a browser's cookie, forms read by a parser, and what a page has in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import httpx

from loops import in_own_loop
from served import InProcess, Served
from tacit.doors.server.desk import Desk
from tacit.doors.server.pages.console import with_console
from tacit.doors.server.settings import Settings

HERE = Settings(names=("testserver",))
BASE = "http://testserver"
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
VALUES = {"input", "button"}


@dataclass
class Node:
    """An element of a page."""

    tag: str
    given: dict[str, str]
    inside: list[Any] = field(default_factory=list)

    def __iter__(self) -> Iterator[Node]:
        yield self
        for each in self.inside:
            if isinstance(each, Node):
                yield from each

    @property
    def text(self) -> str:
        return "".join(each.text if isinstance(each, Node) else each for each in self.inside)

    def all(self, tag: str, **given: str) -> list[Node]:
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in given.items()}
        return [each for each in self if each.tag == tag and wanted.items() <= each.given.items()]

    def one(self, tag: str, **given: str) -> Node:
        (found,) = self.all(tag, **given)
        return found

    @property
    def tags(self) -> list[tuple[str, tuple[str, ...]]]:
        """Every element with the names of its attributes: what a text must not add to."""
        return [(each.tag, tuple(sorted(each.given))) for each in self]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def read(page: str) -> Node:
    """A page, in which every element that is opened is closed."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert len(reader.open) == 1, [node.tag for node in reader.open]
    return reader.open[0]


def fields(form: Node) -> dict[str, str]:
    """What a browser would send of a form, without its buttons."""
    found = {}
    for each in form:
        if "name" not in each.given or each.tag == "button":
            continue
        if each.tag == "input" and (each.given.get("type") not in ("radio", "checkbox") or "checked" in each.given):
            found[each.given["name"]] = each.given.get("value", "")
        if each.tag == "textarea":
            found[each.given["name"]] = each.text.removeprefix("\n")
        if each.tag == "select":
            first = each.all("option")[0]
            found[each.given["name"]] = first.given.get("value", first.text)
    return found


@cache
def front_of(desk: Desk, settings: Settings = HERE) -> Any:
    return with_console(InProcess(desk), settings)


class Visitor:
    """A browser without its engine. Every request is one of a page of the server, unless its headers say otherwise."""

    def __init__(self, desk: Desk, settings: Settings = HERE, base: str = BASE) -> None:
        self.desk, self.settings, self.base, self.cookies = desk, settings, base, dict[str, str]()

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """One request; a form has the Origin of this server unless `headers` are given."""
        return self.all_at_once((method, path, more))[0]

    def all_at_once(self, *requests: tuple[str, str, dict[str, Any]]) -> list[httpx.Response]:
        """Several requests at the same time."""
        import asyncio

        async def run() -> list[httpx.Response]:
            transport = httpx.ASGITransport(front_of(self.desk, self.settings))
            async with httpx.AsyncClient(transport=transport, base_url=self.base) as client:
                cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
                given = [(method, path, self._headers(method, cookie, more)) for method, path, more in requests]
                return list(await asyncio.gather(*(client.request(method, path, **more) for method, path, more in given)))

        replies = in_own_loop(run())
        for reply in replies:
            for line in reply.headers.get_list("set-cookie"):
                name, _, value = line.partition(";")[0].partition("=")
                self.cookies[name] = value.strip('"')
                if not self.cookies[name]:
                    del self.cookies[name]
        return replies

    def _headers(self, method: str, cookie: str, more: dict[str, Any]) -> dict[str, Any]:
        headers = more.get("headers", {"Origin": self.base, "Sec-Fetch-Site": "same-origin"} if method == "POST" else {})
        return {**more, "headers": {**headers, **({"Cookie": cookie} if cookie else {})}}

    def get(self, path: str) -> Node:
        """A page."""
        reply = self.send("GET", path)
        assert reply.headers["content-type"].startswith("text/html"), reply.text
        return read(reply.text)

    def post(self, path: str, **given: str) -> httpx.Response:
        """A form that is sent."""
        headers = {"Origin": self.base, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
        return self.send("POST", path, data=given, headers=headers)

    def log_in(self, token: str) -> Visitor:
        """The same visitor, logged in."""
        reply = self.post("/login", token=token, next="/")
        assert reply.status_code == 303, reply.text
        return self

    def spend(self, sql: str, epsilon: str = "0.01", key: str = "", **more: str) -> httpx.Response:
        """A question sent with the form of the first page, or under the key of another form."""
        own = key or fields(self.get("/").one("form", id="ask"))["key"]
        return self.post("/ask", key=own, sql=sql, kind="epsilon", epsilon=epsilon, action="spend", **more)

    def answered(self, sql: str, epsilon: str = "0.01") -> str:
        """The address of the answer to a question."""
        reply = self.spend(sql, epsilon)
        assert reply.status_code == 303, read(reply.text).text
        return urljoin(self.base, reply.headers["location"]).removeprefix(self.base)


def visitor(served: Served, who: str) -> Visitor:
    """A visitor with a session of that account."""
    return Visitor(served.desk).log_in(served.tokens[who])
