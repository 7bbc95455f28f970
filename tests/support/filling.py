"""A survey's page in a real browser: opened, filled in, and watched."""

from __future__ import annotations

import asyncio
import asyncio.constants
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from served import InProcess
from tacit.doors.cli.survey.endpoint import ReportDesk
from tacit.doors.server.front_process import Listening
from tacit.doors.server.gate import configured
from tacit.doors.server.reports import GivingWay, app
from tacit.doors.server.settings import Settings
from tacit.publish.local.survey.declaration import Number, Survey
from tacit.publish.local.survey.form import build_form
from tacit.publish.local.survey.reports import Form, Store

# Everything in which a page can leave something behind on a device, as one text.
LEFT_BEHIND = """async () => JSON.stringify({
  local: Object.entries(localStorage), session: Object.entries(sessionStorage), cookies: document.cookie,
  databases: await indexedDB.databases(), caches: await caches?.keys?.().catch(() => []), url: location.href, name: window.name,
  state: history.state, history: history.length,
})"""


def written(survey: Survey, folder: Path, page: str | None = None) -> str:
    """The URL of the survey's page, written to a file."""
    path = folder / f"{survey.id}.html"
    path.write_text(page or build_form(survey), encoding="utf-8")
    return path.absolute().as_uri()


@contextmanager
def opened(browser: Any, url: str, **context: Any) -> Iterator[Any]:
    """The page in a context of its own; an error or a message in its console fails the test."""
    with browser.new_context(**context) as one:
        page = one.new_page()
        said: list[str] = []
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda message: said.append(message.text))
        page.goto(url)
        yield page
        assert said == [], said


def fill(page: Any, survey: Survey, answers: Mapping[str, Any], group: int | None = None) -> None:
    """Answers the questions that are shown, as a person does: by clicking and typing, on a page that is in front."""
    page.bring_to_front()  # another page would be drawn once a second only
    if group is not None:
        _field(page, "group").nth(group).check()
    for question in survey.questions:
        if not page.locator(f'[data-question="{question.id}"]').is_visible():
            continue
        answer, fields = answers[question.id], _field(page, question.id)
        if isinstance(question, Number):
            fields.fill(f"{answer:g}")
        elif isinstance(answer, list):
            for code in answer:
                fields.nth(code).check()
        else:
            page.locator(f'[data-question="{question.id}"] input[value="{answer}"]').check()


def review(page: Any) -> dict[str, Any]:
    """Asks to see what would be sent, and gives it back."""
    page.locator("form button[type=submit]").click()
    page.locator("#review").wait_for(state="visible")
    return json.loads(page.locator("#report").text_content())


def keep(page: Any, survey: Survey, text: str) -> None:
    """Lets the page find this from an earlier visit when it is loaded next.

    What a test writes just before it loads a page anew can be lost on the way: once in 150 runs Chromium did so.
    """
    page.add_init_script(f"localStorage.setItem({json.dumps(f'tacit survey {survey.id}')}, {json.dumps(text)})")


def kept_secret(page: Any, survey: Survey) -> bytes:
    return bytes.fromhex(page.evaluate("(name) => localStorage.getItem(name)", f"tacit survey {survey.id}"))


def by_python(survey: Survey, answers: Mapping[str, Any], secret: bytes, group: int | None = None) -> dict[str, Any]:
    """The report that Python makes of the same answers and secret."""
    return json.loads(Form.of(survey).text_of(answers, secret, group))


def _field(page: Any, id: str) -> Any:
    return page.locator(f'[data-question="{id}"] input')


@contextmanager
def receiving(store: Store, page: str = "") -> Iterator[int]:
    """The port of an endpoint in this process: the routes behind their gate on a real Uvicorn, and the desk of the store."""
    handshake = asyncio.constants.SSL_HANDSHAKE_TIMEOUT
    line = Listening(socket.create_server(("127.0.0.1", 0), backlog=512).detach(), None)
    server = uvicorn.Server(configured(app(InProcess(ReportDesk(store, page)), Settings()), GivingWay))
    thread = threading.Thread(target=server.run, args=([line],))
    thread.start()
    try:
        yield line.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        line.close()
        asyncio.constants.SSL_HANDSHAKE_TIMEOUT = handshake  # which this door has changed for its whole process


@contextmanager
def listening(survey: Survey, path: Path | None = None) -> Iterator[tuple[Survey, Store]]:
    """A survey that is sent to an endpoint of its own, and the store behind it."""
    with Store(path, survey) as store, receiving(store) as port:
        yield replace(survey, send_to=f"http://127.0.0.1:{port}/reports"), store


@contextmanager
def overheard(survey: Survey) -> Iterator[tuple[Survey, list[bytes]]]:
    """The survey, sent to somebody who passes everything on, and every byte that comes by: one text for each connection.

    They are in the order of their first bytes. Connections on which nothing came are left out; browsers open some in advance.
    """
    connections: list[socket.socket] = []
    heard: list[list[bytes]] = []
    address = urlsplit(survey.send_to)

    class PassOn(BaseRequestHandler):
        def handle(self) -> None:
            connections.append(self.request)
            with socket.create_connection((address.hostname, address.port)) as far:
                back = threading.Thread(target=_pass_on, args=(far, self.request, []))
                back.start()
                _pass_on(self.request, far, heard)
                back.join()

    between = ThreadingTCPServer(("127.0.0.1", 0), PassOn)
    thread = threading.Thread(target=between.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    said: list[bytes] = []
    try:
        yield replace(survey, send_to=survey.send_to.replace(f":{address.port}/", f":{between.server_address[1]}/")), said
    finally:
        between.shutdown()
        thread.join()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        between.server_close()  # waits for all that is passed on
        said += [b"".join(parts) for parts in heard]


def _pass_on(near: socket.socket, far: socket.socket, heard: list[list[bytes]]) -> None:
    parts: list[bytes] = []
    with suppress(OSError):
        while part := near.recv(65_536):
            if not parts:
                heard.append(parts)
            parts.append(part)
            far.sendall(part)
    with suppress(OSError):
        far.shutdown(socket.SHUT_WR)


def codes(survey: Survey, answers: Mapping[str, Any]) -> dict[str, Any]:
    """Answers as the page has them: numbers as their places on the grid."""
    steps = {each.id: each for each in survey.questions if isinstance(each, Number)}
    places = {id: int((Fraction(answers[id]) - each.lower) / each.step) for id, each in steps.items()}
    return {**answers, **places}


def some_answers(survey: Survey, draw: Random) -> dict[str, Any]:
    """Answers of somebody."""

    def answer(question: Any) -> Any:
        if question.kind == "set":
            return draw.sample(range(len(question.options)), draw.randint(0, question.at_most))
        if question.kind == "number":
            return float(question.lower + draw.randrange(question.points) * question.step)
        return draw.randrange(len(getattr(question, "options", "ny")))

    return {question.id: answer(question) for question in survey.questions}
