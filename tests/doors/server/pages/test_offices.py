"""The pages of the data owner and of the auditor: they show the ledger and the accounts, and what they do is done."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from served import Served, served
from tacit.accounting.ledger.chain import Chain
from tacit.accounting.ledger.ledger import Ledger
from tacit.doors.server.pages import offices
from tacit.doors.server.pages.views import gauge_of
from tacit.doors.server.turns import Places
from visiting import Visitor, fields, read, visitor

SQL = "SELECT COUNT(*) AS n\nFROM visits\nWHERE cost < 77.25"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        visitor(found, "ana").answered(SQL, "0.5")
        yield found


@pytest.fixture
def cara(hospital: Served) -> Visitor:
    return visitor(hospital, "cara")


def test_the_owner_sees_what_is_left_and_what_was_asked(hospital, cara):
    page = cara.get("/owner")
    assert "0.5 of 8 spent, 7.5 left" in page.text
    (ana,) = [figure.text for figure in page.all("figure") if figure.text.strip().startswith("ana")]
    assert "0.5 of 2 spent, 1.5 left" in ana
    assert SQL in {code.text for code in page.all("code")}
    assert not page.all("form", action="/owner/resume"), "nothing has failed"


def test_a_cap_is_lowered_and_never_raised(hospital, cara):
    assert cara.post("/owner/cap", name="ana", cap="1").status_code == 303
    assert json.loads(hospital.call("budget").body)["analyst"]["cap"]["epsilon"] == "1"
    reply = cara.post("/owner/cap", name="ana", cap="3")
    assert reply.status_code == 422
    assert "above the cap of the catalog" in read(reply.text).text
    assert cara.post("/owner/cap", name="ana", cap="x").status_code == 422
    assert cara.post("/owner/cap", name="ana", cap="").status_code == 303
    assert json.loads(hospital.call("budget").body)["analyst"]["cap"]["epsilon"] == "2"


def test_failures_are_shown_and_resumed(hospital, cara, monkeypatch):
    monkeypatch.setattr("tacit.session.Session._release", lambda *_: 1 / 0)
    ana = visitor(hospital, "ana")
    lost = ana.spend("SELECT COUNT(*) AS n FROM visits WHERE cost < 78.25")
    assert lost.status_code == 503
    monkeypatch.undo()
    page = cara.get("/owner")
    assert "Paid questions that did not finish: 1." in page.text
    (form,) = page.all("form", action="/owner/resume")
    entry = hospital.data.ledger.head.number
    assert ana.send("GET", f"/answers/{entry - 1}").status_code == 404
    assert "did not finish" in ana.get("/history").text
    assert cara.post("/owner/resume", **{**fields(form), "reason": ""}).status_code == 422, "it asks for a reason"
    assert cara.post("/owner/resume", reason="the disk was full").status_code == 303
    assert not cara.get("/owner").all("form", action="/owner/resume")


def test_tokens_are_listed_and_revoked_by_number(hospital, cara):
    page = cara.get("/owner")
    numbers = [fields(form) for form in page.all("form", action="/owner/revoke")]
    assert {"name": "bob", "number": "2"} in numbers
    assert "this session" in page.text
    bob = visitor(hospital, "bob")
    assert cara.post("/owner/revoke", name="bob", number="2").status_code == 303
    assert bob.send("GET", "/budget").status_code == 401


def test_an_invitation_needs_numbers_and_the_token(hospital, cara):
    good = {"name": "dora", "role": "auditor", "days": "9", "cap": "", "token": hospital.tokens["cara"]}
    for wrong in ({"days": "many"}, {"cap": "x"}, {"days": "0"}, {"days": "9" * 14}, {"role": "king"}, {"name": ""}):
        assert cara.post("/owner/invite", **{**good, **wrong}).status_code == 422, wrong
    assert cara.post("/owner/invite", **good).status_code == 200
    assert cara.post("/owner/invite", **good).status_code == 409, "a name belongs to one account"


def test_the_auditor_sees_the_chain_its_head_and_every_entry(hospital):
    otto = visitor(hospital, "otto")
    head = json.loads(hospital.call("head", "otto").body)
    page = otto.get("/auditor")
    assert f"Chain of {head['number'] + 1} entries verified just now: whole." in page.text
    assert head["hash"] in page.text
    taken = otto.send("GET", "/auditor/head.json").json()
    assert {name: taken[name] for name in ("ledger", "number", "hash")} == {
        name: head[name] for name in ("ledger", "number", "hash")
    }
    numbers = [row.all("td")[0].text for row in page.one("tbody").all("tr")]
    assert numbers == [str(number) for number in range(head["number"], -1, -1)]


def test_entries_come_in_pages(hospital, monkeypatch):
    monkeypatch.setattr(offices, "PAGE", 2)
    otto, found = visitor(hospital, "otto"), []
    page = otto.get("/auditor?first=0")
    while True:
        found += [row.all("td")[0].text for row in page.one("tbody").all("tr")][::-1]
        newer = [link.given["href"] for link in page.all("a") if link.text == "Newer entries"]
        if not newer:
            break
        page = otto.get(newer[0])
    assert found == [str(number) for number in range(hospital.data.ledger.head.number + 1)]
    assert otto.send("GET", "/auditor?first=-1").status_code == 200
    assert otto.send("GET", "/auditor?first=99999999999999999999").status_code == 200


def test_a_broken_chain_is_not_called_whole(hospital, monkeypatch):
    monkeypatch.setattr(Ledger, "verify", lambda _: Chain(7, ("entry 3: its hash is wrong <b>",)))
    reply = visitor(hospital, "otto").send("GET", "/auditor")
    assert "The chain of 7 entries is broken." in reply.text
    assert "entry 3: its hash is wrong &lt;b&gt;" in reply.text
    assert "whole" not in read(reply.text).one("main").text


def test_a_long_ledger_is_verified_when_asked_to(hospital, monkeypatch):
    monkeypatch.setattr(offices, "AT_ONCE", 1)
    otto = visitor(hospital, "otto")
    assert "verified just now" not in otto.get("/auditor").text
    assert "verified just now: whole" in otto.get("/auditor?verify").text


@pytest.mark.parametrize(
    ("cap", "left", "percent", "near"),
    [("2", "0.1", 95.0, True), ("2", "2", 0.0, False), ("1", "9", 0.0, False), ("0", "0", 100.0, True)],
)
def test_a_gauge_is_the_share_that_is_spent(cap, left, percent, near):
    gauge = gauge_of("x", cap, left)
    assert (gauge.percent, gauge.is_near) == (percent, near)


def test_what_names_no_token_revokes_none(hospital, cara):
    """A number that is not one is no order to end every token; and a long name is not the account that it begins with."""
    hospital.office.accounts.add("a" * 64, "auditor")
    before = hospital.office.accounts.summary()
    for given in ({"number": "x"}, {"number": ""}, {"narrow": "-1"}, {"number": "9" * 5000}):
        assert cara.post("/owner/revoke", name="ana", **given).status_code in (400, 422)
    assert cara.post("/owner/revoke", name="a" * 65).status_code == 422
    invited = {"name": "b" * 65, "role": "auditor", "days": "9", "cap": "", "token": hospital.tokens["cara"]}
    assert cara.post("/owner/invite", **invited).status_code == 422
    assert hospital.office.accounts.summary() == before
