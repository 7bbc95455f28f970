"""The desk: roles, credentials, one exit for errors, and what analysts see of one another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from served import COUNT, GIVEN, ROLES, Served, served
from tacit.doors.server.calls import Call, Reply
from tacit.doors.server.desk import MOST_REPLY, OPERATIONS, Desk
from tacit.doors.server.problems import STATUS
from tacit.doors.server.shapes import Explanation
from tacit.doors.server.turns import Places
from tacit.errors import StoreUnusable
from tacit.release.elsewhere.frames import LONGEST, REPLY


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        yield found


def body(reply: Reply) -> dict[str, Any]:
    return json.loads(reply.body)


def code(reply: Reply) -> str:
    assert STATUS[body(reply)["error"]["code"]] == reply.status
    return body(reply)["error"]["code"]


# --- roles and credentials ---------------------------------------------------------------------------------------------------


def allowed(desk: Desk, tokens: dict[str, str]) -> dict[str, set[str]]:
    """Which roles get anything but `forbidden`, by operation."""
    found: dict[str, set[str]] = {}
    for name in desk.operations:
        for who, role in ROLES.items():
            if desk.handle(Call(name, tokens[who], GIVEN.get(name, {}))).status != 403:
                found.setdefault(name, set()).add(role)
    return found


def test_every_operation_has_the_roles_of_the_design(hospital):
    tokens = dict(hospital.tokens)
    operations = {name: each for name, each in OPERATIONS.items() if name != "renew_token"}  # which would end the tokens
    found = allowed(Desk(hospital.office, hospital.desk.places, operations), tokens)
    asking = ("ask", "explain", "stream", "explain_stream", "answer", "certified", "budget", "history", "preview")
    asking += ("offer", "offered", "waiting", "withdraw")
    analysts = {key: {"analyst"} for key in asking}
    curators = {
        key: {"curator"}
        for key in (
            *("accounts", "add_account", "add_token", "revoke", "caps", "set_caps", "limits", "set_limits", "resume", "log"),
            *("offers", "overview", "publish", "approvals", "decide"),
        )
    }
    auditors = {key: {"auditor"} for key in ("ledger", "verification", "head", "take_head")}
    everybody = {key: set(ROLES.values()) for key in ("catalog", "keys", "own_tokens", "revoke_own", "who")}
    assert found == {**analysts, **curators, **auditors, **everybody}


def test_an_operation_that_names_no_role_denies_everybody(hospital):
    planted = {**OPERATIONS, "ledger": replace(OPERATIONS["ledger"], roles=())}
    assert "ledger" not in allowed(Desk(hospital.office, hospital.desk.places, {"ledger": planted["ledger"]}), hospital.tokens)


@pytest.mark.parametrize("operation", [*OPERATIONS, "nothing", ""])
def test_bad_credentials_have_one_reply(hospital, operation):
    accounts = hospital.office.accounts
    issued = accounts.issue("otto")
    accounts.revoke("otto", max(each["number"] for at in accounts.summary() if at["name"] == "otto" for each in at["tokens"]))
    bad = ["", "x", "tacit_" + "A" * 43, "\0", "tacit_é", issued.token, hospital.tokens["ana"] + " ", hospital.tokens["ana"][:-1]]
    replies = {hospital.desk.handle(Call(operation, each, GIVEN.get(operation, {}))) for each in bad}
    assert [each.status for each in replies] == [401]


def test_arguments_are_checked_again_by_the_desk(hospital):
    for given in ({}, {"sql": 1}, {"sql": COUNT, "epsilon": True}, {"sql": COUNT, "more": 1}, {"sql": COUNT, "epsilon": "1/2"}):
        assert code(hospital.call("ask", **given)) == "invalid_request"
    assert code(hospital.call("ask", sql="x" * 70_000)) == "invalid_request"
    assert code(hospital.call("ask", key="a\nb", sql=COUNT)) == "invalid_request"
    assert code(hospital.call("answer", entry="1")) == "invalid_request"


# --- questions ---------------------------------------------------------------------------------------------------------------


def test_an_answer_costs_what_it_says_and_has_every_form(tmp_path):
    with served(tmp_path) as found:
        sql = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
        priced = body(found.call("explain", sql=sql, epsilon="0.25"))
        answer = body(found.call("ask", sql=sql, epsilon="0.25"))
        spent = body(found.call("budget"))["analyst"]["spent"]["epsilon"]
        assert (Fraction(priced["price"]["epsilon"]), answer["price"]["epsilon"], spent) == (Fraction(1, 4), "0.25", "0.25")
        entry = answer["entry"]
        plain = body(found.call("answer", entry=entry))
        assert plain["rows"] == answer["rows"]
        assert found.call("answer", entry=entry, form="csv").body.decode().startswith("ward,n,n_low,n_high\n")
        table = pa.ipc.open_stream(found.call("answer", entry=entry, form="arrow").body).read_all()
        assert table.column_names == ["ward", "n", "n_low", "n_high"]
        assert found.call("answer", entry=entry, form="svg").body.startswith(b"<svg")
        assert [each["entry"] for each in body(found.call("history"))["entries"]] == [entry]
        for other in (entry, entry + 1, 0, 10**9):
            assert found.call("answer", by="bob", entry=other) == found.call("answer", by="bob", entry=4242)


def test_the_same_question_of_another_analyst_keeps_the_names_of_each(tmp_path):
    with served(tmp_path) as found:
        found.call("ask", sql="SELECT COUNT(*) AS anas_secret FROM visits", epsilon="0.1")
        own = body(found.call("ask", by="bob", sql=COUNT, epsilon="0.1"))
        later = found.call("answer", by="bob", entry=own["entry"])
        told = found.call("history", by="bob").body
        assert b"anas_secret" not in later.body + told
        assert b"recall" not in told, "bob does not learn that somebody had asked the same"
        assert body(later)["columns"] == own["columns"]


def test_what_the_data_set_has_left_is_shown_in_tenths(tmp_path):
    with served(tmp_path) as found:
        answer = body(found.call("ask", sql=COUNT, epsilon="0.05"))
        assert (answer["left"]["epsilon"], body(found.call("budget"))["data_set"]["left"]["epsilon"]) == ("1.95", "7.2")
        assert body(found.call("budget", by="bob"))["analyst"]["left"]["epsilon"] == "1"
        file = found.folder / "tacit.toml"
        file.write_text(
            file.read_text("utf-8").replace("epsilon = 2\n", "").replace("delta = 1e-7\n", "delta = 1e-7\n# more\n", 1), "utf-8"
        )
        replies = [found.call("budget").body, found.call("explain", sql=COUNT, epsilon="0.1").body]
        replies.append(found.call("ask", sql="SELECT COUNT(*) FROM patients", epsilon="7.99").body)
        assert all(b"7.95" not in each for each in replies), "without a cap of their own, analysts see the same tenths"
        assert code(found.call("ask", sql="SELECT COUNT(*) FROM patients", epsilon="7.99")) == "budget_exceeded"
        file.write_text(file.read_text("utf-8").replace("# more\n", 'show_left = "exact"\n'), "utf-8")
        assert body(found.call("budget"))["data_set"]["left"]["epsilon"] == "7.95"


def test_caps_can_be_lowered_and_not_raised(tmp_path):
    with served(tmp_path) as found:
        assert code(found.call("set_caps", by="cara", name="ana", epsilon="2.1")) == "invalid_input"
        assert code(found.call("set_caps", by="cara", name="ana", epsilon="0")) == "invalid_input"
        assert code(found.call("set_caps", by="cara", name="ben", epsilon="0.1")) == "invalid_input", "no account has that name"
        assert found.call("set_caps", by="cara", name="ANA", epsilon="0.5", epsilon_per_query="0.2").status == 200
        assert code(found.call("ask", sql=COUNT, epsilon="0.3")) == "budget_exceeded"
        for epsilon in ("0.2", "0.19", "0.1"):
            assert found.call("ask", sql=COUNT, epsilon=epsilon, fresh=True).status == 200
        assert code(found.call("ask", sql=COUNT, epsilon="0.02", fresh=True)) == "budget_exceeded"
        assert found.call("set_caps", by="cara", name="ana").status == 200
        assert found.call("ask", sql=COUNT, epsilon="0.02", fresh=True).status == 200, "the catalog's caps hold again"
        assert body(found.call("verification", by="otto"))["whole"]


def test_an_account_resets_nothing_and_a_token_that_ends_ends_at_once(tmp_path):
    with served(tmp_path) as found:
        found.call("ask", sql=COUNT, epsilon="0.5")
        new = body(found.call("add_token", by="cara", name="ana", replace=True))["token"]
        assert found.call("budget").status == 401
        found.tokens["ana"] = new
        assert body(found.call("budget"))["analyst"]["left"]["epsilon"] == "1.5"
        assert code(found.call("add_account", by="cara", name="Ana", role="analyst")) == "already_exists"
        found.tokens["ana"] = body(found.call("renew_token"))["token"]
        assert found.call("budget", by=new).status == 401
        assert body(found.call("revoke", by="cara", name="ana")) == {"revoked": 1}
        assert found.call("budget").status == 401


# --- what fails --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        StoreUnusable("the ledger /secret/place cannot be opened"),
        OSError(28, "No space left on device", "/secret/place"),
        ValueError("Could not convert string 'victim'"),
        KeyError("victim"),
        RecursionError(),
    ],
)
def test_what_nobody_foresaw_is_one_reply_and_a_line_for_the_data_owner(hospital, monkeypatch, error):
    def fails(*_: object) -> None:
        raise error

    before = body(hospital.call("log", by="cara"))["lines"]
    monkeypatch.setattr(type(hospital.data.ledger), "standing", fails)
    reply = hospital.call("budget")
    assert code(reply) == "unavailable"
    assert b"victim" not in reply.body
    assert b"secret" not in reply.body
    lines = body(hospital.call("log", by="cara"))["lines"]
    assert len(lines) == len(before) + 1
    assert "victim" not in lines[-1]
    assert (hospital.folder / ".tacit" / "log" / "unforeseen.log").stat().st_mode & 0o777 == 0o600


def test_the_same_trouble_with_the_data_is_one_line(hospital, monkeypatch):
    """For as long as the data cannot be read, its holder raises one and the same error."""
    same, other = (StoreUnusable("the data is away", remedy="wait") for _ in range(2))
    raised = iter([same, same, ValueError(), same, other])

    def fails(*_: object) -> None:
        raise next(raised)

    before = len(body(hospital.call("log", by="cara"))["lines"])
    monkeypatch.setattr(type(hospital.data.ledger), "standing", fails)
    assert [code(hospital.call("budget")) for _ in range(5)] == ["unavailable"] * 5
    lines = body(hospital.call("log", by="cara"))["lines"][before:]
    assert ["away" in line for line in lines] == [True, False, True]


def test_no_reply_is_larger_than_its_line_carries(hospital, monkeypatch):
    monkeypatch.setattr("tacit.doors.server.desk.MOST_REPLY", 300)
    assert code(hospital.call("catalog")) == "answer_too_large"
    assert hospital.call("caps", by="cara").status == 200
    assert LONGEST[REPLY] > MOST_REPLY + 4096
    assert code(hospital.call("ask", sql="SELECT ward FROM wards", groups=1_000_001)) == "invalid_request"


def test_rates_and_places_are_per_account(hospital):
    now = [0.0]
    place = Desk(hospital.office, Places(rate=1, burst=2, places=1, clock=lambda: now[0]))
    asked = [place.handle(Call("budget", hospital.tokens["ana"], {})).status for _ in range(3)]
    assert asked == [200, 200, 429]
    assert place.handle(Call("budget", hospital.tokens["bob"], {})).status == 200, "one account does not starve another"
    now[0] += 1
    assert place.handle(Call("budget", hospital.tokens["ana"], {})).status == 200
    with place.places.take("bob"):
        assert place.handle(Call("budget", hospital.tokens["bob"], {})).status == 429
    now[0] += 1
    assert place.handle(Call("budget", hospital.tokens["bob"], {})).status == 200


@pytest.mark.parametrize(
    ("epsilons", "counts"), [(None, 2), (["0.1"], 2), (["0.1"] * 3, 6), (["0.1"] * 20, 40), (["0.1"] * 99, 40)]
)
def test_an_explanation_counts_as_two_requests_for_each_epsilon(hospital, epsilons, counts):
    """Just enough rate is enough, and less is not: a planted count of one explanation would pass with two."""
    asked = {"sql": COUNT, **({} if epsilons is None else {"epsilons": epsilons})}
    for burst, answered in ((counts, True), (counts - 0.5, False)):
        place = Desk(hospital.office, Places(rate=1, burst=burst, clock=lambda: 0.0))
        reply = place.handle(Call("explain", hospital.tokens["ana"], asked))
        assert (reply.status != 429) is answered
        if answered:
            assert reply.status == (422 if epsilons and len(epsilons) > 20 else 200)


@pytest.mark.parametrize("operation", ["ask", "explain"])
def test_a_number_is_the_same_budget_as_its_shortest_decimal(hospital, operation):
    sql = "SELECT COUNT(*) AS n FROM visits WHERE cost > 77"
    first, again = (body(hospital.call(operation, sql=sql, epsilon=each)) for each in (0.001, "0.001"))
    assert first["price"] == again["price"] == {"epsilon": "0.001", "delta": "0"}
    for wrong in (True, float("nan"), float("inf"), -0.5, [0.5], {}, 10**40, "0.5 ", "NaN"):
        assert code(hospital.call(operation, sql=sql, epsilon=wrong)) == "invalid_request"


def test_the_shape_of_an_answer_and_the_reply_fit_the_model(hospital):
    sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE cost > :x GROUP BY ward"
    told = body(hospital.call("explain", sql=sql, epsilons=[0.1, "1"], group_rows=1000))
    Explanation.model_validate(told, strict=True)
    assert [(each["name"], each["kind"], each["type"]) for each in told["columns"]] == [
        ("ward", "key", "text"), ("n", "count", "integer"), ("c", "avg", "number"),
    ]  # fmt: skip
    assert [each["name"] for each in told["parameters"]] == ["x"]
    assert [each["price"]["epsilon"] for each in told["budgets"]] == ["0.1", "1"]


def test_an_analyst_that_the_catalog_no_longer_declares_asks_nothing_and_learns_no_name(tmp_path):
    with served(tmp_path) as found:
        file = found.folder / "tacit.toml"
        file.write_text(file.read_text("utf-8").replace("[analysts.bob]", "[analysts.rob]"), "utf-8")
        replies = [
            found.call("ask", by="bob", **GIVEN["ask"]),
            found.call("explain", by="bob", **GIVEN["explain"]),
            found.call("budget", by="bob"),
        ]
        assert {code(each) for each in replies} == {"forbidden"}
        assert all(b"rob" not in each.body for each in replies)


def test_analysts_together_are_stopped_by_the_data_set_at_the_same_entry_as_in_the_ledger(tmp_path):
    """Three analysts, each below their own cap, at once: together they spend the data set's budget and no more."""
    with served(tmp_path) as found, ThreadPoolExecutor(6) as threads:
        file = found.folder / "tacit.toml"
        text = file.read_text("utf-8").replace("epsilon = 8\n", "epsilon = 1.25\n").replace("epsilon = 2\n", "epsilon = 1\n")
        file.write_text(text, "utf-8")
        found.tokens["ben"] = found.office.accounts.add("ben", "analyst").token
        found.desk.places = Places(rate=1e9, burst=1e9, places=9)
        names = ("ana", "ben", "bob")
        asking = [(name, f"SELECT COUNT(*) AS n FROM visits WHERE cost > {at}") for at, name in enumerate(names * 4)]
        replies = list(threads.map(lambda one: found.call("ask", by=one[0], sql=one[1], epsilon="0.125"), asking))
        answered = sorted(body(each)["entry"] for each in replies if each.status == 200)
        assert {code(each) for each in replies if each.status != 200} == {"budget_exceeded"}
        spends = [entry for entry in body(found.call("ledger", by="otto"))["entries"] if entry["kind"] == "spend"]
        assert (len(answered), answered) == (10, [entry["number"] for entry in spends])
        assert spends[-1]["spent"]["epsilon"] == "5/4"
        assert all(Fraction(body(found.call("budget", by=name))["analyst"]["spent"]["epsilon"]) < 1 for name in names)
        assert body(found.call("verification", by="otto"))["whole"]


def test_sub_queries_that_double_are_refused_at_once(hospital):
    """One free explanation of 40 lines must not occupy the clerk for ever: written out, it has 2**40 parts."""
    doubled = ", ".join(f"a{at + 1} AS (SELECT cost FROM a{at} UNION ALL SELECT cost FROM a{at})" for at in range(40))
    text = f"WITH a0 AS (SELECT cost FROM visits), {doubled} SELECT SUM(cost) AS n FROM a40"
    for operation in ("explain", "ask"):
        assert body(hospital.call(operation, sql=text, epsilon="0.01"))["error"]["code"] == "too_much_work"


# --- free ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["LIMIT 0", "FETCH FIRST 0 ROWS ONLY"])
def test_limit_0_is_answered_without_a_budget_and_without_an_entry(hospital, end):
    def head() -> int:
        return len(list(hospital.office.data.ledger.entries()))

    before = head()
    found = hospital.call("ask", sql=f"SELECT kind, COUNT(*) AS n FROM visits WHERE 1 <> 1 GROUP BY kind {end}")
    assert found.status == 200, found.body
    assert ([each["name"] for each in body(found)["columns"]], body(found)["rows"]) == (["kind", "n"], [])
    assert head() == before
    assert hospital.call("explain", sql=f"SELECT COUNT(*) AS n FROM visits {end}").status == 200


PREVIEWED = {
    "SELECT from an answer": "SELECT ward, n * 2 AS twice FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t",
    "two questions": "SELECT (SELECT COUNT(*) FROM visits) / (SELECT COUNT(*) FROM patients) AS each",
    "a question": "SELECT COUNT(*) AS n FROM visits",
}


@pytest.mark.parametrize("sql", PREVIEWED.values(), ids=PREVIEWED)
def test_a_preview_tells_the_price_and_whether_it_is_paid_for(hospital, sql):
    """The console asks for it before every question."""
    for paid in (False, True):
        told = body(hospital.call("preview", sql=sql, epsilons=["0.1", "0.2"]))
        assert (told["paid"], told["explanation"]["price"]["epsilon"]) == (paid, "0.1")
        hospital.call("ask", sql=sql, epsilon="0.1")


@pytest.mark.parametrize("sql", ["SELECT * FROM visits LIMIT 0", "EXPLAIN SELECT COUNT(*) FROM visits", "SELECT 1"])
def test_a_preview_of_what_is_free_has_no_price(hospital, sql):
    told = body(hospital.call("preview", sql=sql, epsilons=["0.1"]))
    assert (told["paid"], told["explanation"]["price"]["epsilon"]) == (False, "0")


def test_a_preview_reads_parameters(hospital):
    asked = {"sql": "SELECT COUNT(*) AS n FROM visits WHERE cost > :least", "params": {"least": 7}, "epsilon": "0.1"}
    for paid in (False, True):
        assert body(hospital.call("preview", **asked))["paid"] == paid
        hospital.call("ask", **asked)
