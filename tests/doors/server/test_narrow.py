"""Narrow tokens of the server: never wider or longer than what they were made from, and ended with it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any, get_args

import pytest

from served import COUNT, ROLES, Served, served
from tacit.doors.server import models, narrow, shapes
from tacit.doors.server.calls import ADMISSION, Call, Reply
from tacit.doors.server.desk import OF_PAGES, OPERATIONS
from tacit.doors.server.narrow import GRANTS, Wanted, account_of, make
from tacit.doors.server.records import NARROW, Accounts, Records
from tacit.doors.server.turns import Places
from tacit.errors import InvalidInput
from tacit.release.once import LOG

MINTING = [*GRANTS["analyst"]]


@pytest.fixture
def hospital(tmp_path) -> Iterator[Served]:
    with served(tmp_path) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        yield found


def body(reply: Reply) -> dict[str, Any]:
    return json.loads(reply.body)


def error(reply: Reply) -> tuple[str, str]:
    return body(reply)["error"]["code"], body(reply)["error"]["message"]


def made(found: Served, by: str = "ana", **limits: object) -> dict[str, Any]:
    reply = found.call("renew_token", by=by, replace=False, **limits)
    assert reply.status == 200, reply.body
    return body(reply)


def ask(found: Served, by: str, epsilon: str = "0.1", more: str = "") -> Reply:
    return found.call("ask", by=by, sql=COUNT + more, epsilon=epsilon)


# --- the closed lists agree --------------------------------------------------------------------------------------------------


def test_the_operations_of_narrow_tokens_are_those_of_the_desk():
    granted = {
        role: {
            name if one.grant is None else one.grant
            for name, one in {**OF_PAGES, **OPERATIONS}.items()
            if role in one.roles and not one.own
        }
        - {""}
        for role in ROLES.values()
    }
    granted = {role: names - {"offered", "offers"} for role, names in granted.items()}
    assert granted == {role: set(names) for role, names in GRANTS.items()}
    assert set(get_args(models.Grant)) == {name for names in GRANTS.values() for name in names}
    assert {name for name, one in OPERATIONS.items() if one.grant == ""} == {"add_account", "add_token"}


# --- today's bodies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"days": 7}])
def test_a_body_of_today_still_renews(hospital, given):
    child = made(hospital)["token"]
    renewed = body(hospital.call("renew_token", **given))
    assert set(renewed) == {"name", "token", "expires"}
    assert ask(hospital, renewed["token"]).status == 200
    for ended in ("ana", child):  # whoever else had the old token may have made a narrow one
        assert ask(hospital, ended).status == 401


def test_limits_belong_to_narrow_tokens_and_days_to_renewed_ones(hospital):
    for given in ({"most": "1"}, {"hours": 1}, {"operations": ["ask"]}):
        assert error(hospital.call("renew_token", **given))[0] == "invalid_input"
    assert error(hospital.call("renew_token", replace=False, days=3))[0] == "invalid_input"
    assert ask(hospital, "ana").status == 200  # none of them ended the token


# --- never wider -------------------------------------------------------------------------------------------------------------


def test_a_narrow_token_has_its_operations_and_no_others(hospital):
    child = made(hospital, operations=["explain", "catalog"])
    assert (child["operations"], child["number"]) == (["catalog", "explain"], 1)
    assert hospital.call("explain", by=child["token"], sql=COUNT, epsilon="0.1").status == 200
    for name in {*GRANTS["analyst"], "renew_token", "own_tokens", "revoke_own"} - {"explain", "catalog", "pages", "tokens"}:
        reply = hospital.call(name, by=child["token"], sql=COUNT, epsilon="0.1")
        assert (reply.status, error(reply)[0]) == (403, "narrow_token"), name
    reply = hospital.desk.handle(Call(ADMISSION, child["token"], {"operation": "ask"}))
    assert error(reply)[0] == "narrow_token"
    assert error(hospital.call("ledger", by=child["token"]))[0] == "forbidden"


def test_a_token_that_may_not_mint_mints_none(hospital):
    child = made(hospital)
    assert child["operations"] == [name for name in MINTING if name != "tokens"]
    for name in ("renew_token", "own_tokens", "revoke_own"):
        assert error(hospital.call(name, by=child["token"]))[0] == "narrow_token"
    assert error(hospital.call("renew_token", by=child["token"], replace=False))[0] == "narrow_token"


def test_a_planted_desk_that_lets_every_token_mint_is_caught(hospital, monkeypatch):
    monkeypatch.setattr("tacit.doors.server.records.Account.may", lambda account, grant: True)
    child = made(hospital, operations=["ask"])
    assert hospital.call("renew_token", by=child["token"], replace=False).status == 200


def test_no_limit_can_be_above_that_of_the_token_above(hospital):
    parent = made(hospital, most="1", hours=10, operations=["ask", "tokens", "budget"])["token"]
    refused = {
        "hours": ({"hours": 11}, "hours must be at most"),
        "most": ({"most": "1.000001"}, "most must be at most 1,"),
        "operations": ({"operations": ["ask", "history"]}, "'history' is beyond the token"),
    }
    for given, text in refused.values():
        code, message = error(hospital.call("renew_token", by=parent, replace=False, **given))
        assert (code, text in message) == ("invalid_input", True), message
    same = made(hospital, by=parent)
    assert (same["most"], same["operations"]) == ("1", ["ask", "budget"])
    assert same["expires"] == hospital.office.accounts.summary()[0]["narrow"][0]["expires"]
    assert error(hospital.call("renew_token", by=parent))[1].startswith("a narrow token cannot be renewed")
    assert error(hospital.call("renew_token", by="ana", replace=False, hours=8784))[1].startswith("hours must be at most")


def test_a_narrow_token_of_a_curator_issues_no_tokens(hospital):
    child = made(hospital, by="cara", operations=["log", "accounts", "tokens"])["token"]
    assert hospital.call("log", by=child).status == 200
    for name, given in {"add_token": {"name": "cara"}, "add_account": {"name": "eve", "role": "curator"}}.items():
        assert error(hospital.call(name, by=child, **given))[0] == "narrow_token"
    assert error(hospital.call("renew_token", by="cara", replace=False, operations=["add_token"]))[0] == "invalid_request"
    assert "asks none" in error(hospital.call("renew_token", by="cara", replace=False, most="1"))[1]


def test_tokens_above_one_another_are_few(hospital):
    presented = "ana"
    for _ in range(narrow.DEEPEST):
        presented = made(hospital, by=presented, operations=MINTING)["token"]
    assert "at most 8 narrow tokens" in error(hospital.call("renew_token", by=presented, replace=False))[1]
    assert ask(hospital, presented).status == 200


def test_live_tokens_of_an_account_are_limited_and_ended_ones_forgotten(hospital, monkeypatch):
    monkeypatch.setattr(narrow, "MOST_LIVE", 3)
    monkeypatch.setattr(narrow, "MOST_ROWS", 4)
    for _ in range(3):
        made(hospital)
    assert "revoke those that are not used" in error(hospital.call("renew_token", replace=False))[1]
    for _ in range(4):
        assert body(hospital.call("revoke_own"))["revoked"] > 0
        last = made(hospital)["number"]
    assert last == 7
    assert len(hospital.office.accounts.summary()[0]["narrow"]) <= 5


# --- most --------------------------------------------------------------------------------------------------------------------


def test_most_bounds_the_sum_over_all_tokens_below(hospital):
    parent = made(hospital, most="0.5", operations=MINTING)["token"]
    children = [made(hospital, by=parent, most="0.5")["token"] for _ in range(4)]

    def one(place: int) -> int:
        return ask(hospital, children[place % 4], more=f" WHERE cost > {place}").status

    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(one, range(12)))
    assert (statuses.count(200), statuses.count(409)) == (5, 7)
    budget = body(hospital.call("budget", by=children[0]))
    shapes.Budgets.model_validate(budget)
    assert (budget["token"]["most"], budget["token"]["left"]) == ("0.5", "0")
    assert budget["analyst"]["spent"]["epsilon"] == "0.5"
    assert budget["analyst"]["left"]["epsilon"] == "0"
    assert error(ask(hospital, children[0], more=" WHERE cost > 99"))[1].startswith("token 1 does not admit this question")
    assert ask(hospital, "ana", more=" WHERE cost > 99").status == 200
    assert hospital.data.ledger.verify().whole


def test_repeats_are_free_and_an_answer_of_another_analyst_is_not(hospital):
    small = made(hospital, most="0.1")["token"]
    assert ask(hospital, "ana", "0.5").status == 200
    free = body(ask(hospital, small, "0.5"))  # what the account paid for is free to its tokens
    assert free["left"]["epsilon"] == "0.1"
    assert body(ask(hospital, small, "0.25"))["price"]["epsilon"] == "0"  # so is what follows from it
    assert ask(hospital, "bob", "0.25", " WHERE cost > 7").status == 200
    assert error(ask(hospital, small, "0.25", " WHERE cost > 7"))[0] == "budget_exceeded"
    assert ask(hospital, "bob", "0.1", " WHERE cost > 5").status == 200
    assert ask(hospital, small, "0.1", " WHERE cost > 5").status == 200
    assert body(hospital.call("budget", by=small))["token"] == {"number": 1, "most": "0.1", "asked": "0.1", "left": "0"}


def test_replies_show_what_the_token_still_admits(hospital):
    small = made(hospital, most="0.3")["token"]
    answer = body(ask(hospital, small))
    assert answer["left"]["epsilon"] == "0.2"
    assert "remaining: epsilon 0.2," in body(hospital.call("explain", by=small, sql=COUNT, epsilon="0.1"))["left"]
    entries = body(hospital.call("history", by=small))
    shapes.History.model_validate(entries)
    assert [each["token"] for each in entries["entries"]] == [1]
    assert "token" not in body(hospital.call("budget"))


def test_a_question_by_error_and_one_with_gaussian_noise_count_the_epsilon_asked_for(hospital):
    small = made(hospital, most="1")["token"]
    wards = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    priced = Fraction(body(hospital.call("ask", by=small, sql=COUNT, error="50"))["price"]["epsilon"])
    gaussian = hospital.call("ask", by=small, sql=wards, epsilon="0.25", delta="1e-8")
    assert gaussian.status == 200, gaussian.body
    asked = Fraction(body(hospital.call("budget", by=small))["token"]["asked"])
    assert 0 <= asked - priced - Fraction(1, 4) < Fraction(1, 10**12)


# --- ended with what it was made from ----------------------------------------------------------------------------------------


def test_revoking_a_parent_ends_all_below_it(hospital):
    parent = made(hospital, operations=MINTING)
    child = made(hospital, by=parent["token"], operations=MINTING)["token"]
    grandchild, other = made(hospital, by=child)["token"], made(hospital)["token"]
    assert body(hospital.call("revoke_own", number=parent["number"])) == {"revoked": 1}
    assert [ask(hospital, each).status for each in (parent["token"], child, grandchild, other)] == [401, 401, 401, 200]
    assert hospital.call("renew_token", by=child, replace=False).status == 401
    assert [each["live"] for each in body(hospital.call("own_tokens"))["tokens"]] == [False, False, False, True]


def test_revoking_the_account_or_its_token_ends_them_too(hospital):
    accounts = hospital.office.accounts
    for act in (lambda: accounts.revoke("bob"), lambda: accounts.rotate("ana"), lambda: accounts.revoke("ana")):
        name = "bob" if accounts.who(hospital.tokens["bob"]) else "ana"
        hospital.tokens[name] = accounts.issue(name).token
        child = made(hospital, by=name)["token"]
        given = make(accounts, account_of(accounts, name), Wanted()).token
        assert ask(hospital, given, more=" WHERE cost > 7").status == 200
        act()
        assert [ask(hospital, each).status for each in (name, child, given)] == [401, 401, 401]


def asked_while_revoked(found: Served, monkeypatch, token: dict[str, Any]) -> tuple[int, int]:
    """The status of a question whose token is revoked just before the ledger's transaction, and the entries that it wrote."""
    reserve, head = type(found.data.ledger).reserve, found.data.ledger.head.number

    def revoked_first(ledger, *given):
        found.office.accounts.revoke("ana", narrow=token.get("number"))
        return reserve(ledger, *given)

    with monkeypatch.context() as patch:
        patch.setattr(type(found.data.ledger), "reserve", revoked_first)
        reply = found.call("ask", by=token["token"], key="k", sql=COUNT, epsilon="0.1")
    return reply.status, found.data.ledger.head.number - head


def test_a_token_revoked_after_it_was_admitted_spends_nothing(hospital, monkeypatch):
    """The ledger asks once more, inside the transaction of the spend; no reply is kept under the key."""
    assert asked_while_revoked(hospital, monkeypatch, made(hospital)) == (401, 0)
    assert hospital.call("ask", key="k", sql=COUNT, epsilon="0.1").status == 200


def test_so_does_a_token_with_all_rights(hospital, monkeypatch):
    assert asked_while_revoked(hospital, monkeypatch, {"token": "ana"}) == (401, 0)


def test_a_planted_ledger_that_does_not_ask_again_is_caught(hospital, monkeypatch):
    token = made(hospital)
    monkeypatch.setattr(Accounts, "require", lambda accounts, account: None)
    status, entries = asked_while_revoked(hospital, monkeypatch, token)
    assert status == 200
    assert entries


def test_tokens_end_by_the_clock(tmp_path):
    now = [1e9]
    accounts = Accounts(Records(tmp_path / "server.sqlite"), lambda: now[0])
    whole = accounts.who(accounts.add("ana", "analyst", days=2).token)
    first = make(accounts, whole, Wanted(hours=3, operations=MINTING))
    second = make(accounts, accounts.who(first.token), Wanted())
    assert first.expires == second.expires == "2001-09-09T04:46:40+00:00"
    now[0] += 3 * 3600 - 1
    assert accounts.who(second.token) is not None
    now[0] += 1
    assert accounts.who(first.token) is accounts.who(second.token) is None
    with pytest.raises(InvalidInput, match="hours must be at most 45"):
        make(accounts, whole, Wanted(hours=46))


def test_a_parent_that_is_gone_is_not_alive(hospital):
    """A row that was deleted, or a chain of rows that was cut, ends what was made from it."""
    parent = made(hospital, operations=MINTING)
    child = made(hospital, by=parent["token"])["token"]
    with hospital.office.records.transaction() as connection:
        connection.execute(NARROW.delete().where(NARROW.c.number == parent["number"]))
    assert ask(hospital, child).status == 401


# --- who sees what -----------------------------------------------------------------------------------------------------------


def test_numbers_and_lists_tell_nothing_of_other_accounts_or_tokens_beside(hospital):
    mine = [made(hospital, by="bob")["number"]]
    for _ in range(3):
        made(hospital, operations=MINTING)
    mine.append(made(hospital, by="bob")["number"])
    assert mine == [1, 2]
    assert [each["number"] for each in body(hospital.call("own_tokens", by="bob"))["tokens"]] == [1, 2]
    assert body(hospital.call("revoke_own", by="bob", number=3)) == {"revoked": 0}
    parent = made(hospital, operations=MINTING)
    child = made(hospital, by=parent["token"])
    listed = body(hospital.call("own_tokens", by=parent["token"]))
    shapes.OwnTokens.model_validate(listed)
    assert [(each["number"], each["parent"]) for each in listed["tokens"]] == [(child["number"], parent["number"])]
    assert body(hospital.call("revoke_own", by=parent["token"], number=1)) == {"revoked": 0}
    second = hospital.office.accounts.issue("ana").token
    assert body(hospital.call("own_tokens", by=second)) == {"tokens": []}
    shapes.Accounts.model_validate(body(hospital.call("accounts", by="cara")))


def test_another_analyst_sees_the_same_whatever_tokens_others_have(hospital):
    before = [hospital.call(name, by="bob").body for name in ("budget", "history", "own_tokens", "catalog")]
    for _ in range(3):
        made(hospital, most="1")
    assert [hospital.call(name, by="bob").body for name in ("budget", "history", "own_tokens", "catalog")] == before


def test_texts_of_tokens_are_nowhere(hospital):
    child = made(hospital, most="0.2")
    for epsilon in ("0.1", "0.5"):
        ask(hospital, child["token"], epsilon)
    hospital.office.accounts.revoke("ana", narrow=child["number"])
    replies = [ask(hospital, child["token"]).body.decode(), str(hospital.office.accounts.summary())]
    replies += [entry.text for entry in hospital.data.ledger.entries()] + [
        repr(hospital.office.accounts.who(hospital.tokens["bob"]))
    ]
    assert all(child["token"][6:] not in each for each in replies)
    secret = child["token"][6:].encode()
    files = [path for path in hospital.folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if secret in path.read_bytes()]
    assert not (hospital.folder / ".tacit" / LOG).exists() or b"tacit_" not in (hospital.folder / ".tacit" / LOG).read_bytes()
    issued = narrow.Issued("ana", "tacit_secret", "", 1, None, ())
    assert "secret" not in repr(issued)


# --- records of before -------------------------------------------------------------------------------------------------------


def test_records_without_narrow_tokens_open_and_a_number_is_never_used_twice(hospital, tmp_path):
    assert made(hospital, most="0.2")["number"] == 1
    second = made(hospital, most="0.2")
    assert ask(hospital, second["token"], "0.2").status == 200
    old = tmp_path / "old.sqlite"
    hospital.office.records.close()
    shutil.copy(hospital.office.records.file, old)
    with sqlite3.connect(old) as connection:
        connection.execute("DROP TABLE narrow_tokens")
    accounts = Accounts(Records(old))
    ana = accounts.who(hospital.tokens["ana"])
    assert ana is not None
    assert accounts.who(second["token"]) is None
    assert make(accounts, ana, Wanted(), hospital.data.ledger.last_token("ana")).number == 3


def test_a_statement_of_two_questions_counts_both_and_is_admitted_as_a_whole(hospital):
    """`most` admits one half of the statement, and so nothing of it."""
    narrow = made(hospital, most="0.3")
    hospital.tokens["narrow"] = narrow["token"]
    total = "SELECT (SELECT COUNT(*) FROM visits) / (SELECT COUNT(*) FROM patients) AS per"
    before = hospital.data.ledger.head.number
    refused = hospital.call("ask", by="narrow", sql=total, epsilon="0.4")
    assert error(refused)[0] == "budget_exceeded"
    assert hospital.data.ledger.head.number == before
    assert hospital.call("ask", by="narrow", sql=total, epsilon="0.3").status == 200
    assert error(hospital.call("ask", by="narrow", sql=COUNT, epsilon="0.2"))[0] == "budget_exceeded"
