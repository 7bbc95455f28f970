"""The front over ASGI: the document and what holds of it, roles, hosts, origins, sizes, and nothing of the requests in a log."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import count
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks

from loops import in_own_loop
from served import GIVEN, ROLES, InProcess, Served, served
from tacit.doors.server import analysts, gate
from tacit.doors.server.calls import Call, Reply
from tacit.doors.server.desk import OPERATIONS, Desk
from tacit.doors.server.front import app
from tacit.doors.server.problems import STATUS
from tacit.doors.server.settings import Settings
from tacit.doors.server.turns import Places

HERE = Settings(names=("testserver",))
COUNT = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.01"}
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        yield found


@cache
def front_of(desk: Desk, settings: Settings = HERE) -> Any:
    return app(InProcess(desk), settings)


def asked(desk: Desk, *requests: tuple[str, str, dict[str, Any]], settings: Settings = HERE) -> list[httpx.Response]:
    """The replies to requests (a method, a path, and what httpx takes), over ASGI."""

    async def all_of_them() -> list[httpx.Response]:
        transport = httpx.ASGITransport(front_of(desk, settings))
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            return [await client.request(method, path, **more) for method, path, more in requests]

    return in_own_loop(all_of_them())


def by(token: str, **more: Any) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}", **more.pop("headers", {})}, **more}


def document(desk: Desk) -> dict[str, Any]:
    return asked(desk, ("GET", "/v1/openapi.json", {}))[0].json()


def operations(desk: Desk) -> dict[str, tuple[str, str]]:
    """Every operation of the document, with its method and a path."""
    paths = document(desk)["paths"]
    return {
        each["operationId"]: (method.upper(), path.replace("{entry}", "999"))
        for path, methods in paths.items()
        for method, each in methods.items()
    }


# --- the document ------------------------------------------------------------------------------------------------------------


def test_the_document_has_every_operation_and_no_page_of_fastapi_is_served(hospital):
    assert set(operations(hospital.desk)) == {*OPERATIONS, "health"}
    for path in ("/docs", "/redoc", "/openapi.json", "/", "/v1", "/v1/budget/"):
        assert asked(hospital.desk, ("GET", path, {}))[0].json()["error"]["code"] == "not_found"


def test_every_status_of_a_problem_is_in_the_document(hospital):
    for path, methods in document(hospital.desk)["paths"].items():
        for each in methods.values():
            assert {str(status) for status in STATUS.values()} <= set(each["responses"]), path


def replies(desk: Desk, tokens: dict[str, str]) -> dict[str, dict[str, httpx.Response]]:
    """The reply of every operation of the document to every token, except for the one that ends tokens."""
    found: dict[str, dict[str, httpx.Response]] = {}
    for name, (method, path) in operations(desk).items():
        if name != "renew_token":
            body = {} if method == "GET" else {"json": GIVEN.get(name, {})}
            given = [(method, path, by(token, **body)) for token in tokens.values()]
            found[name] = dict(zip(tokens, asked(desk, *given), strict=True))
    return found


def test_every_operation_as_every_role_and_with_every_bad_credential(hospital):
    accounts = hospital.office.accounts
    old = accounts.issue("otto")
    last = max(each["number"] for account in accounts.summary() for each in account["tokens"])
    accounts.revoke("otto", last)
    ended = accounts.issue("otto", 1)
    with hospital.office.records.transaction() as connection:
        connection.exec_driver_sql("UPDATE tokens SET expires = 1.0 WHERE number = ?", (last + 1,))
    tokens = {**hospital.tokens, "none": "", "revoked": old.token, "expired": ended.token, "malformed": "tacit_x"}
    tokens |= {"unknown": f"tacit_{'A' * 43}"}
    found = replies(hospital.desk, tokens)
    for name, each in found.items():
        if name == "health":
            assert {reply.status_code for reply in each.values()} == {200}
            continue
        bad = {(each[who].status_code, each[who].content, str(each[who].headers)) for who in tokens if who not in ROLES}
        assert len(bad) == 1, name
        assert bad.pop()[0] == 401
        for who, role in ROLES.items():
            assert (each[who].status_code == 403) == (role not in OPERATIONS[name].roles), (name, who)


def test_a_route_whose_operation_lost_its_role_is_caught(hospital):
    """Planted: the log for everybody, and the ledger for nobody. The matrix above sees both."""
    everybody = replace(OPERATIONS["log"], roles=tuple(set(ROLES.values())))
    planted = {**OPERATIONS, "log": everybody, "ledger": replace(OPERATIONS["ledger"], roles=())}
    found = replies(Desk(hospital.office, hospital.desk.places, planted), {"otto": hospital.tokens["otto"]})
    assert (found["log"]["otto"].status_code, found["ledger"]["otto"].status_code) == (200, 403)


# --- a fuzzer ----------------------------------------------------------------------------------------------------------------


def fuzzed(hospital: Served, desk: Desk, examples: int, only: tuple[str, ...] = ()) -> int:
    """How many replies to made-up requests fitted the document; raises at the first that does not, and at every 5xx."""
    schema, count = schemathesis.openapi.from_asgi("/v1/openapi.json", front_of(desk)), 0
    for operation in (result.ok() for result in schema.get_all_operations()):
        name = operation.definition.raw["operationId"]
        if name in ("health", "renew_token") or (only and name not in only):
            continue
        who = next(who for who, role in ROLES.items() if role in OPERATIONS[name].roles)
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            count += _tried(operation.as_strategy(generation_mode=mode), hospital.tokens[who], examples)
    return count


def _tried(cases: Any, token: str, examples: int) -> int:
    count = 0

    @settings(max_examples=examples, database=None, suppress_health_check=list(HealthCheck), deadline=None)
    @given(case=cases)
    def check(case: Any) -> None:
        nonlocal count
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {token}"}
        reply = case.call()
        case.validate_response(reply, checks=CHECKS[:-1] if reply.status_code == 413 else CHECKS)  # which it takes for acceptance
        count += 1

    check()
    return count


@pytest.mark.filterwarnings("ignore")  # of libraries that the fuzzer calls
def test_a_fuzzer_finds_no_5xx_and_no_drift_from_the_document(hospital):
    assert fuzzed(hospital, hospital.desk, 2, ("ask", "answer", "history", "set_caps")) > 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_fuzzer_finds_no_5xx_and_no_drift_from_the_document_for_long(hospital):
    assert fuzzed(hospital, hospital.desk, examples=60) > 1_500


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reply", [Reply(200, b'{"lines": [], "more": 1}'), Reply(500, b"{}"), Reply(200, b"x", "text/html")])
def test_the_fuzzer_sees_a_drift(hospital, reply):
    class Drifting(Desk):
        def handle(self, call: Call) -> Reply:
            return reply

    with pytest.raises((FailureGroup, BaseExceptionGroup)):
        fuzzed(hospital, Drifting(hospital.office), examples=1, only=("log",))


def test_debits_equal_the_prices_told(hospital):
    token = hospital.tokens["ana"]
    sqls = [
        "SELECT COUNT(*) FROM visits WHERE cost > 11",
        "SELECT ward, AVG(cost) AS c FROM visits GROUP BY ward",
        "SELECT sex, COUNT(*) FROM patients GROUP BY sex",
        "SELECT ward FROM wards",
        "SELECT MEDIAN(cost) FROM visits",
    ]
    before = hospital.data.ledger.spent("ana").epsilon
    told, paid = Fraction(0), Fraction(0)
    for sql in sqls:
        body = {"json": {"sql": sql, "epsilon": "0.03"}} if "wards" not in sql else {"json": {"sql": sql}}
        priced, answered = asked(
            hospital.desk, ("POST", "/v1/explain", by(token, **body)), ("POST", "/v1/questions", by(token, **body))
        )
        told += Fraction(priced.json()["price"]["epsilon"])
        paid += Fraction(answered.json()["price"]["epsilon"])
    assert told == paid == hospital.data.ledger.spent("ana").epsilon - before == Fraction(12, 100)


# --- hosts, origins, forms, sizes --------------------------------------------------------------------------------------------

QUESTION = ("POST", "/v1/questions")
FOREIGN: dict[str, tuple[dict[str, str], str]] = {
    "another host": ({"Host": "evil.example"}, "wrong_host"),
    "a host with its name in front": ({"Host": "testserver.evil.example"}, "wrong_host"),
    "a host with a user": ({"Host": "testserver@evil.example"}, "wrong_host"),
    "an empty host": ({"Host": ""}, "wrong_host"),
    "another origin": ({"Origin": "https://evil.example"}, "foreign_origin"),
    "an opaque origin": ({"Origin": "null"}, "foreign_origin"),
    "another scheme": ({"Origin": "https://testserver"}, "foreign_origin"),
    "another port": ({"Origin": "http://testserver:81"}, "foreign_origin"),
    "another site": ({"Sec-Fetch-Site": "cross-site"}, "foreign_origin"),
    "a sister site": ({"Sec-Fetch-Site": "same-site"}, "foreign_origin"),
    "a form": ({"Content-Type": "application/x-www-form-urlencoded"}, "unsupported_media_type"),
    "a plain form": ({"Content-Type": "text/plain"}, "unsupported_media_type"),
    "a file form": ({"Content-Type": "multipart/form-data; boundary=x"}, "unsupported_media_type"),
    "two types": ({"Content-Type": "application/json, text/plain"}, "unsupported_media_type"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_what_comes_from_elsewhere_gets_nothing(hospital, what):
    headers, code = FOREIGN[what]
    before = hospital.data.ledger.head.number
    content = json.dumps(COUNT).encode()
    given = by(hospital.tokens["ana"], headers={"Content-Type": "application/json", **headers}, content=content)
    assert asked(hospital.desk, (*QUESTION, given))[0].json()["error"]["code"] == code
    assert hospital.data.ledger.head.number == before


def test_a_gate_that_does_not_look_is_caught(hospital, monkeypatch):
    """Planted: names, origins and types are not compared. What a page of another site sends is then paid for."""
    monkeypatch.setattr(gate, "refusal", lambda *_: None)
    monkeypatch.setitem(globals(), "front_of", front_of.__wrapped__)  # a gate of its own
    before = hospital.data.ledger.head.number
    headers = {"Content-Type": "application/json", "Host": "evil.example", "Origin": "https://evil.example"}
    given = by(hospital.tokens["ana"], headers=headers, json={**COUNT, "sql": "SELECT COUNT(*) FROM visits WHERE cost < 123"})
    assert asked(hospital.desk, (*QUESTION, given))[0].status_code == 200
    assert hospital.data.ledger.head.number > before


def test_what_comes_from_here_is_answered_and_every_reply_has_its_headers(hospital):
    own = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
    given = by(hospital.tokens["ana"], headers=own, json={"sql": "SELECT ward FROM wards"})
    for reply in asked(
        hospital.desk, (*QUESTION, given), ("GET", "/nowhere", {}), ("GET", "/v1/health", {"headers": {"Host": "x"}})
    ):
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
        assert "unsafe" not in reply.headers["content-security-policy"]
        assert not {"server", "set-cookie", "access-control-allow-origin", "x-powered-by"} & set(reply.headers)
    assert (
        asked(hospital.desk, ("OPTIONS", "/v1/questions", {"headers": {"Content-Type": "application/json"}}))[0].status_code == 405
    )


def test_sizes_are_limited(hospital):
    token = hospital.tokens["ana"]
    long = {"sql": "SELECT '" + "é" * 33_000 + "'", "epsilon": "0.1"}

    async def chunks() -> Any:
        for _ in range(40):
            yield b" " * 4096

    requests = [
        (*QUESTION, by(token, content=b" " * 131_073, headers={"Content-Type": "application/json"})),
        (*QUESTION, by(token, content=chunks(), headers={"Content-Type": "application/json"})),
        (*QUESTION, by(token, json=long)),
        (*QUESTION, by(token, json={**long, "sql": "SELECT " + "1" * 65_000})),
        (*QUESTION, by(token, json=COUNT, headers={"Idempotency-Key": "k" * 129})),
        (*QUESTION, by(token, content=b'{"sql": "\\ud800", "epsilon": "0.1"}', headers={"Content-Type": "application/json"})),
        (*QUESTION, by(token, content=b'{"sql": "x", "epsilon": NaN}', headers={"Content-Type": "application/json"})),
        (*QUESTION, by(token, content=b"[" * 100_000, headers={"Content-Type": "application/json"})),
    ]
    codes = [reply.json()["error"]["code"] for reply in asked(hospital.desk, *requests)]
    assert codes == ["too_large"] * 2 + ["invalid_request", "not_allowed"] + ["invalid_request"] * 3 + ["bad_request"]


def test_a_clerk_that_fails_is_one_reply_without_its_words(hospital):
    class Failing(Desk):
        def handle(self, call: Call) -> Reply:
            raise OSError("the clerk at /secret with tacit_token")

    reply = asked(Failing(hospital.office), ("GET", "/v1/budget", by("x")), ("GET", "/v1/health", {}))
    assert {(each.status_code, each.json()["error"]["code"]) for each in reply} == {(503, "unavailable")}
    assert "secret" not in reply[0].text


# --- what is inert, and what is in no log ------------------------------------------------------------------------------------

OTHERS = count(200)
HOSTILE = ["<script>alert(1)</script>", "=cmd|' /C calc'!A0", "\x1b[2J\u202e", "a\nb", "'; DROP TABLE x; --", '"onload="x']


@pytest.mark.parametrize("alias", HOSTILE)
def test_hostile_names_and_keys_are_inert_in_every_form(hospital, alias):
    token, quoted = hospital.tokens["ana"], alias.replace('"', '""')
    other = next(OTHERS)  # the same question again would have the names of the entry that paid for it
    body = {"sql": f'SELECT ward, COUNT(*) AS "{quoted}" FROM visits WHERE cost < {other} GROUP BY ward', "epsilon": "0.01"}
    (reply,) = asked(hospital.desk, (*QUESTION, by(token, json=body)))
    if reply.status_code != 200:
        assert (reply.status_code, "\x1b" in reply.text, "\u202e" in reply.text) == (422, False, False)
        return
    assert reply.json()["columns"][1]["name"] == alias
    forms = ("json", "csv", "svg")
    found = asked(hospital.desk, *(("GET", f"/v1/answers/{reply.json()['entry']}?form={form}", by(token)) for form in forms))
    assert [each.headers["content-type"].partition(";")[0] for each in found] == ["application/json", "text/csv", "image/svg+xml"]
    for each in found:
        assert not {"\x1b", "\u202e"} & set(each.text)
    head = found[1].text.split(",", 1)[1].lstrip('"')
    assert head[0] not in "=+-@"
    assert alias.strip("'\"=\n").partition("\n")[0][:5] in found[1].text, "it is the name of this question"
    assert "<script" not in found[2].text


def test_no_token_and_no_question_in_any_log_or_file_at_debug_level(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    with served(tmp_path) as found:
        marked = "SELECT COUNT(*) AS marked_alias FROM nowhere_marked"
        body = by(found.tokens["ana"], json={"sql": marked, "epsilon": "0.1"}, headers={"Idempotency-Key": "marked-key"})
        asked(
            found.desk,
            (*QUESTION, body),
            (*QUESTION, by("tacit_marked-token", json=COUNT)),
            (*QUESTION, by(found.tokens["ana"], json=COUNT)),
        )
        broken: Callable[..., Any] = lambda *_, **__: (_ for _ in ()).throw(ValueError("cell-of-a-marked-row"))  # noqa: E731
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tacit.session.weights_comment", broken)
            assert asked(found.desk, (*QUESTION, by(found.tokens["ana"], json=COUNT)))[0].status_code == 503
        told = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpx"))
        secrets = [*found.tokens.values(), "marked-token", "cell-of-a-marked-row"]
        assert not [each for each in (*secrets, "marked_alias", "marked-key") if each in told]
        for file in (tmp_path / ".tacit").rglob("*"):
            if file.is_file():
                assert not [each for each in secrets if each.encode() in file.read_bytes()], file.name
        log = (tmp_path / ".tacit" / "log" / "unforeseen.log").read_text()
        assert "ValueError at" in log


def test_names_that_are_passed_on_as_they_are_are_caught(hospital, monkeypatch):
    """Planted: a CSV whose first line has the names as the analyst wrote them."""
    raw = lambda _, answer: Reply(200, ",".join(column.name for column in answer.columns).encode(), analysts.CSV)  # noqa: E731
    monkeypatch.setitem(analysts.FORMS, "csv", raw)
    with pytest.raises(AssertionError):
        test_hostile_names_and_keys_are_inert_in_every_form(hospital, HOSTILE[1])


def test_a_desk_that_logs_what_it_is_asked_is_caught(tmp_path, caplog, monkeypatch):
    """Planted: the credential at debug level."""
    whole = Desk.handle
    monkeypatch.setattr(
        Desk, "handle", lambda self, call: (logging.getLogger("tacit").debug(call.credential), whole(self, call))[1]
    )
    with pytest.raises(AssertionError):
        test_no_token_and_no_question_in_any_log_or_file_at_debug_level(tmp_path, caplog)
