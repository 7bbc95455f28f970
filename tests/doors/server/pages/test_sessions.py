"""Logging in: what a session is, whom it is given to, what ends it, and what comes from other pages."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from served import Served, served
from tacit.doors.server import console
from tacit.doors.server.console import MOST_TRIES, make_code
from tacit.doors.server.pages.frame import Frame
from tacit.doors.server.settings import Settings
from tacit.doors.server.turns import Places
from visiting import Visitor, fields, front_of, read, visitor

COUNT = "SELECT COUNT(*) AS n FROM visits"
FORMS = (
    "/login",
    "/leave",
    "/ask",
    "/price",
    "/answers/2/offer",
    "/owner/invite",
    "/owner/revoke",
    "/owner/cap",
    "/owner/resume",
    "/publish",
)


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        yield found


# --- what a session is -------------------------------------------------------------------------------------------------------


def test_a_session_is_a_narrow_token_in_a_cookie_that_no_script_reads(hospital):
    guest = Visitor(hospital.desk)
    reply = guest.post("/login", token=hospital.tokens["ana"])
    assert (reply.status_code, reply.headers["location"]) == (303, "/")
    parts = {part.strip().lower() for part in reply.headers["set-cookie"].split(";")[1:]}
    assert parts == {"httponly", "samesite=strict", "path=/", "max-age=28800"}
    assert guest.cookies["session"] != hospital.tokens["ana"]
    listed = hospital.office.accounts.summary()
    (ana,) = [each for each in listed if each["name"] == "ana"]
    latest = ana["narrow"][-1]
    assert latest["live"]
    assert "tokens" not in latest["operations"], "a session makes no further tokens"
    account = hospital.office.accounts.who(guest.cookies["session"])
    assert account is not None
    assert 7.9 * 3600 < account.expires - hospital.office.accounts.now() <= 8 * 3600


def test_behind_tls_the_cookie_belongs_to_this_host_alone(hospital):
    guest = Visitor(hospital.desk, Settings(names=("testserver",), behind_proxy=True), "https://testserver")
    reply = guest.post("/login", token=hospital.tokens["ana"])
    assert reply.headers["set-cookie"].startswith("__Host-session=tacit_")
    assert {"secure", "path=/"} <= {part.strip().lower() for part in reply.headers["set-cookie"].split(";")}
    assert guest.get("/").all("form", id="ask")
    assert reply.headers["strict-transport-security"]
    other = Visitor(hospital.desk, Settings(names=("testserver",), behind_proxy=True), "https://testserver")
    other.cookies = {"session": guest.cookies["__Host-session"]}
    assert not other.get("/").all("form", id="ask"), "a name that other hosts can set is not read"


def test_the_cookie_is_nothing_to_the_api_and_the_header_nothing_to_pages(hospital):
    ana = visitor(hospital, "ana")
    assert ana.send("GET", "/v1/budget").status_code == 401
    asked = ana.send("POST", "/v1/questions", json={"sql": COUNT, "epsilon": "0.01"}, headers={"Origin": ana.base})
    assert asked.status_code == 401
    bearer = {"headers": {"Authorization": f"Bearer {hospital.tokens['ana']}"}}
    assert Visitor(hospital.desk).send("GET", "/budget", **bearer).status_code == 401


def test_a_session_ends_when_it_is_left_revoked_or_its_token_is(hospital):
    for end in ("leave", "revoke", "root"):
        root = hospital.office.accounts.issue("ana")
        ana = Visitor(hospital.desk).log_in(root.token)
        kept = ana.cookies["session"]
        number = hospital.office.accounts.who(kept).path[0].number
        if end == "leave":
            assert ana.post("/leave").headers["location"] == "/login"
            assert "session" not in ana.cookies
        if end == "revoke":
            cara = visitor(hospital, "cara")
            assert cara.post("/owner/revoke", name="ana", narrow=str(number)).status_code == 303
        if end == "root":
            last = max(each["number"] for account in hospital.office.accounts.summary() for each in account["tokens"])
            hospital.office.accounts.revoke("ana", last)
        ana.cookies["session"] = kept
        head = hospital.data.ledger.head.number
        reply = ana.send("GET", "/budget")
        assert reply.status_code == 401
        assert read(reply.text).all("input", id="token")
        assert fields(read(reply.text).one("form", action="/login"))["next"] == "/budget"
        sent = ana.post("/ask", key="k" * 32, sql=COUNT, kind="epsilon", epsilon="0.02", action="spend")
        assert (sent.status_code, hospital.data.ledger.head.number) == (401, head)


def test_an_expired_session_asks_for_the_token_again(hospital):
    ana = visitor(hospital, "ana")
    account = hospital.office.accounts.who(ana.cookies["session"])
    with hospital.office.records.transaction() as connection:
        connection.exec_driver_sql("UPDATE narrow_tokens SET expires = 1.0 WHERE number = ?", (account.path[0].number,))
    assert ana.send("GET", "/history").status_code == 401


def test_a_planted_cookie_becomes_no_session(hospital):
    """Fixation: what was in the browser before is neither adopted nor left alive."""
    other = visitor(hospital, "bob").cookies["session"]
    guest = Visitor(hospital.desk)
    guest.cookies["session"] = other
    guest.log_in(hospital.tokens["ana"])
    assert guest.cookies["session"] != other
    assert hospital.office.accounts.who(other) is None


@pytest.mark.parametrize("typed", ["", "zzxq", "tacit_" + "A" * 43, "tacit_" + "A" * 44, "é" * 300, "AAAAA-AAAAA"])
def test_what_is_not_a_token_begins_no_session(hospital, typed):
    guest = Visitor(hospital.desk)
    reply = guest.post("/login", token=typed)
    assert (reply.status_code, guest.cookies) == (401, {})
    assert read(reply.text).all("p", role="alert")
    assert not typed or typed not in reply.text


def test_a_narrow_token_begins_a_session_only_if_it_may_make_tokens(hospital):
    def narrow(*operations: str) -> str:
        made = hospital.call("renew_token", replace=False, hours=1, operations=list(operations))
        return str(json.loads(made.body)["token"])

    assert Visitor(hospital.desk).post("/login", token=narrow("ask", "explain")).status_code == 403
    short = Visitor(hospital.desk).log_in(narrow("ask", "explain", "catalog", "budget", "tokens"))
    account = hospital.office.accounts.who(short.cookies["session"])
    assert account.expires - hospital.office.accounts.now() <= 3600, "it ends no later than what it is made from"
    assert short.send("GET", "/history").status_code == 403, "and is not wider"


def test_a_narrow_token_for_reading_offers_and_publishes_nothing(hospital):
    """In a cookie, a token that was made for a program is no wider than it is for the program."""
    ana, entry = visitor(hospital, "ana"), json.loads(hospital.call("ask", sql=COUNT, epsilon="0.011").body)["entry"]
    for who, operation, paths in (
        ("ana", "answer", {f"/answers/{entry}/offer": {"title": "x", "action": "offer"}}),
        ("cara", "accounts", {"/publish": {"entry": str(entry), "title": "x"}, "/owner": None}),
    ):
        made = json.loads(hospital.call("renew_token", who, replace=False, hours=1, operations=[operation]).body)
        guest = Visitor(hospital.desk)
        guest.cookies["session"] = made["token"]
        for path, given in paths.items():
            reply = guest.send("GET", path) if given is None else guest.post(path, **given)
            assert reply.status_code == 403, path
    assert ana.post(f"/answers/{entry}/offer", title="x", action="offer").status_code == 303, "a session may"
    assert visitor(hospital, "cara").post("/publish", entry=str(entry), title="x").status_code == 200


def test_a_visit_without_a_cookie_ends_no_session(hospital):
    """Another site can cause one in a browser that has the cookie, and does not send it."""
    assert "set-cookie" not in Visitor(hospital.desk).send("GET", "/").headers
    ended = Visitor(hospital.desk)
    ended.cookies["session"] = "tacit_" + "A" * 43
    assert "max-age=0" in ended.send("GET", "/").headers["set-cookie"].lower()


# --- a question outlives its session -----------------------------------------------------------------------------------------


LONG = "SELECT COUNT(*) AS n\nFROM visits\nWHERE cost < 5" + "\n  AND cost < 4999" * 2_000
ASKED = {"key": "k" * 32, "kind": "epsilon", "epsilon": "0.0123", "error": ""}


@pytest.mark.parametrize("sql", ["SELECT COUNT(*) AS n\nFROM visits\nWHERE ward = 'x&y+%41</textarea><b>'", LONG])
@pytest.mark.parametrize("action", ["spend", "price"])
def test_a_question_that_was_sent_after_the_session_had_ended_is_kept(hospital, sql, action):
    ana = visitor(hospital, "ana")
    head, session = hospital.data.ledger.head.number, ana.cookies["session"]
    ana.post("/leave")
    ana.cookies["session"] = session
    reply = ana.post("/ask", **ASKED, sql=sql, action=action)
    assert reply.status_code == 401
    form = fields(read(reply.text).one("form", action="/login"))
    assert (form["sql"], form["epsilon"]) == (sql, "0.0123")
    assert "key" not in form, "what is asked next has a key of its own"
    wrong = ana.post("/login", **{**form, "token": "tacit_" + "A" * 43})
    assert wrong.status_code == 401
    form = fields(read(wrong.text).one("form", action="/login"))
    assert form["sql"] == sql, "a wrong token loses nothing"
    reply = ana.post("/login", **{**form, "token": hospital.tokens["ana"]})
    assert "session" in ana.cookies
    if sql == LONG:
        kept = fields(read(reply.text).one("form", action="/ask"))
        reply = ana.post("/ask", **kept, action="price")
    else:
        assert (reply.status_code, reply.headers["location"].partition("?")[0]) == (303, "/")
        reply = ana.send("GET", reply.headers["location"])
    page = read(reply.text)
    form = fields(page.one("form", id="ask"))
    assert (form["sql"], form["epsilon"], form["kind"]) == (sql, "0.0123", "epsilon")
    assert page.all("button", id="spend")
    assert hospital.data.ledger.head.number == head, "its price is shown, and nothing is spent"


def test_a_question_by_error_and_one_of_a_link_are_kept_too(hospital):
    guest = Visitor(hospital.desk)
    form = fields(
        read(guest.post("/ask", **{**ASKED, "kind": "error", "error": "400"}, sql=COUNT).text).one("form", action="/login")
    )
    page = guest.get(guest.post("/login", **{**form, "token": hospital.tokens["ana"]}).headers["location"])
    assert fields(page.one("form", id="ask"))["error"] == "400"
    assert page.one("span", id="price").text.startswith("ε 0.0598 · n ± 400")
    guest = Visitor(hospital.desk)
    assert fields(guest.get("/?sql=SELECT+1").one("form", action="/login"))["sql"] == "SELECT 1"
    assert guest.post("/ask", **ASKED, sql=COUNT + "\0").status_code == 401
    assert (
        guest.send(
            "POST", "/ask", content=b"%ff=1", headers={"Origin": guest.base, "Content-Type": "application/x-www-form-urlencoded"}
        ).status_code
        == 400
    )


# --- the code of a demonstration ---------------------------------------------------------------------------------------------


def test_a_code_works_once_however_it_is_typed(hospital):
    code = make_code(hospital.office.accounts, "ana")
    with hospital.office.records.reader() as connection:
        stored = str(connection.exec_driver_sql("SELECT * FROM codes").all())
    assert code not in stored
    assert code.replace("-", "") not in stored
    guest = Visitor(hospital.desk)
    assert guest.post("/login", token=f" {code.lower()} ").status_code == 303
    assert "Ask a question" in guest.get("/").text
    assert Visitor(hospital.desk).post("/login", token=code).status_code == 401


def test_two_at_the_same_time_get_one_session(hospital):
    code = make_code(hospital.office.accounts, "ana")
    guest = Visitor(hospital.desk)
    replies = guest.all_at_once(*[("POST", "/login", {"data": {"token": code}})] * 8)
    assert sorted(reply.status_code for reply in replies) == [303] + [401] * 7


WRONG = "AAAAA-AAAAA"


def test_codes_expire_and_cannot_be_guessed(hospital, monkeypatch):
    accounts, guest = hospital.office.accounts, Visitor(hospital.desk)
    code = make_code(accounts, "ana")
    for _ in range(MOST_TRIES - 1):
        assert guest.post("/login", token=WRONG).status_code == 401
    assert guest.post("/login", token=code).status_code == 303
    code = make_code(accounts, "ana")
    for _ in range(MOST_TRIES):
        guest.post("/login", token=WRONG)
    assert Visitor(hospital.desk).post("/login", token=code).status_code == 401
    late = make_code(accounts, "ana")
    with hospital.office.records.transaction() as connection:
        connection.exec_driver_sql("UPDATE codes SET expires = ?", (accounts.now() - 1,))
    assert Visitor(hospital.desk).post("/login", token=late).status_code == 401
    monkeypatch.setattr(console, "MOST_TRIES", 10**9)  # planted: without the limit, a guess is as good as the first
    code = make_code(accounts, "ana")
    for _ in range(MOST_TRIES):
        guest.post("/login", token=WRONG)
    assert Visitor(hospital.desk).post("/login", token=code).status_code == 303


def test_guesses_of_anybody_write_nothing_while_no_code_is_live(hospital):
    """Else who has no account keeps the records locked, which every spend writes to."""
    accounts, guest = hospital.office.accounts, Visitor(hospital.desk)
    with hospital.office.records.transaction() as connection:
        connection.exec_driver_sql("DELETE FROM codes")
        assert guest.post("/login", token=WRONG).status_code == 401, "it waits for no lock"
    code = make_code(accounts, "ana")
    for _ in range(MOST_TRIES + 3):
        guest.post("/login", token=WRONG)
    with hospital.office.records.reader() as connection:
        tries = connection.exec_driver_sql("SELECT tries FROM codes").scalar()
    assert tries == MOST_TRIES, "and after the last try nothing is counted"
    assert guest.post("/login", token=code).status_code == 401


def test_codes_have_fifty_bits():
    assert len(set(console.LETTERS)) == 32
    assert not {"0", "O", "1", "I"} & set(console.LETTERS)


# --- other pages -------------------------------------------------------------------------------------------------------------

FOREIGN = {
    "another site": {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    "another port": {"Origin": "http://testserver:81"},
    "another scheme": {"Origin": "https://testserver"},
    "an opaque origin": {"Origin": "null"},
    "no origin": {},
    "a site that contradicts its origin": {"Origin": "http://testserver", "Sec-Fetch-Site": "same-site"},
    "an address bar": {"Origin": "http://testserver", "Sec-Fetch-Site": "none"},
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_form_of_another_page_does_nothing(hospital, what):
    ana, cara = visitor(hospital, "ana"), visitor(hospital, "cara")
    head, before = hospital.data.ledger.head.number, hospital.office.accounts.summary()
    for path in FORMS:
        sender = cara if path.startswith(("/owner", "/publish")) else ana
        given = {"token": hospital.tokens["cara"], "name": "eve", "role": "curator", "days": "9", "key": "k" * 32, "sql": COUNT,
                 "kind": "epsilon", "epsilon": "0.03", "action": "spend", "reason": "x", "title": "x", "entry": "2"}  # fmt: skip
        reply = sender.send("POST", path, data=given, headers=FOREIGN[what])
        assert reply.status_code == 403, path
        assert "set-cookie" not in reply.headers
    assert hospital.data.ledger.head.number == head
    assert hospital.office.accounts.summary() == before
    assert ana.send("GET", "/budget").status_code == 200


def test_a_gate_that_does_not_look_at_origins_is_caught(hospital, monkeypatch):
    """Planted: what a page of another site sends with the cookie is then paid for."""
    monkeypatch.setattr(Frame, "refusal", lambda *_: None)
    monkeypatch.setattr("visiting.front_of", front_of.__wrapped__)
    ana, head = visitor(hospital, "ana"), hospital.data.ledger.head.number
    given = {"key": "k" * 32, "sql": COUNT, "kind": "epsilon", "epsilon": "0.031", "action": "spend"}
    assert ana.send("POST", "/ask", data=given, headers=FOREIGN["another site"]).status_code == 303
    assert hospital.data.ledger.head.number > head


@pytest.mark.parametrize(
    "body",
    [
        {"json": {"sql": COUNT}},
        {"files": {"sql": b"x"}},
        {"content": b"sql=x", "headers": {"Origin": "http://testserver", "Content-Type": "text/plain"}},
    ],
)
def test_only_forms_are_read(hospital, body):
    ana = visitor(hospital, "ana")
    reply = ana.send("POST", "/ask", **{"headers": {"Origin": ana.base}, **body})
    assert reply.status_code == 400


def test_malformed_forms_are_refused_without_a_word_of_theirs(hospital):
    ana = visitor(hospital, "ana")
    for content in (b"%ff%fe=%80", b"\xff", b"a&b=secret", b"&".join(b"a=1" for _ in range(1000)), b"sql=%ed%a0%80"):
        headers = {"Origin": ana.base, "Content-Type": "application/x-www-form-urlencoded"}
        reply = ana.send("POST", "/ask", content=content, headers=headers)
        assert reply.status_code == 400, content
        assert "secret" not in reply.text


def test_a_link_from_elsewhere_asks_to_continue_here(hospital):
    ana = visitor(hospital, "ana")
    mail = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    for path in ("/answers/7", "/?sql=SELECT+1", "//evil.example/x", "/\\evil.example", "/%2f%2fevil.example", "/a%22onclick=x"):
        reply = ana.send("GET", path, headers=mail)
        page = read(reply.text)
        (link,) = page.all("a", class_="button main")
        assert link.given["href"].startswith("/")
        assert not link.given["href"].startswith(("//", "/\\")), "an address of another host"
        assert not page.all("form", id="ask"), "nothing of the account is on it"
        assert set(link.given) == {"class", "href"}


@pytest.mark.parametrize(
    "mode", [("navigate", "iframe"), ("no-cors", "image"), ("no-cors", "script"), ("cors", "empty"), ("navigate", "embed")]
)
def test_frames_and_parts_of_other_pages_get_nothing(hospital, mode):
    ana = visitor(hospital, "ana")
    head = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode[0], "Sec-Fetch-Dest": mode[1]}
    for path in ("/", "/budget", "/answers/2.svg", "/login"):
        assert ana.send("GET", path, headers=head).status_code == 403


@pytest.mark.parametrize(
    "place",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/login",
        "/leave",
        "javascript:alert(1)",
        "/answers/1/../../x",
        "/%0d%0aX: y",
    ],
)
def test_a_login_leads_to_a_page_of_this_server(hospital, place):
    guest = Visitor(hospital.desk)
    assert fields(guest.get(f"/login?next={place}").one("form"))["next"] == "/"
    reply = guest.post("/login", token=hospital.tokens["ana"], next=place)
    assert reply.headers["location"] == "/"


def test_every_reply_has_its_headers(hospital):
    ana = visitor(hospital, "ana")
    policies = []
    for path in ("/", "/", "/login", "/catalog", "/budget", "/nothing", "/answers/999", "/owner"):
        headers = ana.send("GET", path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        for part in ("frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "require-trusted-types-for 'script'"):
            assert part in policy
        assert "unsafe" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        policies.append(policy)
    assert "nonce-" in policies[0]
    assert policies[0] != policies[1], "a nonce is used once"


def test_an_address_that_cannot_be_read_is_a_page_with_its_headers(hospital):
    reply = visitor(hospital, "ana").send("GET", f"/answers/{'9' * 5000}")
    assert (reply.status_code, reply.headers["cache-control"]) == (400, "no-store")
    assert read(reply.text).all("p", role="alert")


def test_another_host_gets_nothing(hospital):
    reply = visitor(hospital, "ana").send("GET", "/", headers={"Host": "evil.example"})
    assert reply.status_code == 421


def test_a_session_of_a_curator_makes_no_account(hospital):
    """A stolen session is not enough: the token itself confirms."""
    cara = visitor(hospital, "cara")
    given = {"name": "eve", "role": "auditor", "days": "9", "cap": ""}
    for token in ("", cara.cookies["session"], hospital.tokens["ana"], "tacit_" + "A" * 43):
        reply = cara.post("/owner/invite", token=token, **given)
        assert reply.status_code == 403, token
        assert "eve" not in {each["name"] for each in hospital.office.accounts.summary()}
    reply = cara.post("/owner/invite", token=hospital.tokens["cara"], **given)
    shown = [each.text for each in read(reply.text).all("pre") if each.text.startswith("tacit_")]
    assert len(shown) == 1
    assert hospital.office.accounts.who(shown[0]).name == "eve"
    assert hospital.tokens["cara"] not in reply.text
    assert shown[0] not in cara.send("GET", "/owner").text, "it is shown once"
