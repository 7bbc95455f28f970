"""Dear questions wait for a curator: unpaid, with one reply whether or not an answer is stored, decided by entries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from served import COUNT, Served, seen, served
from tacit.accounting.ledger import approvals as rules
from tacit.accounting.ledger import selling
from tacit.data.catalog import parse_catalog
from tacit.doors.server import approvals
from tacit.doors.server.calls import Reply
from tacit.doors.server.turns import Places
from tacit.errors import BudgetExceeded, InvalidCatalog, NeedsApproval

DEAR = {"sql": COUNT, "epsilon": "0.4"}
CHEAP = {"sql": COUNT, "epsilon": "0.1"}
DERIVED = "SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
LIST = ["SELECT COUNT(*) AS n FROM visits", "SELECT SUM(cost) AS c FROM visits"]


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as place:
        limited(place)
        place.desk.places = Places(rate=1e9, burst=1e9)
        yield place


def limited(place: Served, above: str = "0.3", own: str = "") -> None:
    """Declare the limit in the catalog, as its owner would while the server runs."""
    file = place.folder / "tacit.toml"
    text = re.sub(r"(\[budget\].*)", rf"\1\napprove_above = {above}\nwait_days = 7", file.read_text("utf-8"), count=1)
    file.write_text(text.replace("[analysts.bob]\n", f"[analysts.bob]\n{own}\n"), "utf-8")
    place.data.refresh()
    assert place.data.catalog.approve_above == Fraction(above)


def body(reply: Reply) -> dict[str, Any]:
    return json.loads(reply.body)


def error(reply: Reply) -> str:
    told = body(reply)["error"]
    assert (reply.status, told["code"]) == (409, "needs_approval"), told
    return str(told["message"])


def state(found: Served, by: str = "ana") -> list[str]:
    return [each["state"] for each in body(found.call("waiting", by=by))["questions"]]


def decide(found: Served, number: int = 1, word: str = "approved", name: str = "ana", **more: str) -> Reply:
    return found.call("decide", by="cara", name=name, number=number, decision=word, **more)


def spends(found: Served) -> int:
    return found.data.ledger.head.questions


def test_a_dear_question_waits_unpaid_and_is_answered_once_when_it_was_approved(found: Served) -> None:
    before = found.data.ledger.head.number
    first = found.call("ask", key="k", **DEAR)
    assert "waits as number 1" in error(first)
    assert seen(found.call("ask", key="k", **DEAR)) == seen(found.call("ask", **DEAR)) == seen(first)
    assert (found.data.ledger.head.number, state(found)) == (before, ["waiting"])
    assert found.call("ask", **CHEAP).status == 200
    entry = body(decide(found))["entry"]
    assert state(found) == ["approved"]
    answer = found.call("ask", key="k", **DEAR)
    assert answer.status == 200
    assert spends(found) == 2
    paid = found.data.ledger.paid_by(body(answer)["entry"], "ana")
    assert paid is not None
    assert paid[0].more["approved"] == entry
    assert found.call("ask", key="k", **DEAR).body == answer.body
    assert state(found) == ["asked"]
    assert body(found.call("ask", **DEAR))["rows"] == body(answer)["rows"]  # what was paid for is free, and needs no decision
    assert spends(found) == 2
    assert found.data.ledger.verify().whole


def test_a_decision_is_good_for_one_statement(found: Served) -> None:
    found.call("ask", **DEAR)
    decide(found)
    assert found.call("ask", **DEAR).status == 200
    assert "waits as number 2" in error(found.call("ask", sql=f"{COUNT} ", epsilon="0.35", fresh=True))
    assert state(found) == ["waiting", "asked"]


def test_no_decision_of_another_analyst_admits_and_their_answer_changes_no_reply(found: Served) -> None:
    alone = found.call("ask", by="bob", **DEAR)
    found.call("ask", **DEAR)
    decide(found)
    assert found.call("ask", **DEAR).status == 200
    assert seen(found.call("ask", by="bob", **DEAR)) == seen(alone)  # ana's answer is stored now
    assert [each["name"] for each in body(found.call("waiting", by="bob"))["questions"]] == ["bob"]
    decide(found, name="bob")
    again = body(found.call("ask", by="bob", **DEAR))
    assert again["rows"]
    assert spends(found) == 1
    assert found.data.ledger.verify().whole


def test_the_same_reply_where_others_are_answering_it(found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = found.call("ask", by="bob", **DEAR)
    found.call("ask", **DEAR)
    decide(found)
    replies = []
    run = found.data.runner.noisy
    monkeypatch.setattr(found.data.runner, "noisy", lambda *a: (replies.append(found.call("ask", by="bob", **DEAR)), run(*a))[1])
    assert found.call("ask", **DEAR).status == 200
    assert [seen(each) for each in replies] == [seen(alone)]


def test_reduced_and_refused(found: Served) -> None:
    found.call("ask", **DEAR)
    assert decide(found, word="reduced").status == 422
    assert decide(found, word="reduced", epsilon="0.5").status == 422
    assert decide(found, word="reduced", epsilon="0.35", reason="enough").status == 200
    assert "at most epsilon 0.35" in error(found.call("ask", **DEAR))
    assert found.call("ask", sql=COUNT, epsilon="0.35").status == 200
    assert "waits" in error(found.call("ask", sql="SELECT SUM(cost) FROM visits", epsilon="0.4"))
    assert decide(found, 2, "refused", reason="not for this project").status == 200
    assert error(found.call("ask", sql="SELECT SUM(cost) FROM visits", epsilon="0.4")).endswith(": not for this project")
    assert "waits as number 3" in error(found.call("ask", sql="SELECT SUM(cost) FROM visits", epsilon="0.35"))
    assert state(found) == ["refused", "refused", "asked"] or state(found) == ["waiting", "refused", "asked"]
    assert decide(found, 2).status == 422
    assert spends(found) == 1
    assert found.data.ledger.verify().whole


def test_caps_are_asked_at_the_decision_and_again_at_the_spend(found: Served) -> None:
    dear = {"sql": COUNT, "epsilon": "0.9"}
    found.call("ask", by="bob", **dear)
    found.call("ask", by="bob", sql="SELECT SUM(cost) FROM visits", epsilon="0.9")
    assert decide(found, 1, name="bob").status == 200
    assert decide(found, 2, name="bob").status == 200  # either alone fits; nothing is reserved
    assert found.call("ask", by="bob", **dear).status == 200
    refused = found.call("ask", by="bob", sql="SELECT SUM(cost) FROM visits", epsilon="0.9")
    assert body(refused)["error"]["code"] == "budget_exceeded"
    found.call("ask", by="bob", sql="SELECT AVG(cost) FROM visits", epsilon="0.9")
    assert body(decide(found, 3, name="bob"))["error"]["code"] == "budget_exceeded"
    assert state(found, "bob")[0] == "waiting"


def test_withdrawn_and_expired(found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    found.call("ask", **DEAR)
    assert found.call("withdraw", by="bob", number=1).status == 404
    assert found.call("withdraw", number=1).status == 200
    assert found.call("withdraw", number=1).status == 404
    assert decide(found).status == 422
    assert "waits as number 2" in error(found.call("ask", **DEAR))  # a number is never used again
    clock = found.office.accounts.now() + 8 * 86_400
    monkeypatch.setattr(found.office.accounts, "_clock", lambda: clock)
    assert state(found) == ["expired", "withdrawn"]
    assert decide(found, 2).status in (401, 422)


def test_an_approval_ends(found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    found.call("ask", **DEAR)
    decide(found)
    monkeypatch.setattr(rules, "now", lambda: "2999-01-01T00:00:00.000+00:00")
    assert "waits as number 2" in error(found.call("ask", **DEAR))


def test_accounts_have_a_limit_of_their_own(found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "MOST_WAITING", 2)
    monkeypatch.setattr(approvals, "MOST_ROWS", 3)
    texts = [f"SELECT COUNT(*) FROM visits WHERE cost > {number}" for number in range(4)]
    for text in texts[:2]:
        found.call("ask", sql=text, epsilon="0.4")
    assert "wait already" in error(found.call("ask", sql=texts[2], epsilon="0.4"))
    assert "waits as number 1" in error(found.call("ask", by="bob", sql=texts[2], epsilon="0.4"))
    for number, text in enumerate(texts[2:] + texts[:2], 1):
        found.call("withdraw", number=number)
        found.call("ask", sql=text, epsilon="0.4")
    numbers = [each["number"] for each in body(found.call("waiting"))["questions"]]
    assert len(numbers) <= 3
    assert numbers[0] == 6


def test_the_curator_sees_text_price_and_derivation_and_opens_no_data(found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    found.call("ask", **DEAR)
    monkeypatch.setattr(found.data.runner, "open", lambda: pytest.fail("an engine was opened"))
    (listed,) = body(found.call("approvals", by="cara"))["questions"]
    assert (listed["sql"], listed["price"], listed["state"]) == (COUNT, {"epsilon": "0.4", "delta": "0"}, "waiting")
    (one,) = body(found.call("approvals", by="cara", name="ana", number=1))["questions"]
    assert one["derivation"]["noise"]
    assert one["derivation"]["price"] == {"epsilon": "0.4", "delta": "0"}
    error(found.call("ask", **DEAR))
    decide(found)
    for by, operation in (("ana", "approvals"), ("bob", "decide"), ("otto", "approvals")):
        assert found.call(operation, by=by, name="ana", number=1, decision="approved").status == 403


@pytest.mark.parametrize(
    "asked",
    [
        {"sql": LIST, "epsilon": "0.4"},
        {"sql": DERIVED, "epsilon": "0.4"},
        {"sql": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.4) COUNT(*) FROM visits"},
        {"sql": "SELECT COUNT(*) FROM visits WHERE cost > ?", "params": {"1": 100}, "epsilon": "0.4"},
        {"sql": COUNT, "error": "60"},
    ],
    ids=["list", "derived", "in the text", "parameters", "by error"],
)
def test_every_form_of_a_question_waits_and_is_answered(found: Served, asked: dict[str, Any]) -> None:
    assert "waits as number 1" in error(found.call("ask", **asked))
    assert found.data.ledger.head.number == 0
    assert decide(found).status == 200, body(decide(found))
    reply = found.call("ask", **asked)
    assert reply.status == 200, body(reply)
    assert found.data.ledger.verify().whole
    assert state(found) == ["asked"]


def test_what_waits_outlives_the_clerk_and_a_decision_without_its_reply(found: Served) -> None:
    found.call("ask", key="k", **DEAR)
    found.office.records.close()
    from tacit.doors.server.desk import desk
    from tacit.session import open as open_data

    with open_data(found.folder / "tacit.toml", own_process=False) as data:
        other = Served.__new__(Served)
        other.desk, other.folder = desk(data), found.folder
        other.office, other.data, other.tokens = other.desk.office, data, found.tokens
        assert state(other) == ["waiting"]
        decide(other)
        assert state(other) == ["approved"]
        assert other.call("ask", key="k", **DEAR).status == 200
        other.office.records.close()


def test_an_analysts_own_limit_takes_the_place_of_the_data_sets(tmp_path: Path) -> None:
    with served(tmp_path) as place:
        limited(place, own="approve_above = 0.5")
        assert place.call("ask", by="bob", **DEAR).status == 200
        error(place.call("ask", **DEAR))


def test_a_session_without_a_door_is_refused_too(found: Served) -> None:
    with pytest.raises(NeedsApproval, match=r"above 0\.3 a curator decides"):
        found.data.session("ana").sql(COUNT, epsilon="0.4")


def test_the_chain_notices_a_spend_without_its_decision(found: Served) -> None:
    found.call("ask", **DEAR)
    entry = body(decide(found))["entry"]
    found.call("ask", **DEAR)
    ledger = found.data.ledger
    paid = next(each for each in ledger.entries() if "approved" in each.more)
    from tacit.accounting.ledger.chain import Reader
    from tacit.accounting.ledger.pages import Line

    def problems(*changed: Any) -> list[str]:
        reader, lines = Reader(), {each.number: each for each in ledger.entries()} | {each.number: each for each in changed}
        return [p for n in sorted(lines) for p in reader.read(Line(n, lines[n].hash, lines[n].text))]

    assert not problems()
    assert any("no decision admits it" in p for p in problems(replace(paid, more={**paid.more, "approved": entry - 1})))
    decision = next(each for each in ledger.entries() if each.number == entry)
    refused = replace(decision, details={**decision.details, "decision": "refused"})
    assert any("no decision admits it" in p for p in problems(refused))
    other = replace(decision, details={**decision.details, "for": "bob"})
    assert any("no decision admits it" in p for p in problems(other))


@pytest.mark.parametrize("plant", ["stored", "any"])
def test_planted_faults_are_caught(found: Served, monkeypatch: pytest.MonkeyPatch, plant: str) -> None:
    """A door that asks for no decision where an answer is stored, or takes that of anybody, fails the tests above."""
    of = selling.approval_of
    if plant == "stored":
        lax = lambda page, sale, *more: {} if page.kept(sale.key) is not None else of(page, sale, *more)  # noqa: E731
        monkeypatch.setattr(selling, "approval_of", lax)
        monkeypatch.setattr(rules, "approval_of", lax)
        found.call("ask", **DEAR)
        decide(found)
        found.call("ask", **DEAR)
        assert found.call("ask", by="bob", **DEAR).status == 200
    else:
        monkeypatch.setattr(rules, "approval", lambda page, stated, analyst, above: {})
        assert found.call("ask", by="bob", **DEAR).status == 200


@pytest.mark.parametrize("line", ["approve_above = -1", "approve_above = true", "wait_days = 0", "wait_days = 1.5"])
def test_catalogs_with_other_limits_are_refused(line: str) -> None:
    with pytest.raises(InvalidCatalog):
        parse_catalog(f'[budget]\nepsilon = 8\n{line}\n[tables.people]\nsource = "people.csv"\nunit = "row"')
    assert BudgetExceeded.code != NeedsApproval.code
