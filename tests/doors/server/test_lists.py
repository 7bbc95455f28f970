"""A list of questions at the door: one key and one entry, the same clerk limits, forms, addresses and the client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit
from served import Served, listening, served
from tacit.doors.server.turns import Places
from tacit.errors import InvalidInput, UnknownName
from tacit.release.answer import Answer
from tacit.release.answers import Answers

LIST = [
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT kind, COUNT(*) AS n, SUM(cost) AS c FROM visits GROUP BY kind",
    "SELECT ward, kind, COUNT(*) AS n FROM visits GROUP BY ward, kind",
]


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as place:
        place.desk.places = Places(rate=1e9, burst=1e9)
        yield place


def spends(found: Served) -> int:
    return found.data.ledger.head.questions


def test_one_key_is_one_entry(found: Served) -> None:
    given = {"sql": LIST, "epsilon": "0.25"}
    first = found.call("ask", key="k", **given)
    assert first.status == 200
    told = json.loads(first.body)
    assert [len(each["rows"]) for each in told["answers"]] == [5, 3, 15]
    assert told["price"]["epsilon"] == "0.25"
    assert found.call("ask", key="k", **given).body == first.body
    assert spends(found) == 1
    assert found.call("ask", key="k", **{**given, "sql": LIST[::-1]}).status in (409, 422)
    again = json.loads(found.call("ask", key="other", **given).body)
    assert again["answers"] == told["answers"]
    assert spends(found) == 1


def test_a_reply_that_was_lost_is_made_from_the_entry(found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = found.office.requests.finish
    monkeypatch.setattr(found.office.requests, "finish", lambda *_: None)
    first = json.loads(found.call("ask", key="k", sql=LIST, epsilon="0.25").body)
    monkeypatch.setattr(found.office.requests, "finish", finish)
    second = json.loads(found.call("ask", key="k", sql=LIST, epsilon="0.25").body)
    assert second["answers"] == first["answers"]
    assert spends(found) == 1


def test_an_answer_by_its_address_has_all_tables_and_no_other_analyst_sees_it(found: Served) -> None:
    told = json.loads(found.call("ask", sql=LIST, epsilon="0.25").body)
    kept = json.loads(found.call("answer", entry=told["entry"]).body)
    assert kept["answers"] == told["answers"]
    assert found.call("answer", by="bob", entry=told["entry"]).status == 404
    for form in ("csv", "arrow", "svg"):
        assert found.call("answer", entry=told["entry"], form=form).status == 422
    document = json.loads(found.call("answer", entry=told["entry"], form="certificate").body)
    assert document["plan"]["listed"] == [1, 1, 1]
    history = json.loads(found.call("history").body)["entries"]
    assert history[0]["question"].count(";") == 2


@pytest.mark.parametrize("form", ["csv", "arrow"])
def test_a_table_of_several_answers_is_refused_before_the_spend(found: Served, form: str) -> None:
    assert found.call("ask", sql=LIST, epsilon="0.25", form=form).status == 422
    assert spends(found) == 0


def test_refusals_and_limits_are_those_of_a_question(found: Served) -> None:
    wrong = json.loads(found.call("ask", sql=[LIST[0], "SELECT COUNT(*)\nFROM vists"], epsilon="0.25").body)["error"]
    assert (wrong["code"], wrong["line"], wrong["column"]) == ("unknown_name", 2, 6)
    assert wrong["message"].startswith("question 2: ")
    for sql in ([], [LIST[0]] * 65, [LIST[0], ""], [LIST[0], 5], ["x" * 40_000, "x" * 40_000], [[LIST[0]]]):
        assert found.call("ask", sql=sql, epsilon="0.25").status == 422
    assert found.call("ask", sql="; ".join(LIST), epsilon="0.25").status == 422
    assert spends(found) == 0
    told = json.loads(found.call("explain", sql=LIST, epsilon="0.25").body)
    assert told["errors"][0]["column"] == "n (question 1)"
    assert spends(found) == 0


def test_the_client_asks_a_list(found: Served) -> None:
    with listening(found.desk) as url, tacit.connect(url, found.tokens["ana"]) as ana:
        made = ana.ask(LIST, epsilon=0.25, loss="largest")
        assert isinstance(made, Answers)
        local = found.data.session("ana").ask(LIST, epsilon=0.25, loss="largest")
        assert local.receipt.again
        assert [answer.columns for answer in made] == [answer.columns for answer in local]
        assert [answer.asked for answer in made] == [answer.asked for answer in local]
        by_address = ana.answer(made.receipt.entry or 0)
        assert isinstance(by_address, Answers)
        assert [answer.columns for answer in by_address] == [answer.columns for answer in made]
        assert made.certificate.to_json() == local.certificate.to_json()
        assert ana.ask(";\n".join(LIST), epsilon=0.25, loss="largest").receipt.again
        assert (
            ana.explain(LIST, epsilon=0.25).to_dict()["errors"]
            == found.data.session("ana").explain(LIST, epsilon=0.25).to_dict()["errors"]
        )
        assert ana.explain("; ".join(LIST)).epsilon == 1
        assert isinstance(ana.sql(LIST[0], epsilon=0.1), Answer)
        with pytest.raises(UnknownName, match="question 2"):
            ana.ask([LIST[0], "SELECT COUNT(*) FROM nowhere"], epsilon=0.25)
        with pytest.raises(InvalidInput):
            ana.ask([], epsilon=0.25)
    assert spends(found) == 2
