"""The form of an answer by Accept: negotiated before anything is spent, and the same released numbers in every form."""

from __future__ import annotations

import csv
import io
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pyarrow as pa
import pytest

from loops import in_own_loop
from served import InProcess, Served, served
from tacit.doors.server import analysts, clerk, front
from tacit.doors.server.front import app, form_of
from tacit.doors.server.settings import OfClerk, Settings
from tacit.doors.server.turns import Places
from tacit.release.answer import Answer, Column, Receipt

QUESTION = {"sql": "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "epsilon": "0.05"}
ARROW = "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        yield found


def asked(hospital: Served, accept: str | None, by: str = "ana", key: str = "", body: dict[str, Any] = QUESTION) -> httpx.Response:
    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(app(InProcess(hospital.desk), Settings(names=("testserver",))))
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver", headers={"Accept": ""}) as client:
            headers = {"Authorization": f"Bearer {hospital.tokens.get(by, by)}"}
            headers |= {} if accept is None else {"Accept": accept}
            headers |= {"Idempotency-Key": key} if key else {}
            return await client.post("/v1/questions", json=body, headers=headers)

    return in_own_loop(once())


def entries(hospital: Served) -> int:
    return hospital.data.ledger.head.number


FORMS = {
    "": "plain",
    "*/*": "plain",
    "application/*": "plain",
    "application/json": "plain",
    "application/json; charset=UTF-8": "plain",
    "application/json; charset=utf-16": None,
    "text/csv": "csv",
    "TEXT/CSV": "csv",
    "text/*": "csv",
    "text/csv; header=present": "csv",
    "text/csv; header=absent": None,
    'text/csv; charset="utf-8"': "csv",
    ARROW: "arrow",
    front.EXACT: "exact",
    "text/csv, application/json": "plain",
    "text/csv, application/json;q=0.9": "csv",
    "text/csv;q=0.2, application/vnd.apache.arrow.stream;q=0.3": "arrow",
    "*/*;q=0.1, text/csv": "csv",
    "*/*, application/json;q=0": "csv",
    "text/html, */*;q=0.8": "plain",
    "text/html": None,
    "application/json;q=0": None,
    "*/*;q=0": None,
    "text/csv;q=2": None,
    "text/csv;q=0.5;q=1": None,
    "text/csv;q=0.1234": None,
    "image/svg+xml": None,
    ",,;": None,
    "\x00": None,
}


@pytest.mark.parametrize("accept", FORMS)
def test_a_header_chooses_a_form(accept):
    assert form_of(accept) == FORMS[accept]


def test_every_form_has_the_same_released_numbers_and_is_paid_for_once(hospital):
    plain = asked(hospital, None, key="forms")
    paid = entries(hospital)
    rows = [(row["ward"], row["n"]["value"], row["n"]["low"], row["n"]["high"]) for row in plain.json()["rows"]]
    text, stream = asked(hospital, "text/csv", key="forms"), asked(hospital, ARROW, key="forms")
    exact = asked(hospital, front.EXACT, key="forms")
    assert [reply.status_code for reply in (plain, text, stream, exact)] == [200] * 4
    assert [reply.headers["content-type"].partition(";")[0] for reply in (plain, text, stream, exact)] == [
        "application/json", "text/csv", ARROW, front.EXACT,
    ]  # fmt: skip
    header, *lines = csv.reader(io.StringIO(text.text))
    assert header == ["ward", "n", "n_low", "n_high"]
    assert [(ward or None, float(n), float(low), float(high)) for ward, n, low, high in lines] == rows
    table = pa.ipc.open_stream(stream.content).read_all()
    assert table.column_names == header
    assert [tuple(row.values()) for row in table.to_pylist()] == rows
    assert entries(hospital) == paid, "one request under one key, whatever the form"


def test_a_table_carries_its_receipt(hospital):
    new = {**QUESTION, "epsilon": "0.06"}
    plain = asked(hospital, None, key="receipt", body=new).json()
    for accept in ("text/csv", ARROW):
        told = json.loads(asked(hospital, accept, key="receipt", body=new).headers["tacit-receipt"])
        assert told == {name: plain[name] for name in ("entry", "price", "left", "confidence", "simultaneous")} | {"again": False}
    schema = pa.ipc.open_stream(asked(hospital, ARROW, key="receipt", body=new).content).schema
    assert json.loads(schema.metadata[b"tacit.answer"]) == {name: value for name, value in plain.items() if name != "rows"}


def test_a_header_that_nothing_fits_is_refused_before_anything_is_spent(hospital):
    before = entries(hospital)
    reply = asked(hospital, "text/html", body={**QUESTION, "epsilon": "0.07"})
    assert reply.status_code == 406
    assert reply.json()["error"]["code"] == "not_acceptable"
    assert "text/csv" in reply.json()["error"]["remedy"]
    assert entries(hospital) == before
    assert asked(hospital, "text/html", by="").status_code == 401, "the credential comes before the form"
    assert asked(hospital, "text/html", by="cara").status_code == 403


def test_a_front_that_asks_first_is_caught(hospital, monkeypatch):
    """Planted: what nothing fits is answered as JSON; the entry shows it."""
    monkeypatch.setattr(front, "form_of", lambda _: "plain")
    before = entries(hospital)
    assert asked(hospital, "text/html", body={**QUESTION, "epsilon": "0.08"}).status_code == 200
    assert entries(hospital) > before


def test_a_refusal_is_json_in_every_form(hospital):
    for accept in ("text/csv", ARROW):
        reply = asked(hospital, accept, body={"sql": "SELECT * FROM visits", "epsilon": "1"})
        assert reply.status_code == 422
        assert reply.headers["content-type"] == "application/json"
        assert reply.json()["error"]["remedy"]


def test_a_text_is_no_formula_in_csv_and_unchanged_in_arrow():
    hostile = ("=1+1", "@x", "a\x1b[2J\nb", "-2")
    answer = Answer((Column("k", "key", hostile),), analysts.FIRST.confidence, Receipt(analysts.FIRST.confidence, 0))
    assert analysts.FORMS["csv"](answer).body.decode() == answer.to_csv()
    cells = [line for (line,) in csv.reader(io.StringIO(answer.to_csv()))]
    assert cells == ["k", "'=1+1", "'@x", "a\\x1b[2J\\nb", "-2"]
    assert pa.ipc.open_stream(analysts.FORMS["arrow"](answer).body).read_all()["k"].to_pylist() == list(hostile)


LOADED = """
import sys
from tacit.doors.server import analysts, clerk
print("pyarrow" in sys.modules)
clerk.load_forms()
before = set(sys.modules)
for form in analysts.FORMS.values():
    form(analysts.FIRST)
print("pyarrow.lib" in before, sorted(set(sys.modules) - before), sorted({"altair", "vl_convert"} & set(sys.modules)))
"""


def test_the_clerk_loads_every_form_before_it_serves():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "True [] []"]


def test_the_clerk_loads_them_inside_the_sandbox(monkeypatch):
    """And before its first call: what it does, in order."""
    done: list[str] = []

    class Opened:
        def __init__(self, *_: Any, **__: Any) -> None:
            done.append("opened")

    def at_work(control: socket.socket, *_: Any) -> None:
        control.close()
        raise SystemExit

    monkeypatch.setattr(clerk, "DataSet", Opened)
    monkeypatch.setattr(clerk, "read_catalog", lambda _: None)
    monkeypatch.setattr(clerk, "stamp_of", lambda _: None)
    monkeypatch.setattr(clerk, "_closed", lambda *_: done.append("closed"))
    monkeypatch.setattr(clerk, "load_forms", lambda: done.append("loaded"))
    monkeypatch.setattr(clerk, "serve", at_work)
    monkeypatch.setattr(clerk.signal, "signal", lambda *_: None)
    monkeypatch.setattr(clerk.gc, "freeze", lambda: None)
    ours, theirs = socket.socketpair()
    settings = OfClerk("tacit.toml", ours.detach())
    with theirs, pytest.raises(SystemExit):
        clerk.main(settings, lambda *_: None)
    assert done == ["opened", "closed", "loaded"]
