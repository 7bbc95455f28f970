"""Pages follow from released numbers and public facts: on the full store and on an empty one they are the same bytes.

Both stores have the same ledger, records and released answers; the random text behind nonces and keys is the same too.
"""

from __future__ import annotations

import re
import shutil
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from served import served
from tacit.doors.server import console
from tacit.doors.server.desk import Desk, desk
from tacit.doors.server.turns import Places
from tacit.session import Session
from tacit.session import open as open_data
from visiting import Visitor, visitor

QUESTIONS = (
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY ward",
    "SELECT COUNT(*) AS n FROM patients WHERE age > 50",
    "SELECT sex, SUM(age) AS s FROM patients GROUP BY sex",
)
REFUSED = (
    "SELECT SUM(cots) FROM visits",
    "SELECT MAX(note) FROM visits",
    "SELECT COUNT(*) FROM nothing",
    "SELECT note FROM visits",
    "",
    "(",
)
FORMS = [
    ("/ask", {"sql": sql, "kind": "epsilon", "epsilon": "0.05", "key": "k" * 32, "action": "spend"})
    for sql in (*QUESTIONS[:2], *REFUSED)
]
PRICES = [
    ("/price", {"sql": sql, "kind": "epsilon", "epsilon": epsilon})
    for sql in (*QUESTIONS, *REFUSED)
    for epsilon in ("0.05", "0.07", "99")
]


@dataclass(frozen=True)
class World:
    """A data set at one path, with rows or without: the path is part of what the ledger counts for."""

    path: Path
    kept: Path
    cookies: dict[str, str]
    answers: list[str]

    @contextmanager
    def desk(self, rows: bool = True) -> Iterator[Desk]:
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.copytree(self.kept, self.path)
        if not rows:
            with duckdb.connect(str(self.path / ".tacit/store/store.duckdb")) as store:
                for table in ("visits", "patients"):
                    assert store.execute(f'DELETE FROM "{table}"').fetchone()[0] > 0
        with open_data(self.path / "tacit.toml", own_process=False) as data:
            place = desk(data)
            place.places = Places(rate=1e9, burst=1e9)
            yield place
            place.office.records.close()

    def visitor(self, place: Desk, who: str) -> Visitor:
        guest = Visitor(place)
        guest.cookies["session"] = self.cookies[who]
        return guest


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Released answers, an offer, and sessions of three accounts."""
    folder = tmp_path_factory.mktemp("worlds")
    with served(folder / "world") as full:
        full.desk.places = Places(rate=1e9, burst=1e9)
        cookies = {who: visitor(full, who) for who in ("ana", "cara", "otto")}
        answers = [cookies["ana"].answered(sql, "0.05") for sql in QUESTIONS]
        cookies["ana"].post(f"{answers[0]}/offer", title="Wards", action="offer")
        assert full.desk.office.data.signer.key, "made at first use: both stores have the one"
    shutil.copytree(folder / "world", folder / "kept")
    return World(folder / "world", folder / "kept", {who: each.cookies["session"] for who, each in cookies.items()}, answers)


def pages(world: World, rows: bool, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Every page as every role, and the replies to forms that spend nothing."""
    monkeypatch.setattr(console, "random_text", lambda: "the same")
    found: dict[str, bytes] = {}
    paths = [
        "/",
        "/catalog",
        "/history",
        "/budget",
        "/owner",
        "/publish",
        "/auditor",
        "/auditor?first=0",
        "/answers/999",
        *world.answers,
    ]
    paths += [f"{each}.{form}" for each in world.answers for form in ("csv", "json", "arrow", "svg", "certificate")]
    paths += ["/keys.json", "/auditor/head.json", *(f"{each}/certificate" for each in world.answers)]
    forms = [*FORMS, *PRICES, ("/publish", {"entry": world.answers[0].rpartition("/")[2], "title": "T"})]
    with world.desk(rows) as place:
        head = place.office.data.ledger.head
        for who in world.cookies:
            guest = world.visitor(place, who)
            for path in paths:
                reply = guest.send("GET", path)
                found[f"{who} {path}"] = bytes(str((reply.status_code, sorted(reply.headers.items()))), "utf-8") + reply.content
            for number, (path, given) in enumerate(forms):
                reply = guest.post(path, **given)
                found[f"{who} {path} {number}"] = (
                    bytes(f"{reply.status_code} {reply.headers.get('location')}", "utf-8") + reply.content
                )
        assert place.office.data.ledger.head == head, "a question that spends has noise of its own"
    return found


def test_pages_are_the_same_bytes_with_and_without_rows(world, monkeypatch):
    one, other = (pages(world, rows, monkeypatch) for rows in (True, False))
    assert {name for name in one if one[name] != other[name]} == set()
    assert len(one) > 150
    assert sum(page.startswith(b"(200") for page in one.values()) >= 25


def test_a_page_that_looks_at_rows_is_caught(world, monkeypatch):
    """Planted: whether there is a row decides a word in the line of the price."""

    def is_paid(self: Session, *_: object, **__: object) -> bool:
        with duckdb.connect(str(Path(self.data.catalog.store_folder) / "store.duckdb"), read_only=True) as store:
            return bool(store.execute("SELECT count(*) FROM visits WHERE cost > 4000").fetchone()[0])

    monkeypatch.setattr(Session, "is_paid", is_paid)
    one, other = (pages(world, rows, monkeypatch) for rows in (True, False))
    assert {name for name in one if one[name] != other[name]}


def test_publishing_takes_what_was_offered_and_nothing_else(world):
    offered, other = (each.rpartition("/")[2] for each in world.answers[:2])
    with world.desk() as place:
        cara, otto = world.visitor(place, "cara"), world.visitor(place, "otto")
        for entry in (other, "99999", "0"):
            assert cara.post("/publish", entry=entry, title="T").status_code == 404
        reply = cara.post("/publish", entry=offered, title='<script>alert("x")</script>', words="One.\n\n<b>Two</b>")
        assert reply.status_code == 200
        assert reply.headers["content-disposition"].startswith("attachment")
        assert "<script" not in reply.text
        assert "<b>" not in reply.text
        words = (
            re.sub(r"base64,[A-Za-z0-9+/=]+", "", reply.text).replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
        )
        assert "http" not in words, "it makes no request"
        assert "epsilon 8" in reply.text, "the promise names the budget"
        entry, made = int(offered), place.office.data.session("ana").certificate(int(offered))
        link = re.search(
            rf'download="entry-{entry}.certificate.json" href="data:application/json;base64,([A-Za-z0-9+/=]+)"', reply.text
        )
        assert link is not None
        assert b64decode(link[1]) == f"{made.to_json()}\n".encode("ascii"), "byte for byte as its file"
        assert "It cannot show that the program drew its noise" in reply.text
        assert cara.post("/publish", title="T").status_code == 422
        assert otto.post("/publish", entry=offered, title="T").status_code == 404


def test_an_offer_can_be_taken_back(world):
    with world.desk() as place:
        ana, cara = world.visitor(place, "ana"), world.visitor(place, "cara")
        entry = world.answers[1].rpartition("/")[2]
        for action, listed in (("offer", True), ("withdraw", False)):
            assert ana.post(f"{world.answers[1]}/offer", title="Older patients", action=action).status_code == 303
            assert (entry in {box.given["value"] for box in cara.get("/publish").all("input", name="entry")}) == listed
