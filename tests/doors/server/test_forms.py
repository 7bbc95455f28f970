"""Requests that do not fit the document: after credential and role, in words of a closed list, and never with what was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpx
import pytest

from loops import in_own_loop
from served import InProcess, Served, served
from tacit.accounting.ledger.entries import canonical_json
from tacit.doors.server import front, problems
from tacit.doors.server.desk import Desk
from tacit.doors.server.front import app
from tacit.doors.server.problems import misfit
from tacit.doors.server.settings import Settings
from tacit.doors.server.turns import Places

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        yield found


@cache
def front_of(place: Desk) -> Any:
    return app(InProcess(place), Settings(names=("testserver",)))


def asked(hospital: Served, method: str, path: str, by: str = "", **more: Any) -> httpx.Response:
    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(front_of(hospital.desk))
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            headers = {**({"Authorization": f"Bearer {hospital.tokens.get(by, by)}"} if by else {}), **more.pop("headers", {})}
            return await client.request(method, path, headers=headers, **more)

    return in_own_loop(once())


MISFITS: dict[str, dict[str, Any]] = {
    "no body": {"headers": JSON},
    "no JSON": {"headers": JSON, "content": b"{"},
    "too deep": {"headers": JSON, "content": b"[" * 100_000},
    "a missing field": {"json": {"epsilon": "1"}},
    "an unknown field": {"json": {"sql": "x", "marked": 1}},
    "another type": {"json": {"sql": 7}},
}


@pytest.mark.parametrize("what", MISFITS)
def test_nobody_learns_of_the_form_without_a_credential_and_a_role(hospital, what):
    for token in ("", "tacit_x", f"tacit_{'A' * 43}"):
        reply = asked(hospital, "POST", "/v1/questions", token, **MISFITS[what])
        assert (reply.status_code, reply.content) == (401, asked(hospital, "GET", "/v1/budget").content)
    assert asked(hospital, "POST", "/v1/questions", "cara", **MISFITS[what]).status_code == 403
    assert asked(hospital, "POST", "/v1/questions", "ana", **MISFITS[what]).status_code in (400, 422)


def test_a_query_and_a_path_that_do_not_fit_come_after_the_credential_too(hospital):
    for path in ("/v1/history?last=x", "/v1/answers/-1", "/v1/budget?more=1", "/v1/answers/1?form=pdf"):
        assert [asked(hospital, "GET", path, who).status_code for who in ("", "otto", "ana")] == [401, 403, 422]
    assert asked(hospital, "GET", "/v1/health?more=1").status_code == 422


def test_a_front_that_says_first_what_is_wrong_is_caught(hospital, monkeypatch):
    """Planted: the form is told before anybody is asked for a credential."""

    async def nobody(*_: Any) -> None:
        return None

    monkeypatch.setattr(front, "_refusal", nobody)
    assert asked(hospital, "POST", "/v1/questions", "", **MISFITS["a missing field"]).status_code == 422


def test_requests_that_do_not_fit_count_for_the_rate_of_the_account(hospital, monkeypatch):
    monkeypatch.setattr(hospital.desk, "places", Places(rate=0.0, burst=2))
    codes = [asked(hospital, "POST", "/v1/questions", "ana", **MISFITS["another type"]).status_code for _ in range(3)]
    assert codes == [422, 422, 429]


WORDS = {
    '{"epsilon": "1"}': "body.sql is not valid: it is required",
    '{"sql": ""}': "body.sql is not valid: it has fewer than 1 characters",
    '{"sql": 7}': "body.sql is not valid: it must be a text",
    '{"sql": []}': "body.sql is not valid: it has fewer than 1 entries",
    '{"sql": ["x", ""]}': "body.sql is not valid: it has fewer than 1 characters",
    '{"sql": ["x", 7]}': "body.sql is not valid: it must be a text",
    '{"sql": "x", "epsilon": ["1"]}': "body.epsilon is not valid: it must be a text",
    '{"sql": "x", "more": 1}': "body.more is not valid: it is not a field of this request",
    '{"sql": "x", "<b>": 1}': "body is not valid: it is not a field of this request",
    '{"sql": "x", "epsilon": "=1"}': "body.epsilon is not valid: it does not have the form of the document",
    '{"sql": "x", "epsilon": true}': "body.epsilon is not valid: it must be a text",
    '{"sql": "x", "epsilon": -0.5}': "body.epsilon is not valid: it does not have the form of the document",
    '{"sql": "x", "simultaneous": "yes"}': "body.simultaneous is not valid: it must be true or false",
    '{"sql": "x", "groups": 0}': "body.groups is not valid: it must be at least 1",
    '{"sql": "x", "groups": 1.5}': "body.groups is not valid: it must be a whole number",
    '{"sql": "x", "params": {"a": [1]}}': f"body.params is not valid: {problems.OF_PARAMETERS}",
    '{"sql": "x", "weights": []}': "body.weights is not valid: it must be an object",
    "[]": "body is not valid: it must be an object",
    "{": "body is not valid: it is not JSON",
}


@pytest.mark.parametrize("body", WORDS)
def test_the_words_are_those_of_a_closed_list(hospital, body):
    reply = asked(hospital, "POST", "/v1/questions", "ana", headers=JSON, content=body.encode())
    assert reply.json()["error"] == {"code": "invalid_request", "message": WORDS[body], "remedy": "see /v1/openapi.json"}


def test_every_rule_can_be_told_and_what_is_unknown_has_one_text():
    for rule in (*problems.RULES, "a rule of tomorrow"):
        ctx = {"max_length": 1, "min_length": 1, "ge": 1, "le": 1, "expected": "1"}
        said = misfit({"loc": ("query", "last"), "type": rule, "ctx": ctx, "input": "a secret", "msg": "of the library"})
        assert "secret" not in said
        assert "library" not in said


def test_a_delete_without_a_body_needs_no_type(hospital):
    for method in ("DELETE", "PATCH", "OPTIONS"):
        assert asked(hospital, method, "/v1/questions").status_code == 405
        assert asked(hospital, method, "/nowhere").status_code == 404
    assert asked(hospital, "DELETE", "/v1/questions", content=b"x").status_code == 415
    assert asked(hospital, "POST", "/v1/questions", content=iter_of(b"{}")).status_code == 415, "a length that nobody announces"
    plain = {"headers": {"Content-Type": "text/plain"}, "content": b""}
    assert asked(hospital, "POST", "/v1/questions", "ana", **plain).status_code == 415
    assert json.loads(asked(hospital, "POST", "/v1/token", "ana").content)["error"]["code"] == "invalid_request"


async def iter_of(content: bytes) -> Any:
    yield content


# --- certificates ------------------------------------------------------------------------------------------------------------


def test_a_certificate_is_sent_byte_for_byte_to_whoever_paid(hospital):
    asking = {"sql": "SELECT COUNT(*) AS n FROM visits WHERE cost > 7", "epsilon": "0.01"}
    paid = asked(hospital, "POST", "/v1/questions", "ana", json=asking).json()
    path = f"/v1/answers/{paid['entry']}?form=certificate"
    reply = asked(hospital, "GET", path, "ana")
    document = reply.json()
    assert reply.status_code == 200, document
    assert reply.headers["content-type"].startswith("application/vnd.tacit.certificate+json")
    assert reply.content == f"{canonical_json(document)}\n".encode("ascii")
    assert document["form"] == "public"
    assert "ledger" not in document
    assert document["asked"]["question"] == asking["sql"]
    others = [by for by in hospital.tokens if by != "ana"]
    assert {asked(hospital, "GET", path, by).status_code for by in others} <= {403, 404}, "an answer of another analyst is absent"
